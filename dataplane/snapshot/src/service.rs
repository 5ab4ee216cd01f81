//! A virtual service as a worker uses it, built from a virtual service of the Plan.

use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    sync::Arc,
    time::Duration,
};

use weir_api::dataplane::v1;
use weir_policy::{Http2, HttpProfile, HttpSettings, L4Profile, ProxyProtocol, TrueClient, Underscores, XffUpdate};
use weir_rate::{Bucket, Engines, Limit, Tally};
use weir_rules::NetworkPolicy;
use weir_wire::http2::WINDOW_MAX;

use crate::{
    Aim, Analytics, Content, Destination, Finding, Gate, Hosting, NamesWanted, Pool, PoolGroup, PoolRules, Role,
    ServicePolicies, Subnet, Worker, address, analytics,
    certificate::KeptCertificate,
    content,
    error_pages::{ErrorPages, KeptErrorPages},
    finding::{Findings, Subject},
    gate,
    identity::{self, Identity},
    ids::Renumbering,
    kept::{Objects, both_or_neither, reference},
    network_policy::KeptNetworkPolicy,
    pki_profile::KeptPkiProfile,
    policies::{self, ChosenUuid, Groups, KeptAddressGroup, KeptPolicySet, KeptStringGroup, Parts},
    pool::KeptPool,
    pool_group::KeptGroup,
    pool_rules::PoolRuleReader,
    role::{self, Wish},
    scripts::{KeptScriptSet, ScriptParts, ScriptReader, ServiceScripts},
    tls::KeptTls,
    tls_selectors::TlsSelectors,
    tokens,
    transport::TransportAddress,
    udp::{self, Udp},
};

#[derive(Debug)]
pub struct VirtualService {
    /// Stays the same in all snapshots. Telemetry counts by it.
    pub id: u32,
    pub uuid: String,
    pub name: String,
    pub application: Application,
    /// Whether it shares listeners with others.
    pub role: Role,
    /// Of no use for a service of datagrams.
    pub tcp: Tcp,
    /// `Some`: clients send datagrams, on all its listeners.
    pub udp: Option<Udp>,
    /// `Some` if one of its listeners uses TLS, and for children that are chosen by server name in TLS.
    pub tls: Option<weir_tls::ServerConfig>,
    /// The same, for listeners whose clients may speak HTTP/2.
    pub tls_http2: Option<weir_tls::ServerConfig>,
    /// `None`: all clients have these.
    pub tls_selectors: Option<Box<TlsSelectors>>,
    /// `None`: it has a group instead, or all requests get a 503.
    pub pool: Option<Arc<Pool>>,
    /// Instead of a pool.
    pub group: Option<Arc<PoolGroup>>,
    /// `None`: all its clients go to the pool or the group.
    pub pool_rules: Option<Box<PoolRules>>,
    /// Clients should move to another engine: the response to its request ends each client's connection.
    pub drains: bool,
    /// `None`: no rules change its requests.
    pub policies: Option<Box<ServicePolicies>>,
    /// `None`: no scripts run for its requests.
    pub scripts: Option<Box<ServiceScripts>>,
    pub names: NamesWanted,
    /// `None`: the content of its responses passes as it is.
    pub content: Option<Box<Content>>,
    /// It has policies, scripts, a group, rules for pools, content, a pool that changes cookies of servers, or a profile
    /// that tells clients how long their connections wait: not all its requests go to the same pool unchanged, or something
    /// is done to responses.
    pub is_steered: bool,
    /// `None`: it lets in all connections.
    pub gate: Option<Box<Gate>>,
    /// In place of the pages of the engine.
    pub error_pages: Option<Arc<ErrorPages>>,
    /// `None`: its requests and connections leave no records.
    pub analytics: Option<Box<Analytics>>,
}

/// What the proxy does with the bytes of clients.
#[expect(clippy::large_enum_variant, reason = "one per virtual service, read for each request")]
#[derive(Debug)]
pub enum Application {
    Http(HttpProfile),
    L4(L4Profile),
}

