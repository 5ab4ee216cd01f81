//! New connections to the servers of a pool, of which each may have so many in a time.

use std::sync::Arc;

use weir_balance::Standing;
use weir_snapshot::Pool;
use weir_telemetry::Cause;

use crate::{
    error::Error,
    exchange::table::ExchangeId,
    io::{Conn, Io, Time},
    pool::{Connect, Place},
    proxy::Proxy,
};

impl Proxy {
    /// Opens a connection of its own for the exchange, to the server at `place`, or to another one if that has had too
    /// many.
    #[cold]
    #[inline(never)]
    pub(super) fn connect_within_rate<I: Io>(
        &mut self,
        io: &mut I,
        id: ExchangeId,
        mut place: Place,
        pool: &Arc<Pool>,
    ) -> Result<(), Error> {
        let mut refused = self.exchanges.live(id)?.tried.clone();
        while !self.may_connect_for(io.now(), id, place)? {
            self.core.pools.end(place);
            refused.push(place.server);
            let exchange = self.exchanges.live(id)?;
            if exchange.named == Some(place.server) {
                exchange.lose_bond(Standing::Full);
            }
            let key = exchange.key;
            let (avoided, has_other) = self.core.pools.without_connection(pool.id, refused.clone(), true, io.now());
            let other = if has_other { self.place_with_room(io, pool, key, avoided) } else { None };
            place = other.ok_or(Error::ServersTooOften)?;
            if self.take_idle(io, id, place)? {
                return Ok(());
            }
        }
        self.connect_for(io, id, place, pool.clone())
    }

    /// Whether a connection to the server at `place` may begin for the exchange. It counts.
    #[cold]
    pub(super) fn may_connect_for(&mut self, now: Time, id: ExchangeId, place: Place) -> Result<bool, Error> {
        let connect = self.core.pools.connect(place, now);
        if connect == Connect::IsReported {
            let client = self.exchanges.live(id)?.client;
            self.note_cause(client, Cause::ServerConnectionRate);
        }
        Ok(connect != Connect::IsTooMany)
    }

    /// The error of a request that no stream is left for in its pool.
    #[cold]
    pub(super) fn without_stream(&mut self, now: Time, id: ExchangeId, otherwise: Error) -> Error {
        let Self { exchanges, core, .. } = self;
        let is_beyond = exchanges.find(id).is_some_and(|exchange| {
            exchange.pool().is_some_and(|pool| core.pools.had_too_many_connects(pool, &exchange.tried, now))
        });
        if is_beyond { Error::ServersTooOften } else { otherwise }
    }

    /// The error of a client of a tunnel that no server is left for, beside those that were tried.
    #[cold]
    pub(super) fn without_server(&mut self, now: Time, conn: Conn, tried: &[u32], otherwise: Error) -> Error {
        let Some(client) = self.clients.find(conn) else { return otherwise };
        let aim = client.aim();
        let is_beyond = aim.pools().any(|pool| self.core.pools.had_too_many_connects(pool, tried, now));
        if is_beyond { Error::ServersTooOften } else { otherwise }
    }
}
