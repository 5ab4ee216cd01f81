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
    tunnel::Tunnel,
};

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
        let awaits = self.meet(io, core, (Event::FirstBytes, false), |seen| {
            (seen.body, seen.is_whole) = (first, is_whole);
        })?;
        self.stage = match awaits {
            0 => Stage::Tunnel(Box::new(Tunnel::new(io.now()))),
            bytes => Stage::FirstBytes { awaited: bytes as u32 },
        };
        Ok(awaits == 0)
    }

    /// Runs the scripts for an event. Returns for how many bytes of the client they wait; 0: for none.
    fn meet<I: Io>(
        &mut self,
        io: &I,
        core: &mut Core,
        (event, goes_on): (Event, bool),
        see: impl FnOnce(&mut Seen),
    ) -> Result<usize, Error> {
        let service = self.service.clone();
        let Some(scripts) = service.scripts.as_deref().filter(|scripts| scripts.run_in(event)) else { return Ok(0) };
        let Core { scripts: scripting, pools, .. } = core;
        let met = scripting.meet(scripts, pools, (event, goes_on), |seen| {
            self.show(seen, io);
            see(seen);
        });
        let said = mem::take(&mut scripting.said);
        if let Ok(Steered { awaits: bytes @ 1.., .. }) = met {
            // It begins anew then.
            return Ok(bytes);
        }
        if !said.is_empty() && service.analytics.is_some() {
            self.entrance.get_or_insert_default().say(&said);
        }
        match met {
            Ok(steered) => {
                self.send_by(steered);
                Ok(0)
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
        let Steered { within, pool, server, key, .. } = steered;
        let to = match within {
            Within::Group(group) => Some(Destination::Group(group)),
            Within::Pool | Within::Service => pool.map(Destination::Pool),
        };
        if to.is_some() || key.is_some() {
            let sent = &mut self.entrance.get_or_insert_default().sent;
            // What a later event does not say stays.
            let (to, server) = if to.is_some() { (to, server) } else { (sent.to.take(), sent.server) };
            *sent = Sent { to, server, key: key.or(sent.key) };
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
