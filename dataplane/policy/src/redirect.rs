//! The answer to a plain request where the profile wants TLS.

use weir_wire::http1::{HeadWriter, Method, Overflow, RequestHead};

use crate::{ClientFacts, HttpProfile, location::without_port, response::connection_line, text::Text};

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
    /// 301 if every client repeats the request unchanged. 308 forbids clients to turn it into a GET (RFC 9110 §15.4.9).
    pub fn status(&self) -> u16 {
        if matches!(self.head.method, Method::Get | Method::Head) { 301 } else { 308 }
    }

    /// Writes the whole response, which has no body, and returns its length. `date` is the line of
    /// [`Date`](crate::Date).
    pub fn write(&self, keep_alive: bool, date: &[u8], out: &mut [u8]) -> Result<usize, Overflow> {
        let reason: &[u8] = if self.status() == 301 { b"Moved Permanently" } else { b"Permanent Redirect" };
        let mut out = HeadWriter::new(out);
        out.status_line(self.status(), reason);
        out.text(b"Location: https://").text(self.host()).text(self.port_suffix.bytes());
        match self.head.path {
            b"*" => out.text(b"/"),
            [b'?', ..] => out.text(b"/").text(self.head.path),
            path => out.text(path),
        };
        out.text(b"\r\nContent-Length: 0\r\n").text(date).text(connection_line(keep_alive, self.head.version));
        out.end()
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
