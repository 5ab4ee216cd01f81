//! A request as rules see it: the head as the client sent it, and what its connection says.

use std::{
    borrow::Cow,
    net::{IpAddr, SocketAddr},
};

use weir_wire::{
    head::{RequestHead, percent_decode, without_port},
    x509::Says,
};

use crate::text::TextRule;

/// What is known of TLS on the client's connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct TlsFacts<'r> {
    pub version: &'static str,
    pub cipher: &'static str,
    pub server_name: Option<&'r str>,
    /// Of the client, if it has shown a good one.
    pub certificate: Option<&'r dyn Says>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HttpVersion {
    Http09,
    Http10,
    Http11,
    Http2,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'r> {
    /// Who asks, as far as that is trusted.
    pub client: IpAddr,
    /// Where the connection comes from.
    pub source: IpAddr,
    pub listener: SocketAddr,
    /// `None`: the connection is not encrypted.
    pub tls: Option<TlsFacts<'r>>,
}

/// What a request is compared by.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'r> {
    pub head: &'r RequestHead<'r>,
    pub version: HttpVersion,
    pub from: Origin<'r>,
}

impl<'r> Asked<'r> {
    /// The path without the query, which is never empty, and the query. `None`: the target has no `?`.
    pub(crate) fn path_and_query(&self) -> (&'r [u8], Option<&'r [u8]>) {
        let (path, query) = self.head.path_and_query();
        let query = (path.len() < self.head.path.len()).then_some(query);
        (if path.is_empty() { b"/" } else { path }, query)
    }

    /// The host without its port, or the address that the request came to if it names none.
    pub(crate) fn host(&self) -> Cow<'r, [u8]> {
        match (self.head.host.map(host_name), self.from.listener.ip().to_canonical()) {
            (Some(host @ [_, ..]), _) => Cow::Borrowed(host),
            (_, IpAddr::V4(address)) => Cow::Owned(address.to_string().into_bytes()),
            (_, IpAddr::V6(address)) => Cow::Owned(format!("[{address}]").into_bytes()),
        }
    }
}

/// The name of a host without its port, and without the dot of the root, which names the same host.
pub(crate) fn host_name(host: &[u8]) -> &[u8] {
    let name = without_port(host);
    name.strip_suffix(b".").unwrap_or(name)
}

/// Which forms of a request's texts the rules of a set compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Needs {
    pub path: FormsNeeded,
    pub query: FormsNeeded,
    pub host_small: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FormsNeeded {
    pub small: bool,
    pub decoded: bool,
    pub decoded_small: bool,
}

impl FormsNeeded {
    pub fn note(&mut self, rule: &TextRule) {
        match (rule.decoded, rule.compares_small()) {
            (true, true) => self.decoded_small = true,
            (true, false) => self.decoded = true,
            (false, true) => self.small = true,
            (false, false) => {}
        }
    }

    pub fn join(&mut self, other: Self) {
        self.small |= other.small;
        self.decoded |= other.decoded;
        self.decoded_small |= other.decoded_small;
    }
}

/// Room for the forms of one request's texts, and for the rules that may match. A worker uses it again and again, so
/// that a request allocates nothing.
#[derive(Default, Debug)]
pub struct Scratch {
    /// Of the path, and of the query.
    forms: [Forms; 2],
    host_small: Vec<u8>,
    pub(crate) found: Vec<u32>,
}

#[derive(Default, Debug)]
struct Forms {
    small: Vec<u8>,
    decoded: Vec<u8>,
    decoded_small: Vec<u8>,
}

impl Forms {
    fn fill(&mut self, text: &[u8], needed: FormsNeeded) {
        if needed.small {
            copy_small(text, &mut self.small);
        }
        if needed.decoded || needed.decoded_small {
            percent_decode(text, &mut self.decoded);
        }
        if needed.decoded_small {
            copy_small(&self.decoded, &mut self.decoded_small);
        }
    }
}

/// A request with the forms that were asked for.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    pub asked: &'v Asked<'v>,
    /// As they were sent.
    pub sent: (&'v [u8], Option<&'v [u8]>),
    forms: &'v [Forms; 2],
    host_small: &'v [u8],
}

impl Scratch {
    /// Prepares the forms. The candidates of rules come beside them, because they are filled while a view is used.
    pub(crate) fn view<'v>(&'v mut self, asked: &'v Asked<'v>, needs: &Needs) -> (View<'v>, &'v mut Vec<u32>) {
        let Self { forms, host_small, found } = self;
        let sent @ (path, query) = asked.path_and_query();
        forms[0].fill(path, needs.path);
        forms[1].fill(query.unwrap_or_default(), needs.query);
        if needs.host_small {
            copy_small(asked.head.host.unwrap_or_default(), host_small);
        }
        (View { asked, sent, forms, host_small }, found)
    }
}

impl<'v> View<'v> {
    #[inline]
    pub fn path(&self, decoded: bool, small: bool) -> &'v [u8] {
        form(self.sent.0, &self.forms[0], decoded, small)
    }

    #[inline]
    pub fn query(&self, decoded: bool, small: bool) -> Option<&'v [u8]> {
        Some(form(self.sent.1?, &self.forms[1], decoded, small))
    }

    /// The host with its port.
    #[inline]
    pub fn host(&self, small: bool) -> Option<&'v [u8]> {
        let host = self.asked.head.host?;
        Some(if small { self.host_small } else { host })
    }
}

fn form<'v>(raw: &'v [u8], forms: &'v Forms, decoded: bool, small: bool) -> &'v [u8] {
    match (decoded, small) {
        (false, false) => raw,
        (false, true) => &forms.small,
        (true, false) => &forms.decoded,
        (true, true) => &forms.decoded_small,
    }
}

fn copy_small(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(text);
    out.make_ascii_lowercase();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_cut_off() {
        for (host, name) in [
            ("a.test", "a.test"),
            ("a.test:80", "a.test"),
            ("a.test.", "a.test"),
            ("a.test.:80", "a.test"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(host_name(host.as_bytes()), name.as_bytes());
        }
    }
}
