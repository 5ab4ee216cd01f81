//! What will happen when: simulated time is this list, and nothing else moves it.

use std::{cmp::Ordering, collections::BinaryHeap, net::SocketAddr};

use weir_proxy::io::{Conn, Gone, Time};

pub type LinkId = usize;

#[derive(Debug)]
pub enum Act {
    /// Bytes, the end, or a reset arrive at the engine.
    EngineBytes(LinkId, Vec<u8>),
    EngineFin(LinkId),
    EngineReset(LinkId),
    /// The engine looks again at what has arrived and is unread.
    Pump(LinkId),
    Accept {
        link: LinkId,
        listener: SocketAddr,
        peer: SocketAddr,
    },
    Connected(LinkId),
    ConnectFailed(LinkId, Gone),
    Deadline(Conn, Time),
    /// Tell the engine that a queue is empty.
    Drained(LinkId),
    /// Tell the engine that nothing it sends arrives.
    Broken(LinkId),
    /// Tell the engine that a peer which it does not read has ended.
    Leaving(LinkId),
    /// The driver stops trying to flush a connection that the engine has closed.
    Forget(LinkId),
    /// Bytes, the end, or a reset arrive at the peer.
    PeerBytes(LinkId, Vec<u8>),
    PeerFin(LinkId),
    PeerReset(LinkId),
    /// A slow peer reads some more.
    PeerReads(LinkId),
    /// A peer's own timer.
    PeerTimer(LinkId),
    /// The proxy wants a batch.
    Due,
    /// The world's doing: a client starts, the snapshot changes.
    World(u32),
}

struct Entry {
    at: Time,
    order: u64,
    act: Act,
}

#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Entry>,
    entries_ever: u64,
}

impl Agenda {
    pub fn add(&mut self, at: Time, act: Act) {
        self.entries_ever += 1;
        self.heap.push(Entry { at, order: self.entries_ever, act });
    }

    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.at)
    }

    pub fn take(&mut self) -> Option<(Time, Act)> {
        self.heap.pop().map(|entry| (entry.at, entry.act))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Earliest first, in the order of adding: `BinaryHeap` gives its greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}
