//! What comes on connections to servers that carry streams: moves it to the exchanges whose streams they are.

use weir_wire::{
    grpc,
    head::{BodyLength, Limits},
    http1::{Framing, Response},
    http2::{Code, Event, Refused},
};

use crate::{
    buf::Buf,
    carrier::millis,
    client::Client,
    error::Error,
    exchange::{Phase, incoming::Incoming, table::ExchangeId},
    flow::response::Passed,
    head,
    io::{Close, Conn, Io},
    proxy::{Parties, Proxy},
    server::{
        Life, Work,
        back::{Back, Stage},
    },
};

impl Proxy {
    /// Takes what has come on a connection that carries streams.
    pub(crate) fn take_server_frames<I: Io>(&mut self, io: &mut I, conn: Conn) {
        while let Some(server) = self.servers.find(conn) {
            // A server that does not read what its frames ask for must wait.
            if server.connection.line.is_full(io, &self.core.room) {
                return server.connection.line.read(io, false);
            }
            let Some(piece) = server.connection.inbox.pop() else { break };
            server.connection.line.moved_at = io.now();
            if let Err(code) = self.take_server_piece(io, conn, &piece) {
                return self.end_server_carrier(io, conn, code);
            }
        }
        let Some(server) = self.servers.find(conn) else { return };
        server.connection.line.read(io, true);
        if server.connection.line.ended {
            return self.carrier_lost(io, conn, Error::ServerClosed, Close::Flush);
        }
        if server.back.as_ref().is_some_and(|back| back.stage != Stage::Ready && back.carrier.connection.has_peer()) {
            self.carrier_ready(io, conn);
        }
    }

    fn take_server_piece<I: Io>(&mut self, io: &mut I, conn: Conn, piece: &Buf) -> Result<(), Code> {
        let (mut at, now_ms) = (0, millis(io.now()));
        loop {
            let Some(carrier) = self.servers.find(conn).and_then(|server| server.carrier()) else { return Ok(()) };
            let event = carrier.connection.take(piece, &mut at, now_ms)?;
            if !carrier.connection.control().is_empty() {
                carrier.list(conn, &mut self.core.carriers);
            }
            match event {
                Event::More => return Ok(()),
                Event::Head { stream, is_all } => self.server_stream_head(io, conn, stream, is_all, piece)?,
                Event::Trailers { stream } => self.server_stream_trailers(io, conn, stream, piece)?,
                Event::Data { stream, content, is_all } => {
                    let content = piece.part(content);
                    if is_all && let Some((_, id)) = self.stream_of(conn, stream) {
                        self.judge_end(io, id, None);
                    }
                    self.server_stream_data(io, conn, stream, content, is_all);
                }
                Event::Reset { stream, code } => self.server_stream_reset(io, conn, stream, code),
                Event::Room { stream } => {
                    carrier.has_room(stream);
                    carrier.list(conn, &mut self.core.carriers);
                }
                Event::Priority { .. } => {}
                Event::GoAway { last, .. } => self.server_leaves(io, conn, last),
            }
        }
    }

    /// The session of a stream, and the exchange that it is for.
    fn stream_of(&mut self, carrier: Conn, id: u32) -> Option<(Conn, ExchangeId)> {
        let conn = self.servers.find(carrier)?.carrier()?.connection.kept(id)?.owner?;
        match self.servers.find(conn)?.work()? {
            Work::Exchange(exchange) => Some((conn, exchange)),
            Work::Tunnel(_) | Work::Streams => None,
        }
    }

