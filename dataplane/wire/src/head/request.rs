//! What a client asks for, whatever protocol brought it.

use super::{BodyLength, Fields, Version};
use crate::scan::place_of;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Trace,
    Patch,
    Other,
}

impl Method {
    /// Whether to ask twice is to ask once (RFC 9110 §9.2.2).
    pub fn is_idempotent(self) -> bool {
        use Method::*;
        matches!(self, Get | Head | Put | Delete | Options | Trace)
    }

    /// Methods are case-sensitive (RFC 9110 §9.1).
    pub fn of(text: &[u8]) -> Self {
        match text {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"POST" => Method::Post,
            b"PUT" => Method::Put,
            b"DELETE" => Method::Delete,
            b"OPTIONS" => Method::Options,
            b"TRACE" => Method::Trace,
            b"PATCH" => Method::Patch,
            _ => Method::Other,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'b> {
    pub method: Method,
    pub method_text: &'b [u8],
    /// As it came: `/path?query`, `*`, or `http://host/path?query`.
    pub target: &'b [u8],
    /// What of it a server gets: `/path?query` or `*`; `?query` where the absolute form has no path.
    pub path: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: BodyLength,
    /// The client waits for a 100 before it sends the body.
    pub expect_continue: bool,
    /// Host and port the request is for. `None`: its version does not ask for one, and there is none.
    pub host: Option<&'b [u8]>,
    /// The target is in absolute form, so `host` is the target's and the Host field counts for nothing (RFC 9112 §3.2.2).
    pub absolute: bool,
}

impl<'b> RequestHead<'b> {
    /// `path` without its query, and the query.
    #[inline(always)]
    pub fn path_and_query(&self) -> (&'b [u8], &'b [u8]) {
        match place_of(b'?', self.path) {
            None => (self.path, b""),
            Some(at) => (&self.path[..at], &self.path[at + 1..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_case_sensitive() {
        for (text, method) in [
            ("GET", Method::Get),
            ("HEAD", Method::Head),
            ("POST", Method::Post),
            ("PUT", Method::Put),
            ("DELETE", Method::Delete),
            ("OPTIONS", Method::Options),
            ("TRACE", Method::Trace),
            ("PATCH", Method::Patch),
            ("get", Method::Other),
        ] {
            assert_eq!(Method::of(text.as_bytes()), method);
        }
    }
}
