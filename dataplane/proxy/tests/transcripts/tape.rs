//! A hand-driven `Io`: a test feeds events batch by batch and reads what the proxy did.

use std::{
    cell::RefCell,
    collections::HashMap,
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits, Proxy,
    buf::{Buf, BufPool},
    io::{After, Bucket, Close, Conn, Event, Gone, Handler, Io, Time, TransportAddress},
};
use weir_snapshot::{Snapshot, Worker};
use weir_telemetry::Cause;

use crate::datagrams::Sockets;

#[derive(Default)]
struct Side {
    sent: Vec<u8>,
    pieces: usize,
    queued: usize,
    paused: bool,
    deadline: Option<Time>,
    finished: bool,
    resting: bool,
    closed: Option<Close>,
    buffers: Vec<Buf>,
    bucket: Option<Arc<Bucket>>,
}

pub struct Tape {
    now: Time,
    blocks: BufPool,
    sides: HashMap<Conn, Side>,
    connects: Vec<(Conn, SocketAddr)>,
    randoms: u8,
    /// The relays that the proxy allowed. The tape relays nothing: everything comes as data.
    pub relays: Vec<(Conn, Conn, u64, After)>,
    /// Peers take nothing while this is set.
    pub stuck: bool,
    pub sockets: Sockets,
    /// Sending to this peer panics, once.
    pub panics_at: Option<Conn>,
    /// That to every peer.
    pub round_trip: Option<Duration>,
    /// It waits for tokens of its bucket.
    pub waiting: Option<Conn>,
    pub round_trips_asked: RefCell<Vec<Conn>>,
    /// Bytes that peers have not taken hold their blocks, as in a driver.
    pub keeps_buffers: bool,
}

/// The first slot of server connections: there are fewer clients.
const SERVERS: u32 = 20_000;

/// Sun, 06 Nov 1994 08:49:37 GMT.
const UNIX_S_AT_BEGIN: u64 = 784_111_777;

impl Io for Tape {
    fn now(&self) -> Time {
        self.now
    }

    fn unix_s(&self) -> u64 {
        UNIX_S_AT_BEGIN + self.now.nanos / 1_000_000_000
    }

    fn unix_us(&self) -> u64 {
        UNIX_S_AT_BEGIN * 1_000_000 + self.now.nanos / 1_000
    }

    fn random(&mut self) -> [u8; 16] {
        self.randoms += 1;
        [self.randoms; 16]
    }

    fn buffer(&mut self) -> Buf {
        self.blocks.take()
    }

    fn lasting(&mut self, content: &[Vec<u8>]) -> Option<Buf> {
        Some(Buf::lasting(Box::new(content.concat())))
    }

    fn connect(&mut self, to: SocketAddr) -> Conn {
        let conn = Conn { slot: SERVERS + self.connects.len() as u32, generation: 1 };
        self.connects.push((conn, to));
        self.sides.insert(conn, Side::default());
        conn
    }

    fn send(&mut self, conn: Conn, buf: Buf) {
        if self.panics_at.take_if(|at| *at == conn).is_some() {
            panic!("a defect, on purpose");
        }
        let side = self.sides.entry(conn).or_default();
        side.sent.extend_from_slice(&buf);
        side.pieces += 1;
        side.queued += buf.len();
        if self.keeps_buffers {
            side.buffers.push(buf);
        }
    }

    fn buffered_bytes(&self) -> usize {
        self.blocks.in_use() * Stage::BLOCK_BYTES
    }

    fn queued(&self, conn: Conn) -> usize {
        self.sides.get(&conn).map_or(0, |side| side.queued)
    }

    fn round_trip(&self, conn: Conn) -> Option<Duration> {
        self.round_trips_asked.borrow_mut().push(conn);
        self.round_trip.filter(|_| self.sides.get(&conn).is_none_or(|side| side.closed.is_none()))
    }

    fn local_address(&self, conn: Conn) -> Option<SocketAddr> {
        Some(SocketAddr::new([10, 0, 0, 2].into(), (conn.slot % 60_000) as u16 + 1))
    }

    fn reading(&mut self, conn: Conn, on: bool) {
        self.sides.entry(conn).or_default().paused = !on;
    }

    fn limit(&mut self, conn: Conn, bucket: Option<&Arc<Bucket>>) {
        self.sides.entry(conn).or_default().bucket = bucket.cloned();
    }

    fn waits_for_tokens(&self, conn: Conn) -> bool {
        self.waiting == Some(conn)
    }

    fn relay(&mut self, from: Conn, to: Conn, bytes: u64, after: After) {
        self.relays.push((from, to, bytes, after));
    }

    fn resting(&mut self, conn: Conn, on: bool) {
        self.sides.entry(conn).or_default().resting = on;
    }

    fn finish(&mut self, conn: Conn) {
        self.sides.entry(conn).or_default().finished = true;
    }

    fn deadline(&mut self, conn: Conn, at: Option<Time>) {
        self.sides.entry(conn).or_default().deadline = at;
    }

    fn close(&mut self, conn: Conn, how: Close) {
        let side = self.sides.entry(conn).or_default();
        side.closed = Some(how);
        side.deadline = None;
        if how == Close::Abort {
            side.buffers.clear();
        }
    }
}

