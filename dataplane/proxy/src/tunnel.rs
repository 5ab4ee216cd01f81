//! A tunnel: what a client sends goes to one server as it comes, and back, until both have ended. Nothing is read out of
//! it, and either may speak first, so the server is found as soon as the client is there.
//!
//! An end is passed on as an end of that direction, a reset as a reset, each behind what came before it. What comes in
//! bulk goes on in the driver, past us; a direction that waits for its receiver is not read.

use std::{net::SocketAddr, time::Duration};

use weir_balance::HashKey;
use weir_policy::ProxyProtocol;
use weir_snapshot::{Application, VirtualService};

use crate::{
    client::{Client, Stage},
    io::{Close, Conn, Io, Time},
    pool::balance_key,
    proxy::{Core, Proxy},
    rescue::Error,
    server::Server,
};

pub(crate) struct Tunnel {
    key: HashKey,
    /// Dense ids of servers that could not be connected to.
    pub tried: Vec<u32>,
    /// Being connected to, or connected.
    pub server: Option<Conn>,
    /// When the last bytes crossed.
    pub active_at: Time,
    /// Which directions bring as much as a read takes.
    up_in_bulk: bool,
    down_in_bulk: bool,
}

impl Tunnel {
    pub fn new(service: &VirtualService, peer: SocketAddr, now: Time) -> Self {
        let key = service.pool.as_ref().map(|pool| balance_key(pool, None, peer)).unwrap_or_default();
        Self { key, tried: Vec::new(), server: None, active_at: now, up_in_bulk: false, down_in_bulk: false }
    }
}

// Finding a server.
impl Proxy {
    /// Connects to a server. `otherwise` is what went wrong before, and is what ends the client when none is left.
    pub(crate) fn open_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn, otherwise: Error) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(pool) = client.service.pool.clone() else { return self.fail(io, conn, Error::NoPool) };
        let Some(tunnel) = client.tunnel() else { return };
        let again = tunnel.tried.len() < self.core.limits.server_tries;
        let place = if again { self.core.pools.pick(io.now(), &pool, tunnel.key, &tunnel.tried) } else { None };
        let Some(place) = place else { return self.fail(io, conn, otherwise) };
        let server = io.connect(place.address);
        tunnel.server = Some(server);
        self.await_connect(io, Server::new(server, place, pool, conn, io.now()));
    }

    /// Tells a server that stands whose connection it is, where the profile wants that: before TLS and anything else.
    pub(crate) fn introduce<I: Io>(&mut self, io: &mut I, server: Conn, client: Conn) {
        let (Some(server), Some(client)) = (self.servers.find(server), self.clients.find(client)) else { return };
        if let Application::L4(profile) = &client.service.application
            && let Some(version) = profile.proxy_protocol
        {
            let mut greeting = io.buffer_for(ProxyProtocol::BYTES_MAX);
            let bytes = version.write(client.peer, client.facts.listener(), greeting.room());
            greeting.filled(bytes);
            server.line.send(io, greeting);
        }
    }

    /// The server is there: from now on bytes cross.
    pub(crate) fn begin_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(ends) = self.ends(conn) else { return };
        ends.client.note_crossing(io.now());
        ends.client.line.expect(io, ends.client.quiet_left(io.now()));
        self.carry(io, conn);
    }
}

/// Both ends of a tunnel that stands.
struct Ends<'p> {
    client: &'p mut Client,
    server: &'p mut Server,
    core: &'p mut Core,
}

