//! All sessions of a worker: found by client and by socket, counted per address, ended when idle.
//!
//! There is no timer per session. Each service has a list of its sessions, those used longest ago first, and only the
//! heads of the lists are looked at. [`Crowd`] has lists in the same order, of all services. A session moves to the back
//! of its lists at most once per [`STEP`]; when places become few, with each batch.

use std::{collections::hash_map, hash::Hash, time::Duration};

use foldhash::HashMap;
use weir_snapshot::VirtualService;

use super::{
    crowd::{Crowd, Rank},
    io::ServerSocket,
    list::{Links, List},
    session::{Key, Session},
};
use crate::{io::Time, limits::Limits, shortage::addresses::network};

/// How late a session may be found to be idle.
const STEP: Duration = Duration::from_millis(500);
/// The maximum of sessions that one batch ends because they are idle. The others end with the next.
const EXPIRED_MAX: usize = 256;
const NONE: u32 = u32::MAX;

pub(crate) struct Sessions {
    places: Places,
    entries: Vec<Entry>,
    free: Vec<u32>,
    by_key: HashMap<Key, u32>,
    /// How many sessions clients have whose datagrams go to several servers.
    shared_out: HashMap<Key, u32>,
    /// By the slot of the session's socket.
    by_socket: Vec<u32>,
    /// By the id of the service.
    queues: HashMap<u32, Queue>,
    /// Of the queues, by session.
    queue_links: Vec<Links>,
    /// By source.
    crowds: [Crowd; 2],
    /// Of the crowds, by session.
    crowd_links: Vec<Links>,
    /// How many sessions the clients of each network have.
    networks: HashMap<u128, u32>,
    /// No session is idle for long enough before.
    due: Option<Time>,
    /// While the worker drains, sessions end after this time.
    idle_max: Option<Duration>,
    /// The number of changes after which a session may have to move.
    pub changes: u32,
    /// They end before the next batch.
    pub leaving: Vec<u32>,
}

struct Entry {
    /// `None`: the entry is free.
    session: Option<Session>,
    /// When the session came to the back of its lists.
    queued: Time,
    source: Source,
    rank: Rank,
}

/// The sessions of a service.
#[derive(Default)]
struct Queue {
    list: List,
    idle: Duration,
}

/// Whose address and port the socket of a session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Engine = 0,
    Client = 1,
}

impl Source {
    pub fn of(service: &VirtualService) -> Self {
        match service.udp.as_ref().is_some_and(|udp| udp.keeps_client_address) {
            true => Self::Client,
            false => Self::Engine,
        }
    }
}

/// The number of sessions from which on each new one needs the end of another.
struct Places {
    sockets: usize,
    /// Of sessions with ports of the engine.
    ports: usize,
}

impl Sessions {
    pub fn new(limits: &Limits) -> Self {
        Self {
            places: Places { sockets: limits.session_sockets_usual(), ports: limits.session_ports_usual() },
            entries: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::default(),
            shared_out: HashMap::default(),
            by_socket: Vec::new(),
            queues: HashMap::default(),
            queue_links: Vec::new(),
            crowds: Default::default(),
            crowd_links: Vec::new(),
            networks: HashMap::default(),
            due: None,
            idle_max: None,
            changes: 0,
            leaving: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// How many sessions the clients of one address have. An IPv6 host has a whole /64 of addresses.
    pub fn of_address(&self, peer: std::net::SocketAddr) -> usize {
        self.networks.get(&network(peer)).map_or(0, |sessions| *sessions as usize)
    }

    /// The sessions that began in a service.
    pub fn of_service(&self, service: u32) -> Vec<u32> {
        self.queues.get(&service).map_or(Vec::new(), |queue| queue.list.ids(&self.queue_links).collect())
    }

    pub fn find(&self, key: &Key) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// Whether a client has sessions for its datagrams one by one, with whatever server.
    pub fn knows(&self, client: &Key) -> bool {
        self.shared_out.contains_key(client)
    }

    pub fn of_socket(&self, socket: ServerSocket) -> Option<u32> {
        let id = *self.by_socket.get(socket.slot as usize)?;
        self.at(id).filter(|session| session.socket == socket).map(|_| id)
    }

    pub fn at(&self, id: u32) -> Option<&Session> {
        self.entries.get(id as usize)?.session.as_ref()
    }

    pub fn at_mut(&mut self, id: u32) -> Option<&mut Session> {
        self.entries.get_mut(id as usize)?.session.as_mut()
    }

    pub fn ids(&self) -> Vec<u32> {
        self.by_key.values().copied().collect()
    }

    /// The session that has to end before another with this source begins; `None`: there is a place.
    pub fn in_the_way_of(&self, source: Source) -> Option<u32> {
        let engine = &self.crowds[Source::Engine as usize];
        match source {
            Source::Engine if engine.len() >= self.places.ports => self.least_with_port(),
            _ if self.len() < self.places.sockets => None,
            _ => self.least_with_socket(),
        }
    }

    /// The session that ends first for a socket.
    pub fn least_with_socket(&self) -> Option<u32> {
        let [engine, client] = &self.crowds;
        self.least_of(if engine.len() >= client.len() { engine } else { client })
    }

    /// The session that ends first for a port of the engine.
    pub fn least_with_port(&self) -> Option<u32> {
        self.least_of(&self.crowds[Source::Engine as usize])
    }

    fn least_of(&self, crowd: &Crowd) -> Option<u32> {
        crowd.least(|id| self.entries[id as usize].queued)
    }

    /// Adds a session with a key that no other has.
    pub fn insert(&mut self, session: Session, now: Time) -> u32 {
        let (key, socket, source) = (session.key, session.socket, Source::of(&session.service));
        let entry = Entry { session: Some(session), queued: now, source, rank: Rank::Newcomer };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                self.queue_links.push(Links::UNUSED);
                self.crowd_links.push(Links::UNUSED);
                self.entries.len() as u32 - 1
            }
        };
        self.by_key.insert(key, id);
        *self.networks.entry(network(key.peer)).or_default() += 1;
        if key.server != Key::ANY {
            *self.shared_out.entry(Key { server: Key::ANY, ..key }).or_default() += 1;
        }
        self.connect(id, socket);
        self.push_back(id, now);
        id
    }

