//! Averages that forget. Weights fall as span / (span + age), which needs no exponential, and is close to one where
//! events come often.

/// The share of an average that stays after a time without news.
fn kept(age_ns: u64, span_ns: u64) -> f64 {
    let span = span_ns as f64;
    span / (span + age_ns as f64)
}

/// Of samples, such as times.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mean {
    /// `None`: there was no sample.
    value: Option<f64>,
    at_ns: u64,
}

impl Mean {
    /// A sample has the weight of the time since the last one.
    pub fn add(&mut self, sample: f64, now_ns: u64, span_ns: u64) {
        let stays = kept(now_ns.saturating_sub(self.at_ns), span_ns);
        self.value = Some(self.value.map_or(sample, |value| value * stays + sample * (1.0 - stays)));
        self.at_ns = now_ns;
    }

    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// The mean as far as it is fresh, and `usual` for the rest. Without news, three quarters are forgotten within a span.
    pub fn near(&self, usual: f64, now_ns: u64, span_ns: u64) -> f64 {
        let value = self.value.unwrap_or(usual);
        usual + (value - usual) * kept(now_ns.saturating_sub(self.at_ns), span_ns).powi(2)
    }
}

/// Of amounts in time, such as bytes per second.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Rate {
    per_s: f64,
    at_ns: u64,
}

impl Rate {
    pub fn add(&mut self, amount: f64, now_ns: u64, span_ns: u64) {
        self.per_s = self.at(now_ns, span_ns) + amount * 1e9 / span_ns as f64;
        self.at_ns = now_ns;
    }

    pub fn at(&self, now_ns: u64, span_ns: u64) -> f64 {
        self.per_s * kept(now_ns.saturating_sub(self.at_ns), span_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN_NS: u64 = 10_000_000_000;
    const MS: u64 = 1_000_000;

    #[test]
    fn mean_follows_a_change_within_its_span() {
        let mut mean = Mean::default();
        assert_eq!((mean.value(), mean.near(7.0, 0, SPAN_NS)), (None, 7.0));
        (0..1000).for_each(|at| mean.add(5.0, at * MS, SPAN_NS));
        assert_eq!(mean.value(), Some(5.0));
        (1000..11_000).for_each(|at| mean.add(50.0, at * MS, SPAN_NS));
        let value = mean.value().unwrap_or_default();
        assert!((30.0..40.0).contains(&value), "after one span about 63 % are new: {value}");
        assert!((mean.near(5.0, 21_000 * MS, SPAN_NS) - 12.5).abs() < 2.0, "three quarters are forgotten");
    }

    #[test]
    fn rate_is_that_of_a_steady_flow_and_fades_without_one() {
        let mut rate = Rate::default();
        (0..100_000).for_each(|at| rate.add(1000.0, at * MS, SPAN_NS));
        let per_s = rate.at(100_000 * MS, SPAN_NS);
        assert!((per_s - 1e6).abs() < 1e4, "{per_s}");
        assert!((rate.at(110_000 * MS, SPAN_NS) - 5e5).abs() < 1e4);
    }
}
