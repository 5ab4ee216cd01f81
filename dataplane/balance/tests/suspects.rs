//! What holds of servers whose new connections come to nothing: they are passed over, tried now and then, and used all the
//! same where the others are too few.
#![allow(clippy::unwrap_used)]

mod pools;

use proptest::prelude::*;
use weir_balance::{Algorithm, Balancer, Bound, Failure, HashKey, PoolSpec};

use pools::equal;

const SECOND: u64 = 1_000_000_000;
const ALGORITHMS: [Algorithm; 3] = [Algorithm::RoundRobin, Algorithm::LeastConnections, Algorithm::ConsistentHash];

fn key(number: u64) -> HashKey {
    HashKey::of(&number.to_be_bytes())
}

/// One request after the other, each of which is over at once; where they went.
fn picks(balancer: &mut Balancer, now_ns: u64, count: u64) -> Vec<u32> {
    let pick = |number| {
        let position = balancer.pick(now_ns, key(number), &[]).unwrap() as u32;
        balancer.closed(position);
        position
    };
    (0..count).map(pick).collect()
}

#[test]
fn silent_server_gets_one_request_each_pause_until_one_is_answered() {
    for algorithm in ALGORITHMS {
        let mut balancer = Balancer::new(&equal(algorithm, 2));
        assert!(balancer.failed(0, Failure::Silent, 0, SECOND));
        assert!(!balancer.failed(0, Failure::Silent, 0, SECOND), "it is suspect already");
        let to_it = |balancer: &mut Balancer, now| picks(balancer, now, 100).iter().filter(|to| **to == 0).count();
        assert_eq!(to_it(&mut balancer, 2 * SECOND - 1), 0, "{algorithm:?}");
        assert_eq!(to_it(&mut balancer, 2 * SECOND), 1, "{algorithm:?}");
        assert_eq!(to_it(&mut balancer, 4 * SECOND - 1), 0, "{algorithm:?}");
        assert_eq!(to_it(&mut balancer, 4 * SECOND), 1, "{algorithm:?}");
        balancer.proved(0);
        assert!(to_it(&mut balancer, 4 * SECOND) > 20, "{algorithm:?}");
    }
}

#[test]
fn pool_that_does_not_watch_passes_nobody_over() {
    let mut balancer = Balancer::new(&PoolSpec { watches: false, ..equal(Algorithm::RoundRobin, 2) });
    assert!(!balancer.failed(0, Failure::Silent, 0, 0));
    assert_eq!(picks(&mut balancer, 0, 4), [0, 1, 0, 1]);
    assert_eq!(balancer.suspect(0).count(), 0);
}

#[test]
fn pool_that_watches_no_more_forgets() {
    let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 2));
    balancer.failed(0, Failure::Silent, 0, 0);
    balancer.reconcile(&PoolSpec { watches: false, ..equal(Algorithm::RoundRobin, 2) });
    assert!(picks(&mut balancer, 0, 4).contains(&0));
}

#[test]
fn suspicion_outlives_a_change_of_the_pool_and_not_a_monitors_word() {
    let spec = PoolSpec { monitored: true, ..equal(Algorithm::RoundRobin, 3) };
    let mut balancer = Balancer::new(&spec);
    (0..3).for_each(|id| balancer.set_up(id, true));
    balancer.failed(1, Failure::Silent, 0, 0);
    balancer.reconcile(&spec);
    assert!(!picks(&mut balancer, 0, 9).contains(&1));
    balancer.set_up(1, false);
    assert_eq!(balancer.suspect(0).count(), 0, "it is down, and that is said of it");
    balancer.set_up(1, true);
    assert!(picks(&mut balancer, 0, 9).contains(&1));
}

#[test]
fn suspicion_that_no_request_has_tested_for_half_a_minute_is_not_told() {
    let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 2));
    balancer.failed(0, Failure::Silent, 0, 0);
    let told = [0, 31 * SECOND - 1, 31 * SECOND].map(|now| balancer.suspect(now).count());
    assert_eq!(told, [1, 1, 0]);
}

#[test]
fn cookie_leads_to_a_suspect_server_for_a_trial_only() {
    let mut balancer = Balancer::new(&equal(Algorithm::RoundRobin, 2));
    balancer.failed(0, Failure::Silent, 0, 0);
    let taken = [0, SECOND, SECOND].map(|now| balancer.take(now, 0));
    assert_eq!(taken, [Bound::Another, Bound::Server(0), Bound::Another]);
}

