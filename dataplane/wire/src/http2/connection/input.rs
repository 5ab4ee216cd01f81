//! What the peer sends.

use super::{
    Connection, Event, Heard, Leaving, Opened, Purpose, Role, Stream, clear,
    splitter::{Part, Place},
    streams::State,
};
use crate::http2::{
    Code, FRAME_BYTES_MIN, Flags, FrameHeader, FrameType, Priority, ReceiveWindow, STREAM_MAX, SendWindow,
    WINDOW_FIRST, block,
};

/// Frames of a block after its first, unless the limit of a head calls for more.
const CONTINUATIONS_MAX: usize = 8;
/// The entries of one SETTINGS frame.
const SETTINGS_BYTES_MAX: u32 = 32 * 6;
/// A DATA frame on a stream that was reset costs something of the budget unless it has so many bytes.
const LATE_BYTES_FREE: u32 = 256;
/// The payload of the PING whose answer shows that all streams under way have come.
pub(super) const LAST_CALL: [u8; 8] = *b"lastcall";
/// The payload of the PING whose answer shows that the peer is still there.
pub(super) const PROBE: [u8; 8] = *b"stillup?";

impl<S: Default> Connection<S> {
    /// Takes the bytes of `piece` from `at` on, and moves `at`. Error: the connection ends with this code.
    pub fn take(&mut self, piece: &[u8], at: &mut usize, now_ms: u64) -> Result<Event, Code> {
        debug_assert!(self.block.whole.is_none(), "a block was not read");
        if self.block.open.is_none() {
            clear(&mut self.block.bytes);
        }
        loop {
            let event = match self.splitter.next(piece, at)? {
                Part::More => return Ok(Event::More),
                Part::Header(header) => {
                    self.begin_frame(header, now_ms)?;
                    None
                }
                Part::Payload(header, place) => {
                    let gathered = self.splitter.lend();
                    let payload = place.of(piece, &gathered);
                    let event = self.payload(header, payload, &place, now_ms);
                    self.splitter.take_back(gathered);
                    event?
                }
                Part::Padding { stream, bytes } => {
                    self.give_back(stream, bytes);
                    None
                }
                Part::Content { header, content, is_last } => {
                    let is_all = is_last && header.flags.has(Flags::END_STREAM);
                    // A frame may also consist of padding (CVE-2019-9518).
                    if content.is_empty() && !is_all {
                        self.empty_budget.spend(1, now_ms)?;
                    }
                    if is_all {
                        self.hear_all(header.stream);
                    }
                    let tells = is_all || !content.is_empty();
                    tells.then_some(Event::Data { stream: header.stream, content, is_all })
                }
            };
            if let Some(event) = event {
                return Ok(event);
            }
        }
    }

    fn begin_frame(&mut self, header: FrameHeader, now_ms: u64) -> Result<(), Code> {
        header.check(self.config.settings.max_frame_bytes as usize)?;
        let is_next = match self.block.open {
            Some(open) => header.kind == FrameType::Continuation && header.stream == open.stream,
            None => header.kind != FrameType::Continuation,
        };
        let is_settings = header.kind == FrameType::Settings && !header.flags.has(Flags::ACK);
        if !is_next || !self.has_peer_settings && !is_settings {
            return Err(Code::ProtocolError);
        }
        match header.kind {
            FrameType::Data => self.begin_data(header, now_ms),
            FrameType::PushPromise => Err(Code::ProtocolError),
            FrameType::Settings if header.bytes > SETTINGS_BYTES_MAX => Err(Code::EnhanceYourCalm),
            FrameType::Unknown(_) => {
                self.splitter.skip(header);
                self.control_budget.spend(1, now_ms)
            }
            FrameType::Headers | FrameType::Continuation | FrameType::WindowUpdate => Ok(()),
            _ => self.control_budget.spend(1, now_ms),
        }
    }

