//! On what terms a response is stored, and how old it is (RFC 9111 §4.2).

/// A point in time, by the two clocks: seconds since 1970, and seconds of one that never jumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    pub unix_s: u64,
    pub steady_s: u64,
}

/// When a response was asked for, and when it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    pub asked: Moment,
    pub came: Moment,
}

/// On what terms a response is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    pub fresh_s: u64,
    /// How old it was when it came.
    pub age_s: u64,
    pub came_s: u64,
    /// Nobody gets it without a validation (no-cache).
    pub always_validates: bool,
    /// Nobody gets it stale.
    pub must_revalidate: bool,
}

impl Terms {
    /// The age at a time of the steady clock (§4.2.3).
    pub fn age_at(&self, now_s: u64) -> u64 {
        self.age_s.saturating_add(now_s.saturating_sub(self.came_s))
    }

    pub fn is_fresh(&self, now_s: u64) -> bool {
        self.fresh_s > self.age_at(now_s)
    }

    /// For how long it has been stale.
    pub fn stale_for_s(&self, now_s: u64) -> u64 {
        self.age_at(now_s).saturating_sub(self.fresh_s)
    }
}