    /// The head of a response, or of an interim one.
    fn server_stream_head<I: Io>(
        &mut self,
        io: &mut I,
        carrier: Conn,
        stream: u32,
        is_all: bool,
        piece: &Buf,
    ) -> Result<(), Code> {
        let Some((conn, id)) = self.stream_of(carrier, stream) else { return Err(Code::InternalError) };
        let Self { exchanges, clients, servers, core, replies, .. } = self;
        let Ok(exchange) = exchanges.live(id) else { return Err(Code::InternalError) };
        let (Some(http), Some(pool)) = (exchange.service.http(), exchange.pool()) else {
            return Err(Code::InternalError);
        };
        let mut limits: Limits = http.response_limits;
        let most = pool.http2.and_then(|http2| http2.field_bytes);
        limits.field_bytes = most.map_or(limits.field_bytes, |most| most.min(limits.field_bytes));
        let Some(found) = servers.find(carrier).and_then(|server| server.carrier()) else { return Ok(()) };
        let head = match found.connection.response(piece, exchange.method, &limits, replies) {
            Ok(head) => head,
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(error)) => {
                self.server_lost(io, conn, Error::Response(error));
                return Ok(());
            }
        };
        let (Ok(client), Ok(server)) = (clients.live(exchange.client), servers.live(conn)) else {
            return Err(Code::InternalError);
        };
        // A client of HTTP/1 learns from the head where the body ends.
        let length = match head.body {
            BodyLength::None if head.may_have_content(exchange.method) => BodyLength::Unknown,
            length => length,
        };
        let response = Response { head, framing: Framing::of(length), keep_alive: false, len: 0 };
        let body = Incoming::of_server_stream(length, is_all);
        let mut parties = Parties { exchange, client, server, core };
        let passed = parties.pass_stream_head(io, &response, body);
        let rtt_nanos = parties.server.rtt_nanos;
        if let Some(found) = servers.find(carrier) {
            found.rtt_nanos = found.rtt_nanos.min(rtt_nanos);
        }
        match passed {
            Ok(Passed::Withheld) => self.withheld(io, id),
            Ok(_) => self.respond(io, conn, id),
            Err(error) => self.server_lost(io, conn, error),
        }
        Ok(())
    }

    fn server_stream_trailers<I: Io>(
        &mut self,
        io: &mut I,
        carrier: Conn,
        stream: u32,
        piece: &Buf,
    ) -> Result<(), Code> {
        let Some((conn, id)) = self.stream_of(carrier, stream) else { return Err(Code::InternalError) };
        let exchange = self.exchanges.live(id).map_err(|_| Code::InternalError)?;
        let http = exchange.service.http().ok_or(Code::InternalError)?;
        let Some(found) = self.servers.find(carrier).and_then(|server| server.carrier()) else { return Ok(()) };
        let read = found.connection.trailers(piece, &http.response_limits, &mut self.replies);
        let mut status = None;
        if let Ok(fields) = &read
            && let Some(client) = self.clients.peek(exchange.client).filter(|client| client.call().is_some())
        {
            self.core.records.note_call(client.noted, &exchange.service, fields);
            status = grpc::status(fields);
        }
        match read.map(|fields| head::lines(io, &fields, |field| http.passes_trailer(field))) {
            Ok(lines) => {
                if let Phase::Streaming { delivery, .. } = &mut exchange.phase {
                    delivery.body.trailers_came(lines);
                }
                self.judge_end(io, id, status);
                self.server_stream_data(io, carrier, stream, Buf::from_vec(Vec::new()), true);
            }
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(error)) => self.server_lost(io, conn, Error::Response(error)),
        }
        Ok(())
    }

    fn server_stream_data<I: Io>(&mut self, io: &mut I, carrier: Conn, stream: u32, content: Buf, is_all: bool) {
        let Some((conn, id)) = self.stream_of(carrier, stream) else { return };
        let (Ok(exchange), Ok(server)) = (self.exchanges.live(id), self.servers.live(conn)) else { return };
        let bytes = content.len();
        let Phase::Streaming { delivery, .. } = &mut exchange.phase else { return };
        if let Err(error) = delivery.body.came(bytes, is_all) {
            // No client gets more than was announced.
            return self.server_lost(io, conn, error);
        }
        if let Some(stream) = server.connection.stream() {
            stream.credit += bytes as u32;
        }
        match server.connection.inbox.is_empty() {
            true => server.connection.inbox.push(content),
            false => server.connection.inbox.append(&content, || io.buffer()),
        }
        self.respond(io, conn, id);
        self.return_server_credit(conn);
    }

    /// The server ends a stream.
    fn server_stream_reset<I: Io>(&mut self, io: &mut I, carrier: Conn, stream: u32, code: Code) {
        let Some((conn, id)) = self.stream_of(carrier, stream) else { return };
        let (Ok(exchange), Ok(server)) = (self.exchanges.live(id), self.servers.live(conn)) else { return };
        let (client, has_begun) = (exchange.client, exchange.has_begun_response());
        let has_all = matches!(&exchange.phase, Phase::Streaming { delivery, .. } if delivery.body.has_all_come());
        if has_all {
            // It only needs no more of the request (RFC 9113 §8.1), and what still comes of that goes nowhere.
            server.life = Life::Broken;
            if let Some(found) = self.servers.find(carrier).and_then(|server| server.carrier()) {
                found.silence(stream);
            }
            return;
        }
        if code == Code::Http11Required && self.fall_back(io, id) {
            return;
        }
        let ends_at = self.clients.peek(client).and_then(Client::call).and_then(|call| call.ends_at);
        let error = match code {
            Code::RefusedStream if !has_begun => Error::ServerRefused,
            // A server knows the deadline, too, and may be the first to look.
            Code::Cancel if ends_at.is_some_and(|at| at <= io.now()) => Error::DeadlineExceeded,
            _ => Error::StreamReset(code),
        };
        self.server_lost(io, conn, error);
    }

    /// The client has got all that has come on a stream: the server may send as much again.
    pub(crate) fn return_server_credit(&mut self, conn: Conn) {
        let Some(server) = self.servers.find(conn) else { return };
        if !server.connection.line.is_reading() || !server.connection.inbox.is_empty() {
            return;
        }
        let Some(stream) = server.connection.stream() else { return };
        let (carrier, id, bytes) = (stream.carrier, stream.id, std::mem::take(&mut stream.credit));
        if bytes > 0
            && let Some(found) = self.servers.find(carrier).and_then(|server| server.carrier())
        {
            let window = Back::window(self.core.room.is_short);
            found.connection.give_back_towards(id, bytes, window);
            found.list(carrier, &mut self.core.carriers);
        }
    }

    /// Ends a connection whose server has broken the standard.
    fn end_server_carrier<I: Io>(&mut self, io: &mut I, conn: Conn, code: Code) {
        let Ok(server) = self.servers.live(conn) else { return };
        if let Some(back) = &mut server.back {
            back.carrier.connection.go_away(code);
            let frames = Buf::from_vec(std::mem::take(back.carrier.connection.control()));
            server.connection.deliver(io, &mut self.core.unflushed, frames);
        }
        self.carrier_lost(io, conn, Error::ServerProtocol, Close::Flush);
    }
}
