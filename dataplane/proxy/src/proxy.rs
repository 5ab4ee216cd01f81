//! The proxy of one worker: owns every session, and hands each event of a batch to the session it is for.
//!
//! Nothing here decides anything about HTTP. What can wait for the end of the batch does: a request on an idle server
//! connection, in case its end is in the same batch, relaying, and sealing, so that a batch costs one record.

use std::{net::SocketAddr, sync::Arc};

use weir_policy::Date;
use weir_snapshot::Snapshot;
use weir_telemetry::{Counters, Happening};
use weir_wire::http1::FieldTable;

use crate::{
    buf::Buf,
    client::{Client, Expiry},
    io::{Close, Conn, Event, Handler, Io, Time, TransportAddress},
    limits::{Limits, Room},
    pool::Pools,
    rescue::Error,
    server::Server,
    shortage::Shortage,
    table::Table,
};

/// One worker's proxy.
pub struct Proxy {
    pub(crate) clients: Table<Client>,
    pub(crate) servers: Table<Server>,
    pub(crate) core: Core,
}

/// What all sessions of a worker share.
pub(crate) struct Core {
    pub snapshot: Arc<Snapshot>,
    /// Counts snapshots.
    pub epoch: u32,
    pub pools: Pools,
    pub counters: Counters,
    pub limits: Limits,
    /// What of them is left in this batch.
    pub room: Room,
    pub shortage: Shortage,
    pub draining: bool,
    pub fields: FieldTable,
    /// Of this batch.
    pub date: Date,
    /// What TLS wants to send; empty between uses.
    pub scratch: Vec<u8>,
    /// Clients whose request goes out on an idle connection at the end of the batch.
    pub starting: Vec<Conn>,
    /// Server connections whose body the driver may move from the end of the batch on.
    pub relayable: Vec<Conn>,
    /// Clients whose tunnel the driver may carry from the end of the batch on.
    pub in_bulk: Vec<Conn>,
    /// Connections, of either kind, with plaintext that is not sealed yet.
    pub unflushed: Vec<Conn>,
}

impl Proxy {
    pub fn new(snapshot: Arc<Snapshot>, limits: Limits) -> Self {
        let mut pools = Pools::default();
        snapshot.pools().for_each(|pool| pools.bring(pool, &mut Vec::new()));
        let core = Core {
            snapshot,
            epoch: 0,
            pools,
            counters: Counters::default(),
            room: limits.room(0),
            shortage: Shortage::new(limits.clients),
            limits,
            draining: false,
            fields: FieldTable::new(),
            date: Date::at(0),
            scratch: Vec::new(),
            starting: Vec::new(),
            relayable: Vec::new(),
            in_bulk: Vec::new(),
            unflushed: Vec::new(),
        };
        // The driver has a slot for each client's connection and one to a server.
        let slots = 2 * core.limits.clients;
        Self { clients: Table::with_room(slots), servers: Table::with_room(slots), core }
    }

    /// Serves by `snapshot` from the next request of each client on. It follows the one before it. Clients of listeners
    /// that are gone are closed as soon as they are idle, and at once where there are no requests.
    pub fn replace<I: Io>(&mut self, io: &mut I, snapshot: Arc<Snapshot>) {
        let difference = snapshot.difference();
        let recycled = &difference.recycled;
        recycled.services.iter().for_each(|id| self.core.counters.restart_service(*id));
        recycled.servers.iter().for_each(|id| self.core.counters.restart_server(*id));
        for orphan in self.core.pools.follow(difference) {
            self.close_server(io, orphan, Close::Flush);
        }
        let displaces_clients = difference.displaces_clients;
        self.core.snapshot = snapshot;
        self.core.epoch = self.core.epoch.wrapping_add(1);
        if displaces_clients {
            self.close_displaced(io);
        }
    }

    fn close_displaced<I: Io>(&mut self, io: &mut I) {
        for conn in self.clients.conns() {
            let Some(client) = self.clients.find(conn).filter(|client| !client.is_served(&self.core)) else { continue };
            if client.is_idle() {
                self.close_client(io, conn, Close::Flush);
            } else if client.tunnel().is_some() {
                self.cut_tunnel(io, conn);
            }
        }
    }

