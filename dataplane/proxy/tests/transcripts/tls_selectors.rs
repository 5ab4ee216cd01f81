//! SSL profiles for some clients, by where they come from.

use weir_api::dataplane::v1::{self as api, AddressMatch, HttpMatch, TlsSelector, TlsVersion};
use weir_snapshot::{TransportAddress, Worker};
use weir_tls::{ClientConfig, ClientSettings, Group, Provider, Version};

use crate::{
    hosted::{Visitor, terminating},
    tape::{Stage, plan},
};

/// Clients of 10.9.0.0/16 have TLS 1.2 alone, others but 10.0.0.0/8 have TLS 1.3, and the rest what the service says.
fn selecting() -> api::Plan {
    let mut plan = terminating(plan(1));
    plan.virtual_services.truncate(1);
    let service = &mut plan.virtual_services[0];
    service.hosting = api::Hosting::None.into();
    let own = service.tls.clone().expect("it terminates TLS");
    let select = |clients, version: TlsVersion, suite: &str| TlsSelector {
        clients: Some(clients),
        tls: Some(api::TlsProfile {
            versions: vec![version.into()],
            cipher_suites: vec![suite.to_owned()],
            ..own.clone()
        }),
    };
    let some = AddressMatch { address_group_uuids: vec!["old".into()], ..Default::default() };
    let abroad = AddressMatch { negated: true, subnets: vec!["10.0.0.0/8".into()], ..Default::default() };
    service.tls_selectors = vec![
        select(some, TlsVersion::TlsVersion12, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
        select(abroad, TlsVersion::TlsVersion13, "TLS_AES_256_GCM_SHA384"),
    ];
    let subnets = vec!["10.9.0.0/16".into()];
    plan.address_groups =
        vec![api::AddressGroup { uuid: "old".into(), name: "old".into(), subnets, ..Default::default() }];
    plan
}

/// A client that speaks all of it.
fn config() -> ClientConfig {
    let suites = ["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"];
    let settings = ClientSettings {
        versions: vec![Version::Tls12, Version::Tls13],
        cipher_suites: suites.map(str::to_owned).to_vec(),
        groups: vec![Group::X25519],
        session_resumption: false,
    };
    ClientConfig::unverified(&settings, &Provider::new()).expect("a configuration")
}

/// What rules see of the TLS of a client from this address: the server gets it in a field.
fn agreed(stage: &mut Stage, peer: &str) -> String {
    let conn = stage.client_from("10.0.0.1:80", peer);
    let mut visitor = Visitor::with(conn, &config(), "a.test");
    visitor.greets(stage, 4000);
    visitor.says(stage, crate::GET);
    let server = stage.connected();
    let request = stage.sent(server);
    stage.says(server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    let field = |name: &str| request.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    field("X-Tls: ") + " " + &field("X-Suite: ")
}

fn telling(plan: api::Plan) -> api::Plan {
    let edit = |name: &str, variable: api::HeaderVariable| api::HeaderEdit {
        kind: api::EditKind::Add.into(),
        name: name.into(),
        value: Some(api::HeaderValue { variable: variable.into(), ..Default::default() }),
        ..Default::default()
    };
    let rule = api::HttpRequestRule {
        rule: crate::policies::rule("tell", HttpMatch::default()),
        edits: vec![edit("X-Tls", api::HeaderVariable::TlsVersion), edit("X-Suite", api::HeaderVariable::TlsCipher)],
        ..Default::default()
    };
    crate::policies::with(plan, api::HttpPolicySet { request_rules: vec![rule], ..Default::default() })
}

#[test]
fn first_selector_that_a_client_matches_says_how_its_tls_begins() {
    let mut stage = Stage::new(&telling(selecting()));
    let [old, abroad, own] = ["10.9.0.1:4000", "192.0.2.1:4000", "10.8.0.1:4000"].map(|peer| agreed(&mut stage, peer));
    assert!(old.starts_with("TLS 1.2 ") && old.contains("ECDHE_ECDSA"), "{old}");
    assert!(abroad.starts_with("TLS 1.3 ") && abroad.contains("AES_256_GCM_SHA384"), "{abroad}");
    assert!(own.starts_with("TLS 1.3 ") && own.contains("AES_128_GCM_SHA256"), "{own}");
}

#[test]
fn client_of_a_proxy_has_the_profile_of_the_address_in_its_header() {
    let mut plan = telling(selecting());
    let tcp = plan.virtual_services[0].tcp.as_mut().expect("TCP");
    tcp.proxy_protocol_sources = vec!["192.0.2.0/24".into()];
    let mut stage = Stage::new(&plan);
    let conn = stage.client_from("10.0.0.1:80", "192.0.2.1:4000");
    stage.says(conn, "PROXY TCP4 10.9.0.1 10.0.0.1 4000 80\r\n");
    let mut visitor = Visitor::with(conn, &config(), "a.test");
    visitor.greets(&mut stage, 4000);
    visitor.says(&mut stage, crate::GET);
    let server = stage.connected();
    assert!(stage.sent(server).contains("X-Tls: TLS 1.2\r\n"));
}

#[test]
fn selector_follows_its_group_and_what_did_not_change_is_the_same() {
    let mut plan = telling(selecting());
    let mut stage = Stage::new(&plan);
    assert!(agreed(&mut stage, "10.9.0.1:4000").starts_with("TLS 1.2 "));
    plan.revision += 1;
    plan.address_groups[0].subnets = vec!["10.7.0.0/16".into()];
    stage.replace(&plan);
    assert!(agreed(&mut stage, "10.9.0.1:4000").starts_with("TLS 1.3 "));
    assert!(agreed(&mut stage, "10.7.0.1:4000").starts_with("TLS 1.2 "));

    let worker = &Worker::all(1, 0)[0];
    let (before, _) = weir_snapshot::Snapshot::build(&plan, None, worker).expect("a snapshot");
    plan.revision += 1;
    let (after, _) = weir_snapshot::Snapshot::build(&plan, Some(&before), worker).expect("a snapshot");
    let at = TransportAddress::tcp("10.0.0.1:80".parse().expect("an address"));
    let services = [&before, &after].map(|snapshot| &snapshot.listener(at).expect("a listener").service);
    assert!(std::sync::Arc::ptr_eq(services[0], services[1]));
}

#[test]
fn engine_refuses_a_selector_that_it_cannot_follow() {
    let stage = Stage::new(&plan(1));
    let spoils: [fn(&mut TlsSelector); 4] = [
        |selector| selector.clients = None,
        |selector| selector.tls = None,
        |selector| selector.clients.as_mut().unwrap().address_group_uuids = vec!["x".into()],
        |selector| selector.tls.as_mut().unwrap().versions = vec![1],
    ];
    for spoil in spoils {
        let mut plan = selecting();
        spoil(&mut plan.virtual_services[0].tls_selectors[0]);
        assert!(stage.refuses_plan(&plan));
    }
}
