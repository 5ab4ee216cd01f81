//! Protocols without I/O: bytes in, typed heads and body pieces out, and back. Nothing here allocates on the way of a
//! request, knows a socket or a clock, or decides what a request may do; that is `policy` and `proxy`.
#![forbid(unsafe_code)]

mod error;
pub mod head;
pub mod http1;
pub mod proxy_protocol;

pub use error::Error;
