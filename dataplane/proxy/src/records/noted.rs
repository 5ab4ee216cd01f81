//! Where the notes on a request stand, in four bytes, because each client has them.

use weir_snapshot::Analytics;
use weir_telemetry::{Cause, record::Outcome};

/// Notes in a slot; or, if there was no slot, what decides the class of the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Noted(u32);

const WITHOUT_SLOT: u32 = 1 << 31;
const SIGNIFICANT: u32 = 1 << 16;

impl Noted {
    /// There is no request, or none that may be recorded.
    pub const NOTHING: Self = Self(u32::MAX);

    pub fn in_slot(at: u32) -> Self {
        Self(at)
    }

    /// All slots are in use.
    pub fn without_slot(filters: u16) -> Self {
        Self(WITHOUT_SLOT | u32::from(filters))
    }

    #[inline]
    pub fn is_something(self) -> bool {
        self != Self::NOTHING
    }

    #[inline]
    pub fn slot(self) -> Option<u32> {
        (self.0 & WITHOUT_SLOT == 0).then_some(self.0)
    }

    /// That of its slot, if it has one; otherwise larger than any.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    pub fn filters(self) -> u16 {
        self.0 as u16
    }

    pub fn is_significant(self) -> bool {
        self.0 & SIGNIFICANT != 0
    }

    /// Without a slot, this is all that is kept of what has happened.
    #[cold]
    pub fn weigh(&mut self, analytics: &Analytics, outcome: &Outcome) {
        if self.is_something() && self.slot().is_none() && !analytics.rules.reasons(outcome).is_empty() {
            self.0 |= SIGNIFICANT;
        }
    }

    pub fn weigh_cause(&mut self, analytics: &Analytics, cause: Cause) {
        self.weigh(analytics, &Outcome { cause: Some(cause), ..Outcome::default() });
    }
}
