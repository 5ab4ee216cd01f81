//! Which objects are stored, and which make room for others: S3-FIFO (Yang et al., "FIFO queues are all you need for
//! cache eviction", SOSP 2023). New objects stand in a small queue; those that were asked for meanwhile move on to the main
//! queue, and the others leave only their hashes, by which they are known when they come again.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash, Hasher},
    ops::Range,
    sync::LazyLock,
};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt, quality::RandomState};

use crate::share::{Place, Share, Used};

/// The small queue has a tenth of the memory.
const SMALL_PART: usize = 10;
/// How often an object counts at most.
const COUNT_MOST: u8 = 3;
/// Hashes of objects that were there, or were asked for once.
const GHOSTS: usize = 16_384;
/// Forms of one resource.
const FORMS_MOST: usize = 8;

/// What a resource is called by: whose it is, host, path and query, and the servers that have it, if not the usual ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    text: Box<[u8]>,
    host: Range<usize>,
    path: Range<usize>,
    hash: u64,
    resource: u64,
}

/// Peers cannot know which keys have equal hashes.
static SECRET: LazyLock<RandomState> = LazyLock::new(RandomState::default);

impl Key {
    /// `whose`: what tells apart resources of one name, in parts that cannot be mistaken for each other. `servers`: empty,
    /// or which servers have it, with a first byte that no path has.
    pub fn of(whose: &[&[u8]], host: &[u8], path: &[u8], servers: &[u8]) -> Self {
        let bytes = whose.iter().map(|part| part.len()).sum::<usize>() + host.len() + path.len() + servers.len();
        let mut text = Vec::with_capacity(bytes);
        whose.iter().for_each(|part| text.extend_from_slice(part));
        let at = text.len();
        text.extend_from_slice(host);
        text[at..].make_ascii_lowercase();
        text.extend_from_slice(path);
        let resource = SECRET.hash_one(&text[..]);
        text.extend_from_slice(servers);
        let hash = if servers.is_empty() { resource } else { SECRET.hash_one(&text[..]) };
        let host = at..at + host.len();
        let path = host.end..host.end + path.len();
        Self { text: text.into_boxed_slice(), host, path, hash, resource }
    }

    /// In lower case.
    pub(crate) fn host(&self) -> &[u8] {
        self.text.get(self.host.clone()).unwrap_or_default()
    }

    /// With the query.
    pub(crate) fn path(&self) -> &[u8] {
        self.text.get(self.path.clone()).unwrap_or_default()
    }

