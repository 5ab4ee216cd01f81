//! What is known of a client from its connection alone; made once per connection.

use std::net::{IpAddr, SocketAddr};

use crate::profile::Text;

#[derive(Clone, Debug)]
pub struct ClientFacts {
    /// The client's address as X-Forwarded-For says it.
    pub(crate) address: Text<46>,
    /// Where the client connected to, as a Host field would say it.
    pub(crate) listener: SocketAddr,
    pub(crate) tls: bool,
}

impl ClientFacts {
    pub fn new(peer: SocketAddr, listener: SocketAddr, tls: bool) -> Self {
        let address: IpAddr = peer.ip().to_canonical();
        Self { address: Text::of(&address), listener, tls }
    }
}
