//! Limits of rates: of rules and of the virtual service itself, and what clients beyond them get.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, HttpMatch, RateLimit, ScriptEvent, http_security_rule::Action, rate_limit};
use weir_proxy::io::{Close, Event};
use weir_telemetry::{Cause, record::Reasons};

use crate::{
    OK,
    calls::CALL,
    explanations::question,
    groups::{page, redirect},
    hosted::get,
    http2::{Browser, http2},
    origin::to_http2,
    policies::{security, to_pool, under, with},
    records::recording,
    scripts::scripted_with,
    status,
    tape::{Stage, l4_plan, plan},
    websocket::{ASKS, SWITCHES, with_websockets},
};

const PEER: &str = "192.0.2.1:4000";
const OTHER_PEER: &str = "192.0.2.2:4000";
const REQ: ScriptEvent = ScriptEvent::HttpReq;
const RESP: ScriptEvent = ScriptEvent::HttpResp;
const RESP_DATA: ScriptEvent = ScriptEvent::HttpRespData;
const LB_FAILED: ScriptEvent = ScriptEvent::HttpLbFailed;
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/// A response behind which its server closes the connection.
fn closing(response: &str) -> String {
    response.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
}

/// Two in ten seconds.
fn two(action: Option<rate_limit::Action>) -> RateLimit {
    RateLimit { count: 2, period_s: 10, action, ..RateLimit::default() }
}

fn refusal() -> Option<rate_limit::Action> {
    Some(rate_limit::Action::Response(api::LocalResponse { status: 429, ..Default::default() }))
}

/// The plan with this limit as the only security rule, for paths below /limited.
fn ruled(limit: RateLimit) -> api::Plan {
    let security_rules = vec![security("slowly", under("/limited"), Action::RateLimit(limit))];
    with(recording(plan(1)), api::HttpPolicySet { security_rules, ..Default::default() })
}

/// The plan with these limits of the virtual service.
fn limited(limits: Vec<RateLimit>) -> api::Plan {
    let mut plan = recording(plan(1));
    plan.virtual_services[0].request_limits = limits;
    plan
}

impl Stage {
    /// What a client gets for a request; the server, if asked, answers with 200.
    fn gets(&mut self, peer: &str, request: &str) -> String {
        let client = self.client_from("10.0.0.1:80", peer);
        let dials = self.dials();
        self.says(client, request);
        if self.dials() > dials {
            let server = self.connected();
            self.says(server, closing(OK));
            self.batch(vec![Event::Eof { conn: server }]);
        }
        self.sent(client)
    }

    /// The statuses of several requests.
    fn statuses(&mut self, peer: &str, request: &str, times: usize) -> String {
        let statuses: Vec<_> = (0..times).map(|_| status(&self.gets(peer, request)).to_owned()).collect();
        statuses.join(" ")
    }
}

#[test]
fn requests_beyond_the_limit_of_a_rule_are_refused_until_their_time_has_come() {
    let mut stage = Stage::new(&ruled(two(refusal())));
    let request = get("a", "/limited");
    assert_eq!(stage.statuses(PEER, &request, 2), "200 200");
    let answer = stage.gets(PEER, &request);
    assert!(status(&answer) == "429" && answer.contains("\r\nRetry-After: 5\r\n"), "{answer}");
    assert_eq!(stage.statuses(PEER, &get("a", "/free"), 3), "200 200 200", "the rule does not match");
    assert_eq!(stage.failures(Cause::ClientRequestRate), 1);
    assert_eq!(stage.limited(), [("requests", 1)]);
    stage.tape.sleep(Duration::from_millis(4_999));
    assert_eq!(stage.statuses(PEER, &request, 1), "429");
    stage.tape.sleep(Duration::from_millis(1));
    assert_eq!(stage.statuses(PEER, &request, 2), "200 429");
}

#[test]
fn record_of_a_refused_request_says_so() {
    let mut stage = Stage::new(&ruled(RateLimit { count: 1, ..two(refusal()) }));
    let request = get("a", "/limited");
    assert_eq!(stage.statuses(PEER, &request, 2), "200 429");
    let taken = stage.records();
    let records = taken.records();
    let found: Vec<_> = records.iter().map(|record| (record.status(), record.cause(), record.reasons())).collect();
    let reasons = Reasons::RATE_LIMITED | Reasons::STATUS_4XX;
    assert_eq!(found, [(200, 0, 0), (429, Cause::ClientRequestRate as u16 + 1, reasons.bits())]);
}

#[test]
fn limit_that_only_reports_lets_requests_pass_and_marks_their_records() {
    let mut stage = Stage::new(&ruled(RateLimit { count: 1, ..two(None) }));
    assert_eq!(stage.statuses(PEER, &get("a", "/limited"), 2), "200 200");
    let taken = stage.records();
    let records = taken.records();
    let found: Vec<_> = records.iter().map(|record| (record.server_status(), record.reasons())).collect();
    assert_eq!(found, [(200, 0), (200, Reasons::RATE_LIMITED.bits())]);
    assert_eq!(stage.failures(Cause::ClientRequestRate), 0, "nothing has failed");
    assert_eq!(stage.limited(), []);
}

