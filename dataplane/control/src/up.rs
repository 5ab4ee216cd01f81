//! Which servers are up: one bit per index of an id, because every worker reports all of them every second.

use weir_telemetry::id;

/// The ids in the set are up. All others are down or unknown.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Up(Vec<u64>);

impl Up {
    pub fn contains(&self, id: u32) -> bool {
        let at = id::index(id);
        self.0.get(at / 64).is_some_and(|bits| bits & (1 << (at % 64)) != 0)
    }

    /// Keeps the ids that are also in `other`.
    pub fn retain(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(mine, others)| *mine &= others);
    }
}

impl FromIterator<u32> for Up {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut bits = Vec::new();
        for at in ids.into_iter().map(id::index) {
            let word = at / 64;
            if bits.len() <= word {
                bits.resize(word + 1, 0);
            }
            bits[word] |= 1 << (at % 64);
        }
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_up_if_it_is_up_on_every_worker() {
        let mut up = Up::from_iter([700, 0, 63, 64]);
        assert!([0, 63, 64, 700].iter().all(|id| up.contains(*id)));
        assert!([1, 65, 699, 100_000].iter().all(|id| !up.contains(*id)));
        up.retain(&Up::from_iter([64, 63, 5]));
        assert_eq!([0, 5, 63, 64, 700].map(|id| up.contains(id)), [false, false, true, true, false]);
        assert!(Up::from_iter([id::successor(3)]).contains(id::successor(3)), "a later generation needs no more bits");
    }
}
