//! The heart of the data plane: an exchange is one request and its response, and stands between two connections. Driven by
//! batches of events over [`io::Io`]; no socket, clock or thread on this side of it. Counts nothing itself.
//!
//! ```text
//!  the client                                   this crate                                          a server
//!
//!               client                           exchange                                  server
//!        ──Data──► connection ──► http1 ──► intake ──► Waiting ── choice ──────────────► connection ──send──►
//!                  TLS off        one head  policy       │        finds a server         TLS on
//!                                 at a time           Sending ── request ──────────────►
//!                                                        │        sends head and body
//!        ◄──send── connection ◄─────────── response ◄ Streaming ◄──────────────── http1 ◄ connection ◄──Data──
//!                  TLS on                  edits the head, passes the body on     a head  TLS off
//!                              ▲
//!                             page ◄── rescue ◄── whatever fails, wherever
//! ```
//!
//! What is not HTTP, `carry` takes past all of this, from connection to connection: a `tunnel`.
//!
//! From the ground up: `connection` (with `line`, `inbox`, `channel`, `secure`) is our end of any connection. `incoming` is
//! the body of a message that comes, and `head` writes one that goes out. `exchange` is what is known of one request,
//! `exchanges` the table of all; `client` and `server` are the two kinds of connection. `proxy` owns all of these and finds
//! them. The rest says what happens: `events` hands a batch out, `clients` and `servers` hear what becomes of connections,
//! `choice`, `request`, `response`, `carry`, `rescue` and `eviction` move things on. None of these imports another of them.
#![forbid(unsafe_code)]

mod addresses;
pub mod buf;
mod carry;
mod channel;
mod choice;
mod client;
mod clients;
mod connection;
mod core;
mod error;
mod events;
mod eviction;
mod exchange;
mod exchanges;
mod head;
mod held;
mod inbox;
mod incoming;
pub mod io;
mod limits;
mod line;
mod pace;
mod page;
mod pool;
mod proxy;
mod request;
mod rescue;
mod response;
mod secure;
mod server;
mod servers;
mod shortage;
mod table;
mod tunnel;

pub use limits::Limits;
pub use proxy::Proxy;
