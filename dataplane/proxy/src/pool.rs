//! The pools of a worker: which server takes a request, and which idle connections each server has. The most recent one
//! is used first, so that the others can time out. Only connections without unread or unsent bytes are kept.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use weir_balance::{Algorithm, Balancer, Bound, Failure, HashKey, Reason, Room, Shown, Standing};
use weir_rules::Excess;
use weir_snapshot::{Difference, HashInput, Pool, STREAMS_MAX};
use weir_telemetry::Counters;
use weir_wire::head::RequestHead;

use crate::{
    error::Error,
    groups::Groups,
    io::{Conn, Time},
    leavers::{Leaver, Leavers},
    limits::Limits,
    origin::{octets, origin_of},
    retries::{self, Retries},
};

#[derive(Default)]
pub(crate) struct Pools {
    /// Indexed by the dense id of the snapshot.
    pub(crate) rows: Vec<Option<Row>>,
    pub(crate) groups: Groups,
    pub(crate) leavers: Leavers,
    /// The version of the row that was made or changed last.
    version: u32,
    /// Whether a connection to any server, or a request, has ever failed.
    some_failed: bool,
    /// When a server may get a connection for which requests wait in queues.
    pub admits_at: Option<Time>,
    /// Of the response that was withheld last.
    pub withheld_status: u16,
}

pub(crate) struct Row {
    pub pool: Arc<Pool>,
    /// Changes whenever the row changes, and differs between rows.
    version: u32,
    pub(crate) balancer: Balancer,
    /// Indexed by the server's position in the pool.
    idle: Vec<Vec<Idle>>,
    /// The same, of a pool whose servers speak HTTP/2.
    carriers: Vec<Carriers>,
    retries: Retries,
}

/// The connections to a server that carry streams.
#[derive(Default)]
pub(crate) struct Carriers {
    /// In the order in which they are filled.
    pub conns: Vec<Conn>,
    /// Those that get no more streams, and end with their last.
    pub retired: Vec<Conn>,
    /// How many streams the server allowed on the last one.
    streams_max: Option<u32>,
    /// The server has chosen HTTP/1.1.
    pub declines: bool,
}

impl Carriers {
    /// How many streams the next connection will carry.
    pub fn streams_max(&self) -> u32 {
        self.streams_max.unwrap_or(STREAMS_MAX)
    }
}

/// A server connection that waits for a request.
#[derive(Clone, Copy)]
pub(crate) struct Idle {
    pub conn: Conn,
    /// Made for a TLS name from one request, and not used by another request yet. A client that invents names can cause
    /// any number of these.
    pub passing: bool,
}

/// The server that a request would get, by its position in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Preview {
    /// The request is bound to it.
    Named(usize),
    /// The request is bound to a server that is down, and no other server may get it.
    Nothing,
    Picked(usize, Reason),
}

/// What becomes of a new connection by the rate of its pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Connect {
    Begins,
    /// It begins, but is beyond the rate.
    IsReported,
    IsTooMany,
}

/// What becomes of a request by the server that it is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tie {
    /// It is bound to no server, or to one that takes no requests, so that another one may get it.
    None,
    /// The server would take it with fewer connections.
    Full,
    /// By the server with this id.
    Taken(u32),
    /// The server is down, and no other one may get it.
    Denied,
}

/// A server in its pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub pool: u32,
    /// The dense id.
    pub server: u32,
    pub address: SocketAddr,
    /// The position in the pool when the place was picked.
    pub position: u32,
    /// The row's version then: while the row still has it, the position is valid.
    version: u32,
}

impl Pools {
    /// Applies a new snapshot. Returns the connections of servers that were removed or disabled: idle
    /// ones, and those that carry streams.
    pub fn follow(&mut self, difference: &Difference, now: Time) -> Vec<Conn> {
        let mut orphans = Vec::new();
        for gone in &difference.pools_gone {
            let row = self.rows.get_mut(gone.id as usize).and_then(Option::take);
            orphans.extend(row.into_iter().flat_map(Row::into_connections));
        }
        difference.pools.iter().for_each(|pool| self.bring(pool, &mut orphans, now));
        self.groups.follow(difference);
        self.observe_groups();
        orphans
    }

