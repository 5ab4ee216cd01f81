//! A pool as a worker uses it, built from a pool of the Plan.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use foldhash::{HashSet, HashSetExt};
use weir_api::dataplane::v1;
use weir_balance::{Algorithm, Cores, HashKey, PoolSpec, SERVERS_MAX, ServerSpec, Tickets, Ties, WhenDown};
use weir_policy::{Named, Persistence, PersistenceSettings, is_host};
use weir_rules::Excess;
use weir_telemetry::record::Statuses;
use weir_tls::ServerName;

use crate::{
    ConnectRate, FailAction, Finding, Reselect, ServerTls, address, analytics,
    finding::{Findings, Subject},
    ids::Renumbering,
    kept::{both_or_neither, reference},
    server_tls::{KeptServerTls, ServerTlsReader},
    worker::Worker,
};

/// The streams that one connection to a server carries at most, whatever the server allows.
pub const STREAMS_MAX: u32 = 100;

/// The ALPN protocols that servers may choose between.
const PROTOCOLS: &[&str] = &["h2", "http/1.1"];

/// Of the longer addresses.
const ADDRESS_BITS: u8 = 128;
const NANOS_PER_MS: u64 = 1_000_000;

const RATIOS: std::ops::RangeInclusive<u32> = 1..=20;

#[derive(Debug)]
pub struct Pool {
    /// Stays the same in all snapshots. An index for tables of pools.
    pub id: u32,
    pub uuid: String,
    pub name: String,
    /// In the order of `balance.servers`, so a picked position is valid in both.
    pub servers: Vec<Server>,
    /// Positions in `servers`, sorted by the servers' names.
    by_name: Vec<u32>,
    pub balance: PoolSpec,
    pub hash_input: HashInput,
    pub timeouts: PoolTimeouts,
    /// The maximum of requests on one server connection; `None`: no limit.
    pub max_connection_reuse: Option<u32>,
    /// The maximum of idle connections to one server, on this worker; `None`: the operator sets no limit.
    pub max_idle_connections: Option<u32>,
    pub fail_action: FailAction,
    /// A group passes the pool over while fewer servers are up. At least 1.
    pub min_servers_up: usize,
    /// `None`: connections to servers are not encrypted.
    pub tls: Option<ServerTls>,
    /// `None`: the algorithm alone chooses the server of each request.
    pub persistence: Option<Persistence>,
    /// `None`: clients get the first response.
    pub reselect: Option<Reselect>,
    /// `None`: servers speak HTTP/1.1.
    pub http2: Option<Http2ToServers>,
    pub grace: Grace,
    /// Statuses that are no errors of its servers.
    pub not_errors: Statuses,
    /// Some servers have a [`Server::host`].
    pub has_hosts: bool,
    /// So many requests wait on this worker while servers have their maximum of connections; `None`: none wait.
    pub queue_depth: Option<usize>,
    /// `None`: connections to its servers may begin as often as they like.
    pub connect_rate: Option<ConnectRate>,
    /// Connections and sessions go to the port that their client has connected to.
    pub uses_service_port: bool,
    /// Those of clients without TLS are not encrypted, although it has TLS.
    pub tls_by_service: bool,
    /// Not every connection to a server suits every request: by its port, by whether it is encrypted, or by its TLS name.
    pub asks_for_reach: bool,
}

/// How long a server keeps what it has; `None`: until that ends.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Grace {
    /// After it was disabled or removed.
    pub disabled: Option<Duration>,
    /// After it went down.
    pub down: Option<Duration>,
}

/// HTTP/2 to the servers of a pool: with TLS if the server chooses it, without TLS always.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Http2ToServers {
    /// Control frames that a server may send at once; 0: no limit.
    pub control_frames: u32,
    /// The limit of one field of a response; `None`: that of the application profile.
    pub field_bytes: Option<usize>,
}

impl Pool {
    /// Whether a client that no server takes is sent elsewhere, by this pool or by its backup.
    pub fn may_redirect(&self) -> bool {
        let is_redirect = |rate: &ConnectRate| matches!(rate.excess, Excess::Redirect(_));
        matches!(self.fail_action, FailAction::Redirect(_) | FailAction::Backup(_))
            || self.connect_rate.as_ref().is_some_and(is_redirect)
    }