impl VirtualService {
    /// That its connections share. `None`: their throughput has no limit.
    pub fn bucket(&self) -> Option<&Arc<Bucket>> {
        self.gate.as_ref()?.bucket()
    }

    /// `None`: the service does not use HTTP.
    pub fn http(&self) -> Option<&HttpProfile> {
        match &self.application {
            Application::Http(http) => Some(http),
            Application::L4(_) => None,
        }
    }

    fn network_policy(&self) -> Option<&Arc<NetworkPolicy>> {
        self.gate.as_ref()?.network()
    }

    /// The pools that its requests go to, unless rules choose others.
    pub fn pools(&self) -> impl Iterator<Item = &Arc<Pool>> {
        Aim { pool: self.pool.as_ref(), group: self.group.as_ref() }.pools()
    }

    /// Where a client of a listener goes, unless rules of HTTP choose for its request.
    #[inline]
    pub fn aim(&self, client: SocketAddr, listener_port: u16) -> Aim<'_> {
        match &self.pool_rules {
            None => Aim { pool: self.pool.as_ref(), group: self.group.as_ref() },
            Some(rules) => self.ruled_aim(rules, client, listener_port),
        }
    }

    #[cold]
    #[inline(never)]
    fn ruled_aim<'s>(&'s self, rules: &'s PoolRules, client: SocketAddr, listener_port: u16) -> Aim<'s> {
        let own = Aim { pool: self.pool.as_ref(), group: self.group.as_ref() };
        rules.choose(client, listener_port).map_or(own, Aim::from)
    }

    /// Whether its clients come through the same listeners as those of others.
    #[inline]
    pub fn shares_listeners(&self) -> bool {
        self.role != Role::Single
    }

    fn as_parent(&self) -> role::Parent<'_> {
        role::Parent {
            name: &self.name,
            hosting: self.hosting(),
            is_http: self.http().is_some(),
            terminates_tls: self.tls.is_some(),
        }
    }

    /// How it gives clients to children; `None`: it has none.
    pub fn hosting(&self) -> Option<Hosting> {
        match self.role {
            Role::Parent(hosting) => Some(hosting),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// `None`: no limit.
    pub idle_timeout: Option<Duration>,
    /// Whether keepalive probes begin after `idle_timeout`, or the connection is closed.
    pub keepalive_probes: bool,
    /// The same for a tunnel one end of which has ended.
    pub half_closed_probes: bool,
    pub nagle: bool,
    /// Not empty: clients come from these subnets, and each connection begins with a PROXY header.
    pub proxy_protocol_sources: Vec<Subnet>,
}

impl Tcp {
    /// Whether a connection may come from here.
    pub fn trusts(&self, source: IpAddr) -> bool {
        !self.begins_with_proxy_header() || self.proxy_protocol_sources.iter().any(|subnet| subnet.contains(source))
    }

    /// Whether clients' connections begin with a PROXY header.
    pub fn begins_with_proxy_header(&self) -> bool {
        !self.proxy_protocol_sources.is_empty()
    }
}

/// A service and its sources.
#[derive(Clone, Debug)]
pub(crate) struct KeptService {
    pub source: Arc<v1::VirtualService>,
    tls: Option<KeptTls>,
    /// What it wants as a child.
    pub wishes: Vec<Wish>,
    pub warnings: Arc<[Finding]>,
    pub object: Arc<VirtualService>,
    /// As it is for listeners that name one of these.
    pub variants: Vec<Arc<KeptService>>,
}

/// What is read of a virtual service at once.
pub(crate) struct Part<'s> {
    /// With its own listeners alone.
    pub source: &'s Arc<v1::VirtualService>,
    /// What is compared with the one before: the virtual service with its variants, or the variant.
    pub whole: &'s Arc<v1::VirtualService>,
    /// `None`: the one that it had before, or a new one.
    pub id: Option<u32>,
}

