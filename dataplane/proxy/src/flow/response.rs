//! Passes a response to its client: edits the head, passes on the body in the pieces that it arrived in, and keeps or
//! closes both connections at the end.
//!
//! Pieces that the client cannot take yet stay in the server's inbox, and the server is not read. Bytes after the end
//! of a response belong to no request: they are dropped, and the server's connection is closed.

use weir_balance::Shown;
use weir_coding::Coded;
use weir_policy::{Besides, ClientFacts, HttpProfile, Reply};
use weir_rules::Edits;
use weir_script::Seen;
use weir_telemetry::Happening;
use weir_wire::{
    head::{HeadSink, ResponseHead, SWITCHING_PROTOCOLS, Version},
    http1::{Framing, Outgoing, Response, keep_alive_line, told_timeout_s},
};

use crate::{
    buf::Buf,
    cache::{object::Object, stored::Cache},
    client::{Client, answer::Answer},
    error::Error,
    exchange::{
        Delivery, Exchange, Outcome, Phase,
        bond::Bond,
        coded::Coder,
        incoming::{Form, Incoming, Part, last_chunk},
        table::ExchangeId,
    },
    flow::{
        coding::{self, Treatment},
        excluded,
        judging::{judge, judge_whole},
        reselect::is_withheld,
        storing::{self, Stored},
    },
    head::{self, Target},
    io::{After, Close, Conn, Io},
    pool::{Idle, Pools},
    proxy::{Parties, Proxy},
    records::{Noted, Recorder},
    scripting::{Halt, Replaced, Responded, Scripting},
    server::{Life, Server, State},
};

// Input of servers.
impl Proxy {
    /// Passes on what has arrived of the response, as far as the client takes it.
    /// `conn` is the connection that names the exchange.
    pub(crate) fn respond<I: Io>(&mut self, io: &mut I, conn: Conn, id: ExchangeId) {
        let Ok((client, is_served)) = self.exchanges.live(id).map(|exchange| (exchange.client, exchange.is_served()))
        else {
            return self.abandon(io, conn);
        };
        if is_served {
            self.serve_on(io, id);
            return self.proceed(io, client);
        }
        match self.pass_response(io, id) {
            Ok(Outcome::NeedsMore) => {}
            Ok(Outcome::Advanced) => self.proceed(io, client),
            Ok(Outcome::Withheld) => self.withheld(io, id),
            Err(error) => {
                if !self.repeat(io, id, error) {
                    self.fail_exchange(io, id, error);
                    self.proceed(io, client);
                }
            }
        }
    }

