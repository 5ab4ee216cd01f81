//! Handlers of events, one file per subject: each adds methods to [`Proxy`](crate::proxy::Proxy).

mod batch;
mod caching;
mod carrier_ends;
pub(crate) mod carriers;
mod carry;
mod choice;
mod client_events;
mod coding;
mod connections;
mod elsewhere;
mod eviction;
mod excluded;
mod fallback;
mod frames_out;
mod introduction;
mod notes;
mod records;
mod request;
pub(crate) mod rescue;
mod reselect;
mod response;
mod scripted;
mod server_events;
mod server_streams;
mod storing;
mod streams;
mod websocket;
