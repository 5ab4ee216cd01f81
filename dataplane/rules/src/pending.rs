//! What is counted of a request only when it is known what becomes of it.

use weir_rate::{Moment, Tally};

use crate::counted::Counted;

/// What limits count of a request that none of them has refused so far. Nothing, and small, where no limit waits for what
/// becomes of requests.
#[derive(Default, Debug)]
pub struct Pending(Option<Box<Waiting>>);

#[derive(Default, Debug)]
struct Waiting {
    failing: Vec<Counted>,
    strangers: Vec<Stranger>,
}

/// A request of a client, or for a path, that a limit of strangers remembers.
#[derive(Debug)]
pub(crate) struct Stranger {
    pub requests: Counted,
    pub failures: Counted,
}

impl Pending {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Counts it if it fails.
    pub(crate) fn count_if_failing(&mut self, counted: Counted) {
        self.0.get_or_insert_default().failing.push(counted);
    }

    /// Remembers it, and whether it fails.
    pub(crate) fn remember(&mut self, stranger: Stranger) {
        self.0.get_or_insert_default().strangers.push(stranger);
    }

    /// No limit refuses the request. Returns what counts it if it fails.
    pub(crate) fn settle(self, tally: &Tally, at: Moment) -> Vec<Counted> {
        let Waiting { mut failing, strangers } = self.0.map_or_else(Waiting::default, |waiting| *waiting);
        for Stranger { requests, failures } in strangers {
            // Once there is no room for it, what is remembered keeps the share of failures: a request takes one back, and
            // counts twice if it fails. So they become more only while more than half of the requests fail.
            if requests.count(tally, at).is_err() {
                failures.forget(tally, at);
                failing.push(failures.clone());
            }
            failing.push(failures);
        }
        failing
    }
}
