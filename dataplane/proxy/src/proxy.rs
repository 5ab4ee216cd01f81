//! The proxy of one worker. It owns every session, finds sessions by their handles, and applies what concerns all of
//! them: a snapshot, a verdict of the health monitors, a drain. The files of `flow` handle single sessions.

use std::sync::Arc;

use weir_rate::Bucket;
use weir_snapshot::{Snapshot, TransportAddress};
use weir_telemetry::{Counters, Happening};
use weir_wire::head::FieldTable;

use crate::{
    carrier::Departed,
    client::{Client, reserved::Reserved},
    connection::stream::{CLIENT_STREAMS, SERVER_STREAMS},
    core::Core,
    datagrams,
    error::{Error, defect},
    exchange::{
        Exchange,
        table::{ExchangeId, Exchanges},
    },
    io::{Close, Conn, Io, Time},
    limits::Limits,
    records::Batch,
    server::{Server, State, Work},
    sessions::Sessions,
};

/// One worker's proxy.
pub struct Proxy {
    pub(crate) clients: Sessions<Client>,
    pub(crate) servers: Sessions<Server>,
    pub(crate) exchanges: Exchanges<Exchange>,
    pub(crate) core: Core,
    /// For heads of responses that come on streams.
    pub(crate) replies: FieldTable,
    pub(crate) sessions: datagrams::Sessions,
}

/// An exchange and its client.
pub(crate) struct ClientSide<'p> {
    pub exchange: &'p mut Exchange,
    pub client: &'p mut Client,
    pub core: &'p mut Core,
}

/// An exchange and both connections that it stands between.
pub(crate) struct Parties<'p> {
    pub exchange: &'p mut Exchange,
    pub client: &'p mut Client,
    pub server: &'p mut Server,
    pub core: &'p mut Core,
}

// A name of a session may be stale in two places only: in the driver's events, and in the lists that wait for the end
// of a batch. All other names are valid: a client's exchange, a server's work, both connections of an exchange.
impl Proxy {
    #[inline]
    pub(crate) fn client_side(&mut self, id: ExchangeId) -> Result<ClientSide<'_>, Error> {
        let exchange = self.exchanges.live(id)?;
        let client = self.clients.live(exchange.client)?;
        Ok(ClientSide { exchange, client, core: &mut self.core })
    }

    #[inline]
    pub(crate) fn parties(&mut self, id: ExchangeId) -> Result<Parties<'_>, Error> {
        let exchange = self.exchanges.live(id)?;
        let client = self.clients.live(exchange.client)?;
        let server = exchange.server().ok_or_else(|| defect("an exchange has no server yet"))?;
        let server = self.servers.live(server)?;
        Ok(Parties { exchange, client, server, core: &mut self.core })
    }
}

impl Proxy {
    pub fn new(snapshot: Arc<Snapshot>, limits: Limits) -> Self {
        let core = Core::new(snapshot, limits);
        // The driver has two slots per client: one for its connection, and one for a connection to a server.
        let (clients, slots) = (core.limits.clients, 2 * core.limits.clients);
        Self {
            clients: Sessions::with_room(slots, CLIENT_STREAMS),
            servers: Sessions::with_room(slots, SERVER_STREAMS),
            exchanges: Exchanges::with_room(clients),
            sessions: datagrams::Sessions::new(&core.limits),
            core,
            replies: FieldTable::new(),
        }
    }

    /// Serves each client's next request by `snapshot`, which must be the successor of the current one. Clients of
    /// listeners that no longer exist are closed once they are idle; their tunnels are cut at once.
    pub fn replace<I: Io>(&mut self, io: &mut I, snapshot: Arc<Snapshot>) {
        let difference = snapshot.difference();
        let recycled = &difference.recycled;
        recycled.services.iter().for_each(|id| self.core.counters.restart_service(*id));
        recycled.servers.iter().for_each(|id| self.core.counters.restart_server(*id));
        for orphan in self.core.pools.follow(difference, io.now()) {
            self.retire(io, orphan);
        }
        let displaces_clients = difference.displaces_clients;
        difference.services.iter().filter_map(|service| service.gate.as_ref()).for_each(|gate| gate.apply_throughput());
        let buckets_differ = self.buckets_differ(&snapshot);
        self.core.clients_max = self.core.limits.clients_max(snapshot.takes_datagrams());
        self.core.records.follow(&snapshot);
        self.core.scripts.follow(&snapshot);
        difference.pools_gone.iter().for_each(|gone| self.core.counters.restart_pool(gone.id));
        let without_queue = difference.pools.iter().filter(|pool| pool.queue_depth.is_none());
        without_queue.for_each(|pool| self.core.counters.restart_pool(pool.id));
        self.core.queues.are_due = !self.core.queues.are_empty();
        self.core.snapshot = snapshot;
        self.core.epoch = self.core.epoch.wrapping_add(1);
        self.sessions.changes = self.sessions.changes.wrapping_add(1);
        if displaces_clients {
            self.close_displaced(io);
        }
        if buckets_differ {
            self.limit_open_clients(io);
        }
    }

