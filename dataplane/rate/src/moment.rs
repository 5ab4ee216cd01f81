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

    /// The same moment for an event that is not counted yet.
    #[must_use]
    pub fn only_looking(mut self) -> Self {
        if self.mode == Mode::Count {
            self.mode = Mode::Watch;
        }
        self
    }

    pub fn looking(nanos: u64) -> Self {
        Self { nanos, mode: Mode::Look }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Count,
    /// An event comes that may be counted later. Nothing changes but what is asked of a hot key.
    Watch,
    /// No event comes, and nothing changes.
    Look,
}
