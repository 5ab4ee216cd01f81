//! Passes a request to its server: the head, and the body as it arrives.
//!
//! Pieces of a body that the server cannot take yet stay in the client's inbox, and the client is not read.

use weir_telemetry::{Cause, Happening};
use weir_wire::{head::HeadSink, http1::Hop};

use crate::{
    buf::Buf,
    client::{Stage, intake::Next},
    connection::Connection,
    core::Core,
    error::Error,
    exchange::{
        Exchange, Outcome, Phase, Wait,
        incoming::{self, Form},
        showing::Ready,
        table::ExchangeId,
    },
    flow::{carriers::open_to_server, shown::show_choice},
    head::{self, Target},
    io::{Close, Conn, Io},
    proxy::{ClientSide, Parties, Proxy},
    server::{Life, Server, Work},
};

/// The head of a 100.
const CONTINUE_BYTES_MAX: usize = 32;

// Input of clients.
impl Proxy {
    /// Processes a client's input as far as possible.
    pub(crate) fn proceed<I: Io>(&mut self, io: &mut I, conn: Conn) {
        self.proceed_on(io, conn);
        if conn.is_stream() {
            self.return_credit(conn);
        }
    }

    fn proceed_on<I: Io>(&mut self, io: &mut I, conn: Conn) {
        while let Some(client) = self.clients.find(conn) {
            let outcome = match client.stage {
                Stage::Tunnel(_) => return self.carry(io, conn),
                Stage::Http2(_) => return self.take_frames(io, conn),
                Stage::Hello(_) => self.read_hello(io, conn),
                Stage::FirstBytes { .. } => self.read_first_bytes(io, conn),
                Stage::Exchange(id) => match self.pass_request(io, id) {
                    Ok(outcome) => outcome,
                    Err(error) if self.fail_exchange(io, id, error) => Outcome::Advanced,
                    Err(_) => return self.abandon(io, conn),
                },
                Stage::Handshake | Stage::Idle | Stage::Head => self.next_request(io, conn),
                Stage::Introduction => self.take_introduction(io, conn),
            };
            if let Outcome::NeedsMore = outcome {
                return;
            }
        }
    }

    /// Reads more of a ClientHello.
    fn read_hello<I: Io>(&mut self, io: &mut I, conn: Conn) -> Outcome {
        let Ok(client) = self.clients.live(conn) else { return Outcome::NeedsMore };
        match client.hear(io) {
            true if client.connection.line.ended => self.close_client(io, conn, Close::Flush),
            true => client.connection.line.read(io, true),
            false => match client.choose_by_name(io, &mut self.core) {
                Ok(()) => return Outcome::Advanced,
                Err(error) => self.fail(io, conn, error),
            },
        }
        Outcome::NeedsMore
    }

    fn next_request<I: Io>(&mut self, io: &mut I, conn: Conn) -> Outcome {
        let Ok(client) = self.clients.live(conn) else { return Outcome::NeedsMore };
        if client.connection.line.is_full(io, &self.core.room) {
            // A client that sends more requests without reading the responses must wait.
            client.connection.line.read(io, false);
            client.watch_stall(io, &self.core);
            return Outcome::NeedsMore;
        }
        if client.begins_http2() && client.begin_http2(io, &mut self.core) {
            return Outcome::Advanced;
        }
        let next = client.next_request(io, &mut self.core, &mut self.exchanges);
        self.begin_next(io, conn, next)
    }

