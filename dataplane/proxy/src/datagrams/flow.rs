//! Handles a batch of datagrams. A datagram of a client goes to the server of its session; the first one begins the
//! session. A datagram of a server goes to the client. What cannot be passed on is dropped and counted.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use weir_balance::Failure;
use weir_rules::{Arriving, DecidedBy};
use weir_snapshot::{Aim, VirtualService};
use weir_telemetry::{Cause, Happening, record::Kind};

use super::{
    io::{Arrival, Datagram, DatagramIo, ListenerId, NotOpened, ServerSocket},
    session::{Answer, History, Key, Progress, Session},
    sessions::Source,
};
use crate::{
    client::admitted,
    flow::rescue::remedy,
    io::{Gone, Time},
    pool::{Connect, Place, balance_key},
    proxy::Proxy,
};

/// How long a worker that drains waits for answers.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// The address of a listener that has none.
const UNBOUND: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl Proxy {
    /// Handles the datagrams of one batch, in order of arrival, and leaves the list empty. Ends idle sessions.
    pub fn handle_datagrams<I: DatagramIo>(&mut self, io: &mut I, arrivals: &mut Vec<Arrival>) {
        if self.core.pools.leavers.are_due(io.now()) {
            self.end_leavers(io);
        }
        if !self.sessions.leaving.is_empty() {
            self.end_leaving_sessions(io);
        }
        for arrival in arrivals.drain(..) {
            match arrival {
                Arrival::FromClient { listener, peer, datagram } => {
                    self.datagram_of_client(io, listener, peer, datagram)
                }
                Arrival::FromServer { socket, datagram } => self.datagram_of_server(io, socket, datagram),
                Arrival::Refused { socket, why } => self.refused(io, socket, why),
                Arrival::Dropped { listener } => self.dropped(io, listener),
            }
        }
        let now = io.now();
        if self.sessions.due().is_some_and(|due| due <= now) {
            self.sessions.expired(now).into_iter().for_each(|id| self.end_session(io, id));
        }
    }

    /// Ends sessions soon: with their last answers, or after a second.
    pub fn drain_datagrams(&mut self, now: Time) {
        self.sessions.shorten(LAST_ANSWERS, now);
    }

    /// Ends all sessions.
    pub fn end_sessions<I: DatagramIo>(&mut self, io: &mut I) {
        self.sessions.ids().into_iter().for_each(|id| self.end_session(io, id));
    }

    fn datagram_of_client<I: DatagramIo>(
        &mut self,
        io: &mut I,
        listener: ListenerId,
        peer: SocketAddr,
        datagram: Datagram,
    ) {
        let key = Key { listener, peer, server: Key::ANY };
        let Some(id) = self.session_in_order(io, &key).or_else(|| self.other_session(io, key, datagram)) else {
            return;
        };
        let now = io.now();
        let Some(session) = self.sessions.at_mut(id) else { return };
        session.asked(now);
        session.history.up_bytes += u64::from(datagram.bytes);
        io.forward(datagram, session.socket);
        let (service, server, bytes) = (session.service.id, session.place.server, datagram.bytes);
        self.core.counters.note(Happening::DatagramReceived { service, bytes });
        self.core.counters.note(Happening::ServerBytes { server, received: 0, sent: bytes.into() });
        self.sessions.used(id, now);
    }

    fn datagram_of_server<I: DatagramIo>(&mut self, io: &mut I, socket: ServerSocket, datagram: Datagram) {
        let Some(id) = self.sessions.of_socket(socket) else { return };
        let now = io.now();
        let Some(session) = self.sessions.at_mut(id) else { return };
        let answer = session.answered(now);
        session.history.answered.get_or_insert(now);
        session.history.down_bytes += u64::from(datagram.bytes);
        let is_over = session.is_over();
        match answer {
            Answer::First => self.core.pools.proved(session.place),
            Answer::Establishing | Answer::Other => self.core.pools.answered(session.place),
        }
        io.reply(datagram, session.key.listener, session.key.peer);
        let (service, server, bytes) = (session.service.id, session.place.server, datagram.bytes);
        self.core.counters.note(Happening::DatagramSent { service, bytes });
        self.core.counters.note(Happening::ServerBytes { server, received: bytes.into(), sent: 0 });
        if is_over {
            return self.end_session(io, id);
        }
        if answer == Answer::Establishing {
            self.sessions.establish(id);
        }
        self.sessions.used(id, now);
    }

    /// The server's host has refused a datagram, or cannot be reached.
    fn refused<I: DatagramIo>(&mut self, io: &mut I, socket: ServerSocket, why: Gone) {
        let Some(id) = self.sessions.of_socket(socket) else { return };
        let Some(Session { service, place, begun, .. }) = self.sessions.at(id) else { return };
        let (service, place, begun) = (service.id, *place, *begun);
        self.core.counters.note(Happening::Failed { service, cause: cause_of(why) });
        if let Some(session) = self.sessions.at_mut(id) {
            session.history.cause = Some(cause_of(why));
        }
        if why == Gone::Local {
            return;
        }
        self.core.counters.note(Happening::ServerFailed { server: place.server, reset: false });
        for idle in self.core.pools.failed(place, Failure::Broken, begun, io.now()) {
            self.retire(io, idle);
        }
        self.move_session(io, id);
    }

    fn dropped<I: DatagramIo>(&mut self, io: &I, listener: ListenerId) {
        let listener = io.bound_to(listener).and_then(|at| self.core.snapshot.listener(at));
        let Some(service) = listener.map(|listener| listener.service.id) else { return };
        self.core.counters.note(Happening::Failed { service, cause: Cause::LocalResources });
    }
}

