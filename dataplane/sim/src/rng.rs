//! Randomness of a simulation: splitmix64, so that a seed gives the same numbers on every machine and in every version.

#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own, which later draws from this one do not disturb.
    pub fn fork(&mut self) -> Rng {
        Rng(self.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high);
        low + self.next() % (high - low + 1)
    }

    /// True `percent` times out of a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// A length that is often small and now and then near `most`.
    pub fn length(&mut self, most: u64) -> u64 {
        let bits = 64 - most.leading_zeros() as u64;
        let magnitude = self.between(0, bits);
        (self.next() & ((1u128 << magnitude) as u64).wrapping_sub(1)).min(most)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize]
    }
}

/// The body that belongs to `id`: always the same bytes, and different from the body of any other id.
pub struct BodyOf {
    rng: Rng,
    word: [u8; 8],
    used: usize,
    /// Bytes so far.
    pub len: usize,
}

impl BodyOf {
    pub fn new(id: u64) -> Self {
        Self { rng: Rng::new(id), word: [0; 8], used: 8, len: 0 }
    }

    /// Whether `bytes` are what comes next.
    pub fn continues_with(&mut self, bytes: &[u8]) -> bool {
        let (start, rest) = bytes.split_at((self.word.len() - self.used).min(bytes.len()));
        let (words, end) = rest.as_chunks();
        start.iter().all(|byte| *byte == self.next())
            && words.iter().all(|word| *word == self.next_word())
            && end.iter().all(|byte| *byte == self.next())
    }

    /// Eight bytes at once, where a word begins.
    fn next_word(&mut self) -> [u8; 8] {
        self.len += self.word.len();
        self.rng.next().to_le_bytes()
    }

    fn next(&mut self) -> u8 {
        if self.used == self.word.len() {
            self.word = self.rng.next().to_le_bytes();
            self.used = 0;
        }
        self.used += 1;
        self.len += 1;
        self.word[self.used - 1]
    }
}

pub fn body_of(id: u64, len: usize) -> Vec<u8> {
    let mut body = BodyOf::new(id);
    let mut bytes = Vec::with_capacity(len + body.word.len());
    while bytes.len() < len {
        bytes.extend(body.next_word());
    }
    bytes.truncate(len);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_of_one_id_is_a_prefix_of_its_longer_body_and_of_no_other() {
        let whole = body_of(7, 100);
        let mut body = BodyOf::new(7);
        let pieces = [&whole[..3], &whole[3..5], &whole[5..33], &whole[33..]];
        assert!(pieces.iter().all(|piece| body.continues_with(piece)));
        assert_eq!(body.len, whole.len());
        assert!(!BodyOf::new(8).continues_with(&whole[..16]));
    }

    #[test]
    fn length_stays_within_its_bound() {
        let mut rng = Rng::new(1);
        assert!((0..10_000).all(|_| rng.length(1000) <= 1000));
    }
}
