//! Headers of frames (RFC 9113 §4.1), and what each type of frame demands of its length and its stream (§6).

use std::ops::BitOr;

use super::Code;

pub const FRAME_HEADER_BYTES: usize = 9;
/// The smallest limit of a frame's payload that an end may set, and the first one (§4.2).
pub const FRAME_BYTES_MIN: usize = 1 << 14;
/// The largest identifier of a stream.
pub const STREAM_MAX: u32 = (1 << 31) - 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameType {
    Data,
    Headers,
    Priority,
    ResetStream,
    Settings,
    PushPromise,
    Ping,
    GoAway,
    WindowUpdate,
    Continuation,
    /// RFC 9218 §7.1.
    PriorityUpdate,
    /// A frame of an extension, which is ignored (§4.1).
    Unknown(u8),
}

impl FrameType {
    fn of(number: u8) -> Self {
        match number {
            0 => FrameType::Data,
            1 => FrameType::Headers,
            2 => FrameType::Priority,
            3 => FrameType::ResetStream,
            4 => FrameType::Settings,
            5 => FrameType::PushPromise,
            6 => FrameType::Ping,
            7 => FrameType::GoAway,
            8 => FrameType::WindowUpdate,
            9 => FrameType::Continuation,
            16 => FrameType::PriorityUpdate,
            other => FrameType::Unknown(other),
        }
    }

    fn number(self) -> u8 {
        match self {
            FrameType::Data => 0,
            FrameType::Headers => 1,
            FrameType::Priority => 2,
            FrameType::ResetStream => 3,
            FrameType::Settings => 4,
            FrameType::PushPromise => 5,
            FrameType::Ping => 6,
            FrameType::GoAway => 7,
            FrameType::WindowUpdate => 8,
            FrameType::Continuation => 9,
            FrameType::PriorityUpdate => 16,
            FrameType::Unknown(other) => other,
        }
    }
}

/// The flags of a frame. What a bit means depends on the type; bits without a meaning are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u8);

impl Flags {
    pub const NONE: Flags = Flags(0);
    /// Of SETTINGS and PING.
    pub const ACK: Flags = Flags(0x1);
    /// Of DATA and HEADERS.
    pub const END_STREAM: Flags = Flags(0x1);
    /// Of HEADERS and CONTINUATION.
    pub const END_HEADERS: Flags = Flags(0x4);
    /// Of DATA and HEADERS.
    pub const PADDED: Flags = Flags(0x8);
    /// Of HEADERS.
    pub const PRIORITY: Flags = Flags(0x20);

    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHeader {
    /// Bytes of the payload.
    pub bytes: u32,
    pub kind: FrameType,
    pub flags: Flags,
    pub stream: u32,
}

impl FrameHeader {
    #[inline]
    pub fn read(bytes: &[u8; FRAME_HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Self {
            bytes: u32::from_be_bytes([0, a, b, c]),
            kind: FrameType::of(kind),
            flags: Flags(flags),
            // The highest bit is reserved.
            stream: u32::from_be_bytes(stream) & STREAM_MAX,
        }
    }

    #[inline]
    pub fn write(self) -> [u8; FRAME_HEADER_BYTES] {
        let [_, a, b, c] = self.bytes.to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        [a, b, c, self.kind.number(), self.flags.0, d, e, f, g]
    }

    /// Whether length and stream fit the type; if not, the error of the connection. `most` is the limit that this end has
    /// set for payloads.
    pub fn check(&self, most: usize) -> Result<(), Code> {
        use FrameType::*;
        let bytes = self.bytes as usize;
        if bytes > most {
            return Err(Code::FrameSizeError);
        }
        let fits = match self.kind {
            Data => bytes >= self.padding_bytes(),
            Headers => bytes >= self.padding_bytes() + self.priority_bytes(),
            Priority => bytes == 5,
            ResetStream | WindowUpdate => bytes == 4,
            Settings if self.flags.has(Flags::ACK) => bytes == 0,
            Settings => bytes.is_multiple_of(6),
            PushPromise | PriorityUpdate => bytes >= 4,
            Ping => bytes == 8,
            GoAway => bytes >= 8,
            Continuation | Unknown(_) => true,
        };
        if !fits {
            return Err(Code::FrameSizeError);
        }
        let has_stream = self.stream != 0;
        let may_have = match self.kind {
            Data | Headers | Priority | ResetStream | PushPromise | Continuation => has_stream,
            Settings | Ping | GoAway | PriorityUpdate => !has_stream,
            WindowUpdate | Unknown(_) => true,
        };
        if may_have { Ok(()) } else { Err(Code::ProtocolError) }
    }

    /// Bytes of the field that says how long the padding is.
    pub fn padding_bytes(&self) -> usize {
        usize::from(self.flags.has(Flags::PADDED))
    }

    /// Bytes of the priority of RFC 7540, which is read and ignored.
    pub fn priority_bytes(&self) -> usize {
        if self.flags.has(Flags::PRIORITY) { 5 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for kind in (0..=u8::MAX).map(FrameType::of) {
            let header = FrameHeader { bytes: 0x01_02_03, kind, flags: Flags(0x2d), stream: STREAM_MAX };
            assert_eq!(FrameHeader::read(&header.write()), header);
        }
        let reserved = FrameHeader::read(&[0, 0, 0, 0, 0, 0x80, 0, 0, 1]);
        assert_eq!(reserved.stream, 1, "the reserved bit counts for nothing");
    }

    #[test]
    fn lengths_and_streams_fit_the_type() {
        use FrameType::*;
        let check = |kind, flags, bytes, stream| FrameHeader { bytes, kind, flags, stream }.check(FRAME_BYTES_MIN);
        let (size, protocol) = (Err(Code::FrameSizeError), Err(Code::ProtocolError));
        for (kind, flags, bytes, stream, is) in [
            (Data, Flags::NONE, 16_384, 1, Ok(())),
            (Data, Flags::NONE, 16_385, 1, size),
            (Data, Flags::PADDED, 0, 1, size),
            (Data, Flags::NONE, 0, 0, protocol),
            (Headers, Flags::PADDED | Flags::PRIORITY, 5, 1, size),
            (Headers, Flags::PADDED | Flags::PRIORITY, 6, 1, Ok(())),
            (Priority, Flags::NONE, 4, 1, size),
            (ResetStream, Flags::NONE, 4, 1, Ok(())),
            (ResetStream, Flags::NONE, 5, 1, size),
            (Settings, Flags::NONE, 12, 0, Ok(())),
            (Settings, Flags::NONE, 7, 0, size),
            (Settings, Flags::ACK, 6, 0, size),
            (Settings, Flags::NONE, 0, 1, protocol),
            (PushPromise, Flags::NONE, 4, 0, protocol),
            (Ping, Flags::NONE, 8, 0, Ok(())),
            (Ping, Flags::NONE, 7, 0, size),
            (GoAway, Flags::NONE, 7, 0, size),
            (WindowUpdate, Flags::NONE, 4, 0, Ok(())),
            (WindowUpdate, Flags::NONE, 3, 1, size),
            (Continuation, Flags::NONE, 0, 0, protocol),
            (PriorityUpdate, Flags::NONE, 4, 1, protocol),
            (Unknown(0xee), Flags::NONE, 9, 0, Ok(())),
        ] {
            assert_eq!(check(kind, flags, bytes, stream), is, "{kind:?} {flags:?} {bytes} {stream}");
        }
    }
}
