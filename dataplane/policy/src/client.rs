//! What is known of a client from its connection alone; made once per connection.

use std::net::{IpAddr, SocketAddr};

use crate::text::Text;

#[derive(Clone, Debug)]
pub struct ClientFacts {
    /// The client's address as X-Forwarded-For says it. No address is longer: one of IPv4 inside IPv6 is shown as IPv4.
    pub(crate) address: Text<39>,
    pub(crate) listener: SocketAddr,
    pub(crate) tls: bool,
}

impl ClientFacts {
    pub fn new(peer: SocketAddr, listener: SocketAddr, tls: bool) -> Self {
        let address = match peer.ip().to_canonical() {
            IpAddr::V4(ip) => Text::dotted(ip),
            IpAddr::V6(ip) => Text::of(format_args!("{ip}")),
        };
        Self { address, listener, tls }
    }

    /// Whether the client speaks TLS.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Where the client connected to.
    pub fn listener(&self) -> &SocketAddr {
        &self.listener
    }

    /// The port behind the host, if it is not the default of the scheme: `:8080` (RFC 9110 §7.2).
    pub(crate) fn listener_port_suffix(&self) -> Text<6> {
        match self.listener.port() {
            port if port == if self.tls { 443 } else { 80 } => Text::default(),
            port => Text::of(format_args!(":{port}")),
        }
    }

    /// The address the client connected to, as the authority of a URL: for a request that names none.
    pub fn listener_authority(&self) -> Text<54> {
        let (host, port) = (self.listener_host(), self.listener_port_suffix());
        let mut all = Text::default();
        host.bytes().iter().chain(port.bytes()).for_each(|byte| all.push(*byte));
        all
    }

    /// The address the client connected to, as the host of a URL: for a request that names none.
    pub(crate) fn listener_host(&self) -> Text<48> {
        match self.listener {
            SocketAddr::V4(listener) => Text::dotted(*listener.ip()),
            SocketAddr::V6(listener) => Text::of(format_args!("[{}]", listener.ip())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_address_fits() {
        for address in ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fd00:1111:2222:3333:4444:5555:255.255.255.255"] {
            let address: IpAddr = address.parse().expect("an address");
            let facts = ClientFacts::new(SocketAddr::new(address, 1), SocketAddr::new(address, 2), false);
            assert_eq!(facts.address.bytes(), address.to_string().as_bytes());
        }
    }
}
