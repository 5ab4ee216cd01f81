//! Network security policies: whose connections and sessions are let in.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, network_rule::Action};
use weir_proxy::{
    explain::{Admittance, RulesTold},
    io::{Close, Event},
};
use weir_telemetry::{Cause, record::Reasons};

use crate::{
    OK,
    datagrams::udp_plan,
    explanations::question,
    hosted::get,
    records::recording,
    status,
    tape::{Stage, l4_plan, plan},
};

const LISTENER: &str = "10.0.0.1:80";
const BAD: &str = "192.0.2.9:4000";
const GOOD: &str = "198.51.100.1:4000";
const ALWAYS: u64 = u64::MAX;

pub fn rule(subnets: &[&str], action: Action) -> api::NetworkRule {
    let client = api::AddressMatch {
        subnets: subnets.iter().map(|subnet| subnet.to_string()).collect(),
        ..api::AddressMatch::default()
    };
    let matched = api::ConnectionMatch { client: Some(client), ..api::ConnectionMatch::default() };
    let matched = (!subnets.is_empty()).then_some(matched);
    api::NetworkRule {
        name: "strangers".into(),
        position: 0,
        r#match: matched,
        until_unix_s: ALWAYS,
        log: false,
        action: Some(action),
    }
}

pub fn deny() -> Action {
    Action::Deny(api::Close { reset: true })
}

pub fn two_per_s() -> Action {
    Action::Rate(api::ConnectionRate { per_s: 2, burst: 0 })
}

/// The plan with these rules for its first service, whose requests leave records.
fn guarded(plan: api::Plan, rules: Vec<api::NetworkRule>) -> api::Plan {
    guarding(recording(plan), rules)
}

/// The plan with these rules for its first service.
pub fn guarding(mut plan: api::Plan, rules: Vec<api::NetworkRule>) -> api::Plan {
    plan.network_policies = vec![api::NetworkPolicy { uuid: "policy".into(), name: "house".into(), rules }];
    plan.virtual_services[0].network_policy_uuid = "policy".into();
    plan
}

#[test]
fn denied_clients_are_reset_before_anything_else() {
    for plan in [plan(1), l4_plan(1)] {
        let mut stage = Stage::new(&guarded(plan, vec![rule(&["192.0.2.0/24"], deny())]));
        let (bad, good) = (stage.client_from(LISTENER, BAD), stage.client_from(LISTENER, GOOD));
        assert_eq!((stage.closed(bad), stage.closed(good)), (Some(Close::Abort), None));
        assert_eq!((stage.failures(Cause::ClientNetworkDenied), stage.failures(Cause::ClientConnectionRate)), (1, 0));
        let service = stage.proxy.counters().service(0).expect("the service has counters");
        assert_eq!((service.connections, service.open_connections), (1, 1));
        let taken = stage.records();
        let record = taken.record();
        assert_eq!((record.kind(), record.cause()), (2, Cause::ClientNetworkDenied as u16 + 1));
        assert_eq!(record.reasons(), Reasons::CLIENT_REFUSED.bits());
    }
}

#[test]
fn change_of_a_group_is_in_force_for_the_next_connection() {
    let mut denying = rule(&["203.0.113.7/32"], deny());
    let client = denying.r#match.as_mut().and_then(|matched| matched.client.as_mut()).expect("compares addresses");
    client.address_group_uuids = vec!["group".into()];
    let mut plan = guarded(plan(1), vec![denying]);
    let group = |subnet: &str| api::AddressGroup {
        uuid: "group".into(),
        name: "strangers".into(),
        subnets: vec![subnet.into()],
        ranges: Vec::new(),
    };
    plan.address_groups = vec![group("192.0.2.0/24")];
    let mut stage = Stage::new(&plan);
    let (first, second) = (stage.client_from(LISTENER, BAD), stage.client_from(LISTENER, GOOD));
    plan.revision += 1;
    plan.address_groups = vec![group("198.51.100.0/24")];
    stage.replace(&plan);
    let (third, fourth) = (stage.client_from(LISTENER, BAD), stage.client_from(LISTENER, GOOD));
    let closed = [first, second, third, fourth].map(|client| stage.closed(client).is_some());
    assert_eq!(closed, [true, false, false, true], "who is in stays in");
}