    /// Does what has become of a client's input between two requests.
    pub(crate) fn begin_next<I: Io>(&mut self, io: &mut I, conn: Conn, next: Next) -> Outcome {
        let Ok(client) = self.clients.live(conn) else { return Outcome::NeedsMore };
        match next {
            Next::More if client.connection.line.ended => self.close_client(io, conn, Close::Flush),
            Next::More => client.await_request(io),
            Next::Exchange { id, answer_continue } => {
                client.stage = Stage::Exchange(id);
                if answer_continue {
                    let target = if conn.is_stream() { Target::Block } else { Target::Text(Hop::default()) };
                    if let Ok(interim) =
                        head::write_own(io, CONTINUE_BYTES_MAX, target, |out| out.status(100, b"Continue"))
                    {
                        client.connection.deliver_head(io, &mut self.core.unflushed, interim, false);
                    }
                }
                return self.begin(io, id);
            }
            Next::Reported { id, answer_continue } => {
                self.note_cause(conn, Cause::ClientRequestRate);
                return self.begin_next(io, conn, Next::Exchange { id, answer_continue });
            }
            Next::Local(answer) => {
                if let Some(cause) = answer.cause {
                    self.note_refusal(io, conn, cause);
                }
                self.answer(io, conn, *answer);
                return Outcome::Advanced;
            }
            Next::Refused { error, head_only } => self.refuse(io, conn, error, head_only),
            Next::Unserved => self.close_client(io, conn, Close::Linger),
        }
        Outcome::NeedsMore
    }

    /// The head of a request has arrived; its body may still be missing.
    fn begin<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Outcome {
        let Ok(ClientSide { exchange, client, core }) = self.client_side(id) else { return Outcome::Advanced };
        client.await_answer(io, exchange);
        if exchange.has_waited_out(io.now()) || exchange.is_gathering() {
            return Outcome::Advanced;
        }
        let more_has_come = !client.connection.inbox.is_empty();
        let is_waiting = match exchange.client.is_stream() {
            true => {
                // A client that resets it in the same batch costs no connection to a server.
                core.opened.push(id);
                true
            }
            false => self.choose_server(io, id, Error::NoServer),
        };
        if is_waiting && !more_has_come { Outcome::NeedsMore } else { Outcome::Advanced }
    }

    /// Processes what has arrived of a request.
    fn pass_request<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<Outcome, Error> {
        let ClientSide { exchange, client, .. } = self.client_side(id)?;
        if exchange.has_waited_out(io.now()) {
            return Err(Error::ClientAborted);
        }
        match exchange.phase {
            Phase::Waiting { on: Wait::Body, .. } => self.gather(io, id),
            Phase::Sending { .. } | Phase::Streaming { .. } if exchange.awaits_body() => {
                self.upload(io, id)?;
                Ok(Outcome::NeedsMore)
            }
            _ => {
                // The next request waits for the end of this one. A body waits for a server.
                if !client.connection.inbox.is_empty() {
                    client.connection.line.read(io, false);
                }
                Ok(Outcome::NeedsMore)
            }
        }
    }

    /// Buffers the body until enough of it has arrived to choose a server.
    fn gather<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<Outcome, Error> {
        let ClientSide { exchange, client, core } = self.client_side(id)?;
        let enough_bytes = if core.room.is_short { 0 } else { exchange.http()?.request_buffer_bytes };
        while !exchange.has_gathered(enough_bytes) {
            if !exchange.gather(io, &mut client.connection.inbox)? {
                break;
            }
            if exchange.keeps_mostly_framing() {
                return Err(Error::BodyTooLarge);
            }
        }
        if exchange.has_gathered(enough_bytes) {
            exchange.stop_gathering();
            if exchange.collects_bytes() > 0 {
                return self.show_body(io, id);
            }
            self.choose_server(io, id, Error::NoServer);
            return Ok(Outcome::Advanced);
        }
        if client.connection.line.ended {
            return Err(Error::ClientAborted);
        }
        client.connection.line.read(io, true);
        client.await_body(io, core, exchange);
        Ok(Outcome::NeedsMore)
    }
}

