//! The counters of a worker, and how long its requests took. The proxy says *what happened* ([`Happening`]); only this crate knows which counters
//! change.
//!
//! Flow: `proxy` records happenings in the [`Counters`] of its worker. `control` copies them each second, adds those of
//! all workers, and sends one Sample. Virtual services and servers have ids from `snapshot` that contain the [index](id)
//! of a row, so to count is an array index and an addition: no hashing, no lock, and no allocation once a table has its
//! size.
#![forbid(unsafe_code)]

mod cause;
mod counters;
mod handshakes;
mod happening;
mod histogram;
pub mod id;
mod limited;
pub mod record;
mod table;
mod times;

pub use cause::Cause;
pub use counters::{Counters, METHODS, QueueCounters, ServerCounters, ServiceCounters};
pub use handshakes::{AGREED_MAX, Agreed, HandshakeFault, Handshakes};
pub use happening::Happening;
pub use histogram::{Coarse, Histogram};
pub use limited::Limited;
pub use times::{Spans, Times};
