//! Who goes when there is not room for all: when places for clients run short, or memory for what clients do not take.
//!
//! Places are shared, by virtual services and by client addresses. An address that holds far more than others loses first,
//! wherever its clients are; of all other addresses a virtual service that holds no more than its share loses nobody. Who
//! goes is what has stood still for longest: between two requests, with half a head, or without any progress. Nobody goes
//! for a newcomer whose address holds far more already; work goes only for one whose virtual service or address holds far
//! less. Who holds how much, and who has stood still, is learnt from a sample of all clients, so that nobody waits for it
//! where there are many; one sample serves many newcomers.

use std::{cmp::Reverse, net::IpAddr, net::SocketAddr, time::Duration};

use foldhash::{HashMap, HashMapExt, HashSet};
use weir_telemetry::{Cause, Happening};

use crate::{
    client::{Client, Stage},
    io::{Close, Conn, Io, Time},
    line::Line,
    proxy::Proxy,
    rescue::Error,
    server::Server,
    table::Table,
};

/// How many clients are looked at. It takes a fifth of a millisecond.
const SURVEYED: usize = 1024;
/// Between two surveys, when the first was in vain: so much for each client looked at, ten times what that takes.
const SURVEY_PAUSE: Duration = Duration::from_micros(2);
/// So much of who is looked at one survey finds at most.
const SURVEYED_PART: usize = 16;
/// An address that holds 2^this times as many clients as another holds far more.
const FAR_MORE: u32 = 3;
/// For one that holds far more than others do, so much sooner is work stuck.
const LESS_PATIENCE: u32 = 10;
/// Memory is freed down to this part of what there may be, and of so many clients in one batch.
const FREED_TO: (usize, usize) = (15, 16);
const FREED_AT_ONCE: usize = 32;

#[derive(Default)]
pub(crate) struct Shortage {
    /// Who may go; the first to go is the last.
    candidates: Vec<Candidate>,
    /// Counts them, so that each looks at others.
    surveys: usize,
    /// As the last survey found them.
    weights: HashMap<IpAddr, u32>,
    above_share: HashSet<u32>,
    /// What the address that holds fewest holds.
    least: u32,
    /// When a survey found nobody to go for a newcomer of an address that holds little.
    nobody_for_light_at: Option<Time>,
    /// And of one that holds far more.
    nobody_for_heavy_at: Option<Time>,
    /// More memory was in use than there may be, and too little has been freed yet.
    frees_memory: bool,
    /// When a survey found nobody who holds any.
    no_holders_at: Option<Time>,
}

struct Candidate {
    conn: Conn,
    /// It has not moved since; if it has, it is none any more.
    since: Time,
    /// How many its address holds, as a power of 2.
    weight: u32,
    standing: Standing,
    turn: Turn,
}

/// When somebody's turn to go is, the first first. Those who hold far more than others go before these; but not what
/// works for them before what has long stood still for others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Turn {
    Hoarded,
    StoodStill,
    HoarderWorks,
    /// Has just come, or just been answered.
    Fresh,
    Works,
}

/// What would be lost with a client, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Standing {
    /// Between two requests.
    Idle,
    /// Amid a handshake, a head, or a body that no answer waits behind.
    Partial,
    /// Waits for a server, or for its client, and nothing has come of it for long.
    Stuck,
    Works,
}

// Places.
impl Proxy {
    /// Whether one more client may come, for whom another may have to go.
    pub(crate) fn make_place<I: Io>(&mut self, io: &mut I, listener: SocketAddr, peer: SocketAddr) -> bool {
        if self.clients.len() < self.core.limits.clients_usual() {
            return true;
        }
        let Some(service) = self.core.snapshot.listener(listener).map(|found| found.service.id) else { return false };
        let placed = self.evict_for(io, service, peer) || self.survey_for(io, service, peer);
        // What is kept free is for those who have had little.
        let shortage = &self.core.shortage;
        let is_entitled = !shortage.above_share.contains(&service) && !shortage.is_heavy(peer);
        let may_come = placed || is_entitled && self.clients.len() < self.core.limits.clients;
        if !may_come {
            self.core.counters.note(Happening::Failed { service, cause: Cause::EngineRefused });
        }
        may_come
    }

    fn survey_for<I: Io>(&mut self, io: &mut I, service: u32, peer: SocketAddr) -> bool {
        let (now, pause) = (io.now(), self.survey_pause());
        let heavy = self.core.shortage.is_heavy(peer);
        if self.core.shortage.nobody_at(heavy).is_some_and(|at| now.since(at) < pause) {
            return false;
        }
        self.survey(io);
        let placed = self.evict_for(io, service, peer);
        *self.core.shortage.nobody_at(heavy) = (!placed).then_some(now);
        placed
    }

