//! Connections to servers that carry streams: which one carries a request, and how they begin.

use weir_snapshot::STREAMS_MAX;
use weir_telemetry::Happening;
use weir_wire::http2::Code;

use crate::{
    error::Error,
    exchange::{Wait, table::ExchangeId},
    io::{Close, Conn, Io},
    pool::{Idle, Place},
    proxy::Proxy,
    server::{
        Server, State, Work,
        back::{Back, Stage},
    },
    sessions::Sessions,
};

/// What the connections to a server offer a request.
#[derive(Default)]
struct Offers {
    /// Has much room, and takes streams now.
    good: Option<Conn>,
    /// Has some room, and takes streams now.
    tight: Option<Conn>,
    /// Has room, and will take streams soon.
    coming: Option<Conn>,
    is_one_coming: bool,
    /// Carries nothing, and is for other requests.
    unused: Option<Conn>,
}

// Choice.
impl Proxy {
    /// Gives the exchange a stream on a connection to the server at `place`, or at another one if that has no room.
    #[inline(never)]
    pub(crate) fn find_stream<I: Io>(
        &mut self,
        io: &mut I,
        id: ExchangeId,
        place: Place,
        otherwise: Error,
    ) -> Result<(), Error> {
        match self.find_stream_in_pool(io, id, place)? {
            true => Ok(()),
            false => {
                let otherwise = self.without_stream(io.now(), id, otherwise);
                self.find_elsewhere(io, id, otherwise)
            }
        }
    }

    /// False: no server of its pool has room.
    pub(crate) fn find_stream_in_pool<I: Io>(
        &mut self,
        io: &mut I,
        id: ExchangeId,
        mut place: Place,
    ) -> Result<bool, Error> {
        let needs_http1 = self.exchanges.live(id)?.needs_http1();
        let mut avoided = self.exchanges.live(id)?.tried.clone();
        loop {
            let Some(carriers) = self.core.pools.carriers(place) else {
                return self.find_without_http2(io, id, place).map(|()| true);
            };
            if carriers.declines || needs_http1 {
                if self.has_room(io, place) {
                    self.find_connection(io, id, place)?;
                    return self.keep_to_http1(id, needs_http1).map(|()| true);
                }
            } else if let Some(carrier) = self.find_carrier(io, id, place)? {
                return self.open_stream_on(io, id, place, carrier).map(|()| true);
            }
            self.core.pools.end(place);
            avoided.push(place.server);
            let exchange = self.exchanges.live(id)?;
            let pool = exchange.pool().ok_or(Error::NoPool)?;
            let Some(next) = self.core.pools.pick(io.now(), pool, exchange.key, &avoided) else {
                return Ok(false);
            };
            place = next;
        }
    }

    /// The pool has changed since the request came: its servers do not speak HTTP/2 any more.
    #[cold]
    fn find_without_http2<I: Io>(&mut self, io: &mut I, id: ExchangeId, place: Place) -> Result<(), Error> {
        let before = self.exchanges.live(id)?.pool().ok_or(Error::NoPool)?;
        let Some(pool) = self.core.snapshot.pool(&before.uuid).cloned() else {
            self.core.pools.end(place);
            return Err(Error::NoPool);
        };
        match pool.connect_rate {
            Some(_) => self.connect_within_rate(io, id, place, &pool),
            None => self.connect_for(io, id, place, pool),
        }
    }

    /// The connection to a server that the connection of a stream has for its streams alone.
    pub(super) fn own_carrier(&mut self, id: ExchangeId) -> Result<Option<Conn>, Error> {
        let exchange = self.exchanges.live(id)?;
        let stream = exchange.client;
        if exchange.needs_http1() {
            return Ok(None);
        }
        let carrier = self.clients.live(stream)?.connection.carrier();
        let carrier = carrier.and_then(|carrier| self.clients.find(carrier)?.carrier());
        Ok(carrier.and_then(|carrier| carrier.own.last().copied()))
    }