#[test]
fn each_client_path_field_and_cookie_has_its_own_rate() {
    let by = |edit: fn(&mut RateLimit)| {
        let mut limit = RateLimit { name: "requests_rate_limit".into(), count: 1, ..two(refusal()) };
        edit(&mut limit);
        Stage::new(&limited(vec![limit]))
    };
    let plain = get("a", "/x");
    let with = |line: &str| plain.replace("\r\n\r\n", &format!("\r\n{line}\r\n\r\n"));

    let mut stage = by(|limit| limit.by_client = true);
    assert_eq!(stage.statuses(PEER, &plain, 2), "200 429");
    assert_eq!(stage.statuses(OTHER_PEER, &plain, 2), "200 429");

    let mut stage = by(|limit| limit.by_path = true);
    assert_eq!(stage.statuses(PEER, &plain, 2), "200 429");
    assert_eq!(stage.statuses(OTHER_PEER, &get("a", "/%78?y"), 1), "429", "it is the same path");
    assert_eq!(stage.statuses(PEER, &get("a", "/y"), 1), "200");

    let mut stage = by(|limit| limit.by_field = "X-Api-Key".into());
    assert_eq!(stage.statuses(PEER, &with("x-api-key: one"), 2), "200 429");
    assert_eq!(stage.statuses(OTHER_PEER, &with("X-Api-Key:  one "), 1), "429");
    assert_eq!(stage.statuses(PEER, &with("X-Api-Key: two"), 2), "200 429");
    assert_eq!(stage.statuses(PEER, &plain, 3), "200 200 200", "what has no key is not limited");

    let mut stage = by(|limit| limit.by_cookie = "session".into());
    assert_eq!(stage.statuses(PEER, &with("Cookie: a=b; session=one"), 2), "200 429");
    assert_eq!(stage.statuses(PEER, &with("Cookie: session=two"), 1), "200");

    let mut stage = by(|limit| (limit.by_client, limit.by_path) = (true, true));
    assert_eq!(stage.statuses(PEER, &plain, 2), "200 429");
    assert_eq!(stage.statuses(PEER, &get("a", "/y"), 1) + &stage.statuses(OTHER_PEER, &plain, 1), "200200");
}

#[test]
fn refusals_are_counted_by_whose_rate_it_is() {
    let request = get("a", "/x").replace("\r\n\r\n", "\r\nX-Key: a\r\nCookie: k=a\r\n\r\n");
    for (edit, by) in [
        ((|_| {}) as fn(&mut RateLimit), "requests"),
        (|limit| limit.by_client = true, "client_requests"),
        (|limit| limit.by_path = true, "path_requests"),
        (|limit| (limit.by_client, limit.by_path) = (true, true), "client_path_requests"),
        (|limit| limit.by_field = "X-Key".into(), "field_requests"),
        (|limit| limit.by_cookie = "k".into(), "field_requests"),
    ] {
        for ends in [refusal(), ending(true), ending(false)] {
            let mut limit = RateLimit { name: "requests_rate_limit".into(), count: 1, ..two(ends) };
            edit(&mut limit);
            let mut stage = Stage::new(&limited(vec![limit]));
            (0..3).for_each(|_| drop(stage.gets(PEER, &request)));
            assert_eq!(stage.limited(), [(by, 2)]);
        }
    }
    for (edit, by) in [
        ((|limit| limit.by_client = true) as fn(&mut RateLimit), "client_failures"),
        (|limit| limit.by_path = true, "path_failures"),
        (|limit| (limit.by_client, limit.by_path) = (true, true), "client_path_failures"),
    ] {
        let mut limit = RateLimit { name: "failed".into(), count: 1, of_failures: true, ..two(refusal()) };
        edit(&mut limit);
        let mut plan = ruled(RateLimit { name: String::new(), count: 1, ..two(refusal()) });
        plan.http_policy_sets[0].security_rules[0].action = Some(Action::Close(api::Close { reset: true }));
        plan.virtual_services[0].request_limits = vec![limit];
        let mut stage = Stage::new(&plan);
        (0..2).for_each(|_| drop(stage.gets(PEER, &get("a", "/limited"))));
        assert_eq!(stage.limited(), [(by, 1)]);
    }
}

/// A limit of strangers: two in ten seconds, and one for the bad ones.
fn strangers(by_client: bool, by_path: bool) -> RateLimit {
    let strangers = api::Strangers { by_path, bad_count: 1 };
    RateLimit { name: "strangers".into(), by_client, by_path, strangers: Some(strangers), ..two(refusal()) }
}

