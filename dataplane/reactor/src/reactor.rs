//! The reactor itself. A batch is `poll` (what happened), the handler, and `flush` (what the handler sends). Reading is
//! in `input`, sending and closing in `output`, accepting in `accept`.
//!
//! A connection is registered with epoll once, edge-triggered, and spends no system call to learn that there is
//! nothing: a short read has drained the socket (2.5 % more transactions for the CPU time of a busy proxy).

use std::{
    collections::VecDeque,
    io,
    net::{IpAddr, SocketAddr, TcpStream},
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, OnceLock},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use weir_proxy::{
    buf::{Buf, BufPool},
    datagrams::io::{Arrival, Datagram, DatagramIo, ListenerId, NotOpened, ServerSocket},
    io::{After, Bucket, Close, Conn, Event, Gone, Io, Protocol, Time, TransportAddress},
};

use crate::{
    BLOCK_BYTES,
    datagrams::{DATAGRAM_TOKEN, Datagrams},
    driver::{Driver, Limits},
    listener::{Listener, Listeners, SocketOptions},
    pipe::Pipes,
    poller::{FAILED, OVER, PEER_DONE, Poller, READABLE, Report, Reports, WRITABLE, Waker},
    registration::Unregistered,
    round_trip,
    slot::{List, Output, Phase, Then},
    socket::gone,
    spread::Spread,
    table::Table,
    timers::Timers,
    tokens::Tokens,
    unix,
};

/// How long the peer of a connection that was given up may take nothing of its rest.
pub(crate) const FLUSH_MAX: Duration = Duration::from_secs(30);
/// Limits of time and bytes for a lingering peer. Beyond them it is reset, which may overtake bytes that it has not
/// read yet.
pub(crate) const LINGER_MAX: Duration = Duration::from_secs(5);
pub(crate) const LINGER_BYTES_MAX: u32 = 1024 * 1024 * 1024;

/// Tokens of listeners have this bit; those of connections hold slot and generation.
pub(crate) const LISTENER_TOKEN: u64 = 1 << 63;

/// When the first driver was made.
static BEGUN: OnceLock<Instant> = OnceLock::new();

/// The time of all reactors of this process, for threads without one: nanoseconds since the first began.
pub fn process_nanos() -> u64 {
    nanos_since(*BEGUN.get_or_init(Instant::now))
}

fn nanos_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

pub struct Reactor {
    pub(crate) poller: Poller,
    pub(crate) table: Table,
    pub(crate) timers: Timers,
    pub(crate) tokens: Tokens,
    pub(crate) pool: BufPool,
    pub(crate) pipes: Pipes,
    pub(crate) unregistered: Unregistered,
    /// Empty queues for connections that have something to send. Other connections hold no memory for it.
    pub(crate) queues: Vec<VecDeque<Buf>>,
    pub(crate) listeners: Listeners,
    /// Until when no connection is accepted, because the last try found no descriptor or no room.
    pub(crate) accept_again: Option<Time>,
    /// Connections with something to send; a slot is in it once.
    pub(crate) dirty: Vec<Conn>,
    /// Accepted connections that the handler has given up and that have not ended yet, the oldest first. Some of them
    /// may have ended since. There are at most twice as many entries as slots.
    pub(crate) departing: VecDeque<Conn>,
    /// Connections that have used up their read budget, or whose reading was turned on, in the order of their turns. A
    /// slot is in it at most once.
    pub(crate) unread: Vec<Conn>,
    /// Read of connections in bulk since this was cleared.
    pub(crate) bulk_bytes: usize,
    /// What happened outside `poll`, for the next.
    pub(crate) pending: Vec<Event>,
    pub(crate) limits: Limits,
    pub(crate) datagrams: Datagrams,
    pub(crate) batch: u64,
    pub(crate) now: Time,
    /// By the wall clock, until the monotonic one says that this second is over.
    unix_s: u64,
    /// Microseconds since 1970 at the begin of the driver's time.
    unix_us_at_begin: u64,
    second_ends: Time,
    /// Of the time of all drivers of a process, which count together for limits of rates.
    begun: Instant,
    reports: Reports,
    pub(crate) sources: Vec<IpAddr>,
    pub(crate) next_source: usize,
    pub(crate) connects: Spread<(Conn, SocketAddr)>,
    pub(crate) resets: Spread<TcpStream>,
}

