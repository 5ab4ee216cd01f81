//! What records say of rules, and which rules want records.

mod named;

use std::time::Duration;

use weir_api::dataplane::v1::{
    self as api, Analytics, HttpMatch, HttpPolicySet, HttpRequestRule, HttpResponseRule, HttpRule, Plan,
    http_security_rule::Action, network_rule,
};
use weir_proxy::io::{Conn, Gone};
use weir_telemetry::{Cause, record::Reasons};

use crate::{
    GET, OK,
    barred::{deny, guarding, rule as connections, two_per_s},
    datagrams::udp_plan,
    hosted::{self, get},
    http2::{Browser, http2},
    policies::{edit, rule, security, under, with},
    records::recording,
    scripts::scripted_with,
    tape::{Stage, l4_plan, plan},
};

const REQUEST_HEADERS: usize = 8;
const RESPONSE_HEADERS: usize = 9;
const SIGNIFICANT: u8 = 1;
const FILTERED: u8 = 2;
const ALL: u8 = 3;
/// Lists of rules, as in `api/record`.
const CONNECTIONS: u8 = 1;
const HOSTS: u8 = 2;
const SECURITY: u8 = 3;
const REQUESTS: u8 = 4;
const RESPONSES: u8 = 5;

/// What records say: their classes, and their rules.
pub type Said = Vec<(u8, Vec<(u8, String)>)>;

pub fn said(stage: &mut Stage) -> Said {
    let taken = stage.records();
    taken.records().iter().map(|record| (record.class(), record.place().1)).collect()
}

pub fn names(of: &[(u8, &str)]) -> Vec<(u8, String)> {
    of.iter().map(|(list, name)| (*list, (*name).to_owned())).collect()
}

/// The plan, whose requests leave records if they are significant, or something wants that.
fn quiet(mut plan: Plan) -> Plan {
    plan.virtual_services.iter_mut().for_each(|service| service.analytics = Some(Analytics::default()));
    plan
}

fn logged(rule: Option<HttpRule>) -> Option<HttpRule> {
    rule.map(|rule| HttpRule { log: true, ..rule })
}

fn with_headers(rule: Option<HttpRule>) -> Option<HttpRule> {
    rule.map(|rule| HttpRule { log: true, all_headers: true, ..rule })
}

/// A rule for requests that adds a field.
fn adding(rule: Option<HttpRule>) -> HttpRequestRule {
    HttpRequestRule { rule, edits: vec![edit(api::EditKind::Add, "X-A", Some("b"))], ..Default::default() }
}

fn respond(status: u32) -> Action {
    Action::Response(api::LocalResponse { status, ..Default::default() })
}

/// A request of a new client, with its answer.
fn ask(stage: &mut Stage, path: &str) {
    let client = stage.client();
    answer(stage, client, &get("a", path), OK);
}

fn answer(stage: &mut Stage, client: Conn, request: &str, answer: &str) {
    let dials = stage.dials();
    stage.says(client, request);
    let server = if stage.dials() > dials { stage.connected() } else { stage.dialled() };
    stage.says(server, answer);
}

fn house() -> HttpPolicySet {
    let of_404 = HttpMatch {
        status: Some(api::NumberMatch {
            ranges: vec![api::NumberRange { first: 404, last: 404 }],
            ..Default::default()
        }),
        ..under("/x")
    };
    HttpPolicySet {
        security_rules: vec![
            security("away", under("/away"), respond(403)),
            security("let in", under("/x/y"), Action::Allow(api::Allow {})),
        ],
        request_rules: vec![adding(rule("first", under("/x"))), adding(rule("second", under("/x/y")))],
        response_rules: vec![
            HttpResponseRule { rule: rule("on the way", under("/x")), ..Default::default() },
            HttpResponseRule { rule: rule("missing", of_404), ..Default::default() },
        ],
        ..HttpPolicySet::default()
    }
}

