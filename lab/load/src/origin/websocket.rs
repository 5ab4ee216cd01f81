//! WebSocket (RFC 6455): each frame of a message goes back as it is.

use aws_lc_rs::digest;

use super::site::Goes;

/// RFC 6455 §1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const OPCODE: u8 = 0x0f;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;
const MASKED: u8 = 0x80;

/// The answer to an upgrade.
pub fn accepted(key: &[u8], name: &str) -> Vec<u8> {
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &[key, GUID].concat());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\nX-Origin: {name}\r\n\r\n",
        base64(hash.as_ref())
    )
    .into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[number >> (18 - 6 * at) & 0x3f];
            text.push(if at <= chunk.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[derive(Default)]
pub struct WebSocket {
    /// The beginning of a frame that is not whole yet.
    begun: Vec<u8>,
}

impl WebSocket {
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Goes {
        let mut joined = std::mem::take(&mut self.begun);
        let mut rest = match joined.is_empty() {
            true => bytes,
            false => {
                joined.extend_from_slice(bytes);
                &joined
            }
        };
        while let Some(frame) = Frame::of(rest) {
            rest = &rest[frame.bytes..];
            match frame.first & OPCODE {
                // A client that does not mask its frames breaks the protocol (§5.1).
                _ if !frame.is_masked => return Goes::Over,
                PONG => {}
                PING => frame.echo(frame.first & !OPCODE | PONG, out),
                CLOSE => {
                    frame.echo(frame.first, out);
                    return Goes::Over;
                }
                _ => frame.echo(frame.first, out),
            }
        }
        self.begun = rest.to_vec();
        Goes::On
    }
}

/// A whole frame.
struct Frame<'b> {
    first: u8,
    is_masked: bool,
    mask: [u8; 4],
    payload: &'b [u8],
    bytes: usize,
}

impl<'b> Frame<'b> {
    fn of(bytes: &'b [u8]) -> Option<Self> {
        let [first, second, rest @ ..] = bytes else { return None };
        let (payload_bytes, rest) = match second & !MASKED {
            126 => rest.split_first_chunk().map(|(bytes, rest)| (u16::from_be_bytes(*bytes).into(), rest))?,
            127 => rest.split_first_chunk().map(|(bytes, rest)| (u64::from_be_bytes(*bytes) as usize, rest))?,
            short => (usize::from(short), rest),
        };
        let is_masked = second & MASKED != 0;
        let (mask, rest) = if is_masked { rest.split_first_chunk()? } else { (&[0; 4], rest) };
        let payload = rest.get(..payload_bytes)?;
        let header_bytes = bytes.len() - rest.len();
        Some(Self { first: *first, is_masked, mask: *mask, payload, bytes: header_bytes + payload_bytes })
    }

    /// Appends the same payload in a frame of this end, which is not masked.
    fn echo(&self, first: u8, out: &mut Vec<u8>) {
        out.push(first);
        match self.payload.len() {
            short @ 0..126 => out.push(short as u8),
            middle @ 126..0x1_0000 => {
                out.push(126);
                out.extend_from_slice(&(middle as u16).to_be_bytes());
            }
            long => {
                out.push(127);
                out.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        out.extend(self.payload.iter().zip(self.mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_the_key_of_the_standard() {
        let answer = String::from_utf8(accepted(b"dGhlIHNhbXBsZSBub25jZQ==", "a")).unwrap();
        assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{answer}");
        assert_eq!([&b""[..], b"f", b"fo", b"foo"].map(base64), ["", "Zg==", "Zm8=", "Zm9v"]);
    }

    #[test]
    fn sends_frames_back_however_they_are_cut() {
        // RFC 6455 §5.7: "Hello" masked, and in two frames; then a ping.
        let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        let ping = [0x89, 0x80, 1, 2, 3, 4];
        let long = [&[0x02, 0xfe, 0, 200, 0, 0, 0, 0][..], &[b'y'; 200]].concat();
        let frames = [&hello[..], &ping, &long].concat();
        let answer = [&[0x81, 5][..], b"Hello", &[0x8a, 0], &[0x02, 126, 0, 200], &[b'y'; 200]].concat();
        for cut in 0..frames.len() {
            let (mut socket, mut out) = (WebSocket::default(), Vec::new());
            let (one, other) = frames.split_at(cut);
            assert_eq!((socket.feed(one, &mut out), socket.feed(other, &mut out)), (Goes::On, Goes::On));
            assert_eq!(out, answer, "cut at {cut}");
        }
    }

    #[test]
    fn ends_with_its_client_and_without_a_mask() {
        let (mut socket, mut out) = (WebSocket::default(), Vec::new());
        assert_eq!(socket.feed(&[0x88, 0x82, 0, 0, 0, 0, 3, 0xe8], &mut out), Goes::Over);
        assert_eq!(out, [0x88, 2, 3, 0xe8]);
        assert_eq!(WebSocket::default().feed(&[0x81, 1, b'a'], &mut out), Goes::Over);
    }
}
