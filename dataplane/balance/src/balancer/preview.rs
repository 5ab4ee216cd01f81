//! What would be picked now, and why not others. Nothing that a later choice depends on changes.

use crate::{
    Balancer, Bound, HashKey,
    balancer::{Server, Way},
};

/// What speaks against a server, or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Eligible,
    Disabled,
    Down,
    Full,
    Suspect,
    /// Too many of its answers were errors.
    Ejected,
}

/// Why a server would be picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    Algorithm,
    /// It is suspect, and a request has to show whether it answers.
    Trial,
    /// Those that are not suspect take no requests.
    Last,
}

impl Balancer {
    /// What [`pick`](Self::pick) would return for a request that was tried nowhere.
    pub fn preview(&mut self, now_ns: u64, key: HashKey) -> Option<(usize, Reason)> {
        if self.next_step_ns <= now_ns {
            self.step(now_ns);
        }
        let way = self.algorithm.way();
        let trial_is_due = way != Way::Ring && self.next_trial_ns <= now_ns && !self.needs_all;
        let trial = if trial_is_due { self.due_for_trial(now_ns, &[]) } else { None };
        let by_algorithm = match way {
            _ if trial.is_some() => trial,
            Way::Order => self.order.first().map(|first| first.position()),
            Way::Ring => match self.bound_by_key(now_ns, key, &[]) {
                Bound::Another => self.next_on_ring(now_ns, key, &[]),
                Bound::Server(position) => Some(position),
                Bound::Nothing => return None,
            },
            Way::Lots => {
                self.renew_lots();
                self.drawn(now_ns, &[], &mut self.numbers.clone())
            }
            Way::Turns => self.next_turn(),
        };
        let of = |position: usize| match self.servers[position].suspect && !self.needs_all {
            true => (position, Reason::Trial),
            false => (position, Reason::Algorithm),
        };
        by_algorithm.map(of).or_else(|| self.next_suspect(&[]).map(|position| (position, Reason::Last)))
    }

    pub fn standing(&self, position: usize) -> Standing {
        match self.servers.get(position) {
            None => Standing::Down,
            Some(server) if !server.spec.enabled => Standing::Disabled,
            Some(server) if !server.up => Standing::Down,
            Some(server) if !Server::eligible(server) => Standing::Full,
            Some(server) if server.health.errors.are_ejecting() => Standing::Ejected,
            Some(server) if server.suspect => Standing::Suspect,
            Some(_) => Standing::Eligible,
        }
    }
}
