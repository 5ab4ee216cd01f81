//! The data plane's end of the link to the agent: a unix socket. The agent sends listening sockets, Plans and server
//! states, and gets Acks and samples (`api/dataplane/v1`).
//!
//! Flow: `server` accepts agents and reads frames on its own threads → [`Control`], on one thread, decides → [`Order`]s
//! to the workers → [`Answer`]s → frames to the agent. The control thread shares only these messages with the workers,
//! and must never make a worker wait. Traffic goes on when the agent disconnects. The agent that greeted last is the
//! current one.
#![forbid(unsafe_code)]

mod applying;
mod client_addresses;
mod control;
mod error;
pub mod explaining;
pub mod frame;
mod handshakes;
mod held;
mod hot_keys;
mod inbox;
pub mod log;
mod order;
mod pinning;
mod records;
mod sample;
#[cfg(test)]
mod sequences;
mod server;
mod up;
pub mod vital;

pub use control::Control;
pub use error::Error;
pub use inbox::Inbox;
pub use order::{Answer, Asked, Counted, ORDERS_MAX, Order, States, WorkerCounters, WorkerLink};
pub use pinning::Cores;
pub use server::Server;
pub use up::Up;
