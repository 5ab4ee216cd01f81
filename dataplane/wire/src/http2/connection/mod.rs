//! One end of a connection: takes apart what the peer sends, keeps what the standard makes both ends keep, and tells what
//! happened to which stream.
//!
//! Whatever breaks the standard ends the connection, also where the standard allows to end a stream only: a peer that can
//! make this end reset streams could make its servers work in vain (CVE-2025-8671). Only a WINDOW_UPDATE that a stream
//! cannot take ends that stream, and costs the peer as much as a reset of its own. A message that is malformed is the
//! caller's to answer.

mod input;
mod output;
mod splitter;
mod streams;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::{
    splitter::{Place, Splitter},
    streams::{Heard, Stream, Streams},
};
use super::{
    Budget, Code, Flags, FrameType, PREFACE, Priority, ReceiveWindow, Refused, Request, SendWindow, Settings,
    WINDOW_FIRST, hpack::Decoder,
};
use crate::{
    Error,
    head::{FieldTable, Fields, Limits, Method, ResponseHead},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// This end opens streams.
    Client,
    Server,
}

/// What an end announces, and how much it takes.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub settings: Settings,
    /// The window of the connection for what this end receives.
    pub window: u32,
    /// The limit of a head.
    pub head_bytes: usize,
    /// Control frames, and resets of streams without a response, that a peer may send at once; 0: without limit.
    pub control_frames: u32,
    /// Empty DATA frames that a peer may send at once; 0: without limit.
    pub empty_frames: u32,
}

/// What has happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The head of a message has come: [`request`](Connection::request) or [`response`](Connection::response) reads it,
    /// before anything else is taken. `is_all`: nothing follows it on its stream.
    Head { stream: u32, is_all: bool },
    /// Trailers have come, and end their message: [`trailers`](Connection::trailers) reads them, before anything else is
    /// taken.
    Trailers { stream: u32 },
    /// Content has come. It lies there in the piece. Its bytes are to be [given back](Connection::give_back). If the caller
    /// has ended the stream amid a frame, the rest of that frame still comes.
    Data { stream: u32, content: Range<usize>, is_all: bool },
    /// The peer has ended a stream, which the caller has to [end](Connection::end) as well.
    Reset { stream: u32, code: Code },
    /// More may be sent on a stream; 0: on any stream.
    Room { stream: u32 },
    /// The peer wants the response on a stream earlier or later.
    Priority { stream: u32, priority: Priority },
    /// The peer takes no new streams, and has not processed those behind `last`.
    GoAway { last: u32, code: Code },
    /// The piece is used up.
    More,
}

/// `S`: what the caller keeps with each stream.
pub struct Connection<S> {
    config: Config,
    /// What the peer has announced.
    peer: Settings,
    has_peer_settings: bool,
    /// The peer has taken over the settings of this end.
    has_acknowledged: bool,
    splitter: Splitter,
    block: Block,
    decoder: Decoder,
    /// The first block that this end sends makes the peer's table empty: this end stores nothing in it.
    has_sent_block: bool,
    streams: Streams<S>,
    send: SendWindow,
    receive: ReceiveWindow,
    control_budget: Budget,
    empty_budget: Budget,
    /// How many WINDOW_UPDATEs the content that was sent still calls for.
    updates_due: u32,
    /// Frames to send.
    control: Vec<u8>,
    leaving: Leaving,
    /// The peer has a PING to answer.
    awaits_pong: bool,
}

/// How far this end has said that it takes no new streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaving {
    No,
    /// Told, without saying which stream is the last: some may be under way. The answer to a PING shows which.
    Asked,
    /// Told.
    After(u32),
}

/// A block of fields, from its first frame until it is read.
#[derive(Default)]
struct Block {
    /// What it consists of, unless it came in one frame in one piece.
    bytes: Vec<u8>,
    /// The one that goes on in the next frame.
    open: Option<Opened>,
    continuations: u16,
    /// Where the one lies that is complete and not read.
    whole: Option<(u32, Place)>,
}

#[derive(Clone, Copy)]
struct Opened {
    stream: u32,
    is_all: bool,
    purpose: Purpose,
}

/// What a block is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// It opens its stream.
    Open,
    Head,
    Trailers,
    /// Only decoded, so that both tables stay the same.
    Nothing,
}