    /// A connection with room for one more stream. `None`: there is none, and none may open.
    fn find_carrier<I: Io>(&mut self, io: &mut I, id: ExchangeId, place: Place) -> Result<Option<Conn>, Error> {
        let offers = self.offers(io, id, place)?;
        if offers.good.is_some() || offers.is_one_coming && offers.tight.or(offers.coming).is_some() {
            return Ok(offers.good.or(offers.tight).or(offers.coming));
        }
        let carriers = self.core.pools.carriers(place).map_or(0, |carriers| carriers.conns.len());
        let may_connect = self.core.may_connect(&self.servers, place);
        let mut dismissed = None;
        if carriers >= self.core.limits.idle_connections || !may_connect {
            match offers.unused {
                Some(unused) => dismissed = Some(unused),
                None if offers.tight.is_some() || offers.coming.is_some() => {
                    return Ok(offers.tight.or(offers.coming));
                }
                None if !may_connect => return Ok(None),
                None => {}
            }
        }
        if !self.may_connect_for(io.now(), id, place)? {
            return Ok(offers.tight.or(offers.coming));
        }
        if let Some(unused) = dismissed {
            self.dismiss_carrier(io, unused, Code::NoError);
        }
        let fresh = self.open_carrier(io, id, place)?;
        Ok(Some(offers.tight.unwrap_or(fresh)))
    }

