//! The heart of the data plane: the state machines of a client's connection, of a request and of a server's connection.
//! Driven by batches of events over [`io::Io`]; no socket, clock or thread on this side of it. Counts nothing itself.
//!
//! ```text
//!            io::Event                                                                    io::Event
//!  client ──────────────► client ──► inbox ──► head ──► policy ──► exchange ──► pool ──► server ──────► server
//!            (secure:     bytes of   one head                      finds a server,   picks, keeps
//!             TLS)        requests   at a time                     sends, passes on  idle ones
//!                                                                        │
//!  client ◄────────────── line ◄── secure ◄──── policy ◄── head ◄─── inbox ◄──────────── line ◄──────── server
//!            io::send                            │
//!                         rescue: whatever fails ┘ becomes a page or the end of the connection
//! ```
//!
//! `proxy` hands out events; `client`, `exchange`, `server` are the sessions, found in a `table` by connection.
#![forbid(unsafe_code)]

pub mod buf;
mod client;
mod exchange;
mod inbox;
pub mod io;
mod limits;
mod line;
mod pool;
mod proxy;
mod rescue;
mod secure;
mod server;
mod table;

pub use limits::Limits;
pub use proxy::Proxy;