    /// The verdict of the health monitors. Unknown names are ignored: the Plan may be ahead of the monitors or behind.
    pub fn set_server_up<I: Io>(&mut self, io: &mut I, pool_uuid: &str, server_name: &str, up: bool) {
        let Some(pool) = self.core.snapshot.pool(pool_uuid).cloned() else { return };
        for idle in self.core.pools.set_up(&pool, server_name, up) {
            self.close_server(io, idle, Close::Flush);
        }
    }

    /// Dense ids of the servers that are up, in no order.
    pub fn servers_up(&self) -> impl Iterator<Item = u32> {
        self.core.pools.up()
    }

    /// Dense ids of the servers that are suspect here, in no order.
    pub fn servers_suspect(&self, now: Time) -> impl Iterator<Item = u32> {
        self.core.pools.suspect(now)
    }

    /// Ends each client's connection with its next response. Those that ask nothing stay.
    pub fn let_go(&mut self) {
        self.core.draining = true;
    }

    /// Ends each client's connection with the response to its request, or now when it has none. The driver stops
    /// accepting; [`is_idle`](Self::is_idle) tells when all are gone.
    pub fn drain<I: Io>(&mut self, io: &mut I) {
        self.let_go();
        for idle in self.core.pools.drain() {
            self.close_server(io, idle, Close::Flush);
        }
        for conn in self.clients.conns() {
            if self.clients.find(conn).is_some_and(|client| client.is_idle()) {
                self.close_client(io, conn, Close::Flush);
            }
        }
    }

    /// No connection is left.
    pub fn is_idle(&self) -> bool {
        self.clients.len() == 0 && self.servers.len() == 0
    }

    pub fn counters(&self) -> &Counters {
        &self.core.counters
    }
}

impl Handler for Proxy {
    fn handle<I: Io>(&mut self, io: &mut I, events: &mut Vec<Event>) {
        let buffered_bytes = io.buffered_bytes();
        if self.core.room.is_short || buffered_bytes > self.core.limits.buffer_bytes / 2 {
            self.core.room = self.core.limits.room(buffered_bytes);
        }
        self.core.date.follow(io.unix_s());
        for event in events.drain(..) {
            match event {
                Event::Accepted { conn, listener, peer } => self.accepted(io, conn, listener, peer),
                Event::Connected { conn } => self.connected(io, conn),
                Event::Data { conn, buf } if self.servers.contains(conn) => self.server_data(io, conn, buf),
                Event::Data { conn, buf } => self.client_data(io, conn, buf),
                Event::Relayed { conn, bytes } if self.servers.contains(conn) => self.relayed(io, conn, bytes),
                Event::Relayed { conn, bytes } => self.client_relayed(io, conn, bytes),
                Event::Eof { conn } if self.servers.contains(conn) => self.server_eof(io, conn),
                Event::Eof { conn } => self.client_eof(io, conn),
                Event::Leaving { conn } => self.client_leaving(io, conn),
                Event::Drained { conn } if self.servers.contains(conn) => self.server_drained(io, conn),
                Event::Drained { conn } => self.client_drained(io, conn),
                Event::Broken { conn } if self.servers.contains(conn) => self.server_broken(io, conn),
                Event::Broken { conn } => self.client_broken(io, conn),
                Event::Deadline { conn } if self.servers.contains(conn) => self.server_deadline(io, conn),
                Event::Deadline { conn } => self.client_deadline(io, conn),
                Event::Gone { conn, why } if self.servers.contains(conn) => self.server_gone(io, conn, why),
                Event::Gone { conn, .. } => self.client_gone(io, conn),
            }
        }
        self.end_batch(io);
        self.free_memory(io);
    }
}

impl Proxy {
    fn end_batch<I: Io>(&mut self, io: &mut I) {
        while !self.core.starting.is_empty() {
            let mut starting = std::mem::take(&mut self.core.starting);
            starting.drain(..).for_each(|conn| self.send_request(io, conn));
            if self.core.starting.is_empty() {
                self.core.starting = starting;
            }
        }
        let mut relayable = std::mem::take(&mut self.core.relayable);
        relayable.drain(..).for_each(|conn| self.relay(io, conn));
        self.core.relayable = relayable;
        let mut in_bulk = std::mem::take(&mut self.core.in_bulk);
        in_bulk.drain(..).for_each(|conn| self.relay_tunnel(io, conn));
        self.core.in_bulk = in_bulk;
        let mut unflushed = std::mem::take(&mut self.core.unflushed);
        for conn in unflushed.drain(..) {
            if let Some(client) = self.clients.find(conn) {
                client.flush(io);
            } else if let Some(server) = self.servers.find(conn) {
                server.flush(io);
            }
        }
        self.core.unflushed = unflushed;
    }
}

