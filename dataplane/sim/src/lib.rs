//! The real `proxy` on a simulated network and clock, from a seed: delays, reads cut at any byte, slow peers, resets,
//! dying and lying servers, clients of HTTP/1 and HTTP/2 that vanish, Plans that change, crowds that take all places and memory.
//!
//! Judged in every run: each request is answered once or fails once; bodies are intact; nobody gets another's bytes; no
//! request reaches two servers; a server that lets nobody in costs the others' requests next to nothing; the parts of
//! the times of requests make up the total, and no round trip is longer than the network's; queues stay bounded; nothing
//! is left over. A seed that fails is replayed with `make sim SEED=…`, and becomes a named test. (With TLS, keys are random: such a seed repeats its story, not its bytes.)
#![forbid(unsafe_code)]

mod agenda;
mod breach;
mod browser;
mod browsers;
mod channel;
mod client;
mod crowd;
pub mod datagrams;
mod dials;
mod difference;
mod http2_server;
mod link;
mod malformed;
mod message;
mod network;
mod peer;
mod records;
mod rng;
mod scenario;
mod sealed;
mod server;
mod sessions;
mod stream;
mod times;
mod unpacked;
mod watch;
mod world;

pub use peer::Tally;
pub use world::{Verdict, is_tls, run};
