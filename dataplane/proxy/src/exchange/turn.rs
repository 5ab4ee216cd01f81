//! How long a request may wait in the queues of pools. It may come to several queues, but its time begins once.

use std::time::Duration;

use crate::io::Time;

#[derive(Default)]
pub(super) enum Turn {
    /// It has not waited yet.
    #[default]
    Unasked,
    /// It may wait until then; `None`: without limit.
    Until(Option<Time>),
    /// It has waited as long as it may.
    Over,
}

impl Turn {
    /// Its time begins. False: it has begun before.
    pub fn begin(&mut self, now: Time, most: Option<Duration>) -> bool {
        let is_first = matches!(self, Self::Unasked);
        if is_first {
            *self = Self::Until(most.map(|most| now + most));
        }
        is_first
    }

    /// What is left of its time, if there is a limit.
    pub fn left(&self, now: Time) -> Option<Duration> {
        match self {
            Self::Until(Some(until)) => Some(until.since(now)),
            Self::Unasked | Self::Until(None) | Self::Over => None,
        }
    }
}
