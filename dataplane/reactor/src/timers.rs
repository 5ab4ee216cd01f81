//! One deadline for each slot of the connection table, on a hashed wheel of intrusive lists.
//!
//! Deadlines move with nearly every request and rarely expire. So to move one later only records the new time; its
//! entry moves when the old time comes. No deadline fires early. It fires at most one tick (about 4 ms) late.

use weir_proxy::io::Time;

const TICK_BITS: u32 = 22;
const SPOKES: usize = 4096;
const NONE: u32 = u32::MAX;

pub struct Timers {
    entries: Vec<Entry>,
    spokes: Box<[u32]>,
    /// One bit for each spoke that has an entry.
    occupied: [u64; SPOKES / 64],
    /// The last tick whose spoke has been looked at.
    tick: u64,
    linked: usize,
    due: Vec<(Time, u32)>,
}

/// Small, because each of ten thousands of idle connections has one.
#[derive(Clone, Copy)]
struct Entry {
    /// What the owner wants, in nanoseconds; [`NEVER`]: nothing.
    at: u64,
    /// The tick at whose spoke the entry hangs, at or before that of `at`; [`NEVER`]: at none.
    tick: u64,
    next: u32,
    previous: u32,
}

const NEVER: u64 = u64::MAX;

impl Timers {
    /// For slots up to `room` without moving in memory.
    pub fn with_room(room: usize) -> Self {
        let spokes = vec![NONE; SPOKES].into();
        Self {
            entries: Vec::with_capacity(room),
            spokes,
            occupied: [0; SPOKES / 64],
            tick: 0,
            linked: 0,
            due: Vec::new(),
        }
    }

    pub fn set(&mut self, slot: u32, at: Option<Time>) {
        let index = slot as usize;
        if index >= self.entries.len() {
            self.entries.resize(index + 1, Entry { at: NEVER, tick: NEVER, next: NONE, previous: NONE });
        }
        self.entries[index].at = at.map_or(NEVER, |at| at.nanos);
        let Some(at) = at else { return };
        // Never at the spoke already looked at: that would wait a whole turn.
        let tick = tick_after(at).max(self.tick + 1);
        match self.entries[index].tick {
            NEVER => self.link(slot, tick),
            hung if hung <= tick => {}
            _ => {
                self.unlink(slot);
                self.link(slot, tick);
            }
        }
    }

    /// When to look again; `None` when nothing is set. May be early, never late.
    pub fn next(&self) -> Option<Time> {
        if self.linked == 0 {
            return None;
        }
        let first = spoke(self.tick + 1);
        let rest = self.occupied[first / 64] & (u64::MAX << (first % 64));
        let found = match rest {
            0 => {
                let mut words = (1..=self.occupied.len()).map(|ahead| (first / 64 + ahead) % self.occupied.len());
                let word = words.find(|&word| self.occupied[word] != 0)?;
                word * 64 + self.occupied[word].trailing_zeros() as usize
            }
            bits => first / 64 * 64 + bits.trailing_zeros() as usize,
        };
        let ahead = 1 + (found + SPOKES - first) % SPOKES;
        Some(Time { nanos: (self.tick + ahead as u64) << TICK_BITS })
    }

    /// Calls `fire` for each deadline that has passed, in the order of their times.
    pub fn expire(&mut self, now: Time, mut fire: impl FnMut(u32)) {
        let until = now.nanos >> TICK_BITS;
        if self.linked == 0 {
            self.tick = self.tick.max(until);
            return;
        }
        // One turn looks at every spoke; a longer gap needs no more.
        let first = (self.tick + 1).max(until.saturating_sub(SPOKES as u64 - 1));
        for tick in first..=until {
            self.tick = tick;
            self.look_at(tick, until, now);
        }
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable_by_key(|&(at, slot)| (at, slot));
        due.drain(..).for_each(|(_, slot)| fire(slot));
        self.due = due;
    }

    fn look_at(&mut self, tick: u64, until: u64, now: Time) {
        let mut slot = self.spokes[spoke(tick)];
        while slot != NONE {
            let entry = self.entries[slot as usize];
            // What hangs at a spoke of this turn.
            if entry.tick <= until {
                self.unlink(slot);
                match entry.at {
                    NEVER => {}
                    at if at <= now.nanos => {
                        self.entries[slot as usize].at = NEVER;
                        self.due.push((Time { nanos: at }, slot));
                    }
                    at => self.link(slot, tick_after(Time { nanos: at }).max(until + 1)),
                }
            }
            slot = entry.next;
        }
    }

