//! A connection to a server: which work it carries, and whether other requests may use it.

pub(crate) mod back;
mod http1;
mod http2;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use weir_snapshot::{Pool, ServerTls};
use weir_telemetry::Happening;
use weir_tls::{Progress, ServerName};

use crate::{
    buf::Buf,
    connection::{Connection, channel::Channel},
    core::Core,
    error::Error,
    exchange::table::ExchangeId,
    io::{Conn, Io, Time},
    limits::Limits,
    pool::Place,
    reach::Reach,
    server::back::Back,
};

pub(crate) struct Server {
    pub connection: Connection,
    /// When the connect began.
    pub begun_at: Time,
    pub place: Place,
    /// The pool when the connect began; its timeouts apply as long as the connection lives.
    pub pool: Arc<Pool>,
    pub state: State,
    /// What a round trip to the server has taken at most, in nanoseconds: the connect, or the shortest response since. A
    /// connect takes longer if a packet of it was lost, or if it had to wait for its turn.
    pub rtt_nanos: u64,
    /// How long the connect took, in microseconds.
    pub connect_us: u32,
    /// This end of the connection, if records need it.
    pub local: Option<SocketAddr>,
    /// A version of the pool that has the server, if records need its name: an exchange may have an older one.
    pub naming: Option<Arc<Pool>>,
    /// Bytes received and not reported yet.
    received: u64,
    /// Requests sent on it.
    pub requests: u32,
    /// A request has authenticated it, or a response asked for that: only its client may use it.
    pub binds: bool,
    pub life: Life,
    /// The server has not answered on it yet.
    pub unproven: bool,
    /// Milliseconds to wait for the next byte of a response, if another server has answered the request in vain; 0: as for
    /// others.
    pub retry_timeout_ms: u32,
    /// It was opened for requests by HTTP/1.1, whatever else the server speaks.
    pub keeps_to_http1: bool,
    /// What a request, or a tunnel, has asked of it. Requests that ask something else use other connections.
    pub reach: Option<Box<Reach>>,
    /// Of a connection that carries streams. Boxed, because most carry none.
    pub back: Option<Box<Back>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Connecting(Work),
    /// Connected; the TLS handshake is under way.
    Handshaking(Work),
    /// Carries the work, or will at the end of the batch.
    Busy(Work),
    /// Carries the tunnel of this client, of whose first bytes from the server scripts have not seen enough.
    Answering {
        client: Conn,
    },
    /// Stands in the pool for any request.
    Idle,
    /// Waits for the next request of one client, where connections are not shared.
    Reserved {
        client: Conn,
    },
}

/// How usable a connection to a server is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    Whole,
    /// The server receives nothing more.
    Broken,
    /// The connection ended, with this error. What arrived before must be passed on at once: the handle is dead.
    Lost(Error),
}

/// What a connection to a server is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    Exchange(ExchangeId),
    /// The tunnel of this client.
    Tunnel(Conn),
    /// The streams that it carries.
    Streams,
}

impl Server {
    pub fn new(conn: Conn, place: Place, pool: Arc<Pool>, work: Work, now: Time) -> Self {
        Self::on(Connection::new(conn, Channel::Plain, now), place, pool, work, now)
    }

    pub(super) fn on(connection: Connection, place: Place, pool: Arc<Pool>, work: Work, now: Time) -> Self {
        Self {
            connection,
            begun_at: now,
            place,
            pool,
            state: State::Connecting(work),
            rtt_nanos: 0,
            connect_us: 0,
            local: None,
            naming: None,
            received: 0,
            requests: 0,
            binds: false,
            life: Life::Whole,
            unproven: true,
            retry_timeout_ms: 0,
            keeps_to_http1: false,
            reach: None,
            back: None,
        }
    }

    pub fn is_connected(&self) -> bool {
        !matches!(self.state, State::Connecting(_))
    }