/// The plan with these limits, and a rule that refuses /bad.
fn with_strangers(limits: Vec<RateLimit>) -> api::Plan {
    let bad =
        security("bad", under("/bad"), Action::Response(api::LocalResponse { status: 404, ..Default::default() }));
    with(of_strangers(limits), api::HttpPolicySet { security_rules: vec![bad], ..Default::default() })
}

fn of_strangers(limits: Vec<RateLimit>) -> api::Plan {
    let mut plan = recording(plan(1));
    plan.virtual_services[0].stranger_limits = limits;
    plan
}

impl Stage {
    /// A client asks so many times, each time when the rate has room for it.
    fn asks_slowly(&mut self, peer: &str, request: &str, times: usize) -> String {
        let statuses: Vec<_> = (0..times)
            .map(|_| {
                self.tape.sleep(Duration::from_secs(10));
                self.statuses(peer, request, 1)
            })
            .collect();
        statuses.join(" ")
    }
}

#[test]
fn client_is_limited_until_it_is_known() {
    let mut stage = Stage::new(&with_strangers(vec![strangers(true, false)]));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 3), "200 200 429");
    assert_eq!(stage.limited(), [("unknown_clients", 1)]);
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/"), 8), ["200"; 8].join(" "));
    stage.tape.sleep(Duration::from_secs(10));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 20), ["200"; 20].join(" "), "it is good now");
    assert_eq!(stage.statuses(OTHER_PEER, &get("a", "/"), 3), "200 200 429", "another one is not");
    stage.tape.sleep(Duration::from_secs(3_600));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 3), "200 200 429", "it is forgotten");
}

#[test]
fn client_whose_requests_mostly_fail_has_less() {
    let mut stage = Stage::new(&with_strangers(vec![strangers(true, false)]));
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/bad"), 12), ["404"; 12].join(" "));
    stage.tape.sleep(Duration::from_secs(10));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 2), "200 429");
    assert_eq!(stage.limited(), [("bad_clients", 1)]);
}

#[test]
fn paths_are_known_as_clients_are() {
    let mut stage = Stage::new(&with_strangers(vec![strangers(false, true)]));
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/known"), 12), ["200"; 12].join(" "));
    assert_eq!(stage.statuses(OTHER_PEER, &get("a", "/%6bnown?q"), 9), ["200"; 9].join(" "));
    assert_eq!(stage.statuses(PEER, &get("a", "/other"), 3), "200 200 429");
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/bad/1"), 12), ["404"; 12].join(" "));
    stage.tape.sleep(Duration::from_secs(10));
    assert_eq!(stage.statuses(PEER, &get("a", "/bad/1"), 2), "404 429");
    assert_eq!(stage.limited(), [("unknown_paths", 1), ("bad_paths", 1)]);
}

#[test]
fn strangers_have_one_rate_together_beside_that_of_each() {
    let all = RateLimit { name: "all".into(), count: 3, ..strangers(false, false) };
    let mut stage = Stage::new(&with_strangers(vec![all, strangers(true, false)]));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 1), "200");
    assert_eq!(stage.statuses(OTHER_PEER, &get("a", "/"), 2), "200 200");
    assert_eq!(stage.statuses("192.0.2.3:4000", &get("a", "/"), 1), "429");
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/"), 9), ["200"; 9].join(" "), "each request is remembered once");
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 9), ["200"; 9].join(" "));
}

#[test]
fn unknown_and_bad_clients_have_one_rate_together() {
    let strangers = Some(api::Strangers::default());
    let mut stage = Stage::new(&with_strangers(vec![RateLimit { name: "all".into(), strangers, ..two(refusal()) }]));
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/bad"), 12), ["404"; 12].join(" "));
    stage.tape.sleep(Duration::from_secs(10));
    assert_eq!(stage.statuses(OTHER_PEER, &get("a", "/"), 1), "200");
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 2), "200 429");
    assert_eq!(stage.statuses(OTHER_PEER, &get("a", "/"), 1), "429");
    assert_eq!(stage.limited(), [("unknown_clients", 1), ("bad_clients", 1)]);
}

#[test]
fn limit_of_strangers_that_only_reports_gets_to_know_them() {
    let limit = RateLimit { action: None, ..strangers(true, false) };
    let mut stage = Stage::new(&with_strangers(vec![limit]));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 12), ["200"; 12].join(" "));
    let taken = stage.records();
    let is_reported = |reasons: u64| reasons & Reasons::RATE_LIMITED.bits() != 0;
    let reported = taken.records().iter().filter(|record| is_reported(record.reasons())).count();
    assert_eq!(reported, 8, "of twelve requests, two are within the rate, and two of a good client");
}

#[test]
fn good_client_stays_good_while_few_of_its_many_requests_fail() {
    let mut stage = Stage::new(&with_strangers(vec![strangers(true, false)]));
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/"), 12), ["200"; 12].join(" "));
    for second in 0..100 {
        stage.tape.sleep(Duration::from_secs(1));
        assert_eq!(stage.statuses(PEER, &get("a", "/"), 9), ["200"; 9].join(" "), "second {second}");
        assert_eq!(stage.statuses(PEER, &get("a", "/bad"), 1), "404", "second {second}");
    }
    let scanned = stage.statuses(PEER, &get("a", "/bad"), 100);
    let passed = scanned.split(' ').filter(|status| *status == "404").count();
    assert!((10..50).contains(&passed), "a good client that scans is bad after {passed} requests");
}