/// What all services of one snapshot are read with.
pub(crate) struct ServiceReader<'s> {
    /// Parents are read before their children.
    pub services: &'s Objects<Arc<KeptService>>,
    pub ids: &'s mut Renumbering,
    pub pools: &'s Objects<Arc<KeptPool>>,
    pub pool_groups: &'s Objects<KeptGroup>,
    pub error_pages: &'s Objects<KeptErrorPages>,
    pub policy_sets: &'s Objects<KeptPolicySet>,
    pub script_sets: &'s Objects<KeptScriptSet>,
    pub network_policies: &'s Objects<KeptNetworkPolicy>,
    pub string_groups: &'s Objects<KeptStringGroup>,
    pub address_groups: &'s Objects<KeptAddressGroup>,
    pub certificates: &'s Objects<KeptCertificate>,
    pub pki_profiles: &'s Objects<KeptPkiProfile>,
    pub worker: &'s Worker,
}

pub(crate) fn subject(source: &v1::VirtualService) -> Subject<'_> {
    Subject { kind: "virtualservice", uuid: &source.uuid, name: &source.name }
}

/// The address of a listener; `None` if it is invalid, with a finding. `udp` reports an unknown protocol.
pub(crate) fn listener_address(
    service: Subject<'_>,
    listener: &v1::Listener,
    findings: &mut Findings,
) -> Option<TransportAddress> {
    let address = address::ip(&listener.address);
    if address.is_none() {
        findings.error(service, "vsvip_ref", format!("{:?} is not an IP address to listen on", listener.address));
    }
    let port = address::port(listener.port);
    if port.is_none() {
        findings.error(service, "services", format!("{} is not a port to listen on; choose 1 to 65535", listener.port));
    }
    let protocol = udp::protocol(listener)?;
    Some(TransportAddress { protocol, address: SocketAddr::new(address?, port?) })
}