    fn offers<I: Io>(&mut self, io: &I, id: ExchangeId, place: Place) -> Result<Offers, Error> {
        let sole = self.sole_client(id)?;
        let Self { exchanges, servers, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let mut offers = Offers::default();
        let Some(carriers) = core.pools.carriers(place) else { return Ok(offers) };
        for &conn in &carriers.conns {
            let Some(server) = servers.find(conn) else { continue };
            let (has_life_left, fits) = (server.has_life_left(io.now()), server.reach == exchange.reach);
            let Some(back) = &mut server.back else { continue };
            let suits = fits && back.sole == sole && has_life_left;
            if back.is_unused() && !suits {
                offers.unused = Some(conn);
            }
            if !suits || back.is_retired {
                continue;
            }
            match back.stage {
                Stage::Ready if !back.is_nearly_full() => {
                    offers.good = Some(conn);
                    return Ok(offers);
                }
                Stage::Ready if back.has_room() => offers.tight = offers.tight.or(Some(conn)),
                Stage::New | Stage::Asked => {
                    offers.is_one_coming |= !back.is_nearly_full();
                    if back.has_room() {
                        offers.coming = offers.coming.or(Some(conn));
                    }
                }
                Stage::Ready => {}
            }
        }
        Ok(offers)
    }

    /// The client's connection that a connection to a server is for, where connections are not shared, or the request
    /// authenticates its connection.
    pub(super) fn sole_client(&mut self, id: ExchangeId) -> Result<Option<Conn>, Error> {
        let exchange = self.exchanges.live(id)?;
        if exchange.http()?.connection_multiplexing && !exchange.binds_connection {
            return Ok(None);
        }
        let client = self.clients.live(exchange.client)?;
        let own = client.connection.conn();
        Ok(Some(client.connection.stream().map_or(own, |stream| stream.carrier)))
    }

    /// Begins a connection that will carry streams.
    fn open_carrier<I: Io>(&mut self, io: &mut I, id: ExchangeId, place: Place) -> Result<Conn, Error> {
        let sole = self.sole_client(id)?;
        let exchange = self.exchanges.live(id)?;
        let pool = exchange.pool().cloned().ok_or(Error::NoPool)?;
        // It will carry other requests, too, and this one may be older than the configuration.
        let pool = self.core.pools.naming(place, &pool).filter(|newest| newest.http2.is_some()).unwrap_or(pool);
        let http2 = pool.http2.ok_or(Error::Defect)?;
        let (at, reach) = match &exchange.reach {
            None => (place.address, None),
            Some(reach) => (reach.address(place.address), Some(reach.clone())),
        };
        let fresh = io.connect(at);
        let mut server = Server::new(fresh, place, pool, Work::Streams, io.now());
        server.reach = reach;
        if let Some(carriers) = self.core.pools.carriers(place) {
            server.back = Some(Box::new(Back::new(&http2, sole, carriers.streams_max(), io.now())));
            carriers.conns.push(fresh);
        }
        self.await_connect(io, server);
        self.note_own(sole, fresh);
        Ok(fresh)
    }

    /// A connection will carry streams for one connection of a client only, and ends with that.
    fn note_own(&mut self, sole: Option<Conn>, conn: Conn) {
        let client = sole.and_then(|sole| self.clients.find(sole));
        if let Some(carrier) = client.and_then(|client| client.carrier()) {
            carrier.own.insert(0, conn);
        }
    }

    /// Gives the exchange a stream of its own. The request is sent at the end of the batch, or when the connection can
    /// carry it.
    pub(crate) fn open_stream_on<I: Io>(
        &mut self,
        io: &mut I,
        id: ExchangeId,
        place: Place,
        carrier: Conn,
    ) -> Result<(), Error> {
        let stream = self.servers.next_stream();
        let Self { exchanges, clients, servers, core, .. } = self;
        let exchange = exchanges.live(id)?;
        let Ok(found) = servers.live(carrier) else { return Err(Error::Defect) };
        let asks = found.ask_after_silence(io);
        if asks {
            found.connection.line.expect(io, Some(core.limits.connect_patience));
        }
        let (pool, naming) = (found.pool.clone(), found.naming.clone());
        let back = found.back.as_mut().ok_or(Error::Defect)?;
        if asks {
            back.carrier.list(carrier, &mut core.carriers);
        }
        back.load += 1;
        if let Some(client) = back.sole.and_then(|sole| clients.find(sole)) {
            match client.carrier() {
                Some(found) => found.keep_own(carrier),
                None => client.reserved.set(carrier),
            }
        }
        let mut server = Server::stream(stream, carrier, place, pool, Work::Exchange(id), io.now());
        server.naming = naming;
        exchange.wait_for(Wait::Server(stream));
        if back.stage == Stage::Ready {
            server.state = State::Busy(Work::Exchange(id));
            core.starting.push(id);
        } else {
            back.waiting.push(stream);
        }
        servers.insert(stream, server);
        Ok(())
    }
}

/// Opens the stream of a request that is about to be sent. False: its connection takes no more streams.
#[inline(never)]
pub(crate) fn open_to_server(servers: &mut Sessions<Server>, conn: Conn) -> bool {
    let Some(carrier) = servers.find(conn).filter(|server| server.is_busy()).and_then(|s| s.connection.carrier())
    else {
        return true;
    };
    let Some(found) = servers.find(carrier) else { return false };
    let Some(back) = found.back.as_mut().filter(|back| back.stage == Stage::Ready && back.last.is_none()) else {
        return false;
    };
    let Some(id) = back.carrier.connection.open() else {
        back.is_retired = true;
        return false;
    };
    if let Some(outbox) = back.carrier.connection.kept(id) {
        outbox.owner = Some(conn);
    }
    let (requests, rtt_nanos) = (found.requests, found.rtt_nanos);
    let (local, connect_us) = (found.local, found.connect_us);
    found.requests += 1;
    if let Some(server) = servers.find(conn) {
        (server.requests, server.rtt_nanos) = (requests, rtt_nanos);
        (server.local, server.connect_us) = (local, connect_us);
        if let Some(stream) = server.connection.stream() {
            stream.id = id;
        }
    }
    true
}

// Beginnings.
impl Proxy {
    /// A connection that was to carry streams is established.
    pub(crate) fn carrier_connected<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        if !server.speaks_http2() {
            return self.carrier_declined(io, conn);
        }
        // The server has as long to tell its settings as the connect may take.
        let patience = server.pool.timeouts.connect.unwrap_or(self.core.limits.handshake);
        server.connection.line.expect(io, Some(patience));
        if let Some(back) = &mut server.back {
            back.carrier.list(conn, &mut self.core.carriers);
        }
        if !server.connection.inbox.is_empty() {
            self.take_server_frames(io, conn);
        }
    }

