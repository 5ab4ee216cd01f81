//! The way of a response to its client: heads are edited, bodies passed on as the pieces they came in, and in the end
//! both connections are kept or closed.
//!
//! Pieces that the client cannot take yet stay in the server's inbox, and the server is not read. Bytes behind the end
//! of a response are nobody's: they are dropped with their connection.

use weir_policy::{HttpProfile, Reply};
use weir_telemetry::Happening;
use weir_wire::http1::{Body, HeadWriter, Hop, Outgoing, OutgoingBody};

use crate::{
    buf::Buf,
    client::{Client, Stage},
    exchange::{Came, Exchange, Phase},
    io::{Close, Conn, Io},
    pool::Idle,
    proxy::{Core, Proxy},
    request::read_trailers,
    rescue::Error,
    server::{Server, State},
};

/// A response whose head has gone to the client.
pub(crate) struct Download {
    body: Body,
    outgoing: OutgoingBody,
    client_goes_on: bool,
    server_goes_on: bool,
}

impl Proxy {
    /// Passes on what has come from a server, as far as the client takes it.
    pub(crate) fn download<I: Io>(&mut self, io: &mut I, server_conn: Conn) {
        let Some(State::Busy { client: conn }) = self.servers.find(server_conn).map(|server| server.state) else {
            return;
        };
        if self.clients.find(conn).is_some_and(|client| client.tunnel().is_some()) {
            return self.carry(io, conn);
        }
        match self.pass_response(io, conn, server_conn) {
            Ok(Came::Far) => {}
            Ok(Came::Through) => self.proceed(io, conn),
            Err(error) => {
                if !self.repeat(io, conn, server_conn, error) {
                    self.fail(io, conn, error);
                    self.proceed(io, conn);
                }
            }
        }
    }

    fn pass_response<I: Io>(&mut self, io: &mut I, conn: Conn, server_conn: Conn) -> Result<Came, Error> {
        let Some(client) = self.clients.find(conn) else { return Ok(Came::Far) };
        let Some(server) = self.servers.find(server_conn) else { return Ok(Came::Far) };
        loop {
            let client_is_full = server.lost.is_none() && client.line.is_full(io, &self.core.room);
            let Some(exchange) = client.exchange() else { break };
            match &exchange.phase {
                Phase::Waiting { .. } => break,
                Phase::Streaming { download, .. } if download.is_done(server) => {
                    self.finish(io, conn, server_conn);
                    return Ok(Came::Through);
                }
                _ if client_is_full => {
                    server.line.read(io, false);
                    server.line.expect(io, None);
                    client.watch_stall(io, &self.core);
                    break;
                }
                Phase::Sending { .. } => {
                    let uploaded = !exchange.awaits_body();
                    if !read_response_head(io, &mut self.core, client, server)? {
                        return wait_for_server(io, server, uploaded);
                    }
                }
                Phase::Streaming { download, .. } if download.body.is_at_trailers() => {
                    if !pass_trailers(io, &mut self.core, client, server)? {
                        return wait_for_server(io, server, true);
                    }
                }
                Phase::Streaming { download, .. } => {
                    let Some(piece) = server.inbox.pop() else {
                        let is_long = download.relayable_bytes() >= self.core.limits.relay_bytes;
                        if is_long && client.is_plain() && server.is_plain() {
                            self.core.relayable.push(server_conn);
                        }
                        return wait_for_server(io, server, true);
                    };
                    pass_body(io, &mut self.core, client, server, piece)?;
                }
            }
        }
        Ok(Came::Far)
    }

    /// Lets the driver move what is still to come of a body. At the end of a batch, when nothing of it is on its way to
    /// us any more, so that what is left can be told exactly: one byte more would be another client's.
    pub(crate) fn relay<I: Io>(&mut self, io: &mut I, server_conn: Conn) {
        let Some(server) = self.servers.find(server_conn) else { return };
        let State::Busy { client: conn } = server.state else { return };
        let Some(Phase::Streaming { download, .. }) =
            self.clients.find(conn).and_then(Client::exchange).map(|exchange| &exchange.phase)
        else {
            return;
        };
        if server.inbox.is_empty() && download.relayable_bytes() > 0 {
            io.relay(server_conn, conn, download.relayable_bytes());
        }
    }