impl ServiceReader<'_> {
    /// `None` if the service is unusable; the findings give the reasons.
    pub(crate) fn read_part(
        &mut self,
        Part { source, whole, id }: Part<'_>,
        before: Option<&Arc<KeptService>>,
        findings: &mut Findings,
    ) -> Option<Arc<KeptService>> {
        let subject = subject(source);
        let found = findings.errors.len();
        let role = self.role(source, findings);
        let pool = self.pool(source, findings);
        let group = self.group(source, findings);
        let error_pages = self.error_pages(source, findings);
        let identity = identity::read(subject, source, self.pki_profiles, findings);
        let (auth, identity) = identity.map_or((None, None), |wanted| (wanted.auth, wanted.identity));
        let policies = self.policies(source, identity, findings);
        let of_scripts = ScriptReader { sets: self.script_sets, pools: self.pools, pool_groups: self.pool_groups };
        let scripts = of_scripts.read(subject, source, findings);
        let network = self.network_policy(source, findings);
        let groups = || Groups { strings: self.string_groups, addresses: self.address_groups };
        let pool_rules = PoolRuleReader { pools: self.pools, pool_groups: self.pool_groups, groups: groups() };
        let pool_rules = pool_rules.read(subject, source, findings);
        let tls = self.tls(source, auth, before.and_then(|kept| kept.tls.as_ref()), findings);
        let selectors = self.tls_selectors(source, tls.as_ref(), before, findings);
        let warnings = findings.take_warnings();
        let unchanged = |kept: &&Arc<KeptService>| {
            kept.source == *whole
                && kept.is_made_of(pool.as_ref(), group.as_ref(), tls.as_ref())
                && kept.has_policies(policies.as_ref())
                && kept.has_scripts(scripts.as_ref())
                && both_or_neither(kept.object.tls_selectors.as_ref(), selectors.as_ref(), |one, other| one.are(other))
                && both_or_neither(kept.object.error_pages.as_ref(), error_pages.as_ref(), Arc::ptr_eq)
                && both_or_neither(kept.object.network_policy(), network.as_ref(), Arc::ptr_eq)
                && both_or_neither(kept.object.pool_rules.as_ref(), pool_rules.as_ref(), |one, other| one.are(other))
                && Some(kept.object.role) == role
                && kept.wishes.iter().flat_map(|wish| &wish.wanted).all(|wanted| wanted.is_current(&groups()))
        };
        if findings.errors.len() == found
            && let Some(kept) = before.filter(unchanged)
        {
            return Some(kept.with_warnings(warnings));
        }
        let application = application(subject, source, findings);
        let pools = pool.iter().chain(group.iter().flat_map(|group| &group.pools));
        let chosen = pool_rules.iter().flat_map(|rules| rules.destinations());
        let pools = pools.chain(chosen.flat_map(|to| Aim::from(to).pools()));
        let udp = udp::read(subject, source, pools, findings);
        let tcp = tcp(subject, source, findings);
        let gate = gate::read(subject, source, findings);
        let kept = before.map(|kept| content::Before { source: &kept.source, content: kept.object.content.as_deref() });
        let content = content::read(subject, source, kept, self.worker, findings);
        check_http2(subject, source, findings);
        let wishes = role::wishes(subject, source, &groups(), findings);
        let workers = self.worker.workers;
        let analytics = source.analytics.as_ref().map(|source| analytics::read(subject, source, workers, findings));
        if findings.errors.len() > found {
            return None;
        }
        let policies = policies.and_then(|parts| parts.into_policies(|limits| self.tally(source, limits)));
        let scripts = scripts.and_then(|parts| parts.into_scripts(self.worker, source));
        let counts_open = scripts.as_ref().is_some_and(|scripts| scripts.count_open());
        let want_headers = policies.as_ref().is_some_and(|policies| policies.rules.may_want_headers());
        let analytics = analytics.flatten().map(|analytics| Box::new(analytics.with_rules(want_headers)));
        let (application, content) = (application?, content?);
        let scripts_ask = scripts.as_ref().is_some_and(|scripts| scripts.ask_names);
        let names = NamesWanted::by(policies.as_deref(), content.as_ref(), scripts_ask);
        let tells_keepalive = matches!(&application, Application::Http(http) if http.told_timeout.is_some());
        let object = Arc::new(VirtualService {
            id: id.or(before.map(|kept| kept.object.id)).unwrap_or_else(|| self.ids.take()),
            uuid: source.uuid.clone(),
            name: source.name.clone(),
            application,
            role: role?,
            tcp: tcp?,
            udp: udp?,
            tls: tls.as_ref().map(|tls| tls.config.clone()),
            tls_http2: tls.as_ref().filter(|_| offers_http2(source)).map(|tls| tls.config.speaking(&HTTP2_OVER_TLS)),
            tls_selectors: selectors,
            is_steered: pool.as_ref().is_some_and(|pool| pool.own_cookie().is_some())
                || policies.is_some()
                || scripts.is_some()
                || group.is_some()
                || pool_rules.is_some()
                || content.is_some()
                || tells_keepalive,
            pool,
            group,
            pool_rules,
            error_pages,
            policies,
            scripts,
            names,
            content: content.map(Box::new),
            gate: Gate::of(
                gate?.counting(counts_open),
                network,
                |limits| self.tally(source, limits),
                |mbps| self.worker.tallies.bucket(&source.uuid, mbps),
            ),
            drains: source.duty() == v1::Duty::Drain,
            analytics,
        });
        let variants = Vec::new();
        Some(Arc::new(KeptService { source: whole.clone(), tls, wishes, warnings, object, variants }))
    }

    fn tally(&self, source: &v1::VirtualService, limits: Vec<Limit>) -> Tally {
        let engines = Engines { count: source.engines, seed: source.key_seed };
        self.worker.tallies.of(&source.uuid, engines, limits)
    }

    /// `None`: it cannot have the role that it is given, or its parent is unusable.
    fn role(&self, source: &v1::VirtualService, findings: &mut Findings) -> Option<Role> {
        let subject = subject(source);
        let Some(uuid) = reference(&source.parent_uuid) else { return role::without_parent(subject, source, findings) };
        let Some(parent) = self.services.find(uuid) else {
            findings.error(subject, "vh_parent_vs_ref", format!("there is no virtual service {uuid}"));
            return None;
        };
        parent.and_then(|parent| role::of_child(subject, source, &parent.object.as_parent(), findings))
    }

    fn pool(&self, source: &v1::VirtualService, findings: &mut Findings) -> Option<Arc<Pool>> {
        let uuid = reference(&source.pool_uuid)?;
        let Some(pool) = self.pools.find(uuid) else {
            findings.error(subject(source), "pool_ref", format!("there is no pool {uuid}"));
            return None;
        };
        pool.map(|kept| kept.object.clone())
    }

    fn group(&self, source: &v1::VirtualService, findings: &mut Findings) -> Option<Arc<PoolGroup>> {
        const FIELD: &str = "pool_group_ref";
        let uuid = reference(&source.pool_group_uuid)?;
        if !source.pool_uuid.is_empty() {
            findings.error(subject(source), FIELD, "cannot be beside a pool; remove one of them");
        }
        let Some(group) = self.pool_groups.find(uuid) else {
            findings.error(subject(source), FIELD, format!("there is no pool group {uuid}"));
            return None;
        };
        group.map(|kept| kept.object.clone())
    }

    fn error_pages(&self, source: &v1::VirtualService, findings: &mut Findings) -> Option<Arc<ErrorPages>> {
        let uuid = reference(&source.error_page_profile_uuid)?;
        let Some(pages) = self.error_pages.find(uuid) else {
            let message = format!("there is no error page profile {uuid}");
            findings.error(subject(source), "error_page_profile_ref", message);
            return None;
        };
        pages.map(|kept| kept.object.clone())
    }

    fn network_policy(&self, source: &v1::VirtualService, findings: &mut Findings) -> Option<Arc<NetworkPolicy>> {
        const FIELD: &str = "network_security_policy_ref";
        let uuid = reference(&source.network_policy_uuid)?;
        if !source.parent_uuid.is_empty() {
            let message = "is for who connects, and clients of a child connect to its parent; give it to the parent";
            findings.error(subject(source), FIELD, message);
        }
        let Some(policy) = self.network_policies.find(uuid) else {
            findings.error(subject(source), FIELD, format!("there is no network security policy {uuid}"));
            return None;
        };
        policy.map(|kept| kept.object.clone())
    }

    /// `None`: one of them cannot be used.
    fn policies(
        &self,
        source: &v1::VirtualService,
        identity: Option<Identity>,
        findings: &mut Findings,
    ) -> Option<Parts> {
        const FIELD: &str = "http_policies";
        let limits = policies::read_limits(subject(source), source, findings)?;
        let groups = Groups { strings: self.string_groups, addresses: self.address_groups };
        let tokens = tokens::read(subject(source), source, &groups, findings).ok()?;
        let mut parts = Parts { limits, identity, tokens, ..Parts::default() };
        if source.http.is_none() && !source.http_policy_set_uuids.is_empty() {
            findings.error(subject(source), FIELD, "are rules of HTTP, which this virtual service does not use");
            return None;
        }
        for (at, uuid) in source.http_policy_set_uuids.iter().enumerate() {
            let Some(set) = self.policy_sets.find(uuid) else {
                findings.error(
                    subject(source),
                    format!("{FIELD}[{at}]"),
                    format!("there is no HTTP policy set {uuid}"),
                );
                return None;
            };
            let set = set?;
            let mut destinations = Vec::new();
            for wanted in set.wanted.iter() {
                let (kind, uuid, found) = match wanted {
                    ChosenUuid::Pool(uuid) => {
                        let pool = self.pools.find(uuid);
                        ("pool", uuid, pool.map(|pool| pool.map(|kept| Destination::Pool(kept.object.clone()))))
                    }
                    ChosenUuid::Group(uuid) => {
                        let group = self.pool_groups.find(uuid);
                        let group = group.map(|group| group.map(|kept| Destination::Group(kept.object.clone())));
                        ("pool group", uuid, group)
                    }
                };
                let Some(found) = found else {
                    let name = &set.object.name;
                    let message = format!("a rule of {name} chooses the {kind} {uuid}, which is not there");
                    findings.error(subject(source), format!("{FIELD}[{at}]"), message);
                    return None;
                };
                destinations.push(found?);
            }
            parts.sets.push(set.object.clone());
            parts.destinations.push(destinations);
        }
        Some(parts)
    }
}

