//! Whether an exchange has been counted for its server.

use weir_balance::Shown;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Judged {
    #[default]
    Not,
    /// The response has counted as good. The rest of it may show an error.
    SoFar,
    Finally,
}

impl Judged {
    /// The exchange shows something. Returns what the balancer has to count; `None`: nothing more. `is_final`: what comes
    /// later shows nothing.
    pub fn follow(&mut self, is_error: bool, is_final: bool) -> Option<Shown> {
        let before = *self;
        if before != Self::Finally {
            *self = if is_error || is_final { Self::Finally } else { Self::SoFar };
        }
        match (before, is_error) {
            (Self::Not, true) => Some(Shown::Error),
            (Self::Not, false) => Some(Shown::Good),
            (Self::SoFar, true) => Some(Shown::LateError),
            (Self::SoFar, false) | (Self::Finally, _) => None,
        }
    }

    /// What the exchange has shown did not count.
    pub fn is_not_counted(&mut self) {
        if *self == Self::SoFar {
            *self = Self::Not;
        }
    }
}
