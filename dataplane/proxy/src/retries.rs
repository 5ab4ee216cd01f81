//! How many requests of a pool may go to another server after a response. Servers that are overloaded answer with errors:
//! if each of these made another request, the pool would get several times its load just then.

use std::time::Duration;

use weir_snapshot::Pool;
use weir_telemetry::Counters;

use crate::io::Time;

/// Retries are counted for so long.
const WINDOW: Duration = Duration::from_secs(10);
/// Three a second. A pool with few requests may have them all.
const RETRIES_LEAST: u64 = 30;
/// One for so many requests.
const REQUESTS_PER_RETRY: u64 = 5;

/// The retries of one pool, by one worker.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Retries {
    since: Time,
    /// Responses of the pool's servers before the window.
    responses_before: u64,
    made: u64,
}

impl Retries {
    /// Whether one more is within the budget.
    pub fn are_left(&mut self, responses: u64, now: Time) -> bool {
        // A server that is replaced takes its count with it.
        if now.since(self.since) >= WINDOW || responses < self.responses_before {
            *self = Self { since: now, responses_before: responses, made: 0 };
        }
        // Each retry brings a response, too.
        let requests = (responses - self.responses_before).saturating_sub(self.made);
        self.made < RETRIES_LEAST + requests / REQUESTS_PER_RETRY
    }

    pub fn count(&mut self) {
        self.made += 1;
    }
}

/// How often the servers of a pool have answered.
pub(crate) fn responses(pool: &Pool, counters: &Counters) -> u64 {
    let of_server = |id| counters.server(id).map_or(0, |server| server.responses.iter().sum::<u64>());
    pool.servers.iter().map(|server| of_server(server.id)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::default() + Duration::from_secs(seconds)
    }

    fn made(retries: &mut Retries, responses: &mut u64, requests: u64, now: Time) -> u64 {
        let mut made = 0;
        for _ in 0..requests {
            *responses += 1;
            let again = (0..4).take_while(|_| {
                let is_left = retries.are_left(*responses, now);
                if is_left {
                    retries.count();
                    *responses += 1;
                }
                is_left
            });
            made += again.count() as u64;
        }
        made
    }

    #[test]
    fn a_fifth_of_the_requests_and_three_a_second() {
        let (mut retries, mut responses) = (Retries::default(), 0);
        assert_eq!(made(&mut retries, &mut responses, 1000, at(100)), 30 + 999 / 5, "the first begins the window");
        assert_eq!(made(&mut retries, &mut responses, 1000, at(109)), 200);
        assert_eq!(made(&mut retries, &mut responses, 5, at(111)), 20, "a new window begins with thirty");
    }

    #[test]
    fn counts_of_replaced_servers_begin_anew() {
        let (mut retries, mut responses) = (Retries::default(), 1_000_000);
        made(&mut retries, &mut responses, 100, at(100));
        responses = 3;
        assert!(retries.are_left(responses, at(101)));
        assert_eq!((retries.made, retries.responses_before), (0, 3));
    }
}
