//! Connections that carry streams: moves what comes on a connection to the clients that stand for its streams, and what
//! they have to send to the connection.

use std::time::Duration;

use weir_wire::http2::{Code, Event};

use crate::{
    buf::Buf,
    client::{
        Stage,
        http2::{Front, millis},
    },
    error::Error,
    io::{Close, Conn, Io},
    proxy::Proxy,
};

/// How often the deadlines of streams are looked at.
const LOOK: Duration = Duration::from_secs(1);

// Input.
impl Proxy {
    /// A client's connection begins to carry streams.
    pub(crate) fn begin_http2<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        let Some(http) = client.service.http() else { return };
        let Some(http2) = &http.http2 else { return };
        let mut front = Box::new(Front::new(http, http2, io.now()));
        front.list(conn, &mut self.core.carriers);
        client.stage = Stage::Http2(front);
    }

    /// Takes what has come on a connection that carries streams.
    pub(crate) fn take_frames<I: Io>(&mut self, io: &mut I, conn: Conn) {
        while let Some(client) = self.clients.find(conn) {
            if client.connection.line.is_full(io, &self.core.room) {
                client.connection.line.read(io, false);
                return;
            }
            let Some(piece) = client.connection.inbox.pop() else { break };
            if let Err(code) = self.take_piece(io, conn, &piece) {
                return self.end_carrier(io, conn, code);
            }
        }
        let Some(client) = self.clients.find(conn) else { return };
        client.connection.line.read(io, true);
        if client.connection.line.ended {
            return self.close_client(io, conn, Close::Flush);
        }
        self.watch_carrier(io, conn);
    }

    fn take_piece<I: Io>(&mut self, io: &mut I, conn: Conn, piece: &Buf) -> Result<(), Code> {
        let (mut at, now_ms) = (0, millis(io.now()));
        loop {
            let Some(front) = self.clients.find(conn).and_then(|client| client.front()) else { return Ok(()) };
            let event = front.connection.take(piece, &mut at, now_ms)?;
            if !front.connection.control().is_empty() {
                front.list(conn, &mut self.core.carriers);
            }
            match event {
                Event::More => return Ok(()),
                Event::Head { stream, .. } => self.open_stream(io, conn, stream, piece)?,
                Event::Trailers { stream } => self.stream_trailers(io, conn, stream, piece)?,
                Event::Data { stream, content, is_all } => {
                    let mut content_of = piece.share();
                    content_of.truncate(content.end);
                    content_of.advance(content.start);
                    self.stream_data(io, conn, stream, Some(content_of), is_all);
                }
                Event::Reset { stream, .. } => self.stream_reset(io, conn, stream),
                Event::Room { stream } => {
                    front.has_room(stream);
                    front.list(conn, &mut self.core.carriers);
                }
                Event::GoAway { .. } => {}
            }
        }
    }

    fn open_stream<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32, piece: &Buf) -> Result<(), Code> {
        let conn = self.clients.new_stream();
        let Self { clients, exchanges, core, .. } = self;
        let client = clients.live(carrier).map_err(|_| Code::InternalError)?;
        let next = client.next_stream(io, core, exchanges, conn, piece);
        let stream = client.carry(conn, id, io.now());
        if let Some(outbox) = client.front().and_then(|front| front.connection.kept(id)) {
            outbox.client = Some(conn);
        }
        clients.insert(conn, stream);
        self.begin_next(io, conn, next?);
        self.proceed(io, conn);
        Ok(())
    }

    fn stream_trailers<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32, piece: &Buf) -> Result<(), Code> {
        let Self { clients, core, .. } = self;
        let client = clients.live(carrier).map_err(|_| Code::InternalError)?;
        let Some(limits) = client.service.http().map(|http| http.request_limits) else { return Ok(()) };
        let Some(front) = client.front() else { return Ok(()) };
        let read = front.connection.trailers(piece, &limits, &mut core.fields).map(|_| ());
        match read {
            Ok(()) => self.stream_data(io, carrier, id, None, true),
            Err(weir_wire::http2::Refused::Connection(code)) => return Err(code),
            Err(weir_wire::http2::Refused::Message(error)) => {
                if let Some(conn) = self.stream_client(carrier, id) {
                    self.fail(io, conn, Error::Request(error));
                }
            }
        }
        Ok(())
    }

    /// The client that stands for a stream.
    fn stream_client(&mut self, carrier: Conn, id: u32) -> Option<Conn> {
        self.clients.find(carrier)?.front()?.connection.kept(id)?.client
    }

    fn stream_data<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32, content: Option<Buf>, is_all: bool) {
        let bytes = content.as_ref().map_or(0, |content| content.len());
        let Some(conn) = self.stream_client(carrier, id) else {
            // Nobody needs it any more.
            return self.give_back(carrier, id, bytes as u32);
        };
        let Ok(client) = self.clients.live(conn) else { return };
        if let Some(stream) = client.connection.stream() {
            stream.credit += bytes as u32;
        }
        if let Some(content) = content {
            match client.connection.inbox.is_empty() {
                true => client.connection.inbox.push(content),
                false => client.connection.inbox.append(&content, || io.buffer()),
            }
        }
        let exchange = client.exchange().and_then(|id| self.exchanges.find(id));
        match exchange.map(|exchange| exchange.body.came(bytes, is_all)) {
            Some(Err(error)) => self.fail(io, conn, error),
            Some(Ok(())) | None => self.proceed(io, conn),
        }
    }

    fn stream_reset<I: Io>(&mut self, io: &mut I, carrier: Conn, id: u32) {
        match self.stream_client(carrier, id) {
            Some(conn) => self.fail(io, conn, Error::ClientAborted),
            None => {
                if let Some(front) = self.clients.find(carrier).and_then(|client| client.front()) {
                    front.connection.end(id, Code::Cancel);
                }
            }
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
            && let Some(front) = self.clients.find(carrier).and_then(|client| client.front())
        {
            front.connection.give_back(id, bytes);
            front.list(carrier, &mut self.core.carriers);
        }
    }

    /// Ends a connection whose peer has broken the standard.
    fn end_carrier<I: Io>(&mut self, io: &mut I, conn: Conn, code: Code) {
        let Ok(client) = self.clients.live(conn) else { return };
        if let Some(front) = client.front() {
            front.connection.go_away(code);
            let control = std::mem::take(front.connection.control());
            let mut last = io.buffer_for(control.len());
            last.append(&control);
            client.connection.deliver(io, &mut self.core.unflushed, last);
        }
        self.close_client(io, conn, Close::Linger);
    }
}

