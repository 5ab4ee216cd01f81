//! Limits of requests of clients, or for paths, that an engine does not know to be good.

use weir_rate::{Beyond, Limit};

use crate::{
    counted::{Coming, Counted, Refusal},
    pending::{Pending, Stranger},
};

/// So many requests make a client or a path known: good or bad.
const KNOWN_FROM: u64 = 10;
/// One of the requests is forgotten in so many seconds.
const FORGOTTEN_S: u32 = 60;
/// So many are remembered.
const REMEMBERED: u32 = 60;

/// Whose requests, or requests for what, have the rate of a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strangers {
    /// Paths are known, and not clients.
    pub by_path: bool,
    /// What the bad ones have instead of the rate of the limit.
    pub bad: Limit,
    /// The first limit of a virtual service for clients, or for paths, remembers requests; the others only ask.
    pub remembers: bool,
    requests: Limit,
    failures: Limit,
}

/// What an engine knows of a client or a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Good,
    Unknown,
    /// At least half of the requests have failed.
    Bad,
}

impl Strangers {
    pub fn new(by_path: bool, bad: Limit, remembers: bool) -> Self {
        let of = if by_path { "paths" } else { "clients" };
        let memory = |what| Limit::new(of, what, REMEMBERED, REMEMBERED * FORGOTTEN_S, 0).of_engine();
        Self { by_path, bad, remembers, requests: memory("requests"), failures: memory("failures") }
    }

    /// All that is counted.
    pub fn limits(&self) -> [Limit; 3] {
        [self.bad, self.requests, self.failures]
    }

    /// A request comes. `limited` counts it for a rate, which is `usual` for the unknown ones. If it is to be
    /// remembered, it is added to `pending`.
    #[cold]
    #[inline(never)]
    pub(crate) fn admit(
        &self,
        usual: &Limit,
        limited: impl FnOnce(&Limit) -> Result<(), Beyond>,
        coming: &Coming<'_>,
        pending: &mut Pending,
    ) -> Result<(), Refusal> {
        let Coming { tally, view, at, passes } = *coming;
        let [requests, failures] = [self.requests, self.failures].map(|limit| {
            let key = tally.key(&limit);
            let key = match self.by_path {
                true => key.text(view.path(true, false)),
                false => key.client(view.asked.from.client),
            };
            Counted { limit, key: Some(key) }
        });
        let standing = standing(requests.used(tally, at), failures.used(tally, at));
        let rate = match standing {
            Standing::Good => None,
            Standing::Unknown => Some(usual),
            Standing::Bad => Some(&self.bad),
        };
        let admitted = rate.map_or(Ok(()), limited);
        if self.remembers && (admitted.is_ok() || passes) {
            pending.remember(Stranger::new(requests, failures));
        }
        admitted.map_err(|beyond| Refusal { beyond, is_bad: standing == Standing::Bad })
    }
}

fn standing(requests: u64, failures: u64) -> Standing {
    match (requests, failures) {
        (_, KNOWN_FROM..) if failures * 2 >= requests => Standing::Bad,
        (KNOWN_FROM.., _) if failures * 2 < requests => Standing::Good,
        _ => Standing::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_requests_make_known_and_most_of_them_decide_as_what() {
        use Standing::{Bad, Good, Unknown};
        for (requests, failures, wanted) in [
            (0, 0, Unknown),
            (9, 0, Unknown),
            (10, 0, Good),
            (10, 4, Good),
            (10, 5, Unknown),
            (19, 9, Good),
            (20, 10, Bad),
            (10, 10, Bad),
            (9, 9, Unknown),
            (60, 29, Good),
            (60, 30, Bad),
            // Requests of other limits fail, too, and are not counted here.
            (0, 10, Bad),
        ] {
            assert_eq!(standing(requests, failures), wanted, "{requests} requests, {failures} failures");
        }
    }
}
