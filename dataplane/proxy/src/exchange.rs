//! One request's life: a server is found, the request is sent, the response is passed on. Each state is a [`Phase`];
//! whatever fails leaves through `rescue`.
//!
//! Bytes of a body are passed on as the pieces they came in. A piece that the other side cannot take yet stays in the
//! inbox of its connection, and that connection is not read.

use std::net::{IpAddr, SocketAddr};

use weir_balance::{Algorithm, HashKey};
use weir_policy::{OutgoingBody, Reply};
use weir_snapshot::{FailAction, HashInput, Pool};
use weir_telemetry::Happening;
use weir_wire::http1::{Body, Method, RequestHead, Version};

use crate::{
    buf::Buf,
    client::{Client, Next, Stage},
    io::{Close, Conn, Io},
    pool::Place,
    proxy::{Core, Proxy},
    rescue::{Error, Page, remedy},
    server::{Server, State},
};

pub(crate) struct Exchange {
    method: Method,
    version: Version,
    /// The client said that it sends nothing after it.
    last: bool,
    /// The client and we would both go on after it.
    keep_alive: bool,
    /// The client has its 100 from us.
    continued: bool,
    key: HashKey,
    /// Positions of servers that would not take it.
    tried: Vec<usize>,
    upload: Body,
    upload_bytes: u64,
    pub phase: Phase,
}

pub(crate) enum Phase {
    /// No byte has been sent to any server: another one can still be tried. `server` is being connected to, or is an
    /// idle one that gets the request at the end of the batch, if it has not said goodbye by then.
    Waiting { request: Buf, server: Option<Conn> },
    /// The request is on its way, the response has not begun.
    Sending { server: Conn },
    /// The response is on its way.
    Streaming { server: Conn, download: Download },
}

pub(crate) struct Download {
    body: Body,
    outgoing: OutgoingBody,
    client_goes_on: bool,
    server_goes_on: bool,
}

/// How far the bytes at hand brought an exchange.
enum Came {
    /// As far as they go.
    Far,
    /// To its end.
    Through,
}

impl Exchange {
    pub fn new(head: &RequestHead<'_>, keep_alive: bool, continued: bool, key: HashKey, request: Buf) -> Self {
        Self {
            method: head.method,
            version: head.version,
            last: !head.keep_alive,
            keep_alive,
            continued,
            key,
            tried: Vec::new(),
            upload: Body::new(head.body),
            upload_bytes: 0,
            phase: Phase::Waiting { request, server: None },
        }
    }

    pub fn awaits_body(&self) -> bool {
        !self.upload.is_done()
    }

    pub fn server(&self) -> Option<Conn> {
        match self.phase {
            Phase::Waiting { server, .. } => server,
            Phase::Sending { server } | Phase::Streaming { server, .. } => Some(server),
        }
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting { .. })
    }

    fn has_begun_response(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. })
    }

    fn wait_for(&mut self, conn: Option<Conn>) {
        if let Phase::Waiting { server, .. } = &mut self.phase {
            *server = conn;
        }
    }
}

/// What a pool that hashes consistently goes by.
pub(crate) fn balance_key(pool: &Pool, head: &RequestHead<'_>, peer: SocketAddr) -> HashKey {
    if pool.balance.algorithm != Algorithm::ConsistentHash {
        return HashKey::default();
    }
    let mut address = [0; 18];
    address[..16].copy_from_slice(&match peer.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    });
    address[16..].copy_from_slice(&peer.port().to_be_bytes());
    match &pool.hash_input {
        HashInput::SourceAddress => HashKey::of(&address[..16]),
        HashInput::SourceAddressAndPort => HashKey::of(&address),
        HashInput::Uri => HashKey::of(head.target),
        HashInput::Header(name) => HashKey::of(head.fields.find(name.as_bytes()).unwrap_or_default()),
    }
}