impl KeptService {
    /// The same with the warnings of today: some are about its parent.
    fn with_warnings(self: &Arc<Self>, warnings: Arc<[Finding]>) -> Arc<Self> {
        if self.warnings == warnings { self.clone() } else { Arc::new(Self { warnings, ..Self::clone(self) }) }
    }

    fn has_scripts(&self, parts: Option<&ScriptParts>) -> bool {
        match (&self.object.scripts, parts) {
            (None, Some(parts)) => parts.sets.is_empty(),
            (Some(scripts), Some(parts)) => scripts.is_made_of(parts),
            (_, None) => false,
        }
    }

    fn has_policies(&self, parts: Option<&Parts>) -> bool {
        match (&self.object.policies, parts) {
            (None, Some(parts)) => parts.is_empty(),
            (Some(policies), Some(parts)) => policies.is_made_of(parts),
            (_, None) => false,
        }
    }

    /// Whether children of the one could be children of the other.
    pub fn hosts_like(&self, other: &Self) -> bool {
        let traits = |kept: &Self| (kept.object.role, kept.object.http().is_some(), kept.object.tls.is_some());
        traits(self) == traits(other)
    }

    /// The addresses that it listens on.
    pub fn addresses(&self) -> impl Iterator<Item = TransportAddress> {
        self.source.listeners.iter().filter_map(|listener| {
            let (address, port) = (address::ip(&listener.address)?, address::port(listener.port)?);
            Some(TransportAddress { protocol: udp::protocol(listener)?, address: SocketAddr::new(address, port) })
        })
    }

