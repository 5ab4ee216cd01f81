//! Chooses the server of a request: the client's reserved connection, an idle one, or a new one.
//!
//! While no byte of a request has been sent, a failed connection makes the proxy try another server. After that it does
//! not, with one exception: an idle connection that the server closed before it read the request (`repeat`).

use std::sync::Arc;

use weir_balance::Standing;
use weir_snapshot::Pool;

use crate::{
    client::hosted::lacks_pool,
    error::Error,
    exchange::{Exchange, Wait, incoming::Form, table::ExchangeId},
    flow::caching::Looked,
    io::{Close, Conn, Io},
    pool::Place,
    proxy::{ClientSide, Parties, Proxy},
    server::{Server, State, Work},
};

impl Proxy {
    /// Gives the exchange a server connection: the client's reserved one, an idle one, or a new one. `otherwise` is the
    /// error of the last try; the client gets it if no server can take the request. False: it has failed.
    pub(crate) fn choose_server<I: Io>(&mut self, io: &mut I, id: ExchangeId, otherwise: Error) -> bool {
        match self.find_server(io, id, otherwise) {
            Ok(()) => true,
            Err(error) => {
                self.fail_exchange(io, id, error);
                false
            }
        }
    }

    #[inline(always)]
    pub(crate) fn find_server<I: Io>(&mut self, io: &mut I, id: ExchangeId, otherwise: Error) -> Result<(), Error> {
        self.find_server_or_wait::<I, true>(io, id, otherwise)
    }

