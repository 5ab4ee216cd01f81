//! What is noted on requests while they live, for their records.

use std::sync::Arc;

use weir_snapshot::Pool;
use weir_telemetry::{
    Cause, Spans,
    record::{Flags, Outcome},
};

use crate::{
    client::Client,
    core::Core,
    exchange::{Exchange, Phase, bond::Bond, table::ExchangeId},
    io::{Conn, Io},
    pool::Pools,
    proxy::{ClientSide, Parties, Proxy},
    records::{Noted, OfServer, Recorder, first_cause},
    server::Server,
};

impl Proxy {
    /// A response of Weir itself goes to a client.
    #[cold]
    pub(crate) fn note_answer<I: Io>(&mut self, io: &I, conn: Conn, status: u16, bytes: usize) {
        self.note_unread(io, conn);
        let Some(client) = self.clients.find(conn) else { return };
        if let Some(slot) = self.core.records.slot(client.noted) {
            let fixed = &mut slot.draft.fixed;
            (fixed.status, fixed.response_bytes) = (status, bytes as u64);
            fixed.flags |= Flags::LOCAL;
        } else if let Some(analytics) = client.service.analytics.as_deref() {
            client.noted.weigh(analytics, &Outcome { status, ..Outcome::default() });
        }
    }

    /// A call ends with a status of gRPC.
    #[cold]
    pub(crate) fn note_grpc_status(&mut self, conn: Conn, status: Option<u32>) {
        if let Some(client) = self.clients.peek(conn) {
            self.core.records.note_grpc_status(client.noted, status);
        }
    }

    /// Begins notes on a client's request whose head could not be read, if there are none.
    #[cold]
    pub(crate) fn note_unread<I: Io>(&mut self, io: &I, conn: Conn) {
        let Some(client) = self.clients.find(conn).filter(|client| !client.noted.is_something()) else { return };
        if let Some(analytics) = client.service.analytics.as_deref().filter(|_| client.service.http().is_some()) {
            let service = client.service.id;
            client.noted = self.core.records.begin_unread(service, analytics, client.peer, conn.is_stream(), io.now());
        }
    }

    /// Something about a request or a tunnel has failed.
    #[cold]
    pub(crate) fn note_cause(&mut self, conn: Conn, cause: Cause) {
        let Some(client) = self.clients.find(conn) else { return };
        if let Some(tunnel) = client.tunnel() {
            tunnel.cause = Some(first_cause(tunnel.cause, cause));
        }
        if let Some(analytics) = client.service.analytics.as_deref() {
            self.core.records.note_cause(&mut client.noted, analytics, cause);
        }
    }

    /// A client gets a response of Weir itself because its request is refused.
    #[cold]
    pub(crate) fn note_refusal<I: Io>(&mut self, io: &I, conn: Conn, cause: Cause) {
        let Some(client) = self.clients.peek(conn) else { return };
        self.core.count_failure(client.service.id, cause);
        self.note_unread(io, conn);
        self.note_cause(conn, cause);
    }

    /// A stored response has answered.
    #[cold]
    pub(crate) fn note_served<I: Io>(&mut self, io: &I, id: ExchangeId) {
        let Ok(ClientSide { exchange, client, core }) = self.client_side(id) else { return };
        if client.noted.is_something() {
            let spans = exchange.stamps.spans(io.now(), 0);
            note_exchange(&mut core.records, client, exchange, None, spans);
        }
    }

    /// An exchange has failed. Its server's connection still stands, if it has one.
    #[cold]
    pub(crate) fn note_failed<I: Io>(&mut self, io: &I, id: ExchangeId, cause: Cause) {
        let Self { exchanges, clients, servers, core, .. } = self;
        let Some(exchange) = exchanges.find(id) else { return };
        let Some(client) = clients.find(exchange.client).filter(|client| client.noted.is_something()) else { return };
        let server = exchange.server().and_then(|server| servers.peek(server));
        let rtt_nanos = server.map_or(0, |server| server.rtt_nanos);
        let spans = match exchange.has_begun_response() {
            true => exchange.stamps.spans(io.now(), rtt_nanos),
            false => exchange.stamps.cut(io.now(), rtt_nanos),
        };
        let server = server.map(|server| (server, naming(&core.pools, server)));
        note_exchange(&mut core.records, client, exchange, server, spans);
        let conn = exchange.client;
        self.note_cause(conn, cause);
    }

    /// A connection to a server ends, and its request goes elsewhere: until another server has it, this was the last.
    #[cold]
    pub(crate) fn note_lost_server(&mut self, id: ExchangeId, conn: Conn) {
        let Some(exchange) = self.exchanges.find(id) else { return };
        let Some(client) = self.clients.peek(exchange.client) else { return };
        let Some(server) = self.servers.peek(conn) else { return };
        if let Some(slot) = self.core.records.slot(client.noted) {
            slot.set_server(&OfServer::of(server), naming(&self.core.pools, server));
        }
    }

