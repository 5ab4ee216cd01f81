//! A request as rules see it: the head as the client sent it, and what its connection says.

use std::net::{IpAddr, SocketAddr};

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
    /// Without the query, and never empty.
    pub(crate) fn path(&self) -> &'r [u8] {
        match self.head.path_and_query().0 {
            [] => b"/",
            path => path,
        }
    }

    /// `None`: the target has no `?`.
    pub(crate) fn query(&self) -> Option<&'r [u8]> {
        let (path, query) = self.head.path_and_query();
        (path.len() < self.head.path.len()).then_some(query)
    }

    /// The host without its port.
    pub(crate) fn host(&self) -> Option<&'r [u8]> {
        self.head.host.map(host_name)
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
    forms: &'v [Forms; 2],
    host_small: &'v [u8],
}

impl Scratch {
    /// Prepares the forms. The candidates of rules come beside them, because they are filled while a view is used.
    pub(crate) fn view<'v>(&'v mut self, asked: &'v Asked<'v>, needs: &Needs) -> (View<'v>, &'v mut Vec<u32>) {
        let Self { forms, host_small, found } = self;
        forms[0].fill(asked.path(), needs.path);
        forms[1].fill(asked.query().unwrap_or_default(), needs.query);
        if needs.host_small {
            copy_small(asked.head.host.unwrap_or_default(), host_small);
        }
        (View { asked, forms, host_small }, found)
    }
}

impl<'v> View<'v> {
    #[inline]
    pub fn path(&self, decoded: bool, small: bool) -> &'v [u8] {
        form(self.asked.path(), &self.forms[0], decoded, small)
    }

    #[inline]
    pub fn query(&self, decoded: bool, small: bool) -> Option<&'v [u8]> {
        Some(form(self.asked.query()?, &self.forms[1], decoded, small))
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
