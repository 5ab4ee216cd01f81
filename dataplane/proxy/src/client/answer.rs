//! A response that no server gives.

use weir_telemetry::Cause;

use crate::buf::Buf;

/// A response of Weir itself.
pub(crate) struct Answer {
    pub status: u16,
    /// Of the failure that this answers.
    pub cause: Option<Cause>,
    /// With the content behind it, unless the connection needs them apart.
    pub head: Buf,
    pub content: Option<Buf>,
    /// Of a call.
    pub grpc_status: Option<u32>,
    pub keep_alive: bool,
}