    /// Inline: each response comes here, and from one place.
    #[inline(always)]
    fn pass_response<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<Outcome, Error> {
        let mut parties = self.parties(id)?;
        loop {
            let Parties { exchange, client, server, core } = &mut parties;
            let client_is_full = server.lets_wait() && client.connection.line.is_full(io, &core.room);
            match &mut exchange.phase {
                Phase::Waiting { .. } | Phase::Serving { .. } => return Ok(Outcome::NeedsMore),
                Phase::Streaming { delivery, .. } if is_over(delivery, server) => break,
                _ if client_is_full => {
                    server.connection.line.read(io, false);
                    server.connection.line.expect(io, None);
                    client.watch_stall(io, core);
                    return Ok(Outcome::NeedsMore);
                }
                Phase::Sending { .. } => {
                    let uploaded = !exchange.awaits_body();
                    match parties.pass_head(io)? {
                        Passed::Nothing => return wait_for_server(io, parties.server, uploaded),
                        Passed::Head => {}
                        Passed::Withheld => return Ok(Outcome::Withheld),
                        Passed::Switch => {
                            self.begin_websocket(io, id);
                            return Ok(Outcome::Advanced);
                        }
                    }
                }
                Phase::Streaming { delivery: Delivery { form: Form::Coded { .. }, .. }, .. } => {
                    match parties.pass_coded(io, id)? {
                        coding::Passed::Some => {}
                        coding::Passed::None => return wait_for_server(io, parties.server, true),
                        coding::Passed::Enough => return Ok(Outcome::NeedsMore),
                    }
                }
                Phase::Streaming { delivery, .. } => {
                    let http = exchange.service.http().ok_or(Error::Defect)?;
                    let (from, to) = (&mut server.connection, &mut client.connection);
                    let pass = |io: &mut I, part| match part {
                        Part::Bytes(piece) => to.deliver(io, &mut core.unflushed, piece),
                        Part::Trailers(lines) => to.deliver_trailers(io, &mut core.unflushed, &lines),
                    };
                    if !delivery.body.read(io, &mut from.inbox, http, delivery.form, pass)? {
                        let is_long = delivery.relayable_bytes() >= core.limits.relay_bytes;
                        if is_long && to.is_plain() && from.is_plain() {
                            core.relayable.push(id);
                        }
                        if delivery.form == Form::Chunks && from.is_exhausted() && from.has_ended_for_good() {
                            delivery.body.end();
                            let last = last_chunk(io, b"");
                            to.deliver(io, &mut core.unflushed, last);
                            continue;
                        }
                        return wait_for_server(io, server, true);
                    }
                }
            }
        }
        if matches!(&parties.exchange.phase, Phase::Streaming { delivery, .. } if delivery.is_coded())
            && !parties.finish_coded(io, id)?
        {
            return Ok(Outcome::NeedsMore);
        }
        let conn = parties.exchange.client;
        let spans = parties.exchange.stamps.spans(io.now(), parties.server.rtt_nanos);
        let (service, server) = (parties.exchange.service.id, parties.server.place.server);
        parties.core.counters.note(Happening::Exchanged { service, server, spans });
        parties.client.note_round_trip(io, parties.core);
        parties.note_end(io, spans);
        let (ended, client_goes_on) = parties.finish(io)?;
        if let Some((server, how)) = ended {
            self.close_server(io, server, how);
        }
        self.finish_client(io, conn, client_goes_on);
        Ok(Outcome::Advanced)
    }

    /// The client gets another response than the one that came.
    #[cold]
    pub(crate) fn withheld<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        // The exchange may be over when the client has heard.
        let now = io.now();
        let asked = self.parties(id).ok().map(|parties| (parties.server.place, parties.exchange.stamps.waited(now)));
        match (self.hear_of_stored(io, id), asked) {
            (true, Some((at, waited))) => _ = self.core.pools.judge(at, Shown::Good, waited, now),
            (true, None) => {}
            (false, _) => self.reselect(io, id),
        }
    }

    /// Lets the driver relay the rest of a body. Call this at the end of a batch, when no more `Data` of it is pending
    /// and the number of missing bytes is exact: one byte more could belong to another client.
    pub(crate) fn relay<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        // The exchange may be over.
        let Some(exchange) = self.exchanges.find(id) else { return };
        let Phase::Streaming { server, delivery } = &exchange.phase else { return };
        let (from, to, bytes) = (*server, exchange.client, delivery.relayable_bytes());
        let after = if delivery.client_goes_on { After::GoOn } else { After::Close };
        let nothing_waits = self.servers.peek(from).is_some_and(|server| server.connection.inbox.is_empty());
        if nothing_waits && bytes > 0 {
            io.relay(from, to, bytes, after);
        }
    }

    /// Counts bytes of a body that the driver has relayed. While some wait for the client, the client's deadline
    /// applies, otherwise the server's.
    pub(crate) fn response_relayed<I: Io>(&mut self, io: &mut I, conn: Conn, id: ExchangeId, bytes: u64) {
        let Ok(Parties { exchange, client, server, core }) = self.parties(id) else { return };
        client.connection.line.relayed(bytes);
        server.relayed(bytes);
        let Phase::Streaming { delivery, .. } = &mut exchange.phase else { return };
        delivery.body.pass(bytes);
        if client.connection.line.queued(io) > 0 {
            server.connection.line.expect(io, None);
            client.watch_stall(io, core);
        } else {
            client.await_answer(io, exchange);
            self.respond(io, conn, id);
        }
    }
}

