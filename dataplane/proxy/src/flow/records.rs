//! Where requests, tunnels and failed connections end, and so their records are made.

use std::{net::SocketAddr, sync::Arc};

use weir_snapshot::VirtualService;
use weir_telemetry::{
    Cause, Spans,
    record::{Flags, Kind, Tls},
};

use crate::{
    client::{Client, Stage},
    connection::{channel::Channel, secure::TlsTexts},
    core::Core,
    flow::notes::naming,
    io::{Conn, Io, Time},
    proxy::{Parties, Proxy},
    records::{Asker, End, Noted, OfServer, OfTunnel, Slot, flags_of},
    sessions::Sessions,
    tunnel::Tunnel,
};

impl End {
    pub fn now<I: Io>(io: &I) -> Self {
        Self { now: io.now(), unix_us: io.unix_us() }
    }
}

// Requests.
impl Proxy {
    /// The client's request is over, of which these are the notes.
    #[inline(never)]
    pub(crate) fn record_request<I: Io>(&mut self, io: &I, conn: Conn, noted: Noted) {
        if self.core.records.may_ask() {
            self.ask_for_record(io, conn);
        }
        let Some(client) = self.clients.peek(conn) else { return self.core.records.forget(noted) };
        let asker = asker(&self.clients, client, io.now());
        self.core.records.end_request(&asker, noted, End::now(io));
    }

    /// Asks the driver for the round trip to a client, which its record shows.
    #[cold]
    fn ask_for_record<I: Io>(&mut self, io: &I, conn: Conn) {
        let carrier = self.clients.peek(conn).and_then(|client| client.connection.carrier());
        if let Some(owner) = self.clients.find(carrier.unwrap_or(conn)) {
            owner.ask_for_record(io);
        }
    }

    /// A client's session has ended: what has not left its record until now leaves it.
    #[inline(never)]
    pub(crate) fn record_last<I: Io>(&mut self, io: &I, client: &Client, server: Option<OfTunnel>) {
        if client.noted.is_something() {
            if let Stage::Tunnel(tunnel) = &client.stage {
                self.note_websocket(client.noted, tunnel);
            }
            let asker = asker(&self.clients, client, io.now());
            self.core.records.end_request(&asker, client.noted, End::now(io));
        } else if let Stage::Tunnel(tunnel) = &client.stage
            && !tunnel.is_websocket
            && client.service.analytics.is_some()
        {
            self.record_tunnel(io, client, tunnel, server);
        }
    }

    fn note_websocket(&mut self, noted: Noted, tunnel: &Tunnel) {
        if let Some(slot) = self.core.records.slot(noted) {
            slot.draft.fixed.request_bytes += tunnel.up_bytes;
            slot.draft.fixed.response_bytes += tunnel.down_bytes;
            slot.draft.fixed.server_response_bytes += tunnel.down_bytes;
        }
    }
}

impl Parties<'_> {
    /// The request of a client is over that is no stream: its record needs nothing of another connection.
    #[inline(always)]
    pub(super) fn record<I: Io>(&mut self, io: &I) {
        let Self { client, core, .. } = self;
        if core.records.may_ask() {
            client.ask_for_record(io);
        }
        let noted = std::mem::replace(&mut client.noted, Noted::NOTHING);
        core.records.end_request(&asker_of(client, client, io.now()), noted, End::now(io));
    }
}

// Connections.
impl Proxy {
    /// The connection to the server that a client's tunnel has, if its end leaves a record.
    pub(crate) fn server_of_tunnel(&self, client: &Client, server: Conn) -> Option<OfTunnel> {
        let server = self.servers.peek(server).filter(|_| client.service.analytics.is_some())?;
        Some(OfTunnel {
            of_server: OfServer::of(server),
            rtt_nanos: server.rtt_nanos,
            pool: naming(&self.core.pools, server),
        })
    }

    #[inline(never)]
    fn record_tunnel<I: Io>(&mut self, io: &I, client: &Client, tunnel: &Tunnel, server: Option<OfTunnel>) {
        let asker = asker(&self.clients, client, io.now()).of_connection(Flags::TUNNEL);
        let rtt_nanos = server.as_ref().map_or(0, |server| server.rtt_nanos);
        self.core.records.end_connection(&asker, End::now(io), |slot| {
            note_said(slot, client);
            slot.set_cause(tunnel.cause);
            slot.spans = Some(tunnel.spans(io.now(), rtt_nanos));
            let fixed = &mut slot.draft.fixed;
            fixed.servers_tried = (tunnel.tried.len() + usize::from(server.is_some())).min(255) as u8;
            (fixed.request_bytes, fixed.response_bytes) = (tunnel.up_bytes, tunnel.down_bytes);
            fixed.server_response_bytes = tunnel.down_bytes;
            if let Some(OfTunnel { of_server, pool, .. }) = server.or_else(|| tunnel.lost.as_deref().cloned()) {
                slot.set_server(&of_server, pool);
            }
        });
    }

