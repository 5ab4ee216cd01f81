//! What happens to a new request: policy refuses or answers it, or it becomes an exchange.

use std::{mem, sync::Arc};

use weir_policy::{ClientFacts, HttpProfile, LastHop, Trace};
use weir_rate::{Beyond, Moment};
use weir_rules::{Asked, Edits, Exceeded, Judged, LocalResponse, Pending, Policies, RequestLimit, Scratch, Verdict};
use weir_script::{Ending, Event, Seen};
use weir_snapshot::{Identity, Pool, Snapshot, VirtualService};
use weir_telemetry::{Cause, Limited};
use weir_tls::ClientCertificate;
use weir_wire::{
    head::{BodyLength, HeadSink, Method, RequestHead},
    http1::Hop,
    http2::hpack,
    websocket,
};

use crate::{
    buf::Buf,
    call,
    client::{
        Client,
        answer::Answer,
        identity,
        named::Named,
        ruled::{self, Asker, Ruled, Why},
        shown::Shown,
        token::{Admission, Admitted},
    },
    core::Core,
    error::Error,
    exchange::{
        Exchange, Wait,
        bond::Bond,
        incoming::{Form, Incoming},
        table::{ExchangeId, Exchanges},
    },
    head::{self, Sink, Target},
    io::{Conn, Io},
    page,
    pool::{Pools, balance_key},
    reach::Reach,
    records::Recorder,
    scripting::{self, Halt, Scripting, entering::Entering},
};

/// What the bytes in the inbox are.
pub(crate) enum Next {
    /// No complete request head yet.
    More,
    /// A request for a server. `answer_continue`: the client waits for a 100 that Weir sends.
    Exchange { id: ExchangeId, answer_continue: bool },
    /// The same for a request beyond a limit that only reports.
    Reported { id: ExchangeId, answer_continue: bool },
    /// A request that policy answers.
    Local(Box<Answer>),
    /// `head_only`: it asks with HEAD.
    Refused { error: Error, head_only: bool },
    /// The listener has no virtual service any more.
    Unserved,
}

impl Next {
    /// A request is refused, whose head could be read.
    #[cold]
    pub fn refused(error: Error, head: &RequestHead<'_>) -> Self {
        Next::Refused { error, head_only: head.method == Method::Head }
    }
}

/// What requests are taken with, of the worker.
pub(super) struct Shared<'w> {
    /// The field line of [`Date`](weir_policy::Date).
    pub date: &'w [u8],
    pub rules: &'w mut Scratch,
    pub scripts: &'w mut Scripting,
    pub pools: &'w mut Pools,
    pub snapshot: &'w Snapshot,
    pub admission: &'w mut Admission,
    pub records: &'w mut Recorder,
}

/// A request, and what its connection says besides the head.
pub(super) struct Received<'r> {
    /// What the request is for.
    pub service: &'r Arc<VirtualService>,
    pub head: &'r RequestHead<'r>,
    pub body: Incoming,
    /// The client sends no other request after it.
    pub last: bool,
    /// Both the client and Weir would keep the connection after it.
    pub keep_alive: bool,
    /// The same for an answer that leaves the request's body unread.
    pub stays: bool,
    /// The inbox holds more than the head.
    pub more_has_come: bool,
    /// What Weir's own response says about the client's connection, and what the request says about the server's.
    pub to_client: Target,
    pub to_server: Hop,
    /// It asks the server to switch to WebSocket.
    pub websocket: Option<&'r websocket::Key>,
    /// What its server hears of a trace, if not what the client says.
    pub trace: Option<&'r Trace>,
}