// The end of a response.
impl Proxy {
    /// Ends a request that has been answered.
    pub(super) fn finish_client<I: Io>(&mut self, io: &mut I, conn: Conn, goes_on: bool) {
        let Ok(mut client) = self.clients.live(conn) else { return };
        client.report_bytes(&mut self.core);
        if client.noted.is_something() {
            let noted = std::mem::replace(&mut client.noted, Noted::NOTHING);
            self.record_request(io, conn, noted);
            let Ok(again) = self.clients.live(conn) else { return };
            client = again;
        }
        let id = client.exchange();
        if goes_on && client.is_served(&self.core) {
            client.finish_request(io);
            if let Some(id) = id {
                self.exchanges.remove(id);
            }
        } else {
            let exchange = id.and_then(|id| self.exchanges.peek(id));
            let how = client.farewell(exchange.is_some_and(Exchange::has_all));
            self.close_client(io, conn, how);
        }
    }

    /// Answers with a response of Weir itself.
    pub(crate) fn answer<I: Io>(&mut self, io: &mut I, conn: Conn, answer: Answer) {
        let Answer { status, cause, head, content, grpc_status, keep_alive } = answer;
        let Ok(client) = self.clients.live(conn) else { return };
        self.core.counters.note(Happening::Response { service: client.service.id, status, local: true });
        if status >= 400 {
            excluded::count(&mut self.core.counters, &client.service, status, cause);
            if let Some(exchange) = client.exchange().and_then(|id| self.exchanges.find(id)) {
                exchange.has_failed(io.now());
            }
        }
        if client.service.analytics.is_some() {
            let bytes = head.len() + content.as_ref().map_or(0, |content| content.len());
            self.note_answer(io, conn, status, bytes);
            self.note_grpc_status(conn, grpc_status);
        }
        let Ok(client) = self.clients.live(conn) else { return };
        client.connection.deliver_head(io, &mut self.core.unflushed, head, true);
        if let Some(content) = content {
            client.connection.deliver(io, &mut self.core.unflushed, content);
        }
        client.note_round_trip(io, &mut self.core);
        self.finish_client(io, conn, keep_alive);
    }
}

