//! What a gRPC call says to a proxy, in its head and by the framing of its messages ("gRPC over HTTP/2",
//! github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).

use std::time::Duration;

use crate::head::{Fields, Method, RequestHead};

/// The type of a call's content, before any format (`+proto`) and parameter.
pub const CONTENT_TYPE: &[u8] = b"application/grpc";
/// What stands before each message: a byte that says whether it is compressed, and four with its length.
const PREFIX_BYTES: u8 = 5;

/// Whether a request is a call. One of gRPC-Web is not: it needs neither HTTP/2 nor trailers.
pub fn is_call(head: &RequestHead<'_>) -> bool {
    head.method == Method::Post && head.fields.find(b"content-type").is_some_and(is_type)
}

/// Whether a response is the answer to a call. A server that does not speak gRPC gives others.
pub fn is_answer(fields: &Fields<'_>) -> bool {
    fields.find(b"content-type").is_some_and(is_type)
}

/// The status at the end of a call: in its trailers, or in a head that says all.
pub fn status(fields: &Fields<'_>) -> Option<u32> {
    str::from_utf8(fields.find(b"grpc-status")?).ok()?.parse().ok()
}

/// Whether the status says that the server has failed, and not that the call was wrong or came too late.
pub fn is_error_of_server(status: u32) -> bool {
    const UNKNOWN: u32 = 2;
    const INTERNAL: u32 = 13;
    const UNAVAILABLE: u32 = 14;
    const DATA_LOSS: u32 = 15;
    matches!(status, UNKNOWN | INTERNAL | UNAVAILABLE | DATA_LOSS)
}

fn is_type(value: &[u8]) -> bool {
    let Some((start, rest)) = value.split_at_checked(CONTENT_TYPE.len()) else { return false };
    start.eq_ignore_ascii_case(CONTENT_TYPE) && matches!(rest.first(), None | Some(b'+' | b';' | b' ' | b'\t'))
}

/// Follows the messages of one direction of a call, wherever the bytes were split.
#[derive(Clone, Copy, Default, Debug)]
pub struct Messages {
    /// How much of a prefix has come.
    prefix_bytes: u8,
    /// The length of the message, as far as its prefix has come; then how much of the message is missing.
    left: u32,
    /// What has come is not gRPC.
    is_other: bool,
}

impl Messages {
    pub fn take(&mut self, mut bytes: &[u8]) {
        while let Some((&first, rest)) = bytes.split_first() {
            match self.prefix_bytes {
                PREFIX_BYTES => {
                    let part = bytes.len().min(self.left as usize);
                    self.left -= part as u32;
                    bytes = &bytes[part..];
                }
                0 => {
                    self.is_other |= first > 1;
                    (self.prefix_bytes, bytes) = (1, rest);
                }
                _ => {
                    self.left = self.left << 8 | u32::from(first);
                    (self.prefix_bytes, bytes) = (self.prefix_bytes + 1, rest);
                }
            }
            if self.prefix_bytes == PREFIX_BYTES && self.left == 0 {
                self.prefix_bytes = 0;
            }
        }
    }

    /// Whether every message that has begun is whole.
    pub fn are_whole(&self) -> bool {
        self.prefix_bytes == 0 && !self.is_other
    }
}

/// How long the client waits from the start of the call on; `None`: for ever, or it does not say so in a valid way.
pub fn timeout(fields: &Fields<'_>) -> Option<Duration> {
    let (unit, digits) = fields.find(b"grpc-timeout")?.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits.iter().fold(0, |count, digit| count * 10 + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(count * 3600),
        b'M' => Duration::from_secs(count * 60),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        head::{FieldTable, Limits},
        http1::{Parsed, request},
    };

    fn with_head<T>(lines: &str, look: impl Fn(&RequestHead<'_>) -> T) -> T {
        let input = format!("{}\r\n\r\n", lines.replace('|', "\r\n"));
        match request(input.as_bytes(), &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(request)) => look(&request.head),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn call_is_a_post_of_its_type() {
        for (lines, is) in [
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: application/grpc", true),
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: Application/gRPC+proto", true),
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: application/grpc;x=y", true),
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: application/grpc-web", false),
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: application/grpc-web-text+proto", false),
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: application/grp", false),
            ("GET /a.B/C HTTP/1.1|Host: a|Content-Type: application/grpc", false),
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: application/json", false),
            ("POST /a.B/C HTTP/1.1|Host: a", false),
        ] {
            assert_eq!(with_head(lines, is_call), is, "{lines}");
        }
    }

    #[test]
    fn messages_are_whole_behind_their_last_byte_however_they_are_split() {
        let text = b"\0\0\0\0\x03abc\x01\0\0\0\0\0\0\0\x01\x02two-hundred-and-fifty-eight";
        let ends = [0, 8, 13];
        for size in 1..=text.len() {
            let (mut messages, mut at) = (Messages::default(), 0);
            for part in text.chunks(size) {
                messages.take(part);
                at += part.len();
                assert_eq!(messages.are_whole(), ends.contains(&at), "{at} in parts of {size}");
            }
        }
        let mut page = Messages::default();
        page.take(b"<\0\0\0\0");
        assert!(!page.are_whole(), "no message begins like this");
    }

    #[test]
    fn timeout_has_up_to_eight_digits_and_a_unit() {
        for (value, span) in [
            ("1H", Some(Duration::from_secs(3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("99999999S", Some(Duration::from_secs(99_999_999))),
            ("100m", Some(Duration::from_millis(100))),
            ("5u", Some(Duration::from_micros(5))),
            ("0n", Some(Duration::ZERO)),
            ("999999999S", None),
            ("S", None),
            ("-1S", None),
            ("1s", None),
            ("1", None),
            ("", None),
        ] {
            let lines = format!("POST / HTTP/1.1|Host: a|grpc-timeout: {value}");
            assert_eq!(with_head(&lines, |head| timeout(&head.fields)), span, "{value}");
        }
    }
}
