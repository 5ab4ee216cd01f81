//! Sessions of datagrams: the real `proxy` between clients and servers whose datagrams are lost, doubled and reordered on
//! the way, while servers die, refuse, go down, and Plans change. All from a seed.
//!
//! Judged in every run: no client gets what is for another; no datagram goes to a server that is down or not in the
//! Plan; a client keeps its server while nothing changes; nothing is made up; where the network loses nothing, each
//! question is answered, unless sockets or ports are few; half of few are free when a batch begins; each socket is closed
//! once; nothing is left over; servers see the addresses of clients where they are to, and no two sockets have the same
//! client and server; each session has its record, and records have all bytes that came and went.

mod ether;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits, Proxy,
    datagrams::io::Arrival,
    io::{Io, Time},
};
use weir_snapshot::{Snapshot, Worker};
use weir_telemetry::record::{Kind, Packed};

use crate::rng::Rng;
use ether::{Act, Ether, Forward, Note, Weather};

const SERVERS_MAX: u64 = 5;
const POOL: &str = "pool";
const IDLE_S: u32 = 5;

/// Plays a seed. Returns what was violated.
pub fn run(seed: u64) -> Vec<String> {
    let mut world = World::new(Rng::new(seed));
    world.run();
    world.judge();
    world.violations
}

struct World {
    rng: Rng,
    ether: Ether,
    proxy: Proxy,
    plan: api::Plan,
    snapshot: Arc<Snapshot>,
    worker: Worker,
    /// Addresses of servers that refuse datagrams.
    dead: BTreeSet<SocketAddr>,
    /// Names of the servers that are up by the verdicts so far.
    up: BTreeSet<String>,
    /// The server that the last datagram of each client went to, and when.
    last: BTreeMap<SocketAddr, (SocketAddr, Time)>,
    /// A server has refused a datagram, or something else has changed.
    changed: bool,
    asked: BTreeSet<Note>,
    answered: BTreeSet<Note>,
    violations: Vec<String>,
}

fn plan(rng: &mut Rng) -> api::Plan {
    let server = |n: u64| api::Server {
        id: format!("server {n}"),
        address: format!("10.1.0.{}", n + 1),
        port: 53,
        ratio: 1,
        enabled: true,
        ..Default::default()
    };
    let algorithms = [
        api::Algorithm::RoundRobin,
        api::Algorithm::LeastConnections,
        api::Algorithm::ConsistentHash,
        api::Algorithm::Random,
        api::Algorithm::LeastLoad,
        api::Algorithm::FewestServers,
        api::Algorithm::FewestTasks,
        api::Algorithm::CoreAffinity,
        api::Algorithm::RoundRobinOfEngine,
    ];
    let pool = api::Pool {
        uuid: POOL.into(),
        algorithm: rng.pick(&algorithms).into(),
        hash_input: api::HashInput::SourceAddressAndPort.into(),
        servers: (0..rng.between(1, SERVERS_MAX)).map(server).collect(),
        monitored: true,
        inline_health: rng.chance(50),
        ..Default::default()
    };
    let answers = [api::UdpAnswers::Unknown, api::UdpAnswers::OneEach];
    let service = api::VirtualService {
        uuid: "service".into(),
        listeners: vec![api::Listener {
            address: "10.0.0.1".into(),
            port: 53,
            protocol: api::TransportProtocol::Udp.into(),
            ..Default::default()
        }],
        pool_uuid: POOL.into(),
        l4: Some(api::L4Profile::default()),
        // Each session leaves a record.
        analytics: Some(api::Analytics { all_until_unix_s: u64::MAX, ..Default::default() }),
        udp: Some(api::UdpProfile {
            idle_timeout_s: IDLE_S,
            per_datagram: rng.chance(25),
            answers: rng.pick(&answers).into(),
            keep_client_address: rng.chance(30),
        }),
        ..Default::default()
    };
    api::Plan { revision: 1, virtual_services: vec![service], pools: vec![pool], ..Default::default() }
}