impl Tape {
    pub fn sleep(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// Whose tokens the bytes of a connection take.
    pub fn bucket(&self, conn: Conn) -> Option<Arc<Bucket>> {
        self.sides.get(&conn)?.bucket.clone()
    }

    /// A peer takes some of what is queued for it.
    pub fn takes(&mut self, conn: Conn, bytes: usize) {
        self.sides.entry(conn).or_default().queued -= bytes;
    }
}

/// A proxy on a tape.
pub struct Stage {
    pub proxy: Proxy,
    pub tape: Tape,
    clients: u32,
    snapshot: Arc<Snapshot>,
    worker: Rc<Worker>,
}

pub fn plan(servers: usize) -> api::Plan {
    let server = |n| api::Server {
        id: format!("server {n}"),
        address: format!("10.1.0.{}", n + 1),
        port: 8000,
        ratio: 1,
        enabled: true,
        ..Default::default()
    };
    let pool = api::Pool {
        uuid: "pool".into(),
        algorithm: api::Algorithm::RoundRobin as i32,
        servers: (0..servers).map(server).collect(),
        connect_timeout_ms: 1_000,
        response_timeout_ms: 2_000,
        fail_action: api::FailAction::LocalResponse as i32,
        ..Default::default()
    };
    let service = api::VirtualService {
        uuid: "service".into(),
        listeners: vec![api::Listener { address: "10.0.0.1".into(), port: 80, ..Default::default() }],
        pool_uuid: "pool".into(),
        http: Some(api::HttpProfile {
            connection_multiplexing: true,
            respond_with_100_continue: true,
            client_header_timeout_ms: 3_000,
            client_body_timeout_ms: 4_000,
            keepalive_timeout_ms: 5_000,
            ..Default::default()
        }),
        tcp: Some(api::TcpProfile::default()),
        ..Default::default()
    };
    api::Plan { revision: 1, virtual_services: vec![service], pools: vec![pool], ..api::Plan::default() }
}

/// The same plan without HTTP.
pub fn l4_plan(servers: usize) -> api::Plan {
    let mut plan = plan(servers);
    let service = &mut plan.virtual_services[0];
    (service.http, service.l4) = (None, Some(api::L4Profile::default()));
    plan
}

/// The next plan, in which the service has another pool.
pub fn with_another_pool(before: &api::Plan) -> api::Plan {
    let mut after = before.clone();
    after.revision += 1;
    after.pools[0].uuid = "other pool".into();
    after.pools[0].servers[0].address = "10.1.9.9".into();
    after.virtual_services[0].pool_uuid = "other pool".into();
    after
}

impl Stage {
    pub const BLOCK_BYTES: usize = 4096;

    pub fn new(plan: &api::Plan) -> Self {
        Self::with(plan, Limits::default())
    }

    pub fn with(plan: &api::Plan, limits: Limits) -> Self {
        Self::of(plan, limits, Rc::new(Worker::all(1, 0).swap_remove(0)))
    }

    /// Another worker of the same engine.
    pub fn beside(&self, plan: &api::Plan) -> Self {
        Self::of(plan, Limits::default(), self.worker.clone())
    }

    fn of(plan: &api::Plan, limits: Limits, worker: Rc<Worker>) -> Self {
        let (snapshot, _) = Snapshot::build(plan, None, &worker).expect("the plan is sound");
        let snapshot = Arc::new(snapshot);
        let limits = Limits { queued_bytes: 1000, tunnel_relay_bytes: 4000, ..limits };
        let blocks = BufPool::new(Self::BLOCK_BYTES, 16);
        let tape = Tape {
            now: Time::default(),
            blocks,
            sides: HashMap::new(),
            connects: vec![],
            randoms: 0,
            relays: vec![],
            stuck: false,
            sockets: Sockets::default(),
            round_trip: None,
            waiting: None,
            round_trips_asked: RefCell::default(),
            keeps_buffers: false,
            panics_at: None,
        };
        Self { proxy: Proxy::new(snapshot.clone(), limits), tape, clients: 0, snapshot, worker }
    }

    pub fn replace(&mut self, plan: &api::Plan) {
        let (snapshot, _) = Snapshot::build(plan, Some(&self.snapshot), &self.worker).expect("the plan is sound");
        self.snapshot = Arc::new(snapshot);
        self.proxy.replace(&mut self.tape, self.snapshot.clone());
        self.proxy.end_displaced_sessions(&mut self.tape);
    }

    /// A successor of the snapshot in force that stays a draft.
    pub fn draft(&self, plan: &api::Plan) -> Arc<Snapshot> {
        Arc::new(Snapshot::build(plan, Some(&self.snapshot), &self.worker).expect("the plan is sound").0)
    }

    /// Whether a plan is refused.
    pub fn refuses_plan(&self, plan: &api::Plan) -> bool {
        Snapshot::build(plan, Some(&self.snapshot), &self.worker).is_err()
    }