    /// Adds or replaces a pool.
    pub fn bring(&mut self, pool: &Arc<Pool>, orphans: &mut Vec<Conn>, now: Time) {
        let id = pool.id as usize;
        if self.rows.len() <= id {
            self.rows.resize_with(id + 1, || None);
        }
        self.version = self.version.wrapping_add(1);
        let before = self.rows[id].as_ref().filter(|row| row.pool.uuid == pool.uuid);
        let has_work = |server| before.is_some_and(|row| row.balancer.connections(server) > 0);
        self.leavers.follow(before.map(|row| row.pool.as_ref()), pool, has_work, now);
        self.rows[id] = Some(match self.rows[id].take() {
            Some(row) if row.pool.uuid == pool.uuid => row.reconcile(pool, self.version, orphans),
            other => {
                orphans.extend(other.into_iter().flat_map(Row::into_connections));
                Row::new(pool, self.version)
            }
        });
    }

    /// Picks a server for a request, and counts the request there.
    pub fn pick(&mut self, now: Time, pool: &Pool, key: HashKey, tried: &[u32]) -> Option<Place> {
        let row = self.row(pool.id).filter(|row| row.is_of(pool))?;
        let position = row.balancer.pick(now.nanos, key, tried)?;
        row.place(position)
    }

    /// The same for the server that a request is bound to, if that takes it. Error: no other server may get it.
    pub fn take(&mut self, now: Time, pool: &Pool, server: u32) -> Result<Option<Place>, Error> {
        let Some(row) = self.row(pool.id).filter(|row| row.is_of(pool)) else { return Ok(None) };
        match row.balancer.take(now.nanos, server) {
            Bound::Server(position) => Ok(row.place(position)),
            Bound::Another => Ok(None),
            Bound::Nothing => Err(Error::BoundServerDown),
        }
    }

    /// Whether no server of a pool may get a request, because the one that its key binds it to is down.
    #[cold]
    pub fn denies(&mut self, now: Time, pool: &Pool, key: HashKey, tried: &[u32]) -> bool {
        let row = self.row(pool.id).filter(|row| row.is_of(pool));
        row.is_some_and(|row| row.balancer.bound_by_key(now.nanos, key, tried) == Bound::Nothing)
    }

    /// The server that a key binds requests to.
    pub fn owner(&mut self, pool: &Pool, key: HashKey) -> Option<u32> {
        let row = self.row(pool.id).filter(|row| row.is_of(pool))?;
        let owner = row.balancer.owner(key)?;
        Some(row.place(owner)?.server)
    }

    /// A connection to this server is about to begin: whether that is within the rate of its pool.
    #[cold]
    pub fn connect(&mut self, at: Place, now: Time) -> Connect {
        let Some(row) = self.row(at.pool) else { return Connect::Begins };
        let Some((rate, position)) = row.pool.connect_rate.as_ref().zip(row.position(at)) else {
            return Connect::Begins;
        };
        match (rate.admits(position, now.nanos), &rate.excess) {
            (true, _) => Connect::Begins,
            (false, Excess::Report) => Connect::IsReported,
            (false, _) => Connect::IsTooMany,
        }
    }

    /// Whether some server that takes requests, beside those that were tried, had as many new connections as it may have.
    #[cold]
    pub fn had_too_many_connects(&mut self, pool: &Pool, tried: &[u32], now: Time) -> bool {
        let Some(row) = self.row(pool.id).filter(|row| row.is_of(pool)) else { return false };
        let mut standing = row.beside(tried).filter(|position| row.balancer.stands(*position));
        standing.any(|position| row.connect_wait(position, now).is_some())
    }

    /// The servers that get no connection for a request: those that were `refused`, and those beyond the rate of their pool.
    /// `may_be_idle`: an idle connection is as good as a new one. Also whether another server has room.
    #[cold]
    pub fn without_connection(
        &mut self,
        pool: u32,
        mut refused: Vec<u32>,
        may_be_idle: bool,
        now: Time,
    ) -> (Vec<u32>, bool) {
        let Some(row) = self.row(pool) else { return (refused, false) };
        let (mut beyond, mut has_other) = (Vec::new(), false);
        for position in row.beside(&refused) {
            let wait = if may_be_idle { Row::connection_wait } else { Row::connect_wait };
            match wait(row, position, now) {
                None => has_other |= row.balancer.has_room(position),
                Some(_) => beyond.push(row.pool.servers[position].id),
            }
        }
        refused.extend(beyond);
        (refused, has_other)
    }

