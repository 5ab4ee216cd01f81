//! A pool as a worker uses it.

use std::{net::SocketAddr, time::Duration};

use weir_balance::PoolSpec;

#[derive(Debug)]
pub struct Pool {
    /// Dense and lasting, for tables by pool.
    pub id: u32,
    pub uuid: String,
    pub name: String,
    /// In the order of `balance.servers`: a pick is a position in either.
    pub servers: Vec<Server>,
    pub balance: PoolSpec,
    pub hash_input: HashInput,
    pub timeouts: PoolTimeouts,
    /// Requests on one server connection; `None`: no limit.
    pub max_connection_reuse: Option<u32>,
    /// Idle connections to one server, on this worker; `None`: no limit of the operator's.
    pub max_idle_connections: Option<u32>,
    pub fail_action: FailAction,
}

#[derive(Debug)]
pub struct Server {
    /// Dense and lasting, unique over all pools.
    pub id: u32,
    /// What the operator and the agent call it, unique in its pool: "10.0.0.1:80".
    pub name: String,
    pub address: SocketAddr,
    /// Empty: none was given.
    pub hostname: String,
}

/// What a request is hashed by, for [`weir_balance::Algorithm::ConsistentHash`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HashInput {
    SourceAddress,
    SourceAddressAndPort,
    Uri,
    /// The field of this name.
    Header(String),
}

/// `None`: no limit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolTimeouts {
    pub connect: Option<Duration>,
    /// Last byte of the request to the next byte of the response.
    pub response: Option<Duration>,
    pub idle_connection: Option<Duration>,
    pub connection_lifetime: Option<Duration>,
}

/// What a client gets when no server can take its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailAction {
    CloseConnection,
    /// A 503 page.
    LocalResponse,
}
