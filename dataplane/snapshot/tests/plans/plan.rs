//! A Plan with objects of every kind: two virtual services, two pools, two certificates, a PKI profile.

use weir_api::dataplane::v1::*;
use weir_snapshot::{Snapshot, Worker};

macro_rules! certificate {
    ($uuid:literal, $file:literal) => {
        Certificate {
            uuid: $uuid.to_owned(),
            name: $file.to_owned(),
            chain_der: vec![include_bytes!(concat!("../../../tls/testdata/", $file, ".crt.der")).to_vec()],
            key_pkcs8_der: include_bytes!(concat!("../../../tls/testdata/", $file, ".key.der")).to_vec(),
            ocsp_answer: None,
        }
    };
}

/// The uuid of the first virtual service.
pub const SHOP: &str = "virtualservice-1";

pub fn plan() -> Plan {
    Plan {
        revision: 7,
        virtual_services: vec![
            VirtualService {
                uuid: SHOP.to_owned(),
                name: "shop".to_owned(),
                listeners: vec![listener("192.0.2.10", 443, true), listener("192.0.2.10", 80, false)],
                pool_uuid: "pool-1".to_owned(),
                http: Some(http()),
                l4: None,
                tcp: Some(TcpProfile { idle_timeout_s: 600, keepalive_probes: true, ..Default::default() }),
                udp: None,
                tls: Some(tls()),
                certificate_uuids: vec!["certificate-1".to_owned(), "certificate-2".to_owned()],
                duty: Duty::Serve.into(),
                ..VirtualService::default()
            },
            VirtualService {
                uuid: "virtualservice-2".to_owned(),
                name: "intranet".to_owned(),
                listeners: vec![listener("2001:db8::1", 80, false)],
                pool_uuid: "pool-2".to_owned(),
                http: Some(http()),
                l4: None,
                tcp: Some(TcpProfile::default()),
                udp: None,
                tls: None,
                certificate_uuids: Vec::new(),
                duty: Duty::Serve.into(),
                ..VirtualService::default()
            },
        ],
        pools: vec![
            Pool {
                uuid: "pool-1".to_owned(),
                name: "shop-pool".to_owned(),
                algorithm: Algorithm::LeastConnections.into(),
                servers: vec![server("10.0.0.1", 8080), server("10.0.0.2", 8080), server("10.0.0.3", 8080)],
                monitored: true,
                connect_timeout_ms: 2000,
                idle_connection_timeout_ms: 60_000,
                fail_action: FailAction::LocalResponse.into(),
                ..Pool::default()
            },
            Pool {
                uuid: "pool-2".to_owned(),
                name: "intranet-pool".to_owned(),
                algorithm: Algorithm::ConsistentHash.into(),
                hash_input: HashInput::Header.into(),
                hash_header: "X-User".to_owned(),
                servers: vec![Server { hostname: "one.internal".to_owned(), ..server("10.0.1.1", 443) }],
                server_tls: Some(ServerTls {
                    profile: Some(tls()),
                    pki_profile_uuid: "pkiprofile-1".to_owned(),
                    certificate_uuid: "certificate-2".to_owned(),
                    sni: true,
                    ..ServerTls::default()
                }),
                ..Pool::default()
            },
        ],
        certificates: vec![certificate!("certificate-1", "default-ec"), certificate!("certificate-2", "shop-rsa")],
        pki_profiles: vec![PkiProfile {
            uuid: "pkiprofile-1".to_owned(),
            name: "internal".to_owned(),
            ca_certs_der: vec![include_bytes!("../../../tls/testdata/authority.crt.der").to_vec()],
            ..PkiProfile::default()
        }],
        ..Plan::default()
    }
}

pub fn listener(address: &str, port: u32, tls: bool) -> Listener {
    Listener { address: address.to_owned(), port, tls, ..Listener::default() }
}

pub fn server(address: &str, port: u32) -> Server {
    Server {
        id: format!("{address}:{port}"),
        address: address.to_owned(),
        port,
        ratio: 1,
        enabled: true,
        hostname: String::new(),
        max_connections: 100,
        ..Server::default()
    }
}

fn http() -> HttpProfile {
    HttpProfile {
        connection_multiplexing: true,
        post_accept_timeout_ms: 30_000,
        max_header_bytes: 12_288,
        max_request_head_bytes: 49_152,
        max_response_head_bytes: 49_152,
        max_header_count: 256,
        xff: true,
        xff_name: "X-Forwarded-For".to_owned(),
        ..HttpProfile::default()
    }
}

fn tls() -> TlsProfile {
    TlsProfile {
        uuid: "sslprofile-1".to_owned(),
        name: "System-Standard".to_owned(),
        versions: vec![TlsVersion::TlsVersion12.into()],
        cipher_suites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]
            .map(str::to_owned)
            .to_vec(),
        ..TlsProfile::default()
    }
}

pub fn worker() -> Worker {
    Worker::all(4, 0).swap_remove(0)
}

pub fn built(plan: &Plan, previous: Option<&Snapshot>) -> Snapshot {
    Snapshot::build(plan, previous, &worker()).unwrap().0
}