    /// Whether it carries its work, or will at the end of the batch.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Busy(_))
    }

    /// The work that it carries, or was opened for.
    pub fn work(&self) -> Option<Work> {
        match self.state {
            State::Connecting(work) | State::Handshaking(work) | State::Busy(work) => Some(work),
            State::Answering { .. } | State::Idle | State::Reserved { .. } => None,
        }
    }

    /// The error that ended it, if it has ended.
    pub fn lost(&self) -> Option<Error> {
        match self.life {
            Life::Lost(error) => Some(error),
            Life::Whole | Life::Broken => None,
        }
    }

    /// Whether what has come may wait for the client. What came on a stream may wait longer than the stream itself.
    #[inline(always)]
    pub fn lets_wait(&self) -> bool {
        self.lost().is_none() || self.connection.conn().is_stream()
    }

    /// What requests to it have as Host instead of their own.
    pub fn own_host(&self) -> Option<&[u8]> {
        self.pool.server(self.place.server, self.place.position)?.host.as_deref()
    }

    /// What it means for a request that the server has not taken it on this connection, which carries streams.
    pub fn refusal(&self) -> Error {
        let has_taken_none = self.requests == 0 || self.back.as_ref().is_some_and(|back| back.last == Some(0));
        if has_taken_none { Error::ServerRefused } else { Error::ServerLeft }
    }

    /// How long a connect may take before the proxy tries another server.
    pub fn connect_patience(&self, limits: &Limits) -> Option<Duration> {
        let all = self.pool.timeouts.connect;
        match self.pool.balance.watches {
            true => Some(all.map_or(limits.connect_patience, |all| all.min(limits.connect_patience))),
            false => all,
        }
    }

    /// Whether a client that left had waited long for this connect. Impatient clients always leave before the deadline,
    /// so without this a dead server would never become suspect.
    pub fn keeps_waiting(&self, now: Time, limits: &Limits) -> bool {
        !self.is_connected() && now.since(self.begun_at) >= limits.connect_patience / 2
    }

    /// How much longer the connect may take; `None`: without limit.
    pub fn connect_left(&self, now: Time) -> Option<Duration> {
        self.pool.timeouts.connect.map(|all| all.saturating_sub(now.since(self.begun_at)))
    }

    /// The connection is established: begins TLS if the pool uses it.
    pub fn begin_handshake<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>) -> Result<(), Error> {
        let is_plain = || self.reach.as_ref().is_some_and(|reach| reach.is_plain);
        if let Some(tls) = self.pool.tls.as_ref().filter(|_| !is_plain()) {
            let config = match self.state {
                State::Handshaking(Work::Tunnel(_)) => &tls.without_alpn,
                _ if self.keeps_to_http1 => &tls.without_alpn,
                _ => &tls.config,
            };
            let config = config.towards(self.place.server);
            let name = self.name(tls);
            let channel = Channel::connect(io, &mut self.connection.line, &config, &name, scratch);
            self.connection.channel = channel.map_err(|_| Error::ServerTls)?;
        }
        Ok(())
    }

    fn name(&self, tls: &ServerTls) -> ServerName {
        let server = self.pool.server(self.place.server, self.place.position);
        let hostname = server.and_then(|server| server.hostname.as_ref());
        let given = self.reach.as_ref().and_then(|reach| reach.name.as_ref()).or(tls.fixed_name()).or(hostname);
        given.cloned().unwrap_or_else(|| self.place.address.ip().into())
    }

    /// Takes input.
    pub fn receive<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, buf: Buf) -> Result<Progress, Error> {
        self.received += buf.len() as u64;
        self.connection.receive(io, scratch, buf).map_err(|error| match error {
            weir_tls::Error::Untrusted(_) => Error::ServerUntrusted,
            _ => Error::ServerTls,
        })
    }

    /// The driver has relayed this many bytes of the server.
    pub fn relayed(&mut self, bytes: u64) {
        self.received += bytes;
    }

    /// Counts the bytes since the last report.
    #[inline]
    pub fn report_bytes(&mut self, core: &mut Core) {
        let (server, sent) = (self.place.server, self.connection.line.take_sent());
        let received = std::mem::take(&mut self.received);
        if received + sent > 0 {
            core.counters.note(Happening::ServerBytes { server, received, sent });
        }
    }

    /// Waits for the next byte of a response.
    pub fn await_response<I: Io>(&mut self, io: &mut I) {
        let retry = (self.retry_timeout_ms > 0).then(|| Duration::from_millis(self.retry_timeout_ms.into()));
        self.connection.line.expect(io, retry.or(self.pool.timeouts.response));
    }

    /// Whether its age and its number of requests allow another one.
    pub fn has_life_left(&self, now: Time) -> bool {
        let old = self.pool.timeouts.connection_lifetime.is_some_and(|lifetime| now.since(self.begun_at) >= lifetime);
        let spent = self.pool.max_connection_reuse.is_some_and(|most| self.requests >= most);
        !old && !spent
    }
}