impl World {
    fn new(mut rng: Rng) -> Self {
        let plan = plan(&mut rng);
        let worker = Worker::all(1, 0).swap_remove(0);
        let (snapshot, _) = Snapshot::build(&plan, None, &worker).expect("the simulated Plan is sound");
        let snapshot = Arc::new(snapshot);
        let weather = Weather::of(&mut rng);
        let mut most = || if rng.chance(30) { rng.between(2, 16) } else { 1_000 } as usize;
        let limits = Limits { session_sockets: most(), session_ports: most(), ..Limits::default() };
        let mut world = Self {
            ether: Ether::new(rng.fork(), weather, &limits),
            proxy: Proxy::new(snapshot.clone(), limits),
            rng,
            plan,
            snapshot,
            worker,
            dead: BTreeSet::new(),
            up: BTreeSet::new(),
            last: BTreeMap::new(),
            changed: false,
            asked: BTreeSet::new(),
            answered: BTreeSet::new(),
            violations: Vec::new(),
        };
        let names: Vec<_> = world.plan.pools[0].servers.iter().map(|server| server.id.clone()).collect();
        names.iter().for_each(|name| world.judge_server(name, true));
        world.write_story();
        world
    }

    /// Decides when clients ask, and when something changes.
    fn write_story(&mut self) {
        for client in 0..self.rng.between(1, 12) {
            let peer = SocketAddr::from(([10, 2, 0, client as u8 + 1], 4000));
            let mut at = Duration::from_millis(self.rng.between(0, 3_000));
            for number in 0..self.rng.between(1, 12) {
                self.ether.after(at, Act::Ask(Note { peer, number, server: None }));
                at += Duration::from_millis(self.rng.length(8_000));
            }
        }
        if !self.ether.weather.calm {
            for _ in 0..self.rng.between(0, 6) {
                let at = Duration::from_millis(self.rng.between(0, 20_000));
                self.ether.after(at, Act::Change);
            }
        }
    }

    fn run(&mut self) {
        // The proxy asks for a batch when sessions are idle; so the run ends with the last of them.
        while let Some(acts) = self.ether.next(self.proxy.due()) {
            acts.into_iter().for_each(|act| self.act(act));
            let mut arrivals = std::mem::take(&mut self.ether.arrivals);
            self.proxy.handle_datagrams(&mut self.ether, &mut arrivals);
            self.changed |= self.is_crowded();
            self.watch_forwards();
            self.ether.end_batch();
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Ask(note) => {
                self.asked.insert(note.clone());
                self.ether.ask(note);
            }
            Act::AtServer(address, socket, _) if self.dead.contains(&address) => self.ether.refuse(socket),
            Act::AtServer(address, socket, note) => {
                self.ether.answer(socket, Note { server: Some(address), ..note });
            }
            Act::AtClient(peer, note) => self.deliver(peer, note),
            Act::Change => self.change(),
            Act::Arrive(arrival) => {
                self.changed |= matches!(arrival, Arrival::Refused { .. });
                self.ether.arrivals.push(arrival);
            }
        }
    }

    fn deliver(&mut self, peer: SocketAddr, note: Note) {
        if note.peer != peer {
            self.violations.push(format!("{peer} gets what is for {}", note.peer));
        }
        let question = Note { server: None, ..note.clone() };
        if !self.asked.contains(&question) {
            self.violations.push(format!("{peer} gets an answer to what it has not asked: {note:?}"));
        }
        self.answered.insert(question);
    }

    /// Sessions had to end for others, or could not begin.
    fn is_crowded(&self) -> bool {
        let failures = self.proxy.counters().service(0).into_iter().flat_map(|service| service.failures());
        self.ether.ran_short || failures.into_iter().any(|(cause, _)| cause.name() == "engine_sessions")
    }

    /// Looks at what the proxy has sent to servers in this batch.
    fn watch_forwards(&mut self) {
        let udp = self.plan.virtual_services[0].udp.unwrap_or_default();
        let (now, idle) = (self.ether.now(), Duration::from_secs(udp.idle_timeout_s.into()));
        for Forward { note, address, from } in self.ether.forwards.clone() {
            if from != udp.keep_client_address.then_some(note.peer) {
                self.violations.push(format!("{address} sees {note:?} as from {from:?}"));
            }
            let pool = &self.plan.pools[0];
            let server = pool.servers.iter().find(|server| address.ip().to_string() == server.address);
            if server.is_none_or(|server| !self.up.contains(&server.id)) {
                self.violations.push(format!("{address} is down or removed, and gets {note:?}"));
            }
            let Some((last, at)) = self.last.insert(note.peer, (address, now)) else { continue };
            // By the other algorithms, the next session of a client may have another server.
            let is_hashed = pool.algorithm() == api::Algorithm::ConsistentHash;
            let stays = udp.answers() == api::UdpAnswers::Unknown && now.since(at) < idle;
            if (is_hashed || stays) && !udp.per_datagram && !self.changed && last != address {
                self.violations.push(format!("{} changes its server, and nothing else has changed", note.peer));
            }
        }
    }

