//! What the keys of one limit have used of their rates. The table begins small, and grows by levels as more keys come at once:
//! a level that is there stays, and its cells never move. Each key may have a cell in one set of each level. When all sets of
//! a new key are full and the table cannot grow, the key that has used the least is forgotten.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, SeqCst},
    },
};

use zerocopy::FromZeros;

use crate::{
    Beyond, Gauge, Key, Moment, Place,
    moment::Mode,
    rate::{EMPTY, Rate, Taken, ticks},
};

const WAYS: usize = 4;
/// The tag of a cell that no key has.
const NOBODY: u64 = 0;
/// So many new keys of different sets can get their cells at once.
const BRINGERS: usize = 16;
/// A cell that is empty for so long is given to another key before the table grows.
const IDLE_NANOS: u64 = 1_000_000_000;

/// Of events of a key that has no cell.
const NOT_COUNTED: Taken = Taken { refused: 0, ahead: 0 };

/// Which bits of a hash choose the set of a level. Keys that share a set of one level are spread over all sets of the next.
#[derive(Clone, Copy)]
struct Shape {
    first_bit: u32,
    bits: u32,
    /// Tables that may have the level at once.
    tables: u64,
}

/// Rooms for 256, 4,096 and 65,536 keys: 4 KiB, 64 KiB and 1 MiB.
const SHAPES: [Shape; 3] = [
    Shape { first_bit: 0, bits: 6, tables: u64::MAX },
    Shape { first_bit: 6, bits: 10, tables: 1024 },
    Shape { first_bit: 16, bits: 14, tables: 128 },
];

/// How many tables of an engine have which level. When the most have one, others stay as small as they are.
#[derive(Default, Debug)]
pub struct Room([Gauge; SHAPES.len()]);

/// The same, of the tables of one virtual service: it may have an eighth of the levels of the engine. So nobody whose limits
/// count many keys, such as texts that scripts invent, keeps the tables of others small.
#[derive(Default, Debug)]
pub struct Part([Gauge; SHAPES.len()]);

/// As many virtual services can have all that one may have.
pub(crate) const PARTS: u64 = 8;

#[derive(FromZeros, Debug)]
#[repr(C)]
struct Cell {
    /// The hash of its key, or [`NOBODY`].
    tag: AtomicU64,
    arrival: AtomicU64,
}

#[derive(FromZeros, Debug)]
#[repr(C, align(64))]
struct Set([Cell; WAYS]);

#[derive(Debug)]
struct Level {
    sets: Box<[Set]>,
    /// In the part of the virtual service, and in the room of the engine.
    _places: [Place; 2],
}

#[derive(Debug)]
pub struct Table {
    /// Filled from the first to the last.
    levels: [OnceLock<Level>; SHAPES.len()],
    room: Arc<Room>,
    part: Arc<Part>,
    /// Held while a new key gets a cell: two workers that bring one key at once would give it two. By the last bits of hashes.
    bringing: [Mutex<()>; BRINGERS],
}

impl Table {
    pub fn within(room: Arc<Room>, part: Arc<Part>) -> Self {
        Self { levels: Default::default(), room, part, bringing: [const { Mutex::new(()) }; BRINGERS] }
    }

    /// An event of a key comes. The rate is that of the limit, or an equal part of it.
    #[inline]
    pub fn admit(&self, key: &Key, rate: &Rate, at: Moment) -> Result<(), Beyond> {
        match at.mode {
            Mode::Count => self.take(key.hash(), rate, at.nanos).map(drop),
            Mode::Watch | Mode::Look => self.look(key.hash(), rate, at.nanos),
        }
    }

    /// Counts an event of a key, or refuses it. `now` is in nanoseconds. Returns how many ticks of the rate are used then; 0:
    /// it was not counted.
    #[inline]
    pub fn take(&self, hash: u64, rate: &Rate, now: u64) -> Result<u64, Beyond> {
        let cell = self.find(hash).or_else(|| self.bring(hash, rate, now));
        cell.map_or(Ok(0), |cell| rate.take(&cell.arrival, now))
    }