    /// Whether clients of some listener share their throughput with others than before, or have a limit for the first time.
    fn buckets_differ(&self, after: &Snapshot) -> bool {
        fn bucket(snapshot: &Snapshot, at: TransportAddress) -> Option<*const Bucket> {
            Some(Arc::as_ptr(snapshot.listener(at)?.service.bucket()?))
        }
        after.difference().listeners.iter().any(|at| bucket(after, *at) != bucket(&self.core.snapshot, *at))
    }

    /// A limit of throughput, and its end, are for clients that came before it, too.
    fn limit_open_clients<I: Io>(&mut self, io: &mut I) {
        for conn in self.clients.conns() {
            let listener = self.clients.find(conn).and_then(|client| self.core.snapshot.listener(client.listener()));
            if let Some(listener) = listener {
                io.limit(conn, listener.service.bucket());
            }
        }
    }

    fn close_displaced<I: Io>(&mut self, io: &mut I) {
        for conn in self.clients.conns() {
            let Some(client) = self.clients.find(conn).filter(|client| !client.is_served(&self.core)) else { continue };
            if client.is_idle() {
                self.dismiss(io, conn);
            } else if client.is_tunnel() {
                self.cut_tunnel(io, conn);
            } else if let Some(carrier) = client.carrier() {
                let streams: Vec<_> = carrier.owners().collect();
                self.cut_tunnels(io, streams);
            }
        }
        // The child of a stream may be gone while its connection stays.
        let is_displaced = |client: &Client| client.is_tunnel() && !client.is_served(&self.core);
        let displaced = self.clients.each_stream().filter(|(_, client)| is_displaced(client));
        let displaced: Vec<_> = displaced.map(|(conn, _)| conn).collect();
        displaced.into_iter().for_each(|conn| self.cut_tunnel(io, conn));
    }

    /// Cuts those of these clients that are tunnels.
    fn cut_tunnels<I: Io>(&mut self, io: &mut I, clients: Vec<Conn>) {
        for conn in clients {
            if self.clients.peek(conn).is_some_and(|client| client.is_tunnel()) {
                self.cut_tunnel(io, conn);
            }
        }
    }

    /// Applies verdicts of the health monitors that came together: a pool and the name of its server for each. Ignores unknown
    /// names: the Plan may be newer or older than the monitors' list. Their order means nothing, so that groups are looked at
    /// behind the last: between two of them, a pool may seem to have no server.
    pub fn set_servers_up<'n, I: Io>(
        &mut self,
        io: &mut I,
        verdicts: impl IntoIterator<Item = (&'n str, &'n str, bool)>,
    ) {
        for (pool_uuid, server_name, up) in verdicts {
            let Some(pool) = self.core.snapshot.pool(pool_uuid).cloned() else { continue };
            self.sessions.changes = self.sessions.changes.wrapping_add(1);
            self.core.queues.are_due = !self.core.queues.are_empty();
            for unused in self.core.pools.set_up(&pool, server_name, up, io.now()) {
                self.retire(io, unused);
            }
        }
        self.core.pools.observe_groups();
    }

    /// Applies a verdict that came alone.
    pub fn set_server_up<I: Io>(&mut self, io: &mut I, pool_uuid: &str, server_name: &str, up: bool) {
        self.set_servers_up(io, [(pool_uuid, server_name, up)]);
    }

    /// Dense ids of the servers that are up, in no order.
    pub fn servers_up(&self) -> impl Iterator<Item = u32> {
        self.core.pools.up()
    }

    /// Dense ids of the servers that this worker suspects, in no order.
    pub fn servers_suspect(&self, now: Time) -> impl Iterator<Item = u32> {
        self.core.pools.suspect(now)
    }

    /// Dense ids of those of them whose responses are errors, in no order.
    pub fn servers_ejected(&self, now: Time) -> impl Iterator<Item = u32> {
        self.core.pools.ejected(now)
    }

    /// Ends each client's connection with its next response. Idle connections stay.
    pub fn let_go(&mut self) {
        self.core.draining = true;
    }

    /// Ends each client's connection: with the response to its request, or now if it has none. The driver stops
    /// accepting. [`is_idle`](Self::is_idle) tells when all connections have ended.
    pub fn drain<I: Io>(&mut self, io: &mut I) {
        self.let_go();
        for unused in self.core.pools.drain() {
            self.retire(io, unused);
        }
        for conn in self.clients.conns() {
            if self.clients.find(conn).is_some_and(|client| client.is_idle()) {
                self.dismiss(io, conn);
            }
        }
    }

    /// Requests of which notes are kept for their records.
    pub fn requests_noted(&self) -> usize {
        self.core.records.requests_noted()
    }

    /// No connection and no session is left.
    pub fn is_idle(&self) -> bool {
        let is_idle = self.clients.len() + self.servers.len() + self.sessions.len() == 0;
        debug_assert!(!is_idle || self.exchanges.len() == 0, "an exchange outlives its connections");
        is_idle
    }

    pub fn counters(&self) -> &Counters {
        &self.core.counters
    }

    /// Whether the records should be handed over at once.
    #[inline]
    pub fn has_many_records(&self) -> bool {
        self.core.records.is_half_full()
    }

    /// The records since the last call, if there are any, and if the last batch has come back. `is_last`: no other call
    /// follows, so it need not have.
    pub fn take_records(&mut self, is_last: bool) -> Option<Batch> {
        self.core.records.hand_over(is_last)
    }

    /// Gives a batch back, which is done with.
    pub fn return_records(&mut self, batch: Batch) {
        self.core.records.take_back(batch);
    }
}

