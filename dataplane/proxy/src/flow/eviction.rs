//! Evicts clients when places for clients run short, or memory for unread and unsent bytes.
//!
//! Virtual services and client addresses share the places. An address that holds far more clients than others loses
//! clients first, whichever virtual service they use. Clients of other addresses are evicted only if their virtual
//! service holds its share or more. Clients without progress go before those with progress. Among equals, the addresses
//! with most clients lose one first, then idle clients go before clients amid a request, and then the one that has been
//! still for longest.
//!
//! No client is evicted for a new one whose address holds far more. A client with progress is evicted only for a new
//! one whose virtual service is below its share, or whose address holds far less.
//!
//! Candidates come from a sample of the clients (a survey), so that a survey of many clients delays nobody. One survey
//! serves many new clients. Holders of memory come from a walk over all clients, which serves several batches.

use std::{cmp::Reverse, net::SocketAddr, time::Duration};

use foldhash::{HashMap, HashMapExt};
use weir_telemetry::{Cause, HandshakeFault, Happening, record::Kind};

use crate::{
    client::{Client, Stage},
    connection::Connection,
    core::Core,
    error::Error,
    exchange::Exchange,
    io::{Close, Conn, Io, Time, TransportAddress},
    limits::Limits,
    proxy::Proxy,
    server::Server,
    shortage::{Candidate, FAR_MORE, Holder, Standing, Turn, addresses::network, turn},
};

/// How many clients a survey looks at: half a millisecond of work.
const SURVEYED: usize = 2048;
/// A survey keeps at most one in so many of these clients as candidates.
const SURVEYED_PART: usize = 16;
/// After surveys that found no candidate, the pause before the next one, per client looked at: ten times the cost of a
/// look.
const SURVEY_PAUSE: Duration = Duration::from_micros(2);
/// Work of an address that holds far more than others counts as stuck so many times sooner.
const LESS_PATIENCE: u32 = 10;
/// Once memory has run out, clients are evicted until usage is down to this part of the limit.
const FREED_TO: (usize, usize) = (15, 16);
/// Once usage is within the limit again, one batch evicts at most this many clients for memory.
const FREED_AT_ONCE: usize = 32;
/// After a walk over all clients that freed too little memory, the pause before the next walk, per client.
const WALK_PAUSE: Duration = Duration::from_micros(1);

// Places.
impl Proxy {
    /// Whether one more client may be accepted. Evicts another client for it if necessary; two, while a new snapshot
    /// leaves fewer places than there are clients.
    pub(crate) fn make_place<I: Io>(&mut self, io: &mut I, listener: TransportAddress, peer: SocketAddr) -> bool {
        if self.clients.len() < Limits::usual(self.core.clients_max) {
            return true;
        }
        let Some(found) = self.core.snapshot.listener(listener) else { return false };
        if !found.service.tcp.trusts(peer.ip()) {
            // It needs no place: it is refused.
            return true;
        }
        let (found, service) = (found.service.clone(), found.service.id);
        let placed = self.find_and_evict_for(io, service, peer);
        if placed && self.clients.len() >= self.core.clients_max {
            self.find_and_evict_for(io, service, peer);
        }
        // The free places are for virtual services and addresses that hold little.
        let is_entitled = !self.core.is_above_share(service) && !self.core.shortage.is_heavy(peer);
        let may_come = placed || is_entitled && self.clients.len() < self.core.clients_max;
        if !may_come {
            self.core.counters.note(Happening::Failed { service, cause: Cause::EngineRefused });
            self.core.record_refusal(io, Kind::Connection, &found, (listener.address, peer), Cause::EngineRefused);
        }
        may_come
    }

    fn find_and_evict_for<I: Io>(&mut self, io: &mut I, service: u32, peer: SocketAddr) -> bool {
        self.evict_for(io, service, peer) || self.survey_for(io, service, peer)
    }