    /// So much of a body has gone past us. What waits for the client runs on the client's time, the rest on the server's.
    pub(crate) fn relayed<I: Io>(&mut self, io: &mut I, server_conn: Conn, bytes: u64) {
        let Some(server) = self.servers.find(server_conn) else { return };
        let State::Busy { client: conn } = server.state else { return };
        let Some(client) = self.clients.find(conn) else { return };
        client.line.relayed(bytes);
        if client.tunnel().is_some() {
            return client.crossed(io, &mut self.core, bytes);
        }
        let Some(Exchange { phase: Phase::Streaming { download, .. }, .. }) = client.exchange() else { return };
        download.body.pass(bytes);
        if io.queued(conn) > 0 {
            server.line.expect(io, None);
            client.watch_stall(io, &self.core);
        } else {
            client.await_answer(io);
            self.download(io, server_conn);
        }
    }

    /// The response is complete.
    fn finish<I: Io>(&mut self, io: &mut I, conn: Conn, server_conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(exchange) = client.exchange() else { return };
        let Phase::Streaming { download, .. } = &exchange.phase else { return };
        let uploaded = !exchange.awaits_body();
        let (client_goes_on, server_goes_on) = (download.client_goes_on, download.server_goes_on);
        self.release_server(io, server_conn, conn, server_goes_on && uploaded);
        self.finish_client(io, conn, client_goes_on && uploaded);
    }

    fn finish_client<I: Io>(&mut self, io: &mut I, conn: Conn, goes_on: bool) {
        let Some(client) = self.clients.find(conn) else { return };
        client.report_bytes(&mut self.core);
        if goes_on {
            client.finish_request(io);
        } else {
            let how = client.farewell();
            self.close_client(io, conn, how);
        }
    }

    /// The response is one of our own.
    pub(crate) fn answer<I: Io>(&mut self, io: &mut I, conn: Conn, status: u16, response: Buf, keep_alive: bool) {
        let Some(client) = self.clients.find(conn) else { return };
        self.core.counters.note(Happening::Response { service: client.service.id, status, local: true });
        client.deliver(io, &mut self.core.unflushed, response);
        self.finish_client(io, conn, keep_alive);
    }

    /// Keeps a server's connection for another request if nothing speaks against it.
    fn release_server<I: Io>(&mut self, io: &mut I, server_conn: Conn, client: Conn, goes_on: bool) {
        let Some(server) = self.servers.find(server_conn) else { return };
        let place = server.place;
        let over = server.ended || server.broken || server.lost.is_some();
        let clean = goes_on && server.inbox.is_empty() && !over && !server.has_unsent(io);
        if !clean {
            // More than the response has come, or less of the request was taken than was sent.
            let how = if goes_on { Close::Abort } else { Close::Flush };
            return self.close_server(io, server_conn, how);
        }
        if self.core.draining || !server.has_life_left(io.now()) || !self.core.pools.keeps(place, &server.pool) {
            return self.close_server(io, server_conn, Close::Flush);
        }
        self.core.pools.end(place);
        server.line.read(io, true);
        server.line.expect(io, server.pool.timeouts.idle_connection);
        let is_shared = |http: &HttpProfile| http.connection_multiplexing && !server.binds;
        match self.clients.find(client) {
            Some(owner) if owner.service.http().is_some_and(|http| !is_shared(http)) => {
                server.state = State::Reserved { client };
                owner.reserved = Some(server_conn);
            }
            _ => {
                server.state = State::Idle;
                let idle = Idle { conn: server_conn, passing: server.asked_name.is_some() && server.requests == 1 };
                if let Some(spared) = self.core.pools.put_idle(place, idle, &self.core.limits) {
                    self.close_server(io, spared, Close::Flush);
                }
            }
        }
    }
}

impl Download {
    /// Whether the client sees by the framing alone that something is missing.
    pub fn shows_cut(&self) -> bool {
        self.outgoing == OutgoingBody::AsReceived && !self.body.cut_is_end()
    }

    /// How many bytes may go to the client unseen.
    fn relayable_bytes(&self) -> u64 {
        if self.outgoing == OutgoingBody::AsReceived { self.body.length_left() } else { 0 }
    }

    fn is_done(&self, server: &Server) -> bool {
        self.body.is_done() || (server.has_ended_for_good() && server.inbox.is_empty() && self.body.cut_is_end())
    }
}

/// Nothing more can be done until the server sends, which it must once it has the whole request.
fn wait_for_server<I: Io>(io: &mut I, server: &mut Server, uploaded: bool) -> Result<Came, Error> {
    if let Some(error) = server.lost.or(server.ended.then_some(Error::ServerClosed)) {
        return Err(error);
    }
    server.line.read(io, true);
    if uploaded {
        server.await_response(io);
    }
    Ok(Came::Far)
}

