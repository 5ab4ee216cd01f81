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
/// Of the names of table and key, and of the value, together.
pub(crate) const ENTRY_BYTES_MAX: usize = 1024;
/// Of all virtual services of an engine.
const ENGINE_BYTES_MAX: usize = 256 << 20;
/// What an entry needs beside its bytes.
const OVERHEAD_BYTES: usize = 128;
const NANOS_PER_S: u64 = 1_000_000_000;

/// The tables of a virtual service.
#[derive(Debug)]
pub struct Store {
    shards: [Mutex<Shard>; SHARDS],
    /// Clients invent keys: they cannot know which come together.
    hasher: RandomState,
    /// Bytes of all stores of the engine.
    used: Arc<AtomicUsize>,
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
pub struct Stores {
    known: Arc<Mutex<HashMap<String, Weak<Store>>>>,
    used: Arc<AtomicUsize>,
}

impl Stores {
    pub fn of(&self, service: &str) -> Arc<Store> {
        let mut known = lock(&self.known);
        if let Some(store) = known.get(service).and_then(Weak::upgrade) {
            return store;
        }
        known.retain(|_, store| store.strong_count() > 0);
        let store = Arc::new(Store::within(self.used.clone()));
        known.insert(service.to_owned(), Arc::downgrade(&store));
        store
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::within(Arc::default())
    }
}

impl Store {
    fn within(used: Arc<AtomicUsize>) -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), hasher: RandomState::default(), used }
    }

    /// Keeps a value, or the one that is there already, for so many seconds. False: there is no room.
    pub(crate) fn insert(&self, key: &Key, value: &[u8], life_s: u32, now_ns: u64) -> bool {
        let ends_ns = after(now_ns, life_s);
        let mut shard = self.shard(key);
        if let Some(entry) = shard.find(key, now_ns) {
            entry.ends_ns = ends_ns;
            return true;
        }
        shard.remove(&key.0, &self.used);
        let bytes = bytes_of(&key.0, value);
        if shard.entries.len() >= SHARD_ENTRIES_MAX || !self.takes(bytes) {
            shard.make_room(now_ns, &self.used);
            if !self.takes(bytes) {
                return false;
            }
        }
        self.used.fetch_add(bytes, Relaxed);
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
        self.shard(key).remove(&key.0, &self.used);
    }

    fn takes(&self, bytes: usize) -> bool {
        self.used.load(Relaxed) + bytes <= ENGINE_BYTES_MAX
    }

    fn shard(&self, key: &Key) -> MutexGuard<'_, Shard> {
        lock(&self.shards[self.hasher.hash_one(&key.0) as usize % SHARDS])
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let bytes: usize = self.shards.iter().map(|shard| lock(shard).bytes).sum();
        self.used.fetch_sub(bytes, Relaxed);
    }
}

impl Shard {
    fn find(&mut self, key: &Key, now_ns: u64) -> Option<&mut Entry> {
        self.entries.get_mut(&key.0).filter(|entry| entry.ends_ns > now_ns)
    }

    fn remove(&mut self, key: &[u8], used: &AtomicUsize) {
        if let Some(entry) = self.entries.remove(key) {
            let bytes = bytes_of(key, &entry.value);
            self.bytes -= bytes;
            used.fetch_sub(bytes, Relaxed);
        }
    }

    /// Forgets what has ended. If that is nothing, it forgets what would end first.
    #[cold]
    fn make_room(&mut self, now_ns: u64, used: &AtomicUsize) {
        let before = self.bytes;
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let stays = entry.ends_ns > now_ns;
            if !stays {
                *bytes -= bytes_of(key, &entry.value);
            }
            stays
        });
        used.fetch_sub(before - self.bytes, Relaxed);
        if self.bytes == before
            && let Some((first, _)) = self.entries.iter().min_by_key(|(_, entry)| entry.ends_ns)
        {
            let first = first.clone();
            self.remove(&first, used);
        }
    }
}

/// The names of a table and of a key in it.
#[derive(Debug)]
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
        assert!(value(&store, "a", 31 * S).is_none() && store.used.load(Relaxed) == 0);
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
        let all: usize = store.shards.iter().map(|shard| lock(shard).entries.len()).sum();
        assert_eq!(all, most as usize);
        let lost = (0..2 * most).filter(|number| value(&store, &number.to_string(), S).is_none());
        let late = lost.filter(|number| *number > most + most / 4).count();
        assert_eq!(late, 0, "later ones stay");
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

    #[test]
    fn stores_of_an_engine_share_their_bytes() {
        let stores = Stores::default();
        let (one, same, other) = (stores.of("a"), stores.clone().of("a"), stores.of("b"));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        stores.used.fetch_add(ENGINE_BYTES_MAX - 600, Relaxed);
        let long = [b'v'; 400];
        assert!(one.insert(&key("a"), &long, 10, S));
        assert!(!other.insert(&key("a"), &long, 10, S), "there is nothing that it could forget");
        assert!(one.insert(&key("a"), b"", 10, S), "it is there");
        let before = stores.used.load(Relaxed);
        drop((one, same));
        assert_eq!(stores.used.load(Relaxed), before - bytes_of(&key("a").0, &long));
        assert!(other.insert(&key("a"), &long, 10, S));
        assert!(value(&stores.of("a"), "a", S).is_none(), "its last snapshot has gone");
    }
}