    /// Where a server has a session of UDP, whose client chose this port of the engine.
    pub fn address_at(&self, server: SocketAddr, port: u16) -> SocketAddr {
        if self.uses_service_port { SocketAddr::new(server.ip(), port) } else { server }
    }

    pub fn servers_by_name(&self) -> impl Iterator<Item = &Server> {
        self.by_name.iter().map(|position| &self.servers[*position as usize])
    }

    /// A server by its id. `position`: where it was in this pool, or in another version of it.
    pub fn server(&self, id: u32, position: u32) -> Option<&Server> {
        let there = self.servers.get(position as usize).filter(|server| server.id == id);
        there.or_else(|| self.servers.iter().find(|server| server.id == id))
    }

    /// The position of a server.
    pub fn position(&self, server_name: &str) -> Option<usize> {
        let name = |position: &u32| self.servers[*position as usize].name.as_str();
        let found = self.by_name.binary_search_by(|position| name(position).cmp(server_name)).ok()?;
        Some(self.by_name[found] as usize)
    }

    /// Whether a connection to a server made for one of the pools suits the other, if the server has the same host in both.
    pub fn speaks_like(&self, other: &Self) -> bool {
        both_or_neither(self.tls.as_ref(), other.tls.as_ref(), ServerTls::is)
            && self.http2.is_some() == other.http2.is_some()
    }

    /// Whether requests to a server have the same host by both versions of the pool.
    #[inline]
    pub fn has_same_host(&self, other: &Self, id: u32, position: u32) -> bool {
        !(self.has_hosts | other.has_hosts) || std::ptr::eq(self, other) || self.has_host_of(other, id, position)
    }

    #[cold]
    #[inline(never)]
    fn has_host_of(&self, other: &Self, id: u32, position: u32) -> bool {
        let Some(server) = self.server(id, position) else { return false };
        let its_position = other.position(&server.name).map_or(position, |position| position as u32);
        other.server(id, its_position).is_some_and(|its| its.host == server.host)
    }

    /// Whether a request that was written for servers of the one may go to those of the other.
    pub fn takes_requests_of(&self, other: &Self) -> bool {
        let asks_name = |pool: &Self| pool.tls.as_ref().is_some_and(ServerTls::asks_name);
        let names_scheme = |pool: &Self| pool.http2.is_some().then(|| pool.tls.is_some());
        let by_service = |pool: &Self| (pool.uses_service_port, pool.tls_by_service);
        names_scheme(self) == names_scheme(other)
            && by_service(self) == by_service(other)
            && asks_name(self) == asks_name(other)
            && self.own_cookie() == other.own_cookie()
    }

    /// Whether a request whose head was written for another pool can go to this one, if its server is asked for the right name.
    /// `None`: it was written for none. A written head does not show any more which servers its cookies named.
    pub fn takes_head_for(&self, other: Option<&Self>) -> bool {
        let scheme = |pool: &Self| pool.http2.is_some().then(|| pool.tls.is_some());
        other.and_then(scheme) == scheme(self)
            && [Some(self), other].into_iter().flatten().all(|pool| pool.own_cookie().is_none())
    }

    /// The cookie that servers set and engines prefix.
    #[inline]
    pub fn own_cookie(&self) -> Option<&[u8]> {
        self.persistence.as_ref()?.own_cookie()
    }
}

#[derive(Debug)]
pub struct Server {
    /// Stays the same in all snapshots. Unique over all pools. Telemetry counts by it.
    pub id: u32,
    /// The name for the operator and the agent, unique in its pool: "10.0.0.1:80".
    pub name: String,
    pub address: SocketAddr,
    /// The TLS name, unless the pool or a request gives another; `None` in a pool without TLS, or if the server has no
    /// name.
    pub hostname: Option<ServerName>,
    /// The maximum of connections on this worker; `None`: no limit.
    pub max_connections: Option<u32>,
    /// What requests to it have as Host; `None`: what they have already.
    pub host: Option<Box<[u8]>>,
}

