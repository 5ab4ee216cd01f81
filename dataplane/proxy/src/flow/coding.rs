//! Passes on responses of which something is made: reads their bodies as content, and sends what comes out.

use weir_coding::{Change, Compression, Form, Outcome, Replacer, Verdict};
use weir_policy::HttpProfile;
use weir_wire::{
    head::Method,
    http1::{Framing, Response},
};

use crate::{
    cache::object::Object,
    client::Client,
    connection::Connection,
    error::Error,
    exchange::{
        Exchange,
        coded::since_start,
        incoming::{self, Part, last_chunk},
        table::ExchangeId,
    },
    io::{Conn, Io},
    proxy::{ClientSide, Parties, Proxy},
    server::Server,
};

/// More than a coding adds to the text of a head.
pub(super) const HEAD_BYTES_ADDED: usize = 96;

/// Of a response whose server is lost, and in which texts are replaced.
const UNSENT_BYTES_MAX: usize = 1 << 20;

/// How far a body has come.
pub(super) enum Passed {
    /// Some of it has gone into the encoder.
    Some,
    /// No more has arrived.
    None,
    /// The rest has its turn in the next batch.
    Enough,
}

impl Parties<'_> {
    /// Passes on the next piece of the body.
    #[cold]
    pub(super) fn pass_coded<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<Passed, Error> {
        if self.exchange.has_collected() {
            return self.pass_collected(io, id);
        }
        let Parties { exchange, client, server, core } = self;
        let service = exchange.service.clone();
        let http: &HttpProfile = service.http().ok_or(Error::Defect)?;
        let (delivery, coder) = exchange.coded()?;
        if coder.list() {
            core.coding.push(id);
        }
        if coder.has_had_its_share() {
            server.connection.line.read(io, false);
            server.connection.line.expect(io, None);
            return Ok(Passed::Enough);
        }
        let (from, to) = (&mut server.connection, &mut client.connection);
        if coder.has_texts_to_replace() {
            check_unsent(io, server, to)?;
            coder.replace(io, |io, out| to.deliver(io, &mut core.unflushed, out))?;
            return Ok(Passed::Some);
        }
        let mut outcome = Ok(());
        let take = |io: &mut I, part| match part {
            Part::Bytes(piece) if outcome.is_ok() => {
                outcome = coder.encode(io, piece, |io, out| to.deliver(io, &mut core.unflushed, out));
            }
            Part::Bytes(_) => {}
            Part::Trailers(lines) => coder.trailers = Some(lines),
        };
        let has_come = delivery.body.read(io, &mut from.inbox, http, incoming::Form::Content, take)?;
        outcome?;
        Ok(if has_come { Passed::Some } else { Passed::None })
    }

    /// All of the body has come. Returns whether all of it has gone on; if not, the rest waits for the client, or for the next
    /// batch.
    #[cold]
    pub(super) fn finish_coded<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<bool, Error> {
        if self.exchange.has_collected() && !self.finish_collected(io, id)? {
            return Ok(false);
        }
        let Parties { exchange, client, server, core } = self;
        let (_, coder) = exchange.coded()?;
        while coder.end() {
            if coder.list() {
                core.coding.push(id);
            }
            let client_is_full = server.lets_wait() && client.connection.line.is_full(io, &core.room);
            if client_is_full || coder.has_had_its_share() {
                server.connection.line.read(io, false);
                server.connection.line.expect(io, None);
                if client_is_full {
                    client.watch_stall(io, core);
                }
                return Ok(false);
            }
            let to = &mut client.connection;
            check_unsent(io, server, to)?;
            coder.replace(io, |io, out| to.deliver(io, &mut core.unflushed, out))?;
        }
        let to = &mut client.connection;
        coder.finish(io, |io, out| to.deliver(io, &mut core.unflushed, out))?;
        let trailers = coder.take_trailers();
        if coder.in_chunks {
            let end = last_chunk(io, &trailers);
            to.deliver(io, &mut core.unflushed, end);
        } else if !trailers.is_empty() {
            to.deliver_trailers(io, &mut core.unflushed, &trailers);
        }
        if let Some(filling) = coder.filling.take()
            && let Some(caching) = exchange.caching()
        {
            core.cache.finish(caching, *filling, io);
        }
        Ok(true)
    }
}

