//! A client's connection. It carries TLS or plain bytes: a sequence of requests, or a tunnel. A later request waits in
//! the inbox, unread, until the previous one is answered. Between requests the connection holds no buffer.

pub(crate) mod admitted;
pub(crate) mod answer;
mod greeted;
mod handshake;
pub(crate) mod hello;
pub(crate) mod hosted;
mod http1;
pub(crate) mod http2;
pub(crate) mod identity;
pub(crate) mod intake;
mod introduction;
mod named;
pub(crate) mod patience;
pub(crate) mod reserved;
mod round_trip;
pub(crate) mod ruled;
mod seen;
mod shown;
pub(crate) mod span;
pub(crate) mod token;

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

use weir_policy::ClientFacts;
use weir_script::Event;
use weir_snapshot::{Application, Role, VirtualService};
use weir_telemetry::{Cause, HandshakeFault, Happening, record::Kind};

use crate::{
    buf::Buf,
    call::Call,
    carrier::Carrier,
    client::{hello::Hello, reserved::Reserved, seen::Seen},
    connection::{Connection, channel::Channel, stream::Stream},
    core::Core,
    entrance::Entrance,
    error::Error,
    exchange::table::ExchangeId,
    io::{Close, Conn, Io, Time, TransportAddress},
    records::Noted,
    tunnel::Tunnel,
};

pub(crate) struct Client {
    pub connection: Connection,
    /// Looked up again for the first request after a new snapshot.
    pub service: Arc<VirtualService>,
    /// The virtual service that counts this connection.
    pub accepted_by: u32,
    pub facts: ClientFacts,
    pub stage: Stage,
    /// A server connection for this client alone, where connections are not shared, or a request has authenticated it.
    pub reserved: Reserved,
    /// The notes on its request.
    pub noted: Noted,
    /// `None`: the connection leaves no records, or is a stream.
    pub seen: Option<Box<Seen>>,
    /// The client's address.
    pub peer: SocketAddr,
    /// `None`: nothing is known of how its connection came in, or it is a stream.
    pub entrance: Option<Box<Entrance>>,
    /// The snapshot from which `service` came. A child that was chosen for one request counts as outdated, so that the
    /// next request begins with its parent again.
    epoch: u32,
    requests: u32,
    received: u64,
    /// The bytes queued at the last check whether the client takes any; `u32::MAX`: there was none since it last waited
    /// for a body or a request.
    stalled_at: u32,
}

pub(crate) enum Stage {
    /// Its connection begins with a PROXY header, which is not whole yet.
    Introduction,
    /// The ClientHello, which chooses the virtual service, has not come yet.
    Hello(Box<Hello>),
    Handshake,
    /// Scripts choose a server, or wait for so many bytes.
    FirstBytes {
        awaited: u32,
    },
    /// Between two requests, or before the first.
    Idle,
    /// Part of a request head has arrived.
    Head,
    Exchange(ExchangeId),
    /// Bytes are not parsed. Boxed, because idle clients should take little memory.
    Tunnel(Box<Tunnel>),
    /// Carries streams, each of which is a client of its own.
    Http2(Box<Carrier>),
}

impl Client {
    /// `Err(None)`: the client is reset, and whatever there is to count is counted.
    pub fn accept<I: Io>(
        io: &mut I,
        core: &mut Core,
        conn: Conn,
        listener: TransportAddress,
        peer: SocketAddr,
    ) -> Result<Self, Option<Error>> {
        let found = core.snapshot.listener(listener).ok_or(None)?;
        let service = found.service.clone();
        let is_introduced = service.tcp.begins_with_proxy_header();
        if is_introduced && !service.tcp.trusts(peer.ip()) {
            let cause = Cause::ClientSourceUntrusted;
            core.counters.note(Happening::Failed { service: service.id, cause });
            core.record_refusal(io, Kind::Connection, &service, (listener.address, peer), cause);
            return Err(None);
        }
        let admitted = match &service.gate {
            // Who the client is stands in the header.
            Some(gate) if !is_introduced => {
                let arriving = core.arriving((listener.address, peer));
                Some(admitted::pass(gate, &arriving, io.now(), &mut core.records).map_err(Some)?)
            }
            _ => None,
        };
        let awaits_hello = hello::chooses(found);
        let channel = match found.tls(peer.ip()) {
            Some(config) if !awaits_hello && !is_introduced => Channel::accept(config, peer).map_err(|_| None)?,
            _ => Channel::Plain,
        };
        let is_plain = !found.tls;
        let mut connection = Connection::new(conn, channel, io.now());
        let patience = match service.http() {
            Some(http) => http.timeouts.post_accept,
            None => {
                (!is_plain || awaits_hello || is_introduced || awaits_bytes(&service)).then_some(core.limits.handshake)
            }
        };
        connection.line.expect(io, patience);
        connection.line.asks_round_trip = round_trip::is_next_asked(core);
        core.counters.note(Happening::ClientConnected { service: service.id });
        core.shortage.addresses.add(peer);
        let mut entrance = None;
        if let Some(admitted) = admitted {
            let rule = admitted.enter(io, core, conn, &service, (listener.address, peer));
            entrance = rule.map(|rule| Box::new(Entrance { rule: Some(rule), ..Entrance::default() }));
        }
        Ok(Self {
            connection,
            accepted_by: service.id,
            facts: ClientFacts::new(peer, listener.address, !is_plain),
            stage: match is_plain {
                _ if is_introduced => Stage::Introduction,
                _ if awaits_hello => Stage::Hello(Box::default()),
                true => Stage::first(&service, io.now()),
                false => Stage::Handshake,
            },
            reserved: Reserved::NONE,
            noted: Noted::NOTHING,
            seen: service.analytics.as_ref().map(|_| Box::new(Seen::new(io.now()))),
            peer,
            entrance,
            epoch: core.epoch,
            service,
            requests: 0,
            received: 0,
            stalled_at: u32::MAX,
        })
    }

