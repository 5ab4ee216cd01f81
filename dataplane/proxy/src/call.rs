//! Calls of gRPC, which are requests on streams of HTTP/2. Where another client gets a page from Weir, the client of a call
//! gets a status of gRPC: a head that says all, and ends the stream ("Trailers-Only"). If the response has begun, the status
//! comes in trailers, unless a message is incomplete: then a status would hide that.

use weir_policy::{ClientFacts, HttpProfile};
use weir_wire::{
    grpc::{self, Messages},
    head::{HeadSink, RequestHead},
    http2::Code,
};

use crate::{
    buf::Buf,
    error::Error,
    head,
    io::{Io, Time},
};

/// More than an answer with all security fields needs.
const ANSWER_BYTES_MAX: usize = 512;

/// What Weir itself knows of a call.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// From then on the client waits no more.
    pub ends_at: Option<Time>,
    /// The messages that the client gets.
    pub answer: Messages,
}

impl Call {
    /// `None`: the request is no call.
    pub fn of(head: &RequestHead<'_>, now: Time) -> Option<Self> {
        let ends_at = || grpc::timeout(&head.fields).map(|span| now + span);
        grpc::is_call(head).then(|| Self { ends_at: ends_at(), answer: Messages::default() })
    }
}

/// The status of HTTP of each answer.
pub(crate) const STATUS: u16 = 200;

/// Writes the answer to a call. `message`: why, in visible ASCII without `%`, which needs no encoding. `date`: the field line of [`Date`](weir_policy::Date).
pub(crate) fn answer<I: Io>(
    io: &mut I,
    code: u32,
    message: &str,
    profile: &HttpProfile,
    client: &ClientFacts,
    date: &[u8],
) -> Result<Buf, Error> {
    head::write_block(io, ANSWER_BYTES_MAX, |head| {
        head.status(STATUS, b"OK");
        head.field(b"content-type", [grpc::CONTENT_TYPE]);
        head.number(b"grpc-status", code.into());
        head.field(b"grpc-message", [message.as_bytes()]);
        head.line(date);
        head.line(profile.security_lines(client));
    })
}

/// The trailers that end a call whose response has begun, as lines of text. `message`: as for [`answer`].
pub(crate) fn trailers(code: u32, message: &str) -> String {
    format!("grpc-status: {code}\r\ngrpc-message: {message}\r\n")
}

/// Of a call beyond a limit of a rate.
pub(crate) const RESOURCE_EXHAUSTED: u32 = 8;

/// The status of gRPC for what another client would get as a status of HTTP
/// (github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md).
pub(crate) fn code(status: u16) -> u32 {
    match status {
        400 => 13,                   // INTERNAL
        401 => 16,                   // UNAUTHENTICATED
        403 => 7,                    // PERMISSION_DENIED
        404 => 12,                   // UNIMPLEMENTED
        429 | 502 | 503 | 504 => 14, // UNAVAILABLE
        _ => 2,                      // UNKNOWN
    }
}

/// The same of a failure, which can say more.
pub(crate) fn code_of(error: Error, status: u16) -> u32 {
    match error {
        Error::ResponseTimeout | Error::DeadlineExceeded => 4, // DEADLINE_EXCEEDED
        Error::NoHttp2 => 12,                                  // UNIMPLEMENTED
        Error::ClientCertificate { .. } => 16,                 // UNAUTHENTICATED
        Error::StreamReset(code) => code_of_reset(code),
        _ => code(status),
    }
}

/// The same of a server's RST_STREAM ("Errors" in PROTOCOL-HTTP2.md).
fn code_of_reset(code: Code) -> u32 {
    match code {
        Code::Cancel => 1,             // CANCELLED
        Code::InadequateSecurity => 7, // PERMISSION_DENIED
        Code::EnhanceYourCalm => RESOURCE_EXHAUSTED,
        Code::Http11Required => 12, // UNIMPLEMENTED, as where the server chooses HTTP/1.1 by ALPN
        Code::RefusedStream => 14,  // UNAVAILABLE
        _ => 13,                    // INTERNAL
    }
}

/// The code that ends the stream of a call within a message, where trailers are not possible, so that its client finds
/// the same status. `None`: the usual one. That a stream was refused is not passed on, because part of it was answered.
pub(crate) fn reset_by(error: Error) -> Option<Code> {
    match error {
        Error::StreamReset(code @ (Code::Cancel | Code::EnhanceYourCalm | Code::InadequateSecurity)) => Some(code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_need_no_encoding() {
        use weir_telemetry::Cause;
        for cause in Cause::ALL {
            assert!(cause.name().bytes().all(|byte| byte.is_ascii_graphic() && byte != b'%'), "{}", cause.name());
        }
    }

    #[test]
    fn failures_have_the_codes_of_the_standard() {
        for (error, status, expected) in [
            (Error::Request(weir_wire::Error::TwoFramings), 400, 13),
            (Error::NoServer, 503, 14),
            (Error::ServerReset, 502, 14),
            (Error::ConnectTimeout, 504, 14),
            (Error::ResponseTimeout, 504, 4),
            (Error::DeadlineExceeded, 504, 4),
            (Error::NoHttp2, 501, 12),
            (Error::BodyTooLarge, 413, 2),
        ] {
            assert_eq!(code_of(error, status), expected, "{error:?}");
        }
        assert_eq!([401, 403, 404, 429, 308].map(code), [16, 7, 12, 14, 2]);
    }

    #[test]
    fn resets_have_the_codes_of_the_standard() {
        let codes = (0..15).map(|number| code_of(Error::StreamReset(Code::of(number)), 502));
        assert_eq!(codes.collect::<Vec<_>>(), [13, 13, 13, 13, 13, 13, 13, 14, 1, 13, 13, 8, 7, 12, 13]);
    }
}
