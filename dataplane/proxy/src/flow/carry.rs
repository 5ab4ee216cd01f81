//! A tunnel: what a client sends goes to one server as it is, and back, until both sides have ended. Nothing is parsed.
//! Either side may send first, so the proxy connects to a server as soon as the client is accepted.
//!
//! Each direction passes on its own end, and a reset passes on as a reset, both behind the bytes that came before. The
//! driver relays bulk data without the proxy. A direction whose receiver is full is not read.

use weir_policy::ProxyProtocol;
use weir_snapshot::Application;

use crate::{
    client::{Client, Stage, hosted::lacks_pool},
    core::Core,
    error::Error,
    io::{After, Close, Conn, Io, Time},
    proxy::Proxy,
    reach::Reach,
    server::{Server, Work},
    tunnel::{Standing, Tunnel},
};

// Connecting to a server.
impl Proxy {
    /// Connects to a server. `otherwise` is the error of the last try; it ends the client if no server is left.
    pub(crate) fn open_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn, otherwise: Error) {
        let Ok(client) = self.clients.live(conn) else { return };
        let aim = client.aim();
        if aim.pools().next().is_none() {
            let error = lacks_pool(&client.service);
            return self.fail(io, conn, error);
        }
        let Some(tunnel) = client.tunnel() else { return };
        if tunnel.tried.len() >= self.core.limits.server_tries {
            return self.fail(io, conn, otherwise);
        }
        let avoided = tunnel.tried.clone();
        let Some((pool, place)) = self.place_of_tunnel(io, conn, &avoided) else {
            let otherwise = self.without_server(io.now(), conn, &avoided, otherwise);
            return self.fail(io, conn, otherwise);
        };
        let Some(client) = self.clients.find(conn) else { return self.core.pools.end(place) };
        let (at, reach) = match pool.uses_service_port.then(|| Reach::of(&pool, None, &client.facts)).flatten() {
            None => (place.address, None),
            Some(reach) => (reach.address(place.address), Some(reach)),
        };
        let Some(tunnel) = client.tunnel() else { return self.core.pools.end(place) };
        let server = io.connect(at);
        tunnel.server = Some(server);
        let mut server = Server::new(server, place, pool, Work::Tunnel(conn), io.now());
        server.reach = reach;
        self.await_connect(io, server);
    }

    /// Sends a PROXY header on a new server connection, if the profile wants one: before TLS and anything else.
    pub(crate) fn introduce<I: Io>(&mut self, io: &mut I, server: Conn, client: Conn) {
        let (Some(server), Some(client)) = (self.servers.find(server), self.clients.find(client)) else { return };
        if let Application::L4(profile) = &client.service.application
            && let Some(version) = profile.proxy_protocol
        {
            let tlvs = if version == ProxyProtocol::V2 { client.tlvs_for_server() } else { Vec::new() };
            let mut greeting = io.buffer_for(ProxyProtocol::BYTES_MAX + tlvs.len());
            let bytes = version.write(client.peer, client.destination(), &tlvs, greeting.room());
            greeting.filled(bytes);
            server.connection.line.send(io, greeting);
        }
    }

    /// The server's connection is ready: bytes start to cross.
    pub(crate) fn begin_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(mut ends) = self.ends(conn) else { return };
        ends.client.note_crossing(io.now());
        if let Some(tunnel) = ends.client.tunnel() {
            tunnel.connected_at.get_or_insert(io.now());
        }
        ends.client.await_crossing(io);
        if ends.client.service.scripts.is_some() {
            ends.begin_scripted(io.now(), conn);
        }
        self.carry(io, conn);
    }
}

/// Both ends of an established tunnel.
pub(super) struct Ends<'p> {
    pub client: &'p mut Client,
    pub server: &'p mut Server,
    pub core: &'p mut Core,
}