/// The input of the hash, for [`weir_balance::Algorithm::ConsistentHash`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HashInput {
    /// So many first bits of it.
    SourceAddress(u8),
    SourceAddressAndPort,
    Uri,
    /// The header field of this name.
    Header(String),
    /// The address that the first handshake of the client's session of TLS came from.
    TlsSession,
}

/// `None`: no limit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolTimeouts {
    pub connect: Option<Duration>,
    /// From the last byte of the request to the next byte of the response.
    pub response: Option<Duration>,
    pub idle_connection: Option<Duration>,
    pub connection_lifetime: Option<Duration>,
}

/// A pool and its sources.
#[derive(Debug)]
pub(crate) struct KeptPool {
    pub source: Arc<v1::Pool>,
    tls: Option<KeptServerTls>,
    pub warnings: Arc<[Finding]>,
    pub object: Arc<Pool>,
}

/// What all pools of one snapshot are read with.
pub(crate) struct PoolReader<'s> {
    pub pool_ids: &'s mut Renumbering,
    pub server_ids: &'s mut Renumbering,
    pub worker: &'s Worker,
    pub tls: ServerTlsReader<'s>,
}

pub(crate) fn subject(source: &v1::Pool) -> Subject<'_> {
    Subject { kind: "pool", uuid: &source.uuid, name: &source.name }
}

