//! Hot keys: those that use more than a part of their rate on this engine, where several engines serve. The engine reports what
//! is asked of a hot key, and a broker that hears all engines says which share of the rate each engine may let pass. Keys that
//! are not hot cost a few loads more, while others of their limit are hot.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicU32, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use zerocopy::FromZeros;

use crate::{
    Beyond, Gauge, Place,
    rate::{Rate, ticks},
    table::{PARTS, Table},
};

const WAYS: usize = 4;
const SET_BITS: u32 = 10;
/// Bits of a hash that choose the set. Tables of keys choose by others.
const FIRST_BIT: u32 = 30;
/// Limits of an engine that may have hot keys at once, at 256 KiB each: one for each bit of a mask.
const LIMITS_MAX: usize = u64::BITS as usize;
/// The same, of one virtual service.
const LIMITS_OF_SERVICE_MAX: u64 = LIMITS_MAX as u64 / PARTS;
/// The place of a limit without hot keys.
const NOWHERE: usize = usize::MAX;
const NOBODY: u64 = 0;
const SECOND_NANOS: u64 = 1_000_000_000;
/// An engine falls back after so long without an answer of the broker.
const PATIENCE_NANOS: u64 = SECOND_NANOS;
/// A key that is not asked for so long, and that the broker says nothing of, is no longer hot: the longer, the slower its rate.
const IDLE_NANOS: RangeInclusive<u64> = 2 * SECOND_NANOS..=60 * SECOND_NANOS;

/// Of the events since the last report, one count for many stops here. The rest is for those that come one by one, which do
/// not look whether the number ends.
const ASKED_AT_ONCE_MAX: u32 = u32::MAX / 2;

/// The whole, of which shares and uses are parts.
pub const WHOLE: u32 = 1 << 16;
/// The most that is reported as used, and moved at once.
pub const USED_MAX: u32 = 16 * WHOLE;

/// What an engine says of a hot key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The same on all engines.
    pub tag: u64,
    /// Events since the last report, with those that were refused.
    pub asked: u32,
    /// How much of what may come at once is used, in parts of [`WHOLE`]; more than that after the share has shrunk.
    pub used: u32,
}

/// What the broker says of a hot key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub tag: u64,
    /// Of the rate: a part of [`WHOLE`].
    pub share: u32,
    /// To be added to what is used: a part of [`WHOLE`].
    pub shift: i32,
}

/// The hot keys of one limit.
#[derive(Debug)]
pub(crate) struct Hot {
    rate: Rate,
    engines: AtomicU32,
    places: Arc<Places>,
    /// How many limits of its virtual service have a place.
    part: Gauge,
    /// That of this one: while it has a place.
    own: Mutex<Option<Place>>,
    /// Where its keys are, or [`NOWHERE`]: while it has any.
    place: AtomicUsize,
    /// How many there are.
    keys: AtomicUsize,
    /// Where the next report begins.
    turn: AtomicUsize,
    /// Held while an entry gets another key, a share, or ends, and while the place changes.
    changing: Mutex<()>,
}

/// Where the limits of an engine have their hot keys. A limit gives its place back with its last hot key, and another uses
/// the memory again. A worker that found an entry just before may still count one event in it.
#[derive(Debug)]
pub(crate) struct Places {
    /// A bit for each place that a limit has.
    taken: AtomicU64,
    /// Made when they are first needed.
    sets: [OnceLock<Box<[Set]>>; LIMITS_MAX],
}

#[derive(FromZeros, Debug)]
#[repr(C)]
struct Set([Entry; WAYS]);

#[derive(FromZeros, Debug)]
#[repr(C, align(64))]
pub(crate) struct Entry {
    /// The hash of its key, or [`NOBODY`].
    tag: AtomicU64,
    arrival: AtomicU64,
    /// Between two events, by the share of this engine.
    interval: AtomicU64,
    /// Since the last report.
    asked: AtomicU32,
    /// Whether the share is that of the broker, and is still good.
    state: AtomicU32,
    /// When the broker last said something, or when the key became hot.
    heard: AtomicU64,
    /// When it was last reported with something asked.
    active: AtomicU64,
    /// The arrival time of the last report: what came later does not show in it.
    reported: AtomicU64,
}

