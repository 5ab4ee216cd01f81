//! How many clients each address holds: a count-min sketch of fixed size, made for the maximum of clients. An address
//! is counted in one bucket of each of two rows. The smaller count is the address's own, or slightly more.

use std::{
    hash::BuildHasher,
    net::{IpAddr, SocketAddr},
};

use foldhash::fast::RandomState;

/// The least number of buckets per row.
const BUCKETS_MIN: usize = 1 << 13;

pub(crate) struct Addresses {
    rows: [Box<[u32]>; 2],
    /// Random, so that no client can know which addresses share a bucket.
    hasher: RandomState,
}

impl Addresses {
    /// With two buckets per client in each row, few addresses share both of theirs.
    pub fn with_room(clients: usize) -> Self {
        let buckets = (2 * clients).next_power_of_two().max(BUCKETS_MIN);
        let row = || vec![0; buckets].into_boxed_slice();
        Self { rows: [row(), row()], hasher: RandomState::default() }
    }

    pub fn add(&mut self, peer: SocketAddr) {
        self.buckets(peer).into_iter().for_each(|count| *count += 1);
    }

    pub fn remove(&mut self, peer: SocketAddr) {
        self.buckets(peer).into_iter().for_each(|count| *count = count.saturating_sub(1));
    }

    /// How many clients an address holds.
    pub fn held(&self, peer: SocketAddr) -> u32 {
        let [first, second] = self.places(peer);
        self.rows[0][first].min(self.rows[1][second])
    }

    /// How many clients the address with the fewest holds.
    pub fn least(&self) -> u32 {
        self.rows[0].iter().copied().filter(|count| *count > 0).min().unwrap_or(0)
    }

    fn buckets(&mut self, peer: SocketAddr) -> [&mut u32; 2] {
        let [first, second] = self.places(peer);
        let [one, other] = &mut self.rows;
        [&mut one[first], &mut other[second]]
    }

    fn places(&self, peer: SocketAddr) -> [usize; 2] {
        let (hash, mask) = (self.hasher.hash_one(network(peer)) as usize, self.rows[0].len() - 1);
        [hash & mask, (hash >> 32) & mask]
    }
}

/// The network that a client is counted with: an IPv6 host has a whole /64 of addresses.
pub(crate) fn network(peer: SocketAddr) -> u128 {
    match peer.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn counts_the_clients_of_each_address() {
        let mut addresses = Addresses::with_room(8000);
        assert_eq!((addresses.held(peer("10.0.0.1:1")), addresses.least()), (0, 0));
        (0..9).for_each(|port| addresses.add(peer(&format!("10.0.0.1:{port}"))));
        (0..2).for_each(|port| addresses.add(peer(&format!("10.0.0.2:{port}"))));
        assert_eq!((addresses.held(peer("10.0.0.1:77")), addresses.held(peer("10.0.0.2:77"))), (9, 2));
        assert_eq!((addresses.held(peer("10.0.0.3:77")), addresses.least()), (0, 2));
        addresses.remove(peer("10.0.0.1:3"));
        assert_eq!(addresses.held(peer("10.0.0.1:77")), 8);
    }

    #[test]
    fn network_of_ipv6_is_one_address_and_an_ipv4_address_is_itself_however_it_is_written() {
        let mut addresses = Addresses::with_room(8000);
        for text in
            ["[2001:db8::1]:1", "[2001:db8::ffff:2]:1", "[2001:db8:0:1::1]:1", "[::ffff:10.0.0.1]:1", "10.0.0.1:2"]
        {
            addresses.add(peer(text));
        }
        assert_eq!(addresses.held(peer("[2001:db8::9]:9")), 2);
        assert_eq!(addresses.held(peer("10.0.0.1:9")), 2);
    }

    #[test]
    fn address_with_few_clients_is_not_counted_as_one_with_many() {
        for clients in [9_375, 61_440] {
            let mut addresses = Addresses::with_room(clients);
            let one = |n: usize| peer(&format!("10.{}.{}.{}:1", n >> 16, n >> 8 & 255, n & 255));
            (0..clients - 5000).for_each(|n| addresses.add(one(n)));
            (0..5000).for_each(|port| addresses.add(peer(&format!("192.0.2.1:{port}"))));
            let many = (0..clients - 5000).filter(|n| addresses.held(one(*n)) >= 8).count();
            assert!(many <= clients / 5000, "{many} of {clients}");
            assert_eq!((addresses.least(), addresses.held(peer("192.0.2.1:9999")) / 1000), (1, 5));
        }
    }
}
