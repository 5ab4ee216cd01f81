//! HTTP/2 by prior knowledge, and gRPC.

use weir_wire::{
    head::{FieldTable, Limits, Method, Overflow},
    http2::{Code, Config, Connection, Event, Refused, Role, Settings},
};

use super::site::{Goes, Site, WAIT, block};
use crate::answer::HEAD_BYTES_MAX;

/// Windows so large that no request waits for one.
const STREAM_WINDOW: u32 = 1 << 20;
const WINDOW: u32 = 1 << 26;

pub struct Http2 {
    connection: Connection<Asked>,
}

/// What is asked on a stream, and how much of the answer is sent.
#[derive(Default)]
struct Asked {
    what: What,
    sent_bytes: usize,
}

#[derive(Default)]
enum What {
    #[default]
    Object,
    Head,
    /// The message of gRPC that is sent back.
    Message(Vec<u8>),
    Nothing,
}

impl Http2 {
    pub fn new() -> Self {
        let settings = Settings { initial_window: STREAM_WINDOW, ..Settings::default() };
        let config =
            Config { settings, window: WINDOW, head_bytes: HEAD_BYTES_MAX, control_frames: 0, empty_frames: 0 };
        Self { connection: Connection::new(Role::Server, config, 0) }
    }

    pub fn feed(&mut self, piece: &[u8], site: &Site, table: &mut FieldTable, out: &mut Vec<u8>) -> Goes {
        let mut at = 0;
        // What this end says first comes before any answer.
        out.append(self.connection.control());
        let goes = loop {
            // There are no budgets of frames, so that no time is needed.
            match self.connection.take(piece, &mut at, 0) {
                Ok(Event::More) => break Goes::On,
                Ok(event) => {
                    if let Err(code) = self.event(event, piece, site, table, out) {
                        self.connection.go_away(code);
                        break Goes::Over;
                    }
                }
                Err(code) => {
                    self.connection.go_away(code);
                    break Goes::Over;
                }
            }
        };
        out.append(self.connection.control());
        goes
    }

    fn event(
        &mut self,
        event: Event,
        piece: &[u8],
        site: &Site,
        table: &mut FieldTable,
        out: &mut Vec<u8>,
    ) -> Result<(), Code> {
        match event {
            Event::Head { stream, is_all } => {
                self.head(stream, piece, table)?;
                if is_all {
                    self.answer(stream, site, out);
                }
            }
            Event::Trailers { stream } => {
                let limits = Limits::new(HEAD_BYTES_MAX, 0, 0);
                if let Err(Refused::Connection(code)) = self.connection.trailers(piece, &limits, table) {
                    return Err(code);
                }
                self.answer(stream, site, out);
            }
            Event::Data { stream, content, is_all } => {
                let content = &piece[content];
                if let Some(Asked { what: What::Message(message), .. }) = self.connection.kept(stream) {
                    message.extend_from_slice(content);
                }
                self.connection.give_back(stream, content.len() as u32);
                if is_all {
                    self.answer(stream, site, out);
                }
            }
            Event::Reset { stream, .. } => _ = self.connection.end(stream, Code::Cancel),
            Event::Room { stream: 0 } => {
                self.connection.ids().into_iter().for_each(|stream| self.send(stream, site, out));
            }
            Event::Room { stream } => self.send(stream, site, out),
            // All is answered at once, so that no stream comes before another.
            Event::Priority { .. } | Event::GoAway { .. } | Event::More => {}
        }
        Ok(())
    }

    fn head(&mut self, stream: u32, piece: &[u8], table: &mut FieldTable) -> Result<(), Code> {
        let limits = Limits::new(HEAD_BYTES_MAX, 0, 0);
        let what = match self.connection.request(piece, &limits, table) {
            Ok(request) => {
                let kind = request.head.fields.find(b"content-type");
                match request.head.method {
                    _ if request.head.path == WAIT => What::Nothing,
                    _ if kind.is_some_and(|kind| kind.starts_with(b"application/grpc")) => What::Message(Vec::new()),
                    Method::Head => What::Head,
                    _ => What::Object,
                }
            }
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(_)) => {
                self.connection.end(stream, Code::ProtocolError);
                return Ok(());
            }
        };
        if let Some(asked) = self.connection.kept(stream) {
            asked.what = what;
        }
        Ok(())
    }

    /// The request is whole.
    fn answer(&mut self, stream: u32, site: &Site, out: &mut Vec<u8>) {
        let Some(asked) = self.connection.kept(stream) else { return };
        match asked.what {
            What::Object => self.block(stream, &site.block, site.object.is_empty(), out),
            What::Head => self.block(stream, &site.block, true, out),
            What::Message(_) => self.block(stream, &site.grpc_block, false, out),
            What::Nothing => return,
        }
        self.send(stream, site, out);
    }

    fn block(&mut self, stream: u32, block: &[u8], is_all: bool, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + block.len() + self.connection.overhead(block.len()), 0);
        let written = self.connection.write_head(&mut out[start..], stream, is_all, |room| {
            room.get_mut(..block.len()).ok_or(Overflow)?.copy_from_slice(block);
            Ok::<_, Overflow>(block.len())
        });
        // The room is made for it.
        out.truncate(start + written.unwrap_or_default());
    }

    /// Sends as much of a body as the windows allow, and what follows it.
    fn send(&mut self, stream: u32, site: &Site, out: &mut Vec<u8>) {
        loop {
            let room = self.connection.room(stream) as usize;
            let Some(asked) = self.connection.kept(stream) else { return };
            let (bytes, has_trailers) = match &asked.what {
                What::Object => (&site.object, false),
                What::Message(message) => (message, true),
                What::Head | What::Nothing => return self.end(stream),
            };
            let (start, piece) = (asked.sent_bytes, room.min(bytes.len() - asked.sent_bytes));
            let end = start + piece;
            if piece == 0 {
                match end == bytes.len() {
                    true if has_trailers => self.block(stream, &block(&[("grpc-status", "0")]), true, out),
                    true => {}
                    false => return,
                }
                return self.end(stream);
            }
            let is_all = end == bytes.len() && !has_trailers;
            let at = out.len();
            out.extend_from_slice(&[0; weir_wire::http2::FRAME_HEADER_BYTES]);
            out.extend_from_slice(&bytes[start..end]);
            asked.sent_bytes = end;
            let header = self.connection.data(stream, piece as u32, is_all);
            out[at..at + header.len()].copy_from_slice(&header);
        }
    }

    fn end(&mut self, stream: u32) {
        self.connection.end(stream, Code::NoError);
    }
}
