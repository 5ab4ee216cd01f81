//! What new connections show about a server. A server is *suspect* if several connections in a row failed, or kept
//! their clients waiting, and while its errors eject it. It is avoided, and gets one request at a time as a trial, after a pause that grows.

use crate::errors::Errors;

/// Failures in a row that make a server suspect, where each of them was told at once.
const FAILURES: u32 = 3;
/// From the failure to the first trial; doubled by each trial.
const FIRST_PAUSE_NS: u64 = 1_000_000_000;
/// A server that works again is found out within this time, as long as there are requests.
const PAUSE_NS_MAX: u64 = 30_000_000_000;
/// The pool divided by this is the least number of servers that must be left. If fewer are left, suspect servers are
/// used as well.
const LEFT_SHARE: usize = 4;

/// How a new connection came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// There was no answer. The client on this connection has waited, and no other client should.
    Silent,
    /// It was refused, or ended before anything was answered.
    Broken,
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Health {
    /// In a row.
    failures: u32,
    /// When a connection to it stood last.
    reached_at_ns: Option<u64>,
    suspicion: Option<Suspicion>,
    /// What its responses show.
    pub errors: Errors,
}

#[derive(Clone, Copy, Debug)]
struct Suspicion {
    pause_ns: u64,
    trial_at_ns: u64,
}

impl Health {
    pub fn is_suspect(&self) -> bool {
        self.suspicion.is_some() || self.errors.are_ejecting()
    }

    /// When the next request may try a server that is suspect.
    pub fn trial_at_ns(&self) -> Option<u64> {
        self.suspicion.map(|suspicion| suspicion.trial_at_ns).max(self.errors.trial_at_ns())
    }

    /// Whether a request may try it now.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.trial_at_ns().is_some_and(|at| at <= now_ns)
    }

    /// Whether a suspicion is too old to be reported: the trial has been due for long, and no request came for it.
    pub fn is_forgotten(&self, now_ns: u64) -> bool {
        self.trial_at_ns().is_some_and(|at| at.saturating_add(PAUSE_NS_MAX) <= now_ns)
    }

    /// A connection is established.
    pub fn reached(&mut self, now_ns: u64) {
        self.reached_at_ns = Some(now_ns);
    }

    /// A connection was answered on.
    pub fn proved(&mut self) {
        *self = Self { reached_at_ns: self.reached_at_ns, errors: self.errors, ..Self::default() };
    }

    /// A connection that had brought an answer before brought another one. This says nothing about new connections to a
    /// suspect server.
    pub fn answered(&mut self) {
        if self.suspicion.is_none() {
            self.failures = 0;
        }
    }

    /// A connection that was begun then came to nothing.
    pub fn failed(&mut self, failure: Failure, begun_ns: u64, now_ns: u64) {
        // Where others were let in meanwhile, a packet was lost.
        let unlucky = self.reached_at_ns.is_some_and(|reached| reached >= begun_ns);
        self.failures = match failure {
            Failure::Silent if !unlucky => FAILURES,
            _ => self.failures.saturating_add(1),
        };
        if self.failures >= FAILURES {
            let pause_ns = self.suspicion.map_or(FIRST_PAUSE_NS, |suspicion| suspicion.pause_ns);
            self.wait(pause_ns, now_ns);
        }
    }

    /// A request tries the server. The next trial comes later, whatever the result.
    pub fn tried(&mut self, now_ns: u64) {
        if let Some(Suspicion { pause_ns, .. }) = self.suspicion {
            self.wait((pause_ns * 2).min(PAUSE_NS_MAX), now_ns);
        }
        if self.errors.are_ejecting() {
            self.errors.tried(now_ns);
        }
    }

    fn wait(&mut self, pause_ns: u64, now_ns: u64) {
        self.suspicion = Some(Suspicion { pause_ns, trial_at_ns: now_ns.saturating_add(pause_ns) });
    }
}

/// How many servers of a pool stand, how many of those are suspect, and how many of these are ejected.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Census {
    pub standing: usize,
    pub suspect: usize,
    pub ejected: usize,
}

impl Census {
    /// Without the suspect servers too few would be left. They may be as good as the others, and the fault may be ours.
    pub fn needs_all(&self) -> bool {
        self.suspect > 0 && (self.standing - self.suspect) * LEFT_SHARE < self.standing
            || self.ejected > 0 && self.ejected * 2 >= self.standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn silence_counts_at_once_and_a_refusal_the_third_time() {
        let mut silent = Health::default();
        silent.failed(Failure::Silent, 0, SECOND);
        assert!(silent.is_suspect());
        let mut refusing = Health::default();
        for suspect in [false, false, true] {
            refusing.failed(Failure::Broken, 0, SECOND);
            assert_eq!(refusing.is_suspect(), suspect);
        }
    }

    #[test]
    fn lost_packet_of_one_connection_is_no_silence_while_others_are_let_in() {
        let mut health = Health::default();
        health.reached(2);
        health.failed(Failure::Silent, 1, SECOND);
        assert!(!health.is_suspect());
        health.failed(Failure::Silent, 3, SECOND);
        assert!(health.is_suspect());
    }

    #[test]
    fn pause_doubles_with_each_trial_up_to_a_bound() {
        let mut health = Health::default();
        health.failed(Failure::Silent, 0, 0);
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..7 {
            let at = health.trial_at_ns().unwrap();
            assert!(!health.is_due(at - 1) && health.is_due(at));
            pauses.push((at - now) / SECOND);
            health.tried(at);
            health.failed(Failure::Silent, at, at);
            now = at;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn quarter_of_a_pool_is_enough_and_nobody_is_not() {
        let needs_all = |standing, suspect| Census { standing, suspect, ejected: 0 }.needs_all();
        assert!(!needs_all(0, 0) && !needs_all(2, 1) && !needs_all(4, 3) && !needs_all(8, 6));
        assert!(needs_all(1, 1) && needs_all(2, 2) && needs_all(5, 4) && needs_all(8, 7));
    }
    #[test]
    fn fewer_than_half_of_a_pool_are_ejected() {
        let needs_all = |standing, ejected| Census { standing, suspect: ejected, ejected }.needs_all();
        assert!(!needs_all(0, 0) && !needs_all(3, 1) && !needs_all(7, 3));
        assert!(needs_all(1, 1) && needs_all(2, 1) && needs_all(6, 3));
    }
}
