//! Numbers that name requests, their traces and their spans.

use crate::io::Io;

/// Makes the numbers of traces, spans and requests: xoroshiro128++ (Blackman and Vigna). They have to differ, and are no secrets.
#[derive(Default)]
pub(crate) struct Draws([u64; 2]);

impl Draws {
    #[inline]
    pub fn next<I: Io>(&mut self, io: &mut I) -> u64 {
        if self.0 == [0; 2] {
            self.seed(io.random());
        }
        self.step()
    }

    #[inline]
    fn step(&mut self) -> u64 {
        let [a, b] = self.0;
        let drawn = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        let mixed = a ^ b;
        self.0 = [a.rotate_left(49) ^ mixed ^ (mixed << 21), mixed.rotate_left(28)];
        drawn
    }

    #[cold]
    fn seed(&mut self, random: [u8; 16]) {
        let (halves, _) = random.as_chunks();
        self.0 = [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1]) | 1];
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    /// As the authors wrote it: https://prng.di.unimi.it/xoroshiro128plusplus.c.
    #[test]
    fn numbers_are_those_of_the_reference_and_differ() {
        let mut random = [0; 16];
        (random[0], random[8]) = (1, 3);
        let mut draws = super::Draws::default();
        draws.seed(random);
        let mut state: [u64; 2] = [1, 3];
        let mut seen = HashSet::new();
        for _ in 0..10_000 {
            let [s0, mut s1] = state;
            let expected = s0.wrapping_add(s1).rotate_left(17).wrapping_add(s0);
            s1 ^= s0;
            state = [s0.rotate_left(49) ^ s1 ^ (s1 << 21), s1.rotate_left(28)];
            let drawn = draws.step();
            assert_eq!(drawn, expected);
            assert!(seen.insert(drawn), "{drawn} comes twice");
        }
    }
}