    fn change(&mut self) {
        self.changed = true;
        let servers = self.plan.pools[0].servers.clone();
        let index = self.rng.between(0, servers.len() as u64 - 1) as usize;
        let server = &servers[index];
        let address = SocketAddr::from((server.address.parse::<std::net::Ipv4Addr>().expect("an address"), 53));
        match self.rng.between(0, 5) {
            0 => {
                let up = !self.up.contains(&server.id);
                self.judge_server(&server.id, up);
            }
            1 if self.dead.remove(&address) => {}
            1 => drop(self.dead.insert(address)),
            2 => self.replace(|plan| plan.pools[0].servers[index].enabled ^= true),
            3 if servers.len() > 1 => self.replace(|plan| drop(plan.pools[0].servers.remove(index))),
            4 => self.replace(|plan| {
                if let Some(udp) = &mut plan.virtual_services[0].udp {
                    udp.keep_client_address = !udp.keep_client_address;
                }
            }),
            _ => self.replace(|plan| {
                if let Some(udp) = &mut plan.virtual_services[0].udp {
                    (udp.idle_timeout_s, udp.per_datagram) = (udp.idle_timeout_s % 7 + 1, !udp.per_datagram);
                }
            }),
        }
    }

    fn judge_server(&mut self, name: &str, up: bool) {
        if up {
            self.up.insert(name.to_owned())
        } else {
            self.up.remove(name)
        };
        self.proxy.set_server_up(&mut self.ether, POOL, name, up);
    }

    fn replace(&mut self, edit: impl FnOnce(&mut api::Plan)) {
        edit(&mut self.plan);
        self.plan.revision += 1;
        let built = Snapshot::build(&self.plan, Some(&self.snapshot), &self.worker);
        self.snapshot = Arc::new(built.expect("the simulated Plan is sound").0);
        self.proxy.replace(&mut self.ether, self.snapshot.clone());
        self.proxy.end_displaced_sessions(&mut self.ether);
    }

    fn judge(&mut self) {
        if !self.proxy.is_idle() {
            self.violations.push("sessions are left over".into());
        }
        self.violations.extend(self.ether.leftovers());
        let unanswered = self.asked.difference(&self.answered).count();
        if self.ether.weather.calm && !self.is_crowded() && unanswered > 0 {
            self.violations.push(format!("{unanswered} questions have no answer, and no datagram was lost"));
        }
        let counted = self.proxy.counters().service(0).cloned().unwrap_or_default();
        if (counted.received_datagrams, counted.sent_datagrams) != (self.ether.received, self.ether.replied) {
            self.violations.push(format!("{counted:?} is not what happened"));
        }
        if counted.open_connections != 0 {
            self.violations.push(format!("{} sessions count as open", counted.open_connections));
        }
        self.judge_records(counted.connections);
    }

    /// Each session has a record, with what came and what went.
    fn judge_records(&mut self, sessions: u64) {
        let packed = self.proxy.take_records(true).map(|batch| batch.buffer.into_packed()).unwrap_or_default();
        let Some(records) = Packed::all(&packed) else { return self.violations.push("no records".into()) };
        let of_sessions = || records.iter().filter(|record| record.server() != u32::MAX);
        if of_sessions().count() as u64 != sessions {
            self.violations.push(format!("{} records of {sessions} sessions", of_sessions().count()));
        }
        let clients: BTreeSet<_> = self.asked.iter().map(|note| note.peer).collect();
        for record in &records {
            if record.kind() != Kind::Session as u8 || !clients.contains(&record.client()) {
                self.violations.push(format!("a record of kind {} and {}", record.kind(), record.client()));
            }
        }
        let up = records.iter().map(|record| record.request_bytes()).sum::<u64>();
        let down = records.iter().map(|record| record.response_bytes()).sum::<u64>();
        let [received, replied] =
            [self.ether.received, self.ether.replied].map(|count| count * u64::from(ether::BYTES));
        if down != replied || up > received || self.ether.weather.calm && !self.is_crowded() && up != received {
            self.violations.push(format!("records have {up} and {down} bytes, of {received} and {replied}"));
        }
    }
}
