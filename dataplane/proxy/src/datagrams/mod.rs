//! Datagrams: which server those of a client go to, and which client an answer is for. Nothing is parsed.
//!
//! ```text
//!  client ──FromClient──► flow ── session ──forward──► socket of the session ──► server
//!  client ◄────reply───── flow ◄─ session ◄─FromServer─ socket of the session ◄── server
//! ```
//!
//! A [`session`](session::Session) is one client address and port at one listener. It has a UDP socket of its own,
//! connected to its server. So the kernel chooses an unpredictable source port (RFC 5452 §9.2), drops what others send
//! to that port, and reports ICMP errors of the server. If servers are to see the client's address, the socket has that
//! address and port instead. `sessions` finds sessions and ends idle ones, `crowd` says which one makes room for another,
//! `flow` handles a batch, `standing` says whether a session may keep its server. This is beside the connections of
//! `flow/`; the two share `core`.

mod crowd;
mod flow;
pub mod io;
mod list;
mod record;
mod session;
mod sessions;
mod standing;

pub(crate) use sessions::Sessions;
