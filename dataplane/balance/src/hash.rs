//! Hashes of requests and servers, and their places on the ring: where a server stands, and where a key looks. The
//! numbers depend only on names and keys, and are the same on every engine and in every version. Never use a hash here
//! whose output may change with a library.

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// What a request is hashed by, or what a server is known by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct HashKey(u64);

impl HashKey {
    /// FNV-1a, 64 bits; its weak low bits are repaired by [`mixed`] when a place is made of it.
    pub fn of(bytes: &[u8]) -> Self {
        Self(OFFSET_BASIS).with_bytes(bytes)
    }

    /// The same of two texts, one behind the other, as if a byte 0 stood between them.
    pub fn of_both(first: &[u8], second: &[u8]) -> Self {
        Self::of(first).with_bytes(&[0]).with_bytes(second)
    }

    /// Half of its bits.
    pub fn folded(self) -> u32 {
        (mixed(self.0) >> 32) as u32
    }

    fn with_bytes(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME)))
    }

    /// A number of this key and another one, evenly between 0 and 1, and never 0.
    pub(crate) fn with(self, other: Self) -> f64 {
        let bits = mixed(mixed(self.0) ^ other.0) >> 11;
        (bits + 1) as f64 / (1u64 << 53) as f64
    }

    /// The places of a server with this name, one after the other.
    pub(crate) fn places(self) -> impl Iterator<Item = u32> {
        (0u64..).map(move |number| (mixed(self.0 ^ mixed(number)) >> 32) as u32)
    }

    /// The places where a request with this key looks, one after the other. Two hashes are enough for any number of
    /// places (Kirsch and Mitzenmacher, "Less Hashing, Same Performance", ESA 2006).
    #[inline(always)]
    pub(crate) fn probes(self) -> Probes {
        let first = mixed(self.0);
        Probes { first, apart: mixed(first) | 1 }
    }
}

/// The places where a request looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probes {
    first: u64,
    apart: u64,
}

impl Probes {
    #[inline(always)]
    pub fn at(&self, number: usize) -> u32 {
        (self.first.wrapping_add((number as u64).wrapping_mul(self.apart)) >> 32) as u32
    }

    /// So many of them.
    pub fn take(self, count: usize) -> impl Iterator<Item = u32> {
        (0..count).map(move |number| self.at(number))
    }
}

/// The finaliser of SplitMix64: each input bit changes each output bit with probability one half.
pub(crate) fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Engines of different versions must agree, so these numbers may never change.
    #[test]
    fn hashes_are_the_same_for_ever() {
        assert_eq!(HashKey::of(b"").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(HashKey::of(b"foobar").0, 0x8594_4171_f739_67e8);
        assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
        let server: Vec<_> = HashKey::of(b"10.0.0.1:80").places().take(3).collect();
        assert_eq!(server, [4_149_123_698, 2_378_012_751, 574_135_563]);
        let key: Vec<_> = HashKey::of(b"/").probes().take(3).collect();
        assert_eq!(key, [2_832_817_189, 3_947_991_760, 768_199_035]);
    }
}
