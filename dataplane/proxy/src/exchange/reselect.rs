//! A request that other servers get when one has answered in vain.

use weir_snapshot::Reselect;

use crate::exchange::{Exchange, Phase};

impl Exchange {
    /// Returns to the choice of a server, because a server's response is withheld.
    pub fn begin_elsewhere(&mut self) {
        self.aside().reselects += 1;
        self.return_to_choice();
    }

    /// Whether the pool wants other servers asked after some responses to this request.
    pub(super) fn wants_other_servers(&self) -> bool {
        let reselect = self.pool().and_then(|pool| pool.reselect.as_ref());
        reselect.is_some_and(|reselect| reselect.any_method || self.method.is_idempotent()) && !self.binds_connection
    }

    /// After which responses another server gets the request; `None`: after none.
    pub fn reselect(&self) -> Option<&Reselect> {
        let is_kept = matches!(&self.phase, Phase::Sending { repeatable: Some(_), .. });
        self.pool()?.reselect.as_ref().filter(|_| is_kept && self.wants_other_servers())
    }

    /// How many servers have answered in vain.
    pub fn reselects(&self) -> u32 {
        self.aside.as_ref().map_or(0, |aside| aside.reselects)
    }

    /// Milliseconds that the server has to answer a request that another one has answered in vain; 0: as others.
    #[inline]
    pub fn retry_timeout_ms(&self) -> u32 {
        if self.tried.is_empty() || self.reselects() == 0 {
            return 0;
        }
        self.pool().and_then(|pool| pool.reselect.as_ref()).map_or(0, |reselect| reselect.retry_timeout_ms)
    }

    /// How many servers of its pool were tried in vain without getting the request.
    pub fn failed_tries(&self) -> usize {
        self.tried.len() - self.reselects() as usize - self.tries_before()
    }
}