// Sessions.
impl Proxy {
    fn session_in_order<I: DatagramIo>(&mut self, io: &mut I, key: &Key) -> Option<u32> {
        let id = self.sessions.find(key)?;
        if self.is_in_order(io, id) {
            return Some(id);
        }
        self.end_session(io, id);
        None
    }

    /// A new session, or the one of the server that the algorithm chooses for this datagram.
    fn other_session<I: DatagramIo>(&mut self, io: &mut I, key: Key, datagram: Datagram) -> Option<u32> {
        let at = io.bound_to(key.listener)?;
        let service = self.core.snapshot.listener(at)?.service.clone();
        let found = match service.udp.as_ref()?.per_datagram {
            true => self.session_of_datagram(io, key, &service),
            false => self.let_in(io, key, &service).and_then(|rule| self.begin_session(io, key, &service, rule)),
        };
        found
            .inspect_err(|cause| {
                let (service, bytes) = (service.id, datagram.bytes);
                self.core.counters.note(Happening::DatagramReceived { service, bytes });
                self.core.counters.note(Happening::Failed { service, cause: *cause });
            })
            .inspect_err(|cause| {
                self.core.record_refusal(io, Kind::Session, &service, (at.address, key.peer), *cause);
            })
            .ok()
    }

    fn session_of_datagram<I: DatagramIo>(
        &mut self,
        io: &mut I,
        key: Key,
        service: &Arc<VirtualService>,
    ) -> Result<u32, Cause> {
        let place = self.choose_place(io.now(), service, ends(io, key), &[])?;
        // The client is let in, and not each of its servers' sessions. Without a server, nothing counts for its rate.
        let is_known = self.sessions.knows(&key);
        let rule = match is_known {
            false => match self.let_in(io, key, service) {
                Ok(rule) => rule,
                Err(cause) => {
                    self.core.pools.end(place);
                    return Err(cause);
                }
            },
            true => None,
        };
        let key = Key { server: place.server, ..key };
        match self.session_in_order(io, &key) {
            Some(id) => {
                self.core.pools.end(place);
                Ok(id)
            }
            None => {
                let gate = service.gate.as_ref().filter(|_| is_known);
                let rule = rule.or_else(|| gate?.lets_in(&self.arriving(io, key)));
                self.begin_session_at(io, key, service, place, rule)
            }
        }
    }

    /// Whether the rules for connections let a session begin, and which of them does.
    fn let_in<I: DatagramIo>(
        &mut self,
        io: &I,
        key: Key,
        service: &VirtualService,
    ) -> Result<Option<DecidedBy>, Cause> {
        let Some(gate) = &service.gate else { return Ok(None) };
        let passed = admitted::pass(gate, &self.arriving(io, key), io.now(), &mut self.core.records);
        passed.map(|admitted| admitted.rule).map_err(|error| remedy(error).cause)
    }

    fn arriving<I: DatagramIo>(&self, io: &I, key: Key) -> Arriving {
        Arriving { unix_s: io.unix_s(), ..self.core.arriving(ends(io, key)) }
    }

