//! What a PROXY header says of a client's connection, besides who the client is.

use std::net::SocketAddr;

pub(crate) struct Introduction {
    /// Who sent the header: the other end of the connection itself.
    pub sender: SocketAddr,
    /// Where the client connected to.
    pub listener: SocketAddr,
    /// The vectors that the server gets.
    pub tlvs: Box<[u8]>,
}
