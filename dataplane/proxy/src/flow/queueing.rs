//! The queue of a pool: requests wait there while each server that may take them has as many connections as it may have.
//!
//! Connections end in many places, and none of them looks at queues: each batch ends with a look whether requests that
//! wait can go on. So requests of the batch itself come before them.

use std::sync::Arc;

use weir_balance::Room;
use weir_snapshot::Pool;
use weir_telemetry::Happening;
use weir_wire::head::Method;

use crate::{
    error::Error,
    exchange::{Exchange, table::ExchangeId},
    io::{Io, Time},
    pool::{Place, Tie, balance_key},
    proxy::{ClientSide, Proxy},
};

/// Whether any server of its pool would do, as for all others of which this is true.
fn is_for_any(exchange: &Exchange) -> bool {
    let suits = |pool: &Arc<Pool>| pool.http2.is_none() && !pool.balance.ties.by_key;
    exchange.tried.is_empty() && exchange.named.is_none() && exchange.pool().is_some_and(suits)
}

// In.
impl Proxy {
    /// Finds a server of a pool with a queue, or puts the request into that.
    #[cold]
    #[inline(never)]
    pub(crate) fn find_server_by_queue<I: Io>(
        &mut self,
        io: &mut I,
        id: ExchangeId,
        otherwise: Error,
    ) -> Result<(), Error> {
        if self.has_to_wait(io, id)? && self.queue(io, id)? {
            return Ok(());
        }
        self.find_server_or_wait::<I, false>(io, id, otherwise)
    }

