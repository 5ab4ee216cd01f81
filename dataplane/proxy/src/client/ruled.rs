//! Rules of HTTP policies: what they see of a client and its request, and what a request becomes by them.

use std::{mem, net::IpAddr, rc::Rc, sync::Arc};

use weir_balance::HashKey;
use weir_coding::Wanted;
use weir_policy::{ClientFacts, HttpProfile};
use weir_rate::{Beyond, Moment};
use weir_rules::{
    Asked, Choice, Due, EditKind, Edits, HttpVersion, Judged, LocalResponse, Names, Origin, Scratch, TlsFacts,
};
use weir_script::{Ending, Persist, Seen};
use weir_snapshot::{Content, Destination, FailAction, Pool, PoolGroup, ServicePolicies, Snapshot, VirtualService};
use weir_telemetry::Cause;
use weir_tls::ClientCertificate;
use weir_wire::{
    head::{Fields, HeadSink, RequestHead, Version},
    x509::Says,
};

use crate::{
    cache::{
        asking::{Asking, servers_of},
        role::What,
    },
    call,
    client::{Client, answer::Answer},
    error::Error,
    exchange::{Exchange, awaited::Awaited, bond::Bond, coded::Rewriting, scripted::Collecting, within::Within},
    head::{self, Target},
    io::{Io, Time},
    page,
    scripting::Steered,
};

/// More than the head of a response needs besides what a rule says.
pub(super) const HEAD_BYTES_MAX: usize = 512;

impl Client {
    /// `certificate`: of the client, if it is good. `address`: of who asks.
    pub fn origin<'c>(&'c self, certificate: Option<&'c ClientCertificate>, address: IpAddr) -> Origin<'c> {
        let certificate = certificate.map(|certificate| certificate as &dyn Says);
        let tls = self.connection.channel.handshaken().map(|agreed| TlsFacts {
            version: agreed.version.name(),
            cipher: agreed.cipher_suite,
            server_name: self.connection.channel.asked_name(),
            certificate,
        });
        let tls = tls.or_else(|| self.facts.is_tls().then_some(TlsFacts::default()));
        Origin { client: address, source: self.sender().ip(), listener: self.destination(), tls }
    }
}

/// Tries the rules of a virtual service. `certificate`: of the client, if it is good. `admits` is asked between security
/// rules and request rules.
#[cold]
#[inline(never)]
pub(super) fn judge<'s>(
    policies: &'s ServicePolicies,
    (head, is_stream): (&RequestHead<'_>, bool),
    (client, address, certificate): (&Client, IpAddr, Option<&ClientCertificate>),
    (scratch, now): (&mut Scratch, Time),
    admits: &mut dyn FnMut(&Asked<'_>) -> bool,
    judged: &mut Judged<'s>,
) {
    let version = version(head, is_stream);
    let asked = Asked { head, version, from: client.origin(certificate, address) };
    policies.rules.judge(&asked, scratch, Moment::counting(now.nanos), admits, judged);
    if let Some(identity) = policies.identity.as_ref().filter(|_| certificate.is_some()) {
        judged.edit(&identity.headers, &asked);
    }
}

/// What a client speaks.
pub(super) fn version(head: &RequestHead<'_>, is_stream: bool) -> HttpVersion {
    match (is_stream, head.version) {
        (true, _) => HttpVersion::Http2,
        (false, Version::Http10) => HttpVersion::Http10,
        (false, Version::Http11) => HttpVersion::Http11,
    }
}

/// What rules and groups of pools make of a request that goes on.
#[derive(Default)]
pub(super) struct Ruled<'p> {
    pub edits: Option<Edits<'p>>,
    /// `None`: that of the virtual service.
    pub pool: Option<Arc<Pool>>,
    /// Where the request finds another pool.
    within: Within,
    /// The pool is the backup of a group without pools.
    at_backup: bool,
    server: Option<u32>,
    due: Vec<Due>,
    /// Of the request, for rules that are due.
    names: Option<Rc<Names>>,
    pub certificate: Option<Arc<ClientCertificate>>,
    /// `None`: its response is not compressed.
    compressed: Option<Wanted>,
    /// `None`: its response is not rewritten.
    rewritten: Option<Rewriting>,
    /// `None`: the cache has nothing to do with it.
    caching: Option<What>,
    /// What scripts of later events see.
    seen: Option<Box<Seen>>,
    /// Bytes of the request's body that scripts want to see; 0: nothing.
    pub collect: usize,
    /// A rule has chosen where the request goes.
    has_ruled_place: bool,
    /// What scripts have pools go by that choose servers by a hash.
    key: Option<HashKey>,
    /// Scripts bind it to a server by a key of their own.
    persist: Option<Persist>,
    /// Of who asks; `None`: that of its connection.
    pub address: Option<IpAddr>,
    /// The servers of its pool set the cookie that leads clients back.
    prefixes_cookies: bool,
}