impl Parties<'_> {
    /// Ends a complete response. Returns the server connection to close, if any, and whether the client's connection
    /// goes on.
    fn finish<I: Io>(&mut self, io: &mut I) -> Result<(Option<(Conn, Close)>, bool), Error> {
        let Phase::Streaming { delivery, .. } = &self.exchange.phase else { return Err(Error::Defect) };
        let uploaded = !self.exchange.awaits_body();
        let client_goes_on = delivery.client_goes_on && uploaded;
        let server_goes_on = delivery.server_goes_on && uploaded;
        self.core.pools.sent(self.server.place, delivery.body.content_bytes, io.now());
        if self.core.pools.heeds_good(self.server.place) && self.client.call().is_none() {
            judge_whole(self.exchange, &mut self.core.pools, self.server.place, io.now());
        }
        Ok((self.release_server(io, server_goes_on)?, client_goes_on))
    }

    /// Keeps a server's connection for another request if possible. Returns a connection that must be closed instead:
    /// this one, or an idle one for which it has no room.
    pub(super) fn release_server<I: Io>(&mut self, io: &mut I, goes_on: bool) -> Result<Option<(Conn, Close)>, Error> {
        let Parties { exchange, client, server, core } = self;
        server.report_bytes(core);
        let (place, conn, connection) = (server.place, server.connection.conn(), &server.connection);
        let over = connection.line.ended || server.life != Life::Whole;
        let clean = goes_on && connection.inbox.is_empty() && !over && !connection.has_unsent(io);
        if !clean {
            // The server sent more than the response, or took less than the whole request.
            return Ok(Some((conn, if goes_on { Close::Abort } else { Close::Flush })));
        }
        if core.draining || !server.has_life_left(io.now()) || !core.pools.gives_back(place, &server.pool) {
            return Ok(Some((conn, Close::Flush)));
        }
        let is_shared = !server.binds && exchange.http()?.connection_multiplexing;
        server.connection.line.read(io, true);
        server.connection.line.expect(io, server.pool.timeouts.idle_connection);
        if !is_shared {
            server.state = State::Reserved { client: exchange.client };
            client.reserved.set(conn);
            return Ok(None);
        }
        server.state = State::Idle;
        let idle = Idle { conn, passing: server.reach.is_some() && server.requests == 1 };
        Ok(core.pools.put_idle(place, idle, &core.limits).map(|spared| (spared, Close::Flush)))
    }

    /// Passes a response head on.
    fn pass_head<I: Io>(&mut self, io: &mut I) -> Result<Passed, Error> {
        let Parties { exchange, client, server, core } = self;
        let goes_on = client.may_stay(core) && !client.connection.is_exhausted();
        let (mut seen, mut replaced) = (exchange.take_seen(), None);
        let is_scripted = seen.is_some();
        let cookie = (server.place.server, core.date.unix_s(), &mut core.cookie_line);
        let context = Context::of(exchange, client, cookie, goes_on, (core.date.line(), &core.coders, &core.cache))?;
        let (limits, place, binds) = (&context.http.response_limits, server.place, server.binds);
        let may_switch = context.may_switch;
        let written = server.response_head(exchange.method, may_switch, limits, &mut core.fields, |received| {
            let head = &received.head;
            core.counters.note(Happening::ServerResponse { server: place.server, status: head.status });
            if client.noted.is_something() {
                core.records.note_head(client.noted, &exchange.service, head, received.len);
            }
            if head.status >= 400 {
                excluded::count_of_server(&mut core.counters, exchange.pool(), place.server, head.status);
                if !(binds || context.http.binds_connection_by(head))
                    && is_withheld(exchange, (&mut core.pools, &core.counters), (place, head.status), io.now())
                {
                    return Ok(None);
                }
            }
            let asked = (&mut core.scripts, &mut core.pools, Some(place.server));
            let edits = context.run_scripts(io, asked, &mut seen, head, &mut replaced)?;
            context.translate(io, received, Incoming::of_server(received.framing), edits, &mut core.records)
        });
        if is_scripted {
            self.follow_scripts(io, seen, replaced);
        }
        let Some(written) = written.map_err(Error::Response)? else { return Ok(Passed::Nothing) };
        if is_scripted && matches!(&written, Ok(Some(written)) if written.collect > 0) {
            return self.collect_response(io, written?);
        }
        self.pass_written(io, written?)
    }

    /// The same for the head of a response that has come on a stream.
    #[inline(never)]
    pub fn pass_stream_head<I: Io>(
        &mut self,
        io: &mut I,
        received: &Response<'_>,
        body: Incoming,
    ) -> Result<Passed, Error> {
        let Parties { exchange, client, server, core } = self;
        // No window limits how many interim heads come.
        if received.head.status < 200 && client.connection.line.queued(io) >= core.limits.queued_bytes {
            return Err(Error::Response(weir_wire::Error::HeadTooLarge));
        }
        let goes_on = client.may_stay(core) && !client.connection.is_exhausted();
        let (mut seen, mut replaced) = (exchange.take_seen(), None);
        let is_scripted = seen.is_some();
        let cookie = (server.place.server, core.date.unix_s(), &mut core.cookie_line);
        let context = Context::of(exchange, client, cookie, goes_on, (core.date.line(), &core.coders, &core.cache))?;
        let is_all = body.has_all_come();
        let (status, binds) = (received.head.status, server.binds || context.http.binds_connection_by(&received.head));
        core.counters.note(Happening::ServerResponse { server: server.place.server, status });
        if status >= 400 {
            excluded::count_of_server(&mut core.counters, exchange.pool(), server.place.server, status);
        }
        if client.noted.is_something() {
            core.records.note_head(client.noted, &exchange.service, &received.head, received.len);
            if client.call().is_some() {
                core.records.note_call(client.noted, &exchange.service, &received.head.fields);
            }
        }
        let may_withhold = status >= 400 && !binds;
        let asked = (&mut core.pools, &core.counters);
        let written = match may_withhold && is_withheld(exchange, asked, (server.place, status), io.now()) {
            true => Ok(None),
            false => {
                let asked = (&mut core.scripts, &mut core.pools, Some(server.place.server));
                let edits = context.run_scripts(io, asked, &mut seen, &received.head, &mut replaced);
                edits.and_then(|edits| context.translate(io, received, body, edits, &mut core.records))
            }
        };
        let is_call = client.call().is_some();
        if is_scripted {
            self.follow_scripts(io, seen, replaced);
        }
        if is_call {
            self.judge_answer(io, &received.head, is_all);
        }
        if is_scripted && matches!(&written, Ok(Some(written)) if written.collect > 0) {
            return self.collect_response(io, written?);
        }
        self.pass_written(io, written?)
    }

    /// Keeps what scripts for a response have left. A response that they have replaced shows what it shows about its server.
    #[cold]
    #[inline(never)]
    fn follow_scripts<I: Io>(&mut self, io: &I, seen: Option<Box<Seen>>, replaced: Option<Replaced>) {
        let Parties { exchange, client, server, core } = self;
        let ending = replaced.and_then(|Replaced { status, ending }| {
            hear(&mut core.pools, server);
            judge(exchange, &mut core.pools, client.call().is_some(), (server.place, status), io.now());
            ending
        });
        core.follow_scripts(exchange, client.noted, seen, ending);
    }

    /// `None`: the response is withheld.
    #[inline(always)]
    fn pass_written<I: Io>(&mut self, io: &mut I, written: Option<Written>) -> Result<Passed, Error> {
        let Parties { exchange, client, server, core } = self;
        hear(&mut core.pools, server);
        let Some(Written { status, out, delivery, binds, .. }) = written else { return Ok(Passed::Withheld) };
        server.binds |= binds;
        if status >= 200 {
            server.rtt_nanos = server.rtt_nanos.min(exchange.stamps.answered(io.now()));
            core.pools.timed(server.place, exchange.stamps.waited(io.now()), io.now());
            exchange.phase = Phase::Streaming { server: server.connection.conn(), delivery };
        } else {
            exchange.forget_repeatable();
            if exchange.keeps_interim_from_client(status) {
                return Ok(Passed::Head);
            }
        }
        core.counters.note(Happening::Response { service: exchange.service.id, status, local: false });
        if status >= 400 {
            excluded::count(&mut core.counters, &exchange.service, status, None);
            exchange.has_failed(io.now());
            leave_behind_error(exchange, server);
            judge(exchange, &mut core.pools, client.call().is_some(), (server.place, status), io.now());
        } else if core.pools.heeds_good(server.place) {
            judge(exchange, &mut core.pools, client.call().is_some(), (server.place, status), io.now());
        }
        let switches = status == SWITCHING_PROTOCOLS;
        if client.noted.is_something() && (status >= 200 || switches) {
            core.records.note_response(&mut client.noted, &exchange.service, status, out.len());
        }
        client.connection.deliver_head(io, &mut core.unflushed, out, status >= 200 || switches);
        Ok(if switches { Passed::Switch } else { Passed::Head })
    }
}

