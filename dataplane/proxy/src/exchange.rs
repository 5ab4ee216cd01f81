//! What is known of one request while it lives, and which [`Phase`] it is in. `request` takes it from Waiting to Sending,
//! `response` to Streaming and to its end; whatever fails leaves through `rescue`.

use weir_balance::HashKey;
use weir_tls::ServerName;
use weir_wire::http1::{Body, Method, RequestHead, Version};

use crate::{buf::Buf, io::Conn, response::Download};

pub(crate) struct Exchange {
    pub method: Method,
    pub version: Version,
    /// The client said that it sends nothing after it.
    pub last: bool,
    /// The client and we would both go on after it.
    pub keep_alive: bool,
    /// The client has its 100 from us.
    continued: bool,
    pub key: HashKey,
    /// The dense id of the server that the client's cookie names.
    pub named: Option<u32>,
    /// What TLS shall call the server; `None`: what it calls it by itself.
    pub asked_name: Option<Box<ServerName>>,
    /// Dense ids of servers that would not take it.
    pub tried: Vec<u32>,
    pub upload: Body,
    pub upload_bytes: u64,
    pub phase: Phase,
}

pub(crate) enum Phase {
    /// No byte has been sent to any server: another one can still be tried. `server` is being connected to, or is an
    /// idle one that gets the request at the end of the batch, if it has not said goodbye by then.
    Waiting { request: Buf, server: Option<Conn> },
    /// The request is on its way, the response has not begun.
    Sending { server: Conn },
    /// The response is on its way.
    Streaming { server: Conn, download: Download },
}

/// How far the bytes at hand brought an exchange.
pub(crate) enum Came {
    /// As far as they go.
    Far,
    /// To its end.
    Through,
}

impl Exchange {
    pub fn new(head: &RequestHead<'_>, keep_alive: bool, continued: bool, key: HashKey, request: Buf) -> Self {
        Self {
            method: head.method,
            version: head.version,
            last: !head.keep_alive,
            keep_alive,
            continued,
            key,
            named: None,
            asked_name: None,
            tried: Vec::new(),
            upload: Body::new(head.body),
            upload_bytes: 0,
            phase: Phase::Waiting { request, server: None },
        }
    }

    pub fn awaits_body(&self) -> bool {
        !self.upload.is_done()
    }

    pub fn server(&self) -> Option<Conn> {
        match self.phase {
            Phase::Waiting { server, .. } => server,
            Phase::Sending { server } | Phase::Streaming { server, .. } => Some(server),
        }
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting { .. })
    }

    pub fn has_begun_response(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. })
    }

    /// Whether the client would see by the framing alone that the rest of its response is missing.
    pub fn shows_cut(&self) -> bool {
        matches!(&self.phase, Phase::Streaming { download, .. } if download.shows_cut())
    }

    pub fn wait_for(&mut self, conn: Option<Conn>) {
        if let Phase::Waiting { server, .. } = &mut self.phase {
            *server = conn;
        }
    }

    /// A 1xx that an HTTP/1.0 client would not understand, or that the client has had from us.
    pub fn keeps_interim_from_client(&self, status: u16) -> bool {
        self.version == Version::Http10 || (status == 100 && self.continued)
    }
}
