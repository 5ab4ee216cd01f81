//! How many connections a server has in a pool that speaks HTTP/2, where a connection may carry many requests.

use std::sync::Arc;

use weir_balance::HashKey;
use weir_snapshot::Pool;
use weir_wire::http2::Code;

use crate::{
    core::Core,
    io::{Conn, Io},
    pool::{Connect, Place},
    proxy::Proxy,
    server::Server,
    sessions::Sessions,
};

impl Proxy {
    /// A server for a connection of its own, with room for one more.
    pub(crate) fn place_with_room<I: Io>(
        &mut self,
        io: &mut I,
        pool: &Arc<Pool>,
        key: HashKey,
        mut avoided: Vec<u32>,
    ) -> Option<Place> {
        loop {
            let place = self.core.pools.pick(io.now(), pool, key, &avoided)?;
            // In other pools the balancer knows the limit.
            if pool.http2.is_none() || self.has_room(io, place) {
                return Some(place);
            }
            self.core.pools.end(place);
            avoided.push(place.server);
        }
    }

    /// The same, to which a connection may begin now.
    pub(crate) fn place_within_rate<I: Io>(
        &mut self,
        io: &mut I,
        pool: &Arc<Pool>,
        key: HashKey,
        mut refused: Vec<u32>,
    ) -> Option<Place> {
        let mut avoided = refused.clone();
        loop {
            let place = self.place_with_room(io, pool, key, avoided)?;
            if pool.connect_rate.is_none() || self.core.pools.connect(place, io.now()) != Connect::IsTooMany {
                return Some(place);
            }
            self.core.pools.end(place);
            refused.push(place.server);
            let (others, has_other) = self.core.pools.without_connection(pool.id, refused.clone(), false, io.now());
            if !has_other {
                return None;
            }
            avoided = others;
        }
    }

    /// Whether one more connection may open to a server, for a request by HTTP/1.1 or a tunnel that counts there already.
    /// A connection that carries nothing gives way.
    pub(crate) fn has_room<I: Io>(&mut self, io: &mut I, place: Place) -> bool {
        if self.core.may_connect(&self.servers, place) {
            return true;
        }
        let Some(carriers) = self.core.pools.carriers(place) else { return false };
        let is_unused = |conn: &Conn| {
            let back = self.servers.peek(*conn).and_then(|server| server.back.as_ref());
            back.is_some_and(|back| back.is_unused())
        };
        let Some(unused) = carriers.conns.iter().copied().find(is_unused) else { return false };
        self.dismiss_carrier(io, unused, Code::NoError);
        self.core.may_connect(&self.servers, place)
    }
}

impl Core {
    /// Whether one more connection may open to a server, for a request or a tunnel that counts there already.
    pub(crate) fn may_connect(&mut self, servers: &Sessions<Server>, place: Place) -> bool {
        let most = self.pools.connections_max(place);
        most.is_none_or(|most| self.connections_beside(servers, place, 1) < most)
    }

    /// The same for a request that does not count there yet.
    pub(super) fn would_connect(&mut self, servers: &Sessions<Server>, place: Place) -> bool {
        let most = self.pools.connections_max(place);
        most.is_none_or(|most| self.connections_beside(servers, place, 0) < most)
    }

    /// How many connections a server has beside the `own` one that is being placed: those that carry streams, and one for each
    /// tunnel, each session of UDP and each request by HTTP/1.1. Idle ones of HTTP/1.1 do not count, as in other pools. Nor do those that get
    /// no more streams: otherwise a server that leaves while it answers would get no request until then.
    fn connections_beside(&mut self, servers: &Sessions<Server>, place: Place, own: usize) -> usize {
        let works = self.pools.requests(place).saturating_sub(own);
        let Some(carriers) = self.pools.carriers(place) else { return works };
        let load = |conn: &Conn| servers.peek(*conn)?.back.as_ref().map(|back| back.load as usize);
        let streams: usize = carriers.conns.iter().chain(&carriers.retired).filter_map(load).sum();
        works.saturating_sub(streams) + carriers.conns.len()
    }
}
