//! A validated, indexed, immutable Plan: the configuration by which one worker serves.
//!
//! Flow: `control` decodes a Plan or a change of one, and builds a [`Snapshot`] from it for each worker. `proxy` swaps
//! its snapshot between two batches of events. A Plan is accepted whole or refused whole, and the refusal names every
//! error. Unchanged objects are the same `Arc` as in the previous snapshot, so a change does not affect users of other
//! objects. The maps of all objects are persistent, so the cost of a change depends on its size alone.
//!
//! No wire type leaves this crate, and nothing in a snapshot must be checked again. The crate has no clock, socket or
//! thread.
#![forbid(unsafe_code)]

mod access;
mod address;
mod analytics;
mod build;
mod certificate;
mod change;
mod check;
mod children;
mod compared;
mod connect_rate;
mod content;
mod difference;
mod dosers;
mod error_pages;
mod fail_action;
mod finding;
mod gate;
mod hosts;
mod identity;
mod ids;
mod kept;
mod names_wanted;
mod network_policy;
mod path;
mod path_rule;
mod pki_profile;
mod policies;
mod pool;
mod pool_group;
mod pool_rules;
mod references;
mod reselect;
mod rewriting;
mod role;
mod scripts;
mod server_tls;
mod service;
mod service_tls;
mod shared;
mod snapshot;
mod subnet;
mod tickets;
mod tls;
mod tls_selectors;
mod tokens;
mod transport;
mod udp;
mod users;
mod variable;
mod variants;
mod wanted;
mod warnings;
mod worker;

pub use analytics::{Analytics, Hidden, Mask, RecordFilter, Traces};
pub use change::Change;
pub use children::{AmbiguousPath, Wanting};
pub use connect_rate::ConnectRate;
pub use content::{Cached, Content};
pub use difference::{Difference, Gone, Recycled};
pub use error_pages::{ErrorPage, ErrorPages};
pub use fail_action::FailAction;
pub use finding::Finding;
pub use gate::{Entry, Gate, Turned};
pub use hosts::HostName;
pub use identity::{CertificateMode, Identity};
pub use names_wanted::NamesWanted;
pub use policies::{Destination, ServicePolicies};
pub use pool::{Grace, HashInput, Http2ToServers, Pool, PoolTimeouts, STREAMS_MAX, Server};
pub use pool_group::PoolGroup;
pub use pool_rules::{Aim, PoolRules};
pub use reselect::Reselect;
pub use role::{Hosting, Role};
pub use scripts::{Destinations, ServiceScripts};
pub use server_tls::ServerTls;
pub use service::{Application, Tcp, VirtualService};
pub use snapshot::{Listener, Snapshot};
pub use subnet::Subnet;
pub use tls_selectors::TlsSelectors;
pub use tokens::Tokens;
pub use transport::{Protocol, TransportAddress};
pub use udp::Udp;
pub use worker::Worker;