const WAITS: u32 = 0;
const TOLD: u32 = 1;
const FALLEN_BACK: u32 = 2;

impl Hot {
    /// `part`: of the virtual service.
    pub fn new(rate: Rate, places: Arc<Places>, part: Gauge) -> Self {
        Self {
            rate,
            engines: AtomicU32::new(1),
            places,
            part,
            own: Mutex::new(None),
            place: AtomicUsize::new(NOWHERE),
            keys: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            changing: Mutex::new(()),
        }
    }

    pub fn of_engines(&self, engines: u32) {
        self.engines.store(engines.max(1), Relaxed);
    }

    pub fn engines(&self) -> u32 {
        self.engines.load(Relaxed)
    }

    /// The time between two events at the whole rate.
    pub fn interval_nanos(&self) -> u64 {
        self.rate.interval_nanos()
    }

    pub fn len(&self) -> usize {
        self.keys.load(Relaxed)
    }

    #[inline]
    pub fn find(&self, tag: u64) -> Option<&Entry> {
        self.set(tag)?.find(tag)
    }

    #[inline]
    fn set(&self, tag: u64) -> Option<&Set> {
        self.places.sets(self.place.load(Acquire))?.get((tag >> FIRST_BIT) as usize & ((1 << SET_BITS) - 1))
    }

    /// A key has used its part. It goes on with this arrival time. `None`: there is no room. With whether it is the first that
    /// is hot.
    pub fn heat(&self, tag: u64, arrival: u64, now: u64) -> Option<(&Entry, bool)> {
        self.bring(tag, arrival, self.rate.quiet(self.engines()).interval(), now)
    }

    fn has_room(&self, tag: u64) -> bool {
        match self.set(tag) {
            Some(set) => set.find(tag).or_else(|| set.find(NOBODY)).is_some(),
            None => self.places.has_room() && self.part.has_room(LIMITS_OF_SERVICE_MAX),
        }
    }

    fn bring(&self, tag: u64, arrival: u64, interval: u64, now: u64) -> Option<(&Entry, bool)> {
        // A flood of keys that find no room waits for no lock.
        if !self.has_room(tag) {
            return None;
        }
        let _alone = self.alone();
        if let Some(entry) = self.find(tag) {
            return Some((entry, false));
        }
        let is_first = self.place.load(Relaxed) == NOWHERE;
        if is_first {
            let own = self.part.enter(LIMITS_OF_SERVICE_MAX)?;
            self.place.store(self.places.take()?, Release);
            self.keep_place(Some(own));
        }
        let entry = self.set(tag)?.find(NOBODY)?;
        entry.arrival.store(arrival, Relaxed);
        entry.interval.store(interval, Relaxed);
        entry.asked.store(0, Relaxed);
        entry.state.store(WAITS, Relaxed);
        entry.heard.store(now, Relaxed);
        entry.active.store(now, Relaxed);
        entry.reported.store(arrival.max(ticks(now)), Relaxed);
        entry.tag.store(tag, Release);
        self.keys.fetch_add(1, Relaxed);
        Some((entry, is_first))
    }

    /// The caller has the lock.
    fn end(&self, entry: &Entry) {
        entry.tag.store(NOBODY, Release);
        if self.keys.fetch_sub(1, Relaxed) == 1 {
            self.turn.store(0, Relaxed);
            self.places.give_back(self.place.swap(NOWHERE, Relaxed));
            self.keep_place(None);
        }
    }