#[test]
fn trial_that_cannot_be_made_is_made_later() {
    let mut spec = equal(Algorithm::RoundRobin, 2);
    spec.servers[0].max_connections = 1;
    let mut balancer = Balancer::new(&spec);
    assert_eq!(balancer.take(0, 0), Bound::Server(0));
    balancer.failed(0, Failure::Silent, 0, 0);
    assert!(!picks(&mut balancer, SECOND, 5).contains(&0), "it is full");
    balancer.closed(0);
    assert!(picks(&mut balancer, SECOND + SECOND / 10, 1).contains(&0));
}

#[test]
fn workers_begin_with_different_servers() {
    for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections] {
        let firsts = (0..6).map(|offset| {
            let mut balancer = Balancer::new(&PoolSpec { offset, ..equal(algorithm, 3) });
            picks(&mut balancer, 0, 3)
        });
        let firsts: Vec<_> = firsts.collect();
        assert_eq!(firsts[..3], [[0, 1, 2], [1, 2, 0], [2, 0, 1]], "{algorithm:?}");
        assert_eq!(firsts[3..], firsts[..3], "{algorithm:?}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Fails(u32, bool),
    Proves(u32),
    Goes(u32, bool),
    Picks(Option<u32>),
    Waits(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = 0..8u32;
    let step = prop_oneof![
        (id.clone(), any::<bool>()).prop_map(|(id, silent)| Step::Fails(id, silent)),
        id.clone().prop_map(Step::Proves),
        (id.clone(), prop::bool::weighted(0.7)).prop_map(|(id, up)| Step::Goes(id, up)),
        prop::option::of(id).prop_map(Step::Picks),
        (0..40 * SECOND).prop_map(Step::Waits),
    ];
    prop::collection::vec(step, 0..300)
}

proptest! {
    /// Whoever is up and was not tried by the request can be had, whatever anybody suspects; whoever is down cannot.
    #[test]
    fn request_finds_a_server_as_long_as_one_is_up(
        servers in 1..8u32,
        steps in steps(),
        algorithm in prop::sample::select(&ALGORITHMS[..]),
    ) {
        let mut balancer = Balancer::new(&PoolSpec { monitored: true, ..equal(algorithm, servers) });
        let mut up = vec![false; servers as usize];
        let mut now = 0;
        for step in steps {
            match step {
                Step::Fails(id, silent) => {
                    let failure = if silent { Failure::Silent } else { Failure::Broken };
                    balancer.failed(id, failure, now, now);
                }
                Step::Proves(id) => balancer.proved(id),
                Step::Goes(id, goes_up) => {
                    balancer.set_up(id, goes_up);
                    if let Some(state) = up.get_mut(id as usize) {
                        *state = goes_up;
                    }
                }
                Step::Waits(span) => now += span,
                Step::Picks(tried) => {
                    let suspects: Vec<_> = balancer.suspect(0).collect();
                    let standing: Vec<_> = (0..servers).filter(|id| up[*id as usize]).collect();
                    prop_assert!(suspects.iter().all(|id| standing.contains(id)));
                    let exclude: Vec<_> = tried.into_iter().collect();
                    let sound = standing.iter().any(|id| !suspects.contains(id) && !exclude.contains(id));
                    prop_assert_eq!(balancer.has_other_than(&exclude), sound);
                    let preview = balancer.preview(now, key(now)).map(|(position, _)| position);
                    let picked = balancer.pick(now, key(now), &exclude);
                    prop_assert!(picked == preview || !exclude.is_empty(), "{:?} instead of {:?}", picked, preview);
                    match picked.map(|position| position as u32) {
                        Some(id) => {
                            prop_assert!(up[id as usize] && !exclude.contains(&id));
                            balancer.closed(id);
                        }
                        None => prop_assert!(standing.iter().all(|id| exclude.contains(id))),
                    }
                }
            }
        }
    }

    /// Of many requests at one moment a suspect server gets one at most, where the others suffice.
    #[test]
    fn trial_is_one_request(servers in 2..12u32, algorithm in prop::sample::select(&ALGORITHMS[..]), waits in 0..100 * SECOND) {
        let mut balancer = Balancer::new(&equal(algorithm, servers));
        let suspects = servers / 2;
        for id in 0..suspects {
            balancer.failed(id, Failure::Silent, 0, 0);
        }
        let picked = picks(&mut balancer, waits, 200);
        for id in 0..suspects {
            prop_assert!(picked.iter().filter(|picked| **picked == id).count() <= 1);
        }
    }
}
