//! Engines that have a limit together: each lets its part pass.

use proptest::prelude::*;
use weir_rate::{Demands, Engines, Limit, Moment, Share, Tallies, Tally, WHOLE};

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

/// An engine of eight that count keys by one seed, or by their own.
fn of_eight(number: u64, seed: u64, limit: Limit) -> (Tallies, Tally) {
    let tallies = Tallies::new(number);
    let tally = tallies.of("service", Engines { count: 8, seed }, [limit]);
    (tallies, tally)
}

/// How many of so many events of a key within a second pass.
fn passes(tally: &Tally, limit: &Limit, key: &[u8], second: u64, events: u64) -> u64 {
    let at = |event| Moment::counting(second * S + event * S / events);
    (0..events).map(|event| u64::from(tally.admit(limit, &tally.key(limit).text(key), at(event)).is_ok())).sum()
}

fn keys(demands: &[Demands]) -> usize {
    demands.iter().map(|each| each.keys.len()).sum()
}

/// What the broker says of all keys that an engine reports.
fn tell(tallies: &Tallies, demands: &[Demands], share: u32, shift: i32, now: u64) {
    for each in demands {
        let shares = each.keys.iter().map(|key| Share { tag: key.tag, share, shift });
        tallies.hear(&each.service, each.limit, shares, now);
    }
}

const HOT_LIMIT: (u32, u32) = (800, 1);

fn hot_limit() -> Limit {
    Limit::new("", "limit", HOT_LIMIT.0, HOT_LIMIT.1, 0)
}

#[test]
fn engines_let_an_eighth_of_a_keys_rate_pass_before_they_ask_the_others() {
    let limit = hot_limit();
    let all: Vec<_> = (0..8).map(|number| of_eight(number, 5, limit)).collect();
    let passed: Vec<_> = all.iter().map(|(_, tally)| passes(tally, &limit, b"key", 10, 1_000)).collect();
    // What may come at once, and what the rate gives in the second.
    assert!(passed.iter().all(|passed| (198..=201).contains(passed)), "{passed:?}");
    let reported: Vec<_> = all.iter().map(|(tallies, _)| tallies.demands(11 * S, 512)).collect();
    let first = reported[0][0].keys[0];
    for demands in &reported {
        let [Demands { engines: 8, interval_nanos: 1_250_000, keys, .. }] = &demands[..] else { panic!("{demands:?}") };
        assert_eq!((keys.len(), keys[0].tag), (1, first.tag), "the same on all engines");
        assert!(keys[0].asked > 880 && keys[0].used > WHOLE * 9 / 10, "{keys:?}");
    }
}

#[test]
fn quiet_keys_are_not_reported_and_others_only_by_seeds_in_common() {
    let limit = hot_limit();
    let (tallies, tally) = of_eight(1, 5, limit);
    assert_eq!(passes(&tally, &limit, b"key", 10, 90), 90);
    assert!(tallies.is_spread() && tallies.demands(11 * S, 512).is_empty());
    let (alone, tally) = of_eight(1, 0, limit);
    assert_eq!(passes(&tally, &limit, b"key", 10, 5_000), 1_599, "counted for itself");
    assert!(!alone.is_spread() && alone.demands(11 * S, 512).is_empty());
    // With fewer events, each would be hot.
    let small = Limit::new("", "small", 15, 1, 0);
    let (tallies, tally) = of_eight(1, 5, small);
    assert_eq!(passes(&tally, &small, b"key", 10, 5_000), 29);
    assert!(!tallies.is_spread());
}