/// Takes a response head and passes it on; false when none is whole yet.
fn read_response_head<I: Io>(
    io: &mut I,
    core: &mut Core,
    client: &mut Client,
    server: &mut Server,
) -> Result<bool, Error> {
    let service = &client.service;
    let goes_on = client.may_stay(core) && !(client.ended && client.inbox.is_empty());
    let Stage::Exchange(exchange) = &mut client.stage else { return Ok(false) };
    let keep_alive = exchange.keep_alive && goes_on && !exchange.awaits_body();
    let facts = &client.facts;
    let persistence = service.pool.as_ref().and_then(|pool| pool.persistence.as_ref());
    let cookie = persistence.map_or(&b""[..], |p| p.line(server.place.server, exchange.named, facts));
    let reply = Reply { cookie, date: core.date.line() };
    let Some(http) = service.http() else { return Ok(false) };
    let limits = &http.response_limits;
    let written = server.response_head(exchange.method, limits, &mut core.fields, |response| {
        let head = &response.head;
        let outgoing = Outgoing::of(response, exchange.version, keep_alive);
        let mut out = io.buffer_for(http.response_bytes_max(head, reply) + Hop::BYTES_MAX);
        let mut sink = HeadWriter::new(out.room(), outgoing.hop);
        http.write_response(head, facts, reply, &mut sink);
        let head_bytes = sink.end().map_err(|_| Error::HeadOverflow)?;
        out.filled(head_bytes);
        let download = Download {
            body: Body::new(response.framing),
            outgoing: outgoing.body,
            client_goes_on: outgoing.keep_alive,
            server_goes_on: response.keep_alive,
        };
        Ok((head.status, out, download, http.binds_connection_by(head)))
    });
    let Some(written) = written.map_err(Error::Response)? else { return Ok(false) };
    let (status, out, download, binds) = written?;
    server.binds |= binds;
    match std::mem::take(&mut server.unproven) {
        true => core.pools.proved(server.place),
        false => core.pools.answered(server.place),
    }
    if status >= 200 {
        exchange.phase = Phase::Streaming { server: server.line.conn, download };
    } else {
        exchange.forget_repeatable();
        if exchange.keeps_interim_from_client(status) {
            return Ok(true);
        }
    }
    core.counters.note(Happening::Response { service: service.id, status, local: false });
    client.deliver(io, &mut core.unflushed, out);
    Ok(true)
}

/// Passes on what ends a chunked body; false when it is not whole yet.
#[cold]
fn pass_trailers<I: Io>(io: &mut I, core: &mut Core, client: &mut Client, server: &mut Server) -> Result<bool, Error> {
    let Client { stage: Stage::Exchange(exchange), service, .. } = client else { return Ok(false) };
    let Phase::Streaming { download, .. } = &mut exchange.phase else { return Ok(false) };
    let Some(http) = service.http() else { return Ok(false) };
    let trailers = read_trailers(io, http, &mut server.inbox, &mut download.body, Error::Response)?;
    let Some(trailers) = trailers else { return Ok(false) };
    if download.outgoing == OutgoingBody::AsReceived {
        client.deliver(io, &mut core.unflushed, trailers);
    }
    Ok(true)
}

fn pass_body<I: Io>(
    io: &mut I,
    core: &mut Core,
    client: &mut Client,
    server: &mut Server,
    mut piece: Buf,
) -> Result<(), Error> {
    let Some(Exchange { phase: Phase::Streaming { download, .. }, .. }) = client.exchange() else { return Ok(()) };
    let as_received = download.outgoing == OutgoingBody::AsReceived;
    let mut payload = Vec::new();
    let read = match as_received {
        true => download.body.read(&piece),
        false => download.body.read_payload(&piece, |range| payload.push(range)),
    };
    let read = read.map_err(Error::Response)?;
    for range in payload {
        let mut content = piece.share();
        content.truncate(range.end);
        content.advance(range.start);
        client.deliver(io, &mut core.unflushed, content);
    }
    if read.taken < piece.len() {
        let body = piece.split_to(read.taken);
        server.inbox.put_back(piece);
        piece = body;
    }
    if as_received {
        client.deliver(io, &mut core.unflushed, piece);
    }
    Ok(())
}
