//! The heart of the data plane: the state machines of a client's connection, of a request and of a server's connection.
//! Driven by batches of events over [`io::Io`]; no socket, clock or thread on this side of it. Counts nothing itself.
//!
//! ```text
//!  the client                                   this crate                                          a server
//!
//!        ──Data──► channel ► inbox ─► client ──────► request ──────────────────► channel ► line ──send──►
//!                  TLS off   waits    one head at    finds a server through pool, TLS on
//!                                     a time         sends head and body
//!                                                       │
//!                                                    exchange  Waiting ► Sending ► Streaming
//!                                                       │
//!        ◄──send── line ◄── channel ◄─────────────── response ◄── server ◄─── inbox ◄ channel ◄──Data──
//!                           TLS on                   edits the head, passes     waits  TLS off
//!                                                    the body on
//!                              ▲
//!                             page ◄── rescue ◄── whatever fails, wherever
//! ```
//!
//! What is not HTTP, a `tunnel` carries past all of this, from inbox to line.
//!
//! `proxy` hands each event of a batch to its session: a `client` or a `server`, found in a `table` by connection.
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