    fn begin_data(&mut self, header: FrameHeader, now_ms: u64) -> Result<(), Code> {
        self.receive.take(header.bytes)?;
        // A stream that waits must not stop the others, so their common window opens again at once.
        if let Some(more) = self.receive.give_back(header.bytes) {
            self.push(FrameType::WindowUpdate, Flags::NONE, 0, &more.to_be_bytes());
        }
        match self.streams.state(header.stream) {
            State::Idle => Err(Code::ProtocolError),
            State::Closed => Err(Code::StreamClosed),
            State::Reset => {
                self.splitter.skip(header);
                if header.bytes < LATE_BYTES_FREE { self.empty_budget.spend(1, now_ms) } else { Ok(()) }
            }
            State::Open => {
                let stream = self.streams.find(header.stream).ok_or(Code::InternalError)?;
                match stream.heard {
                    Heard::Head => stream.receive.take(header.bytes),
                    Heard::Nothing => Err(Code::ProtocolError),
                    Heard::All => Err(Code::StreamClosed),
                }
            }
        }
    }

    /// The peer says nothing more on a stream.
    fn hear_all(&mut self, id: u32) {
        if let Some(stream) = self.streams.find(id) {
            stream.heard = Heard::All;
        }
    }

    /// A frame other than DATA is complete.
    fn payload(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        place: &Place,
        now_ms: u64,
    ) -> Result<Option<Event>, Code> {
        match header.kind {
            FrameType::Headers => self.headers(header, payload, place, now_ms),
            FrameType::Continuation => self.continuation(header, payload),
            FrameType::Priority => check_priority(payload, header.stream).map(|()| None),
            FrameType::ResetStream => self.was_reset(header.stream, Code::of(number(payload)?)),
            FrameType::Settings if header.flags.has(Flags::ACK) => {
                self.has_acknowledged = true;
                Ok(None)
            }
            FrameType::Settings => self.take_settings(payload),
            FrameType::Ping if header.flags.has(Flags::ACK) => {
                self.ping_answered(payload);
                Ok(None)
            }
            FrameType::Ping => {
                self.push(FrameType::Ping, Flags::ACK, 0, payload);
                Ok(None)
            }
            FrameType::GoAway => {
                let code = number(payload.get(4..).unwrap_or_default())?;
                Ok(Some(Event::GoAway { last: number(payload)? & STREAM_MAX, code: Code::of(code) }))
            }
            FrameType::PriorityUpdate => self.prefer(payload),
            FrameType::WindowUpdate => self.grow(header.stream, number(payload)? & STREAM_MAX, now_ms),
            _ => Ok(None),
        }
    }

    fn headers(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        place: &Place,
        now_ms: u64,
    ) -> Result<Option<Event>, Code> {
        let (mut start, mut end) = (header.padding_bytes(), payload.len());
        if header.flags.has(Flags::PADDED) {
            let padding = payload.first().map_or(0, |bytes| usize::from(*bytes));
            end = end.checked_sub(padding).ok_or(Code::ProtocolError)?;
        }
        if header.flags.has(Flags::PRIORITY) {
            check_priority(payload.get(start..).unwrap_or_default(), header.stream)?;
            start += header.priority_bytes();
        }
        let fragment = payload.get(start..end).ok_or(Code::ProtocolError)?;
        let is_all = header.flags.has(Flags::END_STREAM);
        let purpose = self.purpose(header.stream, is_all, now_ms)?;
        let opened = Opened { stream: header.stream, is_all, purpose };
        self.block.continuations = 0;
        match place {
            Place::Piece(range) if header.flags.has(Flags::END_HEADERS) => {
                let place = Place::Piece(range.start + start..range.start + end);
                self.whole_block(opened, fragment, place)
            }
            _ => {
                self.block.bytes.clear();
                self.gather_block(header, opened, fragment)
            }
        }
    }

    fn continuation(&mut self, header: FrameHeader, payload: &[u8]) -> Result<Option<Event>, Code> {
        let mut opened = self.block.open.take().ok_or(Code::ProtocolError)?;
        self.block.continuations = self.block.continuations.saturating_add(1);
        let most = CONTINUATIONS_MAX.max(self.block_bytes_max().div_ceil(FRAME_BYTES_MIN));
        if payload.is_empty() || usize::from(self.block.continuations) > most {
            return Err(Code::EnhanceYourCalm);
        }
        opened.purpose = self.purpose_now(opened);
        self.gather_block(header, opened, payload)
    }

