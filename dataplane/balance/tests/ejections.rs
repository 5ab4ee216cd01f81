//! What holds of servers whose answers are errors: they get less, then nothing for a while, and come back with a probe.
#![allow(clippy::unwrap_used)]

mod pools;

use proptest::prelude::*;
use weir_balance::{Algorithm, Balancer, HashKey, PoolSpec, Standing};

use pools::{ALGORITHMS, equal};

const SECOND: u64 = 1_000_000_000;
/// A process may be old.
const BEGIN: u64 = 3600 * SECOND;
const SERVERS_MAX: usize = 8;

/// One request after the other, each answered at once; how many each of the servers got.
fn serve(balancer: &mut Balancer, now_ns: u64, count: u64, is_error: impl Fn(u32) -> bool) -> Vec<u64> {
    let now_ns = BEGIN + now_ns;
    let mut got = vec![0; SERVERS_MAX];
    for number in 0..count {
        let id = balancer.pick(now_ns, HashKey::of(&number.to_be_bytes()), &[]).unwrap() as u32;
        balancer.judged(id, is_error(id), now_ns, now_ns);
        balancer.closed(id);
        got[id as usize] += 1;
    }
    got
}

#[test]
fn server_whose_answers_are_errors_gets_one_request_each_pause_until_one_is_answered_well() {
    // Those that compare two servers do not take the worse one so often that it is ejected.
    let compares = |algorithm: &Algorithm| matches!(algorithm, Algorithm::FastestResponse | Algorithm::LeastLoad);
    for algorithm in ALGORITHMS.into_iter().filter(|algorithm| !compares(algorithm)) {
        let mut balancer = Balancer::new(&equal(algorithm, 4));
        let first = serve(&mut balancer, 0, 1_000, |id| id == 0)[0];
        assert!((7..60).contains(&first), "{algorithm:?}: {first} requests before it was ejected");
        assert_eq!((balancer.standing(0), balancer.ejected(0).collect::<Vec<_>>()), (Standing::Ejected, vec![0]));
        assert_eq!(serve(&mut balancer, 30 * SECOND - 1, 1_000, |id| id == 0)[0], 0, "{algorithm:?}");
        assert_eq!(serve(&mut balancer, 30 * SECOND, 1_000, |id| id == 0)[0], 1, "{algorithm:?}");
        assert_eq!(serve(&mut balancer, 90 * SECOND - 1, 1_000, |id| id == 0)[0], 0, "{algorithm:?}");
        assert!(serve(&mut balancer, 90 * SECOND, 1_000, |_| false)[0] > 1, "{algorithm:?}");
        assert_eq!(balancer.standing(0), Standing::Eligible);
        assert_eq!(balancer.ejected(BEGIN + 90 * SECOND).count(), 0);
    }
}

#[test]
fn share_falls_with_the_errors_and_comes_back_with_good_answers() {
    for algorithm in [Algorithm::RoundRobin, Algorithm::Random] {
        // Of two servers none is ejected.
        let mut balancer = Balancer::new(&equal(algorithm, 2));
        serve(&mut balancer, 0, 200, |id| id == 0);
        assert_eq!((balancer.share(0), balancer.standing(0)), (10, Standing::Eligible));
        let got = serve(&mut balancer, 0, 1_100, |id| id == 0);
        assert!((60..150).contains(&got[0]), "{algorithm:?}: {got:?}");
        serve(&mut balancer, 0, 1_000, |_| false);
        assert_eq!(balancer.share(0), 100);
        let got = serve(&mut balancer, 0, 1_000, |_| false);
        assert!((430..570).contains(&got[0]), "{algorithm:?}: {got:?}");
    }
}

#[test]
fn errors_fade_where_the_server_gets_no_requests_that_could_be_answered_well() {
    for algorithm in ALGORITHMS {
        let mut balancer = Balancer::new(&equal(algorithm, 4));
        (0..5).for_each(|_| balancer.judged(0, true, BEGIN, BEGIN));
        assert_eq!(balancer.share(0), 40);
        let shares = [10, 30, 60, 120, 200].map(|seconds| {
            serve(&mut balancer, seconds * SECOND, 1, |_| false);
            balancer.share(0)
        });
        assert_eq!(shares[4], 100, "{algorithm:?}: {shares:?}");
        assert!(shares.is_sorted() && shares[1] < 90, "{algorithm:?}: {shares:?}");
    }
}