    /// The same for a tunnel that is not established yet.
    #[cold]
    pub(crate) fn note_server_lost_to(&mut self, client: Conn, server: Conn) {
        let lost = self.clients.peek(client).and_then(|client| self.server_of_tunnel(client, server));
        if let Some(tunnel) = self.clients.find(client).and_then(|client| client.tunnel()) {
            tunnel.lost = lost.map(Box::new);
        }
    }

    /// A request has become a tunnel. Of too many at once the records are made now, and not at their ends.
    #[cold]
    pub(crate) fn note_switch<I: Io>(&mut self, io: &I, id: ExchangeId) {
        let Ok(Parties { exchange, client, server, core }) = self.parties(id) else { return };
        let conn = exchange.client;
        if !client.noted.is_something() {
            return;
        }
        let spans = exchange.stamps.cut(io.now(), server.rtt_nanos);
        let pool = naming(&core.pools, server);
        note_exchange(&mut core.records, client, exchange, Some((server, pool)), spans);
        if let Some(slot) = core.records.slot(client.noted) {
            slot.draft.fixed.flags |= Flags::WEBSOCKET | Flags::TUNNEL;
        }
        if core.records.is_crowded() {
            let noted = std::mem::replace(&mut client.noted, Noted::NOTHING);
            self.record_request(io, conn, noted);
        }
    }
}

impl Parties<'_> {
    /// The exchange is over.
    #[inline]
    pub(crate) fn note_end<I: Io>(&mut self, io: &I, spans: Spans) {
        if self.client.noted.is_something() {
            self.end_notes(io, spans);
        }
    }

    #[inline(never)]
    fn end_notes<I: Io>(&mut self, io: &I, spans: Spans) {
        let Core { records, pools, .. } = &mut *self.core;
        // The record is made at once: it needs no pool if its batch has the server.
        let is_listed = records.lists(self.server.place.server);
        let pool = if is_listed { None } else { naming(pools, self.server) };
        note_exchange(records, self.client, self.exchange, Some((self.server, pool)), spans);
        if self.client.connection.carrier().is_none() {
            self.record(io);
        }
    }
}

/// What an exchange, and the server that it has, have come to.
#[inline(always)]
fn note_exchange(
    records: &mut Recorder,
    client: &mut Client,
    exchange: &Exchange,
    server: Option<(&Server, Option<Arc<Pool>>)>,
    spans: Spans,
) {
    let last = server.as_ref().map(|(server, _)| server.place.server);
    let servers_tried = match exchange.tried.as_slice() {
        [] => usize::from(last.is_some()),
        tried => tried.len() + usize::from(last.is_some_and(|last| !tried.contains(&last))),
    };
    let bond = match exchange.bond.get() {
        Bond::Kept => Flags::default(),
        bond => bond.flags(last.is_some()),
    };
    let Some(slot) = records.slot(client.noted) else {
        if let Some(analytics) = exchange.service.analytics.as_deref() {
            client.noted.weigh(analytics, &Outcome { spans, servers_tried, bond, ..Outcome::default() });
        }
        return;
    };
    slot.draft.fixed.flags |= bond;
    slot.spans = Some(spans);
    let fixed = &mut slot.draft.fixed;
    fixed.servers_tried = servers_tried.min(255) as u8;
    fixed.request_bytes += exchange.body.content_bytes;
    fixed.response_bytes += exchange.delivered_bytes();
    if let Phase::Streaming { delivery, .. } = &exchange.phase {
        fixed.server_response_bytes += delivery.body.content_bytes;
    }
    if exchange.is_served() {
        fixed.flags |= Flags::CACHE_HIT | Flags::CACHEABLE;
    }
    if let Some(outcome) = exchange.compressing().and_then(|compressing| compressing.outcome.get()) {
        fixed.flags |= Flags::compression(outcome as u8);
    }
    if let Some((server, pool)) = server {
        let mut flags = Flags::default();
        if server.requests > 1 {
            flags |= Flags::SERVER_REUSED;
        }
        if exchange.named.is_some() && exchange.named == last {
            flags |= Flags::PERSISTED;
        }
        fixed.flags |= flags;
        slot.set_server(&OfServer::of(server), pool);
    }
}

/// A version of the pool that has the server.
pub(super) fn naming(pools: &Pools, server: &Server) -> Option<Arc<Pool>> {
    server.naming.clone().or_else(|| pools.naming(server.place, &server.pool))
}

impl OfServer {
    pub fn of(server: &Server) -> Self {
        let connect_us = if server.requests > 1 { 0 } else { server.connect_us };
        Self { server: server.place.server, local: server.local, connect_us }
    }
}