impl Received<'_> {
    /// `conn` is the client's connection, or its stream.
    #[inline]
    pub fn take<I: Io>(
        self,
        io: &mut I,
        client: &Client,
        conn: Conn,
        shared: Shared<'_>,
        exchanges: &mut Exchanges<Exchange>,
    ) -> Next {
        let Some(http) = self.service.http() else { return Next::Unserved };
        if http.refuses(self.head) {
            return Next::refused(Error::Request(weir_wire::Error::Field), self.head);
        }
        match self.service.is_steered {
            false => match self.answer_of_profile(io, client, shared.date) {
                Some(next) => next,
                None => self.go_on(io, (client, conn), exchanges, None),
            },
            true => self.take_steered(io, client, conn, shared, exchanges),
        }
    }

    /// Takes a request that rules or a group of pools direct. Limits that count by what becomes of it count it then.
    #[cold]
    #[inline(never)]
    fn take_steered<I: Io>(
        self,
        io: &mut I,
        client: &Client,
        conn: Conn,
        shared: Shared<'_>,
        exchanges: &mut Exchanges<Exchange>,
    ) -> Next {
        let (service, mut pending) = (self.service, Pending::default());
        let next = self.steer(io, (client, conn), shared, exchanges, &mut pending);
        if let Some(policies) = service.policies.as_deref().filter(|_| !pending.is_empty()) {
            settle(&policies.rules, pending, &next, exchanges, Moment::counting(io.now().nanos));
        }
        next
    }

    #[inline(always)]
    fn steer<I: Io>(
        self,
        io: &mut I,
        (client, conn): (&Client, Conn),
        shared: Shared<'_>,
        exchanges: &mut Exchanges<Exchange>,
        pending: &mut Pending,
    ) -> Next {
        let Shared { date, rules: scratch, scripts: scripting, pools, snapshot, admission, records } = shared;
        let service = self.service;
        let mut reported = false;
        let named = service.http().and_then(|http| http.client_named_in(&self.head.fields));
        let address = named.unwrap_or(client.peer.ip());
        let version = ruled::version(self.head, conn.is_stream());
        let called = Named::of(io, &mut records.draws, service);
        let plain = Shown {
            service,
            client,
            address,
            head: self.head,
            version,
            edits: None,
            certificate: None,
            named: &called,
        };
        let (scripts, mut entering) = (service.scripts.as_deref(), None::<Entering>);
        if let Some(entrance) = &client.entrance {
            let mut said = entrance.said.take();
            if !said.is_empty() {
                records.note_said(client.noted, &mut said);
            }
        }
        let mut ruled = Ruled::default();
        if let Some(policies) = service.policies.as_deref() {
            let identified = policies.identity.as_ref().map(|identity| self.identify(io, client, identity, date));
            let certificate = match identified {
                None => None,
                Some(Ok(certificate)) => certificate,
                Some(Err(next)) => return *next,
            };
            if let Some(certificate) = &certificate {
                called.keep_certificate(certificate);
            }
            let shown = (client, address, certificate.as_deref());
            let (mut admitted, clock) = (Admitted::default(), &*io);
            let plain = Shown { certificate: certificate.as_ref(), ..plain };
            let see = |seen: &mut Seen| plain.fill(seen, clock.now());
            let mut admits = |asked: &Asked<'_>| {
                if !scripting.enter(scripts, pools, Event::Authentication, &mut entering, &see) {
                    return false;
                }
                if let Some(tokens) = &policies.tokens {
                    let seen = entering.as_ref().and_then(|entering| entering.seen.as_deref());
                    let is_unknown = service.http().is_some_and(|http| http.is_client_unknown(named));
                    let (at, keep) = (clock.unix_us() / 1_000_000, &mut |token: &[u8]| called.keep_token(token));
                    admitted = admission.check(tokens, (asked, is_unknown), seen, at, keep);
                    if admitted.outcome.is_err() {
                        return false;
                    }
                }
                scripting.enter(scripts, pools, Event::Authenticated, &mut entering, &see)
            };
            let (asked, at) = ((self.head, conn.is_stream()), (scratch, io.now()));
            let mut judged = Judged::default();
            judged.names.clone_from(&called.names);
            ruled::judge(policies, asked, shown, at, &mut admits, &mut judged);
            *pending = mem::take(&mut judged.pending);
            if let Some(analytics) = service.analytics.as_deref().filter(|_| judged.is_for_record()) {
                records.note_judged(client.noted, analytics, &judged, &self.head.fields);
            }
            if let Some(names) = &judged.names {
                records.note_names(client.noted, names);
            }
            if admitted.authentication.or(admitted.authorization).is_some() {
                records.note_admitted(client.noted, &admitted);
            }
            if !scripting.said.is_empty() {
                records.note_said(client.noted, &mut scripting.said);
            }
            if let Some(next) = self.ended(io, client, &judged, date) {
                records.limited = judged.beyond.map(|exceeded| limited(&exceeded));
                return next;
            }
            if let Some(entering) = &mut entering {
                if let Some(halt) = entering.halt.take() {
                    return self.end_halted(io, client, halt, (date, records));
                }
                let later = mem::replace(&mut judged.edits, mem::take(&mut entering.edits));
                judged.edits.append(later);
            }
            if let Err(error) = admitted.outcome {
                return self.redirected(io, client, date).unwrap_or(Next::refused(error, self.head));
            }
            let Judged { edits, pool: choice, due, names, reported: is_reported, .. } = judged;
            reported = is_reported;
            ruled.follow(policies, (edits, choice, due, names), certificate);
        } else {
            let see = |seen: &mut Seen| plain.fill(seen, io.now());
            let mut enter = |event| scripting.enter(scripts, pools, event, &mut entering, &see);
            let _ = enter(Event::Authentication) && enter(Event::Authenticated);
            if let Some(entering) = &mut entering {
                if !scripting.said.is_empty() {
                    records.note_said(client.noted, &mut scripting.said);
                }
                if let Some(halt) = entering.halt.take() {
                    return self.end_halted(io, client, halt, (date, records));
                }
                ruled.edits = Some(mem::take(&mut entering.edits)).filter(|edits| !edits.is_empty());
            }
        }
        // No script sees what the profile answers, and no pool has a turn for it.
        if let Some(next) = self.answer_of_profile(io, client, date) {
            return next;
        }
        // No script sees a request that the profile refuses.
        let is_refused = || service.http().is_none_or(|http| is_too_large(self.head, http));
        if let Some(scripts) = scripts.filter(|_| !is_refused()) {
            let shown = Shown { edits: ruled.edits.as_ref(), certificate: ruled.certificate.as_ref(), ..plain };
            let begun = (self.body_for_scripts(), entering.and_then(|entering| entering.seen));
            let asked = scripting.ask(scripts, pools, begun, |seen| shown.fill(seen, io.now()));
            if !scripting.said.is_empty() {
                records.note_said(client.noted, &mut scripting.said);
            }
            match asked {
                Ok(steered) => ruled.steer(steered),
                Err(halt) => return self.end_halted(io, client, halt, (date, records)),
            }
        }
        ruled.address = named;
        if let Some(rules) = &service.pool_rules
            && let Some(to) = rules.choose(client.peer, client.facts.listener().port())
        {
            ruled.send_to(to);
        }
        if let (Some(content), Some(http)) = (service.content.as_deref(), service.http())
            && !matches!(self.to_client, Target::Call)
        {
            let who = (client, called.names.as_ref());
            match self.websocket {
                None => ruled.look_at_content(content, http, self.head, who),
                Some(_) => ruled.look_at_rewriting(content, self.head, who),
            }
            if let Some(names) = &called.names {
                records.note_names(client.noted, names);
            }
        }
        let pick = |group: &_| Core::choose_pool(pools, (io.now(), io.unix_s()), group, &self.head.fields, client.peer);
        ruled.choose(service, snapshot, pick);
        ruled.take_prefixes(service, &self.head.fields);
        match self.go_on(io, (client, conn), exchanges, Some(&mut ruled)) {
            Next::Exchange { id, answer_continue } if reported => Next::Reported { id, answer_continue },
            next => next,
        }
    }

    /// The client of a call may wait for an answer to each message, so nothing of a call is kept for scripts.
    fn body_for_scripts(&self) -> scripting::Body {
        if matches!(self.to_client, Target::Call) {
            return scripting::Body::Unseen;
        }
        if self.body.is_done() {
            return scripting::Body::Empty;
        }
        scripting::Body::Comes { kept: self.service.http().map_or(0, |http| http.request_buffer_bytes) }
    }

    #[cold]
    fn end_halted<I: Io>(
        &self,
        io: &mut I,
        client: &Client,
        halt: Halt,
        (date, records): (&[u8], &mut Recorder),
    ) -> Next {
        match halt {
            Halt::Failed => Next::refused(Error::Script, self.head),
            Halt::Ended(ending, beyond) => {
                records.limited = beyond.map(|_| Limited::ScriptRequests);
                self.end_scripted(io, client, (ending, beyond), date)
            }
        }
    }

    /// What the client gets where a script answers, maybe as a limit says.
    #[cold]
    fn end_scripted<I: Io>(
        &self,
        io: &mut I,
        client: &Client,
        (ending, beyond): (Ending, Option<Beyond>),
        date: &[u8],
    ) -> Next {
        let Some(http) = self.service.http() else { return Next::Unserved };
        if let Ending::Close { reset } = ending {
            let error = if beyond.is_some() { Error::RateLimited { reset } } else { Error::Denied { reset } };
            return Next::refused(error, self.head);
        }
        let (facts, head_only) = (&client.facts, self.head.method == Method::Head);
        let asker = Asker { http, facts, to: self.to_client, head_only, keep_alive: self.stays, date };
        match asker.answer_scripted(io, ending, None, beyond) {
            Ok(answer) => Next::Local(Box::new(answer)),
            Err(error) => Next::refused(error, self.head),
        }
    }

    /// The good certificate of the client; `None`: it has none, and needs none. Error: what becomes of the request instead.
    fn identify<I: Io>(
        &self,
        io: &mut I,
        client: &Client,
        identity: &Identity,
        date: &[u8],
    ) -> Result<Option<Arc<ClientCertificate>>, Box<Next>> {
        let (head, facts) = (self.head, &client.facts);
        if identity::is_plain_for(identity, facts)
            && let Some(redirected) = self.redirected(io, client, date)
        {
            return Err(Box::new(redirected));
        }
        let now_unix_s = io.unix_us() / 1_000_000;
        identity::identify(identity, client, head, now_unix_s).map_err(|error| Box::new(Next::refused(error, head)))
    }

    /// Where a request without TLS is to be redirected.
    #[cold]
    fn redirected<I: Io>(&self, io: &mut I, client: &Client, date: &[u8]) -> Option<Next> {
        let redirect = self.service.http()?.redirect_to_https(self.head, &client.facts)?;
        let size = (redirect.status(), redirect.bytes_max());
        Some(self.answer(io, client, size, date, |out| redirect.write(date, out)))
    }

    /// What the client gets where the profile answers; `None`: the request goes on. Inline, as what follows.
    #[inline(always)]
    fn answer_of_profile<I: Io>(&self, io: &mut I, client: &Client, date: &[u8]) -> Option<Next> {
        let (head, facts) = (self.head, &client.facts);
        let http = self.service.http()?;
        if let Some(redirect) = http.redirect_to_https(head, facts) {
            let size = (redirect.status(), redirect.bytes_max());
            return Some(self.answer(io, client, size, date, |out| redirect.write(date, out)));
        }
        let last = http.answer_as_last(head, facts)?;
        let size = (last.status(), LastHop::BYTES_MAX);
        Some(self.answer(io, client, size, date, |out| last.write(date, out)))
    }

    /// Inline, so that a request without rules pays for none.
    #[inline(always)]
    fn go_on<I: Io>(
        self,
        io: &mut I,
        (client, conn): (&Client, Conn),
        exchanges: &mut Exchanges<Exchange>,
        ruled: Option<&mut Ruled<'_>>,
    ) -> Next {
        let (service, head, facts) = (self.service, self.head, &client.facts);
        let Some(http) = service.http() else { return Next::Unserved };
        if is_too_large(head, http) {
            return Next::refused(Error::BodyTooLarge, head);
        }
        let pool = match &ruled {
            None => service.pool.as_deref(),
            Some(ruled) => ruled.pool(service),
        };
        if matches!(self.to_client, Target::Call) && pool.is_some_and(|pool| pool.http2.is_none()) {
            return Next::refused(Error::NoHttp2, head);
        }
        let edits = ruled.as_ref().and_then(|ruled| ruled.edits.as_ref());
        // The request of a stream has no key that its server could answer.
        let made_key = self.websocket.filter(|_| conn.is_stream());
        let key_bytes = if made_key.is_some() { websocket::Key::FIELD_BYTES } else { 0 };
        let for_http2 = pool.filter(|pool| pool.http2.is_some());
        let written = match for_http2 {
            // Servers of HTTP/2 take no WebSocket from an engine. A request of HTTP/1 goes on without (RFC 9110 §7.8).
            Some(_) if made_key.is_some() => {
                return Next::refused(Error::Request(weir_wire::Error::Connect), head);
            }
            None => head::write_text(io, bytes_max(http, head, edits) + key_bytes, self.to_server, |out| {
                match edits {
                    None => http.write_request(head, facts, self.trace, out),
                    Some(edits) => write_edited(http, head, facts, self.trace, edits, out),
                }
                if let Some(key) = made_key {
                    out.field(websocket::KEY, [key.text()]);
                }
            }),
            Some(pool) => write_block(head, self.trace, facts, (http, pool), edits),
        };
        let written = match written {
            Ok(written) => written,
            Err(error) => return Next::refused(error, head),
        };
        let (id, exchange) = exchanges.insert(Exchange::new(conn, service.clone(), head, self.body, written, io.now()));
        exchange.last = self.last;
        exchange.keep_alive = self.keep_alive;
        // Scripts want to see the body before a server is chosen.
        let collects = ruled.as_ref().is_some_and(|ruled| ruled.collect > 0);
        exchange.continued = http.answers_continue(head) || collects && head.expect_continue;
        exchange.binds_connection = http.binds_connection(&head.fields);
        if for_http2.is_some() {
            exchange.form = Form::Content;
        }
        if let Some(pool) = pool {
            exchange.key = balance_key(pool, Some(head), client.peer, || client.session_origin());
            if let Some(persistence) = &pool.persistence {
                let binding = persistence.named_by(&head.fields, io.unix_s());
                (exchange.named, exchange.bond) = (binding.server(), Bond::of(binding).into());
            }
            if pool.asks_for_reach {
                exchange.reach = Reach::of(pool, host_for_servers(http, head, edits), &client.facts);
            }
        }
        if http.host_to_servers().is_some() {
            exchange.keep_host(head.host.unwrap_or_default());
        }
        if edits.is_some_and(|edits| edits.target().is_some())
            && ruled.as_ref().is_some_and(|ruled| ruled.needs_target(service, pool, client))
        {
            exchange.keep_target(head.path);
        }
        if let Some(ruled) = ruled {
            ruled.apply(exchange, client);
        }
        if let Some(key) = self.websocket.filter(|_| exchange.form != Form::Content) {
            exchange.ask_for_websocket(*key);
        }
        if client.connection.line.ended {
            exchange.leave(io.now());
        }
        // A client that waits for the server's 100 sends no body before it.
        let gathers = (http.request_buffer_bytes > 0 || collects) && (exchange.continued || !head.expect_continue);
        // Nor does the client of a call, which may wait for an answer to each message.
        let gathers = gathers && !matches!(self.to_client, Target::Call);
        if gathers && exchange.awaits_body() {
            exchange.wait_for(Wait::Body);
        }
        Next::Exchange { id, answer_continue: exchange.continued && !self.more_has_come }
    }

    /// What the client gets where a rule ends the request; `None`: it goes on.
    #[cold]
    #[inline(never)]
    fn ended<I: Io>(&self, io: &mut I, client: &Client, judged: &Judged<'_>, date: &[u8]) -> Option<Next> {
        let (http, facts) = (self.service.http()?, &client.facts);
        let beyond = judged.beyond.map(|exceeded| exceeded.refusal.beyond);
        let cause = beyond.map(|_| Cause::ClientRequestRate);
        match &judged.verdict {
            Verdict::Pass => None,
            Verdict::Close { reset } => {
                let reset = *reset;
                let error = if beyond.is_some() { Error::RateLimited { reset } } else { Error::Denied { reset } };
                Some(Next::refused(error, self.head))
            }
            Verdict::Respond(response) => {
                let own = self.page_for(response);
                let (response, location) = own.as_ref().map_or((*response, &b""[..]), |(own, at)| (own, at.as_bytes()));
                let head_only = self.head.method == Method::Head;
                let asker = Asker { http, facts, to: self.to_client, head_only, keep_alive: self.stays, date };
                let answer = asker.answer(io, response, Why { location, beyond, ..Why::default() });
                Some(match answer {
                    Ok(answer) => Next::Local(Box::new(answer)),
                    Err(error) => Next::refused(error, self.head),
                })
            }
            Verdict::Redirect { status, location } => {
                let size = (*status, location.len() + ruled::HEAD_BYTES_MAX);
                let mut next = self.answer(io, client, size, date, |out| {
                    out.status(*status, page::reason(*status));
                    out.field(b"Location", [location.as_slice()]);
                    out.number(b"Content-Length", 0);
                    out.line(date);
                    out.line(http.security_lines(facts));
                });
                if let Next::Local(answer) = &mut next {
                    answer.cause = cause;
                }
                Some(next)
            }
        }
    }

    /// The error page in place of an answer without content, and where it is instead.
    #[cold]
    fn page_for(&self, response: &LocalResponse) -> Option<(LocalResponse, &str)> {
        let pages = self.service.error_pages.as_deref().filter(|_| !matches!(self.to_client, Target::Call))?;
        if response.status < 400 || !response.content.is_empty() {
            return None;
        }
        let page = pages.find(response.status)?;
        let status = if page.location.is_empty() { response.status } else { 302 };
        let (content_type, content) = (page.content_type.clone(), page.content.clone());
        Some((LocalResponse { status, content_type, content }, &page.location))
    }

    #[cold]
    fn answer<I: Io>(
        &self,
        io: &mut I,
        client: &Client,
        (status, bytes_max): (u16, usize),
        date: &[u8],
        write: impl FnOnce(&mut Sink<'_, '_>),
    ) -> Next {
        let (status, grpc_status, head) = match (self.to_client, self.service.http()) {
            (Target::Call, Some(http)) => {
                let (code, why) = (call::code(status), format!("HTTP status {status}"));
                (call::STATUS, Some(code), call::answer(io, code, &why, http, &client.facts, date))
            }
            (target, _) => (status, None, head::write_own(io, bytes_max, target, write)),
        };
        match head {
            Ok(head) => {
                let answer = Answer { status, cause: None, head, content: None, grpc_status, keep_alive: self.stays };
                Next::Local(Box::new(answer))
            }
            Err(error) => Next::refused(error, self.head),
        }
    }
}

