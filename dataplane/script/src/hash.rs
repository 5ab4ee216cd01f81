//! Hashes that the library of cryptography does not offer. Neither of them keeps a secret.

/// Of each step (RFC 1321 §3.4): the fraction of a sine.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];
/// How far the steps of each round shift, in turn.
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
const BLOCK_BYTES: usize = 64;

/// MD5 (RFC 1321).
pub(crate) fn md5(text: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let blocks = text.chunks_exact(BLOCK_BYTES);
    let rest = blocks.remainder();
    blocks.for_each(|block| mix(&mut state, block));
    // A bit, and the length in bits at the end of a block.
    let mut end = [0; 2 * BLOCK_BYTES];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let len = if rest.len() + 9 > BLOCK_BYTES { 2 * BLOCK_BYTES } else { BLOCK_BYTES };
    end[len - 8..len].copy_from_slice(&(text.len() as u64).wrapping_mul(8).to_le_bytes());
    end[..len].chunks_exact(BLOCK_BYTES).for_each(|block| mix(&mut state, block));
    let mut out = [0; 16];
    out.chunks_exact_mut(4).zip(state).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    out
}

fn mix(state: &mut [u32; 4], block: &[u8]) {
    let mut words = [0; 16];
    words.iter_mut().zip(block.chunks_exact(4)).for_each(|(word, bytes)| *word = little(bytes));
    let [mut a, mut b, mut c, mut d] = *state;
    for (step, sine) in SINES.into_iter().enumerate() {
        let round = step / 16;
        let (mixed, word) = match round {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(words[word % 16]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(SHIFTS[round][step % 4])));
    }
    for (sum, one) in state.iter_mut().zip([a, b, c, d]) {
        *sum = sum.wrapping_add(one);
    }
}

/// MurmurHash2 with 32 bits and the seed 0.
pub(crate) fn murmur2(text: &[u8]) -> u32 {
    const FACTOR: u32 = 0x5bd1_e995;
    let mut hash = text.len() as u32;
    let words = text.chunks_exact(4);
    let rest = words.remainder();
    for bytes in words {
        let word = little(bytes).wrapping_mul(FACTOR);
        hash = hash.wrapping_mul(FACTOR) ^ (word ^ (word >> 24)).wrapping_mul(FACTOR);
    }
    if !rest.is_empty() {
        hash = (hash ^ little(rest)).wrapping_mul(FACTOR);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(FACTOR);
    hash ^ (hash >> 15)
}

/// At most four bytes, the first of which counts least.
fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        md5(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 1321 Appendix A.5, and lengths around the end of a block.
    #[test]
    fn md5_is_that_of_its_rfc() {
        let digits = "1234567890".repeat(8);
        for (text, wanted) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (digits.as_str(), "57edf4a22be3c955ac49da2e2107b67a"),
            (&"x".repeat(55), "04364420e25c512fd958a70738aa8f72"),
            (&"x".repeat(56), "668a72d5ba17f08e62dabcafad6db14b"),
            (&"x".repeat(63), "7dc2ca208106a2f703567bdff99d8981"),
            (&"x".repeat(64), "c1bb4f81d892b2d57947682aeb252456"),
            (&"x".repeat(65), "1bc932052302d074bdec39795fe00cf6"),
            (&"x".repeat(119), "ab347a5f68c8a443cfcddc633f12c24f"),
            (&"x".repeat(120), "fb98667f98096de92620b64f46e1c5b5"),
            (&"x".repeat(1000), "398533d48111e9f664b1f64cb10c4b63"),
        ] {
            assert_eq!(hex(text), wanted, "{} bytes", text.len());
        }
    }

    #[test]
    fn murmur_hash_takes_each_length() {
        let texts = ["", "a", "ab", "abc", "abcd", "abcde", "the quick brown fox"];
        let wanted = [0, 2456313694, 446775395, 324500635, 646393889, 1594468574, 3008532348];
        assert_eq!(texts.map(|text| murmur2(text.as_bytes())), wanted);
    }
}
