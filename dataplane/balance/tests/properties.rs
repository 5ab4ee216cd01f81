//! What holds of every pool, whatever its servers, their state and the order of events.
#![allow(clippy::unwrap_used)]

mod pools;

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use weir_balance::{Algorithm, Balancer, Bound, HashKey, PoolSpec, SERVERS_MAX, Standing, Ties, WhenDown};

use pools::{ALGORITHMS, pool, server};

fn key(number: u32) -> HashKey {
    HashKey::of(format!("/item/{number}").as_bytes())
}

/// Picks `count` times, one behind the other; how often each position came.
fn shares(balancer: &mut Balancer, count: u32) -> BTreeMap<usize, u32> {
    let mut shares = BTreeMap::new();
    for number in 0..count {
        let position = balancer.pick(0, key(number), &[]).unwrap();
        balancer.closed(position as u32);
        *shares.entry(position).or_default() += 1;
    }
    shares
}

fn ratios() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(1..=20u32, 1..12)
}

proptest! {
    #[test]
    fn a_round_gives_each_server_exactly_its_ratio(ratios in ratios(), rounds in 1..4u32) {
        for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections] {
            let mut balancer = Balancer::new(&pool(algorithm, &ratios));
            let shares = shares(&mut balancer, ratios.iter().sum::<u32>() * rounds);
            let expected: BTreeMap<_, _> = ratios.iter().map(|ratio| ratio * rounds).enumerate().collect();
            prop_assert_eq!(shares, expected);
        }
    }

    #[test]
    fn equal_servers_take_turns(servers in 2..20usize) {
        for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections] {
            let mut balancer = Balancer::new(&pool(algorithm, &vec![1; servers]));
            let picks: Vec<_> = (0..3 * servers).map(|_| balancer.pick(0, key(0), &[]).unwrap()).collect();
            for round in picks.chunks(servers) {
                prop_assert_eq!(round.iter().collect::<HashSet<_>>().len(), servers);
            }
        }
    }

    #[test]
    fn heavy_server_is_not_given_its_whole_share_in_a_row(ratio in 2..20u32) {
        let mut balancer = Balancer::new(&pool(Algorithm::RoundRobin, &[ratio, ratio]));
        let picks: Vec<_> = (0..100).map(|_| balancer.pick(0, key(0), &[]).unwrap()).collect();
        prop_assert!(picks.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// Against a model that knows nothing but the rules of eligibility.
    #[test]
    fn picks_only_whom_it_may_and_the_least_busy_of_them(
        ratios in ratios(),
        limits in prop::collection::vec(0..4u32, 12),
        events in prop::collection::vec((0..6u8, 0..12usize), 0..200),
        algorithm in prop::sample::select(&ALGORITHMS[..]),
    ) {
        let mut spec = PoolSpec { monitored: true, ..pool(algorithm, &ratios) };
        for (server, limit) in spec.servers.iter_mut().zip(&limits) {
            server.max_connections = *limit;
        }
        let mut balancer = Balancer::new(&spec);
        let mut up = vec![false; ratios.len()];
        let mut connections = vec![0u32; ratios.len()];
        for (number, (event, at)) in events.into_iter().enumerate() {
            let at = at % ratios.len();
            let id = spec.servers[at].id;
            match event {
                0 => { up[at] = !up[at]; balancer.set_up(id, up[at]); }
                1 => { connections[at] = connections[at].saturating_sub(1); balancer.closed(id); }
                2 => { spec.servers[at].enabled ^= true; balancer.reconcile(&spec); }
                _ => {
                    let exclude: &[u32] = if event == 3 { &[id] } else { &[] };
                    let eligible: Vec<_> = (0..ratios.len()).filter(|i| {
                        let server = &spec.servers[*i];
                        let full = server.max_connections > 0 && connections[*i] >= server.max_connections;
                        up[*i] && server.enabled && !full && !exclude.contains(&server.id)
                    }).collect();
                    let previews = [(), ()].map(|()| balancer.preview(0, key(number as u32)));
                    prop_assert_eq!(previews[0], previews[1], "a preview changes nothing");
                    let pick = balancer.pick(0, key(number as u32), exclude);
                    if exclude.is_empty() {
                        prop_assert_eq!(pick, previews[0].map(|(position, _)| position));
                    }
                    prop_assert_eq!(pick.is_some(), !eligible.is_empty());
                    let Some(pick) = pick else { continue };
                    prop_assert!(eligible.contains(&pick));
                    prop_assert!(eligible.iter().all(|i| connections[*i] > 0 || balancer.standing(*i) == Standing::Eligible || *i == pick));
                    if algorithm == Algorithm::LeastConnections {
                        for other in &eligible {
                            let (mine, theirs) = (connections[pick] * ratios[*other], connections[*other] * ratios[pick]);
                            prop_assert!(mine <= theirs, "{} has more per ratio than {}", pick, other);
                        }
                    }
                    connections[pick] += 1;
                }
            }
            prop_assert_eq!(balancer.is_up(id), up[at]);
        }
    }

    #[test]
    fn whoever_leaves_moves_only_its_own_keys(ratios in prop::collection::vec(1..=20u32, 2..12), at in any::<prop::sample::Index>()) {
        let gone = at.index(ratios.len());
        let whole = PoolSpec { monitored: true, ..pool(Algorithm::ConsistentHash, &ratios) };
        let mut removed = whole.clone();
        removed.servers.remove(gone);
        let all_up = |spec: &PoolSpec| {
            let mut balancer = Balancer::new(spec);
            spec.servers.iter().for_each(|server| balancer.set_up(server.id, true));
            balancer
        };
        let (mut before, mut down, mut smaller) = (all_up(&whole), all_up(&whole), all_up(&removed));
        down.set_up(whole.servers[gone].id, false);
        for number in 0..300 {
            let owner = before.pick(0, key(number), &[]).unwrap();
            let excluded = before.pick(0, key(number), &[whole.servers[gone].id]).unwrap();
            prop_assert!(owner == gone || excluded == owner);
            prop_assert_eq!(down.pick(0, key(number), &[]), Some(excluded));
            let position = smaller.pick(0, key(number), &[]).unwrap();
            prop_assert_eq!(removed.servers[position].id, whole.servers[excluded].id);
        }
    }

    /// Engines hear of the health of servers at other times, restart, and get pools that changed while they were away.
    #[test]
    fn engines_agree_on_the_server_of_a_key_whatever_they_went_through(
        ratios in ratios(),
        down in prop::collection::vec(any::<bool>(), 12),
        histories in prop::collection::vec(prop::collection::vec((0..3u8, 0..12usize), 0..40), 2),
    ) {
        let spec = PoolSpec { monitored: true, ..pool(Algorithm::ConsistentHash, &ratios) };
        let engines: Vec<_> = histories.into_iter().map(|history| {
            let mut now = spec.clone();
            let mut balancer = Balancer::new(&now);
            for (what, at) in history {
                let at = at % ratios.len();
                match what {
                    0 => balancer.set_up(spec.servers[at].id, at % 2 == 0),
                    1 => _ = balancer.pick(0, key(at as u32), &[]),
                    _ => {
                        now.servers.rotate_left(at);
                        now.servers[0].ratio = 1 + at as u32;
                        balancer.reconcile(&now);
                    }
                }
            }
            let mut last = spec.clone();
            last.servers.rotate_right(now.servers[0].id as usize % ratios.len());
            balancer.reconcile(&last);
            last.servers.iter().for_each(|server| balancer.set_up(server.id, !down[server.id as usize]));
            (last, balancer)
        }).collect();
        let [(one, mut mine), (other, mut theirs)] = <[_; 2]>::try_from(engines).unwrap();
        for number in 0..100 {
            let mine = mine.pick(0, key(number), &[]).map(|position| one.servers[position].id);
            let theirs = theirs.pick(0, key(number), &[]).map(|position| other.servers[position].id);
            prop_assert_eq!(mine, theirs);
        }
    }

    #[test]
    fn server_is_taken_when_it_could_be_picked_and_counts_as_picked(ratios in ratios(), at in any::<prop::sample::Index>()) {
        for algorithm in ALGORITHMS {
            let mut spec = PoolSpec { monitored: true, ..pool(algorithm, &ratios) };
            let at = at.index(ratios.len());
            spec.servers[at].max_connections = 1;
            let mut balancer = Balancer::new(&spec);
            let id = spec.servers[at].id;
            prop_assert_eq!(balancer.take(0, id), Bound::Another, "it is down");
            balancer.set_up(id, true);
            prop_assert_eq!(balancer.take(0, id), Bound::Server(at));
            prop_assert_eq!((balancer.take(0, id), balancer.pick(0, key(0), &[])), (Bound::Another, None), "it is full");
            balancer.closed(id);
            prop_assert_eq!(balancer.take(0, id), Bound::Server(at));
        }
    }

    #[test]
    fn engines_agree_on_the_server_of_a_key_whatever_the_order_of_the_pool(ratios in ratios(), seed in any::<u32>()) {
        let spec = pool(Algorithm::ConsistentHash, &ratios);
        let mut turned = spec.clone();
        turned.servers.rotate_left(seed as usize % ratios.len());
        let (mut one, mut other) = (Balancer::new(&spec), Balancer::new(&turned));
        for number in 0..100 {
            let [mine, theirs] = [one.pick(0, key(number), &[]).unwrap(), other.pick(0, key(number), &[]).unwrap()];
            prop_assert_eq!(spec.servers[mine].id, turned.servers[theirs].id);
        }
    }
}

/// A server with a ratio of 1 stands at few places, so that chance has a say: 5 % of standard deviation, and less for more.
#[test]
fn keys_spread_over_servers_in_proportion_to_their_ratio() {
    for ratios in [&[1, 1][..], &[1, 1, 1], &[1, 2, 5], &[20, 1, 10, 9], &[3; 40], &[1; 100]] {
        let mut balancer = Balancer::new(&pool(Algorithm::ConsistentHash, ratios));
        let (keys, sum) = (100_000, ratios.iter().sum::<u32>());
        for (position, share) in shares(&mut balancer, keys) {
            let fair = f64::from(keys * ratios[position]) / f64::from(sum);
            let relative = f64::from(share) / fair;
            assert!((0.7..1.15).contains(&relative), "{share} of {fair} in {ratios:?}");
        }
    }
}

#[test]
fn empty_pool_and_pool_of_strangers_have_nobody() {
    for algorithm in ALGORITHMS {
        assert_eq!(Balancer::new(&pool(algorithm, &[])).pick(0, key(1), &[]), None);
        let unheard = PoolSpec { monitored: true, ..pool(algorithm, &[1, 1]) };
        assert_eq!(Balancer::new(&unheard).pick(0, key(1), &[]), None, "nobody is up until a monitor says so");
    }
}

#[test]
fn server_that_stays_keeps_its_connections_and_state() {
    let mut spec = PoolSpec { monitored: true, ..pool(Algorithm::LeastConnections, &[1, 1, 1]) };
    let mut balancer = Balancer::new(&spec);
    balancer.set_up(1, true);
    balancer.set_up(2, true);
    (0..2).for_each(|_| balancer.opened(2));
    spec.servers.remove(0);
    spec.servers.push(server(7, 1));
    balancer.reconcile(&spec);
    assert_eq!([1, 2, 7].map(|id| balancer.is_up(id)), [true, true, false]);
    let picks = [balancer.pick(0, key(0), &[]), balancer.pick(0, key(0), &[])];
    assert_eq!(picks, [Some(0); 2], "position 0 is server 1 now, and server 2 is busier");
    assert_eq!(balancer.pick(0, key(0), &[1]), Some(1), "excluded is server 1, not position 1");
    balancer.closed(0);
    balancer.set_up(0, true);
    assert!(!balancer.is_up(0), "server 0 has left");
}

#[test]
fn server_that_comes_back_does_not_make_up_for_its_turns() {
    for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections] {
        let spec = PoolSpec { monitored: true, ..pool(algorithm, &[1, 1, 1]) };
        let mut balancer = Balancer::new(&spec);
        balancer.set_up(0, true);
        balancer.set_up(1, true);
        shares(&mut balancer, 1000);
        balancer.set_up(2, true);
        let shares = shares(&mut balancer, 30);
        assert!(shares.values().all(|share| (9..=11).contains(share)), "{algorithm:?}: {shares:?}");
    }
}

