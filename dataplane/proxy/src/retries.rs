//! How many requests of a pool may go to another server after a response. Servers that are overloaded answer with errors:
//! if each of these made another request, the pool would get several times its load just then.

use std::time::Duration;

use weir_snapshot::Pool;
use weir_telemetry::Counters;

use crate::io::Time;

/// Retries are counted for so long.
const WINDOW: Duration = Duration::from_secs(10);
/// Who has no retry left is counted again after so long: a pool may have many servers.
const COUNTED_FOR: Duration = Duration::from_millis(10);
/// Three a second. A pool with few requests may have them all.
const RETRIES_LEAST: u64 = 30;
/// One for so many requests.
const REQUESTS_PER_RETRY: u64 = 5;

/// The retries of one pool, by one worker.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Retries {
    since: Time,
    /// Responses of the pool's servers before the window, and when they were counted last.
    responses_before: u64,
    responses: u64,
    counted: Time,
    made: u64,
}

impl Retries {
    /// Whether one more is within the budget. `count` counts the responses of the pool's servers.
    pub fn are_left(&mut self, count: impl Fn() -> u64, now: Time) -> bool {
        if now.since(self.since) >= WINDOW {
            *self = Self::begin(count(), now);
        }
        if !self.has_more() && now.since(self.counted) >= COUNTED_FOR {
            (self.responses, self.counted) = (count(), now);
            // A server that is replaced takes its count with it.
            if self.responses < self.responses_before {
                *self = Self::begin(self.responses, now);
            }
        }
        self.has_more()
    }

    pub fn count(&mut self) {
        self.made += 1;
    }

    fn begin(responses: u64, now: Time) -> Self {
        Self { since: now, responses_before: responses, responses, counted: now, made: 0 }
    }

    fn has_more(&self) -> bool {
        // Each retry brings a response, too.
        let requests = (self.responses - self.responses_before).saturating_sub(self.made);
        self.made < RETRIES_LEAST + requests / REQUESTS_PER_RETRY
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

    /// Servers that answer each request with an error, a hundred of them in a second.
    fn made(retries: &mut Retries, responses: &mut u64, requests: u64, mut now: Time) -> u64 {
        let mut made = 0;
        for _ in 0..requests {
            now = now + Duration::from_millis(10);
            *responses += 1;
            let again = (0..4).take_while(|_| {
                let is_left = retries.are_left(|| *responses, now);
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
        let at_first = made(&mut retries, &mut responses, 500, at(100));
        assert!((125..=30 + 500 / 5).contains(&at_first), "{at_first} of 500");
        let then = made(&mut retries, &mut responses, 450, at(105));
        assert!((85..=90).contains(&then), "{then} of 450");
        assert_eq!(made(&mut retries, &mut responses, 5, at(111)), 20, "a new window begins with thirty");
    }

    #[test]
    fn servers_are_counted_a_few_times_however_many_responses_come_at_once() {
        let (mut retries, counted) = (Retries::default(), std::cell::Cell::new(0));
        for response in 0..10_000 {
            let count = || {
                counted.set(counted.get() + 1);
                response
            };
            if retries.are_left(count, at(100) + Duration::from_micros(response)) {
                retries.count();
            }
        }
        assert!(counted.get() <= 2, "{} times in ten milliseconds", counted.get());
    }

    #[test]
    fn counts_of_replaced_servers_begin_anew() {
        let (mut retries, mut responses) = (Retries::default(), 1_000_000);
        made(&mut retries, &mut responses, 100, at(100));
        assert!(retries.are_left(|| 3, at(105)));
        assert_eq!((retries.made, retries.responses_before), (0, 3));
    }
}