/// The connection of the server ends behind an error, if the profile says so.
pub(super) fn leave_behind_error(exchange: &mut Exchange, server: &Server) {
    // Another connection would begin the client's authentication anew; streams of HTTP/2 share theirs.
    if !server.binds && !server.connection.conn().is_stream() {
        exchange.leave_server_behind_error();
    }
}

/// A server has answered.
#[inline(always)]
pub(super) fn hear(pools: &mut Pools, server: &mut Server) {
    match std::mem::take(&mut server.unproven) {
        true => pools.proved(server.place),
        false => pools.answered(server.place),
    }
}

/// What decides how the head of a response goes on to its client.
pub(super) struct Context<'p> {
    http: &'p HttpProfile,
    client: &'p Client,
    coders: &'p weir_coding::Pool,
    cache: &'p Cache,
    facts: &'p ClientFacts,
    reply: Reply<'p>,
    version: Version,
    /// The client is a stream.
    is_stream: bool,
    /// The client's connection would go on after the response.
    keep_alive: bool,
    /// The request asked for WebSocket.
    may_switch: bool,
    /// The stored response that answers.
    stored: Option<&'p Object>,
    exchange: &'p Exchange,
}

/// The head of a response in its client's form.
pub(super) struct Written {
    pub status: u16,
    pub out: Buf,
    pub delivery: Delivery,
    /// The server's connection is for this client alone.
    pub binds: bool,
    /// Bytes of the body that scripts want to see before the client gets any of it; 0: nothing.
    pub collect: usize,
}