#[test]
fn record_names_the_rules_that_acted() {
    let mut stage = Stage::new(&with(recording(plan(1)), house()));
    ask(&mut stage, "/x/y");
    let all = [(SECURITY, "let in"), (REQUESTS, "first"), (REQUESTS, "second"), (RESPONSES, "on the way")];
    assert_eq!(said(&mut stage), [(ALL, names(&all))]);
    // The notes of the next request begin anew.
    ask(&mut stage, "/x");
    assert_eq!(said(&mut stage), [(ALL, names(&[(REQUESTS, "first"), (RESPONSES, "on the way")]))]);
    ask(&mut stage, "/");
    assert_eq!(said(&mut stage), [(ALL, vec![])]);
    let client = stage.client();
    stage.says(client, get("a", "/away"));
    assert_eq!(said(&mut stage), [(SIGNIFICANT, names(&[(SECURITY, "away")]))]);
}

#[test]
fn record_of_a_stream_names_rules_too() {
    let mut stage = Stage::new(&with(http2(recording(plan(1))), house()));
    let mut browser = Browser::new(&mut stage);
    browser.asks_host(&mut stage, "a", "/x/y");
    let server = stage.connected();
    stage.says(server, OK);
    let all = [(SECURITY, "let in"), (REQUESTS, "first"), (REQUESTS, "second"), (RESPONSES, "on the way")];
    assert_eq!(said(&mut stage), [(ALL, names(&all))]);
}

#[test]
fn eight_rules_of_a_list_are_named_and_that_there_are_more() {
    let many = (0..10).map(|n| adding(rule(&n.to_string(), under("/")))).collect();
    let mut stage =
        Stage::new(&with(recording(plan(1)), HttpPolicySet { request_rules: many, ..HttpPolicySet::default() }));
    ask(&mut stage, "/");
    let rules = &said(&mut stage)[0].1;
    let found: Vec<_> = rules.iter().map(|(list, name)| (*list, name.as_str())).collect();
    let mut wanted: Vec<_> = ["0", "1", "2", "3", "4", "5", "6", "9"].map(|name| (REQUESTS, name)).into();
    wanted.push((REQUESTS | 0x80, ""));
    assert_eq!(found, wanted);
}

#[test]
fn rules_have_requests_logged() {
    let of_response = HttpResponseRule { rule: logged(rule("of response", under("/response"))), ..Default::default() };
    let set = HttpPolicySet {
        security_rules: vec![api::HttpSecurityRule {
            rule: logged(rule("let in", under("/security"))),
            action: Some(Action::Allow(api::Allow {})),
        }],
        request_rules: vec![adding(logged(rule("of request", under("/request")))), adding(rule("silent", under("/")))],
        response_rules: vec![of_response],
        ..HttpPolicySet::default()
    };
    let mut stage = Stage::new(&with(quiet(plan(1)), set));
    for (path, list, name) in [
        ("/security", SECURITY, "let in"),
        ("/request", REQUESTS, "of request"),
        ("/response", RESPONSES, "of response"),
    ] {
        ask(&mut stage, path);
        let [(class, rules)] = &said(&mut stage)[..] else { panic!("no record for {path}") };
        assert!(*class == FILTERED && rules.contains(&(list, name.to_owned())), "{path}: {class} {rules:?}");
    }
    ask(&mut stage, "/");
    assert!(said(&mut stage).is_empty(), "no rule wants it");
}

#[test]
fn record_of_a_limit_names_its_rule() {
    let limit = api::RateLimit { count: 1, period_s: 10, ..Default::default() };
    let set = HttpPolicySet {
        security_rules: vec![security("slowly", under("/"), Action::RateLimit(limit))],
        ..HttpPolicySet::default()
    };
    let mut stage = Stage::new(&with(recording(plan(1)), set));
    ask(&mut stage, "/");
    assert_eq!(said(&mut stage), [(ALL, vec![])], "it is within the rate");
    ask(&mut stage, "/");
    assert_eq!(said(&mut stage), [(SIGNIFICANT, names(&[(SECURITY, "slowly")]))]);
}

/// Header fields of request and response in the only record.
fn headers(stage: &mut Stage) -> [String; 2] {
    let taken = stage.records();
    let record = taken.record();
    [REQUEST_HEADERS, RESPONSE_HEADERS].map(|text| String::from_utf8_lossy(record.text(text)).into_owned())
}

