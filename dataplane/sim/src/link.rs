//! One simulated connection: a pipe in each direction between the engine and a peer, with windows and delays; bytes
//! keep their order. It does not know what the bytes mean.

use std::{cell::Cell, collections::VecDeque, time::Duration};

use weir_proxy::{
    buf::Buf,
    io::{Close, Conn, Time},
};

use crate::agenda::LinkId;

/// What one connection is like.
#[derive(Clone, Debug)]
pub struct Quality {
    pub latency: Duration,
    /// The engine reads a few bytes at a time.
    pub shredded: bool,
    /// Bytes that the peer's side takes before the peer has read them.
    pub window_bytes: usize,
    pub appetite: Appetite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appetite {
    AtOnce,
    Slowly {
        bytes: usize,
        every: Duration,
    },
    /// Reads nothing, ever.
    Never,
}

pub struct Link {
    pub quality: Quality,
    /// `None` once the handle is dead.
    pub conn: Option<Conn>,
    pub connected: bool,
    pub deadline: Option<Time>,
    pub closed: Option<Close>,
    pub closed_at: Option<Time>,

    // Engine → peer.
    pub outgoing: VecDeque<Buf>,
    pub queued_bytes: usize,
    pub queued_bytes_most: usize,
    /// The engine sends no more than what is queued.
    pub finishing: bool,
    pub fin_sent: bool,
    /// The engine has asked, and was told that bytes are queued.
    pub seen_queued: Cell<bool>,
    pub dirty: bool,
    /// Left the engine, not yet read by the peer.
    pub unread_by_peer: usize,
    pub peer_backlog: VecDeque<u8>,
    pub peer_backlog_fin: bool,
    pub last_to_peer: Time,

    // Peer → engine.
    pub peer_outgoing: VecDeque<u8>,
    pub peer_finish: bool,
    pub peer_fin_sent: bool,
    /// Neither reads nor writes any more.
    pub peer_closed: bool,
    pub on_its_way: usize,
    pub received: VecDeque<u8>,
    pub received_fin: bool,
    pub eof_told: bool,
    /// Behind what has arrived and is unread.
    pub received_reset: bool,
    pub broken_told: bool,
    pub reading: bool,
    pub pump_due: bool,
    pub last_to_engine: Time,

    /// This many more bytes that arrive for the engine are relayed to this connection.
    pub relay: Option<(Conn, u64)>,
    /// Whose relay waits until what is queued has left.
    pub fed_by: Option<LinkId>,
}

impl Link {
    /// The peer's end is known, and not to be learnt by reading.
    pub fn leaves_unread(&self) -> bool {
        !self.reading && !self.eof_told && (self.received_fin || self.received_reset)
    }

    pub fn new(quality: Quality, conn: Option<Conn>) -> Self {
        Self {
            quality,
            conn,
            connected: false,
            deadline: None,
            closed: None,
            closed_at: None,
            outgoing: VecDeque::new(),
            queued_bytes: 0,
            queued_bytes_most: 0,
            finishing: false,
            fin_sent: false,
            seen_queued: Cell::default(),
            dirty: false,
            unread_by_peer: 0,
            peer_backlog: VecDeque::new(),
            peer_backlog_fin: false,
            last_to_peer: Time::default(),
            peer_outgoing: VecDeque::new(),
            peer_finish: false,
            peer_fin_sent: false,
            peer_closed: false,
            on_its_way: 0,
            received: VecDeque::new(),
            received_fin: false,
            eof_told: false,
            received_reset: false,
            broken_told: false,
            reading: true,
            pump_due: false,
            last_to_engine: Time::default(),
            relay: None,
            fed_by: None,
        }
    }

    pub fn queue(&mut self, buf: Buf) {
        self.queued_bytes += buf.len();
        self.queued_bytes_most = self.queued_bytes_most.max(self.queued_bytes);
        if !buf.is_empty() {
            self.outgoing.push_back(buf);
        }
    }

    /// The next bytes that the peer's window takes.
    pub fn take_outgoing(&mut self) -> Option<Vec<u8>> {
        let room = self.quality.window_bytes.saturating_sub(self.unread_by_peer);
        let front = self.outgoing.front_mut()?;
        let len = front.len().min(room);
        if len == 0 {
            return None;
        }
        let bytes = front[..len].to_vec();
        front.advance(len);
        if front.is_empty() {
            self.outgoing.pop_front();
        }
        self.queued_bytes -= len;
        self.unread_by_peer += len;
        Some(bytes)
    }

    pub fn drop_outgoing(&mut self) {
        self.outgoing.clear();
        self.queued_bytes = 0;
    }

    /// When something sent to the peer now gets there; what was sent before comes before.
    pub fn arrival_at_peer(&mut self, now: Time) -> Time {
        self.last_to_peer = self.last_to_peer.max(now + self.quality.latency);
        self.last_to_peer
    }

    pub fn arrival_at_engine(&mut self, now: Time) -> Time {
        self.last_to_engine = self.last_to_engine.max(now + self.quality.latency);
        self.last_to_engine
    }

    /// What the peer reads now of what waits for it.
    pub fn peer_reads(&mut self) -> Vec<u8> {
        let len = match self.quality.appetite {
            Appetite::AtOnce => self.peer_backlog.len(),
            Appetite::Slowly { bytes, .. } => bytes.min(self.peer_backlog.len()),
            Appetite::Never => 0,
        };
        self.unread_by_peer -= len;
        self.peer_backlog.drain(..len).collect()
    }
}
