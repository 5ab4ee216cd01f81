//! The balancer of one pool on one worker: who is eligible, how busy each server is, and the pick.

use foldhash::{HashMap, HashMapExt};

use crate::{
    hash::HashKey,
    order::{Order, Rank},
    ring::Ring,
};

/// Servers of one pool; a Plan with more is refused by `snapshot`.
pub const SERVERS_MAX: usize = 16_384;

/// What a ratio of 1 waits from one turn to the next, and one connection weighs with it. Twice the least common multiple
/// of 1 to 20, so that for these ratios a share of it, and half a share, are whole numbers and comparisons are exact.
const STRIDE: u64 = 2 * 232_792_560;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// The fewest connections in proportion to the ratio; among equals whose turn is next.
    LeastConnections,
    /// In turn, in proportion to the ratio, a heavy server's turns spread over the round.
    RoundRobin,
    /// The server that a key names, in proportion to the ratio, for as long as it is eligible.
    ConsistentHash,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolSpec {
    pub algorithm: Algorithm,
    pub servers: Vec<ServerSpec>,
    /// A server that is new here is down until [`Balancer::set_up`] says otherwise.
    pub monitored: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerSpec {
    /// Dense id of the snapshot; stays with the server when the pool changes.
    pub id: u32,
    /// Of the server's name, the same on every engine.
    pub key: HashKey,
    /// At least 1.
    pub ratio: u32,
    pub enabled: bool,
    /// Of this worker; 0: no limit.
    pub max_connections: u32,
}

/// Picks by position in [`PoolSpec::servers`]; is told by server id, which outlives a change of the pool.
#[derive(Debug)]
pub struct Balancer {
    algorithm: Algorithm,
    monitored: bool,
    servers: Vec<Server>,
    positions: HashMap<u32, usize>,
    /// Of the eligible ones; not kept for [`Algorithm::ConsistentHash`].
    order: Order,
    /// Of all of them; empty but for [`Algorithm::ConsistentHash`].
    ring: Ring,
    /// Who stands in the ring is not what it was.
    ring_is_old: bool,
    /// The latest turn that was taken.
    now: u128,
    picks: u64,
}

#[derive(Debug)]
struct Server {
    spec: ServerSpec,
    up: bool,
    connections: u32,
    /// When its next turn is: each turn is a share of [`STRIDE`] after the one before (stride scheduling, Waldspurger
    /// and Weihl 1995).
    turn: u128,
    picked: u64,
}

impl Balancer {
    pub fn new(spec: &PoolSpec) -> Self {
        let mut balancer = Self {
            algorithm: spec.algorithm,
            monitored: spec.monitored,
            servers: Vec::new(),
            positions: HashMap::new(),
            order: Order::default(),
            ring: Ring::default(),
            ring_is_old: false,
            now: 0,
            picks: 0,
        };
        balancer.reconcile(spec);
        balancer
    }

    /// Takes a changed pool. A server that stays keeps its connections, turn and state; a pool that is no longer
    /// monitored has all its servers up.
    pub fn reconcile(&mut self, spec: &PoolSpec) {
        let mut known: HashMap<u32, Server> = self.servers.drain(..).map(|server| (server.spec.id, server)).collect();
        self.servers = spec
            .servers
            .iter()
            .map(|server| {
                let before = known.remove(&server.id);
                Server {
                    spec: server.clone(),
                    up: !spec.monitored || before.as_ref().is_some_and(|before| before.up),
                    connections: before.as_ref().map_or(0, |before| before.connections),
                    // In the middle of its share, so that one heavy server does not have all its turns first.
                    turn: before.as_ref().map_or(self.now + u128::from(server.stride() / 2), |before| before.turn),
                    picked: before.map_or(0, |before| before.picked),
                }
            })
            .collect();
        self.positions = spec.servers.iter().enumerate().map(|(position, server)| (server.id, position)).collect();
        self.algorithm = spec.algorithm;
        self.monitored = spec.monitored;
        self.ring = match spec.algorithm {
            Algorithm::ConsistentHash => Ring::of(spec.servers.iter().map(|server| (server.key, server.ratio))),
            Algorithm::RoundRobin | Algorithm::LeastConnections => Ring::default(),
        };
        self.ring_is_old = true;
        self.order = Order::with_positions(self.servers.len());
        (0..self.servers.len()).for_each(|position| self.rank(position));
    }

    /// The position of the server that shall take the next request, a connection to which is in use from now on; `None`
    /// when nobody can. `key` matters to [`Algorithm::ConsistentHash`] only; `exclude` holds the ids of servers that this
    /// request has tried in vain.
    pub fn pick(&mut self, key: HashKey, exclude: &[u32]) -> Option<usize> {
        let position = match self.algorithm {
            Algorithm::RoundRobin | Algorithm::LeastConnections => self.next_in_order(exclude),
            Algorithm::ConsistentHash => self.next_on_ring(key, exclude),
        }?;
        self.servers[position].connections += 1;
        self.rank(position);
        Some(position)
    }

    /// The position of a server that a request shall go to whatever the algorithm says, if it takes requests; it counts
    /// as picked.
    pub fn take(&mut self, id: u32) -> Option<usize> {
        let position = self.position(id).filter(|position| self.servers[*position].eligible())?;
        self.servers[position].connections += 1;
        self.rank(position);
        Some(position)
    }

    /// A connection to a server is in use again without a pick. A server that has left the pool is nobody's business.
    pub fn opened(&mut self, id: u32) {
        self.change(id, |server| server.connections += 1);
    }

    pub fn closed(&mut self, id: u32) {
        self.change(id, |server| server.connections = server.connections.saturating_sub(1));
    }

    /// The verdict of the health monitors; ignored in a pool that has none.
    pub fn set_up(&mut self, id: u32, up: bool) {
        let monitored = self.monitored;
        self.change(id, |server| server.up = up || !monitored);
    }

    /// The ids of the servers that are up.
    pub fn up(&self) -> impl Iterator<Item = u32> {
        self.servers.iter().filter(|server| server.up).map(|server| server.spec.id)
    }

    pub fn position(&self, id: u32) -> Option<usize> {
        self.positions.get(&id).copied()
    }

    /// Whether the server at a position takes requests, as long as it is not full.
    pub fn stands(&self, position: usize) -> bool {
        self.servers.get(position).is_some_and(Server::stands)
    }

    pub fn is_up(&self, id: u32) -> bool {
        self.positions.get(&id).is_some_and(|position| self.servers[*position].up)
    }

    fn change(&mut self, id: u32, change: impl FnOnce(&mut Server)) {
        if let Some(position) = self.positions.get(&id).copied() {
            let server = &mut self.servers[position];
            let stood = server.stands();
            change(server);
            self.ring_is_old |= stood != server.stands();
            self.rank(position);
        }
    }

    /// Puts a server where it belongs in the order, or takes it out.
    fn rank(&mut self, position: usize) {
        let server = &self.servers[position];
        let load = match self.algorithm {
            Algorithm::LeastConnections => u64::from(server.connections) * server.spec.stride(),
            Algorithm::RoundRobin => 0,
            Algorithm::ConsistentHash => return,
        };
        let position = position as u32;
        if server.eligible() {
            self.order.put(Rank { load, turn: server.turn, picked: server.picked, position });
        } else {
            self.order.remove(position);
        }
    }

    /// Steps over the excluded, of whom a request has a few at most.
    fn next_in_order(&mut self, exclude: &[u32]) -> Option<usize> {
        let mut excluded = Vec::new();
        let mut found = None;
        while let Some(first) = self.order.first() {
            if !exclude.contains(&self.servers[first.position as usize].spec.id) {
                found = Some(first.position as usize);
                break;
            }
            self.order.remove(first.position);
            excluded.push(first);
        }
        excluded.into_iter().for_each(|rank| self.order.put(rank));
        self.take_turn(found?);
        found
    }

    /// Its rank is old from here on. Turns that a server missed, being down, full or busy, are not made up for: that would flood it.
    fn take_turn(&mut self, position: usize) {
        let server = &mut self.servers[position];
        self.now = self.now.max(server.turn);
        server.turn = self.now + u128::from(server.spec.stride());
        self.picks += 1;
        server.picked = self.picks;
    }

    /// Many servers may come and go between two picks; the ring follows them once.
    fn next_on_ring(&mut self, key: HashKey, exclude: &[u32]) -> Option<usize> {
        if std::mem::take(&mut self.ring_is_old) {
            self.ring.stand(|position| self.servers[position].stands());
        }
        let servers = &self.servers;
        self.ring.find(key, |position| {
            let server = &servers[position];
            server.eligible() && !exclude.contains(&server.spec.id)
        })
    }
}

impl Server {
    /// Takes requests, as long as it is not full.
    fn stands(&self) -> bool {
        self.up && self.spec.enabled
    }

    fn eligible(&self) -> bool {
        let full = self.spec.max_connections > 0 && self.connections >= self.spec.max_connections;
        self.stands() && !full
    }
}

impl ServerSpec {
    fn stride(&self) -> u64 {
        STRIDE / u64::from(self.ratio.max(1))
    }
}