impl Driver for Reactor {
    fn new(limits: Limits) -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            table: Table::with_room(limits.connections),
            timers: Timers::with_room(limits.connections),
            tokens: Tokens::default(),
            pool: BufPool::new(BLOCK_BYTES, limits.idle_blocks),
            pipes: Pipes::new(limits.pipes),
            unregistered: Unregistered::default(),
            queues: Vec::new(),
            listeners: Listeners::default(),
            accept_again: None,
            dirty: Vec::new(),
            departing: VecDeque::new(),
            unread: Vec::new(),
            bulk_bytes: 0,
            pending: Vec::new(),
            datagrams: Datagrams::new(limits.datagram_sockets),
            batch: 0,
            now: Time::default(),
            unix_s: 0,
            unix_us_at_begin: 0,
            second_ends: Time::default(),
            begun: *BEGUN.get_or_init(Instant::now),
            limits,
            reports: Reports::default(),
            sources: Vec::new(),
            next_source: 0,
            connects: Spread::default(),
            resets: Spread::default(),
        })
    }

    fn waker(&self) -> Waker {
        self.poller.waker()
    }

    fn poll(&mut self, wait: Option<Duration>, events: &mut Vec<Event>) -> io::Result<bool> {
        self.batch += 1;
        self.table.next_batch();
        let mut reports = std::mem::take(&mut self.reports);
        let outcome = self.poller.wait(self.wait(wait), &mut reports);
        self.now = Time { nanos: nanos_since(self.begun) };
        self.follow_wall_clock();
        events.append(&mut self.pending);
        if outcome.is_ok() {
            let unread = std::mem::take(&mut self.unread);
            self.bulk_bytes = 0;
            reports.each().for_each(|report| self.report(report, events));
            self.read_unread(unread, events);
            if self.tokens.next().is_some_and(|next| next <= self.now) {
                self.give_turns(events);
            }
        }
        while self.buffered_bytes() > self.limits.buffer_bytes && self.end_a_departing() {}
        self.register_rested();
        self.connect_and_reset_on();
        self.accept_after_pause();
        self.expire(events);
        events.append(&mut self.pending);
        let woken = reports.woken();
        self.reports = reports;
        outcome.map(|()| woken)
    }

    fn take_arrivals(&mut self, into: &mut Vec<Arrival>) {
        self.datagrams.take_arrivals(into);
    }

    fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for &conn in &dirty {
            if let Some(slot) = self.table.at(conn) {
                slot.lists.leave(List::Dirty);
                self.write(conn);
            }
        }
        self.register_new();
        dirty.clear();
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
        self.datagrams.flush();
    }

    fn listen(&mut self, fd: OwnedFd, options: SocketOptions) -> io::Result<TransportAddress> {
        let at = unix::bound_to(fd.as_fd())?;
        if at.protocol == Protocol::Udp {
            return self.datagrams.listen(fd, at, &self.poller).map(|()| at);
        }
        let listener = Listener::new(fd, options)?;
        let at = listener.at;
        self.unlisten(at)?;
        let what = if self.accept_again.is_some() { 0 } else { READABLE };
        let index = self.listeners.put(listener);
        let added = match self.listeners.at(index) {
            Some(listener) => {
                self.poller.add(listener.socket.as_fd(), listener.watched(what), LISTENER_TOKEN | index as u64)
            }
            None => Ok(()),
        };
        if added.is_err() {
            self.listeners.take(at);
        }
        added.map(|()| at)
    }

    fn tune(&mut self, at: TransportAddress, options: SocketOptions) -> io::Result<bool> {
        match self.listeners.find(at) {
            Some(listener) => listener.tune(options).map(|()| true),
            None => Ok(false),
        }
    }

    fn unlisten(&mut self, at: TransportAddress) -> io::Result<()> {
        if at.protocol == Protocol::Udp {
            return self.datagrams.unlisten(at, &self.poller);
        }
        match self.listeners.take(at) {
            // Others may hold the socket, so that closing our descriptor would leave it in the set.
            Some(listener) => self.poller.remove(listener.socket.as_fd()),
            None => Ok(()),
        }
    }

    fn mute(&mut self, at: TransportAddress) -> io::Result<()> {
        match at.protocol {
            Protocol::Tcp => self.unlisten(at),
            Protocol::Udp => self.datagrams.mute(at, &self.poller),
        }
    }

    fn listeners(&self) -> Vec<TransportAddress> {
        let of_connections = self.listeners.each().map(|(_, listener)| listener.at);
        of_connections.chain(self.datagrams.listens_at()).collect()
    }

    fn connections(&self) -> usize {
        self.table.len() + self.resets.waiting()
    }
}

impl Reactor {
    /// Reads the time of day once a second, so that changes of that clock take effect.
    fn follow_wall_clock(&mut self) {
        if self.now >= self.second_ends {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.unix_s = since.as_secs();
            self.unix_us_at_begin = (since.as_micros() as u64).wrapping_sub(self.now.nanos / 1000);
            self.second_ends = self.now + (Duration::from_secs(1) - Duration::from_nanos(since.subsec_nanos().into()));
        }
    }