    /// What servers of a pool have for a request. In a pool that speaks HTTP/2, connections do not count.
    #[cold]
    pub fn room(&mut self, pool: &Pool, tried: &[u32], now: Time) -> Room {
        let Some(row) = self.row(pool.id).filter(|row| row.is_of(pool)) else { return Room::None };
        let room = row.balancer.room(tried);
        if room != Room::Some || row.pool.connect_rate.is_none() {
            return room;
        }
        let mut wait = u64::MAX;
        for position in row.beside(tried).filter(|position| row.balancer.has_room(*position)) {
            match row.connection_wait(position, now) {
                None => return Room::Some,
                Some(nanos) => wait = wait.min(nanos),
            }
        }
        self.admits_after(wait, now);
        Room::Full
    }

    /// Whether a server may get a new connection now, by the rate of its pool.
    #[cold]
    pub fn may_begin_connect(&mut self, at: Place, now: Time) -> bool {
        let waiting = self.row(at.pool).and_then(|row| row.connect_wait(row.position(at)?, now));
        waiting.map(|nanos| self.admits_after(nanos, now)).is_none()
    }

    fn admits_after(&mut self, nanos: u64, now: Time) {
        let at = now + Duration::from_nanos(nanos);
        self.admits_at = Some(self.admits_at.map_or(at, |known| known.min(at)));
    }

    /// What becomes of a request by the server that it is bound to, by name or by its key.
    #[cold]
    pub fn tie(&mut self, now: Time, pool: &Pool, (named, key): (Option<u32>, HashKey), tried: &[u32]) -> Tie {
        let Some(row) = self.row(pool.id).filter(|row| row.is_of(pool)) else { return Tie::None };
        let owner = named.or_else(|| row.balancer.owner_id(key));
        let Some(owner) = owner.filter(|owner| !tried.contains(owner)) else { return Tie::None };
        match row.balancer.bound(now.nanos, owner) {
            Bound::Server(position) => match row.connection_wait(position, now).filter(|_| pool.http2.is_none()) {
                Some(nanos) => {
                    self.admits_after(nanos, now);
                    Tie::Full
                }
                None => Tie::Taken(owner),
            },
            Bound::Nothing => Tie::Denied,
            Bound::Another if row.balancer.is_only_full(now.nanos, owner) => Tie::Full,
            Bound::Another => Tie::None,
        }
    }

    /// The servers of a pool that take requests, beside those that a request has tried.
    #[cold]
    pub fn standing_beside(&mut self, pool: &Pool, tried: &[u32]) -> Vec<Place> {
        let Some(row) = self.row(pool.id).filter(|row| row.is_of(pool)) else { return Vec::new() };
        let places = (0..row.pool.servers.len()).filter(|position| row.balancer.stands(*position));
        places.filter_map(|position| row.place(position)).filter(|place| !tried.contains(&place.server)).collect()
    }

    /// Whether a request that is bound to a server gets it.
    pub fn keeps_bond(&mut self, now: Time, pool: &Pool, server: u32) -> bool {
        let row = self.row(pool.id).filter(|row| row.is_of(pool));
        row.is_some_and(|row| matches!(row.balancer.bound(now.nanos, server), Bound::Server(_)))
    }

    /// What speaks against a server.
    #[cold]
    pub fn standing(&mut self, pool: &Pool, server: u32) -> Standing {
        let balancer = self.row(pool.id).map(|row| &row.balancer);
        let position = balancer.and_then(|balancer| Some((balancer, balancer.position(server)?)));
        position.map_or(Standing::Eligible, |(balancer, position)| balancer.standing(position))
    }

