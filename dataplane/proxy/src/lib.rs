//! The core of the data plane. An exchange is one request and its response, and stands between two connections. Batches
//! of events drive this crate over [`io::Io`]; it has no socket, clock or thread. It notes what happens, and
//! `telemetry` counts that.
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
//! A virtual service without HTTP skips all of this: `carry` copies its bytes between the two connections, a `tunnel`.
//! Datagrams have no connections, but sessions: `datagrams`.
//!
//! The modules, from the ground up: `connection` is our end of any connection. `exchange` is one request and its
//! response; `tunnel` is a connection without requests. `client` and `server` are the two kinds of connection. `core`
//! holds what they share. `shortage` records whom to evict when places or memory run out. `proxy` owns all of these and
//! finds them. `flow` handles a batch of events and moves requests and responses on.
#![forbid(unsafe_code)]

pub mod buf;
mod cache;
mod call;
mod carrier;
mod client;
mod connection;
mod core;
pub mod datagrams;
mod drafts;
mod entrance;
mod error;
mod exchange;
pub mod explain;
mod flow;
mod groups;
mod head;
pub mod io;
mod leavers;
mod limits;
mod members;
mod origin;
mod page;
mod pool;
mod proxy;
mod queues;
mod reach;
pub mod records;
mod retries;
mod scripting;
mod server;
mod sessions;
mod shortage;
mod table;
mod tasks;
mod tunnel;

pub use limits::Limits;
pub use proxy::Proxy;