// Copying bytes.
impl Proxy {
    fn ends(&mut self, conn: Conn) -> Option<Ends<'_>> {
        let client = self.clients.find(conn)?;
        let server = self.servers.find(client.tunnel()?.server?)?;
        Some(Ends { client, server, core: &mut self.core }).filter(|ends| ends.server.is_busy())
    }

    /// Passes on what has arrived from either end, as far as the other end takes it, and then the ends of both
    /// directions.
    pub(crate) fn carry<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(mut ends) = self.ends(conn) else { return self.await_server(io, conn) };
        ends.carry_up(io);
        ends.carry_down(io);
        ends.client.note_crossing(io.now());
        ends.client.report_bytes(ends.core);
        ends.server.report_bytes(ends.core);
        let Core { scratch, unflushed, .. } = ends.core;
        let (up, down) = (&mut ends.client.connection, &mut ends.server.connection);
        let (up_is_over, down_is_over) = (up.is_exhausted(), down.is_exhausted());
        if up_is_over {
            down.end_output(io, scratch, unflushed, up.has_ended_for_good());
        }
        if down_is_over {
            up.end_output(io, scratch, unflushed, down.has_ended_for_good());
        }
        if up_is_over && down_is_over {
            self.close_client(io, conn, Close::Flush);
        } else if up_is_over || down_is_over {
            self.limit_tunnel(io, conn, Standing::HalfClosed);
        }
    }

    /// A tunnel has lost an end: from now on it may be silent for the idle timeout at most.
    pub(crate) fn limit_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn, standing: Standing) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(tunnel) = client.tunnel().filter(|tunnel| tunnel.standing < standing) else { return };
        tunnel.standing = standing;
        tunnel.active_at = io.now();
        client.await_crossing(io);
    }

    /// Whether a tunnel stays that was silent for the idle timeout. If so, that begins again.
    pub(crate) fn outlasts_silence<I: Io>(&mut self, io: &mut I, conn: Conn) -> bool {
        if self.carries(io, conn) {
            return false;
        }
        let Some(client) = self.clients.find(conn) else { return false };
        let Stage::Tunnel(tunnel) = &mut client.stage else { return false };
        let stays = tunnel.is_probed(&client.service);
        if stays {
            tunnel.active_at = io.now();
            client.await_crossing(io);
        }
        stays
    }

    /// Whether the client's tunnel holds bytes that have not been sent yet.
    pub(crate) fn carries<I: Io>(&mut self, io: &I, conn: Conn) -> bool {
        self.ends(conn).is_some_and(|Ends { client, server, .. }| {
            let waiting = !client.connection.inbox.is_empty() || !server.connection.inbox.is_empty();
            waiting || client.connection.has_unsent(io) || server.connection.has_unsent(io)
        })
    }

    /// Ends a tunnel early. What has arrived from either end is still sent to the other; then both see a reset.
    pub(crate) fn cut_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(mut ends) = self.ends(conn) {
            ends.hurry_up(io);
            let Ends { client, server, core } = ends;
            while let Some(piece) = server.connection.inbox.pop() {
                client.count_crossing(io.now(), [0, piece.len() as u64]);
                client.connection.deliver(io, &mut core.unflushed, piece);
            }
        }
        self.close_client(io, conn, Close::Cut);
    }

    /// The connection that carries the client's stream ends. If both ends of the tunnel have ended, that cuts nothing: the
    /// server gets what has come for it, and the end. False: one of them could send more.
    pub(crate) fn complete_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn) -> bool {
        let Some(mut ends) = self.ends(conn) else { return false };
        let is_over = ends.client.connection.line.ended && ends.server.connection.is_exhausted();
        if is_over {
            ends.hurry_up(io);
            self.carry(io, conn);
        }
        is_over
    }

    /// Begins to connect to a server, if that has not happened. The client's first bytes wait in the inbox meanwhile.
    fn await_server<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        client.connection.line.read(io, client.connection.inbox.is_empty());
        match client.tunnel().map(|tunnel| tunnel.server) {
            Some(None) => self.open_tunnel(io, conn, Error::NoServer),
            Some(Some(server)) => self.carry_before_answer(io, conn, server),
            None => {}
        }
    }

    /// Lets the driver relay both directions. Call this at the end of a batch, when no more `Data` of it is pending.
    pub(crate) fn relay_tunnel<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(ends) = self.ends(conn) else { return };
        let (client, server) = (ends.client.connection.line.conn, ends.server.connection.line.conn);
        let (down_is_empty, up_is_empty) =
            (ends.server.connection.inbox.is_empty(), ends.client.connection.inbox.is_empty());
        let Some(tunnel) = ends.client.tunnel() else { return };
        if std::mem::take(&mut tunnel.up_in_bulk) && up_is_empty {
            io.relay(client, server, u64::MAX, After::GoOn);
        }
        if std::mem::take(&mut tunnel.down_in_bulk) && down_is_empty {
            io.relay(server, client, u64::MAX, After::GoOn);
        }
    }
}

