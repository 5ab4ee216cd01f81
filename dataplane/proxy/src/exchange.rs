//! What is known of one request while it lives, and which [`Phase`] it is in. `request` takes it from Waiting to Sending,
//! `response` to Streaming and to its end; whatever fails leaves through `rescue`.

use std::net::{IpAddr, SocketAddr};

use weir_balance::{Algorithm, HashKey};
use weir_snapshot::{HashInput, Pool};
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

/// What a pool that hashes consistently goes by.
pub(crate) fn balance_key(pool: &Pool, head: &RequestHead<'_>, peer: SocketAddr) -> HashKey {
    if pool.balance.algorithm != Algorithm::ConsistentHash {
        return HashKey::default();
    }
    let mut address = [0; 18];
    address[..16].copy_from_slice(&match peer.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    });
    address[16..].copy_from_slice(&peer.port().to_be_bytes());
    match &pool.hash_input {
        HashInput::SourceAddress => HashKey::of(&address[..16]),
        HashInput::SourceAddressAndPort => HashKey::of(&address),
        HashInput::Uri => HashKey::of(head.target),
        HashInput::Header(name) => HashKey::of(head.fields.find(name.as_bytes()).unwrap_or_default()),
    }
}
