//! The arithmetic of one rate: the generic cell rate algorithm (ITU-T I.371 Annex A). A cell holds one number, the
//! *theoretical arrival time* of the next event if all came evenly: how far it lies ahead is how much of the rate is used.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// At most `count` events in each period, evenly over time; after a pause, as many at once as the burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// Between two events that come evenly, in ticks. Rounded up, so that no more than `count` pass.
    interval: u64,
    /// How far ahead the arrival time may lie: `burst` intervals.
    tolerance: u64,
}

/// An event is beyond a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beyond {
    /// Until the next one would pass, if no other comes before.
    pub wait_nanos: u64,
}

/// What became of events that came at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    /// How many were not counted.
    pub refused: u32,
    /// How far ahead the arrival time lies then, in ticks.
    pub ahead: u64,
}

impl Beyond {
    /// In whole seconds, and at least one: what `Retry-After` says.
    pub fn wait_s(self) -> u64 {
        self.wait_nanos.div_ceil(NANOS_PER_S).max(1)
    }
}

const NANOS_PER_S: u64 = 1_000_000_000;
/// Ticks of cells are finer than nanoseconds, so that a rate of a million in a second is exact to 0.01 %. A cell counts up to
/// 36 years.
const TICKS_PER_NANO: u64 = 16;

/// The time of a cell that nothing was counted in.
pub(crate) const EMPTY: u64 = 0;

pub(crate) fn ticks(nanos: u64) -> u64 {
    nanos.saturating_mul(TICKS_PER_NANO)
}

impl Rate {
    /// `burst`: how many may come at once after a pause; less than `count` is `count`. A `count` or `period_s` of 0 is 1.
    pub fn new(count: u32, period_s: u32, burst: u32) -> Self {
        let count = u64::from(count.max(1));
        let period = ticks(u64::from(period_s.max(1)).saturating_mul(NANOS_PER_S));
        let interval = period.div_ceil(count);
        let tolerance = interval.saturating_mul(count.max(burst.into()));
        Self { interval, tolerance }
    }

    /// The part of one of several engines that have the same rate together. At least one event may come at once on each.
    pub(crate) fn shared(&self, engines: u32) -> Self {
        let engines = u64::from(engines.max(1));
        let at_once = (self.tolerance / self.interval).div_ceil(engines);
        let interval = self.interval.saturating_mul(engines);
        Self { interval, tolerance: interval.saturating_mul(at_once) }
    }

    /// What an engine lets pass of a key before it asks the others: an equal part of the rate.
    pub(crate) fn quiet(&self, engines: u32) -> Self {
        self.with_interval(self.interval.saturating_mul(engines.max(1).into()))
    }

    /// Whether each engine has two events at once before it asks the others. With fewer, every key would be hot.
    pub(crate) fn has_parts(&self, engines: u32) -> bool {
        self.tolerance / self.interval >= 2 * u64::from(engines.max(1))
    }

    /// A share of it: such a part of a whole.
    pub(crate) fn part(&self, share: u32, whole: u32) -> Self {
        let interval = u128::from(self.interval) * u128::from(whole) / u128::from(share.max(1));
        self.with_interval(interval.min(u64::MAX.into()) as u64)
    }

    /// The same time until all may come at once again, whatever the share. One event may always come after a pause.
    fn with_interval(&self, interval: u64) -> Self {
        Self { interval, tolerance: self.tolerance.max(interval) }
    }

    /// By a share. A small one counts much for an event, and nothing would pass on an engine that was not asked lately once a
    /// little of the rate is used elsewhere. So an event passes while there is room for what an equal part counts: if each
    /// engine lets one pass then, it is no more than the rate.
    #[inline]
    pub(crate) fn by_share(&self, interval: u64, equal: u64) -> Self {
        Self { interval, tolerance: self.tolerance.saturating_add(interval.saturating_sub(equal)) }
    }

    /// Until there is room for so much, if it is used up to this arrival time.
    pub(crate) fn wait(&self, arrival: u64, room: u64, now: u64) -> Beyond {
        let ahead = arrival.saturating_add(room).saturating_sub(ticks(now));
        Beyond { wait_nanos: ahead.saturating_sub(self.tolerance).div_ceil(TICKS_PER_NANO) }
    }

    pub(crate) fn interval(&self) -> u64 {
        self.interval
    }

    /// How many events an arrival time stands for. `now` is in nanoseconds.
    pub(crate) fn events(&self, arrival: u64, now: u64) -> u64 {
        arrival.saturating_sub(ticks(now)).div_ceil(self.interval)
    }

    pub(crate) fn interval_nanos(&self) -> u64 {
        self.interval / TICKS_PER_NANO
    }