    /// Whether the only server that a request is bound to, or each one that may take it, has too many connections.
    fn has_to_wait<I: Io>(&mut self, io: &I, id: ExchangeId) -> Result<bool, Error> {
        let Self { exchanges, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let Some(pool) = exchange.pool().cloned().filter(|pool| pool.queue_depth.is_some()) else { return Ok(false) };
        // The server may have seen the request, if it was sent.
        if exchange.method != Method::Get || exchange.failed_tries() >= core.limits.server_tries {
            return Ok(false);
        }
        // Over HTTP/2 the balancer knows no limit, so that no request waits for one server.
        let named = exchange.named.filter(|named| !exchange.tried.contains(named));
        match core.pools.tie(io.now(), &pool, (named, exchange.key), &exchange.tried) {
            Tie::Full => return Ok(true),
            Tie::Denied => return Ok(false),
            Tie::Taken if pool.http2.is_none() => return Ok(false),
            Tie::Taken | Tie::None => {}
        }
        if self.room(io.now(), id, &pool)? != Room::Full {
            return Ok(false);
        }
        // Other pools of the group may have room.
        let exchange = self.exchanges.live(id)?;
        let left = exchange.pools_left();
        let group = exchange.group().filter(|_| !exchange.is_at_backup()).cloned();
        let mut others = group.iter().flat_map(|group| &group.pools).filter(|other| !left.contains(&other.id));
        Ok(!others.any(|other| other.takes_requests_of(&pool) && self.room(io.now(), id, other) == Ok(Room::Some)))
    }

    /// Puts a request into the queue of a pool that it left for others of its group, because its servers were full. False:
    /// there is no such pool.
    pub(super) fn waits_in_left_pool<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<bool, Error> {
        let exchange = self.exchanges.live(id)?;
        let (Some(group), Some(pool)) = (exchange.group().cloned(), exchange.pool().cloned()) else { return Ok(false) };
        let left = exchange.pools_left();
        if exchange.method != Method::Get || exchange.is_at_backup() {
            return Ok(false);
        }
        for other in group.pools.iter().filter(|other| other.queue_depth.is_some() && left.contains(&other.id)) {
            if other.takes_requests_of(&pool) && self.room(io.now(), id, other)? == Room::Full {
                let ClientSide { exchange, client, .. } = self.client_side(id)?;
                exchange.key = balance_key(other, None, client.peer);
                exchange.turn_to(other.clone(), false);
                return self.queue(io, id);
            }
        }
        Ok(false)
    }

    /// What the servers of a pool have for a request.
    fn room(&mut self, now: Time, id: ExchangeId, pool: &Pool) -> Result<Room, Error> {
        let tried = self.exchanges.live(id)?.tried.clone();
        if pool.http2.is_none() {
            return Ok(self.core.pools.room(pool, &tried));
        }
        let places = self.core.pools.standing_beside(pool, &tried);
        let has_some = !places.is_empty();
        for place in places {
            if self.has_stream_for(now, id, place)? {
                return Ok(Room::Some);
            }
        }
        Ok(if has_some { Room::Full } else { Room::None })
    }

    /// Whether a server of HTTP/2 has room for one more request: on a connection, or for a new one.
    fn has_stream_for(&mut self, now: Time, id: ExchangeId, place: Place) -> Result<bool, Error> {
        let sole = self.sole_client(id)?;
        let Self { exchanges, servers, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let Some(carriers) = core.pools.carriers(place) else { return Ok(false) };
        let takes_one_more = |conn: &_| {
            let Some(server) = servers.peek(*conn) else { return false };
            let Some(back) = &server.back else { return false };
            let suits = back.sole == sole && server.asked_name == exchange.asked_name && server.has_life_left(now);
            back.is_unused() || suits && back.has_room()
        };
        Ok(carriers.conns.iter().any(takes_one_more) || core.would_connect(servers, place))
    }

    /// Puts a request into the queue of its pool. False: that is full.
    fn queue<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<bool, Error> {
        let Self { exchanges, core, .. } = self;
        let pool = exchanges.live(id)?.pool().cloned().ok_or(Error::NoPool)?;
        // Those that have gone in this batch still count.
        let waiting = core.queues.of(pool.id);
        let has_room = waiting.len() < pool.queue_depth.unwrap_or_default();
        if has_room {
            waiting.push(id);
        }
        let requests = waiting.len() as u64;
        core.queues.forget_empty();
        core.counters.note(Happening::Waiting { pool: pool.id, requests });
        core.counters.note(match has_room {
            true => Happening::Queued { pool: pool.id },
            false => Happening::QueueFull { pool: pool.id },
        });
        if has_room {
            let ClientSide { exchange, client, .. } = self.client_side(id)?;
            exchange.queue(pool.timeouts.response.map(|most| io.now() + most));
            client.await_answer(io, exchange);
        }
        Ok(has_room)
    }
}

// Out.
impl Proxy {
    /// Has requests go on that need not wait any more. What they do may end others.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_queues<I: Io>(&mut self, io: &mut I) {
        self.core.queues.are_due = false;
        let mut some_go_on = false;
        for pool in self.core.queues.pools() {
            let mut goes_on = false;
            self.forget_gone(pool);
            for _ in 0..self.core.queues.of(pool).len() {
                let Some(id) = self.next_of_queue(io, pool) else { break };
                self.leave_queue(io, id);
                goes_on |= !self.exchanges.peek(id).is_some_and(Exchange::is_queued);
            }
            if goes_on {
                self.forget_gone(pool);
            }
            let requests = self.core.queues.of(pool).len() as u64;
            self.core.counters.note(Happening::Waiting { pool, requests });
            // In the next batch, after what this has changed.
            self.core.queues.are_due |= goes_on && requests > 0;
            some_go_on |= goes_on;
        }
        self.core.queues.forget_empty();
        if some_go_on {
            self.end_batch(io);
        }
    }

    /// Forgets requests that do not wait in a queue any more.
    fn forget_gone(&mut self, pool: u32) {
        let Self { exchanges, core, .. } = self;
        core.queues.of(pool).retain(|id| exchanges.peek(*id).is_some_and(Exchange::is_queued));
    }

    /// Takes the newest request of a queue that need not wait any more.
    fn next_of_queue<I: Io>(&mut self, io: &I, pool: u32) -> Option<ExchangeId> {
        let mut waiting = std::mem::take(self.core.queues.of(pool));
        let mut is_full = false;
        let next = waiting.iter().rposition(|id| {
            let Some(exchange) = self.exchanges.peek(*id).filter(|exchange| exchange.is_queued()) else { return false };
            let is_for_any = is_for_any(exchange);
            let waits = is_for_any && is_full || self.has_to_wait(io, *id).unwrap_or_default();
            is_full |= is_for_any && waits;
            !waits
        });
        let next = next.map(|at| waiting.remove(at));
        *self.core.queues.of(pool) = waiting;
        next
    }

    fn leave_queue<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        let Ok(ClientSide { exchange, client, .. }) = self.client_side(id) else { return };
        let conn = exchange.client;
        exchange.leave_queue();
        client.await_answer(io, exchange);
        self.choose_server(io, id, Error::NoServer);
        self.proceed(io, conn);
    }

    /// A request in a queue has waited as long as it may, or as its client may.
    #[cold]
    pub(crate) fn wait_for_no_turn<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        let Ok(ClientSide { exchange, core, .. }) = self.client_side(id) else { return };
        let (conn, pool) = (exchange.client, exchange.pool().map(|pool| pool.id));
        let error = match exchange.has_waited_out(io.now()) {
            true => Error::ClientAborted,
            false => Error::QueueTimeout,
        };
        if let Some(pool) = pool.filter(|_| error == Error::QueueTimeout) {
            core.counters.note(Happening::QueueTimeout { pool });
        }
        self.fail_exchange(io, id, error);
        self.proceed(io, conn);
    }
}
