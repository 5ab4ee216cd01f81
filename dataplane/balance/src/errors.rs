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

/// What the other servers decide about a server.
#[derive(Clone, Copy)]
pub(crate) struct Beside {
    /// The mean part of errors in their answers.
    pub errors: f64,
    /// Enough of them are left.
    pub may_eject: bool,
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
    pub fn judged(&mut self, is_error: bool, had_ns: u64, now_ns: u64, beside: Beside) {
        match self.ejection {
            None => {
                self.fade(now_ns);
                self.part += (f64::from(u8::from(is_error)) - self.part) * WEIGHT;
                if is_error && beside.may_eject && self.part > EJECTED_FROM && self.are_more_than(beside.errors) {
                    self.eject(now_ns);
                }
            }
            Some(Ejection { probed_ns: Some(probed_ns), .. }) if had_ns >= probed_ns => {
                if is_error && self.are_more_than(beside.errors) {
                    return self.eject(now_ns);
                }
                // Where the others have become as bad, the fault is not this server's.
                self.part = if is_error { self.part } else { AFTER_PROBE };
                (self.ejection, self.faded_at_ns) = (None, now_ns);
            }
            // The request is older than the ejection, or nothing was to be shown by it.
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
                (self.part, self.ejections) = (0.0, 0);
            }
        }
    }

    /// Whether one more error may eject the server, or keep it ejected.
    pub fn are_many(&self) -> bool {
        self.ejection.is_some() || self.part > EJECTED_FROM - WEIGHT
    }

    fn are_more_than(&self, others: f64) -> bool {
        self.part > others + WORSE_BY
    }

    fn eject(&mut self, now_ns: u64) {
        self.ejections = self.ejections.saturating_add(1);
        let probe_at_ns = now_ns.saturating_add(self.pause_ns());
        self.ejection = Some(Ejection { probe_at_ns, probed_ns: None });
    }

    /// A request goes to the server. If a probe was due, it is the probe: the next one comes if it comes to nothing for a
    /// pause.
    pub fn probed(&mut self, now_ns: u64) {
        let probe_at_ns = now_ns.saturating_add(self.pause_ns());
        if let Some(ejection) = self.ejection.as_mut().filter(|ejection| ejection.probe_at_ns <= now_ns) {
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
    /// A process may be old.
    const BEGIN: u64 = 3600 * SECOND;
    const GOOD: Beside = Beside { errors: 0.0, may_eject: true };
    const BAD: Beside = Beside { errors: 0.9, may_eject: true };

    fn after(errors: usize, beside: Beside) -> Errors {
        let mut all = Errors::default();
        (0..errors).for_each(|_| all.judged(true, BEGIN, BEGIN, beside));
        all
    }

    #[test]
    fn errors_take_a_part_of_the_ratio_and_good_answers_give_it_back() {
        let mut errors = Errors::default();
        let mut percents = Vec::new();
        for _ in 0..7 {
            errors.judged(true, BEGIN, BEGIN, BAD);
            percents.push(errors.percent());
        }
        assert_eq!(percents, [90, 70, 60, 50, 40, 30, 30]);
        for _ in 0..50 {
            errors.judged(false, BEGIN, BEGIN, GOOD);
        }
        errors.fade(BEGIN);
        assert!(errors.are_none() && errors.percent() == 100);
        assert_eq!(after(100, BAD).percent(), PERCENT_MIN);
    }

    #[test]
    fn seven_errors_in_a_row_eject_a_server_that_is_worse_than_the_others() {
        assert!(!after(6, GOOD).are_ejecting() && after(7, GOOD).are_ejecting());
        assert!(!after(100, BAD).are_ejecting(), "the others are as bad");
        assert!(!after(100, Beside { may_eject: false, ..GOOD }).are_ejecting());
    }

    #[test]
    fn errors_fade_by_the_clock_from_the_first_on() {
        let mut errors = after(6, GOOD);
        errors.fade(BEGIN + 30 * SECOND);
        assert!((errors.part() - 0.5 * (1.0 - 0.9_f64.powi(6))).abs() < 1e-9, "{errors:?}");
        errors.fade(BEGIN + 600 * SECOND);
        assert!(errors.are_none());
        errors.judged(true, BEGIN + 900 * SECOND, BEGIN + 900 * SECOND, GOOD);
        assert!(!errors.are_none(), "it is counted anew");
    }

    #[test]
    fn probe_decides_whether_the_server_returns_and_other_requests_do_not() {
        let at = |seconds| BEGIN + seconds * SECOND;
        let mut errors = after(7, GOOD);
        errors.judged(false, BEGIN, at(1), GOOD);
        assert_eq!((errors.are_ejecting(), errors.probe_at_ns()), (true, Some(at(30))));
        errors.probed(at(10));
        errors.judged(false, at(10), at(11), GOOD);
        assert_eq!(errors.probe_at_ns(), Some(at(30)), "no probe was due");
        errors.probed(at(30));
        errors.judged(false, at(29), at(31), GOOD);
        assert!(errors.are_ejecting(), "the server had it before");
        errors.judged(true, at(30), at(31), GOOD);
        assert_eq!(errors.probe_at_ns(), Some(at(91)), "twice as long");
        errors.probed(at(91));
        errors.judged(false, at(91), at(92), GOOD);
        assert!(!errors.are_ejecting() && errors.percent() == 60);
    }

    #[test]
    fn failed_probe_ends_the_ejection_where_the_others_have_become_as_bad() {
        let mut errors = after(7, GOOD);
        errors.probed(BEGIN + 30 * SECOND);
        errors.judged(true, BEGIN + 30 * SECOND, BEGIN + 31 * SECOND, BAD);
        assert!(!errors.are_ejecting());
    }

    #[test]
    fn pause_grows_up_to_a_bound() {
        let mut errors = Errors::default();
        (0..12).for_each(|_| errors.eject(BEGIN));
        assert_eq!(errors.probe_at_ns(), Some(BEGIN + 300 * SECOND));
    }
}