impl Proxy {
    /// Whether responses wait for the next batch, although nothing may happen until then.
    #[inline]
    pub fn has_more_to_do(&self) -> bool {
        self.has_paced() || self.core.queues.are_due
    }

    /// Whether some of that is for responses.
    #[inline]
    pub(super) fn has_paced(&self) -> bool {
        !self.core.paced.is_empty() || self.core.cache.has_landed()
    }

    /// Goes on with responses that had their share of the last batch.
    #[cold]
    pub(super) fn code_on<I: Io>(&mut self, io: &mut I) {
        for id in std::mem::take(&mut self.core.paced) {
            let Some(exchange) = self.exchanges.find(id) else { continue };
            let (client, server) = (exchange.client, exchange.server());
            self.respond(io, client, id);
            if let Some(server) = server.filter(|server| server.is_stream()) {
                self.return_server_credit(server);
            }
        }
    }

    /// At the end of a batch: sends what encoders hold back, unless there is more for them already.
    #[cold]
    pub(super) fn flush_coders<I: Io>(&mut self, io: &mut I) {
        let mut coding = std::mem::take(&mut self.core.coding);
        for id in coding.drain(..) {
            // The exchange may be over.
            if self.exchanges.find(id).is_none_or(|exchange| exchange.coder().is_err()) {
                continue;
            }
            match self.client_side(id).and_then(|mut side| side.flush_coder(io)) {
                Ok(true) => self.core.paced.push(id),
                Ok(false) => {}
                Err(error) => {
                    let client = self.exchanges.find(id).map(|exchange| exchange.client);
                    self.fail_exchange(io, id, error);
                    client.into_iter().for_each(|client| self.proceed(io, client));
                }
            }
        }
        if self.core.coding.is_empty() {
            self.core.coding = coding;
        }
    }
}

impl ClientSide<'_> {
    /// Returns whether the encoder has had its share of this batch.
    fn flush_coder<I: Io>(&mut self, io: &mut I) -> Result<bool, Error> {
        let Self { exchange, client, core } = self;
        let coder = exchange.coder()?;
        let has_more = coder.has_had_its_share();
        coder.rest();
        if !has_more {
            let to = &mut client.connection;
            coder.flush(io, |io, out| to.deliver(io, &mut core.unflushed, out))?;
        }
        Ok(has_more)
    }
}

/// What came from a server that is lost does not wait for its client. Replacements can make many times as much of it: the
/// response is cut where too much of it is unsent.
fn check_unsent<I: Io>(io: &I, server: &Server, to: &Connection) -> Result<(), Error> {
    match server.lost() {
        Some(error) if !server.lets_wait() && to.line.queued(io) >= UNSENT_BYTES_MAX => Err(error),
        _ => Ok(()),
    }
}

/// What a response becomes.
pub(super) struct Treatment {
    /// `None`: no text in its body is replaced.
    pub replacer: Option<Replacer>,
    /// The encoder of its body; `None`: it is not encoded.
    pub encoder: Option<weir_coding::Pooled>,
    /// What its head is about.
    pub change: Change,
}

impl Treatment {
    pub fn changes_body(&self) -> bool {
        self.replacer.is_some() || self.encoder.is_some()
    }
}

/// What becomes of a response that may be compressed.
struct Coded {
    encoder: Option<weir_coding::Pooled>,
    form: Form,
}