#[cold]
#[inline(never)]
fn write_edited<S: HeadSink>(
    http: &HttpProfile,
    head: &RequestHead<'_>,
    facts: &ClientFacts,
    trace: Option<&Trace>,
    edits: &Edits<'_>,
    out: &mut S,
) {
    edits.write_request(&head.fields, out, |out| http.write_request(head, facts, trace, out));
}

/// Counts a request by what becomes of it. Of one that a limit refuses, nothing is counted.
#[cold]
#[inline(never)]
fn settle(policies: &Policies, mut pending: Pending, next: &Next, exchanges: &mut Exchanges<Exchange>, at: Moment) {
    let fails = match next {
        Next::Refused { error: Error::RateLimited { .. }, .. } => return,
        Next::Local(answer) if answer.cause == Some(Cause::ClientRequestRate) => return,
        Next::Refused { .. } => true,
        Next::Local(answer) => answer.status >= 400 || answer.grpc_status.is_some_and(|code| code != 0),
        _ => false,
    };
    policies.settle(&mut pending, at);
    match next {
        Next::Exchange { id, .. } | Next::Reported { id, .. } => {
            if let Some(exchange) = exchanges.find(*id).filter(|_| !pending.is_empty()) {
                exchange.await_outcome(pending);
            }
        }
        _ => policies.answered(pending, fails, at),
    }
}

