//! Algorithms that look beyond one worker: the tasks that servers say they have, the servers of a worker, and turns of the
//! whole engine.
#![allow(clippy::unwrap_used)]

mod pools;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use weir_balance::{Algorithm, Balancer, Cores, HashKey, PoolSpec, TASKS_MAX, Tickets};

use pools::{equal, pool};

const SECOND: u64 = 1_000_000_000;

fn pick(balancer: &mut Balancer, now_ns: u64) -> usize {
    balancer.pick(now_ns, HashKey::default(), &[]).unwrap()
}

/// Picks `count` times, one behind the other; how often each position came.
fn shares(balancer: &mut Balancer, count: u64, now_ns: u64) -> BTreeMap<usize, u64> {
    let mut shares = BTreeMap::new();
    for _ in 0..count {
        let position = pick(balancer, now_ns);
        balancer.closed(position as u32);
        *shares.entry(position).or_default() += 1;
    }
    shares
}

fn ratios() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(1..=20u32, 1..12)
}

/// The balancers of all workers of an engine.
fn workers(spec: &PoolSpec, workers: u32, nonaffinity: u32) -> Vec<Balancer> {
    let cores = |worker| Cores { worker, workers, nonaffinity };
    (0..workers).map(|worker| Balancer::new(&PoolSpec { cores: cores(worker), ..spec.clone() })).collect()
}

#[test]
fn server_with_fewer_tasks_gets_requests_until_it_has_as_many() {
    let mut balancer = Balancer::new(&equal(Algorithm::FewestTasks, 2));
    for round in 1..4 {
        balancer.set_tasks(0, Some(100), round * SECOND);
        balancer.set_tasks(1, Some(10), round * SECOND);
        assert_eq!(shares(&mut balancer, 90, round * SECOND), BTreeMap::from([(1, 90)]), "round {round}");
        assert_eq!(shares(&mut balancer, 110, round * SECOND), BTreeMap::from([(0, 55), (1, 55)]), "round {round}");
    }
}

#[test]
fn worker_expects_that_the_others_send_as_much() {
    let mut balancers = workers(&equal(Algorithm::FewestTasks, 2), 4, 1);
    let mut total = BTreeMap::<usize, u64>::new();
    for balancer in &mut balancers {
        balancer.set_tasks(0, Some(40), 0);
        balancer.set_tasks(1, Some(0), 0);
        for (server, count) in shares(balancer, 20, 0) {
            *total.entry(server).or_default() += count;
        }
    }
    assert_eq!(total, BTreeMap::from([(0, 20), (1, 60)]), "40 for the second, then 20 for each");
}

#[test]
fn server_of_which_nothing_is_known_counts_as_the_others_do() {
    let mut balancer = Balancer::new(&equal(Algorithm::FewestTasks, 3));
    balancer.set_tasks(0, Some(10), 0);
    balancer.set_tasks(1, Some(30), 0);
    assert_eq!(shares(&mut balancer, 1, SECOND), BTreeMap::from([(0, 1)]), "the mean is 20");
    balancer.set_tasks(0, Some(25), SECOND);
    balancer.set_tasks(1, Some(35), SECOND);
    assert_eq!(shares(&mut balancer, 5, SECOND), BTreeMap::from([(2, 5)]), "the old mean counts for a moment");
    balancer.set_tasks(0, Some(25), 2 * SECOND);
    assert_eq!(shares(&mut balancer, 5, 3 * SECOND), BTreeMap::from([(0, 5)]), "the mean is 30");
    balancer.set_tasks(0, None, 3 * SECOND);
    let shares = shares(&mut balancer, 20, 4 * SECOND);
    assert_eq!(shares[&1], 1, "two count as the last one does, which has one more from then on: {shares:?}");
    assert!(shares[&0] > 5 && shares[&2] > 5, "{shares:?}");
}

#[test]
fn tasks_beyond_the_most_count_as_the_most() {
    let mut balancer = Balancer::new(&pool(Algorithm::FewestTasks, &[1, 20]));
    balancer.set_tasks(0, Some(TASKS_MAX / 20 - 1), 0);
    balancer.set_tasks(1, Some(u32::MAX), 0);
    assert_eq!([pick(&mut balancer, 0), pick(&mut balancer, 0), pick(&mut balancer, 0)], [0, 1, 0]);
}

#[test]
fn pools_of_other_algorithms_ignore_tasks() {
    for algorithm in [Algorithm::LeastConnections, Algorithm::RoundRobin, Algorithm::FewestServers] {
        let mut balancer = Balancer::new(&equal(algorithm, 2));
        balancer.set_tasks(0, Some(100), 0);
        assert_eq!(pick(&mut balancer, 0), 0, "{algorithm:?}");
    }
}

