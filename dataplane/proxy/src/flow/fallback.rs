//! HTTP/1.1 for requests that would go on streams, because their server wants that.

use weir_wire::http2::Code;

use crate::{
    error::Error,
    exchange::table::ExchangeId,
    io::{Close, Io},
    proxy::{Parties, Proxy},
};

impl Proxy {
    /// Sends a request by HTTP/1.1, as its server of HTTP/2 wants. Only an idempotent one, because such a server does not say
    /// that it did not process the request (RFC 9113 §8.7). False: it cannot be sent again.
    #[cold]
    pub(crate) fn fall_back<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> bool {
        let Ok(Parties { exchange, server, .. }) = self.parties(id) else { return false };
        if !exchange.method.is_idempotent() || !exchange.begin_again(true) {
            return false;
        }
        exchange.fall_back();
        let (client, stream) = (exchange.client, server.connection.conn());
        self.close_server(io, stream, Close::Abort);
        self.choose_server(io, id, Error::StreamReset(Code::Http11Required));
        self.proceed(io, client);
        true
    }

    /// Has the connection that the exchange has got speak HTTP/1.1, if that is what the exchange needs.
    pub(crate) fn keep_to_http1(&mut self, id: ExchangeId, needs_http1: bool) -> Result<(), Error> {
        let conn = self.exchanges.live(id)?.server();
        if let Some(server) = conn.and_then(|conn| self.servers.find(conn)) {
            server.keeps_to_http1 |= needs_http1;
        }
        Ok(())
    }
}