    /// Sends the next candidate away, if it must go for a client of this service and address.
    fn evict_for<I: Io>(&mut self, io: &mut I, service: u32, peer: SocketAddr) -> bool {
        while let Some(candidate) = self.core.shortage.candidates.pop() {
            let Candidate { conn, since, standing, .. } = candidate;
            let Some(client) = self.clients.peek(conn) else { continue };
            if moved_at(client, &self.servers) != since {
                continue;
            }
            if !self.core.shortage.yields(&candidate, service, peer) {
                self.core.shortage.candidates.push(candidate);
                return false;
            }
            let how = if standing == Standing::Idle { Close::Flush } else { Close::Abort };
            self.evict(io, conn, Cause::EngineEvicted, how);
            return true;
        }
        false
    }

    fn survey_pause(&self) -> Duration {
        SURVEY_PAUSE * self.clients.len().min(SURVEYED) as u32
    }

    /// Finds out who holds how much, and who may go.
    fn survey<I: Io>(&mut self, io: &I) {
        let now = io.now();
        self.core.shortage.surveys += 1;
        let sample: Vec<_> = self.clients.sample(SURVEYED, self.core.shortage.surveys).collect();
        let (mut services, mut weights) = (HashMap::<u32, usize>::new(), HashMap::<IpAddr, u32>::new());
        for (_, client) in &sample {
            *services.entry(client.accepted_by).or_default() += 1;
            *weights.entry(network(client.peer)).or_default() += 1;
        }
        // Each stands for as many.
        let of_each = (self.clients.len() / sample.len().max(1)).max(1) as u32;
        weights.values_mut().for_each(|held| *held *= of_each);
        let share = sample.len() / services.len().max(1);
        let shortage = &mut self.core.shortage;
        shortage.above_share = services.iter().filter(|(_, held)| **held >= share).map(|(id, _)| *id).collect();
        shortage.least = weights.values().min().map_or(0, |held| held.ilog2());
        let (least, patience) = (shortage.least, self.core.limits.stuck);
        let candidate = |(conn, client): (Conn, &Client)| {
            let weight = weights.get(&network(client.peer)).map_or(0, |held| held.ilog2());
            let heavy = weight >= least + FAR_MORE;
            if !heavy && !shortage.above_share.contains(&client.accepted_by) {
                return None;
            }
            let since = moved_at(client, &self.servers);
            let still = now.since(since);
            let (fresh, stuck) = (still < patience / LESS_PATIENCE, still >= patience);
            let standing = standing(client, stuck || heavy && !fresh, fresh, io.queued(conn) > 0);
            Some(Candidate { conn, since, weight, standing, turn: turn(standing, heavy, fresh) })
        };
        let surveyed = sample.len();
        let mut candidates: Vec<_> = sample.into_iter().filter_map(candidate).collect();
        let first_to_go = |c: &Candidate| (c.turn, Reverse(c.weight), c.standing, c.since);
        let found = surveyed.div_ceil(SURVEYED_PART).min(candidates.len());
        if found < candidates.len() {
            candidates.select_nth_unstable_by_key(found, first_to_go);
            candidates.truncate(found);
        }
        candidates.sort_unstable_by_key(|candidate| Reverse(first_to_go(candidate)));
        (shortage.candidates, shortage.weights) = (candidates, weights);
    }

    /// Ends a client that has done nothing wrong.
    fn evict<I: Io>(&mut self, io: &mut I, conn: Conn, cause: Cause, how: Close) {
        let Some(client) = self.clients.find(conn) else { return };
        let service = client.service.id;
        self.core.counters.note(Happening::Failed { service, cause });
        if client.is_amid_handshake() {
            self.core.counters.note(Happening::HandshakeFailed { service });
        }
        if let Some(server) = client.exchange().and_then(|exchange| exchange.server()) {
            self.blame(io, server, Error::ClientAborted);
            self.close_server(io, server, Close::Abort);
        }
        self.close_client(io, conn, how);
    }
}

// Memory.
impl Proxy {
    /// Whether there is less memory than there should be, until enough of it has been freed.
    pub(crate) fn lacks_memory<I: Io>(&mut self, io: &I) -> bool {
        let (most_bytes, used_bytes) = (self.core.limits.buffer_bytes, io.buffered_bytes());
        let from_bytes =
            if self.core.shortage.frees_memory { most_bytes / FREED_TO.1 * FREED_TO.0 } else { most_bytes };
        self.core.shortage.frees_memory = used_bytes > from_bytes;
        self.core.shortage.frees_memory
    }