#[test]
fn rules_have_header_fields_logged() {
    let only = |status| HttpMatch {
        status: Some(api::NumberMatch {
            ranges: vec![api::NumberRange { first: status, last: status }],
            ..Default::default()
        }),
        ..under("/response")
    };
    let set = HttpPolicySet {
        request_rules: vec![adding(with_headers(rule("of request", under("/request"))))],
        response_rules: vec![
            HttpResponseRule { rule: with_headers(rule("good", only(200))), ..Default::default() },
            HttpResponseRule { rule: logged(rule("bad", only(204))), ..Default::default() },
        ],
        ..HttpPolicySet::default()
    };
    let mut stage = Stage::new(&with(recording(plan(1)), set));
    let shown = ["Host: a\r\n".to_owned(), "Content-Length: 2\r\n".to_owned()];
    ask(&mut stage, "/request");
    assert_eq!(headers(&mut stage), shown);
    ask(&mut stage, "/response");
    assert_eq!(headers(&mut stage), shown);
    ask(&mut stage, "/");
    assert_eq!(headers(&mut stage), [""; 2], "no rule wants them");
    let client = stage.client();
    answer(&mut stage, client, &get("a", "/response"), "HTTP/1.1 204 No Content\r\nX: y\r\n\r\n");
    assert_eq!(headers(&mut stage), [""; 2], "the rule that wants them does not match the response");
    assert_eq!(stage.proxy.requests_noted(), 0);
}

#[test]
fn what_scripts_say_stands_beside_rules() {
    let source = "avi.vs.log('hello')";
    let mut plan = scripted_with(recording(plan(1)), &[(api::ScriptEvent::HttpReq, source)]);
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    plan.http_policy_sets[0].request_rules = vec![adding(rule("first", under("/")))];
    let mut stage = Stage::new(&plan);
    ask(&mut stage, "/");
    let taken = stage.records();
    let (span, rules, said) = taken.record().place();
    assert_eq!((span, rules, said), (&b""[..], names(&[(REQUESTS, "first")]), "hello".to_owned()));
}

#[test]
fn record_names_the_rule_that_chose_the_child() {
    let mut stage = Stage::new(&recording(hosted::by_request(plan(1))));
    for (host, path, rule) in
        [("shop.test", "/cart/1", Some("/cart")), ("shop.test", "/", None), ("b.test", "/", Some("/"))]
    {
        let client = stage.client();
        answer(&mut stage, client, &get(host, path), OK);
        let rules: Vec<_> = rule.map(|rule| (HOSTS, rule.to_owned())).into_iter().collect();
        assert_eq!(said(&mut stage), [(ALL, rules)], "{host}{path}");
    }
}

fn in_the_net(log: bool, action: network_rule::Action) -> api::NetworkRule {
    api::NetworkRule { log, ..connections(&["192.0.2.0/24"], action) }
}

const LISTENER: &str = "10.0.0.1:80";
const INSIDE: &str = "192.0.2.9:4000";
const OUTSIDE: &str = "198.51.100.1:4000";

#[test]
fn requests_tell_which_rule_let_their_connection_in() {
    let rules = |log| vec![in_the_net(log, network_rule::Action::Allow(api::Allow {}))];
    let by = (CONNECTIONS, "strangers");
    for (plan, inside, outside) in [
        (guarding(recording(plan(1)), rules(false)), vec![(ALL, names(&[by]))], vec![(ALL, vec![])]),
        (guarding(quiet(plan(1)), rules(true)), vec![(FILTERED, names(&[by]))], vec![]),
        (guarding(quiet(plan(1)), rules(false)), vec![], vec![]),
    ] {
        let mut stage = Stage::new(&plan);
        for (client, wanted) in [(INSIDE, inside), (OUTSIDE, outside)] {
            let client = stage.client_from(LISTENER, client);
            for _ in 0..2 {
                answer(&mut stage, client, GET, OK);
                assert_eq!(said(&mut stage), wanted);
            }
        }
    }
}