#[test]
fn largest_pool_is_shared_evenly_by_what_is_open() {
    let mut balancer = Balancer::new(&pool(Algorithm::LeastConnections, &vec![1; SERVERS_MAX]));
    let mut connections = vec![0; SERVERS_MAX];
    for _ in 0..2 * SERVERS_MAX {
        let position = balancer.pick(0, key(0), &[]).unwrap();
        connections[position] += 1;
    }
    assert!(connections.iter().all(|count| *count == 2));
    balancer.closed(12_345);
    assert_eq!(balancer.pick(0, key(0), &[]), Some(12_345));
}

#[test]
fn pool_without_monitors_is_up_whatever_it_is_told() {
    let mut spec = PoolSpec { monitored: true, ..pool(Algorithm::RoundRobin, &[1]) };
    let mut balancer = Balancer::new(&spec);
    assert_eq!(balancer.pick(0, key(0), &[]), None);
    spec.monitored = false;
    balancer.reconcile(&spec);
    balancer.set_up(0, false);
    assert_eq!(balancer.pick(0, key(0), &[]), Some(0));
}

#[test]
fn least_connections_goes_to_the_newcomer_until_it_has_caught_up() {
    let mut spec = pool(Algorithm::LeastConnections, &[1, 1]);
    let mut balancer = Balancer::new(&spec);
    (0..3).for_each(|_| [0, 1].into_iter().for_each(|id| balancer.opened(id)));
    spec.servers.push(server(2, 1));
    balancer.reconcile(&spec);
    for _ in 0..3 {
        assert_eq!(balancer.pick(0, key(0), &[]), Some(2));
    }
    let next: HashSet<_> = (0..3).map(|_| balancer.pick(0, key(0), &[]).unwrap()).collect();
    assert_eq!(next.len(), 3);
}

