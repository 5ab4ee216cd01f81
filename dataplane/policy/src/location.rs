//! Redirects of servers: those that believe the client came without TLS, and those that name the host that they were asked
//! for instead of the client's.

use weir_wire::head::{Field, HeadSink, without_port};

use crate::host::Hosts;

/// What a Location becomes.
#[derive(Clone, Copy)]
pub(crate) struct Rewrite<'a> {
    /// `http://host:8080/path` becomes `https://host<port>/path`.
    pub https_port: Option<&'a [u8]>,
    pub hosts: Option<Hosts<'a>>,
    /// The client speaks TLS.
    pub tls: bool,
}

impl Rewrite<'_> {
    /// What names another scheme, or no host, goes as it came.
    pub fn write(self, field: Field<'_>, out: &mut impl HeadSink) {
        let Some(url) = Url::of(field.value) else { return out.field(field.name_text, [field.value]) };
        let usual = if self.is_secure(url.scheme) { &b":443"[..] } else { b":80" };
        let client = self.hosts.filter(|hosts| hosts.are_of_servers(url.host, url.port, usual));
        let https_port = self.https_port.filter(|_| url.scheme.eq_ignore_ascii_case(b"http:"));
        let (host, port) = match client {
            None => (url.host, url.port),
            // Another scheme than the client's has another port.
            Some(hosts) => (hosts.name(), if self.is_secure(url.scheme) == self.tls { hosts.port() } else { b"" }),
        };
        let (scheme, port) = match https_port {
            Some(https_port) => (&b"https:"[..], https_port),
            None => (url.scheme, port),
        };
        out.field(field.name_text, [scheme, b"//", url.user, host, port, url.rest]);
    }

    /// Whether a URL with this scheme leads to TLS. Without one it is as the client's.
    fn is_secure(&self, scheme: &[u8]) -> bool {
        if scheme.is_empty() { self.tls } else { scheme.eq_ignore_ascii_case(b"https:") }
    }
}

/// The parts of a URL of HTTP with a host.
struct Url<'l> {
    /// With its colon; empty: that of the page.
    scheme: &'l [u8],
    /// User information, with its `@`.
    user: &'l [u8],
    host: &'l [u8],
    /// With its colon.
    port: &'l [u8],
    rest: &'l [u8],
}

impl<'l> Url<'l> {
    fn of(location: &'l [u8]) -> Option<Self> {
        let scheme_bytes = [&b"http:"[..], b"https:", b""].into_iter().find_map(|scheme| {
            let start = location.get(..scheme.len())?;
            let is_it = start.eq_ignore_ascii_case(scheme) && location[scheme.len()..].starts_with(b"//");
            is_it.then_some(scheme.len())
        })?;
        let (scheme, behind) = (&location[..scheme_bytes], &location[scheme_bytes + 2..]);
        let authority_bytes = behind.iter().position(|b| b"/?#".contains(b)).unwrap_or(behind.len());
        let (authority, rest) = behind.split_at(authority_bytes);
        let user_bytes = authority.iter().rposition(|&b| b == b'@').map_or(0, |at| at + 1);
        let (user, host) = authority.split_at(user_bytes);
        let (host, port) = host.split_at(without_port(host).len());
        (!host.is_empty()).then_some(Self { scheme, user, host, port, rest })
    }
}
