//! How many tasks a server has: what it said itself last, and what was sent to it since then. A server that says nothing
//! counts as the others do, with its open requests on top.

/// What a server can say at most.
pub const TASKS_MAX: u32 = 1_000_000;

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tasks {
    /// `None`: not known.
    said: Option<u32>,
    /// Requests of this worker since then.
    sent: u32,
    /// Its open requests when it was looked at last.
    seen: u32,
}

impl Tasks {
    /// Of a server with so many open requests.
    pub fn with_open(self, open: u32) -> Self {
        Self { seen: open, ..self }
    }

    pub fn say(&mut self, said: Option<u32>) {
        (self.said, self.sent) = (said.map(|tasks| tasks.min(TASKS_MAX)), 0);
    }

    pub fn are_known(&self) -> bool {
        self.said.is_some()
    }

    /// What the server itself said, times `stride`.
    pub fn said(&self, stride: u64) -> Option<u64> {
        self.said.map(|tasks| u64::from(tasks).saturating_mul(stride))
    }

    /// The load of a server that has so many open requests now; `usual`: what servers said in the mean. Each of the workers is
    /// expected to send as many requests as this one.
    pub fn load(&mut self, open: u32, stride: u64, usual: u64, workers: u32) -> u64 {
        self.sent = self.sent.saturating_add(open.saturating_sub(self.seen));
        self.seen = open;
        match self.said {
            Some(said) => (u64::from(said) + u64::from(self.sent) * u64::from(workers)).saturating_mul(stride),
            None => usual.saturating_add(u64::from(open).saturating_mul(stride)),
        }
    }
}
