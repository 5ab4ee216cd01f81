//! The real proxy of one worker, and peers that play their part batch by batch. Only [`counted_batch`] and
//! [`counted_change`] are counted, and timed: what the peers do, their cryptography above all, is not.

use std::{
    hint::black_box,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use weir_api::dataplane::v1::Plan;
use weir_proxy::{
    Limits, Proxy,
    buf::BufPool,
    io::{Conn, Event, Gone, Handler, TransportAddress},
};
use weir_reactor::READ_BYTES;
use weir_snapshot::{Change, Snapshot, Worker};

use crate::{
    Failure,
    clients::{Client, Clients},
    plan::{self, Listener},
    servers::{Server, Servers},
    world::World,
};

/// Connections in one batch: a worker with a backlog.
pub const CLIENTS: usize = 16;

/// What callgrind counts, by its name.
#[inline(never)]
fn counted_batch(proxy: &mut Proxy, world: &mut World, events: &mut Vec<Event>) {
    proxy.handle(world, events);
}

/// The same of a change of the Plan: what `control` has a worker's snapshot made of, and the proxy do about it.
#[inline(never)]
fn counted_change(
    proxy: &mut Proxy,
    world: &mut World,
    snapshot: &Snapshot,
    change: &Change,
    worker: &Worker,
) -> Result<Arc<Snapshot>, Failure> {
    let (next, _) = snapshot.changed(change, worker).map_err(|wrong| format!("{wrong:?}"))?;
    let next = Arc::new(next);
    proxy.replace(world, next.clone());
    Ok(next)
}

/// Where callgrind, by the name, sets its counters to zero: from here on each round is like the one before.
#[inline(never)]
pub fn counting_begins() {
    black_box(());
}

pub struct Stage {
    worker: Worker,
    snapshot: Arc<Snapshot>,
    proxy: Proxy,
    world: World,
    events: Vec<Event>,
    makes: Clients,
    servers: Servers,
    /// By slot.
    ends: Vec<End>,
    clients: Vec<Conn>,
    /// Of every server to every request.
    response: Vec<u8>,
    /// In counted batches.
    pub spent: Duration,
}

/// The peer of a connection.
enum End {
    Nobody,
    Server(Box<Server>),
    Client(Box<Client>),
}

impl Stage {
    pub fn new(plan: &Plan, response: Vec<u8>) -> Result<Self, Failure> {
        let worker = Worker::all(1, 0).swap_remove(0);
        let (snapshot, _) = Snapshot::build(plan, None, &worker).map_err(|wrong| format!("{wrong:?}"))?;
        let snapshot = Arc::new(snapshot);
        Ok(Self {
            worker,
            proxy: Proxy::new(snapshot.clone(), Limits::default()),
            snapshot,
            world: World::new(),
            events: Vec::new(),
            makes: Clients::new()?,
            servers: Servers::new()?,
            ends: Vec::new(),
            clients: Vec::new(),
            response,
            spent: Duration::ZERO,
        })
    }

    /// Clients connect, and shake hands where they do.
    pub fn connect(&mut self, listener: Listener) -> Result<(), Failure> {
        for port in (40_000..).take(CLIENTS) {
            let client = self.makes.connect(listener)?;
            let conn = self.world.accept();
            let peer = SocketAddr::from((Ipv4Addr::new(10, 2, 0, 1), port));
            let at = TransportAddress::tcp(listener.address());
            self.events.push(Event::Accepted { conn, listener: at, peer });
            self.seat(conn, End::Client(Box::new(client)));
            self.clients.push(conn);
        }
        self.batch();
        self.settle()?;
        self.each_client(|client| client.is_ready().then_some(()).ok_or_else(|| "a client is not let in".into()))
    }

    /// Each client asks once, and is answered.
    pub fn exchange(&mut self, request: &[u8], body_bytes: usize) -> Result<(), Failure> {
        self.each_client(|client| client.ask(request))?;
        self.settle()?;
        self.each_client(|client| match client.take_response() {
            Some(bytes) if bytes == body_bytes => Ok(()),
            other => Err(format!("a client got {other:?} and not a body of {body_bytes} bytes").into()),
        })
    }

    /// As many virtual services as there would be clients get another name, one after the other.
    pub fn change(&mut self) -> Result<(), Failure> {
        for _ in 0..CLIENTS {
            let change = Change::from(plan::renaming(self.snapshot.revision()));
            let begin = Instant::now();
            self.snapshot = counted_change(&mut self.proxy, &mut self.world, &self.snapshot, &change, &self.worker)?;
            self.spent += begin.elapsed();
        }
        Ok(())
    }

    /// Each client's connection is reset.
    pub fn reset(&mut self) -> Result<(), Failure> {
        self.events.extend(self.clients.iter().map(|conn| Event::Gone { conn: *conn, why: Gone::Reset }));
        self.batch();
        self.part()
    }

    /// The proxy has closed each client's connection.
    pub fn part(&mut self) -> Result<(), Failure> {
        let closed = self.world.take_closed();
        let all = self.clients.drain(..).all(|client| closed.contains(&client));
        if all { Ok(()) } else { Err("a client's connection is not closed".into()) }
    }

    /// Lets the peers react until none has anything to send.
    fn settle(&mut self) -> Result<(), Failure> {
        loop {
            self.peers_react()?;
            if self.events.is_empty() {
                return Ok(());
            }
            self.batch();
        }
    }

    fn peers_react(&mut self) -> Result<(), Failure> {
        for (conn, address) in std::mem::take(&mut self.world.connects) {
            let server = self.servers.accept(plan::is_secure(address))?;
            self.seat(conn, End::Server(Box::new(server)));
            self.events.push(Event::Connected { conn });
        }
        for (conn, buf) in self.world.sent.drain(..) {
            match &mut self.ends[conn.slot as usize] {
                End::Client(client) => client.hear(&buf)?,
                End::Server(server) => {
                    server.hear(&buf, &self.response)?;
                    push_data(&self.world.blocks, &mut self.events, conn, &server.outbox);
                    server.outbox.clear();
                }
                End::Nobody => {}
            }
        }
        for conn in &self.clients {
            if let End::Client(client) = &mut self.ends[conn.slot as usize] {
                push_data(&self.world.blocks, &mut self.events, *conn, &std::mem::take(&mut client.outbox));
            }
        }
        Ok(())
    }

    fn batch(&mut self) {
        self.world.pass_time();
        let begin = Instant::now();
        counted_batch(&mut self.proxy, &mut self.world, &mut self.events);
        self.spent += begin.elapsed();
    }

    fn seat(&mut self, conn: Conn, end: End) {
        let slot = conn.slot as usize;
        if slot >= self.ends.len() {
            self.ends.resize_with(slot + 1, || End::Nobody);
        }
        self.ends[slot] = end;
    }

    fn each_client(&mut self, mut act: impl FnMut(&mut Client) -> Result<(), Failure>) -> Result<(), Failure> {
        for conn in &self.clients {
            if let End::Client(client) = &mut self.ends[conn.slot as usize] {
                act(client)?;
            }
        }
        Ok(())
    }
}

/// Bytes in blocks, as a driver reads them.
fn push_data(blocks: &BufPool, events: &mut Vec<Event>, conn: Conn, bytes: &[u8]) {
    for piece in bytes.chunks(READ_BYTES) {
        let mut buf = blocks.take();
        buf.append(piece);
        events.push(Event::Data { conn, buf });
    }
}
