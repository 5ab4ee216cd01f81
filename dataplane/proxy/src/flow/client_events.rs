//! Events of clients' connections: accepted, input, room for output, deadline, end.

use std::net::SocketAddr;

use weir_telemetry::{HandshakeFault, record::Kind};

use crate::{
    buf::Buf,
    client::{Client, Stage, patience::Expiry},
    error::Error,
    exchange::Exchange,
    flow::rescue::remedy,
    io::{Close, Conn, Io, TransportAddress},
    proxy::Proxy,
    tunnel::Standing,
};

impl Proxy {
    pub(crate) fn accepted<I: Io>(&mut self, io: &mut I, conn: Conn, listener: TransportAddress, peer: SocketAddr) {
        let may_come = self.make_place(io, listener, peer);
        let client = match may_come {
            true => Client::accept(io, &mut self.core, conn, listener, peer),
            false => Err(None),
        };
        match client {
            Ok(client) => {
                let client = self.clients.insert(conn, client);
                if client.service.scripts.is_some() && !matches!(client.stage, Stage::Introduction) {
                    return self.greet(io, conn);
                }
                if client.is_tunnel() {
                    self.carry(io, conn);
                }
            }
            Err(None) => io.close(conn, Close::Abort),
            Err(Some(error)) => self.turn_away(io, conn, (listener, peer), error),
        }
    }

    /// A client is not let in.
    #[cold]
    fn turn_away<I: Io>(&mut self, io: &mut I, conn: Conn, ends: (TransportAddress, SocketAddr), error: Error) {
        let ((listener, peer), remedy) = (ends, remedy(error));
        if let Some(service) = self.core.snapshot.listener(listener).map(|found| found.service.clone()) {
            self.core.count_failure(service.id, remedy.cause);
            self.core.record_refusal(io, Kind::Connection, &service, (listener.address, peer), remedy.cause);
        }
        io.close(conn, remedy.close);
    }

    pub(crate) fn client_data<I: Io>(&mut self, io: &mut I, conn: Conn, buf: Buf) {
        let Ok(client) = self.clients.live(conn) else { return };
        match client.receive(io, &mut self.core, buf) {
            Ok(true) => {
                self.client_ended(io, conn);
                self.proceed(io, conn);
            }
            Ok(false) => self.proceed(io, conn),
            Err(error) => self.fail(io, conn, error),
        }
    }

    pub(crate) fn client_eof<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        if client.is_amid_handshake() {
            return self.fail(io, conn, Error::ClientTls(HandshakeFault::Closed));
        }
        self.client_ended(io, conn);
        self.wait_with_ended(io, conn);
        self.proceed(io, conn);
    }

    /// The client has ended its side.
    pub(crate) fn client_ended<I: Io>(&mut self, io: &I, conn: Conn) {
        let Some((client, exchange)) = self.client_and_exchange(conn) else { return };
        client.connection.line.ended = true;
        if let Some(exchange) = exchange {
            exchange.leave(io.now());
        }
    }

    /// A client has ended while it is not read. If it has a request, the time that it may wait for the response starts
    /// now. A tunnel passes the end on later, behind the bytes before it.
    pub(crate) fn client_leaving<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some((_, Some(exchange))) = self.client_and_exchange(conn) {
            exchange.leave(io.now());
            self.wait_with_ended(io, conn);
            self.proceed(io, conn);
        }
        self.limit_tunnel(io, conn, Standing::HalfClosed);
    }

    /// Sets the deadline of a client that has ended and waits for its response.
    fn wait_with_ended<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some((client, Some(exchange))) = self.client_and_exchange(conn)
            && !exchange.awaits_body()
        {
            client.await_answer(io, exchange);
        }
    }

    pub(crate) fn client_drained<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        if let Stage::Http2(_) = client.stage {
            return self.carrier_drained(io, conn);
        }
        let id = client.exchange();
        let mut exchange = id.and_then(|id| self.exchanges.find(id));
        client.drained(io, &self.core, exchange.as_deref_mut());
        let is_answered = exchange.is_some_and(|exchange| !exchange.is_waiting());
        match id {
            Some(id) if is_answered => {
                let server = self.exchanges.peek(id).and_then(Exchange::server);
                self.respond(io, conn, id);
                server
                    .filter(|server| server.is_stream())
                    .into_iter()
                    .for_each(|server| self.return_server_credit(server));
            }
            Some(_) => {}
            None => self.proceed(io, conn),
        }
    }

    /// A client that receives nothing more is treated as gone. A tunnel still delivers the client's bytes to the
    /// server.
    pub(crate) fn client_broken<I: Io>(&mut self, io: &mut I, conn: Conn) {
        match self.clients.find(conn).is_some_and(|client| client.is_tunnel()) {
            true => {
                self.limit_tunnel(io, conn, Standing::Broken);
                self.client_drained(io, conn);
            }
            false => self.client_gone(io, conn),
        }
    }

    pub(crate) fn client_deadline<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        if let Stage::Http2(_) = client.stage {
            return self.carrier_deadline(io, conn);
        }
        if let Some(id) = client.exchange()
            && self.exchanges.peek(id).is_some_and(Exchange::is_queued)
        {
            if client.connection.line.has_expired(io) {
                self.wait_for_no_turn(io, id);
            }
            return;
        }
        let waits = client.exchange().filter(|id| self.exchanges.peek(*id).is_some_and(Exchange::awaits_stored));
        if let Some(id) = waits {
            if client.connection.line.has_expired(io) {
                self.wait_no_longer(io, id);
            }
            return;
        }
        let exchange = client.exchange().and_then(|id| self.exchanges.find(id));
        match client.expired(io, &self.core, exchange.as_deref()) {
            Expiry::Slow => {}
            Expiry::Idle if self.outlasts_silence(io, conn) => {}
            Expiry::Idle if self.carries(io, conn) => self.cut_tunnel(io, conn),
            Expiry::Idle => self.close_client(io, conn, Close::Flush),
            Expiry::Failed(error) => self.fail(io, conn, error),
        }
    }

    pub(crate) fn client_gone<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        match client.stage {
            _ if client.is_amid_handshake() => self.fail(io, conn, Error::ClientTls(HandshakeFault::Closed)),
            Stage::Exchange(_) | Stage::Tunnel(_) => self.fail(io, conn, Error::ClientAborted),
            Stage::Http2(_) => self.close_client(io, conn, Close::Abort),
            Stage::Introduction
            | Stage::Hello(_)
            | Stage::Handshake
            | Stage::FirstBytes { .. }
            | Stage::Idle
            | Stage::Head => self.close_client(io, conn, Close::Abort),
        }
    }

    /// A client, if its session still exists, and its current exchange.
    fn client_and_exchange(&mut self, conn: Conn) -> Option<(&mut Client, Option<&mut Exchange>)> {
        let client = self.clients.find(conn)?;
        let exchange = client.exchange().and_then(|id| self.exchanges.find(id));
        Some((client, exchange))
    }
}
