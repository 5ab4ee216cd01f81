//! Engines that have a limit together: each lets its part pass.

use proptest::prelude::*;
use weir_rate::{Limit, Moment, Tally};

const S: u64 = 1_000_000_000;

/// Engines that serve one virtual service, and how they are asked: by turns, but some more often than others.
struct Fleet {
    engines: Vec<Tally>,
    asked: u64,
}

impl Fleet {
    fn of(engines: u32) -> Self {
        let fleet = Self { engines: (0..engines).map(|number| Tally::new(number.into())).collect(), asked: 0 };
        fleet.share(engines);
        fleet
    }

    fn share(&self, with: u32) {
        self.engines.iter().for_each(|engine| engine.share_with(with));
    }

    /// How many of so many events within a second pass on the first of the engines.
    fn passes(&mut self, limit: &Limit, second: u64, events: u64, engines: usize) -> u64 {
        let mut passed = 0;
        for event in 0..events {
            self.asked += 1;
            // A hash, as a router spreads connections.
            let at = (self.asked.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % engines;
            let now = Moment::counting(second * S + event * S / events);
            passed += u64::from(self.engines[at].admit_any(limit, now).is_ok());
        }
        passed
    }
}

#[test]
fn eight_engines_that_are_asked_ten_times_the_limit_let_the_limit_pass() {
    for (count, period_s) in [(1_000, 1), (80, 1), (600, 60)] {
        let (mut fleet, limit) = (Fleet::of(8), Limit::new("", "limit", count, period_s, 0));
        let per_s = u64::from(count) / u64::from(period_s);
        // What may come at once after a pause is used first.
        let first = fleet.passes(&limit, 10, 20 * u64::from(count), 8);
        assert!(first <= u64::from(count) * 11 / 10 + per_s + 8, "{first} of {count}");
        let seconds = 60;
        let passed: u64 = (0..seconds).map(|second| fleet.passes(&limit, 11 + second, 10 * per_s, 8)).sum();
        let most = seconds * per_s;
        assert!((most * 95 / 100..=most * 110 / 100).contains(&passed), "{passed} and not {most}");
    }
}

#[test]
fn limit_holds_while_engines_come_and_go() {
    let (mut fleet, limit) = (Fleet::of(8), Limit::new("", "limit", 400, 1, 0));
    fleet.passes(&limit, 10, 4_000, 8);
    let mut total = 0;
    for (step, engines) in [8, 4, 2, 4, 8, 1, 8].into_iter().enumerate() {
        fleet.share(engines);
        total += (0..10).map(|s| fleet.passes(&limit, 11 + step as u64 * 10 + s, 4_000, engines as usize)).sum::<u64>();
    }
    // An engine that was idle has its part of what may come at once.
    let most = 70 * 400 + 6 * 400;
    assert!((70 * 400 * 95 / 100..=most).contains(&total), "{total}");
}

proptest! {
    #[test]
    fn parts_never_sum_above_the_limit(
        count in 1..5_000_u32, period_s in 1..100_u32, burst in 0..10_000_u32, engines in 1..40_u32,
    ) {
        let (fleet, limit) = (Fleet::of(engines), Limit::new("", "limit", count, period_s, burst));
        let at_once: u64 = fleet.engines.iter().map(|engine| {
            (0..20_000).take_while(|_| engine.admit_any(&limit, Moment::counting(S)).is_ok()).count() as u64
        }).sum();
        // Each engine rounds up once.
        prop_assert!(at_once < u64::from(count.max(burst)) + u64::from(engines), "{at_once}");
        let later = Moment::counting((1 + u64::from(period_s)) * S);
        let next: u64 = fleet.engines.iter().map(|engine| {
            (0..20_000).take_while(|_| engine.admit_any(&limit, later).is_ok()).count() as u64
        }).sum();
        prop_assert!(next <= u64::from(count.max(burst)) + u64::from(engines), "{next}");
    }
}
