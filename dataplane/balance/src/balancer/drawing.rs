//! Servers that are drawn, what servers have shown about themselves, and their shares while they come up.

use crate::{
    Algorithm, Balancer,
    balancer::{STEP_NS_MIN, STRIDE, Server},
    lots::{Lots, Numbers},
};

/// How long what servers have shown counts.
const SPAN_NS: u64 = 10_000_000_000;
/// Errors fade in steps of this time.
pub(super) const FADE_NS: u64 = 1_000_000_000;
/// Draws in vain before the servers are looked at one after the other.
const DRAWS_MAX: usize = 8;
/// How many are looked at for a second server.
const SECOND_STEPS_MAX: usize = 16;

// What servers show.
impl Balancer {
    /// Whether somebody wants to know how long a server takes until the first byte of its answer.
    pub fn wants_times(&self) -> bool {
        matches!(self.algorithm, Algorithm::FastestResponse | Algorithm::FewestServers)
    }

    /// Whether somebody wants to know how many bytes an answer had.
    pub fn wants_bytes(&self) -> bool {
        self.algorithm == Algorithm::LeastLoad
    }

    /// The first byte of a server's answer came after this time. Its request still counts.
    pub fn timed(&mut self, id: u32, time_ns: u64, now_ns: u64) {
        let Some(position) = self.position(id) else { return };
        let server = &mut self.servers[position];
        match self.algorithm {
            Algorithm::FastestResponse => {
                server.time_ns.add(time_ns as f64, now_ns, SPAN_NS);
                self.time_ns.add(time_ns as f64, now_ns, SPAN_NS);
            }
            Algorithm::FewestServers => {
                server.fill.answered(time_ns, server.connections, self.slow_ns, now_ns);
                self.rank(position);
            }
            _ => {}
        }
    }

    /// The answers of a server are not measured: it takes all that it may have.
    pub fn is_not_measured(&mut self, id: u32) {
        if self.algorithm == Algorithm::FewestServers
            && let Some(position) = self.position(id)
        {
            self.servers[position].fill.is_not_measured();
            self.rank(position);
        }
    }

    /// A server's answer had so many bytes.
    pub fn sent(&mut self, id: u32, bytes: u64, now_ns: u64) {
        if self.wants_bytes()
            && let Some(position) = self.position(id)
        {
            self.servers[position].sent.add(bytes as f64, now_ns, SPAN_NS);
            self.bytes.add(bytes as f64, now_ns, SPAN_NS);
        }
    }
}

// Drawing.
impl Balancer {
    pub(super) fn next_drawn(&mut self, now_ns: u64, exclude: &[u32]) -> Option<usize> {
        self.renew_lots();
        let mut numbers = self.numbers;
        let drawn = self.drawn(now_ns, exclude, &mut numbers);
        self.numbers = numbers;
        drawn
    }

    /// Many servers may come and go between two picks; the lots follow them once.
    pub(super) fn renew_lots(&mut self) {
        if self.lots_are_old {
            self.lots_are_old = false;
            let servers = self.servers.iter().enumerate().filter(|(_, server)| self.is_drawn(server));
            self.lots = Lots::of(servers.map(|(position, server)| (position, server.weight())));
        }
    }

    /// The same numbers draw the same server.
    pub(super) fn drawn(&self, now_ns: u64, exclude: &[u32], numbers: &mut Numbers) -> Option<usize> {
        let may = |position: usize| {
            let server = &self.servers[position];
            server.eligible() && self.is_drawn(server) && !exclude.contains(&server.spec.id)
        };
        let first = self.draw(numbers, self.lots.len(), may)?;
        let cost: fn(&Self, &Server, u64) -> f64 = match self.algorithm {
            Algorithm::FastestResponse => Self::time_with_one_more,
            Algorithm::LeastLoad => Self::load_with_one_more,
            _ => return Some(first),
        };
        let second = self.draw(numbers, SECOND_STEPS_MAX, |position| position != first && may(position));
        let cost = |position: usize| cost(self, &self.servers[position], now_ns);
        match second {
            Some(second) if cost(second) < cost(first) => Some(second),
            _ => Some(first),
        }
    }

    /// Draws until a server `may` be chosen; after some draws in vain, looks at up to `steps_max` one after the other.
    #[inline]
    fn draw(&self, numbers: &mut Numbers, steps_max: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
        for _ in 0..DRAWS_MAX {
            let position = self.lots.draw(numbers.next())?;
            if may(position) {
                return Some(position);
            }
        }
        self.lots.around(numbers.next()).take(steps_max).find(|position| may(*position))
    }

    pub(super) fn is_drawn(&self, server: &Server) -> bool {
        server.stands() && (self.needs_all || !server.suspect)
    }

    /// What the answer to one more request is expected to take, by the server's ratio. A server of which nothing is known
    /// counts as the others do.
    fn time_with_one_more(&self, server: &Server, now_ns: u64) -> f64 {
        let usual = self.time_ns.value().unwrap_or(1.0);
        let requests = f64::from(server.connections) + 1.0;
        server.time_ns.near(usual, now_ns, SPAN_NS).max(1.0) * requests / server.weight() as f64
    }

    /// The bytes per second that the server would send with one more request, by its ratio: what it has sent, and what its
    /// open requests will usually bring.
    fn load_with_one_more(&self, server: &Server, now_ns: u64) -> f64 {
        let requests = f64::from(server.connections) + 1.0;
        let to_come = self.bytes.value().unwrap_or(1.0).max(1.0) * requests * 1e9 / SPAN_NS as f64;
        (server.sent.at(now_ns, SPAN_NS) + to_come) / server.weight() as f64
    }
}

// Shares.
impl Balancer {
    /// Gives the servers that come up, and those whose errors fade, the share that is due, and ends ejections.
    #[cold]
    #[inline(never)]
    pub(super) fn step(&mut self, now_ns: u64) {
        let mut next_step_ns = u64::MAX;
        let mut coming_back = Vec::new();
        for position in 0..self.servers.len() {
            let server = &mut self.servers[position];
            let (share, until_ns) = server.ramp.share(self.ramp_ns, now_ns);
            next_step_ns = next_step_ns.min(until_ns);
            let mut has_changed = share != server.share;
            if has_changed {
                server.set_share(share);
                // Its next turn would come after a share of the step before.
                server.turn = server.turn.min(self.now + server.stride);
            }
            if server.health.errors.are_over(now_ns) {
                coming_back.push(server.spec.id);
            } else if !server.health.errors.are_none() {
                server.health.errors.fade(now_ns);
                has_changed |= server.follow_errors(self.now);
            }
            if !server.health.errors.are_none() {
                next_step_ns = next_step_ns.min(now_ns.saturating_add(FADE_NS));
            }
            if has_changed {
                self.lots_are_old = true;
                self.rank(position);
            }
        }
        self.next_step_ns = next_step_ns.max(now_ns.saturating_add(STEP_NS_MIN));
        self.lots_are_old |= std::mem::take(&mut self.lots_lag);
        self.errors = self.sum_errors();
        self.follow_tasks();
        if !coming_back.is_empty() {
            coming_back.into_iter().for_each(|id| self.change(id, |server| server.health.errors.fade(now_ns)));
            self.next_trial_ns = self.earliest_trial_ns();
        }
    }

    /// The share of its ratio that the server at a position gets, in percent.
    pub fn share(&self, position: usize) -> u32 {
        self.servers.get(position).map_or(100, Server::part)
    }
}

const _: () = assert!(STRIDE < u64::MAX / 100);