impl<S: Default> Connection<S> {
    pub fn new(role: Role, config: Config, now_ms: u64) -> Self {
        let mut connection = Self {
            // Only clients take pushes.
            peer: Settings { enable_push: role == Role::Server, ..Settings::default() },
            has_peer_settings: false,
            has_acknowledged: false,
            splitter: Splitter::new(role == Role::Server),
            block: Block::default(),
            decoder: Decoder::new(config.settings.header_table_bytes as usize),
            has_sent_block: false,
            streams: Streams::new(role),
            send: SendWindow::new(WINDOW_FIRST),
            receive: ReceiveWindow::new(WINDOW_FIRST),
            control_budget: Budget::new(config.control_frames, now_ms),
            empty_budget: Budget::new(config.empty_frames, now_ms),
            updates_due: 0,
            control: Vec::new(),
            leaving: Leaving::No,
            awaits_pong: false,
            config,
        };
        if role == Role::Client {
            connection.control.extend_from_slice(PREFACE);
        }
        let mut entries = Vec::new();
        config.settings.write(&mut entries);
        connection.push(FrameType::Settings, Flags::NONE, 0, &entries);
        if let Some(more) = connection.receive.widen(config.window) {
            connection.push(FrameType::WindowUpdate, Flags::NONE, 0, &more.to_be_bytes());
        }
        connection
    }

    /// Frames to send, before any content of a later call. The caller leaves none.
    pub fn control(&mut self) -> &mut Vec<u8> {
        &mut self.control
    }

    /// What the peer has announced.
    pub fn peer(&self) -> &Settings {
        &self.peer
    }

    /// Whether the peer has announced its settings, and answered every [`ping`](Self::ping).
    pub fn has_peer(&self) -> bool {
        self.has_peer_settings && !self.awaits_pong
    }

    /// What the caller keeps with a stream; `None`: the stream has ended.
    pub fn kept(&mut self, stream: u32) -> Option<&mut S> {
        self.streams.find(stream).map(|stream| &mut stream.kept)
    }

    /// What the caller keeps with each stream.
    pub fn each_kept(&self) -> impl Iterator<Item = &S> {
        self.streams.peek_each().map(|stream| &stream.kept)
    }

    /// The identifiers of the open streams.
    pub fn ids(&self) -> Vec<u32> {
        self.streams.ids()
    }

    /// How many streams are open.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether a frame has come in part, or a block of fields: the peer may hold up everything behind it.
    pub fn is_amid_frame(&self) -> bool {
        self.block.open.is_some() || self.splitter.is_amid_payload()
    }

    /// Whether the peer's misuse is so frequent that the connection should end gracefully.
    pub fn is_suspect(&self) -> bool {
        self.control_budget.is_low() || self.empty_budget.is_low()
    }

    /// The block that was told of, and its stream.
    fn take_block(&mut self) -> Result<(u32, Place), Refused> {
        debug_assert!(self.block.whole.is_some(), "no event has told of a block");
        self.block.whole.take().ok_or(Refused::Connection(Code::InternalError))
    }

    /// Whether this end has said that it takes no new streams, and none is open.
    pub fn is_over(&self) -> bool {
        matches!(self.leaving, Leaving::After(_)) && self.streams.len() == 0
    }
}

/// Large pieces and blocks are rare: a connection does not keep their memory.
const KEPT_BYTES: usize = 1024;

/// Makes a buffer ready for the next piece.
fn clear(gathered: &mut Vec<u8>) {
    match gathered.capacity() > KEPT_BYTES {
        true => *gathered = Vec::new(),
        false => gathered.clear(),
    }
}

// The blocks that events tell of. `piece` is the one that the event came from.
impl<S: Default> Connection<S> {
    pub fn request<'b>(
        &mut self,
        piece: &[u8],
        limits: &Limits,
        table: &'b mut FieldTable,
    ) -> Result<Request<'b>, Refused> {
        let (stream, place) = self.take_block()?;
        let is_all = self.has_heard_all(stream);
        let block = place.of(piece, &self.block.bytes);
        let request = super::request(block, is_all, &mut self.decoder, limits, table)?;
        if request.is_websocket && !self.config.settings.enable_connect_protocol {
            return Err(Error::Connect.into());
        }
        Ok(request)
    }

    /// The head of the response to a request with `method`. After an interim one another head follows.
    pub fn response<'b>(
        &mut self,
        piece: &[u8],
        method: Method,
        limits: &Limits,
        table: &'b mut FieldTable,
    ) -> Result<ResponseHead<'b>, Refused> {
        let (stream, place) = self.take_block()?;
        let is_all = self.has_heard_all(stream);
        let block = place.of(piece, &self.block.bytes);
        let head = super::response(block, method, is_all, &mut self.decoder, limits, table)?;
        if let Some(stream) = self.streams.find(stream)
            && head.status < 200
        {
            stream.heard = Heard::Nothing;
        }
        Ok(head)
    }

    pub fn trailers<'b>(
        &mut self,
        piece: &[u8],
        limits: &Limits,
        table: &'b mut FieldTable,
    ) -> Result<Fields<'b>, Refused> {
        let (_, place) = self.take_block()?;
        super::trailers(place.of(piece, &self.block.bytes), &mut self.decoder, limits, table)
    }

    fn has_heard_all(&self, stream: u32) -> bool {
        self.streams.peek(stream).is_none_or(|stream| stream.heard == Heard::All)
    }
}
