//! Pools for tests of the balancer.
#![allow(dead_code, reason = "each test uses some of it")]

use weir_balance::{Algorithm, Cores, HashKey, PoolSpec, ServerSpec, Tickets, Ties};

pub const ALGORITHMS: [Algorithm; 10] = [
    Algorithm::RoundRobin,
    Algorithm::LeastConnections,
    Algorithm::ConsistentHash,
    Algorithm::Random,
    Algorithm::FastestResponse,
    Algorithm::LeastLoad,
    Algorithm::FewestServers,
    Algorithm::FewestTasks,
    Algorithm::CoreAffinity,
    Algorithm::RoundRobinOfEngine,
];

pub fn server(id: u32, ratio: u32) -> ServerSpec {
    ServerSpec { id, key: HashKey::of(format!("10.0.0.{id}:80").as_bytes()), ratio, enabled: true, max_connections: 0 }
}

/// The id of a server is its position.
pub fn pool(algorithm: Algorithm, ratios: &[u32]) -> PoolSpec {
    let servers = ratios.iter().enumerate().map(|(id, ratio)| server(id as u32, *ratio)).collect();
    PoolSpec {
        algorithm,
        servers,
        monitored: false,
        watches: true,
        offset: 0,
        ramp_ns: 0,
        slow_ns: 0,
        ties: Ties::default(),
        cores: Cores::default(),
        tickets: Tickets::default(),
    }
}

/// A pool of equal servers.
pub fn equal(algorithm: Algorithm, servers: u32) -> PoolSpec {
    pool(algorithm, &vec![1; servers as usize])
}
