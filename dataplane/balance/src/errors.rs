//! What the answers of a server show. Errors among the last ones take a part of its ratio from a server. If most are errors,
//! the server is ejected: for a while it gets no requests, and then one at a time as a probe, until one is answered well.

/// How far one answer moves the part of errors.
const WEIGHT: f64 = 0.1;
/// Half of the part is forgotten after this time: a server that gets no requests can show nothing better.
const HALF_LIFE_NS: f64 = 30e9;
/// Fewer errors count as none.
const FORGOTTEN: f64 = 0.01;
/// A server of whose last answers more are errors may be ejected.
const EJECTED_FROM: f64 = 0.5;
/// By so much more than the others: what all servers do is the fault of none.
const WORSE_BY: f64 = 0.25;
/// After a probe that was answered.
const AFTER_PROBE: f64 = 0.25;
/// What every server keeps of its ratio.
const PERCENT_MIN: u32 = 10;
/// Of the first ejection; each further one lasts as much longer, up to the maximum.
const PAUSE_NS: u64 = 30_000_000_000;
const PAUSE_NS_MAX: u64 = 300_000_000_000;

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Errors {
    /// Of the last answers, from 0 to 1.
    part: f64,
    /// Since the server was without errors.
    ejections: u32,
    ejection: Option<Ejection>,
    faded_at_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ejection {
    probe_at_ns: u64,
    /// When the last probe began that has no answer yet.
    probed_ns: Option<u64>,
}

impl Errors {
    pub fn part(&self) -> f64 {
        self.part
    }

    pub fn are_none(&self) -> bool {
        self.part == 0.0
    }

    pub fn are_ejecting(&self) -> bool {
        self.ejection.is_some()
    }

    /// When the next request may be a probe.
    pub fn probe_at_ns(&self) -> Option<u64> {
        self.ejection.map(|ejection| ejection.probe_at_ns)
    }

    /// What the server keeps of its ratio, in percent: (1 - part)², in steps of ten.
    pub fn percent(&self) -> u32 {
        let kept = (1.0 - self.part).powi(2) * 10.0;
        (kept.ceil() as u32 * 10).clamp(PERCENT_MIN, 100)
    }

    /// A request that the server had at that time was answered, or failed.
    pub fn judged(&mut self, is_error: bool, had_ns: u64, now_ns: u64) {
        match self.ejection {
            None => {
                self.fade(now_ns);
                self.part += (f64::from(u8::from(is_error)) - self.part) * WEIGHT;
                if self.part < FORGOTTEN {
                    *self = Self::default();
                }
            }
            Some(Ejection { probed_ns: Some(probed_ns), .. }) if had_ns >= probed_ns => {
                if is_error {
                    self.eject(now_ns);
                } else {
                    (self.ejection, self.part, self.faded_at_ns) = (None, AFTER_PROBE, now_ns);
                }
            }
            // The request is older than the ejection.
            Some(_) => {}
        }
    }

    /// Forgets what was long ago, but not while the server is ejected.
    pub fn fade(&mut self, now_ns: u64) {
        let span_ns = now_ns.saturating_sub(self.faded_at_ns);
        self.faded_at_ns = now_ns;
        if self.ejection.is_none() {
            self.part *= (-(span_ns as f64) / HALF_LIFE_NS).exp2();
            if self.part < FORGOTTEN {
                *self = Self::default();
            }
        }
    }

    /// Whether they may eject the server.
    pub fn are_many(&self) -> bool {
        self.ejection.is_none() && self.part > EJECTED_FROM
    }

    /// `others`: the mean part of the other servers.
    pub fn are_more_than(&self, others: f64) -> bool {
        self.part > others + WORSE_BY
    }

    pub fn eject(&mut self, now_ns: u64) {
        self.ejections = self.ejections.saturating_add(1);
        let probe_at_ns = now_ns.saturating_add(self.pause_ns());
        self.ejection = Some(Ejection { probe_at_ns, probed_ns: None });
    }

    /// A request probes the server. The next one may if this one comes to nothing for so long.
    pub fn probed(&mut self, now_ns: u64) {
        let probe_at_ns = now_ns.saturating_add(self.pause_ns());
        if let Some(ejection) = &mut self.ejection {
            *ejection = Ejection { probe_at_ns, probed_ns: Some(now_ns) };
        }
    }

    fn pause_ns(&self) -> u64 {
        PAUSE_NS.saturating_mul(self.ejections.into()).min(PAUSE_NS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn errors_take_a_part_of_the_ratio_and_good_answers_give_it_back() {
        let mut errors = Errors::default();
        let mut percents = Vec::new();
        for _ in 0..7 {
            errors.judged(true, 0, 0);
            percents.push(errors.percent());
        }
        assert_eq!(percents, [90, 70, 60, 50, 40, 30, 30]);
        assert!(errors.are_many() && errors.are_more_than(0.2) && !errors.are_more_than(0.4), "{errors:?}");
        for _ in 0..40 {
            errors.judged(false, 0, 0);
        }
        assert!(errors.are_none() && errors.percent() == 100);
        (0..100).for_each(|_| errors.judged(true, 0, 0));
        assert_eq!(errors.percent(), PERCENT_MIN);
    }

    #[test]
    fn probe_decides_whether_the_server_returns_and_older_requests_do_not() {
        let mut errors = Errors::default();
        (0..20).for_each(|_| errors.judged(true, 0, 0));
        errors.eject(0);
        errors.judged(false, 0, 1);
        assert_eq!((errors.are_ejecting(), errors.probe_at_ns()), (true, Some(30 * SECOND)));
        errors.probed(30 * SECOND);
        errors.judged(false, 29 * SECOND, 31 * SECOND);
        assert!(errors.are_ejecting(), "it was begun before");
        errors.judged(true, 30 * SECOND, 31 * SECOND);
        assert_eq!(errors.probe_at_ns(), Some(91 * SECOND), "twice as long");
        errors.probed(91 * SECOND);
        errors.judged(false, 91 * SECOND, 92 * SECOND);
        assert!(!errors.are_ejecting() && errors.percent() == 60);
        (0..12).for_each(|_| errors.eject(0));
        assert_eq!(errors.probe_at_ns(), Some(300 * SECOND));
    }
}
