//! Responses of which the client gets nothing before scripts have seen the body, or its beginning.

use weir_policy::HttpProfile;
use weir_telemetry::Happening;

use crate::{
    error::Error,
    exchange::{
        Phase,
        held::Held,
        incoming::{Form, Part},
        scripted::Collected,
        table::ExchangeId,
    },
    flow::{
        coding, excluded,
        judging::judge,
        response::{Passed, Written, hear, leave_behind_error},
    },
    io::Io,
    proxy::Parties,
    scripting::Halt,
};

impl Parties<'_> {
    /// Keeps a head that is written for the client.
    #[cold]
    #[inline(never)]
    pub(super) fn collect_response<I: Io>(&mut self, io: &I, written: Option<Written>) -> Result<Passed, Error> {
        let Parties { exchange, client, server, core } = self;
        hear(&mut core.pools, server);
        let Some(Written { status, out, delivery, binds, collect }) = written else { return Ok(Passed::Withheld) };
        server.binds |= binds;
        server.rtt_nanos = server.rtt_nanos.min(exchange.stamps.answered(io.now()));
        core.pools.timed(server.place, exchange.stamps.waited(io.now()), io.now());
        exchange.phase = Phase::Streaming { server: server.connection.conn(), delivery };
        if status >= 400 {
            leave_behind_error(exchange, server);
        }
        if status >= 400 || core.pools.heeds_good(server.place) {
            judge(exchange, &mut core.pools, client.call().is_some(), (server.place, status), io.now());
        }
        exchange.collect_response(Collected { bytes: collect, status, head: Some(out), held: Held::default() });
        Ok(Passed::Head)
    }

    /// Keeps the next piece of the body, or passes on one that was kept.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_collected<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<coding::Passed, Error> {
        if !self.exchange.holds_head() {
            self.pass_kept(io, id)?;
            return Ok(coding::Passed::Some);
        }
        let Parties { exchange, server, .. } = self;
        let service = exchange.service.clone();
        let http: &HttpProfile = service.http().ok_or(Error::Defect)?;
        let (delivery, coder) = exchange.coded()?;
        let mut come = Held::default();
        let take = |_: &mut I, part| match part {
            Part::Bytes(piece) => come.push(piece),
            Part::Trailers(lines) => coder.trailers = Some(lines),
        };
        let has_come = delivery.body.read(io, &mut server.connection.inbox, http, Form::Content, take)?;
        let collected = exchange.collected()?;
        while let Some(piece) = come.pop() {
            collected.held.gather(io, piece);
        }
        if collected.is_due() {
            self.show_content(io)?;
        }
        Ok(if has_come { coding::Passed::Some } else { coding::Passed::None })
    }

    /// All of the body has come. Returns whether all of it has gone on.
    #[cold]
    #[inline(never)]
    pub(super) fn finish_collected<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<bool, Error> {
        if self.exchange.holds_head() {
            self.show_content(io)?;
        }
        while self.exchange.has_collected() {
            let Parties { exchange, client, server, core } = self;
            let client_is_full = server.lets_wait() && client.connection.line.is_full(io, &core.room);
            if client_is_full || exchange.coder()?.has_had_its_share() {
                server.connection.line.read(io, false);
                server.connection.line.expect(io, None);
                if client_is_full {
                    client.watch_stall(io, core);
                }
                return Ok(false);
            }
            self.pass_kept(io, id)?;
        }
        Ok(true)
    }

    /// Passes on a piece that was kept, as if it had come now.
    fn pass_kept<I: Io>(&mut self, io: &mut I, id: ExchangeId) -> Result<(), Error> {
        let Parties { exchange, client, core, .. } = self;
        let to = &mut client.connection;
        let coder = exchange.coder()?;
        if coder.list() {
            core.coding.push(id);
        }
        if coder.has_texts_to_replace() {
            return coder.replace(io, |io, out| to.deliver(io, &mut core.unflushed, out));
        }
        match exchange.collected()?.held.pop() {
            Some(piece) => exchange.coder()?.encode(io, piece, |io, out| to.deliver(io, &mut core.unflushed, out)),
            None => {
                exchange.end_collecting();
                Ok(())
            }
        }
    }

    /// Shows scripts what has come of the body. If they let it pass, the client gets the head.
    fn show_content<I: Io>(&mut self, io: &mut I) -> Result<(), Error> {
        let Parties { exchange, client, core, .. } = self;
        let service = exchange.service.clone();
        let scripts = service.scripts.as_deref().ok_or(Error::Defect)?;
        let mut seen = exchange.take_seen().ok_or(Error::Defect)?;
        seen.body = exchange.collected()?.content();
        let shown = core.scripts.show_content(scripts, &mut core.pools, &mut seen, io.now());
        core.scripts.give_back(seen);
        if !core.scripts.said.is_empty() {
            core.note_said(client.noted);
        }
        if let Err(halt) = shown {
            if let Some(caching) = exchange.caching() {
                caching.give_up();
            }
            let error = Error::from(&halt);
            if let Halt::Ended(ending, _) = halt {
                exchange.end_with(ending);
            }
            return Err(error);
        }
        let collected = exchange.collected()?;
        let (status, Some(out)) = (collected.status, collected.head.take()) else { return Err(Error::Defect) };
        core.counters.note(Happening::Response { service: service.id, status, local: false });
        if status >= 400 {
            excluded::count(&mut core.counters, &service, status, None);
            exchange.has_failed(io.now());
        } else {
            exchange.has_succeeded(io.now());
        }
        if client.noted.is_something() {
            core.records.note_response(&mut client.noted, &service, status, out.len());
        }
        client.connection.deliver_head(io, &mut core.unflushed, out, true);
        Ok(())
    }
}
