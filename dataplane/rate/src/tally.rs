//! What has been counted for the limits of one virtual service, or of the servers of a pool, by all workers of an engine and
//! through all Plans. Each limit counts apart: whatever comes to one of them, the others stay exact.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::AtomicU64};

use foldhash::{HashMap, HashMapExt};

use crate::{
    Beyond, Demand, Gauge, Key, Moment, Place, Share,
    hot::{self, Hot, Places},
    moment::Mode,
    rate::{Rate, Taken},
    table::{Part, Room, Table},
    throughput::Bucket,
};

/// A rate, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    id: u64,
    rate: Rate,
    /// Each engine counts its keys for itself.
    is_own: bool,
}

impl Limit {
    /// Limits with one name in one scope are the same limit; with other numbers it begins anew.
    pub fn new(scope: &str, name: &str, count: u32, period_s: u32, burst: u32) -> Self {
        let of_numbers =
            [count, period_s, burst].into_iter().fold(0, |all: u64, number| all.rotate_left(21) ^ u64::from(number));
        let id = Key::of(of_numbers, 0).text(scope.as_bytes()).text(name.as_bytes()).hash();
        Self { id, rate: Rate::new(count, period_s, burst), is_own: false }
    }

    /// Each engine counts the keys for itself, whatever comes to the others.
    #[must_use]
    pub fn of_engine(mut self) -> Self {
        self.is_own = true;
        self
    }
}

/// The counts of a virtual service, as a snapshot uses them.
#[derive(Debug)]
pub struct Tally {
    seed: u64,
    /// That serve the virtual service.
    engines: u32,
    /// By the ids of limits.
    counts: HashMap<u64, Counted>,
    service: Arc<Service>,
    shared: Arc<Shared>,
    /// Some of its keys are counted over engines.
    _spread: Option<Place>,
}

#[derive(Debug)]
struct Counted {
    count: Arc<Count>,
    /// What passes of a key before the engine asks the others. `None`: it counts for itself.
    quiet: Option<Rate>,
}

/// The engines that serve a virtual service.
#[derive(Clone, Copy, Debug)]
pub struct Engines {
    pub count: u32,
    /// Of their keys, the same for all of them; 0: each engine has its own, and counts keys for itself.
    pub seed: u64,
}

impl From<u32> for Engines {
    fn from(count: u32) -> Self {
        Self { count, seed: 0 }
    }
}

/// What is asked of hot keys of a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demands {
    pub service: Arc<str>,
    pub limit: u64,
    /// That serve the virtual service.
    pub engines: u32,
    /// Between two events at the whole rate.
    pub interval_nanos: u64,
    pub keys: Vec<Demand>,
}

/// What is counted for a limit.
#[derive(Debug)]
struct Count {
    limit: u64,
    service: Arc<str>,
    any: AtomicU64,
    of_keys: Table,
    hot: Hot,
}

/// What the control thread knows of hot keys of all virtual services.
#[derive(Default, Debug)]
struct Shared {
    /// Tallies with keys that are counted over engines.
    spread: Gauge,
    /// Limits that have hot keys, or had some at the last report.
    hot: Mutex<Vec<Weak<Count>>>,
}

