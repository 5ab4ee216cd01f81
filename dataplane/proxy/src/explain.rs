//! What would happen to a request now: to which virtual service it would go, what the engine would answer itself, and which
//! server would get it. Nothing is sent, counted or changed.
//!
//! It follows the way of a request (`client/`, `flow/choice.rs`) by the same functions.

use std::{
    net::{IpAddr, SocketAddr},
    rc::Rc,
    sync::Arc,
};

pub use weir_balance::{Algorithm, Standing};
use weir_balance::{HashKey, Reason, Room};
use weir_cache::Fit;
use weir_policy::{Binding, ClientFacts, HttpProfile};
use weir_rate::Moment;
pub use weir_rules::{Acting, EditKind, EditedName};
use weir_rules::{Asked, Conditions, Edits, HttpVersion, Judged, Names, Origin, RequestId, TlsFacts, Verdict};
use weir_script::{Ending, Event, Seen, SeenTls};
use weir_snapshot::{
    CertificateMode, Destination, FailAction, HostName, Pool, PoolGroup, ServiceScripts, Snapshot, VirtualService,
    Wanting,
};
use weir_telemetry::Cause;
use weir_tls::CertificateFault;
use weir_wire::{
    head::{BodyLength, FieldTable, Method, RequestHead},
    http1::{self, Parsed},
};

pub use crate::{cache::asking::Bypass, exchange::bond::Bond, groups::PickedMember, members::MemberNow};
use crate::{
    cache::{
        asking::{Asking, servers_of},
        role::{What, steady_s},
    },
    client::{
        hello,
        hosted::{Came, lacks_pool},
        identity::{check_fields, is_plain_for},
        token::{Admission, Admitted},
    },
    core::Core,
    drafts::Drafted,
    error::Error,
    exchange::within::Within,
    flow::rescue::remedy,
    io::{Time, TransportAddress},
    members::Foreseen,
    pool::{Preview, Tie, balance_key},
    proxy::Proxy,
    scripting::{self, Halt, entering::Entering},
};

/// A request that nobody sends.
pub struct Question {
    /// Where the client connects.
    pub listener: SocketAddr,
    pub tls: bool,
    /// The server name of TLS; empty: none.
    pub server_name: String,
    pub client: SocketAddr,
    /// The head of the request, as HTTP/1.1 has it.
    pub head: Vec<u8>,
}

impl Question {
    fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.listener, self.client)
    }
}

#[derive(Debug, Default)]
pub struct Explanation {
    /// That has the listener. `None`: nothing listens there.
    pub service: Option<Arc<VirtualService>>,
    pub child: Option<(Arc<VirtualService>, Chosen)>,
    /// The engine answers itself, or ends the connection; `None`: a server gets the request.
    pub local: Option<Local>,
    pub pool: Option<Arc<Pool>>,
    /// That the pool was chosen in, and how many servers each of its pools has.
    pub group: Option<(Arc<PoolGroup>, Vec<MemberNow>)>,
    /// Why it was that pool. Also of a pool that takes over without a group.
    pub member: Option<PickedMember>,
    /// The name of the one of the security rules that decided.
    pub security_rule: Option<String>,
    pub rules: RulesTold,
    /// The names of the rules that say whether the request needs a token, and what its token is good for.
    pub access_rules: [Option<String>; 2],
    /// The client may show a certificate, or has to: the rest is what becomes of one that shows a good one where it has to.
    pub certificate_mode: Option<CertificateMode>,
    /// What DataScripts for the request have said; `None`: none run.
    pub said: Option<String>,
    /// The operator's name of the limit beside rules that the request would be beyond.
    pub limit: Option<String>,
    /// What all clients of the listener's service share, in megabits in a second; 0: it has no limit.
    pub throughput_mbps: u64,
    /// The server that the client is bound to, by what, and what becomes of that. `None`: the pool binds no clients.
    pub bound: Option<(Option<u32>, BoundBy, Bond)>,
    /// What the cache of the worker makes of the request; `None`: the virtual service has none, or an answer comes before it.
    pub cache: Option<FromCache>,
    /// Texts are replaced in its response, if that is of a type that is rewritten.
    pub is_rewritten: bool,
    /// Of the pool, by position; at most [`SERVERS_MAX`](Self::SERVERS_MAX).
    pub servers: Vec<ServerTold>,
    /// By position.
    pub picked: Option<(usize, Picked)>,
    /// The request would wait until servers have fewer connections, with so many others of the worker. Then no server is picked.
    pub queued: Option<usize>,
}

