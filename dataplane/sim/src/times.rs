//! What must hold for the times of the requests of a service.

use std::time::Duration;

use weir_telemetry::{Histogram, Times};

use crate::peer::Ledger;

/// A batch of the proxy sees what happened in so much time, and counts all of it as late as the last.
const BATCH: Duration = Duration::from_micros(250);

/// `rtt_max` is the longest round trip to any server.
pub fn judge(times: &Times, rtt_max: Duration, ledger: &mut Ledger) {
    let Times { total, wait, response, server_rtt, app_response, transfer } = times;
    let requests = counted(total);
    if [wait, response, server_rtt, app_response, transfer].into_iter().any(|part| counted(part) != requests) {
        ledger.violation("telemetry", format_args!("{requests} requests have times, and others have parts of times"));
    }
    let ticks = |parts: &[&Histogram]| parts.iter().map(|part| part.sum_ticks()).sum::<u64>();
    if total.sum_ticks() != ticks(&[wait, response, transfer]) {
        ledger.violation("telemetry", "the parts of the times do not make up the total");
    }
    if response.sum_ticks() != ticks(&[server_rtt, app_response]) {
        ledger.violation("telemetry", "the parts of the responses do not make up the responses");
    }
    let most = requests * ((rtt_max + BATCH).as_nanos() as u64 * (1 << 20)).div_ceil(1_000_000_000);
    if server_rtt.sum_ticks() > most {
        let got = server_rtt.sum_ticks();
        ledger.violation("telemetry", format_args!("{got} ticks of round trips to servers, {most} at most"));
    }
}

fn counted(histogram: &Histogram) -> u64 {
    histogram.run().1.iter().map(|count| u64::from(*count)).sum()
}
