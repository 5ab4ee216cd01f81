//! The way of a request to a server: one is found, connected to if need be, and given the head and the body.
//!
//! Until a byte of it has been sent, a request whose connection fails goes to another server; never after that. Pieces of
//! a body that the server cannot take yet stay in the client's inbox, and the client is not read.

use weir_policy::HttpProfile;
use weir_snapshot::Pool;
use weir_telemetry::Happening;
use weir_wire::http1::{self, Body, Parsed, TRAILER_BYTES_MAX};

use crate::{
    buf::Buf,
    client::{Client, Next, Stage},
    exchange::{Came, Exchange, Phase, Repeatable},
    inbox::Inbox,
    io::{Close, Conn, Io},
    pool::Place,
    proxy::Proxy,
    rescue::Error,
    server::{Server, State},
};

// Waiting: finding a server.
impl Proxy {
    /// Gives the exchange a server: this client's own, an idle one, or a new connection. `otherwise` is what went wrong
    /// before, and is answered when nobody else can take the request.
    pub(crate) fn choose_server<I: Io>(&mut self, io: &mut I, conn: Conn, otherwise: Error) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(pool) = client.service.pool.clone() else { return self.fail(io, conn, Error::NoPool) };
        if let Some(reserved) = client.reserved.take() {
            if self.take_reserved(io, conn, reserved, &pool) {
                return;
            }
            self.close_server(io, reserved, Close::Flush);
        }
        let Some(exchange) = self.clients.find(conn).and_then(Client::exchange) else { return };
        if exchange.tried.len() >= self.core.limits.server_tries {
            return self.fail(io, conn, otherwise);
        }
        let named = exchange.named.filter(|named| !exchange.tried.contains(named));
        let named = named.and_then(|named| self.core.pools.take(io.now(), &pool, named));
        let Some(place) = named.or_else(|| self.core.pools.pick(io.now(), &pool, exchange.key, &exchange.tried)) else {
            return self.fail(io, conn, otherwise);
        };
        let servers = &mut self.servers;
        let suits = |idle| {
            !exchange.repeated && servers.find(idle).is_some_and(|server| server.asked_name == exchange.asked_name)
        };
        if let Some(idle) = self.core.pools.take_idle(place, suits) {
            return self.start_on(io, conn, idle);
        }
        let fresh = io.connect(place.address);
        exchange.wait_for(Some(fresh));
        let mut server = Server::new(fresh, place, pool, conn, io.now());
        server.asked_name.clone_from(&exchange.asked_name);
        self.await_connect(io, server);
    }

    pub(crate) fn await_connect<I: Io>(&mut self, io: &mut I, server: Server) {
        let server = self.servers.insert(server.line.conn, server);
        server.line.expect(io, server.connect_patience(&self.core.limits));
        if self.servers.len() >= self.core.limits.clients
            && let Some(idle) = self.core.pools.spare_idle()
        {
            // A reset, because the next connect, maybe of this batch, needs its room.
            self.close_server(io, idle, Close::Abort);
        }
    }

    fn take_reserved<I: Io>(&mut self, io: &mut I, conn: Conn, reserved: Conn, pool: &Pool) -> bool {
        let Some(exchange) = self.clients.find(conn).and_then(Client::exchange) else { return false };
        let Some(server) = self.servers.find(reserved) else { return false };
        let suits = server.pool.uuid == pool.uuid
            && server.pool.speaks_like(pool)
            && server.asked_name == exchange.asked_name
            && exchange.named.is_none_or(|named| named == server.place.server)
            && server.has_life_left(io.now());
        if !suits || !self.core.pools.takes(server.place) {
            return false;
        }
        self.core.pools.begin(server.place);
        self.start_on(io, conn, reserved);
        true
    }

    /// The exchange gets a connection that stands; the request goes out at the end of the batch.
    fn start_on<I: Io>(&mut self, io: &mut I, conn: Conn, server_conn: Conn) {
        let Some(server) = self.servers.find(server_conn) else { return };
        server.state = State::Busy { client: conn };
        server.line.expect(io, None);
        if let Some(exchange) = self.clients.find(conn).and_then(Client::exchange) {
            exchange.wait_for(Some(server_conn));
        }
        self.core.starting.push(conn);
    }

    /// A server that could not even be connected to is not asked again for this request.
    pub(crate) fn exclude(&mut self, conn: Conn, failed: Place, error: Error) {
        if error.blames_server() {
            self.core.counters.note(Happening::ServerFailed { server: failed.server });
        }
        if let Some(tried) = self.clients.find(conn).and_then(Client::tried) {
            tried.push(failed.server);
        }
    }

    /// The connection that the request waited for is of no use, and no byte of it has been sent.
    pub(crate) fn try_another<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error) {
        let Some(client) = self.clients.find(conn) else { return };
        if let Some(tunnel) = client.tunnel() {
            tunnel.server = None;
            return self.open_tunnel(io, conn, error);
        }
        let Some(exchange) = client.exchange() else { return };
        exchange.wait_for(None);
        self.choose_server(io, conn, error);
        self.proceed(io, conn);
    }
}

