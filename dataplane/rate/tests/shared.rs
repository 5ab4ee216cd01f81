//! Workers that count together.

use std::{net::IpAddr, sync::atomic::AtomicU64, sync::atomic::Ordering::Relaxed, thread};

use proptest::prelude::*;
use weir_rate::{Limit, Moment, Tallies};

const S: u64 = 1_000_000_000;
const WORKERS: u64 = 8;

#[test]
fn exactly_the_rate_passes_over_all_workers() {
    for keys in [1, 3, 400] {
        let limit = Limit::new("set", "rule", 1_000, 1, 0);
        let tally = Tallies::new(5).of("", 1, [limit]);
        let passed: Vec<_> = (0..keys).map(|_| AtomicU64::new(0)).collect();
        let key = |at: u64| tally.key(&limit).client(IpAddr::from(u32::to_be_bytes(at as u32)));
        thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    for round in 0..2_000 / WORKERS * 4 {
                        for at in 0..keys {
                            // Each worker sees its own moments within the second.
                            let now = 10 * S + round;
                            let passes = tally.admit(&limit, &key(at), Moment::counting(now)).is_ok();
                            passed[at as usize].fetch_add(passes.into(), Relaxed);
                        }
                    }
                });
            }
        });
        for (at, passed) in passed.iter().enumerate() {
            assert_eq!(passed.load(Relaxed), 1_000, "key {at} of {keys}");
        }
    }
}

#[test]
fn flood_of_keys_of_one_limit_leaves_another_exact() {
    // Each invented key is refused for a day.
    let (slow, fast) = (Limit::new("set", "slow", 1, 86_400, 0), Limit::new("set", "fast", 5, 60, 0));
    let tally = Tallies::new(5).of("", 1, [slow, fast]);
    for number in 0..1_000_000u32 {
        let _ = tally.admit(&slow, &tally.key(&slow).text(&number.to_be_bytes()), Moment::counting(S));
    }
    for number in 0..1_000u32 {
        let key = tally.key(&fast).text(&number.to_be_bytes());
        let passed = (0..20).filter(|_| tally.admit(&fast, &key, Moment::counting(S)).is_ok()).count();
        assert_eq!(passed, 5, "key {number}");
    }
}

#[test]
fn workers_that_bring_one_key_at_once_count_in_one_cell() {
    let limit = Limit::new("set", "rule", 10, 60, 0);
    let tally = Tallies::new(5).of("", 1, [limit]);
    for number in 0..2_000u32 {
        let key = tally.key(&limit).text(&number.to_be_bytes());
        let passed = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let ok = (0..10).filter(|_| tally.admit(&limit, &key, Moment::counting(S)).is_ok()).count();
                    passed.fetch_add(ok as u64, Relaxed);
                });
            }
        });
        assert_eq!(passed.load(Relaxed), 10, "key {number}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any time, no more pass than the burst and what the rate gives in that time; and an event is refused only if a
    /// bucket of tokens that fills at the rate would be empty, too.
    #[test]
    fn rate_is_that_of_a_bucket_of_tokens(
        count in 1u32..50,
        period_s in 1u32..5,
        burst in 0u32..100,
        gaps in prop::collection::vec(0u64..400_000_000, 1..300),
    ) {
        let limit = Limit::new("set", "rule", count, period_s, burst);
        let tally = Tallies::new(5).of("", 1, [limit]);
        let depth = f64::from(count.max(burst));
        let per_nano = f64::from(count) / (f64::from(period_s) * 1e9);
        let (mut now, mut tokens) = (S, depth);
        for gap in gaps {
            now += gap;
            tokens = (tokens + gap as f64 * per_nano).min(depth);
            let passes = tally.admit_any(&limit, Moment::counting(now)).is_ok();
            // Where the bucket is full by a hair, rounding may decide.
            if !(0.999..=1.001).contains(&tokens) {
                prop_assert_eq!(passes, tokens >= 1.0, "{} tokens", tokens);
            }
            if passes {
                tokens -= 1.0;
            }
        }
    }
}
