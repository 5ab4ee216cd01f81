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
//! From the ground up: `connection` is our end of any connection. `exchange` is one request and its response, `tunnel` what
//! has none; `client` and `server` are the two kinds of connection. `core` is what all of them share, `shortage` who goes when
//! there is not room for all. `proxy` owns all of these and finds them. `flow` says what happens: it hands a batch of events
//! out and moves things on.
#![forbid(unsafe_code)]

pub mod buf;
mod client;
mod connection;
mod core;
mod error;
mod exchange;
mod flow;
mod head;
pub mod io;
mod limits;
mod pool;
mod proxy;
mod server;
mod shortage;
mod table;
mod tunnel;

pub use limits::Limits;
pub use proxy::Proxy;
