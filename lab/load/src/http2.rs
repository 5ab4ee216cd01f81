//! HTTP/2 on one connection of the load: requests in, what came of them out. gRPC is HTTP/2 with one message each way.

#[cfg(test)]
mod tests;

use weir_wire::{
    head::{BodyLength, Limits},
    http2::{Code, Config, Connection, Event, Refused, Role, Settings},
};

use crate::{
    answer::{Answered, Came, HEAD_BYTES_MAX, Outcome, Reading},
    block::TABLE_BYTES,
    script::{PREFIX_BYTES, Request},
    tally::Cause,
};

/// Windows so large that no answer waits for one.
const STREAM_WINDOW: u32 = 1 << 20;
const WINDOW: u32 = 1 << 26;

pub struct Http2 {
    connection: Connection<Answer>,
    stored: Stored,
    is_leaving: bool,
}

/// Whether the server's table holds the fields of the request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    NotYet,
    Yes,
    Never,
}

/// What has come on a stream.
#[derive(Default)]
struct Answer {
    lane: u32,
    /// Of the request's body.
    unsent_bytes: usize,
    /// 0: no head has come.
    status: u16,
    declared_bytes: Option<u64>,
    bytes: u64,
    /// The begin of the body: whether it is compressed, and the length of the message of gRPC.
    prefix: [u8; PREFIX_BYTES],
    grpc_status: Option<bool>,
}

/// The lane of streams that wait for an answer that shall not come.
const WAITING: u32 = u32::MAX;

impl Http2 {
    pub fn new() -> Self {
        let settings = Settings { enable_push: false, initial_window: STREAM_WINDOW, ..Settings::default() };
        let config =
            Config { settings, window: WINDOW, head_bytes: HEAD_BYTES_MAX, control_frames: 0, empty_frames: 0 };
        Self { connection: Connection::new(Role::Client, config, 0), stored: Stored::NotYet, is_leaving: false }
    }

    /// The server takes no new streams.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Opens a stream for the request of a lane.
    pub fn ask(&mut self, lane: u32, request: &Request, out: &mut Vec<u8>) -> Result<(), Cause> {
        // The server allows fewer streams than the load wants.
        let stream = self.connection.open().ok_or(Cause::Reset)?;
        self.control(out);
        let unsent_bytes = request.body.len();
        if let Some(answer) = self.connection.kept(stream) {
            *answer = Answer { lane, unsent_bytes, ..Answer::default() };
        }
        self.send_head(stream, request, out)?;
        self.send_body(stream, &request.body, out);
        Ok(())
    }

    /// Opens streams whose request the server shall not answer.
    pub fn wait(&mut self, streams: usize, request: &Request, out: &mut Vec<u8>) -> Result<(), Cause> {
        (0..streams).try_for_each(|_| self.ask(WAITING, request, out))
    }

    /// How many streams wait.
    pub fn waiting(&self) -> usize {
        self.connection.each_kept().filter(|answer| answer.lane == WAITING).count()
    }

    fn send_head(&mut self, stream: u32, request: &Request, out: &mut Vec<u8>) -> Result<(), Cause> {
        if self.connection.peer().header_table_bytes < TABLE_BYTES {
            self.stored = Stored::Never;
        }
        let block = match (&request.head.stored, self.stored) {
            (Some(stored), Stored::Yes) => &stored.again,
            (Some(stored), Stored::NotYet) => {
                self.stored = Stored::Yes;
                &stored.first
            }
            (None, _) | (_, Stored::Never) => &request.head.plain,
        };
        let start = out.len();
        out.resize(start + block.len() + self.connection.overhead(block.len()), 0);
        let is_all = request.body.is_empty();
        let write = |room: &mut [u8]| -> Result<usize, weir_wire::head::Overflow> {
            room.get_mut(..block.len()).ok_or(weir_wire::head::Overflow)?.copy_from_slice(block);
            Ok(block.len())
        };
        let written = self.connection.write_head(&mut out[start..], stream, is_all, write);
        out.truncate(start + written.map_err(|_| Cause::Local)?);
        Ok(())
    }

