//! The rule for servers that let nobody in: after enough failed connects to a server, without a successful one, only
//! one request at a time tries it, with a pause before the next. Other requests must not suffer.

use std::{collections::HashMap, net::SocketAddr, time::Duration};

use weir_proxy::io::Time;

use crate::{agenda::LinkId, network::Dial};

/// Two failures more than make a server suspect: if a client leaves in the same batch, its failure is not counted.
const FAILURES: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// How long nothing must have come back before that says anything.
const SILENCE: Duration = Duration::from_millis(500);
/// What an answer takes at most from its arrival to the proxy.
const BATCH: Duration = Duration::from_millis(1);

/// The connects to each server since one stood.
#[derive(Default)]
pub struct Dials(HashMap<SocketAddr, InVain>);

#[derive(Default)]
struct InVain {
    attempts: Vec<(Attempt, Duration)>,
    tried_at: Option<Time>,
}

/// A connect.
#[derive(Clone, Copy)]
pub struct Attempt {
    pub link: LinkId,
    pub address: SocketAddr,
    pub outcome: Dial,
    pub made_at: Time,
}

impl Dials {
    /// Records a connect. False if it should not have been made. `closed_at`: when the proxy gave up an earlier one.
    pub fn note(&mut self, attempt: Attempt, latency: Duration, closed_at: impl Fn(LinkId) -> Option<Time>) -> bool {
        if let Dial::Accepted = attempt.outcome {
            self.0.remove(&attempt.address);
            return true;
        }
        let now = attempt.made_at;
        let in_vain = self.0.entry(attempt.address).or_default();
        let told = in_vain.attempts.iter().filter(|(earlier, latency)| earlier.has_failed(*latency, now, &closed_at));
        let suspect = told.count() >= FAILURES;
        in_vain.attempts.push((attempt, latency));
        let too_soon = in_vain.tried_at.is_some_and(|before| now.since(before) < PAUSE);
        in_vain.tried_at = suspect.then_some(now);
        !(suspect && too_soon)
    }
}

impl Attempt {
    /// Whether the proxy knows by `now` that it failed: its client may have gone before.
    fn has_failed(&self, latency: Duration, now: Time, closed_at: impl Fn(LinkId) -> Option<Time>) -> bool {
        let closed_at = closed_at(self.link);
        match self.outcome {
            Dial::Accepted => false,
            Dial::Failed(_) => self.made_at + latency * 2 + BATCH <= now && closed_at.is_none(),
            Dial::Ignored => closed_at.is_some_and(|at| at.since(self.made_at) >= SILENCE),
        }
    }
}