#[test]
fn engine_lets_its_share_pass_and_falls_back_without_an_answer() {
    let limit = hot_limit();
    let (tallies, tally) = of_eight(1, 5, limit);
    passes(&tally, &limit, b"key", 10, 4_000);
    let demands = tallies.demands(11 * S, 512);
    tell(&tallies, &demands, WHOLE, 0, 11 * S);
    let whole = passes(&tally, &limit, b"key", 11, 4_000);
    assert!(whole.abs_diff(800) <= 8, "{whole}");
    let demands = tallies.demands(12 * S, 512);
    tell(&tallies, &demands, WHOLE / 4, 0, 12 * S);
    let quarter = passes(&tally, &limit, b"key", 12, 4_000);
    assert!(quarter.abs_diff(200) <= 2, "{quarter}");
    // All may come at once again, as the broker says.
    tell(&tallies, &demands, WHOLE, -(WHOLE as i32), 13 * S);
    let freed = passes(&tally, &limit, b"key", 13, 16_000);
    assert!((1_500..=1_602).contains(&freed), "{freed}");
    assert_eq!(keys(&tallies.demands(15 * S, 512)), 1);
    let (first, half) = (passes(&tally, &limit, b"key", 15, 4_000), passes(&tally, &limit, b"key", 16, 4_000));
    assert!(first > 400 && half.abs_diff(400) <= 4, "{first}, {half}: half of the last share");
}

#[test]
fn key_without_any_answer_gets_half_of_its_rate_and_is_forgotten_when_it_is_silent() {
    let limit = hot_limit();
    let (tallies, tally) = of_eight(1, 5, limit);
    passes(&tally, &limit, b"key", 10, 4_000);
    tallies.demands(11 * S, 512);
    passes(&tally, &limit, b"key", 11, 4_000);
    tallies.demands(12 * S, 512);
    let half = passes(&tally, &limit, b"key", 12, 4_000);
    assert!(half.abs_diff(400) <= 4, "{half}");
    assert_eq!(keys(&tallies.demands(13 * S, 512)), 1);
    assert_eq!(keys(&tallies.demands(16 * S, 512)), 0);
    assert_eq!(passes(&tally, &limit, b"key", 17, 90), 90);
    assert_eq!(keys(&tallies.demands(18 * S, 512)), 0, "it is not hot any more");
}

#[test]
fn key_that_was_silent_is_as_used_as_before() {
    let limit = Limit::new("", "limit", 800, 3_600, 0);
    let (tallies, tally) = of_eight(1, 5, limit);
    passes(&tally, &limit, b"key", 10, 4_000);
    tell(&tallies, &tallies.demands(11 * S, 512), WHOLE, -(WHOLE as i32), 11 * S);
    let whole = passes(&tally, &limit, b"key", 11, 4_000);
    assert!((799..=801).contains(&whole), "{whole}");
    tallies.demands(12 * S, 512);
    assert_eq!(keys(&tallies.demands(60 * S, 512)), 0, "it is not hot any more");
    let again = passes(&tally, &limit, b"key", 61, 4_000);
    assert!(again <= 50 * 800 / 3_600, "{again}");
    let demands = tallies.demands(62 * S, 512);
    assert!(demands[0].keys[0].used > WHOLE * 9 / 10, "hot again: {demands:?}");
}

#[test]
fn key_is_as_used_as_before_when_one_engine_is_left_and_when_another_comes() {
    let limit = Limit::new("", "limit", 800, 3_600, 0);
    let tallies = Tallies::new(1);
    let of = |count| tallies.of("service", Engines { count, seed: 5 }, [limit]);
    let alone = of(1);
    assert_eq!(passes(&alone, &limit, b"early", 9, 4_000), 800);
    let both = of(2);
    let early = passes(&both, &limit, b"early", 10, 4_000);
    assert!(early <= 1, "{early}: its events count on");
    passes(&both, &limit, b"key", 10, 4_000);
    tell(&tallies, &tallies.demands(11 * S, 512), WHOLE, -(WHOLE as i32), 11 * S);
    passes(&both, &limit, b"key", 11, 4_000);
    let alone = of(1);
    assert_eq!(keys(&tallies.demands(12 * S, 512)), 0, "no key is hot");
    let again = passes(&alone, &limit, b"key", 12, 4_000);
    assert!(again <= 1, "{again}");
}

#[test]
fn flood_of_hot_keys_of_one_limit_delays_no_report_of_another() {
    let (flooded, other) = (Limit::new("", "flooded", 16, 60, 0), Limit::new("", "other", 800, 1, 0));
    let tallies = Tallies::new(1);
    let tally = tallies.of("service", Engines { count: 8, seed: 5 }, [flooded, other]);
    (0..8_000_u32).for_each(|number| assert!(passes(&tally, &flooded, &number.to_be_bytes(), 10, 40) > 0));
    (0..100_u32).for_each(|number| assert!(passes(&tally, &other, &number.to_be_bytes(), 10, 200) > 0));
    for _ in 0..10 {
        let demands = tallies.demands(11 * S, 512);
        assert!(demands[0].keys.len() == 100 && demands[1].keys.len() <= 412, "{}", keys(&demands));
    }
}