    /// What a request without earlier tries would get, and whether that is the server that a cookie names. Also the row's
    /// balancer, which knows what speaks against the others.
    pub fn preview(
        &mut self,
        now: Time,
        pool: &Pool,
        key: HashKey,
        named: Option<u32>,
    ) -> Option<(Option<Preview>, &Balancer)> {
        let row = self.rows.get_mut(pool.id as usize)?.as_mut().filter(|row| row.is_of(pool))?;
        let picked = match named.map_or(Bound::Another, |named| row.balancer.bound(now.nanos, named)) {
            Bound::Server(position) => Some(Preview::Named(position)),
            Bound::Nothing => Some(Preview::Nothing),
            Bound::Another => {
                row.balancer.preview(now.nanos, key).map(|(position, reason)| Preview::Picked(position, reason))
            }
        };
        Some((picked, &row.balancer))
    }

    /// Counts a request at a server that the balancer did not pick.
    pub fn begin(&mut self, at: Place) {
        if let Some(row) = self.row(at.pool) {
            row.balancer.opened(at.server);
        }
    }

    pub fn end(&mut self, at: Place) {
        if let Some(row) = self.row(at.pool) {
            row.balancer.closed(at.server);
        }
    }

    /// Whether a request at this server, which has tried the others, would find another server that is not suspect.
    pub fn has_other(&mut self, at: Place, tried: &[u32], now: Time) -> bool {
        let tried: Vec<_> = tried.iter().copied().chain([at.server]).collect();
        let Some(row) = self.row(at.pool) else { return false };
        if !row.carriers.is_empty() {
            return row.has_stream_beside(&tried, now);
        }
        let has_connection = |position: usize| row.connection_wait(position, now).is_none();
        row.beside(&tried).any(|position| row.balancer.is_sound(position) && has_connection(position))
    }

    /// Whether the pool has a retry left for a request that a server has answered; takes it.
    #[cold]
    pub fn takes_retry(&mut self, at: Place, counters: &Counters, now: Time) -> bool {
        let Some(row) = self.row(at.pool) else { return false };
        let is_left = row.retries.are_left(|| retries::responses(&row.pool, counters), now);
        if is_left {
            row.retries.count();
        }
        is_left
    }

    /// A new connection to this server was established.
    pub fn reached(&mut self, at: Place, now: Time) {
        if let Some(row) = self.row(at.pool) {
            row.balancer.reached(at.server, now.nanos);
        }
    }

    /// The server has answered on a new connection.
    pub fn proved(&mut self, at: Place) {
        if let Some(row) = self.row(at.pool) {
            row.balancer.proved(at.server);
        }
    }

    /// The server has answered on a connection on which it had answered before.
    pub fn answered(&mut self, at: Place) {
        if self.some_failed
            && let Some(row) = self.row(at.pool)
        {
            row.balancer.answered(at.server);
        }
    }

    /// Whether a response without an error says something about its server: the pool has not forgotten some error.
    #[inline]
    pub fn heeds_good(&mut self, at: Place) -> bool {
        self.some_failed && self.row(at.pool).is_some_and(|row| row.balancer.has_errors())
    }

    /// A request has shown something, so long after the server had it. Returns whether that counts.
    #[cold]
    pub fn judge(&mut self, at: Place, shown: Shown, waited: u64, now: Time) -> bool {
        self.some_failed |= shown != Shown::Good;
        let had_ns = now.nanos.saturating_sub(waited);
        self.row(at.pool).is_some_and(|row| row.balancer.judged(at.server, shown, had_ns, now.nanos))
    }

    /// The response of this server has begun, so long after its request.
    #[inline]
    pub fn timed(&mut self, at: Place, nanos: u64, now: Time) {
        if let Some(row) = self.row(at.pool).filter(|row| row.balancer.wants_times()) {
            row.balancer.timed(at.server, nanos, now.nanos);
        }
    }

    /// The server takes connections or sessions whose answers nobody measures.
    pub fn is_not_measured(&mut self, at: Place) {
        if let Some(row) = self.row(at.pool).filter(|row| row.balancer.wants_times()) {
            row.balancer.is_not_measured(at.server);
        }
    }

    /// A response of this server, of so many bytes, is over.
    #[inline]
    pub fn sent(&mut self, at: Place, bytes: u64, now: Time) {
        if let Some(row) = self.row(at.pool).filter(|row| row.balancer.wants_bytes()) {
            row.balancer.sent(at.server, bytes, now.nanos);
        }
    }

