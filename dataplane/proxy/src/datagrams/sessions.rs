//! All sessions of a worker: found by client and by socket, counted per service and per address, ended when idle.
//!
//! There is no timer per session. Each service has a list of its sessions, those used longest ago first, and only the
//! heads of the lists are looked at. A session moves to the back of its list at most once per [`STEP`].

use std::time::Duration;

use foldhash::HashMap;

use super::{
    io::ServerSocket,
    session::{Key, Session},
};
use crate::{io::Time, shortage::addresses::network};

/// How late a session may be found to be idle.
const STEP: Duration = Duration::from_millis(500);
/// The maximum of sessions that one batch ends because they are idle. The others end with the next.
const EXPIRED_MAX: usize = 256;
const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Sessions {
    entries: Vec<Entry>,
    free: Vec<u32>,
    by_key: HashMap<Key, u32>,
    /// By the slot of the session's socket.
    by_socket: Vec<u32>,
    /// By the id of the service.
    queues: HashMap<u32, Queue>,
    /// How many sessions the clients of each network have.
    networks: HashMap<u128, u32>,
    /// No session is idle for long enough before.
    due: Option<Time>,
    /// While the worker drains, sessions end after this time.
    idle_max: Option<Duration>,
    /// The number of changes after which a session may have to move.
    pub changes: u32,
}

struct Entry {
    /// `None`: the entry is free.
    session: Option<Session>,
    /// When the session came to the back of its queue.
    queued: Time,
    previous: u32,
    next: u32,
}

/// The sessions of a service, as a list through the entries.
struct Queue {
    first: u32,
    last: u32,
    len: usize,
    idle: Duration,
}

impl Sessions {
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn of_service(&self, service: u32) -> usize {
        self.queues.get(&service).map_or(0, |queue| queue.len)
    }

    /// How many sessions the clients of one address have. An IPv6 host has a whole /64 of addresses.
    pub fn of_address(&self, peer: std::net::SocketAddr) -> usize {
        self.networks.get(&network(peer)).map_or(0, |sessions| *sessions as usize)
    }

    pub fn find(&self, key: &Key) -> Option<u32> {
        self.by_key.get(key).copied()
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

    /// Adds a session with a key that no other has.
    pub fn insert(&mut self, session: Session, now: Time) -> u32 {
        let (key, socket) = (session.key, session.socket);
        let entry = Entry { session: Some(session), queued: now, previous: NONE, next: NONE };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.by_key.insert(key, id);
        *self.networks.entry(network(key.peer)).or_default() += 1;
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
        let network = network(session.key.peer);
        if let Some(count) = self.networks.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.networks.remove(&network);
            }
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
        if now.since(self.entries[id as usize].queued) >= STEP {
            self.unlink(id);
            self.push_back(id, now);
        }
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
        let mut expired = Vec::new();
        let services: Vec<u32> = self.queues.keys().copied().collect();
        services.iter().for_each(|service| self.look_at(*service, now, &mut expired));
        let next = self.queues.values().filter_map(|queue| {
            let first = self.entries.get(queue.first as usize)?;
            Some(first.queued + self.idle_of(queue))
        });
        self.due = if expired.len() < EXPIRED_MAX { next.min() } else { Some(now) };
        expired
    }

    fn idle_of(&self, queue: &Queue) -> Duration {
        self.idle_max.map_or(queue.idle, |most| most.min(queue.idle))
    }

    fn look_at(&mut self, service: u32, now: Time, expired: &mut Vec<u32>) {
        while let Some(queue) = self.queues.get(&service)
            && expired.len() < EXPIRED_MAX
            && let Some(Entry { session: Some(session), queued, .. }) = self.entries.get(queue.first as usize)
        {
            let (id, idle, active) = (queue.first, self.idle_of(queue), session.active);
            if now < *queued + idle {
                return;
            }
            self.unlink(id);
            if active + idle <= now {
                expired.push(id);
            } else {
                self.push_back(id, active);
            }
        }
    }

    fn push_back(&mut self, id: u32, queued: Time) {
        let Some(session) = self.at(id) else { return };
        let (service, idle) = (session.service.id, session.udp().map_or(Duration::ZERO, |udp| udp.idle));
        let none = Queue { first: NONE, last: NONE, len: 0, idle };
        let queue = self.queues.entry(service).or_insert(none);
        let last = std::mem::replace(&mut queue.last, id);
        if last == NONE {
            queue.first = id;
        }
        (queue.len, queue.idle) = (queue.len + 1, idle);
        let idle = self.idle_max.map_or(idle, |most| most.min(idle));
        self.due = Some(self.due.map_or(queued + idle, |due| due.min(queued + idle)));
        if let Some(last) = self.entries.get_mut(last as usize) {
            last.next = id;
        }
        let entry = &mut self.entries[id as usize];
        (entry.queued, entry.previous, entry.next) = (queued, last, NONE);
    }

    fn unlink(&mut self, id: u32) {
        let Some(Entry { session: Some(session), previous, next, .. }) = self.entries.get(id as usize) else { return };
        let (service, previous, next) = (session.service.id, *previous, *next);
        let Some(queue) = self.queues.get_mut(&service) else { return };
        if queue.first != id && previous == NONE {
            return; // It is in no list.
        }
        queue.len -= 1;
        match self.entries.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => queue.first = next,
        }
        match self.entries.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => queue.last = previous,
        }
        if queue.len == 0 {
            self.queues.remove(&service);
        }
        self.entries[id as usize].previous = NONE;
    }
}
