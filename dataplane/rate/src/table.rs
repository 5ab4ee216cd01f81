//! The cells of many keys, in a table of fixed size that all workers of an engine share.
//!
//! A key has its place in one set of four cells, a line of the cache. A new key gets the cell of the set that has used the
//! least of its rate: mostly one that has nothing counted any more. A cell that refuses at the moment is never given away, so
//! a flood of new keys frees nobody, whichever limit they belong to; if all four of a set refuse, a new key passes uncounted.

use std::sync::{
    Mutex, PoisonError,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, SeqCst},
    },
};

use zerocopy::FromZeros;

use crate::{
    Beyond, Key, Moment,
    moment::Mode,
    rate::{EMPTY, Rate, Slack, ticks},
};

const WAYS: usize = 4;
/// The tag of a cell that no key has.
const NOBODY: u64 = 0;
const SLACK_BITS: u64 = u16::MAX as u64;
/// So many new keys of different sets can get their cells at once.
const BRINGERS: usize = 64;

#[derive(FromZeros, Debug)]
#[repr(C)]
struct Cell {
    /// The hash of its key, of which the last bits are those of its rate's slack; or [`NOBODY`].
    tag: AtomicU64,
    arrival: AtomicU64,
}

#[derive(FromZeros, Debug)]
#[repr(C, align(64))]
struct Set([Cell; WAYS]);

/// Sets of cells: memory that no key has used costs none.
#[derive(Debug)]
pub struct Table {
    sets: Box<[Set]>,
    /// Held while a new key gets a cell: two workers that bring one key at once would give it two. By the last bits of hashes.
    bringing: [Mutex<()>; BRINGERS],
}

impl Table {
    /// With room for this many keys, a power of two of at least four.
    pub fn of_keys(keys: usize) -> Self {
        debug_assert!(keys.is_power_of_two() && keys >= WAYS);
        // The system gives zeroed pages when they are first touched.
        let sets = <[Set]>::new_box_zeroed_with_elems(keys / WAYS).unwrap_or_default();
        Self { sets, bringing: [const { Mutex::new(()) }; BRINGERS] }
    }

    /// An event of a key comes.
    #[inline]
    pub fn admit(&self, key: &Key, rate: &Rate, at: Moment) -> Result<(), Beyond> {
        match at.mode {
            Mode::Count => self.take(key, rate, at.nanos),
            Mode::Look => self.look(key, rate, at.nanos),
        }
    }

    /// Counts an event of a key, or refuses it. `now` is in nanoseconds.
    #[inline]
    fn take(&self, key: &Key, rate: &Rate, now: u64) -> Result<(), Beyond> {
        let hash = key.hash();
        let Some(set) = self.set(hash) else { return Ok(()) };
        let tag = tag_of(hash, rate);
        let cell = set.find(tag).or_else(|| self.bring(set, (hash, tag), now));
        cell.map_or(Ok(()), |cell| rate.take(&cell.arrival, now))
    }

    /// What [`take`](Self::take) would say, without counting.
    fn look(&self, key: &Key, rate: &Rate, now: u64) -> Result<(), Beyond> {
        let hash = key.hash();
        let cell = self.set(hash).and_then(|set| set.find(tag_of(hash, rate)));
        cell.map_or(Ok(()), |cell| rate.look(&cell.arrival, now))
    }

    /// A cell for a key that had none a moment ago.
    #[cold]
    #[inline(never)]
    fn bring<'t>(&self, set: &'t Set, (hash, tag): (u64, u64), now: u64) -> Option<&'t Cell> {
        let _alone = self.bringing[hash as usize % BRINGERS].lock().unwrap_or_else(PoisonError::into_inner);
        set.find(tag).or_else(|| set.bring(tag, now))
    }

    #[inline]
    fn set(&self, hash: u64) -> Option<&Set> {
        self.sets.get(hash as usize & self.sets.len().wrapping_sub(1))
    }
}

/// What a cell is found by. The bits that it lacks are those that choose the set.
#[inline]
fn tag_of(hash: u64, rate: &Rate) -> u64 {
    hash & !SLACK_BITS | u64::from(rate.slack().bits())
}

impl Set {
    #[inline]
    fn find(&self, tag: u64) -> Option<&Cell> {
        self.0.iter().find(|cell| cell.tag.load(Acquire) == tag)
    }

    /// Gives a new key a cell; `None`: all refuse at the moment. One worker at a time does this in a set.
    fn bring(&self, tag: u64, now: u64) -> Option<&Cell> {
        // A turn without success means that the cell was counted in meanwhile; a few are enough.
        for _ in 0..WAYS {
            let (at, before) = self.victim(now)?;
            if self.0[at].pass_on(before, tag, now) {
                return Some(&self.0[at]);
            }
        }
        None
    }