    /// Runs one batch. Afterwards peers have taken everything sent, unless `stuck` is set.
    pub fn batch(&mut self, mut events: Vec<Event>) {
        self.proxy.handle(&mut self.tape, &mut events);
        if !self.tape.stuck {
            self.tape.sides.values_mut().for_each(|side| {
                side.queued = 0;
                side.buffers.clear();
            });
        }
    }

    /// Runs a batch that panics, and ends its connections, as a worker does.
    pub fn contained(&mut self, events: Vec<Event>) {
        let conns: Vec<_> = events.iter().map(Event::conn).collect();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.batch(events)));
        assert!(outcome.is_err(), "nothing has panicked");
        conns.iter().for_each(|conn| self.tape.close(*conn, Close::Abort));
        self.batch(conns.into_iter().map(|conn| Event::Gone { conn, why: Gone::Local }).collect());
    }

    pub fn client(&mut self) -> Conn {
        self.client_from("10.0.0.1:80", "10.2.0.1:4000")
    }

    pub fn client_from(&mut self, listener: &str, peer: &str) -> Conn {
        let conn = Conn { slot: self.clients, generation: 1 };
        self.clients += 1;
        let (at, peer) = (listener.parse().expect("an address"), peer.parse().expect("an address"));
        self.batch(vec![Event::Accepted { conn, listener: TransportAddress::tcp(at), peer }]);
        conn
    }

    /// An event with these bytes.
    pub fn data(&mut self, conn: Conn, bytes: impl AsRef<[u8]>) -> Event {
        let bytes = bytes.as_ref();
        let mut buf = self.tape.blocks.take();
        assert_eq!(buf.append(bytes), bytes.len());
        Event::Data { conn, buf }
    }

    pub fn says(&mut self, conn: Conn, bytes: impl AsRef<[u8]>) {
        let event = self.data(conn, bytes);
        self.batch(vec![event]);
    }

    /// Establishes the connection begun last, and returns it.
    pub fn connected(&mut self) -> Conn {
        let conn = self.dialled();
        self.batch(vec![Event::Connected { conn }]);
        conn
    }

    pub fn dialled(&self) -> Conn {
        self.tape.connects.last().expect("a connection was begun").0
    }

    pub fn dialled_address(&self) -> String {
        self.tape.connects.last().expect("a connection was begun").1.to_string()
    }

    pub fn dials(&self) -> usize {
        self.tape.connects.len()
    }

    pub fn gone(&mut self, conn: Conn, why: Gone) {
        self.batch(vec![Event::Gone { conn, why }]);
    }

    /// What was sent since the last call.
    pub fn sent(&mut self, conn: Conn) -> String {
        String::from_utf8(self.sent_bytes(conn)).expect("text")
    }

    pub fn sent_bytes(&mut self, conn: Conn) -> Vec<u8> {
        let side = self.tape.sides.entry(conn).or_default();
        side.pieces = 0;
        std::mem::take(&mut side.sent)
    }

    pub fn pieces(&self, conn: Conn) -> usize {
        self.tape.sides[&conn].pieces
    }

    pub fn closed(&self, conn: Conn) -> Option<Close> {
        self.tape.sides.get(&conn).and_then(|side| side.closed)
    }

    pub fn is_resting(&self, conn: Conn) -> bool {
        self.tape.sides.get(&conn).is_some_and(|side| side.resting)
    }

    /// Whether the proxy has ended its side and not closed the connection.
    pub fn is_finished(&self, conn: Conn) -> bool {
        self.tape.sides.get(&conn).is_some_and(|side| side.finished)
    }

    /// How many failures with this cause were counted.
    pub fn failures(&self, cause: Cause) -> u64 {
        let service = self.proxy.counters().service(0).expect("the service of the plan");
        service.failures().find(|(other, _)| *other == cause).map_or(0, |(_, total)| total)
    }

    /// Whose rates those exceed that were refused for it, and how many.
    pub fn limited(&self) -> Vec<(&'static str, u64)> {
        let service = self.proxy.counters().service(0).expect("the service of the plan");
        service.limited().map(|(by, total)| (by.name(), total)).collect()
    }

    /// Dense ids of the servers that are suspect.
    pub fn suspects(&self) -> Vec<u32> {
        self.proxy.servers_suspect(self.tape.now).collect()
    }

    pub fn is_paused(&self, conn: Conn) -> bool {
        self.tape.sides[&conn].paused
    }

    pub fn blocks_in_use(&self) -> usize {
        self.tape.blocks.in_use()
    }

    pub fn has_deadline(&self, conn: Conn) -> bool {
        self.tape.sides.get(&conn).is_some_and(|side| side.deadline.is_some())
    }

    pub fn deadline_has_passed(&self, conn: Conn) -> bool {
        self.tape.sides[&conn].deadline.is_some_and(|at| at <= self.tape.now)
    }

    /// Waits until the deadline of a connection passes. Returns how long that took.
    pub fn wait_for_deadline(&mut self, conn: Conn) -> Duration {
        let at = self.tape.sides.get_mut(&conn).and_then(|side| side.deadline.take()).expect("a deadline is set");
        let waited = at.since(self.tape.now);
        self.tape.now = at;
        self.batch(vec![Event::Deadline { conn }]);
        waited
    }
}