// Waiting: finding a server.
impl Proxy {
    /// Gives the exchange a server: this client's own, an idle one, or a new connection. `otherwise` is what went wrong
    /// before, and is answered when nobody else can take the request.
    pub(crate) fn choose_server<I: Io>(&mut self, io: &mut I, conn: Conn, otherwise: Error) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(pool) = client.service.pool.clone() else { return self.fail(io, conn, Error::NoPool) };
        if let Some(kept) = client.kept.take() {
            if self.take_kept(io, conn, kept, &pool) {
                return;
            }
            self.close_server(io, kept, Close::Flush);
        }
        let Some(exchange) = self.clients.find(conn).and_then(Client::exchange) else { return };
        if exchange.tried.len() >= self.core.limits.server_tries {
            return self.fail(io, conn, otherwise);
        }
        let Some(place) = self.core.pools.pick(&pool, exchange.key, &exchange.tried) else {
            return self.fail(io, conn, otherwise);
        };
        self.core.pools.begin(place);
        while let Some(idle) = self.core.pools.take_idle(place) {
            if let Some(server) = self.servers.find(idle) {
                server.state = State::Busy { client: conn };
                exchange.wait_for(Some(idle));
                self.core.starting.push(conn);
                return;
            }
        }
        let fresh = io.connect(place.address);
        exchange.wait_for(Some(fresh));
        let server = self.servers.insert(fresh, Server::new(fresh, place, pool, conn, io.now()));
        server.line.expect(io, server.pool.timeouts.connect);
    }

    fn take_kept<I: Io>(&mut self, io: &mut I, conn: Conn, kept: Conn, pool: &Pool) -> bool {
        let Some(server) = self.servers.find(kept) else { return false };
        if server.pool.uuid != pool.uuid || !self.core.pools.takes(server.place) || !server.has_life_left(io.now()) {
            return false;
        }
        let Some(exchange) = self.clients.find(conn).and_then(Client::exchange) else { return false };
        self.core.pools.begin(server.place);
        server.state = State::Busy { client: conn };
        exchange.wait_for(Some(kept));
        self.core.starting.push(conn);
        true
    }

    /// A connection that no byte of the request has been sent on is of no use. A server that could not even be
    /// connected to is not asked again for this request.
    pub(crate) fn try_another<I: Io>(&mut self, io: &mut I, conn: Conn, failed: Place, error: Error, exclude: bool) {
        if error.blames_server() && exclude {
            self.core.counters.note(Happening::ServerFailed { server: failed.server });
        }
        let Some(exchange) = self.clients.find(conn).and_then(Client::exchange) else { return };
        exchange.wait_for(None);
        if exclude {
            exchange.tried.push(failed.position);
        }
        self.choose_server(io, conn, error);
        self.proceed(io, conn);
    }
}