// Clients' events.
impl Proxy {
    fn accepted<I: Io>(&mut self, io: &mut I, conn: Conn, listener: TransportAddress, peer: SocketAddr) {
        let may_come = self.make_place(io, listener, peer);
        let client = if may_come { Client::accept(io, &mut self.core, conn, listener, peer) } else { None };
        match client {
            Some(client) => {
                let client = self.clients.insert(conn, client);
                if client.tunnel().is_some() {
                    self.carry(io, conn);
                }
            }
            None => io.close(conn, Close::Abort),
        }
    }

    fn client_data<I: Io>(&mut self, io: &mut I, conn: Conn, buf: Buf) {
        let Some(client) = self.clients.find(conn) else { return };
        match client.receive(io, &mut self.core, buf) {
            Ok(()) => self.proceed(io, conn),
            Err(error) => self.fail(io, conn, error),
        }
    }

    fn client_relayed<I: Io>(&mut self, io: &mut I, conn: Conn, bytes: u64) {
        if let Some(client) = self.clients.find(conn) {
            client.relayed(io, &mut self.core, bytes);
        }
    }

    fn client_eof<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        client.end(io.now());
        if client.is_amid_handshake() {
            self.fail(io, conn, Error::ClientTls);
        } else {
            self.wait_with_ended(io, conn);
            self.proceed(io, conn);
        }
    }

    /// Who is not read has asked for something and waits, or is a tunnel's, which brings the end behind the rest.
    fn client_leaving<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        if client.exchange().is_some() {
            client.leave(io.now());
            self.wait_with_ended(io, conn);
            self.proceed(io, conn);
        }
    }

    /// The time of a client that has ended runs.
    fn wait_with_ended<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(client) = self.clients.find(conn)
            && client.exchange().is_some_and(|exchange| !exchange.awaits_body())
        {
            client.await_answer(io);
        }
    }

    fn client_drained<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        client.drained(io, &self.core);
        match client.exchange() {
            Some(exchange) => {
                if let Some(server) = exchange.server() {
                    self.download(io, server);
                }
            }
            None => self.proceed(io, conn),
        }
    }

    /// Whoever cannot be answered is as good as gone, but for what a tunnel still takes to its server.
    fn client_broken<I: Io>(&mut self, io: &mut I, conn: Conn) {
        match self.clients.find(conn).is_some_and(|client| client.tunnel().is_some()) {
            true => self.client_drained(io, conn),
            false => self.client_gone(io, conn),
        }
    }

    fn client_deadline<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        match client.expired(io, &self.core) {
            Expiry::Slow => {}
            Expiry::Idle if self.carries(io, conn) => self.cut_tunnel(io, conn),
            Expiry::Idle => self.close_client(io, conn, Close::Flush),
            Expiry::Failed(error) => self.fail(io, conn, error),
        }
    }

    fn client_gone<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        if client.is_amid_handshake() {
            self.fail(io, conn, Error::ClientTls);
        } else if client.exchange().is_some() || client.tunnel().is_some() {
            self.fail(io, conn, Error::ClientAborted);
        } else {
            self.close_client(io, conn, Close::Abort);
        }
    }

    /// Ends a client's session and its connection.
    pub(crate) fn close_client<I: Io>(&mut self, io: &mut I, conn: Conn, how: Close) {
        let Some(mut client) = self.clients.remove(conn) else { return };
        self.core.counters.note(Happening::ClientGone { service: client.accepted_by });
        self.core.shortage.addresses.remove(client.peer);
        match how {
            Close::Flush | Close::Linger => client.say_goodbye(io, &mut self.core),
            Close::Cut => client.flush(io),
            Close::Abort => {}
        }
        client.report_bytes(&mut self.core);
        if let Some(reserved) = client.reserved {
            self.close_server(io, reserved, Close::Flush);
        }
        if let Some(server) = client.tunnel().and_then(|tunnel| tunnel.server) {
            self.close_server(io, server, how);
        }
        io.close(conn, how);
    }
}