    fn link(&mut self, slot: u32, tick: u64) {
        let head = std::mem::replace(&mut self.spokes[spoke(tick)], slot);
        let entry = &mut self.entries[slot as usize];
        (entry.tick, entry.next, entry.previous) = (tick, head, NONE);
        if head != NONE {
            self.entries[head as usize].previous = slot;
        }
        self.occupied[spoke(tick) / 64] |= 1 << (spoke(tick) % 64);
        self.linked += 1;
    }

    fn unlink(&mut self, slot: u32) {
        let Entry { tick, next, previous, .. } = self.entries[slot as usize];
        match previous {
            NONE => self.spokes[spoke(tick)] = next,
            before => self.entries[before as usize].next = next,
        }
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if self.spokes[spoke(tick)] == NONE {
            self.occupied[spoke(tick) / 64] &= !(1 << (spoke(tick) % 64));
        }
        self.entries[slot as usize].tick = NEVER;
        self.linked -= 1;
    }
}

fn spoke(tick: u64) -> usize {
    tick as usize % SPOKES
}

/// The first tick at whose beginning `at` has passed.
fn tick_after(at: Time) -> u64 {
    at.nanos.div_ceil(1 << TICK_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time { nanos: ms * 1_000_000 }
    }

    fn fired(timers: &mut Timers, now: Time) -> Vec<u32> {
        let mut slots = Vec::new();
        timers.expire(now, |slot| slots.push(slot));
        slots
    }

    #[test]
    fn fires_in_order_of_time_and_never_early() {
        let mut timers = Timers::with_room(0);
        for (slot, ms) in [(0, 300), (1, 100), (2, 200), (3, 50_000)] {
            timers.set(slot, Some(at(ms)));
        }
        assert_eq!(fired(&mut timers, at(99)), [0_u32; 0]);
        assert_eq!(fired(&mut timers, at(305)), [1, 2, 0]);
        assert_eq!(fired(&mut timers, at(49_999)), [0_u32; 0]);
        assert_eq!(fired(&mut timers, at(50_005)), [3]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn moved_and_cleared_deadlines_do_not_fire_at_their_old_time() {
        let mut timers = Timers::with_room(0);
        timers.set(0, Some(at(100)));
        timers.set(0, Some(at(500)));
        timers.set(1, Some(at(500)));
        timers.set(1, Some(at(100)));
        timers.set(2, Some(at(100)));
        timers.set(2, None);
        assert_eq!(fired(&mut timers, at(110)), [1]);
        assert_eq!(fired(&mut timers, at(510)), [0]);
        assert_eq!(timers.linked, 0);
    }

    #[test]
    fn past_deadline_fires_with_the_next_tick() {
        let mut timers = Timers::with_room(0);
        assert_eq!(fired(&mut timers, at(1_000)), [0_u32; 0]);
        timers.set(0, Some(at(10)));
        assert!(timers.next().unwrap() <= at(1_005));
        assert_eq!(fired(&mut timers, at(1_005)), [0]);
    }

    #[test]
    fn ten_thousand_deadlines_fire_once_each_within_a_tick() {
        let mut timers = Timers::with_room(0);
        let wanted = |slot: u32| at(1 + u64::from(slot.wrapping_mul(2_654_435_761)) % 60_000);
        (0..10_000).for_each(|slot| timers.set(slot, Some(wanted(slot))));
        let (mut now, mut seen) = (at(0), 0);
        while let Some(next) = timers.next() {
            now = Time { nanos: next.nanos.max(now.nanos + 1) };
            for slot in fired(&mut timers, now) {
                let late = now.since(wanted(slot));
                assert!(wanted(slot) <= now && late.as_millis() <= 5, "slot {slot} is {late:?} late");
                seen += 1;
            }
        }
        assert_eq!(seen, 10_000);
    }

    #[test]
    fn gap_longer_than_a_turn_fires_everything_due() {
        let mut timers = Timers::with_room(0);
        (0..100).for_each(|slot| timers.set(slot, Some(at(u64::from(slot) * 977))));
        assert_eq!(fired(&mut timers, at(3_600_000)).len(), 100);
    }
}
