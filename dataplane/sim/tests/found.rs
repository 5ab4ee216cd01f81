//! Seeds that failed once.

use weir_sim::run;

fn holds(seed: u64) {
    let verdict = run(seed, false);
    assert!(verdict.violations.is_empty(), "seed {seed}: {}", verdict.violations.join("\n  "));
}

/// A stream of HTTP/2 that could send on was the last one of its connection to the server, and ended both.
#[test]
fn connection_to_a_server_may_end_while_its_streams_send_on() {
    holds(11_401);
}

/// Frames of a WebSocket waited for its server when the client's connection of HTTP/2 ended behind them.
#[test]
fn complete_websocket_is_not_cut_by_the_end_of_its_connection() {
    holds(66_627);
}
