//! The answer to a plain request where the profile wants TLS.

use weir_wire::head::{HeadSink, Method, RequestHead, without_port};

use crate::{ClientFacts, HttpProfile, text::Text};

/// A redirect to the same place over TLS.
#[derive(Clone, Debug)]
pub struct Redirect<'b> {
    head: RequestHead<'b>,
    /// For a client that did not say which host it means.
    listener_host: Text<48>,
    port_suffix: Text<6>,
}

impl HttpProfile {
    /// The local answer to `head` when the client should have come over TLS.
    pub fn redirect_to_https<'b>(&self, head: &RequestHead<'b>, client: &ClientFacts) -> Option<Redirect<'b>> {
        if !self.http_to_https || client.tls {
            return None;
        }
        let listener_host = client.listener_host();
        Some(Redirect { head: *head, listener_host, port_suffix: self.https_port_suffix })
    }
}

impl Redirect<'_> {
    /// 301 where every client repeats the request as it was; 308 forbids to turn it into a GET (RFC 9110 §15.4.9).
    pub fn status(&self) -> u16 {
        if matches!(self.head.method, Method::Get | Method::Head) { 301 } else { 308 }
    }

    /// Writes the whole response, which has no body. `date`: the line of [`Date`](crate::Date).
    pub fn write(&self, date: &[u8], out: &mut impl HeadSink) {
        out.status(self.status(), if self.status() == 301 { b"Moved Permanently" } else { b"Permanent Redirect" });
        out.field(b"Location", self.location());
        out.number(b"Content-Length", 0);
        out.line(date);
    }

    /// The parts of the URL that it leads to.
    pub fn location(&self) -> [&[u8]; 5] {
        let (slash, rest): (&[u8], &[u8]) = match self.head.path {
            b"*" => (b"/", b""),
            [b'?', ..] => (b"/", self.head.path),
            path => (b"", path),
        };
        [b"https://", self.host(), self.port_suffix.bytes(), slash, rest]
    }

    /// Room that is enough for [`write`](Self::write).
    pub fn bytes_max(&self) -> usize {
        self.host().len() + self.head.path.len() + 256
    }

    fn host(&self) -> &[u8] {
        match without_port(self.head.host.unwrap_or_default()) {
            [] => self.listener_host.bytes(),
            host => host,
        }
    }
}