    /// The server has chosen HTTP/1.1: its connection is kept for one request at a time, as those of other pools.
    fn carrier_declined<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        let place = server.place;
        let Some(back) = server.back.take() else { return };
        self.unreserve(back.sole, conn);
        let Ok(server) = self.servers.live(conn) else { return };
        server.state = State::Idle;
        server.connection.line.expect(io, server.pool.timeouts.idle_connection);
        let passing = server.reach.is_some();
        if let Some(carriers) = self.core.pools.carriers(place) {
            carriers.declines = true;
        }
        self.core.pools.forget_carrier(place, conn);
        match back.sole.is_none() && self.servers.find(conn).is_some_and(|server| server.connection.inbox.is_empty()) {
            true => {
                if let Some(spared) = self.core.pools.put_idle(place, Idle { conn, passing }, &self.core.limits) {
                    self.close_server(io, spared, Close::Flush);
                }
            }
            false => self.close_server(io, conn, Close::Flush),
        }
        self.send_elsewhere(io, back.waiting);
    }

    /// A connection for one request has turned out to carry streams.
    pub(crate) fn becomes_carrier<I: Io>(&mut self, io: &mut I, conn: Conn, id: ExchangeId) {
        let sole = self.sole_client(id).unwrap_or_default();
        let Ok(server) = self.servers.live(conn) else { return };
        let (place, Some(http2)) = (server.place, server.pool.http2) else { return };
        server.state = State::Busy(Work::Streams);
        server.back = Some(Box::new(Back::new(&http2, sole, STREAMS_MAX, io.now())));
        // It counts as a request no more.
        self.core.pools.end(place);
        if let Some(carriers) = self.core.pools.carriers(place) {
            carriers.declines = false;
            carriers.conns.push(conn);
        }
        self.note_own(sole, conn);
        self.carrier_connected(io, conn);
        self.try_another(io, Work::Exchange(id), Error::ServerClosed);
    }

    /// The server has told its settings, or that it still stands: streams that waited for that open.
    pub(crate) fn carrier_ready<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        let place = server.place;
        let Some(back) = &mut server.back else { return };
        if std::mem::replace(&mut back.stage, Stage::Ready) == Stage::New {
            server.unproven = false;
            self.core.pools.proved(place);
            self.core.pools.learn_streams(place, back.streams_max());
            self.core.counters.note(Happening::ServerHttp2 { server: place.server });
        }
        let mut waiting = std::mem::take(&mut back.waiting);
        // A server that allows none must count as tried.
        let beyond = waiting.split_off(waiting.len().min(back.streams_max().max(1) as usize));
        server.connection.line.expect(io, server.pool.timeouts.idle_connection);
        for stream in waiting {
            if let Some(server) = self.servers.find(stream)
                && let State::Connecting(work @ Work::Exchange(id)) = server.state
            {
                server.state = State::Busy(work);
                self.core.starting.push(id);
            }
        }
        self.send_elsewhere(io, beyond);
    }
}

// Input, and room for output.
impl Proxy {
    /// Takes what has come. `unasked`: the error of a server that has ended before the connection was established.
    pub(crate) fn carrier_spoke<I: Io>(&mut self, io: &mut I, conn: Conn, unasked: Error) {
        match self.servers.find(conn).is_some_and(|server| server.is_busy()) {
            true => self.take_server_frames(io, conn),
            false => self.carrier_lost(io, conn, unasked, Close::Abort),
        }
    }

    /// Everything has been sent.
    pub(crate) fn server_carrier_drained<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(carrier) = self.servers.find(conn).and_then(|server| server.carrier()) {
            carrier.list(conn, &mut self.core.carriers);
        }
        self.take_server_frames(io, conn);
    }
}