    /// `MAY_WAIT`: the request may be put into the queue of its pool.
    pub(crate) fn find_server_or_wait<I: Io, const MAY_WAIT: bool>(
        &mut self,
        io: &mut I,
        id: ExchangeId,
        otherwise: Error,
    ) -> Result<(), Error> {
        if self.exchanges.live(id)?.caching().is_some()
            && let Looked::Taken = self.look_up(io, id)?
        {
            return Ok(());
        }
        if let Some(reserved) = self.client_side(id)?.client.reserved.take() {
            if self.take_reserved(io, id, reserved)? {
                return Ok(());
            }
            self.retire(io, reserved);
        }
        // Before a pick, which may be a trial of a suspect server.
        if self.exchanges.live(id)?.form == Form::Content
            && let Some(own) = self.own_carrier(id)?
            && self.take_reserved(io, id, own)?
        {
            return Ok(());
        }
        let Self { exchanges, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let pool = exchange.pool().ok_or_else(|| without_pool(exchange))?;
        if MAY_WAIT && pool.queue_depth.is_some() {
            return self.find_server_by_queue(io, id, otherwise);
        }
        if !exchange.tried.is_empty() && core.leaves_pool(exchange, pool) {
            return self.find_elsewhere(io, id, otherwise);
        }
        let named = match exchange.named {
            Some(named) if exchange.tried.contains(&named) => {
                exchange.lose_bond(Standing::Suspect);
                None
            }
            Some(named) => {
                let taken = core.pools.take(io.now(), pool, named);
                if !matches!(taken, Ok(Some(_))) {
                    exchange.lose_bond(core.pools.standing(pool, named));
                }
                taken?
            }
            None => None,
        };
        let place = named.or_else(|| core.pools.pick(io.now(), pool, exchange.key, &exchange.tried));
        let Some(place) = place else {
            if core.pools.denies(io.now(), pool, exchange.key, &exchange.tried) {
                exchange.lose_bond(Standing::Down);
                return Err(Error::BoundServerDown);
            }
            return self.find_elsewhere(io, id, otherwise);
        };
        if exchange.form == Form::Content {
            return self.find_stream(io, id, place, otherwise);
        }
        self.find_connection(io, id, place)
    }

    /// Gives the exchange a connection of its own to the server at `place`: an idle one, or a new one.
    #[inline(always)]
    pub(crate) fn find_connection<I: Io>(&mut self, io: &mut I, id: ExchangeId, place: Place) -> Result<(), Error> {
        if self.take_idle(io, id, place)? {
            return Ok(());
        }
        let pool = self.exchanges.live(id)?.pool().cloned().ok_or(Error::NoPool)?;
        if pool.connect_rate.is_some() {
            return self.connect_within_rate(io, id, place, &pool);
        }
        self.connect_for(io, id, place, pool)
    }

    /// Gives the exchange an idle connection to the server at `place`, if one suits it.
    #[inline(always)]
    pub(super) fn take_idle<I: Io>(&mut self, io: &mut I, id: ExchangeId, place: Place) -> Result<bool, Error> {
        let Self { exchanges, servers, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let suits =
            |idle| !exchange.repeated && servers.find(idle).is_some_and(|server| server.reach == exchange.reach);
        let Some(idle) = core.pools.take_idle(place, suits) else { return Ok(false) };
        exchange.wait_for(Wait::Server(idle));
        self.start_on(io, id, idle);
        Ok(true)
    }

    /// Opens a connection of its own for the exchange.
    #[inline]
    pub(crate) fn connect_for<I: Io>(
        &mut self,
        io: &mut I,
        id: ExchangeId,
        place: Place,
        pool: Arc<Pool>,
    ) -> Result<(), Error> {
        let exchange = self.exchanges.live(id)?;
        let (at, reach) = match &exchange.reach {
            None => (place.address, None),
            Some(reach) => (reach.address(place.address), Some(reach.clone())),
        };
        let fresh = io.connect(at);
        let mut server = Server::new(fresh, place, pool, Work::Exchange(id), io.now());
        server.reach = reach;
        exchange.wait_for(Wait::Server(fresh));
        self.await_connect(io, server);
        Ok(())
    }

    pub(crate) fn await_connect<I: Io>(&mut self, io: &mut I, mut server: Server) {
        if self.core.records.is_ready() {
            server.naming = self.core.pools.naming(server.place, &server.pool);
        }
        let server = self.servers.insert(server.connection.conn(), server);
        server.connection.line.expect(io, server.connect_patience(&self.core.limits));
        if self.servers.len() >= self.core.clients_max
            && let Some(idle) = self.core.pools.spare_idle()
        {
            // A reset, because the next connect, maybe in this batch, needs the place.
            self.close_server(io, idle, Close::Abort);
        }
    }

    /// Gives the exchange the connection that its client has for itself, or a stream on it, if it still suits.
    pub(crate) fn take_reserved<I: Io>(&mut self, io: &mut I, id: ExchangeId, reserved: Conn) -> Result<bool, Error> {
        let Self { exchanges, servers, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let (Some(server), Some(pool)) = (servers.find(reserved), exchange.pool()) else {
            return Ok(false);
        };
        let pool = match exchange.group() {
            // The connection stays with its client, whichever pool has its turn.
            Some(group) => group.pool(server.place.pool).filter(|its| its.takes_requests_of(pool)).unwrap_or(pool),
            None => pool,
        };
        let has_room = match &server.back {
            Some(back) => exchange.form == Form::Content && !exchange.needs_http1() && back.has_room(),
            None => true,
        };
        let (place, is_carrier, binds) = (server.place, server.back.is_some(), server.binds);
        let suits = has_room
            && server.pool.uuid == pool.uuid
            && server.pool.speaks_like(pool)
            && server.pool.has_same_host(pool, server.place.server, server.place.position)
            && server.reach == exchange.reach
            && exchange.named.is_none_or(|named| named == place.server)
            && !exchange.tried.contains(&place.server)
            && server.has_life_left(io.now());
        if !suits || !core.pools.takes(place, binds) {
            return Ok(false);
        }
        core.pools.begin(place);
        if exchange.pool().is_some_and(|chosen| chosen.id != place.pool) {
            exchange.chosen = Some(server.pool.clone());
        }
        if is_carrier {
            self.open_stream_on(io, id, place, reserved)?;
        } else {
            exchange.wait_for(Wait::Server(reserved));
            self.start_on(io, id, reserved);
        }
        Ok(true)
    }

    /// Gives work to an established connection. The request is sent at the end of the batch.
    #[inline]
    fn start_on<I: Io>(&mut self, io: &mut I, id: ExchangeId, conn: Conn) {
        if let Some(server) = self.servers.find(conn) {
            server.state = State::Busy(Work::Exchange(id));
            server.connection.line.expect(io, None);
            self.core.starting.push(id);
        }
    }

    /// Excludes a server from further tries for this work, because no connection to it could be established.
    pub(crate) fn exclude(&mut self, work: Work, failed: Place, error: Error) {
        if error.blames_server() {
            self.core.counters.note(super::rescue::failed(failed.server, error));
        }
        if let Some(tried) = self.tried(work) {
            tried.push(failed.server);
        }
    }

    /// The servers that the work was tried on in vain.
    pub(crate) fn tried(&mut self, work: Work) -> Option<&mut Vec<u32>> {
        match work {
            Work::Exchange(id) => Some(&mut self.exchanges.find(id)?.tried),
            Work::Tunnel(conn) => Some(&mut self.clients.find(conn)?.tunnel()?.tried),
            Work::Streams => None,
        }
    }

    /// The connection that the work waited for is unusable, and no byte of the work has been sent.
    pub(crate) fn try_another<I: Io>(&mut self, io: &mut I, work: Work, error: Error) {
        match work {
            Work::Streams => {}
            Work::Tunnel(conn) => {
                if let Some(tunnel) = self.clients.find(conn).and_then(|client| client.tunnel()) {
                    tunnel.server = None;
                    self.open_tunnel(io, conn, error);
                }
            }
            Work::Exchange(id) => {
                if let Ok(ClientSide { exchange, .. }) = self.client_side(id) {
                    let client = exchange.client;
                    exchange.wait_for(Wait::Place);
                    self.choose_server(io, id, error);
                    self.proceed(io, client);
                }
            }
        }
    }

    /// Sends a request once more if its connection ended before any byte of a response. Where the connection had served
    /// earlier requests, the server may have closed it before it saw this one. Only idempotent requests are repeated
    /// (RFC 9110 §9.2.2, RFC 9112 §9.3.1), and those that the server says it did not process (RFC 9113 §8.7).
    pub(crate) fn repeat<I: Io>(&mut self, io: &mut I, id: ExchangeId, error: Error) -> bool {
        let Ok(Parties { exchange, server, .. }) = self.parties(id) else { return false };
        let refused = matches!(error, Error::ServerRefused | Error::ServerLeft);
        let ended =
            matches!(error, Error::ServerClosed | Error::ServerReset | Error::StreamReset(_) | Error::ServerWithdrawn)
                && server.connection.inbox.is_empty();
        if !ended && !refused || !exchange.begin_again(refused) {
            return false;
        }
        exchange.note_failure(server.place.server, error);
        let (client, swallowed) = (exchange.client, server.connection.conn());
        self.close_server(io, swallowed, Close::Abort);
        self.choose_server(io, id, error);
        self.proceed(io, client);
        true
    }
}

/// Why a request without a pool cannot be answered.
#[cold]
fn without_pool(exchange: &Exchange) -> Error {
    if exchange.is_for_group() { Error::NoServer } else { lacks_pool(&exchange.service) }
}
