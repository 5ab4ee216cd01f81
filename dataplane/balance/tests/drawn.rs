//! Algorithms that draw, or look at times and bytes of answers; and the share of a server that has come up.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;

use weir_balance::{Algorithm, Balancer, Cores, Failure, HashKey, PoolSpec, ServerSpec, Tickets, Ties};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn pool(algorithm: Algorithm, ratios: &[u32]) -> PoolSpec {
    let server = |(id, ratio): (usize, &u32)| ServerSpec {
        id: id as u32,
        key: HashKey::of(format!("10.0.0.{id}:80").as_bytes()),
        ratio: *ratio,
        enabled: true,
        max_connections: 0,
    };
    let servers = ratios.iter().enumerate().map(server).collect();
    PoolSpec {
        algorithm,
        servers,
        monitored: false,
        watches: true,
        offset: 3,
        ramp_ns: 0,
        slow_ns: 0,
        ties: Ties::default(),
        cores: Cores::default(),
        tickets: Tickets::default(),
    }
}

/// Servers that answer after a time that depends on how many requests they have, and what they send.
struct Run<'r> {
    balancer: Balancer,
    now_ns: u64,
    /// By server: when requests end, with their begin.
    open: Vec<VecDeque<(u64, u64)>>,
    time_ns: &'r dyn Fn(usize, usize) -> u64,
    bytes: &'r dyn Fn(usize) -> u64,
}

impl<'r> Run<'r> {
    fn new(spec: &PoolSpec, time_ns: &'r dyn Fn(usize, usize) -> u64, bytes: &'r dyn Fn(usize) -> u64) -> Self {
        let open = spec.servers.iter().map(|_| VecDeque::new()).collect();
        Self { balancer: Balancer::new(spec), now_ns: 0, open, time_ns, bytes }
    }

    /// Requests come one after the other, this far apart. Returns how many each server gets.
    fn go_on(&mut self, requests: u32, apart_ns: u64) -> Vec<u32> {
        let mut counts = vec![0; self.open.len()];
        for _ in 0..requests {
            self.now_ns += apart_ns;
            self.end_answers();
            let picked = self.balancer.pick(self.now_ns, HashKey::default(), &[]).unwrap();
            counts[picked] += 1;
            let takes_ns = (self.time_ns)(picked, self.open[picked].len() + 1);
            self.open[picked].push_back((self.now_ns + takes_ns, self.now_ns));
        }
        counts
    }

    fn end_answers(&mut self) {
        for (id, open) in self.open.iter_mut().enumerate() {
            let mut left = VecDeque::new();
            for (end, begun) in open.drain(..) {
                if end <= self.now_ns {
                    self.balancer.timed(id as u32, end - begun, self.now_ns);
                    self.balancer.sent(id as u32, (self.bytes)(id), self.now_ns);
                    self.balancer.closed(id as u32);
                } else {
                    left.push_back((end, begun));
                }
            }
            *open = left;
        }
    }
}

fn follow(counts: &[u32], ratios: &[u32], tolerance: f64) -> bool {
    let (all, sum) = (counts.iter().sum::<u32>(), ratios.iter().sum::<u32>());
    counts.iter().zip(ratios).all(|(count, ratio)| {
        let fair = f64::from(all * ratio) / f64::from(sum);
        (f64::from(*count) - fair).abs() <= tolerance * fair
    })
}

#[test]
fn shares_follow_the_ratios_where_servers_are_alike() {
    let ratios = [1, 2, 5, 1, 3, 8];
    for algorithm in [Algorithm::Random, Algorithm::FastestResponse, Algorithm::LeastLoad] {
        let mut run = Run::new(&pool(algorithm, &ratios), &|_, _| 200 * MS, &|_| 10_000);
        run.go_on(1_000, 2 * MS);
        let counts = run.go_on(10_000, 2 * MS);
        assert!(follow(&counts, &ratios, 0.15), "{algorithm:?}: {counts:?}");
    }
}

/// Chi-square of 99 degrees of freedom: 148.2 is exceeded once in a thousand times.
#[test]
fn random_is_random() {
    let mut balancer = Balancer::new(&pool(Algorithm::Random, &[1; 100]));
    let mut counts = vec![0.0f64; 100];
    (0..100_000).for_each(|_| counts[balancer.pick(0, HashKey::default(), &[]).unwrap()] += 1.0);
    let chi: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
    assert!((60.0..148.2).contains(&chi), "{chi}");
}

#[test]
fn workers_draw_other_servers() {
    let picks = |offset| {
        let mut balancer = Balancer::new(&PoolSpec { offset, ..pool(Algorithm::Random, &[1; 100]) });
        (0..20).map(|_| balancer.pick(0, HashKey::default(), &[]).unwrap()).collect::<Vec<_>>()
    };
    assert_ne!(picks(0), picks(1));
    assert_eq!(picks(1), picks(1), "and each of them the same again");
}

