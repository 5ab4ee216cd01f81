//! When things happened: each failure, and the number of answers in each second. It is for watching a server under load
//! while it changes, and is recorded only on request.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use weir_proxy::io::Time;

/// Failures that are kept one by one; further ones are in the seconds alone.
const FAILURES_MAX: usize = 10_000;
/// What comes later counts in the last one.
const SECONDS_MAX: usize = 7200;
/// Distinct values in one second; more count in the second alone.
const VALUES_MAX: usize = 256;

/// All times are from the begin of the run.
#[derive(Clone, Default)]
pub struct Timeline {
    pub begun_at: Option<SystemTime>,
    pub seconds: Vec<Second>,
    pub failures: Vec<Failure>,
    /// When each value of the field that answers are counted by was seen first.
    pub first: BTreeMap<String, Duration>,
    start: Option<Time>,
}

#[derive(Clone, Default)]
pub struct Second {
    pub answers: u64,
    pub failures: u64,
    pub per_value: BTreeMap<String, u64>,
}

#[derive(Clone)]
pub struct Failure {
    /// When the request began, or for the first one of a connection its connection.
    pub begun: Duration,
    pub failed: Duration,
    pub cause: String,
    /// What answered on this connection before; `None`: nothing did.
    pub value: Option<String>,
}

impl Timeline {
    pub fn begin(&mut self, now: Time) {
        *self = Self { begun_at: Some(SystemTime::now()), start: Some(now), ..Self::default() };
    }

    pub fn answered(&mut self, now: Time, value: Option<&str>) {
        let since = self.since(now);
        let second = self.second(since);
        second.answers += 1;
        let Some(value) = value else { return };
        if let Some(count) = second.per_value.get_mut(value) {
            *count += 1;
        } else if second.per_value.len() < VALUES_MAX {
            second.per_value.insert(value.into(), 1);
        }
        if !self.first.contains_key(value) && self.first.len() < VALUES_MAX {
            self.first.insert(value.into(), since);
        }
    }

    pub fn failed(&mut self, now: Time, begun: Time, cause: String, value: Option<&str>) {
        let failed = self.since(now);
        self.second(failed).failures += 1;
        if self.failures.len() < FAILURES_MAX {
            let begun = self.since(begun);
            self.failures.push(Failure { begun, failed, cause, value: value.map(Into::into) });
        }
    }

    fn since(&self, now: Time) -> Duration {
        self.start.map_or(Duration::ZERO, |start| now.since(start))
    }

    fn second(&mut self, since: Duration) -> &mut Second {
        let index = (since.as_secs() as usize).min(SECONDS_MAX - 1);
        if self.seconds.len() <= index {
            self.seconds.resize_with(index + 1, Second::default);
        }
        &mut self.seconds[index]
    }

    /// Adds another thread's, which began at the same time.
    pub fn add(&mut self, other: &Timeline) {
        self.begun_at = self.begun_at.or(other.begun_at);
        let seconds = self.seconds.len().max(other.seconds.len());
        self.seconds.resize_with(seconds, Second::default);
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.answers += theirs.answers;
            mine.failures += theirs.failures;
            theirs
                .per_value
                .iter()
                .for_each(|(value, count)| *mine.per_value.entry(value.clone()).or_default() += count);
        }
        self.failures.extend_from_slice(&other.failures);
        for (value, since) in &other.first {
            self.first.entry(value.clone()).and_modify(|mine| *mine = (*mine).min(*since)).or_insert(*since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::default() + Duration::from_millis(ms)
    }

    fn begun(at_ms: u64) -> Timeline {
        let mut timeline = Timeline::default();
        timeline.begin(ms(at_ms));
        timeline
    }

    #[test]
    fn counts_each_answer_in_its_second() {
        let mut timeline = begun(500);
        for (at, value) in [(600, "a"), (1499, "b"), (1501, "a"), (3600, "a")] {
            timeline.answered(ms(at), Some(value));
        }
        timeline.answered(ms(3601), None);
        let answers: Vec<_> = timeline.seconds.iter().map(|second| second.answers).collect();
        assert_eq!(answers, [2, 1, 0, 2]);
        assert_eq!(timeline.seconds[3].per_value["a"], 1);
        assert_eq!(timeline.first["b"], Duration::from_millis(999));
    }

    #[test]
    fn threads_add_up() {
        let (mut one, mut two) = (begun(0), begun(0));
        one.answered(ms(2100), Some("a"));
        two.answered(ms(100), Some("a"));
        two.failed(ms(200), ms(150), "reset".into(), Some("a"));
        one.add(&two);
        assert_eq!((one.seconds.len(), one.seconds[0].failures, one.failures.len()), (3, 1, 1));
        assert_eq!((one.first["a"], one.failures[0].begun), (Duration::from_millis(100), Duration::from_millis(150)));
    }

    #[test]
    fn is_bounded() {
        let mut timeline = begun(0);
        for n in 0..FAILURES_MAX as u64 + 10 {
            timeline.failed(ms(1000 * n), ms(0), "reset".into(), None);
            timeline.answered(ms(0), Some(&n.to_string()));
        }
        assert_eq!((timeline.failures.len(), timeline.seconds.len()), (FAILURES_MAX, SECONDS_MAX));
        assert_eq!((timeline.first.len(), timeline.seconds[0].per_value.len()), (VALUES_MAX, VALUES_MAX));
    }
}