#[test]
fn what_all_servers_do_ejects_none() {
    // The last algorithm asks one server only, as long as that one is not full.
    for algorithm in &ALGORITHMS[..6] {
        let mut balancer = Balancer::new(&equal(*algorithm, 8));
        serve(&mut balancer, 0, 5_000, |_| true);
        assert_eq!(balancer.ejected(0).count(), 0, "{algorithm:?}");
    }
}

#[test]
fn answers_that_are_older_than_the_probe_decide_nothing() {
    let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 4));
    (0..20).for_each(|_| balancer.judged(0, true, BEGIN, BEGIN));
    assert_eq!(serve(&mut balancer, 30 * SECOND, 100, |_| false)[0], 23, "the probe was answered");
    (0..20).for_each(|_| balancer.judged(0, true, BEGIN + 31 * SECOND, BEGIN + 31 * SECOND));
    balancer.pick(BEGIN + 100 * SECOND, HashKey::default(), &[]);
    balancer.judged(0, false, BEGIN + 99 * SECOND, BEGIN + 101 * SECOND);
    assert_eq!(balancer.standing(0), Standing::Ejected);
    balancer.judged(0, false, BEGIN + 100 * SECOND, BEGIN + 101 * SECOND);
    assert_eq!(balancer.standing(0), Standing::Eligible);
}

#[test]
fn pool_that_does_not_watch_and_server_that_monitors_call_up_again_are_not_judged() {
    let mut balancer = Balancer::new(&PoolSpec { watches: false, ..equal(Algorithm::RoundRobin, 4) });
    serve(&mut balancer, 0, 1_000, |id| id == 0);
    assert_eq!((balancer.standing(0), balancer.share(0)), (Standing::Eligible, 100));
    let mut balancer = Balancer::new(&PoolSpec { monitored: true, ..equal(Algorithm::RoundRobin, 4) });
    (0..4).for_each(|id| balancer.set_up(id, true));
    serve(&mut balancer, 0, 1_000, |id| id == 0);
    assert_eq!(balancer.standing(0), Standing::Ejected);
    (0..2).for_each(|up| balancer.set_up(0, up == 1));
    assert_eq!((balancer.standing(0), balancer.share(0)), (Standing::Eligible, 100));
}

#[test]
fn ejected_servers_come_back_where_monitors_leave_no_others() {
    let mut balancer = Balancer::new(&PoolSpec { monitored: true, ..equal(Algorithm::RoundRobin, 5) });
    (0..5).for_each(|id| balancer.set_up(id, true));
    serve(&mut balancer, 0, 1_000, |id| id < 2);
    assert_eq!(balancer.ejected(BEGIN).count(), 2);
    (2..5).for_each(|id| balancer.set_up(id, false));
    assert_eq!(balancer.pick(BEGIN + SECOND, HashKey::default(), &[]).map(|position| position < 2), Some(true));
    serve(&mut balancer, 31 * SECOND, 100, |_| false);
    assert_eq!(balancer.ejected(BEGIN + 31 * SECOND).count(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Asked { is_error: bool },
    Up(u32, bool),
    Passed(u64),
}

fn step(servers: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any::<bool>().prop_map(|is_error| Step::Asked { is_error }),
        1 => (0..servers, any::<bool>()).prop_map(|(id, up)| Step::Up(id, up)),
        1 => (1..400u64).prop_map(|seconds| Step::Passed(seconds * SECOND)),
    ]
}

proptest! {
    #[test]
    fn pool_with_a_server_that_stands_always_has_one_and_fewer_than_half_are_ejected_at_once(
        algorithm in prop::sample::select(ALGORITHMS.to_vec()),
        bad in 0..4u32,
        steps in prop::collection::vec(step(6), 1..400),
    ) {
        let mut balancer = Balancer::new(&PoolSpec { monitored: true, ..equal(algorithm, 6) });
        (0..6).for_each(|id| balancer.set_up(id, true));
        let mut now = BEGIN;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Asked { is_error } => {
                    let picked = balancer.pick(now, HashKey::of(&number.to_be_bytes()), &[]);
                    prop_assert_eq!(picked.is_some(), balancer.standing_servers() > 0);
                    let Some(id) = picked.map(|position| position as u32) else { continue };
                    let before = balancer.ejected(now).count();
                    balancer.judged(id, is_error || id < bad, now, now);
                    let after = balancer.ejected(now).count();
                    prop_assert!(after <= before || after * 2 < balancer.standing_servers());
                    balancer.closed(id);
                }
                Step::Up(id, up) => balancer.set_up(id, up),
                Step::Passed(span) => now += span,
            }
        }
    }
}
