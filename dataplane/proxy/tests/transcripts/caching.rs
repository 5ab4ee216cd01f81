//! Responses that are stored, and requests that stored responses answer.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits,
    explain::{Bypass, FromCache},
    io::{Conn, Event, Gone},
};

use crate::{
    compression::compressing,
    explanations::question,
    groups::{backup, grouped, monitored, set_up},
    policies,
    records::recording,
    scripts::scripted_with,
    tape::{Stage, plan},
};

const ASK: &str = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const CACHE_HIT: u32 = 1 << 22;

fn caching(change: impl FnOnce(&mut api::Cache)) -> api::Plan {
    let mut plan = plan(2);
    let mut cache = api::Cache {
        max_bytes: 1 << 20,
        default_expire_s: 600,
        age_field: true,
        date_field: true,
        x_cache_field: true,
        ..Default::default()
    };
    change(&mut cache);
    plan.virtual_services[0].http.as_mut().expect("it is of HTTP").cache = Some(cache);
    plan
}

fn ok(fields: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

const FRESH: &str = "Cache-Control: max-age=60\r\nETag: \"v1\"";

/// A client that asks, and the server that gets its request. `None`: no server does.
fn ask(stage: &mut Stage, text: &str) -> (Conn, Option<Conn>) {
    let (client, dials) = (stage.client(), stage.dials());
    stage.says(client, text);
    match stage.dials() > dials {
        true => (client, Some(stage.connected())),
        false => (client, None),
    }
}

/// Has a response stored.
fn stored(stage: &mut Stage, fields: &str, body: &str) {
    let (client, server) = ask(stage, ASK);
    let server = server.expect("nothing is stored yet");
    stage.says(server, ok(fields, body));
    assert!(stage.sent(client).ends_with(body));
    stage.gone(server, Gone::Reset);
}

fn answer(stage: &mut Stage, text: &str) -> String {
    let (client, server) = ask(stage, text);
    assert_eq!(server, None, "a server is asked");
    stage.sent(client)
}

/// Requests that the cache may answer, and those that it did.
fn counted(stage: &Stage) -> (u64, u64) {
    let cache = stage.proxy.counters().service(0).and_then(|service| service.cache()).unwrap_or_default();
    (cache.lookups, cache.hits)
}

#[test]
fn stored_response_answers_with_its_age_and_asks_no_server() {
    let mut stage = Stage::new(&recording(caching(|_| {})));
    stored(&mut stage, FRESH, "hello");
    stage.tape.sleep(Duration::from_secs(7));
    let text = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age=60\r\nETag: \"v1\"\r\n\
        Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 5\r\nAge: 7\r\nX-Cache: HIT\r\n\r\nhello";
    assert_eq!(answer(&mut stage, ASK), text);
    let records = stage.records();
    let flags: Vec<_> = records.records().iter().map(|record| record.flags() & CACHE_HIT).collect();
    assert_eq!(flags, [0, CACHE_HIT]);
    let head = answer(&mut stage, &ASK.replace("GET", "HEAD"));
    assert!(head.ends_with("Content-Length: 5\r\nAge: 7\r\nX-Cache: HIT\r\n\r\n"), "{head}");
}

#[test]
fn fields_about_the_cache_are_there_only_where_the_operator_wants_them() {
    let mut stage = Stage::new(&caching(|cache| (cache.age_field, cache.x_cache_field) = (false, false)));
    stored(&mut stage, FRESH, "hello");
    let text = answer(&mut stage, ASK);
    assert!(!text.contains("Age:") && !text.contains("X-Cache"), "{text}");
}

#[test]
fn conditions_and_ranges_of_clients_are_answered() {
    let mut stage = Stage::new(&caching(|_| {}));
    stored(&mut stage, FRESH, "0123456789");
    let with = |field: &str| ASK.replace("Host: a\r\n", &format!("Host: a\r\n{field}\r\n"));
    let text = answer(&mut stage, &with("If-None-Match: \"v1\""));
    assert!(text.starts_with("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: \"v1\"\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\n") && !text.contains("Content-"), "{text}");
    let text = answer(&mut stage, &with("Range: bytes=2-4"));
    assert!(text.starts_with("HTTP/1.1 206 Partial Content\r\n"), "{text}");
    assert!(text.ends_with("Content-Range: bytes 2-4/10\r\nContent-Length: 3\r\n\r\n234"), "{text}");
    let text = answer(&mut stage, &with("Range: bytes=20-"));
    assert!(text.starts_with("HTTP/1.1 416 ") && text.contains("Content-Range: bytes */10\r\n"), "{text}");
}

/// Otherwise the maintenance page of a backup would outlive the failure of the pool.
#[test]
fn answer_of_a_backup_pool_is_not_stored() {
    let mut plan = monitored(grouped(caching(|_| {}), &[(1, 0), (0, 0)]));
    plan.virtual_services[0].pool_group_uuid.clear();
    plan.virtual_services[0].pool_uuid = "pool-0".into();
    (plan.pools[0].fail_action, plan.pools[0].fail_answer) = (api::FailAction::Answer.into(), backup("pool-1"));
    let mut stage = Stage::new(&plan);
    set_up(&mut stage, 0, 0, false);
    set_up(&mut stage, 1, 0, true);
    stored(&mut stage, FRESH, "sorry");
    set_up(&mut stage, 0, 0, true);
    stored(&mut stage, FRESH, "the page");
    assert!(answer(&mut stage, ASK).ends_with("the page"));
}

#[test]
fn cut_response_is_not_stored() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (_, server) = ask(&mut stage, ASK);
    let server = server.expect("a server");
    stage.says(server, ok(FRESH, "hello").trim_end_matches("llo"));
    stage.gone(server, Gone::Reset);
    assert!(ask(&mut stage, ASK).1.is_some());
}