#[test]
fn client_stays_good_when_parts_of_a_page_that_come_together_fail() {
    let mut stage = Stage::new(&of_strangers(vec![strangers(true, false)]));
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/"), 12), ["200"; 12].join(" "));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 60), ["200"; 60].join(" "));
    let mut page = |failing: usize| {
        stage.tape.sleep(Duration::from_secs(30));
        let parts: Vec<_> = (0..100)
            .map(|_| {
                let client = stage.client_from("10.0.0.1:80", PEER);
                stage.says(client, get("a", "/part"));
                let server = (status(&stage.sent(client)) == "none").then(|| stage.connected());
                (client, server)
            })
            .collect();
        let refused = parts.iter().filter(|(_, server)| server.is_none()).count();
        for (n, (client, server)) in parts.into_iter().enumerate() {
            let Some(server) = server else { continue };
            let (wanted, answer) = match n % 5 < failing {
                true => ("404", closing(NOT_FOUND)),
                false => ("200", closing(OK)),
            };
            stage.says(server, answer);
            stage.batch(vec![Event::Eof { conn: server }]);
            assert_eq!(status(&stage.sent(client)), wanted);
        }
        refused
    };
    assert_eq!((0..5).map(|_| page(1)).sum::<usize>(), 0, "20 of 100 fail");
    assert_eq!((0..5).map(|_| page(2)).sum::<usize>(), 0, "40 of 100 fail");
    assert_eq!((page(5), page(5)), (0, 99), "all fail");
}

impl Stage {
    /// As [`statuses`](Self::statuses), where a server that is asked gives this answer.
    fn answered(&mut self, request: &str, answer: &str, times: usize) -> Vec<String> {
        let ask = |_| {
            let (client, dials) = (self.client_from("10.0.0.1:80", PEER), self.dials());
            self.says(client, request);
            if self.dials() > dials {
                let server = self.connected();
                self.says(server, answer);
            }
            status(&self.sent(client)).to_owned()
        };
        (0..times).map(ask).collect()
    }

    /// Has the client's latest requests remembered, none of which has failed.
    fn knows_client(&mut self) {
        let other = get("a", "/");
        assert_eq!(self.asks_slowly(PEER, &other, 12), ["200"; 12].join(" "));
        assert_eq!(self.statuses(PEER, &other, 60), ["200"; 60].join(" "));
    }
}

fn stored_for_a_while(mut plan: api::Plan) -> api::Plan {
    let cache = api::Cache { max_bytes: 1 << 20, ..Default::default() };
    plan.virtual_services[0].http.as_mut().expect("it is of HTTP").cache = Some(cache);
    plan
}

/// The plan with a pool for /it, none of whose servers is up, and what clients get instead.
fn without_servers(plan: api::Plan, action: api::FailAction, answer: Option<api::FailAnswer>) -> api::Plan {
    let mut plan = with(plan, to_pool("/it", "pool-9"));
    let pool = plan.pools.last_mut().expect("pool-9");
    (pool.monitored, pool.fail_action, pool.fail_answer) = (true, action.into(), answer);
    plan
}

const ANSWERS: api::FailAction = api::FailAction::Answer;

