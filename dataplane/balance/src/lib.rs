//! Which server of a pool takes the next request: round robin, least connections, consistent hash.
//!
//! Flow: `snapshot` describes a pool ([`PoolSpec`]), `proxy` keeps one [`Balancer`] per pool and worker, asks it for a
//! server, and tells it what was opened and closed. Pure: no clock, no randomness, no I/O; the same calls give the same
//! answers. A pick looks at each server of the pool once, so [`SERVERS_MAX`] bounds its time.
#![forbid(unsafe_code)]

mod balancer;
mod hash;

pub use balancer::{Algorithm, Balancer, PoolSpec, SERVERS_MAX, ServerSpec};
pub use hash::HashKey;
