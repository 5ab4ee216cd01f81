//! A server's response head.

use super::{Error, FieldTable, Fields, Framing, Limits, Method, Parsed, Version};

#[derive(Clone, Copy)]
pub struct ResponseHead<'b> {
    /// 100–599 without 101. A 1xx head is followed by another head.
    pub status: u16,
    pub reason: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: Framing,
    /// The server allows another exchange on its connection.
    pub keep_alive: bool,
    /// Connection names fields beyond the usual hop-by-hop ones.
    pub names_hop_fields: bool,
    pub len: usize,
}

/// Parses the head at the start of `input`, which answers a request with `method`.
pub fn response<'b>(
    input: &'b [u8],
    method: Method,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Parsed<ResponseHead<'b>>, Error> {
    let _ = (input, method, limits, table);
    todo!()
}