    /// A client's connection has failed, and there is no request to blame.
    #[cold]
    pub(crate) fn record_failure<I: Io>(&mut self, io: &I, conn: Conn, cause: Cause) {
        let rule = self.core.records.barring(cause);
        let Some(client) = self.clients.peek(conn).filter(|client| client.service.analytics.is_some()) else { return };
        let mut asker = asker(&self.clients, client, io.now()).of_connection(Flags::default());
        if rule.is_some() {
            asker = asker.by(rule.as_ref());
        }
        let accepted = client.seen.as_ref().map_or(io.now(), |seen| seen.accepted);
        self.core.records.end_connection(&asker, End::now(io), |slot| {
            note_said(slot, client);
            slot.begun = accepted;
            slot.set_cause(Some(cause));
        });
    }
}

/// Notes what scripts have said of a connection.
fn note_said(slot: &mut Slot, client: &Client) {
    if let Some(entrance) = &client.entrance {
        let said = entrance.said.borrow();
        if !said.is_empty() {
            slot.say(&said.lines, said.is_significant);
        }
    }
}

impl Core {
    /// A client is not let in.
    #[cold]
    pub(crate) fn record_refusal<I: Io>(
        &mut self,
        io: &I,
        kind: Kind,
        service: &Arc<VirtualService>,
        (listener, peer): (SocketAddr, SocketAddr),
        cause: Cause,
    ) {
        let rule = self.records.barring(cause);
        let asker = Asker::plain(kind, service, (&listener, &peer)).by(rule.as_ref());
        self.records.end_connection(&asker, End::now(io), |slot| slot.set_cause(Some(cause)));
    }
}

/// What records say of a client. A stream has most of it from the connection that carries it.
#[inline(always)]
fn asker<'c>(clients: &'c Sessions<Client>, client: &'c Client, now: Time) -> Asker<'c> {
    let carrier = client.connection.carrier().and_then(|carrier| clients.peek(carrier));
    asker_of(carrier.unwrap_or(client), client, now)
}

/// The same of a client on the connection of `owner`.
#[inline(always)]
fn asker_of<'c>(owner: &'c Client, client: &'c Client, now: Time) -> Asker<'c> {
    let mut flags = if client.call().is_some() { Flags::GRPC } else { Flags::default() };
    let (sender, rule) = match &owner.entrance {
        None => (&owner.peer, None),
        Some(entrance) => {
            let rule = entrance.rule.as_ref();
            flags |= flags_of(rule);
            (owner.sender(), rule)
        }
    };
    let (mut tls, mut texts) = (Tls::default(), TlsTexts::default());
    if let Channel::Tls(secure) = &owner.connection.channel {
        flags |= Flags::TLS;
        texts = secure.recorded();
        match secure.numbers() {
            Some(numbers) => {
                tls = Tls { version: numbers.version, suite: numbers.suite, group: numbers.group, alert: 0 };
                flags |= if numbers.resumed { Flags::RESUMED } else { Flags::default() };
            }
            None => {
                tls.alert = secure.alert().map_or(0, |alert| u16::from(alert) + 1);
                texts.offered = secure.offered();
            }
        }
    }
    Asker {
        kind: Kind::Request,
        service: &client.service,
        peer: &client.peer,
        sender,
        listener: client.facts.listener(),
        flags,
        tls,
        texts,
        rtt: owner.seen.as_ref().map_or((0, 0), |seen| seen.rtt(now)),
        rule,
    }
}

impl Tunnel {
    /// How long it took until bytes could cross, until the server sent its first, and from then on.
    fn spans(&self, now: Time, rtt_nanos: u64) -> Spans {
        let since = |later: Time, earlier: Time| later.nanos.saturating_sub(earlier.nanos);
        let connected = self.connected_at.unwrap_or(now);
        let answered = self.answered_at.unwrap_or(if self.connected_at.is_some() { connected } else { now });
        let response = since(answered, connected);
        let server_rtt = response.min(rtt_nanos);
        Spans {
            wait: since(connected, self.begun_at),
            server_rtt,
            app_response: response - server_rtt,
            transfer: since(now, answered),
        }
    }
}