    fn wait(&self, wait: Option<Duration>) -> Option<Duration> {
        let undelivered = !self.pending.is_empty() || self.datagrams.has_arrivals();
        let undone = self.connects.waiting() + self.resets.waiting() > 0;
        if undelivered || undone || !self.unread.is_empty() || !self.dirty.is_empty() {
            return Some(Duration::ZERO);
        }
        let next = [self.timers.next(), self.accept_again, self.unregistered.next(), self.tokens.next()];
        let next = next.into_iter().flatten().min();
        let elapsed = || Time { nanos: u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX) };
        let until_next = next.map(|next| next.since(elapsed()));
        [wait, until_next].into_iter().flatten().min()
    }

    fn report(&mut self, report: Report, events: &mut Vec<Event>) {
        if report.token & LISTENER_TOKEN != 0 {
            if report.token & DATAGRAM_TOKEN == DATAGRAM_TOKEN {
                return self.datagrams.ready(report);
            }
            let index = (report.token & !LISTENER_TOKEN) as usize;
            return if report.has(OVER) { self.set_shut(index, true) } else { self.accept(index, events) };
        }
        let conn = conn_of(report.token);
        let Some(slot) = self.table.at(conn) else { return };
        if report.has(PEER_DONE | OVER | FAILED) {
            slot.input.end_reported();
        }
        match slot.phase {
            Phase::Free => {}
            Phase::Connecting => self.connect_answered(conn, report, events),
            Phase::Open => self.open_ready(conn, report, events),
            Phase::Flushing { .. } | Phase::Settling { .. } if report.has(FAILED | OVER) => self.free(conn.slot),
            Phase::Flushing { .. } => self.write_on(conn, report),
            Phase::Settling { .. } => {}
            Phase::Lingering { .. } => self.drop_input(conn),
        }
    }

    fn connect_answered(&mut self, conn: Conn, report: Report, events: &mut Vec<Event>) {
        let Some(slot) = self.table.at(conn) else { return };
        if report.has(FAILED) {
            let err = slot.stream.as_ref().and_then(|s| s.take_error().ok().flatten());
            let why = err.map_or(Gone::Unreachable, |err| gone(&err));
            self.free(conn.slot);
            return events.push(Event::Gone { conn, why });
        }
        if !report.has(WRITABLE) {
            return;
        }
        (slot.phase, slot.output) = (Phase::Open, Output::Clear);
        events.push(Event::Connected { conn });
        self.write(conn);
        self.open_ready(conn, Report { what: report.what & !WRITABLE, ..report }, events);
    }

    fn open_ready(&mut self, conn: Conn, report: Report, events: &mut Vec<Event>) {
        if report.has(WRITABLE) {
            self.write_on(conn, report);
        }
        if report.has(READABLE | PEER_DONE | OVER | FAILED) {
            self.input_ready(conn, report.has(FAILED), events);
        }
    }

    fn expire(&mut self, events: &mut Vec<Event>) {
        let (table, mut overdue) = (&mut self.table, Vec::new());
        self.timers.expire(self.now, |index| {
            let conn = table.conn(index);
            match table.owned(conn) {
                Some(_) => events.push(Event::Deadline { conn }),
                None => overdue.push(index),
            }
        });
        overdue.into_iter().for_each(|index| match self.table.phase(index) {
            Phase::Settling { looks_left } => self.settle(index, looks_left),
            _ if self.waits_for_tokens(self.table.conn(index)) => self.timers.set(index, Some(self.now + FLUSH_MAX)),
            _ => self.abort(index),
        });
    }

    pub(crate) fn free(&mut self, index: u32) {
        self.timers.set(index, None);
        self.end_limit(index);
        // Closing also takes the socket out of the epoll set: connections have a single descriptor.
        drop(self.table.remove(index));
    }
}

impl Io for Reactor {
    fn now(&self) -> Time {
        self.now
    }

    fn unix_s(&self) -> u64 {
        self.unix_s
    }

    fn unix_us(&self) -> u64 {
        self.unix_us_at_begin.wrapping_add(self.now.nanos / 1000)
    }

    fn random(&mut self) -> [u8; 16] {
        crate::process::random()
    }

    fn buffer(&mut self) -> Buf {
        self.pool.take()
    }

    fn lasting(&mut self, content: &[Vec<u8>]) -> Option<Buf> {
        crate::lasting::of(content)
    }

    fn buffered_bytes(&self) -> usize {
        self.pool.in_use() * BLOCK_BYTES
    }

