//! The only map from what went wrong to what the client sees: a status with a page of ours while nothing of a response
//! has been sent, the end of the connection otherwise. Everything that fails comes through here.

use weir_policy::{ClientFacts, HttpProfile};
use weir_telemetry::Cause;
use weir_wire::http1::{self, HeadWriter, Overflow};

use crate::{buf::Buf, io::Gone};

/// Everything that can end an exchange or a client's connection before its time, by who did it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The client's request, or its body, is not HTTP as we read it.
    Request(http1::Error),
    AcceptTimeout,
    HeadTimeout,
    BodyTimeout,
    BodyTooLarge,
    ClientTls,
    /// The client takes nothing of what waits for it.
    ClientStalled,
    ClientAborted,
    /// A connect failed, or the server's connection ended before the response did.
    Connect(Gone),
    ConnectTimeout,
    ServerReset,
    ServerClosed,
    ResponseTimeout,
    Response(http1::Error),
    NoPool,
    NoServer,
    /// A head that we wrote did not fit the room policy asked for: a defect of ours.
    HeadOverflow,
}

/// What follows for the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Remedy {
    /// Of the page; `None`: nobody is there to read one, or no request has begun.
    pub status: Option<u16>,
    pub cause: Cause,
}

pub(crate) fn remedy(error: Error) -> Remedy {
    let (status, cause) = match error {
        Error::Request(wrong) => request_remedy(wrong),
        Error::AcceptTimeout => (0, Cause::ClientAcceptTimeout),
        Error::HeadTimeout => (408, Cause::ClientHeadTimeout),
        Error::BodyTimeout => (408, Cause::ClientBodyTimeout),
        Error::BodyTooLarge => (413, Cause::ClientBodyTooLarge),
        Error::ClientTls => (0, Cause::ClientTls),
        Error::ClientStalled => (0, Cause::ClientStalled),
        Error::ClientAborted => (0, Cause::ClientAborted),
        Error::Connect(Gone::Refused) => (502, Cause::ServerRefused),
        Error::Connect(Gone::Unreachable) => (502, Cause::ServerUnreachable),
        Error::Connect(Gone::Reset) | Error::ServerReset => (502, Cause::ServerReset),
        Error::Connect(Gone::Local) => (503, Cause::LocalResources),
        Error::ConnectTimeout => (504, Cause::ServerConnectTimeout),
        Error::ServerClosed => (502, Cause::ServerClosed),
        Error::ResponseTimeout => (504, Cause::ServerResponseTimeout),
        Error::Response(http1::Error::HeadTooLarge | http1::Error::FieldTooLarge | http1::Error::TooManyFields) => {
            (502, Cause::ServerHeadTooLarge)
        }
        Error::Response(_) => (502, Cause::ServerBadResponse),
        Error::NoPool => (503, Cause::NoPool),
        Error::NoServer => (503, Cause::NoServer),
        Error::HeadOverflow => (502, Cause::Internal),
    };
    Remedy { status: (status != 0).then_some(status), cause }
}

fn request_remedy(wrong: http1::Error) -> (u16, Cause) {
    use http1::Error::*;
    match wrong {
        TargetTooLong => (414, Cause::ClientUriTooLong),
        FieldTooLarge | TooManyFields | HeadTooLarge => (431, Cause::ClientHeadTooLarge),
        UnknownCoding | Connect => (501, Cause::ClientUnsupported),
        Version => (505, Cause::ClientUnsupported),
        _ => (400, Cause::ClientBadRequest),
    }
}

/// Whose doing it was that an exchange failed, for the server's record.
pub(crate) fn blames_server(error: Error) -> bool {
    use Error::*;
    match error {
        Connect(why) => why != Gone::Local,
        ConnectTimeout | ServerReset | ServerClosed | ResponseTimeout | Response(_) => true,
        _ => false,
    }
}

/// A whole response of our own.
pub(crate) struct Page {
    pub status: u16,
    /// The request was HEAD: everything but the body.
    pub head_only: bool,
    pub keep_alive: bool,
}

impl Page {
    /// Writes the page behind what `out` holds.
    pub fn write(&self, profile: &HttpProfile, client: &ClientFacts, out: &mut Buf) -> Result<(), Overflow> {
        let reason = reason(self.status);
        let body_bytes = PAGE.iter().map(|part| part.len()).sum::<usize>() + 2 * (4 + reason.len());
        let mut head = HeadWriter::new(out.room());
        head.status_line(self.status, reason)
            .field(b"Content-Type", b"text/html")
            .text(b"Content-Length: ")
            .number(body_bytes as u64)
            .text(b"\r\n")
            .field(b"Cache-Control", b"no-store")
            .text(profile.security_lines(client))
            .field(b"Connection", if self.keep_alive { b"keep-alive" } else { b"close" });
        let head_bytes = head.end()?;
        out.filled(head_bytes);
        if self.head_only { Ok(()) } else { self.write_body(reason, out) }
    }

    fn write_body(&self, reason: &[u8], out: &mut Buf) -> Result<(), Overflow> {
        let mut body = HeadWriter::new(out.room());
        for part in &PAGE[..PAGE.len() - 1] {
            body.text(part).number(self.status.into()).text(b" ").text(reason);
        }
        // The last part ends in the CRLF that `end` writes.
        body.text(PAGE[PAGE.len() - 1].trim_ascii_end());
        let body_bytes = body.end()?;
        out.filled(body_bytes);
        Ok(())
    }
}

/// The title stands between these.
const PAGE: [&[u8]; 3] =
    [b"<!doctype html>\n<title>", b"</title>\n<h1>", b"</h1>\n<p>This is Weir; no server has answered.</p>\r\n"];

fn reason(status: u16) -> &'static [u8] {
    match status {
        400 => b"Bad Request",
        408 => b"Request Timeout",
        413 => b"Content Too Large",
        414 => b"URI Too Long",
        431 => b"Request Header Fields Too Large",
        501 => b"Not Implemented",
        502 => b"Bad Gateway",
        503 => b"Service Unavailable",
        504 => b"Gateway Timeout",
        505 => b"HTTP Version Not Supported",
        _ => b"Internal Server Error",
    }
}
