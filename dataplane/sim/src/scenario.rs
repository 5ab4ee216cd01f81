//! What a seed determines: the Plan, the servers and their faults, the clients and their behaviour, and what changes
//! meanwhile.
//!
//! Half of the seeds are *calm*: peers are slow, odd and badly connected, but honest, and a server must answer each
//! request. In the others anything may break, and only what is always wrong is a violation.

use std::{
    net::{Ipv4Addr, SocketAddr},
    ops::Range,
    time::Duration,
};

use weir_api::dataplane::v1 as api;
use weir_proxy::io::Gone;

use crate::{
    client::{self, Manner, Promises, Request, RequestBody},
    crowd::crowd,
    link::{Appetite, Quality},
    malformed,
    network::Dial,
    rng::Rng,
    server::{Fault, Style, Temper},
    sessions, stream,
};

pub const PLAIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);
pub const SECURE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);

/// What comes here is carried on as it is, to the servers' other port.
pub const TUNNEL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 81);
pub const TUNNEL_SERVER_PORT: u16 = 9000;

pub struct Scenario {
    pub calm: bool,
    pub tls: bool,
    /// Servers are spoken to in TLS.
    pub server_tls: bool,
    /// Requests go to servers by HTTP/2, if these do not choose HTTP/1.1 in their TLS.
    pub http2: bool,
    /// Servers choose HTTP/2 in their TLS, where they are asked.
    pub http2_in_tls: bool,
    /// Servers are suspect by what new connections to them come to.
    pub watches: bool,
    pub promises: Promises,
    pub plan: api::Plan,
    pub servers: Vec<ServerPlan>,
    pub clients: Vec<ClientPlan>,
    /// Come from one address, and take what there is.
    pub crowd: Vec<ClientPlan>,
    /// Clients of the tunnel, and clients of HTTP that ask for one.
    pub streams: Vec<StreamPlan>,
    /// Whether servers end a tunnel only after they have seen the client's end. If both sides waited, neither would
    /// end.
    pub servers_wait: bool,
    pub changes: Vec<(Duration, Change)>,
}

pub struct StreamPlan {
    pub start: Duration,
    pub quality: Quality,
    pub plan: stream::Plan,
}

pub struct ServerPlan {
    pub address: SocketAddr,
    pub temper: Temper,
    /// The result of a connect; each time one of them.
    pub dials: Vec<Dial>,
    /// Meanwhile nothing comes back from a connect.
    pub silence: Range<Duration>,
}

impl ServerPlan {
    /// The result of a connect that is made this long after the beginning.
    pub fn dial(&self, rng: &mut Rng, at: Duration) -> Dial {
        if self.silence.contains(&at) { Dial::Ignored } else { rng.pick(&self.dials) }
    }
}

impl ServerPlan {
    fn is_sound(&self) -> bool {
        self.silence.is_empty() && matches!(self.dials[..], [Dial::Accepted])
    }
}

pub struct ClientPlan {
    pub start: Duration,
    pub listener: SocketAddr,
    /// Speaks TLS; a client of the secure listener that does not is a fault.
    pub tls: bool,
    pub quality: Quality,
    pub plan: client::Plan,
}

impl ClientPlan {
    /// The plan, for the client that starts; it starts once.
    pub fn take_plan(&mut self) -> client::Plan {
        let name = self.plan.name.clone();
        let manner = self.plan.manner.clone();
        let requests = std::mem::take(&mut self.plan.requests);
        client::Plan { name, requests, manner, ..self.plan }
    }
}

pub enum Change {
    Plan(Box<api::Plan>),
    ServerUp { server: usize, up: bool },
    Drain,
}