#[test]
fn workers_use_the_servers_of_the_next_one_while_their_own_are_down() {
    let spec = PoolSpec { monitored: true, ..equal(Algorithm::CoreAffinity, 8) };
    let mut balancers = workers(&spec, 4, 1);
    let used = |balancer: &mut Balancer| shares(balancer, 100, 0).into_keys().collect::<BTreeSet<_>>();
    balancers.iter_mut().for_each(|balancer| (0..8).for_each(|id| balancer.set_up(id, true)));
    let own: Vec<_> = balancers.iter_mut().map(used).collect();
    assert!(own.iter().all(|own| own.len() == 2), "{own:?}");
    for worker in 0..4 {
        let balancer = &mut balancers[worker];
        for step in 0..3 {
            own[(worker + step) % 4].iter().for_each(|id| balancer.set_up(*id as u32, false));
            assert_eq!(used(balancer), own[(worker + step + 1) % 4], "worker {worker}, step {step}");
        }
        own[worker].iter().for_each(|id| balancer.set_up(*id as u32, true));
        assert_eq!(used(balancer), own[worker], "worker {worker}, up again");
    }
}

#[test]
fn disabled_servers_have_no_place_among_those_of_a_worker() {
    let mut spec = equal(Algorithm::CoreAffinity, 8);
    (0..6).for_each(|position| spec.servers[position].enabled = false);
    for mut balancer in workers(&spec, 2, 1) {
        assert_eq!(shares(&mut balancer, 10, 0).len(), 1);
    }
    (0..8).for_each(|position| spec.servers[position].enabled = false);
    let mut balancer = Balancer::new(&spec);
    assert_eq!(balancer.pick(0, HashKey::default(), &[]), None);
    spec.servers[3].enabled = true;
    balancer.reconcile(&spec);
    assert_eq!(pick(&mut balancer, 0), 3);
}

