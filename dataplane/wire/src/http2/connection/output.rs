//! What this end sends.

use super::{
    Connection, Heard, Leaving, Role,
    input::{LAST_CALL, PROBE},
};
use crate::{
    head::Overflow,
    http2::{Code, FRAME_HEADER_BYTES, Flags, FrameHeader, FrameType, STREAM_MAX},
};

/// How many WINDOW_UPDATEs a peer may send for a DATA frame: one for the stream, and one for the connection.
const UPDATES_PER_FRAME: u32 = 2;
/// A peer answers a DATA frame of so many bytes with control frames. A shorter one may be short because the peer's
/// windows are.
const LONG_BYTES: u32 = 256;

/// A new size of the table: nothing is stored in it (RFC 7541 §6.3). It is allowed whatever size the peer has set.
const EMPTY_TABLE: u8 = 0x20;

impl<S: Default> Connection<S> {
    /// The bytes that frames and the size of the table add to a block of `bytes`.
    pub fn overhead(&self, bytes: usize) -> usize {
        FRAME_HEADER_BYTES * (1 + bytes.div_ceil(self.peer.max_frame_bytes as usize)) + 1
    }

    /// Opens a stream for a request; `None`: the peer takes no more now, or this end leaves. Heads of streams leave in the
    /// order in which the streams were opened.
    pub fn open(&mut self) -> Option<u32> {
        let most = self.peer.max_concurrent_streams.unwrap_or(u32::MAX);
        let id = if self.streams.last() == 0 { 1 } else { self.streams.last() + 2 };
        if self.streams.len() >= most as usize || id > STREAM_MAX || self.leaving != Leaving::No {
            return None;
        }
        self.open_stream(id);
        Some(id)
    }

    /// Sends a head or trailers: `write` writes the block. Returns the bytes of its frames, which stand at the start of
    /// `out`. `is_all`: nothing follows on the stream.
    pub fn write_head<E: From<Overflow>>(
        &mut self,
        out: &mut [u8],
        stream: u32,
        is_all: bool,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let start = FRAME_HEADER_BYTES + usize::from(!self.has_sent_block);
        let room = out.get_mut(start..).ok_or(Overflow)?;
        let end = start + write(room)?;
        if !self.has_sent_block {
            out[FRAME_HEADER_BYTES] = EMPTY_TABLE;
        }
        let written = frame_block(out, end, self.peer.max_frame_bytes as usize, stream, is_all)?;
        self.has_sent_block = true;
        if let Some(stream) = self.streams.find(stream) {
            stream.is_begun = true;
        }
        if is_all {
            self.say_all(stream);
        }
        Ok(written)
    }

    /// Whether the window of the connection lets anything be sent.
    pub fn has_room(&self) -> bool {
        self.send.bytes() > 0
    }

    /// How many bytes of content may be sent in one frame of a stream now.
    pub fn room(&self, stream: u32) -> u32 {
        self.window(stream).min(self.send.bytes()).min(self.peer.max_frame_bytes)
    }

    /// The window of a stream, whatever that of the connection.
    pub fn window(&self, stream: u32) -> u32 {
        self.streams.peek(stream).map_or(0, |stream| stream.send.bytes())
    }

    /// The header of a DATA frame whose content is sent behind it. There must be [room](Self::room) for it.
    pub fn data(&mut self, stream: u32, bytes: u32, is_all: bool) -> [u8; FRAME_HEADER_BYTES] {
        debug_assert!(bytes <= self.room(stream) || bytes == 0, "{bytes} bytes for {}", self.room(stream));
        self.send.send(bytes);
        if let Some(stream) = self.streams.find(stream) {
            stream.send.send(bytes);
        }
        if bytes >= LONG_BYTES {
            self.control_budget.earn();
        }
        if bytes >= LONG_BYTES || bytes > 0 && self.room(stream) > 0 {
            self.updates_due = self.updates_due.saturating_add(UPDATES_PER_FRAME);
        }
        if is_all {
            self.say_all(stream);
        }
        let flags = if is_all { Flags::END_STREAM } else { Flags::NONE };
        FrameHeader { bytes, kind: FrameType::Data, flags, stream }.write()
    }

    fn say_all(&mut self, stream: u32) {
        if let Some(stream) = self.streams.find(stream) {
            stream.is_said = true;
        }
        self.control_budget.earn();
    }

