//! DataScripts of a Plan: sets of scripts, compiled, and what a virtual service has of them.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rate::{Engines, Limit};
use weir_rules::Excess;
use weir_script::{Event, Label, Script, ScriptSet, Served};

use crate::{
    Pool, PoolGroup, Server, Worker,
    finding::{Findings, Subject},
    kept::Objects,
    policies::{
        Groups,
        rate::{Place, check_rate, read_limit},
    },
    pool::KeptPool,
    pool_group::KeptGroup,
};

/// The operator's field for [`Served::limit`].
const CUSTOM: &str = "dos_rl_profile.rl_profile.custom_requests_rate_limit";

/// A set, and what it was made from.
#[derive(Clone, Debug)]
pub(crate) struct KeptScriptSet {
    pub source: Arc<v1::ScriptSet>,
    pub object: Arc<ScriptSet>,
}

impl KeptScriptSet {
    pub fn string_groups(&self) -> impl Iterator<Item = &str> {
        self.source.string_group_uuids.iter().map(String::as_str)
    }

    pub fn address_groups(&self) -> impl Iterator<Item = &str> {
        self.source.address_group_uuids.iter().map(String::as_str)
    }
}

pub(crate) fn subject(source: &v1::ScriptSet) -> Subject<'_> {
    Subject { kind: "vsdatascriptset", uuid: &source.uuid, name: &source.name }
}

impl Groups<'_> {
    /// `None` if the set is unusable; the findings give the reasons.
    pub fn read_scripts(&self, source: &Arc<v1::ScriptSet>, findings: &mut Findings) -> Option<KeptScriptSet> {
        let subject = subject(source);
        let before = findings.errors.len();
        let mut set = ScriptSet { uuid: source.uuid.clone(), name: source.name.clone(), ..ScriptSet::default() };
        for from in &source.scripts {
            let at = format!("datascript[{}]", from.position);
            let event = match v1::ScriptEvent::try_from(from.event) {
                Ok(v1::ScriptEvent::HttpReq) => Event::Request,
                Ok(v1::ScriptEvent::HttpResp) => Event::Response,
                Ok(v1::ScriptEvent::HttpRespFailed) => Event::Failed,
                Ok(v1::ScriptEvent::HttpLbFailed) => Event::Unbalanced,
                Ok(v1::ScriptEvent::HttpLbDone) => Event::Balanced,
                Ok(v1::ScriptEvent::HttpReqData) => Event::RequestData,
                Ok(v1::ScriptEvent::HttpRespData) => Event::ResponseData,
                Ok(v1::ScriptEvent::HttpAuth) => Event::Authentication,
                Ok(v1::ScriptEvent::HttpPostAuth) => Event::Authenticated,
                Ok(v1::ScriptEvent::TcpClientAccept) => Event::Accepted,
                Ok(v1::ScriptEvent::ClientSslPreConnect) => Event::BeforeTls,
                Ok(v1::ScriptEvent::ClientSslClientHello) => Event::ClientHello,
                Ok(v1::ScriptEvent::SslHandshakeDone) => Event::Handshaken,
                Ok(v1::ScriptEvent::L4Request) => Event::FirstBytes,
                Ok(v1::ScriptEvent::L4Response) => Event::FirstAnswer,
                Ok(v1::ScriptEvent::Unspecified) | Err(_) => {
                    findings.error(subject, format!("{at}.evt"), "is unknown to this engine; upgrade the engine");
                    continue;
                }
            };
            set.scripts.push(Script::compile(&source.name, event, &from.source));
        }
        set.pools = source.pools.iter().map(|pool| pool.name.clone()).collect();
        set.pool_groups = source.pool_groups.iter().map(|group| group.name.clone()).collect();
        set.labels.resize_with(source.pool_groups.len(), Vec::new);
        for (at, labeled) in source.labeled_groups.iter().enumerate() {
            match set.labels.get_mut(labeled.group as usize) {
                Some(labels) => labels.push(Label { text: labeled.label.clone(), at }),
                None => findings.error(subject, "pool_group_refs", "have no group to which labeled pools belong"),
            }
        }
        let mut is_sound = true;
        for uuid in &source.string_group_uuids {
            match self.strings.find(uuid) {
                Some(Some(kept)) => set.string_groups.push(kept.object.clone()),
                Some(None) => is_sound = false,
                None => findings.error(subject, "string_group_refs", format!("there is no string group {uuid}")),
            }
        }
        for uuid in &source.address_group_uuids {
            match self.addresses.find(uuid) {
                Some(Some(kept)) => set.address_groups.push(kept.object.clone()),
                Some(None) => is_sound = false,
                None => findings.error(subject, "ipgroup_refs", format!("there is no group of addresses {uuid}")),
            }
        }
        for (at, limit) in source.limits.iter().enumerate() {
            let at = format!("rate_limiters[{at}]");
            if limit.name.is_empty() || set.limits.iter().any(|(other, _)| *other == limit.name) {
                findings.error(subject, format!("{at}.name"), "is empty, or that of another one");
            }
            check_rate(subject, &at, (limit.count, limit.period_s, limit.burst), findings);
            let counted = Limit::new(&source.uuid, &limit.name, limit.count, limit.period_s, limit.burst);
            set.limits.push((limit.name.clone(), counted));
        }
        if findings.errors.len() > before || !is_sound {
            return None;
        }
        set.prepare(source.scripts.iter().map(|script| script.source.as_str()));
        Some(KeptScriptSet { source: source.clone(), object: Arc::new(set) })
    }
}