#[test]
fn failure_is_taken_back_however_the_client_gets_its_answer() {
    let plain = || of_strangers(vec![strangers(true, false)]);
    let (it, ok, not_found) = (get("a", "/it"), closing(OK), closing(NOT_FOUND));
    let long = not_found.replace("Length: 0", "Length: 2") + "no";
    let fresh = ok.replace("\r\n\r\n", "\r\nCache-Control: max-age=600\r\n\r\n");
    let scripted = |event, source: &str| {
        let source = format!("if avi.http.get_path() == '/it' then {source} end");
        let sees_body = (RESP, "avi.http.set_response_body_buffer_size(1)");
        let scripts = [(event, &*source), sees_body];
        scripted_with(plain(), if event == RESP_DATA { &scripts } else { &scripts[..1] })
    };
    let ruled = |action| {
        with(
            plain(),
            api::HttpPolicySet { security_rules: vec![security("it", under("/it"), action)], ..Default::default() },
        )
    };
    let response = api::LocalResponse { status: 200, ..Default::default() };
    let lacks_servers = |event, source| {
        let scripted = scripted(event, source);
        let mut plan = without_servers(plain(), api::FailAction::LocalResponse, None);
        (plan.script_sets, plan.virtual_services[0].script_set_uuids) = (scripted.script_sets, vec!["s".into()]);
        plan
    };
    for (what, plan, request, answer, wanted) in [
        ("a response", plain(), &*it, &*ok, "200"),
        ("a body that scripts have seen", scripted(RESP_DATA, "avi.vs.log('seen')"), &it, &ok, "200"),
        ("a WebSocket", with_websockets(plain()), ASKS, SWITCHES, "101"),
        ("a stored response", stored_for_a_while(plain()), &it, &fresh, "200"),
        ("the response of a rule", ruled(Action::Response(response)), &it, "", "200"),
        ("the redirect of a rule", ruled(Action::RedirectToHttps(api::RedirectToHttps { port: 443 })), &it, "", "302"),
        ("the response of a script", scripted(REQ, "avi.http.response(200)"), &it, "", "200"),
        ("the redirect of a script", scripted(REQ, "avi.http.redirect('https://b/')"), &it, "", "302"),
        ("that of a server's response", scripted(RESP, "avi.http.response(200)"), &it, &not_found, "200"),
        ("the same behind its body", scripted(RESP_DATA, "avi.http.response(200)"), &it, &long, "200"),
        ("that without servers", lacks_servers(LB_FAILED, "avi.http.response(200)"), &it, "", "200"),
        ("the page of a pool", without_servers(plain(), ANSWERS, page(200, "later")), &it, "", "200"),
        ("the redirect of a pool", without_servers(plain(), ANSWERS, redirect("")), &it, "", "302"),
    ] {
        let mut stage = Stage::new(&plan);
        stage.knows_client();
        assert_eq!(stage.answered(&get("a", "/"), &not_found, 25), ["404"; 25], "{what}");
        assert_eq!(stage.answered(request, answer, 25), [wanted; 25], "{what}");
        assert_eq!(stage.answered(&get("a", "/"), &not_found, 25), ["404"; 25], "{what}");
        assert_eq!(stage.limited(), [], "{what}");
    }
}

#[test]
fn failure_counts_however_the_client_gets_to_know_it() {
    let plain = || of_strangers(vec![strangers(true, false)]);
    let (it, ok, not_found) = (get("a", "/it"), closing(OK), closing(NOT_FOUND));
    let fresh = not_found.replace("\r\n\r\n", "\r\nCache-Control: max-age=600\r\n\r\n");
    let closed = |source| scripted_with(plain(), &[(RESP, source)]);
    for (what, plan, request, answer, wanted) in [
        ("a WebSocket that the server does not want", with_websockets(plain()), ASKS, &*not_found, "404"),
        ("a stored response", stored_for_a_while(plain()), &*it, &fresh, "404"),
        ("the page of a pool", without_servers(plain(), ANSWERS, page(404, "gone")), &it, "", "404"),
        ("a pool that closes", without_servers(plain(), api::FailAction::CloseConnection, None), &it, "", "none"),
        (
            "a script that closes",
            closed("if avi.http.get_path() == '/it' then avi.http.close_conn() end"),
            &it,
            &ok,
            "none",
        ),
        (
            "one that answers",
            closed("if avi.http.get_path() == '/it' then avi.http.response(403) end"),
            &it,
            &ok,
            "403",
        ),
    ] {
        let mut stage = Stage::new(&plan);
        stage.knows_client();
        assert_eq!(stage.answered(request, answer, 29), [wanted; 29], "{what}");
        assert_eq!(stage.limited(), [], "{what}");
        assert!(stage.answered(request, answer, 4).ends_with(&["429".to_owned()]), "{what}");
        assert!(matches!(stage.limited()[..], [("bad_clients", 1..)]), "{what}");
    }
}

#[test]
fn what_another_limit_refuses_makes_no_client_known() {
    let all = RateLimit { name: "all".into(), count: 100, ..strangers(false, false) };
    let mut stage = Stage::new(&with_strangers(vec![all, strangers(true, false)]));
    let refused = ["429"; 28].join(" ");
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 30), format!("200 200 {refused}"));
    assert_eq!(stage.limited(), [("unknown_clients", 28)]);

    let mut plan = with_strangers(vec![RateLimit { count: 15, ..strangers(true, false) }]);
    let slowly = security("slowly", under("/limited"), Action::RateLimit(two(refusal())));
    plan.http_policy_sets[0].security_rules.push(slowly);
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.statuses(PEER, &get("a", "/limited"), 12), format!("200 200 {}", ["429"; 10].join(" ")));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 4), "200 200 200 429", "it is unknown after two requests");

    let source = "avi.vs.rate_limit(avi.RL_CUSTOM_STRING, 'all')";
    let limits = vec![RateLimit { count: 15, ..strangers(true, false) }];
    let mut plan = scripted_with(of_strangers(limits), &[(REQ, source)]);
    plan.virtual_services[0].script_limit = Some(two(refusal()));
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 15), format!("200 200 {}", ["429"; 13].join(" ")));
    stage.tape.sleep(Duration::from_secs(60));
    stage.statuses(PEER, &get("a", "/"), 30);
    assert_eq!(stage.limited(), [("unknown_clients", 15), ("script_requests", 13 + 13)]);
}