// Output to servers.
impl Proxy {
    /// The server connection is ready: sends the head, and what has arrived of the body.
    pub(crate) fn send_request<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        // The exchange may have ended, or its connection was lost and it waits for another one.
        let Self { exchanges, clients, servers, core, .. } = self;
        let Some(exchange) = exchanges.find(id) else { return };
        let Phase::Waiting { on: Wait::Server(conn), .. } = exchange.phase else { return };
        if exchange.form == Form::Content && conn.is_stream() && !open_to_server(servers, conn) {
            return self.begin_elsewhere(io, id, conn);
        }
        let Some(server) = servers.find(conn).filter(|server| server.is_busy()) else { return };
        let Some(client) = clients.find(exchange.client) else { return };
        let ready = exchange.ready(io.now());
        if ready == Ready::TooLate {
            return self.fail_unsent(io, id, Error::ClientAborted);
        }
        if exchange.form == Form::Content && !conn.is_stream() && client.call().is_some() {
            // The server has chosen HTTP/1.1. The next connection shows whether it still does.
            return self.fail_unsent(io, id, Error::NoHttp2);
        }
        server.requests += 1;
        server.binds |= exchange.binds_connection;
        let reused = server.requests > 1;
        core.counters.note(Happening::ServerRequest { server: server.place.server, reused });
        server.retry_timeout_ms = exchange.retry_timeout_ms();
        let Some(head) = exchange.send_on(conn, reused, core.room.is_short) else { return };
        let head = match server.pool.has_hosts {
            true => match with_own_host(core, exchange.form, server, head) {
                Ok(head) => head,
                Err(error) => return self.fail_unsent(io, id, error),
            },
            false => head,
        };
        let head = match ready {
            Ready::ForScripts => match show_choice(io, (exchange, client, server, core), head) {
                Ok(head) => head,
                Err(error) => return self.fail_unsent(io, id, error),
            },
            Ready::Now | Ready::TooLate => head,
        };
        if exchange.form == Form::Content {
            if let Err(error) = send_head(io, core, exchange, server, head) {
                return self.fail_unsent(io, id, error);
            }
        } else {
            server.connection.deliver(io, &mut core.unflushed, head);
        }
        if exchange.awaits_body() {
            let client = exchange.client;
            return self.proceed(io, client);
        }
        exchange.stamps.sent_at_once(io.now());
        client.await_answer(io, exchange);
        client.rest(io, true);
        server.await_response(io);
    }

    /// A request does not go to the server that waits for it. The client's next one may have come already.
    #[cold]
    fn fail_unsent<I: Io>(&mut self, io: &mut I, id: ExchangeId, error: Error) {
        let client = self.exchanges.find(id).map(|exchange| exchange.client);
        self.fail_exchange(io, id, error);
        client.into_iter().for_each(|client| self.proceed(io, client));
    }

    /// The connection that was to carry the request takes no more streams.
    fn begin_elsewhere<I: Io>(&mut self, io: &mut I, id: ExchangeId, conn: Conn) {
        let carrier = self.servers.peek(conn).and_then(|server| server.connection.carrier());
        let found = carrier.and_then(|carrier| self.servers.peek(carrier));
        let error = found.map_or(Error::ServerRefused, Server::refusal);
        if let Some(retired) = found.filter(|server| server.back.as_ref().is_some_and(|back| back.is_retired)) {
            self.core.pools.retire_carrier(retired.place, retired.connection.conn());
        }
        if let Ok(Parties { exchange, server, .. }) = self.parties(id) {
            exchange.note_failure(server.place.server, error);
        }
        self.close_server(io, conn, Close::Abort);
        self.try_another(io, Work::Exchange(id), error);
    }

    /// The end of a body has come behind all of its content: the server has got everything.
    pub(crate) fn end_upload<I: Io>(&mut self, io: &mut I, conn: Conn, id: ExchangeId) {
        let phase = self.exchanges.find(id).map(|exchange| &exchange.phase);
        if let Some(Phase::Sending { .. } | Phase::Streaming { .. }) = phase
            && let Err(error) = self.upload(io, id)
        {
            return self.fail(io, conn, error);
        }
        self.proceed(io, conn);
    }

    fn upload<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<(), Error> {
        let Parties { exchange, client, server, core } = self.parties(id)?;
        let (from, to) = (&mut client.connection, &mut server.connection);
        if server.life == Life::Broken && to.conn().is_stream() {
            // It has answered, and needs no more.
            from.line.read(io, false);
            return Ok(());
        }
        let chunks = exchange.form == Form::Content && exchange.is_endless && !to.conn().is_stream();
        while exchange.awaits_body() && !to.line.is_full(io, &core.room) {
            let Some(piece) = exchange.next_piece(io, &mut from.inbox)? else { break };
            exchange.keep_repeatable(&piece, core.room.queued_bytes);
            let piece = if chunks { incoming::chunk(io, &piece) } else { piece };
            to.deliver(io, &mut core.unflushed, piece);
        }
        let sent = !exchange.awaits_body();
        if sent {
            exchange.stamps.sent_whole(io.now());
        }
        if sent && exchange.form == Form::Content {
            end_body(io, core, exchange, to);
        }
        if sent || to.line.is_full(io, &core.room) {
            if !sent {
                exchange.stamps.begin_again();
            }
            exchange.pause();
            from.line.read(io, sent && from.inbox.is_empty());
            // While the client must take its response first, the deadlines of the client apply and not the server's.
            if to.line.is_reading() {
                server.await_response(io);
                client.await_answer(io, exchange);
            }
        } else if from.line.ended {
            return Err(Error::ClientAborted);
        } else {
            exchange.stamps.starve();
            from.line.read(io, true);
            // The client must take its response first, and has a deadline for that.
            if !to.line.is_reading() {
                return Ok(());
            }
            if client.call().is_some() {
                server.await_response(io);
            } else if !exchange.has_begun_response() {
                to.line.expect(io, None);
            }
            client.await_body(io, core, exchange);
        }
        Ok(())
    }
}