// Sending: the request and its body.
impl Proxy {
    /// The connection stands: the request goes out, and with it what has come of its body.
    pub(crate) fn send_request<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(exchange) = client.exchange() else { return };
        let Some(server_conn) = exchange.server().filter(|_| exchange.is_waiting()) else { return };
        // The idle connection it was to go out on may have been lost meanwhile, and another be on its way.
        let Some(server) = self.servers.find(server_conn).filter(|server| server.is_connected()) else { return };
        let waiting = std::mem::replace(&mut exchange.phase, Phase::Sending { server: server_conn });
        let Phase::Waiting { request, .. } = waiting else { return };
        server.requests += 1;
        let reused = server.requests > 1;
        self.core.counters.note(Happening::ServerRequest { server: server.place.server, reused });
        server.line.send(io, request);
        if exchange.upload.is_done() {
            client.line.expect(io, None);
            server.await_response(io);
        }
        self.proceed(io, conn);
    }

    /// Does what can be done with what a client has sent.
    pub(crate) fn proceed<I: Io>(&mut self, io: &mut I, conn: Conn) {
        while let Some(client) = self.clients.find(conn) {
            let came = match client.exchange() {
                None => self.next_request(io, conn),
                Some(exchange) if !exchange.is_waiting() && exchange.awaits_body() => match self.upload(io, conn) {
                    Ok(()) => Came::Far,
                    Err(error) => {
                        self.fail(io, conn, error);
                        Came::Through
                    }
                },
                Some(_) => {
                    // The next request waits for the end of this one, a body for a server.
                    if !client.inbox.is_empty() {
                        client.line.read(io, false);
                    }
                    Came::Far
                }
            };
            if let Came::Far = came {
                return;
            }
        }
    }

    fn next_request<I: Io>(&mut self, io: &mut I, conn: Conn) -> Came {
        let Some(client) = self.clients.find(conn) else { return Came::Far };
        match client.next_request(io, &mut self.core) {
            Next::More if client.ended => self.close_client(io, conn, Close::Flush),
            Next::More => client.await_request(io),
            Next::Exchange { answer_continue } => {
                client.line.expect(io, None);
                if answer_continue {
                    let mut interim = io.buffer();
                    interim.append(weir_wire::http1::CONTINUE);
                    client.deliver(io, &mut self.core.unflushed, interim);
                }
                self.choose_server(io, conn, Error::NoServer);
                return Came::Through;
            }
            Next::Local { status, response, keep_alive } => {
                self.answer(io, conn, status, response, keep_alive);
                return Came::Through;
            }
            Next::Refused(error) => self.fail(io, conn, error),
            Next::Unserved => self.close_client(io, conn, Close::Linger),
        }
        Came::Far
    }

    fn upload<I: Io>(&mut self, io: &mut I, conn: Conn) -> Result<(), Error> {
        let Some(client) = self.clients.find(conn) else { return Ok(()) };
        let Client { stage: Stage::Exchange(exchange), inbox, line, service, .. } = client else {
            return Ok(());
        };
        let Some(server) = exchange.server().and_then(|server| self.servers.find(server)) else { return Ok(()) };
        while exchange.awaits_body() && !server.line.is_full(io, &self.core.limits) {
            let Some(mut piece) = inbox.pop() else { break };
            let read = exchange.upload.read(&piece).map_err(Error::Request)?;
            exchange.upload_bytes += read.payload as u64;
            if service.http.max_body_bytes.is_some_and(|most| exchange.upload_bytes > most) {
                return Err(Error::BodyTooLarge);
            }
            if read.taken < piece.len() {
                let body = piece.split_to(read.taken);
                inbox.put_back(piece);
                piece = body;
            }
            server.line.send(io, piece);
        }
        if !exchange.awaits_body() {
            line.read(io, inbox.is_empty());
            line.expect(io, None);
            server.await_response(io);
        } else if server.line.is_full(io, &self.core.limits) {
            line.read(io, false);
            line.expect(io, None);
            server.await_response(io);
        } else if client.ended {
            return Err(Error::ClientAborted);
        } else {
            line.read(io, true);
            line.expect(io, service.http.timeouts.client_body);
            if !exchange.has_begun_response() {
                server.line.expect(io, None);
            }
        }
        Ok(())
    }
}

// Streaming: the response.
impl Proxy {
    /// Passes on what has come from a server, as far as the client takes it.
    pub(crate) fn download<I: Io>(&mut self, io: &mut I, server_conn: Conn) {
        let Some(State::Busy { client: conn }) = self.servers.find(server_conn).map(|server| server.state) else {
            return;
        };
        match self.pass_response(io, conn, server_conn) {
            Ok(Came::Far) => {}
            Ok(Came::Through) => self.proceed(io, conn),
            Err(error) => {
                self.fail(io, conn, error);
                self.proceed(io, conn);
            }
        }
    }

    fn pass_response<I: Io>(&mut self, io: &mut I, conn: Conn, server_conn: Conn) -> Result<Came, Error> {
        while let (Some(client), Some(server)) = (self.clients.find(conn), self.servers.find(server_conn)) {
            let Some(exchange) = client.exchange() else { break };
            match exchange.phase {
                Phase::Waiting { .. } => break,
                Phase::Sending { .. } => {
                    let uploaded = !exchange.awaits_body();
                    if !read_response_head(io, &mut self.core, client, server)? {
                        return wait_for_server(io, server, uploaded);
                    }
                }
                Phase::Streaming { ref download, .. } if download.is_done(server) => {
                    self.finish(io, conn, server_conn);
                    return Ok(Came::Through);
                }
                Phase::Streaming { .. } => {
                    if client.line.is_full(io, &self.core.limits) {
                        server.line.read(io, false);
                        server.line.expect(io, None);
                        client.watch_stall(io, &self.core);
                        return Ok(Came::Far);
                    }
                    let Some(piece) = server.inbox.pop() else { return wait_for_server(io, server, true) };
                    pass_body(io, &mut self.core, client, server, piece)?;
                }
            }
        }
        Ok(Came::Far)
    }

