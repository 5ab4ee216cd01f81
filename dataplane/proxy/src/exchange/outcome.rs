//! What limits count when it is known whether a request fails.

use weir_rate::Moment;
use weir_rules::Pending;

use crate::{exchange::Exchange, io::Time};

impl Exchange {
    /// Has limits count the request when it is answered.
    pub fn await_outcome(&mut self, pending: Pending) {
        let aside = self.aside();
        aside.counts_success = pending.waits_for_success();
        aside.pending.set(pending);
    }

    /// The client gets a status from 400 on, or its connection is closed instead.
    pub fn has_failed(&self, now: Time) {
        self.count_outcome(true, now);
    }

    /// The client gets a status below 400.
    #[inline]
    pub fn has_succeeded(&self, now: Time) {
        if self.aside.as_ref().is_some_and(|aside| aside.counts_success) {
            self.count_outcome(false, now);
        }
    }

    /// A limit refuses the request: that is no failure, and no success.
    pub fn leave_uncounted(&self) {
        if let Some(aside) = &self.aside {
            aside.pending.take();
        }
    }

    fn count_outcome(&self, failed: bool, now: Time) {
        let Some(aside) = &self.aside else { return };
        let pending = aside.pending.take();
        if let Some(policies) = self.service.policies.as_ref().filter(|_| !pending.is_empty()) {
            policies.rules.answered(pending, failed, Moment::counting(now.nanos));
        }
    }
}
