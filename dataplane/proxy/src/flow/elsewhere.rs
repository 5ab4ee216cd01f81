//! Another pool for a request that no server of its pool takes: of the same group, or the backup.

use std::{net::SocketAddr, sync::Arc};

use weir_snapshot::{FailAction, Pool};

use crate::{
    core::Core,
    error::Error,
    exchange::{Exchange, incoming::Form, table::ExchangeId},
    io::{Conn, Io, Time},
    pool::{Place, balance_key},
    proxy::{ClientSide, Proxy},
    reach::Reach,
};

impl Proxy {
    /// Gives the exchange a server of another pool. `otherwise` is the error if there is none.
    #[cold]
    #[inline(never)]
    pub(crate) fn find_elsewhere<I: Io>(&mut self, io: &mut I, id: ExchangeId, otherwise: Error) -> Result<(), Error> {
        let ClientSide { exchange, client, core } = self.client_side(id)?;
        let (peer, origin) = (client.peer, client.session_origin());
        let next = core.next_pool(io.now(), exchange, peer);
        if next.as_ref().is_none_or(|(_, is_backup)| *is_backup) && self.waits_in_left_pool(io, id)? {
            return Ok(());
        }
        let Some((pool, is_backup)) = next else { return self.find_suspect(io, id, otherwise) };
        let ClientSide { exchange, client, .. } = self.client_side(id)?;
        if pool.uses_service_port {
            Reach::again(&mut exchange.reach, &pool, &client.facts);
        }
        exchange.key = balance_key(&pool, None, peer, || origin);
        exchange.turn_to(pool, is_backup);
        self.find_server(io, id, otherwise)
    }

    /// Gives the exchange a suspect server of its pool, which it would have left for a sound one elsewhere.
    fn find_suspect<I: Io>(&mut self, io: &mut I, id: ExchangeId, otherwise: Error) -> Result<(), Error> {
        let ClientSide { exchange, core, .. } = self.client_side(id)?;
        if exchange.group().is_none() || exchange.failed_tries() >= core.limits.server_tries {
            return Err(otherwise);
        }
        let pool = exchange.pool().ok_or(otherwise)?;
        let place = core.pools.pick(io.now(), pool, exchange.key, &exchange.tried).ok_or(otherwise)?;
        match exchange.form {
            Form::Content => match self.find_stream_in_pool(io, id, place)? {
                true => Ok(()),
                // No other pool is left.
                false => Err(self.without_stream(io.now(), id, otherwise)),
            },
            _ => self.find_connection(io, id, place),
        }
    }

    /// A server for the connection of a tunnel: of the virtual service's pool, of a pool of its group, or of the backup.
    pub(crate) fn place_of_tunnel<I: Io>(
        &mut self,
        io: &mut I,
        conn: Conn,
        avoided: &[u32],
    ) -> Option<(Arc<Pool>, Place)> {
        let mut left = Vec::new();
        loop {
            let client = self.clients.find(conn)?;
            let (peer, origin) = (client.peer, client.session_origin());
            let pool = self.core.pool_after(io.now(), client.aim(), peer, &left)?;
            let mut key = balance_key(&pool, None, peer, || origin);
            if let Some(sent) = client.sent() {
                key = sent.key.unwrap_or(key);
                if sent.names_server()
                    && left.is_empty()
                    && let Some(place) = self.place_by_scripts(io, conn, &pool, avoided)
                {
                    return Some((pool, place));
                }
            }
            if let Some(place) = self.place_within_rate(io, &pool, key, avoided.to_vec()) {
                return Some((pool, place));
            }
            if self.core.pools.denies(io.now(), &pool, key, avoided) {
                return None;
            }
            left.push(pool.id);
        }
    }
}

impl Core {
    /// Whether a request that was tried in vain goes to another pool, if there is one: after a few tries, or if its pool has
    /// suspect servers only.
    #[cold]
    pub(super) fn leaves_pool(&self, exchange: &Exchange, pool: &Pool) -> bool {
        exchange.failed_tries() >= self.limits.server_tries
            || exchange.group().is_some() && !self.pools.has_sound(pool, &exchange.tried)
    }

    /// The pool for a request after those that could not take it, and whether it is the backup.
    fn next_pool(&mut self, now: Time, exchange: &Exchange, peer: SocketAddr) -> Option<(Arc<Pool>, bool)> {
        if exchange.is_at_backup() {
            return None;
        }
        let before = exchange.pool();
        let suits = |pool: &Arc<Pool>| before.is_none_or(|before| pool.takes_requests_of(before));
        let mut left = exchange.pools_left();
        while let Some(group) = exchange.group()
            && let Some(pool) = self.pools.choose_in(now, group, peer, &left)
        {
            if suits(&pool) {
                return Some((pool, false));
            }
            left.push(pool.id);
        }
        let backup = self.snapshot.pool(exchange.fail_action().and_then(FailAction::backup)?)?;
        Some((backup.clone(), true)).filter(|(pool, _)| suits(pool))
    }
}
