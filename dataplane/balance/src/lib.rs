//! Which server of a pool takes the next request: by turns, connections, tasks, a key, chance, times or bytes of answers.
//! And which pool of a group: by priority and ratio.
//!
//! Flow: `snapshot` describes a pool ([`PoolSpec`]), `proxy` keeps one [`Balancer`] per pool and worker, asks it for a
//! server, and tells it what was opened and closed, what new connections came to, and where it asks for that, how long
//! answers take and how large they are. Pure: no clock, no I/O, and numbers that follow from the pool's offset instead of
//! randomness; the same calls give the same answers, but for turns that workers take [together](Tickets). What a pick and a change cost grows with the logarithm of the pool at most; only the first pick by a hash after
//! servers have come up or gone down looks at each of them, and so does the first that draws.
#![forbid(unsafe_code)]

mod average;
mod balancer;
mod cores;
mod errors;
mod fill;
mod group;
mod hash;
mod health;
mod lots;
mod order;
mod ramp;
mod ring;
mod tasks;
mod turns;

pub use balancer::{
    Algorithm, Balancer, Bound, PoolSpec, SERVERS_MAX, ServerSpec, Ties, WhenDown,
    preview::{Reason, Standing},
    waiting::Room,
};
pub use cores::Cores;
pub use errors::Shown;
pub use group::{Group, GroupSpec, MEMBERS_MAX, MemberSpec, Sharing};
pub use hash::HashKey;
pub use health::Failure;
pub use tasks::TASKS_MAX;
pub use turns::Tickets;