    /// A connection to this server, begun at `since`, has failed. If that made the server suspect, returns its idle
    /// connections and those that carry streams: requests on them might wait just as long.
    pub fn failed(&mut self, at: Place, failure: Failure, since: Time, now: Time) -> Vec<Conn> {
        self.some_failed = true;
        let Some(row) = self.row(at.pool) else { return Vec::new() };
        let became_suspect = row.balancer.failed(at.server, failure, since.nanos, now.nanos);
        if !became_suspect {
            return Vec::new();
        }
        let Some(position) = self.row(at.pool).and_then(|row| row.position(at)) else { return Vec::new() };
        self.row(at.pool).map_or_else(Vec::new, |row| row.take_from(position))
    }

    /// Takes the most recent idle connection that suits.
    #[inline]
    pub fn take_idle(&mut self, at: Place, mut suits: impl FnMut(Conn) -> bool) -> Option<Conn> {
        let idle = self.idle(at)?;
        let index = idle.iter().rposition(|idle| suits(idle.conn))?;
        Some(idle.remove(index).conn)
    }

    /// The connections to a server that carry streams. `None`: the pool does not speak HTTP/2, or the server is gone.
    pub fn carriers(&mut self, at: Place) -> Option<&mut Carriers> {
        let row = self.row(at.pool)?;
        let position = row.position(at)?;
        row.carriers.get_mut(position)
    }

    /// A server has told how many streams it takes on a connection.
    pub fn learn_streams(&mut self, at: Place, most: u32) {
        if let Some(carriers) = self.carriers(at) {
            carriers.streams_max = Some(most);
        }
    }

    /// A connection gets no more streams.
    pub fn retire_carrier(&mut self, at: Place, conn: Conn) {
        if let Some(carriers) = self.forget_carrier(at, conn) {
            carriers.retired.push(conn);
        }
    }

    /// Returns the other connections of the server. It may have another address by now.
    pub fn forget_carrier(&mut self, at: Place, conn: Conn) -> Option<&mut Carriers> {
        let row = self.row(at.pool)?;
        let position = row.balancer.position(at.server)?;
        let carriers = row.carriers.get_mut(position)?;
        carriers.conns.retain(|other| *other != conn);
        carriers.retired.retain(|other| *other != conn);
        Some(carriers)
    }

    /// How many connections a server may have. The operator's limit counts connections, each of which may carry many
    /// requests.
    pub fn connections_max(&mut self, at: Place) -> Option<usize> {
        let row = self.row(at.pool)?;
        let position = row.position(at)?;
        row.pool.servers[position].max_connections.map(|most| most as usize)
    }

    /// How many requests and tunnels a server has.
    pub fn requests(&mut self, at: Place) -> usize {
        self.row(at.pool).map_or(0, |row| row.balancer.connections(at.server) as usize)
    }

    /// Whether this server takes another request on a connection that its client has already. A suspect server that
    /// is avoided does only if the connection `binds` the client.
    pub fn takes(&mut self, at: Place, binds: bool) -> bool {
        let Some(row) = self.row(at.pool) else { return false };
        row.taker(at).is_some_and(|position| binds || row.balancer.is_used(position))
    }

    /// Whether the server is in its pool and up, so that it keeps its sessions. It may be disabled.
    pub fn keeps_work(&mut self, at: Place) -> bool {
        self.row(at.pool).is_some_and(|row| row.position(at).is_some() && row.balancer.is_up(at.server))
    }

    /// A request at this server is over. If its connection, made for this or an earlier version of `pool`, may be kept for
    /// a later request, the request no longer counts there. Not while the server is suspect: a trial must show whether
    /// new connections succeed.
    #[inline]
    pub fn gives_back(&mut self, at: Place, pool: &Pool) -> bool {
        let Some(row) = self.row(at.pool).filter(|row| row.is_like(pool, at)) else { return false };
        let Some(position) = row.position(at).filter(|position| row.balancer.is_trusted(*position)) else {
            return false;
        };
        row.balancer.closed_at(position);
        true
    }

