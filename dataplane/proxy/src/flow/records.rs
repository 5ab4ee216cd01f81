//! Where requests end, and so their records are made; and what is noted on the way.

use weir_telemetry::{
    Cause, Spans,
    record::{Flags, Outcome, Tls},
};

use crate::{
    client::Client,
    exchange::{Exchange, Phase, table::ExchangeId},
    io::{Conn, Io, Time},
    proxy::{Parties, Proxy},
    records::{Asker, Noted, OfServer, Recorder},
    server::Server,
    sessions::Sessions,
};

// Ends.
impl Proxy {
    /// The client's request is over, if it has one that may leave a record.
    #[inline]
    pub(crate) fn record_request<I: Io>(&mut self, io: &I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let noted = std::mem::replace(&mut client.noted, Noted::NOTHING);
        if noted.is_something()
            && let Some(client) = self.clients.peek(conn)
        {
            record(&mut self.core.records, &self.clients, client, noted, (io.now(), io.unix_us()));
        }
    }

    /// The same for a client whose session has ended.
    #[inline]
    pub(crate) fn record_last<I: Io>(&mut self, io: &I, client: &Client) {
        if client.noted.is_something() {
            record(&mut self.core.records, &self.clients, client, client.noted, (io.now(), io.unix_us()));
        }
    }
}

#[inline(never)]
fn record(records: &mut Recorder, clients: &Sessions<Client>, client: &Client, noted: Noted, now: (Time, u64)) {
    let carrier = client.connection.carrier().and_then(|carrier| clients.peek(carrier));
    let channel = &carrier.unwrap_or(client).connection.channel;
    let mut flags = Flags::default();
    let mut tls = Tls::default();
    if let Some(numbers) = channel.tls_numbers() {
        tls = Tls { version: numbers.version, suite: numbers.suite, group: numbers.group, alert: 0 };
        flags |= Flags::TLS;
        if numbers.resumed {
            flags |= Flags::RESUMED;
        }
    }
    let asker = Asker {
        service: &client.service,
        peer: client.peer,
        sender: carrier.unwrap_or(client).sender(),
        listener: client.facts.listener(),
        flags,
        tls,
        server_name: channel.asked_name().unwrap_or_default().as_bytes(),
        rtt: (0, 0),
    };
    records.end_request(&asker, noted, now);
}

// Notes.
impl Proxy {
    /// A response of Weir itself goes to a client.
    #[cold]
    pub(crate) fn note_answer<I: Io>(&mut self, io: &I, conn: Conn, status: u16, bytes: usize) {
        self.note_unread(io, conn);
        let Some(client) = self.clients.find(conn) else { return };
        if let Some(slot) = self.core.records.slot(client.noted) {
            slot.status = status;
            slot.flags |= Flags::LOCAL;
            slot.response_bytes = bytes as u64;
        } else if let Some(analytics) = client.service.analytics.as_deref() {
            client.noted.weigh(analytics, &Outcome { status, ..Outcome::default() });
        }
    }

    /// Begins notes on a client's request whose head could not be read, if there are none.
    #[cold]
    pub(crate) fn note_unread<I: Io>(&mut self, io: &I, conn: Conn) {
        let Some(client) = self.clients.find(conn).filter(|client| !client.noted.is_something()) else { return };
        if client.service.analytics.is_some() && client.service.http().is_some() {
            client.noted = self.core.records.begin_unread(conn.is_stream(), io.now());
        }
    }

    /// Something about a request has failed.
    #[cold]
    pub(crate) fn note_cause(&mut self, conn: Conn, cause: Cause) {
        let Some(client) = self.clients.find(conn).filter(|client| client.noted.is_something()) else { return };
        if let Some(slot) = self.core.records.slot(client.noted) {
            slot.cause = Some(cause);
        } else if let Some(analytics) = client.service.analytics.as_deref() {
            client.noted.weigh_cause(analytics, cause);
        }
    }

    /// An exchange has failed. Its server's connection still stands, if it has one.
    #[cold]
    pub(crate) fn note_failed<I: Io>(&mut self, io: &I, id: ExchangeId, cause: Cause) {
        let Self { exchanges, clients, servers, core, .. } = self;
        let Some(exchange) = exchanges.find(id) else { return };
        let Some(client) = clients.find(exchange.client).filter(|client| client.noted.is_something()) else { return };
        let server = exchange.server().and_then(|server| servers.find(server));
        let rtt_nanos = server.as_ref().map_or(0, |server| server.rtt_nanos);
        let spans = match exchange.has_begun_response() {
            true => exchange.stamps.spans(io.now(), rtt_nanos),
            false => exchange.stamps.cut(io.now(), rtt_nanos),
        };
        note_exchange(io, &mut core.records, client, exchange, server, spans);
        let conn = exchange.client;
        self.note_cause(conn, cause);
    }
}

impl Parties<'_> {
    /// The exchange is over.
    #[inline]
    pub(crate) fn note_end<I: Io>(&mut self, io: &I, spans: Spans) {
        if self.client.noted.is_something() {
            note_exchange(io, &mut self.core.records, self.client, self.exchange, Some(self.server), spans);
        }
    }
}

/// What an exchange, and the server that it has, have come to.
#[inline(never)]
fn note_exchange<I: Io>(
    io: &I,
    records: &mut Recorder,
    client: &mut Client,
    exchange: &Exchange,
    server: Option<&mut Server>,
    spans: Spans,
) {
    let last = server.as_ref().map(|server| server.place.server);
    let servers_tried = exchange.tried.len() + usize::from(last.is_some_and(|last| !exchange.tried.contains(&last)));
    let Some(slot) = records.slot(client.noted) else {
        if let Some(analytics) = exchange.service.analytics.as_deref() {
            client.noted.weigh(analytics, &Outcome { spans, servers_tried, ..Outcome::default() });
        }
        return;
    };
    slot.servers_tried = servers_tried;
    slot.spans = Some(spans);
    slot.request_bytes += exchange.body.content_bytes;
    if let Phase::Streaming { delivery, .. } = &exchange.phase {
        slot.response_bytes += delivery.body.content_bytes;
        slot.server_response_bytes += delivery.body.content_bytes;
    }
    if let Some(server) = server {
        slot.flags |= if server.requests > 1 { Flags::SERVER_REUSED } else { Flags::default() };
        slot.of_server = OfServer {
            server: server.place.server,
            local: server.local(io),
            connect_us: if server.requests > 1 { 0 } else { server.connect_us },
        };
        slot.pool = Some(server.pool.clone());
    }
}
