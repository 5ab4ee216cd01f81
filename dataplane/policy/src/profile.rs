//! The compiled profile: what `proxy` reads of it, and what the edits of heads have ready.

use std::{
    fmt::{self, Display, Write},
    time::Duration,
};

use weir_wire::http1::Limits;

use crate::settings::{Error, HttpSettings};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpProfile {
    /// Server connections are shared between clients.
    pub connection_multiplexing: bool,
    pub respond_with_100_continue: bool,
    pub timeouts: Timeouts,
    /// Requests on one client connection; `None`: no limit.
    pub max_keepalive_requests: Option<u32>,
    pub max_body_bytes: Option<u64>,
    pub request_limits: Limits,
    pub response_limits: Limits,
}

/// `None`: no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timeouts {
    /// Accept to the first byte of the first request, TLS handshake included.
    pub post_accept: Option<Duration>,
    /// First byte to the end of the request head.
    pub client_header: Option<Duration>,
    /// Between two reads of a request body.
    pub client_body: Option<Duration>,
    /// Between two requests.
    pub keepalive: Option<Duration>,
}

impl HttpProfile {
    pub fn compile(settings: &HttpSettings) -> Result<Self, Error> {
        let _ = settings;
        todo!()
    }
}

/// A short text of bounded length, kept in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> Text<N> {
    /// What does not fit is left out; callers choose `N` so that all does.
    pub fn of(value: &impl Display) -> Self {
        let mut text = Self { bytes: [0; N], len: 0 };
        let fitted = write!(text, "{value}");
        debug_assert!(fitted.is_ok());
        text
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let start = self.len as usize;
        let room = self.bytes.get_mut(start..start + s.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(s.as_bytes());
        self.len += s.len() as u8;
        Ok(())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bytes().escape_ascii())
    }
}