/// What rules and scripts do to a request.
#[derive(Debug, Default)]
pub struct RulesTold {
    /// The name of the rule for connections that lets the client in, or bars it. `None`: no rule decides about it.
    pub network: Option<(Arc<str>, Admittance)>,
    /// The request rules that act, in their order.
    pub requests: Vec<Acting>,
    /// The rule that chooses the pool by who comes to which port.
    pub pool: Option<String>,
    /// A script chooses the pool.
    pub pool_by_script: bool,
    pub edits_of_scripts: Vec<EditedName>,
    /// What the server is asked for, where it is not what the client asks for: the host, and path and query.
    pub host: Option<Vec<u8>>,
    pub target: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admittance {
    LetIn,
    Barred,
}

/// A server of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerTold {
    pub standing: Standing,
    pub connections: u32,
    /// Of its ratio; less than 100 while it comes up.
    pub share_percent: u32,
}

impl Explanation {
    pub const SERVERS_MAX: usize = 1000;

    /// Takes what scripts have said.
    fn hear(&mut self, core: &mut Core) {
        let said = self.said.get_or_insert_default();
        let lines = std::mem::take(&mut core.scripts.said).lines;
        if !said.is_empty() && !lines.is_empty() {
            said.push('\n');
        }
        said.push_str(&lines);
    }
}

/// What a cache makes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FromCache {
    /// A stored response of this age answers, and no server is asked.
    Hit {
        age_s: u64,
    },
    /// One is stored, of which its server has to say that it still holds.
    Stale {
        age_s: u64,
    },
    Miss,
    /// It is asked nothing.
    Bypass(Bypass),
    /// What is stored of the resource holds no more, if a server does what the request asks for.
    Changes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    ByServerName,
    ByRequest,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundBy {
    Cookie,
    Field,
    Address,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Picked {
    ByAlgorithm,
    /// The client is bound to it.
    ByPersistence,
    ForTrial,
    AsLast,
}

/// What the client gets from the engine itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Local {
    /// `None`: its connection ends.
    pub status: Option<u16>,
    /// As telemetry names it, or one of [`TLS_EXPECTED`], [`TLS_UNEXPECTED`], [`REDIRECT`], [`MAX_FORWARDS`],
    /// [`SECURITY_RULE`], [`REQUEST_RULE`].
    pub cause: &'static str,
    pub location: Vec<u8>,
}

/// The listener speaks TLS, and the client does not.
pub const TLS_EXPECTED: &str = "tls_expected";
/// The client speaks TLS, and the listener does not.
pub const TLS_UNEXPECTED: &str = "tls_unexpected";
/// The application profile redirects plain requests to HTTPS.
pub const REDIRECT: &str = "redirect_to_https";
/// A security rule answers, or redirects.
pub const SECURITY_RULE: &str = "security_rule";
/// A request rule does.
pub const REQUEST_RULE: &str = "request_rule";
/// A DataScript does.
pub const SCRIPT: &str = "datascript";
/// Max-Forwards is 0.
pub const MAX_FORWARDS: &str = "max_forwards";

impl Local {
    fn because(status: Option<u16>, cause: &'static str) -> Self {
        Self { status, cause, location: Vec::new() }
    }
}

impl From<Error> for Local {
    fn from(error: Error) -> Self {
        let remedy = remedy(error);
        Self::because(remedy.page, remedy.cause.name())
    }
}

