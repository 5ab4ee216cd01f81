//! Scripts for the connections of clients: they may end one, and say where a tunnel goes.

use std::sync::Arc;

use weir_script::Event;
use weir_snapshot::Pool;

use crate::{
    exchange::Outcome,
    io::{Close, Conn, Io},
    pool::{Connect, Place},
    proxy::Proxy,
};

impl Proxy {
    /// A client of a virtual service with scripts has connected.
    #[cold]
    pub(crate) fn greet<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        if let Err(error) = client.greet(io, &mut self.core, &[Event::Accepted, Event::BeforeTls]) {
            return self.fail(io, conn, error);
        }
        if client.is_tunnel() {
            self.carry(io, conn);
        }
    }

    /// Shows scripts what has come of a client whose bytes are not parsed.
    #[cold]
    pub(crate) fn read_first_bytes<I: Io>(&mut self, io: &mut I, conn: Conn) -> Outcome {
        let Ok(client) = self.clients.live(conn) else { return Outcome::NeedsMore };
        match client.show_first_bytes(io, &mut self.core) {
            Ok(true) => return Outcome::Advanced,
            // It has sent nothing.
            Ok(false) if client.connection.line.ended => self.close_client(io, conn, Close::Flush),
            Ok(false) => client.connection.line.read(io, true),
            Err(error) => self.fail(io, conn, error),
        }
        Outcome::NeedsMore
    }

    /// A connection to the server of a pool that scripts name, or bind the tunnel to, if it takes one.
    #[cold]
    pub(crate) fn place_by_scripts<I: Io>(
        &mut self,
        io: &mut I,
        conn: Conn,
        pool: &Arc<Pool>,
        avoided: &[u32],
    ) -> Option<Place> {
        let server = self.clients.find(conn)?.sent()?.server_in(pool).filter(|server| !avoided.contains(server))?;
        let place = self.core.pools.take(io.now(), pool, server).ok()??;
        let takes_it = self.has_room(io, place)
            && (pool.connect_rate.is_none() || self.core.pools.connect(place, io.now()) != Connect::IsTooMany);
        if !takes_it {
            self.core.pools.end(place);
        }
        takes_it.then_some(place)
    }
}
