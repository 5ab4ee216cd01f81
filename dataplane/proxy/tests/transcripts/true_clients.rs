//! Clients whose addresses proxies in front of Weir write into a header field.

use weir_api::dataplane::v1::{self as api, HttpMatch, HttpPolicySet, http_security_rule::Action};

use crate::{
    policies::{security, with},
    status,
    tape::{Stage, plan},
};

/// Who asks from 192.0.2.0/24 is refused. The second address from the right counts.
fn refusing() -> api::Plan {
    let from = api::AddressMatch { subnets: vec!["192.0.2.0/24".into()], ..Default::default() };
    let matched = HttpMatch { client: Some(from), ..HttpMatch::default() };
    let refuse = Action::Response(api::LocalResponse { status: 403, ..Default::default() });
    let rules = HttpPolicySet { security_rules: vec![security("refuse", matched, refuse)], ..HttpPolicySet::default() };
    let mut plan = with(plan(1), rules);
    let http = plan.virtual_services[0].http.as_mut().expect("HTTP");
    http.true_client = Some(api::TrueClient { name: "X-Forwarded-For".into(), index: 1, from_right: true });
    plan
}

/// The status of a request that comes from this address; empty: a server gets the request.
fn asked(plan: &api::Plan, peer: &str, lines: &str) -> String {
    let mut stage = Stage::new(plan);
    let client = stage.client_from("10.0.0.1:80", peer);
    stage.says(client, format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n"));
    match stage.dials() {
        0 => status(&stage.sent(client)).to_owned(),
        _ => String::new(),
    }
}

#[test]
fn rules_know_clients_by_the_field_that_a_proxy_writes() {
    let plan = refusing();
    let cases = [
        ("198.51.100.1:4000", "X-Forwarded-For: 192.0.2.7, 198.51.100.9\r\n", "403"),
        ("198.51.100.1:4000", "X-Forwarded-For: 192.0.2.7\r\nx-forwarded-for: 198.51.100.9\r\n", "403"),
        ("192.0.2.1:4000", "X-Forwarded-For: 198.51.100.7, 192.0.2.9\r\n", ""),
        // What the client wrote itself is further to the left.
        ("198.51.100.1:4000", "X-Forwarded-For: 192.0.2.7, 198.51.100.7, 198.51.100.9\r\n", ""),
        // The field does not say who asks.
        ("192.0.2.1:4000", "", "403"),
        ("192.0.2.1:4000", "X-Forwarded-For: 198.51.100.7\r\n", "403"),
        ("192.0.2.1:4000", "X-Forwarded-For: unknown, 198.51.100.7\r\n", "403"),
        ("198.51.100.1:4000", "X-Forwarded-For: unknown, 192.0.2.7\r\n", ""),
    ];
    for (peer, lines, expected) in cases {
        assert_eq!(asked(&plan, peer, lines), expected, "{peer} {lines}");
    }
}

#[test]
fn field_is_not_believed_where_the_profile_does_not_say_so() {
    let mut plan = refusing();
    plan.virtual_services[0].http.as_mut().expect("HTTP").true_client = None;
    assert_eq!(asked(&plan, "192.0.2.1:4000", "X-Forwarded-For: 198.51.100.7, 198.51.100.9\r\n"), "403");
    assert_eq!(asked(&plan, "198.51.100.1:4000", "X-Forwarded-For: 192.0.2.7, 198.51.100.9\r\n"), "");
}
