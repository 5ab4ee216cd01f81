//! The share of a server that has come up: it grows in steps, so that caches and pools of connections can fill.

/// Steps from the first share to the whole.
const STEPS: u64 = 20;

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Ramp {
    #[default]
    Over,
    /// It begins with the next look at the time.
    Due,
    Since(u64),
}

impl Ramp {
    /// The share now, in percent, and when the next one is due.
    pub fn share(&mut self, duration_ns: u64, now_ns: u64) -> (u32, u64) {
        let since = match *self {
            Self::Over => return (100, u64::MAX),
            Self::Due => now_ns,
            Self::Since(since) => since,
        };
        let step_ns = (duration_ns / STEPS).max(1);
        let step = now_ns.saturating_sub(since) / step_ns + 1;
        if step >= STEPS {
            *self = Self::Over;
            return (100, u64::MAX);
        }
        *self = Self::Since(since);
        ((step * 100 / STEPS) as u32, since.saturating_add(step * step_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_grows_in_equal_steps_from_the_first_look_on() {
        let mut ramp = Ramp::Due;
        assert_eq!(ramp.share(20_000, 5_000), (5, 6_000));
        assert_eq!(ramp.share(20_000, 5_999), (5, 6_000));
        assert_eq!(ramp.share(20_000, 6_000), (10, 7_000));
        assert_eq!(ramp.share(20_000, 23_500), (95, 24_000));
        assert_eq!(ramp.share(20_000, 24_000), (100, u64::MAX));
        assert_eq!(ramp, Ramp::Over);
    }
}
