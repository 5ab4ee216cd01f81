//! Ten thousand seeds, on two threads. A failing one says how to replay it, and stops the others.

use std::{
    io::Write,
    panic::catch_unwind,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

use weir_sim::{Tally, run};

const SEEDS: u64 = 10_000;
const THREADS: usize = 2;
const SEEDS_PER_LINE: u64 = 1_000;

#[test]
fn proxy_keeps_its_promises_in_ten_thousand_runs() {
    let (next, begun) = (AtomicU64::new(1), Instant::now());
    let total = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| play_from(&next, begun))).collect();
        let mut total = Tally::default();
        for worker in workers {
            total.add(&worker.join().expect("a worker says why it fails"));
        }
        total
    });
    tell(&format!("{SEEDS} seeds in {} s: {total:?}", begun.elapsed().as_secs()));
    // Of what crowds ask, most is not.
    assert!(total.answered > total.asked * 2 / 5, "most requests should be answered by a server: {total:?}");
    let newer = [total.streams, total.served_http2, total.sockets];
    assert!(total.stream_sockets > SEEDS / 50, "WebSockets should be on streams, too: {total:?}");
    assert!(newer.iter().all(|count| *count > SEEDS / 4), "HTTP/2 and WebSocket should be much of it: {total:?}");
    assert!(total.carried > SEEDS, "tunnels should carry most of what they are given: {total:?}");
    assert!(total.bound > SEEDS / 10, "clients should come again to their servers: {total:?}");
    let kinds = [total.refused, total.cut, total.failed, total.unread];
    assert!(kinds.iter().all(|count| *count > 0), "some should end in each other way: {total:?}");
}

fn play_from(next: &AtomicU64, begun: Instant) -> Tally {
    let mut total = Tally::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed > SEEDS {
            return total;
        }
        match play(seed) {
            Ok(tally) => total.add(&tally),
            Err(wrong) => {
                next.store(SEEDS + 1, Ordering::Relaxed);
                panic!("seed {seed} fails:\n  {wrong}\nreplay: make sim SEED={seed}");
            }
        }
        if seed.is_multiple_of(SEEDS_PER_LINE) {
            tell(&format!("seed {seed} of {SEEDS} after {} s", begun.elapsed().as_secs()));
        }
    }
}

fn play(seed: u64) -> Result<Tally, String> {
    match catch_unwind(|| run(seed, false)) {
        Ok(verdict) if verdict.violations.is_empty() => Ok(verdict.tally),
        Ok(verdict) => Err(verdict.violations.join("\n  ")),
        Err(_) => Err("the panic above".into()),
    }
}

/// Says it now: the harness keeps what is printed by macros until the test has ended.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