#[test]
fn client_must_be_of_the_place_and_of_the_addresses_of_a_rule() {
    let mut denying = rule(&["192.0.2.0/24"], deny());
    let place = api::AddressMatch { address_group_uuids: vec!["place".into()], ..Default::default() };
    denying.r#match.as_mut().expect("compares addresses").place = Some(place);
    let mut plan = guarded(plan(1), vec![denying]);
    let place = |subnet: &str| api::AddressGroup {
        uuid: "place".into(),
        name: "country DE".into(),
        subnets: vec![subnet.into()],
        ..Default::default()
    };
    let mut closed = Vec::new();
    for subnet in ["192.0.0.0/16", "198.51.100.0/24"] {
        plan.address_groups = vec![place(subnet)];
        plan.revision += 1;
        let mut stage = Stage::new(&plan);
        let clients = (stage.client_from(LISTENER, BAD), stage.client_from(LISTENER, GOOD));
        closed.push((stage.closed(clients.0).is_some(), stage.closed(clients.1).is_some()));
    }
    assert_eq!(closed, [(true, false), (false, false)]);
}

#[test]
fn rate_of_a_rule_is_that_of_all_its_clients_and_workers() {
    let plan = guarded(plan(1), vec![rule(&[], two_per_s())]);
    let mut one = Stage::new(&plan);
    let mut other = one.beside(&plan);
    let enters = |stage: &mut Stage, peer: &str| {
        let client = stage.client_from(LISTENER, peer);
        stage.closed(client).is_none()
    };
    assert!(enters(&mut one, BAD) && enters(&mut other, GOOD));
    assert!(!enters(&mut one, "198.51.100.2:1") && !enters(&mut other, "198.51.100.3:1"));
    assert_eq!((one.failures(Cause::ClientNetworkRate), other.failures(Cause::ClientNetworkRate)), (1, 1));
    one.tape.sleep(Duration::from_millis(500));
    assert!(enters(&mut one, BAD) && !enters(&mut one, BAD));
}

#[test]
fn rule_ends_when_its_time_is_over() {
    let mut denying = rule(&["192.0.2.0/24"], deny());
    denying.until_unix_s = 784_111_777 + 60;
    let mut stage = Stage::new(&guarded(plan(1), vec![denying]));
    let before = stage.client_from(LISTENER, BAD);
    stage.tape.sleep(Duration::from_secs(60));
    let after = stage.client_from(LISTENER, BAD);
    assert_eq!((stage.closed(before), stage.closed(after)), (Some(Close::Abort), None));
}

#[test]
fn client_behind_a_proxy_is_judged_by_its_own_address() {
    let mut plan = guarded(plan(1), vec![rule(&["192.0.2.0/24"], deny())]);
    let tcp = plan.virtual_services[0].tcp.as_mut().expect("uses TCP");
    tcp.proxy_protocol_sources = vec!["10.2.0.0/16".into()];
    let mut stage = Stage::new(&plan);
    let mut enters = |peer: &str| {
        let client = stage.client();
        stage.says(client, format!("PROXY TCP4 {peer} 10.0.0.1 4000 80\r\n"));
        stage.closed(client).is_none()
    };
    assert_eq!(["192.0.2.1", "198.51.100.1"].map(&mut enters), [false, true]);
    assert_eq!(stage.failures(Cause::ClientNetworkDenied), 1);
}

#[test]
fn explanation_names_the_denial_and_counts_nothing() {
    let denying = rule(&[], deny());
    let mut stage = Stage::new(&guarded(plan(1), vec![denying]));
    let told = stage.explain(&question(&get("a", "/")));
    let local = told.local.expect("the engine ends the connection");
    assert_eq!((local.status, local.cause), (None, "client_network_denied"));
    let by = |rules: RulesTold| rules.network.map(|(name, decided)| (name.to_string(), decided));
    assert_eq!(by(told.rules), Some(("strangers".into(), Admittance::Barred)));
    let allowing = rule(&[], Action::Allow(api::Allow {}));
    let told = Stage::new(&guarded(plan(1), vec![allowing])).explain(&question(&get("a", "/")));
    assert_eq!(by(told.rules), Some(("strangers".into(), Admittance::LetIn)));
    let elsewhere = rule(&["198.51.100.0/24"], deny());
    let told = Stage::new(&guarded(plan(1), vec![elsewhere])).explain(&question(&get("a", "/")));
    assert_eq!(by(told.rules), None, "no rule decides");
    let mut stage = Stage::new(&guarded(plan(1), vec![rule(&[], two_per_s())]));
    for _ in 0..3 {
        assert_eq!(stage.explain(&question(&get("a", "/"))).local, None);
    }
    let client = stage.client_from(LISTENER, GOOD);
    stage.says(client, get("a", "/"));
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    stage.batch(vec![Event::Eof { conn: client }]);
}

