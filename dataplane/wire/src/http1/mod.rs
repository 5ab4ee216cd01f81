//! HTTP/1.x by the letter of RFC 9112: what two parsers could read in two ways is refused, so that nobody behind us can
//! be made to see another message than we saw.
//!
//! [`request`] and [`response`] parse a head in place, [`Body`] follows the bytes behind it, [`HeadWriter`] writes the
//! next head into a caller's buffer. All of them give the same result however the input is split. What HTTP/1 says of a
//! connection, and of how a body is framed on it, stays in this module: [`Request`] and [`Response`] hold it beside the
//! head, and a [`Hop`] writes it.

mod body;
mod chunked;
pub(crate) mod framing;
mod heads;
mod hop;
mod keep_alive;
mod lines;
mod request;
mod response;
mod start;
mod target;
mod trailers;
mod writer;

pub use body::{Body, Piece};
pub use framing::Framing;
pub use heads::{Parsed, may_complete};
pub use hop::{Hop, Outgoing, OutgoingBody};
pub use keep_alive::{keep_alive_line, told_timeout_s};
pub use request::{Request, request};
pub use response::{Response, response, response_or_switch};
pub use trailers::{TRAILER_BYTES_MAX, Trailers};
pub use writer::HeadWriter;

/// Answers `Expect: 100-continue` on behalf of the server.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