// Sending: the request and its body.
impl Proxy {
    /// The connection stands: the request goes out, and with it what has come of its body.
    pub(crate) fn send_request<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(exchange) = client.exchange() else { return };
        let Some(server_conn) = exchange.server().filter(|_| exchange.is_waiting()) else { return };
        // The idle connection it was to go out on may have been lost meanwhile, and another be on its way.
        let Some(server) = self.servers.find(server_conn).filter(|server| server.is_busy()) else { return };
        let sending = Phase::Sending { server: server_conn, repeatable: None };
        let waiting = std::mem::replace(&mut exchange.phase, sending);
        let Phase::Waiting { request, .. } = waiting else { return };
        server.requests += 1;
        server.binds |= exchange.binds_connection;
        let reused = server.requests > 1;
        self.core.counters.note(Happening::ServerRequest { server: server.place.server, reused });
        if let Phase::Sending { repeatable, .. } = &mut exchange.phase
            && reused
            && exchange.method.is_idempotent()
        {
            *repeatable = Some(Repeatable::new(&request, self.core.room.is_short));
        }
        server.deliver(io, &mut self.core.unflushed, request);
        if !exchange.awaits_body() {
            client.await_answer(io);
            client.rest(io, true);
            server.await_response(io);
        }
        self.proceed(io, conn);
    }

    /// Does what can be done with what a client has sent.
    pub(crate) fn proceed<I: Io>(&mut self, io: &mut I, conn: Conn) {
        while let Some(client) = self.clients.find(conn) {
            if client.tunnel().is_some() {
                return self.carry(io, conn);
            }
            if client.is_lost(io.now()) {
                return self.fail(io, conn, Error::ClientAborted);
            }
            let came = match client.exchange() {
                None => self.next_request(io, conn),
                Some(exchange) if exchange.is_gathering() => self.gather(io, conn),
                Some(exchange) if !exchange.is_waiting() && exchange.awaits_body() => match self.upload(io, conn) {
                    Ok(()) => Came::Far,
                    Err(error) => {
                        self.fail(io, conn, error);
                        Came::Through
                    }
                },
                Some(_) => {
                    // The next request waits for the end of this one, a body for a server.
                    if !client.inbox.is_empty() {
                        client.line.read(io, false);
                    }
                    Came::Far
                }
            };
            if let Came::Far = came {
                return;
            }
        }
    }

    fn next_request<I: Io>(&mut self, io: &mut I, conn: Conn) -> Came {
        let Some(client) = self.clients.find(conn) else { return Came::Far };
        if client.line.is_full(io, &self.core.room) {
            // Who asks on without reading the answers waits.
            client.line.read(io, false);
            client.watch_stall(io, &self.core);
            return Came::Far;
        }
        match client.next_request(io, &mut self.core) {
            Next::More if client.ended => self.close_client(io, conn, Close::Flush),
            Next::More => client.await_request(io),
            Next::Exchange { exchange, answer_continue } => {
                client.stage = Stage::Exchange(exchange);
                client.await_answer(io);
                if answer_continue {
                    let mut interim = io.buffer();
                    interim.append(http1::CONTINUE);
                    client.deliver(io, &mut self.core.unflushed, interim);
                }
                if !client.is_lost(io.now()) && client.exchange().is_some_and(|exchange| !exchange.is_gathering()) {
                    self.choose_server(io, conn, Error::NoServer);
                }
                return Came::Through;
            }
            Next::Local { status, response, keep_alive } => {
                self.answer(io, conn, status, response, keep_alive);
                return Came::Through;
            }
            Next::Refused(error) => self.fail(io, conn, error),
            Next::Unserved => self.close_client(io, conn, Close::Linger),
        }
        Came::Far
    }

    /// Keeps what comes of a body until that is enough to look for a server.
    fn gather<I: Io>(&mut self, io: &mut I, conn: Conn) -> Came {
        match self.gather_body(io, conn) {
            Ok(Came::Far) => return Came::Far,
            Ok(Came::Through) => self.choose_server(io, conn, Error::NoServer),
            Err(error) => self.fail(io, conn, error),
        }
        Came::Through
    }

    fn gather_body<I: Io>(&mut self, io: &mut I, conn: Conn) -> Result<Came, Error> {
        let Some(client) = self.clients.find(conn) else { return Ok(Came::Far) };
        let Some(http) = client.service.http() else { return Ok(Came::Far) };
        let Stage::Exchange(exchange) = &mut client.stage else { return Ok(Came::Far) };
        let enough_bytes = if self.core.room.is_short { 0 } else { http.request_buffer_bytes };
        while !exchange.has_gathered(enough_bytes) {
            if !exchange.gather(io, &mut client.inbox, http)? {
                break;
            }
        }
        if exchange.has_gathered(enough_bytes) {
            exchange.stop_gathering();
            return Ok(Came::Through);
        }
        if client.ended {
            return Err(Error::ClientAborted);
        }
        client.line.read(io, true);
        client.await_body(io, &self.core);
        Ok(Came::Far)
    }

    fn upload<I: Io>(&mut self, io: &mut I, conn: Conn) -> Result<(), Error> {
        let Some(client) = self.clients.find(conn) else { return Ok(()) };
        let Client { stage: Stage::Exchange(exchange), inbox, line, service, .. } = client else {
            return Ok(());
        };
        let Some(http) = service.http() else { return Ok(()) };
        let Some(server) = exchange.server().and_then(|server| self.servers.find(server)) else { return Ok(()) };
        while exchange.awaits_body() && !server.line.is_full(io, &self.core.room) {
            let Some(piece) = exchange.next_piece(io, inbox, http)? else { break };
            exchange.keep_repeatable(&piece, self.core.room.queued_bytes);
            server.deliver(io, &mut self.core.unflushed, piece);
        }
        let sent = !exchange.awaits_body();
        if sent || server.line.is_full(io, &self.core.room) {
            exchange.pause();
            line.read(io, sent && inbox.is_empty());
            // While a response waits for its client, the client's time runs and not the server's.
            if server.line.is_reading() {
                server.await_response(io);
                client.await_answer(io);
            }
        } else if client.ended {
            return Err(Error::ClientAborted);
        } else {
            line.read(io, true);
            if !exchange.has_begun_response() {
                server.line.expect(io, None);
            }
            client.await_body(io, &self.core);
        }
        Ok(())
    }
}

