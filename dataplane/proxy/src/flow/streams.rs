//! Clients' connections that carry streams: moves what comes on a connection to the clients that stand for its streams,
//! and looks after their time and their ends.

use weir_telemetry::{Cause, Happening};
use weir_wire::http2::{Code, Event, Refused};

use crate::{
    buf::Buf,
    carrier::millis,
    client::http2::{LARGE_HEAD_COSTS, NewStream, is_too_large},
    error::Error,
    exchange::{Outcome, table::ExchangeId},
    head,
    io::{Close, Conn, Io, Time},
    limits::Limits,
    proxy::Proxy,
};

/// A connection with more streams gets none of the last places.
const FEW_STREAMS: usize = 8;

// Input.
impl Proxy {
    /// Takes what has come on a connection that carries streams.
    pub(crate) fn take_frames<I: Io>(&mut self, io: &mut I, conn: Conn) {
        while let Some(client) = self.clients.find(conn) {
            if client.connection.line.is_full(io, &self.core.room) {
                return client.connection.line.read(io, false);
            }
            let Some(piece) = client.connection.inbox.pop() else { break };
            client.connection.line.moved_at = io.now();
            if let Err(code) = self.take_piece(io, conn, &piece) {
                return self.end_at_breach(io, conn, code);
            }
        }
        let Some(client) = self.clients.find(conn) else { return };
        client.connection.line.read(io, true);
        if let Some(carrier) = client.carrier() {
            carrier.note_part(io.now());
        }
        if client.connection.line.ended
            && let Some(carrier) = client.carrier()
        {
            // What is ready is sent first.
            return carrier.list(conn, &mut self.core.carriers);
        }
        self.watch_carrier(io, conn);
    }

    fn take_piece<I: Io>(&mut self, io: &mut I, conn: Conn, piece: &Buf) -> Result<(), Code> {
        let (mut at, now_ms) = (0, millis(io.now()));
        loop {
            let Some(carrier) = self.clients.find(conn).and_then(|client| client.carrier()) else { return Ok(()) };
            let event = carrier.connection.take(piece, &mut at, now_ms)?;
            if !carrier.connection.control().is_empty() {
                carrier.list(conn, &mut self.core.carriers);
            }
            match event {
                Event::More => return Ok(()),
                Event::Head { stream, .. } => self.open_stream(io, conn, stream, piece)?,
                Event::Trailers { stream } => self.stream_trailers(io, conn, stream, piece)?,
                Event::Data { stream, content, is_all } => {
                    let content = piece.part(content);
                    self.stream_data(io, conn, stream, content, is_all);
                }
                Event::Reset { stream, .. } => self.stream_reset(io, conn, stream),
                Event::Room { stream } => {
                    carrier.has_room(stream);
                    carrier.list(conn, &mut self.core.carriers);
                }
                Event::Priority { stream, priority } => carrier.prefer(stream, priority),
                Event::GoAway { .. } => {}
            }
        }
    }