#[test]
fn key_that_the_broker_knows_is_reported_where_it_is_not_hot() {
    let limit = hot_limit();
    let (here, tally) = of_eight(1, 5, limit);
    let (there, other) = of_eight(2, 5, limit);
    passes(&other, &limit, b"key", 10, 4_000);
    passes(&tally, &limit, b"key", 10, 50);
    let demands = there.demands(11 * S, 512);
    tell(&here, &demands, WHOLE / 100, 0, 11 * S);
    let [Demands { keys, .. }] = &here.demands(11 * S, 512)[..] else { panic!("nothing is reported") };
    assert_eq!((keys[0].tag, keys[0].asked), (demands[0].keys[0].tag, 0));
    here.hear("service", 77, [Share { tag: 1, share: 1, shift: 0 }], 11 * S);
    here.hear("unknown", 77, [Share { tag: 1, share: 1, shift: 0 }], 11 * S);
}

#[test]
fn flood_of_hot_keys_is_reported_by_turns_and_those_without_room_are_counted_here() {
    let limit = Limit::new("", "limit", 16, 60, 0);
    let (tallies, tally) = of_eight(1, 5, limit);
    for number in 0..8_000_u32 {
        // Two of sixteen at once. For those without room, as many as the engine counts for itself.
        let passed = passes(&tally, &limit, &number.to_be_bytes(), 10, 40);
        assert!((2..=3).contains(&passed), "{passed} of key {number}");
    }
    let mut seen = std::collections::HashSet::new();
    for _ in 0..10 {
        let demands = tallies.demands(11 * S, 512);
        assert!(keys(&demands) <= 512);
        seen.extend(demands.iter().flat_map(|each| &each.keys).map(|key| key.tag));
    }
    assert!((3_700..=4_096).contains(&seen.len()), "{}", seen.len());
}

fn limits(name: &str, count: u32) -> Vec<Limit> {
    (0..count).map(|number| Limit::new(name, &number.to_string(), HOT_LIMIT.0, HOT_LIMIT.1, 0)).collect()
}

#[test]
fn limits_give_their_places_for_hot_keys_back_and_others_get_them() {
    const PLACES: usize = 64;
    let tallies = Tallies::new(1);
    // A virtual service may have eight of them.
    let of = |limits: &[Limit]| {
        let of_service = |(at, limits): (usize, &[Limit])| {
            tallies.of(&at.to_string(), Engines { count: 8, seed: 5 }, limits.iter().copied())
        };
        limits.chunks(8).enumerate().map(of_service).collect::<Vec<Tally>>()
    };
    let heat = |of: &[Tally], limits: &[Limit], from: usize, second| {
        for (at, limit) in limits.iter().enumerate().skip(from) {
            assert!(passes(&of[at / 8], limit, b"key", second, 400) > 0);
        }
        tallies.demands((second + 1) * S, 512).len()
    };
    let all = limits("one", 70);
    let tally = of(&all);
    assert_eq!(heat(&tally, &all, 0, 10), PLACES);
    assert_eq!(heat(&tally, &all, PLACES, 11), PLACES, "no place is free");
    assert!(tallies.demands(14 * S, 512).is_empty(), "nobody asked");
    assert_eq!(heat(&tally, &all, PLACES, 15), 6, "a limit that found no place finds one");
    assert_eq!(heat(&tally, &all, 0, 16), PLACES);

    drop(tally);
    assert!(tallies.is_spread() && tallies.demands(17 * S, 512).is_empty() && !tallies.is_spread());
    let others = limits("other", 64);
    assert_eq!(heat(&of(&others), &others, 0, 18), PLACES, "the limits that have gone have no place");
}