    /// What a block is for that has begun with an earlier frame. Since then the caller may have ended its stream, or told
    /// the peer that no new stream is processed.
    fn purpose_now(&mut self, Opened { stream, purpose, .. }: Opened) -> Purpose {
        match purpose {
            Purpose::Open if matches!(self.leaving, Leaving::After(_)) => {
                self.streams.pass(stream);
                self.streams.note_reset(stream);
                Purpose::Nothing
            }
            Purpose::Head | Purpose::Trailers if self.streams.peek(stream).is_none() => Purpose::Nothing,
            purpose => purpose,
        }
    }

    /// The limit of a block before it is decoded. Compression makes no head longer by a quarter.
    fn block_bytes_max(&self) -> usize {
        self.config.head_bytes + self.config.head_bytes / 4
    }

    fn gather_block(&mut self, header: FrameHeader, opened: Opened, fragment: &[u8]) -> Result<Option<Event>, Code> {
        self.block.bytes.extend_from_slice(fragment);
        if self.block.bytes.len() > self.block_bytes_max() {
            return Err(Code::EnhanceYourCalm);
        }
        if !header.flags.has(Flags::END_HEADERS) {
            self.block.open = Some(opened);
            return Ok(None);
        }
        let bytes = std::mem::take(&mut self.block.bytes);
        let event = self.whole_block(opened, &bytes, Place::Gathered);
        self.block.bytes = bytes;
        event
    }

    fn whole_block(&mut self, opened: Opened, block: &[u8], place: Place) -> Result<Option<Event>, Code> {
        let Opened { stream, is_all, purpose } = opened;
        let event = match purpose {
            Purpose::Nothing => {
                block::skip(block, &mut self.decoder, self.config.head_bytes)?;
                return Ok(None);
            }
            Purpose::Open => {
                self.open_stream(stream);
                Event::Head { stream, is_all }
            }
            Purpose::Head => Event::Head { stream, is_all },
            Purpose::Trailers => Event::Trailers { stream },
        };
        if let Some(open) = self.streams.find(stream) {
            open.heard = if is_all { Heard::All } else { Heard::Head };
        }
        self.block.whole = Some((stream, place));
        Ok(Some(event))
    }

    /// What a block on this stream is for. A block may open a stream.
    fn purpose(&mut self, id: u32, is_all: bool, now_ms: u64) -> Result<Purpose, Code> {
        match self.streams.state(id) {
            State::Closed => Err(Code::StreamClosed),
            State::Reset => self.control_budget.spend(1, now_ms).map(|()| Purpose::Nothing),
            State::Open => {
                let stream = self.streams.find(id).ok_or(Code::InternalError)?;
                match stream.heard {
                    Heard::All => Err(Code::StreamClosed),
                    Heard::Head if is_all => Ok(Purpose::Trailers),
                    // Trailers end their message.
                    Heard::Head => Err(Code::ProtocolError),
                    Heard::Nothing => Ok(Purpose::Head),
                }
            }
            State::Idle => self.open_by_peer(id, now_ms),
        }
    }

    fn open_by_peer(&mut self, id: u32, now_ms: u64) -> Result<Purpose, Code> {
        if self.streams.role() == Role::Client || id.is_multiple_of(2) {
            return Err(Code::ProtocolError);
        }
        if let Leaving::After(_) = self.leaving {
            // The peer knows that it was not processed.
            self.streams.pass(id);
            self.streams.note_reset(id);
            return self.control_budget.spend(1, now_ms).map(|()| Purpose::Nothing);
        }
        let most = self.config.settings.max_concurrent_streams.unwrap_or(u32::MAX);
        if self.streams.len() >= most as usize {
            self.streams.pass(id);
            self.refuse(id, Code::RefusedStream);
            self.control_budget.spend(1, now_ms)?;
            return Ok(Purpose::Nothing);
        }
        Ok(Purpose::Open)
    }

    pub(super) fn open_stream(&mut self, id: u32) {
        let mut receive = ReceiveWindow::new(self.config.settings.initial_window);
        if !self.has_acknowledged {
            receive.expect(WINDOW_FIRST);
        }
        self.streams.open(Stream {
            id,
            kept: S::default(),
            send: SendWindow::new(self.peer.initial_window),
            receive,
            heard: Heard::Nothing,
            is_begun: self.streams.role() == Role::Server,
            is_said: false,
        });
    }

