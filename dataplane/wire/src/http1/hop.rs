//! What HTTP/1 says of the connection that a message goes out on: whether it stays open (RFC 9112 §9.3), and where the
//! body ends (§6).

use super::{Framing, HeadWriter, Response};
use crate::head::{BodyLength, Version};

/// What a head says of the connection that it goes out on. These lines come behind all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hop {
    connection: Connection,
    chunked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Connection {
    #[default]
    Unsaid,
    KeepAlive,
    Close,
    /// It becomes one of WebSocket.
    WebSocket,
}

const KEEP_ALIVE: &[u8] = b"Connection: keep-alive\r\n";
const CLOSE: &[u8] = b"Connection: close\r\n";
const WEBSOCKET: &[u8] = b"Connection: Upgrade\r\nUpgrade: websocket\r\n";
const CHUNKED: &[u8] = b"Transfer-Encoding: chunked\r\n";

impl Hop {
    /// Bytes of its lines at most.
    pub const BYTES_MAX: usize = KEEP_ALIVE.len() + CHUNKED.len();

    /// Of a request on a connection that stays open, the body framed as it came.
    pub fn to_server(framing: Framing) -> Self {
        Self { connection: Connection::Unsaid, chunked: framing == Framing::Chunked }
    }

    /// Of a response whose body has a length: only what a client of this version would not assume.
    pub fn to_client(version: Version, keep_alive: bool) -> Self {
        match (keep_alive, version) {
            (true, Version::Http11) => Self::default(),
            _ => Self::said(keep_alive),
        }
    }

    /// Of a response to a client whose version may be unknown: the head says in any case whether the connection stays.
    pub fn said(keep_alive: bool) -> Self {
        Self { connection: if keep_alive { Connection::KeepAlive } else { Connection::Close }, chunked: false }
    }

    /// The same, and the head says that the connection stays, although a client of this version would assume that.
    pub fn saying_that_it_stays(self) -> Self {
        Self { connection: Connection::KeepAlive, ..self }
    }

    /// Of a request to switch to WebSocket, and of the answer that does.
    pub fn websocket() -> Self {
        Self { connection: Connection::WebSocket, chunked: false }
    }

    #[inline]
    pub(super) fn write(self, out: &mut HeadWriter<'_>) {
        match self.connection {
            Connection::Unsaid => {}
            Connection::KeepAlive => _ = out.text(KEEP_ALIVE),
            Connection::Close => _ = out.text(CLOSE),
            Connection::WebSocket => _ = out.text(WEBSOCKET),
        }
        if self.chunked {
            out.text(CHUNKED);
        }
    }
}

/// How a server's response goes out to a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    pub body: OutgoingBody,
    /// What the client is told: without it the proxy closes the client's connection behind the body.
    pub keep_alive: bool,
    pub hop: Hop,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutgoingBody {
    /// Byte for byte as the server sends it, framing included.
    AsReceived,
    /// The content alone, ended by closing: the server chunks, an HTTP/1.0 client cannot read that.
    Unchunked,
    /// In chunks: the server ends the content by closing, and the client's connection stays.
    Chunked,
}

impl Outgoing {
    /// To a client of `version`. `keep_alive`: both sides would go on. A 1xx head says nothing about that.
    pub fn of(response: &Response<'_>, version: Version, keep_alive: bool) -> Self {
        let (body, chunked) = match (response.framing, version) {
            (Framing::None | Framing::Length(_), _) => (OutgoingBody::AsReceived, false),
            (Framing::Chunked, Version::Http11) => (OutgoingBody::AsReceived, true),
            (Framing::Chunked, Version::Http10) => (OutgoingBody::Unchunked, false),
            (Framing::UntilClose, Version::Http11) if keep_alive => (OutgoingBody::Chunked, true),
            (Framing::UntilClose, _) => (OutgoingBody::AsReceived, false),
        };
        let ends_by_closing = response.framing.length() == BodyLength::Unknown && !chunked;
        let keep_alive = keep_alive && !ends_by_closing;
        let told = if response.head.status < 200 { Hop::default() } else { Hop::to_client(version, keep_alive) };
        Self { body, keep_alive, hop: Hop { chunked, ..told } }
    }
}
