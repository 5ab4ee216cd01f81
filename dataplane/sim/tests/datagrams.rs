//! Ten thousand seeds of datagrams.

use weir_sim::datagrams::run;

const SEEDS: u64 = 10_000;

#[test]
fn sessions_keep_their_promises_in_ten_thousand_runs() {
    for seed in 1..=SEEDS {
        let violations = run(seed);
        assert!(violations.is_empty(), "seed {seed} of datagrams fails:\n  {}", violations.join("\n  "));
    }
}
