//! Which server of a pool takes the next request: round robin, least connections, consistent hash. And which pool of a
//! group: by priority and ratio.
//!
//! Flow: `snapshot` describes a pool ([`PoolSpec`]), `proxy` keeps one [`Balancer`] per pool and worker, asks it for a
//! server, and tells it what was opened and closed, and what new connections came to. Pure: no clock, no randomness, no I/O; the same calls give the same
//! answers. What a pick and a change cost grows with the logarithm of the pool at most; only the first pick by a hash after
//! servers have come up or gone down looks at each of them.
#![forbid(unsafe_code)]

mod balancer;
mod group;
mod hash;
mod health;
mod order;
mod ring;

pub use balancer::{
    Algorithm, Balancer, PoolSpec, SERVERS_MAX, ServerSpec,
    preview::{Reason, Standing},
};
pub use group::{Group, GroupSpec, MEMBERS_MAX, MemberSpec, Sharing};
pub use hash::HashKey;
pub use health::Failure;
