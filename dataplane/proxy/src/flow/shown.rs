//! Scripts that see more of a request than its head: the body, before a server is chosen, and then the server.

use std::sync::Arc;

use weir_snapshot::{FailAction, Pool, PoolGroup};

use crate::{
    buf::Buf,
    client::Client,
    core::Core,
    error::Error,
    exchange::{Exchange, Outcome, bond::Bond, scripted::Collecting, table::ExchangeId, within::Within},
    head,
    io::Io,
    pool::balance_key,
    proxy::{ClientSide, Proxy},
    reach::Reach,
    scripting::{Halt, Steered},
    server::Server,
};

impl Proxy {
    /// Shows scripts the body of a request that has no server yet.
    #[cold]
    #[inline(never)]
    pub(super) fn show_body<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<Outcome, Error> {
        let ClientSide { exchange, client, core } = self.client_side(id)?;
        let service = exchange.service.clone();
        let (Some(scripts), Some(collecting)) = (service.scripts.as_deref(), exchange.take_collecting()) else {
            return Err(Error::Defect);
        };
        let mut seen = exchange.take_seen().ok_or(Error::Defect)?;
        seen.now_ns = io.now().nanos;
        seen.body = exchange.content_held(collecting.bytes)?;
        let shown = core.scripts.show_body(scripts, &mut core.pools, &mut seen);
        seen.body = Vec::new();
        if scripts.run_later() {
            exchange.keep_seen(seen);
        } else {
            core.scripts.give_back(seen);
        }
        if !core.scripts.said.is_empty() {
            core.note_said(client.noted);
        }
        match shown {
            Err(Halt::Failed) => return Err(Error::Script),
            Err(Halt::Ended(ending, _)) => {
                exchange.drop_held();
                self.answer_by_script(io, id, ending);
                return Ok(Outcome::Advanced);
            }
            Ok(steered) => ClientSide { exchange, client, core }.steer(io, steered, collecting)?,
        }
        self.choose_server(io, id, Error::NoServer);
        Ok(Outcome::Advanced)
    }
}

impl ClientSide<'_> {
    /// Follows what scripts want of a request whose head is written.
    fn steer<I: Io>(&mut self, io: &mut I, steered: Steered, collecting: Collecting) -> Result<(), Error> {
        let Self { exchange, core, .. } = self;
        let Steered { edits, within, pool, server, key, persist, .. } = steered;
        if let Some(persist) = persist {
            exchange.persist_by(persist);
        }
        if let Some(key) = key {
            exchange.hash_by(key);
        }
        if !edits.is_empty() {
            if edits.target().is_some()
                && let Some(asked) = exchange.target()
            {
                exchange.keep_target(&asked);
            }
            let (form, scheme) = (exchange.form, scheme_of(exchange.pool().map(Arc::as_ref)));
            let changed = head::with_edits(exchange.waiting_head()?, form, (scheme, &edits), &mut core.fields);
            *exchange.waiting_head()? = changed.ok_or(Error::Script)?;
        }
        let moves = collecting.may_choose && !matches!(within, Within::Service);
        if !moves && edits.host().is_none() {
            exchange.prefer_server_of_scripts();
            return Ok(());
        }
        let before = exchange.pool().cloned();
        let (pool, is_at_backup) = match &within {
            Within::Pool if moves => (pool, false),
            Within::Group(group) if moves => self.pool_of_group(io, group)?,
            Within::Service | Within::Pool | Within::Group(_) => (before.clone(), false),
        };
        let Self { exchange, client, core } = self;
        if let Some(pool) = &pool
            && moves
            && !pool.takes_head_for(before.as_deref())
        {
            let what = "speaks another HTTP than the one for which the request was written, or binds clients by a cookie of \
                        servers: choose it in HTTP_REQ";
            core.scripts.say(&format!("HTTP_REQ_DATA: the pool {} {what}", pool.name));
            core.note_said(client.noted);
            return Err(Error::Script);
        }
        let (peer, origin) = (client.peer, client.session_origin());
        let (form, head) = (exchange.form, exchange.waiting_head()?.share());
        head::look(&head, form, &mut core.fields, |head| {
            let Some(pool) = &pool else { return };
            exchange.reach = Reach::of(pool, head.host, &client.facts);
            if moves {
                exchange.key = balance_key(pool, Some(head), peer, || origin);
                let binding = pool.persistence.as_ref().map(|by| by.named_by(&head.fields, io.unix_s()));
                (exchange.named, exchange.bond) = match (server, binding) {
                    (Some(server), _) => (Some(server), Bond::Ruled.into()),
                    (None, Some(binding)) => (binding.server(), Bond::of(binding).into()),
                    (None, None) => (None, Bond::default().into()),
                };
            }
        })?;
        if moves {
            exchange.chosen = pool;
            exchange.stay_within(within);
            exchange.begin_at_backup(is_at_backup);
            exchange.prefer_key_of_scripts();
        }
        exchange.prefer_server_of_scripts();
        Ok(())
    }

    /// The pool of a group whose turn it is, or the backup of a group without pools, and whether it is that.
    fn pool_of_group<I: Io>(&mut self, io: &I, group: &PoolGroup) -> Result<(Option<Arc<Pool>>, bool), Error> {
        let Self { exchange, client, core } = self;
        let (form, head) = (exchange.form, exchange.waiting_head()?.share());
        let (peer, now) = (client.peer, (io.now(), io.unix_s()));
        let Core { fields, pools, snapshot, .. } = &mut **core;
        let chosen = head::look(&head, form, fields, |head| Core::choose_pool(pools, now, group, &head.fields, peer))?;
        if chosen.is_some() {
            return Ok((chosen, false));
        }
        let backup = group.fail_action.as_ref().and_then(FailAction::backup);
        let backup = backup.and_then(|backup| snapshot.pool(backup)).cloned();
        let is_there = backup.is_some();
        Ok((backup, is_there))
    }
}

/// How the server of a pool is asked.
pub(super) fn scheme_of(pool: Option<&Pool>) -> &'static [u8] {
    if pool.is_some_and(|pool| pool.tls.is_some()) { b"https" } else { b"http" }
}

/// A request as the scripts for the choice of its server change it.
#[cold]
#[inline(never)]
pub(super) fn show_choice<I: Io>(
    io: &I,
    (exchange, client, server, core): (&mut Exchange, &Client, &Server, &mut Core),
    head: Buf,
) -> Result<Buf, Error> {
    let Some(scripts) = exchange.service.scripts.as_deref() else { return Ok(head) };
    if let Some(persist) = exchange.persist() {
        persist.bind(&scripts.served.store, server.place.address, io.now().nanos);
    }
    if !scripts.on_choice {
        return Ok(head);
    }
    let service = exchange.service.clone();
    let (Some(scripts), Some(mut seen)) = (service.scripts.as_deref(), exchange.take_seen()) else { return Ok(head) };
    seen.now_ns = io.now().nanos;
    seen.begin_balanced(server.own_host());
    seen.sends_to(Some(server.place.address), &server.pool.name);
    let shown = core.scripts.show_choice(scripts, &mut core.pools, &mut seen);
    exchange.keep_seen(seen);
    if !core.scripts.said.is_empty() {
        core.note_said(client.noted);
    }
    let edits = shown.map_err(|halt| Error::from(&halt))?;
    if edits.is_empty() {
        return Ok(head);
    }
    let scheme = scheme_of(Some(&server.pool));
    head::with_edits(&head, exchange.form, (scheme, &edits), &mut core.fields).ok_or(Error::Script)
}
