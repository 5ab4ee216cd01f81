//! What an application profile does to heads. It is compiled once from its settings, and then applied without
//! allocation. Pure: heads in, heads out. `proxy` decides who sends them, and when.
#![forbid(unsafe_code)]

mod authentication;
mod client;
mod cookie;
mod date;
mod forwarded;
mod hop;
mod l4;
mod last_hop;
mod location;
mod persistence;
mod profile;
mod redirect;
mod request;
mod response;
mod settings;
mod text;
mod trailers;

pub use client::ClientFacts;
pub use date::Date;
pub use l4::{L4Profile, ProxyProtocol};
pub use last_hop::LastHop;
pub use persistence::{Persistence, PersistenceSettings};
pub use profile::{HttpProfile, Timeouts};
pub use redirect::Redirect;
pub use response::{Outgoing, OutgoingBody, Reply};
pub use settings::{Error, HttpSettings, Underscores, XffUpdate};
