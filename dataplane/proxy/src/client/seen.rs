//! What records show of a client's connection beside its requests.

use crate::io::Time;

pub(crate) struct Seen {
    pub accepted: Time,
    /// The round trip to the client, in nanoseconds; 0: not known.
    pub rtt_nanos: u64,
    /// When that was found out.
    pub rtt_at: Time,
}

/// A round trip is found out anew when it is older than this.
const FRESH_NANOS: u64 = 10_000_000_000;

impl Seen {
    pub fn new(now: Time) -> Self {
        Self { accepted: now, rtt_nanos: 0, rtt_at: now }
    }

    pub fn knows_rtt(&self, now: Time) -> bool {
        self.rtt_nanos > 0 && now.nanos.saturating_sub(self.rtt_at.nanos) < FRESH_NANOS
    }

    /// The round trip, and how old it is, in nanoseconds.
    pub fn rtt(&self, now: Time) -> (u64, u64) {
        match self.rtt_nanos {
            0 => (0, 0),
            rtt => (rtt, now.nanos.saturating_sub(self.rtt_at.nanos)),
        }
    }
}
