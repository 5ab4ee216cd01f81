//! The host that servers are asked for instead of that of the client. What responses say of it is said of the client's.

use weir_wire::head::without_port;

use crate::settings::{Error, HttpSettings};

pub(crate) fn to_servers(settings: &HttpSettings) -> Result<Box<[u8]>, Error> {
    let host = settings.host_to_servers.as_bytes();
    if is_host(host) { Ok(host.into()) } else { Err(Error::HostToServers) }
}

/// A longer host of a client is not put into responses.
pub(crate) const HOST_BYTES_MAX: usize = 264;

/// Whether a text has only characters of a host and its port.
pub fn is_host(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(byte))
}

/// Of a request that servers get for another host.
#[derive(Clone, Copy)]
pub(crate) struct Hosts<'a> {
    of_servers: &'a [u8],
    of_client: &'a [u8],
}

impl<'a> Hosts<'a> {
    /// `None`: nothing comes back as that of the client.
    pub fn of(of_servers: &'a [u8], of_client: &'a [u8]) -> Option<Self> {
        let is_known = (1..=HOST_BYTES_MAX).contains(&of_client.len()) && is_host(of_client);
        (is_known && !of_servers.is_empty()).then_some(Self { of_servers, of_client })
    }

    /// Whether a URL with this host, and this port with its colon, leads to the servers. Another port is another service.
    /// `usual`: the port of the URL's scheme, with its colon.
    pub fn are_of_servers(self, host: &[u8], port: &[u8], usual: &[u8]) -> bool {
        let (name, own_port) = self.of_servers.split_at(without_port(self.of_servers).len());
        let is_same = |port: &[u8]| port == own_port || port == usual && own_port.is_empty();
        host.eq_ignore_ascii_case(name) && (port.is_empty() || is_same(port))
    }

    /// The client's host, without its port.
    pub fn name(self) -> &'a [u8] {
        without_port(self.of_client)
    }

    /// Its port, with the colon; or nothing.
    pub fn port(self) -> &'a [u8] {
        &self.of_client[self.name().len()..]
    }

    /// Where the value of a domain stands in a Set-Cookie, if that is the host of servers.
    fn domain(self, cookie: &[u8]) -> Option<std::ops::Range<usize>> {
        let mut at = 0;
        for (number, part) in cookie.split(|&byte| byte == b';').enumerate() {
            let (start, end) = (at, at + part.len());
            at = end + 1;
            let Some(equals) = part.iter().position(|&byte| byte == b'=').filter(|_| number > 0) else { continue };
            if !part[..equals].trim_ascii().eq_ignore_ascii_case(b"domain") {
                continue;
            }
            let value = &part[equals + 1..];
            let blanks = value.len() - value.trim_ascii_start().len();
            let from = start + equals + 1 + blanks;
            let value = value.trim_ascii();
            // A dot before it means nothing (RFC 6265 §5.2.3).
            let dot = usize::from(value.first() == Some(&b'.'));
            if value[dot..].eq_ignore_ascii_case(without_port(self.of_servers)) {
                return Some(from + dot..from + value.len());
            }
        }
        None
    }

    /// A Set-Cookie in parts, of which the second is the client's host, if the cookie is for that of servers.
    pub fn in_cookie(self, cookie: &'a [u8]) -> [&'a [u8]; 3] {
        self.domain(cookie)
            .map_or([b"", b"", cookie], |domain| [&cookie[..domain.start], self.name(), &cookie[domain.end..]])
    }
}
