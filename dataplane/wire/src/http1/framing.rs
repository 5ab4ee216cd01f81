//! Where a body ends (RFC 9112 §6).

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    None,
    Length(u64),
    Chunked,
    /// Of responses only: the body ends with the connection.
    UntilClose,
}
