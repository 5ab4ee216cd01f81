//! What is known of how a client came in.

use std::net::SocketAddr;

use weir_rules::DecidedBy;

#[derive(Default)]
pub(crate) struct Entrance {
    /// What the PROXY header of its connection said, if there is one.
    pub introduction: Option<Box<Introduction>>,
    /// The rule for connections that has let it in, if one has.
    pub rule: Option<DecidedBy>,
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
