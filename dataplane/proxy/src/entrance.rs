//! What is known of how a client came in.

use std::{cell::RefCell, net::SocketAddr};

use weir_balance::HashKey;
use weir_rules::DecidedBy;
use weir_snapshot::Destination;

use crate::records::Said;

#[derive(Default)]
pub(crate) struct Entrance {
    /// What the PROXY header of its connection said, if there is one.
    pub introduction: Option<Box<Introduction>>,
    /// The rule for connections that has let it in, if one has.
    pub rule: Option<DecidedBy>,
    /// What scripts have said of the connection.
    pub said: RefCell<Said>,
    /// Where they send its tunnel.
    pub sent: Sent,
}

impl Entrance {
    pub fn say(&mut self, more: &Said) {
        let said = self.said.get_mut();
        said.say(&more.lines);
        said.is_significant |= more.is_significant;
    }
}

/// Where scripts send a tunnel.
#[derive(Default)]
pub(crate) struct Sent {
    /// `None`: where the others go.
    pub to: Option<Destination>,
    /// The dense id of a server of the pool.
    pub server: Option<u32>,
    /// What pools go by that choose servers by a hash.
    pub key: Option<HashKey>,
}

/// What a PROXY header says of a client's connection, besides who the client is.
pub(crate) struct Introduction {
    /// Who sent the header: the other end of the connection itself.
    pub sender: SocketAddr,
    /// Where the client connected to.
    pub listener: SocketAddr,
    /// The vectors that the server gets.
    pub tlvs: Box<[u8]>,
}