    fn survey_for<I: Io>(&mut self, io: &mut I, service: u32, peer: SocketAddr) -> bool {
        let (now, heavy) = (io.now(), self.core.shortage.is_heavy(peer));
        let surveys_of_all = self.clients.len().div_ceil(SURVEYED);
        let pause = SURVEY_PAUSE * self.clients.len().min(SURVEYED) as u32;
        let (count, at) = *self.core.shortage.in_vain(heavy);
        if count >= surveys_of_all && now.since(at) < pause {
            return false;
        }
        self.survey(io);
        let placed = self.evict_for(io, service, peer);
        let count = if placed { count.saturating_sub(1) } else { (count + 1).min(surveys_of_all) };
        *self.core.shortage.in_vain(heavy) = (count, now);
        placed
    }

    /// Evicts the first candidate that yields to a new client of this service and address.
    fn evict_for<I: Io>(&mut self, io: &mut I, service: u32, peer: SocketAddr) -> bool {
        let mut stay = Vec::new();
        let goes = loop {
            let Some(mut candidate) = self.core.shortage.candidates.pop() else { break None };
            if !self.is_still(&mut candidate) {
                continue;
            }
            match self.core.yields(&candidate, service, peer) {
                true => break Some(candidate),
                false => stay.push(candidate),
            }
        };
        self.core.shortage.candidates.extend(stay.into_iter().rev());
        let Some(Candidate { conn, standing, .. }) = goes else { return false };
        let how = if standing == Standing::Idle { Close::Flush } else { Close::Abort };
        self.evict(io, conn, Cause::EngineEvicted, how);
        true
    }

    /// Whether a candidate is still one. Updates its weight, because the survey may be long ago.
    fn is_still(&self, candidate: &mut Candidate) -> bool {
        let Some(client) = self.clients.peek(candidate.conn) else { return false };
        candidate.weight = self.core.shortage.weight(*client.sender());
        let hoards = matches!(candidate.turn, Turn::Hoarded | Turn::HoarderWorks);
        self.moved_at(client) == candidate.since
            && (self.core.shortage.is_heavy(*client.sender())
                || !hoards && self.core.is_above_share(client.accepted_by))
    }

    /// Selects candidates for eviction.
    fn survey<I: Io>(&mut self, io: &I) {
        let (now, patience) = (io.now(), self.core.limits.stuck);
        self.core.shortage.surveys += 1;
        self.core.shortage.least = self.core.shortage.addresses.least();
        self.core.shortage.share = self.clients.len() as u64 / self.core.counters.services_in_use().max(1);
        let candidate = |(conn, client): (Conn, &Client)| {
            let weight = self.core.shortage.weight(*client.sender());
            let heavy = self.core.shortage.is_heavy(*client.sender());
            if !heavy && !self.core.is_above_share(client.accepted_by) {
                return None;
            }
            let since = self.moved_at(client);
            let still = now.since(since);
            let (fresh, stuck) = (still < patience / LESS_PATIENCE, still >= patience);
            let standing = standing(
                client,
                self.exchange_of(client),
                stuck || heavy && !fresh,
                fresh,
                client.connection.line.queued(io) > 0,
            );
            Some(Candidate { conn, since, weight, standing, turn: turn(standing, heavy, fresh) })
        };
        let sample = self.clients.sample(SURVEYED, self.core.shortage.surveys);
        let mut candidates: Vec<_> = sample.filter_map(candidate).collect();
        let first_to_go = |c: &Candidate| (c.turn, Reverse(c.weight), c.standing, c.since);
        let found = self.clients.len().min(SURVEYED).div_ceil(SURVEYED_PART).min(candidates.len());
        if found < candidates.len() {
            candidates.select_nth_unstable_by_key(found, first_to_go);
            candidates.truncate(found);
        }
        candidates.sort_unstable_by_key(|candidate| Reverse(first_to_go(candidate)));
        self.core.shortage.candidates = candidates;
    }

