//! What scripts keep from one request to the next: the tables of a virtual service. All workers of the engine share them,
//! and through all Plans. A table is a part of the key, so that there may be any number of them.

use std::{
    hash::BuildHasher,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use foldhash::{HashMap, quality::RandomState};

/// Locked one by one.
const SHARDS: usize = 64;
/// 65,536 in all.
const SHARD_ENTRIES_MAX: usize = 1024;
/// How many values a full shard forgets at once: looking for them takes a walk over all.
const SHARD_ENTRIES_EVICTED: usize = 64;
/// A map with room for so many does not shrink.
const SMALL_SHARD: usize = 28;
/// Of the names of table and key, and of the value, together.
pub(crate) const ENTRY_BYTES_MAX: usize = 1024;
/// Of all virtual services of an engine.
const ENGINE_BYTES_MAX: usize = 256 << 20;
/// Whoever comes first may have it.
const COMMON_BYTES: usize = ENGINE_BYTES_MAX / 2;
/// Of what lies between, a virtual service may have as much as is still free. So there is some for the next one, and those
/// that keep nothing take nothing from the others. The rest is divided equally: each has its part, whatever others keep.
const FREE_BYTES: usize = ENGINE_BYTES_MAX / 4 * 3;
/// What an entry needs beside its bytes.
const OVERHEAD_BYTES: usize = 128;
/// How many entries a step of a sweep looks at. To free all of them takes some milliseconds.
const SWEPT_AT_ONCE: usize = 4 * SHARD_ENTRIES_MAX;
const NANOS_PER_S: u64 = 1_000_000_000;

/// The tables of a virtual service.
#[derive(Debug)]
pub struct Store {
    shards: [Mutex<Shard>; SHARDS],
    /// Clients invent keys: they cannot know which come together.
    hasher: RandomState,
    held: Held,
}

#[derive(Default, Debug)]
struct Shard {
    entries: HashMap<Box<[u8]>, Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    value: Box<[u8]>,
    ends_ns: u64,
}

/// A value, and for how many seconds it is still there.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub value: Vec<u8>,
    pub left_s: u64,
}

/// Finds the store of a virtual service, so that its snapshots, one per worker and Plan, share it. A store ends with the
/// last snapshot that has it.
#[derive(Clone, Default, Debug)]
pub struct Stores(Arc<Engine>);

/// What all stores of an engine share.
#[derive(Default, Debug)]
struct Engine {
    known: Mutex<HashMap<String, Weak<Store>>>,
    stores: AtomicUsize,
    bytes: AtomicUsize,
    sweep: Mutex<Sweep>,
}

/// A walk over all stores that forgets what has ended.
#[derive(Default, Debug)]
struct Sweep {
    /// Stores to walk over; the last one comes first.
    stores: Vec<Weak<Store>>,
    /// Where it goes on in the last one.
    shard: usize,
}

/// The bytes of a store.
#[derive(Debug)]
struct Held {
    bytes: AtomicUsize,
    engine: Arc<Engine>,
}

impl Stores {
    pub fn of(&self, service: &str) -> Arc<Store> {
        let mut known = lock(&self.0.known);
        if let Some(store) = known.get(service).and_then(Weak::upgrade) {
            return store;
        }
        // Not each time: a Plan has many, and each would walk over all of them.
        if known.len() == known.capacity() {
            known.retain(|_, store| store.strong_count() > 0);
            let more = known.len() + 1;
            known.reserve(more);
        }
        let store = Arc::new(Store::within(self.0.clone()));
        known.insert(service.to_owned(), Arc::downgrade(&store));
        store
    }

    /// Forgets values that have ended, whosever they are: a step, or the begin, of a walk over all. True: it goes on with the
    /// next call. A step takes too long for a thread that serves requests.
    pub fn sweep(&self, now_ns: u64) -> bool {
        let mut sweep = lock(&self.0.sweep);
        if sweep.stores.is_empty() {
            sweep.stores = lock(&self.0.known).values().cloned().collect();
        }
        let mut looked_at = 0;
        while looked_at < SWEPT_AT_ONCE
            && let Some(store) = sweep.stores.last()
        {
            match store.upgrade().filter(|store| sweep.shard < SHARDS && store.held.bytes.load(Relaxed) > 0) {
                Some(store) => {
                    let mut shard = lock(&store.shards[sweep.shard]);
                    looked_at += 1 + shard.entries.len();
                    shard.forget_ended(now_ns, &store.held);
                    sweep.shard += 1;
                }
                None => {
                    sweep.stores.pop();
                    sweep.shard = 0;
                }
            }
        }
        !sweep.stores.is_empty()
    }

