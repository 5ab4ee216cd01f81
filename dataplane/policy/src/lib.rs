//! What an application profile does to the heads that pass: compiled once from its settings, then applied without
//! allocation. Pure: heads in, heads out; who sends them, and when, is `proxy`'s. No protocol is known here: a head is
//! read as `wire::head` and written to a `HeadSink`, which adds what its own connection asks for.
#![forbid(unsafe_code)]

mod authentication;
mod client;
mod cookie;
mod date;
mod forwarded;
mod host;
mod http2;
mod l4;
mod last_hop;
mod location;
mod passing;
mod path;
mod persistence;
mod prefix;
mod profile;
mod redirect;
mod request;
mod response;
mod seal;
mod settings;
mod text;
mod trace;
mod trailers;
mod true_client;

pub use client::ClientFacts;
pub use date::Date;
pub use host::is_host;
pub use http2::Http2;
pub use l4::{L4Profile, ProxyProtocol};
pub use last_hop::LastHop;
pub use path::{RequestPath, TextCriterion, TextMatch};
pub use persistence::{Binding, Named, Persistence, PersistenceSettings};
pub use prefix::Prefix;
pub use profile::{HttpProfile, Timeouts, ToldTimeout};
pub use redirect::Redirect;
pub use response::{Besides, Reply};
pub use settings::{Error, HttpSettings, Underscores, XffUpdate};
pub use trace::{Trace, is_trace_parent};
pub use true_client::TrueClient;