/// The scripts of a virtual service, in their order, and where they send requests.
#[derive(Debug)]
pub struct ServiceScripts {
    pub served: Arc<Served>,
    pub destinations: Arc<[Destinations]>,
    /// In which events some run.
    pub on_accepted: bool,
    pub on_before_tls: bool,
    pub on_client_hello: bool,
    pub on_handshaken: bool,
    pub on_first_bytes: bool,
    pub on_first_answer: bool,
    pub on_authentication: bool,
    pub on_authenticated: bool,
    pub on_request: bool,
    pub on_request_data: bool,
    pub on_choice: bool,
    pub on_response: bool,
    pub on_response_data: bool,
    pub on_failure: bool,
    pub on_shortage: bool,
    /// Whether some may ask for the names of a request.
    pub ask_names: bool,
}

/// What the scripts of a set may choose, in the order of the set.
#[derive(Clone, Debug, Default)]
pub struct Destinations {
    pub pools: Vec<Arc<Pool>>,
    pub groups: Vec<Arc<PoolGroup>>,
    /// Pools of these with a label.
    pub labeled: Vec<Arc<PoolGroup>>,
}

/// What the scripts of a virtual service are made of.
#[derive(Default)]
pub(crate) struct ScriptParts {
    pub sets: Vec<Arc<ScriptSet>>,
    pub destinations: Vec<Destinations>,
    pub limit: Option<(Limit, Excess)>,
}

/// Reads which scripts a virtual service has.
pub(crate) struct ScriptReader<'s> {
    pub sets: &'s Objects<KeptScriptSet>,
    pub pools: &'s Objects<Arc<KeptPool>>,
    pub pool_groups: &'s Objects<KeptGroup>,
}

impl ScriptReader<'_> {
    /// `None`: one of them cannot be used.
    pub fn read(
        &self,
        service: Subject<'_>,
        source: &v1::VirtualService,
        findings: &mut Findings,
    ) -> Option<ScriptParts> {
        let mut parts = ScriptParts::default();
        if source.udp.is_some() && !source.script_set_uuids.is_empty() {
            findings.error(service, "vs_datascripts", "have scripts, which run for no datagrams");
            return None;
        }
        for (at, uuid) in source.script_set_uuids.iter().enumerate() {
            let mut lacks = |kind: &str, uuid: &str| {
                let field = format!("vs_datascripts[{at}].vs_datascript_set_ref");
                findings.error(service, field, format!("there is no {kind} {uuid}"));
            };
            let Some(set) = self.sets.find(uuid) else {
                lacks("set of DataScripts", uuid);
                return None;
            };
            let set = set?;
            let of_other = |script: &&Script| match source.http {
                Some(_) => script.event.is_of_bytes(),
                None => !script.event.is_of_connection(),
            };
            if let Some(script) = set.object.scripts.iter().find(of_other) {
                let (field, event) = (format!("vs_datascripts[{at}].vs_datascript_set_ref"), script.event.name());
                findings.error(
                    service,
                    field,
                    format!("has a script for {event}, which this virtual service never has"),
                );
                return None;
            }
            let mut destinations = Destinations::default();
            for named in &set.source.pools {
                match self.pools.find(&named.uuid) {
                    Some(pool) => destinations.pools.push(pool?.object.clone()),
                    None => {
                        lacks("pool", &named.uuid);
                        return None;
                    }
                }
            }
            let named = set.source.pool_groups.iter().map(|named| (&named.uuid, false));
            for (uuid, is_labeled) in named.chain(set.source.labeled_groups.iter().map(|group| (&group.uuid, true))) {
                let Some(group) = self.pool_groups.find(uuid) else {
                    lacks("pool group", uuid);
                    return None;
                };
                let into = if is_labeled { &mut destinations.labeled } else { &mut destinations.groups };
                into.push(group?.object.clone());
            }
            // Only what would run it fails, and not the whole Plan.
            for fault in set.object.scripts.iter().filter_map(Script::fault) {
                let field = format!("vs_datascripts[{at}].vs_datascript_set_ref");
                findings.warning(service, field, format!("has a script that cannot run, so its event fails: {fault}"));
            }
            parts.sets.push(set.object.clone());
            parts.destinations.push(destinations);
        }
        if let Some(limit) = source.script_limit.as_ref().filter(|_| !parts.sets.is_empty()) {
            let place = Place { subject: service, at: CUSTOM, scope: "", identity: CUSTOM };
            let read = read_limit(&place, limit, findings)?;
            parts.limit = Some((read.limit.limit, read.excess));
        }
        Some(parts)
    }
}

