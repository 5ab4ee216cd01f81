//! A request as limits count it, and how they refuse it.

use weir_rate::{Beyond, Key, Limit, Moment, Tally};

use crate::asked::View;

/// A limit refuses a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub beyond: Beyond,
    /// Its client or path is known to be bad.
    pub is_bad: bool,
}

impl From<Beyond> for Refusal {
    fn from(beyond: Beyond) -> Self {
        Self { beyond, is_bad: false }
    }
}

/// A request that comes to a limit.
#[derive(Clone, Copy)]
pub(crate) struct Coming<'a> {
    pub tally: &'a Tally,
    pub view: &'a View<'a>,
    pub at: Moment,
    /// It goes on even beyond the rate.
    pub passes: bool,
}

/// A request as a limit counts it.
#[derive(Clone)]
pub(crate) struct Counted {
    pub limit: Limit,
    /// `None`: all requests together have the limit.
    pub key: Option<Key>,
}

impl Counted {
    /// Counts it, or refuses it.
    pub fn count(&self, tally: &Tally, at: Moment) -> Result<(), Beyond> {
        match &self.key {
            Some(key) => tally.admit(&self.limit, key, at),
            None => tally.admit_any(&self.limit, at),
        }
    }

    /// Counts it for its key. False: there is no room for the key. Error: it is beyond the rate.
    pub fn try_count(&self, tally: &Tally, at: Moment) -> Result<bool, Beyond> {
        self.key.as_ref().map_or(Ok(false), |key| tally.count(&self.limit, key, at))
    }

    /// Takes back a request of its key.
    pub fn forget(&self, tally: &Tally, at: Moment) {
        if let Some(key) = &self.key {
            tally.forget(&self.limit, key, at);
        }
    }

    /// How many requests of its key are counted.
    pub fn used(&self, tally: &Tally, at: Moment) -> u64 {
        self.key.as_ref().map_or(0, |key| tally.used(&self.limit, key, at))
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Counted").field(&self.limit).finish()
    }
}
