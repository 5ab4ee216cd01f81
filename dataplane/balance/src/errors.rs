//! What the responses of a server show. The more of the last ones are errors, the less of its ratio a server gets. If most
//! are errors, and those of the other servers are not, the server is ejected: for a while it gets no requests, and then
//! one at a time as a trial, until one brings no error.
//!
//! Evidence decides that: the logarithm of how much better the responses fit a server that fails than one that is as the
//! others are (CUSUM, Page 1954). So a server is not ejected for errors that the others have as often.

/// How far one response moves the part of errors.
const WEIGHT: f64 = 0.1;
/// Half of the part, and of the evidence, is forgotten after this time: a server that gets no requests can show nothing
/// better.
const HALF_LIFE_NS: f64 = 30e9;
/// Fewer errors count as none.
const FORGOTTEN: f64 = 0.01;
/// Of the responses of a server that fails.
const FAILING: f64 = 0.95;
/// Of those of a server that does not, at least.
const USUAL_MIN: f64 = 0.07;
/// The evidence that ejects a server, and the most that counts. Where it is known how many errors the others have, a server
/// that is as they are brings so much once in about twenty million responses.
const ENOUGH: f64 = 17.0;
/// Errors that come at once may be one event, such as a restart, or the end of a connection with many streams: those of
/// such a moment eject no server.
const MOMENT_NS: u64 = 1_000_000_000;
/// A server that comes back may fail once more while it loads: so two moments do not eject it either.
const MOMENTS_MIN: u8 = 3;
/// By so much more than the others, when it is ejected and when a trial fails.
const WORSE_BY: f64 = 0.25;
/// After a trial without an error.
const AFTER_TRIAL: f64 = 0.25;
/// From the head of a response without an error until it ends the ejection: it may still be cut.
const SETTLED_NS: u64 = 1_000_000_000;
/// What every server keeps of its ratio.
const PERCENT_MIN: u32 = 10;
/// Of the first ejection; each further one lasts as much longer, up to the maximum.
const PAUSE_NS: u64 = 30_000_000_000;
const PAUSE_NS_MAX: u64 = 300_000_000_000;

