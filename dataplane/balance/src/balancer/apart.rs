//! Algorithms that few pools have: by the tasks that servers say they have, by the servers of a worker, and by turns of the
//! whole engine. What they need of a server stands beside the servers, so that it costs other pools nothing.

use crate::{
    Algorithm, Balancer, PoolSpec, ServerSpec,
    balancer::{STEP_NS_MIN, Way},
    order::Rank,
    tasks::Tasks,
    turns::Turns,
};

/// The bits of a load below those of a distance.
const LOAD_BITS: u32 = 56;
const LOAD_MAX: u64 = (1 << LOAD_BITS) - 1;

impl Balancer {
    /// Takes what a changed pool needs, while the servers are those of before. Returns the pool as this worker has it, if
    /// ratios differ.
    pub(super) fn set_apart(&mut self, spec: &PoolSpec) -> Option<PoolSpec> {
        self.workers = spec.cores.workers.max(1);
        let tasks = |id: u32| {
            let Some(position) = self.position(id) else { return Tasks::default() };
            let before = self.tasks.get(position).copied().unwrap_or_default();
            before.with_open(self.servers[position].connections)
        };
        self.tasks = match spec.algorithm {
            Algorithm::FewestTasks => spec.servers.iter().map(|server| tasks(server.id)).collect(),
            _ => Vec::new(),
        };
        self.turns = match spec.algorithm.way() {
            Way::Turns => Turns::of(&spec.tickets),
            _ => Turns::default(),
        };
        self.distances.clear();
        if spec.algorithm != Algorithm::CoreAffinity {
            return None;
        }
        // Disabled servers have no place, as long as others have.
        let is_any_enabled = spec.servers.iter().any(|server| server.enabled);
        let has_place = |server: &ServerSpec| server.enabled || !is_any_enabled;
        let ratio = |server: &ServerSpec| if has_place(server) { server.ratio.max(1) } else { 0 };
        let servers: Vec<_> = spec.servers.iter().map(|server| (server.key, ratio(server))).collect();
        let mut adapted = spec.clone();
        for (server, part) in adapted.servers.iter_mut().zip(spec.cores.parts(&servers)) {
            server.ratio = part.ratio;
            self.distances.push(part.distance);
        }
        Some(adapted)
    }
}

// By tasks.
impl Balancer {
    /// A server has so many tasks now; `None`: nobody knows.
    pub fn set_tasks(&mut self, id: u32, tasks: Option<u32>, now_ns: u64) {
        let Some(position) = self.position(id) else { return };
        let open = self.servers[position].connections;
        let Some(server) = self.tasks.get_mut(position) else { return };
        *server = server.with_open(open);
        server.say(tasks);
        self.rank(position);
        // Those of which nothing is known follow the others.
        self.next_step_ns = self.next_step_ns.min(now_ns.saturating_add(STEP_NS_MIN));
    }

    #[inline(never)]
    pub(super) fn rank_by_tasks(&mut self, position: usize) {
        let Some(tasks) = self.tasks.get_mut(position) else { return };
        let server = &self.servers[position];
        let load = tasks.load(server.connections, server.stride, self.usual_tasks, self.workers);
        if server.eligible() && (self.needs_all || !server.suspect) {
            self.order.put(Rank::new(load, server.turn, server.picked, position));
        } else {
            self.order.remove(position);
        }
    }

    /// Has servers of which nothing is known count as the others do.
    pub(super) fn follow_tasks(&mut self) {
        let said = self.servers.iter().zip(&self.tasks).filter_map(|(server, tasks)| tasks.said(server.stride));
        let (sum, count) = said.fold((0u128, 0u128), |(sum, count), load| (sum + u128::from(load), count + 1));
        self.usual_tasks = (sum / count.max(1)) as u64;
        for position in 0..self.tasks.len() {
            if !self.tasks[position].are_known() {
                self.rank(position);
            }
        }
    }
}

// By the servers of a worker.
impl Balancer {
    #[inline(never)]
    pub(super) fn load_by_distance(&self, position: usize) -> u64 {
        let server = &self.servers[position];
        let load = u64::from(server.connections).saturating_mul(server.stride).min(LOAD_MAX);
        let distance = self.distances.get(position).copied().unwrap_or_default();
        u64::from(distance.min(u8::MAX.into())) << LOAD_BITS | load
    }
}

// By turns of the engine.
impl Balancer {
    #[inline(never)]
    pub(super) fn next_by_ticket(&mut self, exclude: &[u32]) -> Option<usize> {
        self.renew_turns();
        let servers = &self.servers;
        self.turns.take(|position| servers[position].eligible() && !exclude.contains(&servers[position].spec.id))
    }

    pub(super) fn next_turn(&mut self) -> Option<usize> {
        self.renew_turns();
        self.turns.next(|position| self.servers[position].eligible())
    }

    /// Many servers may come and go between two picks; the round follows them once.
    fn renew_turns(&mut self) {
        if self.lots_are_old {
            self.lots_are_old = false;
            let mut turns = std::mem::take(&mut self.turns);
            let servers = self.servers.iter().enumerate().filter(|(_, server)| self.is_drawn(server));
            turns.renew(servers.map(|(position, server)| (position, server.weight())));
            self.turns = turns;
        }
    }
}
