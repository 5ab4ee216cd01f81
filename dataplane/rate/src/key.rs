//! What is counted apart: a hash of the limit, and of what its key is made of. Clients do not know
//! the seed, so that they cannot tell which keys share a set of the table. It is that of the virtual service, which the controller
//! derives from a secret; without one, it is the engine's own.

use std::{
    hash::{BuildHasher, Hasher},
    net::IpAddr,
};

use foldhash::quality::{FixedState, FoldHasher};

/// Bits of the network of a client of IPv6: one client may have all addresses of a /64.
const NETWORK_BITS: u32 = 64;

/// The key of an event, as far as it is known.
#[derive(Clone)]
pub struct Key(FoldHasher<'static>);

impl Key {
    pub(crate) fn of(seed: u64, limit: u64) -> Self {
        let mut hasher = FixedState::with_seed(seed).build_hasher();
        hasher.write_u64(limit);
        Self(hasher)
    }

    /// Each client has its own: an address of IPv4, a /64 of IPv6.
    #[must_use]
    pub fn client(mut self, client: IpAddr) -> Self {
        match client.to_canonical() {
            IpAddr::V4(address) => self.0.write_u32(address.to_bits()),
            IpAddr::V6(address) => self.0.write_u64((address.to_bits() >> NETWORK_BITS) as u64),
        }
        self
    }

    /// Each text has its own.
    #[must_use]
    pub fn text(mut self, text: &[u8]) -> Self {
        // With its length, so that the texts of a key cannot be shifted against each other.
        self.0.write_usize(text.len());
        self.0.write(text);
        self
    }

    /// Never 0, which marks a cell that no key has.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        self.0.finish().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_client(client: &str) -> u64 {
        Key::of(7, 1).client(client.parse().expect("sound")).hash()
    }

    #[test]
    fn client_is_an_address_or_a_network_of_ipv6() {
        assert_eq!(of_client("2001:db8::1"), of_client("2001:db8::ffff:1"));
        assert_ne!(of_client("2001:db8::1"), of_client("2001:db8:0:1::1"));
        assert_eq!(of_client("10.0.0.1"), of_client("::ffff:10.0.0.1"));
        assert_ne!(of_client("10.0.0.1"), of_client("10.0.0.2"));
    }

    #[test]
    fn limits_seeds_and_texts_differ() {
        let key = |seed, limit, texts: &[&str]| {
            texts.iter().fold(Key::of(seed, limit), |key, text| key.text(text.as_bytes())).hash()
        };
        let all = [
            key(1, 1, &["ab", "c"]),
            key(1, 1, &["a", "bc"]),
            key(1, 1, &["abc"]),
            key(1, 2, &["abc"]),
            key(2, 1, &["abc"]),
            key(1, 1, &[]),
        ];
        assert!(all.iter().enumerate().all(|(at, one)| !all[at + 1..].contains(one)), "{all:?}");
    }
}