#[test]
fn order_of_the_servers_does_not_change_who_uses_them() {
    let spec = pool(Algorithm::CoreAffinity, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut turned = spec.clone();
    turned.servers.reverse();
    let used = |spec: &PoolSpec, mut balancer: Balancer| {
        let mut used = BTreeSet::new();
        for _ in 0..200 {
            let id = spec.servers[pick(&mut balancer, 0)].id;
            balancer.closed(id);
            used.insert(id);
        }
        used
    };
    for (one, other) in workers(&spec, 5, 2).into_iter().zip(workers(&turned, 5, 2)) {
        assert_eq!(used(&spec, one), used(&turned, other));
    }
}

proptest! {
    #[test]
    fn server_with_the_fewest_tasks_in_proportion_to_its_ratio_is_next(
        ratios in ratios(),
        events in prop::collection::vec((any::<prop::sample::Index>(), 0..40u32, 0..8u8), 1..200),
    ) {
        let mut balancer = Balancer::new(&pool(Algorithm::FewestTasks, &ratios));
        let mut tasks = vec![0; ratios.len()];
        (0..ratios.len()).for_each(|id| balancer.set_tasks(id as u32, Some(0), 0));
        for (at, count, event) in events {
            match event {
                0 => {
                    let at = at.index(ratios.len());
                    balancer.set_tasks(at as u32, Some(count), 0);
                    tasks[at] = count;
                }
                event => {
                    let picked = pick(&mut balancer, 0);
                    for other in 0..ratios.len() {
                        prop_assert!(tasks[picked] * ratios[other] <= tasks[other] * ratios[picked], "{} beside {}", picked, other);
                    }
                    tasks[picked] += 1;
                    if event > 3 {
                        balancer.closed(picked as u32);
                    }
                }
            }
        }
    }

    #[test]
    fn without_any_tasks_the_fewest_connections_count(
        ratios in ratios(),
        closings in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 0..200),
    ) {
        let [mut by_tasks, mut by_connections] =
            [Algorithm::FewestTasks, Algorithm::LeastConnections].map(|algorithm| Balancer::new(&pool(algorithm, &ratios)));
        for closing in closings {
            match closing.map(|at| at.index(ratios.len()) as u32) {
                Some(closed) => [&mut by_tasks, &mut by_connections].into_iter().for_each(|balancer| balancer.closed(closed)),
                None => prop_assert_eq!(pick(&mut by_tasks, 0), pick(&mut by_connections, 0)),
            }
        }
    }

    #[test]
    fn enough_workers_share_each_server_and_each_gets_its_ratio(
        ratios in ratios(),
        count in 1..24u32,
        nonaffinity in 1..30u32,
    ) {
        let sharing = nonaffinity.min(count);
        let picks = u64::from(ratios.iter().sum::<u32>() * sharing);
        let (mut users, mut total) = (vec![0; ratios.len()], vec![0u64; ratios.len()]);
        for mut balancer in workers(&pool(Algorithm::CoreAffinity, &ratios), count, nonaffinity) {
            for (server, share) in shares(&mut balancer, picks, 0) {
                users[server] += 1;
                total[server] += share;
            }
        }
        let step: u32 = ratios.iter().sum();
        for (server, ratio) in ratios.iter().enumerate() {
            let expected = u64::from(ratio * count * sharing);
            prop_assert!(total[server].abs_diff(expected) <= u64::from(count), "{} of {}", total[server], expected);
            // On the ring it touches so many steps, of which each belongs to so many workers.
            let most = ((ratio * count).div_ceil(step) + sharing).min(count);
            prop_assert!(users[server] <= most && users[server] >= 1, "{} use it, at most {}", users[server], most);
            prop_assert!(*ratio < 2 || users[server] >= sharing, "{} use it, at least {}", users[server], sharing);
        }
    }

    #[test]
    fn workers_always_find_a_server_that_stands(
        ratios in ratios(),
        down in prop::collection::vec(any::<bool>(), 12),
        count in 1..9u32,
        nonaffinity in 1..4u32,
    ) {
        let spec = PoolSpec { monitored: true, ..pool(Algorithm::CoreAffinity, &ratios) };
        let up: BTreeSet<_> = (0..ratios.len()).filter(|server| !down[*server]).collect();
        for mut balancer in workers(&spec, count, nonaffinity) {
            up.iter().for_each(|id| balancer.set_up(*id as u32, true));
            let picked = balancer.pick(0, HashKey::default(), &[]);
            prop_assert_eq!(picked.is_some(), !up.is_empty());
            prop_assert!(picked.is_none_or(|picked| up.contains(&picked)));
        }
    }

    #[test]
    fn workers_take_turns_together(
        ratios in ratios(),
        first in any::<u64>(),
        order in prop::collection::vec(0..4usize, 4),
        rounds in 1..4usize,
    ) {
        let spec = PoolSpec { tickets: Tickets::beginning_at(first), ..pool(Algorithm::RoundRobinOfEngine, &ratios) };
        let mut balancers = workers(&spec, 4, 1);
        let round = ratios.iter().sum::<u32>() as usize;
        let mut total = vec![0; ratios.len()];
        for number in 0..round * rounds {
            let previews = [0, 1].map(|worker| balancers[worker].preview(0, HashKey::default()));
            prop_assert_eq!(previews[0], previews[1], "a preview takes no turn");
            let picked = pick(&mut balancers[order[number % order.len()]], 0);
            prop_assert_eq!(previews[0].map(|(position, _)| position), Some(picked));
            total[picked] += 1;
        }
        prop_assert_eq!(total, ratios.iter().map(|ratio| *ratio as usize * rounds).collect::<Vec<_>>());
    }

    #[test]
    fn turns_of_the_engine_pass_servers_over_that_are_down(servers in 2..12u32, down in any::<prop::sample::Index>()) {
        let tickets = Tickets::beginning_at(7);
        let spec = PoolSpec { monitored: true, tickets, ..equal(Algorithm::RoundRobinOfEngine, servers) };
        let mut balancers = workers(&spec, 3, 1);
        let down = down.index(servers as usize) as u32;
        for balancer in &mut balancers {
            (0..servers).filter(|id| *id != down).for_each(|id| balancer.set_up(id, true));
        }
        let picks: Vec<_> = (0..60).map(|number| pick(&mut balancers[number % 3], 0)).collect();
        for round in picks.chunks_exact(servers as usize - 1) {
            prop_assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), servers as usize - 1);
        }
    }
}

#[test]
fn round_of_a_large_pool_is_bounded_and_everyone_has_a_turn() {
    let ratios: Vec<_> = (0..16_000).map(|id| 1 + id % 20).collect();
    let mut balancer = Balancer::new(&pool(Algorithm::RoundRobinOfEngine, &ratios));
    let shares = shares(&mut balancer, 82_000, 0);
    assert_eq!(shares.len(), ratios.len());
    let (light, heavy) = (shares[&0], shares[&19]);
    assert!(heavy >= 6 * light, "{heavy} beside {light}");
}