#[test]
fn ties_say_what_a_bound_request_gets_whose_server_takes_none() {
    let bound = |ties, enabled, up| {
        let mut spec = PoolSpec { monitored: true, ties, ..pool(Algorithm::RoundRobin, &[1, 1]) };
        spec.servers[1].enabled = enabled;
        spec.servers[1].max_connections = 1;
        let mut balancer = Balancer::new(&spec);
        balancer.set_up(1, up);
        let bound = balancer.take(0, 1);
        assert_eq!(balancer.pick(0, key(0), &[]).is_some(), enabled && up && bound == Bound::Another);
        if bound == Bound::Server(1) {
            assert_eq!(balancer.take(0, 1), Bound::Another, "it is full");
        }
        bound
    };
    let down = |when_down| bound(Ties { when_down, ..Ties::default() }, true, false);
    assert_eq!(down(WhenDown::Another), Bound::Another);
    assert_eq!(down(WhenDown::Abort), Bound::Nothing);
    assert_eq!(down(WhenDown::Continue), Bound::Server(1));
    let disabled = |keeps_disabled, up| {
        bound(Ties { when_down: WhenDown::Continue, keeps_disabled, ..Ties::default() }, false, up)
    };
    assert_eq!(disabled(false, true), Bound::Another);
    assert_eq!(disabled(true, true), Bound::Server(1));
    assert_eq!(disabled(true, false), Bound::Another);
}

