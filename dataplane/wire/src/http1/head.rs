//! What request and response heads share: limits, versions, and turning httparse's fields into spans under our rules.

use super::field::MAX_FIELDS;

/// The largest head, whatever an operator allows.
pub const HEAD_BYTES_CEILING: usize = 256 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Start line, fields and the empty line.
    pub head_bytes: usize,
    /// One field line.
    pub field_bytes: usize,
    pub fields: usize,
}

impl Limits {
    /// 0 stands for the ceiling, and nothing exceeds it.
    pub fn new(head_bytes: usize, field_bytes: usize, fields: usize) -> Self {
        let bounded = |value, ceiling| if value == 0 || value > ceiling { ceiling } else { value };
        Self {
            head_bytes: bounded(head_bytes, HEAD_BYTES_CEILING),
            field_bytes: bounded(field_bytes, HEAD_BYTES_CEILING),
            fields: bounded(fields, MAX_FIELDS),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    Http10,
    Http11,
}

/// Not wrong so far, or all there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parsed<T> {
    Partial,
    Whole(T),
}

/// Whether a head that was `Partial` before `new` came is worth parsing again. Each line feed of a well-formed head ends
/// a field, so the count of tries stays below that of fields however slowly the bytes drip in.
pub fn may_complete(new: &[u8]) -> bool {
    memchr::memchr(b'\n', new).is_some()
}
