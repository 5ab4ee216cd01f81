//! What is known of a shortage: how many clients each address holds, who may go, and what the last look at them told.
//! [`eviction`](crate::eviction) goes by it.

pub(crate) mod addresses;

use std::{cmp::Reverse, net::SocketAddr};

use crate::{
    io::{Conn, Time},
    shortage::addresses::Addresses,
};

/// An address that holds 2^this times as many clients as another holds far more.
pub(crate) const FAR_MORE: u32 = 3;

pub(crate) struct Shortage {
    /// How many clients each address holds.
    pub addresses: Addresses,
    /// Who may go; the first to go is the last.
    pub candidates: Vec<Candidate>,
    /// Counts surveys, so that each looks at other clients.
    pub surveys: usize,
    /// How many clients a virtual service holds where all hold the same, as of the last survey.
    pub share: u64,
    /// What the address holds that holds fewest, as of the last survey.
    pub least: u32,
    /// How many surveys in a row found nobody to go for a newcomer of an address that holds little, and when the last did.
    in_vain_for_light: (usize, Time),
    /// The same for a newcomer of an address that holds far more.
    in_vain_for_heavy: (usize, Time),
    /// Who holds memory, as of the last walk; the first to go is the last.
    pub holders: Vec<Holder>,
    /// When a walk freed too little memory.
    pub too_little_at: Option<Time>,
}

/// A client that holds memory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    /// What its address holds in pieces, as a power of 2.
    pub weight: u32,
    /// It has not moved since; if it has, it is none any more.
    pub since: Reverse<Time>,
    pub conn: Conn,
}

pub(crate) struct Candidate {
    pub conn: Conn,
    /// It has not moved since; if it has, it is none any more.
    pub since: Time,
    /// How many its address holds, as a power of 2.
    pub weight: u32,
    pub standing: Standing,
    pub turn: Turn,
}

/// When somebody's turn to go is, the first first. Those who hold far more than others go before these; but not what
/// works for them before what has long stood still for others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Turn {
    Hoarded,
    StoodStill,
    HoarderWorks,
    /// Has just come, or just been answered.
    Fresh,
    Works,
}

/// What would be lost with a client, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Standing {
    /// Between two requests.
    Idle,
    /// Amid a handshake, a head, or a body that no answer waits behind.
    Partial,
    /// Waits for a server, or for its client, and nothing has come of it for long.
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

    /// What the address of a client holds, as a power of 2.
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
