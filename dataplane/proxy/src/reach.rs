//! What the connection to a server must be like for a request or a tunnel, beside its pool and server. Requests that differ
//! in it share no connection.

use std::net::SocketAddr;

use weir_policy::ClientFacts;
use weir_snapshot::Pool;
use weir_tls::ServerName;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Reach {
    /// The server's TLS name, if the request determines it.
    pub name: Option<ServerName>,
    /// The port that its client has connected to, instead of that of the server.
    port: Option<u16>,
    /// Its pool has TLS for clients of TLS, and this one speaks none.
    pub is_plain: bool,
}

impl Reach {
    /// What a request for this host asks. `None`: any connection to its server will do.
    #[inline(never)]
    pub fn of(pool: &Pool, host: Option<&[u8]>, client: &ClientFacts) -> Option<Box<Self>> {
        let name = pool.tls.as_ref().and_then(|tls| tls.asked_name(host));
        if name.is_none() && !pool.uses_service_port {
            return None;
        }
        let mut reach = Box::new(Self { name, ..Self::default() });
        reach.come_by(pool, client);
        Some(reach)
    }

    /// Has it go to its server as its client came to the engine, if its pool wants that.
    fn come_by(&mut self, pool: &Pool, client: &ClientFacts) {
        self.port = pool.uses_service_port.then(|| client.listener().port());
        self.is_plain = pool.tls_by_service && !client.is_tls();
        if self.is_plain {
            self.name = None;
        }
    }

    /// The same for another pool. The host of a request that is written is not known any more.
    #[cold]
    pub fn again(reach: &mut Option<Box<Self>>, pool: &Pool, client: &ClientFacts) {
        match reach {
            Some(reach) => reach.come_by(pool, client),
            None => *reach = Self::of(pool, None, client),
        }
    }

    /// Where the connection goes, to the server with this address.
    pub fn address(&self, server: SocketAddr) -> SocketAddr {
        self.port.map_or(server, |port| SocketAddr::new(server.ip(), port))
    }
}
