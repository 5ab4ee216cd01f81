//! What it costs to pick a server among a thousand, in ns each, with the end of a request now and then, as in traffic.
//! Prints the best of many short runs, so that what else the machine does falls out. `cargo bench -p weir-balance`

use std::{collections::VecDeque, hint::black_box, time::Instant};

use weir_balance::{Algorithm, Balancer, Cores, HashKey, PoolSpec, ServerSpec, Tickets, Ties};

const SERVERS: u32 = 1_000;
const ROUNDS: u64 = 10_000;
const RUNS: u64 = 200;
/// Requests that are under way.
const OPEN: usize = 4_000;

fn main() {
    for (what, algorithm) in [
        ("round robin", Algorithm::RoundRobin),
        ("least connections", Algorithm::LeastConnections),
        ("consistent hash", Algorithm::ConsistentHash),
        ("random", Algorithm::Random),
        ("fastest response", Algorithm::FastestResponse),
        ("least load", Algorithm::LeastLoad),
        ("fewest servers", Algorithm::FewestServers),
    ] {
        report(what, algorithm, 1);
        report(&format!("{what}, ratios"), algorithm, 20);
    }
}

fn report(what: &str, algorithm: Algorithm, ratios: u32) {
    let server = |id| ServerSpec {
        id,
        key: HashKey::of(&id.to_be_bytes()),
        ratio: 1 + id % ratios,
        enabled: true,
        max_connections: 0,
    };
    let servers = (0..SERVERS).map(server).collect();
    let spec = PoolSpec {
        algorithm,
        servers,
        monitored: false,
        watches: true,
        offset: 1,
        ramp_ns: 0,
        slow_ns: 0,
        ties: Ties::default(),
        cores: Cores::default(),
        tickets: Tickets::default(),
    };
    let mut balancer = Balancer::new(&spec);
    let keys: Vec<_> = (0..ROUNDS).map(|number| HashKey::of(&number.to_be_bytes())).collect();
    let mut open = VecDeque::new();
    let mut now_ns = 0;
    let mut best = (f64::MAX, f64::MAX, f64::MAX);
    let mut run = |now_ns: &mut u64| {
        let begun = Instant::now();
        for (at, key) in keys.iter().enumerate() {
            open.push_back(balancer.pick(*now_ns + at as u64, *key, &[]));
        }
        let picked = begun.elapsed();
        *now_ns += ROUNDS * 1_000;
        let begun = Instant::now();
        let ended = open.len().saturating_sub(OPEN);
        for position in open.iter().take(ended).flatten() {
            balancer.timed(*position as u32, 1_000_000 + (*position as u64 & 0xff), *now_ns);
            balancer.sent(*position as u32, 10_000, *now_ns);
        }
        let told = begun.elapsed();
        let begun = Instant::now();
        for position in open.drain(..ended).flatten() {
            balancer.closed(position as u32);
        }
        let each = |took: std::time::Duration| took.as_nanos() as f64 / ROUNDS as f64;
        (each(picked), each(told), each(begun.elapsed()))
    };
    for _ in 0..RUNS {
        let took = black_box(run(&mut now_ns));
        best = (best.0.min(took.0), best.1.min(took.1), best.2.min(took.2));
    }
    for (step, nanos) in [("pick", best.0), ("answer", best.1), ("end", best.2)] {
        println!("{:40} {nanos:6.1} ns", format!("{what}: {step}"));
    }
}