impl Scenario {
    /// `tls`: whether clients or servers use TLS. A handshake takes as much time as a hundred requests.
    pub fn of(rng: &mut Rng, tls: bool) -> Self {
        let calm = rng.chance(50);
        let keepalive = rng.chance(50);
        let mut servers: Vec<ServerPlan> = server_plans(rng, calm, keepalive);
        let mut plan = plan(rng, &servers, calm, tls);
        let half_close = plan.virtual_services[0].http.as_ref().is_some_and(|http| http.half_close_timeout_ms > 0);
        let promises =
            Promises { half_close, keepalive, reselect: reselect(rng.clone(), calm, &mut plan, &mut servers) };
        refuse(rng.clone(), calm, &mut servers);
        compress(rng.clone(), &mut plan);
        rewrite(rng.clone(), &mut plan);
        cache(rng.clone(), &mut plan);
        measure(rng.clone(), &mut plan);
        let server_tls = tls && rng.chance(50);
        if server_tls {
            let profile = Some(tls_profile(rng));
            let secured = api::ServerTls { profile, sni: true, ..Default::default() };
            plan.pools.iter_mut().for_each(|pool| pool.server_tls = Some(secured.clone()));
        }
        let watches = rng.chance(75);
        plan.pools.iter_mut().for_each(|pool| pool.inline_health = watches);
        let count = if tls { rng.between(1, 3) } else { rng.between(1, 8) };
        let mut ids = 1;
        let mut clients: Vec<_> = (0..count).map(|n| client_plan(rng, n, calm, tls, promises, &mut ids)).collect();
        let mut draws = rng.clone();
        let (http2, http2_in_tls) = (draws.chance(40), draws.chance(60));
        if http2 {
            plan.pools[0].http2 = Some(api::Http2ToServers { max_field_bytes: 16 * 1024, ..Default::default() });
        }
        let mut changes = changes(rng, calm, &plan, servers.len());
        group(rng.clone(), &mut plan, &mut changes);
        if !calm {
            withdraw(rng.clone(), &mut plan, &mut changes);
        }
        let servers_wait = rng.chance(50);
        let crowd = if !tls && rng.chance(5) { crowd(rng, calm, &mut ids) } else { vec![] };
        if calm && http2 && !crowd.is_empty() {
            // Where memory is short, little of a body is kept, so that its request cannot follow when a server leaves.
            servers.iter_mut().for_each(|server| server.temper.stays = true);
        }
        if calm && !crowd.is_empty() {
            // Each chunk that waits for its client counts. So does a client of many small ones, where memory is short.
            servers.iter_mut().for_each(|server| server.temper.chunk_bytes_min = 500);
        }
        // Where memory is short, a tunnel that carries a few bytes at a time goes with good reason.
        let streams = if crowd.is_empty() { rng.between(0, 3) } else { 0 };
        let mut streams: Vec<_> = (0..streams).map(|n| stream_plan(rng, n, calm, !servers_wait)).collect();
        // WebSocket goes to servers of HTTP/1.1.
        let sockets = if crowd.is_empty() && !http2 && rng.chance(40) { rng.between(1, 3) } else { 0 };
        streams.extend((0..sockets).map(|n| socket_plan(rng, 100 + n, calm, !servers_wait, &mut ids)));
        // A busy server's answer passes if the others are full, and what is malformed may be no GET.
        let sends = clients.iter().any(|client| matches!(client.plan.manner, Manner::Sends(..)));
        let may_queue = !calm || crowd.is_empty() && sockets == 0 && !promises.reselect && !sends;
        if may_queue && rng.clone().chance(30) {
            queue(rng.clone(), calm, (&mut plan, &mut changes), &mut clients);
        }
        sessions::bind(rng.clone(), plans(&mut changes).chain([&mut plan]));
        Self {
            calm,
            tls,
            server_tls,
            http2,
            http2_in_tls,
            watches,
            promises,
            plan,
            servers,
            clients,
            crowd,
            streams,
            servers_wait,
            changes,
        }
    }
}

impl Scenario {
    /// Whether each server takes whatever it gets, so that clients can stay with theirs.
    pub fn keeps_sessions(&self) -> bool {
        let takes_all = |server: &ServerPlan| {
            server.is_sound() && server.temper.busy_percent == 0 && server.temper.refuse_percent == 0
        };
        self.calm && self.servers.iter().all(takes_all)
    }