impl<'p> Context<'p> {
    #[inline(always)]
    fn of(
        exchange: &'p Exchange,
        client: &'p Client,
        (server, unix_s, room): (u32, u64, &'p mut Vec<u8>),
        goes_on: bool,
        with: (&'p [u8], &'p weir_coding::Pool, &'p Cache),
    ) -> Result<Self, Error> {
        let persistence = exchange.pool().and_then(|pool| pool.persistence.as_ref());
        let cookie = persistence.map_or(&b""[..], |persistence| {
            if persistence.own_cookie().is_some() {
                exchange.prefix_cookie_of(server);
            }
            let bound = exchange.named.filter(|_| exchange.bond.get() != Bond::Undated);
            persistence.line(server, bound, &client.facts, unix_s, room)
        });
        Self::of_reply(exchange, client, goes_on, cookie, with)
    }

    /// Of a stored response, which binds its client to no server.
    pub(super) fn of_stored(
        exchange: &'p Exchange,
        client: &'p Client,
        stored: &'p Object,
        goes_on: bool,
        with: (&'p [u8], &'p weir_coding::Pool, &'p Cache),
    ) -> Result<Self, Error> {
        let context = Self::of_reply(exchange, client, goes_on, b"", with)?;
        Ok(Self { stored: Some(stored), ..context })
    }

    #[inline(always)]
    fn of_reply(
        exchange: &'p Exchange,
        client: &'p Client,
        goes_on: bool,
        cookie: &'p [u8],
        (date, coders, cache): (&'p [u8], &'p weir_coding::Pool, &'p Cache),
    ) -> Result<Self, Error> {
        let facts = &client.facts;
        Ok(Self {
            http: exchange.http()?,
            client,
            coders,
            cache,
            facts,
            reply: Reply { cookie, date },
            version: exchange.version,
            is_stream: exchange.client.is_stream(),
            keep_alive: exchange.keep_alive && goes_on && !exchange.awaits_body(),
            may_switch: exchange.websocket().is_some(),
            stored: None,
            exchange,
        })
    }

    #[inline(always)]
    fn translate<I: Io>(
        &self,
        io: &mut I,
        received: &Response<'_>,
        body: Incoming,
        scripted: Option<Responded>,
        records: &mut Recorder,
    ) -> Result<Option<Written>, Error> {
        let Self { http, facts, reply, .. } = *self;
        let head = &received.head;
        let outgoing = Outgoing::of(received, self.version, self.keep_alive);
        let bytes_max = http.response_bytes_max(head, reply);
        let switch = if self.may_switch { self.exchange.write_switch(io, head, facts, reply)? } else { None };
        if (self.exchange.treats_response() || scripted.is_some()) && switch.is_none() {
            return self.treat(io, received, body, (scripted, [b"", b""]), records);
        }
        let out = match self.is_stream {
            _ if let Some(switch) = switch => switch,
            true => head::write_block(io, bytes_max, |out| http.write_response(head, facts, reply, out))?,
            false => head::write_text(io, bytes_max, outgoing.hop, |out| http.write_response(head, facts, reply, out))?,
        };
        let delivery = Delivery {
            body,
            form: if self.is_stream { Form::Content } else { Form::of(outgoing.body) },
            client_goes_on: outgoing.keep_alive,
            server_goes_on: received.keep_alive,
        };
        let binds = http.binds_connection_by(head);
        Ok(Some(Written { status: head.status, out, delivery, binds, collect: 0 }))
    }

    /// Runs the scripts for a response; returns what they want. `seen` is taken when the last ones run. Beside the pools stands
    /// the server that answers.
    #[inline(always)]
    pub(super) fn run_scripts<I: Io>(
        &self,
        io: &I,
        asked: (&mut Scripting, &mut Pools, Option<u32>),
        seen: &mut Option<Box<Seen>>,
        head: &ResponseHead<'_>,
        replaced: &mut Option<Replaced>,
    ) -> Result<Option<Responded>, Error> {
        match seen {
            Some(_) if head.status >= 200 => self.ask_scripts(io, asked, seen, head, replaced),
            _ => Ok(None),
        }
    }

    #[cold]
    #[inline(never)]
    fn ask_scripts<I: Io>(
        &self,
        io: &I,
        (scripting, pools, server): (&mut Scripting, &mut Pools, Option<u32>),
        seen: &mut Option<Box<Seen>>,
        head: &ResponseHead<'_>,
        replaced: &mut Option<Replaced>,
    ) -> Result<Option<Responded>, Error> {
        let scripts = self.exchange.service.scripts.as_deref().filter(|scripts| scripts.on_response);
        let caching = self.exchange.caching();
        // A 304 about a stored response is for the cache: scripts run for what the client gets.
        let is_for_cache = head.status == 304 && caching.is_some_and(|caching| caching.stale.is_some());
        let (Some(scripts), false) = (scripts, is_for_cache) else { return Ok(None) };
        let Some(mut shown) = seen.take() else { return Ok(None) };
        let pool = self.exchange.pool().filter(|_| server.is_some());
        let found = pool.and_then(|pool| pool.servers.iter().find(|one| Some(one.id) == server));
        shown.sends_to(found.map(|one| one.address), pool.map_or("", |pool| &pool.name));
        let done = scripting.respond(scripts, pools, &mut shown, head, io.now());
        if matches!(&done, Ok(responded) if responded.collect > 0) && self.client.call().is_none() {
            *seen = Some(shown);
        } else {
            scripting.give_back(shown);
        }
        done.map(|responded| self.wanted(responded)).map_err(|halt| {
            if let Some(caching) = caching {
                caching.give_up();
            }
            replace(replaced, head.status, halt)
        })
    }

    /// Runs the scripts for the content of a stored response, which is there at once.
    #[cold]
    pub(super) fn show_content<I: Io>(
        &self,
        io: &I,
        (scripting, pools): (&mut Scripting, &mut Pools),
        seen: &mut Option<Box<Seen>>,
        content: Vec<u8>,
        replaced: &mut Option<Replaced>,
    ) -> Result<(), Error> {
        let (Some(scripts), Some(mut shown)) = (self.exchange.service.scripts.as_deref(), seen.take()) else {
            return Err(Error::Defect);
        };
        shown.body = content;
        let done = scripting.show_content(scripts, pools, &mut shown, io.now());
        let status = shown.status;
        scripting.give_back(shown);
        done.map_err(|halt| replace(replaced, status, halt))
    }

    /// `None`: nothing changes. The client of a call gets each message as it comes.
    fn wanted(&self, mut responded: Responded) -> Option<Responded> {
        if self.client.call().is_some() {
            responded.collect = 0;
        }
        (responded.collect > 0 || !responded.edits.is_empty()).then_some(responded)
    }

    /// Writes the head as rules, scripts and the coding of the content change it. `added`: lines at
    /// its end. `None`: it speaks of a stored response. `records` hears which rules have acted.
    #[cold]
    #[inline(never)]
    pub(super) fn treat<I: Io>(
        &self,
        io: &mut I,
        received: &Response<'_>,
        body: Incoming,
        (scripted, added): (Option<Responded>, [&[u8]; 2]),
        records: &mut Recorder,
    ) -> Result<Option<Written>, Error> {
        let Self { http, facts, reply, exchange, .. } = *self;
        let head = &received.head;
        let Responded { mut edits, collect } = scripted.unwrap_or_default();
        let filling = match storing::store(io, exchange, (self.cache, self.reply.date), received) {
            Stored::No => None,
            Stored::Fills(filling) => Some(filling),
            Stored::Said => return Ok(None),
        };
        let treatment = coding::treat(io, exchange, self.client, self.coders, (received, self.stored));
        let is_made = treatment.as_ref().is_some_and(Treatment::changes_body);
        // Only its end shows how long the content is then.
        let framing = if is_made { Framing::Chunked } else { received.framing };
        let outgoing = Outgoing::of(&Response { framing, ..*received }, self.version, self.keep_alive);
        let by_rules = match (exchange.awaited(), exchange.service.policies.as_ref()) {
            (Some(awaited), Some(policies)) if head.status >= 200 => {
                let from = (&awaited.origin(), awaited.names.as_deref());
                let judged = policies.rules.judge_response(&awaited.due, head, from);
                if let Some(names) = &awaited.names {
                    records.note_names(self.client.noted, names);
                }
                if !judged.rules.is_empty() {
                    records.note_response_judged(self.client.noted, &judged);
                }
                judged.edits
            }
            _ => Edits::default(),
        };
        edits.append(by_rules);
        let besides = Besides { asked_host: exchange.asked_host(), prefix: exchange.prefix() };
        let goes_on = outgoing.keep_alive && !self.is_stream && head.status >= 200;
        let told = http.told_timeout.filter(|_| goes_on);
        let told = told.map(|told| keep_alive_line(told.seconds_beside(told_timeout_s(&head.fields))));
        let told = told.unwrap_or_default();
        let hop = if told.is_empty() { outgoing.hop } else { outgoing.hop.saying_that_it_stays() };
        let target = if self.is_stream { Target::Block } else { Target::Text(hop) };
        let added = [added[0], added[1], told.as_bytes()];
        let added_bytes = added.map(<[u8]>::len).iter().sum::<usize>();
        let added_bytes = coding::HEAD_BYTES_ADDED + added_bytes + besides.bytes_max(head);
        let bytes_max = http.response_bytes_max(head, reply) + edits.bytes_max(&head.fields) + added_bytes;
        let out = head::write_own(io, bytes_max, target, |out| match &treatment {
            None => {
                edits.write_response(out, |out| http.write_response_with(head, facts, reply, besides, out));
                added.into_iter().for_each(|line| out.line(line));
            }
            Some(treatment) => {
                let mut coded = Coded::new(out, treatment.change);
                edits.write_response(&mut coded, |out| http.write_response_with(head, facts, reply, besides, out));
                added.into_iter().for_each(|line| coded.line(line));
                coded.end();
            }
        })?;
        let form = if self.is_stream { Form::Content } else { Form::of(outgoing.body) };
        let in_chunks = form == Form::Chunks || form == Form::AsReceived && framing == Framing::Chunked;
        let form = match is_made || filling.is_some() || collect > 0 {
            true => {
                let (replacer, encoder) = treatment.map(|all| (all.replacer, all.encoder)).unwrap_or_default();
                exchange.make(Coder::new(replacer, encoder, in_chunks, filling));
                Form::Coded { in_chunks }
            }
            false => form,
        };
        // Scripts that want to see the body may answer instead.
        if matches!(head.status, 200..400) && collect == 0 {
            exchange.has_succeeded(io.now());
        }
        let delivery =
            Delivery { body, form, client_goes_on: outgoing.keep_alive, server_goes_on: received.keep_alive };
        let binds = http.binds_connection_by(head);
        Ok(Some(Written { status: head.status, out, delivery, binds, collect }))
    }
}

/// Scripts want something else than the response.
#[cold]
fn replace(replaced: &mut Option<Replaced>, status: u16, halt: Halt) -> Error {
    let error = Error::from(&halt);
    let ending = match halt {
        Halt::Ended(how, _) => Some(how),
        Halt::Failed => None,
    };
    *replaced = Some(Replaced { status, ending });
    error
}

/// What has become of a server's response head.
pub(crate) enum Passed {
    /// None is complete.
    Nothing,
    Head,
    /// One behind which the connection speaks WebSocket.
    Switch,
    /// Another server gets the request.
    Withheld,
}

/// Whether all of a response has been passed on.
fn is_over(delivery: &Delivery, server: &Server) -> bool {
    let connection = &server.connection;
    let ended = connection.has_ended_for_good() && connection.inbox.is_empty();
    delivery.body.is_done() || ended && delivery.body.ends_with_connection() && delivery.form != Form::Chunks
}

/// Waits for the server. Once the server has the whole request, its response timeout applies.
fn wait_for_server<I: Io>(io: &mut I, server: &mut Server, uploaded: bool) -> Result<Outcome, Error> {
    if let Some(error) = server.lost().or(server.connection.line.ended.then_some(Error::ServerClosed)) {
        return Err(error);
    }
    server.connection.line.read(io, true);
    if uploaded {
        server.await_response(io);
    }
    Ok(Outcome::NeedsMore)
}
