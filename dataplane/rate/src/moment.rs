//! When something happens.

/// When an event comes, and whether it is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// By a clock that all workers of an engine share.
    pub(crate) nanos: u64,
    pub(crate) mode: Mode,
}

impl Moment {
    pub fn counting(nanos: u64) -> Self {
        Self { nanos, mode: Mode::Count }
    }

    /// The same moment for something that is not counted.
    #[must_use]
    pub fn only_looking(self) -> Self {
        Self::looking(self.nanos)
    }

    pub fn looking(nanos: u64) -> Self {
        Self { nanos, mode: Mode::Look }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Count,
    /// Nothing changes.
    Look,
}
