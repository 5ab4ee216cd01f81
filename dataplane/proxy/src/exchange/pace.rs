//! How fast a body must come. Each byte buys its share of a second; who has bought no more has a while to come up with the
//! next, so that one slow stretch does not end an upload, and a drip does.

use std::time::Duration;

use crate::io::Time;

#[derive(Default)]
pub(crate) struct Pace {
    /// Until when what has come is fast enough; `None`: the body is not being read.
    due: Option<Time>,
    /// Bytes of the body that have bought their time.
    paid_bytes: u64,
}

impl Pace {
    /// How long the next byte may take, after so many bytes of the body. Nobody has more than `burst` ahead, or `grace` at
    /// the beginning and after a pause.
    pub fn time_left(
        &mut self,
        now: Time,
        body_bytes: u64,
        bytes_per_s: u32,
        grace: Duration,
        burst: Duration,
    ) -> Duration {
        let bytes = body_bytes - std::mem::replace(&mut self.paid_bytes, body_bytes);
        let bought = Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / u64::from(bytes_per_s.max(1)));
        let due = match self.due {
            None => now + grace,
            Some(due) => (due + bought).min(now + grace.max(burst)),
        };
        self.due = Some(due);
        due.since(now)
    }

    /// The body is not read for now, which is not its sender's fault.
    pub fn pause(&mut self) {
        self.due = None;
    }
}
