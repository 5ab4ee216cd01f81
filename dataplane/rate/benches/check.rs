//! What it costs to count an event of a key, in ns each: alone, and beside other workers that count the same key or others.
//! Prints the best of many short runs, so that what else the machine does falls out. `cargo bench -p weir-rate`

use std::{
    hint::black_box,
    net::IpAddr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Instant,
};

use weir_rate::{Engines, Key, Limit, Moment, Tallies, Tally};

const ROUNDS: u64 = 10_000;
const RUNS: u64 = 200;

fn main() {
    let limit = |count, period_s| Limit::new("set", "rule", count, period_s, 0);
    let wide = limit(1_000_000_000, 1);
    // As many as a virtual service may have beside rules.
    let tally = Tallies::new(1).of("", 1, (1..30).map(|count| limit(count, 60)).chain([wide, limit(1, 3_600)]));
    let client = |number: u64| tally.key(&wide).client(IpAddr::from(u32::to_be_bytes(number as u32)));
    report("one client", &tally, &wide, |_| client(1));
    report("10,000 clients", &tally, &wide, client);
    report("a client and a path", &tally, &wide, |number| client(number % 64).text(b"/api/v1/orders/4711"));
    report("new clients", &tally, &limit(10, 60), |number| client(1_000_000 + number));
    report("refused", &tally, &limit(1, 3_600), |_| client(2));
    // Over engines: of clients that are not hot, beside one that is, and of the hot one.
    let spread =
        Tallies::new(1).of("", Engines { count: 8, seed: 1 }, (1..30).map(|count| limit(count, 60)).chain([wide]));
    let client = |number: u64| spread.key(&wide).client(IpAddr::from(u32::to_be_bytes(number as u32)));
    report("10,000 clients over engines", &spread, &wide, client);
    while spread.admit(&wide, &client(20_000), Moment::counting(1)).is_ok() {}
    report("over engines, beside a hot one", &spread, &wide, client);
    report("a hot client over engines", &spread, &wide, |_| client(20_000));
    let client = |number: u64| tally.key(&wide).client(IpAddr::from(u32::to_be_bytes(number as u32)));
    let others = thread::available_parallelism().map_or(1, |cores| cores.get() - 1);
    for (what, apart) in [("the same key", 0), ("other keys", 1_000)] {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for other in 0..others as u64 {
                let (is_over, tally, wide, client) = (&is_over, &tally, &wide, &client);
                scope.spawn(move || {
                    while !is_over.load(Relaxed) {
                        let _ = black_box(tally.admit(wide, &client(1 + apart * (other + 1)), Moment::counting(1)));
                    }
                });
            }
            report(&format!("beside {others} on {what}"), &tally, &wide, |_| client(1));
            is_over.store(true, Relaxed);
        });
    }
}

fn report(what: &str, tally: &Tally, limit: &Limit, key: impl Fn(u64) -> Key) {
    let run = |number: u64| {
        let begun = Instant::now();
        for round in number * ROUNDS..(number + 1) * ROUNDS {
            let _ = black_box(tally.admit(limit, &key(black_box(round % ROUNDS)), Moment::counting(round)));
        }
        begun.elapsed().as_nanos() as f64 / ROUNDS as f64
    };
    let best = (0..RUNS).map(run).fold(f64::MAX, f64::min);
    println!("{what:32} {best:6.1} ns");
}