    /// A stream that this client's connection carries, before its request is read.
    pub fn carry(
        &mut self,
        conn: Conn,
        id: u32,
        opened: (Option<Arc<VirtualService>>, Option<Call>),
        now: Time,
    ) -> Self {
        let (service, call) = opened;
        let mut stream = Stream::new(self.connection.conn(), id, call);
        stream.origin = self.session_origin();
        let mut connection = Connection::new(conn, Channel::Stream(Box::new(stream)), now);
        connection.line.asks_round_trip = std::mem::take(&mut self.connection.line.asks_round_trip);
        Self {
            connection,
            accepted_by: self.accepted_by,
            facts: self.facts.clone(),
            stage: Stage::Head,
            reserved: Reserved::NONE,
            seen: None,
            noted: std::mem::replace(&mut self.noted, Noted::NOTHING),
            peer: self.peer,
            entrance: self.said_for_request(),
            epoch: self.epoch,
            service: service.unwrap_or_else(|| self.service.clone()),
            requests: 1,
            received: 0,
            stalled_at: u32::MAX,
        }
    }

    /// Where its session of TLS began, if the configuration keeps that.
    pub fn session_origin(&self) -> Option<NonZeroU32> {
        self.connection.channel.origin()
    }

    #[inline]
    pub fn exchange(&self) -> Option<ExchangeId> {
        match self.stage {
            Stage::Exchange(id) => Some(id),
            _ => None,
        }
    }

    pub fn tunnel(&mut self) -> Option<&mut Tunnel> {
        match &mut self.stage {
            Stage::Tunnel(tunnel) => Some(tunnel),
            _ => None,
        }
    }

    pub fn carrier(&mut self) -> Option<&mut Carrier> {
        match &mut self.stage {
            Stage::Http2(carrier) => Some(carrier),
            _ => None,
        }
    }

    /// The call of gRPC that its stream carries.
    pub fn call(&self) -> Option<&Call> {
        match &self.connection.channel {
            Channel::Stream(stream) => stream.call.as_ref(),
            Channel::Plain | Channel::Tls(_) => None,
        }
    }

    pub fn is_tunnel(&self) -> bool {
        matches!(self.stage, Stage::Tunnel(_))
    }

    /// Whether the client has sent a whole request head.
    pub fn has_asked(&self) -> bool {
        self.requests > 0
    }

    pub fn is_idle(&self) -> bool {
        let does_nothing = match &self.stage {
            Stage::Idle | Stage::Introduction | Stage::Hello(_) | Stage::Handshake | Stage::FirstBytes { .. } => true,
            Stage::Http2(carrier) => carrier.connection.streams() == 0,
            Stage::Head | Stage::Exchange(_) | Stage::Tunnel(_) => false,
        };
        does_nothing && self.connection.inbox.is_empty()
    }

    /// Whether a handshake has begun and is not complete. A probe that only connects has begun none.
    pub fn is_amid_handshake(&self) -> bool {
        matches!(self.stage, Stage::Hello(_) | Stage::Handshake) && self.received > 0
    }

    /// Before a connection begins behind its PROXY header: what serves it by the newest snapshot is asked.
    pub fn follow_snapshot(&mut self, core: &Core) -> Result<(), Error> {
        match self.look_up_service(core) {
            true => Ok(()),
            false => Err(Error::ClientTls(HandshakeFault::Unserved)),
        }
    }

    /// Begins TLS, or its first request, behind a PROXY header.
    pub fn begin<I: Io>(&mut self, io: &mut I, core: &Core) -> Result<(), Error> {
        let listener = core.snapshot.listener(self.listener());
        if listener.is_some_and(hello::chooses) {
            self.stage = Stage::Hello(Box::default());
            return Ok(());
        }
        self.stage = match listener.and_then(|listener| listener.tls(self.peer.ip())).filter(|_| self.facts.is_tls()) {
            Some(config) => {
                self.connection.channel = Channel::accept(config, self.peer).map_err(handshake::failed)?;
                // What follows the header is received once more, by TLS.
                self.received -= self.connection.inbox.first().len() as u64;
                Stage::Handshake
            }
            None if self.facts.is_tls() => return Err(Error::ClientTls(HandshakeFault::Unserved)),
            None => Stage::first(&self.service, io.now()),
        };
        Ok(())
    }

