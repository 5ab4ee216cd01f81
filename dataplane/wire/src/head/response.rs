//! What a server answers, whatever protocol brought it.

use super::{BodyLength, Fields, Method, Version};
use crate::Error;

#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'b> {
    /// 100–599; 101 only where a switch of protocols was asked for. Any other 1xx head is followed by another head.
    pub status: u16,
    pub reason: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: BodyLength,
}

/// The status of a server that speaks another protocol from the end of the head on.
pub const SWITCHING_PROTOCOLS: u16 = 101;
impl ResponseHead<'_> {
    /// Whether content may follow the head in an answer to a request with `method`.
    pub fn may_have_content(&self, method: Method) -> bool {
        !has_no_content(self.status, method)
    }
}

pub(crate) fn check_status(status: u16) -> Result<(), Error> {
    if (100..=599).contains(&status) { Ok(()) } else { Err(Error::Status) }
}

/// Whether nothing follows the head, whatever its fields say (RFC 9110 §6.4.1).
pub(crate) fn has_no_content(status: u16, method: Method) -> bool {
    method == Method::Head || matches!(status, 100..=199 | 204 | 304)
}
