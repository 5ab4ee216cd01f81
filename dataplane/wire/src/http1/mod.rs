//! HTTP/1.x exactly as in RFC 9112. What two parsers could read in two ways is refused, so that no server behind us can
//! be made to see another message than we saw.
//!
//! [`request`] and [`response`] parse a head in place, [`Body`] follows the bytes after it, [`HeadWriter`] writes the
//! next head into a caller's buffer. All of them give the same result however the input is split.

mod body;
mod chunked;
mod error;
mod field;
mod framing;
mod head;
mod request;
mod response;
mod target;
mod trailers;
mod writer;

pub use body::{Body, Piece};
pub use error::Error;
pub use field::{Field, FieldTable, Fields, MAX_FIELDS, Name, NameSet, is_same_in_cgi};
pub use framing::Framing;
pub use head::{HEAD_BYTES_CEILING, Limits, Parsed, Version, may_complete};
pub use request::{Method, RequestHead, request};
pub use response::{ResponseHead, response};
pub use trailers::{TRAILER_BYTES_MAX, Trailers};
pub use writer::{HeadWriter, Overflow};

/// Answers `Expect: 100-continue` on behalf of the server.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