#[test]
fn better_of_two_keeps_the_busiest_server_near_the_mean() {
    let busiest = |algorithm| {
        let mut balancer = Balancer::new(&pool(algorithm, &[1; 1000]));
        let mut open = vec![0u32; 1000];
        (0..4000).for_each(|_| open[balancer.pick(0, HashKey::default(), &[]).unwrap()] += 1);
        open.into_iter().max().unwrap()
    };
    assert!(busiest(Algorithm::Random) >= 10);
    for algorithm in [Algorithm::FastestResponse, Algorithm::LeastLoad] {
        assert!(busiest(algorithm) <= 8, "{algorithm:?}: mean 4, busiest {}", busiest(algorithm));
    }
}

#[test]
fn slow_server_gets_less_and_its_share_again_when_it_is_fast() {
    let slow = std::cell::Cell::new(true);
    let time_ns = |server: usize, _: usize| if server == 2 && slow.get() { 400 * MS } else { 20 * MS };
    let mut run = Run::new(&pool(Algorithm::FastestResponse, &[1; 8]), &time_ns, &|_| 0);
    run.go_on(2_000, 10 * MS);
    let counts = run.go_on(8_000, 10 * MS);
    assert!((1..200).contains(&counts[2]), "1,000 would be its share: {counts:?}");
    slow.set(false);
    run.go_on(12_000, 10 * MS);
    let counts = run.go_on(4_000, 10 * MS);
    assert!(counts[2] > 80, "{counts:?}");
}

#[test]
fn server_of_which_nothing_is_known_is_no_magnet() {
    let mut spec = pool(Algorithm::FastestResponse, &[1; 4]);
    let mut run = Run::new(&spec, &|_, _| 50 * MS, &|_| 0);
    run.go_on(10_000, MS);
    spec.servers.push(ServerSpec { id: 4, ..spec.servers[0].clone() });
    run.balancer.reconcile(&spec);
    run.open.push(VecDeque::new());
    let counts = run.go_on(100, MS);
    assert!((10..40).contains(&counts[4]), "{counts:?}");
}

#[test]
fn server_that_hangs_gets_little_although_it_never_says_how_slow_it_is() {
    let time_ns = |server: usize, _: usize| if server == 0 { 3_600 * SECOND } else { 20 * MS };
    let mut run = Run::new(&pool(Algorithm::FastestResponse, &[1; 10]), &time_ns, &|_| 0);
    run.go_on(10_000, MS);
    let counts = run.go_on(10_000, MS);
    assert!(counts[0] < 100, "{counts:?}");
}

#[test]
fn server_that_sends_more_gets_fewer_requests() {
    let bytes = |server: usize| if server == 1 { 1_000_000 } else { 100_000 };
    let mut run = Run::new(&pool(Algorithm::LeastLoad, &[1; 6]), &|_, _| 20 * MS, &bytes);
    run.go_on(20_000, MS);
    let counts = run.go_on(20_000, MS);
    let others = (counts.iter().sum::<u32>() - counts[1]) / 5;
    assert!(counts[1] * 3 < others, "{counts:?}");
}

#[test]
fn fewest_servers_fills_one_after_the_other() {
    // A server answers a thousand requests per second, and none sooner than in 10 ms.
    let time_ns = |_: usize, requests: usize| requests.max(10) as u64 * MS;
    let mut run = Run::new(&pool(Algorithm::FewestServers, &[1; 10]), &time_ns, &|_| 0);
    assert_eq!(run.go_on(1_000, 5 * MS)[0], 1_000, "two at once are few");
    run.go_on(20_000, MS / 4);
    let counts = run.go_on(20_000, MS / 4);
    // 40 at once are work for four servers, with some reserve.
    let used = counts.iter().filter(|count| **count > 200).count();
    assert!((3..=7).contains(&used), "{counts:?}");
    assert!(counts[9] < 200 && counts[0] > 2_000, "{counts:?}");
}

#[test]
fn fewest_servers_shares_out_what_comes_before_the_first_answers() {
    let mut balancer = Balancer::new(&pool(Algorithm::FewestServers, &[1; 3]));
    let mut counts = [0; 3];
    (0..25).for_each(|_| counts[balancer.pick(0, HashKey::default(), &[]).unwrap()] += 1);
    assert_eq!(counts, [10, 10, 5]);
    (0..65).for_each(|_| counts[balancer.pick(0, HashKey::default(), &[]).unwrap()] += 1);
    assert_eq!(counts, [30, 30, 30], "all are full");
}

#[test]
fn fewest_servers_goes_on_when_a_server_is_full_or_down() {
    let mut spec = PoolSpec { monitored: true, ..pool(Algorithm::FewestServers, &[1; 3]) };
    spec.servers[0].max_connections = 2;
    let mut balancer = Balancer::new(&spec);
    [0, 2].into_iter().for_each(|id| balancer.set_up(id, true));
    let picks: Vec<_> = (0..4).map(|_| balancer.pick(0, HashKey::default(), &[]).unwrap()).collect();
    assert_eq!(picks, [0, 0, 2, 2]);
    balancer.set_up(1, true);
    assert_eq!(balancer.pick(0, HashKey::default(), &[]), Some(1));
}

