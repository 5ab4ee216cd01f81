//! What connections and responses show about the servers, and the trials of those that are suspect.

use crate::{
    Balancer,
    balancer::{STEP_NS_MIN, Server, drawing::FADE_NS},
    errors::{Beside, Shown},
    health::Failure,
};

/// How much later a trial is looked for again that could not be made when it was due.
const TRIAL_DELAY_NS: u64 = 100_000_000;

// What servers show.
impl Balancer {
    /// A new connection to a server is established.
    pub fn reached(&mut self, id: u32, now_ns: u64) {
        if let Some(position) = self.position(id) {
            self.servers[position].health.reached(now_ns);
        }
    }

    /// A new connection to a server was answered on: it is not suspect.
    pub fn proved(&mut self, id: u32) {
        self.change(id, |server| server.health.proved());
    }

    /// A new connection to a server, begun at that time, has failed. Returns whether the server has become suspect.
    pub fn failed(&mut self, id: u32, failure: Failure, begun_ns: u64, now_ns: u64) -> bool {
        let mut became_suspect = false;
        if self.watches {
            self.change(id, |server| {
                let before = server.health.is_suspect();
                server.health.failed(failure, begun_ns, now_ns);
                became_suspect = !before && server.health.is_suspect();
            });
            self.next_trial_ns = self.next_trial_ns.min(self.trial_of(id).unwrap_or(u64::MAX));
        }
        became_suspect
    }

    /// Whether some server has shown errors that are not forgotten.
    #[inline]
    pub fn has_errors(&self) -> bool {
        self.errors > 0.0 || self.census.ejected > 0
    }

    /// What a request has shown that the server had at that time. That may eject the server, or end its ejection. Returns
    /// whether it counts.
    pub fn judged(&mut self, id: u32, shown: Shown, had_ns: u64, now_ns: u64) -> bool {
        let position = if self.watches { self.position(id) } else { None };
        let Some(position) = position else { return false };
        if shown == Shown::Good && self.servers[position].health.errors.are_none() {
            return false;
        }
        let mut errors = self.servers[position].health.errors;
        let before = errors.trial_at_ns();
        let beside = Beside { errors: self.errors_beside(position), may_eject: self.may_eject(position) };
        errors.judged(shown, had_ns, now_ns, beside);
        self.change(id, |server| server.health.errors = errors);
        debug_assert!((self.errors - self.sum_errors()).abs() < 1e-6, "the sum is wrong");
        // Its errors fade, its ejection ends, or the lots follow.
        let step_ns = if self.lots_lag { STEP_NS_MIN } else { FADE_NS };
        self.next_step_ns = self.next_step_ns.min(now_ns.saturating_add(step_ns));
        if errors.trial_at_ns() != before {
            self.next_trial_ns = self.earliest_trial_ns();
        }
        true
    }

    /// Fewer than half of the servers may get no requests. Those that take none anyway are not ejected.
    fn may_eject(&self, position: usize) -> bool {
        let server = &self.servers[position];
        let is_missed = server.is_missed();
        server.stands() && (self.census.suspect + usize::from(!is_missed)) * 2 < self.census.standing
    }

    /// The mean part of errors in the responses of the other servers that take requests; of the suspect ones if there are
    /// no others.
    fn errors_beside(&self, position: usize) -> f64 {
        let server = &self.servers[position];
        let others = self.census.standing - self.census.suspect - usize::from(server.stands() && !server.suspect);
        if others > 0 {
            return (self.errors - server.errors()).max(0.0) / others as f64;
        }
        let suspect = self.servers.iter().enumerate().filter(|(other, server)| *other != position && server.stands());
        let (sum, count) =
            suspect.fold((0.0, 0), |(sum, count), (_, server)| (sum + server.health.errors.part(), count + 1));
        sum / f64::from(count.max(1))
    }

    /// The parts of errors of all servers that take requests, and are not suspect.
    pub(super) fn sum_errors(&self) -> f64 {
        self.servers.iter().map(Server::errors).sum()
    }