/// What all snapshots with a virtual service share.
#[derive(Default, Debug)]
struct Service {
    open: Gauge,
    /// What its limits have of the tables of the engine.
    part: Arc<Part>,
    /// How many of its limits have hot keys.
    hot: Gauge,
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
        match self.counts.get(&limit.id) {
            None => Ok(()),
            Some(Counted { count, quiet: None }) => count.of_keys.admit(key, &limit.rate, at),
            Some(Counted { count, quiet: Some(quiet) }) => self.admit_part(count, quiet, limit, key, at),
        }
    }

    /// Counts an event of a key, of a limit [of each engine](Limit::of_engine). False: there is no room for the key. Error: the
    /// event is beyond the rate, and not counted.
    pub fn count(&self, limit: &Limit, key: &Key, at: Moment) -> Result<bool, Beyond> {
        match self.counts.get(&limit.id).filter(|_| at.mode == Mode::Count) {
            None => Ok(false),
            Some(Counted { count, .. }) => count.of_keys.take(key.hash(), &limit.rate, at.nanos).map(|ahead| ahead > 0),
        }
    }

    /// How many events of a key are counted and not forgotten yet: one is forgotten each time that the rate allows another.
    pub fn used(&self, limit: &Limit, key: &Key, at: Moment) -> u64 {
        let Some(Counted { count, .. }) = self.counts.get(&limit.id) else { return 0 };
        limit.rate.events(count.of_keys.arrival(key.hash()), at.nanos)
    }

    /// Takes back an event of a key that was counted, of a limit [of each engine](Limit::of_engine).
    pub fn forget(&self, limit: &Limit, key: &Key, at: Moment) {
        if let Some(Counted { count, .. }) = self.counts.get(&limit.id).filter(|_| at.mode == Mode::Count) {
            count.of_keys.forget(key.hash(), &limit.rate, at.nanos);
        }
    }

    /// So many events of a key come at once. Those that there is room for are counted. Error: the others are not.
    pub fn admit_many(&self, limit: &Limit, key: &Key, asked: u32, at: Moment) -> Result<(), Beyond> {
        let Some(Counted { count, quiet }) = self.counts.get(&limit.id) else { return Ok(()) };
        let (hash, now, counts, rate) = (key.hash(), at.nanos, at.mode == Mode::Count, &limit.rate);
        match (quiet.as_ref().and_then(|_| count.hot.find(hash)), quiet) {
            (Some(entry), _) if counts => count.hot.take_many(entry, now, asked),
            (Some(entry), _) => count.hot.look_many(entry, now, asked),
            (None, _) if !counts => rate.answer(count.of_keys.look_many(hash, rate, now, asked)),
            (None, None) => rate.answer(count.of_keys.take_many(hash, rate, now, asked)),
            (None, Some(quiet)) => {
                let Taken { refused, ahead } = count.of_keys.take_many(hash, quiet, now, asked);
                if refused == 0 && !quiet.is_used_up(ahead) {
                    return Ok(());
                }
                match self.heat(count, hash, hot::arrival(now, ahead), now) {
                    _ if refused == 0 => Ok(()),
                    Some(entry) => count.hot.take_many(entry, now, refused),
                    // The engine counts for itself.
                    None => rate.answer(count.of_keys.take_many(hash, rate, now, refused)),
                }
            }
        }
    }

    /// Where several engines count.
    fn admit_part(&self, count: &Arc<Count>, quiet: &Rate, limit: &Limit, key: &Key, at: Moment) -> Result<(), Beyond> {
        let (hash, now) = (key.hash(), at.nanos);
        match (count.hot.find(hash), at.mode) {
            (Some(entry), Mode::Count) => count.hot.take(entry, now),
            (Some(entry), Mode::Watch) => count.hot.watch(entry, now),
            (Some(entry), Mode::Look) => count.hot.look(entry, now),
            (None, Mode::Watch | Mode::Look) => count.of_keys.look(hash, &limit.rate, now),
            (None, Mode::Count) => match count.of_keys.take(hash, quiet, now) {
                Ok(ahead) if quiet.is_used_up(ahead) => {
                    self.heat(count, hash, hot::arrival(now, ahead), now);
                    Ok(())
                }
                Ok(_) => Ok(()),
                Err(_) => self.admit_beyond_part(count, hash, limit, now),
            },
        }
    }

    /// Of a key that was hot before, or that found no room among the hot ones.
    #[cold]
    #[inline(never)]
    fn admit_beyond_part(&self, count: &Arc<Count>, hash: u64, limit: &Limit, now: u64) -> Result<(), Beyond> {
        match self.heat(count, hash, count.of_keys.arrival(hash), now) {
            Some(entry) => count.hot.take(entry, now),
            // The engine counts for itself.
            None => count.of_keys.take(hash, &limit.rate, now).map(drop),
        }
    }

    #[cold]
    #[inline(never)]
    fn heat<'a>(&self, count: &'a Arc<Count>, hash: u64, arrival: u64, now: u64) -> Option<&'a hot::Entry> {
        let (entry, is_first) = count.hot.heat(hash, arrival, now)?;
        if is_first {
            self.shared.note_hot(count);
        }
        Some(entry)
    }

    /// The same for a limit that counts all events together.
    #[inline]
    pub fn admit_any(&self, limit: &Limit, at: Moment) -> Result<(), Beyond> {
        let Some(Count { any, .. }) = self.counts.get(&limit.id).map(|counted| &*counted.count) else { return Ok(()) };
        let rate = match self.engines {
            0 | 1 => limit.rate,
            engines => limit.rate.shared(engines),
        };
        match at.mode {
            Mode::Count => rate.take(any, at.nanos).map(drop),
            Mode::Watch | Mode::Look => rate.look(any, at.nanos),
        }
    }
}