    /// Sends as much of the body as the windows allow.
    fn send_body(&mut self, stream: u32, body: &[u8], out: &mut Vec<u8>) {
        loop {
            let room = self.connection.room(stream) as usize;
            let Some(answer) = self.connection.kept(stream) else { return };
            let piece = answer.unsent_bytes.min(room);
            if piece == 0 {
                return;
            }
            let start = body.len() - answer.unsent_bytes;
            answer.unsent_bytes -= piece;
            let is_all = answer.unsent_bytes == 0;
            out.extend_from_slice(&self.connection.data(stream, piece as u32, is_all));
            out.extend_from_slice(&body[start..start + piece]);
        }
    }

    /// Takes what has come. An error ends the connection.
    pub fn feed(
        &mut self,
        piece: &[u8],
        reading: &mut Reading<'_>,
        out: &mut Vec<u8>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Cause> {
        let mut at = 0;
        loop {
            // The load has no budgets of frames, so it needs no time.
            match self.connection.take(piece, &mut at, 0).map_err(|_| Cause::BadResponse)? {
                Event::Head { stream, is_all } => self.head(stream, is_all, piece, reading, outcomes)?,
                Event::Trailers { stream } => self.trailers(stream, piece, reading, outcomes)?,
                Event::Data { stream, content, is_all } => {
                    self.content(stream, &piece[content]);
                    if is_all {
                        self.answered(stream, reading, outcomes);
                    }
                }
                Event::Reset { stream, .. } => self.end(stream, Came::Failed(Cause::Reset), outcomes),
                Event::Room { stream } => self.send_bodies(stream, reading, out),
                Event::GoAway { last, .. } => self.leave(last, outcomes),
                Event::More => break,
                // A server has no priorities to tell.
                Event::Priority { .. } => {}
            }
        }
        self.control(out);
        Ok(())
    }

    fn head(
        &mut self,
        stream: u32,
        is_all: bool,
        piece: &[u8],
        reading: &mut Reading<'_>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Cause> {
        let limits = Limits::new(HEAD_BYTES_MAX, 0, 0);
        let head = match self.connection.response(piece, reading.method, &limits, reading.table) {
            Ok(head) if head.status < 200 => return Ok(()),
            Ok(head) => head,
            Err(Refused::Connection(_)) => return Err(Cause::BadResponse),
            Err(Refused::Message(_)) => {
                self.end(stream, Came::Failed(Cause::BadResponse), outcomes);
                return Ok(());
            }
        };
        if let Some(name) = reading.server_header {
            (reading.on_value)(head.fields.find(name).unwrap_or(b"(none)"));
        }
        if let Some(answer) = self.connection.kept(stream) {
            answer.status = head.status;
            answer.declared_bytes = match head.body {
                BodyLength::Bytes(bytes) => Some(bytes),
                _ => None,
            };
            answer.grpc_status = head.fields.find(GRPC_STATUS).map(|status| status == b"0");
        }
        if is_all {
            self.answered(stream, reading, outcomes);
        }
        Ok(())
    }

    fn trailers(
        &mut self,
        stream: u32,
        piece: &[u8],
        reading: &mut Reading<'_>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Cause> {
        let limits = Limits::new(HEAD_BYTES_MAX, 0, 0);
        let trailers = match self.connection.trailers(piece, &limits, reading.table) {
            Ok(trailers) => trailers,
            Err(Refused::Connection(_)) => return Err(Cause::BadResponse),
            Err(Refused::Message(_)) => {
                self.end(stream, Came::Failed(Cause::BadResponse), outcomes);
                return Ok(());
            }
        };
        if let Some(answer) = self.connection.kept(stream) {
            answer.grpc_status = trailers.find(GRPC_STATUS).map(|status| status == b"0");
        }
        self.answered(stream, reading, outcomes);
        Ok(())
    }

    fn content(&mut self, stream: u32, content: &[u8]) {
        if let Some(answer) = self.connection.kept(stream) {
            let missing = answer.prefix.get_mut(answer.bytes as usize..).unwrap_or_default();
            let count = missing.len().min(content.len());
            missing[..count].copy_from_slice(&content[..count]);
            answer.bytes += content.len() as u64;
        }
        self.connection.give_back(stream, content.len() as u32);
    }

    fn send_bodies(&mut self, stream: u32, reading: &Reading<'_>, out: &mut Vec<u8>) {
        match stream {
            0 => {
                self.connection.ids().into_iter().for_each(|stream| self.send_body(stream, reading.script.body(), out))
            }
            stream => self.send_body(stream, reading.script.body(), out),
        }
    }

    /// The answer is whole.
    fn answered(&mut self, stream: u32, reading: &Reading<'_>, outcomes: &mut Vec<Outcome>) {
        let Some(answer) = self.connection.kept(stream) else { return };
        let came = match answer.fault(reading) {
            None => Came::Answered(Answered { status: answer.status, keep_alive: true }),
            Some(cause) => Came::Failed(cause),
        };
        self.end(stream, came, outcomes);
    }

    fn end(&mut self, stream: u32, came: Came, outcomes: &mut Vec<Outcome>) {
        if let Some(answer) = self.connection.end(stream, Code::Cancel)
            && answer.lane != WAITING
        {
            outcomes.push(Outcome { lane: answer.lane, came });
        }
    }

    /// The server has not processed the streams behind `last` (RFC 9113 §6.8).
    fn leave(&mut self, last: u32, outcomes: &mut Vec<Outcome>) {
        self.is_leaving = true;
        for stream in self.connection.ids().into_iter().filter(|stream| *stream > last) {
            self.end(stream, Came::Unprocessed, outcomes);
        }
    }

    /// The lane waits for its answer no longer.
    pub fn cancel(&mut self, lane: u32, out: &mut Vec<u8>) {
        let is_its = |connection: &mut Connection<Answer>, stream| {
            connection.kept(stream).is_some_and(|answer| answer.lane == lane)
        };
        for stream in self.connection.ids() {
            if is_its(&mut self.connection, stream) {
                self.connection.end(stream, Code::Cancel);
            }
        }
        self.control(out);
    }

    /// The client leaves.
    pub fn say_goodbye(&mut self, out: &mut Vec<u8>) {
        self.connection.go_away(Code::NoError);
        self.control(out);
    }

    fn control(&mut self, out: &mut Vec<u8>) {
        out.append(self.connection.control());
    }
}

const GRPC_STATUS: &[u8] = b"grpc-status";

impl Answer {
    /// What is wrong with an answer that is whole. A status of 400 or more is for the caller.
    fn fault(&self, reading: &Reading<'_>) -> Option<Cause> {
        if self.status >= 400 {
            return None;
        }
        let content_bytes = match (reading.grpc, self.grpc_status, self.message_bytes()) {
            (false, ..) => self.bytes,
            (true, Some(true), Some(message_bytes)) => message_bytes,
            (true, Some(false), _) => return Some(Cause::Status),
            (true, ..) => return Some(Cause::BadResponse),
        };
        let is_short = self.declared_bytes.is_some_and(|declared| self.bytes < declared);
        let is_long = self.declared_bytes.is_some_and(|declared| self.bytes > declared);
        let is_other = reading.answer_bytes.is_some_and(|bytes| bytes != content_bytes);
        match self.status {
            0 => Some(Cause::BadResponse),
            _ if is_short => Some(Cause::ShortBody),
            _ if is_long || is_other => Some(Cause::BadResponse),
            _ => None,
        }
    }

    /// The length of the one message that the body has to be.
    fn message_bytes(&self) -> Option<u64> {
        let [compressed, length @ ..] = self.prefix;
        let message_bytes = u64::from(u32::from_be_bytes(length));
        (compressed == 0 && self.bytes == PREFIX_BYTES as u64 + message_bytes).then_some(message_bytes)
    }
}
