//! Records of single requests and connections: what is kept of one while it lives, whether it is kept at its end, and how it
//! is packed. `api/record` reads what is packed here.
//!
//! A record has a class: the first of significant, filtered and all that holds. Each virtual service has a rate for each
//! class. What exceeds the rate, or finds no room, *waits*: the next record of the same virtual service and class stands
//! for it, too. So the weights of all records and what waits always add up to what should be recorded.
//!
//! Nothing here allocates once it has its size.

mod buffer;
mod draft;
mod fixed;
mod packed;
mod reason;
mod rules;
mod slab;
mod throttle;

pub use buffer::Buffer;
pub use draft::{Draft, Others};
pub use fixed::{Class, Fixed, Flags, Kind, NO_SERVER, Tls};
pub use packed::Packed;
pub use reason::{Outcome, Reasons, Rules, Statuses};
pub use rules::{RuleList, RuleNames};
pub use slab::Slab;
pub use throttle::{Rate, Throttle, Waiting};
