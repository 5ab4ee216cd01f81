//! What has been counted for the limits of one virtual service, by all workers of an engine and through all Plans. Each
//! limit counts apart: whatever comes to one of them, the others stay exact.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::AtomicU64};

use foldhash::{HashMap, HashMapExt};

use crate::{
    Beyond, Gauge, Key, Moment,
    moment::Mode,
    rate::Rate,
    table::{Room, Table},
};

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

/// The counts of a virtual service, as a snapshot uses them.
#[derive(Debug)]
pub struct Tally {
    seed: u64,
    /// That serve the virtual service.
    engines: u32,
    /// By the ids of limits.
    counts: HashMap<u64, Arc<Count>>,
    service: Arc<Service>,
}

/// What is counted for a limit.
#[derive(Debug)]
struct Count {
    any: AtomicU64,
    of_keys: Table,
}

/// What all snapshots with a virtual service share.
#[derive(Default, Debug)]
struct Service {
    open: Gauge,
    counts: Mutex<HashMap<u64, Weak<Count>>>,
}

impl Tally {
    /// Its connections with a place.
    pub fn open(&self) -> &Gauge {
        &self.service.open
    }

    /// The key of a limit, to which is added what is counted apart.
    #[inline]
    pub fn key(&self, limit: &Limit) -> Key {
        Key::of(self.seed, limit.id)
    }

    /// An event of a key of the limit comes. It passes if the tally is not made for the limit.
    #[inline]
    pub fn admit(&self, limit: &Limit, key: &Key, at: Moment) -> Result<(), Beyond> {
        self.counts.get(&limit.id).map_or(Ok(()), |count| count.of_keys.admit(key, &limit.rate, at))
    }

    /// The same for a limit that counts all events together.
    #[inline]
    pub fn admit_any(&self, limit: &Limit, at: Moment) -> Result<(), Beyond> {
        let Some(Count { any, .. }) = self.counts.get(&limit.id).map(|count| &**count) else { return Ok(()) };
        let rate = match self.engines {
            0 | 1 => limit.rate,
            engines => limit.rate.shared(engines),
        };
        match at.mode {
            Mode::Count => rate.take(any, at.nanos),
            Mode::Look => rate.look(any, at.nanos),
        }
    }
}

/// Finds what is counted for a virtual service, so that its snapshots, one per worker and Plan, share it. The count of a limit
/// ends with the last snapshot that has it.
#[derive(Clone, Debug)]
pub struct Tallies {
    seed: u64,
    room: Arc<Room>,
    known: Arc<Mutex<HashMap<String, Weak<Service>>>>,
}

impl Tallies {
    /// `seed`: the engine's own.
    pub fn new(seed: u64) -> Self {
        Self { seed, room: Arc::default(), known: Arc::new(Mutex::new(HashMap::new())) }
    }

    /// For a virtual service with these limits, which so many engines serve. Limits without keys are shared out evenly over
    /// the engines: each lets its part pass, whatever comes to the others.
    pub fn of(&self, service: &str, engines: u32, limits: impl IntoIterator<Item = Limit>) -> Tally {
        let service = self.service(service);
        let mut known = lock(&service.counts);
        let counts = limits.into_iter().map(|limit| (limit.id, self.count(&mut known, limit.id))).collect();
        known.retain(|_, count| count.strong_count() > 0);
        drop(known);
        Tally { seed: self.seed, engines, counts, service }
    }

    fn service(&self, uuid: &str) -> Arc<Service> {
        let mut known = lock(&self.known);
        if let Some(service) = known.get(uuid).and_then(Weak::upgrade) {
            return service;
        }
        known.retain(|_, service| service.strong_count() > 0);
        let service = Arc::default();
        known.insert(uuid.to_owned(), Arc::downgrade(&service));
        service
    }

    fn count(&self, known: &mut HashMap<u64, Weak<Count>>, limit: u64) -> Arc<Count> {
        if let Some(count) = known.get(&limit).and_then(Weak::upgrade) {
            return count;
        }
        let count = Count { any: AtomicU64::default(), of_keys: Table::within(self.room.clone()) };
        let count = Arc::new(count);
        known.insert(limit, Arc::downgrade(&count));
        count
    }
}

/// Nothing panics halfway while it holds one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    fn once(name: &str) -> Limit {
        Limit::new("set", name, 1, 60, 0)
    }

    #[test]
    fn snapshots_share_what_a_limit_has_counted_until_the_last_has_gone() {
        let (tallies, limit) = (Tallies::new(1), once("rule"));
        let passes = |tally: &Tally| tally.admit_any(&limit, Moment::counting(5)).is_ok();
        let (one, other) = (tallies.of("a", 1, [limit]), tallies.clone().of("a", 1, [limit, once("other")]));
        assert!(passes(&one) && !passes(&other) && passes(&tallies.of("b", 1, [limit])));
        drop((one, other));
        assert!(passes(&tallies.of("a", 1, [limit])));
        assert_eq!(tallies.known.lock().expect("sound").len(), 1);
    }

    #[test]
    fn limit_that_has_gone_leaves_nothing() {
        let (tallies, limit) = (Tallies::new(1), once("rule"));
        let kept = tallies.of("a", 1, [once("other"), limit]);
        let later = tallies.of("a", 1, [once("other")]);
        drop(kept);
        assert_eq!(tallies.of("a", 1, [once("other")]).service.counts.lock().expect("sound").len(), 1);
        assert!((0..9).all(|_| later.admit_any(&limit, Moment::counting(5)).is_ok()), "no limit of this snapshot");
    }

    #[test]
    fn keys_and_limits_without_keys_are_counted_apart() {
        let limit = once("rule");
        let tally = Tallies::new(1).of("", 1, [limit]);
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
        let numbers = [(1, 60, 0), (60, 1, 0), (1, 60, 5), (2, 60, 0)];
        let limits = numbers.map(|(count, period_s, burst)| Limit::new("set", "rule", count, period_s, burst));
        let others = [Limit::new("set", "other", 1, 60, 0), Limit::new("other", "rule", 1, 60, 0)];
        let tally = Tallies::new(1).of("", 1, limits.into_iter().chain(others));
        let passes = |limit| tally.admit_any(limit, Moment::counting(5)).is_ok();
        assert!(limits.iter().all(passes));
        assert!(!passes(&limits[0]));
        assert!(others.iter().all(passes));
    }
}