#[test]
fn refusals_of_scripts_and_of_the_profile_are_failures() {
    let limit = || RateLimit { name: "failed".into(), by_client: true, of_failures: true, ..two(refusal()) };
    let ruled = || limited(vec![limit()]);
    for (event, source, wanted) in [
        (ScriptEvent::HttpAuth, "avi.http.response(401)", "401 401 429 429"),
        (ScriptEvent::HttpPostAuth, "avi.http.response(403)", "403 403 429 429"),
        (REQ, "avi.http.response(403)", "403 403 429 429"),
        (REQ, "avi.http.close_conn()", "none none 429 429"),
        (REQ, "avi.http.response(200)", "200 200 200 200"),
        (REQ, "avi.http.redirect('https://a/')", "302 302 302 302"),
        (REQ, "local a = nil; a.b = 1", "500 500 429 429"),
    ] {
        let mut stage = Stage::new(&scripted_with(ruled(), &[(event, source)]));
        assert_eq!(stage.statuses(PEER, &get("a", "/"), 4), wanted, "{source}");
    }
    let mut plan = ruled();
    plan.virtual_services[0].http.as_mut().expect("HTTP").max_body_bytes = 3;
    let mut stage = Stage::new(&plan);
    let long = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    assert_eq!(stage.statuses(PEER, long, 3), "413 413 429");
    let mut plan = scripted_with(ruled(), &[(REQ, "avi.vs.rate_limit(avi.RL_CUSTOM_STRING, 'all')")]);
    plan.virtual_services[0].script_limit = Some(RateLimit { period_s: 1, ..two(refusal()) });
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 6), "200 200 429 429 429 429");
    stage.tape.sleep(Duration::from_secs(1));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 1), "200", "what a limit refuses is no failure");
}

#[test]
fn client_whose_requests_scripts_refuse_is_not_good() {
    let plan = of_strangers(vec![strangers(true, false)]);
    let source = "if avi.http.get_path() == '/no' then avi.http.response(403) end";
    let mut stage = Stage::new(&scripted_with(plan, &[(REQ, source)]));
    assert_eq!(stage.asks_slowly(PEER, &get("a", "/no"), 12), ["403"; 12].join(" "));
    stage.tape.sleep(Duration::from_secs(10));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 2), "200 429");
    assert_eq!(stage.limited(), [("bad_clients", 1)]);
}

#[test]
fn client_gets_what_the_action_says() {
    use rate_limit::Action::{Close as Ends, Redirect, Response};
    let redirect = api::HttpRedirect {
        status: 307,
        tls: true,
        host: vec![api::UriToken {
            kind: api::UriTokenKind::Text.into(),
            text: "busy.test".into(),
            ..Default::default()
        }],
        keep_query: true,
        ..Default::default()
    };
    let page = api::LocalResponse { status: 503, content_type: "text/plain".into(), content: b"later\n".to_vec() };
    let request = get("a", "/limited?q");
    let beyond = |action| {
        let mut stage = Stage::new(&ruled(RateLimit { count: 1, ..two(Some(action)) }));
        assert_eq!(stage.statuses(PEER, &request, 1), "200");
        stage
    };
    let answer = beyond(Redirect(redirect)).gets(PEER, &request);
    assert!(status(&answer) == "307" && answer.contains("Location: https://busy.test/limited?q\r\n"), "{answer}");
    let answer = beyond(Response(page)).gets(PEER, &request);
    assert!(status(&answer) == "503" && answer.contains("Retry-After: 10\r\n") && answer.ends_with("\r\nlater\n"));
    for (reset, how) in [(false, Close::Linger), (true, Close::Abort)] {
        let mut stage = beyond(Ends(api::Close { reset }));
        let client = stage.client_from("10.0.0.1:80", PEER);
        stage.says(client, &request);
        assert_eq!((stage.sent(client).as_str(), stage.closed(client)), ("", Some(how)));
        assert_eq!((stage.failures(Cause::ClientRequestRate), stage.failures(Cause::ClientDenied)), (1, 0));
    }
}