    /// A stream begins with a request: a client of its own stands for it.
    fn open_stream<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32, piece: &Buf) -> Result<(), Code> {
        let is_full = self.has_no_place(carrier);
        let conn = self.clients.next_stream();
        let Self { clients, exchanges, core, .. } = self;
        let client = clients.live(carrier).map_err(|_| Code::InternalError)?;
        if is_full {
            core.counters.note(Happening::Failed { service: client.service.id, cause: Cause::EngineRefused });
        }
        let opening = NewStream { conn, id, is_full };
        let (next, child, call) = client.next_stream(io, core, exchanges, opening, piece)?;
        let stream = client.carry(conn, id, (child, call), io.now());
        if let Some(outbox) = client.carrier().and_then(|carrier| carrier.connection.kept(id)) {
            outbox.owner = Some(conn);
        }
        core.counters.note(Happening::StreamOpened { service: stream.service.id });
        clients.insert(conn, stream);
        if let Outcome::Advanced = self.begin_next(io, conn, next) {
            self.proceed(io, conn);
        }
        Ok(())
    }

    /// Whether one more stream finds no place. The last places are for connections that carry few.
    fn has_no_place(&mut self, carrier: Conn) -> bool {
        let most = self.core.limits.clients;
        let (open, usual) = (self.clients.streams(), Limits::usual(most));
        if open < usual {
            return false;
        }
        let found = self.clients.find(carrier).and_then(|client| client.carrier());
        open >= most || found.is_some_and(|found| found.connection.streams() > FEW_STREAMS)
    }

    /// Chooses a server for the request of a stream, unless it is gone or waits for its body.
    pub(crate) fn begin_stream<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        if self.exchanges.find(id).is_some_and(|exchange| exchange.awaits_place()) {
            self.choose_server(io, id, Error::NoServer);
        }
    }

    fn stream_trailers<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32, piece: &Buf) -> Result<(), Code> {
        let Self { clients, core, .. } = self;
        let client = clients.live(carrier).map_err(|_| Code::InternalError)?;
        let service = client.service.clone();
        let http = service.http().ok_or(Code::InternalError)?;
        let Some(found) = client.carrier() else { return Ok(()) };
        let read = found.connection.trailers(piece, &http.stream_limits(), &mut core.fields);
        match read.map(|fields| head::lines(io, &fields, |field| http.passes_trailer(field))) {
            Ok(lines) => {
                let conn = self.stream_client(carrier, id);
                if let Some(conn) = conn.filter(|conn| self.is_for_websocket(*conn)) {
                    // Only content may come (RFC 9113 §8.5).
                    self.fail(io, conn, Error::Request(weir_wire::Error::Trailer));
                    return Ok(());
                }
                let exchange = conn.and_then(|conn| self.clients.find(conn)).and_then(|client| client.exchange());
                if let Some(exchange) = exchange.and_then(|id| self.exchanges.find(id)) {
                    exchange.body.trailers_came(lines);
                }
                self.stream_data(io, carrier, id, Buf::from_vec(Vec::new()), true);
            }
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(error)) => {
                if is_too_large(error) {
                    found.connection.charge(LARGE_HEAD_COSTS, millis(io.now()))?;
                }
                if let Some(conn) = self.stream_client(carrier, id) {
                    self.fail(io, conn, Error::Request(error));
                }
            }
        }
        Ok(())
    }

    /// The client that stands for a stream; `None`: its exchange is over.
    fn stream_client(&mut self, carrier: Conn, id: u32) -> Option<Conn> {
        self.clients.find(carrier)?.carrier()?.connection.kept(id)?.owner
    }

    fn stream_data<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32, content: Buf, is_all: bool) {
        let bytes = content.len();
        let Some(conn) = self.stream_client(carrier, id) else {
            // Nobody needs it any more.
            return self.give_back(carrier, id, bytes as u32);
        };
        let Ok(client) = self.clients.live(conn) else { return };
        if let Some(stream) = client.connection.stream() {
            stream.credit += bytes as u32;
        }
        match client.connection.inbox.is_empty() {
            true => client.connection.inbox.push(content),
            false => client.connection.inbox.append(&content, || io.buffer()),
        }
        let id = client.exchange();
        let with_body = id.and_then(|id| self.exchanges.find(id)).filter(|exchange| exchange.websocket().is_none());
        match (id, with_body.map(|exchange| exchange.came(bytes, is_all))) {
            (_, Some(Err(error))) => return self.fail(io, conn, error),
            (Some(id), Some(Ok(true))) => return self.end_upload(io, conn, id),
            (_, None) if is_all => self.client_ended(io, conn),
            _ => {}
        }
        self.proceed(io, conn);
    }

    /// Resets a stream whose message is malformed. That costs the peer as much as a reset of its own.
    pub(crate) fn refuse_stream<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        let Some(stream) = client.connection.stream() else { return };
        stream.code = Some(Code::ProtocolError);
        let carrier = stream.carrier;
        self.close_client(io, conn, Close::Abort);
        let found = self.clients.find(carrier).and_then(|client| client.carrier());
        if let Some(Err(code)) = found.map(|found| found.connection.charge(1, millis(io.now()))) {
            self.end_at_breach(io, carrier, code);
        }
    }

    fn stream_reset<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32) {
        if let Some(conn) = self.stream_client(carrier, id) {
            return self.fail(io, conn, Error::ClientAborted);
        }
        if let Some(found) = self.clients.find(carrier).and_then(|client| client.carrier()) {
            found.connection.end(id, Code::Cancel);
            found.list(carrier, &mut self.core.carriers);
        }
    }

    /// A stream's client has read all that has come: the peer may send as much again.
    pub(crate) fn return_credit(&mut self, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        if !client.connection.line.is_reading() || !client.connection.inbox.is_empty() {
            return;
        }
        let Some(stream) = client.connection.stream() else { return };
        let (carrier, id, bytes) = (stream.carrier, stream.id, std::mem::take(&mut stream.credit));
        self.give_back(carrier, id, bytes);
    }

    fn give_back(&mut self, carrier: Conn, id: u32, bytes: u32) {
        if bytes > 0
            && let Some(found) = self.clients.find(carrier).and_then(|client| client.carrier())
        {
            found.connection.give_back(id, bytes);
            found.list(carrier, &mut self.core.carriers);
        }
    }
}

