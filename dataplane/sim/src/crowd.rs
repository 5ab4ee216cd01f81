//! A crowd from one address that uses up places and memory: clients that stay without a request, that send a request
//! that nobody answers, and leave or stay, or that ask for much and read nothing.

use std::time::Duration;

use crate::{
    client::{self, Manner, Promises, Request, RequestBody},
    link::{Appetite, Quality},
    rng::Rng,
    scenario::{ClientPlan, PLAIN},
    server::Style,
};

/// Places for clients where there is a crowd: fewer than it wants.
pub const PLACES: usize = 48;
/// Memory for what is not taken, where there is a crowd.
pub const BUFFER_BYTES: usize = 3 * 1024 * 1024;

pub fn crowd(rng: &mut Rng, calm: bool, ids: &mut u64) -> Vec<ClientPlan> {
    let count = rng.between(60, 90);
    let spread_us = rng.pick(&[1_000, 50_000, 400_000]);
    let temper = rng.between(0, 3);
    (0..count).map(|n| loiterer(rng, n, temper, calm, spread_us, ids)).collect()
}

fn loiterer(rng: &mut Rng, n: u64, temper: u64, calm: bool, spread_us: u64, ids: &mut u64) -> ClientPlan {
    *ids += 1;
    let kind = if rng.chance(50) { temper } else { rng.between(0, 3) };
    let patience = Duration::from_micros(rng.length(20_000));
    let (manner, style, response_bytes, appetite) = match kind {
        0 => (Manner::FallsSilent(rng.pick(&[0, 20, 100_000])), Style::Length, 100, Appetite::AtOnce),
        1 => (Manner::Closes(patience), Style::Hang, 100, Appetite::AtOnce),
        2 => (Manner::FallsSilent(100_000), Style::Hang, 100, Appetite::AtOnce),
        _ => (Manner::FallsSilent(100_000), Style::Length, 400_000, Appetite::Never),
    };
    let request = Request {
        id: *ids,
        method: "GET",
        http10: false,
        response_bytes,
        style,
        body: RequestBody::None,
        expect_continue: false,
        close: false,
    };
    let quality = Quality { latency: Duration::from_micros(50), shredded: false, window_bytes: 20_000, appetite };
    let plan = client::Plan {
        name: format!("loiterer {n}"),
        requests: vec![request],
        pipelined: false,
        manner,
        pause_us: 0,
        deaf: appetite == Appetite::Never,
        calm,
        promises: Promises { half_close: false, keepalive: false, reselect: false },
    };
    let start = Duration::from_micros(rng.between(0, spread_us));
    ClientPlan { start, listener: PLAIN, tls: false, quality, plan }
}