#[test]
fn streams_and_calls_are_limited_as_requests_are() {
    let limit = RateLimit { name: "requests_rate_limit".into(), count: 1, ..two(refusal()) };
    let mut stage = Stage::new(&http2(limited(vec![limit.clone()])));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.says(server, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
    browser.asks(&mut stage, "GET", &[], true);
    assert_eq!(browser.heard(), ["3: 429, all"]);
    assert!(browser.fields.contains("retry-after: 10\r\n"), "{}", browser.fields);

    let mut stage = Stage::new(&http2(to_http2(limited(vec![RateLimit { count: 1, period_s: 1, ..limit }]))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "POST", CALL, false);
    browser.asks(&mut stage, "POST", CALL, false);
    assert_eq!(browser.heard()[0], "3: 200, all");
    assert!(browser.fields.contains("grpc-status: 8\r\n"), "{}", browser.fields);
}

#[test]
fn workers_of_an_engine_count_together() {
    let plan = limited(vec![RateLimit { name: "requests_rate_limit".into(), ..two(refusal()) }]);
    let mut one = Stage::new(&plan);
    let mut other = one.beside(&plan);
    let request = get("a", "/");
    assert_eq!(one.statuses(PEER, &request, 1), "200");
    assert_eq!(other.statuses(PEER, &request, 2), "200 429");
    assert_eq!(one.statuses(PEER, &request, 1), "429");
}

#[test]
fn what_is_counted_stays_through_changes_of_other_things() {
    let mut plan = ruled(two(refusal()));
    let mut stage = Stage::new(&plan);
    let request = get("a", "/limited");
    assert_eq!(stage.statuses(PEER, &request, 3), "200 200 429");
    plan.revision += 1;
    let allow = security("first", HttpMatch { ..under("/x") }, Action::Allow(api::Allow {}));
    plan.http_policy_sets[0].security_rules.insert(0, allow);
    plan.virtual_services[0].name = "other".into();
    stage.replace(&plan);
    assert_eq!(stage.statuses(PEER, &request, 1), "429");
    plan.revision += 1;
    let Some(Action::RateLimit(limit)) = &mut plan.http_policy_sets[0].security_rules[1].action else { unreachable!() };
    limit.count = 3;
    stage.replace(&plan);
    assert_eq!(stage.statuses(PEER, &request, 4), "200 200 200 429", "another rate begins anew");
}

#[test]
fn limits_of_the_service_come_before_rules_and_the_first_that_refuses_ends() {
    let mut plan = ruled(RateLimit { count: 1, ..two(None) });
    let page = Some(rate_limit::Action::Response(api::LocalResponse { status: 503, ..Default::default() }));
    let name = |name: &str, limit| RateLimit { name: name.into(), ..limit };
    plan.virtual_services[0].request_limits = vec![
        name("requests_rate_limit", RateLimit { count: 3, ..two(page) }),
        name(
            "dos_rl_profile.rl_profile.client_ip_requests_rate_limit",
            RateLimit { by_client: true, ..two(refusal()) },
        ),
    ];
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.statuses(PEER, &get("a", "/limited"), 4), "200 200 429 503");
}

#[test]
fn explanation_looks_and_counts_nothing() {
    let plan = limited(vec![RateLimit { name: "requests_rate_limit".into(), count: 1, ..two(refusal()) }]);
    let mut stage = Stage::new(&plan);
    let head = get("a", "/");
    for _ in 0..3 {
        let told = stage.explain(&question(&head));
        assert_eq!((told.local, told.limit), (None, None));
    }
    assert_eq!(stage.statuses(PEER, &head, 1), "200");
    let told = stage.explain(&question(&head));
    let local = told.local.expect("the engine answers");
    assert_eq!((local.status, local.cause), (Some(429), "client_request_rate"));
    assert_eq!(told.limit.as_deref(), Some("requests_rate_limit"));

    let mut stage =
        Stage::new(&ruled(RateLimit { count: 1, ..two(Some(rate_limit::Action::Close(api::Close::default()))) }));
    let head = get("a", "/limited");
    assert_eq!(stage.statuses(PEER, &head, 1), "200");
    let told = stage.explain(&question(&head));
    let local = told.local.expect("the engine ends the connection");
    assert_eq!(
        (local.status, local.cause, told.security_rule.as_deref()),
        (None, "client_request_rate", Some("slowly"))
    );
}

#[test]
fn client_that_fails_too_often_is_refused_with_all_it_asks() {
    let limit = RateLimit { name: "failed".into(), by_client: true, of_failures: true, ..two(refusal()) };
    let mut plan = limited(vec![limit]);
    plan.virtual_services[0].pool_uuid.clear();
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 4), "503 503 429 429", "answers of the engine count");
    assert_eq!(stage.statuses(OTHER_PEER, &get("a", "/"), 1), "503", "another client has its own rate");
    stage.tape.sleep(Duration::from_secs(5));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 2), "503 429", "what is refused is no failure");
}

#[test]
fn responses_of_servers_and_refusals_of_rules_are_failures_and_others_are_not() {
    let limit = RateLimit { name: "failed".into(), by_client: true, of_failures: true, ..two(refusal()) };
    let mut stage = Stage::new(&limited(vec![limit.clone()]));
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 5), "200 200 200 200 200");
    for _ in 0..2 {
        let client = stage.client_from("10.0.0.1:80", PEER);
        stage.says(client, get("a", "/"));
        let server = stage.connected();
        stage.says(server, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(status(&stage.sent(client)), "404");
    }
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 1), "429");
    let forbidden = api::LocalResponse { status: 403, ..Default::default() };
    let security_rules = vec![security("no", under("/no"), Action::Response(forbidden))];
    let set = api::HttpPolicySet { security_rules, ..Default::default() };
    let mut stage = Stage::new(&with(limited(vec![limit]), set));
    for _ in 0..3 {
        stage.explain(&question(&get("a", "/no")));
    }
    assert_eq!(stage.statuses(PEER, &get("a", "/no"), 3), "403 403 429");
    assert_eq!(stage.statuses(PEER, &get("a", "/"), 1), "429");
}