/// Decides about a response. `None`: nothing changes, not even its head. `stored`: the stored response that answers.
#[cold]
pub(super) fn treat<I: Io>(
    io: &I,
    exchange: &Exchange,
    client: &Client,
    coders: &weir_coding::Pool,
    (received, stored): (&Response<'_>, Option<&Object>),
) -> Option<Treatment> {
    let (replacer, is_rewritten) = rewrite(exchange, (received, stored));
    let coded = code(io, exchange, client, coders, (received, stored), replacer.is_some());
    let (encoder, form) = coded.map_or((None, None), |coded| (coded.encoder, Some(coded.form)));
    let change = Change { is_rewritten, form };
    (is_rewritten || form.is_some()).then_some(Treatment { replacer, encoder, change })
}

/// What replaces texts in a response, and whether its head is about content in which texts are replaced.
fn rewrite(exchange: &Exchange, (received, stored): (&Response<'_>, Option<&Object>)) -> (Option<Replacer>, bool) {
    let rewrite = exchange.service.content.as_deref().and_then(|content| content.rewrite.as_ref());
    let (Some(rewriting), Some(rewrite)) = (exchange.rewriting(), rewrite) else { return (None, false) };
    let head = &received.head;
    let whole = stored.filter(|_| head.status == 304).map(|stored| stored.whole(Method::Get).0);
    let covers = rewrite.covers(whole.as_ref().unwrap_or(head), rewriting.holds_weak);
    let has_content = covers && head.status != 304 && Compression::has_content(head, exchange.method);
    (has_content.then(|| rewrite.replacer(rewriting.values.as_ref())), covers)
}

/// Decides about the coding of a response. `is_rewritten`: its length is not known.
fn code<I: Io>(
    io: &I,
    exchange: &Exchange,
    client: &Client,
    coders: &weir_coding::Pool,
    (received, stored): (&Response<'_>, Option<&Object>),
    is_rewritten: bool,
) -> Option<Coded> {
    let compressing = exchange.compressing()?;
    let compression = exchange.service.content.as_deref()?.compression.as_ref()?;
    if received.head.status < 200 {
        return None;
    }
    let is_not_modified = received.head.status == 304;
    // A 304 says what the 200 would (RFC 9110 §15.4.5), and of a stored one the whole head is known.
    let whole = stored.filter(|_| is_not_modified).map(|stored| stored.whole(Method::Get).0);
    match compression.judge(whole.as_ref().unwrap_or(&received.head)) {
        Verdict::Stays(outcome) => {
            compressing.outcome.set(outcome);
            None
        }
        Verdict::May if is_not_modified => {
            let round_trip = || io.round_trip(conn_of(exchange, client));
            let is_of_coded = match whole {
                Some(_) => compression.level(compressing.wanted, round_trip).is_ok(),
                None => compression.is_of_coded(compressing.wanted, &received.head, round_trip),
            };
            Some(Coded { encoder: None, form: if is_of_coded { Form::Held } else { Form::Plain } })
        }
        Verdict::May => {
            let encoder = encoder(io, exchange, client, coders, (compression, received, is_rewritten));
            let form = encoder.as_ref().map_or(Form::Plain, |encoder| Form::Coded(encoder.coding()));
            Some(Coded { encoder, form })
        }
    }
}

fn encoder<I: Io>(
    io: &I,
    exchange: &Exchange,
    client: &Client,
    coders: &weir_coding::Pool,
    (compression, received, is_rewritten): (&Compression, &Response<'_>, bool),
) -> Option<weir_coding::Pooled> {
    let compressing = exchange.compressing()?;
    if !Compression::has_content(&received.head, exchange.method) {
        return None;
    }
    let length = match received.framing {
        Framing::Length(length) if !is_rewritten => Some(length),
        _ => None,
    };
    let encoder = compression
        .level(compressing.wanted, || io.round_trip(conn_of(exchange, client)))
        .and_then(|(codings, level)| coders.take(codings, level, length, since_start(io)).ok_or(Outcome::Possible));
    compressing.outcome.set(Some(encoder.as_ref().map_or_else(|outcome| *outcome, |_| Outcome::Compressed)));
    encoder.ok()
}

/// The connection to the client.
fn conn_of(exchange: &Exchange, client: &Client) -> Conn {
    client.connection.carrier().unwrap_or(exchange.client)
}
