//! WebSocket on one connection of the load (RFC 6455): an upgrade, then messages that the server echoes.

use crate::{
    answer::{Answered, Came, HEAD_BYTES_MAX, Outcome},
    echo::{ACCEPT, Echo, GOODBYE},
    tally::Cause,
};

#[derive(Default)]
pub struct WebSocket {
    stage: Stage,
    /// Of the answer, how much has come.
    heard_bytes: usize,
    /// The beginning of the answer to the upgrade.
    head: Vec<u8>,
    is_asked: bool,
    fault: Option<Cause>,
}

#[derive(Default, PartialEq, Eq)]
enum Stage {
    #[default]
    New,
    Upgrading,
    Open,
}

impl WebSocket {
    /// Sends a message, once the connection is upgraded.
    pub fn ask(&mut self, echo: &Echo, out: &mut Vec<u8>) {
        self.is_asked = true;
        match self.stage {
            Stage::New => {
                self.stage = Stage::Upgrading;
                out.extend_from_slice(&echo.upgrade);
            }
            Stage::Upgrading => {}
            Stage::Open => out.extend_from_slice(&echo.frame),
        }
    }

    /// Takes what has come. An answer in several frames, or with something before or behind it, is a mistake: a server
    /// that echoes each frame as it is has no reason for it.
    pub fn feed(&mut self, bytes: &[u8], echo: &Echo, out: &mut Vec<u8>) {
        if self.stage == Stage::Open {
            return self.compare(bytes, echo);
        }
        self.head.extend_from_slice(bytes);
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut fields);
        let head_bytes = match response.parse(&self.head) {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) if self.head.len() < HEAD_BYTES_MAX => return,
            _ => return self.fault = Some(Cause::BadResponse),
        };
        let accepts = response
            .headers
            .iter()
            .any(|field| field.name.eq_ignore_ascii_case("sec-websocket-accept") && field.value == ACCEPT);
        match response.code {
            // The server speaks when it is spoken to.
            Some(101) if accepts && head_bytes == self.head.len() => {
                (self.stage, self.head) = (Stage::Open, Vec::new());
                if self.is_asked {
                    out.extend_from_slice(&echo.frame);
                }
            }
            Some(400..) => self.fault = Some(Cause::Status),
            _ => self.fault = Some(Cause::BadResponse),
        }
    }

    fn compare(&mut self, bytes: &[u8], echo: &Echo) {
        let rest = &echo.answer[self.heard_bytes..];
        if self.is_asked && rest.starts_with(bytes) {
            self.heard_bytes += bytes.len();
        } else {
            self.fault = Some(Cause::BadResponse);
        }
    }

    /// What came of the message, once that is known.
    pub fn outcome(&mut self, echo: &Echo) -> Option<Outcome> {
        let came = match self.fault.take() {
            Some(cause) => Came::Failed(cause),
            None if self.heard_bytes == echo.answer.len() => Came::Answered(Answered { status: 200, keep_alive: true }),
            None => return None,
        };
        (self.heard_bytes, self.is_asked) = (0, false);
        Some(Outcome { lane: 0, came })
    }

    pub fn say_goodbye(&self, out: &mut Vec<u8>) {
        if self.stage == Stage::Open {
            out.extend_from_slice(&GOODBYE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::BINARY;

    const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                            Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

    /// What came of one message, for the pieces that the server sends.
    fn came(pieces: &[&[u8]]) -> (Option<Came>, Vec<u8>) {
        let echo = Echo::new(b"upgrade".to_vec(), b"hello");
        let (mut socket, mut out) = (WebSocket::default(), Vec::new());
        socket.ask(&echo, &mut out);
        pieces.iter().for_each(|piece| socket.feed(piece, &echo, &mut out));
        (socket.outcome(&echo).map(|outcome| outcome.came), out)
    }

    #[test]
    fn sends_masked_message_and_takes_its_echo_however_it_is_cut() {
        let answer = [&[BINARY, 5][..], b"hello"].concat();
        for cut in 0..answer.len() {
            let (one, other) = answer.split_at(cut);
            let (came, out) = came(&[SWITCHED.as_bytes(), one, other]);
            assert_eq!(came, Some(Came::Answered(Answered { status: 200, keep_alive: true })));
            // RFC 6455 §5.7 has this frame, with a capital.
            let frame = [BINARY, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x5f, 0x9f, 0x4d, 0x51, 0x58];
            assert_eq!(out, [&b"upgrade"[..], &frame].concat());
        }
        assert_eq!(came(&[SWITCHED.as_bytes(), &answer[..6]]).0, None);
    }

    #[test]
    fn tells_mistakes_of_the_server() {
        let other = SWITCHED.replace("s3p", "S3p");
        for (pieces, cause) in [
            (&[&b"HTTP/1.1 403 No\r\n\r\n"[..]][..], Cause::Status),
            (&[b"HTTP/1.1 200 OK\r\n\r\n"], Cause::BadResponse),
            (&[b"SSH-2.0-x\r\n"], Cause::BadResponse),
            (&[other.as_bytes()], Cause::BadResponse),
            (&[SWITCHED.as_bytes(), &[BINARY, 5], b"hullo"], Cause::BadResponse),
            (&[SWITCHED.as_bytes(), &[BINARY, 5], b"hello!"], Cause::BadResponse),
            (&[SWITCHED.as_bytes(), &[BINARY, 4], b"hell"], Cause::BadResponse),
        ] {
            assert_eq!(came(pieces).0, Some(Came::Failed(cause)));
        }
    }
}