    /// The memory of its text.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Of the resource, whichever servers have it. The same in all workers of a process.
    pub fn resource(&self) -> u64 {
        self.resource
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Objects of type `T` of one worker.
pub struct Store<T> {
    most_bytes: usize,
    bytes: usize,
    small_bytes: usize,
    entries: Vec<Option<Entry<T>>>,
    free: Vec<u32>,
    by_key: HashMap<Key, Vec<u32>>,
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    /// Of the entries in the queues, those that are gone: they are taken out of the queues later, all at once.
    gone: usize,
    /// Of the virtual services that may not have all of the memory, what they have.
    shares: HashMap<u64, Used>,
    /// How many objects were put.
    puts: u64,
    ghosts: VecDeque<u64>,
    is_ghost: HashSet<u64>,
}

struct Entry<T> {
    key: Key,
    object: T,
    bytes: usize,
    count: u8,
    in_main: bool,
    number: u64,
    /// Whose share it counts for.
    whose: Option<u64>,
}

impl<T> Store<T> {
    pub fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            bytes: 0,
            small_bytes: 0,
            entries: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            gone: 0,
            shares: HashMap::new(),
            puts: 0,
            ghosts: VecDeque::new(),
            is_ghost: HashSet::new(),
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// The object of a key that is wanted.
    pub fn find(&mut self, key: &Key, wanted: impl Fn(&T) -> bool) -> Option<&T> {
        let forms = self.by_key.get(key)?;
        let at = forms.iter().copied().find(|at| self.entry(*at).is_some_and(|entry| wanted(&entry.object)))?;
        let entry = self.entries.get_mut(at as usize)?.as_mut()?;
        entry.count = (entry.count + 1).min(COUNT_MOST);
        Some(&entry.object)
    }

    /// The same, without counting that it was asked for.
    pub fn peek(&self, key: &Key, wanted: impl Fn(&T) -> bool) -> Option<&T> {
        let forms = self.by_key.get(key)?;
        forms.iter().filter_map(|at| self.entry(*at)).map(|entry| &entry.object).find(|object| wanted(object))
    }

    /// Notes that a resource was asked for. Returns whether it was before, not long ago.
    pub fn note(&mut self, key: &Key) -> bool {
        let known = self.is_ghost.contains(&key.hash);
        if !known {
            self.remember(key.hash);
        }
        known
    }

    /// Stores an object of so many bytes, in place of those that it replaces. Others may have to go, first those of the same
    /// share. False: it needs more than half of the memory, or of its share, and is not stored.
    pub fn put(
        &mut self,
        key: Key,
        object: T,
        bytes: usize,
        share: Option<Share>,
        replaces: impl Fn(&T) -> bool,
    ) -> bool {
        let mut replaced: Vec<u32> = self.by_key.get(&key).cloned().unwrap_or_default();
        let is_full = replaced.len() >= FORMS_MOST;
        replaced.retain(|at| is_full || self.entry(*at).is_some_and(|entry| replaces(&entry.object)));
        replaced.into_iter().for_each(|at| self.remove_at(at));
        let most_bytes = share.map_or(self.most_bytes, |share| share.most_bytes.min(self.most_bytes));
        if bytes > most_bytes / 2 {
            return false;
        }
        if let Some(share) = share {
            while self.shares.get(&share.whose).is_some_and(|used| used.bytes + bytes > most_bytes)
                && self.evict_of(share.whose)
            {}
        }
        while self.bytes + bytes > self.most_bytes && self.evict() {}
        let in_main = self.is_ghost.contains(&key.hash);
        self.puts += 1;
        let (number, whose) = (self.puts, share.map(|share| share.whose));
        let entry = Entry { key: key.clone(), object, bytes, count: 0, in_main, number, whose };
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = Some(entry);
                at
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() as u32 - 1
            }
        };
        self.bytes += bytes;
        if let Some(whose) = whose {
            let Self { shares, entries, .. } = self;
            shares.entry(whose).or_default().add(Place { at, number }, bytes, |place| is_at(entries, place));
        }
        match in_main {
            true => self.main.push_back(at),
            false => {
                self.small_bytes += bytes;
                self.small.push_back(at);
            }
        }
        self.by_key.entry(key).or_default().push(at);
        true
    }

    /// Removes all forms of a resource.
    pub fn remove(&mut self, key: &Key) {
        for at in self.by_key.get(key).cloned().unwrap_or_default() {
            self.remove_at(at);
        }
    }

    fn entry(&self, at: u32) -> Option<&Entry<T>> {
        self.entries.get(at as usize)?.as_ref()
    }

    /// Takes an entry out; its object goes when the last user does. Its queue has it for a while.
    fn remove_at(&mut self, at: u32) {
        self.forget_at(at);
        self.gone += 1;
        if self.gone > 64 && self.gone > (self.small.len() + self.main.len()) / 2 {
            self.gone = 0;
            let Self { small, main, entries, free, .. } = self;
            for queue in [small, main] {
                queue.retain(|&at| {
                    let is_there = entries.get(at as usize).is_some_and(Option::is_some);
                    if !is_there {
                        free.push(at);
                    }
                    is_there
                });
            }
        }
    }

    /// Forgets all of an entry but its place.
    fn forget_at(&mut self, at: u32) {
        let Some(Some(entry)) = self.entries.get(at as usize) else { return };
        let (bytes, in_main) = (entry.bytes, entry.in_main);
        self.bytes -= bytes;
        if let Some(whose) = entry.whose
            && let Some(used) = self.shares.get_mut(&whose)
        {
            used.lose(bytes);
            if used.bytes == 0 {
                self.shares.remove(&whose);
            }
        }
        if !in_main {
            self.small_bytes -= bytes;
        }
        if let Some(forms) = self.by_key.get_mut(&entry.key) {
            forms.retain(|other| *other != at);
            if forms.is_empty() {
                self.by_key.remove(&entry.key);
            }
        }
        self.entries[at as usize] = None;
    }

