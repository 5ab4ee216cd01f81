//! Handlers of events, one file per subject. None imports another: each adds methods to [`Proxy`](crate::proxy::Proxy).

mod batch;
pub(crate) mod carriers;
mod carry;
mod choice;
mod client_events;
mod eviction;
mod request;
mod rescue;
mod response;
mod server_events;
mod server_streams;
mod streams;