impl PoolReader<'_> {
    /// `None` if the pool is unusable; the findings give the reasons.
    pub fn read(
        &mut self,
        source: &Arc<v1::Pool>,
        before: Option<&Arc<KeptPool>>,
        findings: &mut Findings,
    ) -> Option<Arc<KeptPool>> {
        let subject = subject(source);
        let found = findings.errors.len();
        let tls_before = before.and_then(|kept| kept.tls.as_ref());
        let wanted = source.server_tls.as_ref();
        let protocols = if source.http2.is_some() { PROTOCOLS } else { &[] };
        let tls = wanted.and_then(|source| self.tls.read(subject, source, protocols, tls_before, findings));
        let warnings = findings.take_warnings();
        if let Some(kept) = before.filter(|kept| kept.source == *source && kept.is_made_of(tls.as_ref())) {
            return Some(kept.clone());
        }
        check_tls_by_service(source, subject, findings);
        let algorithm = algorithm(source, subject, findings);
        let hash_input = hash_input(source, subject, findings);
        let fail_action = FailAction::of_pool(source, subject, findings);
        let servers = self.servers(source, before.map(|kept| kept.object.as_ref()), findings);
        let ties = ties(source, subject, findings);
        let persistence = persistence(source, &servers, subject, findings);
        let reselect = source.reselect.as_ref().and_then(|source| Reselect::read(source, subject, findings));
        let not_errors = analytics::statuses(subject, &source.not_errors, findings);
        let names = servers.iter().map(|server| server.name.as_str());
        let connect_rate = source.connect_rate.as_ref();
        let connect_rate = connect_rate
            .and_then(|rate| ConnectRate::read(rate, (subject, &source.uuid), names, &self.worker.tallies, findings));
        let specs = self.specs(source, &servers);
        if findings.errors.len() > found {
            return None;
        }
        let pool = Pool {
            id: before.map_or_else(|| self.pool_ids.take_index(), |kept| kept.object.id),
            uuid: source.uuid.clone(),
            name: source.name.clone(),
            by_name: in_order_of_names(&servers),
            has_hosts: servers.iter().any(|server| server.host.is_some()),
            servers,
            balance: PoolSpec {
                algorithm: algorithm?,
                servers: specs,
                monitored: source.monitored,
                watches: source.inline_health,
                offset: self.worker.offset,
                ramp_ns: u64::from(source.ramp_ms) * NANOS_PER_MS,
                slow_ns: u64::from(source.slow_ms) * NANOS_PER_MS,
                ties: ties?,
                cores: Cores {
                    worker: self.worker.index,
                    workers: self.worker.workers,
                    nonaffinity: source.core_nonaffinity,
                },
                tickets: self.tickets(source, algorithm),
            },
            hash_input: hash_input?,
            timeouts: timeouts(source),
            max_connection_reuse: limit(source.max_connection_reuse),
            max_idle_connections: limit(source.max_idle_connections),
            fail_action: fail_action?,
            min_servers_up: source.min_servers_up.max(1) as usize,
            tls: tls.as_ref().map(|kept| kept.object.clone()),
            persistence,
            reselect,
            http2: source.http2.as_ref().map(|http2| Http2ToServers {
                control_frames: http2.max_control_frames,
                field_bytes: limit(http2.max_field_bytes).map(|bytes| bytes as usize),
            }),
            grace: Grace {
                disabled: source.disable_timeout_ms.map(|ms| Duration::from_millis(ms.into())),
                down: source.down_timeout_ms.map(|ms| Duration::from_millis(ms.into())),
            },
            not_errors,
            connect_rate,
            uses_service_port: source.use_service_port,
            tls_by_service: source.tls_by_service,
            asks_for_reach: source.use_service_port || tls.as_ref().is_some_and(|kept| kept.object.asks_name()),
            queue_depth: source.request_queue_depth.map(|depth| self.share(depth) as usize),
        };
        Some(Arc::new(KeptPool { source: source.clone(), tls, warnings, object: Arc::new(pool) }))
    }

    fn servers(&mut self, source: &v1::Pool, before: Option<&Pool>, findings: &mut Findings) -> Vec<Server> {
        let pool = subject(source);
        if source.servers.len() > SERVERS_MAX {
            let len = source.servers.len();
            findings.error(
                pool,
                "servers",
                format!("{len} servers, at most {SERVERS_MAX} are possible; split the pool"),
            );
            return Vec::new();
        }
        let mut names = HashSet::new();
        let servers = source.servers.iter().enumerate();
        servers
            .filter_map(|(position, server)| {
                check_server(pool, position, server, findings);
                if !names.insert(server.id.as_str()) {
                    let message = format!("server {:?} is in the pool twice; remove one", server.id);
                    findings.error(pool, format!("servers[{position}]"), message);
                }
                let address = server_address(pool, position, server, findings)?;
                let known = before.and_then(|before| Some(before.servers[before.position(&server.id)?].id));
                let id = known.unwrap_or_else(|| self.server_ids.take());
                let hostname = source.server_tls.as_ref().and_then(|_| ServerName::parse(&server.hostname).ok());
                let max_connections = limit(self.share(server.max_connections));
                let host = (!server.host.is_empty()).then(|| server.host.as_bytes().into());
                Some(Server { id, name: server.id.clone(), address, hostname, max_connections, host })
            })
            .collect()
    }

    /// Limits on connections apply to the engine, so each worker gets its share, and at least one.
    fn share(&self, connections: u32) -> u32 {
        connections.div_ceil(self.worker.workers.max(1))
    }

    fn tickets(&self, source: &v1::Pool, algorithm: Option<Algorithm>) -> Tickets {
        match algorithm {
            Some(Algorithm::RoundRobinOfEngine) => self.worker.tickets.of(&source.uuid),
            _ => Tickets::default(),
        }
    }

    /// The balancer counts requests. Where a connection carries many of them, the limit of connections is the proxy's.
    fn specs(&self, source: &v1::Pool, servers: &[Server]) -> Vec<ServerSpec> {
        let (is_shared, hashes_addresses) = (source.http2.is_some(), source.hash_addresses);
        let spec = |(server, source): (&Server, &v1::Server)| ServerSpec {
            id: server.id,
            key: match hashes_addresses {
                true => HashKey::of(source.address.as_bytes()),
                false => HashKey::of(server.name.as_bytes()),
            },
            ratio: source.ratio,
            enabled: source.enabled,
            max_connections: if is_shared { 0 } else { self.share(source.max_connections) },
        };
        servers.iter().zip(&source.servers).map(spec).collect()
    }
}

impl KeptPool {
    /// The uuid of the certificate of the pool's TLS.
    pub fn certificate(&self) -> Option<&str> {
        self.source.server_tls.as_ref().and_then(|tls| reference(&tls.certificate_uuid))
    }

    /// The uuid of the pool that takes its requests when no server does.
    pub fn backup(&self) -> Option<&str> {
        self.object.fail_action.backup()
    }

    /// The uuid of the PKI profile of the pool's TLS.
    pub fn pki_profile(&self) -> Option<&str> {
        self.source.server_tls.as_ref().and_then(|tls| reference(&tls.pki_profile_uuid))
    }

