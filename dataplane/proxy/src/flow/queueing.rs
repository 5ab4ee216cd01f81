//! The queue of a pool: requests wait there while each server that may take them has as many connections as it may have.
//!
//! Connections end in many places, and none of them looks at queues: each batch ends with a look whether requests that
//! wait can go on. So requests of the batch itself come before them.

use std::sync::Arc;

use weir_balance::Room;
use weir_snapshot::Pool;
use weir_telemetry::Happening;

use crate::{
    error::Error,
    exchange::{Exchange, table::ExchangeId},
    io::{Io, Time},
    pool::{Place, Tie, balance_key},
    proxy::{ClientSide, Proxy},
    reach::Reach,
};

/// How many requests leave the queue of a pool in one batch. The others follow in the next one.
const LEAVING_MAX: usize = 256;

/// Requests for which the servers of a pool, and of others of its group, have the same room.
#[derive(PartialEq)]
struct Alike {
    speaks_http2: bool,
    /// The group whose other pools may get them.
    group: Option<u32>,
    reach: Option<Box<Reach>>,
}

impl Alike {
    /// `None`: this request is like no other.
    fn of(exchange: &Exchange, pool: &Pool) -> Option<Self> {
        let is_new = exchange.tried.is_empty() && exchange.left().is_empty() && !exchange.needs_http1();
        is_new.then(|| Self {
            speaks_http2: pool.http2.is_some(),
            group: exchange.group().filter(|_| !exchange.is_at_backup()).map(|group| group.id),
            reach: exchange.reach.clone(),
        })
    }
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
        if self.has_to_wait(io.now(), id, &mut Vec::new())? && self.queue(io, id)? {
            return Ok(());
        }
        self.find_server_or_wait::<I, false>(io, id, otherwise)
    }

    /// True: the server that a request is bound to is full, or all servers are that may take it. A server beyond the rate of
    /// new connections, without an idle one, counts as full, too. `full` has the requests for which the second was found in
    /// this batch: one that is alike is not asked again.
    fn has_to_wait(&mut self, now: Time, id: ExchangeId, full: &mut Vec<Alike>) -> Result<bool, Error> {
        let Self { exchanges, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let Some(pool) = exchange.pool().cloned().filter(|pool| pool.queue_depth.is_some()) else { return Ok(false) };
        if !exchange.may_queue() || exchange.failed_tries() >= core.limits.server_tries {
            return Ok(false);
        }
        let named = exchange.named.filter(|named| !exchange.tried.contains(named));
        match core.pools.tie(now, &pool, (named, exchange.key), &exchange.tried) {
            Tie::Full => return Ok(true),
            Tie::Denied => return Ok(false),
            Tie::Taken(_) if pool.http2.is_none() => return Ok(false),
            // Over HTTP/2 the balancer knows no limit: whether a server has room for a stream decides.
            Tie::Taken(server) => {
                let standing = core.pools.standing_beside(&pool, &exchange.tried);
                // Without carriers the servers do not speak HTTP/2 any more: `room` sees to that.
                if let Some(place) = standing.into_iter().find(|place| place.server == server)
                    && core.pools.carriers(place).is_some()
                {
                    return Ok(!self.has_stream_for(now, id, place)?);
                }
            }
            Tie::None => {}
        }
        let mut alike = Alike::of(exchange, &pool);
        if pool.http2.is_some() && self.sole_client(id)?.is_some() {
            alike = None;
        }
        if alike.as_ref().is_some_and(|alike| full.contains(alike)) {
            return Ok(true);
        }
        let waits = self.room(now, id, &pool)? == Room::Full && !self.has_room_elsewhere(now, id, &pool)?;
        full.extend(alike.filter(|_| waits));
        Ok(waits)
    }

    /// Whether a request may go to another pool of its group, and a server there takes it.
    fn has_room_elsewhere(&mut self, now: Time, id: ExchangeId, pool: &Pool) -> Result<bool, Error> {
        let Self { exchanges, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let Some(group) = exchange.group().filter(|_| !exchange.is_at_backup()) else { return Ok(false) };
        let others = core.pools.others_in(group, &exchange.pools_left());
        for other in others.iter().filter(|other| other.takes_requests_of(pool)) {
            if self.room(now, id, other)? == Room::Some {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts a request into the queue of a pool that it left because its servers were full. False: no pool that it left has
    /// a queue with room for it.
    pub(super) fn waits_in_left_pool<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<bool, Error> {
        let Self { exchanges, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let (Some(group), Some(pool)) = (exchange.group().cloned(), exchange.pool().cloned()) else { return Ok(false) };
        if !exchange.may_queue() || exchange.is_at_backup() {
            return Ok(false);
        }
        let (left, tries_max) = (exchange.left(), core.limits.server_tries);
        let queues = |other: &&Arc<Pool>| {
            other.queue_depth.is_some_and(|most| core.queues.len(other.id) < most)
                && left.contains(&other.id)
                && other.takes_requests_of(&pool)
                && exchange.tries_in(other) < tries_max
        };
        let queues: Vec<_> = group.pools.iter().filter(queues).cloned().collect();
        for other in queues {
            if self.room(io.now(), id, &other)? == Room::Full {
                let ClientSide { exchange, client, .. } = self.client_side(id)?;
                exchange.key = balance_key(&other, None, client.peer, || client.session_origin());
                exchange.turn_to(other, false);
                return self.queue(io, id);
            }
        }
        Ok(false)
    }

    /// Has a request that waits go to pools of its group again that it left because their servers were full.
    fn return_to_full(&mut self, now: Time, id: ExchangeId) -> Result<(), Error> {
        let exchange = self.exchanges.live(id)?;
        let mut left = exchange.left().to_vec();
        let Some(group) = exchange.group().filter(|_| !left.is_empty()).cloned() else { return Ok(()) };
        let mut full = Vec::new();
        for pool in group.pools.iter().filter(|pool| left.contains(&pool.id)) {
            let tries = self.exchanges.live(id)?.tries_in(pool);
            if tries < self.core.limits.server_tries && self.room(now, id, pool)? == Room::Full {
                full.push(pool.id);
            }
        }
        left.retain(|pool| !full.contains(pool));
        self.exchanges.live(id)?.return_except(left);
        Ok(())
    }

    /// What the servers of a pool have for a request.
    fn room(&mut self, now: Time, id: ExchangeId, pool: &Pool) -> Result<Room, Error> {
        let tried = self.exchanges.live(id)?.tried.clone();
        if pool.http2.is_none() {
            return Ok(self.core.pools.room(pool, &tried, now));
        }
        let places = self.core.pools.standing_beside(pool, &tried);
        let has_some = !places.is_empty();
        for place in places {
            if self.core.pools.carriers(place).is_none() {
                // The pool has changed since the request came: its servers do not speak HTTP/2 any more.
                return Ok(self.core.pools.room(pool, &tried, now));
            }
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
        let takes_streams = !carriers.declines && !exchange.needs_http1();
        let takes_one_more = |conn: &_| {
            let Some(server) = servers.peek(*conn) else { return false };
            let Some(back) = &server.back else { return false };
            let suits = back.sole == sole && server.reach == exchange.reach && server.has_life_left(now);
            back.is_unused() || takes_streams && suits && back.has_room()
        };
        Ok(carriers.conns.iter().any(takes_one_more)
            || core.would_connect(servers, place) && core.pools.may_begin_connect(place, now))
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
        if !has_room {
            core.counters.note(Happening::QueueFull { pool: pool.id });
            return Ok(false);
        }
        self.return_to_full(io.now(), id)?;
        let ClientSide { exchange, client, core } = self.client_side(id)?;
        exchange.shrink_head();
        if exchange.queue(io.now(), pool.timeouts.response) {
            core.counters.note(Happening::Queued { pool: pool.id });
        }
        client.await_answer(io, exchange);
        Ok(true)
    }
}

// Out.
impl Proxy {
    /// Has requests go on that need not wait any more. What they do may end others.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_queues<I: Io>(&mut self, io: &mut I) {
        (self.core.queues.are_due, self.core.pools.admits_at) = (false, None);
        let mut some_go_on = false;
        for pool in self.core.queues.pools() {
            self.forget_gone(pool);
            let goes_on = self.serve_queue(io, pool);
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
            // Queues of one group may take the same places: each is the first in its turn.
            self.core.queues.turn();
            self.end_batch(io);
        }
    }

    /// Forgets requests that do not wait in a queue any more.
    fn forget_gone(&mut self, pool: u32) {
        let Self { exchanges, core, .. } = self;
        core.queues.of(pool).retain(|id| exchanges.peek(*id).is_some_and(Exchange::is_queued));
    }

    /// Has requests of a queue go on, the newest first. True: some have.
    fn serve_queue<I: Io>(&mut self, io: &mut I, pool: u32) -> bool {
        let mut full = Vec::new();
        let mut goes_on = 0;
        for at in (0..self.core.queues.of(pool).len()).rev() {
            if goes_on == LEAVING_MAX {
                break;
            }
            // What others have done may have ended it.
            let Some(&id) = self.core.queues.of(pool).get(at) else { continue };
            let waits = self.exchanges.peek(id).is_some_and(Exchange::is_queued);
            if !waits || self.has_to_wait(io.now(), id, &mut full).unwrap_or_default() {
                continue;
            }
            self.core.queues.of(pool).remove(at);
            self.leave_queue(io, id, Error::NoServer);
            goes_on += usize::from(!self.exchanges.peek(id).is_some_and(Exchange::is_queued));
        }
        goes_on > 0
    }

    fn leave_queue<I: Io>(&mut self, io: &mut I, id: ExchangeId, otherwise: Error) {
        let Ok(ClientSide { exchange, client, .. }) = self.client_side(id) else { return };
        let conn = exchange.client;
        exchange.leave_queue();
        client.await_answer(io, exchange);
        self.choose_server(io, id, otherwise);
        self.proceed(io, conn);
    }

    /// A request in a queue has waited as long as it may, or as its client may.
    #[cold]
    pub(crate) fn wait_for_no_turn<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        let Ok(ClientSide { exchange, core, .. }) = self.client_side(id) else { return };
        if exchange.has_waited_out(io.now()) {
            let conn = exchange.client;
            self.fail_exchange(io, id, Error::ClientAborted);
            return self.proceed(io, conn);
        }
        if let Some(pool) = exchange.pool() {
            core.counters.note(Happening::QueueTimeout { pool: pool.id });
        }
        exchange.give_up_queues();
        self.leave_queue(io, id, Error::QueueTimeout);
    }
}
