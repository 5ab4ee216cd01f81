//! What clients of HTTP/2 must not send, and what each of it deserves.

use weir_wire::http2::Code;

use crate::rng::Rng;

/// Bytes that break the standard, and the code that must end the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub bytes: Vec<u8>,
    pub code: Code,
}

/// Stands for a stream that the client opens for it.
const OPENED: u32 = 0x7fff_fff3;

impl Breach {
    pub fn needs_stream(&self) -> bool {
        self.bytes.windows(4).any(|bytes| bytes == OPENED.to_be_bytes())
    }

    /// The bytes, with this stream where one is needed.
    pub fn bytes_on(&self, stream: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        while let Some(at) = bytes.windows(4).position(|bytes| bytes == OPENED.to_be_bytes()) {
            bytes[at..at + 4].copy_from_slice(&stream.to_be_bytes());
        }
        bytes
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags], &stream.to_be_bytes()[..], payload].concat()
}

/// The identifier is larger than those of all streams that the client opens.
const NEVER_OPENED: u32 = 0x7fff_fff1;

pub fn breach(rng: &mut Rng) -> Breach {
    use Code::*;
    let (bytes, code) = match rng.between(0, 18) {
        0 => (frame(0, 0, 0, b"content"), ProtocolError),
        1 => (frame(1, 5, 0, b"\x82"), ProtocolError),
        2 => (frame(1, 5, 2, b"\x82"), ProtocolError),
        3 => (frame(6, 0, 0, b"seven77"), FrameSizeError),
        4 => (frame(4, 0, 0, b"\0\0\0\0\0"), FrameSizeError),
        5 => (frame(8, 0, 0, &[0; 4]), ProtocolError),
        6 => (frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), FlowControlError),
        7 => (frame(0, 0, 1, &[7; 16_385]), FrameSizeError),
        8 => (frame(0, 0, NEVER_OPENED, b"content"), ProtocolError),
        9 => (frame(3, 0, NEVER_OPENED, &[0, 0, 0, 8]), ProtocolError),
        10 => (frame(5, 4, 1, &[0, 0, 0, 2]), ProtocolError),
        11 => (frame(9, 4, 1, b"\x82"), ProtocolError),
        12 => (frame(4, 0, 0, &[0, 4, 0x80, 0, 0, 0]), FlowControlError),
        13 => (frame(4, 0, 0, &[0, 2, 0, 0, 0, 2]), ProtocolError),
        14 => (frame(1, 5, OPENED, b"\x80"), CompressionError),
        // A larger table than was allowed.
        15 => (frame(1, 5, OPENED, &[0x3f, 0xff, 0xff, 0x03]), CompressionError),
        16 => ([frame(1, 1, OPENED, b"\x82"), frame(6, 0, 0, &[0; 8])].concat(), ProtocolError),
        17 => ([frame(1, 1, OPENED, b"\x82"), frame(9, 0, OPENED, b"")].concat(), EnhanceYourCalm),
        // A stream that depends on itself.
        _ => (frame(2, 0, NEVER_OPENED, &[0x7f, 0xff, 0xff, 0xf1, 9]), ProtocolError),
    };
    Breach { bytes, code }
}

/// A block of fields that is no head of a request, and whether its stream ends with it.
pub fn malformed_head(rng: &mut Rng, id: u64) -> (Vec<u8>, bool) {
    let path = format!("/{id}/0/length");
    let mut fields = vec![(":method", "GET"), (":scheme", "http"), (":authority", "sim.test"), (":path", &path[..])];
    let ends = rng.chance(50);
    let extra = [
        ("X-Upper", "a"),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("keep-alive", "timeout=5"),
        ("te", "gzip"),
        ("x-line", "a\r\nX-Id: 7"),
        ("x-nul", "a\0b"),
        ("x name", "a"),
        ("x-colon:", "a"),
        ("", "a"),
        (":path", "/"),
        (":status", "200"),
        (":unknown", "a"),
        ("host", "other.test"),
        ("content-length", "-1"),
        ("content-length", "3, 4"),
    ];
    match rng.between(0, extra.len() as u64 + 7) as usize {
        at if at < extra.len() => fields.push(extra[at]),
        17 => fields[0].1 = "GET /x",
        18 => fields[1].1 = "ftp",
        19 => fields[2].1 = "user@sim.test",
        20 => fields[3].1 = "http://sim.test/",
        21 => fields.insert(0, ("x-first", "a")),
        22 => {
            fields.remove(3);
        }
        23 => fields.extend([("content-length", "3"), ("content-length", "3")]),
        _ => fields[3].1 = "/two words",
    }
    (block(&fields), ends)
}

/// A block of fields that are not stored.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
}
