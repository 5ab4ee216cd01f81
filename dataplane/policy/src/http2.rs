//! The limits of clients that speak HTTP/2.

/// What clients of HTTP/2 may do on one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Http2 {
    /// Streams at once.
    pub max_streams: u32,
    /// Bytes of a stream that the client may send before they have left to a server.
    pub window_bytes: u32,
    /// Requests; 0: no limit.
    pub max_requests: u32,
    /// Control frames at once; 0: no limit.
    pub control_frames: u32,
    /// Empty DATA frames at once; 0: no limit.
    pub empty_frames: u32,
    /// Bytes of one field of a request; 0: as in HTTP/1.
    pub field_bytes: u32,
}