    fn connect(&mut self, to: SocketAddr) -> Conn {
        let has_room = self.make_room();
        let conn = self.table.connect();
        match has_room {
            true => self.connect_in_turn(conn, to),
            false => self.connect_failed(conn, &io::Error::from_raw_os_error(libc::EMFILE)),
        }
        conn
    }

    fn send(&mut self, conn: Conn, buf: Buf) {
        let Some(slot) = self.table.owned(conn) else { return };
        if buf.is_empty() || slot.output == Output::Broken {
            return;
        }
        slot.queued_bytes += buf.len();
        if slot.queue.capacity() == 0 {
            slot.queue = self.queues.pop().unwrap_or_default();
        }
        slot.queue.push_back(buf);
        self.mark_dirty(conn);
    }

    fn queued(&self, conn: Conn) -> usize {
        let Some(slot) = self.table.peek(conn) else { return 0 };
        let bytes = slot.queued_bytes + self.table.relayed_bytes(conn);
        slot.watched.set(slot.watched.get() || bytes > 0);
        bytes
    }

    fn round_trip(&self, conn: Conn) -> Option<Duration> {
        round_trip::to_peer(self.table.peek(conn)?.stream.as_ref()?)
    }

    fn local_address(&self, conn: Conn) -> Option<SocketAddr> {
        self.table.peek(conn)?.stream.as_ref()?.local_addr().ok()
    }

    fn reading(&mut self, conn: Conn, on: bool) {
        let Some(slot) = self.table.owned(conn) else { return };
        slot.reading = on;
        if slot.leaves_unread() {
            self.pending.push(Event::Leaving { conn });
        } else if slot.wants_input() {
            self.read_later(conn);
        }
    }

    fn resting(&mut self, conn: Conn, on: bool) {
        self.let_rest(conn, on);
    }

    fn limit(&mut self, conn: Conn, bucket: Option<&Arc<Bucket>>) {
        self.change_limit(conn, bucket);
    }

    fn waits_for_tokens(&self, conn: Conn) -> bool {
        self.table.peek(conn).is_some_and(|slot| slot.lists.has(List::Waiting))
    }

    fn relay(&mut self, from: Conn, to: Conn, bytes: u64, after: After) {
        self.begin_relay(from, to, bytes, after);
    }

    fn finish(&mut self, conn: Conn) {
        if let Some(slot) = self.table.owned(conn) {
            slot.finishing = true;
            self.mark_dirty(conn);
        }
    }

    fn deadline(&mut self, conn: Conn, at: Option<Time>) {
        if self.table.owned(conn).is_some() {
            self.timers.set(conn.slot, at);
        }
    }

    fn close(&mut self, conn: Conn, how: Close) {
        let now = self.now;
        if let Some(relay) = self.table.owned(conn).and_then(|slot| slot.relay.take()) {
            self.part(&relay);
        }
        let Some(slot) = self.table.owned(conn) else { return };
        let then = match how {
            Close::Abort => return self.abort(conn.slot),
            _ if slot.output == Output::Broken => return self.free(conn.slot),
            // A peer that has not answered the connect gets nothing: there is no connection to send on.
            _ if slot.phase == Phase::Connecting => return self.free(conn.slot),
            Close::Flush => Then::Close,
            Close::Cut => Then::Reset,
            Close::Linger => Then::Linger,
        };
        slot.phase = Phase::Flushing { then };
        self.timers.set(conn.slot, Some(now + FLUSH_MAX));
        self.mark_dirty(conn);
    }
}

impl DatagramIo for Reactor {
    fn bound_to(&self, listener: ListenerId) -> Option<TransportAddress> {
        self.datagrams.bound_to(listener)
    }

    fn open(&mut self, to: SocketAddr, from: Option<SocketAddr>) -> Result<ServerSocket, NotOpened> {
        let sockets_max = self.limits.connections.saturating_sub(self.connections());
        self.datagrams.open(to, from, sockets_max, &self.poller)
    }

    fn forward(&mut self, datagram: Datagram, to: ServerSocket) {
        self.datagrams.forward(datagram, to);
    }

    fn reply(&mut self, datagram: Datagram, from: ListenerId, to: SocketAddr) {
        self.datagrams.reply(datagram, from, to);
    }

    fn shut(&mut self, socket: ServerSocket) {
        self.datagrams.shut(socket);
    }
}

pub(crate) fn token_of(conn: Conn) -> u64 {
    (u64::from(conn.slot) << 32) | u64::from(conn.generation)
}

fn conn_of(token: u64) -> Conn {
    Conn { slot: (token >> 32) as u32, generation: token as u32 }
}