impl Proxy {
    pub fn explain(&mut self, now: Time, question: &Question) -> Explanation {
        let mut told = Explanation::default();
        told.local = tell(&mut self.core, now, question, &mut told).err();
        told
    }

    /// What would happen if `draft`, a successor of the snapshot in force, were in force. Servers that it brings are up.
    pub fn explain_draft(&mut self, now: Time, question: &Question, draft: Arc<Snapshot>) -> Explanation {
        let mut told = Explanation::default();
        let mut drafted = Drafted::of(&mut self.core, draft);
        told.local = tell(drafted.core(), now, question, &mut told).err();
        told
    }
}

/// Tells what it finds on the way, until the engine answers.
fn tell(core: &mut Core, now: Time, question: &Question, told: &mut Explanation) -> Result<(), Local> {
    let Some(listener) = core.snapshot.listener(TransportAddress::tcp(question.listener)) else { return Ok(()) };
    let mut service = listener.service.clone();
    told.service = Some(service.clone());
    if let Some(gate) = &service.gate {
        told.throughput_mbps = gate.throughput_mbps();
        let arriving = core.arriving(question.ends());
        let (decided, rule) = gate.look(&arriving, now.nanos);
        let admittance = if decided.is_ok() { Admittance::LetIn } else { Admittance::Barred };
        told.rules.network = rule.map(|rule| (rule.name.clone(), admittance));
        decided.map_err(Error::Barred)?;
    }
    match (listener.tls, question.tls) {
        (true, false) => return Err(Local::because(None, TLS_EXPECTED)),
        (false, true) if service.http().is_some() => return Err(Local::because(None, TLS_UNEXPECTED)),
        _ => {}
    }
    let chooses = question.tls && hello::chooses(listener);
    let named = HostName::of(question.server_name.as_bytes()).filter(|_| chooses);
    let child = named.and_then(|named| core.snapshot.child_by_name(&service, named)).cloned();
    if let Some(child) = child {
        told.child = Some((child.clone(), Chosen::ByServerName));
        service = child;
    }
    if service.http().is_none() {
        let mut ruled = Ruled::default();
        ruled.choose_by_connection(&service, question, told);
        return tell_server(core, now, (&service, ruled), None, question.ends(), told);
    }
    let Some(limits) = service.http().map(|http| http.request_limits) else { return Ok(()) };
    let mut fields = FieldTable::new();
    match http1::request(&question.head, &limits, &mut fields) {
        Err(wrong) => Err(Error::Request(wrong).into()),
        Ok(Parsed::Partial) => Err(Error::Request(weir_wire::Error::HeadTooLarge).into()),
        Ok(Parsed::Whole(request)) => tell_request(core, now, question, (service, named), &request.head, told),
    }
}

/// Where the request of a question comes from.
fn origin<'q>(http: Option<&HttpProfile>, question: &'q Question, head: &RequestHead<'_>) -> Origin<'q> {
    let tls = question.tls.then(|| TlsFacts {
        server_name: Some(question.server_name.as_str()).filter(|name| !name.is_empty()),
        ..TlsFacts::default()
    });
    let source = question.client.ip();
    let named = http.and_then(|http| http.client_named_in(&head.fields));
    Origin { client: named.unwrap_or(source), source, listener: question.listener, tls }
}