    /// Whether requests reach servers by HTTP/2.
    pub fn servers_speak_http2(&self) -> bool {
        self.http2 && (!self.server_tls || self.http2_in_tls)
    }
}

fn server_plans(rng: &mut Rng, calm: bool, keepalive: bool) -> Vec<ServerPlan> {
    let count = rng.between(1, 4);
    let mut sound = 0;
    (0..count)
        .map(|n| {
            // One retry less than the proxy has, so that no request of a calm run meets only these.
            let may_fail = n - sound < 2 && (sound > 0 || n + 1 < count);
            let broken = rng.chance(20) && may_fail;
            let falls_silent = rng.chance(20) && may_fail && !broken;
            let from = Duration::from_micros(rng.length(300_000));
            let until = from + Duration::from_micros(if falls_silent { rng.length(20_000_000) } else { 0 });
            sound += u64::from(!broken && !falls_silent);
            let dials = match (calm, broken) {
                (true, false) => vec![Dial::Accepted],
                (true, true) => vec![Dial::Failed(Gone::Refused), Dial::Ignored, Dial::Failed(Gone::Unreachable)],
                (false, _) => {
                    let odd = [Dial::Failed(Gone::Refused), Dial::Ignored, Dial::Failed(Gone::Local)];
                    let mut dials = vec![Dial::Accepted; 6];
                    dials.extend((0..rng.between(0, 3)).map(|_| rng.pick(&odd)));
                    dials
                }
            };
            ServerPlan { address: server_address(n), temper: temper(rng, calm, keepalive), dials, silence: from..until }
        })
        .collect()
}

/// Lets servers be busy in some scenarios, and the pool ask others then. Returns whether all requests without a body get
/// another answer: one server always takes them, and can always be reached. Draws from `rng` disturb nothing else.
fn reselect(mut rng: Rng, calm: bool, plan: &mut api::Plan, servers: &mut [ServerPlan]) -> bool {
    if servers.len() < 2 || !rng.chance(20) {
        return false;
    }
    let statuses = vec![api::StatusRange { first: 500, last: 599 }];
    plan.pools[0].reselect = Some(api::Reselect { statuses, max_retries: 4, ..Default::default() });
    let willing = servers.iter().position(ServerPlan::is_sound);
    for (n, server) in servers.iter_mut().enumerate() {
        server.temper.busy_percent = if willing == Some(n) { 0 } else { rng.pick(&[30, 100]) };
    }
    calm && willing.is_some()
}

/// Shares the servers of some scenarios out over two pools of a group, for requests and for tunnels. Draws from `rng`
/// disturb nothing else.
fn group(mut rng: Rng, plan: &mut api::Plan, changes: &mut [(Duration, Change)]) {
    // Another server after a response is one of the same pool.
    if plan.pools[0].servers.len() < 2 || plan.pools[0].reselect.is_some() || !rng.chance(30) {
        return;
    }
    let second = plan.pools.iter().flat_map(|pool| pool.servers.iter().skip(1).step_by(2));
    let second: Vec<_> = second.map(|server| server.id.clone()).collect();
    let (ratio, priority) = (rng.between(1, 3) as u32, rng.between(0, 1) as u32);
    for plan in plans(changes).chain([plan]) {
        part(plan, &second, (ratio, priority));
    }
}

fn part(plan: &mut api::Plan, second: &[String], (ratio, priority): (u32, u32)) {
    for pool in plan.pools.clone() {
        let mut other = api::Pool { uuid: format!("second {}", pool.uuid), ..pool.clone() };
        other.servers.retain(|server| second.contains(&server.id));
        let own = plan.pools.iter_mut().filter(|own| own.uuid == pool.uuid);
        own.for_each(|own| own.servers.retain(|server| !second.contains(&server.id)));
        let members = vec![
            api::GroupMember { pool_uuid: pool.uuid.clone(), ratio: 1, priority: 0 },
            api::GroupMember { pool_uuid: other.uuid.clone(), ratio, priority },
        ];
        let uuid = format!("group of {}", pool.uuid);
        for service in plan.virtual_services.iter_mut().filter(|service| service.pool_uuid == pool.uuid) {
            (service.pool_uuid, service.pool_group_uuid) = (String::new(), uuid.clone());
        }
        plan.pools.push(other);
        plan.pool_groups.push(api::PoolGroup { uuid, members, ..Default::default() });
    }
}

