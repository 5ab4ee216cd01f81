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
    requests: Counted,
    failures: Counted,
    /// There was no room for the request, because the latest ones are remembered already.
    is_full: bool,
}

impl Stranger {
    pub fn new(requests: Counted, failures: Counted) -> Self {
        Self { requests, failures, is_full: false }
    }

    /// Remembers the request. False: nothing is known of its client or path.
    fn remember(&mut self, tally: &Tally, at: Moment) -> bool {
        let remembered = self.requests.try_count(tally, at);
        self.is_full = remembered.is_err();
        remembered.unwrap_or(true)
    }

    /// Once there is no room for requests, what is remembered keeps the share of failures: a request that does not fail takes
    /// one back. So they become more only while more than half of the requests fail. Requests that are not answered yet
    /// change nothing, however many they are.
    fn count(&self, failed: bool, tally: &Tally, at: Moment) {
        match (failed, self.is_full) {
            (true, _) => _ = self.failures.count(tally, at),
            (false, true) => self.failures.forget(tally, at),
            (false, false) => {}
        }
    }
}

impl Pending {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether something changes if the request does not fail. Only known when it is [settled](Self::settle).
    pub fn waits_for_success(&self) -> bool {
        self.0.as_ref().is_some_and(|waiting| waiting.strangers.iter().any(|stranger| stranger.is_full))
    }

    /// Counts it if it fails.
    pub(crate) fn count_if_failing(&mut self, counted: Counted) {
        self.0.get_or_insert_default().failing.push(counted);
    }

    /// Remembers it, and whether it fails.
    pub(crate) fn remember(&mut self, stranger: Stranger) {
        self.0.get_or_insert_default().strangers.push(stranger);
    }

    /// No limit refuses the request.
    pub(crate) fn settle(&mut self, tally: &Tally, at: Moment) {
        let Some(waiting) = &mut self.0 else { return };
        waiting.strangers.retain_mut(|stranger| stranger.remember(tally, at));
        if waiting.failing.is_empty() && waiting.strangers.is_empty() {
            self.0 = None;
        }
    }

    /// It is known whether the request fails.
    pub(crate) fn count(self, failed: bool, tally: &Tally, at: Moment) {
        let Some(Waiting { failing, strangers }) = self.0.map(|waiting| *waiting) else { return };
        for counted in failing.iter().filter(|_| failed) {
            let _ = counted.count(tally, at);
        }
        strangers.iter().for_each(|stranger| stranger.count(failed, tally, at));
    }
}

#[cfg(test)]
mod tests {
    use weir_rate::{Limit, Tallies};

    use super::*;

    #[test]
    fn nothing_is_counted_of_a_request_for_which_a_table_has_no_room() {
        let limit = |name| Limit::new("of", name, 60, 3_600, 0).of_engine();
        let (requests, failures, at) = (limit("requests"), limit("failures"), Moment::counting(1));
        // A tally counts nothing for a limit that it is not made for: as if there were no room.
        for (limits, counted) in [(vec![requests, failures], 1), (vec![failures], 0)] {
            let tally = Tallies::new(1).of("service", 1, limits);
            let of = |limit: Limit| Counted { limit, key: Some(tally.key(&limit).text(b"/")) };
            let mut pending = Pending::default();
            pending.remember(Stranger::new(of(requests), of(failures)));
            pending.settle(&tally, at);
            assert_eq!(pending.is_empty(), counted == 0);
            pending.count(true, &tally, at);
            assert_eq!(of(failures).used(&tally, at), counted);
        }
    }
}
