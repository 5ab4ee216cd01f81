//! The data plane's end of the link to the agent: a unix socket on which the agent sends listening sockets, Plans and
//! server states, and gets back Acks and samples (`api/dataplane/v1`).
//!
//! Flow: `server` accepts and reads frames on threads of its own → [`Control`], on one thread, decides → [`Order`]s to
//! the workers → [`Answer`]s → frames back. It shares nothing with a worker but these messages, and must never keep one
//! waiting. An agent that goes away changes nothing for traffic; the newest one that greets wins.
#![forbid(unsafe_code)]

mod applying;
mod control;
mod error;
pub mod frame;
mod held;
mod inbox;
pub mod log;
mod order;
mod pinning;
mod sample;
mod server;
mod up;
pub mod vital;

pub use control::Control;
pub use error::Error;
pub use inbox::Inbox;
pub use order::{Answer, Counted, ORDERS_MAX, Order, States, WorkerLink};
pub use pinning::Cores;
pub use server::Server;
pub use up::Up;