    /// Ends a client that has made no error.
    fn evict<I: Io>(&mut self, io: &mut I, conn: Conn, cause: Cause, how: Close) {
        let Ok(client) = self.clients.live(conn) else { return };
        let service = client.service.id;
        self.core.counters.note(Happening::Failed { service, cause });
        if client.is_amid_handshake() {
            self.core.counters.note(Happening::HandshakeFailed { service, fault: HandshakeFault::Evicted });
        }
        let id = client.exchange();
        let streams: Vec<_> = client.carrier().map_or(Vec::new(), |carrier| carrier.owners().collect());
        let has_begun = match client.stage {
            Stage::Head => true,
            Stage::Idle => !client.connection.inbox.is_empty(),
            _ => false,
        };
        match id.filter(|_| client.noted.is_something()) {
            Some(id) => self.note_failed(io, id, cause),
            None if has_begun => {
                self.note_unread(io, conn);
                self.note_cause(conn, cause);
            }
            None if client.is_idle() && !client.has_asked() || client.is_amid_handshake() => {
                self.record_failure(io, conn, cause);
            }
            None => self.note_cause(conn, cause),
        }
        streams.into_iter().for_each(|stream| self.note_cause(stream, cause));
        let exchange = id.and_then(|id| self.exchanges.peek(id));
        if let Some(server) = exchange.and_then(Exchange::server) {
            self.blame(io, server, Error::ClientAborted, false);
            self.close_server(io, server, Close::Abort);
        }
        self.close_client(io, conn, how);
    }
}

// Memory.
impl Proxy {
    /// At the end of a batch: if memory has run out, evicts those that hold it, the longest unmoved first. One walk
    /// over all clients serves several batches.
    pub(crate) fn free_memory<I: Io>(&mut self, io: &mut I) {
        let most_bytes = self.core.limits.buffer_bytes;
        let enough_bytes = most_bytes / FREED_TO.1 * FREED_TO.0;
        let (mut freed, mut walked) = (0, false);
        while io.buffered_bytes() > enough_bytes {
            let has_run_out = io.buffered_bytes() > most_bytes;
            if freed >= FREED_AT_ONCE && !has_run_out {
                return;
            }
            match self.core.shortage.holders.pop() {
                Some(Holder { conn, since, .. }) => {
                    if self.clients.peek(conn).is_some_and(|client| self.moved_at(client) == since.0) {
                        self.evict(io, conn, Cause::EngineMemory, Close::Abort);
                        freed += 1;
                    }
                }
                None if !has_run_out => return,
                None if walked => return self.core.shortage.too_little_at = Some(io.now()),
                None if self.may_walk(io.now()) => {
                    self.core.shortage.holders = self.memory_holders(io);
                    walked = true;
                }
                None => return,
            }
        }
        self.core.shortage.holders.clear();
    }

    /// False shortly after a walk that freed too little.
    fn may_walk(&self, now: Time) -> bool {
        let pause = WALK_PAUSE * u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
        self.core.shortage.too_little_at.is_none_or(|at| now.since(at) >= pause)
    }

    /// The clients that hold buffers; the first to evict is the last.
    fn memory_holders<I: Io>(&self, io: &I) -> Vec<Holder> {
        let holders: Vec<_> =
            self.clients.iter().map(|(conn, client)| (conn, client, self.pieces_of(io, client))).collect();
        let mut weights = HashMap::<u128, usize>::new();
        for (_, client, pieces) in &holders {
            *weights.entry(network(*client.sender())).or_default() += pieces;
        }
        let mut holders: Vec<_> = holders
            .into_iter()
            .filter(|(_, _, pieces)| *pieces > 0)
            .map(|(conn, client, _)| {
                let weight = weights.get(&network(*client.sender())).map_or(0, |pieces| pieces.ilog2());
                Holder { weight, since: Reverse(self.moved_at(client)), conn }
            })
            .collect();
        holders.sort_unstable();
        holders
    }
}