/// A request with the Host that its server wants.
#[cold]
#[inline(never)]
fn with_own_host(core: &mut Core, form: Form, server: &Server, head: Buf) -> Result<Buf, Error> {
    let Some(host) = server.own_host() else { return Ok(head) };
    let pool = &server.pool;
    let scheme = if pool.tls.is_some() { &b"https"[..] } else { b"http" };
    head::with_host(&head, form, (scheme, host), &mut core.fields)
}

/// Sends the head of a request that may go on a stream.
#[inline(never)]
fn send_head<I: Io>(
    io: &mut I,
    core: &mut Core,
    exchange: &Exchange,
    server: &mut Server,
    block: Buf,
) -> Result<(), Error> {
    let is_stream = server.connection.conn().is_stream();
    let head = if is_stream { block } else { head::text_of(io, &block, exchange.is_endless, &mut core.fields)? };
    server.connection.deliver_head(io, &mut core.unflushed, head, true);
    if !exchange.awaits_body() {
        end_body(io, core, exchange, &mut server.connection);
    }
    Ok(())
}

/// Sends what ends a body that went on as content.
fn end_body<I: Io>(io: &mut I, core: &mut Core, exchange: &Exchange, to: &mut Connection) {
    match to.conn().is_stream() {
        true => {
            if !exchange.trailers().is_empty() {
                to.deliver_trailers(io, &mut core.unflushed, exchange.trailers());
            } else if exchange.is_endless && exchange.body.content_bytes == 0 {
                // Servers of gRPC take the end of a call from a DATA frame only, and wait for one behind a head that says
                // all ("EOS" in PROTOCOL-HTTP2.md).
                to.deliver(io, &mut core.unflushed, Buf::from_vec(Vec::new()));
            }
            to.finish(io, &mut core.unflushed);
        }
        false if exchange.is_endless => {
            let last = incoming::last_chunk(io, exchange.trailers());
            to.deliver(io, &mut core.unflushed, last);
        }
        false => {}
    }
}
