//! The key of a listener in a Plan, a driver and a session.

use std::{fmt, net::SocketAddr};

/// The transport protocol of a listener. Ports of different protocols are independent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    Tcp,
    Udp,
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

    pub const fn udp(address: SocketAddr) -> Self {
        Self { protocol: Protocol::Udp, address }
    }
}

impl fmt::Display for TransportAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            Protocol::Tcp => write!(f, "{}/tcp", self.address),
            Protocol::Udp => write!(f, "{}/udp", self.address),
        }
    }
}