    /// How much of what may come at once is used, in parts of a whole, at most so many. `now` is in nanoseconds.
    pub(crate) fn used(&self, arrival: u64, now: u64, whole: u32, most: u32) -> u32 {
        let ahead = arrival.saturating_sub(ticks(now));
        let used = u128::from(ahead) * u128::from(whole) / u128::from(self.tolerance);
        used.min(most.into()) as u32
    }

    /// The arrival time with so much more or less used: a part of a whole.
    pub(crate) fn shifted(&self, arrival: u64, now: u64, by: i32, whole: u32) -> u64 {
        let now = ticks(now);
        let shift = (u128::from(self.tolerance) * u128::from(by.unsigned_abs()) / u128::from(whole)) as u64;
        match by > 0 {
            true => arrival.max(now).saturating_add(shift),
            false => arrival.max(now).saturating_sub(shift).max(now),
        }
    }

    /// Whether no event could follow one that has left so many ticks used.
    #[inline]
    pub(crate) fn is_used_up(&self, ahead: u64) -> bool {
        ahead.saturating_add(self.interval) > self.tolerance
    }

    /// Counts an event, or refuses it. An event that is refused is not counted. `now` is in nanoseconds. Returns how far ahead
    /// the arrival time lies then, in ticks.
    #[inline]
    pub fn take(&self, cell: &AtomicU64, now: u64) -> Result<u64, Beyond> {
        let now = ticks(now);
        let mut seen = cell.load(Relaxed);
        loop {
            let next = self.next(seen, now)?;
            match cell.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
                Ok(_) => return Ok(next - now),
                Err(other) => seen = other,
            }
        }
    }

    /// Counts as many events as there is room for, of so many that come at once.
    pub fn take_many(&self, cell: &AtomicU64, now: u64, asked: u32) -> Taken {
        let now = ticks(now);
        let mut seen = cell.load(Relaxed);
        loop {
            let passed = asked.min(self.room(seen, now));
            let next = seen.max(now).saturating_add(self.interval.saturating_mul(passed.into()));
            match cell.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
                Ok(_) => return Taken { refused: asked - passed, ahead: next - now },
                Err(other) => seen = other,
            }
        }
    }

    /// What [`take_many`](Self::take_many) would refuse.
    pub fn look_many(&self, cell: &AtomicU64, now: u64, asked: u32) -> Taken {
        let (arrival, now) = (cell.load(Relaxed), ticks(now));
        Taken { refused: asked.saturating_sub(self.room(arrival, now)), ahead: arrival.saturating_sub(now) }
    }

    /// Takes back an event that was counted, if all are not forgotten already.
    pub(crate) fn forget(&self, cell: &AtomicU64, now: u64) {
        let now = ticks(now);
        let earlier = |arrival: u64| (arrival > now).then(|| arrival.saturating_sub(self.interval).max(now));
        let _ = cell.fetch_update(Relaxed, Relaxed, earlier);
    }

    /// How many events pass at once.
    fn room(&self, arrival: u64, now: u64) -> u32 {
        let left = self.tolerance.saturating_sub(arrival.saturating_sub(now));
        (left / self.interval.max(1)).try_into().unwrap_or(u32::MAX)
    }

    /// The most that ever passes at once.
    pub(crate) fn at_once(&self) -> u32 {
        self.room(EMPTY, EMPTY)
    }

    /// Whether all events passed.
    pub(crate) fn answer(&self, Taken { refused, ahead }: Taken) -> Result<(), Beyond> {
        let over = ahead.saturating_add(self.interval).saturating_sub(self.tolerance);
        if refused > 0 { Err(Beyond { wait_nanos: over.div_ceil(TICKS_PER_NANO) }) } else { Ok(()) }
    }

    /// What [`take`](Self::take) would say, without counting.
    pub fn look(&self, cell: &AtomicU64, now: u64) -> Result<(), Beyond> {
        self.next(cell.load(Relaxed), ticks(now)).map(drop)
    }

    /// Whether an event would be refused.
    pub(crate) fn refuses(&self, arrival: u64, now: u64) -> bool {
        self.next(arrival, ticks(now)).is_err()
    }

    /// The arrival time after one more event.
    #[inline]
    fn next(&self, arrival: u64, now: u64) -> Result<u64, Beyond> {
        let next = arrival.max(now).saturating_add(self.interval);
        match next - now > self.tolerance {
            true => Err(Beyond { wait_nanos: (next - now - self.tolerance).div_ceil(TICKS_PER_NANO) }),
            false => Ok(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = NANOS_PER_S;

    /// How many of `asked` events at `now` pass.
    fn passed(rate: &Rate, cell: &AtomicU64, now: u64, asked: u32) -> u32 {
        (0..asked).map(|_| u32::from(rate.take(cell, now).is_ok())).sum()
    }

    #[test]
    fn as_many_pass_at_once_as_the_count_or_the_burst() {
        for (count, period, burst, passing) in
            [(5, 1, 0, 5), (5, 1, 3, 5), (5, 1, 20, 20), (1, 60, 0, 1), (3, 7, 0, 3), (999_983, 1, 0, 999_983)]
        {
            let (rate, cell) = (Rate::new(count, period, burst), AtomicU64::new(EMPTY));
            assert_eq!(passed(&rate, &cell, 9 * S, 2_000_000), passing, "{count} in {period} s, burst {burst}");
        }
    }

    #[test]
    fn events_that_come_too_fast_pass_at_the_rate() {
        let (rate, cell) = (Rate::new(10, 1, 0), AtomicU64::new(EMPTY));
        // The burst first, then ten in each second.
        let each_ms = (0..5_000).map(|ms| passed(&rate, &cell, S + ms * S / 1000, 1));
        assert_eq!(each_ms.sum::<u32>(), 10 + 49);
    }

    #[test]
    fn events_at_the_rate_all_pass() {
        let (rate, cell) = (Rate::new(10, 1, 0), AtomicU64::new(EMPTY));
        assert!((0..100).all(|tenth| rate.take(&cell, S + tenth * S / 10).is_ok()));
    }

    #[test]
    fn refusal_says_when_the_next_passes() {
        let (rate, cell) = (Rate::new(2, 60, 0), AtomicU64::new(EMPTY));
        assert_eq!(passed(&rate, &cell, 5 * S, 2), 2);
        assert_eq!(rate.look(&cell, 5 * S), Err(Beyond { wait_nanos: 30 * S }));
        let beyond = rate.take(&cell, 10 * S + 1).expect_err("both are used");
        assert_eq!((beyond.wait_nanos, beyond.wait_s()), (25 * S - 1, 25));
        assert_eq!(rate.take(&cell, 35 * S - 1), Err(Beyond { wait_nanos: 1 }));
        assert!(rate.take(&cell, 35 * S).is_ok());
        assert_eq!(Beyond { wait_nanos: 0 }.wait_s(), 1);
    }

    #[test]
    fn look_counts_nothing() {
        let (rate, cell) = (Rate::new(1, 1, 0), AtomicU64::new(EMPTY));
        assert!((0..9).all(|_| rate.look(&cell, S).is_ok()));
        assert_eq!(passed(&rate, &cell, S, 9), 1);
        assert!(rate.look(&cell, S).is_err());
    }

    #[test]
    fn event_that_is_taken_back_leaves_room_for_another() {
        let (rate, cell) = (Rate::new(3, 60, 0), AtomicU64::new(EMPTY));
        rate.forget(&cell, 5 * S);
        assert_eq!(cell.load(Relaxed), EMPTY, "nothing was counted");
        assert_eq!(passed(&rate, &cell, 5 * S, 9), 3);
        rate.forget(&cell, 5 * S);
        assert_eq!(rate.events(cell.load(Relaxed), 5 * S), 2);
        assert_eq!(passed(&rate, &cell, 5 * S, 9), 1);
        // Half of an event is left, and no more is taken back.
        rate.forget(&cell, 55 * S);
        assert_eq!(rate.events(cell.load(Relaxed), 55 * S), 0);
        assert_eq!(passed(&rate, &cell, 55 * S, 9), 3);
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        let rate = Rate::new(5_000, 60, 8_000);
        let (many, single) = (AtomicU64::new(EMPTY), AtomicU64::new(EMPTY));
        for (second, asked) in [(1, 1), (1, 7_000), (2, 2_000), (2, 1), (30, 0), (30, 3_000), (999, 9_000)] {
            let looked = rate.look_many(&many, second * S, asked);
            let taken = rate.take_many(&many, second * S, asked);
            let one_by_one = passed(&rate, &single, second * S, asked);
            assert_eq!((asked - taken.refused, looked.refused), (one_by_one, taken.refused), "{asked} at {second} s");
            assert_eq!(many.load(Relaxed).max(ticks(second * S)), single.load(Relaxed).max(ticks(second * S)));
            let answer = if taken.refused == 0 { Ok(()) } else { rate.look(&single, second * S) };
            assert_eq!(rate.answer(taken), answer);
        }
    }

    #[test]
    fn extreme_rates_do_not_overflow() {
        let most = 1_000_000_000;
        for (count, period, burst) in [(most, 1, most), (most, most, most), (1, most, most), (1, most, 0), (0, 0, 0)] {
            let (rate, cell) = (Rate::new(count, period, burst), AtomicU64::new(EMPTY));
            assert!(rate.take(&cell, S).is_ok(), "{count} in {period} s, burst {burst}");
            let _ = rate.take(&cell, 1 << 62);
            let taken = rate.take_many(&cell, 1 << 62, u32::MAX);
            let _ = (rate.answer(taken), rate.look_many(&cell, S, u32::MAX));
        }
    }
}
