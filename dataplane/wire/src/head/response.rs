//! What a server answers, whatever protocol brought it.

use super::{BodyLength, Fields, Version};

#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'b> {
    /// 100–599 without 101. A 1xx head is followed by another head.
    pub status: u16,
    pub reason: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: BodyLength,
}