    /// A server has answered on a connection that was answered on before.
    pub fn answered(&mut self, id: u32) {
        if let Some(position) = self.position(id) {
            self.servers[position].health.answered();
        }
    }

    /// The ids of the servers that recent connections or responses make suspect, whether they are used or not.
    pub fn suspect(&self, now_ns: u64) -> impl Iterator<Item = u32> {
        let servers = self.servers.iter().take_while(|_| self.census.suspect > 0);
        let suspect = servers.filter(move |server| server.is_missed() && !server.health.is_forgotten(now_ns));
        suspect.map(|server| server.spec.id)
    }

    /// The ids of those that are ejected, which are among the suspect ones.
    pub fn ejected(&self, now_ns: u64) -> impl Iterator<Item = u32> {
        self.suspect(now_ns)
            .filter(|id| self.position(*id).is_some_and(|position| self.servers[position].health.errors.are_ejecting()))
    }
}

// Trials.
impl Balancer {
    /// A request is for this pool. If all servers are suspect, it comes because one is due for a trial, and it may try all
    /// of them: the next such request comes later.
    pub fn try_suspects(&mut self, now_ns: u64) {
        let all_are_suspect = self.census.suspect > 0 && self.census.suspect == self.census.standing;
        if all_are_suspect && self.next_trial_ns <= now_ns {
            let suspects = self.servers.iter_mut().filter(|server| server.is_missed());
            suspects.for_each(|server| server.health.tried(now_ns));
            self.next_trial_ns = self.earliest_trial_ns();
        }
    }

    /// Suspect servers come back in, or leave again, where the others are too few, or enough.
    pub(super) fn follow_need(&mut self) {
        if self.needs_all != self.census.needs_all() {
            self.needs_all = !self.needs_all;
            self.lots_are_old = true;
            self.next_trial_ns = self.earliest_trial_ns();
            let suspect = (0..self.servers.len()).filter(|position| self.servers[*position].is_missed());
            suspect.collect::<Vec<_>>().into_iter().for_each(|position| self.rank(position));
        }
    }

    /// A suspect server has been chosen for a request.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_trial(&mut self, position: usize, now_ns: u64) {
        let health = &mut self.servers[position].health;
        if self.needs_all {
            // It is used as the others are, but its ejection has to end.
            if health.errors.trial_at_ns().is_none_or(|at| at > now_ns) {
                return;
            }
            health.errors.tried(now_ns);
        } else {
            health.tried(now_ns);
        }
        self.next_trial_ns = self.earliest_trial_ns();
    }

    /// A suspect server whose trial is due.
    pub(super) fn next_for_trial(&mut self, now_ns: u64, exclude: &[u32]) -> Option<usize> {
        if self.needs_all {
            return None;
        }
        let found = self.due_for_trial(now_ns, exclude);
        if found.is_none() {
            // The servers that are due are full, or this request has tried them. To look at all servers costs more.
            self.next_trial_ns = now_ns + TRIAL_DELAY_NS;
        }
        found
    }

    pub(super) fn due_for_trial(&self, now_ns: u64, exclude: &[u32]) -> Option<usize> {
        let is_due = |server: &Server| server.health.is_due(now_ns) && server.eligible();
        self.servers.iter().position(|server| is_due(server) && !exclude.contains(&server.spec.id))
    }

    /// No other server is left for this request: take the one that has been suspect for longest without a trial.
    pub(super) fn next_suspect(&self, exclude: &[u32]) -> Option<usize> {
        let may = |server: &Server| server.eligible() && !exclude.contains(&server.spec.id);
        let suspects = self.servers.iter().enumerate().filter(|(_, server)| may(server));
        let trials = suspects.filter_map(|(position, server)| Some((server.health.trial_at_ns()?, position)));
        trials.min().map(|(_, position)| position)
    }

    pub(super) fn earliest_trial_ns(&self) -> u64 {
        let trials =
            self.servers.iter().filter(|server| server.stands()).filter_map(|server| server.health.trial_at_ns());
        trials.min().unwrap_or(u64::MAX)
    }

    fn trial_of(&self, id: u32) -> Option<u64> {
        self.servers[self.position(id)?].health.trial_at_ns()
    }
}
