//! Protocols without I/O: bytes in, typed heads and body pieces out, and back. Nothing here allocates for a request,
//! knows a socket or a clock, or decides what a request may do. `policy` and `proxy` decide.
#![forbid(unsafe_code)]

mod error;
pub mod grpc;
pub mod head;
pub mod http1;
pub mod http2;
pub mod proxy_protocol;
mod scan;
pub mod tls;
mod trace_context;
pub mod websocket;
pub mod x509;

pub use error::Error;
pub use trace_context::TraceParent;