    fn was_reset(&mut self, id: u32, code: Code) -> Result<Option<Event>, Code> {
        match self.streams.state(id) {
            State::Idle => Err(Code::ProtocolError),
            State::Reset | State::Closed => Ok(None),
            State::Open => {
                let stream = self.streams.find(id).ok_or(Code::InternalError)?;
                (stream.heard, stream.is_said) = (Heard::All, true);
                Ok(Some(Event::Reset { stream: id, code }))
            }
        }
    }

    fn take_settings(&mut self, payload: &[u8]) -> Result<Option<Event>, Code> {
        let before = self.peer;
        self.peer.apply(payload)?;
        self.has_peer_settings = true;
        // No server may say that it takes pushes (§6.5.2).
        if self.streams.role() == Role::Client && self.peer.enable_push {
            return Err(Code::ProtocolError);
        }
        let change = i64::from(self.peer.initial_window) - i64::from(before.initial_window);
        for stream in self.streams.each() {
            stream.send.change(change)?;
        }
        self.push(FrameType::Settings, Flags::ACK, 0, &[]);
        Ok((change > 0).then_some(Event::Room { stream: 0 }))
    }

    /// A client may speak of a stream before it opens it (RFC 9218 §7.1). That is ignored: the request can say the same.
    fn prefer(&mut self, payload: &[u8]) -> Result<Option<Event>, Code> {
        let stream = number(payload)? & STREAM_MAX;
        if self.streams.role() == Role::Client || stream == 0 {
            return Err(Code::ProtocolError);
        }
        let priority = Priority::read(&payload[4..]);
        Ok(self.streams.peek(stream).is_some().then_some(Event::Priority { stream, priority }))
    }

    /// A WINDOW_UPDATE that no content calls for costs the peer something.
    fn grow(&mut self, id: u32, bytes: u32, now_ms: u64) -> Result<Option<Event>, Code> {
        let state = if id == 0 { State::Open } else { self.streams.state(id) };
        match self.updates_due.checked_sub(1) {
            Some(left) => self.updates_due = left,
            None => self.control_budget.spend(1, now_ms)?,
        }
        let window = match id {
            0 => &mut self.send,
            _ => match state {
                State::Idle => return Err(Code::ProtocolError),
                State::Reset | State::Closed => return Ok(None),
                State::Open => &mut self.streams.find(id).ok_or(Code::InternalError)?.send,
            },
        };
        let was_full = window.bytes() == 0;
        match window.grow(bytes) {
            Err(code) if id > 0 => return self.reset(id, code, now_ms).map(Some),
            grown => grown?,
        }
        Ok((was_full && window.bytes() > 0).then_some(Event::Room { stream: id }))
    }

    /// Counts work that the peer has caused in vain, as so many control frames. Error: it was too much, and the
    /// connection ends.
    pub fn charge(&mut self, units: u32, now_ms: u64) -> Result<(), Code> {
        self.control_budget.spend(units, now_ms)
    }

    /// Ends a stream whose peer has broken the standard. That costs the peer as much as a reset of its own.
    fn reset(&mut self, id: u32, code: Code, now_ms: u64) -> Result<Event, Code> {
        self.control_budget.spend(1, now_ms)?;
        self.refuse(id, code);
        if let Some(stream) = self.streams.find(id) {
            (stream.heard, stream.is_said) = (Heard::All, true);
        }
        Ok(Event::Reset { stream: id, code })
    }

    fn ping_answered(&mut self, payload: &[u8]) {
        // What the peer had under way when it was told to open no more streams has come.
        if payload == LAST_CALL {
            self.end_leaving();
        }
        if payload == PROBE {
            self.awaits_pong = false;
        }
    }
}

/// A priority of RFC 7540 means nothing any more, but no stream may depend on itself.
fn check_priority(payload: &[u8], stream: u32) -> Result<(), Code> {
    if number(payload)? & STREAM_MAX == stream { Err(Code::ProtocolError) } else { Ok(()) }
}

fn number(payload: &[u8]) -> Result<u32, Code> {
    payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)).ok_or(Code::FrameSizeError)
}
