//! What the proxy knows about a shortage of places or memory: clients per address, candidates for eviction, and results
//! of the last survey. `flow::eviction` uses it.

pub(crate) mod addresses;

use std::{cmp::Reverse, net::SocketAddr};

use crate::{
    io::{Conn, Time},
    shortage::addresses::Addresses,
};

/// An address holds far more than another if it holds at least 2^this times as many clients.
pub(crate) const FAR_MORE: u32 = 3;

pub(crate) struct Shortage {
    /// How many clients each address holds.
    pub addresses: Addresses,
    /// Candidates for eviction; the first to evict is the last.
    pub candidates: Vec<Candidate>,
    /// The number of surveys, so that each looks at other clients.
    pub surveys: usize,
    /// The clients per virtual service if all held the same number, as of the last survey.
    pub share: u64,
    /// How many clients the address with the fewest held, at the last survey.
    pub least: u32,
    /// For new clients of addresses that hold little: how many surveys in a row evicted nobody, and when the last one
    /// was.
    in_vain_for_light: (usize, Time),
    /// The same for new clients of addresses that hold far more.
    in_vain_for_heavy: (usize, Time),
    /// Holders of memory, as of the last walk; the first to evict is the last.
    pub holders: Vec<Holder>,
    /// When a walk last freed too little memory.
    pub too_little_at: Option<Time>,
}

/// A client that holds memory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    /// What its address holds in pieces, as a power of 2.
    pub weight: u32,
    /// When it last moved. A client that has moved since is no candidate any more.
    pub since: Reverse<Time>,
    pub conn: Conn,
}

pub(crate) struct Candidate {
    pub conn: Conn,
    /// When it last moved. A client that has moved since is no candidate any more.
    pub since: Time,
    /// How many clients its address holds, as a power of 2.
    pub weight: u32,
    pub standing: Standing,
    pub turn: Turn,
}

/// The order of eviction, the first first. At equal progress, clients of addresses that hold far more go before others.
/// But a client that has long stood still goes before a working one, whoever holds more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Turn {
    Hoarded,
    StoodStill,
    HoarderWorks,
    /// Has just connected, or was just answered.
    Fresh,
    Works,
}

/// What its eviction would lose, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Standing {
    /// Between two requests.
    Idle,
    /// Amid a handshake, a head, or a body whose response has not begun.
    Partial,
    /// Waits for a server, or for its client, and has made no progress for long.
    Stuck,
    Works,
}

impl Shortage {
    pub fn new(clients: usize) -> Self {
        Self {
            addresses: Addresses::with_room(clients),
            candidates: Vec::new(),
            surveys: 0,
            share: 0,
            least: 0,
            in_vain_for_light: (0, Time::default()),
            in_vain_for_heavy: (0, Time::default()),
            holders: Vec::new(),
            too_little_at: None,
        }
    }

    /// How many clients the address of a client holds, as a power of 2.
    pub fn weight(&self, peer: SocketAddr) -> u32 {
        self.addresses.held(peer).checked_ilog2().unwrap_or(0)
    }

    pub fn in_vain(&mut self, heavy: bool) -> &mut (usize, Time) {
        if heavy { &mut self.in_vain_for_heavy } else { &mut self.in_vain_for_light }
    }

    pub fn is_heavy(&self, peer: SocketAddr) -> bool {
        self.weight(peer) >= self.least.checked_ilog2().unwrap_or(0) + FAR_MORE
    }
}

pub(crate) fn turn(standing: Standing, heavy: bool, fresh: bool) -> Turn {
    match (standing == Standing::Works, heavy) {
        (false, true) => Turn::Hoarded,
        (false, false) if fresh => Turn::Fresh,
        (false, false) => Turn::StoodStill,
        (true, true) => Turn::HoarderWorks,
        (true, false) => Turn::Works,
    }
}