#[test]
fn streams_tell_which_rule_let_their_connection_in() {
    let rules = vec![connections(&[], network_rule::Action::Allow(api::Allow {}))];
    let mut stage = Stage::new(&guarding(http2(with(recording(plan(1)), house())), rules));
    let mut browser = Browser::new(&mut stage);
    browser.asks_host(&mut stage, "a", "/x");
    let server = stage.connected();
    stage.says(server, OK);
    let all = [(CONNECTIONS, "strangers"), (REQUESTS, "first"), (RESPONSES, "on the way")];
    assert_eq!(said(&mut stage), [(ALL, names(&all))]);
}

#[test]
fn refused_connections_tell_which_rule_refused_them() {
    for (action, cause) in [(deny(), Cause::ClientNetworkDenied), (two_per_s(), Cause::ClientNetworkRate)] {
        let mut stage = Stage::new(&guarding(quiet(l4_plan(1)), vec![in_the_net(true, action)]));
        (0..3).for_each(|_| _ = stage.client_from(LISTENER, INSIDE));
        let taken = stage.records();
        let last = *taken.records().last().expect("a connection is refused");
        assert_eq!((last.class(), last.cause()), (SIGNIFICANT, cause as u16 + 1));
        assert_eq!(last.place().1, names(&[(CONNECTIONS, "strangers")]));
    }
}

#[test]
fn connections_and_sessions_tell_which_rule_let_them_in() {
    let allow = || vec![in_the_net(true, network_rule::Action::Allow(api::Allow {}))];
    let by = names(&[(CONNECTIONS, "strangers")]);
    let mut stage = Stage::new(&guarding(quiet(l4_plan(1)), allow()));
    let client = stage.client_from(LISTENER, INSIDE);
    stage.connected();
    stage.gone(client, Gone::Reset);
    assert_eq!(said(&mut stage), [(SIGNIFICANT, by.clone())]);
    let mut stage = Stage::new(&guarding(quiet(udp_plan(1, |_| {})), allow()));
    stage.asks(INSIDE, 0);
    stage.asks(OUTSIDE, 0);
    stage.idle_for(Duration::from_secs(60));
    assert_eq!(said(&mut stage), [(FILTERED, by)]);
}

fn named(name: &str, log: bool, action: network_rule::Action) -> api::NetworkRule {
    api::NetworkRule { name: name.into(), log, ..connections(&[], action) }
}

fn per_s(per_s: u32) -> network_rule::Action {
    network_rule::Action::Rate(api::ConnectionRate { per_s, burst: 0 })
}

/// Clients with a PROXY header.
fn introduced(mut plan: Plan) -> Plan {
    let tcp = plan.virtual_services[0].tcp.as_mut().expect("uses TCP");
    tcp.proxy_protocol_sources = vec!["10.2.0.0/16".into()];
    plan
}

/// The class, the cause and the rules of the last record.
fn last(stage: &mut Stage) -> (u8, u16, Vec<(u8, String)>) {
    let taken = stage.records();
    let last = *taken.records().last().expect("there is a record");
    (last.class(), last.cause(), last.place().1)
}

#[test]
fn refused_connections_name_no_rate_that_let_them_pass() {
    let denied = (deny(), 1, Cause::ClientNetworkDenied);
    let slower = (per_s(1), 2, Cause::ClientNetworkRate);
    for (action, connections, cause) in [denied, slower] {
        // The last one is the last within the first rate.
        let rules = vec![named("slow", false, per_s(connections)), named("strangers", false, action)];
        let wanted = (SIGNIFICANT, cause as u16 + 1, names(&[(CONNECTIONS, "strangers")]));
        let mut stage = Stage::new(&guarding(quiet(plan(1)), rules.clone()));
        (0..connections).for_each(|_| _ = stage.client_from(LISTENER, INSIDE));
        assert_eq!(last(&mut stage), wanted);
        let mut stage = Stage::new(&guarding(quiet(introduced(plan(1))), rules.clone()));
        for _ in 0..connections {
            let client = stage.client();
            stage.says(client, "PROXY TCP4 192.0.2.1 10.0.0.1 4000 80\r\n");
        }
        assert_eq!(last(&mut stage), wanted, "behind a PROXY header");
        for per_datagram in [false, true] {
            let plan = udp_plan(1, |udp| udp.per_datagram = per_datagram);
            let mut stage = Stage::new(&guarding(quiet(plan), rules.clone()));
            (0..connections).for_each(|n| _ = stage.asks(&format!("192.0.2.9:{}", 4000 + n), n));
            assert_eq!(last(&mut stage), wanted, "datagrams");
        }
    }
}