#[test]
fn response_that_ends_with_its_connection_is_not_stored() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (client, server) = ask(&mut stage, ASK);
    let server = server.expect("a server");
    stage.says(server, format!("HTTP/1.1 200 OK\r\n{FRESH}\r\n\r\nhel"));
    stage.batch(vec![Event::Eof { conn: server }]);
    assert!(stage.sent(client).contains("hel"));
    assert!(ask(&mut stage, ASK).1.is_some());
}

#[test]
fn chunks_are_stored_as_content() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (client, server) = ask(&mut stage, ASK);
    let server = server.expect("a server");
    let head = format!("HTTP/1.1 200 OK\r\n{FRESH}\r\nTransfer-Encoding: chunked\r\n\r\n");
    stage.says(server, format!("{head}3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"));
    assert!(stage.sent(client).ends_with("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"));
    stage.gone(server, Gone::Reset);
    let text = answer(&mut stage, ASK);
    assert!(
        text.contains("Content-Length: 5\r\n") && text.ends_with("\r\n\r\nhello") && !text.contains("chunked"),
        "{text}"
    );
}

#[test]
fn stale_response_answers_once_its_server_says_that_it_holds() {
    let mut stage = Stage::new(&caching(|_| {}));
    stored(&mut stage, FRESH, "hello");
    stage.tape.sleep(Duration::from_secs(61));
    let (client, server) = ask(&mut stage, ASK);
    let server = server.expect("a server");
    assert!(stage.sent(server).contains("If-None-Match: \"v1\"\r\n"));
    stage.says(server, "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=90\r\nX-New: 1\r\n\r\n");
    let text = stage.sent(client);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("hello"), "{text}");
    assert!(text.contains("max-age=90") && !text.contains("max-age=60") && text.contains("X-New: 1"), "{text}");
    stage.tape.sleep(Duration::from_secs(29));
    assert!(answer(&mut stage, ASK).ends_with("hello"));
    stage.tape.sleep(Duration::from_secs(100));
    let (late, other) = ask(&mut stage, ASK);
    // The pool may choose the other server. Otherwise the connection that brought the 304 serves on.
    let server = other.unwrap_or(server);
    assert!(stage.sent(server).contains("If-None-Match"));
    stage.says(server, ok(FRESH, "other"));
    assert!(stage.sent(late).ends_with("other"));
    assert!(answer(&mut stage, ASK).ends_with("other"));
    assert_eq!(counted(&stage), (5, 3));
}

/// RFC 9111 §4.3.4: a 304 with another strong tag is no news of what is stored.
#[test]
fn not_modified_of_another_response_freshens_nothing_and_the_server_is_asked_for_the_whole() {
    for said in ["ETag: \"v2\"", "ETag: W/\"v2\"", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"] {
        let mut stage = Stage::new(&recording(caching(|_| {})));
        stored(&mut stage, FRESH, "hello");
        stage.tape.sleep(Duration::from_secs(61));
        let (client, server) = ask(&mut stage, ASK);
        let server = server.expect("a server");
        assert!(stage.sent(server).contains("If-None-Match: \"v1\"\r\n"));
        let waiting = ask(&mut stage, ASK);
        assert_eq!(waiting.1, None, "it waits for the first");
        let dials = stage.dials();
        stage.says(server, format!("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=90\r\n{said}\r\n\r\n"));
        assert_eq!(stage.sent(client), "", "{said}");
        let server = if stage.dials() > dials { stage.connected() } else { server };
        let again = stage.sent(server);
        assert!(again.starts_with("GET /a HTTP/1.1\r\n") && !again.contains("If-None-Match"), "{said}: {again}");
        stage.says(server, ok("Cache-Control: max-age=60\r\nETag: \"v2\"", "other"));
        for client in [client, waiting.0] {
            assert!(stage.sent(client).ends_with("other"));
        }
        assert!(answer(&mut stage, ASK).ends_with("other"));
        let taken = stage.records();
        assert_eq!(taken.records()[1].server_status(), 200);
    }
}

