//! A client's request head.

use super::{Error, FieldTable, Fields, Framing, Limits, Parsed, Version};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Trace,
    Connect,
    Patch,
    Other,
}

#[derive(Clone, Copy)]
pub struct RequestHead<'b> {
    pub method: Method,
    pub method_text: &'b [u8],
    /// As it came: `/path?query`, `*`, or `http://host/path?query`.
    pub target: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: Framing,
    /// The client wants another exchange on its connection.
    pub keep_alive: bool,
    /// The client waits for a 100 before it sends the body.
    pub expect_continue: bool,
    /// Connection names fields beyond the usual hop-by-hop ones; see [`RequestHead::connection_names`].
    pub names_hop_fields: bool,
    /// Host and port the request is for: of the target in absolute form, else of the Host field. `None`: HTTP/1.0 only.
    pub host: Option<&'b [u8]>,
    /// Bytes of the input that the head takes.
    pub len: usize,
}

/// Parses the head at the start of `input`.
pub fn request<'b>(
    input: &'b [u8],
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Parsed<RequestHead<'b>>, Error> {
    let _ = (input, limits, table);
    todo!()
}