    /// Counts as many as there is room for, of so many that come at once.
    pub fn take_many(&self, hash: u64, rate: &Rate, now: u64, asked: u32) -> Taken {
        let cell = self.find(hash).or_else(|| self.bring(hash, rate, now));
        cell.map_or(NOT_COUNTED, |cell| rate.take_many(&cell.arrival, now, asked))
    }

    /// What [`take_many`](Self::take_many) would refuse.
    pub fn look_many(&self, hash: u64, rate: &Rate, now: u64, asked: u32) -> Taken {
        let empty = AtomicU64::new(EMPTY);
        rate.look_many(self.find(hash).map_or(&empty, |cell| &cell.arrival), now, asked)
    }

    /// What [`take`](Self::take) would say, without counting.
    pub fn look(&self, hash: u64, rate: &Rate, now: u64) -> Result<(), Beyond> {
        self.find(hash).map_or(Ok(()), |cell| rate.look(&cell.arrival, now))
    }

    /// Takes back an event of a key that was counted.
    pub fn forget(&self, hash: u64, rate: &Rate, now: u64) {
        if let Some(cell) = self.find(hash) {
            rate.forget(&cell.arrival, now);
        }
    }

    /// The arrival time of a key.
    pub fn arrival(&self, hash: u64) -> u64 {
        self.find(hash).map_or(EMPTY, |cell| cell.arrival.load(Relaxed))
    }

    /// At least this arrival time is that of a key, if there is room for the key.
    pub fn restore(&self, hash: u64, arrival: u64, rate: &Rate, now: u64) {
        if let Some(cell) = self.find(hash).or_else(|| self.bring(hash, rate, now)) {
            cell.arrival.fetch_max(arrival, Relaxed);
        }
    }

    /// The set of a key in each level that is there.
    #[inline]
    fn sets(&self, hash: u64) -> impl Iterator<Item = &Set> {
        let levels = self.levels.iter().map_while(OnceLock::get).zip(SHAPES);
        levels.filter_map(move |(level, shape)| level.sets.get(shape.set(hash)))
    }

    #[inline]
    fn find(&self, hash: u64) -> Option<&Cell> {
        self.sets(hash).find_map(|set| set.find(hash))
    }

    /// A cell for a key that had none a moment ago; `None`: all that it could have refuse at the moment.
    #[cold]
    #[inline(never)]
    fn bring(&self, hash: u64, rate: &Rate, now: u64) -> Option<&Cell> {
        let _alone = self.bringing[hash as usize % BRINGERS].lock().unwrap_or_else(PoisonError::into_inner);
        // A turn without success means that the table grew, or that the cell was counted in meanwhile; a few are enough.
        for _ in 0..WAYS + SHAPES.len() {
            if let Some(cell) = self.find(hash) {
                return Some(cell);
            }
            let least = self.least_used(hash, now);
            if !least.as_ref().is_some_and(|least| least.is_idle(now)) && self.grow() {
                continue;
            }
            let Spare { cell, tag, .. } = least.filter(|least| !rate.refuses(least.arrival, now))?;
            if cell.pass_on(tag, hash, now) {
                return Some(cell);
            }
        }
        None
    }

    /// Of the cells that a key could have, the one that has used the least of its rate. Of idle ones, the first.
    fn least_used(&self, hash: u64, now: u64) -> Option<Spare<'_>> {
        let spares = self.sets(hash).flat_map(|set| &set.0).map(|cell| Spare {
            cell,
            tag: cell.tag.load(SeqCst),
            arrival: cell.arrival.load(Relaxed),
        });
        // One without a tag that has something counted is just being passed on.
        let free = spares.filter(|spare| spare.tag != NOBODY || spare.arrival <= ticks(now));
        free.min_by_key(|spare| spare.arrival.max(idle_since(now)))
    }

    /// Adds a level. False: the table has all, or there is no room.
    fn grow(&self) -> bool {
        let Some(at) = self.levels.iter().position(|level| level.get().is_none()) else { return false };
        let (room, part) = (&self.room.0[at], &self.part.0[at]);
        let Some(own) = part.enter(SHAPES[at].tables / PARTS) else { return false };
        let Some(place) = room.enter(SHAPES[at].tables) else { return false };
        // The system gives zeroed pages when they are first touched.
        self.levels[at].get_or_init(|| {
            let sets = <[Set]>::new_box_zeroed_with_elems(1 << SHAPES[at].bits).unwrap_or_default();
            Level { sets, _places: [own, place] }
        });
        true
    }
}

