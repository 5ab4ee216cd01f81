//! The head a client gets for the head a server sent.

use weir_wire::http1::{Framing, HeadWriter, Name, NameSet, Overflow, ResponseHead, Version};

use crate::{
    ClientFacts, HttpProfile,
    cookie::CookieFlags,
    hop::{HOP_BY_HOP, is_named_away},
    location,
};

/// Status line, Strict-Transport-Security, Transfer-Encoding and Connection at their longest.
const ADDED_BYTES_MAX: usize = 192;

/// What a Set-Cookie or a Location gains at most.
const ADDED_TO_FIELD_BYTES_MAX: usize = 20;

/// What the response depends on besides the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply<'a> {
    /// The client's version.
    pub version: Version,
    /// Both sides would go on: the client asked to, and the proxy has no reason against it.
    pub keep_alive: bool,
    /// An additional line for a final response, of [`Persistence`](crate::Persistence); or empty.
    pub cookie: &'a [u8],
    /// The line of [`Date`](crate::Date) that a final response gets that has none.
    pub date: &'a [u8],
}

/// How the response goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    pub head_bytes: usize,
    pub body: OutgoingBody,
    /// What the client was told. If it is false, the proxy closes the client's connection after the body.
    pub keep_alive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutgoingBody {
    /// Byte for byte as the server sends it, framing included.
    AsReceived,
    /// The content alone, ended by closing: the server sends chunks, which an HTTP/1.0 client cannot read.
    Unchunked,
}

impl HttpProfile {
    /// Writes the response for the client. A 1xx head is passed on without hop-by-hop fields, and says nothing about
    /// keep-alive. An HTTP/1.0 client must not get one.
    pub fn write_response(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        reply: Reply<'_>,
        out: &mut [u8],
    ) -> Result<Outgoing, Overflow> {
        let interim = head.status < 200;
        let unchunked = head.body == Framing::Chunked && reply.version == Version::Http10;
        let keep_alive = reply.keep_alive && !unchunked && head.body != Framing::UntilClose;
        let mut out = HeadWriter::new(out);
        out.status_line(head.status, head.reason);
        self.write_passed(head, client, &mut out);
        if !interim {
            self.write_rewritten(head, client, &mut out);
            out.text(self.security_lines(client));
            out.text(reply.cookie);
            if !head.fields.has(Name::Date) {
                out.text(reply.date);
            }
            out.text(connection_line(keep_alive, reply.version));
        }
        if head.body == Framing::Chunked && !unchunked {
            out.text(b"Transfer-Encoding: chunked\r\n");
        }
        Ok(Outgoing {
            head_bytes: out.end()?,
            body: if unchunked { OutgoingBody::Unchunked } else { OutgoingBody::AsReceived },
            keep_alive,
        })
    }

    /// Room that is enough for [`write_response`](Self::write_response).
    pub fn response_bytes_max(&self, head: &ResponseHead<'_>, reply: Reply<'_>) -> usize {
        head.len
            + reply.cookie.len()
            + reply.date.len()
            + ADDED_BYTES_MAX
            + ADDED_TO_FIELD_BYTES_MAX * head.fields.len()
    }

    /// The lines that each final response to this client has, for pages that the proxy writes itself.
    pub fn security_lines(&self, client: &ClientFacts) -> &[u8] {
        if client.tls { self.hsts_line.bytes() } else { b"" }
    }

    /// The fields that go out as they came.
    fn write_passed(&self, head: &ResponseHead<'_>, client: &ClientFacts, out: &mut HeadWriter<'_>) {
        let mut dropped = HOP_BY_HOP;
        if head.status < 200 || head.status == 204 {
            // Neither has content, so neither may say how long it is (RFC 9110 §8.6).
            dropped = dropped | NameSet::of(&[Name::ContentLength]);
        }
        if head.status >= 200 {
            dropped = dropped | self.rewritten(client);
        }
        out.fields(&head.fields, |field| {
            !(dropped.has(field.name) || head.names_hop_fields && is_named_away(&head.fields, field))
        });
    }

    /// The fields that are written anew for this client.
    fn rewritten(&self, client: &ClientFacts) -> NameSet {
        let none = NameSet::default();
        let cookies = if self.cookies.for_client(client).any() { NameSet::of(&[Name::SetCookie]) } else { none };
        let location = if self.rewrites_location(client) { NameSet::of(&[Name::Location]) } else { none };
        // One policy for the host, the operator's. A response must not have more than one such field (RFC 6797 §7.1).
        let hsts_is_ours = !self.security_lines(client).is_empty();
        let hsts = if hsts_is_ours { NameSet::of(&[Name::StrictTransportSecurity]) } else { none };
        cookies | location | hsts
    }

    fn write_rewritten(&self, head: &ResponseHead<'_>, client: &ClientFacts, out: &mut HeadWriter<'_>) {
        if !head.fields.has_any(NameSet::of(&[Name::SetCookie, Name::Location])) {
            return;
        }
        let rewritten = self.rewritten(client);
        let flags: CookieFlags = self.cookies.for_client(client);
        for field in head.fields.iter().filter(|field| rewritten.has(field.name)) {
            match field.name {
                Name::SetCookie => flags.write(field, out),
                Name::Location => location::write_as_https(field, self.https_port_suffix.bytes(), out),
                _ => {}
            }
        }
    }

    fn rewrites_location(&self, client: &ClientFacts) -> bool {
        self.location_to_https && client.tls
    }
}

/// What a client of this version must be told, because it would not assume it (RFC 9112 §9.3).
pub(crate) fn connection_line(keep_alive: bool, version: Version) -> &'static [u8] {
    match (keep_alive, version) {
        (true, Version::Http11) => b"",
        (true, Version::Http10) => b"Connection: keep-alive\r\n",
        (false, _) => b"Connection: close\r\n",
    }
}
