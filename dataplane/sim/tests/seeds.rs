//! Ten thousand seeds, on two threads. A failing one says how to replay it.

use std::{
    panic::catch_unwind,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use weir_sim::{Tally, run};

const SEEDS: u64 = 10_000;
const THREADS: usize = 2;

#[test]
fn proxy_keeps_its_promises_in_ten_thousand_runs() {
    let next = AtomicU64::new(1);
    let total = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| play_from(&next))).collect();
        let mut total = Tally::default();
        for worker in workers {
            total.add(&worker.join().expect("a worker says why it fails"));
        }
        total
    });
    println!("{total:?}");
    assert!(total.answered > total.asked / 2, "most requests should be answered by a server: {total:?}");
    let kinds = [total.refused, total.cut, total.failed, total.unread];
    assert!(kinds.iter().all(|count| *count > 0), "some should end in each other way: {total:?}");
}

fn play_from(next: &AtomicU64) -> Tally {
    let mut total = Tally::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed > SEEDS {
            return total;
        }
        match catch_unwind(|| run(seed, false)) {
            Ok(verdict) => {
                let violations = verdict.violations.join("\n  ");
                assert!(violations.is_empty(), "seed {seed} fails:\n  {violations}\nreplay: make sim SEED={seed}");
                total.add(&verdict.tally);
            }
            Err(panic) => {
                eprintln!("seed {seed} panics; replay: make sim SEED={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}