/// Whose rate a request exceeds.
#[cold]
fn limited(Exceeded { limit, refusal }: &Exceeded<'_>) -> Limited {
    if let Some(strangers) = &limit.strangers {
        return match (strangers.by_path, refusal.is_bad) {
            (false, false) => Limited::UnknownClients,
            (false, true) => Limited::BadClients,
            (true, false) => Limited::UnknownPaths,
            (true, true) => Limited::BadPaths,
        };
    }
    match limit {
        RequestLimit { by_field: Some(_), .. } | RequestLimit { by_cookie: Some(_), .. } => Limited::FieldRequests,
        RequestLimit { of_failures: true, by_client: true, by_path: true, .. } => Limited::ClientPathFailures,
        RequestLimit { of_failures: true, by_path: true, .. } => Limited::PathFailures,
        RequestLimit { of_failures: true, .. } => Limited::ClientFailures,
        RequestLimit { by_client: true, by_path: true, .. } => Limited::ClientPathRequests,
        RequestLimit { by_client: true, .. } => Limited::ClientRequests,
        RequestLimit { by_path: true, .. } => Limited::PathRequests,
        _ => Limited::Requests,
    }
}

/// Whether the body is larger than the profile lets in, as far as the head says how long it is.
#[inline(always)]
fn is_too_large(head: &RequestHead<'_>, http: &HttpProfile) -> bool {
    matches!((head.body, http.max_body_bytes), (BodyLength::Bytes(bytes), Some(most)) if bytes > most)
}

