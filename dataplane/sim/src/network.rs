//! The simulated network: the `Io` under the proxy, and what peers use on the other side.
//!
//! Reads are cut at any byte, writes leave as a window allows, and connections fail at any moment. Handles are reused
//! at once, so that a handle that is kept too long meets its successor. Time moves only in [`Network::step`].

mod driver;
mod peers;
mod relay;

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use weir_proxy::{
    buf::BufPool,
    io::{Close, Conn, Event, Gone, Time, TransportAddress},
};

use crate::{
    agenda::{Act, Agenda, LinkId},
    link::{Link, Quality},
    rng::Rng,
};

pub const BLOCK_BYTES: usize = 16 * 1024;
/// Bytes on their way to the engine or unread by it, a connection.
const ENGINE_WINDOW_BYTES: usize = 64 * 1024;
/// How long a closed connection may take to flush.
const FLUSH_TIME: Duration = Duration::from_secs(30);

/// What reaches a peer.
#[derive(Debug)]
pub enum Wake {
    Connected,
    Bytes(Vec<u8>),
    Fin,
    Reset,
    Timer,
}

/// What a step was about, apart from events for the engine.
pub enum Step {
    Engine,
    Peer(LinkId, Wake),
    World(u32),
}

/// When a run begins.
pub const BEGIN: Time = Time { nanos: 1_000_000_000 };

pub struct Network {
    now: Time,
    agenda: Agenda,
    rng: Rng,
    links: Vec<Link>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Freed in this batch: used again from the next one on.
    freed: Vec<u32>,
    dirty: Vec<LinkId>,
    dials: VecDeque<(LinkId, SocketAddr)>,
    buffers: BufPool,
    /// What the proxy does, for the story; `None`: nobody listens.
    pub deeds: Option<Vec<String>>,
}

#[derive(Clone, Copy)]
struct Slot {
    generation: u32,
    link: Option<LinkId>,
}

impl Network {
    pub fn new(rng: Rng) -> Self {
        Self {
            now: BEGIN,
            agenda: Agenda::default(),
            rng,
            links: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            dirty: Vec::new(),
            dials: VecDeque::new(),
            buffers: BufPool::new(BLOCK_BYTES, 64),
            deeds: None,
        }
    }

    pub fn at(&mut self, after: Duration, act: Act) {
        self.agenda.add(self.now + after, act);
    }

    pub fn next_at(&self) -> Option<Time> {
        self.agenda.next_at()
    }

    /// A client's connection to `listener`.
    pub fn dial_engine(&mut self, listener: SocketAddr, peer: SocketAddr, quality: Quality) -> LinkId {
        let latency = quality.latency;
        self.links.push(Link::new(quality, None));
        let link = self.links.len() - 1;
        self.at(latency, Act::Accept { link, listener, peer });
        link
    }

    /// A connection that the engine has begun, and that is not answered yet.
    pub fn next_dial(&mut self) -> Option<(LinkId, SocketAddr)> {
        self.dials.pop_front()
    }

    pub fn answer_dial(&mut self, link: LinkId, quality: Quality, outcome: Dial) {
        let latency = quality.latency;
        self.links[link].quality = quality;
        match outcome {
            Dial::Accepted => self.at(latency * 2, Act::Connected(link)),
            Dial::Failed(why) => self.at(latency * 2, Act::ConnectFailed(link, why)),
            Dial::Ignored => {}
        }
    }

    /// Lets the next thing happen; events for the engine go to `batch`.
    pub fn step(&mut self, batch: &mut Vec<Event>) -> Option<Step> {
        let (at, act) = self.agenda.take()?;
        self.now = self.now.max(at);
        match act {
            Act::World(what) => return Some(Step::World(what)),
            Act::Accept { link, listener, peer } => return Some(self.accept(link, listener, peer, batch)),
            Act::Connected(link) => return Some(self.connected(link, batch)),
            Act::ConnectFailed(link, why) => self.gone(link, why, batch),
            Act::EngineBytes(link, bytes) => self.engine_bytes(link, bytes, batch),
            Act::EngineFin(link) => {
                self.links[link].received_fin = true;
                self.leaving(link, batch);
                self.pump(link, batch);
            }
            Act::Leaving(link) => self.leaving(link, batch),
            Act::EngineReset(link) => self.reset(link, batch),
            Act::Pump(link) => {
                self.links[link].pump_due = false;
                self.pump(link, batch);
            }
            Act::Drained(link) => batch.extend(self.links[link].conn.map(|conn| Event::Drained { conn })),
            Act::Broken(link) => batch.extend(self.links[link].conn.map(|conn| Event::Broken { conn })),
            Act::Deadline(conn, at) => self.deadline_passed(conn, at, batch),
            Act::Forget(link) => self.links[link].drop_outgoing(),
            Act::PeerBytes(link, bytes) => return Some(self.peer_bytes(link, bytes)),
            Act::PeerFin(link) => return Some(self.peer_fin(link)),
            Act::PeerReset(link) => return Some(self.peer_reset(link)),
            Act::PeerReads(link) => return Some(self.peer_reads(link)),
            Act::PeerTimer(link) if !self.links[link].peer_closed => return Some(Step::Peer(link, Wake::Timer)),
            Act::PeerTimer(_) | Act::Due => {}
        }
        Some(Step::Engine)
    }