    fn is_made_of(&self, tls: Option<&KeptServerTls>) -> bool {
        both_or_neither(self.object.tls.as_ref(), tls.map(|kept| &kept.object), ServerTls::is)
    }
}

fn in_order_of_names(servers: &[Server]) -> Vec<u32> {
    let mut positions: Vec<_> = (0..servers.len() as u32).collect();
    positions.sort_unstable_by_key(|position| &servers[*position as usize].name);
    positions
}

fn check_server(pool: Subject<'_>, position: usize, server: &v1::Server, findings: &mut Findings) {
    if server.id.is_empty() {
        findings.error(pool, format!("servers[{position}]"), "a server has no name");
    }
    if !is_host(server.host.as_bytes()) {
        let message = format!("server {:?}: {:?} is no host", server.id, server.host);
        findings.error(pool, format!("servers[{position}].host"), message);
    }
    if !RATIOS.contains(&server.ratio) {
        let message = format!(
            "server {:?}: ratio is {}, must be {} to {}",
            server.id,
            server.ratio,
            RATIOS.start(),
            RATIOS.end()
        );
        findings.error(pool, format!("servers[{position}].ratio"), message);
    }
}

fn server_address(
    pool: Subject<'_>,
    position: usize,
    server: &v1::Server,
    findings: &mut Findings,
) -> Option<SocketAddr> {
    let mut refuse = |field: &str, why: String| {
        findings.error(pool, format!("servers[{position}].{field}"), format!("server {:?}: {why}", server.id));
    };
    let address = address::ip(&server.address).filter(|address: &IpAddr| !address.is_unspecified());
    if address.is_none() {
        refuse("ip", format!("{:?} is not the IP address of a server", server.address));
    }
    let port = address::port(server.port);
    if port.is_none() {
        refuse("port", format!("{} is not a port; choose 1 to 65535", server.port));
    }
    Some(SocketAddr::new(address?, port?))
}

fn persistence(
    source: &v1::Pool,
    servers: &[Server],
    pool: Subject<'_>,
    findings: &mut Findings,
) -> Option<Persistence> {
    if !source.persistence_header.is_empty() {
        let values =
            servers.iter().zip(&source.servers).map(|(server, source)| (server.id, source.header_value.as_str()));
        let compiled = Persistence::by_field(&source.persistence_header, values);
        if compiled.is_none() {
            let message = format!("{:?} is not the name of a header field", source.persistence_header);
            findings.error(pool, "application_persistence_profile_ref", message);
        }
        return compiled;
    }
    let wanted = source.persistence.as_ref()?;
    let settings = PersistenceSettings {
        cookie_name: wanted.cookie_name.clone(),
        always: wanted.always,
        http_only: wanted.http_only,
        max_age_s: wanted.max_age_s,
        timeout_s: wanted.timeout_s,
        seal_keys: wanted.seal_keys.clone(),
    };
    let named = servers.iter().zip(&source.servers).map(|(server, source)| Named {
        server: server.id,
        token: &source.token,
        others: &source.other_tokens,
    });
    let compiled = match wanted.prefixes {
        true => Persistence::by_own_cookie(&settings.cookie_name, named),
        false => Persistence::compile(&settings, named),
    };
    if compiled.is_none() {
        let message = format!("cannot set a cookie {:?}; choose a name of letters and digits", settings.cookie_name);
        findings.error(pool, "application_persistence_profile_ref", message);
    }
    compiled
}

/// Of an address, which may be of IPv4 or IPv6.
pub(crate) fn bits(wanted: Option<u32>) -> u8 {
    wanted.map_or(ADDRESS_BITS, |bits| bits.min(ADDRESS_BITS.into()) as u8)
}

fn check_tls_by_service(source: &v1::Pool, subject: Subject<'_>, findings: &mut Findings) {
    let needs = match () {
        () if !source.tls_by_service => return,
        () if !source.use_service_port => "use_service_port",
        () if source.server_tls.is_none() => "ssl_profile_ref",
        // Requests of HTTP/2 say by what they come.
        () if source.http2.is_some() => "no enable_http2",
        () => return,
    };
    findings.error(subject, "use_service_ssl_mode", format!("needs {needs}"));
}

