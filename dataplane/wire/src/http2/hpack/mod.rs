//! HPACK (RFC 7541): the compression of heads in HTTP/2.
//!
//! A [`Decoder`] writes each field as the line of text that HTTP/1 would have, so that a head looks the same whatever
//! protocol brought it. The fields that a client repeats stand ready as such lines in its table. An [`Encoder`] uses the
//! static table only: it needs no memory per connection, and what it writes depends on nothing that was sent before.

mod decoder;
mod dynamic;
mod encoder;
mod fixed;
mod huffman;
mod integer;

pub use decoder::{Block, Decoder};
pub use encoder::{Encoder, Target};

use crate::head::Name;

/// The size of the decoder's table before any SETTINGS (RFC 9113 §6.5.2).
pub const TABLE_BYTES: usize = 4096;

/// A field that the decoder has appended to the text, as `name: value` and CRLF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    pub start: usize,
    pub name_bytes: usize,
    pub value_bytes: usize,
    pub kind: Kind,
}

impl Line {
    pub fn name<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(self.start..self.start + self.name_bytes).unwrap_or_default()
    }

    pub fn value<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let start = self.value_start();
        text.get(start..start + self.value_bytes).unwrap_or_default()
    }

    pub fn value_start(&self) -> usize {
        self.start + self.name_bytes + SEPARATOR.len()
    }
}

/// What a field is. It is found out once for each entry of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Field(Name),
    Pseudo(Pseudo),
    /// Its name or its value breaks the grammar of RFC 9113 §8.2.1, so the message is malformed.
    Malformed,
}

/// The pseudo-header fields (RFC 9113 §8.3, RFC 8441 §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pseudo {
    Authority,
    Method,
    Path,
    Protocol,
    Scheme,
    Status,
}

impl Pseudo {
    pub const COUNT: usize = 6;
}

/// Why a block cannot be decoded. The table is lost with it, so the connection ends with COMPRESSION_ERROR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The block ends amid a field.
    Cut,
    /// An index of no entry.
    Index,
    /// A number that is larger than any in a block can be.
    Number,
    /// A code that stands for nothing, or wrong padding.
    Huffman,
    /// A change of the table's size that is too large, repeated or not at the start of the block.
    TableSize,
}

pub(super) const SEPARATOR: &[u8] = b": ";
pub(super) const LINE_END: &[u8] = b"\r\n";
/// What an entry counts beside its name and value (RFC 7541 §4.1).
const ENTRY_OVERHEAD: usize = 32;
