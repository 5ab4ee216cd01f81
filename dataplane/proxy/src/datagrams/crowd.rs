//! Which session ends when others need its socket: the one that is idle longest. Newcomers end before established
//! sessions.
//!
//! Against a flood, the time of the last datagram alone protects nobody: every forged datagram is newer than those of a
//! client that is silent for a moment. A session is established when its server has answered what the client sent after
//! an answer ([`Progress`](super::session::Progress)). A client with a forged address does not see the answers, so it has
//! to guess what a server of QUIC, DTLS or a VPN wants next. A single answer proves nothing: servers of DNS answer
//! everybody, and a server of QUIC answers one datagram by several.
//!
//! Newcomers keep a quarter of the places, because a new client needs time for its second answer. When they have less
//! than that, the longest idle session of all ends.

use super::list::{Links, List};
use crate::io::Time;

/// The part of the places that established sessions do not take from newcomers.
const NEWCOMERS_PART: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    Newcomer = 0,
    Established = 1,
}

/// Sessions that compete for the same places, in the order of their last datagrams.
#[derive(Default)]
pub(super) struct Crowd {
    /// By rank.
    lists: [List; 2],
}

impl Crowd {
    pub fn len(&self) -> usize {
        self.lists.iter().map(List::len).sum()
    }

    pub fn push_back(&mut self, id: u32, rank: Rank, links: &mut [Links]) {
        self.lists[rank as usize].push_back(id, links);
    }

    pub fn remove(&mut self, id: u32, rank: Rank, links: &mut [Links]) {
        self.lists[rank as usize].remove(id, links);
    }

    /// The session to end, if another needs its place. `used` tells when a session came to its place in the order.
    pub fn least(&self, used: impl Fn(u32) -> Time) -> Option<u32> {
        let [newcomers, established] = &self.lists;
        let (newcomer, settled) = match (newcomers.first(), established.first()) {
            (Some(newcomer), Some(settled)) => (newcomer, settled),
            (one, other) => return one.or(other),
        };
        let newcomer_ends = newcomers.len() >= self.len() / NEWCOMERS_PART || used(newcomer) < used(settled);
        Some(if newcomer_ends { newcomer } else { settled })
    }
}