/// Lets servers of some calm scenarios refuse requests, if all of them can always be reached: a request that is refused
/// once must find one that takes it.
fn refuse(mut rng: Rng, calm: bool, servers: &mut [ServerPlan]) {
    if calm && servers.iter().all(ServerPlan::is_sound) && rng.chance(50) {
        servers.iter_mut().for_each(|server| server.temper.refuse_percent = 20);
    }
}

/// Has the responses of some scenarios compressed. Draws from `rng` disturb nothing else.
fn compress(mut rng: Rng, plan: &mut api::Plan) {
    if !rng.chance(40) {
        return;
    }
    let http = plan.virtual_services.iter_mut().filter_map(|service| service.http.as_mut());
    http.for_each(|http| {
        http.compression = Some(api::Compression {
            content_types: vec!["text/plain".into()],
            min_bytes: rng.pick(&[0, 100]),
            level_normal: rng.between(1, 9) as u32,
            level_aggressive: 1,
            remove_accept_encoding: rng.chance(50),
            ..Default::default()
        });
    });
}

/// Has texts in the responses of some scenarios replaced, by the same texts. Draws from `rng` disturb nothing else.
fn rewrite(mut rng: Rng, plan: &mut api::Plan) {
    // Not in the same as compression, nor as storing: in any combination.
    (0..2).for_each(|_| _ = rng.next());
    if !rng.chance(30) {
        return;
    }
    let pair =
        |text: &str| api::Replacement { search: text.to_owned(), replacement: text.to_owned(), ..Default::default() };
    let pairs = rng.pick(&[&["ab", "a", "bcd"][..], &["b"], &["abcdefgh", "cd"]]).iter().map(|text| pair(text));
    let mut rewrite = api::ContentRewrite { content_types: vec!["text/plain".into()], pairs: pairs.collect() };
    if rng.chance(50) {
        let found = api::ReplacementPart { part: Some(api::replacement_part::Part::Group(0)) };
        let (search, parts) = (rng.pick(&["a.*?f", "[b-e]+", "a[^h]*h|b"]).to_string(), vec![found]);
        rewrite.pairs.push(api::Replacement { search, is_expression: true, parts, ..Default::default() });
    }
    let http = plan.virtual_services.iter_mut().filter_map(|service| service.http.as_mut());
    http.for_each(|http| http.content_rewrite = Some(rewrite.clone()));
}

/// Has the responses of some scenarios stored. Draws from `rng` disturb nothing else.
fn cache(mut rng: Rng, plan: &mut api::Plan) {
    // Not in the same as compression: in any combination.
    rng.next();
    if !rng.chance(40) {
        return;
    }
    let http = plan.virtual_services.iter_mut().filter_map(|service| service.http.as_mut());
    http.for_each(|http| {
        http.cache = Some(api::Cache {
            max_bytes: rng.pick(&[1000, 1 << 20]),
            default_expire_s: 600,
            aggressive: true,
            age_field: true,
            date_field: rng.chance(50),
            ..Default::default()
        });
    });
}

/// Has some pools draw their servers, or look at times and bytes of answers. Draws from `rng` disturb nothing else.
fn measure(mut rng: Rng, plan: &mut api::Plan) {
    let algorithms = [
        api::Algorithm::Random,
        api::Algorithm::FastestResponse,
        api::Algorithm::LeastLoad,
        api::Algorithm::FewestServers,
        api::Algorithm::FewestTasks,
        api::Algorithm::CoreAffinity,
        api::Algorithm::RoundRobinOfEngine,
    ];
    if rng.chance(40) {
        let (algorithm, slow_ms) = (rng.pick(&algorithms), rng.pick(&[0, 5]));
        plan.pools.iter_mut().for_each(|pool| (pool.algorithm, pool.slow_ms) = (algorithm.into(), slow_ms));
    }
    plan.pools.iter_mut().for_each(|pool| pool.ramp_ms = rng.pick(&[0, 10, 60_000]));
}

