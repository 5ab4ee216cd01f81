//! Subnets of the wire format.

use std::net::IpAddr;

use weir_rules::AddressRange;

/// A subnet: "10.0.0.0/8". IPv4 addresses inside IPv6 count as IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subnet {
    address: IpAddr,
    mask_bits: u8,
}

/// What precedes an IPv4 address inside IPv6 (RFC 4291 §2.5.5.2).
const IPV4_IN_IPV6_BITS: u8 = 96;

impl Subnet {
    /// `None` if the text is no subnet.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let (address, mask_bits) = (address.parse::<IpAddr>().ok()?, bits.parse().ok()?);
        let most = if address.is_ipv4() { u32::BITS } else { u128::BITS };
        if u32::from(mask_bits) > most {
            return None;
        }
        match (address.to_canonical(), mask_bits) {
            (inside @ IpAddr::V4(_), IPV4_IN_IPV6_BITS..) if address.is_ipv6() => {
                Some(Self { address: inside, mask_bits: mask_bits - IPV4_IN_IPV6_BITS })
            }
            _ => Some(Self { address, mask_bits }),
        }
    }

    /// Its first and its last address.
    pub(crate) fn range(&self) -> AddressRange {
        let bits = u32::from(self.mask_bits);
        match self.address {
            IpAddr::V4(address) => {
                let host = u32::MAX.checked_shr(bits).unwrap_or(0);
                let first = u32::from(address) & !host;
                AddressRange { first: IpAddr::V4(first.into()), last: IpAddr::V4((first | host).into()) }
            }
            IpAddr::V6(address) => {
                let host = u128::MAX.checked_shr(bits).unwrap_or(0);
                let first = u128::from(address) & !host;
                AddressRange { first: IpAddr::V6(first.into()), last: IpAddr::V6((first | host).into()) }
            }
        }
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = u32::from(self.mask_bits);
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                (u32::from(mine) ^ u32::from(other)).checked_shr(u32::BITS - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                (u128::from(mine) ^ u128::from(other)).checked_shr(u128::BITS - bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_the_addresses_under_its_mask() {
        for (subnet, address, contains) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.1.2.3/32", "10.1.2.3", true),
            ("10.1.2.3/32", "10.1.2.2", false),
            ("0.0.0.0/0", "192.0.2.7", true),
            ("0.0.0.0/0", "2001:db8::7", false),
            ("2001:db8::/32", "2001:db8:ffff::7", true),
            ("2001:db8::/32", "2001:db9::7", false),
            ("::/0", "2001:db8::7", true),
            ("::/0", "10.0.0.1", false),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "::ffff:10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "11.0.0.1", false),
            ("::ffff:0:0/96", "192.0.2.7", true),
            ("::ffff:0:0/96", "2001:db8::7", false),
        ] {
            let parsed = Subnet::parse(subnet).expect("a subnet");
            let address = address.parse().expect("an address");
            assert_eq!(parsed.contains(address), contains, "{address} in {subnet}");
            assert_eq!(
                weir_rules::Addresses::of([parsed.range()]).contains(address),
                contains,
                "{address} in {subnet}"
            );
        }
    }

    #[test]
    fn reads_subnets_and_nothing_else() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "web/8", "10.0.0.0/8/8"] {
            assert_eq!(Subnet::parse(text), None, "{text}");
        }
    }
}