// Carrying.
impl Proxy {
    fn ends(&mut self, conn: Conn) -> Option<Ends<'_>> {
        let client = self.clients.find(conn)?;
        let server = self.servers.find(client.tunnel()?.server?)?;
        Some(Ends { client, server, core: &mut self.core }).filter(|ends| ends.server.is_busy())
    }

    /// Passes on what has come from either end, as far as the other takes it, and that an end has come.
    pub(crate) fn carry<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(mut ends) = self.ends(conn) else { return self.await_server(io, conn) };
        ends.carry_up(io);
        ends.carry_down(io);
        ends.client.note_crossing(io.now());
        ends.client.report_bytes(ends.core);
        let up_is_over = ends.client.ended && ends.client.inbox.is_empty();
        let down_is_over = ends.server.ended && ends.server.inbox.is_empty();
        if up_is_over {
            ends.server.finish(io, &mut ends.core.scratch, ends.client.has_ended_for_good());
        }
        if down_is_over {
            ends.client.finish(io, &mut ends.core.scratch, ends.server.has_ended_for_good());
        }
        if up_is_over && down_is_over {
            self.close_client(io, conn, Close::Flush);
        }
    }

    /// Whether bytes are on their way through its tunnel.
    pub(crate) fn carries<I: Io>(&mut self, io: &I, conn: Conn) -> bool {
        self.ends(conn).is_some_and(|Ends { client, server, .. }| {
            let waiting = !client.inbox.is_empty() || !server.inbox.is_empty();
            waiting || client.has_unsent(io) || server.has_unsent(io)
        })
    }

    /// Ends it before its time: what has come from either end still goes to the other, and then both see a reset.
    pub(crate) fn cut_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(Ends { client, server, core }) = self.ends(conn) {
            while let Some(piece) = client.inbox.pop() {
                server.deliver(io, &mut core.unflushed, piece);
            }
            while let Some(piece) = server.inbox.pop() {
                client.deliver(io, &mut core.unflushed, piece);
            }
        }
        self.close_client(io, conn, Close::Cut);
    }

    /// Whoever speaks before the server is there is heard then.
    fn await_server<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        client.line.read(io, client.inbox.is_empty());
        if client.tunnel().is_some_and(|tunnel| tunnel.server.is_none()) {
            self.open_tunnel(io, conn, Error::NoServer);
        }
    }

    /// Lets the driver move what comes from either end. At the end of a batch, when nothing of it is on its way to us.
    pub(crate) fn relay_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(ends) = self.ends(conn) else { return };
        let (client, server) = (ends.client.line.conn, ends.server.line.conn);
        let (down_is_empty, up_is_empty) = (ends.server.inbox.is_empty(), ends.client.inbox.is_empty());
        let Some(tunnel) = ends.client.tunnel() else { return };
        if std::mem::take(&mut tunnel.up_in_bulk) && up_is_empty {
            io.relay(client, server, u64::MAX);
        }
        if std::mem::take(&mut tunnel.down_in_bulk) && down_is_empty {
            io.relay(server, client, u64::MAX);
        }
    }
}

impl Ends<'_> {
    fn carry_up<I: Io>(&mut self, io: &mut I) {
        let mut in_bulk = false;
        while !self.server.line.is_full(io, &self.core.room) {
            let Some(piece) = self.client.inbox.pop() else { break };
            in_bulk |= piece.len() >= self.core.limits.tunnel_relay_bytes;
            self.server.deliver(io, &mut self.core.unflushed, piece);
        }
        self.client.line.read(io, self.client.inbox.is_empty());
        self.relay_later(in_bulk, |tunnel| &mut tunnel.up_in_bulk);
    }

    fn carry_down<I: Io>(&mut self, io: &mut I) {
        let mut in_bulk = false;
        while !self.client.line.is_full(io, &self.core.room) {
            let Some(piece) = self.server.inbox.pop() else { break };
            in_bulk |= piece.len() >= self.core.limits.tunnel_relay_bytes;
            self.client.deliver(io, &mut self.core.unflushed, piece);
        }
        self.server.line.read(io, self.server.inbox.is_empty());
        self.relay_later(in_bulk, |tunnel| &mut tunnel.down_in_bulk);
    }

    fn relay_later(&mut self, in_bulk: bool, direction: impl FnOnce(&mut Tunnel) -> &mut bool) {
        if in_bulk
            && self.client.is_plain()
            && self.server.is_plain()
            && let Some(tunnel) = self.client.tunnel()
        {
            *direction(tunnel) = true;
            self.core.in_bulk.push(self.client.line.conn);
        }
    }
}

impl Client {
    /// So many bytes have crossed its tunnel past us.
    pub fn crossed<I: Io>(&mut self, io: &I, core: &mut Core, bytes: u64) {
        if bytes > 0 {
            self.note_crossing(io.now());
            self.report_bytes(core);
        }
    }

    /// Bytes have crossed its tunnel just now.
    pub fn note_crossing(&mut self, now: Time) {
        if let Some(tunnel) = self.tunnel() {
            tunnel.active_at = now;
        }
    }

    /// How much longer nothing may cross its tunnel; `None`: for ever, the kernel finds out who is gone.
    pub fn quiet_left(&self, now: Time) -> Option<Duration> {
        let Stage::Tunnel(tunnel) = &self.stage else { return None };
        let tcp = &self.service.tcp;
        let idle = tcp.idle_timeout.filter(|_| !tcp.keepalive_probes)?;
        Some(idle.saturating_sub(now.since(tunnel.active_at)))
    }
}