/// The Plans that come later.
fn plans(changes: &mut [(Duration, Change)]) -> impl Iterator<Item = &mut api::Plan> {
    changes.iter_mut().filter_map(|(_, change)| match change {
        Change::Plan(plan) => Some(plan.as_mut()),
        _ => None,
    })
}

/// Lets servers have few connections, and requests wait for them. In calm scenarios all of them may wait, for long. Draws from
/// `rng` disturb nothing else.
fn queue(
    mut rng: Rng,
    calm: bool,
    (plan, changes): (&mut api::Plan, &mut [(Duration, Change)]),
    clients: &mut [ClientPlan],
) {
    let most = rng.between(1, 3) as u32;
    let depth = if calm { 1000 } else { rng.pick(&[0, 1, 3, 1000]) };
    for pool in
        plans(changes).chain([plan]).flat_map(|plan| &mut plan.pools).filter(|pool| !pool.uuid.contains("tunnel"))
    {
        pool.servers.iter_mut().for_each(|server| server.max_connections = most);
        pool.request_queue_depth = Some(depth);
        if calm {
            pool.response_timeout_ms = 600_000;
        }
    }
    if calm {
        for request in clients.iter_mut().flat_map(|client| &mut client.plan.requests) {
            (request.method, request.body, request.expect_continue) = ("GET", RequestBody::None, false);
        }
    }
}

/// Has Plans of some scenarios disable a server from some change on. Draws from `rng` disturb nothing else.
fn withdraw(mut rng: Rng, plan: &mut api::Plan, changes: &mut [(Duration, Change)]) {
    if !rng.chance(40) {
        return;
    }
    let grace_ms = rng.pick(&[Some(0), Some(20), Some(2_000), None]);
    let withdrawn = plan.pools[0].servers.first().map(|server| server.address.clone());
    let from = rng.between(0, 2) as usize;
    plan.pools.iter_mut().for_each(|pool| pool.disable_timeout_ms = grace_ms);
    for (number, (_, change)) in changes.iter_mut().enumerate() {
        let Change::Plan(plan) = change else { continue };
        for pool in &mut plan.pools {
            pool.disable_timeout_ms = grace_ms;
            let servers = pool.servers.iter_mut().filter(|server| Some(&server.address) == withdrawn.as_ref());
            servers.for_each(|server| server.enabled = number < from);
        }
    }
}

fn server_address(n: u64) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 1, 0, n as u8 + 1), 8000))
}

fn temper(rng: &mut Rng, calm: bool, keepalive: bool) -> Temper {
    let think_time_us = rng.pick(&[0, 200, 20_000]);
    if calm {
        let forever = Duration::from_secs(3600);
        let idle_time = if keepalive { forever } else { Duration::from_micros(rng.pick(&[1, 500, 20_000])) };
        return Temper {
            faults: vec![],
            fault_percent: 0,
            requests_max: u64::MAX,
            idle_time,
            think_time_us,
            refuse_percent: 0,
            stays: false,
            chunk_bytes_min: 1,
            busy_percent: 0,
        };
    }
    let faults = (0..rng.between(1, 3)).map(|_| rng.pick(&Fault::ALL)).collect();
    let fault_percent = rng.pick(&[0, 5, 30]);
    Temper {
        faults,
        fault_percent,
        refuse_percent: fault_percent / 2,
        stays: false,
        chunk_bytes_min: 1,
        busy_percent: 0,
        requests_max: rng.pick(&[1, 3, u64::MAX]),
        idle_time: Duration::from_micros(rng.pick(&[1, 500, 20_000, 3_600_000_000])),
        think_time_us,
    }
}