/// The plan with a limit of connections: two in ten seconds.
fn gated(mut plan: api::Plan, by_client: bool, action: Option<rate_limit::Action>) -> api::Plan {
    let limit = RateLimit { name: "connections_rate_limit".into(), by_client, ..two(action) };
    plan.virtual_services[0].connection_limits = vec![limit];
    recording(plan)
}

fn ending(reset: bool) -> Option<rate_limit::Action> {
    Some(rate_limit::Action::Close(api::Close { reset }))
}

#[test]
fn connections_beyond_a_limit_end_as_its_action_says() {
    for plan in [plan(1), l4_plan(1)] {
        for (reset, how) in [(false, Close::Flush), (true, Close::Abort)] {
            let mut stage = Stage::new(&gated(plan.clone(), false, ending(reset)));
            let clients: Vec<_> = (0..3).map(|_| stage.client()).collect();
            let closed: Vec<_> = clients.iter().map(|client| stage.closed(*client)).collect();
            assert_eq!(closed, [None, None, Some(how)]);
            assert_eq!(stage.failures(Cause::ClientConnectionRate), 1);
            assert_eq!(stage.limited(), [("connections", 1)]);
            let service = stage.proxy.counters().service(0).expect("the service has counters");
            assert_eq!((service.connections, service.open_connections), (2, 2));
            let taken = stage.records();
            let record = taken.record();
            assert_eq!((record.kind(), record.cause()), (2, Cause::ClientConnectionRate as u16 + 1));
            assert_eq!(record.reasons(), Reasons::RATE_LIMITED.bits());
            stage.tape.sleep(Duration::from_secs(5));
            let next = stage.client();
            assert_eq!(stage.closed(next), None);
        }
    }
}

#[test]
fn each_client_may_connect_as_often() {
    let plan = gated(plan(1), true, ending(true));
    let mut one = Stage::new(&plan);
    let mut other = one.beside(&plan);
    let closed = |stage: &mut Stage, peer: &str| {
        let client = stage.client_from("10.0.0.1:80", peer);
        stage.closed(client).is_some()
    };
    assert!(!closed(&mut one, "192.0.2.1:1") && !closed(&mut other, "192.0.2.1:2"));
    assert!(closed(&mut one, "192.0.2.1:3") && closed(&mut other, "192.0.2.1:4"), "workers count together");
    assert!(!closed(&mut one, "192.0.2.2:1"));
    assert_eq!((one.limited(), other.limited()), (vec![("client_connections", 1)], vec![("client_connections", 1)]));
}

#[test]
fn limit_of_connections_that_only_reports_lets_them_in() {
    let mut stage = Stage::new(&gated(plan(1), false, None));
    let clients: Vec<_> = (0..3).map(|_| stage.client()).collect();
    assert!(clients.iter().all(|client| stage.closed(*client).is_none()));
    assert_eq!(stage.failures(Cause::ClientConnectionRate), 0);
    assert_eq!(stage.records().record().reasons(), Reasons::RATE_LIMITED.bits());
}

#[test]
fn no_more_connections_are_open_at_once_than_the_service_may_have() {
    let mut plan = plan(1);
    plan.virtual_services[0].max_open_connections = 2;
    let mut one = Stage::new(&plan);
    let mut other = one.beside(&plan);
    let (first, second) = (one.client(), other.client());
    let third = one.client();
    assert_eq!([one.closed(first), other.closed(second), one.closed(third)], [None, None, Some(Close::Abort)]);
    assert_eq!(one.failures(Cause::ClientConnections), 1);
    one.batch(vec![Event::Eof { conn: first }]);
    assert!(one.closed(first).is_some());
    let fourth = other.client();
    let fifth = other.client();
    assert_eq!((other.closed(fourth), other.closed(fifth)), (None, Some(Close::Abort)));
}

#[test]
fn client_behind_a_proxy_is_limited_by_its_own_address() {
    let mut plan = gated(plan(1), true, ending(true));
    let tcp = plan.virtual_services[0].tcp.as_mut().expect("uses TCP");
    tcp.proxy_protocol_sources = vec!["10.2.0.0/16".into()];
    let mut stage = Stage::new(&plan);
    let mut enters = |peer: &str| {
        let client = stage.client();
        stage.says(client, format!("PROXY TCP4 {peer} 10.0.0.1 4000 80\r\n"));
        stage.closed(client).is_none()
    };
    let entered = ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"].map(&mut enters);
    assert_eq!(entered, [true, true, false, true]);
    assert_eq!(stage.failures(Cause::ClientConnectionRate), 1);
}