/// Finds what is counted for a virtual service, so that its snapshots, one per worker and Plan, share it. The count of a limit
/// ends with the last snapshot that has it.
#[derive(Clone, Debug)]
pub struct Tallies {
    seed: u64,
    room: Arc<Room>,
    places: Arc<Places>,
    shared: Arc<Shared>,
    known: Arc<Mutex<HashMap<String, Weak<Service>>>>,
    buckets: Arc<Mutex<HashMap<String, Weak<Bucket>>>>,
}

impl Tallies {
    /// `seed`: the engine's own.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            room: Arc::default(),
            places: Arc::default(),
            shared: Arc::default(),
            known: Arc::new(Mutex::new(HashMap::new())),
            buckets: Arc::new(Mutex::new(HashMap::new())),
        }
    }

    /// For a virtual service with these limits, which so many engines serve. Limits without keys are shared out evenly over
    /// the engines: each lets its part pass, whatever comes to the others. Hot keys of the others are shared out by what is
    /// asked of each engine.
    pub fn of(&self, service: &str, engines: impl Into<Engines>, limits: impl IntoIterator<Item = Limit>) -> Tally {
        let (uuid, Engines { count: engines, seed }) = (service, engines.into());
        let service = self.service(uuid);
        let mut known = lock(&service.counts);
        let mut spread = None;
        let counted = |limit: Limit| {
            let count = self.count(&mut known, (uuid, &service), limit);
            let is_spread = seed != 0 && engines > 1 && !limit.is_own && limit.rate.has_parts(engines);
            // Keys that are hot end if the engine is alone now.
            count.hot.of_engines(if is_spread { engines } else { 1 });
            if is_spread && spread.is_none() {
                spread = self.shared.spread.enter(u64::MAX);
            }
            (limit.id, Counted { count, quiet: is_spread.then(|| limit.rate.quiet(engines)) })
        };
        let counts = limits.into_iter().map(counted).collect();
        known.retain(|_, count| count.strong_count() > 0);
        drop(known);
        let seed = if seed == 0 { self.seed } else { seed };
        Tally { seed, engines, counts, service, shared: self.shared.clone(), _spread: spread }
    }

    /// For a virtual service that may move so many Mbit/s on this engine; 0: it has no limit. A bucket that there is already
    /// keeps its limit until [`Bucket::change`].
    pub fn bucket(&self, service: &str, mbps: u64) -> Option<Arc<Bucket>> {
        if mbps == 0 {
            return None;
        }
        let mut known = lock(&self.buckets);
        let bucket = known.get(service).and_then(Weak::upgrade);
        bucket.or_else(|| {
            forget_gone(&mut known);
            let bucket = Arc::new(Bucket::new(mbps));
            known.insert(service.to_owned(), Arc::downgrade(&bucket));
            Some(bucket)
        })
    }

    /// Whether there may be something to report.
    pub fn is_spread(&self) -> bool {
        !self.shared.spread.is_empty() || !lock(&self.shared.hot).is_empty()
    }

    /// What is asked of hot keys since the last report: of at most so many. The others have their turn next time. `now` is in
    /// nanoseconds.
    pub fn demands(&self, now: u64, most: usize) -> Vec<Demands> {
        self.shared.demands(now, most)
    }

    /// The broker says which shares of hot keys this engine has. `now` is in nanoseconds.
    pub fn hear(&self, service: &str, limit: u64, shares: impl IntoIterator<Item = Share>, now: u64) {
        let Some(service) = lock(&self.known).get(service).and_then(Weak::upgrade) else { return };
        let Some(count) = lock(&service.counts).get(&limit).and_then(Weak::upgrade) else { return };
        if count.hot.engines() > 1 {
            shares.into_iter().for_each(|share| count.hot.hear(share, || count.of_keys.arrival(share.tag), now));
            if count.hot.len() > 0 {
                self.shared.note_hot(&count);
            }
        }
    }

    fn service(&self, uuid: &str) -> Arc<Service> {
        let mut known = lock(&self.known);
        if let Some(service) = known.get(uuid).and_then(Weak::upgrade) {
            return service;
        }
        forget_gone(&mut known);
        let service = Arc::default();
        known.insert(uuid.to_owned(), Arc::downgrade(&service));
        service
    }

    fn count(
        &self,
        known: &mut HashMap<u64, Weak<Count>>,
        (uuid, service): (&str, &Service),
        limit: Limit,
    ) -> Arc<Count> {
        if let Some(count) = known.get(&limit.id).and_then(Weak::upgrade) {
            return count;
        }
        let count = Count {
            limit: limit.id,
            service: uuid.into(),
            any: AtomicU64::default(),
            of_keys: Table::within(self.room.clone(), service.part.clone()),
            hot: Hot::new(limit.rate, self.places.clone(), service.hot.clone()),
        };
        let count = Arc::new(count);
        known.insert(limit.id, Arc::downgrade(&count));
        count
    }
}

