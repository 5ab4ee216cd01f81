//! Handlers of events, one file per subject: each adds methods to [`Proxy`](crate::proxy::Proxy).

mod batch;
mod carrier_ends;
pub(crate) mod carriers;
mod carry;
mod choice;
mod client_events;
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
mod streams;
mod websocket;
