//! What a client of WebSocket sends (RFC 6455), and has to get back. It is made once for all connections.

/// The key of every upgrade, and what a server makes of it (RFC 6455 §1.3).
pub const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
pub const ACCEPT: &[u8] = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A whole binary message, and an orderly end, in one frame each (§5.2).
pub const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const MASKED: u8 = 0x80;
/// A client's bytes are masked for old proxies that take them for HTTP. No proxy of ours does.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
/// The end of a connection: the code 1000, masked.
pub const GOODBYE: [u8; 8] = [CLOSE, MASKED | 2, MASK[0], MASK[1], MASK[2], MASK[3], 0x03 ^ MASK[0], 0xe8 ^ MASK[1]];

/// What a connection sends and has to get back.
pub struct Echo {
    pub upgrade: Vec<u8>,
    pub frame: Vec<u8>,
    pub answer: Vec<u8>,
}

impl Echo {
    pub fn new(upgrade: Vec<u8>, message: &[u8]) -> Self {
        let mut frame = header(message.len(), MASKED);
        frame.extend_from_slice(&MASK);
        frame.extend(message.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        let mut answer = header(message.len(), 0);
        answer.extend_from_slice(message);
        Self { upgrade, frame, answer }
    }
}

fn header(bytes: usize, masked: u8) -> Vec<u8> {
    match bytes {
        0..126 => vec![BINARY, masked | bytes as u8],
        126..0x1_0000 => [&[BINARY, masked | 126][..], &(bytes as u16).to_be_bytes()].concat(),
        _ => [&[BINARY, masked | 127][..], &(bytes as u64).to_be_bytes()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_of_a_message_takes_as_many_bytes_as_it_needs() {
        for (bytes, header_bytes) in [(125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            assert_eq!(header(bytes, MASKED).len(), header_bytes);
        }
    }
}
