//! Consistent hashing by weighted rendezvous: each server scores each key, the highest score wins.
//!
//! Chosen over a ring or a Maglev table because it needs no table at all, is exactly even, and moves nothing but the
//! share of the server that leaves, also when a server is only down, full or excluded for one request.
//! Scores depend on names and keys alone and are the same on every engine and in every version: never use a hash here
//! whose output may change with a library.

/// What a request is hashed by, or what a server is known by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HashKey(u64);

impl HashKey {
    /// FNV-1a, 64 bits; its weak low bits are repaired by [`mixed`] when a score is made.
    pub fn of(bytes: &[u8]) -> Self {
        const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        Self(bytes.iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME)))
    }
}

/// How much `server` wants `key`; higher wins. With ratios r, each server wins in proportion to r: −r / ln(u) of a
/// uniform u in (0, 1) (Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", SPAA 2005).
pub(crate) fn score(server: HashKey, key: HashKey, ratio: u32) -> f64 {
    let uniform = ((mixed(server.0 ^ mixed(key.0)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -f64::from(ratio) / uniform.ln()
}

/// The finaliser of SplitMix64: each input bit changes each output bit with probability one half.
fn mixed(mut bits: u64) -> u64 {
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
        let scores =
            ["10.0.0.1:80", "10.0.0.2:80"].map(|server| score(HashKey::of(server.as_bytes()), HashKey::of(b"/"), 1));
        assert_eq!(scores.map(|score| (score * 1e6).round() as u64), [2_204_291, 1_212_179]);
    }

    #[test]
    fn score_is_finite_at_both_ends_of_the_uniform() {
        for bits in [0, 1, u64::MAX, u64::MAX - 1] {
            assert!(score(HashKey(bits), HashKey(bits), 20).is_finite());
        }
    }
}