#[test]
fn change_of_a_resource_makes_what_is_stored_hold_no_more() {
    let mut stage = Stage::new(&caching(|_| {}));
    for (method, status, holds) in [("POST", 500, true), ("POST", 204, false), ("DELETE", 303, false)] {
        stored_anew(&mut stage);
        let (_, server) = ask(&mut stage, &format!("{method} /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"));
        let server = server.expect("a server");
        stage.says(
            server,
            format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").replace("204 X\r\nContent-Length: 0", "204 X"),
        );
        stage.gone(server, Gone::Reset);
        let (_, asked) = ask(&mut stage, ASK);
        assert_eq!(asked.is_none(), holds, "{method} {status}");
        if let Some(server) = asked {
            stage.gone(server, Gone::Reset);
        }
    }
}

fn stored_anew(stage: &mut Stage) {
    let (client, server) = ask(stage, ASK);
    if let Some(server) = server {
        stage.says(server, ok(FRESH, "hello"));
        stage.gone(server, Gone::Reset);
    }
    assert!(stage.sent(client).ends_with("hello"));
}

#[test]
fn other_workers_hear_of_a_change() {
    let plan = caching(|_| {});
    let mut stage = Stage::new(&plan);
    let mut other = stage.beside(&plan);
    stored(&mut stage, FRESH, "hello");
    let (_, server) = ask(&mut other, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    other.says(server.expect("a server"), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert!(ask(&mut stage, ASK).1.is_some());
}

#[test]
fn others_wait_for_the_first_and_no_server_hears_of_them() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (first, server) = ask(&mut stage, ASK);
    let server = server.expect("a server");
    let others: Vec<_> = (0..3).map(|_| ask(&mut stage, ASK)).collect();
    assert!(others.iter().all(|(_, server)| server.is_none()));
    stage.says(server, ok(FRESH, "hello"));
    assert!(stage.sent(first).ends_with("hello"));
    for (client, _) in others {
        let text = stage.sent(client);
        assert!(text.contains("X-Cache: HIT") && text.ends_with("hello"), "{text}");
    }
    assert_eq!(stage.dials(), 1);
    assert_eq!(counted(&stage), (4, 3));
}

#[test]
fn if_the_server_of_the_first_dies_the_next_asks_another_and_the_rest_wait_on() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (first, server) = ask(&mut stage, ASK);
    let server = server.expect("a server");
    let others: Vec<_> = (0..3).map(|_| ask(&mut stage, ASK).0).collect();
    stage.says(server, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nhe");
    stage.gone(server, Gone::Reset);
    assert!(stage.closed(first).is_some());
    let _ = stage.sent(first);
    stage.batch(vec![]);
    assert_eq!(stage.dials(), 2);
    let second = stage.connected();
    assert!(others.iter().all(|client| stage.closed(*client).is_none()));
    stage.says(second, ok(FRESH, "hello"));
    for client in others {
        assert!(stage.sent(client).ends_with("hello"));
    }
    assert_eq!(stage.dials(), 2);
    assert_eq!(counted(&stage), (4, 2));
}

#[test]
fn others_wait_no_longer_than_two_seconds() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (_, server) = ask(&mut stage, ASK);
    assert!(server.is_some());
    let (late, _) = ask(&mut stage, ASK);
    assert_eq!(stage.wait_for_deadline(late), Duration::from_secs(2));
    assert_eq!(stage.dials(), 2);
    let own = stage.connected();
    stage.says(own, ok(FRESH, "own"));
    assert!(stage.sent(late).ends_with("own"));
}

#[test]
fn nobody_waits_twice_for_what_is_not_stored() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (_, server) = ask(&mut stage, ASK);
    let server = server.expect("a server");
    let (other, _) = ask(&mut stage, ASK);
    stage.says(server, ok("Connection: close\r\nCache-Control: no-store", "mine"));
    // The other one asks for itself, at once.
    assert_eq!(stage.dials(), 2);
    let own = stage.connected();
    assert!(ask(&mut stage, ASK).1.is_some());
    stage.says(own, ok("Cache-Control: no-store", "own"));
    assert!(stage.sent(other).ends_with("own"));
}

#[test]
fn large_response_is_stored_when_it_is_asked_for_again() {
    let mut stage = Stage::new(&caching(|_| {}));
    let body = "x".repeat(70_000);
    for stored in [false, false, true] {
        let (client, server) = ask(&mut stage, ASK);
        assert_eq!(server.is_none(), stored);
        if let Some(server) = server {
            let text = ok(FRESH, &body);
            let events = text.as_bytes().chunks(Stage::BLOCK_BYTES).map(|piece| stage.data(server, piece)).collect();
            stage.batch(events);
        }
        for _ in 0..200 {
            stage.batch(vec![Event::Drained { conn: client }]);
        }
        assert!(stage.sent(client).ends_with(&body));
        if let Some(server) = server {
            stage.gone(server, Gone::Reset);
        }
    }
}

