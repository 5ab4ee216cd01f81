//! What the counted proxy serves: one virtual service as an operator would have it, eight servers, a listener each for
//! plain HTTP, TLS 1.2 and TLS 1.3, and one for TLS 1.2 on both sides.

use std::net::{Ipv4Addr, SocketAddr};

use weir_api::dataplane::v1 as api;

use crate::rules;

pub const SERVERS: u8 = 8;
pub const TLS12_SUITE: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";

/// Virtual services in a large Plan, beside those that are asked.
const OTHERS: u64 = 5000;

const PLAIN_POOL: &str = "pool";
const SECURE_POOL: &str = "secure pool";
const SECURE_PORT: u32 = 8443;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listener {
    Plain,
    Tls12,
    Tls13,
    /// Of clients with certificates of ECDSA.
    Tls13Mutual,
    /// Of those whose chains the proxy has to verify.
    Tls13MutualNew,
    /// Of those with certificates of RSA.
    Tls13MutualRsa,
    /// And to servers, too.
    Tls12Both,
    /// Plain, for HTTP/2.
    Http2,
    /// Plain, and each request leaves a record.
    Recorded,
    /// Plain, and each request is tried by a thousand rules.
    RulesByPath,
    /// The same, by rules that name parts of paths.
    RulesByPart,
    /// Plain, and a rule edits each request.
    Edited,
    /// Plain, and stored responses answer.
    Cached,
}

impl Listener {
    fn is_tls(self) -> bool {
        matches!(self, Self::Tls12 | Self::Tls13 | Self::Tls12Both) || self.is_mutual()
    }

    fn is_mutual(self) -> bool {
        matches!(self, Self::Tls13Mutual | Self::Tls13MutualNew | Self::Tls13MutualRsa)
    }

    /// The policies whose rules try its requests.
    fn policies(self) -> Vec<String> {
        let uuid = match self {
            Self::RulesByPath => rules::BY_HOST_AND_PATH,
            Self::RulesByPart => rules::BY_PARTS_OF_PATH,
            Self::Edited => rules::EDITS,
            _ => return Vec::new(),
        };
        vec![uuid.to_owned()]
    }

    pub fn address(self) -> SocketAddr {
        let port = match self {
            Self::Plain => 80,
            Self::Tls12 => 443,
            Self::Tls13 => 8443,
            Self::Tls13Mutual => 10443,
            Self::Tls13MutualRsa => 10444,
            Self::Tls13MutualNew => 10445,
            Self::Tls12Both => 9443,
            Self::Http2 => 8080,
            Self::Recorded => 8081,
            Self::RulesByPath => 8082,
            Self::RulesByPart => 8083,
            Self::Edited => 8084,
            Self::Cached => 8085,
        };
        (Ipv4Addr::new(10, 0, 0, 1), port).into()
    }
}