    /// Lets one object of a share go: the oldest that was not asked for since it was looked at. `false`: there is none.
    fn evict_of(&mut self, whose: u64) -> bool {
        loop {
            let Some(used) = self.shares.get_mut(&whose) else { return false };
            let Some(place) = used.next() else { return false };
            let Some(Some(entry)) = self.entries.get_mut(place.at as usize) else { continue };
            if entry.number != place.number {
                continue;
            }
            if entry.count > 0 {
                entry.count -= 1;
                used.put_off(place);
                continue;
            }
            let hash = entry.key.hash;
            self.remove_at(place.at);
            self.remember(hash);
            return true;
        }
    }

    /// Lets one object go. `false`: there is none.
    fn evict(&mut self) -> bool {
        loop {
            let from_small = self.small_bytes > self.most_bytes / SMALL_PART || self.main.is_empty();
            let next = if from_small { self.small.front() } else { self.main.front() };
            let Some(&at) = next else { return false };
            let Some(Some(entry)) = self.entries.get_mut(at as usize) else {
                if from_small { &mut self.small } else { &mut self.main }.pop_front();
                self.gone = self.gone.saturating_sub(1);
                self.free.push(at);
                continue;
            };
            if from_small && entry.count > 0 {
                (entry.count, entry.in_main) = (0, true);
                self.small_bytes -= entry.bytes;
                self.small.pop_front();
                self.main.push_back(at);
            } else if !from_small && entry.count > 0 {
                entry.count -= 1;
                self.main.rotate_left(1);
            } else {
                let hash = entry.key.hash;
                if from_small { &mut self.small } else { &mut self.main }.pop_front();
                self.forget_at(at);
                self.free.push(at);
                if from_small {
                    self.remember(hash);
                }
                return true;
            }
        }
    }

    fn remember(&mut self, hash: u64) {
        if !self.is_ghost.insert(hash) {
            return;
        }
        self.ghosts.push_back(hash);
        if self.ghosts.len() > GHOSTS
            && let Some(oldest) = self.ghosts.pop_front()
        {
            self.is_ghost.remove(&oldest);
        }
    }
}