fn tell_request(
    core: &mut Core,
    now: Time,
    question: &Question,
    (mut service, named): (Arc<VirtualService>, Option<HostName<'_>>),
    head: &RequestHead<'_>,
    told: &mut Explanation,
) -> Result<(), Local> {
    if service.shares_listeners() {
        let came = Came { service: &service, is_tls: question.tls, named };
        let mut hold = |conditions: &Conditions| {
            let from = origin(service.http(), question, head);
            conditions.hold(&Asked { head, version: HttpVersion::Http11, from }, &mut core.rules)
        };
        // A client of HTTP/1.1 has no sibling.
        let found = came.choose(&core.snapshot, head.host.and_then(HostName::of), head, &mut hold, || false)?;
        if let Some(Wanting { child, .. }) = found {
            told.child = Some((child.clone(), Chosen::ByRequest));
            service = child;
        }
    }
    let Some(http) = service.http() else { return Ok(()) };
    let facts = ClientFacts::new(question.client, question.listener, question.tls);
    let from = origin(Some(http), question, head);
    let client = from.client;
    if http.refuses(head) {
        return Err(Error::Request(weir_wire::Error::Field).into());
    }
    let mut rule_edits = Edits::default();
    let (scripts, mut entering) = (service.scripts.as_deref(), None::<Entering>);
    // Nobody sends the request, so its id is no one's.
    let names = Rc::new(Names::of(RequestId::of(0)));
    let see = |seen: &mut Seen| show(seen, (question, client, now), (&service, head, &names));
    let mut ruled = match &service.policies {
        None => {
            let Core { scripts: scripting, pools, .. } = &mut *core;
            let mut enter = |event| scripting.enter(scripts, pools, event, &mut entering, &see);
            let _ = enter(Event::Authentication) && enter(Event::Authenticated);
            Ruled::default()
        }
        Some(policies) => {
            if let Some(identity) = &policies.identity {
                check_fields(identity, head)?;
                let may_show = question.tls && identity.mode != CertificateMode::None;
                told.certificate_mode = may_show.then_some(identity.mode);
                if is_plain_for(identity, &facts) {
                    redirected(http, head, &facts)?;
                    let fault = CertificateFault::Missing;
                    return Err(Error::ClientCertificate { fault, in_handshake: false }.into());
                }
            }
            let version = HttpVersion::Http11;
            let mut admitted = Admitted::default();
            let Core { scripts: scripting, pools, rules, date, .. } = &mut *core;
            let mut admits = |asked: &Asked<'_>| {
                if !scripting.enter(scripts, pools, Event::Authentication, &mut entering, &see) {
                    return false;
                }
                if let Some(tokens) = &policies.tokens {
                    // Nothing is remembered of a question.
                    let seen = entering.as_ref().and_then(|entering| entering.seen.as_deref());
                    let is_unknown = http.is_client_unknown(http.client_named_in(&head.fields));
                    let keep = &mut |token: &[u8]| names.set_token(token, weir_jwt::user);
                    admitted = Admission::default().check(tokens, (asked, is_unknown), seen, date.unix_s(), keep);
                    if admitted.outcome.is_err() {
                        return false;
                    }
                }
                scripting.enter(scripts, pools, Event::Authenticated, &mut entering, &see)
            };
            let asked = Asked { head, version, from };
            let mut judged = Judged::default();
            policies.rules.judge(&asked, rules, Moment::looking(now.nanos), &mut admits, &mut judged);
            told.limit = judged.limit.map(str::to_owned);
            told.security_rule = judged.security_rules.names().next_back().map(str::to_owned);
            if !judged.request_rules.is_empty() {
                told.rules.requests = policies.rules.acting(&asked, rules);
            }
            told.access_rules = [admitted.authentication, admitted.authorization].map(Option::<&String>::cloned);
            let choice = judged.pool;
            let ruled = Ruled {
                to: choice.and_then(|choice| policies.destination(&choice)).cloned(),
                server: choice.and_then(|choice| policies.server(&choice)).map(|server| server.id),
                ..Ruled::default()
            };
            rule_edits = std::mem::take(&mut judged.edits);
            tell_halt(core, &mut entering, told)?;
            decided(judged)?;
            if let Err(error) = admitted.outcome {
                redirected(http, head, &facts)?;
                return Err(error.into());
            }
            ruled
        }
    };
    tell_halt(core, &mut entering, told)?;
    if let Some(Entering { edits, .. }) = &mut entering {
        told.rules.edits_of_scripts = edits.names_behind(0);
        let later = std::mem::replace(&mut rule_edits, std::mem::take(edits));
        rule_edits.append(later);
    }
    redirected(http, head, &facts)?;
    if let Some(last) = http.answer_as_last(head, &facts) {
        return Err(Local::because(Some(last.status()), MAX_FORWARDS));
    }
    if matches!((head.body, http.max_body_bytes), (BodyLength::Bytes(bytes), Some(most)) if bytes > most) {
        return Err(Error::BodyTooLarge.into());
    }
    if let Some(scripts) = service.scripts.as_deref() {
        let begun = entering.and_then(|entering| entering.seen);
        let with = (&*service, head, &names);
        tell_scripts(core, scripts, (question, client, now), (with, &rule_edits, begun), &mut ruled, told)?;
    }
    ruled.choose_by_connection(&service, question, told);
    told.rules.edits_of_scripts.extend(ruled.edits.names_behind(0));
    rule_edits.append(std::mem::take(&mut ruled.edits));
    let host = rule_edits.host().or(http.host_to_servers()).filter(|host| head.host != Some(*host));
    told.rules.host = host.map(<[u8]>::to_vec);
    told.rules.target = rule_edits.target().filter(|target| *target != head.path).map(<[u8]>::to_vec);
    told.is_rewritten = service.content.as_ref().is_some_and(|content| content.rewrite.is_some());
    told.cache = tell_cache(core, now, &service, (head, &facts), (&ruled, &rule_edits), told.certificate_mode);
    if let Some(FromCache::Hit { .. }) = told.cache {
        return Ok(());
    }
    tell_server(core, now, (&service, ruled), Some(head), question.ends(), told)
}

