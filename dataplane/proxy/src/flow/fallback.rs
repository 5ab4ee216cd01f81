//! HTTP/1.1 for requests that would go on streams, because their server wants that.

use weir_wire::http2::Code;

use crate::{
    error::Error,
    exchange::table::ExchangeId,
    io::{Close, Conn, Io},
    pool::Place,
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

    /// How many connections a server has, without that of the request that is being placed: those that carry streams, and
    /// one for each other request.
    pub(crate) fn connections_beside(&mut self, place: Place) -> usize {
        let Self { servers, core, .. } = self;
        let requests = core.pools.requests(place).saturating_sub(1);
        let Some(carriers) = core.pools.carriers(place) else { return requests };
        let load = |conn: &Conn| servers.find(*conn)?.back.as_ref().map(|back| back.load as usize);
        let streams: usize = carriers.conns.iter().filter_map(load).sum();
        requests.saturating_sub(streams) + carriers.conns.len()
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