    fn keep_place(&self, place: Option<Place>) {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    fn alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event of a hot key comes.
    #[inline]
    pub fn take(&self, entry: &Entry, now: u64) -> Result<(), Beyond> {
        entry.asked.fetch_add(1, Relaxed);
        self.rate_of(entry).take(&entry.arrival, now).map(drop).map_err(|_| self.wait(entry, now))
    }

    /// So many events come at once: as many are counted as there is room for. More than ever pass at once are not asked of
    /// other engines.
    pub fn take_many(&self, entry: &Entry, now: u64, asked: u32) -> Result<(), Beyond> {
        let more = asked.min(self.rate.at_once().saturating_add(1));
        let sum = |all: u32| (all < ASKED_AT_ONCE_MAX).then(|| all.saturating_add(more).min(ASKED_AT_ONCE_MAX));
        let _ = entry.asked.try_update(Relaxed, Relaxed, sum);
        match self.rate_of(entry).take_many(&entry.arrival, now, asked).refused {
            0 => Ok(()),
            _ => Err(self.wait(entry, now)),
        }
    }

    /// What [`take_many`](Self::take_many) would say.
    pub fn look_many(&self, entry: &Entry, now: u64, asked: u32) -> Result<(), Beyond> {
        match self.rate_of(entry).look_many(&entry.arrival, now, asked).refused {
            0 => Ok(()),
            _ => Err(self.wait(entry, now)),
        }
    }

    /// What [`take`](Self::take) would say.
    pub fn look(&self, entry: &Entry, now: u64) -> Result<(), Beyond> {
        self.rate_of(entry).look(&entry.arrival, now).map_err(|_| self.wait(entry, now))
    }

    /// The same for an event that may be counted later. If it is refused, it is counted among what is asked.
    pub fn watch(&self, entry: &Entry, now: u64) -> Result<(), Beyond> {
        let looked = self.look(entry, now);
        entry.asked.fetch_add(looked.is_err().into(), Relaxed);
        looked
    }

    #[inline]
    fn rate_of(&self, entry: &Entry) -> Rate {
        self.rate.by_share(entry.interval.load(Relaxed), self.equal())
    }

    /// Between two events, by an equal part of the rate.
    #[inline]
    fn equal(&self) -> u64 {
        self.rate.interval().saturating_mul(self.engines().into())
    }

    /// Until the next event passes. By the whole rate, if the broker answers: the share follows what is asked.
    #[cold]
    #[inline(never)]
    fn wait(&self, entry: &Entry, now: u64) -> Beyond {
        let (arrival, interval) = (entry.arrival.load(Relaxed), entry.interval.load(Relaxed));
        let since = arrival.saturating_sub(entry.reported.load(Relaxed));
        let counted = match entry.state.load(Relaxed) {
            TOLD => scaled(since, self.rate.interval(), interval),
            _ => since,
        };
        self.rate.wait(arrival - since + counted, self.equal().min(interval), now)
    }

    /// What is to be reported now, at most so much: each key has its turn. Keys that are no longer hot go on among those that
    /// are not.
    pub fn collect(&self, of_keys: &Table, now: u64, most: usize, into: &mut Vec<Demand>) {
        let place = self.place.load(Acquire);
        let Some(sets) = self.places.sets(place) else { return };
        for (at, entry) in sets.iter().flat_map(|set| &set.0).enumerate().skip(self.turn.load(Relaxed)) {
            if into.len() >= most {
                self.turn.store(at, Relaxed);
                return;
            }
            if entry.tag.load(Relaxed) != NOBODY
                && let Some(demand) = self.collect_one(place, entry, of_keys, now)
            {
                into.push(demand);
            }
        }
        self.turn.store(0, Relaxed);
    }

    fn collect_one(&self, place: usize, entry: &Entry, of_keys: &Table, now: u64) -> Option<Demand> {
        let _alone = self.alone();
        if self.place.load(Relaxed) != place {
            // Its last key has ended: the entry may be of another limit.
            return None;
        }
        let asked = entry.asked.swap(0, Relaxed);
        if asked > 0 {
            entry.active.store(now, Relaxed);
        }
        let is_unheard = now.saturating_sub(entry.heard.load(Relaxed)) > PATIENCE_NANOS;
        let tag = entry.tag.load(Relaxed);
        // At a part of its rate, as slowly as that, it would not be hot.
        let quiet = self.rate.quiet(self.engines());
        let idle = quiet.interval_nanos().clamp(*IDLE_NANOS.start(), *IDLE_NANOS.end());
        let is_idle = is_unheard && now.saturating_sub(entry.active.load(Relaxed)) > idle;
        if is_idle || self.engines() == 1 {
            // What it has used stays used.
            let arrival = entry.arrival.load(Relaxed);
            if arrival > ticks(now) {
                of_keys.restore(tag, arrival, &quiet, now);
            }
            self.end(entry);
            return None;
        }
        if is_unheard {
            self.fall_back(entry);
        }
        let arrival = entry.arrival.load(Relaxed).max(ticks(now));
        entry.reported.store(arrival, Relaxed);
        let used = self.rate.used(arrival, now, WHOLE, USED_MAX);
        Some(Demand { tag, asked, used })
    }

    /// Half of the last share, but no less than an equal one; of a key that had none, half of the rate.
    fn fall_back(&self, entry: &Entry) {
        let last = match entry.state.swap(FALLEN_BACK, Relaxed) {
            FALLEN_BACK => return,
            TOLD => entry.interval.load(Relaxed),
            _ => self.rate.interval(),
        };
        entry.interval.store(last.saturating_mul(2).min(self.equal()), Relaxed);
    }

    /// The broker says something. A key that is not hot here becomes hot, and goes on with its arrival time.
    pub fn hear(&self, told: Share, arrival: impl FnOnce() -> u64, now: u64) {
        if told.tag == NOBODY {
            return;
        }
        let interval = self.rate.part(told.share, WHOLE).interval();
        let bring = || self.bring(told.tag, arrival(), interval, now).map(|(entry, _)| entry);
        let Some(entry) = self.find(told.tag).or_else(bring) else { return };
        let _alone = self.alone();
        if entry.tag.load(Relaxed) != told.tag {
            return;
        }
        let was = entry.interval.swap(interval, Relaxed);
        entry.state.store(TOLD, Relaxed);
        entry.heard.store(now, Relaxed);
        let reported = entry.reported.load(Relaxed);
        // What came since the report is as many events of the new share.
        let since = |arrival: u64| scaled(arrival.saturating_sub(reported), interval, was);
        let moved = |arrival: u64| {
            let arrival = arrival.min(reported).saturating_add(since(arrival));
            Some(self.rate.shifted(arrival, now, told.shift, WHOLE))
        };
        let _ = entry.arrival.fetch_update(Relaxed, Relaxed, moved);
        entry.reported.store(self.rate.shifted(reported, now, told.shift, WHOLE), Relaxed);
    }
}

/// So many ticks by another interval.
fn scaled(ticks: u64, interval: u64, was: u64) -> u64 {
    let scaled = u128::from(ticks) * u128::from(interval) / u128::from(was.max(1));
    scaled.min(u64::MAX.into()) as u64
}

impl Set {
    #[inline]
    fn find(&self, tag: u64) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.tag.load(Acquire) == tag)
    }
}

