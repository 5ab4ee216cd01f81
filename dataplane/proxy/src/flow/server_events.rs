//! Events of connections to servers: connected, handshake complete, input, deadline, end. A connection that fails
//! before any byte of its request was sent is replaced by another.

use std::time::Duration;

use weir_balance::Failure;
use weir_telemetry::Happening;

use crate::{
    buf::Buf,
    error::Error,
    exchange::table::ExchangeId,
    io::{Close, Conn, Gone, Io, Time},
    pool::Place,
    proxy::Proxy,
    server::{Life, State, Work},
    tunnel::Standing,
};

// Beginnings.
impl Proxy {
    pub(crate) fn connected<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        let State::Connecting(work) = server.state else { return };
        let nanos = io.now().nanos.saturating_sub(server.begun_at.nanos);
        self.core.counters.note(Happening::ServerConnected { server: server.place.server, nanos });
        server.rtt_nanos = nanos;
        server.connect_us = u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
        server.state = State::Handshaking(work);
        if self.core.records.is_ready() && self.is_recorded(work) {
            let local = io.local_address(conn);
            if let Some(server) = self.servers.find(conn) {
                server.local = local;
            }
        }
        if let Work::Tunnel(client) = work {
            self.introduce(io, conn, client);
        }
        let Ok(server) = self.servers.live(conn) else { return };
        match server.begin_handshake(io, &mut self.core.scratch) {
            Ok(()) if server.connection.is_plain() => self.server_ready(io, conn),
            Ok(()) => {}
            Err(error) => self.server_lost(io, conn, error),
        }
    }

    /// Whether records of this work may say from where the server was reached. Streams may be of any virtual service.
    fn is_recorded(&self, work: Work) -> bool {
        let service = match work {
            Work::Streams => return true,
            Work::Exchange(id) => self.exchanges.peek(id).map(|exchange| &exchange.service),
            Work::Tunnel(client) => self.clients.peek(client).map(|client| &client.service),
        };
        service.is_some_and(|service| service.analytics.is_some())
    }

    /// A connection can carry the work that it was opened for.
    fn server_ready<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        let State::Handshaking(work) = server.state else { return };
        if matches!(work, Work::Exchange(_)) && !server.connection.inbox.is_empty() {
            // It sends data before any request.
            return self.server_lost(io, conn, Error::ServerReset);
        }
        server.state = State::Busy(work);
        server.connection.line.expect(io, None);
        self.core.pools.reached(server.place, io.now());
        match work {
            Work::Streams => self.carrier_connected(io, conn),
            Work::Exchange(id) if server.speaks_http2() => self.becomes_carrier(io, conn, id),
            Work::Tunnel(client) => {
                // Either side may send first, so an established connection must do as proof.
                server.unproven = false;
                self.core.pools.proved(server.place);
                self.core.pools.is_not_measured(server.place);
                self.begin_tunnel(io, client);
            }
            Work::Exchange(id) => self.send_request(io, id),
        }
    }
}

// Input, and room for output.
impl Proxy {
    pub(crate) fn server_data<I: Io>(&mut self, io: &mut I, conn: Conn, buf: Buf) {
        let Ok(server) = self.servers.live(conn) else { return };
        let progress = match server.receive(io, &mut self.core.scratch, buf) {
            Ok(progress) => progress,
            Err(error) => return self.server_lost(io, conn, error),
        };
        if progress.handshaken {
            self.server_ready(io, conn);
        }
        // Each of these calls may have closed the connection.
        if self.servers.contains(conn) {
            self.server_spoke(io, conn);
        }
        if progress.closed && self.servers.contains(conn) {
            self.server_eof(io, conn);
        }
    }

