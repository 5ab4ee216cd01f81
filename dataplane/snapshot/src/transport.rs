//! Where clients come: what a listener is known by, in a Plan, to a driver and to a session.

use std::{fmt, net::SocketAddr};

/// What brings clients' bytes. A port of one protocol has nothing to do with the same port of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    Tcp,
}

/// An address and port of one protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransportAddress {
    pub protocol: Protocol,
    pub address: SocketAddr,
}

impl TransportAddress {
    pub const fn tcp(address: SocketAddr) -> Self {
        Self { protocol: Protocol::Tcp, address }
    }
}

impl fmt::Display for TransportAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            Protocol::Tcp => write!(f, "{}/tcp", self.address),
        }
    }
}
