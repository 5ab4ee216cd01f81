//! WebSocket: a request asks its server to switch, and if the server does, both connections become a tunnel. What the client
//! sends before that waits in its inbox, which is not read further.

use weir_telemetry::Happening;

use crate::{
    client::Stage,
    exchange::table::ExchangeId,
    io::{Conn, Io},
    proxy::{Parties, Proxy},
    server::{State, Work},
    tunnel::Tunnel,
};

impl Proxy {
    /// Whether a client has asked for WebSocket, or speaks it.
    pub(crate) fn is_for_websocket(&self, conn: Conn) -> bool {
        let Some(client) = self.clients.peek(conn) else { return false };
        let exchange = client.exchange().and_then(|id| self.exchanges.peek(id));
        client.is_tunnel() || exchange.is_some_and(|exchange| exchange.websocket().is_some())
    }

    /// The server has switched, and its client knows it: the request is over.
    pub(crate) fn begin_websocket<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        self.note_switch(io, id);
        let Ok(Parties { exchange, client, server, core }) = self.parties(id) else { return };
        exchange.has_succeeded(io.now());
        let (conn, lost) = (exchange.client, server.lost());
        core.counters.note(Happening::WebSocketOpened { service: client.service.id });
        client.rest(io, false);
        client.stage = Stage::Tunnel(Box::new(Tunnel::of_websocket(server.connection.conn(), io.now())));
        if let Some(stream) = client.connection.stream() {
            stream.is_tunnel = true;
        }
        server.state = State::Busy(Work::Tunnel(conn));
        server.connection.line.expect(io, None);
        self.exchanges.remove(id);
        match lost {
            None => self.begin_tunnel(io, conn),
            Some(error) => self.fail(io, conn, error),
        }
    }
}