    fn server_spoke<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        // The inbox is empty if the peer sent only TLS messages. Bytes that no request asked for make the connection
        // useless.
        if server.connection.inbox.is_empty() {
            return;
        }
        match server.work() {
            Some(work) => self.pass_on(io, conn, work, Error::ServerReset),
            None => self.speaks_unasked(io, conn),
        }
    }

    #[cold]
    fn speaks_unasked<I: Io>(&mut self, io: &mut I, conn: Conn) {
        match self.servers.find(conn).map(|server| server.state) {
            Some(State::Answering { client }) => self.hear_answer(io, conn, client),
            _ => self.close_server(io, conn, Close::Abort),
        }
    }

    pub(crate) fn server_eof<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        server.connection.line.ended = true;
        match server.state {
            State::Idle | State::Reserved { .. } => self.close_server(io, conn, Close::Flush),
            State::Handshaking(_) => self.server_lost(io, conn, Error::ServerTls),
            State::Answering { client } => self.hear_answer(io, conn, client),
            State::Connecting(work) | State::Busy(work) => self.pass_on(io, conn, work, Error::ServerClosed),
        }
    }

    /// Passes on what has arrived. `unasked`: the error of a server whose request has not been sent yet.
    fn pass_on<I: Io>(&mut self, io: &mut I, conn: Conn, work: Work, unasked: Error) {
        match work {
            Work::Tunnel(client) => self.carry(io, client),
            Work::Streams => self.carrier_spoke(io, conn, unasked),
            Work::Exchange(id) if self.waits(id) => self.lose_unused(io, conn, work, unasked),
            Work::Exchange(id) => self.respond(io, conn, id),
        }
    }

    /// Whether no byte of the request has been sent.
    fn waits(&mut self, id: ExchangeId) -> bool {
        self.exchanges.live(id).is_ok_and(|exchange| exchange.is_waiting())
    }

    pub(crate) fn server_drained<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let work = match self.servers.find(conn).map(|server| server.state) {
            Some(State::Busy(work)) => work,
            Some(State::Answering { client }) => return self.proceed(io, client),
            _ => return,
        };
        let client = match work {
            Work::Streams => return self.server_carrier_drained(io, conn),
            Work::Exchange(id) => self.exchanges.find(id).map(|exchange| exchange.client),
            Work::Tunnel(client) => Some(client),
        };
        if let Some(client) = client {
            self.proceed(io, client);
        }
    }

    /// A server has ended while it is not read, because its tunnel's client takes nothing.
    pub(crate) fn server_leaving<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(Work::Tunnel(client)) = self.servers.find(conn).and_then(|server| server.work()) {
            self.limit_tunnel(io, client, Standing::HalfClosed);
        }
    }

    /// The driver has relayed this many bytes of the server.
    pub(crate) fn relayed<I: Io>(&mut self, io: &mut I, conn: Conn, bytes: u64) {
        match self.servers.find(conn).map(|server| server.state) {
            Some(State::Busy(Work::Exchange(id))) => self.response_relayed(io, conn, id, bytes),
            Some(State::Busy(Work::Tunnel(client))) => self.tunnel_relayed_down(io, client, bytes),
            _ => {}
        }
    }
}