    fn is_made_of(&self, pool: Option<&Arc<Pool>>, group: Option<&Arc<PoolGroup>>, tls: Option<&KeptTls>) -> bool {
        let config = tls.map(|kept| &kept.config);
        both_or_neither(self.object.pool.as_ref(), pool, Arc::ptr_eq)
            && both_or_neither(self.object.group.as_ref(), group, Arc::ptr_eq)
            && both_or_neither(self.object.tls.as_ref(), config, weir_tls::ServerConfig::is)
    }
}

/// What listeners offer by ALPN whose clients may speak HTTP/2, in order of preference.
pub(crate) const HTTP2_OVER_TLS: [&str; 2] = ["h2", "http/1.1"];

pub(crate) fn offers_http2(source: &v1::VirtualService) -> bool {
    match source.parent_uuid.is_empty() {
        true => source.listeners.iter().any(|listener| listener.tls && listener.http2),
        false => source.http.as_ref().is_some_and(|http| http.http2.is_some()),
    }
}

fn check_http2(service: Subject<'_>, source: &v1::VirtualService, findings: &mut Findings) {
    let profile = source.http.as_ref().and_then(|http| http.http2.as_ref());
    let Some(profile) = profile else {
        if let Some(listener) = source.listeners.iter().find(|listener| listener.http2) {
            let message = format!("port {} speaks HTTP/2, which needs a profile of HTTP/2", listener.port);
            findings.error(service, APPLICATION, message);
        }
        return;
    };
    let mut refuse = |field: &str, message: &str| {
        findings.error(service, format!("{APPLICATION}.http_profile.http2_profile.{field}"), message);
    };
    if profile.max_concurrent_streams == 0 {
        refuse(
            "max_http2_concurrent_streams_per_connection",
            "without streams there are no requests; choose 1 or more",
        );
    }
    if !(1..=WINDOW_MAX).contains(&profile.initial_window_bytes) {
        refuse("http2_initial_window_size", "a window has 1 to 2147483647 bytes");
    }
}

