//! A map of limited size that keeps the newest entries: when it is full, a new entry replaces the oldest.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

#[derive(Debug)]
pub struct Bounded<K, V> {
    kept: HashMap<K, V>,
    /// Oldest first.
    order: VecDeque<K>,
    most: usize,
}

impl<K: Hash + Eq + Clone, V> Bounded<K, V> {
    pub fn new(most: usize) -> Self {
        Self { kept: HashMap::new(), order: VecDeque::new(), most }
    }

    pub fn find(&mut self, key: &K) -> Option<&mut V> {
        self.kept.get_mut(key)
    }

    pub fn find_or_put(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        if !self.kept.contains_key(&key) {
            if self.order.len() >= self.most
                && let Some(oldest) = self.order.pop_front()
            {
                self.kept.remove(&oldest);
            }
            self.order.push_back(key.clone());
        }
        self.kept.entry(key).or_insert_with(make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomer_takes_the_place_of_the_oldest() {
        let mut map = Bounded::new(2);
        for key in [1, 2, 1, 3] {
            map.find_or_put(key, || key * 10);
        }
        assert_eq!([1, 2, 3].map(|key| map.find(&key).copied()), [None, Some(20), Some(30)]);
    }
}
