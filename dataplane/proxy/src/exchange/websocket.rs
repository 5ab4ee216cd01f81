//! The answer to a request that asks its server to switch to WebSocket.

use weir_policy::{Besides, ClientFacts, Reply};
use weir_wire::{
    head::{ResponseHead, SWITCHING_PROTOCOLS},
    http1::Hop,
};

use crate::{buf::Buf, error::Error, exchange::Exchange, head, io::Io};

const NOT_UNDERSTOOD: Error = Error::Response(weir_wire::Error::WebSocketAccept);

impl Exchange {
    /// Writes the answer of a server that switches; `None`: an answer like any other.
    pub fn write_switch<I: Io>(
        &self,
        io: &mut I,
        head: &ResponseHead<'_>,
        client: &ClientFacts,
        reply: Reply<'_>,
    ) -> Result<Option<Buf>, Error> {
        let (http, on_stream) = (self.http()?, self.client.is_stream());
        let Some(key) = self.websocket() else { return Ok(None) };
        match head.status {
            SWITCHING_PROTOCOLS if !key.is_accepted_by(head) => return Err(NOT_UNDERSTOOD),
            // On a stream it would mean that the tunnel stands.
            200..=299 if on_stream => return Err(NOT_UNDERSTOOD),
            SWITCHING_PROTOCOLS => {}
            _ => return Ok(None),
        }
        let besides = Besides { asked_host: b"", prefix: self.prefix() };
        let bytes_max = http.response_bytes_max(head, reply) + besides.bytes_max(head);
        let of = (reply, besides);
        let written = match on_stream {
            true => head::write_block(io, bytes_max, |out| http.write_switch(head, client, of, true, out)),
            false => head::write_text(io, bytes_max, Hop::websocket(), |out| {
                http.write_switch(head, client, of, false, out);
            }),
        };
        written.map(Some)
    }
}
