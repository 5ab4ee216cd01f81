//! The minimum rate of a body. Each byte buys its share of a second. A sender with no time left still gets a grace
//! period. So one slow stretch does not end an upload, but a constant trickle does.

use std::time::Duration;

use crate::io::Time;

#[derive(Default)]
pub(crate) struct Pace {
    /// Until when the body is fast enough without another byte; `None`: the body is not being read.
    due: Option<Time>,
    /// Bytes of the body that have been counted.
    paid_bytes: u64,
}

impl Pace {
    /// How long the next byte may take, when `body_bytes` have arrived. A sender can be ahead by `burst` at most, or by
    /// `grace` if that is more. At the beginning and after a pause it has `grace`.
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

    /// The body is not read for now, which is not the sender's fault.
    pub fn pause(&mut self) {
        self.due = None;
    }
}