fn plan(rng: &mut Rng, servers: &[ServerPlan], calm: bool, tls: bool) -> api::Plan {
    let listener = |at: SocketAddr, tls| api::Listener {
        address: at.ip().to_string(),
        port: at.port().into(),
        tls,
        ..Default::default()
    };
    let mut main = api::VirtualService {
        uuid: "main".into(),
        name: "main".into(),
        listeners: vec![listener(PLAIN, false)],
        pool_uuid: "pool".into(),
        http: Some(http_profile(rng)),
        tcp: Some(api::TcpProfile { idle_timeout_s: 600, ..Default::default() }),
        ..Default::default()
    };
    let mut certificates = vec![];
    if tls {
        main.listeners.push(listener(SECURE, true));
        main.tls = Some(tls_profile(rng));
        main.certificate_uuids = vec!["certificate".into()];
        certificates.push(certificate());
    }
    let tunnel = api::VirtualService {
        uuid: "tunnel".into(),
        name: "tunnel".into(),
        listeners: vec![listener(TUNNEL, false)],
        pool_uuid: "tunnel pool".into(),
        l4: Some(api::L4Profile::default()),
        tcp: Some(api::TcpProfile { idle_timeout_s: if calm { 0 } else { 600 }, ..Default::default() }),
        ..Default::default()
    };
    api::Plan {
        revision: 1,
        virtual_services: vec![main, tunnel],
        pools: vec![pool(rng, servers, calm), tunnel_pool(servers)],
        certificates,
        ..api::Plan::default()
    }
}

fn tunnel_pool(servers: &[ServerPlan]) -> api::Pool {
    let server = |server: &ServerPlan| {
        let at = SocketAddr::new(server.address.ip(), TUNNEL_SERVER_PORT);
        api::Server { id: at.to_string(), port: at.port().into(), ..api_server(server) }
    };
    api::Pool {
        uuid: "tunnel pool".into(),
        name: "tunnel pool".into(),
        servers: servers.iter().map(server).collect(),
        connect_timeout_ms: 1_000,
        ..Default::default()
    }
}

fn http_profile(rng: &mut Rng) -> api::HttpProfile {
    api::HttpProfile {
        connection_multiplexing: rng.chance(75),
        respond_with_100_continue: rng.chance(50),
        post_accept_timeout_ms: 5_000,
        client_header_timeout_ms: 3_000,
        client_body_timeout_ms: 4_000,
        keepalive_timeout_ms: rng.pick(&[6_000, 60_000]),
        half_close_timeout_ms: rng.pick(&[0, 600_000]),
        detect_ntlm: rng.chance(50),
        request_buffer_bytes: rng.pick(&[0, 0, 3_000, 300_000]),
        max_keepalive_requests: rng.pick(&[0, 100, 2]),
        max_header_bytes: 12 * 1024,
        max_request_head_bytes: 48 * 1024,
        max_response_head_bytes: 48 * 1024,
        max_header_count: 64,
        max_body_bytes: malformed::BODY_BYTES_MAX,
        xff: true,
        xff_name: "X-Forwarded-For".into(),
        x_forwarded_proto: true,
        hsts: rng.chance(50),
        hsts_max_age_s: 1000,
        websockets: true,
        ..Default::default()
    }
}

fn pool(rng: &mut Rng, servers: &[ServerPlan], calm: bool) -> api::Pool {
    let algorithms = [api::Algorithm::LeastConnections, api::Algorithm::RoundRobin, api::Algorithm::ConsistentHash];
    api::Pool {
        uuid: "pool".into(),
        name: "pool".into(),
        algorithm: rng.pick(&algorithms) as i32,
        hash_input: api::HashInput::Uri as i32,
        servers: servers.iter().map(api_server).collect(),
        monitored: false,
        connect_timeout_ms: 1_000,
        response_timeout_ms: 5_000,
        idle_connection_timeout_ms: rng.pick(&[50, 30_000]),
        connection_lifetime_ms: rng.pick(&[0, 200]),
        max_connection_reuse: rng.pick(&[0, 3]),
        max_idle_connections: rng.pick(&[0, 1]),
        fail_action: if calm || rng.chance(70) {
            api::FailAction::LocalResponse
        } else {
            api::FailAction::CloseConnection
        } as i32,
        ..Default::default()
    }
}