impl Shape {
    #[inline]
    fn set(self, hash: u64) -> usize {
        (hash >> self.first_bit) as usize & ((1 << self.bits) - 1)
    }
}

/// A cell that may be given to another key.
struct Spare<'t> {
    cell: &'t Cell,
    tag: u64,
    arrival: u64,
}

impl Spare<'_> {
    fn is_idle(&self, now: u64) -> bool {
        self.arrival <= idle_since(now)
    }
}

fn idle_since(now: u64) -> u64 {
    ticks(now.saturating_sub(IDLE_NANOS))
}

impl Set {
    #[inline]
    fn find(&self, tag: u64) -> Option<&Cell> {
        self.0.iter().find(|cell| cell.tag.load(Acquire) == tag)
    }
}

impl Cell {
    /// Gives the cell from one key to another, which begins with nothing counted. False: another worker was faster.
    fn pass_on(&self, from: u64, to: u64, now: u64) -> bool {
        if self.arrival.load(Relaxed) <= ticks(now) {
            return self.tag.compare_exchange(from, to, SeqCst, Relaxed).is_ok();
        }
        if self.tag.compare_exchange(from, NOBODY, SeqCst, Relaxed).is_err() {
            return false;
        }
        // No key finds it, and nobody takes it while something is counted in it.
        self.tag_anew(to)
    }