    /// Ends the books of a session.
    pub fn remove(&mut self, id: u32) -> Option<Session> {
        self.at(id)?;
        self.unlink(id);
        let session = self.entries[id as usize].session.take()?;
        self.free.push(id);
        self.by_key.remove(&session.key);
        self.by_socket[session.socket.slot as usize] = NONE;
        count_down(&mut self.networks, network(session.key.peer));
        if session.key.server != Key::ANY {
            count_down(&mut self.shared_out, Key { server: Key::ANY, ..session.key });
        }
        Some(session)
    }

    /// The session has another socket.
    pub fn connect(&mut self, id: u32, socket: ServerSocket) {
        let Some(session) = self.at_mut(id) else { return };
        let before = std::mem::replace(&mut session.socket, socket);
        if let Some(slot) = self.by_socket.get_mut(before.slot as usize) {
            *slot = NONE;
        }
        let slot = socket.slot as usize;
        if self.by_socket.len() <= slot {
            self.by_socket.resize(slot + 1, NONE);
        }
        self.by_socket[slot] = id;
    }

    /// A datagram of the session has just come.
    #[inline]
    pub fn used(&mut self, id: u32, now: Time) {
        let since = now.since(self.entries[id as usize].queued);
        if since >= STEP || since > Duration::ZERO && self.has_few_places() {
            self.unlink(id);
            self.push_back(id, now);
        }
    }

    /// From now on the session ends after those that are not established.
    pub fn establish(&mut self, id: u32) {
        let Entry { source, rank, .. } = &mut self.entries[id as usize];
        let (crowd, before) = (&mut self.crowds[*source as usize], std::mem::replace(rank, Rank::Established));
        crowd.remove(id, before, &mut self.crowd_links);
        crowd.push_back(id, Rank::Established, &mut self.crowd_links);
    }

    /// When to call [`expired`](Self::expired).
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// From now on sessions end after this time, if not earlier.
    pub fn shorten(&mut self, idle_max: Duration, now: Time) {
        self.idle_max = Some(idle_max);
        self.due = (self.len() > 0).then_some(now);
    }

    /// Sessions that are idle for long enough, as many as one batch ends. Remove them before the next call.
    pub fn expired(&mut self, now: Time) -> Vec<u32> {
        let (mut expired, mut next) = (Vec::new(), None);
        for queue in self.queues.values() {
            let idle = self.idle_of(queue.idle);
            for id in queue.list.ids(&self.queue_links) {
                let Some(session) = self.at(id) else { break };
                let ends = session.active + idle;
                if ends > now {
                    // Those behind it end less than a STEP before it, if at all.
                    next = Some(next.map_or(ends, |next: Time| next.min(ends)));
                    break;
                }
                if expired.len() == EXPIRED_MAX {
                    self.due = Some(now);
                    return expired;
                }
                expired.push(id);
            }
        }
        self.due = next;
        expired
    }

    fn idle_of(&self, idle: Duration) -> Duration {
        self.idle_max.map_or(idle, |most| most.min(idle))
    }

    /// Three quarters are taken: soon it matters who is idle longest.
    fn has_few_places(&self) -> bool {
        let Places { sockets, ports } = self.places;
        self.len() >= sockets / 4 * 3 || self.crowds[Source::Engine as usize].len() >= ports / 4 * 3
    }

    fn push_back(&mut self, id: u32, now: Time) {
        let Some(session) = self.at(id) else { return };
        let (service, idle) = (session.service.id, session.udp().map_or(Duration::ZERO, |udp| udp.idle));
        let queue = self.queues.entry(service).or_default();
        queue.idle = idle;
        queue.list.push_back(id, &mut self.queue_links);
        let ends = now + self.idle_of(idle);
        self.due = Some(self.due.map_or(ends, |due| due.min(ends)));
        let entry = &mut self.entries[id as usize];
        entry.queued = now;
        self.crowds[entry.source as usize].push_back(id, entry.rank, &mut self.crowd_links);
    }

    fn unlink(&mut self, id: u32) {
        let Entry { session: Some(session), source, rank, .. } = &self.entries[id as usize] else { return };
        self.crowds[*source as usize].remove(id, *rank, &mut self.crowd_links);
        let Some(queue) = self.queues.get_mut(&session.service.id) else { return };
        queue.list.remove(id, &mut self.queue_links);
        if queue.list.len() == 0 {
            self.queues.remove(&session.service.id);
        }
    }
}

/// One less of a kind.
fn count_down<K: Eq + Hash>(counts: &mut HashMap<K, u32>, kind: K) {
    if let hash_map::Entry::Occupied(mut count) = counts.entry(kind) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}