// Ends.
impl Proxy {
    /// Ends a client's session, its exchange and its connection. The caller ends the server's connection of the
    /// exchange.
    pub(crate) fn close_client<I: Io>(&mut self, io: &mut I, conn: Conn, how: Close) {
        if let Some(carrier) = self.clients.find(conn).and_then(|client| client.carrier()) {
            let (streams, own): (Vec<_>, _) = (carrier.owners().collect(), std::mem::take(&mut carrier.own));
            for stream in streams {
                if !self.complete_tunnel(io, stream) {
                    self.fail(io, stream, Error::ClientAborted);
                }
            }
            own.into_iter().for_each(|own| self.retire(io, own));
        }
        let Some(mut client) = self.clients.remove(conn) else { return };
        if client.carrier().is_some() {
            self.core.counters.note(Happening::Http2Gone { service: client.accepted_by });
        }
        if let Some(stream) = client.connection.stream() {
            let departed = Departed::of(stream, how);
            self.orphan(departed.carrier, departed.id);
            self.core.departed.push(departed);
            self.core.counters.note(Happening::StreamGone { service: client.service.id });
        } else {
            self.core.counters.note(Happening::ClientGone { service: client.accepted_by });
            self.core.shortage.addresses.remove(*client.sender());
            if !self.core.places.is_empty() {
                self.core.places.remove(&conn);
            }
        }
        if let Some(id) = client.exchange() {
            self.exchanges.remove(id);
        }
        if let Some(reserved) = client.reserved.get() {
            self.retire(io, reserved);
        }
        let service = client.service.id;
        let mut of_tunnel = None;
        if let Some(tunnel) = client.tunnel() {
            if tunnel.is_websocket {
                self.core.counters.note(Happening::WebSocketGone { service });
            }
            if let Some(server) = tunnel.server {
                of_tunnel = self.server_of_tunnel(&client, server);
                self.close_server(io, server, how);
            }
        }
        client.end_round_trip(io, &mut self.core);
        self.record_last(io, &client, of_tunnel);
        client.connection.close(io, &mut self.core.scratch, how);
        client.report_bytes(&mut self.core);
    }

    /// A stream has no client any more.
    fn orphan(&mut self, carrier: Conn, id: u32) {
        let carrier = self.clients.find(carrier).and_then(|client| client.carrier());
        if let Some(outbox) = carrier.and_then(|carrier| carrier.connection.kept(id)) {
            outbox.owner = None;
        }
    }

    /// Ends a connection to a server and removes it from the pools.
    pub(crate) fn close_server<I: Io>(&mut self, io: &mut I, conn: Conn, how: Close) {
        let Some(mut server) = self.servers.remove(conn) else { return };
        if let Some(stream) = server.connection.stream() {
            self.core.pools.end(server.place);
            return self.leave_carrier(stream.carrier, stream.id);
        }
        match server.state {
            State::Connecting(Work::Streams) | State::Handshaking(Work::Streams) | State::Busy(Work::Streams) => {
                self.core.pools.forget_carrier(server.place, conn);
                self.unreserve(server.back.as_ref().and_then(|back| back.sole), conn);
            }
            State::Connecting(_) | State::Handshaking(_) | State::Busy(_) | State::Answering { .. } => {
                self.core.pools.end(server.place);
            }
            State::Idle => self.core.pools.forget_idle(server.place, conn),
            State::Reserved { client } => self.unreserve(Some(client), conn),
        }
        if server.is_connected() {
            self.core.counters.note(Happening::ServerGone { server: server.place.server });
        }
        server.connection.close(io, &mut self.core.scratch, how);
        server.report_bytes(&mut self.core);
    }

    /// A client has this connection to a server no more.
    pub(crate) fn unreserve(&mut self, client: Option<Conn>, reserved: Conn) {
        let Some(client) = client.and_then(|client| self.clients.find(client)) else { return };
        if client.reserved.get() == Some(reserved) {
            client.reserved = Reserved::NONE;
        }
        if let Some(carrier) = client.carrier() {
            carrier.own.retain(|own| *own != reserved);
        }
    }
}