    /// Sends some of those away who hold memory and move least.
    pub(crate) fn free_memory<I: Io>(&mut self, io: &mut I) {
        let (now, pause) = (io.now(), self.survey_pause());
        if self.core.shortage.no_holders_at.is_some_and(|at| now.since(at) < pause) {
            return;
        }
        let mut holders = self.memory_holders(io);
        self.core.shortage.no_holders_at = holders.is_empty().then_some(now);
        for _ in 0..FREED_AT_ONCE {
            let Some((_, _, conn)) = holders.pop().filter(|_| self.lacks_memory(io)) else { return };
            self.evict(io, conn, Cause::EngineMemory, Close::Abort);
        }
    }

    /// Who of a sample of all clients holds buffers, with the weight of its address in pieces; the first to go is the last.
    fn memory_holders<I: Io>(&mut self, io: &I) -> Vec<(u32, Reverse<Time>, Conn)> {
        self.core.shortage.surveys += 1;
        let queued = |line: &Line| if io.queued(line.conn) > 0 { line.pieces() } else { 0 };
        let held = |client: &Client| {
            let server = server_of(client, &self.servers);
            let of_server = server.map_or(0, |server| queued(&server.line) + server.inbox.pieces());
            let of_exchange = if let Stage::Exchange(exchange) = &client.stage { exchange.pieces() } else { 0 };
            queued(&client.line) + client.inbox.pieces() + of_exchange + of_server
        };
        let sample = self.clients.sample(SURVEYED, self.core.shortage.surveys);
        let holders: Vec<_> = sample.map(|(conn, client)| (conn, client, held(client))).collect();
        let mut weights = HashMap::<IpAddr, usize>::new();
        for (_, client, pieces) in &holders {
            *weights.entry(network(client.peer)).or_default() += pieces;
        }
        let mut holders: Vec<_> = holders
            .into_iter()
            .filter(|(_, _, pieces)| *pieces > 0)
            .map(|(conn, client, _)| {
                let weight = weights.get(&network(client.peer)).map_or(0, |pieces| pieces.ilog2());
                (weight, Reverse(moved_at(client, &self.servers)), conn)
            })
            .collect();
        holders.sort_unstable();
        holders
    }
}

impl Shortage {
    /// As a power of 2.
    fn weight(&self, peer: SocketAddr) -> u32 {
        self.weights.get(&network(peer)).map_or(0, |held| held.ilog2())
    }

    fn nobody_at(&mut self, heavy: bool) -> &mut Option<Time> {
        if heavy { &mut self.nobody_for_heavy_at } else { &mut self.nobody_for_light_at }
    }

    fn is_heavy(&self, peer: SocketAddr) -> bool {
        self.weight(peer) >= self.least + FAR_MORE
    }

    /// Whether a client goes for another of this service and address.
    fn yields(&self, candidate: &Candidate, service: u32, peer: SocketAddr) -> bool {
        let newcomer = self.weight(peer);
        match candidate.standing {
            _ if newcomer >= candidate.weight + FAR_MORE => false,
            Standing::Works => !self.above_share.contains(&service) || candidate.weight >= newcomer + FAR_MORE,
            Standing::Idle | Standing::Partial | Standing::Stuck => true,
        }
    }
}

fn standing(client: &Client, stuck: bool, fresh: bool, has_unsent: bool) -> Standing {
    match &client.stage {
        Stage::Idle if client.has_asked() && !has_unsent => Standing::Idle,
        Stage::Idle | Stage::Head | Stage::Handshake => Standing::Partial,
        Stage::Exchange(exchange) if !fresh && exchange.awaits_body() && !exchange.has_begun_response() => {
            Standing::Partial
        }
        Stage::Exchange(_) | Stage::Tunnel(_) if stuck => Standing::Stuck,
        Stage::Exchange(_) | Stage::Tunnel(_) => Standing::Works,
    }
}

fn turn(standing: Standing, heavy: bool, fresh: bool) -> Turn {
    match (standing == Standing::Works, heavy) {
        (false, true) => Turn::Hoarded,
        (false, false) if fresh => Turn::Fresh,
        (false, false) => Turn::StoodStill,
        (true, true) => Turn::HoarderWorks,
        (true, false) => Turn::Works,
    }
}

/// When something last came or went, on either side.
fn moved_at(client: &Client, servers: &Table<Server>) -> Time {
    match &client.stage {
        Stage::Tunnel(tunnel) => tunnel.active_at,
        _ => server_of(client, servers)
            .map_or(client.line.moved_at, |server| client.line.moved_at.max(server.line.moved_at)),
    }
}

fn server_of<'s>(client: &Client, servers: &'s Table<Server>) -> Option<&'s Server> {
    let server = match &client.stage {
        Stage::Exchange(exchange) => exchange.server(),
        Stage::Tunnel(tunnel) => tunnel.server,
        Stage::Handshake | Stage::Idle | Stage::Head => None,
    };
    servers.peek(server?)
}

/// Whom a client is counted with: in IPv6 a host has a whole network of addresses.
fn network(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        ip => ip,
    }
}