impl Ends<'_> {
    /// Passes on all that has come from the client, however much the server has not taken yet.
    fn hurry_up<I: Io>(&mut self, io: &mut I) {
        while let Some(piece) = self.client.connection.inbox.pop() {
            self.client.count_crossing(io.now(), [piece.len() as u64, 0]);
            self.server.connection.deliver(io, &mut self.core.unflushed, piece);
        }
    }

    pub(super) fn carry_up<I: Io>(&mut self, io: &mut I) {
        let (mut in_bulk, mut bytes) = (false, 0);
        while !self.server.connection.line.is_full(io, &self.core.room) {
            let Some(piece) = self.client.connection.inbox.pop() else { break };
            in_bulk |= piece.len() >= self.core.limits.tunnel_relay_bytes;
            bytes += piece.len() as u64;
            self.server.connection.deliver(io, &mut self.core.unflushed, piece);
        }
        self.client.connection.line.read(io, self.client.connection.inbox.is_empty());
        self.relay_later(in_bulk, |tunnel| &mut tunnel.up_in_bulk);
        self.client.count_crossing(io.now(), [bytes, 0]);
    }

    fn carry_down<I: Io>(&mut self, io: &mut I) {
        let (mut in_bulk, mut bytes) = (false, 0);
        while !self.client.connection.line.is_full(io, &self.core.room) {
            let Some(piece) = self.server.connection.inbox.pop() else { break };
            in_bulk |= piece.len() >= self.core.limits.tunnel_relay_bytes;
            bytes += piece.len() as u64;
            self.client.connection.deliver(io, &mut self.core.unflushed, piece);
        }
        self.server.connection.line.read(io, self.server.connection.inbox.is_empty());
        self.relay_later(in_bulk, |tunnel| &mut tunnel.down_in_bulk);
        self.client.count_crossing(io.now(), [0, bytes]);
    }

    fn relay_later(&mut self, in_bulk: bool, direction: impl FnOnce(&mut Tunnel) -> &mut bool) {
        if in_bulk
            && self.client.connection.is_plain()
            && self.server.connection.is_plain()
            && let Some(tunnel) = self.client.tunnel()
        {
            *direction(tunnel) = true;
            self.core.in_bulk.push(self.client.connection.line.conn);
        }
    }
}

// Counting what the driver has relayed.
impl Proxy {
    pub(crate) fn client_relayed<I: Io>(&mut self, io: &I, conn: Conn, bytes: u64) {
        if let Some(Ends { server, core, .. }) = self.ends(conn) {
            server.connection.line.relayed(bytes);
            server.report_bytes(core);
        }
        if let Some(client) = self.clients.find(conn) {
            client.relayed(bytes);
            client.count_crossing(io.now(), [bytes, 0]);
            client.crossed(io, &mut self.core, bytes);
        }
    }

    pub(crate) fn tunnel_relayed_down<I: Io>(&mut self, io: &I, conn: Conn, bytes: u64) {
        if let Some(Ends { server, core, .. }) = self.ends(conn) {
            server.relayed(bytes);
            server.report_bytes(core);
        }
        if let Some(client) = self.clients.find(conn) {
            client.connection.line.relayed(bytes);
            client.count_crossing(io.now(), [0, bytes]);
            client.crossed(io, &mut self.core, bytes);
        }
    }
}

impl Client {
    /// Counts bytes that the driver has relayed through the tunnel.
    fn crossed<I: Io>(&mut self, io: &I, core: &mut Core, bytes: u64) {
        if bytes > 0 {
            self.note_crossing(io.now());
            self.report_bytes(core);
        }
    }

    /// Counts what the tunnel carries, from and to the client.
    fn count_crossing(&mut self, now: Time, [up, down]: [u64; 2]) {
        let Some(tunnel) = self.tunnel() else { return };
        tunnel.up_bytes += up;
        tunnel.down_bytes += down;
        if down > 0 {
            tunnel.answered_at.get_or_insert(now);
        }
    }

    /// Records that bytes have just crossed the tunnel.
    pub(super) fn note_crossing(&mut self, now: Time) {
        if let Some(tunnel) = self.tunnel() {
            tunnel.active_at = now;
        }
    }
}