fn ties(source: &v1::Pool, pool: Subject<'_>, findings: &mut Findings) -> Option<Ties> {
    let when_down = match v1::WhenServerDown::try_from(source.when_down) {
        Ok(v1::WhenServerDown::Another) => WhenDown::Another,
        Ok(v1::WhenServerDown::Abort) => WhenDown::Abort,
        Ok(v1::WhenServerDown::Continue) => WhenDown::Continue,
        Err(_) => {
            let message = "server_hm_down_recovery is unknown to this engine; upgrade the engine";
            findings.error(pool, "application_persistence_profile_ref", message);
            return None;
        }
    };
    let keeps_disabled = source.keeps_disabled;
    let names_servers = source.persistence.is_some() || !source.persistence_header.is_empty();
    let binds = keeps_disabled || when_down != WhenDown::Another || source.waits_for_hashed;
    let by_key = !names_servers && binds;
    Some(Ties { when_down, keeps_disabled, by_key })
}

fn algorithm(source: &v1::Pool, pool: Subject<'_>, findings: &mut Findings) -> Option<Algorithm> {
    let newer = v1::Algorithm::try_from(source.newer_algorithm).ok().filter(|newer| *newer != v1::Algorithm::default());
    match newer.map_or_else(|| v1::Algorithm::try_from(source.algorithm), Ok) {
        Ok(v1::Algorithm::LeastConnections) => Some(Algorithm::LeastConnections),
        Ok(v1::Algorithm::RoundRobin) => Some(Algorithm::RoundRobin),
        Ok(v1::Algorithm::ConsistentHash) => Some(Algorithm::ConsistentHash),
        Ok(v1::Algorithm::Random) => Some(Algorithm::Random),
        Ok(v1::Algorithm::FastestResponse) => Some(Algorithm::FastestResponse),
        Ok(v1::Algorithm::LeastLoad) => Some(Algorithm::LeastLoad),
        Ok(v1::Algorithm::FewestServers) => Some(Algorithm::FewestServers),
        Ok(v1::Algorithm::FewestTasks) => Some(Algorithm::FewestTasks),
        Ok(v1::Algorithm::CoreAffinity) => Some(Algorithm::CoreAffinity),
        Ok(v1::Algorithm::RoundRobinOfEngine) => Some(Algorithm::RoundRobinOfEngine),
        Err(_) => {
            findings.error(pool, "lb_algorithm", "is unknown to this engine; upgrade the engine");
            None
        }
    }
}

fn hash_input(source: &v1::Pool, pool: Subject<'_>, findings: &mut Findings) -> Option<HashInput> {
    match v1::HashInput::try_from(source.hash_input) {
        Ok(v1::HashInput::SourceAddress) if source.hashes_tls_session => Some(HashInput::TlsSession),
        Ok(v1::HashInput::SourceAddress) => Some(HashInput::SourceAddress(bits(source.hashed_bits))),
        Ok(v1::HashInput::SourceAddressAndPort) => Some(HashInput::SourceAddressAndPort),
        Ok(v1::HashInput::Uri) => Some(HashInput::Uri),
        Ok(v1::HashInput::TlsSession) => Some(HashInput::TlsSession),
        Ok(v1::HashInput::Header) if weir_wire::head::is_token(source.hash_header.as_bytes()) => {
            Some(HashInput::Header(source.hash_header.clone()))
        }
        Ok(v1::HashInput::Header) => {
            let message = format!("{:?} is not the name of a header field", source.hash_header);
            findings.error(pool, "lb_algorithm_consistent_hash_hdr", message);
            None
        }
        Err(_) => {
            findings.error(pool, "lb_algorithm_hash", "is unknown to this engine; upgrade the engine");
            None
        }
    }
}

fn timeouts(source: &v1::Pool) -> PoolTimeouts {
    let span = |ms: u32| limit(ms).map(|ms| Duration::from_millis(ms.into()));
    PoolTimeouts {
        connect: span(source.connect_timeout_ms),
        response: span(source.response_timeout_ms),
        idle_connection: span(source.idle_connection_timeout_ms),
        connection_lifetime: span(source.connection_lifetime_ms),
    }
}

/// The wire format uses 0 for "no limit".
fn limit(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}