#[test]
fn virtual_service_stores_no_more_than_its_share() {
    // The stage has one worker. A response of 1,000 bytes needs about 2 KiB, with its head and its place.
    let mut stage = Stage::new(&caching(|cache| cache.max_stored_bytes = 10_000));
    let body = "x".repeat(1_000);
    let path = |n: u32| format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n");
    for n in 0..20 {
        let (client, server) = ask(&mut stage, &path(n));
        let server = server.expect("nothing is stored yet");
        stage.says(server, ok(FRESH, &body));
        assert!(stage.sent(client).ends_with(&body));
        stage.gone(server, Gone::Reset);
    }
    let is_stored = |stage: &mut Stage, n: u32| {
        let (_, server) = ask(stage, &path(n));
        server.map(|server| stage.gone(server, Gone::Reset)).is_none()
    };
    let stored: Vec<u32> = (0..20).filter(|n| is_stored(&mut stage, *n)).collect();
    assert!((3..=6).contains(&stored.len()), "{stored:?}");
    assert_eq!(*stored.last().expect("some are"), 19, "the latest stay: {stored:?}");
}

/// What was stored before counts for the share that there is now, once its server has confirmed it.
#[test]
fn confirmed_responses_count_for_the_share_that_there_is() {
    for before in [0, 100_000] {
        let mut stage = Stage::new(&caching(|cache| cache.max_stored_bytes = before));
        let body = "x".repeat(1_000);
        let path = |n: u32| format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n");
        let ask_all = |stage: &mut Stage| {
            for n in 0..20 {
                let (client, server) = ask(stage, &path(n));
                let server = server.expect("nothing fresh is stored");
                match stage.sent(server).contains("If-None-Match") {
                    true => stage.says(server, "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n"),
                    false => stage.says(server, ok(FRESH, &body)),
                }
                assert!(stage.sent(client).ends_with(&body));
                stage.gone(server, Gone::Reset);
            }
        };
        ask_all(&mut stage);
        let mut plan = caching(|cache| cache.max_stored_bytes = 10_000);
        plan.revision += 1;
        stage.replace(&plan);
        stage.tape.sleep(Duration::from_secs(61));
        ask_all(&mut stage);
        let is_stored = |n: &u32| {
            let (_, server) = ask(&mut stage, &path(*n));
            server.map(|server| stage.gone(server, Gone::Reset)).is_none()
        };
        let stored: Vec<u32> = (0..20).filter(is_stored).collect();
        assert!((3..=6).contains(&stored.len()), "{before}: {stored:?}");
    }
}

fn with_fields(fields: &str) -> String {
    ASK.replace("Host: a\r\n", &format!("Host: a\r\n{fields}\r\n"))
}