// Once more: what an idle connection swallowed.
impl Proxy {
    /// A connection ended without a byte of a response. Where it had served others before, the server may have closed it
    /// before it saw this request, which then goes out once more if it may (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
    pub(crate) fn repeat<I: Io>(&mut self, io: &mut I, conn: Conn, server_conn: Conn, error: Error) -> bool {
        let ended = matches!(error, Error::ServerClosed | Error::ServerReset);
        if !ended || self.servers.find(server_conn).is_none_or(|server| !server.inbox.is_empty()) {
            return false;
        }
        let exchange = self.clients.find(conn).and_then(Client::exchange);
        if !exchange.is_some_and(Exchange::begin_again) {
            return false;
        }
        self.close_server(io, server_conn, Close::Abort);
        self.choose_server(io, conn, error);
        self.proceed(io, conn);
        true
    }
}

/// What goes on of the trailer section that an inbox begins with; `None` while it is not whole. `wrong` says whose it is.
#[cold]
pub(crate) fn read_trailers<I: Io>(
    io: &mut I,
    http: &HttpProfile,
    inbox: &mut Inbox,
    body: &mut Body,
    wrong: fn(weir_wire::Error) -> Error,
) -> Result<Option<Buf>, Error> {
    while let Some(bytes) = inbox.head(TRAILER_BYTES_MAX) {
        match body.trailers(bytes).map_err(wrong)? {
            Parsed::Partial => {
                if !inbox.keep_for_more() {
                    break;
                }
            }
            Parsed::Whole(trailers) => {
                let mut out = io.buffer_for(trailers.bytes());
                let written = trailers.write(|field| http.passes_trailer(field), out.room());
                let written = written.map_err(|_| Error::HeadOverflow)?;
                out.filled(written);
                let bytes = trailers.bytes();
                inbox.head_read(bytes);
                return Ok(Some(out));
            }
        }
    }
    Ok(None)
}