impl<'p> Ruled<'p> {
    /// Does what rules have decided, before anything else is known. Where it is: it is too large to be moved.
    #[inline(always)]
    pub fn follow(
        &mut self,
        policies: &ServicePolicies,
        (edits, choice, due, names): (Edits<'p>, Option<Choice<'p>>, Vec<Due>, Option<Rc<Names>>),
        certificate: Option<Arc<ClientCertificate>>,
    ) {
        self.edits = (!edits.is_empty()).then_some(edits);
        if let Some(choice) = choice {
            self.server = policies.server(&choice).map(|server| server.id);
            if let Some(to) = policies.destination(&choice) {
                (self.pool, self.within) = place_of(to);
            }
        }
        self.has_ruled_place = !matches!(self.within, Within::Service);
        (self.due, self.names, self.certificate) = (due, names, certificate);
    }

    fn address_of(&self, client: &Client) -> IpAddr {
        self.address.unwrap_or(client.peer.ip())
    }

    /// Has the response rewritten, compressed, stored, or given from what is stored, where that is possible.
    pub fn look_at_content(
        &mut self,
        content: &'p Content,
        http: &HttpProfile,
        head: &RequestHead<'_>,
        (client, names): (&Client, Option<&Rc<Names>>),
    ) {
        // What scripts make of the body may change what is asked for.
        if let Some(cached) = content.cached.as_ref().filter(|_| self.collect == 0) {
            let asking = Asking {
                http,
                head,
                facts: &client.facts,
                edits: self.edits.as_ref(),
                content,
                has_certificate: self.certificate.is_some(),
                has_server: self.server.is_some(),
            };
            let servers = servers_of(&self.within, self.pool.as_deref());
            self.caching = servers.and_then(|servers| asking.role(cached, &servers).ok());
        }
        if let Some(compression) = &content.compression {
            self.compressed = Some(compression.wanted(head, self.address_of(client)));
        }
        self.edit_for_content(content, head, (client, names));
    }

    /// Has the response rewritten, where that is possible, to a request after which the connection may switch to WebSocket.
    pub fn look_at_rewriting(
        &mut self,
        content: &'p Content,
        head: &RequestHead<'_>,
        who: (&Client, Option<&Rc<Names>>),
    ) {
        if content.rewrite.is_some() {
            self.edit_for_content(content, head, who);
        }
    }

    fn edit_for_content(
        &mut self,
        content: &'p Content,
        head: &RequestHead<'_>,
        (client, names): (&Client, Option<&Rc<Names>>),
    ) {
        if let Some(rewrite) = &content.rewrite {
            let values = rewrite.has_variables().then(|| {
                let origin = client.origin(self.certificate.as_deref(), self.address_of(client));
                rewrite.values(&origin, head, names.map(|names| &**names))
            });
            self.rewritten = Some(Rewriting { holds_weak: weir_coding::holds_weak(&head.fields), values });
        }
        for edit in content.edits() {
            self.edits.get_or_insert_default().also_remove(edit);
        }
    }

    /// Sends a request elsewhere that no rule of HTTP has sent anywhere.
    pub fn send_to(&mut self, to: &Destination) {
        if matches!(self.within, Within::Service) {
            (self.pool, self.within) = place_of(to);
        }
    }

    /// Adds what scripts want. A pool that a rule has chosen stays.
    pub fn steer(&mut self, steered: Steered) {
        let Steered { edits, within, pool, server, key, persist, collect, seen, awaits: _, bytes: _ } = steered;
        if matches!(self.within, Within::Service) {
            (self.within, self.pool, self.server) = (within, pool, server);
        }
        if !edits.is_empty() {
            self.edits.get_or_insert_default().append(edits);
        }
        (self.seen, self.collect, self.key, self.persist) = (seen, collect, key, persist);
    }