    /// The end of a batch: what was queued leaves.
    pub fn flush(&mut self) {
        for link in std::mem::take(&mut self.dirty) {
            self.links[link].dirty = false;
            self.transmit(link);
        }
        self.free.append(&mut self.freed);
    }

    /// What should not be there once everything is over.
    pub fn leaks(&self) -> Vec<String> {
        let open = self.links.iter().enumerate().filter(|(_, link)| link.conn.is_some());
        let mut leaks: Vec<String> = open.map(|(id, _)| format!("connection {id} was never closed")).collect();
        let deadlines = self.links.iter().filter(|link| link.deadline.is_some()).count();
        if deadlines > 0 {
            leaks.push(format!("{deadlines} deadlines are still set"));
        }
        if self.buffers.in_use() > 0 {
            leaks.push(format!("{} buffers are still in use", self.buffers.in_use()));
        }
        leaks
    }

    /// Whether the engine has the connection.
    pub fn is_open(&self, link: LinkId) -> bool {
        self.links[link].conn.is_some()
    }

    /// When the engine closed a connection; `None`: it has not, or the connection ended by itself.
    pub fn closed_at(&self, link: LinkId) -> Option<Time> {
        self.links[link].closed_at
    }

    pub fn most_queued_bytes(&self) -> usize {
        self.links.iter().map(|link| link.queued_bytes_most).max().unwrap_or(0)
    }
}

/// The result of a connect.
#[derive(Clone, Copy, Debug)]
pub enum Dial {
    Accepted,
    Failed(Gone),
    /// Nothing comes back.
    Ignored,
}

// The engine's side.
impl Network {
    fn link_of(&self, conn: Conn) -> Option<LinkId> {
        let slot = self.slots.get(conn.slot as usize)?;
        slot.link.filter(|_| slot.generation == conn.generation)
    }

