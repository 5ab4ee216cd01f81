//! What happens, file by file. None of these imports another: each adds what it does to [`Proxy`](crate::proxy::Proxy).

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