    /// Chooses a pool if the request is for a group: by `pick`, or the backup of a group without pools.
    pub fn choose(
        &mut self,
        service: &VirtualService,
        snapshot: &Snapshot,
        pick: impl FnOnce(&PoolGroup) -> Option<Arc<Pool>>,
    ) {
        let group = match &self.within {
            Within::Service => service.group.as_deref(),
            Within::Pool => None,
            Within::Group(group) => Some(&**group),
        };
        if let Some(group) = group {
            self.pool = pick(group);
            if self.pool.is_none()
                && let Some(backup) = group.fail_action.as_ref().and_then(FailAction::backup)
            {
                self.pool = snapshot.pool(backup).cloned();
                self.at_backup = self.pool.is_some();
            }
        }
    }

    /// The pool that the request is written for. `None`: it is for a group without pools, or the service has none.
    pub fn pool<'r>(&'r self, service: &'r VirtualService) -> Option<&'r Pool> {
        match self.within {
            Within::Group(_) => self.pool.as_deref(),
            Within::Service | Within::Pool => self.pool.as_deref().or(service.pool.as_deref()),
        }
    }

    /// Whether anything is made of the target that the client asked for once the request is written: a script sees it, or
    /// the client may be sent elsewhere, maybe by the pool of a group or of an older version. `pool`: for which it is written.
    pub fn needs_target(&self, service: &VirtualService, pool: Option<&Pool>, client: &Client) -> bool {
        let has_group = service.group.is_some() || matches!(self.within, Within::Group(_));
        has_group
            || service.scripts.is_some()
            || client.reserved.get().is_some()
            || pool.is_none_or(|pool| pool.may_redirect())
    }

    /// Gives the server the values that its cookies had without prefixes. Rules and scripts may change them then.
    pub fn take_prefixes(&mut self, service: &VirtualService, fields: &Fields<'_>) {
        let persistence = self.pool(service).and_then(|pool| pool.persistence.as_ref());
        let Some((persistence, name)) = persistence.and_then(|by| Some((by, by.own_cookie()?))) else { return };
        let (name, values) = (String::from_utf8_lossy(name).into_owned(), persistence.own_values(fields));
        self.prefixes_cookies = true;
        if let Some(values) = values {
            let mut own = Edits::default();
            own.push(EditKind::Remove, true, name.clone(), None);
            values.into_iter().for_each(|value| own.push(EditKind::Add, true, name.clone(), Some(value)));
            own.append(self.edits.take().unwrap_or_default());
            self.edits = Some(own);
        }
    }

    pub fn apply(&mut self, exchange: &mut Exchange, client: &Client) {
        if self.server.is_some() {
            (exchange.named, exchange.bond) = (self.server, Bond::Ruled.into());
        }
        exchange.chosen = self.pool.take();
        match mem::take(&mut self.within) {
            Within::Service => {}
            Within::Pool if exchange.service.group.is_none() => {}
            within => exchange.stay_within(within),
        }
        if let Some(seen) = self.seen.take() {
            exchange.keep_seen(seen);
        }
        if let Some(key) = self.key {
            exchange.hash_by(key);
        }
        if let Some(persist) = self.persist.take() {
            exchange.persist_by(persist);
            exchange.prefer_server_of_scripts();
        }
        if self.collect > 0 {
            exchange.collect(Collecting { bytes: self.collect, may_choose: !self.has_ruled_place });
        }
        if let Some(wanted) = self.compressed {
            exchange.compress_response(wanted);
        }
        if let Some(rewriting) = self.rewritten.take() {
            exchange.rewrite_response(rewriting);
        }
        if let Some(what) = self.caching.take() {
            exchange.cache(what);
        }
        if self.prefixes_cookies {
            exchange.prefix_cookies();
        }
        if exchange.service.http().is_some_and(|http| http.told_timeout.is_some()) {
            exchange.tell_keepalive();
        }
        if self.at_backup {
            exchange.begin_at_backup(true);
        }
        if !self.due.is_empty() {
            let due = (mem::take(&mut self.due), self.names.take());
            exchange.await_response(Awaited::of(
                due,
                client.origin(None, self.address_of(client)),
                self.certificate.take(),
            ));
        }
    }
}

fn place_of(to: &Destination) -> (Option<Arc<Pool>>, Within) {
    match to {
        Destination::Pool(pool) => (Some(pool.clone()), Within::Pool),
        Destination::Group(group) => (None, Within::Group(group.clone())),
    }
}

