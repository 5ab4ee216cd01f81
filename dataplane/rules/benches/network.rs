//! What it costs to judge a connection by a network security policy, in ns: by many rules, and by large groups of addresses.
//! Prints the best of many short runs, so that what else the machine does falls out. `cargo bench -p weir-rules`

use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Instant,
};

use weir_rate::Moment;
use weir_rules::{
    AddressGroup, AddressMatch, AddressRange, Addresses, Arriving, ConnectionMatch, NetworkAction, NetworkPolicy,
    NetworkRule,
};

const ROUNDS: u32 = 2_000;
const RUNS: u32 = 200;

fn main() {
    let one = |number: u32| vec![subnet(number)];
    for rules in [1, 10, 100, 1_000] {
        report(&format!("{rules} rules of a subnet"), &policy((0..rules).map(one)));
    }
    for subnets in [10, 1_000, 10_000] {
        report(&format!("a group of {subnets} subnets"), &policy([(0..subnets).map(subnet).collect()]));
    }
}

/// 10.x.y.0/24 of every second y, so that they do not become one range.
fn subnet(number: u32) -> AddressRange {
    let first = 0x0a00_0000 + number * 512;
    let address = |bits| IpAddr::V4(Ipv4Addr::from_bits(bits));
    AddressRange { first: address(first), last: address(first + 255) }
}

/// Denies each of these sets of addresses.
fn policy(sets: impl IntoIterator<Item = Vec<AddressRange>>) -> NetworkPolicy {
    let rules = sets.into_iter().map(|set| {
        let group = AddressGroup { uuid: String::new(), name: String::new(), addresses: Addresses::of(set) };
        let client = AddressMatch::new(false, Addresses::default(), vec![Arc::new(group)]);
        let matched = ConnectionMatch { client: Some(client), ..ConnectionMatch::default() };
        NetworkRule { name: "".into(), matched, until: u64::MAX, action: NetworkAction::Deny, log: false }
    });
    NetworkPolicy { uuid: String::new(), name: String::new(), rules: rules.collect() }
}

/// Of clients whom no rule denies, so that all rules are tried.
fn report(what: &str, policy: &NetworkPolicy) {
    let run = |_| {
        let begun = Instant::now();
        for round in 0..ROUNDS {
            let address = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0100 + round % 5_000 * 512));
            let arriving = Arriving { client: SocketAddr::new(address, 4_000), listener_port: 80, unix_s: 0 };
            let _ = black_box(policy.judge(black_box(&arriving), None, Moment::counting(1)));
        }
        begun.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
    };
    let best = (0..RUNS).map(run).fold(f64::MAX, f64::min);
    println!("{what:32} {best:8.1} ns");
}