    /// Takes input. Returns whether TLS has declared its end.
    pub fn receive<I: Io>(&mut self, io: &mut I, core: &mut Core, buf: Buf) -> Result<bool, Error> {
        self.received += buf.len() as u64;
        self.take(io, core, buf)
    }

    /// As [`receive`](Self::receive), for input that is counted already.
    fn take<I: Io>(&mut self, io: &mut I, core: &mut Core, buf: Buf) -> Result<bool, Error> {
        if matches!(self.stage, Stage::Handshake)
            && self.service.analytics.is_some()
            && let Some(secure) = self.connection.channel.secure_mut()
        {
            secure.note_hello(&buf);
        }
        let progress = self.connection.receive(io, &mut core.scratch, buf).map_err(handshake::failed)?;
        if progress.handshaken {
            if let Some(secure) = self.connection.channel.secure_mut() {
                secure.forget_offered();
                if self.service.analytics.is_some() {
                    secure.note_certificate();
                }
            }
            if let Some(handshaken) = self.connection.channel.handshaken() {
                let agreed = handshake::agreed(handshaken);
                core.counters.note(Happening::Handshake { service: self.service.id, agreed });
            }
            self.stage = Stage::first(&self.service, io.now());
            if self.service.scripts.is_some() {
                self.greet(io, core, &[Event::Handshaken])?;
            }
            if self.connection.channel.protocol() == Some(b"h2") {
                self.begin_http2(io, core);
            }
        }
        Ok(progress.closed)
    }

    /// The driver has relayed this many bytes of the client.
    pub fn relayed(&mut self, bytes: u64) {
        self.received += bytes;
    }

    /// How the connection ends after a response: bytes that the client is still sending must not reset the response.
    /// `has_all`: the client announced that it sends nothing after its request, and the whole request has arrived.
    pub fn farewell(&self, has_all: bool) -> Close {
        let sends_no_more = has_all && self.connection.inbox.is_empty();
        if self.connection.line.ended || sends_no_more { Close::Flush } else { Close::Linger }
    }

    /// The address and protocol that the client connected to.
    pub fn listener(&self) -> TransportAddress {
        TransportAddress::tcp(*self.facts.listener())
    }

    /// What serves this client by the newest snapshot. `None`: the listener is removed, or differs in TLS or in HTTP, or
    /// the server name leads elsewhere.
    fn found<'c>(&self, core: &'c Core) -> Option<&'c Arc<VirtualService>> {
        let listener = core.snapshot.listener(self.listener())?;
        let same_kind = listener.service.http().is_some() == self.service.http().is_some();
        let speaks_on = listener.http2 || !matches!(self.stage, Stage::Http2(_));
        if !same_kind || !speaks_on || listener.tls != self.facts.is_tls() {
            return None;
        }
        match self.service.role {
            Role::ByServerName { .. } => self.found_by_name(core, &listener.service),
            // A tunnel stays with the child that its request was for.
            Role::ByRequest if self.is_tunnel() => core.snapshot.child(&listener.service, &self.service.uuid),
            Role::Single | Role::Parent(_) | Role::ByRequest => Some(&listener.service),
        }
    }

    /// Whether the newest snapshot still serves this client.
    pub fn is_served(&self, core: &Core) -> bool {
        self.epoch == core.epoch || self.found(core).is_some()
    }

    /// Whether the connection may go on after a response.
    pub fn may_stay(&self, core: &Core) -> bool {
        let drains = match self.epoch == core.epoch {
            true => self.service.drains,
            false => self.found(core).is_none_or(|service| service.drains),
        };
        !core.draining && !drains
    }

    fn look_up_service(&mut self, core: &Core) -> bool {
        if self.epoch != core.epoch {
            let Some(found) = self.found(core) else { return false };
            self.service = found.clone();
            self.epoch = core.epoch;
        }
        true
    }

    pub fn report_bytes(&mut self, core: &mut Core) {
        let (service, sent) = (self.service.id, self.connection.line.take_sent());
        let received = std::mem::take(&mut self.received);
        if received + sent > 0 {
            core.counters.note(Happening::ClientBytes { service, received, sent });
        }
    }
}

impl Stage {
    /// The first stage of a client without a pending handshake.
    fn first(service: &VirtualService, now: Time) -> Self {
        match &service.application {
            Application::Http(_) => Stage::Idle,
            Application::L4(_) if awaits_bytes(service) => Stage::FirstBytes { awaited: 0 },
            Application::L4(_) => Stage::Tunnel(Box::new(Tunnel::new(now))),
        }
    }
}

/// Whether its clients have to send something before scripts choose a server.
fn awaits_bytes(service: &VirtualService) -> bool {
    service.scripts.as_ref().is_some_and(|scripts| scripts.on_first_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker holds tens of thousands of idle clients. 320 is a size class of the allocator; the next is 384.
    #[test]
    fn client_is_small() {
        assert!(size_of::<Client>() <= 320, "{}", size_of::<Client>());
    }
}