#[test]
fn nobody_draws_who_is_down_full_or_suspect() {
    for algorithm in [Algorithm::Random, Algorithm::FastestResponse, Algorithm::LeastLoad] {
        let mut spec = PoolSpec { monitored: true, ..pool(algorithm, &[20, 1, 1, 1, 1]) };
        spec.servers[1].max_connections = 1;
        let mut balancer = Balancer::new(&spec);
        (1..5).for_each(|id| balancer.set_up(id, true));
        balancer.failed(2, Failure::Silent, 0, 0);
        let mut picked = [0; 5];
        (0..1_000).for_each(|_| picked[balancer.pick(1, HashKey::default(), &[4]).unwrap()] += 1);
        assert_eq!((picked[0], picked[1], picked[2], picked[4]), (0, 1, 0, 0), "{algorithm:?}: {picked:?}");
        assert_eq!(balancer.pick(2 * SECOND, HashKey::default(), &[]), Some(2), "its trial is due");
        // One of many left is found, however seldom it would be drawn.
        (3..5).for_each(|id| balancer.set_up(id, false));
        balancer.closed(1);
        balancer.set_up(0, true);
        assert_eq!(balancer.pick(2 * SECOND, HashKey::default(), &[0]), Some(1));
    }
}

const RAMPED: [Algorithm; 4] =
    [Algorithm::RoundRobin, Algorithm::LeastConnections, Algorithm::Random, Algorithm::FastestResponse];

#[test]
fn server_that_comes_up_gets_its_share_step_by_step() {
    for algorithm in RAMPED {
        let spec = PoolSpec { monitored: true, ramp_ns: 100 * SECOND, ..pool(algorithm, &[1; 4]) };
        let mut run = Run::new(&spec, &|_, _| 400 * MS, &|_| 0);
        (0..3).for_each(|id| run.balancer.set_up(id, true));
        run.go_on(11_000, 10 * MS);
        run.balancer.set_up(3, true);
        let counts = run.go_on(450, 10 * MS);
        assert!(counts[3] < 30, "{algorithm:?}: 112 would be its share: {counts:?}");
        run.go_on(4_350, 10 * MS);
        let counts = run.go_on(400, 10 * MS);
        assert!((35..80).contains(&counts[3]), "{algorithm:?}: about half of 100: {counts:?}");
        run.go_on(5_000, 10 * MS);
        let counts = run.go_on(4_000, 10 * MS);
        assert!(follow(&counts, &[1; 4], 0.12), "{algorithm:?}: {counts:?}");
        assert_eq!(run.balancer.share(3), 100);
    }
}

#[test]
fn new_and_enabled_servers_come_up_too_and_those_of_a_new_pool_do_not() {
    let mut spec = PoolSpec { ramp_ns: 100 * SECOND, ..pool(Algorithm::RoundRobin, &[1; 2]) };
    let mut balancer = Balancer::new(&spec);
    balancer.pick(0, HashKey::default(), &[]);
    assert_eq!([0, 1].map(|at| balancer.share(at)), [100, 100]);
    spec.servers.push(ServerSpec { id: 7, ..spec.servers[0].clone() });
    spec.servers[1].enabled = false;
    balancer.reconcile(&spec);
    balancer.pick(SECOND, HashKey::default(), &[]);
    assert_eq!([0, 1, 2].map(|at| balancer.share(at)), [100, 100, 5]);
    spec.servers[1].enabled = true;
    balancer.reconcile(&spec);
    balancer.pick(51 * SECOND, HashKey::default(), &[]);
    assert_eq!([0, 1, 2].map(|at| balancer.share(at)), [100, 5, 55]);
    spec.ramp_ns = 0;
    balancer.reconcile(&spec);
    assert_eq!([0, 1, 2].map(|at| balancer.share(at)), [100; 3]);
}

#[test]
fn server_that_comes_up_alone_gets_everything() {
    for algorithm in RAMPED {
        let spec = PoolSpec { monitored: true, ramp_ns: 100 * SECOND, ..pool(algorithm, &[1; 2]) };
        let mut balancer = Balancer::new(&spec);
        balancer.set_up(1, true);
        assert!((0..100).all(|at| balancer.pick(at, HashKey::default(), &[]) == Some(1)));
    }
}

#[test]
fn keys_do_not_move_while_a_server_comes_up() {
    let spec = PoolSpec { monitored: true, ramp_ns: 100 * SECOND, ..pool(Algorithm::ConsistentHash, &[1; 4]) };
    let mut balancer = Balancer::new(&spec);
    (0..4).for_each(|id| balancer.set_up(id, true));
    let key = |number: u32| HashKey::of(&number.to_be_bytes());
    let picks: Vec<_> = (0..200).map(|number| balancer.pick(0, key(number), &[])).collect();
    let later: Vec<_> = (0..200).map(|number| balancer.pick(200 * SECOND, key(number), &[])).collect();
    assert_eq!(picks, later);
}