fn tcp(service: Subject<'_>, source: &v1::VirtualService, findings: &mut Findings) -> Option<Tcp> {
    if source.udp.is_some() {
        return Some(Tcp::default());
    }
    let Some(profile) = &source.tcp else {
        findings.error(service, "network_profile_ref", "has no network profile");
        return None;
    };
    let sources: Option<Vec<_>> = profile
        .proxy_protocol_sources
        .iter()
        .map(|source| {
            let subnet = Subnet::parse(source);
            if subnet.is_none() {
                let field = "network_profile_ref.profile.tcp_proxy_profile.weir_proxy_protocol_sources";
                findings.error(service, field, format!("{source:?} is not a subnet like 10.0.0.0/8"));
            }
            subnet
        })
        .collect();
    Some(Tcp {
        idle_timeout: (profile.idle_timeout_s > 0).then(|| Duration::from_secs(profile.idle_timeout_s.into())),
        keepalive_probes: profile.keepalive_probes,
        half_closed_probes: profile.keepalive_probes && !profile.close_half_closed,
        nagle: profile.nagle,
        proxy_protocol_sources: sources?,
    })
}

/// The ALPN protocols to offer: for HTTP those of the proxy, for layer 4 those that the operator lists.
pub(crate) fn protocols(source: &v1::VirtualService) -> Vec<String> {
    match &source.l4 {
        Some(profile) => profile.alpn_protocols.clone(),
        None => vec!["http/1.1".to_owned()],
    }
}

const APPLICATION: &str = "application_profile_ref";
/// The length of a protocol's name (RFC 7301 §3.1).
const ALPN_BYTES: RangeInclusive<usize> = 1..=255;
const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

fn application(service: Subject<'_>, source: &v1::VirtualService, findings: &mut Findings) -> Option<Application> {
    match (&source.http, &source.l4) {
        (Some(profile), None) => {
            let clients = source.client_certificates.iter().flat_map(|clients| &clients.headers);
            let own_fields = clients.map(|header| header.name.clone()).collect();
            http(service, profile, own_fields, findings).map(Application::Http)
        }
        (None, Some(profile)) => l4(service, profile, findings).map(Application::L4),
        (None, None) => {
            findings.error(service, APPLICATION, "has no application profile");
            None
        }
        (Some(_), Some(_)) => {
            findings.error(service, APPLICATION, "cannot be HTTP and layer 4 at once");
            None
        }
    }
}

fn http(
    service: Subject<'_>,
    profile: &v1::HttpProfile,
    own_fields: Vec<String>,
    findings: &mut Findings,
) -> Option<HttpProfile> {
    let Some(xff_update) = xff_update(profile.xff_update) else {
        findings.error(service, format!("{APPLICATION}.xff_update"), UNKNOWN);
        return None;
    };
    let Some(underscores) = underscores(profile.underscores) else {
        findings.error(service, format!("{APPLICATION}.http_profile.weir_underscores_in_header_names"), UNKNOWN);
        return None;
    };
    let settings = HttpSettings { underscores, own_fields, ..http_settings(profile, xff_update) };
    let compiled = HttpProfile::compile(&settings);
    compiled
        .map_err(|error| findings.error(service, format!("{APPLICATION}.{}", error.field()), error.to_string()))
        .ok()
}