/// Makes room for one more. Not each time: many come at once, and each would walk over all of them.
fn forget_gone<T>(known: &mut HashMap<String, Weak<T>>) {
    if known.len() == known.capacity() {
        known.retain(|_, one| one.strong_count() > 0);
        known.reserve(known.len() + 1);
    }
}

impl Shared {
    fn note_hot(&self, count: &Arc<Count>) {
        let mut hot = lock(&self.hot);
        hot.retain(|known| known.strong_count() > 0);
        if !hot.iter().any(|known| known.as_ptr() == Arc::as_ptr(count)) {
            hot.push(Arc::downgrade(count));
        }
    }

    fn demands(&self, now: u64, most: usize) -> Vec<Demands> {
        let mut hot = Vec::new();
        lock(&self.hot).retain(|known| {
            hot.extend(known.upgrade().filter(|count| count.hot.len() > 0));
            hot.last().is_some_and(|last| Arc::as_ptr(last) == known.as_ptr())
        });
        let mut left = most;
        let mut reported = Vec::new();
        // Each limit has an equal part of what those before it have left, so that a flood of keys of one delays no other.
        hot.sort_by_cached_key(|count| count.hot.len());
        let all = hot.len();
        for (at, count) in hot.iter().enumerate() {
            let mut keys = Vec::new();
            count.hot.collect(&count.of_keys, now, left / (all - at), &mut keys);
            left -= keys.len();
            if !keys.is_empty() {
                reported.push(Demands {
                    service: count.service.clone(),
                    limit: count.limit,
                    engines: count.hot.engines(),
                    interval_nanos: count.hot.interval_nanos(),
                    keys,
                });
            }
        }
        reported
    }
}

