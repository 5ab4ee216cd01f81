//! Weir's own error pages, for clients that cannot get a server's response.

use weir_policy::{ClientFacts, HttpProfile};
use weir_telemetry::Cause;
use weir_wire::head::HeadSink;

use crate::{
    call,
    client::{answer::Answer, token},
    error::Error,
    head::{self, Target},
    io::Io,
};

/// A complete response of Weir itself.
pub(crate) struct Page {
    pub status: u16,
    /// The client of a call gets the status of gRPC for it.
    pub error: Error,
    pub cause: Cause,
    /// The request was HEAD: the page is sent without its body.
    pub head_only: bool,
    pub keep_alive: bool,
}

/// More than a page with all security fields needs.
const PAGE_BYTES_MAX: usize = 1024;

impl Page {
    /// Writes the head, and the content behind it or apart. `date`: the field line of [`Date`](weir_policy::Date).
    pub fn write<I: Io>(
        &self,
        io: &mut I,
        target: Target,
        profile: &HttpProfile,
        client: &ClientFacts,
        date: &[u8],
    ) -> Result<Answer, Error> {
        let cause = Some(self.cause);
        if let Target::Call = target {
            let code = call::code_of(self.error, self.status);
            let head = call::answer(io, code, self.cause.name(), profile, client, date)?;
            let grpc_status = Some(code);
            return Ok(Answer { status: call::STATUS, cause, head, content: None, grpc_status, keep_alive: false });
        }
        let reason = reason(self.status);
        let code = [self.status / 100, self.status / 10 % 10, self.status % 10].map(|digit| b'0' + digit as u8);
        let body = [b"<!doctype html>\n<title>", &code[..], b" ", reason, b"</title>\n<h1>", reason, b"</h1>\n"];
        let mut head = head::write_own(io, PAGE_BYTES_MAX, target, |head| {
            head.status(self.status, reason);
            head.line(b"Content-Type: text/html\r\n");
            head.number(b"Content-Length", body.iter().map(|part| part.len() as u64).sum());
            head.line(b"Cache-Control: no-store\r\n");
            if let Some(challenge) = token::challenge(self.error) {
                head.field(b"WWW-Authenticate", [challenge.as_bytes()]);
            }
            head.line(date);
            head.line(profile.security_lines(client));
        })?;
        let is_apart = matches!(target, Target::Block) && !self.head_only;
        let mut content = is_apart.then(|| io.buffer_for(PAGE_BYTES_MAX));
        if !self.head_only {
            for part in body {
                content.as_mut().unwrap_or(&mut head).append(part);
            }
        }
        Ok(Answer { status: self.status, cause, head, content, grpc_status: None, keep_alive: self.keep_alive })
    }
}

pub(crate) fn reason(status: u16) -> &'static [u8] {
    match status {
        200 => b"OK",
        204 => b"No Content",
        301 => b"Moved Permanently",
        302 => b"Found",
        303 => b"See Other",
        307 => b"Temporary Redirect",
        308 => b"Permanent Redirect",
        400 => b"Bad Request",
        401 => b"Unauthorized",
        403 => b"Forbidden",
        404 => b"Not Found",
        408 => b"Request Timeout",
        413 => b"Content Too Large",
        414 => b"URI Too Long",
        421 => b"Misdirected Request",
        429 => b"Too Many Requests",
        431 => b"Request Header Fields Too Large",
        500 => b"Internal Server Error",
        501 => b"Not Implemented",
        502 => b"Bad Gateway",
        503 => b"Service Unavailable",
        504 => b"Gateway Timeout",
        505 => b"HTTP Version Not Supported",
        _ => b"",
    }
}