    /// The response is complete.
    fn finish<I: Io>(&mut self, io: &mut I, conn: Conn, server_conn: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(exchange) = client.exchange() else { return };
        let Phase::Streaming { download, .. } = &exchange.phase else { return };
        let uploaded = !exchange.awaits_body();
        let (client_goes_on, server_goes_on) = (download.client_goes_on, download.server_goes_on);
        // What a client sends behind a request that is not its last must not reset the answer.
        let farewell = if uploaded && exchange.last { Close::Flush } else { Close::Linger };
        self.release_server(io, server_conn, conn, server_goes_on && uploaded);
        self.finish_client(io, conn, client_goes_on && uploaded, farewell);
    }

    fn finish_client<I: Io>(&mut self, io: &mut I, conn: Conn, goes_on: bool, farewell: Close) {
        let Some(client) = self.clients.find(conn) else { return };
        client.report_bytes(&mut self.core);
        if goes_on {
            client.finish_request(io);
        } else {
            let how = if client.ended { Close::Flush } else { farewell };
            self.close_client(io, conn, how);
        }
    }

    /// Keeps a server's connection for another request if nothing speaks against it.
    fn release_server<I: Io>(&mut self, io: &mut I, server_conn: Conn, client: Conn, goes_on: bool) {
        let Some(server) = self.servers.find(server_conn) else { return };
        let place = server.place;
        let clean = goes_on && server.inbox.is_empty() && !server.ended && io.queued(server_conn) == 0;
        if !clean {
            // More than the response has come, or less of the request was taken than was sent.
            let how = if goes_on { Close::Abort } else { Close::Flush };
            return self.close_server(io, server_conn, how);
        }
        if self.core.draining || !server.has_life_left(io.now()) || !self.core.pools.keeps(place, &self.core.limits) {
            return self.close_server(io, server_conn, Close::Flush);
        }
        self.core.pools.end(place);
        server.line.read(io, true);
        server.line.expect(io, server.pool.timeouts.idle_connection);
        match self.clients.find(client) {
            Some(owner) if !owner.service.http.connection_multiplexing => {
                server.state = State::Kept { client };
                owner.kept = Some(server_conn);
            }
            _ => {
                server.state = State::Idle;
                self.core.pools.put_idle(place, server_conn);
            }
        }
    }
}

impl Download {
    fn is_done(&self, server: &Server) -> bool {
        self.body.is_done() || (server.ended && server.inbox.is_empty() && self.body.cut_is_end())
    }
}

/// Nothing more can be done until the server sends, which it must once it has the whole request.
fn wait_for_server<I: Io>(io: &mut I, server: &mut Server, uploaded: bool) -> Result<Came, Error> {
    if server.ended {
        return Err(Error::ServerClosed);
    }
    server.line.read(io, true);
    if uploaded {
        server.await_response(io);
    }
    Ok(Came::Far)
}

/// Takes a response head and passes it on; false when none is whole yet.
fn read_response_head<I: Io>(
    io: &mut I,
    core: &mut Core,
    client: &mut Client,
    server: &mut Server,
) -> Result<bool, Error> {
    let service = client.service.clone();
    let goes_on = !core.draining && client.is_served(core) && !(client.ended && client.inbox.is_empty());
    let Stage::Exchange(exchange) = &mut client.stage else { return Ok(false) };
    let keep_alive = exchange.keep_alive && goes_on && !exchange.awaits_body();
    let reply = Reply { version: exchange.version, keep_alive };
    let facts = &client.facts;
    let limits = &service.http.response_limits;
    let written = server.response_head(exchange.method, limits, &mut core.fields, |head| {
        let mut out = io.buffer_for(service.http.response_bytes_max(head));
        let outgoing = service.http.write_response(head, facts, reply, out.room()).map_err(|_| Error::HeadOverflow)?;
        out.filled(outgoing.head_bytes);
        let download = Download {
            body: Body::new(head.body),
            outgoing: outgoing.body,
            client_goes_on: outgoing.keep_alive,
            server_goes_on: head.keep_alive,
        };
        Ok((head.status, out, download))
    });
    let Some(written) = written.map_err(Error::Response)? else { return Ok(false) };
    let (status, out, download) = written?;
    if status < 200 && exchange.keeps_interim_from_client(status) {
        return Ok(true);
    }
    if status >= 200 {
        exchange.phase = Phase::Streaming { server: server.line.conn, download };
    }
    core.counters.note(Happening::Response { service: service.id, status, local: false });
    client.deliver(io, &mut core.unflushed, out);
    Ok(true)
}