    /// Keeps a connection. Returns the one to close if there are too many. This is never the new one: otherwise no new
    /// connection would ever serve a second request.
    pub fn put_idle(&mut self, at: Place, new: Idle, limits: &Limits) -> Option<Conn> {
        let row = self.row(at.pool)?;
        let (most, position) = (row.pool.max_idle_connections, row.position(at)?);
        let idle = row.idle.get_mut(position)?;
        let full = idle.len() >= most.map_or(limits.idle_connections, |most| most as usize);
        let goes = if full { spare(idle).map(|index| idle.remove(index).conn) } else { None };
        idle.push(new);
        goes
    }

    /// An idle connection of the server that has most of them.
    pub fn spare_idle(&self) -> Option<Conn> {
        let idle = self.rows.iter().flatten().flat_map(|row| &row.idle).max_by_key(|idle| idle.len())?;
        spare(idle).map(|index| idle[index].conn)
    }

    pub fn forget_idle(&mut self, at: Place, conn: Conn) {
        if let Some(idle) = self.idle(at) {
            // Connections time out oldest first, but a server may close any of them.
            if let Some(index) = idle.iter().position(|other| other.conn == conn) {
                idle.remove(index);
            }
        }
    }

    /// Applies a verdict of the health monitors. Returns the idle connections of a server that went down, and those
    /// that carry streams.
    pub fn set_up(&mut self, pool: &Pool, server_name: &str, up: bool, now: Time) -> Vec<Conn> {
        let Self { rows, leavers, .. } = self;
        let row = rows.get_mut(pool.id as usize).and_then(Option::as_mut);
        let Some(row) = row else { return Vec::new() };
        let Some(position) = row.pool.position(server_name) else { return Vec::new() };
        let server = row.pool.servers[position].id;
        row.balancer.set_up(server, up);
        let is_up = row.balancer.is_up(server);
        leavers.judged(&row.pool, position, is_up, now);
        if is_up { Vec::new() } else { row.take_from(position) }
    }

    /// Takes the servers that lose what they have now.
    pub fn take_leavers(&mut self, now: Time) -> Vec<Leaver> {
        let leavers = self.leavers.take(now);
        for leaver in &leavers {
            if let Some(row) = self.row(leaver.pool) {
                row.balancer.leave(leaver.server);
            }
        }
        leavers
    }

    /// Whether this server is up and enabled.
    pub fn is_up(&mut self, pool: &Pool, server: u32) -> bool {
        let balancer = self.row(pool.id).filter(|row| row.is_of(pool)).map(|row| &row.balancer);
        balancer.is_some_and(|balancer| balancer.position(server).is_some_and(|position| balancer.stands(position)))
    }

    /// Dense ids of all servers that are up.
    pub fn up(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().flatten().flat_map(|row| row.balancer.up())
    }

    /// Dense ids of all servers that are suspect.
    pub fn suspect(&self, now: Time) -> impl Iterator<Item = u32> {
        self.rows.iter().flatten().flat_map(move |row| row.balancer.suspect(now.nanos))
    }

    /// Dense ids of those of them that are ejected.
    pub fn ejected(&self, now: Time) -> impl Iterator<Item = u32> {
        self.rows.iter().flatten().flat_map(move |row| row.balancer.ejected(now.nanos))
    }

    /// Removes and returns all idle connections, and those that carry streams.
    pub fn drain(&mut self) -> Vec<Conn> {
        let rows = self.rows.iter_mut().flatten();
        rows.flat_map(|row| (0..row.idle.len()).flat_map(|position| row.take_from(position)).collect::<Vec<_>>())
            .collect()
    }

    /// The newest version of a pool that has a server, of this one and of that by which servers are chosen now.
    pub fn naming(&self, at: Place, pool: &Arc<Pool>) -> Option<Arc<Pool>> {
        let names = |pool: &Arc<Pool>| pool.servers.iter().any(|server| server.id == at.server);
        let row = self.rows.get(at.pool as usize).and_then(Option::as_ref).map(|row| &row.pool);
        row.into_iter().chain([pool]).find(|pool| names(pool)).cloned()
    }

    fn row(&mut self, pool: u32) -> Option<&mut Row> {
        self.rows.get_mut(pool as usize)?.as_mut()
    }

    fn idle(&mut self, at: Place) -> Option<&mut Vec<Idle>> {
        let row = self.row(at.pool)?;
        let position = row.position(at)?;
        row.idle.get_mut(position)
    }
}

