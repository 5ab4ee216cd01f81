//! What the head of a gRPC call says to a proxy ("gRPC over HTTP/2", github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).

use std::time::Duration;

use crate::head::{Fields, Method, RequestHead};

/// What the type of a call's content begins with.
pub const CONTENT_TYPE: &[u8] = b"application/grpc";

pub fn is_call(head: &RequestHead<'_>) -> bool {
    let begins =
        |value: &[u8]| value.get(..CONTENT_TYPE.len()).is_some_and(|start| start.eq_ignore_ascii_case(CONTENT_TYPE));
    head.method == Method::Post && head.fields.find(b"content-type").is_some_and(begins)
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
            ("GET /a.B/C HTTP/1.1|Host: a|Content-Type: application/grpc", false),
            ("POST /a.B/C HTTP/1.1|Host: a|Content-Type: application/json", false),
            ("POST /a.B/C HTTP/1.1|Host: a", false),
        ] {
            assert_eq!(with_head(lines, is_call), is, "{lines}");
        }
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
