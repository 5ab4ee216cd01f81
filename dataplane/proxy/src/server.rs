//! A connection to a server: whose request it carries, what has come on it, and whether it may carry another.

use std::{sync::Arc, time::Duration};

use weir_snapshot::{Pool, ServerTls};
use weir_tls::{Progress, ServerName};
use weir_wire::{
    head::{self, FieldTable, Method},
    http1::{self, Parsed, Response},
};

use crate::{
    buf::Buf,
    channel::Channel,
    inbox::Inbox,
    io::{Conn, Io, Time},
    limits::Limits,
    line::Line,
    pool::Place,
    rescue::Error,
};

pub(crate) struct Server {
    pub line: Line,
    /// When the connection began.
    pub begun_at: Time,
    pub place: Place,
    /// As it was when the connection began; its timeouts hold for the connection's life.
    pub pool: Arc<Pool>,
    pub state: State,
    pub inbox: Inbox,
    /// Requests sent on it.
    pub requests: u32,
    /// The server sends no more.
    pub ended: bool,
    /// A request has authenticated it, or it asked for that: it is its client's alone.
    pub binds: bool,
    /// What is sent to it does not arrive any more.
    pub broken: bool,
    /// Why its connection is over. What came before it must be passed on at once: the handle is dead.
    pub lost: Option<Error>,
    /// The server has not answered on it yet.
    pub unproven: bool,
    /// What TLS calls the server because a request asked for it; requests that ask for another go elsewhere.
    pub asked_name: Option<Box<ServerName>>,
    channel: Channel,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Connecting {
        client: Conn,
    },
    /// Connected, and amid the TLS handshake.
    Handshaking {
        client: Conn,
    },
    /// Carries the client's request, or is about to at the end of the batch.
    Busy {
        client: Conn,
    },
    /// Stands in the pool for anybody.
    Idle,
    /// Waits for the next request of one client, where connections are not shared.
    Reserved {
        client: Conn,
    },
}

impl Server {
    pub fn new(conn: Conn, place: Place, pool: Arc<Pool>, client: Conn, now: Time) -> Self {
        Self {
            line: Line::new(conn, now),
            begun_at: now,
            place,
            pool,
            state: State::Connecting { client },
            inbox: Inbox::default(),
            requests: 0,
            ended: false,
            binds: false,
            broken: false,
            lost: None,
            unproven: true,
            asked_name: None,
            channel: Channel::Plain,
        }
    }

    pub fn is_connected(&self) -> bool {
        !matches!(self.state, State::Connecting { .. })
    }

    /// Whether it carries what it was opened for.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Busy { .. })
    }

    /// How long a connect may take before another server is looked for.
    pub fn connect_patience(&self, limits: &Limits) -> Option<Duration> {
        let all = self.pool.timeouts.connect;
        match self.pool.balance.watches {
            true => Some(all.map_or(limits.connect_patience, |all| all.min(limits.connect_patience))),
            false => all,
        }
    }

    /// Whether a client that left has waited in vain for the connection: clients in a hurry are never there when the
    /// patience ends.
    pub fn keeps_waiting(&self, now: Time, limits: &Limits) -> bool {
        !self.is_connected() && now.since(self.begun_at) >= limits.connect_patience / 2
    }

    /// How much longer it may take at all; `None`: for ever.
    pub fn connect_left(&self, now: Time) -> Option<Duration> {
        self.pool.timeouts.connect.map(|all| all.saturating_sub(now.since(self.begun_at)))
    }

    /// The connection stands: TLS begins, where there is any.
    pub fn begin_handshake<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>) -> Result<(), Error> {
        if let Some(tls) = &self.pool.tls {
            let config = tls.config.towards(self.place.server);
            let name = self.name(tls);
            self.channel =
                Channel::connect(io, &mut self.line, &config, &name, scratch).map_err(|_| Error::ServerTls)?;
        }
        Ok(())
    }

    fn name(&self, tls: &ServerTls) -> ServerName {
        let server = self.pool.servers.get(self.place.position).filter(|server| server.id == self.place.server);
        let hostname = server.and_then(|server| server.hostname.as_ref());
        let given = self.asked_name.as_deref().or(tls.fixed_name()).or(hostname);
        given.cloned().unwrap_or_else(|| self.place.address.ip().into())
    }

    /// Takes what has come.
    pub fn receive<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, buf: Buf) -> Result<Progress, Error> {
        let received = self.channel.receive(io, &mut self.line, buf, &mut self.inbox, scratch);
        received.map_err(|error| match error {
            weir_tls::Error::Untrusted(_) => Error::ServerUntrusted,
            _ => Error::ServerTls,
        })
    }

    /// Queues bytes for the server.
    pub fn deliver<I: Io>(&mut self, io: &mut I, unflushed: &mut Vec<Conn>, plain: Buf) {
        self.channel.deliver(io, &mut self.line, unflushed, plain);
    }

    /// The end of a batch.
    pub fn flush<I: Io>(&mut self, io: &mut I) {
        self.channel.flush(io, &mut self.line);
    }

    /// Whether it has not taken all that was queued for it.
    pub fn has_unsent<I: Io>(&self, io: &I) -> bool {
        self.channel.holds_back() || io.queued(self.line.conn) > 0
    }

    /// What TLS says last.
    pub fn say_goodbye<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>) {
        self.channel.close(io, &mut self.line, scratch);
    }

    /// Tells the server that no more comes; it may go on sending. `said`: so has the other side, so that TLS may.
    pub fn finish<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, said: bool) {
        self.channel.finish(io, &mut self.line, scratch, said);
    }

    /// Whether the connection carries bytes as clients send and take them.
    pub fn is_plain(&self) -> bool {
        self.channel.is_plain()
    }

    /// Whether the end of the stream can be taken for the end of a response (RFC 9112 §9.8).
    pub fn has_ended_for_good(&self) -> bool {
        self.ended && self.channel.vouches_for_end()
    }

    /// Expects the next byte of a response.
    pub fn await_response<I: Io>(&mut self, io: &mut I) {
        self.line.expect(io, self.pool.timeouts.response);
    }

    /// Whether another request may be sent on it as far as its age goes.
    pub fn has_life_left(&self, now: Time) -> bool {
        let old = self.pool.timeouts.connection_lifetime.is_some_and(|lifetime| now.since(self.begun_at) >= lifetime);
        let spent = self.pool.max_connection_reuse.is_some_and(|most| self.requests >= most);
        !old && !spent
    }

    /// The next response head, if all of it has come, handed to `take`.
    pub fn response_head<T>(
        &mut self,
        method: Method,
        limits: &head::Limits,
        fields: &mut FieldTable,
        take: impl FnOnce(&Response<'_>) -> T,
    ) -> Result<Option<T>, weir_wire::Error> {
        while let Some(bytes) = self.inbox.head(limits.head_bytes) {
            match http1::response(bytes, method, limits, fields)? {
                Parsed::Partial => {
                    if !self.inbox.keep_for_more() {
                        break;
                    }
                }
                Parsed::Whole(response) => {
                    let (taken, len) = (take(&response), response.len);
                    self.inbox.head_read(len);
                    return Ok(Some(taken));
                }
            }
        }
        Ok(None)
    }
}
