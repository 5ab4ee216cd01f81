//! A Plan, validated, indexed and immutable: what one worker serves by.
//!
//! Flow: `control` decodes a Plan or a change of one and makes a [`Snapshot`] for each worker of it; `proxy` swaps its own
//! between two batches of events. A Plan is accepted whole or refused whole, and every fault is named. What did not change
//! since the snapshot before is the same `Arc`, so a change to one object touches nobody who uses another; and the maps that
//! hold all objects are shared but for what changed, so that a change costs what it is about.
//! Past this crate no wire type: nothing in a snapshot must be checked again. Pure: no clock, no socket, no thread.
#![forbid(unsafe_code)]

mod address;
mod build;
mod certificate;
mod change;
mod check;
mod difference;
mod finding;
mod ids;
mod kept;
mod pki_profile;
mod pool;
mod server_tls;
mod service;
mod shared;
mod snapshot;
mod tls;
mod transport;
mod users;
mod warnings;
mod worker;

pub use change::Change;
pub use difference::{Difference, Gone, Recycled};
pub use finding::Finding;
pub use pool::{FailAction, HashInput, Pool, PoolTimeouts, Server};
pub use server_tls::ServerTls;
pub use service::{Application, Tcp, VirtualService};
pub use snapshot::{Listener, Snapshot};
pub use transport::{Protocol, TransportAddress};
pub use worker::Worker;
