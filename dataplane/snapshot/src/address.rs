//! Parses addresses and ports of the wire format.

use std::net::IpAddr;

/// `None` if the text is no literal, or no address of a single host. Turns an IPv4-mapped IPv6 address into IPv4.
pub(crate) fn ip(literal: &str) -> Option<IpAddr> {
    let address = literal.parse::<IpAddr>().ok()?.to_canonical();
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    (!address.is_multicast() && !broadcast).then_some(address)
}

pub(crate) fn port(number: u32) -> Option<u16> {
    u16::try_from(number).ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hosts_addresses_and_nothing_else() {
        assert_eq!(ip("10.0.0.1"), "10.0.0.1".parse().ok());
        assert_eq!(ip("2001:db8::1"), "2001:db8::1".parse().ok());
        assert_eq!(ip("::ffff:10.0.0.1"), "10.0.0.1".parse().ok());
        for literal in ["", "web", "10.0.0.256", "10.0.0.1:80", "224.0.0.1", "ff02::1", "255.255.255.255"] {
            assert_eq!(ip(literal), None, "{literal}");
        }
    }

    #[test]
    fn reads_ports_from_1_to_65535() {
        assert_eq!([port(0), port(1), port(65_535), port(65_536)], [None, Some(1), Some(65_535), None]);
    }
}
