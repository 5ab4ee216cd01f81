//! What has been counted for the limits of one virtual service, by all workers of an engine and through all Plans.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use foldhash::{HashMap, HashMapExt};

use crate::{Beyond, Gauge, Key, Moment, rate::Rate, table::Table};

/// Keys that have cells at once. Memory: 1 MiB when all are used.
const KEYS: usize = 64 * 1024;
/// Limits without keys. They have a table of their own, where no flood of keys reaches them.
const LIMITS: usize = 4 * 1024;

/// A rate, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    id: u64,
    rate: Rate,
}

impl Limit {
    /// Limits with one name in one scope are the same limit; with other numbers it begins anew.
    pub fn new(scope: &str, name: &str, count: u32, period_s: u32, burst: u32) -> Self {
        let of_numbers =
            [count, period_s, burst].into_iter().fold(0, |all: u64, number| all.rotate_left(21) ^ u64::from(number));
        let id = Key::of(of_numbers, 0).text(scope.as_bytes()).text(name.as_bytes()).hash();
        Self { id, rate: Rate::new(count, period_s, burst) }
    }
}

#[derive(Debug)]
pub struct Tally {
    seed: u64,
    of_keys: Table,
    of_limits: Table,
    open: Gauge,
    /// That serve the virtual service.
    engines: AtomicU32,
}

impl Tally {
    /// `seed`: the engine's own.
    pub fn new(seed: u64) -> Self {
        let (of_keys, of_limits) = (Table::of_keys(KEYS), Table::of_keys(LIMITS));
        Self { seed, of_keys, of_limits, open: Gauge::default(), engines: AtomicU32::new(1) }
    }

    /// So many engines serve the virtual service now. Limits without keys are shared out evenly over them: each engine lets
    /// its part pass, whatever comes to the others.
    pub fn share_with(&self, engines: u32) {
        self.engines.store(engines, Relaxed);
    }

    /// Its connections with a place.
    pub fn open(&self) -> &Gauge {
        &self.open
    }

    /// The key of a limit, to which is added what is counted apart.
    #[inline]
    pub fn key(&self, limit: &Limit) -> Key {
        Key::of(self.seed, limit.id)
    }

    /// An event of a key of the limit comes.
    #[inline]
    pub fn admit(&self, limit: &Limit, key: &Key, at: Moment) -> Result<(), Beyond> {
        self.of_keys.admit(key, &limit.rate, at)
    }

    /// The same for a limit that counts all events together.
    #[inline]
    pub fn admit_any(&self, limit: &Limit, at: Moment) -> Result<(), Beyond> {
        let key = self.key(limit);
        match self.engines.load(Relaxed) {
            0 | 1 => self.of_limits.admit(&key, &limit.rate, at),
            engines => self.of_limits.admit(&key, &limit.rate.shared(engines), at),
        }
    }
}

/// Finds the tally of a virtual service, so that its snapshots, one per worker and Plan, share it. A tally ends with the last
/// snapshot that has it.
#[derive(Clone, Debug)]
pub struct Tallies {
    seed: u64,
    known: Arc<Mutex<HashMap<String, Weak<Tally>>>>,
}

impl Tallies {
    pub fn new(seed: u64) -> Self {
        Self { seed, known: Arc::new(Mutex::new(HashMap::new())) }
    }

    pub fn of(&self, service: &str) -> Arc<Tally> {
        // Nothing here panics halfway.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = known.get(service).and_then(Weak::upgrade) {
            return tally;
        }
        known.retain(|_, tally| tally.strong_count() > 0);
        let tally = Arc::new(Tally::new(self.seed));
        known.insert(service.to_owned(), Arc::downgrade(&tally));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    #[test]
    fn snapshots_share_the_tally_of_a_virtual_service_until_the_last_has_gone() {
        let tallies = Tallies::new(1);
        let (one, other) = (tallies.of("a"), tallies.clone().of("a"));
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &tallies.of("b")));
        let limit = Limit::new("set", "rule", 1, 60, 0);
        assert!(
            one.admit_any(&limit, Moment::counting(5)).is_ok() && other.admit_any(&limit, Moment::counting(5)).is_err()
        );
        drop((one, other));
        assert!(tallies.of("a").admit_any(&limit, Moment::counting(5)).is_ok());
        assert_eq!(tallies.known.lock().expect("sound").len(), 1);
    }

    #[test]
    fn keys_and_limits_without_keys_are_counted_apart() {
        let (tally, limit) = (Tally::new(1), Limit::new("set", "rule", 1, 60, 0));
        let key = |text: &[u8]| tally.key(&limit).text(text);
        assert!(
            tally.admit_any(&limit, Moment::counting(5)).is_ok()
                && tally.admit_any(&limit, Moment::looking(5)).is_err()
        );
        for text in [&b"a"[..], b"b"] {
            assert!(tally.admit(&limit, &key(text), Moment::counting(5)).is_ok());
            assert!(tally.admit(&limit, &key(text), Moment::looking(5)).is_err());
        }
        assert!(tally.admit(&limit, &key(b"a"), Moment::looking(MINUTE + 5)).is_ok());
    }

    #[test]
    fn limit_with_other_numbers_begins_anew() {
        let tally = Tally::new(1);
        let limits = [(1, 60, 0), (60, 1, 0), (1, 60, 5), (2, 60, 0)];
        for (count, period_s, burst) in limits {
            let limit = Limit::new("set", "rule", count, period_s, burst);
            assert!(tally.admit_any(&limit, Moment::counting(5)).is_ok());
        }
        assert!(tally.admit_any(&Limit::new("set", "rule", 1, 60, 0), Moment::counting(5)).is_err());
        assert!(tally.admit_any(&Limit::new("set", "other", 1, 60, 0), Moment::counting(5)).is_ok());
        assert!(tally.admit_any(&Limit::new("other", "rule", 1, 60, 0), Moment::counting(5)).is_ok());
    }
}