/// The host that servers are asked for.
#[inline]
fn host_for_servers<'h>(
    http: &'h HttpProfile,
    head: &RequestHead<'h>,
    edits: Option<&'h Edits<'_>>,
) -> Option<&'h [u8]> {
    edits.and_then(Edits::host).or(http.host_to_servers()).or(head.host)
}

/// Bytes of the text of a request for a server, at most.
fn bytes_max(http: &HttpProfile, head: &RequestHead<'_>, edits: Option<&Edits<'_>>) -> usize {
    http.request_bytes_max(head) + edits.map_or(0, |edits| edits.bytes_max(&head.fields))
}

/// Writes the request for a server of HTTP/2.
#[inline(never)]
fn write_block(
    head: &RequestHead<'_>,
    trace: Option<&Trace>,
    facts: &ClientFacts,
    (http, pool): (&HttpProfile, &Pool),
    edits: Option<&Edits<'_>>,
) -> Result<Buf, Error> {
    let scheme = if pool.tls.is_some() { &b"https"[..] } else { b"http" };
    let named = facts.listener_authority();
    let host = host_for_servers(http, head, edits);
    let target = hpack::Target { scheme, authority: host.filter(|host| !host.is_empty()).unwrap_or(named.bytes()) };
    head::write_request_block(bytes_max(http, head, edits) + head::TAKES_TRAILERS.len(), target, |out| {
        match edits {
            None => http.write_request(head, facts, trace, out),
            Some(edits) => write_edited(http, head, facts, trace, edits, out),
        }
        if head.fields.take_trailers() {
            out.line(head::TAKES_TRAILERS);
        }
    })
}