impl Row {
    pub fn new(pool: &Arc<Pool>, version: u32) -> Self {
        let idle = pool.servers.iter().map(|_| Vec::new()).collect();
        let carriers = carriers_of(pool);
        Self {
            pool: pool.clone(),
            version,
            balancer: Balancer::new(&pool.balance),
            idle,
            carriers,
            retries: Retries::default(),
        }
    }

    /// Whether connections to a server that a version of its pool has suit it. Mostly it is the same version.
    #[inline]
    fn is_like(&self, pool: &Pool, at: Place) -> bool {
        std::ptr::eq(&*self.pool, pool)
            || self.pool.speaks_like(pool) && pool.has_same_host(&self.pool, at.server, at.position)
    }

    fn reconcile(mut self, pool: &Arc<Pool>, version: u32, orphans: &mut Vec<Conn>) -> Self {
        if Arc::ptr_eq(&self.pool, pool) {
            return self;
        }
        let alike = pool.speaks_like(&self.pool);
        let idle = pool.servers.iter().enumerate().map(|(position, server)| {
            let stays = alike && pool.balance.servers[position].enabled;
            let before = self.position_of(server.id, server.address).filter(|_| stays);
            let before = before.filter(|before| self.pool.servers[*before].host == server.host);
            before.map(|before| std::mem::take(&mut self.idle[before])).unwrap_or_default()
        });
        let idle = idle.collect();
        let mut carriers = carriers_of(pool);
        for (position, kept) in carriers.iter_mut().enumerate() {
            let server = &pool.servers[position];
            let Some(before) = self.balancer.position(server.id) else { continue };
            let known = &self.pool.servers[before];
            let is_same = known.address == server.address && known.host == server.host;
            let Some(before) = self.carriers.get_mut(before) else { continue };
            kept.retired = std::mem::take(&mut before.retired);
            if alike && is_same {
                kept.streams_max = before.streams_max;
                kept.declines = before.declines;
                if pool.balance.servers[position].enabled {
                    kept.conns = std::mem::take(&mut before.conns);
                }
            }
        }
        self.balancer.reconcile(&pool.balance);
        orphans.extend(self.idle.into_iter().flatten().map(|idle| idle.conn));
        orphans.extend(self.carriers.into_iter().flat_map(|carriers| carriers.conns));
        Row { pool: pool.clone(), version, balancer: self.balancer, idle, carriers, retries: self.retries }
    }

    /// Whether a server that is not suspect, beside those, may have one more stream, or one more connection.
    #[cold]
    fn has_stream_beside(&self, tried: &[u32], now: Time) -> bool {
        let has_stream = |(position, carriers): (usize, &Carriers)| {
            let server = &self.pool.servers[position];
            let requests = u64::from(self.balancer.connections(server.id));
            let conns = carriers.conns.len() as u64;
            let own = if carriers.declines { requests } else { conns };
            let may_connect = server.max_connections.is_none_or(|most| own < u64::from(most))
                && self.connect_wait(position, now).is_none();
            self.balancer.is_trusted(position)
                && !tried.contains(&server.id)
                && (may_connect || requests < conns * u64::from(carriers.streams_max()))
        };
        self.carriers.iter().enumerate().any(has_stream)
    }

    /// The positions of the servers beside these.
    fn beside<'s>(&'s self, servers: &'s [u32]) -> impl Iterator<Item = usize> + 's {
        let all = self.pool.servers.iter().enumerate();
        all.filter(|(_, server)| !servers.contains(&server.id)).map(|(position, _)| position)
    }

    /// The nanoseconds until a request may get a connection to a server: an idle one, or a new one within the rate.
    fn connection_wait(&self, position: usize, now: Time) -> Option<u64> {
        self.connect_wait(position, now).filter(|_| self.idle[position].is_empty())
    }

    /// The nanoseconds until a server may get another connection by the rate of the pool; `None`: it may now.
    fn connect_wait(&self, position: usize, now: Time) -> Option<u64> {
        let rate = self.pool.connect_rate.as_ref().filter(|rate| !rate.only_reports())?;
        rate.wait_nanos(position, now.nanos)
    }

