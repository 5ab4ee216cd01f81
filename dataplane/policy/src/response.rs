//! The head a client gets for the head a server sent.

use weir_wire::{
    head::{Field, HeadSink, Name, NameSet, ResponseHead},
    websocket,
};

use crate::{ClientFacts, HttpProfile, cookie::CookieFlags, host::Hosts, location::Rewrite};

/// Status line and Strict-Transport-Security at their longest.
const ADDED_BYTES_MAX: usize = 128;

const LENGTH: NameSet = NameSet::of(&[Name::ContentLength]);

/// What the response depends on besides the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply<'a> {
    /// The line that a final response gets besides, of [`Persistence`](crate::Persistence); or nothing.
    pub cookie: &'a [u8],
    /// The line of [`Date`](crate::Date) that a final response gets that has none.
    pub date: &'a [u8],
}

impl HttpProfile {
    /// Writes the response for the client. A 1xx head is passed on as it is.
    #[inline]
    pub fn write_response(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        reply: Reply<'_>,
        out: &mut impl HeadSink,
    ) {
        self.write_response_for(head, client, b"", reply, out);
    }

    /// The same for a client that has asked for a host, where [servers](Self::host_to_servers) are asked for another one.
    #[inline]
    pub fn write_response_for(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        asked: &[u8],
        reply: Reply<'_>,
        out: &mut impl HeadSink,
    ) {
        out.status(head.status, head.reason);
        if head.status < 200 {
            return out.kept(&head.fields, LENGTH);
        }
        let rewritten = self.rewritten.of(client);
        // Without content it may not say how long that is (RFC 9110 §8.6).
        let dropped = if head.status == 204 { rewritten | LENGTH } else { rewritten };
        out.kept(&head.fields, dropped);
        self.write_added(head, (client, asked), reply, rewritten, out);
    }

    /// Writes the answer of a server that switches to WebSocket. A client that asked on a stream gets a 200, and no
    /// answer to the key that Weir has made (RFC 8441 §5).
    pub fn write_switch(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        reply: Reply<'_>,
        on_stream: bool,
        out: &mut impl HeadSink,
    ) {
        match on_stream {
            true => out.status(200, b"OK"),
            false => out.status(head.status, head.reason),
        }
        let rewritten = self.rewritten.of(client);
        let dropped = rewritten | LENGTH;
        let answers_key = |field: Field<'_>| field.name_text.eq_ignore_ascii_case(websocket::ACCEPT);
        out.kept_if(&head.fields, |field| !(dropped.has(field.name) || on_stream && answers_key(field)));
        self.write_added(head, (client, b""), reply, rewritten, out);
    }

    #[inline(always)]
    fn write_added(
        &self,
        head: &ResponseHead<'_>,
        (client, asked): (&ClientFacts, &[u8]),
        reply: Reply<'_>,
        rewritten: NameSet,
        out: &mut impl HeadSink,
    ) {
        if head.fields.has_any(NameSet::of(&[Name::SetCookie, Name::Location])) {
            self.write_rewritten(head, (client, asked), rewritten, out);
        }
        out.line(self.security_lines(client));
        out.line(reply.cookie);
        if !head.fields.has(Name::Date) {
            out.line(reply.date);
        }
    }

    /// The host that servers are asked for; `None`: that of the client.
    pub fn host_to_servers(&self) -> Option<&[u8]> {
        Some(&*self.host_to_servers).filter(|host| !host.is_empty())
    }

    /// Bytes of the text that [`write_response`](Self::write_response) makes, at most.
    pub fn response_bytes_max(&self, head: &ResponseHead<'_>, reply: Reply<'_>) -> usize {
        head.fields.text_bytes()
            + reply.cookie.len()
            + reply.date.len()
            + ADDED_BYTES_MAX
            + self.rewritten.added_bytes_max * head.fields.len()
    }

    /// The lines that each final response to this client carries, for the pages the proxy writes itself.
    pub fn security_lines(&self, client: &ClientFacts) -> &[u8] {
        if client.tls { self.hsts_line.bytes() } else { b"" }
    }

    /// Not inline: most responses have no such field.
    #[inline(never)]
    fn write_rewritten(
        &self,
        head: &ResponseHead<'_>,
        (client, asked): (&ClientFacts, &[u8]),
        rewritten: NameSet,
        out: &mut impl HeadSink,
    ) {
        let flags: CookieFlags = self.cookies.for_client(client);
        let hosts = Hosts::of(&self.host_to_servers, asked);
        let https_port = self.rewrites_location(client).then(|| self.https_port_suffix.bytes());
        for field in head.fields.iter().filter(|field| rewritten.has(field.name)) {
            match field.name {
                Name::SetCookie => flags.write(field, hosts, out),
                Name::Location => Rewrite { https_port, hosts, tls: client.tls }.write(field, out),
                _ => {}
            }
        }
    }

    fn rewrites_location(&self, client: &ClientFacts) -> bool {
        self.location_to_https && client.tls
    }
}