fn api_server(server: &ServerPlan) -> api::Server {
    api::Server {
        id: server.address.to_string(),
        address: server.address.ip().to_string(),
        port: server.address.port().into(),
        ratio: 1,
        enabled: true,
        ..Default::default()
    }
}

pub const SUITES: [&str; 2] = ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"];

fn tls_profile(rng: &mut Rng) -> api::TlsProfile {
    let version = rng.pick(&[api::TlsVersion::TlsVersion12, api::TlsVersion::TlsVersion13]);
    api::TlsProfile {
        uuid: "tls".into(),
        name: "tls".into(),
        versions: vec![version as i32],
        cipher_suites: SUITES.map(String::from).to_vec(),
        session_resumption: rng.chance(50),
        send_close_notify: rng.chance(70),
        ticket_keys: Some(api::TicketKeys {
            keys: vec![vec![7; 80]],
            lifetime_s: 3600,
            until_unix_s: u64::MAX,
            keep_origin: true,
        }),
        ..Default::default()
    }
}

pub fn certificate() -> api::Certificate {
    api::Certificate {
        uuid: "certificate".into(),
        name: "certificate".into(),
        chain_der: vec![include_bytes!("../../tls/testdata/default-ec.crt.der").to_vec()],
        key_pkcs8_der: include_bytes!("../../tls/testdata/default-ec.key.der").to_vec(),
        ocsp_answer: None,
    }
}

fn client_plan(rng: &mut Rng, n: u64, calm: bool, tls: bool, promises: Promises, ids: &mut u64) -> ClientPlan {
    let name = format!("client {n}");
    let secure = tls && rng.chance(80);
    let tls = secure && rng.chance(85);
    let manner = match rng.chance(25) {
        // Where TLS is spoken, and not by this one.
        _ if secure && !tls => Manner::Sends(malformed::handshake(rng), vec![]),
        true => bad_manner(rng, ids),
        false => good_manner(rng),
    };
    let count = if matches!(manner, Manner::Sends(..)) { 0 } else { rng.between(1, 6) };
    let pipelined = rng.chance(30);
    let requests: Vec<Request> = (0..count).map(|_| request(rng, ids, pipelined)).collect();
    let pause_us = rng.pick(&[0, 0, 300, 5_000]);
    let quality = quality(rng, calm);
    let spread_us = rng.pick(&[10, 5_000, 200_000]);
    let start = Duration::from_micros(rng.between(0, spread_us));
    let listener = if secure { SECURE } else { PLAIN };
    let deaf = quality.appetite == Appetite::Never;
    let plan = client::Plan { name, requests, pipelined, manner, pause_us, deaf, calm, promises };
    ClientPlan { start, listener, tls, quality, plan }
}

fn stream_plan(rng: &mut Rng, n: u64, calm: bool, may_wait: bool) -> StreamPlan {
    let quality = quality(rng, calm);
    let start = Duration::from_micros(rng.length(200_000));
    let deaf = quality.appetite == Appetite::Never;
    let plan = stream::Plan::of_client(rng, format!("stream {n}"), n, deaf, calm, may_wait);
    StreamPlan { start, quality, plan }
}

/// A client that asks a server of HTTP to switch to WebSocket.
fn socket_plan(rng: &mut Rng, n: u64, calm: bool, may_wait: bool, ids: &mut u64) -> StreamPlan {
    *ids += 1;
    let mut socket = stream_plan(rng, n, calm, may_wait);
    socket.plan.name = format!("socket {n}");
    socket.plan.asks = Some(format!("/{ids}/0/socket"));
    socket
}

fn good_manner(rng: &mut Rng) -> Manner {
    if rng.chance(20) { Manner::HalfCloses } else { Manner::Polite }
}