#[test]
fn ties_bind_the_keys_of_a_server_that_takes_none() {
    let picks = |ties, enabled, up| {
        let mut spec = PoolSpec { monitored: true, ..pool(Algorithm::ConsistentHash, &[1, 1, 1]) };
        let mut balancer = Balancer::new(&spec);
        (0..3).for_each(|id| balancer.set_up(id, true));
        let own: Vec<_> = (0..200).filter(|number| balancer.pick(0, key(*number), &[]) == Some(1)).collect();
        assert!(own.len() > 20);
        spec.ties = ties;
        spec.servers[1].enabled = enabled;
        balancer.reconcile(&spec);
        balancer.set_up(1, up);
        let others = (0..200).filter(|number| !own.contains(number));
        assert!(others.map(|number| balancer.pick(0, key(number), &[])).all(|picked| picked.is_some_and(|at| at != 1)));
        let picks: HashSet<_> = own.iter().map(|number| balancer.pick(0, key(*number), &[])).collect();
        let previews: HashSet<_> =
            own.iter().map(|number| balancer.preview(0, key(*number)).map(|(at, _)| at)).collect();
        assert_eq!(picks, previews);
        assert!(balancer.pick(0, key(own[0]), &[1]).is_some_and(|at| at != 1), "it was tried in vain");
        picks
    };
    let down = |when_down| picks(Ties { when_down, by_key: true, ..Ties::default() }, true, false);
    let others = HashSet::from([Some(0), Some(2)]);
    assert_eq!(down(WhenDown::Another), others);
    assert_eq!(down(WhenDown::Abort), HashSet::from([None]));
    assert_eq!(down(WhenDown::Continue), HashSet::from([Some(1)]));
    let disabled = |keeps_disabled| picks(Ties { keeps_disabled, by_key: true, ..Ties::default() }, false, true);
    assert_eq!((disabled(false), disabled(true)), (others, HashSet::from([Some(1)])));
}

/// Otherwise a new server would have clients reset that others serve, until its first check.
#[test]
fn server_that_was_never_up_binds_no_keys_and_no_key_binds_in_a_pool_that_is_down() {
    let ties = Ties { when_down: WhenDown::Abort, by_key: true, ..Ties::default() };
    let mut balancer =
        Balancer::new(&PoolSpec { monitored: true, ties, ..pool(Algorithm::ConsistentHash, &[1, 1, 1]) });
    (0..2).for_each(|id| balancer.set_up(id, true));
    assert!((0..200).all(|number| balancer.pick(0, key(number), &[]).is_some_and(|at| at != 2)));
    balancer.set_up(2, true);
    balancer.set_up(2, false);
    assert!((0..200).any(|number| balancer.pick(0, key(number), &[]).is_none()), "its clients are bound to it now");
    (0..2).for_each(|id| balancer.set_up(id, false));
    assert!((0..200).all(|number| balancer.bound_by_key(0, key(number), &[]) == Bound::Another));
}
