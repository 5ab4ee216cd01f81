//! The head a server gets for the head a client sent.

use weir_wire::http1::{Field, Framing, HeadWriter, Name, NameSet, Overflow, RequestHead, Version};

use crate::{
    ClientFacts, HttpProfile,
    forwarded::XFF_NAME_BYTES_MAX,
    hop::{HOP_BY_HOP, is_named_away},
    last_hop::{MaxForwards, write_max_forwards},
    settings::Underscores,
};

/// Host, X-Forwarded-For, X-Forwarded-Proto and Transfer-Encoding at their longest.
const ADDED_BYTES_MAX: usize = XFF_NAME_BYTES_MAX + 256;

impl HttpProfile {
    /// Whether the proxy answers `Expect: 100-continue` itself; the field is then not passed on.
    pub fn answers_continue(&self, head: &RequestHead<'_>) -> bool {
        self.respond_with_100_continue && head.expect_continue
    }

    /// Writes the request for the server: HTTP/1.1, a connection that stays open, and the body framed as it came.
    /// Returns the bytes written.
    pub fn write_request(
        &self,
        head: &RequestHead<'_>,
        client: &ClientFacts,
        out: &mut [u8],
    ) -> Result<usize, Overflow> {
        let mut out = HeadWriter::new(out);
        out.request_line(head.method_text, head.path);
        write_host(head, client, &mut out);
        let mut dropped = HOP_BY_HOP | SHADOWS | self.forwarded.replaced | self.dropped_for(head);
        if head.fields.has(Name::MaxForwards) {
            dropped = dropped | write_max_forwards(head, &mut out);
        }
        // Asked once and not of each field: what is usual needs no more than the name.
        let unusual = head.names_hop_fields || self.forwarded.is_renamed() || self.underscores == Underscores::Drop;
        out.fields(&head.fields, |field| !(dropped.has(field.name) || unusual && self.drops_by_text(head, field)));
        self.forwarded.write(&head.fields, client, &mut out);
        if head.body == Framing::Chunked {
            out.text(b"Transfer-Encoding: chunked\r\n");
        }
        out.end()
    }

    /// Whether the request has a field that the operator refuses, or one that must be rewritten.
    pub fn refuses(&self, head: &RequestHead<'_>) -> bool {
        self.underscores == Underscores::Refuse && head.fields.iter().any(has_underscore)
            || MaxForwards::of(head) == MaxForwards::Malformed
    }

    /// Room that is enough for [`write_request`](Self::write_request).
    pub fn request_bytes_max(&self, head: &RequestHead<'_>) -> usize {
        head.len + ADDED_BYTES_MAX
    }

    fn drops_by_text(&self, head: &RequestHead<'_>, field: Field<'_>) -> bool {
        self.forwarded.replaces_renamed(field)
            || self.underscores == Underscores::Drop && has_underscore(field)
            || head.names_hop_fields && is_named_away(&head.fields, field)
    }

    fn dropped_for(&self, head: &RequestHead<'_>) -> NameSet {
        let host = if head.absolute { NameSet::of(&[Name::Host]) } else { NameSet::default() };
        // HTTP/1.0 cannot wait for a 100, and must not make the server send one.
        let expectation_ends_here = self.answers_continue(head) || head.version == Version::Http10;
        let expect = if expectation_ends_here { NameSet::of(&[Name::Expect]) } else { NameSet::default() };
        host | expect
    }
}

/// A server may take these for fields that we write, or that frame the request. So clients cannot send them.
pub(crate) const SHADOWS: NameSet = NameSet::of(&[Name::Shadow]);

pub(crate) fn has_underscore(field: Field<'_>) -> bool {
    field.name_text.contains(&b'_')
}

/// The Host if it does not come from the client's own field: from an absolute target (RFC 9112 §3.2.2), or none at all.
fn write_host(head: &RequestHead<'_>, client: &ClientFacts, out: &mut HeadWriter<'_>) {
    match head.host {
        Some(host) if head.absolute => _ = out.field(b"Host", host),
        Some(_) => {}
        None => {
            let (host, port) = (client.listener_host(), client.listener_port_suffix());
            out.text(b"Host: ").text(host.bytes()).text(port.bytes()).text(b"\r\n");
        }
    }
}
