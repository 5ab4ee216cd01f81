//! What holds of servers whose responses are errors: they get less, then nothing for a while, and come back with a trial.
#![allow(clippy::unwrap_used)]

mod pools;

use proptest::prelude::*;
use weir_balance::{Algorithm, Balancer, HashKey, PoolSpec, Shown, Standing};

use pools::{ALGORITHMS, equal};

const SECOND: u64 = 1_000_000_000;
/// A process may be old.
const BEGIN: u64 = 3600 * SECOND;
const SERVERS_MAX: usize = 8;

fn shown(is_error: bool) -> Shown {
    if is_error { Shown::Error } else { Shown::Good }
}

/// Errors of a server, the last two of them each a second after those before.
fn fail(balancer: &mut Balancer, id: u32, errors: u64, now_ns: u64) {
    for number in 1..=errors {
        let now_ns = now_ns - (errors - number).min(2) * SECOND;
        balancer.judged(id, Shown::Error, now_ns, now_ns);
    }
}

/// One request after the other, each answered at once: a third of them two seconds before the time, and a third one second.
/// How many each of the servers got.
fn serve(balancer: &mut Balancer, now_ns: u64, count: u64, is_error: impl Fn(u32) -> bool) -> Vec<u64> {
    let mut got = vec![0; SERVERS_MAX];
    for number in 0..count {
        let now_ns = BEGIN + now_ns - (2 - 3 * number / count) * SECOND;
        let id = balancer.pick(now_ns, HashKey::of(&number.to_be_bytes()), &[]).unwrap() as u32;
        balancer.judged(id, shown(is_error(id)), now_ns, now_ns);
        balancer.closed(id);
        got[id as usize] += 1;
    }
    got
}

#[test]
fn server_whose_responses_are_errors_gets_one_request_each_pause_until_one_brings_no_error() {
    // Those that compare two servers do not take the worse one so often that it is ejected.
    let compares = |algorithm: &Algorithm| matches!(algorithm, Algorithm::FastestResponse | Algorithm::LeastLoad);
    for algorithm in ALGORITHMS.into_iter().filter(|algorithm| !compares(algorithm)) {
        let mut balancer = Balancer::new(&equal(algorithm, 4));
        let first = serve(&mut balancer, 0, 1_000, |id| id == 0)[0];
        // Of the first two thirds of them, that one gets all, or a quarter.
        let most = if algorithm == Algorithm::FewestServers { 668 } else { 200 };
        assert!((7..=most).contains(&first), "{algorithm:?}: {first} requests before it was ejected");
        assert_eq!((balancer.standing(0), balancer.ejected(0).collect::<Vec<_>>()), (Standing::Ejected, vec![0]));
        assert_eq!(serve(&mut balancer, 30 * SECOND - 1, 1_000, |id| id == 0)[0], 0, "{algorithm:?}");
        assert_eq!(serve(&mut balancer, 30 * SECOND, 1_000, |id| id == 0)[0], 1, "{algorithm:?}");
        assert_eq!(serve(&mut balancer, 90 * SECOND - 1, 1_000, |id| id == 0)[0], 0, "{algorithm:?}");
        assert_eq!(serve(&mut balancer, 90 * SECOND, 1_000, |_| false)[0], 1, "{algorithm:?}");
        assert!(serve(&mut balancer, 91 * SECOND, 1_000, |_| false)[0] > 1, "{algorithm:?}");
        assert_eq!(balancer.standing(0), Standing::Eligible);
        assert_eq!(balancer.ejected(BEGIN + 91 * SECOND).count(), 0);
    }
}

#[test]
fn share_falls_with_the_errors_and_comes_back_with_good_responses() {
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
fn errors_fade_where_the_server_gets_no_requests_that_could_show_something_better() {
    for algorithm in ALGORITHMS {
        let mut balancer = Balancer::new(&equal(algorithm, 4));
        fail(&mut balancer, 0, 5, BEGIN);
        assert_eq!(balancer.share(0), 40);
        let shares = [10, 30, 60, 120, 200].map(|seconds| {
            serve(&mut balancer, seconds * SECOND, 1, |_| false);
            balancer.share(0)
        });
        assert_eq!(shares[4], 100, "{algorithm:?}: {shares:?}");
        assert!(shares.is_sorted() && shares[1] < 90, "{algorithm:?}: {shares:?}");
    }
}

/// The same errors every time: how many in a thousand.
fn drawn(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 20) % 1_000
}

#[test]
fn what_all_servers_do_ejects_none() {
    // The last algorithm asks one server only, as long as that one is not full.
    for algorithm in &ALGORITHMS[..6] {
        let mut balancer = Balancer::new(&equal(*algorithm, 8));
        serve(&mut balancer, 0, 5_000, |_| true);
        assert_eq!(balancer.ejected(BEGIN).count(), 0, "{algorithm:?}");
    }
}

