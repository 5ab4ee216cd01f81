//! The head of a message of any protocol: the lines of text in one piece, and spans that say where each field lies.
//! A protocol's module (`http1`) reads a head from the bytes of a connection. `policy` decides which fields go on, and
//! tells a [`HeadSink`], which writes the head in the form of the next connection's protocol.
//!
//! Fields that concern one connection only (RFC 9110 §7.6.1) belong to the module that reads or writes on that connection.
//! No sink gets them from a received head.

mod fields;
mod grammar;
mod limits;
mod name;
mod request;
mod response;
mod room;
mod sink;
mod stored;

pub(crate) use fields::Span;
pub use fields::{Field, FieldTable, Fields, MAX_FIELDS};
pub(crate) use grammar::{LENGTH_MAX, decimal, may_be_target};
pub use grammar::{is_host, is_token, may_be_value, percent_decode, without_port};
pub use limits::{HEAD_BYTES_CEILING, Limits};
pub(crate) use name::{HOP_BY_HOP, LOWER, Look, is_known, is_same};
pub use name::{Name, NameSet, is_same_in_cgi};
pub use request::{Method, RequestHead};
pub use response::{ResponseHead, SWITCHING_PROTOCOLS};
pub(crate) use response::{check_status, has_no_content};
pub use room::Overflow;
pub(crate) use room::Room;
pub use sink::HeadSink;
pub use stored::StoredHead;

/// Which version of the semantics the sender of a message knows. Those of HTTP/2 are those of HTTP/1.1 (RFC 9110 §2.5):
/// how a connection speaks is told by its protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    Http10,
    Http11,
}

/// How long a body is, as far as its head tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyLength {
    None,
    Bytes(u64),
    /// Until its end comes.
    Unknown,
}

impl BodyLength {
    /// Whether nothing follows the head.
    pub fn is_zero(self) -> bool {
        matches!(self, BodyLength::None | BodyLength::Bytes(0))
    }
}