// Ends.
impl Proxy {
    /// The response may be in what the server sent before its connection broke.
    pub(crate) fn server_broken<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(server) = self.servers.find(conn) {
            server.life = Life::Broken;
            if let Some(Work::Tunnel(client)) = server.work() {
                self.limit_tunnel(io, client, Standing::Broken);
            }
            self.server_drained(io, conn);
        }
    }

    pub(crate) fn server_deadline<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        if !server.connection.line.has_expired(io) {
            return;
        }
        let state = server.state;
        match state {
            State::Idle | State::Reserved { .. } => self.close_server(io, conn, Close::Flush),
            State::Connecting(work) if self.gets_more_time(io, conn, work) => {}
            State::Connecting(_) | State::Handshaking(_) => self.server_lost(io, conn, Error::ConnectTimeout),
            State::Busy(Work::Streams) => self.server_carrier_deadline(io, conn),
            State::Busy(work) => self.work_failed(io, conn, work, Error::ResponseTimeout),
            State::Answering { client } => self.fail(io, client, Error::ResponseTimeout),
        }
    }

    fn work_failed<I: Io>(&mut self, io: &mut I, conn: Conn, work: Work, error: Error) {
        match work {
            Work::Streams => {}
            Work::Tunnel(client) => self.fail(io, client, error),
            Work::Exchange(id) => {
                let Ok(client) = self.exchanges.live(id).map(|exchange| exchange.client) else {
                    return self.abandon(io, conn);
                };
                self.fail_exchange(io, id, error);
                self.proceed(io, client);
            }
        }
    }

    /// Whether a slow connect gets more time: if its timeout has not passed, and no other server would take the
    /// request.
    fn gets_more_time<I: Io>(&mut self, io: &mut I, conn: Conn, work: Work) -> bool {
        let tried = self.tried(work).map_or_else(Vec::new, |tried| tried.clone());
        let Ok(server) = self.servers.live(conn) else { return false };
        let left = server.connect_left(io.now());
        let is_last = tried.len() + 1 >= self.core.limits.server_tries;
        let waits =
            left != Some(Duration::ZERO) && (is_last || !self.core.pools.has_other(server.place, &tried, io.now()));
        if waits {
            server.connection.line.expect(io, left);
        }
        waits
    }

    /// A new connection to a server has failed. If that makes the server suspect, its other connections get no more
    /// requests.
    pub(crate) fn suspect<I: Io>(&mut self, io: &mut I, place: Place, failure: Failure, since: Time) {
        for unused in self.core.pools.failed(place, failure, since, io.now()) {
            self.retire(io, unused);
        }
    }

    pub(crate) fn server_gone<I: Io>(&mut self, io: &mut I, conn: Conn, why: Gone) {
        let error = match self.servers.find(conn).map(|server| server.state) {
            Some(State::Connecting(_)) => Error::Connect(why),
            Some(State::Handshaking(_)) => Error::ServerTls,
            _ => Error::ServerReset,
        };
        self.server_lost(io, conn, error);
    }

    /// A connection is unusable. So is its work, unless no byte of that has been sent.
    pub(crate) fn server_lost<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error) {
        let Ok(server) = self.servers.live(conn) else { return };
        match server.state {
            State::Idle | State::Reserved { .. } => self.close_server(io, conn, Close::Abort),
            State::Connecting(work) | State::Handshaking(work) => self.connect_failed(io, conn, work, error),
            State::Answering { client } => {
                server.life = Life::Lost(error);
                self.fail(io, client, error);
            }
            State::Busy(work) => {
                server.life = Life::Lost(error);
                match work {
                    Work::Streams => self.carrier_lost(io, conn, error, Close::Abort),
                    Work::Tunnel(client) => self.fail(io, client, error),
                    Work::Exchange(_) => self.pass_on(io, conn, work, error),
                }
            }
        }
    }

    fn connect_failed<I: Io>(&mut self, io: &mut I, conn: Conn, work: Work, error: Error) {
        let Ok(server) = self.servers.live(conn) else { return };
        let (place, since) = (server.place, server.begun_at);
        // Flushes, because a TLS alert with the reason may be queued.
        let how = if server.is_connected() { Close::Flush } else { Close::Abort };
        match work {
            Work::Streams => return self.carrier_lost(io, conn, error, how),
            Work::Exchange(id) => self.note_lost_server(id, conn),
            Work::Tunnel(client) => self.note_server_lost_to(client, conn),
        }
        self.close_server(io, conn, how);
        self.exclude(work, place, error);
        if error.blames_server() {
            let failure = if error == Error::ConnectTimeout { Failure::Silent } else { Failure::Broken };
            self.suspect(io, place, failure, since);
        }
        self.try_another(io, work, error);
    }

    /// A connection ended, or sent unexpected data, before its request was sent: the request gets another one.
    fn lose_unused<I: Io>(&mut self, io: &mut I, conn: Conn, work: Work, error: Error) {
        self.close_server(io, conn, Close::Abort);
        self.try_another(io, work, error);
    }
}