/// Of one virtual service.
pub fn plan(listener: Listener) -> api::Plan {
    api::Plan {
        revision: 1,
        virtual_services: vec![service(listener)],
        pools: vec![pool(PLAIN_POOL), secure_pool()],
        certificates: vec![certificate()],
        http_policy_sets: listener.policies().iter().map(|name| rules::set_of(name, PLAIN_POOL)).collect(),
        pki_profiles: vec![api::PkiProfile {
            uuid: "clients".to_owned(),
            ca_certs_der: vec![include_bytes!("../../../dataplane/tls/testdata/clients/root.crt.der").to_vec()],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// The same beside many others, each with a pool of its own.
pub fn with_others() -> api::Plan {
    let mut plan = plan(Listener::Plain);
    plan.virtual_services.extend((0..OTHERS).map(other));
    plan.pools.extend((0..OTHERS).map(|n| {
        let mut pool = pool(&format!("pool {n}"));
        pool.servers.truncate(4);
        pool
    }));
    plan
}

/// The change that comes behind a revision: one of the others gets another name.
pub fn renaming(revision: u64) -> api::PlanChange {
    let renamed = api::VirtualService { name: format!("at {revision}"), ..other(revision * 7 % OTHERS) };
    let changed = api::Plan { revision: revision + 1, virtual_services: vec![renamed], ..Default::default() };
    api::PlanChange { base_revision: revision, changed: Some(changed), removed: None }
}

fn other(n: u64) -> api::VirtualService {
    let address = Ipv4Addr::from_bits(Ipv4Addr::new(10, 64, 0, 0).to_bits() + n as u32);
    api::VirtualService {
        uuid: format!("service {n}"),
        listeners: vec![api::Listener { address: address.to_string(), port: 80, ..Default::default() }],
        pool_uuid: format!("pool {n}"),
        ..service(Listener::Plain)
    }
}

fn service(listener: Listener) -> api::VirtualService {
    let at = listener.address();
    let tls = listener.is_tls();
    let http2 = listener == Listener::Http2;
    api::VirtualService {
        uuid: format!("{listener:?}"),
        listeners: vec![api::Listener {
            address: at.ip().to_string(),
            port: at.port().into(),
            tls,
            http2,
            ..Default::default()
        }],
        pool_uuid: if listener == Listener::Tls12Both { SECURE_POOL } else { PLAIN_POOL }.to_owned(),
        http: Some(api::HttpProfile {
            http2: http2.then(http2_profile),
            cache: (listener == Listener::Cached).then(cache),
            ..http_profile()
        }),
        tcp: Some(api::TcpProfile { idle_timeout_s: 600, ..Default::default() }),
        tls: tls.then(|| tls_profile(listener)),
        analytics: (listener == Listener::Recorded).then(analytics),
        client_certificates: listener.is_mutual().then(|| api::ClientCertificates {
            mode: api::ClientCertificateMode::Require as i32,
            pki_profile_uuid: "clients".to_owned(),
            ..Default::default()
        }),
        certificate_uuids: if tls { vec!["certificate".to_owned()] } else { vec![] },
        http_policy_set_uuids: listener.policies(),
        ..Default::default()
    }
}

/// All is recorded, beside what is significant by Avi's defaults.
fn analytics() -> api::Analytics {
    api::Analytics {
        all_until_unix_s: u64::MAX,
        slow_total_ms: 2_000,
        slow_app_ms: 1_600,
        slow_client_rtt_ms: 1_000,
        slow_server_rtt_ms: 500,
        ..Default::default()
    }
}

/// What the controller makes of an application profile that says nothing but X-Forwarded-Proto.
fn http_profile() -> api::HttpProfile {
    api::HttpProfile {
        connection_multiplexing: true,
        respond_with_100_continue: true,
        post_accept_timeout_ms: 30_000,
        client_header_timeout_ms: 10_000,
        client_body_timeout_ms: 30_000,
        keepalive_timeout_ms: 30_000,
        max_header_bytes: 12 * 1024,
        max_request_head_bytes: 48 * 1024,
        max_response_head_bytes: 48 * 1024,
        max_header_count: 256,
        xff: true,
        xff_name: "X-Forwarded-For".to_owned(),
        x_forwarded_proto: true,
        ..Default::default()
    }
}

/// By Avi's defaults.
fn cache() -> api::Cache {
    api::Cache {
        min_bytes: 100,
        max_bytes: 4 << 20,
        default_expire_s: 600,
        age_field: true,
        date_field: true,
        x_cache_field: true,
        ..Default::default()
    }
}

fn http2_profile() -> api::Http2Profile {
    api::Http2Profile {
        max_concurrent_streams: 128,
        initial_window_bytes: 65_536,
        max_control_frames: 1000,
        max_empty_frames: 1000,
        max_field_bytes: 4096,
        ..Default::default()
    }
}

/// Every handshake is a full one, as in the bench.
fn tls_profile(listener: Listener) -> api::TlsProfile {
    let (version, suite) = match listener {
        Listener::Tls12 | Listener::Tls12Both => (api::TlsVersion::TlsVersion12, TLS12_SUITE),
        _ => (api::TlsVersion::TlsVersion13, "TLS_AES_128_GCM_SHA256"),
    };
    api::TlsProfile {
        uuid: "tls".to_owned(),
        name: "tls".to_owned(),
        versions: vec![version as i32],
        cipher_suites: vec![suite.to_owned()],
        send_close_notify: true,
        ..Default::default()
    }
}

/// Whether the server here is spoken to in TLS.
pub fn is_secure(server: SocketAddr) -> bool {
    u32::from(server.port()) == SECURE_PORT
}

fn secure_pool() -> api::Pool {
    let mut pool = pool(SECURE_POOL);
    pool.servers.iter_mut().for_each(|server| server.port = SECURE_PORT);
    let tls = api::ServerTls { profile: Some(tls_profile(Listener::Tls12)), sni: true, ..Default::default() };
    pool.server_tls = Some(tls);
    pool
}

fn pool(uuid: &str) -> api::Pool {
    let server = |n| api::Server {
        id: format!("server {n}"),
        address: format!("10.1.0.{n}"),
        port: 8000,
        ratio: 1,
        enabled: true,
        ..Default::default()
    };
    api::Pool {
        uuid: uuid.to_owned(),
        name: uuid.to_owned(),
        algorithm: api::Algorithm::LeastConnections as i32,
        servers: (1..=SERVERS).map(server).collect(),
        connect_timeout_ms: 2_000,
        response_timeout_ms: 60_000,
        idle_connection_timeout_ms: 60_000,
        fail_action: api::FailAction::LocalResponse as i32,
        ..Default::default()
    }
}

pub fn certificate() -> api::Certificate {
    api::Certificate {
        uuid: "certificate".to_owned(),
        name: "certificate".to_owned(),
        chain_der: vec![include_bytes!("../../../dataplane/tls/testdata/default-ec.crt.der").to_vec()],
        key_pkcs8_der: include_bytes!("../../../dataplane/tls/testdata/default-ec.key.der").to_vec(),
        ocsp_answer: None,
    }
}
