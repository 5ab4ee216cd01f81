//! What a server answers, whatever protocol brought it.

use super::{BodyLength, Fields, Method, Version};
use crate::Error;

#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'b> {
    /// 100–599 without 101. A 1xx head is followed by another head.
    pub status: u16,
    pub reason: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: BodyLength,
}

impl ResponseHead<'_> {
    /// Whether content may follow the head in an answer to a request with `method`.
    pub fn may_have_content(&self, method: Method) -> bool {
        !has_no_content(self.status, method)
    }
}

pub(crate) fn check_status(status: u16) -> Result<(), Error> {
    match status {
        // We never ask for an upgrade. To accept one would give the client a connection that we do not understand any
        // more.
        101 => Err(Error::SwitchedProtocols),
        100..=599 => Ok(()),
        _ => Err(Error::Status),
    }
}

/// Whether nothing follows the head, whatever its fields say (RFC 9110 §6.4.1).
pub(crate) fn has_no_content(status: u16, method: Method) -> bool {
    method == Method::Head || matches!(status, 100..=199 | 204 | 304)
}
