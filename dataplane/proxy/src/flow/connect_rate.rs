//! New connections to the servers of a pool, of which each may have so many in a time.

use std::sync::Arc;

use weir_balance::Standing;
use weir_snapshot::Pool;
use weir_telemetry::Cause;

use crate::{
    error::Error,
    exchange::{Exchange, table::ExchangeId},
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
        let mut avoided = self.exchanges.live(id)?.tried.clone();
        while !self.may_connect_for(io.now(), id, place)? {
            self.core.pools.end(place);
            avoided.push(place.server);
            let exchange = self.exchanges.live(id)?;
            if exchange.named == Some(place.server) {
                exchange.lose_bond(Standing::Full);
            }
            let key = exchange.key;
            place = self.place_with_room(io, pool, key, avoided.clone()).ok_or(Error::ServersTooOften)?;
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
        let pool = self.exchanges.find(id).and_then(|exchange| Exchange::pool(exchange).cloned());
        let is_beyond = pool.is_some_and(|pool| self.core.pools.had_too_many_connects(&pool, now));
        if is_beyond { Error::ServersTooOften } else { otherwise }
    }

    /// The error of a client of a tunnel that no server is left for.
    #[cold]
    pub(super) fn without_server(&mut self, now: Time, conn: Conn, otherwise: Error) -> Error {
        let Some(client) = self.clients.find(conn) else { return otherwise };
        let aim = client.service.aim(client.peer, client.facts.listener().port());
        let is_beyond = aim.pools().any(|pool| self.core.pools.had_too_many_connects(pool, now));
        if is_beyond { Error::ServersTooOften } else { otherwise }
    }
}