    /// Of all values.
    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Relaxed)
    }
}

impl Held {
    fn within(engine: Arc<Engine>) -> Self {
        engine.stores.fetch_add(1, Relaxed);
        Self { bytes: AtomicUsize::new(0), engine }
    }

    fn takes(&self, more: usize) -> bool {
        let (all, own) = (self.engine.bytes.load(Relaxed) + more, self.bytes.load(Relaxed) + more);
        let part = (ENGINE_BYTES_MAX - FREE_BYTES) / self.engine.stores.load(Relaxed).max(1);
        all <= COMMON_BYTES || (all <= ENGINE_BYTES_MAX && own <= part.max(FREE_BYTES.saturating_sub(all)))
    }

    fn add(&self, more: usize) {
        self.bytes.fetch_add(more, Relaxed);
        self.engine.bytes.fetch_add(more, Relaxed);
    }

    fn take_off(&self, fewer: usize) {
        self.bytes.fetch_sub(fewer, Relaxed);
        self.engine.bytes.fetch_sub(fewer, Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.engine.bytes.fetch_sub(self.bytes.load(Relaxed), Relaxed);
        self.engine.stores.fetch_sub(1, Relaxed);
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::within(Arc::default())
    }
}

impl Store {
    fn within(engine: Arc<Engine>) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::default(),
            held: Held::within(engine),
        }
    }

    /// Keeps a value, or the one that is there already, for so many seconds. False: there is no room, and nothing changes.
    pub(crate) fn insert(&self, key: &Key, value: &[u8], life_s: u32, now_ns: u64) -> bool {
        let (ends_ns, bytes) = (after(now_ns, life_s), bytes_of(&key.0, value));
        let mut shard = self.shard(key);
        if let Some(entry) = shard.find(key, now_ns) {
            entry.ends_ns = ends_ns;
            return true;
        }
        shard.remove(&key.0, &self.held);
        if (shard.entries.len() >= SHARD_ENTRIES_MAX || !self.held.takes(bytes))
            && !shard.make_room(bytes, now_ns, &self.held)
        {
            return false;
        }
        self.held.add(bytes);
        shard.bytes += bytes;
        shard.entries.insert(key.0.clone(), Entry { value: value.into(), ends_ns });
        true
    }

    /// The value stays for at least so many seconds from now on.
    pub(crate) fn look_up(&self, key: &Key, extends_s: u32, now_ns: u64) -> Option<Found> {
        let mut shard = self.shard(key);
        let entry = shard.find(key, now_ns)?;
        entry.ends_ns = entry.ends_ns.max(after(now_ns, extends_s));
        Some(Found { value: entry.value.to_vec(), left_s: (entry.ends_ns - now_ns).div_ceil(NANOS_PER_S) })
    }

    /// False: it was not there.
    pub(crate) fn refresh(&self, key: &Key, extends_s: u32, now_ns: u64) -> bool {
        let mut shard = self.shard(key);
        let Some(entry) = shard.find(key, now_ns) else { return false };
        entry.ends_ns = entry.ends_ns.max(after(now_ns, extends_s));
        true
    }

    pub(crate) fn remove(&self, key: &Key) {
        self.shard(key).remove(&key.0, &self.held);
    }

    fn shard(&self, key: &Key) -> MutexGuard<'_, Shard> {
        lock(&self.shards[self.hasher.hash_one(&key.0) as usize % SHARDS])
    }
}

impl Shard {
    fn find(&mut self, key: &Key, now_ns: u64) -> Option<&mut Entry> {
        self.entries.get_mut(&key.0).filter(|entry| entry.ends_ns > now_ns)
    }

    fn remove(&mut self, key: &[u8], held: &Held) {
        let Some(entry) = self.entries.remove(key) else { return };
        let bytes = bytes_of(key, &entry.value);
        self.bytes -= bytes;
        held.take_off(bytes);
        self.shrink();
    }

    fn forget_ended(&mut self, now_ns: u64, held: &Held) {
        self.retain(held, |ends_ns| ends_ns > now_ns);
    }

    /// Of a full shard: those that end first.
    fn forget_first(&mut self, held: &Held) {
        let mut ends: Vec<u64> = self.entries.values().map(|entry| entry.ends_ns).collect();
        let (before, &mut last, _) = ends.select_nth_unstable(SHARD_ENTRIES_EVICTED - 1);
        let mut left_of_last = SHARD_ENTRIES_EVICTED - before.iter().filter(|ends_ns| **ends_ns < last).count();
        self.retain(held, |ends_ns| {
            let is_last = ends_ns == last && left_of_last > 0;
            left_of_last -= usize::from(is_last);
            ends_ns >= last && !is_last
        });
    }

