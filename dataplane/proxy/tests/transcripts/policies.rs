//! HTTP policies: rules that refuse, redirect, answer, change heads, and choose pools.

use weir_api::dataplane::v1::{self as api, HttpMatch, HttpPolicySet, HttpRequestRule, HttpResponseRule, HttpRule};
use weir_proxy::io::{Close, Event};
use weir_telemetry::Cause;

use crate::{
    OK,
    hosted::get,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    status,
    tape::{Stage, plan},
};

/// The plan with one policy set, and a second pool: its server is 10.1.9.1.
pub fn with(mut plan: api::Plan, set: HttpPolicySet) -> api::Plan {
    let mut pool = api::Pool { uuid: "pool-9".into(), ..plan.pools[0].clone() };
    pool.servers.truncate(1);
    pool.servers[0].address = "10.1.9.1".into();
    plan.pools.push(pool);
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    plan.http_policy_sets = vec![HttpPolicySet { uuid: "set-1".into(), name: "rules".into(), ..set }];
    plan
}

pub fn rule(name: &str, matched: HttpMatch) -> Option<HttpRule> {
    Some(HttpRule { name: name.into(), r#match: Some(matched), ..HttpRule::default() })
}

pub fn text(criterion: api::TextCriterion, values: &[&str]) -> Option<api::TextMatch> {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Some(api::TextMatch { criterion: criterion.into(), values, decoded: true, ..Default::default() })
}

pub fn under(path: &str) -> HttpMatch {
    HttpMatch { path: text(api::TextCriterion::BeginsWith, &[path]), ..HttpMatch::default() }
}

pub fn security(name: &str, matched: HttpMatch, action: api::http_security_rule::Action) -> api::HttpSecurityRule {
    api::HttpSecurityRule { rule: rule(name, matched), action: Some(action) }
}

fn requests(rules: Vec<HttpRequestRule>) -> HttpPolicySet {
    HttpPolicySet { request_rules: rules, ..HttpPolicySet::default() }
}

/// What is below this path goes to this pool.
pub fn to_pool(path: &str, pool: &str) -> HttpPolicySet {
    let choice = api::PoolChoice { pool_uuid: pool.into(), ..Default::default() };
    let action = Some(api::http_request_rule::Action::Pool(choice));
    requests(vec![HttpRequestRule { rule: rule("api", under(path)), action, ..HttpRequestRule::default() }])
}

pub fn edit(kind: api::EditKind, name: &str, value: Option<&str>) -> api::HeaderEdit {
    let value = value.map(|text| api::HeaderValue { text: text.into(), ..Default::default() });
    api::HeaderEdit { kind: kind.into(), name: name.into(), cookie: false, value }
}

fn cookie(kind: api::EditKind, name: &str, value: Option<&str>) -> api::HeaderEdit {
    api::HeaderEdit { cookie: true, ..edit(kind, name, value) }
}

fn token(kind: api::UriTokenKind, first: u32, last: u32, text: &str) -> api::UriToken {
    api::UriToken { kind: kind.into(), first, last, text: text.into() }
}

/// The head that the server gets for a request.
fn forwarded(stage: &mut Stage, request: impl Into<Vec<u8>>) -> String {
    let client = stage.client();
    stage.says(client, request.into());
    let server = stage.connected();
    stage.sent(server)
}

#[test]
fn security_rules_end_where_the_first_decides() {
    use api::http_security_rule::Action;
    let set = HttpPolicySet {
        security_rules: vec![
            security("health", under("/admin/health"), Action::Allow(api::Allow {})),
            security(
                "admin",
                under("/admin"),
                Action::Response(api::LocalResponse {
                    status: 403,
                    content_type: "text/plain".into(),
                    content: b"no entry\n".to_vec(),
                }),
            ),
            security("away", under("/away"), Action::Close(api::Close { reset: true })),
            security("tls", under("/tls"), Action::RedirectToHttps(api::RedirectToHttps { port: 8443 })),
        ],
        ..HttpPolicySet::default()
    };
    let mut stage = Stage::new(&with(plan(1), set));
    let client = stage.client();
    stage.says(client, get("shop.test", "/%61dmin/x"));
    let answer = stage.sent(client);
    assert_eq!((status(&answer), stage.dials()), ("403", 0));
    assert!(answer.contains("Content-Length: 9\r\n") && answer.ends_with("\r\n\r\nno entry\n"), "{answer}");
    stage.says(client, get("shop.test", "/tls/a?b"));
    let answer = stage.sent(client);
    assert!(status(&answer) == "302" && answer.contains("Location: https://shop.test:8443/tls/a?b\r\n"), "{answer}");
    assert!(forwarded(&mut stage, get("shop.test", "/admin/health")).starts_with("GET /admin/health "));
    let client = stage.client();
    stage.says(client, get("shop.test", "/away"));
    assert_eq!((stage.closed(client), stage.failures(Cause::ClientDenied)), (Some(Close::Abort), 1));
}

#[test]
fn rule_tells_where_clients_are() {
    use api::http_security_rule::Action;
    let place = api::AddressMatch { negated: true, address_group_uuids: vec!["de".into()], ..Default::default() };
    let abroad = HttpMatch { place: Some(place), ..under("/admin") };
    let security_rules = vec![security("abroad", abroad, Action::Close(api::Close { reset: true }))];
    let mut plan = with(plan(1), HttpPolicySet { security_rules, ..HttpPolicySet::default() });
    let subnets = vec!["198.51.100.0/24".into()];
    plan.address_groups =
        vec![api::AddressGroup { uuid: "de".into(), name: "country DE".into(), subnets, ranges: Vec::new() }];
    let mut stage = Stage::new(&plan);
    for (peer, path, closed) in
        [("192.0.2.9:4000", "/admin", true), ("192.0.2.9:4001", "/", false), ("198.51.100.9:4000", "/admin", false)]
    {
        let client = stage.client_from("10.0.0.1:80", peer);
        stage.says(client, get("shop.test", path));
        assert_eq!(stage.closed(client).is_some(), closed, "{peer} {path}");
    }
}

#[test]
fn rule_chooses_the_pool() {
    let mut stage = Stage::new(&with(plan(1), to_pool("/api", "pool-9")));
    for (path, server) in [("/api/x", "10.1.9.1:8000"), ("/x", "10.1.0.1:8000"), ("/API", "10.1.9.1:8000")] {
        let client = stage.client();
        let dials = stage.dials();
        stage.says(client, get("shop.test", path));
        if stage.dials() > dials {
            let server = stage.connected();
            stage.says(server, OK.replace("keep-alive", "close"));
            stage.batch(vec![Event::Eof { conn: server }]);
        }
        assert_eq!((stage.dialled_address().as_str(), status(&stage.sent(client))), (server, "200"), "{path}");
    }
}

#[test]
fn heads_of_requests_are_edited() {
    use api::EditKind::{Add, Remove, Replace};
    let variable = api::HeaderEdit {
        value: Some(api::HeaderValue { variable: api::HeaderVariable::ListenerPort.into(), ..Default::default() }),
        ..edit(Add, "X-Port", None)
    };
    let set = requests(vec![
        HttpRequestRule {
            rule: rule("edits", HttpMatch::default()),
            edits: vec![
                edit(Add, "X-New", Some("one")),
                edit(Remove, "X-Secret", None),
                edit(Replace, "User-Agent", Some("weir")),
                cookie(Remove, "b", None),
                cookie(Replace, "c", Some("3")),
                variable,
            ],
            ..HttpRequestRule::default()
        },
        HttpRequestRule {
            rule: rule("more", HttpMatch::default()),
            edits: vec![edit(Add, "X-New", Some("two"))],
            ..HttpRequestRule::default()
        },
    ]);
    let mut stage = Stage::new(&with(plan(1), set));
    let head = forwarded(
        &mut stage,
        "GET /x HTTP/1.1\r\nHost: a\r\nx-secret: 1\r\nUser-Agent: me\r\nCookie: a=1; b=2; c=0\r\nX-Kept: 1\r\n\r\n",
    );
    for line in
        ["X-New: one", "X-New: two", "User-Agent: weir", "Cookie: a=1; c=3", "X-Kept: 1", "X-Port: 80", "Host: a"]
    {
        assert_eq!(head.lines().filter(|text| *text == line).count(), 1, "{line} in {head}");
    }
    assert!(!head.to_ascii_lowercase().contains("x-secret") && !head.contains("User-Agent: me"), "{head}");
    assert_eq!(head.matches("Cookie:").count(), 1, "{head}");
}

fn rewriting() -> HttpPolicySet {
    use api::UriTokenKind::{Path, Text};
    let rewrite = api::HttpRewrite {
        host: vec![token(Text, 0, 0, "internal"), token(Text, 0, 0, "test")],
        path: vec![token(Text, 0, 0, "new"), token(Path, 1, 65535, "")],
        keep_query: true,
        add_query: "by=weir".into(),
    };
    requests(vec![HttpRequestRule {
        rule: rule("old", under("/old")),
        rewrite: Some(rewrite),
        ..HttpRequestRule::default()
    }])
}

#[test]
fn url_is_rewritten_for_the_server() {
    let mut stage = Stage::new(&with(plan(1), rewriting()));
    let head = forwarded(&mut stage, get("shop.test", "/old/a%20b/c?x=1"));
    assert!(head.starts_with("GET /new/a%20b/c?x=1&by=weir HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Host: internal.test\r\n") && head.matches("Host:").count() == 1, "{head}");
    let head = forwarded(&mut stage, "GET http://shop.test/old HTTP/1.1\r\nHost: other\r\n\r\n");
    assert!(head.starts_with("GET /old HTTP/1.1\r\n"), "the path has no second part: {head}");
}

#[test]
fn host_in_an_edit_is_that_of_the_target() {
    let host = api::HeaderValue {
        variable: api::HeaderVariable::Field.into(),
        field: "Host".into(),
        ..api::HeaderValue::default()
    };
    let edits = vec![api::HeaderEdit { value: Some(host), ..edit(api::EditKind::Add, "X-Host", None) }];
    let rules = requests(vec![HttpRequestRule { edits, rule: rule("host", under("/")), ..HttpRequestRule::default() }]);
    let mut stage = Stage::new(&with(plan(1), rules));
    for (request, wanted) in [
        ("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "other.test"),
        // RFC 9112 §3.2.2: the field counts for nothing.
        ("GET http://shop.test:81/ HTTP/1.1\r\nHost: other.test\r\n\r\n", "shop.test:81"),
    ] {
        let head = forwarded(&mut stage, request);
        assert!(head.contains(&format!("X-Host: {wanted}\r\n")), "{head}");
    }
}

#[test]
fn url_is_rewritten_for_a_server_of_http2() {
    let mut stage = Stage::new(&to_http2(with(plan(1), rewriting())));
    let client = stage.client();
    stage.says(client, get("shop.test", "/old/a"));
    let mut origin = Origin::new(&mut stage);
    let head = origin.heard().concat();
    assert!(head.contains("/new/a?by=weir") && head.contains("internal.test") && !head.contains("shop.test"), "{head}");
}

#[test]
fn redirect_is_made_of_what_an_expression_has_found() {
    use api::UriTokenKind::{PathRegex, Text};
    let redirect = api::HttpRedirect {
        status: 301,
        tls: true,
        path: vec![token(Text, 0, 0, "item"), token(PathRegex, 1, 1, "")],
        ..Default::default()
    };
    let matched = HttpMatch { path: text(api::TextCriterion::Regex, &["^/shop/([0-9]+)$"]), ..HttpMatch::default() };
    let set = requests(vec![HttpRequestRule {
        rule: rule("item", matched),
        action: Some(api::http_request_rule::Action::Redirect(redirect)),
        ..HttpRequestRule::default()
    }]);
    let mut stage = Stage::new(&with(http2(plan(1)), set));
    let client = stage.client();
    stage.says(client, get("shop.test:8080", "/shop/12?x"));
    let answer = stage.sent(client);
    assert!(status(&answer) == "301" && answer.contains("Location: https://shop.test/item/12\r\n"), "{answer}");
    assert_eq!(stage.dials(), 0);
}

#[test]
fn heads_of_responses_are_edited() {
    use api::EditKind::{Add, Remove};
    let old = HttpMatch {
        status: Some(api::NumberMatch { negated: false, ranges: vec![api::NumberRange { first: 200, last: 299 }] }),
        ..under("/x")
    };
    let set = HttpPolicySet {
        response_rules: vec![HttpResponseRule {
            rule: rule("hide", old),
            edits: vec![edit(Remove, "Server", None), edit(Add, "X-By", Some("weir")), cookie(Remove, "s", None)],
            location: None,
        }],
        ..HttpPolicySet::default()
    };
    let response =
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nSet-Cookie: s=1; Path=/\r\nSet-Cookie: t=2\r\nContent-Length: 0\r\n\r\n";
    for (path, status_line, is_edited) in [("/x", "200", true), ("/y", "200", false), ("/x", "404", false)] {
        let mut stage = Stage::new(&with(plan(1), set.clone()));
        let client = stage.client();
        stage.says(client, get("a", path));
        let server = stage.connected();
        stage.says(server, response.replace("200", status_line));
        let head = stage.sent(client);
        assert_eq!(head.contains("X-By: weir\r\n"), is_edited, "{path} {head}");
        assert_eq!(!head.contains("Server: nginx\r\n"), is_edited, "{head}");
        assert_eq!(!head.contains("Set-Cookie: s=1"), is_edited, "{head}");
        assert!(head.contains("Set-Cookie: t=2\r\n"), "{head}");
    }
}

#[test]
fn rule_answers_a_stream_of_http2() {
    use api::http_security_rule::Action;
    let response = api::LocalResponse { status: 403, content_type: "text/plain".into(), content: b"no".to_vec() };
    let set = HttpPolicySet {
        security_rules: vec![security("all", HttpMatch::default(), Action::Response(response))],
        ..HttpPolicySet::default()
    };
    let mut stage = Stage::new(&with(http2(plan(1)), set));
    let mut browser = Browser::new(&mut stage);
    browser.asks_host(&mut stage, "a", "/x");
    assert_eq!(browser.heard(), ["1: 403", "1: no, all"]);
    assert!(browser.fields.contains("content-type: text/plain\r\n"), "{}", browser.fields);
}
