//! Small dense numbers for things with long names, kept over snapshots: what tables on the hot path are indexed by.
//!
//! The numbers depend on the Plans alone, in their order: workers that see the same Plans give the same numbers.

use std::collections::VecDeque;

use foldhash::HashMap;

/// So many freed ids are kept back before the oldest is given to a newcomer: connections of the object that had it may
/// still be ending. Tables by id have at most this many idle rows.
const QUARANTINE: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    by_key: HashMap<String, u32>,
    /// Oldest first.
    free: VecDeque<u32>,
    next: u32,
}

impl Ids {
    /// The ids of `keys`, taken over from `self` where it has them, and those that named something else before.
    pub fn renewed(&self, keys: impl Iterator<Item = String>) -> (Self, Vec<u32>) {
        let mut renewed = Self { by_key: HashMap::default(), ..self.clone() };
        let mut newcomers = Vec::new();
        for key in keys {
            match self.by_key.get(&key) {
                Some(id) => drop(renewed.by_key.insert(key, *id)),
                None => newcomers.push(key),
            }
        }
        let gone = self.by_key.iter().filter(|(key, _)| !renewed.by_key.contains_key(*key));
        let mut gone: Vec<u32> = gone.map(|(_, id)| *id).collect();
        gone.sort_unstable();

        let mut recycled = Vec::new();
        for key in newcomers {
            let id = renewed.take(&mut recycled);
            renewed.by_key.insert(key, id);
        }
        // Last, so that what is freed here is not reused here.
        renewed.free.extend(gone);
        (renewed, recycled)
    }

    /// Every key of the Plan has an id.
    pub fn of(&self, key: &str) -> u32 {
        let id = self.by_key.get(key);
        debug_assert!(id.is_some(), "{key} was not numbered");
        id.copied().unwrap_or(u32::MAX)
    }

    fn take(&mut self, recycled: &mut Vec<u32>) -> u32 {
        if self.free.len() > QUARANTINE
            && let Some(id) = self.free.pop_front()
        {
            recycled.push(id);
            return id;
        }
        self.next += 1;
        self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(range: std::ops::Range<usize>) -> impl Iterator<Item = String> {
        range.map(|number| number.to_string())
    }

    #[test]
    fn id_stays_with_its_key_and_newcomers_are_dense() {
        let (first, _) = Ids::default().renewed(keys(0..3));
        assert_eq!([first.of("0"), first.of("1"), first.of("2")], [0, 1, 2]);
        let (second, recycled) = first.renewed(keys(1..5));
        assert_eq!([second.of("1"), second.of("2"), second.of("3"), second.of("4")], [1, 2, 3, 4]);
        assert!(recycled.is_empty());
    }

    #[test]
    fn freed_id_is_reused_oldest_first_once_the_quarantine_is_full() {
        let (first, _) = Ids::default().renewed(keys(0..QUARANTINE + 2));
        let (none, _) = first.renewed(keys(0..0));
        let (again, recycled) = none.renewed(keys(5000..5003));
        assert_eq!(recycled, [0, 1]);
        assert_eq!([again.of("5000"), again.of("5001")], [0, 1]);
        assert_eq!(again.of("5002"), QUARANTINE as u32 + 2);
    }

    #[test]
    fn table_stays_small_however_many_come_and_go() {
        let mut ids = Ids::default();
        for round in 0..50 {
            (ids, _) = ids.renewed(keys(round * 100..round * 100 + 100));
        }
        assert!(ids.next as usize <= QUARANTINE + 300, "{}", ids.next);
    }

    #[test]
    fn two_workers_number_alike() {
        let plans = [0..2000, 500..700, 600..3000, 0..10, 100..2500];
        let number = || plans.iter().fold(Ids::default(), |ids, plan| ids.renewed(keys(plan.clone())).0);
        let (one, other) = (number(), number());
        assert!(keys(100..2500).all(|key| one.of(&key) == other.of(&key)));
    }
}