#[test]
fn errors_that_all_servers_have_as_often_eject_none() {
    let cases =
        [3, 5, 8].into_iter().flat_map(|servers| [20, 200, 500, 800, 1_000].map(|permille| (servers, permille)));
    let cases = cases.flat_map(|case| ALGORITHMS[..6].iter().map(move |algorithm| (*algorithm, case)));
    for (algorithm, (servers, permille)) in cases {
        let (mut balancer, mut state) = (Balancer::new(&equal(algorithm, servers)), 0x9e37_79b9_7f4a_7c15);
        let mut is_error = || drawn(&mut state) < permille;
        // A hash may give one server many requests before the others have any.
        for number in 0..30 * servers {
            balancer.judged(number % servers, shown(is_error()), BEGIN, BEGIN);
        }
        for number in 0..20_000u64 {
            // A hundred in a second.
            let now = BEGIN + number * SECOND / 100;
            let id = balancer.pick(now, HashKey::of(&number.to_be_bytes()), &[]).unwrap() as u32;
            balancer.judged(id, shown(is_error()), now, now);
            balancer.closed(id);
            assert_eq!(balancer.ejected(now).count(), 0, "{algorithm:?}: {permille} of 1000, {number} of {servers}");
        }
    }
}

#[test]
fn server_that_fails_is_ejected_although_the_others_have_many_errors() {
    let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 8));
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for number in 0..2_000u64 {
        let now = BEGIN + number * SECOND / 100;
        let id = balancer.pick(now, HashKey::default(), &[]).unwrap() as u32;
        balancer.judged(id, shown(id == 0 || drawn(&mut state) < 400), now, now);
        balancer.closed(id);
    }
    assert_eq!(balancer.ejected(BEGIN + 20 * SECOND).collect::<Vec<_>>(), [0]);
}

#[test]
fn responses_that_are_older_than_the_trial_decide_nothing() {
    let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 4));
    fail(&mut balancer, 0, 20, BEGIN);
    assert_eq!(serve(&mut balancer, 30 * SECOND, 100, |_| false)[0], 1);
    assert!(serve(&mut balancer, 31 * SECOND, 100, |_| false)[0] > 4, "the trial has brought no error");
    let at = |seconds| BEGIN + seconds * SECOND;
    fail(&mut balancer, 0, 20, at(32));
    balancer.pick(at(100), HashKey::default(), &[]);
    balancer.judged(0, Shown::Good, at(99), at(101));
    balancer.pick(at(102), HashKey::default(), &[]);
    assert_eq!(balancer.standing(0), Standing::Ejected);
    balancer.judged(0, Shown::Good, at(100), at(101));
    balancer.pick(at(102), HashKey::default(), &[]);
    assert_eq!(balancer.standing(0), Standing::Eligible);
}

#[test]
fn trial_ends_the_ejection_a_second_after_its_response_has_begun_unless_that_is_cut() {
    for is_cut in [false, true] {
        let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 4));
        serve(&mut balancer, 0, 1_000, |id| id == 0);
        assert_eq!(serve(&mut balancer, 30 * SECOND, 100, |_| false)[0], 1);
        if is_cut {
            balancer.judged(0, Shown::LateError, BEGIN + 30 * SECOND, BEGIN + 30 * SECOND + 1);
        }
        assert_eq!(serve(&mut balancer, 31 * SECOND, 100, |_| false)[0] > 0, !is_cut);
        assert_eq!(serve(&mut balancer, 60 * SECOND, 100, |_| false)[0] > 0, !is_cut);
    }
}

#[test]
fn server_that_streams_well_is_not_ejected_for_few_errors_while_its_streams_run() {
    let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 4));
    for number in 0..10_000u64 {
        let now = BEGIN + number * SECOND / 100;
        balancer.judged(0, shown(number % 10 == 0), now, now);
    }
    assert_eq!(balancer.standing(0), Standing::Eligible);
}

/// The servers beside it decide, in whatever way their errors have changed.
#[test]
fn server_is_compared_with_those_that_take_requests() {
    let mut balancer = Balancer::new(&PoolSpec { monitored: true, ..equal(Algorithm::RoundRobin, 8) });
    (0..8).for_each(|id| balancer.set_up(id, true));
    (1..8).for_each(|id| fail(&mut balancer, id, 6, BEGIN));
    fail(&mut balancer, 0, 12, BEGIN);
    assert_eq!(balancer.standing(0), Standing::Eligible, "the others have many errors, too");
    // They are gone, and come back without errors.
    (1..8).for_each(|id| [false, true].into_iter().for_each(|up| balancer.set_up(id, up)));
    fail(&mut balancer, 0, 7, BEGIN);
    assert_eq!(balancer.standing(0), Standing::Ejected);
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
    serve(&mut balancer, 32 * SECOND, 100, |_| false);
    assert_eq!(balancer.ejected(BEGIN + 32 * SECOND).count(), 0);
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
                    balancer.judged(id, shown(is_error || id < bad), now, now);
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