fn bad_manner(rng: &mut Rng, ids: &mut u64) -> Manner {
    let after = Duration::from_micros(rng.length(1_000_000));
    match rng.between(0, 4) {
        0 => Manner::Resets(after),
        1 => Manner::Closes(after),
        2 => Manner::FallsSilent(rng.length(3_000) as usize),
        _ => {
            *ids += 1;
            let (bytes, statuses) = malformed::message(rng, *ids);
            Manner::Sends(bytes, statuses)
        }
    }
}

pub fn request(rng: &mut Rng, ids: &mut u64, pipelined: bool) -> Request {
    *ids += 1;
    let len = |rng: &mut Rng| rng.length(200_000) as usize;
    let body = match rng.between(0, 5) {
        0 => RequestBody::Length(len(rng)),
        1 => RequestBody::Chunked(len(rng)),
        _ => RequestBody::None,
    };
    let http10 = !pipelined && rng.chance(10) && !matches!(body, RequestBody::Chunked(_));
    let style = if rng.chance(50) { Style::Length } else { rng.pick(&Style::ALL).0 };
    Request {
        id: *ids,
        method: match body {
            RequestBody::None => rng.pick(&["GET", "GET", "GET", "HEAD", "DELETE"]),
            _ => rng.pick(&["POST", "PUT"]),
        },
        http10,
        response_bytes: len(rng),
        style,
        body,
        expect_continue: body != RequestBody::None && !http10 && rng.chance(25),
        close: rng.chance(10),
    }
}

pub fn quality(rng: &mut Rng, calm: bool) -> Quality {
    let appetite = match rng.between(0, 9) {
        0 => Appetite::Slowly { bytes: 3_000, every: Duration::from_micros(200) },
        1 if !calm => Appetite::Slowly { bytes: 100, every: Duration::from_millis(20) },
        2 if !calm => Appetite::Never,
        _ => Appetite::AtOnce,
    };
    Quality {
        latency: Duration::from_micros(rng.pick(&[5, 50, 500, 20_000])),
        shredded: rng.chance(10),
        window_bytes: rng.pick(&[500, 20_000, 1_000_000]),
        appetite,
    }
}

fn changes(rng: &mut Rng, calm: bool, plan: &api::Plan, servers: usize) -> Vec<(Duration, Change)> {
    let mut changes = Vec::new();
    let mut times: Vec<u64> = (0..rng.between(0, 4)).map(|_| rng.length(300_000)).collect();
    times.sort_unstable();
    for (revision, after_us) in (2..).zip(times) {
        let after = Duration::from_micros(after_us);
        let mut next = plan.clone();
        next.revision = revision;
        match rng.between(0, 4) {
            // Another virtual service is added or changed; no peer here may notice.
            0 | 1 => next.virtual_services.push(bystander(revision)),
            // So it is with one that changes a timeout.
            2 => next.pools[0].idle_connection_timeout_ms += 1,
            3 if !calm => next.virtual_services.clear(),
            3 => {}
            _ if calm => {}
            _ => {
                let server = rng.between(0, servers as u64 - 1) as usize;
                changes.push((after, Change::ServerUp { server, up: rng.chance(50) }));
                next.pools[0].servers.remove(server);
                next.pools[0].monitored = rng.chance(30);
            }
        }
        changes.push((after, Change::Plan(Box::new(next))));
    }
    if !calm && rng.chance(10) {
        changes.push((Duration::from_micros(rng.length(500_000)), Change::Drain));
    }
    changes
}

fn bystander(revision: u64) -> api::VirtualService {
    api::VirtualService {
        uuid: "bystander".into(),
        name: "bystander".into(),
        listeners: vec![api::Listener { address: "10.0.0.2".into(), port: 80, ..Default::default() }],
        http: Some(api::HttpProfile { max_keepalive_requests: revision as u32, ..Default::default() }),
        tcp: Some(api::TcpProfile::default()),
        ..Default::default()
    }
}