#[test]
fn question_what_would_happen_asks_nothing_of_a_hot_key() {
    let limit = hot_limit();
    let (tallies, tally) = of_eight(1, 5, limit);
    passes(&tally, &limit, b"key", 10, 4_000);
    tallies.demands(11 * S, 512);
    let key = tally.key(&limit).text(b"key");
    let asked = |at: Moment| {
        assert!((0..5).all(|_| tally.admit(&limit, &key, at).is_err()));
        tallies.demands(11 * S, 512)[0].keys[0].asked
    };
    assert_eq!(asked(Moment::looking(11 * S - S / 100)), 0);
    assert_eq!(asked(Moment::looking(11 * S - S / 100).only_looking()), 0);
    assert_eq!(asked(Moment::counting(11 * S - S / 100).only_looking()), 5, "of a client that failed too often");
}

#[test]
fn events_at_once_are_counted_as_if_they_came_one_by_one() {
    let limit = hot_limit();
    for seed in [0, 5] {
        let [(one, at_once), (other, single)] = [1, 2].map(|number| of_eight(number, seed, limit));
        for (second, asked) in [(10, 3), (10, 700), (10, 9_000), (11, 1), (11, 40), (30, 2_000), (90, 70)] {
            let at = Moment::counting(second * S);
            let [key, same] = [&at_once, &single].map(|tally| tally.key(&limit).text(b"key"));
            let looked = at_once.admit_many(&limit, &key, asked, Moment::looking(second * S));
            let many = at_once.admit_many(&limit, &key, asked, at);
            let last = (0..asked).filter_map(|_| single.admit(&limit, &same, at).err()).next();
            assert_eq!(many.err(), last, "{asked} at {second} s");
            assert!(many.is_err() || looked.is_ok());
            assert_eq!(at_once.admit(&limit, &key, at), single.admit(&limit, &same, at));
        }
        assert_eq!([&one, &other].map(|tallies| keys(&tallies.demands(91 * S, 512))), [usize::from(seed > 0); 2]);
    }
}

#[test]
fn more_at_once_than_ever_pass_do_not_take_the_shares_of_others() {
    let limit = hot_limit();
    let (tallies, tally) = of_eight(1, 5, limit);
    let key = tally.key(&limit).text(b"key");
    passes(&tally, &limit, b"key", 10, 4_000);
    tallies.demands(11 * S, 512);
    for _ in 0..3 {
        assert!(tally.admit_many(&limit, &key, u32::MAX, Moment::counting(11 * S)).is_err());
    }
    let asked = tallies.demands(12 * S, 512)[0].keys[0].asked;
    assert!((100..100_000).contains(&asked), "{asked}");
}

#[test]
fn client_below_its_rate_passes_on_an_engine_that_was_not_asked_lately() {
    let limit = Limit::new("", "limit", 100, 60, 0);
    let (here, tally) = of_eight(1, 5, limit);
    let (there, other) = of_eight(2, 5, limit);
    passes(&other, &limit, b"key", 10, 30);
    let demands = there.demands(11 * S, 512);
    // Seven tenths of what may come at once are used. The engine has a part of what is left for those that are not asked.
    tell(&here, &demands, WHOLE / 160, WHOLE as i32 * 7 / 10, 11 * S);
    let key = tally.key(&limit).text(b"key");
    let ask = |at| tally.admit(&limit, &key, Moment::counting(at));
    assert!(ask(11 * S).is_ok());
    let beyond = ask(11 * S).expect_err("it has passed one in advance");
    assert_eq!(beyond.wait_s(), 1, "the share follows");
    // The whole rate would give none.
    tell(&here, &demands, WHOLE / 160, WHOLE as i32, 12 * S);
    assert!((40..=60).contains(&ask(12 * S).expect_err("all is used").wait_s()));
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

#[test]
fn events_that_come_at_once_do_not_make_the_number_of_those_asked_wrap() {
    let limit = Limit::new("", "limit", 1_000_000_000, 1, 0);
    let (tallies, tally) = of_eight(1, 5, limit);
    let key = tally.key(&limit).text(b"key");
    for _ in 0..9 {
        let _ = tally.admit_many(&limit, &key, u32::MAX, Moment::counting(10 * S));
    }
    let _ = tally.admit(&limit, &key, Moment::counting(10 * S));
    let demands = tallies.demands(11 * S, 512);
    assert!(demands[0].keys[0].asked > 2_000_000_000, "{demands:?}");
}
