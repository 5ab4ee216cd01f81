//! Where a session of TLS began: a client that goes on with it from elsewhere keeps its server. Tickets say this, so that each
//! engine knows it.

use std::{
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
};

use weir_balance::HashKey;

/// What stands for the address of a client, with few others.
pub(crate) fn origin_of(peer: SocketAddr) -> NonZeroU32 {
    NonZeroU32::new(HashKey::of(&octets(peer.ip())).folded()).unwrap_or(NonZeroU32::MIN)
}

/// An address of IPv4 as one of IPv6.
pub(crate) fn octets(address: IpAddr) -> [u8; 16] {
    match address.to_canonical() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}