    fn begin_session<I: DatagramIo>(
        &mut self,
        io: &mut I,
        key: Key,
        service: &Arc<VirtualService>,
        rule: Option<DecidedBy>,
    ) -> Result<u32, Cause> {
        let place = self.choose_place(io.now(), service, ends(io, key), &[])?;
        self.begin_session_at(io, key, service, place, rule)
    }

    /// Picks a server, and counts a session there.
    fn choose_place(
        &mut self,
        now: Time,
        service: &VirtualService,
        (listener, peer): (SocketAddr, SocketAddr),
        exclude: &[u32],
    ) -> Result<Place, Cause> {
        let aim = service.aim(peer, listener.port());
        let Some(pool) = aim.pool else { return self.choose_among(now, aim, peer, exclude) };
        let place = self.core.pools.pick(now, pool, balance_key(pool, None, peer, || None), exclude);
        if place.is_none() && self.core.pools.denies(now, pool, balance_key(pool, None, peer, || None), exclude) {
            return Err(Cause::NoServer);
        }
        place.map_or_else(|| self.choose_among(now, aim, peer, exclude), Ok)
    }

    /// The same in the pools of a group, or in that which takes over.
    #[cold]
    fn choose_among(&mut self, now: Time, aim: Aim<'_>, peer: SocketAddr, exclude: &[u32]) -> Result<Place, Cause> {
        let mut left = Vec::new();
        while let Some(pool) = self.core.pool_after(now, aim, peer, &left) {
            if let Some(place) = self.core.pools.pick(now, &pool, balance_key(&pool, None, peer, || None), exclude) {
                return Ok(place);
            }
            if self.core.pools.denies(now, &pool, balance_key(&pool, None, peer, || None), exclude) {
                break;
            }
            left.push(pool.id);
        }
        Err(if aim.pools().next().is_some() { Cause::NoServer } else { Cause::NoPool })
    }

    /// The server of a new session: that at `place`, or another one if that has had too many.
    fn place_for_session<I: DatagramIo>(
        &mut self,
        io: &I,
        key: Key,
        service: &VirtualService,
        mut place: Place,
    ) -> Result<Place, Cause> {
        let mut avoided = Vec::new();
        while self.core.pools.connect(place, io.now()) == Connect::IsTooMany {
            self.core.pools.end(place);
            avoided.push(place.server);
            (avoided, _) = self.core.pools.without_connection(place.pool, avoided, false, io.now());
            // Each datagram of such a client finds a server of its own.
            let other = match key.server {
                Key::ANY => self.choose_place(io.now(), service, ends(io, key), &avoided),
                _ => Err(Cause::ServerConnectionRate),
            };
            place = other.map_err(|_| Cause::ServerConnectionRate)?;
        }
        Ok(place)
    }

    fn begin_session_at<I: DatagramIo>(
        &mut self,
        io: &mut I,
        key: Key,
        service: &Arc<VirtualService>,
        place: Place,
        rule: Option<DecidedBy>,
    ) -> Result<u32, Cause> {
        // A session that is refused does not count as a connection to its server.
        self.admit(key.peer).inspect_err(|_| self.core.pools.end(place))?;
        let place = self.place_for_session(io, key, service, place)?;
        let at = self.core.pools.address_at(place, ends(io, key).0.port());
        let opened = open(io, at, service, key.peer);
        let opened = opened.inspect_err(|why| self.make_room_after(io, *why)).map_err(cause_not_opened);
        let socket = opened.inspect_err(|_| self.core.pools.end(place))?;
        self.make_room(io, Source::of(service));
        let now = io.now();
        self.core.counters.note(Happening::ClientConnected { service: service.id });
        self.core.counters.note(Happening::ServerConnected { server: place.server, nanos: 0 });
        self.core.pools.is_not_measured(place);
        let session = Session {
            key,
            listener: ends(io, key).0,
            service: service.clone(),
            place,
            socket,
            begun: now,
            active: now,
            checked: self.sessions.changes,
            unanswered: 0,
            progress: Progress::Asked,
            history: History { begun: now, servers_tried: 1, rule, ..History::default() },
        };
        Ok(self.sessions.insert(session, now))
    }

    /// Whether the clients of this address may have one session more.
    fn admit(&self, peer: SocketAddr) -> Result<(), Cause> {
        match self.sessions.of_address(peer) < self.core.limits.sessions_per_address {
            true => Ok(()),
            false => Err(Cause::ClientSessions),
        }
    }

