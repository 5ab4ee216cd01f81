//! A Plan, validated, indexed and immutable: what one worker serves by.
//!
//! Flow: `control` decodes a Plan and builds one [`Snapshot`] per worker from it; `proxy` swaps its own between two
//! batches of events. A Plan is accepted whole or refused whole, and every fault is named. What did not change since the
//! snapshot before is the same `Arc`, so a change to one object touches nobody who uses another.
//! Past this crate no wire type: nothing in a snapshot must be checked again. Pure: no clock, no socket, no thread.
#![forbid(unsafe_code)]

mod address;
mod build;
mod certificate;
mod finding;
mod ids;
mod pki_profile;
mod pool;
mod server_tls;
mod service;
mod snapshot;
mod tls;
mod transport;

pub use finding::Finding;
pub use pool::{FailAction, HashInput, Pool, PoolTimeouts, Server};
pub use server_tls::ServerTls;
pub use service::{Application, Tcp, VirtualService};
pub use snapshot::{Listener, Recycled, Snapshot, Worker};
pub use transport::{Protocol, TransportAddress};
