//! The scripts for a client's connection, before its first request or before it has a server: what they see of it, and
//! where they send it.

use std::{mem, sync::Arc};

use weir_script::{Ending, Event, FIRST_BYTES_MAX, Seen, SeenTls};
use weir_snapshot::{Aim, Destination, HostName};
use weir_wire::x509::Says;

use crate::{
    client::{Client, Stage},
    core::Core,
    entrance::{Entrance, Sent},
    error::Error,
    exchange::within::Within,
    io::Io,
    scripting::{Halt, Steered},
    server::Server,
    tunnel::Tunnel,
};

/// What scripts want of a connection.
#[derive(Default)]
pub(crate) struct Met {
    /// For how many bytes they wait; 0: for none.
    pub awaits: usize,
    /// What goes on in the place of the bytes that they have seen, if that is something else.
    pub bytes: Option<Vec<u8>>,
}

impl Client {
    /// Runs the scripts for these events, which come at once.
    #[cold]
    pub fn greet<I: Io>(&mut self, io: &mut I, core: &mut Core, events: &[Event]) -> Result<(), Error> {
        let mut goes_on = false;
        for &event in events {
            let runs = self.service.scripts.as_ref().is_some_and(|scripts| scripts.run_in(event));
            if runs && (event != Event::BeforeTls || self.facts.is_tls()) {
                self.meet(io, core, (event, goes_on), |_| ())?;
                goes_on = true;
            }
        }
        Ok(())
    }

    /// Runs the scripts for a ClientHello, which asks for this server name.
    #[cold]
    pub fn hear_with_scripts<I: Io>(
        &mut self,
        io: &mut I,
        core: &mut Core,
        name: Option<HostName<'_>>,
    ) -> Result<(), Error> {
        let server_name = name.map(|name| name.to_lower_case());
        self.meet(io, core, (Event::ClientHello, false), |seen| {
            seen.tls = Some(SeenTls { server_name, ..SeenTls::default() });
        })?;
        Ok(())
    }

    /// Shows scripts the first bytes, once as many have come as they wait for. Returns whether the client goes on, to a
    /// server.
    #[cold]
    pub fn show_first_bytes<I: Io>(&mut self, io: &mut I, core: &mut Core) -> Result<bool, Error> {
        let Stage::FirstBytes { awaited } = self.stage else { return Ok(true) };
        let inbox = &mut self.connection.inbox;
        inbox.settle(|| io.buffer());
        let there = inbox.bytes();
        let is_whole = self.connection.line.ended || there >= FIRST_BYTES_MAX;
        if there == 0 || there < awaited as usize && !is_whole {
            return Ok(false);
        }
        let first = inbox.beginning(FIRST_BYTES_MAX);
        let shown = first.len();
        let Met { awaits, bytes } = self.meet(io, core, (Event::FirstBytes, false), |seen| {
            (seen.body, seen.is_whole) = (first, is_whole);
        })?;
        if let Some(bytes) = bytes {
            self.connection.inbox.replace_beginning(shown, bytes);
        }
        self.stage = match awaits {
            0 => Stage::Tunnel(Box::new(Tunnel::new(io.now()))),
            bytes => Stage::FirstBytes { awaited: bytes as u32 },
        };
        Ok(awaits == 0)
    }

    /// Shows scripts the first bytes of its server; they are all that come of them, if `is_whole`.
    pub fn show_answer<I: Io>(
        &mut self,
        io: &I,
        core: &mut Core,
        server: &Server,
        (first, is_whole): (Vec<u8>, bool),
    ) -> Result<Met, Error> {
        self.meet(io, core, (Event::FirstAnswer, false), |seen| {
            (seen.body, seen.is_whole) = (first, is_whole);
            seen.sends_to(Some(server.place.address), &server.pool.name);
        })
    }

    /// Runs the scripts for an event.
    fn meet<I: Io>(
        &mut self,
        io: &I,
        core: &mut Core,
        (event, goes_on): (Event, bool),
        see: impl FnOnce(&mut Seen),
    ) -> Result<Met, Error> {
        let service = self.service.clone();
        let Some(scripts) = service.scripts.as_deref().filter(|scripts| scripts.run_in(event)) else {
            return Ok(Met::default());
        };
        let Core { scripts: scripting, pools, .. } = core;
        let met = scripting.meet(scripts, pools, (event, goes_on), |seen| {
            self.show(seen, io);
            see(seen);
        });
        let said = mem::take(&mut scripting.said);
        if let Ok(Steered { awaits: awaits @ 1.., .. }) = met {
            // It begins anew then.
            return Ok(Met { awaits, bytes: None });
        }
        if !said.is_empty() && service.analytics.is_some() {
            self.entrance.get_or_insert_default().say(&said);
        }
        match met {
            Ok(mut steered) => {
                let bytes = steered.bytes.take();
                self.send_by(steered);
                Ok(Met { awaits: 0, bytes })
            }
            Err(Halt::Ended(Ending::Close { reset }, _)) => Err(Error::Denied { reset }),
            Err(Halt::Ended(..) | Halt::Failed) => Err(Error::ConnectionScript),
        }
    }

    fn show<I: Io>(&self, seen: &mut Seen, io: &I) {
        seen.begin_connection(&self.service.name, self.service.http().is_none());
        (seen.now_ns, seen.client, seen.listener) = (io.now().nanos, self.peer, self.destination());
        let channel = &self.connection.channel;
        seen.tls = channel.handshaken().map(|agreed| SeenTls {
            version: agreed.version.name(),
            cipher: agreed.cipher_suite,
            server_name: channel.asked_name().map(str::to_owned),
            certificate: self.good_certificate(io.unix_us() / 1_000_000),
            shows_certificate: channel.client_certificate().is_some(),
        });
    }

    /// The certificate of the client, if the virtual service asks for one, and it is good.
    fn good_certificate(&self, now_unix_s: u64) -> Option<Arc<dyn Says>> {
        let identity = self.service.policies.as_ref()?.identity.as_ref()?;
        let shown = self.connection.channel.client_certificate()?;
        let is_good = shown.judge(identity.authorities.as_ref()?, now_unix_s).is_ok();
        is_good.then(|| shown.clone() as Arc<dyn Says>)
    }

    fn send_by(&mut self, steered: Steered) {
        let Steered { within, pool, server, key, persist, .. } = steered;
        let to = match within {
            Within::Group(group) => Some(Destination::Group(group)),
            Within::Pool | Within::Service => pool.map(Destination::Pool),
        };
        if to.is_some() || key.is_some() || persist.is_some() {
            let sent = &mut self.entrance.get_or_insert_default().sent;
            // What a later event does not say stays.
            let (to, server) = if to.is_some() { (to, server) } else { (sent.to.take(), sent.server) };
            *sent = Sent { to, server, key: key.or(sent.key), persist: persist.or(sent.persist.take()) };
        }
    }

    /// Where scripts send its tunnel.
    pub fn sent(&self) -> Option<&Sent> {
        self.entrance.as_ref().map(|entrance| &entrance.sent)
    }

    /// Where its tunnel goes.
    pub fn aim(&self) -> Aim<'_> {
        match self.sent().and_then(|sent| sent.to.as_ref()) {
            Some(to) => to.into(),
            None => self.service.aim(self.peer, self.facts.listener().port()),
        }
    }

    /// What scripts have said of the connection goes to its next request.
    pub(super) fn said_for_request(&mut self) -> Option<Box<Entrance>> {
        let said = self.entrance.as_mut()?.said.take();
        (!said.is_empty()).then(|| Box::new(Entrance { said: said.into(), ..Entrance::default() }))
    }
}
