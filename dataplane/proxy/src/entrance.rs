//! What is known of how a client came in.

use std::{cell::RefCell, net::SocketAddr};

use weir_balance::HashKey;
use weir_rules::DecidedBy;
use weir_script::Persist;
use weir_snapshot::{Destination, Pool};

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
    /// They bind it to a server by a key of their own.
    pub persist: Option<Persist>,
}

impl Sent {
    pub fn names_server(&self) -> bool {
        self.server.is_some() || self.persist.is_some()
    }

    /// The dense id of the server that scripts name, or bind the tunnel to, if the pool has it.
    pub fn server_in(&self, pool: &Pool) -> Option<u32> {
        let bound = self.persist.as_ref().and_then(|persist| persist.server);
        let bound = || pool.servers.iter().find(|server| Some(server.address) == bound).map(|server| server.id);
        self.server.or_else(bound)
    }
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
