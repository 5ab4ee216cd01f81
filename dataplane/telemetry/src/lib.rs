//! What a worker counts. The logic says *what happened* ([`Happening`]); only this crate knows which numbers move.
//!
//! Flow: `proxy` notes happenings in the [`Counters`] of its worker, `control` takes a copy each second, adds those of
//! all workers and sends one Sample. Virtual services and servers are named by the small dense ids that `snapshot` hands
//! out, so noting is an array index and an addition: no hashing, no lock, no allocation once a table has its size.
#![forbid(unsafe_code)]

mod cause;
mod counters;

pub use cause::Cause;
pub use counters::{Counters, Happening, ServerCounters, ServiceCounters};
