//! The balancer of one pool on one worker: who is eligible, how busy each server is, and the pick.

use std::cmp::Ordering;

use foldhash::{HashMap, HashMapExt};

use crate::hash::{HashKey, score};

/// Servers of one pool; a Plan with more is refused by `snapshot`.
pub const SERVERS_MAX: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// The fewest connections in proportion to the ratio; among equals smooth weighted round robin.
    LeastConnections,
    /// Smooth weighted round robin.
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
}

#[derive(Debug)]
struct Server {
    spec: ServerSpec,
    up: bool,
    connections: u32,
    /// Smooth weighted round robin: grows by the ratio at each pick it takes part in, falls by the sum when it wins.
    credit: i64,
}

impl Balancer {
    pub fn new(spec: &PoolSpec) -> Self {
        let mut balancer = Self {
            algorithm: spec.algorithm,
            monitored: spec.monitored,
            servers: Vec::new(),
            positions: HashMap::new(),
        };
        balancer.reconcile(spec);
        balancer
    }

    /// Takes a changed pool. A server that stays keeps its connections, credit and state; a pool that is no longer
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
                    credit: before.map_or(0, |before| before.credit),
                }
            })
            .collect();
        self.positions = spec.servers.iter().enumerate().map(|(position, server)| (server.id, position)).collect();
        self.algorithm = spec.algorithm;
        self.monitored = spec.monitored;
    }

    /// The position of the server that shall take the next request; `None` when nobody can. `key` matters to
    /// [`Algorithm::ConsistentHash`] only; `exclude` holds the ids of servers that this request has tried in vain.
    pub fn pick(&mut self, key: HashKey, exclude: &[u32]) -> Option<usize> {
        match self.algorithm {
            Algorithm::RoundRobin => self.next_in_turn(|server| !exclude.contains(&server.spec.id)),
            Algorithm::LeastConnections => self.least_busy(exclude),
            Algorithm::ConsistentHash => self.most_wanting(key, exclude),
        }
    }

    /// A connection to a server is in use from now on. A server that has left the pool is nobody's business.
    pub fn opened(&mut self, id: u32) {
        if let Some(server) = self.server_mut(id) {
            server.connections += 1;
        }
    }

    pub fn closed(&mut self, id: u32) {
        if let Some(server) = self.server_mut(id) {
            server.connections = server.connections.saturating_sub(1);
        }
    }

    /// The verdict of the health monitors; ignored in a pool that has none.
    pub fn set_up(&mut self, id: u32, up: bool) {
        let monitored = self.monitored;
        if let Some(server) = self.server_mut(id) {
            server.up = up || !monitored;
        }
    }

    pub fn is_up(&self, id: u32) -> bool {
        self.positions.get(&id).is_some_and(|position| self.servers[*position].up)
    }

    fn server_mut(&mut self, id: u32) -> Option<&mut Server> {
        self.positions.get(&id).map(|position| &mut self.servers[*position])
    }

    fn eligible<'a>(&'a self, exclude: &'a [u32]) -> impl Iterator<Item = (usize, &'a Server)> {
        let servers = self.servers.iter().enumerate();
        servers.filter(|(_, server)| server.eligible() && !exclude.contains(&server.spec.id))
    }

    fn least_busy(&mut self, exclude: &[u32]) -> Option<usize> {
        let least = self.eligible(exclude).map(|(_, server)| server.load()).min_by(Load::compare)?;
        self.next_in_turn(|server| !exclude.contains(&server.spec.id) && server.load().compare(&least).is_eq())
    }

    /// Smooth weighted round robin over the eligible servers that `takes_part` lets in (nginx's algorithm).
    fn next_in_turn(&mut self, takes_part: impl Fn(&Server) -> bool) -> Option<usize> {
        let mut ratios = 0;
        let mut best: Option<(usize, i64)> = None;
        for (position, server) in self.servers.iter_mut().enumerate() {
            if !server.eligible() || !takes_part(server) {
                continue;
            }
            let ratio = i64::from(server.spec.ratio);
            ratios += ratio;
            server.credit += ratio;
            if best.is_none_or(|(_, credit)| server.credit > credit) {
                best = Some((position, server.credit));
            }
        }
        let (position, _) = best?;
        self.servers[position].credit -= ratios;
        Some(position)
    }

    fn most_wanting(&self, key: HashKey, exclude: &[u32]) -> Option<usize> {
        self.eligible(exclude)
            .map(|(position, server)| (position, score(server.spec.key, key, server.spec.ratio)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
            .map(|(position, _)| position)
    }
}

impl Server {
    fn eligible(&self) -> bool {
        let full = self.spec.max_connections > 0 && self.connections >= self.spec.max_connections;
        self.up && self.spec.enabled && !full
    }

    fn load(&self) -> Load {
        Load { connections: self.connections.into(), ratio: self.spec.ratio.into() }
    }
}

/// Connections per ratio, compared without division.
struct Load {
    connections: u64,
    ratio: u64,
}

impl Load {
    fn compare(&self, other: &Self) -> Ordering {
        (self.connections * other.ratio).cmp(&(other.connections * self.ratio))
    }
}