fn is_at<T>(entries: &[Option<Entry<T>>], place: &Place) -> bool {
    entries.get(place.at as usize).and_then(Option::as_ref).is_some_and(|entry| entry.number == place.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key::of(&[b"http "], b"A.test", format!("/{n}").as_bytes(), b"")
    }

    fn has(store: &mut Store<u32>, n: u32) -> bool {
        store.find(&key(n), |_| true).is_some()
    }

    #[test]
    fn hosts_have_no_case_and_paths_have() {
        let key = |whose: &[u8], host: &[u8], path: &[u8]| Key::of(&[whose], host, path, b"");
        assert_eq!(key(b"http ", b"A.test", b"/a"), key(b"http ", b"a.TEST", b"/a"));
        assert_ne!(key(b"http ", b"a", b"/a"), key(b"http ", b"a", b"/A"));
        assert_ne!(key(b"http ", b"a", b"/"), key(b"https ", b"a", b"/"));
    }

    #[test]
    fn servers_tell_apart_what_is_stored_of_one_resource() {
        let key = |servers: &[u8]| Key::of(&[b"http "], b"a", b"/a", servers);
        assert_eq!(key(b""), Key::of(&[b"http "], b"a", b"/a", b""));
        assert!(key(b"") != key(b"\0blue") && key(b"\0blue") != key(b"\0green"));
        assert_eq!((key(b"\0blue").resource(), key(b"\0green").resource()), (key(b"").resource(), key(b"").resource()));
    }

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let mut store = Store::new(1000);
        store.put(key(0), 0, 10, None, |_| true);
        for n in 1..1000 {
            assert!(has(&mut store, 0), "{n}");
            store.put(key(n), n, 10, None, |_| true);
            assert!(store.bytes() <= 1000);
        }
        assert!(!has(&mut store, 1) && has(&mut store, 999));
        assert_eq!(store.by_key.len(), store.bytes() / 10);
    }

    #[test]
    fn scan_does_not_drive_out_what_was_asked_for() {
        let mut store = Store::new(1000);
        for round in 0..3 {
            for n in 0..50 {
                if !has(&mut store, n) {
                    store.put(key(n), n, 10, None, |_| true);
                }
            }
            let _ = round;
        }
        for n in 1000..3000 {
            store.put(key(n), n, 10, None, |_| true);
        }
        let kept = (0..50).filter(|n| has(&mut store, *n)).count();
        assert!(kept >= 45, "{kept}");
    }

    #[test]
    fn forms_of_a_resource_are_told_apart_and_bounded() {
        let mut store = Store::new(1000);
        for form in 0..20 {
            store.put(key(1), form, 10, None, |other| *other == form);
            assert_eq!(store.find(&key(1), |other| *other == form), Some(&form));
        }
        assert!(store.by_key[&key(1)].len() <= FORMS_MOST);
        store.put(key(1), 19, 30, None, |other| *other == 19);
        store.remove(&key(1));
        assert_eq!((store.bytes(), store.by_key.len()), (0, 0));
    }

    #[test]
    fn what_is_asked_for_again_is_known() {
        let mut store: Store<u32> = Store::new(10);
        assert!(!store.note(&key(1)) && store.note(&key(1)) && !store.note(&key(2)));
        store.put(key(1), 1, 6, None, |_| true);
        assert!(store.find(&key(1), |_| true).is_none(), "it is too large");
    }

    #[test]
    fn removed_objects_leave_no_trace() {
        let mut store = Store::new(100);
        for n in 0..5 {
            store.put(key(n), n, 10, None, |_| true);
        }
        [0, 2, 4].iter().for_each(|n| store.remove(&key(*n)));
        assert_eq!(store.bytes(), 20);
        assert!(!has(&mut store, 0) && has(&mut store, 1));
        store.put(key(7), 7, 50, None, |_| true);
        assert!(has(&mut store, 7));
    }

    fn counted(store: &Store<u32>) -> (usize, usize) {
        let entries = || store.entries.iter().flatten();
        (entries().map(|entry| entry.bytes).sum(), entries().filter(|entry| entry.whose.is_some()).count())
    }

    #[test]
    fn share_of_a_service_is_bounded_and_takes_nothing_from_others() {
        let mut store = Store::new(1000);
        let share = Share::of("service", 100);
        for n in 0..40 {
            store.put(key(n), n, 10, None, |_| true);
        }
        for n in 1000..3000 {
            store.put(key(n), n, 10, Some(share), |_| true);
            assert!(has(&mut store, 1000), "what is asked for stays: {n}");
            assert!(store.shares[&share.whose].bytes <= 100);
        }
        assert!((0..40).all(|n| has(&mut store, n)) && has(&mut store, 2999) && !has(&mut store, 2900));
        assert_eq!((store.bytes(), counted(&store)), (500, (500, 10)));
        assert!(store.entries.len() < 300 && store.small.len() + store.main.len() < 300, "{}", store.entries.len());
        let is_stored = store.put(key(5000), 0, 51, Some(share), |_| true);
        assert!(!is_stored && !has(&mut store, 5000), "it needs more than half of the share");
        for n in 6000..6100 {
            store.put(key(n), n, 10, None, |_| true);
        }
        assert_eq!(store.shares.get(&share.whose).map_or(0, |used| used.bytes), 10 * counted(&store).1);
        (1000..3000).for_each(|n| store.remove(&key(n)));
        assert!(store.shares.is_empty() && store.bytes() <= 1000);
    }

    /// Whatever is put, found and removed: sums are right, no place is lost, and limits hold.
    #[test]
    fn sums_hold_in_any_order() {
        let mut store = Store::new(700);
        let shares = [None, Some(Share::of("a", 90)), Some(Share::of("b", 300)), Some(Share::of("c", 5000))];
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..50_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (n, what) = ((random >> 8) as u32 % 200, random % 8);
            match what {
                0 => store.remove(&key(n)),
                1..3 => drop(has(&mut store, n)),
                _ => {
                    let bytes = 1 + (random >> 40) as usize % 40;
                    store.put(key(n), n, bytes, shares[n as usize % 4], |_| true);
                }
            }
            let (bytes, _) = counted(&store);
            assert_eq!(store.bytes(), bytes);
            assert!(bytes <= 700);
            for share in shares.iter().flatten() {
                let of = |entry: &&Entry<u32>| entry.whose == Some(share.whose);
                let sum: usize = store.entries.iter().flatten().filter(of).map(|entry| entry.bytes).sum();
                assert_eq!(store.shares.get(&share.whose).map_or(0, |used| used.bytes), sum);
                assert!(sum <= share.most_bytes);
            }
            let queued = store.small.len() + store.main.len();
            assert_eq!(queued + store.free.len(), store.entries.len(), "a place is queued or free");
            assert_eq!(queued, store.entries.iter().flatten().count() + store.gone);
        }
    }
}