    fn tag_anew(&self, to: u64) -> bool {
        self.arrival.store(EMPTY, Relaxed);
        self.tag.compare_exchange(NOBODY, to, SeqCst, Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn key(number: u64) -> Key {
        Key::of(3, number)
    }

    /// With only so many levels.
    fn table(levels: usize) -> Table {
        let room = Room::default();
        for (gauge, shape) in room.0.iter().zip(SHAPES).skip(levels) {
            (0..shape.tables).for_each(|_| std::mem::forget(gauge.enter(shape.tables)));
        }
        Table::within(Arc::new(room), Arc::default())
    }

    /// Keys whose set in each of the first levels is that of the key 0.
    fn neighbors(levels: usize) -> impl Iterator<Item = Key> {
        let sets = |hash: u64| SHAPES.map(|shape| shape.set(hash));
        let wanted = sets(key(0).hash());
        (0..).map(key).filter(move |key| sets(key.hash())[..levels] == wanted[..levels])
    }

    fn levels(table: &Table) -> usize {
        table.levels.iter().filter(|level| level.get().is_some()).count()
    }

    #[test]
    fn set_is_a_line_of_the_cache() {
        assert_eq!((size_of::<Set>(), align_of::<Set>()), (64, 64));
    }

    #[test]
    fn flood_of_new_keys_frees_nobody_from_a_limit() {
        let (table, rate) = (table(2), Rate::new(10, 60, 0));
        let hot: Vec<_> = (0..12).map(key).collect();
        for key in &hot {
            assert_eq!((0..10).filter(|_| table.take(key.hash(), &rate, S).is_ok()).count(), 10);
        }
        for number in 0..100_000 {
            let _ = table.take(key(1_000 + number).hash(), &rate, S + number);
        }
        assert!(hot.iter().all(|key| table.take(key.hash(), &rate, S + 100_000).is_err()));
    }

    #[test]
    fn key_that_comes_again_and_again_is_counted_through_a_flood() {
        let (table, rate) = (table(1), Rate::new(10, 60, 0));
        let mut passed = 0;
        for number in 0..2_000 {
            // Eighty new keys for each time that it comes: more than one per set.
            for other in 0..80 {
                let _ = table.take(key(1_000 + number * 80 + other).hash(), &rate, S + number);
            }
            passed += u32::from(table.take(key(1).hash(), &rate, S + number).is_ok());
        }
        assert!(passed <= 12, "{passed}");
    }

    #[test]
    fn new_key_passes_where_all_that_it_could_replace_refuse() {
        let (table, rate) = (table(1), Rate::new(1, 60, 0));
        let keys: Vec<_> = neighbors(1).take(5).collect();
        let (others, new) = (&keys[..4], &keys[4]);
        assert!(others.iter().all(|key| table.take(key.hash(), &rate, S).is_ok()));
        assert!(others.iter().all(|key| table.take(key.hash(), &rate, S).is_err()));
        assert!((0..9).all(|_| table.take(new.hash(), &rate, S).is_ok()));
        // When their time is over, it gets a cell.
        assert_eq!((0..9).filter(|_| table.take(new.hash(), &rate, 62 * S).is_ok()).count(), 1);
    }

    #[test]
    fn cell_that_is_passed_on_has_nothing_counted() {
        let (table, rate) = (table(1), Rate::new(10, 60, 0));
        let keys: Vec<_> = neighbors(1).take(5).collect();
        for (number, key) in keys[..4].iter().enumerate() {
            (0..5 + number).for_each(|_| assert!(table.take(key.hash(), &rate, S).is_ok()));
        }
        assert_eq!((0..99).filter(|_| table.take(keys[4].hash(), &rate, S).is_ok()).count(), 10);
        assert_eq!(
            (0..99).filter(|_| table.take(keys[3].hash(), &rate, S).is_ok()).count(),
            2,
            "the others are still there"
        );
    }

    #[test]
    fn table_grows_with_the_keys_that_come_at_once() {
        let (table, rate) = (table(3), Rate::new(1, 60, 0));
        for (keys, most) in [(0, 0), (20, 1), (400, 2), (6_000, 3)] {
            assert!((0..keys).all(|number| table.take(key(number).hash(), &rate, S).is_ok() || number < keys / 2));
            assert!((0..keys).all(|number| table.take(key(number).hash(), &rate, S).is_err()), "all are counted");
            assert!(levels(&table) <= most, "{} levels for {keys} keys", levels(&table));
        }
    }

    #[test]
    fn keys_that_come_one_after_the_other_share_cells() {
        let (table, rate) = (table(3), Rate::new(10, 1, 0));
        assert!((0..100_000).all(|number| table.take(key(number).hash(), &rate, S + number * S / 5).is_ok()));
        assert_eq!(levels(&table), 1);
    }

    #[test]
    fn table_gives_its_room_back() {
        let room = Arc::new(Room::default());
        let fill = || {
            let table = Table::within(room.clone(), Arc::default());
            neighbors(1).take(5).for_each(|key| assert!(table.take(key.hash(), &Rate::new(1, 60, 0), S).is_ok()));
            table
        };
        let tables: Vec<_> = (0..1_025).map(|_| fill()).collect();
        assert!(tables[..1_024].iter().all(|table| levels(table) == 2) && levels(&tables[1_024]) == 1);
        drop(tables);
        assert_eq!(levels(&fill()), 2);
    }

    #[test]
    fn tables_of_one_service_leave_levels_to_others() {
        let (room, part) = (Arc::new(Room::default()), Arc::new(Part::default()));
        let fill = |part: &Arc<Part>| {
            let table = Table::within(room.clone(), part.clone());
            neighbors(1).take(5).for_each(|key| assert!(table.take(key.hash(), &Rate::new(1, 60, 0), S).is_ok()));
            table
        };
        let tables: Vec<_> = (0..200).map(|_| fill(&part)).collect();
        assert_eq!(tables.iter().filter(|table| levels(table) == 2).count(), 1024 / 8);
        let other = Arc::default();
        assert_eq!(levels(&fill(&other)), 2, "another virtual service has its own part");
        drop(tables);
        assert_eq!(levels(&fill(&part)), 2, "what has gone leaves its part");
    }

    #[test]
    fn look_gives_no_cell() {
        let (table, rate) = (table(1), Rate::new(1, 60, 0));
        assert!(table.look(key(1).hash(), &rate, S).is_ok());
        assert_eq!(levels(&table), 0);
        assert!(table.take(key(1).hash(), &rate, S).is_ok());
        assert_eq!(table.look(key(1).hash(), &rate, S), Err(Beyond { wait_nanos: 60 * S }));
    }
}