    fn open(&mut self, link: LinkId) -> Conn {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, link: None });
            self.slots.len() as u32 - 1
        });
        let entry = &mut self.slots[slot as usize];
        *entry = Slot { generation: entry.generation + 1, link: Some(link) };
        let conn = Conn { slot, generation: entry.generation };
        self.links[link].conn = Some(conn);
        conn
    }

    /// Makes the handle dead.
    fn release(&mut self, link: LinkId) -> Option<Conn> {
        let conn = self.links[link].conn.take()?;
        self.slots[conn.slot as usize].link = None;
        self.freed.push(conn.slot);
        self.links[link].deadline = None;
        Some(conn)
    }

    fn accept(&mut self, link: LinkId, listener: SocketAddr, peer: SocketAddr, batch: &mut Vec<Event>) -> Step {
        let conn = self.open(link);
        self.links[link].connected = true;
        batch.push(Event::Accepted { conn, listener: TransportAddress::tcp(listener), peer });
        Step::Peer(link, Wake::Connected)
    }

    fn connected(&mut self, link: LinkId, batch: &mut Vec<Event>) -> Step {
        self.links[link].connected = true;
        match self.links[link].conn {
            Some(conn) => {
                batch.push(Event::Connected { conn });
                self.mark_dirty(link);
            }
            None => self.at(self.links[link].quality.latency, Act::PeerReset(link)),
        }
        Step::Peer(link, Wake::Connected)
    }

    /// What came before a reset is read first, unless the network lost it.
    fn reset(&mut self, link: LinkId, batch: &mut Vec<Event>) {
        let state = &mut self.links[link];
        let unread = state.conn.is_some() && !state.received.is_empty();
        if unread && (!state.reading || self.rng.chance(50)) {
            state.received_reset = true;
            self.leaving(link, batch);
            self.mark_dirty(link);
        } else {
            self.gone(link, Gone::Reset, batch);
        }
    }

    /// Reports an end that reading does not show, because nobody reads.
    fn leaving(&mut self, link: LinkId, batch: &mut Vec<Event>) {
        let state = &self.links[link];
        if state.leaves_unread() {
            batch.extend(state.conn.map(|conn| Event::Leaving { conn }));
        }
    }

    fn gone(&mut self, link: LinkId, why: Gone, batch: &mut Vec<Event>) {
        self.links[link].drop_outgoing();
        self.links[link].received.clear();
        if let Some(conn) = self.release(link) {
            batch.push(Event::Gone { conn, why });
        }
    }

    fn engine_bytes(&mut self, link: LinkId, bytes: Vec<u8>, batch: &mut Vec<Event>) {
        let state = &mut self.links[link];
        state.on_its_way -= bytes.len();
        match (state.conn, state.closed) {
            (Some(_), _) => {
                state.received.extend(bytes);
                self.pump(link, batch);
            }
            (None, Some(Close::Linger | Close::Cut)) => self.push_to_engine(link),
            (None, Some(Close::Flush)) => self.answer_with_reset(link),
            (None, _) => {}
        }
    }

    /// Bytes have come to a connection that is closed: the rest of the answer is lost to a reset.
    fn answer_with_reset(&mut self, link: LinkId) {
        self.links[link].drop_outgoing();
        self.links[link].closed = Some(Close::Abort);
        let at = self.links[link].arrival_at_peer(self.now);
        self.agenda.add(at, Act::PeerReset(link));
    }

    /// Hands the engine some of what has arrived for it.
    fn pump(&mut self, link: LinkId, batch: &mut Vec<Event>) {
        let Some(conn) = self.links[link].conn.filter(|_| self.links[link].reading) else { return };
        if self.relay_some(link, batch) {
            return self.push_to_engine(link);
        }
        let rounds = self.rng.between(1, 2);
        for _ in 0..rounds {
            let state = &mut self.links[link];
            if state.received.is_empty() {
                break;
            }
            let most = if state.quality.shredded { self.rng.between(1, 7) as usize } else { BLOCK_BYTES };
            let len = most.min(state.received.len());
            let mut buf = self.buffers.take();
            let bytes: Vec<u8> = state.received.drain(..len).collect();
            buf.append(&bytes);
            batch.push(Event::Data { conn, buf });
        }
        let state = &mut self.links[link];
        if !state.received.is_empty() {
            self.pump_later(link);
        } else if state.received_reset {
            return self.gone(link, Gone::Reset, batch);
        } else if state.received_fin && !state.eof_told {
            state.eof_told = true;
            batch.push(Event::Eof { conn });
        }
        self.push_to_engine(link);
    }

    fn pump_later(&mut self, link: LinkId) {
        if !std::mem::replace(&mut self.links[link].pump_due, true) {
            self.at(Duration::from_micros(5), Act::Pump(link));
        }
    }

    fn deadline_passed(&mut self, conn: Conn, at: Time, batch: &mut Vec<Event>) {
        let Some(link) = self.link_of(conn) else { return };
        if self.links[link].deadline == Some(at) {
            self.links[link].deadline = None;
            batch.push(Event::Deadline { conn });
        }
    }

    fn mark_dirty(&mut self, link: LinkId) {
        if !std::mem::replace(&mut self.links[link].dirty, true) {
            self.dirty.push(link);
        }
    }

    /// The peer has reset the connection, and the engine learns of it with what it sends.
    fn transmit_nothing(&mut self, link: LinkId) {
        let state = &mut self.links[link];
        if state.queued_bytes > 0 && !std::mem::replace(&mut state.broken_told, true) {
            self.agenda.add(self.now, Act::Broken(link));
        }
        self.links[link].drop_outgoing();
        if let Some(source) = self.links[link].fed_by.take() {
            self.pump_later(source);
        }
    }

    /// Puts on the way what the peer's window takes of what is queued.
    fn transmit(&mut self, link: LinkId) {
        if !self.links[link].connected {
            return;
        }
        if self.links[link].received_reset {
            return self.transmit_nothing(link);
        }
        while let Some(bytes) = self.links[link].take_outgoing() {
            let at = self.links[link].arrival_at_peer(self.now);
            self.agenda.add(at, Act::PeerBytes(link, bytes));
        }
        let state = &mut self.links[link];
        if state.queued_bytes == 0
            && let Some(source) = state.fed_by.take()
        {
            self.pump_later(source);
        }
        let state = &mut self.links[link];
        if state.queued_bytes == 0 && state.seen_queued.take() {
            self.agenda.add(self.now, Act::Drained(link));
        }
        if state.queued_bytes == 0 && state.closed == Some(Close::Cut) {
            return self.answer_with_reset(link);
        }
        let ends = state.finishing || matches!(state.closed, Some(Close::Flush | Close::Linger));
        if ends && state.queued_bytes == 0 && !state.fin_sent {
            state.fin_sent = true;
            let at = state.arrival_at_peer(self.now);
            self.agenda.add(at, Act::PeerFin(link));
        }
    }
}