    fn retain(&mut self, held: &Held, mut keeps: impl FnMut(u64) -> bool) {
        let before = self.bytes;
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let stays = keeps(entry.ends_ns);
            if !stays {
                *bytes -= bytes_of(key, &entry.value);
            }
            stays
        });
        held.take_off(before - self.bytes);
        self.shrink();
    }

    /// The memory of the map is not counted, so it must not stay when the entries have gone.
    fn shrink(&mut self) {
        let (entries, room) = (self.entries.len(), self.entries.capacity());
        if room > SMALL_SHARD && entries * 4 < room {
            self.entries.shrink_to(entries * 2);
        }
    }

    /// For one more entry with so many bytes. Forgets what has ended; then, if that helps, what ends first: of a full shard a
    /// sixteenth; else as many bytes as the new entry has, so that a full engine does not get fuller.
    #[cold]
    fn make_room(&mut self, bytes: usize, now_ns: u64, held: &Held) -> bool {
        self.forget_ended(now_ns, held);
        if !held.takes(bytes) && self.bytes < bytes {
            return false;
        }
        let before = self.bytes;
        if self.entries.len() >= SHARD_ENTRIES_MAX {
            self.forget_first(held);
        }
        while before - self.bytes < bytes && !held.takes(bytes) {
            let Some((first, _)) = self.entries.iter().min_by_key(|(_, entry)| entry.ends_ns) else { break };
            let first = first.clone();
            self.remove(&first, held);
        }
        before - self.bytes >= bytes || held.takes(bytes)
    }
}

/// The names of a table and of a key in it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Key(Box<[u8]>);

impl Key {
    /// `None`, of a table: that of the keys which scripts give without one.
    pub fn of(table: Option<&[u8]>, key: &[u8]) -> Self {
        let bytes = match table {
            None => [&[0], key].concat(),
            Some(table) => [&[1], &table.len().to_le_bytes()[..], table, key].concat(),
        };
        Self(bytes.into())
    }
}

fn bytes_of(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + OVERHEAD_BYTES
}

fn after(now_ns: u64, seconds: u32) -> u64 {
    now_ns.saturating_add(u64::from(seconds) * NANOS_PER_S)
}

