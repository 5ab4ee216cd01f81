//! The contents of the snapshot of a valid Plan.

use std::{net::SocketAddr, time::Duration};

use weir_api::dataplane::v1::ServerTls;
use weir_balance::Algorithm;
use weir_snapshot::{FailAction, HashInput, Snapshot, Tcp, TransportAddress};
use weir_tls::ServerName;

use crate::plan::*;

fn tcp(text: &str) -> TransportAddress {
    TransportAddress::tcp(address(text))
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn listeners_lead_to_their_service() {
    let snapshot = built(&plan(), None);
    assert_eq!(snapshot.revision(), 7);
    let secure = snapshot.listener(tcp("192.0.2.10:443")).unwrap();
    let plain = snapshot.listener(tcp("192.0.2.10:80")).unwrap();
    assert_eq!((secure.tls, plain.tls), (true, false));
    assert!(std::sync::Arc::ptr_eq(&secure.service, &plain.service));
    assert_eq!(snapshot.listener(tcp("[2001:db8::1]:80")).unwrap().service.name, "intranet");
    assert!(snapshot.listener(tcp("192.0.2.10:81")).is_none());
    assert_eq!(snapshot.listeners().count(), 3);
}

#[test]
fn name_of_a_server_connection_is_fixed_or_the_hosts_or_the_servers() {
    let tls_of = |change: fn(&mut ServerTls)| {
        let mut plan = plan();
        change(plan.pools[1].server_tls.as_mut().unwrap());
        built(&plan, None).pool("pool-2").unwrap().tls.clone().unwrap()
    };
    let name = |text: &str| ServerName::parse(text).ok();
    let by_host = tls_of(|_| {});
    assert_eq!((by_host.fixed_name(), by_host.asked_name(Some(b"a.test:8443"))), (None, name("a.test")));
    let fixed = tls_of(|tls| tls.server_name = "b.test".to_owned());
    assert_eq!((fixed.fixed_name().cloned(), fixed.asked_name(Some(b"a.test"))), (name("b.test"), None));
    let unseen = tls_of(|tls| tls.sni = false);
    assert_eq!((unseen.fixed_name(), unseen.asked_name(Some(b"a.test"))), (None, None));
    let snapshot = built(&plan(), None);
    assert_eq!(snapshot.pool("pool-2").unwrap().servers[0].hostname, name("one.internal"));
}

#[test]
fn service_has_its_profiles_certificates_and_pool() {
    let snapshot = built(&plan(), None);
    let shop = snapshot.service("virtualservice-1").unwrap();
    assert!(shop.http().unwrap().connection_multiplexing && shop.tls.is_some());
    let ten_minutes = Some(Duration::from_secs(600));
    assert_eq!(
        shop.tcp,
        Tcp {
            idle_timeout: ten_minutes,
            keepalive_probes: true,
            half_closed_probes: true,
            nagle: false,
            proxy_protocol_sources: vec![]
        }
    );
    assert_eq!(shop.pool.as_ref().unwrap().name, "shop-pool");
    let intranet = snapshot.service("virtualservice-2").unwrap();
    assert!(intranet.tls.is_none());
    assert_eq!(intranet.tcp.idle_timeout, None);
    assert_ne!(shop.id, intranet.id);
}

#[test]
fn pool_has_its_servers_and_limits() {
    let snapshot = built(&plan(), None);
    let pool = snapshot.pool("pool-1").unwrap();
    assert_eq!(pool.servers[1].address, address("10.0.0.2:8080"));
    assert_eq!(pool.servers[1].name, "10.0.0.2:8080");
    assert_eq!((pool.balance.algorithm, pool.balance.monitored), (Algorithm::LeastConnections, true));
    assert_eq!(pool.balance.servers[1].id, pool.servers[1].id);
    assert_eq!(pool.balance.servers[1].max_connections, 25, "100 over 4 workers");
    assert_eq!(pool.timeouts.connect, Some(Duration::from_secs(2)));
    assert_eq!((pool.timeouts.response, pool.max_connection_reuse), (None, None));
    assert_eq!(pool.fail_action, FailAction::LocalResponse);
    let other = snapshot.pool("pool-2").unwrap();
    assert_eq!(other.hash_input, HashInput::Header("X-User".to_owned()));
    assert_eq!(other.fail_action, FailAction::CloseConnection);
}

#[test]
fn pool_has_its_algorithm_and_what_belongs_to_it() {
    use weir_api::dataplane::v1::Algorithm as Wanted;
    let algorithms = [
        (Wanted::Random, Algorithm::Random),
        (Wanted::FastestResponse, Algorithm::FastestResponse),
        (Wanted::LeastLoad, Algorithm::LeastLoad),
        (Wanted::FewestServers, Algorithm::FewestServers),
    ];
    for (wanted, algorithm) in algorithms {
        let mut plan = plan();
        plan.pools[0].algorithm = wanted.into();
        (plan.pools[0].ramp_ms, plan.pools[0].slow_ms) = (60_000, 250);
        let snapshot = built(&plan, None);
        let balance = &snapshot.pool("pool-1").unwrap().balance;
        assert_eq!((balance.algorithm, balance.ramp_ns, balance.slow_ns), (algorithm, 60_000_000_000, 250_000_000));
    }
}

#[test]
fn pool_has_what_binds_its_clients() {
    let mut plan = plan();
    plan.pools[0].persistence_header = "X-Tenant".to_owned();
    plan.pools[0].servers[0].header_value = "red".to_owned();
    (plan.pools[0].when_down, plan.pools[0].keeps_disabled) = (1, true);
    let snapshot = built(&plan, None);
    let pool = snapshot.pool("pool-1").unwrap();
    assert!(pool.persistence.is_some());
    let ties = weir_balance::Ties { when_down: weir_balance::WhenDown::Abort, keeps_disabled: true, by_key: false };
    assert_eq!(pool.balance.ties, ties);
}

#[test]
fn port_of_a_server_does_not_count_where_addresses_are_hashed() {
    let keys_of = |port: u32, hash_addresses| {
        let mut plan = plan();
        plan.pools[0].hash_addresses = hash_addresses;
        (plan.pools[0].servers[0].port, plan.pools[0].servers[0].id) = (port, format!("10.0.0.1:{port}"));
        built(&plan, None).pool("pool-1").unwrap().balance.servers[0].key
    };
    assert_eq!(keys_of(8080, true), keys_of(9090, true));
    assert_ne!(keys_of(8080, false), keys_of(9090, false));
}

#[test]
fn server_is_found_by_its_name_wherever_it_stands() {
    let mut plan = plan();
    plan.pools[0].servers.rotate_left(1);
    let snapshot = built(&plan, None);
    let pool = snapshot.pool("pool-1").unwrap();
    for (position, server) in pool.servers.iter().enumerate() {
        assert_eq!(pool.position(&server.name), Some(position));
    }
    assert_eq!(pool.position("10.0.0.99:80"), None);
    assert!(pool.servers_by_name().map(|server| &server.name).is_sorted());
}

#[test]
fn every_worker_may_connect_once_however_low_the_limit() {
    let mut plan = plan();
    plan.pools[0].servers[0].max_connections = 1;
    plan.pools[0].servers[1].max_connections = 0;
    let snapshot = built(&plan, None);
    let limits: Vec<_> = snapshot.pool("pool-1").unwrap().balance.servers.iter().map(|s| s.max_connections).collect();
    assert_eq!(limits, [1, 0, 25], "0 is no limit");
}

#[test]
fn ids_are_dense_and_no_two_servers_share_one() {
    let snapshot = built(&plan(), None);
    let mut servers: Vec<_> = snapshot.pools().flat_map(|pool| &pool.servers).map(|server| server.id).collect();
    servers.sort_unstable();
    assert_eq!(servers, [0, 1, 2, 3]);
}

#[test]
fn service_without_pool_and_pool_without_servers_are_accepted() {
    let mut plan = plan();
    plan.virtual_services[0].pool_uuid.clear();
    plan.pools[1].servers.clear();
    let snapshot = built(&plan, None);
    assert!(snapshot.service("virtualservice-1").unwrap().pool.is_none());
    assert!(snapshot.service("virtualservice-2").unwrap().pool.is_some());
}

#[test]
fn before_the_first_plan_nothing_is_served() {
    let snapshot = Snapshot::empty();
    assert_eq!((snapshot.revision(), snapshot.listeners().count(), snapshot.services().count()), (0, 0, 0));
}