impl ScriptParts {
    pub fn into_scripts(self, worker: &Worker, service: &v1::VirtualService) -> Option<Box<ServiceScripts>> {
        let run = |sets: &[Arc<ScriptSet>], event| sets.iter().any(|set| set.has(event));
        if !Event::ALL.into_iter().any(|event| run(&self.sets, event)) {
            return None;
        }
        let named = self.sets.iter().flat_map(|set| &set.limits).map(|(_, limit)| *limit);
        let limits: Vec<Limit> = named.chain(self.limit.as_ref().map(|(limit, _)| *limit)).collect();
        let engines = Engines { count: service.engines, seed: service.key_seed };
        // Clients of a child connect to its parent.
        let counts_open = service.parent_uuid.is_empty() && self.sets.iter().any(|set| set.counts_open());
        let has_tally = counts_open || !limits.is_empty();
        let tally = has_tally.then(|| worker.tallies.of(&service.uuid, engines, limits));
        let served = Arc::new(Served {
            store: worker.stores.of(&service.uuid),
            engines: service.engines,
            open: tally.as_ref().filter(|_| counts_open).map(|tally| tally.open().clone()),
            tally,
            sets: self.sets.into(),
            limit: self.limit,
        });
        let on = |event| run(&served.sets, event);
        Some(Box::new(ServiceScripts {
            on_accepted: on(Event::Accepted),
            on_before_tls: on(Event::BeforeTls),
            on_client_hello: on(Event::ClientHello),
            on_handshaken: on(Event::Handshaken),
            on_first_bytes: on(Event::FirstBytes),
            on_first_answer: on(Event::FirstAnswer),
            on_authentication: on(Event::Authentication),
            on_authenticated: on(Event::Authenticated),
            on_request: on(Event::Request),
            on_request_data: on(Event::RequestData),
            on_choice: on(Event::Balanced),
            on_response: on(Event::Response),
            on_response_data: on(Event::ResponseData),
            on_failure: on(Event::Failed),
            on_shortage: on(Event::Unbalanced),
            ask_names: served.sets.iter().any(|set| set.asks_names()),
            destinations: self.destinations.into(),
            served,
        }))
    }
}

impl ServiceScripts {
    /// Whether some run for an event of a connection.
    pub fn run_in(&self, event: Event) -> bool {
        match event {
            Event::Accepted => self.on_accepted,
            Event::BeforeTls => self.on_before_tls,
            Event::ClientHello => self.on_client_hello,
            Event::Handshaken => self.on_handshaken,
            Event::FirstBytes => self.on_first_bytes,
            Event::FirstAnswer => self.on_first_answer,
            _ => false,
        }
    }

    /// Whether the open connections are counted for them.
    pub(crate) fn count_open(&self) -> bool {
        self.served.open.is_some()
    }

    /// Whether some run for what comes behind the request.
    pub fn run_later(&self) -> bool {
        self.on_choice || self.on_response || self.on_failure || self.on_shortage
    }

    /// The numbers are those of [`weir_script::Chosen`].
    pub fn pool(&self, set: usize, pool: usize) -> Option<&Arc<Pool>> {
        self.destinations.get(set)?.pools.get(pool)
    }

    pub fn group(&self, set: usize, group: usize, labeled: Option<usize>) -> Option<&Arc<PoolGroup>> {
        let of = self.destinations.get(set)?;
        labeled.map_or_else(|| of.groups.get(group), |at| of.labeled.get(at))
    }

    /// The server of a pool that a script names: as the pool does, by address and port, or by address alone.
    pub fn server<'p>(pool: &'p Pool, named: &str) -> Option<&'p Server> {
        if let Some(at) = pool.position(named) {
            return pool.servers.get(at);
        }
        let address = named.parse().ok();
        let ip = named.parse().ok();
        pool.servers.iter().find(|server| Some(server.address) == address || Some(server.address.ip()) == ip)
    }

    /// The scripts of all sets.
    pub fn all(&self) -> impl Iterator<Item = &Script> {
        self.served.sets.iter().flat_map(|set| &set.scripts)
    }

    /// All pools and groups that scripts may choose.
    pub fn pools(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.destinations.iter().flat_map(|set| &set.pools)
    }

    pub fn groups(&self) -> impl Iterator<Item = &Arc<PoolGroup>> {
        self.destinations.iter().flat_map(|set| set.groups.iter().chain(&set.labeled))
    }

    pub(crate) fn is_made_of(&self, parts: &ScriptParts) -> bool {
        let same = |one: &Destinations, other: &Destinations| {
            are_same(&one.pools, &other.pools)
                && are_same(&one.groups, &other.groups)
                && are_same(&one.labeled, &other.labeled)
        };
        are_same(&self.served.sets, &parts.sets)
            && self.served.limit == parts.limit
            && self.destinations.iter().zip(&parts.destinations).all(|(one, other)| same(one, other))
    }
}

fn are_same<T>(one: &[Arc<T>], other: &[Arc<T>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}