// What eviction looks at.
impl Proxy {
    fn exchange_of(&self, client: &Client) -> Option<&Exchange> {
        client.exchange().and_then(|id| self.exchanges.peek(id))
    }

    /// The server connection that carries the client's work.
    fn server_of(&self, client: &Client) -> Option<&Server> {
        let server = match &client.stage {
            Stage::Exchange(_) => self.exchange_of(client)?.server(),
            Stage::Tunnel(tunnel) => tunnel.server,
            Stage::Introduction
            | Stage::Hello(_)
            | Stage::Handshake
            | Stage::FirstBytes { .. }
            | Stage::Idle
            | Stage::Head
            | Stage::Http2(_) => None,
        };
        self.servers.peek(server?)
    }

    /// When bytes last arrived or left, on either side.
    fn moved_at(&self, client: &Client) -> Time {
        let own = client.connection.line.moved_at;
        match &client.stage {
            Stage::Tunnel(tunnel) => tunnel.active_at,
            _ => self.server_of(client).map_or(own, |server| own.max(server.connection.line.moved_at)),
        }
    }

    /// How many pieces the client holds, on both sides, and with it the streams that it carries.
    fn pieces_of<I: Io>(&self, io: &I, client: &Client) -> usize {
        let own = self.own_pieces_of(io, client);
        let Stage::Http2(carrier) = &client.stage else { return own };
        let streams = carrier.owners().filter_map(|conn| self.clients.peek(conn));
        own + carrier.pieces() + streams.map(|stream| self.own_pieces_of(io, stream)).sum::<usize>()
    }

    fn own_pieces_of<I: Io>(&self, io: &I, client: &Client) -> usize {
        let held = |connection: &Connection| {
            let queued = if connection.line.queued(io) > 0 { connection.line.pieces() } else { 0 };
            queued + connection.inbox.pieces()
        };
        let of_server = self.server_of(client).map_or(0, |server| held(&server.connection));
        let of_hello = if let Stage::Hello(hello) = &client.stage { hello.pieces() } else { 0 };
        of_hello + held(&client.connection) + self.exchange_of(client).map_or(0, Exchange::pieces) + of_server
    }
}

impl Core {
    /// Whether a virtual service holds its share of the clients, or more.
    fn is_above_share(&self, service: u32) -> bool {
        let held = self.counters.service(service).map_or(0, |counters| counters.open_connections);
        held >= self.shortage.share
    }

    /// Whether a candidate yields to a new client of this service and address.
    fn yields(&self, candidate: &Candidate, service: u32, peer: SocketAddr) -> bool {
        let newcomer = self.shortage.weight(peer);
        match candidate.standing {
            _ if newcomer >= candidate.weight + FAR_MORE => false,
            Standing::Works => !self.is_above_share(service) || candidate.weight >= newcomer + FAR_MORE,
            Standing::Idle | Standing::Partial | Standing::Stuck => true,
        }
    }
}

/// `stuck` and `fresh` say how long the client has not moved.
fn standing(client: &Client, exchange: Option<&Exchange>, stuck: bool, fresh: bool, has_unsent: bool) -> Standing {
    match (&client.stage, exchange) {
        (Stage::Http2(carrier), _) if carrier.connection.streams() == 0 => Standing::Idle,
        (Stage::Http2(_), _) if stuck => Standing::Stuck,
        (Stage::Http2(_), _) => Standing::Works,
        (Stage::Idle, _) if client.has_asked() && !has_unsent => Standing::Idle,
        (Stage::Idle | Stage::Head | Stage::Introduction | Stage::Hello(_) | Stage::Handshake, _) => Standing::Partial,
        (Stage::FirstBytes { .. }, _) => Standing::Partial,
        (_, Some(exchange)) if !fresh && exchange.awaits_body() && !exchange.has_begun_response() => Standing::Partial,
        (Stage::Exchange(_) | Stage::Tunnel(_), _) if stuck => Standing::Stuck,
        (Stage::Exchange(_) | Stage::Tunnel(_), _) => Standing::Works,
    }
}