#[test]
fn further_session_of_a_client_names_the_rule_that_lets_it_in() {
    let allow = network_rule::Action::Allow(api::Allow {});
    let first = vec![named("few", true, per_s(1)), named("friends", false, allow)];
    let later = vec![named("strangers", true, deny())];
    for (later, of_second) in [(None, names(&[(CONNECTIONS, "friends")])), (Some(later), vec![])] {
        let plan = udp_plan(2, |udp| udp.per_datagram = true);
        let mut plan = guarding(recording(plan), first.clone());
        let mut stage = Stage::new(&plan);
        assert_eq!(stage.asks(INSIDE, 0), "0 to 10.1.0.1 on 0");
        if let Some(later) = later {
            plan.revision += 1;
            plan.network_policies[0].rules = later;
            stage.replace(&plan);
        }
        assert_eq!(stage.asks(INSIDE, 1), "1 to 10.1.0.2 on 1");
        stage.idle_for(Duration::from_secs(60));
        assert_eq!(said(&mut stage), [(ALL, names(&[(CONNECTIONS, "friends")])), (ALL, of_second)]);
    }
}

#[test]
fn connection_from_before_there_were_records_names_no_rule() {
    let allow = || network_rule::Action::Allow(api::Allow {});
    let mut stage = Stage::new(&guarding(plan(1), vec![named("friends", true, allow())]));
    let before = stage.client_from(LISTENER, INSIDE);
    let mut plan = guarding(recording(plan(1)), vec![named("friends", true, allow())]);
    plan.revision += 1;
    stage.replace(&plan);
    let after = stage.client_from(LISTENER, INSIDE);
    for (client, class, rules) in [(before, ALL, vec![]), (after, FILTERED, names(&[(CONNECTIONS, "friends")]))] {
        answer(&mut stage, client, GET, OK);
        assert_eq!(said(&mut stage), [(class, rules)]);
    }
}

#[test]
fn logged_requests_without_room_for_notes_wait() {
    let rules = |log| vec![named("friends", log, network_rule::Action::Allow(api::Allow {}))];
    for log in [false, true] {
        let mut stage = Stage::new(&guarding(quiet(plan(1)), rules(log)));
        let others: Vec<_> = (0..4_096).map(|_| stage.client()).collect();
        others.iter().for_each(|client| stage.says(*client, GET));
        let client = stage.client();
        answer(&mut stage, client, GET, OK);
        // They are significant.
        others.iter().for_each(|client| stage.gone(*client, Gone::Reset));
        let waiting = stage.records().waiting.into_iter().find(|(class, _)| *class == u32::from(FILTERED));
        assert_eq!(waiting, log.then_some((FILTERED.into(), 1)));
    }
}

#[test]
fn script_has_records_that_are_significant() {
    use api::ScriptEvent::{HttpReq, TcpClientAccept};
    let sign = "if avi.vs.client_ip() ~= '192.0.2.7' then avi.vs.log('look', avi.SIG_ENABLE) end";
    for event in [HttpReq, TcpClientAccept] {
        let scripts = [(event, sign), (HttpReq, "avi.vs.log('x')")];
        let mut stage = Stage::new(&quiet(scripted_with(plan(1), &scripts)));
        for (peer, class, reasons, log) in [
            ("192.0.2.9:4000", SIGNIFICANT, Reasons::SCRIPTED, "look\nx"),
            ("192.0.2.7:4000", FILTERED, Reasons::NONE, "x"),
        ] {
            let client = stage.client_from("10.0.0.1:80", peer);
            answer(&mut stage, client, &get("a", "/"), OK);
            let taken = stage.records();
            let found: Vec<_> =
                taken.records().iter().map(|record| (record.class(), record.reasons(), record.place().2)).collect();
            assert_eq!(found, [(class, reasons.bits(), log.to_owned())], "{event:?} {peer}");
        }
    }
}