    /// The cell that has used the least of its rate, and its tag; `None`: all refuse.
    fn victim(&self, now: u64) -> Option<(usize, u64)> {
        let cells = self.0.iter().map(|cell| (cell.tag.load(SeqCst), cell.arrival.load(Relaxed)));
        // One without a tag that has something counted is just being passed on.
        let free = cells.enumerate().filter(|(_, (tag, arrival))| *tag != NOBODY || *arrival <= ticks(now));
        let used = free.map(|(at, (tag, arrival))| (at, tag, Slack::from_bits(tag as u16).used(arrival, now)));
        let least = used.filter(|(.., used)| *used < 1.0).min_by(|one, other| one.2.total_cmp(&other.2));
        least.map(|(at, tag, _)| (at, tag))
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

    #[test]
    fn set_is_a_line_of_the_cache() {
        assert_eq!((size_of::<Set>(), align_of::<Set>()), (64, 64));
    }

    #[test]
    fn flood_of_new_keys_frees_nobody_from_a_limit() {
        let (table, rate) = (Table::of_keys(64), Rate::new(10, 60, 0));
        // Sixteen sets: no key here is the fourth of its set.
        let hot: Vec<_> = (0..12).map(key).collect();
        for key in &hot {
            assert_eq!((0..10).filter(|_| table.take(key, &rate, S).is_ok()).count(), 10);
        }
        for number in 0..100_000 {
            let _ = table.take(&key(1_000 + number), &rate, S + number);
        }
        assert!(hot.iter().all(|key| table.take(key, &rate, S + 100_000).is_err()));
    }

    #[test]
    fn flood_of_keys_of_one_limit_frees_nobody_from_another() {
        let (slow, fast) = (Rate::new(1_000, 86_400, 0), Rate::new(5, 60, 0));
        let at_once = Rate::new(1, 1, 0);
        for (refusing, flooding) in [(&fast, &slow), (&slow, &fast), (&at_once, &slow)] {
            let table = Table::of_keys(64);
            let hot: Vec<_> = (0..12).map(key).collect();
            for key in &hot {
                while table.take(key, refusing, S).is_ok() {}
            }
            for number in 0..100_000 {
                let _ = table.take(&key(1_000 + number), flooding, S + number);
            }
            assert!(hot.iter().all(|key| table.take(key, refusing, S + 100_000).is_err()), "{refusing:?}");
        }
    }

    #[test]
    fn key_near_its_limit_stays_where_keys_of_a_slower_one_come() {
        let (slow, fast) = (Rate::new(1_000, 86_400, 0), Rate::new(5, 60, 0));
        let table = Table::of_keys(4);
        assert_eq!((0..4).filter(|_| table.take(&key(1), &fast, S).is_ok()).count(), 4);
        for number in 0..1_000 {
            let _ = table.take(&key(1_000 + number), &slow, S + number);
        }
        assert_eq!((0..4).filter(|_| table.take(&key(1), &fast, S + 1_000).is_ok()).count(), 1);
    }

    #[test]
    fn key_that_comes_again_and_again_is_counted_through_a_flood() {
        let (table, rate) = (Table::of_keys(64), Rate::new(10, 60, 0));
        let mut passed = 0;
        for number in 0..2_000 {
            // Twenty new keys for each time that it comes: more than one per set.
            for other in 0..20 {
                let _ = table.take(&key(1_000 + number * 20 + other), &rate, S + number);
            }
            passed += u32::from(table.take(&key(1), &rate, S + number).is_ok());
        }
        assert!(passed <= 12, "{passed}");
    }

    #[test]
    fn new_key_passes_where_all_of_its_set_refuse() {
        let (table, rate) = (Table::of_keys(4), Rate::new(1, 60, 0));
        for number in 0..4 {
            assert!(table.take(&key(number), &rate, S).is_ok());
        }
        assert!((0..4).all(|number| table.take(&key(number), &rate, S).is_err()));
        assert!((0..9).all(|_| table.take(&key(9), &rate, S).is_ok()));
        // When their time is over, it gets a cell.
        assert_eq!((0..9).filter(|_| table.take(&key(9), &rate, 62 * S).is_ok()).count(), 1);
    }

    #[test]
    fn cell_that_is_passed_on_has_nothing_counted() {
        let (table, rate) = (Table::of_keys(4), Rate::new(10, 60, 0));
        for number in 0..4 {
            (0..5 + number).for_each(|_| assert!(table.take(&key(number), &rate, S).is_ok()));
        }
        assert_eq!((0..99).filter(|_| table.take(&key(9), &rate, S).is_ok()).count(), 10);
        assert_eq!((0..99).filter(|_| table.take(&key(3), &rate, S).is_ok()).count(), 2, "the others are still there");
    }

    #[test]
    fn look_gives_no_cell() {
        let (table, rate) = (Table::of_keys(4), Rate::new(1, 60, 0));
        assert!(table.look(&key(1), &rate, S).is_ok());
        assert!(table.sets[0].0.iter().all(|cell| cell.tag.load(SeqCst) == NOBODY));
        assert!(table.take(&key(1), &rate, S).is_ok());
        assert_eq!(table.look(&key(1), &rate, S), Err(Beyond { wait_nanos: 60 * S }));
    }
}