    /// Content of a stream has left this end, so that the peer may send as much again.
    pub fn give_back(&mut self, stream: u32, bytes: u32) {
        if let Some(open) = self.streams.find(stream)
            && open.heard != Heard::All
            && let Some(more) = open.receive.give_back(bytes)
        {
            self.push(FrameType::WindowUpdate, Flags::NONE, stream, &more.to_be_bytes());
        }
    }

    /// The same while the window of the stream changes to `most`.
    pub fn give_back_towards(&mut self, stream: u32, bytes: u32, most: u32) {
        if let Some(open) = self.streams.find(stream)
            && open.heard != Heard::All
            && let Some(more) = open.receive.give_back_towards(bytes, most)
        {
            self.push(FrameType::WindowUpdate, Flags::NONE, stream, &more.to_be_bytes());
        }
    }

    /// Forgets a stream, and returns what the caller kept with it. Unless both ends have said all, the peer learns the
    /// code.
    pub fn end(&mut self, stream: u32, code: Code) -> Option<S> {
        let ended = self.streams.remove(stream)?;
        // The peer takes an identifier that was left out for a stream that has ended (§5.1.1).
        if ended.is_begun && (!ended.is_said || ended.heard != Heard::All) {
            self.refuse(stream, code);
        }
        Some(ended.kept)
    }

    pub(super) fn refuse(&mut self, stream: u32, code: Code) {
        self.streams.note_reset(stream);
        self.push(FrameType::ResetStream, Flags::NONE, stream, &code.number().to_be_bytes());
    }

    /// Asks the peer whether it is still there.
    pub fn ping(&mut self) {
        self.awaits_pong = true;
        self.push(FrameType::Ping, Flags::NONE, 0, &PROBE);
    }

    /// Begins a graceful end: streams that are under way are still taken.
    pub fn leave(&mut self) {
        if self.leaving == Leaving::No {
            self.leaving = Leaving::Asked;
            self.push_go_away(STREAM_MAX, Code::NoError);
            self.push(FrameType::Ping, Flags::NONE, 0, &LAST_CALL);
        }
    }

    /// The peer has had its time to answer: what is under way now is not taken any more.
    pub fn end_leaving(&mut self) {
        if self.leaving == Leaving::Asked {
            self.go_away(Code::NoError);
        }
    }

    /// Takes no new streams. With an error, the connection ends.
    pub fn go_away(&mut self, code: Code) {
        let last = match self.leaving {
            Leaving::After(last) => last,
            _ => self.streams.last(),
        };
        self.leaving = Leaving::After(last);
        self.push_go_away(last, code);
    }

    /// `last`: of the streams that the peer has opened. A server opens none (RFC 9113 §6.8).
    fn push_go_away(&mut self, last: u32, code: Code) {
        let last = if self.streams.role() == Role::Client { 0 } else { last };
        let mut payload = [0; 8];
        payload[..4].copy_from_slice(&last.to_be_bytes());
        payload[4..].copy_from_slice(&code.number().to_be_bytes());
        self.push(FrameType::GoAway, Flags::NONE, 0, &payload);
    }

    pub(super) fn push(&mut self, kind: FrameType, flags: Flags, stream: u32, payload: &[u8]) {
        let header = FrameHeader { bytes: payload.len() as u32, kind, flags, stream };
        self.control.extend_from_slice(&header.write());
        self.control.extend_from_slice(payload);
    }
}

/// Makes frames of the block that ends at `end`, and begins behind the room for one header. Returns the end of the last.
fn frame_block(out: &mut [u8], end: usize, most: usize, stream: u32, is_all: bool) -> Result<usize, Overflow> {
    let block_bytes = end - FRAME_HEADER_BYTES;
    let frames = block_bytes.div_ceil(most).max(1);
    let written = end + (frames - 1) * FRAME_HEADER_BYTES;
    if written > out.len() {
        return Err(Overflow);
    }
    for frame in (0..frames).rev() {
        let (from, bytes) = (frame * most, (block_bytes - frame * most).min(most));
        let at = frame * (most + FRAME_HEADER_BYTES);
        if frame > 0 {
            let from = FRAME_HEADER_BYTES + from;
            out.copy_within(from..from + bytes, at + FRAME_HEADER_BYTES);
        }
        let mut flags = if frame == frames - 1 { Flags::END_HEADERS } else { Flags::NONE };
        if frame == 0 && is_all {
            flags = flags | Flags::END_STREAM;
        }
        let kind = if frame == 0 { FrameType::Headers } else { FrameType::Continuation };
        let header = FrameHeader { bytes: bytes as u32, kind, flags, stream };
        out[at..at + FRAME_HEADER_BYTES].copy_from_slice(&header.write());
    }
    Ok(written)
}
