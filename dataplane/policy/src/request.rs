//! The head a server gets for the head a client sent.

use weir_wire::head::{Field, HeadSink, Name, NameSet, RequestHead};

use crate::{
    ClientFacts, HttpProfile,
    forwarded::XFF_NAME_BYTES_MAX,
    last_hop::{MaxForwards, write_max_forwards},
    settings::Underscores,
    trace::Trace,
};

/// Host, X-Forwarded-For, X-Forwarded-Proto and traceparent at their longest.
const ADDED_BYTES_MAX: usize = XFF_NAME_BYTES_MAX + 256 + Trace::BYTES_MAX;

impl HttpProfile {
    /// Whether the proxy answers `Expect: 100-continue` itself; the field is then not passed on.
    pub fn answers_continue(&self, head: &RequestHead<'_>) -> bool {
        self.respond_with_100_continue && head.expect_continue
    }

    /// Writes the request for the server. Without a `trace`, what the client says of one passes.
    pub fn write_request(
        &self,
        head: &RequestHead<'_>,
        client: &ClientFacts,
        trace: Option<&Trace>,
        out: &mut impl HeadSink,
    ) {
        out.request(head.method_text, head.path);
        self.write_host(head, client, out);
        let mut dropped = self.dropped | self.dropped_for(head);
        if head.fields.has(Name::MaxForwards) {
            dropped = dropped | write_max_forwards(head, out);
        }
        // Asked once and not of each field: what is usual needs no more than the name.
        if self.forwarded.is_renamed() || self.underscores == Underscores::Drop || trace.is_some() {
            let replaced = |field| trace.is_some_and(|trace| trace.replaces(field));
            out.kept_if(&head.fields, |field| {
                !dropped.has(field.name) && !self.drops_by_text(field) && !replaced(field)
            });
        } else {
            out.kept(&head.fields, dropped);
        }
        self.forwarded.write(&head.fields, client, out);
        if let Some(trace) = trace {
            trace.write(out);
        }
    }

    /// Whether the request has a field whose name the operator wants no request to have, or one that must say something
    /// else.
    pub fn refuses(&self, head: &RequestHead<'_>) -> bool {
        self.underscores == Underscores::Refuse && head.fields.iter().any(has_underscore)
            || MaxForwards::of(head) == MaxForwards::Malformed
    }

    /// Bytes of the text that [`write_request`](Self::write_request) makes, at most.
    pub fn request_bytes_max(&self, head: &RequestHead<'_>) -> usize {
        head.fields.text_bytes() + self.host_to_servers.len() + ADDED_BYTES_MAX
    }

    fn drops_by_text(&self, field: Field<'_>) -> bool {
        self.forwarded.replaces_renamed(field) || self.underscores == Underscores::Drop && has_underscore(field)
    }

    /// The Host that the client's own field does not give: of an absolute target (RFC 9112 §3.2.2), the operator's, or none
    /// at all.
    fn write_host(&self, head: &RequestHead<'_>, client: &ClientFacts, out: &mut impl HeadSink) {
        match head.host {
            _ if self.dropped.has(Name::Host) => out.field(b"Host", [&*self.host_to_servers]),
            Some(host) if head.absolute => out.field(b"Host", [host]),
            Some(_) => {}
            None => {
                let (host, port) = (client.listener_host(), client.listener_port_suffix());
                out.field(b"Host", [host.bytes(), port.bytes()]);
            }
        }
    }

    fn dropped_for(&self, head: &RequestHead<'_>) -> NameSet {
        let host = if head.absolute { NameSet::of(&[Name::Host]) } else { NameSet::default() };
        let expect = if self.answers_continue(head) { NameSet::of(&[Name::Expect]) } else { NameSet::default() };
        host | expect
    }
}

pub(crate) fn has_underscore(field: Field<'_>) -> bool {
    field.name_text.contains(&b'_')
}