/// Nothing panics halfway while it holds one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = NANOS_PER_S;

    fn key(name: &str) -> Key {
        Key::of(None, name.as_bytes())
    }

    fn value(store: &Store, name: &str, now_ns: u64) -> Option<String> {
        store.look_up(&key(name), 0, now_ns).map(|found| String::from_utf8(found.value).expect("a text"))
    }

    #[test]
    fn value_ends_and_stays_as_long_as_it_is_refreshed() {
        let store = Store::default();
        assert!(store.insert(&key("a"), b"1", 10, S) && store.insert(&key("a"), b"2", 20, S));
        assert_eq!(store.look_up(&key("a"), 0, 2 * S), Some(Found { value: b"1".to_vec(), left_s: 19 }));
        assert_eq!(store.look_up(&key("a"), 5, 20 * S), Some(Found { value: b"1".to_vec(), left_s: 5 }));
        assert_eq!(store.look_up(&key("a"), 1, 20 * S), Some(Found { value: b"1".to_vec(), left_s: 5 }), "no shorter");
        assert!(store.refresh(&key("a"), 7, 24 * S) && value(&store, "a", 31 * S - 1).is_some());
        assert!(!store.refresh(&key("a"), 7, 31 * S) && value(&store, "a", 31 * S).is_none());
        assert!(store.insert(&key("a"), b"2", 10, 31 * S));
        assert_eq!(value(&store, "a", 31 * S).as_deref(), Some("2"));
        store.remove(&key("a"));
        assert!(value(&store, "a", 31 * S).is_none() && store.held.bytes.load(Relaxed) == 0);
    }

    #[test]
    fn tables_do_not_share_keys() {
        let names: [(Option<&[u8]>, &[u8]); 5] = [
            (None, b"ab"),
            (Some(b""), b"ab"),
            (Some(b"a"), b"b"),
            (Some(b"ab"), b""),
            (None, b"\x01\0\0\0\0\0\0\0ab"),
        ];
        let store = Store::default();
        for (at, (table, key)) in names.iter().enumerate() {
            assert!(store.insert(&Key::of(*table, key), &[at as u8], 10, S));
        }
        for (at, (table, key)) in names.iter().enumerate() {
            let found = store.look_up(&Key::of(*table, key), 0, S).expect("it is there");
            assert_eq!(found.value, [at as u8]);
        }
    }

    #[test]
    fn full_store_forgets_what_ends_first() {
        let store = Store::default();
        let most = (SHARDS * SHARD_ENTRIES_MAX) as u32;
        for number in 0..2 * most {
            assert!(store.insert(&key(&number.to_string()), b"v", 100 + number, S));
        }
        let all = keys(&store);
        let least = most as usize - SHARDS * SHARD_ENTRIES_EVICTED;
        assert!((least..=most as usize).contains(&all), "{all}");
        let lost = (0..2 * most).filter(|number| value(&store, &number.to_string(), S).is_none());
        let late = lost.filter(|number| *number > most + most / 4).count();
        assert_eq!(late, 0, "later ones stay");
    }

    #[test]
    fn full_store_forgets_some_of_those_that_end_together() {
        let store = Store::default();
        let all: Vec<Key> = neighbors(&store).take(SHARD_ENTRIES_MAX + 1).collect();
        all.iter().for_each(|key| assert!(store.insert(key, b"v", 10, S)));
        assert_eq!(keys(&store), SHARD_ENTRIES_MAX - SHARD_ENTRIES_EVICTED + 1);
        let bytes: usize = store.shards.iter().map(|shard| lock(shard).bytes).sum();
        assert_eq!(bytes, store.held.bytes.load(Relaxed));
    }

    #[test]
    fn new_value_takes_the_place_of_one_that_has_ended() {
        let store = Store::default();
        let most = SHARDS * SHARD_ENTRIES_MAX;
        (0..2 * most).for_each(|number| assert!(store.insert(&key(&format!("old {number}")), b"v", 10, S)));
        // Each shard has some that have ended, so none that is there is forgotten.
        (0..most / 2).for_each(|number| assert!(store.insert(&key(&format!("new {number}")), b"v", 10, 12 * S)));
        assert!((0..most / 2).all(|number| value(&store, &format!("new {number}"), 12 * S).is_some()));
    }

    /// A store that has so many bytes by its own account.
    fn holding(stores: &Stores, service: &str, bytes: usize) -> Arc<Store> {
        let store = stores.of(service);
        store.held.add(bytes);
        store
    }

    fn keys(store: &Store) -> usize {
        store.shards.iter().map(|shard| lock(shard).entries.len()).sum()
    }

    /// Keys of one shard.
    fn neighbors(store: &Store) -> impl Iterator<Item = Key> {
        let shard = |key: &Key| store.hasher.hash_one(&key.0) as usize % SHARDS;
        (0..).map(|number: u32| key(&number.to_string())).filter(move |key| shard(key) == 0)
    }

    const LONG: [u8; 400] = [b'v'; 400];

    #[test]
    fn stores_of_an_engine_share_their_bytes() {
        let stores = Stores::default();
        let one = holding(&stores, "a", COMMON_BYTES - 600);
        let (same, other) = (stores.clone().of("a"), holding(&stores, "b", 0));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        assert!(one.insert(&key("a"), &LONG, 10, S));
        assert!(!one.insert(&neighbor_of_none(&one), &LONG, 10, S), "there is nothing that it could forget");
        assert!(one.insert(&key("a"), b"", 10, S), "it is there");
        drop((one, same));
        assert_eq!((stores.bytes(), stores.0.stores.load(Relaxed)), (0, 1));
        assert!(value(&stores.of("a"), "a", S).is_none(), "its last snapshot has gone");
    }

    /// A key whose shard is empty.
    fn neighbor_of_none(store: &Store) -> Key {
        let names = (0..).map(|number: u32| key(&format!("other {number}")));
        names.into_iter().find(|key| store.shard(key).entries.is_empty()).expect("there is one")
    }

    #[test]
    fn what_has_ended_elsewhere_makes_room() {
        let stores = Stores::default();
        let (one, other) = (stores.of("a"), holding(&stores, "b", COMMON_BYTES - 100_000));
        (0..200).for_each(|number| assert!(one.insert(&key(&number.to_string()), &LONG, 10, S)));
        assert!(stores.bytes() > COMMON_BYTES);
        let inserts = || other.insert(&key("new"), &LONG, 10, 20 * S);
        assert!(!stores.sweep(11 * S - 1) && !inserts(), "nothing has ended");
        assert!(!stores.sweep(11 * S) && inserts());
        assert_eq!((keys(&one), one.held.bytes.load(Relaxed)), (0, 0));
    }

    #[test]
    fn new_values_do_not_wait_for_what_has_ended_elsewhere() {
        let stores = Stores::default();
        let (full, one) = (stores.of("a"), stores.of("b"));
        let number = SHARDS * SHARD_ENTRIES_MAX / 2;
        (0..number).for_each(|number| assert!(full.insert(&key(&number.to_string()), b"", 10, S)));
        let _others = holding(&stores, "c", ENGINE_BYTES_MAX);
        assert!((0..20).all(|number| !one.insert(&key(&number.to_string()), b"", 10, 20 * S)));
        assert_eq!(keys(&full), number, "those that have ended are freed in other threads");
    }

    #[test]
    fn sweep_goes_on_where_it_was() {
        let stores = Stores::default();
        let many = SHARDS * SHARD_ENTRIES_MAX / 2;
        let full: Vec<_> = ["a", "b"].map(|service| stores.of(service)).into();
        for store in &full {
            (0..many).for_each(|number| assert!(store.insert(&key(&number.to_string()), b"", 10, S)));
        }
        let least = 2 * many / (SWEPT_AT_ONCE + SHARD_ENTRIES_MAX);
        let steps = (0..99).take_while(|_| {
            let before = stores.bytes();
            let goes_on = stores.sweep(20 * S);
            assert!(before - stores.bytes() <= (SWEPT_AT_ONCE + SHARD_ENTRIES_MAX) * (OVERHEAD_BYTES + 8));
            goes_on
        });
        let steps = steps.count();
        assert!((least..99).contains(&steps) && stores.bytes() == 0, "{steps}");
    }

    #[test]
    fn store_takes_as_much_as_is_free_or_its_part_of_a_full_engine() {
        const MIB: usize = 1 << 20;
        let stores = Stores::default();
        let _full = holding(&stores, "full", COMMON_BYTES);
        // Stores that keep nothing.
        let _idle: Vec<_> = (0..2_046).map(|number| stores.of(&number.to_string())).collect();
        let grows = |service: &str| {
            let store = stores.of(service);
            while store.held.takes(MIB / 64) {
                store.held.add(MIB / 64);
            }
            (store.held.bytes.load(Relaxed), store)
        };
        let (bytes, _one) = grows("one");
        assert_eq!(bytes, 32 * MIB, "half of what is free, so that there is some for the next one");
        let (_, _more): (Vec<_>, Vec<_>) = (0..40).map(|number| grows(&format!("more {number}"))).unzip();
        assert!(stores.bytes().abs_diff(FREE_BYTES) < MIB, "{}", stores.bytes());
        let (bytes, _last) = grows("last");
        assert_eq!(bytes, MIB / 64, "its part of the rest");
        stores.of("1").held.add(ENGINE_BYTES_MAX - stores.bytes() - 100);
        let late = stores.of("2");
        assert!(!late.insert(&key("a"), b"", 10, S), "there is no more than all");
    }

    #[test]
    fn full_store_forgets_as_much_as_it_needs_or_nothing() {
        let stores = Stores::default();
        let store = holding(&stores, "a", COMMON_BYTES - 600);
        let mut keys_of_one = neighbors(&store);
        let mut next = || keys_of_one.next().expect("there are more");
        let small: Vec<Key> = (0..3).map(|_| next()).collect();
        (0..3).for_each(|at| assert!(store.insert(&small[at], b"v", 10 + at as u32, S)));
        let is_there = |key: &Key| store.look_up(key, 0, S).is_some();
        assert!(!store.insert(&next(), &LONG, 10, S) && small.iter().all(is_there));
        store.held.add(200);
        assert!(store.insert(&next(), &[b'v'; 120], 10, S), "two make room for it");
        assert_eq!(small.iter().map(is_there).collect::<Vec<_>>(), [false, false, true]);
        assert!(stores.bytes() <= COMMON_BYTES);
    }

    #[test]
    fn emptied_shard_gives_its_memory_back() {
        let store = Store::default();
        let keys: Vec<Key> = neighbors(&store).take(SHARD_ENTRIES_MAX).collect();
        keys.iter().for_each(|key| assert!(store.insert(key, b"v", 10, S)));
        let room = || lock(&store.shards[0]).entries.capacity();
        assert!(room() >= SHARD_ENTRIES_MAX);
        keys.iter().for_each(|key| store.remove(key));
        assert!(room() <= SMALL_SHARD, "{}", room());
        keys.iter().for_each(|key| assert!(store.insert(key, b"v", 10, S)));
        lock(&store.shards[0]).forget_ended(11 * S, &store.held);
        assert!(room() <= SMALL_SHARD, "{}", room());
    }
}