/// Nothing panics halfway while it holds one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ration;

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
        (0..99).for_each(|at| drop(tallies.of(&at.to_string(), 1, [limit])));
        assert!(tallies.known.lock().expect("sound").len() < 9, "what has gone is forgotten");
    }

    #[test]
    fn event_is_counted_unless_its_key_finds_no_room_or_has_used_its_rate() {
        let (tallies, limit, at) = (Tallies::new(1), once("events").of_engine(), Moment::counting(5));
        let tally = tallies.of("a", 1, [limit]);
        let key = |n: u32| tally.key(&limit).text(&n.to_be_bytes());
        assert_eq!(tally.count(&limit, &key(0), at), Ok(true));
        assert!(tally.count(&limit, &key(0), at).is_err());
        let lost = (1..500_000).map(key).find(|key| tally.count(&limit, key, at) == Ok(false));
        let lost = lost.expect("a key that finds no room");
        assert_eq!((tally.used(&limit, &lost, at), tally.used(&limit, &key(0), at)), (0, 1));
        assert_eq!(tally.count(&once("other"), &key(0), at), Ok(false), "the tally is not made for it");
        assert_eq!(tally.count(&limit, &key(0), Moment::looking(5)), Ok(false));
    }

    #[test]
    fn snapshots_share_the_bucket_of_a_virtual_service() {
        let tallies = Tallies::new(1);
        let bucket = |service, mbps| tallies.clone().bucket(service, mbps);
        let (one, other) = (bucket("a", 5).expect("a limit"), bucket("a", 7).expect("a limit"));
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &bucket("b", 7).expect("a limit")));
        assert!(bucket("a", 0).is_none());
        let mut ration = Ration::of(one.clone());
        let bytes = ration.ask(5);
        assert!(Arc::ptr_eq(&one, &bucket("a", 1_000).expect("a limit")));
        assert_eq!(Ration::of(one).ask(5), bytes, "it has the limit that it had");
        (0..99).for_each(|at| drop(tallies.bucket(&at.to_string(), 1)));
        assert!(tallies.buckets.lock().expect("sound").len() < 9, "what has gone is forgotten");
    }

    #[test]
    fn limits_of_one_service_leave_places_of_hot_keys_to_others() {
        let tallies = Tallies::new(1);
        let limits: Vec<Limit> = (0..64).map(|at| Limit::new("set", &at.to_string(), 100, 1, 0)).collect();
        let of = |service| tallies.of(service, Engines { count: 2, seed: 7 }, limits.iter().copied());
        let hot = |tally: &Tally| {
            for limit in &limits {
                let key = tally.key(limit).text(b"a");
                (0..99).for_each(|_| _ = tally.admit(limit, &key, Moment::counting(MINUTE)));
            }
            tally.counts.values().filter(|counted| counted.count.hot.len() > 0).count()
        };
        let tally = of("a");
        assert_eq!((hot(&tally), hot(&of("b"))), (8, 8));
        drop(tally);
        assert_eq!(hot(&of("a")), 8, "what has gone leaves its part");
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
    fn what_is_counted_is_forgotten_evenly() {
        let limit = Limit::new("set", "rule", 60, 3_600, 0).of_engine();
        let tally = Tallies::new(1).of("", 1, [limit]);
        let key = tally.key(&limit).text(b"a");
        let used = |minutes: u64| tally.used(&limit, &key, Moment::looking(1 + minutes * MINUTE));
        assert_eq!(used(0), 0);
        let passed = (0..70).filter(|_| tally.admit(&limit, &key, Moment::counting(1)).is_ok()).count();
        assert_eq!(passed, 60);
        assert_eq!([used(0), used(1), used(50), used(60)], [60, 59, 10, 0], "no more than the limit is counted");
        assert_eq!(tally.used(&once("other"), &key, Moment::looking(1)), 0, "it is not counted here");
        tally.forget(&limit, &key, Moment::looking(1));
        tally.forget(&limit, &tally.key(&limit).text(b"b"), Moment::counting(1));
        assert_eq!(used(0), 60, "neither who looks takes one back, nor another key");
        tally.forget(&limit, &key, Moment::counting(1));
        assert_eq!(used(0), 59);
    }

    #[test]
    fn engine_counts_keys_of_its_own_limits_for_itself() {
        let limit = Limit::new("set", "rule", 100, 60, 0);
        let hot = |limit: Limit| {
            let tallies = Tallies::new(1);
            let tally = tallies.of("", Engines { count: 4, seed: 9 }, [limit]);
            let key = tally.key(&limit).text(b"a");
            let passed = (0..100).filter(|_| tally.admit(&limit, &key, Moment::counting(5)).is_ok()).count();
            (passed, tallies.demands(6, 9).len())
        };
        assert_eq!((hot(limit).1, hot(limit.of_engine())), (1, (100, 0)));
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
