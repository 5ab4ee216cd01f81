//! The head a client gets for the head a server sent.

use weir_wire::http1::{Overflow, ResponseHead, Version};

use crate::{ClientFacts, HttpProfile};

/// What the response depends on besides the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The client's version.
    pub version: Version,
    /// Both sides would go on: the client asked to, and the proxy has no reason against it.
    pub keep_alive: bool,
}

/// How the response goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    pub head_bytes: usize,
    pub body: OutgoingBody,
    /// What the client was told: without it the proxy closes the client's connection behind the body.
    pub keep_alive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutgoingBody {
    /// Byte for byte as the server sends it, framing included.
    AsReceived,
    /// The content alone, ended by closing: the server chunks, an HTTP/1.0 client cannot read that.
    Unchunked,
}

impl HttpProfile {
    /// Writes the response for the client. A 1xx head (which an HTTP/1.0 client must not get at all) is passed on as it
    /// is apart from hop-by-hop fields, and says nothing about keep-alive.
    pub fn write_response(
        &self,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        reply: Reply,
        out: &mut [u8],
    ) -> Result<Outgoing, Overflow> {
        let _ = (head, client, reply, out);
        todo!()
    }

    /// Room that is enough for [`write_response`](Self::write_response).
    pub fn response_bytes_max(&self, head: &ResponseHead<'_>) -> usize {
        let _ = head;
        todo!()
    }

    /// The lines that each final response to this client carries, for the pages the proxy writes itself.
    pub fn security_lines(&self, client: &ClientFacts) -> &[u8] {
        let _ = client;
        todo!()
    }
}
