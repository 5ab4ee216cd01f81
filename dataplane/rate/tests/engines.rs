//! Engines that have a limit together: each lets its part pass.

use proptest::prelude::*;
use weir_rate::{Limit, Moment, Tallies, Tally};

const S: u64 = 1_000_000_000;

/// Engines that serve one virtual service with one limit, and how they are asked: by turns, but some more often than others.
struct Fleet {
    limit: Limit,
    engines: Vec<(Tallies, Tally)>,
    asked: u64,
}

impl Fleet {
    fn of(engines: u32, limit: Limit) -> Self {
        let engine = |number: u32| {
            let tallies = Tallies::new(number.into());
            let tally = tallies.of("", engines, [limit]);
            (tallies, tally)
        };
        Self { limit, engines: (0..engines).map(engine).collect(), asked: 0 }
    }

    fn share(&mut self, with: u32) {
        for (tallies, tally) in &mut self.engines {
            *tally = tallies.of("", with, [self.limit]);
        }
    }

    /// How many of so many events within a second pass on the first of the engines.
    fn passes(&mut self, second: u64, events: u64, engines: usize) -> u64 {
        let mut passed = 0;
        for event in 0..events {
            self.asked += 1;
            // A hash, as a router spreads connections.
            let at = (self.asked.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % engines;
            let now = Moment::counting(second * S + event * S / events);
            passed += u64::from(self.engines[at].1.admit_any(&self.limit, now).is_ok());
        }
        passed
    }
}

/// Each of these engines may be one event ahead or behind, at the begin and at the end.
fn is_near(passed: u64, wanted: u64, engines: u64) -> bool {
    passed.abs_diff(wanted) <= 2 * engines
}

#[test]
fn eight_engines_that_are_asked_ten_times_the_limit_let_the_limit_pass() {
    for (count, period_s) in [(1_000, 1), (80, 1), (600, 60)] {
        let mut fleet = Fleet::of(8, Limit::new("", "limit", count, period_s, 0));
        let per_s = u64::from(count) / u64::from(period_s);
        // What may come at once after a pause is used first.
        let first = fleet.passes(10, 20 * u64::from(count), 8);
        assert!(is_near(first, u64::from(count) + per_s, 8), "{first} of {count}");
        let seconds = 60;
        let passed: u64 = (0..seconds).map(|second| fleet.passes(11 + second, 10 * per_s, 8)).sum();
        assert!(is_near(passed, seconds * per_s, 8), "{passed} and not {}", seconds * per_s);
    }
}

#[test]
fn limit_holds_while_engines_come_and_go() {
    let mut fleet = Fleet::of(8, Limit::new("", "limit", 400, 1, 0));
    fleet.passes(10, 4_000, 8);
    // An engine that was idle has its part of what may come at once.
    let steps = [(8, 0), (4, 0), (2, 0), (4, 2 * 100), (8, 4 * 50), (1, 0), (8, 7 * 50)];
    for (step, (engines, at_once)) in steps.into_iter().enumerate() {
        fleet.share(engines);
        let second = 11 + step as u64 * 10;
        let passed: u64 = (second..second + 10).map(|at| fleet.passes(at, 4_000, engines as usize)).sum();
        assert!(is_near(passed, 10 * 400 + at_once, 8), "{passed} with {engines} engines in step {step}");
    }
}

proptest! {
    #[test]
    fn parts_sum_to_the_limit(
        count in 1..5_000_u32, period_s in 1..100_u32, burst in 0..10_000_u32, engines in 1..40_u32,
    ) {
        let limit = Limit::new("", "limit", count, period_s, burst);
        let fleet = Fleet::of(engines, limit);
        let pass = |at| fleet.engines.iter().map(|(_, tally)| {
            (0..20_000).take_while(|_| tally.admit_any(&limit, at).is_ok()).count() as u64
        }).sum::<u64>();
        // Each engine rounds up.
        let at_once = pass(Moment::counting(S));
        prop_assert_eq!(at_once, u64::from(engines * count.max(burst).div_ceil(engines)));
        // Each engine rounds down, and its interval up.
        let next = pass(Moment::counting((1 + u64::from(period_s)) * S));
        let (least, most) = (u64::from(count.saturating_sub(2 * engines)), u64::from(count));
        prop_assert!((least..=most).contains(&next), "{} and not {}", next, count);
    }
}