    /// Before a session begins: ends another one if there is no place for both. Its socket is free after this batch; until
    /// then the new one has a socket of those that are kept free.
    fn make_room<I: DatagramIo>(&mut self, io: &mut I, source: Source) {
        if let Some(id) = self.sessions.in_the_way_of(source) {
            self.end_for_another(io, id);
        }
    }

    /// After a session got no socket: ends one if that has what was missing, so that the client's next datagram gets a
    /// socket.
    #[cold]
    fn make_room_after<I: DatagramIo>(&mut self, io: &mut I, why: NotOpened) {
        let least = match why {
            NotOpened::NoSocket => self.sessions.least_with_socket(),
            NotOpened::NoPort => self.sessions.least_with_port(),
            NotOpened::Gone(_) | NotOpened::ClientAddress => None,
        };
        if let Some(id) = least {
            self.end_for_another(io, id);
        }
    }

    fn end_for_another<I: DatagramIo>(&mut self, io: &mut I, id: u32) {
        let Some(session) = self.sessions.at_mut(id) else { return };
        session.history.cause = Some(Cause::EngineSessions);
        let service = session.service.id;
        self.core.counters.note(Happening::Failed { service, cause: Cause::EngineSessions });
        self.end_session(io, id);
    }

    /// Gives a session another server than the one that has refused its datagrams, if there is another. The client
    /// repeats what was lost.
    fn move_session<I: DatagramIo>(&mut self, io: &mut I, id: u32) {
        let Some(session) = self.sessions.at(id) else { return };
        let (key, service, left) = (session.key, session.service.clone(), session.place);
        let ends = (session.listener, key.peer);
        if key.server != Key::ANY {
            return self.end_session(io, id);
        }
        let now = io.now();
        let Ok(place) = self.choose_place(now, &service, ends, &[left.server]) else { return };
        let at = self.core.pools.address_at(place, ends.0.port());
        let Ok(socket) = open(io, at, &service, key.peer) else { return self.core.pools.end(place) };
        if let Some(session) = self.sessions.at_mut(id) {
            io.shut(session.socket);
            (session.place, session.begun) = (place, now);
            (session.unanswered, session.progress) = (0, Progress::Asked);
            session.history.servers_tried += 1;
        }
        self.sessions.connect(id, socket);
        self.leave(left);
        self.core.counters.note(Happening::ServerConnected { server: place.server, nanos: 0 });
    }

    pub(crate) fn end_session<I: DatagramIo>(&mut self, io: &mut I, id: u32) {
        let Some(session) = self.sessions.remove(id) else { return };
        io.shut(session.socket);
        self.leave(session.place);
        if session.service.analytics.is_some() {
            self.record_session(io, &session);
        }
        self.core.counters.note(Happening::ClientGone { service: session.service.id });
    }

    fn leave(&mut self, place: Place) {
        self.core.pools.end(place);
        self.core.queues.are_due |= !self.core.queues.are_empty();
        self.core.counters.note(Happening::ServerGone { server: place.server });
    }
}

/// The listener, and the client.
fn ends<I: DatagramIo>(io: &I, key: Key) -> (SocketAddr, SocketAddr) {
    (io.bound_to(key.listener).map_or(UNBOUND, |at| at.address), key.peer)
}

/// Opens a socket of a session of this client.
fn open<I: DatagramIo>(
    io: &mut I,
    to: SocketAddr,
    service: &VirtualService,
    client: SocketAddr,
) -> Result<ServerSocket, NotOpened> {
    let keeps_address = service.udp.as_ref().is_some_and(|udp| udp.keeps_client_address);
    io.open(to, keeps_address.then_some(client))
}

fn cause_not_opened(why: NotOpened) -> Cause {
    match why {
        NotOpened::Gone(why) => cause_of(why),
        NotOpened::ClientAddress => Cause::ClientAddress,
        NotOpened::NoSocket | NotOpened::NoPort => Cause::LocalResources,
    }
}

fn cause_of(why: Gone) -> Cause {
    match why {
        Gone::Refused => Cause::ServerRefused,
        Gone::Unreachable | Gone::Reset => Cause::ServerUnreachable,
        Gone::Local => Cause::LocalResources,
    }
}
