//! What happens on connections to servers: they stand, their TLS stands, they bring something, they end. Where that is of
//! no use to anybody any more, the connection goes; where nothing of a request was sent yet, another one gets it.

use std::time::Duration;

use weir_balance::Failure;
use weir_telemetry::Happening;

use crate::{
    buf::Buf,
    client::Client,
    io::{Close, Conn, Gone, Io, Time},
    pool::Place,
    proxy::Proxy,
    rescue::Error,
    server::State,
};

impl Proxy {
    pub(crate) fn connected<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(server) = self.servers.find(conn) else { return };
        let State::Connecting { client } = server.state else { return };
        self.core.counters.note(Happening::ServerConnected { server: server.place.server });
        server.state = State::Handshaking { client };
        self.introduce(io, conn, client);
        let Some(server) = self.servers.find(conn) else { return };
        match server.begin_handshake(io, &mut self.core.scratch) {
            Ok(()) if server.is_plain() => self.server_ready(io, conn),
            Ok(()) => {}
            Err(error) => self.server_lost(io, conn, error),
        }
    }

    /// It can be given what it was opened for.
    fn server_ready<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(server) = self.servers.find(conn) else { return };
        let State::Handshaking { client } = server.state else { return };
        let tunnel = self.clients.find(client).is_some_and(|client| client.tunnel().is_some());
        if !tunnel && !server.inbox.is_empty() {
            // It speaks before it was asked.
            return self.server_lost(io, conn, Error::ServerReset);
        }
        server.state = State::Busy { client };
        server.line.expect(io, None);
        self.core.pools.reached(server.place, io.now());
        match tunnel {
            true => {
                // Who speaks first is not known here: that the connection stands has to do.
                server.unproven = false;
                self.core.pools.proved(server.place);
                self.begin_tunnel(io, client);
            }
            false => self.send_request(io, client),
        }
    }

    pub(crate) fn server_data<I: Io>(&mut self, io: &mut I, conn: Conn, buf: Buf) {
        let Some(server) = self.servers.find(conn) else { return };
        match server.receive(io, &mut self.core.scratch, buf) {
            Ok(progress) => {
                if progress.handshaken {
                    self.server_ready(io, conn);
                }
                self.server_spoke(io, conn);
                if progress.closed {
                    self.server_eof(io, conn);
                }
            }
            Err(error) => self.server_lost(io, conn, error),
        }
    }

    fn server_spoke<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(server) = self.servers.find(conn) else { return };
        // What TLS alone was for has been dealt with; where nobody has asked for anything, the rest belongs to nobody.
        if server.inbox.is_empty() {
            return;
        }
        match server.state {
            State::Idle | State::Reserved { .. } => self.close_server(io, conn, Close::Abort),
            State::Connecting { .. } | State::Handshaking { .. } | State::Busy { .. } => {
                if !self.lose_if_unused(io, conn, Error::ServerReset) {
                    self.download(io, conn);
                }
            }
        }
    }

    pub(crate) fn server_eof<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(server) = self.servers.find(conn) else { return };
        server.ended = true;
        match server.state {
            State::Idle | State::Reserved { .. } => self.close_server(io, conn, Close::Flush),
            State::Handshaking { .. } => self.server_lost(io, conn, Error::ServerTls),
            State::Connecting { .. } | State::Busy { .. } => {
                if !self.lose_if_unused(io, conn, Error::ServerClosed) {
                    self.download(io, conn);
                }
            }
        }
    }

    pub(crate) fn server_drained<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(State::Busy { client }) = self.servers.find(conn).map(|server| server.state) {
            self.proceed(io, client);
        }
    }

    /// The answer to what it was sent may be among what it sent before.
    pub(crate) fn server_broken<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(server) = self.servers.find(conn) {
            server.broken = true;
            self.server_drained(io, conn);
        }
    }

    pub(crate) fn server_deadline<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(server) = self.servers.find(conn) else { return };
        if !server.line.has_expired(io) {
            return;
        }
        let state = server.state;
        match state {
            State::Idle | State::Reserved { .. } => self.close_server(io, conn, Close::Flush),
            State::Connecting { client } if self.waits_on(io, conn, client) => {}
            State::Connecting { .. } | State::Handshaking { .. } => self.server_lost(io, conn, Error::ConnectTimeout),
            State::Busy { client } => {
                self.fail(io, client, Error::ResponseTimeout);
                self.proceed(io, client);
            }
        }
    }

    /// A connect that has taken long may take longer where there is time left and nobody else would take the request.
    fn waits_on<I: Io>(&mut self, io: &mut I, conn: Conn, client: Conn) -> bool {
        let Some(server) = self.servers.find(conn) else { return false };
        let left = server.connect_left(io.now());
        let Some(tried) = self.clients.find(client).and_then(Client::tried) else { return false };
        let is_last = tried.len() + 1 >= self.core.limits.server_tries;
        let waits = left != Some(Duration::ZERO) && (is_last || !self.core.pools.has_other(server.place, tried));
        if waits {
            server.line.expect(io, left);
        }
        waits
    }

    /// A new connection to a server came to nothing. Where that makes it suspect, nothing goes over the idle ones either.
    pub(crate) fn suspect<I: Io>(&mut self, io: &mut I, place: Place, failure: Failure, since: Time) {
        for idle in self.core.pools.failed(place, failure, since, io.now()) {
            self.close_server(io, idle, Close::Flush);
        }
    }

    pub(crate) fn server_gone<I: Io>(&mut self, io: &mut I, conn: Conn, why: Gone) {
        let error = match self.servers.find(conn).map(|server| server.state) {
            Some(State::Connecting { .. }) => Error::Connect(why),
            Some(State::Handshaking { .. }) => Error::ServerTls,
            _ => Error::ServerReset,
        };
        self.server_lost(io, conn, error);
    }

    /// A connection is of no use any more, and so is what was to go over it, unless none of that has been sent.
    fn server_lost<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error) {
        let Some(server) = self.servers.find(conn) else { return };
        match server.state {
            State::Idle | State::Reserved { .. } => self.close_server(io, conn, Close::Abort),
            State::Connecting { client } | State::Handshaking { client } => {
                self.connect_failed(io, conn, client, error);
            }
            State::Busy { client } => {
                if self.lose_if_unused(io, conn, error) {
                    return;
                }
                let Some(server) = self.servers.find(conn) else { return };
                server.lost = Some(error);
                match self.clients.find(client).is_some_and(|client| client.tunnel().is_some()) {
                    true => self.fail(io, client, error),
                    false => self.download(io, conn),
                }
            }
        }
    }

    fn connect_failed<I: Io>(&mut self, io: &mut I, conn: Conn, client: Conn, error: Error) {
        let Some(server) = self.servers.find(conn) else { return };
        let (place, since) = (server.place, server.begun_at);
        // An alert may be on its way that says why.
        let how = if server.is_connected() { Close::Flush } else { Close::Abort };
        self.close_server(io, conn, how);
        self.exclude(client, place, error);
        if error.blames_server() {
            let failure = if error == Error::ConnectTimeout { Failure::Silent } else { Failure::Broken };
            self.suspect(io, place, failure, since);
        }
        self.try_another(io, client, error);
    }

    /// A connection that turns out to be over, or out of step, before its request was sent: another one gets it.
    fn lose_if_unused<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error) -> bool {
        let Some(server) = self.servers.find(conn) else { return false };
        let (State::Busy { client } | State::Connecting { client }) = server.state else { return false };
        let waits = self.clients.find(client).and_then(Client::exchange).is_some_and(|e| e.is_waiting());
        if waits {
            self.close_server(io, conn, Close::Abort);
            self.try_another(io, client, error);
        }
        waits
    }

    /// Ends a connection to a server and whatever the pools know of it.
    pub(crate) fn close_server<I: Io>(&mut self, io: &mut I, conn: Conn, how: Close) {
        let Some(mut server) = self.servers.remove(conn) else { return };
        match how {
            Close::Flush | Close::Linger => server.say_goodbye(io, &mut self.core.scratch),
            Close::Cut => server.flush(io),
            Close::Abort => {}
        }
        match server.state {
            State::Connecting { .. } | State::Handshaking { .. } | State::Busy { .. } => {
                self.core.pools.end(server.place)
            }
            State::Idle => self.core.pools.forget_idle(server.place, conn),
            State::Reserved { client } => {
                if let Some(client) = self.clients.find(client).filter(|client| client.reserved == Some(conn)) {
                    client.reserved = None;
                }
            }
        }
        if server.is_connected() {
            self.core.counters.note(Happening::ServerGone { server: server.place.server });
        }
        io.close(conn, how);
    }
}
