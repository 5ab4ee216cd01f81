//! Requests that stored responses answer, and responses that are stored.

use std::{mem, rc::Rc, time::Duration};

use weir_cache::{Fit, Given};
use weir_telemetry::Happening;
use weir_wire::{
    head::{Limits, Method},
    http1::{self, Parsed, Response},
};

use crate::{
    buf::Buf,
    cache::{
        flight::Landing,
        object::{Object, Serving, Since},
        role::{Caching, Of, PATIENCE, Said, Stage, Stale, What, moment, steady_s},
        stored::Joined,
    },
    core::Core,
    error::Error,
    exchange::{
        Phase, Wait,
        incoming::{Incoming, last_chunk},
        table::ExchangeId,
    },
    flow::{excluded, response::Context, storing::cached_of},
    io::{Conn, Io},
    proxy::{ClientSide, Parties, Proxy},
};

const HIT: &[u8] = b"X-Cache: HIT\r\n";

/// A line with an age.
struct AgeLine {
    text: [u8; AGE.len() + 20 + 2],
    begin: usize,
}

const AGE: &[u8] = b"Age: ";

impl AgeLine {
    fn of(age_s: u64) -> Self {
        let (mut text, mut begin, mut rest) = ([0; AGE.len() + 20 + 2], AGE.len() + 20, age_s);
        text[begin..].copy_from_slice(b"\r\n");
        while rest > 0 || begin == AGE.len() + 20 {
            begin -= 1;
            (text[begin], rest) = (b'0' + (rest % 10) as u8, rest / 10);
        }
        begin -= AGE.len();
        text[begin..begin + AGE.len()].copy_from_slice(AGE);
        Self { text, begin }
    }

    fn bytes(&self) -> &[u8] {
        &self.text[self.begin..]
    }
}

/// So many bytes of a part of a stored response.
#[cold]
fn content_of(object: &Rc<Object>, (at, end): (u64, u64), bytes: usize) -> Vec<u8> {
    let mut part = Serving { object: object.clone(), at, end, sent_bytes: 0 };
    let mut content = Vec::new();
    while content.len() < bytes
        && let Some(piece) = part.next()
    {
        content.extend_from_slice(&piece);
    }
    content.truncate(bytes);
    content
}

/// What the cache says to a request.
pub(crate) enum Looked {
    /// It is answered, or its turn comes later.
    Taken,
    /// A server gets it.
    Missed,
}