/// What a request shows about its server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// Its response has begun, and is no error.
    Good,
    Error,
    /// The response has shown an error after it had counted as good.
    LateError,
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Errors {
    /// Of the last responses, from 0 to 1.
    part: f64,
    /// That the server fails: from 0 to [`ENOUGH`].
    evidence: f64,
    /// In how many moments there were errors since it was 0 last, and when the last moment began.
    moments: u8,
    moment_ns: u64,
    /// Since the server was without errors.
    ejections: u32,
    ejection: Option<Ejection>,
    faded_at_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ejection {
    trial_at_ns: u64,
    /// When the last trial began.
    tried_ns: Option<u64>,
    /// Since when its response is without an error.
    good_ns: Option<u64>,
}

/// What the other servers decide about a server.
#[derive(Clone, Copy)]
pub(crate) struct Beside {
    /// The mean part of errors in their responses.
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

    /// When the next request may be a trial.
    pub fn trial_at_ns(&self) -> Option<u64> {
        self.ejection.map(|ejection| ejection.trial_at_ns)
    }

    /// What the server keeps of its ratio, in percent: (1 - part)², in steps of ten.
    pub fn percent(&self) -> u32 {
        let kept = (1.0 - self.part).powi(2) * 10.0;
        (kept.ceil() as u32 * 10).clamp(PERCENT_MIN, 100)
    }

    /// What a request has shown that the server had at that time.
    pub fn judged(&mut self, shown: Shown, had_ns: u64, now_ns: u64, beside: Beside) {
        match &mut self.ejection {
            None => {
                self.fade(now_ns);
                self.count(shown, beside.errors.clamp(USUAL_MIN, FAILING), now_ns);
                let lasts = self.moments >= MOMENTS_MIN;
                let is_enough = lasts && self.evidence >= ENOUGH && self.are_more_than(beside.errors);
                if shown != Shown::Good && beside.may_eject && is_enough {
                    self.eject(now_ns);
                }
            }
            Some(ejection) if ejection.tried_ns.is_some_and(|tried_ns| had_ns >= tried_ns) => match shown {
                Shown::Good => _ = ejection.good_ns.get_or_insert(now_ns),
                _ if self.are_more_than(beside.errors) => self.eject(now_ns),
                // Where the others have become as bad, the fault is not this server's.
                _ => self.come_back(self.part, now_ns),
            },
            // The server had the request before the last trial, or there was none yet.
            Some(_) => {}
        }
    }

    /// The others may have got their errors later than the server got its own.
    fn are_more_than(&self, others: f64) -> bool {
        self.part > others + WORSE_BY
    }

    /// `usual`: the part of errors of a server that does not fail.
    fn count(&mut self, shown: Shown, usual: f64, now_ns: u64) {
        if self.evidence == 0.0 {
            self.moments = 0;
        }
        let begins = self.moments == 0 || now_ns.saturating_sub(self.moment_ns) >= MOMENT_NS;
        if shown != Shown::Good && begins {
            (self.moments, self.moment_ns) = (self.moments.saturating_add(1), now_ns);
        }
        let good = ((1.0 - FAILING) / (1.0 - usual)).ln();
        if shown == Shown::LateError {
            self.part = (self.part / (1.0 - WEIGHT)).min(1.0);
            self.evidence -= good;
        }
        let (is_error, gained) = match shown {
            Shown::Good => (0.0, good),
            Shown::Error | Shown::LateError => (1.0, (FAILING / usual).ln()),
        };
        self.part += (is_error - self.part) * WEIGHT;
        self.evidence = (self.evidence + gained).clamp(0.0, ENOUGH);
    }

    /// Forgets what was long ago, but not while the server is ejected. Ends the ejection if that is due.
    pub fn fade(&mut self, now_ns: u64) {
        if self.ejection.is_some() {
            if self.are_over(now_ns) {
                self.come_back(AFTER_TRIAL, now_ns);
            }
            return;
        }
        let span_ns = now_ns.saturating_sub(self.faded_at_ns);
        self.faded_at_ns = now_ns;
        let kept = (-(span_ns as f64) / HALF_LIFE_NS).exp2();
        (self.part, self.evidence) = (self.part * kept, self.evidence * kept);
        if self.part < FORGOTTEN {
            (self.part, self.evidence, self.ejections) = (0.0, 0.0, 0);
        }
    }

    /// Whether the server has stood its trial, so that its ejection ends.
    pub fn are_over(&self, now_ns: u64) -> bool {
        let good_ns = self.ejection.and_then(|ejection| ejection.good_ns);
        good_ns.is_some_and(|good_ns| now_ns >= good_ns.saturating_add(SETTLED_NS))
    }

    fn come_back(&mut self, part: f64, now_ns: u64) {
        (self.part, self.evidence) = (part, 0.0);
        (self.ejection, self.faded_at_ns) = (None, now_ns);
    }

    fn eject(&mut self, now_ns: u64) {
        self.ejections = self.ejections.saturating_add(1);
        let trial_at_ns = now_ns.saturating_add(self.pause_ns());
        self.ejection = Some(Ejection { trial_at_ns, tried_ns: None, good_ns: None });
    }

    /// A request goes to the server. If a trial is due, this request is the trial. If it has no result within a pause, the
    /// next request is a trial.
    pub fn tried(&mut self, now_ns: u64) {
        let trial_at_ns = now_ns.saturating_add(self.pause_ns());
        if let Some(ejection) = self.ejection.as_mut().filter(|ejection| ejection.trial_at_ns <= now_ns) {
            *ejection = Ejection { trial_at_ns, tried_ns: Some(now_ns), ..*ejection };
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

    fn at_once(errors: usize, beside: Beside) -> Errors {
        let mut all = Errors::default();
        (0..errors).for_each(|_| all.judged(Shown::Error, BEGIN, BEGIN, beside));
        all
    }

    /// They come so long after each other that they may eject.
    fn after(errors: u64, beside: Beside) -> Errors {
        let mut all = Errors::default();
        for number in 0..errors {
            let now_ns = BEGIN - 2 * MOMENT_NS + 2 * MOMENT_NS * number / (errors - 1).max(1);
            all.judged(Shown::Error, now_ns, now_ns, beside);
        }
        all
    }

    #[test]
    fn errors_take_a_part_of_the_ratio_and_good_responses_give_it_back() {
        let mut errors = Errors::default();
        let mut percents = Vec::new();
        for _ in 0..7 {
            errors.judged(Shown::Error, BEGIN, BEGIN, BAD);
            percents.push(errors.percent());
        }
        assert_eq!(percents, [90, 70, 60, 50, 40, 30, 30]);
        for _ in 0..50 {
            errors.judged(Shown::Good, BEGIN, BEGIN, GOOD);
        }
        errors.fade(BEGIN);
        assert!(errors.are_none() && errors.percent() == 100);
        assert_eq!(after(100, BAD).percent(), PERCENT_MIN);
    }

    #[test]
    fn seven_errors_in_a_row_eject_a_server_whose_like_have_none_and_more_where_they_have_some() {
        assert!(!after(6, GOOD).are_ejecting() && after(7, GOOD).are_ejecting());
        assert!(!after(1000, Beside { may_eject: false, ..GOOD }).are_ejecting());
        let errors_until_ejected = |others: f64| {
            let beside = Beside { errors: others, may_eject: true };
            (1..1000).find(|errors| after(*errors, beside).are_ejecting())
        };
        assert_eq!([0.2, 0.5, 0.7, 0.8].map(errors_until_ejected), [Some(13), Some(29), Some(57), None]);
        assert!(!after(1000, Beside { errors: 1.0, may_eject: true }).are_ejecting());
    }

    #[test]
    fn errors_of_two_moments_do_not_eject() {
        let at = |millis: u64| BEGIN + millis * 1_000_000;
        let mut errors = Errors::default();
        (0..100).for_each(|number| errors.judged(Shown::Error, BEGIN, at(number), GOOD));
        assert!(!errors.are_ejecting());
        let mut restarted = errors;
        (0..6).for_each(|_| restarted.judged(Shown::Good, at(500), at(600), GOOD));
        (0..6).for_each(|number| restarted.judged(Shown::Error, at(2000), at(2000 + number), GOOD));
        assert!(!restarted.are_ejecting(), "it has begun again");
        errors.judged(Shown::Error, at(1400), at(1500), GOOD);
        assert!(!errors.are_ejecting(), "it has come back, and loads");
        errors.judged(Shown::Error, at(2400), at(2499), GOOD);
        assert!(!errors.are_ejecting(), "the second moment is not over");
        errors.judged(Shown::Error, at(2400), at(2500), GOOD);
        assert!(errors.are_ejecting());
    }

    #[test]
    fn late_error_counts_as_if_its_response_had_not_been_good_before() {
        let mut cut = at_once(3, GOOD);
        cut.judged(Shown::Good, BEGIN, BEGIN, GOOD);
        cut.judged(Shown::LateError, BEGIN, BEGIN, GOOD);
        let failed = at_once(4, GOOD);
        assert!((cut.part - failed.part).abs() < 1e-9 && (cut.evidence - failed.evidence).abs() < 1e-9);
    }

    #[test]
    fn errors_fade_by_the_clock_from_the_first_on() {
        let mut errors = at_once(6, GOOD);
        errors.fade(BEGIN + 30 * SECOND);
        assert!((errors.part() - 0.5 * (1.0 - 0.9_f64.powi(6))).abs() < 1e-9, "{errors:?}");
        errors.fade(BEGIN + 600 * SECOND);
        assert!(errors.are_none());
        errors.judged(Shown::Error, BEGIN + 900 * SECOND, BEGIN + 900 * SECOND, GOOD);
        assert!(!errors.are_none(), "it is counted anew");
    }

    #[test]
    fn trial_decides_whether_the_server_returns_and_other_requests_do_not() {
        let at = |seconds| BEGIN + seconds * SECOND;
        let mut errors = after(7, GOOD);
        errors.judged(Shown::Good, BEGIN, at(1), GOOD);
        errors.fade(at(3));
        assert_eq!((errors.are_ejecting(), errors.trial_at_ns()), (true, Some(at(30))));
        errors.tried(at(10));
        errors.judged(Shown::Good, at(10), at(11), GOOD);
        errors.fade(at(13));
        assert_eq!(errors.trial_at_ns(), Some(at(30)), "no trial was due");
        errors.tried(at(30));
        errors.judged(Shown::Good, at(29), at(31), GOOD);
        errors.fade(at(33));
        assert!(errors.are_ejecting(), "the server had it before");
        errors.judged(Shown::Error, at(30), at(34), GOOD);
        assert_eq!(errors.trial_at_ns(), Some(at(94)), "twice as long");
        errors.tried(at(94));
        errors.judged(Shown::Good, at(94), at(95), GOOD);
        errors.fade(at(96));
        assert!(!errors.are_ejecting() && errors.percent() == 60);
    }

    #[test]
    fn trial_whose_response_is_cut_at_once_fails() {
        let at = |seconds| BEGIN + seconds * SECOND;
        let mut errors = after(7, GOOD);
        errors.tried(at(30));
        errors.judged(Shown::Good, at(30), at(31), GOOD);
        errors.fade(at(32) - 1);
        errors.judged(Shown::LateError, at(30), at(32) - 1, GOOD);
        errors.fade(at(33));
        assert!(errors.are_ejecting());
    }

    #[test]
    fn failed_trial_ends_the_ejection_where_the_others_have_become_as_bad() {
        let mut errors = after(7, GOOD);
        errors.tried(BEGIN + 30 * SECOND);
        errors.judged(Shown::Error, BEGIN + 30 * SECOND, BEGIN + 31 * SECOND, BAD);
        assert!(!errors.are_ejecting());
    }

    #[test]
    fn pause_grows_up_to_a_bound() {
        let mut errors = Errors::default();
        (0..12).for_each(|_| errors.eject(BEGIN));
        assert_eq!(errors.trial_at_ns(), Some(BEGIN + 300 * SECOND));
    }
}