impl Drop for Hot {
    fn drop(&mut self) {
        let place = *self.place.get_mut();
        if let Some(sets) = self.places.sets(place) {
            sets.iter().flat_map(|set| &set.0).for_each(|entry| entry.tag.store(NOBODY, Relaxed));
            self.places.give_back(place);
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        Self { taken: AtomicU64::new(0), sets: [const { OnceLock::new() }; LIMITS_MAX] }
    }
}

impl Places {
    /// `None`: of no limit.
    #[inline]
    fn sets(&self, place: usize) -> Option<&[Set]> {
        self.sets.get(place)?.get().map(|sets| &**sets)
    }

    fn has_room(&self) -> bool {
        self.taken.load(Relaxed) != u64::MAX
    }

    /// The first that is free. `None`: other limits have all, or the memory is used up.
    fn take(&self) -> Option<usize> {
        let lowest = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
        let place = self.taken.fetch_update(Acquire, Relaxed, lowest).ok()?.trailing_ones() as usize;
        if self.sets(place).is_none() {
            match <[Set]>::new_box_zeroed_with_elems(1 << SET_BITS) {
                // Nobody else has the place.
                Ok(sets) => drop(self.sets[place].set(sets)),
                Err(_) => {
                    self.give_back(place);
                    return None;
                }
            }
        }
        Some(place)
    }

    /// No entry has a key.
    fn give_back(&self, place: usize) {
        self.taken.fetch_and(!(1 << place), Release);
    }
}

/// Arrival times in ticks, for [`Hot::heat`].
pub(crate) fn arrival(now: u64, ahead: u64) -> u64 {
    ticks(now).saturating_add(ahead)
}