/// Tells what the cache would make of a request, which it sees as its server would.
fn tell_cache(
    core: &Core,
    now: Time,
    service: &VirtualService,
    (head, facts): (&RequestHead<'_>, &ClientFacts),
    (ruled, edits): (&Ruled, &Edits<'_>),
    certificate_mode: Option<CertificateMode>,
) -> Option<FromCache> {
    let content = service.content.as_deref()?;
    let cached = content.cached.as_ref()?;
    let asking = Asking {
        http: service.http()?,
        head,
        facts,
        edits: (!edits.is_empty()).then_some(edits),
        content,
        has_certificate: certificate_mode == Some(CertificateMode::Require),
        has_server: ruled.server.is_some(),
    };
    let (within, pool) = match &ruled.to {
        None => (Within::Service, None),
        Some(Destination::Pool(pool)) => (Within::Pool, Some(&**pool)),
        Some(Destination::Group(group)) => (Within::Group(group.clone()), None),
    };
    let role = servers_of(&within, pool).ok_or(Bypass::Unnamed);
    let asked = match role.and_then(|servers| asking.role(cached, &servers)) {
        Err(why) => return Some(FromCache::Bypass(why)),
        Ok(What::Changes(_)) => return Some(FromCache::Changes),
        Ok(What::Asks(asked)) => asked,
    };
    let now_s = steady_s(now);
    Some(match core.cache.peek(&asked, cached) {
        None => FromCache::Miss,
        Some(object) => {
            let age_s = object.terms.age_at(now_s);
            match asked.fit(&object.terms, now_s) {
                Fit::Answers => FromCache::Hit { age_s },
                Fit::NeedsValidation => FromCache::Stale { age_s },
            }
        }
    })
}

/// Runs the scripts for the request: they change nothing but the request, and keep nothing.
fn tell_scripts(
    core: &mut Core,
    scripts: &ServiceScripts,
    (question, client, now): (&Question, IpAddr, Time),
    (with, edits, begun): (With<'_>, &Edits<'_>, Option<Box<Seen>>),
    ruled: &mut Ruled,
    told: &mut Explanation,
) -> Result<(), Local> {
    let done = core.scripts.ask(scripts, &mut core.pools, (scripting::Body::Unseen, begun), |seen| {
        show(seen, (question, client, now), with);
        scripting::follow_rules(seen, edits);
    });
    told.hear(core);
    match done {
        Err(halt) => Err(halted(halt)),
        Ok(steered) => {
            if let Some(seen) = steered.seen {
                core.scripts.give_back(seen);
            }
            ruled.edits = steered.edits;
            if ruled.to.is_none() {
                ruled.to = match steered.within {
                    Within::Group(group) => Some(Destination::Group(group)),
                    Within::Pool | Within::Service => steered.pool.map(Destination::Pool),
                };
                ruled.server = steered.server;
                told.rules.pool_by_script = ruled.to.is_some();
            }
            ruled.key = steered.key;
            ruled.bound = steered.persist.and_then(|persist| persist.server);
            Ok(())
        }
    }
}

/// For which virtual service a request is that nobody sends, its head, and its names.
type With<'w> = (&'w VirtualService, &'w RequestHead<'w>, &'w Rc<Names>);

/// What scripts see of a request that nobody sends.
fn show(seen: &mut Seen, (question, client, now): (&Question, IpAddr, Time), (service, head, names): With<'_>) {
    seen.names = Some(names.clone());
    seen.begin(&service.name, head, HttpVersion::Http11);
    (seen.now_ns, seen.is_asked_only) = (now.nanos, true);
    (seen.client, seen.listener) = (SocketAddr::new(client, question.client.port()), question.listener);
    let server_name = Some(question.server_name.clone()).filter(|name| !name.is_empty());
    seen.tls = question.tls.then(|| SeenTls { server_name, ..SeenTls::default() });
}

/// Tells what scripts have said before the request may go on, and whether they end it.
fn tell_halt(core: &mut Core, entering: &mut Option<Entering>, told: &mut Explanation) -> Result<(), Local> {
    let Some(entering) = entering else { return Ok(()) };
    told.hear(core);
    entering.halt.take().map_or(Ok(()), |halt| Err(halted(halt)))
}

fn halted(halt: Halt) -> Local {
    let Halt::Ended(ending, beyond) = halt else { return Error::Script.into() };
    let cause = beyond.map_or(SCRIPT, |_| Cause::ClientRequestRate.name());
    match ending {
        Ending::Close { .. } => Local::because(None, cause),
        Ending::Respond { status, .. } => Local::because(Some(status), cause),
        Ending::Redirect { status, location } => Local { status: Some(status), cause, location },
    }
}

fn redirected(http: &HttpProfile, head: &RequestHead<'_>, facts: &ClientFacts) -> Result<(), Local> {
    match http.redirect_to_https(head, facts) {
        Some(redirect) => {
            let location = redirect.location().concat();
            Err(Local { status: Some(redirect.status()), cause: REDIRECT, location })
        }
        None => Ok(()),
    }
}

/// What rules have chosen.
#[derive(Default)]
struct Ruled {
    to: Option<Destination>,
    server: Option<u32>,
    /// Of scripts.
    edits: Edits<'static>,
    /// What scripts have pools go by that choose servers by a hash.
    key: Option<HashKey>,
    /// Where they bind it to by a key of their own.
    bound: Option<SocketAddr>,
}

impl Ruled {
    /// Goes where a rule for connections sends the client, unless something else has chosen.
    fn choose_by_connection(&mut self, service: &VirtualService, question: &Question, told: &mut Explanation) {
        let Some(rules) = service.pool_rules.as_ref().filter(|_| self.to.is_none()) else { return };
        let (listener, client) = question.ends();
        if let Some((name, to)) = rules.choosing(client, listener.port()) {
            (self.to, told.rules.pool) = (Some(to.clone()), Some(name.to_owned()));
        }
    }
}

/// What the client gets where a rule ends the request.
fn decided(judged: Judged<'_>) -> Result<(), Local> {
    let cause = match (judged.beyond, judged.request_rules.names().next()) {
        (Some(_), _) => Cause::ClientRequestRate.name(),
        (None, Some(_)) => REQUEST_RULE,
        (None, None) => SECURITY_RULE,
    };
    match judged.verdict {
        Verdict::Pass => Ok(()),
        Verdict::Close { reset } if judged.beyond.is_some() => Err(Error::RateLimited { reset }.into()),
        Verdict::Close { reset } => Err(Error::Denied { reset }.into()),
        Verdict::Respond(response) => Err(Local::because(Some(response.status), cause)),
        Verdict::Redirect { status, location } => Err(Local { status: Some(status), cause, location }),
    }
}

fn tell_server(
    core: &mut Core,
    now: Time,
    (service, ruled): (&Arc<VirtualService>, Ruled),
    head: Option<&RequestHead<'_>>,
    (listener, client): (SocketAddr, SocketAddr),
    told: &mut Explanation,
) -> Result<(), Local> {
    let to = ruled.to.or_else(|| {
        let aim = service.aim(client, listener.port());
        let group = aim.group.cloned().map(Destination::Group);
        aim.pool.cloned().map(Destination::Pool).or(group)
    });
    let fields = head.map(|head| &head.fields);
    let (pool, mut action) = match to {
        None => return Err(lacks_pool(service).into()),
        Some(Destination::Pool(pool)) => (Some(pool.clone()), Some(pool.fail_action.clone())),
        Some(Destination::Group(group)) => {
            let foreseen = core.pools.preview_in((now, core.date.unix_s()), &group, fields, client);
            let Foreseen { chosen, group, members } =
                foreseen.unwrap_or(Foreseen { chosen: None, group, members: Vec::new() });
            told.member = chosen.as_ref().map(|(_, why)| *why);
            let pool = chosen.map(|(pool, _)| pool).or_else(|| core.pools.first_in(&group));
            let own = pool.as_ref().map(|pool| pool.fail_action.clone());
            let action = group.fail_action.clone().or(own);
            told.group = Some((group, members));
            (pool, action)
        }
    };
    let aborts = pool
        .is_some_and(|pool| tell_pick(core, now, pool, (head, client), (ruled.server, ruled.key, ruled.bound), told));
    if told.queued.is_some() {
        return Ok(());
    }
    if told.picked.is_none()
        && !aborts
        && let Some(backup) = action.as_ref().and_then(FailAction::backup)
        && let Some(backup) = core.snapshot.pool(backup).cloned()
    {
        action = Some(backup.fail_action.clone());
        told.member = Some(PickedMember::AsBackup);
        tell_pick(core, now, backup, (head, client), (None, ruled.key, ruled.bound), told);
    }
    if told.picked.is_some() {
        return Ok(());
    }
    if aborts {
        return Err(Error::BoundServerDown.into());
    }
    let local = Local::from(Error::NoServer);
    Err(match (action, head) {
        (Some(FailAction::CloseConnection), _) | (_, None) => Local { status: None, ..local },
        (Some(FailAction::Answer(response)), _) => Local { status: Some(response.status), ..local },
        (Some(FailAction::Redirect(redirect)), Some(head)) => {
            let location = redirect.location_of(head.path).unwrap_or_default();
            Local { status: Some(redirect.status), location, ..local }
        }
        (Some(FailAction::LocalResponse | FailAction::Backup(_)) | None, _) => local,
    })
}

/// Tells which server of a pool would get the request. True: none may, because the server that it is bound to is down.
fn tell_pick(
    core: &mut Core,
    now: Time,
    pool: Arc<Pool>,
    (head, client): (Option<&RequestHead<'_>>, SocketAddr),
    (ruled, key, bound_to): (Option<u32>, Option<HashKey>, Option<SocketAddr>),
    told: &mut Explanation,
) -> bool {
    let mut aborts = false;
    let found = bound_to.and_then(|bound_to| pool.servers.iter().find(|server| server.address == bound_to));
    let ruled = ruled.or(found.map(|server| server.id));
    let key = key.filter(|_| pool.balance.algorithm == Algorithm::ConsistentHash);
    let key = key.unwrap_or_else(|| balance_key(&pool, head, client, || None));
    let unix_s = core.date.unix_s();
    let binding = head.and_then(|head| Some(pool.persistence.as_ref()?.named_by(&head.fields, unix_s)));
    let named = binding.and_then(Binding::server);
    told.bound = ruled.is_none().then(|| bound(core, now, &pool, key, binding)).flatten();
    if let Some((preview, balancer)) = core.pools.preview(now, &pool, key, ruled.or(named)) {
        let servers = pool.servers.iter().enumerate().take(Explanation::SERVERS_MAX);
        told.servers = servers
            .map(|(at, server)| ServerTold {
                standing: balancer.standing(at),
                connections: balancer.connections(server.id),
                share_percent: balancer.share(at),
            })
            .collect();
        aborts = preview == Some(Preview::Nothing);
        told.picked = preview.and_then(|preview| match preview {
            Preview::Nothing => None,
            Preview::Named(position) => Some((position, Picked::ByPersistence)),
            Preview::Picked(position, Reason::Algorithm) => Some((position, Picked::ByAlgorithm)),
            Preview::Picked(position, Reason::Trial) => Some((position, Picked::ForTrial)),
            Preview::Picked(position, Reason::Last) => Some((position, Picked::AsLast)),
        });
    }
    if head.is_some_and(|head| head.method == Method::Get)
        && has_to_wait(core, now, &pool, (ruled.or(named), key), told)
    {
        told.queued =
            Some(core.queues.len(pool.id)).filter(|waiting| pool.queue_depth.is_some_and(|most| *waiting < most));
        told.picked = told.picked.filter(|_| told.queued.is_none());
    }
    if let Some(head) = head
        && let Some(own) = told.picked.and_then(|(at, _)| pool.servers.get(at)?.host.as_deref())
    {
        told.rules.host = (head.host != Some(own)).then(|| own.to_vec());
    }
    told.pool = Some(pool);
    aborts
}

/// Whether a request would have to wait for a server of a pool with a queue. Over HTTP/2 that depends on its client.
fn has_to_wait(core: &mut Core, now: Time, pool: &Pool, bound: (Option<u32>, HashKey), told: &Explanation) -> bool {
    if pool.queue_depth.is_none() || pool.http2.is_some() {
        return false;
    }
    match core.pools.tie(now, pool, bound, &[]) {
        Tie::Full => true,
        Tie::Taken(_) | Tie::Denied => false,
        Tie::None => {
            let group = told.group.as_ref().filter(|_| told.member != Some(PickedMember::AsBackup));
            let others = group.map_or(Vec::new(), |(group, _)| core.pools.others_in(group, &[pool.id]));
            let mut others = others.iter().filter(|other| other.takes_requests_of(pool));
            core.pools.room(pool, &[], now) == Room::Full
                && !others.any(|other| core.pools.room(other, &[], now) == Room::Some)
        }
    }
}

/// The server of a pool that a request is bound to, by what, and what becomes of that.
fn bound(
    core: &mut Core,
    now: Time,
    pool: &Pool,
    key: HashKey,
    binding: Option<Binding>,
) -> Option<(Option<u32>, BoundBy, Bond)> {
    let (server, by, mut bond) = match &pool.persistence {
        Some(persistence) => {
            let by = if persistence.is_by_cookie() { BoundBy::Cookie } else { BoundBy::Field };
            let binding = binding.unwrap_or(Binding::None);
            (binding.server(), by, Bond::of(binding))
        }
        None => (Some(core.pools.owner(pool, key)?), BoundBy::Address, Bond::Kept),
    };
    if let Some(server) = server
        && !core.pools.keeps_bond(now, pool, server)
    {
        bond = bond.lost(core.pools.standing(pool, server));
    }
    Some((server, by, bond))
}
