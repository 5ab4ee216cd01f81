//! How many of something may happen in a time: for each client, each path, each key. All workers of an engine count
//! together; only a new key takes a lock. Pure: the time comes in, an answer goes out; who is refused what is decided elsewhere.
#![forbid(unsafe_code)]

mod gauge;
mod hot;
mod key;
mod moment;
mod rate;
mod table;
mod tally;
mod throughput;

pub use gauge::{Gauge, Place};
pub use hot::{Demand, Share, USED_MAX, WHOLE};
pub use key::Key;
pub use moment::Moment;
pub use rate::Beyond;
pub use tally::{Demands, Engines, Limit, Tallies, Tally};
pub use throughput::{Bucket, Ration};
