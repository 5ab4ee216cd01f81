//! Handlers of events, one file per subject. None imports another: each adds methods to [`Proxy`](crate::proxy::Proxy).

mod carry;
mod choice;
mod clients;
mod events;
mod eviction;
mod page;
mod request;
mod rescue;
mod response;
mod servers;