// Output.
impl Proxy {
    /// Moves what streams have to send to the connections that carry them, and sends as much as windows allow.
    pub(crate) fn flush_streams<I: Io>(&mut self, io: &mut I) {
        loop {
            self.collect_output();
            if self.core.carriers.is_empty() {
                return;
            }
            for conn in std::mem::take(&mut self.core.carriers) {
                self.send_frames(io, conn);
            }
        }
    }

    fn collect_output(&mut self) {
        let Self { clients, core, .. } = self;
        let mut unflushed = std::mem::take(&mut core.unflushed);
        for &conn in unflushed.iter().filter(|conn| conn.is_stream()) {
            let Some(stream) = clients.find(conn).and_then(|client| client.connection.stream()) else { continue };
            let (carrier, id, fresh) = (stream.carrier, stream.id, std::mem::take(&mut stream.fresh));
            if let Some(front) = clients.find(carrier).and_then(|client| client.front()) {
                front.speak(id, fresh);
                front.list(carrier, &mut core.carriers);
            }
        }
        unflushed.retain(|conn| !conn.is_stream());
        unflushed.append(&mut core.unflushed);
        core.unflushed = unflushed;
        for departed in std::mem::take(&mut core.departed) {
            let carrier = departed.carrier;
            if let Some(front) = clients.find(carrier).and_then(|client| client.front()) {
                front.depart(departed);
                front.list(carrier, &mut core.carriers);
            }
        }
    }

    fn send_frames<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Self { clients, core, .. } = self;
        let Some(client) = clients.find(conn) else { return };
        let goes_on = client.may_stay(core) && client.may_ask_more();
        let room = core.room.queued_bytes.saturating_sub(client.connection.line.queued(io));
        let Stage::Http2(front) = &mut client.stage else { return };
        front.unlist();
        if !goes_on {
            front.connection.leave();
        }
        let mut left = Vec::new();
        for buf in front.frames(io, room, &mut left) {
            client.connection.deliver(io, &mut core.unflushed, buf);
        }
        if front.has_turns() {
            core.full_carriers.push(conn);
        }
        let is_over = front.connection.is_over();
        client.report_bytes(core);
        for (stream, bytes, pieces) in left {
            let Some(client) = self.clients.find(stream) else { continue };
            if client.connection.line.let_go(bytes, pieces) {
                self.client_drained(io, stream);
            }
        }
        if is_over {
            return self.close_client(io, conn, Close::Flush);
        }
        self.watch_carrier(io, conn);
    }
}

// Waiting.
impl Proxy {
    /// Has the driver tell when connections have sent what they had no room to send more behind. Call this when
    /// everything of the batch is queued.
    pub(crate) fn await_room<I: Io>(&mut self, io: &mut I) {
        for conn in std::mem::take(&mut self.core.full_carriers) {
            let queued = self.clients.find(conn).map_or(0, |client| client.connection.line.queued(io));
            debug_assert!(queued > 0 || !self.clients.contains(conn), "a full connection has nothing queued");
        }
    }

    /// A connection that carries streams has sent everything.
    pub(crate) fn carrier_drained<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(front) = self.clients.find(conn).and_then(|client| client.front()) {
            front.list(conn, &mut self.core.carriers);
        }
        self.take_frames(io, conn);
    }
}

// Time.
impl Proxy {
    /// Sets the deadline of a connection when it gets its first stream, or has lost its last.
    fn watch_carrier<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let Stage::Http2(front) = &mut client.stage else { return };
        let is_busy = front.connection.streams() > 0;
        if std::mem::replace(&mut front.is_busy, is_busy) != is_busy {
            let keepalive = client.service.http().and_then(|http| http.timeouts.keepalive);
            client.connection.line.expect(io, if is_busy { Some(LOOK) } else { keepalive });
        }
    }

    pub(crate) fn carrier_deadline<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        if !client.connection.line.has_expired(io) {
            return;
        }
        let Some(front) = client.front() else { return };
        if front.connection.streams() == 0 {
            return self.close_client(io, conn, Close::Flush);
        }
        let streams: Vec<_> = front.clients().collect();
        for stream in streams {
            let deadline = self.clients.peek(stream).and_then(|client| client.connection.line.deadline());
            if deadline.is_some_and(|at| at <= io.now()) {
                self.client_deadline(io, stream);
            }
        }
        if let Some(client) = self.clients.find(conn) {
            client.connection.line.expect(io, Some(LOOK));
        }
    }
}