/// Why the engine answers, and what it says beside the content.
#[derive(Default)]
pub(crate) struct Why<'w> {
    /// Where the client goes instead; empty: nowhere.
    pub location: &'w [u8],
    /// The failure that this answers.
    pub failure: Option<Cause>,
    /// How the client could be known (RFC 9110 §11.6.1).
    pub challenge: Option<String>,
    pub beyond: Option<Beyond>,
    /// Fields that a script adds.
    pub fields: &'w [(String, Vec<u8>)],
}

fn has(fields: &[(String, Vec<u8>)], wanted: &str) -> bool {
    fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

/// Who gets a response of the engine.
pub(crate) struct Asker<'a> {
    pub http: &'a HttpProfile,
    pub facts: &'a ClientFacts,
    /// What its head says of the connection.
    pub to: Target,
    /// It asked with HEAD.
    pub head_only: bool,
    pub keep_alive: bool,
    pub date: &'a [u8],
}

impl Asker<'_> {
    /// Writes what a script answers, unless it closes the connection. `failure`: what the answer stands for. `beyond`: the
    /// script does what a limit says.
    pub fn answer_scripted<I: Io>(
        &self,
        io: &mut I,
        ending: Ending,
        failure: Option<Cause>,
        beyond: Option<Beyond>,
    ) -> Result<Answer, Error> {
        let (status, location, fields, content) = match ending {
            Ending::Close { .. } => return Err(Error::Defect),
            Ending::Redirect { status, location } => (status, location, Vec::new(), Vec::new()),
            Ending::Respond { status, fields, content } => (status, Vec::new(), fields, content),
        };
        let content_type = if has(&fields, "content-type") { "" } else { "text/plain" }.to_owned();
        let response = LocalResponse { status, content_type, content };
        // A client may follow a redirect at once.
        let waits = beyond.filter(|_| location.is_empty());
        let why = Why { location: &location, failure, fields: &fields, beyond: waits, ..Why::default() };
        let mut answer = self.answer(io, &response, why)?;
        answer.cause = beyond.map(|_| Cause::ClientRequestRate).or(answer.cause);
        Ok(answer)
    }

    /// Writes what an operator has the engine answer.
    pub fn answer<I: Io>(&self, io: &mut I, response: &LocalResponse, why: Why<'_>) -> Result<Answer, Error> {
        let Why { location, failure, challenge, beyond, fields } = why;
        let LocalResponse { status, content_type, content } = response;
        let Self { http, facts, to, keep_alive, date, .. } = *self;
        let cause = beyond.map(|_| Cause::ClientRequestRate).or(failure);
        if let Target::Call = to {
            // A client takes UNAVAILABLE, to which 429 leads elsewhere, for an invitation to try again at once.
            let is_rate = beyond.is_some() && *status == 429;
            let code = if is_rate { call::RESOURCE_EXHAUSTED } else { call::code(*status) };
            let head = call::answer(io, code, &format!("HTTP status {status}"), http, facts, date)?;
            let grpc_status = Some(code);
            return Ok(Answer { status: call::STATUS, cause, head, content: None, grpc_status, keep_alive });
        }
        let head_only = self.head_only || matches!(status, 204 | 304);
        let is_apart = matches!(to, Target::Block);
        let inline: &[u8] = if head_only || is_apart { b"" } else { content };
        let added: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        let bytes_max = HEAD_BYTES_MAX + content_type.len() + location.len() + inline.len() + added;
        let mut head = head::write_own(io, bytes_max, to, |out| {
            out.status(*status, page::reason(*status));
            if !location.is_empty() {
                out.field(b"Location", [location]);
            }
            for (name, value) in fields {
                out.field(name.as_bytes(), [value.as_slice()]);
            }
            if let Some(challenge) = &challenge {
                out.field(b"WWW-Authenticate", [challenge.as_bytes()]);
            }
            if let Some(beyond) = beyond {
                out.number(b"Retry-After", beyond.wait_s());
            }
            if !content_type.is_empty() && !content.is_empty() {
                out.field(b"Content-Type", [content_type.as_bytes()]);
            }
            if !matches!(status, 204 | 304) {
                out.number(b"Content-Length", content.len() as u64);
            }
            if failure.is_some() && !has(fields, "cache-control") {
                out.line(b"Cache-Control: no-store\r\n");
            }
            out.line(date);
            out.line(http.security_lines(facts));
        })?;
        let apart = (is_apart && !head_only && !content.is_empty()).then(|| {
            let mut apart = io.buffer_for(content.len());
            apart.append(content);
            apart
        });
        head.append(inline);
        Ok(Answer { status: *status, cause, head, content: apart, grpc_status: None, keep_alive })
    }
}
