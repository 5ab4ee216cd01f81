//! The head a client gets for the head a server sent.

use weir_wire::{
    head::{Field, HeadSink, Name, NameSet, ResponseHead},
    websocket,
};

use crate::{ClientFacts, HttpProfile, Prefix, cookie::CookieFlags, host::Hosts, location::Rewrite};

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

/// What few responses depend on besides.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Besides<'a> {
    /// The host that the client has asked for, where [servers](HttpProfile::host_to_servers) are asked for another one.
    pub asked_host: &'a [u8],
    /// What a cookie of the server gets before its value.
    pub prefix: Option<&'a Prefix>,
}

impl Besides<'_> {
    /// Bytes that it adds to a response, at most.
    pub fn bytes_max(self, head: &ResponseHead<'_>) -> usize {
        self.prefix.map_or(0, |_| Prefix::BYTES * head.fields.len())
    }
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
        self.write_response_with(head, client, reply, Besides::default(), out);
    }

    /// The same with what few responses depend on.
    #[inline]
    pub fn write_response_with(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        reply: Reply<'_>,
        besides: Besides<'_>,
        out: &mut impl HeadSink,
    ) {
        out.status(head.status, head.reason);
        if head.status < 200 {
            return out.kept(&head.fields, LENGTH);
        }
        let rewritten = self.rewritten_for(client, besides);
        // Without content it may not say how long that is (RFC 9110 §8.6).
        let dropped = if head.status == 204 { rewritten | LENGTH } else { rewritten };
        out.kept(&head.fields, dropped);
        self.write_added(head, client, (reply, besides), rewritten, out);
    }

    /// Writes the answer of a server that switches to WebSocket. A client that asked on a stream gets a 200, and no
    /// answer to the key that Weir has made (RFC 8441 §5).
    pub fn write_switch(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        (reply, besides): (Reply<'_>, Besides<'_>),
        on_stream: bool,
        out: &mut impl HeadSink,
    ) {
        match on_stream {
            true => out.status(200, b"OK"),
            false => out.status(head.status, head.reason),
        }
        let rewritten = self.rewritten_for(client, besides);
        let dropped = rewritten | LENGTH;
        let answers_key = |field: Field<'_>| field.name_text.eq_ignore_ascii_case(websocket::ACCEPT);
        out.kept_if(&head.fields, |field| !(dropped.has(field.name) || on_stream && answers_key(field)));
        self.write_added(head, client, (reply, besides), rewritten, out);
    }

    #[inline(always)]
    fn write_added(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        (reply, besides): (Reply<'_>, Besides<'_>),
        rewritten: NameSet,
        out: &mut impl HeadSink,
    ) {
        if head.fields.has_any(NameSet::of(&[Name::SetCookie, Name::Location])) {
            self.write_rewritten(head, client, besides, rewritten, out);
        }
        out.line(self.security_lines(client));
        out.line(reply.cookie);
        if !head.fields.has(Name::Date) {
            out.line(reply.date);
        }
    }

    /// The fields that do not pass as they came.
    #[inline(always)]
    fn rewritten_for(&self, client: &ClientFacts, besides: Besides<'_>) -> NameSet {
        let rewritten = self.rewritten.of(client);
        if besides.prefix.is_some() { rewritten | NameSet::of(&[Name::SetCookie]) } else { rewritten }
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
        client: &ClientFacts,
        besides: Besides<'_>,
        rewritten: NameSet,
        out: &mut impl HeadSink,
    ) {
        let flags: CookieFlags = self.cookies.for_client(client);
        let hosts = Hosts::of(&self.host_to_servers, besides.asked_host);
        let https_port = self.rewrites_location(client).then(|| self.https_port_suffix.bytes());
        for field in head.fields.iter().filter(|field| rewritten.has(field.name)) {
            match field.name {
                Name::SetCookie => flags.write(field, besides.prefix, hosts, out),
                Name::Location => Rewrite { https_port, hosts, tls: client.tls }.write(field, out),
                _ => {}
            }
        }
    }

    fn rewrites_location(&self, client: &ClientFacts) -> bool {
        self.location_to_https && client.tls
    }
}