impl Proxy {
    /// Looks for a stored response, before a server is chosen for the first time.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_up<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<Looked, Error> {
        let ClientSide { exchange, client, core } = self.client_side(id)?;
        let service = exchange.service.clone();
        let Some(cached) = service.content.as_deref().and_then(|content| content.cached.as_ref()) else {
            return Ok(Looked::Missed);
        };
        let Some(caching) = exchange.caching_mut().filter(|caching| caching.stage == Stage::New) else {
            return Ok(Looked::Missed);
        };
        let What::Asks(asked) = &caching.what else {
            caching.stage = Stage::Passes;
            return Ok(Looked::Missed);
        };
        if caching.waits_until.is_none() {
            core.counters.note(Happening::CacheAsked { service: service.id });
        }
        let now = moment(io);
        caching.asked_at = now;
        caching.since = Since::now(cached, asked);
        let found = core.cache.find(asked, cached, caching.since);
        if let Some(object) = found.as_ref().filter(|object| asked.fit(&object.terms, now.steady_s) == Fit::Answers) {
            let object = object.clone();
            caching.stage = Stage::Answered;
            self.serve(io, id, object)?;
            return Ok(Looked::Taken);
        }
        caching.stage = Stage::Passes;
        if !asked.asks_for_whole() {
            return Ok(Looked::Missed);
        }
        // What was stored has to be validated for each request, or is of another form: there is nothing to wait for.
        let waits_until = *caching.waits_until.get_or_insert(io.now() + PATIENCE);
        let joined = match caching.has_waited || io.now() >= waits_until {
            true => None,
            false => core.cache.join(id, &asked.key),
        };
        match joined {
            Some(Joined::Follows) => {
                caching.stage = Stage::Waits;
                exchange.wait_for(Wait::Stored);
                client.connection.line.expect(io, Some(Duration::from_nanos(waits_until.nanos - io.now().nanos)));
                return Ok(Looked::Taken);
            }
            Some(Joined::Leads(lead)) => caching.lead.set(Some(lead)),
            None => {}
        }
        let conditions = found.as_ref().map(|object| object.validators.conditions()).unwrap_or_default();
        if let Some(object) = found.filter(|_| !conditions.is_empty()) {
            let head = exchange.add_lines(io, &conditions)?;
            if let Some(caching) = exchange.caching_mut() {
                caching.stale = Some(Stale { object, head });
            }
        }
        Ok(Looked::Missed)
    }

    /// A client has waited long enough for the response to another request.
    #[cold]
    pub(crate) fn wait_no_longer<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        let Ok(ClientSide { exchange, client, .. }) = self.client_side(id) else { return };
        let conn = exchange.client;
        if let Some(caching) = exchange.caching_mut() {
            caching.stage = Stage::Passes;
        }
        exchange.wait_for(Wait::Place);
        client.await_answer(io, exchange);
        self.choose_server(io, id, Error::NoServer);
        self.proceed(io, conn);
    }

    /// Goes on with those who have waited for responses that have come now, or will not come.
    #[cold]
    pub(super) fn land<I: Io>(&mut self, io: &mut I) {
        for flight in self.core.cache.take_landed() {
            let is_stored = flight.landing.get() != Landing::NotStored;
            for id in std::mem::take(&mut *flight.followers.borrow_mut()) {
                let Ok(ClientSide { exchange, client, .. }) = self.client_side(id) else { continue };
                let conn = exchange.client;
                let Some(caching) = exchange.caching_mut().filter(|caching| caching.stage == Stage::Waits) else {
                    continue;
                };
                // Those behind a leader that failed look again: one of them leads then.
                caching.stage = if is_stored { Stage::New } else { Stage::Passes };
                caching.has_waited = flight.landing.get() == Landing::Stored;
                exchange.wait_for(Wait::Place);
                client.await_answer(io, exchange);
                self.choose_server(io, id, Error::NoServer);
                self.proceed(io, conn);
            }
        }
    }

    /// Answers with a stored response.
    fn serve<I: Io>(&mut self, io: &mut I, id: ExchangeId, object: Rc<Object>) -> Result<(), Error> {
        let ClientSide { exchange, client, core } = self.client_side(id)?;
        let (Some(cached), Some(asked)) = (cached_of(exchange), exchange.caching().and_then(Caching::asked)) else {
            return Err(Error::Defect);
        };
        let settings = &cached.profile.settings;
        let age = settings.age_field.then(|| AgeLine::of(object.terms.age_at(steady_s(io.now()))));
        let added = [age.as_ref().map_or(&b""[..], AgeLine::bytes), if settings.x_cache_field { HIT } else { b"" }];
        let given = asked.given(object.status, &object.validators, object.length);
        let (at, end) = match given {
            Given::Part { first, last } => (first, last + 1),
            _ if exchange.method == Method::Head => (0, 0),
            Given::Whole => (0, object.length),
            Given::NotModified | Given::Unsatisfiable => (0, 0),
        };
        let goes_on = client.may_stay(core) && !client.connection.is_exhausted();
        let (mut seen, mut replaced) = (exchange.take_seen(), None);
        let Core { cache, coders, date, fields, scripts, pools, records, .. } = &mut *core;
        let context = Context::of_stored(exchange, client, &object, goes_on, (date.line(), coders, cache))?;
        // Rules and scripts see a head with all of its fields.
        let written = if given == Given::Whole && exchange.awaited().is_none() && seen.is_none() {
            let (head, framing) = object.whole(exchange.method);
            let received = Response { head, framing, keep_alive: true, len: 0 };
            context.treat(io, &received, Incoming::of_server(framing), (None, added), records)
        } else {
            let text = object.head(given, &added.concat());
            let parsed = http1::response(&text, exchange.method, &Limits::new(0, 0, 0), fields);
            let Ok(Parsed::Whole(received)) = parsed else { return Err(Error::Defect) };
            let asked = context.run_scripts(io, (scripts, pools, None), &mut seen, &received.head, &mut replaced);
            let asked = asked.and_then(|mut asked| {
                if let Some(asked) = asked.as_mut().filter(|asked| asked.collect > 0) {
                    let bytes = mem::take(&mut asked.collect);
                    let content = content_of(&object, (at, end), bytes);
                    context.show_content(io, (scripts, pools), &mut seen, content, &mut replaced)?;
                }
                Ok(asked)
            });
            let body = Incoming::of_server(received.framing);
            asked.and_then(|asked| context.treat(io, &received, body, (asked, [b"", b""]), records))
        };
        core.follow_scripts(exchange, client.noted, seen, replaced.and_then(|replaced| replaced.ending));
        let written = written?.ok_or(Error::Defect)?;
        exchange.stamps.answered(io.now());
        let service = exchange.service.clone();
        core.counters.note(Happening::Response { service: service.id, status: written.status, local: true });
        core.counters.note(Happening::CacheHit { service: service.id });
        if written.status >= 400 {
            excluded::count(&mut core.counters, &service, written.status, None);
            exchange.has_failed(io.now());
        }
        if client.noted.is_something() {
            core.records.note_response(&mut client.noted, &service, written.status, written.out.len());
        }
        client.connection.deliver_head(io, &mut core.unflushed, written.out, true);
        exchange.phase =
            Phase::Serving { serving: Serving { object, at, end, sent_bytes: 0 }, delivery: written.delivery };
        self.serve_on(io, id);
        Ok(())
    }

    /// Passes on what the client takes of a stored response.
    pub(crate) fn serve_on<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        match self.serve_pieces(io, id) {
            Ok(true) => self.finish_served(io, id),
            Ok(false) => {}
            Err(error) => _ = self.fail_exchange(io, id, error),
        }
    }

    /// Whether all of it has gone to the client.
    fn serve_pieces<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<bool, Error> {
        let ClientSide { exchange, client, core } = self.client_side(id)?;
        loop {
            if client.connection.line.is_full(io, &core.room) {
                client.watch_stall(io, core);
                return Ok(false);
            }
            let (serving, is_coded) = exchange.serving()?;
            if !is_coded {
                let Some(piece) = serving.next() else { break };
                client.connection.deliver(io, &mut core.unflushed, piece);
                continue;
            }
            let piece = if exchange.has_texts_to_replace() { None } else { Some(exchange.serving()?.0.next()) };
            let coder = exchange.coder()?;
            if matches!(piece, Some(None)) && !coder.end() {
                break;
            }
            if coder.list() {
                core.coding.push(id);
            }
            let to = &mut client.connection;
            let send = |io: &mut I, out| to.deliver(io, &mut core.unflushed, out);
            match piece.flatten() {
                Some(piece) => coder.encode(io, piece, send)?,
                None => coder.replace(io, send)?,
            }
            if coder.has_had_its_share() {
                return Ok(false);
            }
        }
        let (_, is_coded) = exchange.serving()?;
        if is_coded {
            let coder = exchange.coder()?;
            let to = &mut client.connection;
            coder.finish(io, |io, out| to.deliver(io, &mut core.unflushed, out))?;
            if coder.in_chunks {
                let end = last_chunk(io, b"");
                to.deliver(io, &mut core.unflushed, end);
            }
        }
        Ok(true)
    }

    fn finish_served<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        let Ok(ClientSide { exchange, client, core }) = self.client_side(id) else { return };
        let Phase::Serving { delivery, .. } = &exchange.phase else { return };
        let (conn, goes_on) = (exchange.client, delivery.client_goes_on);
        client.note_round_trip(io, core);
        self.note_served(io, id);
        self.finish_client(io, conn, goes_on);
    }

    /// A server has said something of a stored response: that answers, or the server is asked without the condition.
    /// False: it has said nothing.
    #[cold]
    pub(crate) fn hear_of_stored<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> bool {
        let Ok(mut parties) = self.parties(id) else { return false };
        let Some(Said { of, server_goes_on }) = parties.exchange.caching().and_then(|caching| caching.said.take())
        else {
            return false;
        };
        let released = parties.release_server(io, server_goes_on);
        let Parties { exchange, core, client, .. } = parties;
        let conn: Conn = exchange.client;
        let Some(caching) = exchange.caching_mut() else { return false };
        let stale = caching.stale.take();
        let holding = match of {
            Of::Stored { object, is_kept } => {
                if let Some(asked) = caching.asked().filter(|_| is_kept) {
                    core.cache.put(asked, object.clone());
                }
                if let Some(lead) = caching.lead.take() {
                    lead.land(Landing::Stored);
                }
                caching.stage = Stage::Answered;
                exchange.leave_server(Buf::from_vec(Vec::new()));
                Some(object)
            }
            Of::Another => {
                caching.asked_at = moment(io);
                if let Some(asked) = caching.asked() {
                    core.cache.remove(&asked.key);
                }
                core.records.forget_head(client.noted);
                exchange.leave_server(stale.map_or_else(|| Buf::from_vec(Vec::new()), |stale| stale.head));
                exchange.wait_for(Wait::Place);
                exchange.stamps.begin_again();
                None
            }
        };
        if let Ok(Some((server, how))) = released {
            self.close_server(io, server, how);
        }
        match holding {
            Some(object) => {
                if let Err(error) = self.serve(io, id, object) {
                    self.fail_exchange(io, id, error);
                }
            }
            None => _ = self.choose_server(io, id, Error::NoServer),
        }
        self.proceed(io, conn);
        true
    }
}