#[test]
fn stored_fields_are_all_but_those_of_a_connection() {
    let mut stage = Stage::new(&caching(|_| {}));
    let of_connection = "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic";
    stored(&mut stage, &format!("{FRESH}\r\n{of_connection}\r\nAge: 20\r\nX-Unknown: 1\r\nX-Unknown: 2"), "hello");
    stage.tape.sleep(Duration::from_secs(3));
    let text = answer(&mut stage, ASK);
    assert!(text.contains("X-Unknown: 1\r\nX-Unknown: 2\r\n"), "{text}");
    assert!(text.contains("Age: 23\r\n") && text.matches("Age:").count() == 1, "{text}");
    for name in ["Connection:", "X-Hop:", "Keep-Alive:", "Proxy-Authenticate:"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
}

#[test]
fn what_is_stored_for_one_name_answers_no_other() {
    let mut stage = Stage::new(&caching(|cache| cache.queries = true));
    stored(&mut stage, FRESH, "hello");
    for other in [ASK.replace("/a", "/b"), ASK.replace("/a", "/a?b"), ASK.replace("Host: a", "Host: b")] {
        assert!(ask(&mut stage, &other).1.is_some(), "{other}");
    }
    let post = "POST /a HTTP/1.1\r\nHost: b\r\nContent-Length: 0\r\n\r\n";
    let (_, server) = ask(&mut stage, post);
    stage.says(server.expect("a server"), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert!(answer(&mut stage, ASK).ends_with("hello"), "the change was of another origin");
}

/// A pool, a server or other fields that rules choose may make another resource of the same name.
#[test]
fn responses_for_requests_that_rules_change_reach_no_other_client() {
    let to_pool = |server_id: &str| {
        let choice = api::PoolChoice { pool_uuid: "pool-9".into(), server_id: server_id.into(), ..Default::default() };
        (vec![], Some(api::http_request_rule::Action::Pool(choice)))
    };
    let edits = vec![policies::edit(api::EditKind::Add, "X-Role", Some("admin"))];
    for (headers, action) in [to_pool(""), to_pool("server 0"), (edits, None)] {
        let value = policies::text(api::TextCriterion::BeginsWith, &["1"]);
        let inside = api::FieldMatch { name: "X-Inside".into(), value };
        let matched = api::HttpMatch { fields: vec![inside], ..Default::default() };
        let rule = api::HttpRequestRule {
            rule: policies::rule("inside", matched),
            edits: headers,
            action,
            ..Default::default()
        };
        let set = api::HttpPolicySet { request_rules: vec![rule], ..Default::default() };
        let mut stage = Stage::new(&policies::with(caching(|_| {}), set));
        let (client, server) = ask(&mut stage, &with_fields("X-Inside: 1"));
        let server = server.expect("a server");
        stage.says(server, ok(FRESH, "of the inside"));
        assert!(stage.sent(client).ends_with("of the inside"));
        stage.gone(server, Gone::Reset);
        let (client, server) = ask(&mut stage, ASK);
        let server = server.expect("what is stored is not for this client");
        stage.says(server, ok(FRESH, "of the outside"));
        assert!(stage.sent(client).ends_with("of the outside"));
        stage.gone(server, Gone::Reset);
        assert!(answer(&mut stage, ASK).ends_with("of the outside"));
        let (client, server) = ask(&mut stage, &with_fields("X-Inside: 1"));
        let got = stage.sent(client);
        assert!(server.is_some() || got.ends_with("of the inside"), "{got}");
    }
}

/// Requests with the field X-Inside are edited, and sent elsewhere.
fn inside(edits: Vec<api::HeaderEdit>, action: Option<api::http_request_rule::Action>) -> api::HttpRequestRule {
    let value = policies::text(api::TextCriterion::BeginsWith, &["1"]);
    let matched =
        api::HttpMatch { fields: vec![api::FieldMatch { name: "X-Inside".into(), value }], ..Default::default() };
    api::HttpRequestRule { rule: policies::rule("inside", matched), edits, action, ..Default::default() }
}

fn ruled(cache: impl FnOnce(&mut api::Cache), rules: Vec<api::HttpRequestRule>) -> api::Plan {
    policies::with(caching(cache), api::HttpPolicySet { request_rules: rules, ..Default::default() })
}

fn rewritten_to(path: &str) -> Option<api::HttpRewrite> {
    let token =
        |text: &str| api::UriToken { kind: api::UriTokenKind::Text.into(), text: text.into(), ..Default::default() };
    Some(api::HttpRewrite { path: path.split('/').map(token).collect(), ..Default::default() })
}

fn to_nine() -> Option<api::http_request_rule::Action> {
    let choice = api::PoolChoice { pool_uuid: "pool-9".into(), ..Default::default() };
    Some(api::http_request_rule::Action::Pool(choice))
}

/// Has the response to a request stored. Returns what its server was asked.
fn stored_for(stage: &mut Stage, request: &str, fields: &str, body: &str) -> String {
    let (client, server) = ask(stage, request);
    let server = server.expect("nothing is stored yet");
    let asked = stage.sent(server);
    stage.says(server, ok(fields, body));
    assert!(stage.sent(client).ends_with(body));
    stage.gone(server, Gone::Reset);
    asked
}

#[test]
fn pool_that_a_rule_chooses_has_stored_responses_of_its_own() {
    let mut stage = Stage::new(&ruled(|_| {}, vec![inside(vec![], to_nine())]));
    stored_for(&mut stage, &with_fields("X-Inside: 1"), FRESH, "green");
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    stored_for(&mut stage, ASK, FRESH, "blue");
    assert!(answer(&mut stage, ASK).ends_with("blue"));
    assert!(answer(&mut stage, &with_fields("X-Inside: 1")).ends_with("green"));
    // What is changed through one of them may have changed in the other.
    let (_, server) = ask(&mut stage, "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    stage.says(server.expect("a server"), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert!(ask(&mut stage, &with_fields("X-Inside: 1")).1.is_some(), "the other pool was changed, too");
}

#[test]
fn what_rules_rewrite_is_stored_as_its_server_is_asked_for_it() {
    let rule = api::HttpRequestRule { rewrite: rewritten_to("v2/a"), ..inside(vec![], None) };
    let mut stage = Stage::new(&ruled(|_| {}, vec![rule]));
    let asked = stored_for(&mut stage, &with_fields("X-Inside: 1"), FRESH, "of v2");
    assert!(asked.starts_with("GET /v2/a HTTP/1.1\r\n"), "{asked}");
    assert!(answer(&mut stage, &with_fields("X-Inside: 1")).ends_with("of v2"));
    assert!(answer(&mut stage, &ASK.replace("/a", "/v2/a")).ends_with("of v2"), "the server's resource is the same");
    stored_for(&mut stage, ASK, FRESH, "of a");
    assert!(answer(&mut stage, &with_fields("X-Inside: 1")).ends_with("of v2"));
}

#[test]
fn rewritten_path_is_not_stored_if_the_operator_excludes_the_one_that_clients_ask_for() {
    let excludes =
        |cache: &mut api::Cache| cache.blocked_paths = policies::text(api::TextCriterion::BeginsWith, &["/a"]);
    let rule = api::HttpRequestRule { rewrite: rewritten_to("v2/a"), ..inside(vec![], None) };
    let mut stage = Stage::new(&ruled(excludes, vec![rule]));
    stored_for(&mut stage, &with_fields("X-Inside: 1"), FRESH, "hello");
    assert!(ask(&mut stage, &with_fields("X-Inside: 1")).1.is_some());
}

#[test]
fn responses_vary_by_fields_that_rules_write() {
    let role = policies::edit(api::EditKind::Replace, "X-Role", Some("staff"));
    let mut stage = Stage::new(&ruled(|_| {}, vec![inside(vec![role], None)]));
    let varying = format!("{FRESH}\r\nVary: X-Role");
    stored_for(&mut stage, &with_fields("X-Inside: 1\r\nX-Role: guest"), &varying, "for staff");
    assert!(answer(&mut stage, &with_fields("X-Inside: 1\r\nX-Role: other")).ends_with("for staff"));
    assert!(ask(&mut stage, &with_fields("X-Role: staff")).1.is_some(), "it only says so itself");
}

#[test]
fn request_whose_credentials_a_rule_removes_counts_as_one_with_them() {
    let hidden = policies::edit(api::EditKind::Remove, "Authorization", None);
    let mut stage = Stage::new(&ruled(|_| {}, vec![inside(vec![hidden], None)]));
    let request = with_fields("X-Inside: 1\r\nAuthorization: Basic YTpi");
    let asked = stored_for(&mut stage, &request, FRESH, "hello");
    assert!(!asked.contains("Authorization"), "{asked}");
    stored_for(&mut stage, &request, "Cache-Control: public, max-age=60", "of all");
    assert!(answer(&mut stage, &request).ends_with("of all"));
}

/// Scripts run for what a client gets, whether a server or the store has it, and see no 304 that the cache asked for.
#[test]
fn scripts_for_responses_run_for_stored_ones() {
    let source = "avi.http.add_header('X-Script', avi.http.status())";
    let mut plan = scripted_with(caching(|_| {}), &[(api::ScriptEvent::HttpResp, source)]);
    plan.virtual_services[0].http_policy_set_uuids.clear();
    let mut stage = Stage::new(&plan);
    stored(&mut stage, FRESH, "hello");
    let text = answer(&mut stage, ASK);
    assert!(text.contains("X-Cache: HIT") && text.matches("X-Script: 200\r\n").count() == 1, "{text}");
    stage.tape.sleep(Duration::from_secs(61));
    let (client, server) = ask(&mut stage, ASK);
    let server = server.expect("it is stale");
    stage.says(server, "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=60\r\n\r\n");
    let text = stage.sent(client);
    assert!(text.ends_with("hello") && text.matches("X-Script: 200\r\n").count() == 1, "{text}");
    assert!(!text.contains("X-Script: 304"), "{text}");
}

#[test]
fn script_for_responses_may_answer_in_place_of_a_stored_one() {
    let source = "if avi.http.get_header('X-Cache', avi.HTTP_RESPONSE) then avi.http.close_conn() end";
    let plan = scripted_with(caching(|_| {}), &[(api::ScriptEvent::HttpResp, source)]);
    let mut stage = Stage::new(&plan);
    stored(&mut stage, FRESH, "hello");
    let (client, server) = ask(&mut stage, ASK);
    assert!(server.is_none() && stage.sent(client).is_empty() && stage.closed(client).is_some());
}

#[test]
fn purged_responses_answer_no_more_and_others_do() {
    let purged = |all, purges: &[(u64, &str)]| {
        caching(|cache| {
            cache.purged_all = all;
            let purge = |(number, path): &(u64, &str)| api::Purge {
                number: *number,
                path: (*path).to_owned(),
                ..Default::default()
            };
            cache.purges = purges.iter().map(purge).collect();
        })
    };
    let other = ASK.replace("/a", "/b");
    let mut stage = Stage::new(&purged(0, &[(1, "/a")]));
    stored(&mut stage, FRESH, "hello");
    stored_for(&mut stage, &other, FRESH, "other");
    assert!(answer(&mut stage, ASK).ends_with("hello"), "it was purged before");
    // What is on its way when it is purged is not stored either.
    let on_its_way = ASK.replace("/a", "/c");
    let (_, server) = ask(&mut stage, &on_its_way);
    let late = server.expect("a server");
    stage.replace(&purged(0, &[(1, "/a"), (2, "/a"), (3, "/c")]));
    stage.says(late, ok(FRESH, "late"));
    stage.gone(late, Gone::Reset);
    for request in [ASK, &on_its_way] {
        stored_for(&mut stage, request, FRESH, "fresh");
        assert!(answer(&mut stage, request).ends_with("fresh"));
    }
    assert!(answer(&mut stage, &other).ends_with("other"));
    stage.replace(&purged(4, &[]));
    for request in [ASK, &other] {
        let (_, server) = ask(&mut stage, request);
        stage.gone(server.expect("all is purged"), Gone::Reset);
    }
}

#[test]
fn what_is_said_of_the_cache_agrees_with_what_it_does_and_changes_nothing() {
    let mut stage = Stage::new(&ruled(|_| {}, vec![inside(vec![], to_nine())]));
    let told = |stage: &mut Stage, request: &str| stage.explain(&question(request)).cache;
    assert_eq!(told(&mut stage, ASK), Some(FromCache::Miss));
    assert_eq!(told(&mut stage, ASK), Some(FromCache::Miss), "a question is no request");
    stored(&mut stage, FRESH, "hello");
    stage.tape.sleep(Duration::from_secs(7));
    assert_eq!(told(&mut stage, ASK), Some(FromCache::Hit { age_s: 7 }));
    assert!(stage.explain(&question(ASK)).pool.is_none(), "no server is asked");
    assert_eq!(told(&mut stage, &with_fields("X-Inside: 1")), Some(FromCache::Miss), "it is for another pool");
    for (request, why) in [
        (ASK.replace("GET", "OPTIONS"), Bypass::Method),
        (ASK.replace("/a", "/a?b"), Bypass::Path),
        (with_fields("If-Match: \"v1\""), Bypass::Condition),
    ] {
        assert_eq!(told(&mut stage, &request), Some(FromCache::Bypass(why)), "{request}");
    }
    assert_eq!(told(&mut stage, &ASK.replace("GET", "DELETE")), Some(FromCache::Changes));
    stage.tape.sleep(Duration::from_secs(60));
    assert_eq!(told(&mut stage, ASK), Some(FromCache::Stale { age_s: 67 }));
    assert_eq!(Stage::new(&plan(1)).explain(&question(ASK)).cache, None);
}

/// RFC 9110 §15.4.5: a client that would get the compressed response hears its tag, whatever it has.
#[test]
fn not_modified_from_the_store_has_the_tag_that_the_whole_response_would_have() {
    let mut plan = caching(|_| {});
    plan.virtual_services[0].http.as_mut().expect("it is of HTTP").compression =
        compressing(|_| {}).virtual_services.remove(0).http.expect("it is of HTTP").compression;
    let mut stage = Stage::new(&plan);
    stored(&mut stage, FRESH, "hello");
    for (fields, tag) in [
        ("If-None-Match: \"v1\"\r\nAccept-Encoding: gzip", "ETag: W/\"v1\"\r\n"),
        ("If-None-Match: \"v1\"", "ETag: \"v1\"\r\n"),
        ("If-None-Match: W/\"v1\"\r\nAccept-Encoding: gzip", "ETag: W/\"v1\"\r\n"),
    ] {
        let text = answer(&mut stage, &with_fields(fields));
        assert!(text.starts_with("HTTP/1.1 304 ") && text.contains(tag), "{fields}: {text}");
    }
}

/// RFC 9111 §5.2.2.2: an error, and nothing stale.
#[test]
fn stale_response_does_not_answer_for_a_server_that_fails() {
    let mut stage = Stage::new(&caching(|_| {}));
    stored(&mut stage, &format!("{FRESH}\r\nCache-Control: must-revalidate"), "hello");
    stage.tape.sleep(Duration::from_secs(61));
    let (client, server) = ask(&mut stage, ASK);
    stage.gone(server.expect("it is stale"), Gone::Reset);
    let text = stage.sent(client);
    assert!(text.starts_with("HTTP/1.1 50") && !text.contains("hello"), "{text}");
}

/// Each would have waited for the one before it, a server's answer at a time.
#[test]
fn those_behind_a_response_that_must_be_validated_wait_once() {
    let mut stage = Stage::new(&caching(|_| {}));
    let (_, server) = ask(&mut stage, ASK);
    let others: Vec<_> = (0..3).map(|_| ask(&mut stage, ASK)).collect();
    assert!(others.iter().all(|(_, server)| server.is_none()));
    let closing = "Connection: close\r\nCache-Control: no-cache\r\nETag: \"v1\"";
    stage.says(server.expect("a server"), ok(closing, "hello"));
    stage.batch(vec![]);
    assert_eq!(stage.dials(), 4, "all of the others ask at once");
}

/// Short responses with long names, or that vary by long values, use memory, too.
#[test]
fn names_and_selecting_values_count_as_memory() {
    let cache_bytes = 256 * 1024;
    for vary in [false, true] {
        let mut stage = Stage::with(&caching(|_| {}), Limits { cache_bytes, ..Limits::default() });
        let long = "x".repeat(3000);
        let request = |n: usize| match vary {
            false => ASK.replace("/a", &format!("/{n}/{long}")),
            true => with_fields(&format!("X-Long: {long}")).replace("/a", &format!("/{n}")),
        };
        let fields = if vary { format!("{FRESH}\r\nVary: X-Long") } else { FRESH.to_owned() };
        for n in 0..200 {
            let (_, server) = ask(&mut stage, &request(n));
            let server = server.expect("a server");
            stage.says(server, ok(&fields, "hello"));
            stage.gone(server, Gone::Reset);
        }
        let mut hits = 0;
        for n in 0..200 {
            match ask(&mut stage, &request(n)).1 {
                None => hits += 1,
                Some(server) => stage.gone(server, Gone::Reset),
            }
        }
        assert!((10..=cache_bytes / 3000).contains(&hits), "{hits} with {vary}");
    }
}

/// Content on its way into the store has a quarter of the store's memory.
#[test]
fn content_on_its_way_into_the_store_counts_as_memory() {
    let mut stage = Stage::with(&caching(|_| {}), Limits { cache_bytes: 80_000, ..Limits::default() });
    let body = "x".repeat(3000);
    let begun: Vec<_> = (0..10)
        .map(|n| {
            let (_, server) = ask(&mut stage, &ASK.replace("/a", &format!("/{n}")));
            let server = server.expect("a server");
            stage.says(server, ok(FRESH, &body).strip_suffix('x').expect("a body"));
            server
        })
        .collect();
    for server in begun {
        stage.says(server, "x");
        stage.gone(server, Gone::Reset);
    }
    let hits = (0..10).filter(|n| ask(&mut stage, &ASK.replace("/a", &format!("/{n}"))).1.is_none()).count();
    assert_eq!(hits, 6, "of 20,000 bytes each of 3,000");
}

#[test]
fn conditions_that_the_cache_does_not_know_are_the_servers() {
    for condition in ["If-Modified-Since: yesterday", "If-Match: \"v0\"", "If-Unmodified-Since: yesterday"] {
        let mut stage = Stage::new(&caching(|_| {}));
        stored(&mut stage, FRESH, "hello");
        stage.tape.sleep(Duration::from_secs(61));
        let (client, server) = ask(&mut stage, &with_fields(condition));
        let server = server.expect("a server");
        let asked = stage.sent(server);
        assert!(asked.contains(condition) && !asked.contains("If-None-Match"), "{asked}");
        assert!(ask(&mut stage, ASK).1.is_some(), "nobody waits for what may be no whole response");
        stage.says(server, "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n");
        assert!(stage.sent(client).starts_with("HTTP/1.1 304 "), "{condition}");
    }
}

#[test]
fn requests_do_not_wait_for_a_response_that_is_too_large_for_its_share() {
    let mut stage = Stage::new(&caching(|cache| cache.max_stored_bytes = 6_000));
    let (client, server) = ask(&mut stage, ASK);
    assert_eq!(ask(&mut stage, ASK).1, None, "it waits for the first");
    let (fields, body) = (format!("{FRESH}\r\nX-Long: {}", "x".repeat(2_600)), "y".repeat(1_000));
    let server = server.expect("nothing is stored yet");
    stage.says(server, ok(&fields, &body));
    (0..20).for_each(|_| stage.batch(vec![Event::Drained { conn: client }]));
    assert!(stage.sent(client).ends_with(&body));
    stage.gone(server, Gone::Reset);
    for _ in 0..2 {
        assert!(ask(&mut stage, ASK).1.is_some(), "all know that it is not stored");
    }
}

#[test]
fn response_for_a_request_whose_server_learns_its_number_is_for_all() {
    let value = Some(api::HeaderValue { variable: api::HeaderVariable::RequestId.into(), ..Default::default() });
    let edits = vec![api::HeaderEdit { value, ..policies::edit(api::EditKind::Replace, "X-Request-ID", None) }];
    let rule =
        api::HttpRequestRule { rule: policies::rule("name", api::HttpMatch::default()), edits, ..Default::default() };
    let set = api::HttpPolicySet { request_rules: vec![rule], ..Default::default() };
    let mut stage = Stage::new(&policies::with(caching(|_| {}), set));
    stored(&mut stage, FRESH, "hello");
    assert!(answer(&mut stage, ASK).ends_with("hello"));
}