fn l4(service: Subject<'_>, profile: &v1::L4Profile, findings: &mut Findings) -> Option<L4Profile> {
    let proxy_protocol = match v1::ProxyProtocol::try_from(profile.proxy_protocol) {
        Ok(v1::ProxyProtocol::None) => None,
        Ok(v1::ProxyProtocol::V1) => Some(ProxyProtocol::V1),
        Ok(v1::ProxyProtocol::V2) => Some(ProxyProtocol::V2),
        Err(_) => {
            findings.error(service, format!("{APPLICATION}.tcp_app_profile.proxy_protocol_version"), UNKNOWN);
            return None;
        }
    };
    if !profile.alpn_protocols.iter().all(|name| ALPN_BYTES.contains(&name.len())) {
        let message = format!("a protocol has {} to {} bytes", ALPN_BYTES.start(), ALPN_BYTES.end());
        findings.error(service, format!("{APPLICATION}.tcp_app_profile.weir_alpn_protocols"), message);
        return None;
    }
    Some(L4Profile { proxy_protocol })
}

fn xff_update(number: i32) -> Option<XffUpdate> {
    match v1::XffUpdate::try_from(number).ok()? {
        v1::XffUpdate::Replace => Some(XffUpdate::Replace),
        v1::XffUpdate::Append => Some(XffUpdate::Append),
        v1::XffUpdate::AddNew => Some(XffUpdate::AddNew),
    }
}

fn underscores(number: i32) -> Option<Underscores> {
    match v1::Underscores::try_from(number).ok()? {
        v1::Underscores::Pass => Some(Underscores::Pass),
        v1::Underscores::Drop => Some(Underscores::Drop),
        v1::Underscores::Refuse => Some(Underscores::Refuse),
    }
}

fn http_settings(profile: &v1::HttpProfile, xff_update: XffUpdate) -> HttpSettings {
    HttpSettings {
        connection_multiplexing: profile.connection_multiplexing,
        respond_with_100_continue: profile.respond_with_100_continue,
        post_accept_timeout_ms: profile.post_accept_timeout_ms,
        client_header_timeout_ms: profile.client_header_timeout_ms,
        client_body_timeout_ms: profile.client_body_timeout_ms,
        keepalive_timeout_ms: profile.keepalive_timeout_ms,
        max_keepalive_requests: profile.max_keepalive_requests,
        max_header_bytes: profile.max_header_bytes,
        max_request_head_bytes: profile.max_request_head_bytes,
        max_response_head_bytes: profile.max_response_head_bytes,
        max_header_count: profile.max_header_count,
        max_body_bytes: profile.max_body_bytes,
        xff: profile.xff,
        xff_name: profile.xff_name.clone(),
        xff_update,
        x_forwarded_proto: profile.x_forwarded_proto,
        http_to_https: profile.http_to_https,
        https_port: profile.https_port,
        server_side_redirect_to_https: profile.server_side_redirect_to_https,
        secure_cookies: profile.secure_cookies,
        httponly_cookies: profile.httponly_cookies,
        hsts: profile.hsts,
        hsts_max_age_s: profile.hsts_max_age_s,
        hsts_include_subdomains: profile.hsts_include_subdomains,
        detect_ntlm: profile.detect_ntlm,
        half_close_timeout_ms: profile.half_close_timeout_ms,
        request_buffer_bytes: profile.request_buffer_bytes,
        min_body_bytes_per_s: profile.min_body_bytes_per_s,
        reset_plain_on_tls: profile.reset_plain_on_tls,
        close_servers_on_error: profile.close_servers_on_error,
        tell_keepalive: profile.tell_keepalive,
        keepalive_of_servers: profile.keepalive_of_servers,
        http2: profile.http2.as_ref().map(|http2| Http2 {
            max_streams: http2.max_concurrent_streams,
            window_bytes: http2.initial_window_bytes,
            max_requests: http2.max_requests,
            control_frames: http2.max_control_frames,
            empty_frames: http2.max_empty_frames,
            field_bytes: http2.max_field_bytes,
        }),
        underscores: Underscores::default(),
        own_fields: Vec::new(),
        websockets: profile.websockets,
        host_to_servers: profile.host_to_servers.clone(),
        true_client: profile.true_client.as_ref().map(|client| TrueClient {
            name: client.name.clone(),
            index: client.index as usize,
            from_right: client.from_right,
        }),
    }
}