// Time and ends.
impl Proxy {
    /// Sets the deadline of a connection when it gets its first stream, or has lost its last.
    pub(super) fn watch_carrier<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let keepalive = client.service.http().and_then(|http| http.timeouts.keepalive);
        let Some(carrier) = client.carrier() else { return };
        match carrier.turns_busy() {
            Some(true) => client.connection.line.look_again(io),
            Some(false) => client.connection.line.expect(io, keepalive),
            None => {}
        }
    }

    /// Looks after the streams of a connection, whose deadlines the driver does not know.
    pub(crate) fn carrier_deadline<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        if !client.connection.line.has_expired(io) {
            return;
        }
        let (may_stay, service) = (client.may_stay(&self.core), client.service.id);
        let head_time = client.service.http().and_then(|http| http.timeouts.client_header);
        let (now, span, queued) = (io.now(), self.core.limits.stalled_client, client.connection.line.queued(io));
        let waits = io.waits_for_tokens(conn);
        let Some(carrier) = client.carrier() else { return };
        if let (Some(most), Some(amid)) = (head_time, carrier.amid_for(now, waits))
            && amid >= most
        {
            return self.end_carrier(io, conn, Code::EnhanceYourCalm, Cause::ClientHeadTimeout);
        }
        if carrier.connection.streams() == 0 {
            match waits {
                // Its next request may lie there, and has not been read.
                true => client.connection.line.look_again(io),
                false => self.dismiss(io, conn),
            }
            return;
        }
        if carrier.is_stalled(queued, now, span, waits) {
            self.core.counters.note(Happening::Failed { service, cause: Cause::ClientStalled });
            self.record_failure(io, conn, Cause::ClientStalled);
            // What is queued never leaves.
            return self.close_client(io, conn, Close::Abort);
        }
        for _ in 0..carrier.give_up(now, span, waits) {
            self.core.counters.note(Happening::Failed { service, cause: Cause::ClientStalled });
        }
        carrier.connection.end_leaving();
        if !may_stay {
            carrier.connection.leave();
        }
        carrier.list(conn, &mut self.core.carriers);
        let streams: Vec<_> = carrier.owners().collect();
        client.connection.line.look_again(io);
        for stream in streams {
            let Some(client) = self.clients.peek(stream) else { continue };
            let has_passed = |at: Option<Time>| at.is_some_and(|at| at <= now);
            if has_passed(client.call().and_then(|call| call.ends_at)) {
                self.fail(io, stream, Error::DeadlineExceeded);
            } else if has_passed(client.connection.line.deadline()) {
                self.note_turn(conn, stream);
                self.client_deadline(io, stream);
            }
        }
    }

    /// Tells a stream whether its output waits for that of others.
    fn note_turn(&mut self, carrier: Conn, conn: Conn) {
        let Some(id) = self.clients.find(conn).and_then(|client| client.connection.stream()).map(|stream| stream.id)
        else {
            return;
        };
        let found = self.clients.find(carrier).and_then(|client| client.carrier());
        let waits = found.is_some_and(|found| found.waits_for_turn(id));
        if let Some(stream) = self.clients.find(conn).and_then(|client| client.connection.stream()) {
            stream.waits_for_turn = waits;
        }
    }

    /// Ends the connection of an idle client. A client of HTTP/2 learns which stream was the last.
    pub(crate) fn dismiss<I: Io>(&mut self, io: &mut I, conn: Conn) {
        // Its next request may be under way: a reset must not overtake the last frame.
        let how = if self.say_goodbye(io, conn, Code::NoError) { Close::Linger } else { Close::Flush };
        self.close_client(io, conn, how);
    }

    /// Ends a connection whose peer has broken the standard.
    fn end_at_breach<I: Io>(&mut self, io: &mut I, conn: Conn, code: Code) {
        let cause = if code == Code::EnhanceYourCalm { Cause::ClientFlood } else { Cause::ClientBadRequest };
        self.end_carrier(io, conn, code, cause);
    }

    fn end_carrier<I: Io>(&mut self, io: &mut I, conn: Conn, code: Code, cause: Cause) {
        let Ok(client) = self.clients.live(conn) else { return };
        self.core.counters.note(Happening::Failed { service: client.service.id, cause });
        self.record_failure(io, conn, cause);
        self.say_goodbye(io, conn, code);
        self.close_client(io, conn, Close::Linger);
    }

    /// Sends the last frame of a connection that carries streams. False: it carries none.
    fn say_goodbye<I: Io>(&mut self, io: &mut I, conn: Conn, code: Code) -> bool {
        let Ok(client) = self.clients.live(conn) else { return false };
        let Some(carrier) = client.carrier() else { return false };
        carrier.connection.go_away(code);
        let frames = Buf::from_vec(std::mem::take(carrier.connection.control()));
        client.connection.deliver(io, &mut self.core.unflushed, frames);
        true
    }
}