    fn into_connections(self) -> impl Iterator<Item = Conn> {
        let idle = self.idle.into_iter().flatten().map(|idle| idle.conn);
        idle.chain(self.carriers.into_iter().flat_map(|carriers| carriers.conns))
    }

    /// Takes the connections of one server out of the pool: idle ones, and those that carry streams.
    fn take_from(&mut self, position: usize) -> Vec<Conn> {
        let idle = std::mem::take(&mut self.idle[position]);
        let carriers = self.carriers.get_mut(position).map(|carriers| std::mem::take(&mut carriers.conns));
        idle.into_iter().map(|idle| idle.conn).chain(carriers.into_iter().flatten()).collect()
    }

    #[inline(always)]
    fn place(&self, position: usize) -> Option<Place> {
        let server = self.pool.servers.get(position)?;
        Some(Place {
            pool: self.pool.id,
            server: server.id,
            address: server.address,
            position: position as u32,
            version: self.version,
        })
    }

    /// Whether the row belongs to this pool, in this or another version.
    pub fn is_of(&self, pool: &Pool) -> bool {
        std::ptr::eq(self.pool.as_ref(), pool) || self.pool.uuid == pool.uuid
    }

    /// The current position of the server of `at`, if it takes requests.
    fn taker(&self, at: Place) -> Option<usize> {
        self.position(at).filter(|position| self.balancer.stands(*position))
    }

    /// The current position of the server of `at`.
    fn position(&self, at: Place) -> Option<usize> {
        match at.version == self.version {
            true => Some(at.position as usize),
            false => self.position_of(at.server, at.address),
        }
    }

    fn position_of(&self, server: u32, address: SocketAddr) -> Option<usize> {
        self.balancer.position(server).filter(|position| self.pool.servers[*position].address == address)
    }
}

fn carriers_of(pool: &Pool) -> Vec<Carriers> {
    let servers = if pool.http2.is_some() { pool.servers.len() } else { 0 };
    (0..servers).map(|_| Carriers::default()).collect()
}

/// The idle connection that is missed least: the oldest that has served one request only for its own name, else the
/// oldest.
fn spare(idle: &[Idle]) -> Option<usize> {
    idle.iter().position(|idle| idle.passing).or_else(|| (!idle.is_empty()).then_some(0))
}

/// The key by which a pool with consistent hashing picks a server.
///
/// A tunnel has no request head, so only the client's address counts. `origin`: of its session of TLS, if that is known.
pub(crate) fn balance_key(
    pool: &Pool,
    head: Option<&RequestHead<'_>>,
    peer: SocketAddr,
    origin: impl FnOnce() -> Option<NonZeroU32>,
) -> HashKey {
    if pool.balance.algorithm != Algorithm::ConsistentHash {
        return HashKey::default();
    }
    match (&pool.hash_input, head) {
        (HashInput::Uri, Some(head)) => HashKey::of_both(head.host.unwrap_or_default(), head.path),
        (HashInput::Header(name), Some(head)) => match head.fields.find(name.as_bytes()) {
            Some(value) => HashKey::of(value),
            None => address_key(peer, 128),
        },
        (HashInput::SourceAddressAndPort, _) => {
            let mut address = [0; 18];
            address[..16].copy_from_slice(&octets(peer.ip()));
            address[16..].copy_from_slice(&peer.port().to_be_bytes());
            HashKey::of(&address)
        }
        (HashInput::SourceAddress(bits), _) => address_key(peer, *bits),
        (HashInput::TlsSession, _) => HashKey::of(&origin().unwrap_or_else(|| origin_of(peer)).get().to_be_bytes()),
        (HashInput::Uri | HashInput::Header(_), None) => address_key(peer, 128),
    }
}

/// The key of so many first bits of a client's address.
pub(crate) fn address_key(peer: SocketAddr, bits: u8) -> HashKey {
    let octets = octets(peer.ip());
    if bits >= 128 {
        return HashKey::of(&octets);
    }
    // What an address of IPv4 has in front says nothing.
    let bits = if peer.ip().to_canonical().is_ipv4() { 96 + u32::from(bits.min(32)) } else { bits.into() };
    let masked = u128::from_be_bytes(octets) & u128::MAX.checked_shl(128 - bits).unwrap_or(0);
    HashKey::of(&masked.to_be_bytes())
}