#[test]
fn first_datagram_of_a_session_is_judged() {
    for per_datagram in [false, true] {
        let plan = udp_plan(1, |udp| udp.per_datagram = per_datagram);
        let mut stage = Stage::new(&guarded(plan, vec![rule(&["192.0.2.0/24"], deny()), rule(&[], two_per_s())]));
        assert_eq!(stage.asks(BAD, 1), "");
        assert_eq!(stage.asks(GOOD, 2), "2 to 10.1.0.1 on 0");
        assert_eq!(stage.asks("198.51.100.2:1", 3), "3 to 10.1.0.1 on 1");
        assert_eq!(stage.asks("198.51.100.3:1", 4), "");
        assert_eq!(stage.asks(GOOD, 5), "5 to 10.1.0.1 on 0", "its session has begun");
        assert_eq!((stage.failures(Cause::ClientNetworkDenied), stage.failures(Cause::ClientNetworkRate)), (1, 1));
    }
}

#[test]
fn client_whose_datagrams_go_to_several_servers_is_judged_once() {
    let plan = udp_plan(3, |udp| udp.per_datagram = true);
    let mut stage = Stage::new(&guarded(plan, vec![rule(&[], two_per_s())]));
    let sent: Vec<_> = (0..3).map(|index| stage.asks(GOOD, index)).collect();
    assert_eq!(sent, ["0 to 10.1.0.1 on 0", "1 to 10.1.0.2 on 1", "2 to 10.1.0.3 on 2"]);
    assert_eq!(stage.asks("198.51.100.2:1", 3), "3 to 10.1.0.1 on 3");
    assert_eq!(stage.asks("198.51.100.3:1", 4), "", "it is the third client in this second");
    assert_eq!(stage.failures(Cause::ClientNetworkRate), 1);
}

#[test]
fn client_behind_a_proxy_is_judged_by_the_rules_in_force_when_its_header_comes() {
    let mut plan = guarded(plan(1), Vec::new());
    let tcp = plan.virtual_services[0].tcp.as_mut().expect("uses TCP");
    tcp.proxy_protocol_sources = vec!["10.2.0.0/16".into()];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    plan.revision += 1;
    plan.network_policies[0].rules = vec![rule(&["192.0.2.0/24"], deny())];
    stage.replace(&plan);
    stage.says(client, "PROXY TCP4 192.0.2.1 10.0.0.1 4000 80\r\n");
    assert_eq!((stage.closed(client), stage.failures(Cause::ClientNetworkDenied)), (Some(Close::Abort), 1));
}

#[test]
fn datagrams_that_find_no_server_count_for_no_rate() {
    let mut plan = udp_plan(1, |udp| udp.per_datagram = true);
    plan.pools[0].monitored = true;
    plan.pools[0].servers[0].max_connections = 3;
    let mut stage = Stage::new(&guarded(plan, vec![rule(&[], two_per_s())]));
    for index in 0..5 {
        assert_eq!(stage.asks(GOOD, index), "");
    }
    assert_eq!((stage.failures(Cause::NoServer), stage.failures(Cause::ClientNetworkRate)), (5, 0));
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", true);
    assert_eq!(stage.asks(GOOD, 5), "5 to 10.1.0.1 on 0");
    assert_eq!(stage.asks("198.51.100.2:1", 6), "6 to 10.1.0.1 on 1");
    for index in 7..10 {
        assert_eq!(stage.asks("198.51.100.3:1", index), "", "it is the third client in this second");
    }
    assert_eq!((stage.failures(Cause::NoServer), stage.failures(Cause::ClientNetworkRate)), (5, 3));
}