impl Exchange {
    /// A 1xx that an HTTP/1.0 client would not understand, or that the client has had from us.
    fn keeps_interim_from_client(&self, status: u16) -> bool {
        self.version == Version::Http10 || (status == 100 && self.continued)
    }
}

fn pass_body<I: Io>(
    io: &mut I,
    core: &mut Core,
    client: &mut Client,
    server: &mut Server,
    mut piece: Buf,
) -> Result<(), Error> {
    let Some(Exchange { phase: Phase::Streaming { download, .. }, .. }) = client.exchange() else { return Ok(()) };
    let as_received = download.outgoing == OutgoingBody::AsReceived;
    let mut payload = Vec::new();
    let read = match as_received {
        true => download.body.read(&piece),
        false => download.body.read_payload(&piece, |range| payload.push(range)),
    };
    let read = read.map_err(Error::Response)?;
    for range in payload {
        let mut content = piece.share();
        content.truncate(range.end);
        content.advance(range.start);
        client.deliver(io, &mut core.unflushed, content);
    }
    if read.taken < piece.len() {
        let body = piece.split_to(read.taken);
        server.inbox.put_back(piece);
        piece = body;
    }
    if as_received {
        client.deliver(io, &mut core.unflushed, piece);
    }
    Ok(())
}

// The ends.
impl Proxy {
    /// Ends an exchange, or a client's connection, by `rescue`'s word.
    pub(crate) fn fail<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error) {
        let Some(client) = self.clients.find(conn) else { return };
        let remedy = remedy(error);
        let service = client.service.clone();
        self.core.counters.note(Happening::Failed { service: service.id, cause: remedy.cause });
        let (mut begun, mut page_goes_on, mut head_only) = (false, false, false);
        if let Some(exchange) = client.exchange() {
            begun = exchange.has_begun_response();
            page_goes_on = exchange.keep_alive && !exchange.awaits_body() && error.leaves_client_readable();
            head_only = exchange.method == Method::Head;
            if let Some(server_conn) = exchange.server() {
                self.blame(server_conn, error);
                self.close_server(io, server_conn, Close::Abort);
            }
        }
        let hangs_up = error == Error::NoServer
            && service.pool.as_ref().is_some_and(|pool| pool.fail_action == FailAction::CloseConnection);
        match remedy.page {
            Some(status) if !begun && !hangs_up => {
                let page = Page { status, head_only, keep_alive: page_goes_on && !self.core.draining };
                self.answer_with_page(io, conn, page);
            }
            _ if hangs_up => self.close_client(io, conn, Close::Linger),
            _ => self.close_client(io, conn, remedy.close),
        }
    }

    fn blame(&mut self, server_conn: Conn, error: Error) {
        if let Some(server) = self.servers.find(server_conn).filter(|_| error.blames_server()) {
            self.core.counters.note(Happening::ServerFailed { server: server.place.server });
        }
    }

    fn answer_with_page<I: Io>(&mut self, io: &mut I, conn: Conn, page: Page) {
        let Some(client) = self.clients.find(conn) else { return };
        match page.write(io, &client.service.http, &client.facts) {
            Ok(response) => self.answer(io, conn, page.status, response, page.keep_alive),
            Err(_) => self.close_client(io, conn, Close::Abort),
        }
    }

    /// Answers the request here.
    fn answer<I: Io>(&mut self, io: &mut I, conn: Conn, status: u16, response: Buf, keep_alive: bool) {
        let Some(client) = self.clients.find(conn) else { return };
        self.core.counters.note(Happening::Response { service: client.service.id, status, local: true });
        client.deliver(io, &mut self.core.unflushed, response);
        self.finish_client(io, conn, keep_alive, Close::Linger);
    }
}
