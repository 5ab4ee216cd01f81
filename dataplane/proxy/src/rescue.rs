//! The only map from what went wrong to what the client sees: a status with a page of ours while nothing of a response
//! has been sent, the end of the connection otherwise. Everything that fails comes through here.

use weir_policy::{ClientFacts, HttpProfile};
use weir_telemetry::Cause;
use weir_wire::http1::{self, HeadWriter, Overflow};

use crate::{
    buf::Buf,
    io::{Close, Gone, Io},
};

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
    /// Of the page, where a response is owed and has not begun.
    pub page: Option<u16>,
    /// How the connection ends where there is no page.
    pub close: Close,
    pub cause: Cause,
}

pub(crate) fn remedy(error: Error) -> Remedy {
    let (page, cause) = match error {
        Error::Request(wrong) => request_remedy(wrong),
        Error::AcceptTimeout => return without_page(Close::Flush, Cause::ClientAcceptTimeout),
        // The alert that says why is on its way.
        Error::ClientTls => return without_page(Close::Linger, Cause::ClientTls),
        Error::ClientStalled => return without_page(Close::Abort, Cause::ClientStalled),
        Error::ClientAborted => return without_page(Close::Abort, Cause::ClientAborted),
        Error::HeadTimeout => (408, Cause::ClientHeadTimeout),
        Error::BodyTimeout => (408, Cause::ClientBodyTimeout),
        Error::BodyTooLarge => (413, Cause::ClientBodyTooLarge),
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
    // A response that is cut must be seen to be cut, whatever its framing.
    Remedy { page: Some(page), close: Close::Abort, cause }
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

fn without_page(close: Close, cause: Cause) -> Remedy {
    Remedy { page: None, close, cause }
}

impl Error {
    /// Whose doing it was, for the server's record.
    pub(crate) fn blames_server(self) -> bool {
        use Error::*;
        match self {
            Connect(why) => why != Gone::Local,
            ConnectTimeout | ServerReset | ServerClosed | ResponseTimeout | Response(_) => true,
            _ => false,
        }
    }

    /// Whether the client's bytes can still be told apart after it.
    pub(crate) fn leaves_client_readable(self) -> bool {
        !matches!(self, Error::Request(_) | Error::HeadTimeout | Error::BodyTimeout | Error::BodyTooLarge)
    }
}

/// A whole response of our own.
pub(crate) struct Page {
    pub status: u16,
    /// The request was HEAD: everything but the body.
    pub head_only: bool,
    pub keep_alive: bool,
}

/// More than a page with every security line has.
const PAGE_BYTES_MAX: usize = 1024;

impl Page {
    pub fn write<I: Io>(&self, io: &mut I, profile: &HttpProfile, client: &ClientFacts) -> Result<Buf, Overflow> {
        let reason = reason(self.status);
        let code = [self.status / 100, self.status / 10 % 10, self.status % 10].map(|digit| b'0' + digit as u8);
        let body = [b"<!doctype html>\n<title>", &code[..], b" ", reason, b"</title>\n<h1>", reason, b"</h1>\n"];
        let mut out = io.buffer_for(PAGE_BYTES_MAX);
        let mut head = HeadWriter::new(out.room());
        head.status_line(self.status, reason)
            .field(b"Content-Type", b"text/html")
            .text(b"Content-Length: ")
            .number(body.iter().map(|part| part.len() as u64).sum())
            .text(b"\r\n")
            .field(b"Cache-Control", b"no-store")
            .text(profile.security_lines(client))
            .field(b"Connection", if self.keep_alive { b"keep-alive" } else { b"close" });
        let head_bytes = head.end()?;
        out.filled(head_bytes);
        if !self.head_only {
            for part in body {
                out.append(part);
            }
        }
        Ok(out)
    }
}

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
