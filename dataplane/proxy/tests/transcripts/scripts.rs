//! DataScripts: what becomes of requests and responses by them.

use weir_api::dataplane::v1::{self as api, Named, Plan, Script, ScriptEvent, ScriptLimit, ScriptSet};
use weir_proxy::io::{Close, Gone};
use weir_telemetry::Cause;

use crate::{
    OK,
    calls::CALL,
    explanations::question,
    groups::backup,
    hosted::get,
    http2::{Browser, http2},
    origin::to_http2,
    policies::{under, with},
    status,
    tape::{Stage, plan},
};

const REQ: ScriptEvent = ScriptEvent::HttpReq;
const RESP: ScriptEvent = ScriptEvent::HttpResp;
const FAILED: ScriptEvent = ScriptEvent::HttpRespFailed;
const UNBALANCED: ScriptEvent = ScriptEvent::HttpLbFailed;

/// A second pool is there: "pool-9" with the server 10.1.9.1.
pub fn scripted(scripts: &[(ScriptEvent, &str)]) -> Plan {
    scripted_with(plan(1), scripts)
}

pub fn scripted_with(plan: Plan, scripts: &[(ScriptEvent, &str)]) -> Plan {
    let mut plan = with(plan, api::HttpPolicySet::default());
    plan.virtual_services[0].http_policy_set_uuids.clear();
    let scripts = scripts.iter().enumerate().map(|(at, (event, source))| Script {
        event: (*event).into(),
        source: (*source).to_owned(),
        position: at as u32,
    });
    let pools = vec![Named { name: "nine".into(), uuid: "pool-9".into() }];
    plan.script_sets = vec![ScriptSet {
        uuid: "s".into(),
        name: "steer".into(),
        scripts: scripts.collect(),
        pools,
        ..Default::default()
    }];
    plan.virtual_services[0].script_set_uuids = vec!["s".into()];
    plan
}

#[test]
fn request_goes_where_its_script_says_and_as_it_says() {
    let source = "if string.beginswith(avi.http.get_path(), '/api/') then avi.pool.select('nine') \
        avi.http.set_path('/v2' .. avi.http.get_path()) avi.http.replace_header('Host', 'inner.test') \
        avi.http.replace_header('X-A', 'b') avi.http.add_cookie('c', '2') end";
    let mut stage = Stage::new(&scripted(&[(REQ, source)]));
    let client = stage.client();
    stage.says(client, "GET /api/x?q HTTP/1.1\r\nHost: shop.test\r\nX-A: a\r\nCookie: a=1\r\n\r\n");
    let server = stage.connected();
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    let sent = stage.sent(server);
    assert!(sent.starts_with("GET /v2/api/x?q HTTP/1.1\r\n"), "{sent}");
    for line in ["Host: inner.test\r\n", "X-A: b\r\n", "Cookie: a=1; c=2\r\n"] {
        assert!(sent.contains(line), "{line} is missing in {sent}");
    }
    assert!(!sent.contains("X-A: a") && !sent.contains("shop.test"), "{sent}");
    let client = stage.client();
    stage.says(client, get("shop.test", "/x"));
    stage.connected();
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
}

#[test]
fn pool_of_a_rule_stays_and_scripts_see_what_rules_change() {
    let mut plan =
        scripted(&[(REQ, "avi.pool.select('nine') avi.http.add_header('X-Seen', avi.http.get_header('X-Rule'))")]);
    let edit = api::HeaderEdit {
        kind: api::EditKind::Add.into(),
        name: "X-Rule".into(),
        value: Some(api::HeaderValue { text: "r".into(), ..Default::default() }),
        ..Default::default()
    };
    let pool_uuid = plan.pools[0].uuid.clone();
    plan.http_policy_sets[0].request_rules = vec![api::HttpRequestRule {
        rule: Some(api::HttpRule { name: "r".into(), r#match: Some(under("/ruled")), ..Default::default() }),
        edits: vec![edit],
        action: Some(api::http_request_rule::Action::Pool(api::PoolChoice { pool_uuid, ..Default::default() })),
        ..Default::default()
    }];
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("shop.test", "/ruled"));
    let server = stage.connected();
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    let sent = stage.sent(server);
    assert!(sent.contains("X-Rule: r\r\n") && sent.contains("X-Seen: r\r\n"), "{sent}");
}

#[test]
fn script_answers_redirects_or_closes() {
    let source = "local p = avi.http.get_path() \
        if p == '/no' then avi.http.response(403, {content_type='text/html', x_why='so'}, '<b>no</b>') end \
        if p == '/away' then avi.http.redirect(avi.http.scheme() .. 'b.test' .. avi.http.get_uri(), 301) end \
        if p == '/bye' then avi.http.close_conn(true) end";
    let mut stage = Stage::new(&scripted(&[(REQ, source)]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/no"));
    let sent = stage.sent(client);
    assert!(status(&sent) == "403" && sent.ends_with("\r\n\r\n<b>no</b>"), "{sent}");
    for line in ["content-type: text/html\r\n", "x-why: so\r\n", "Content-Length: 9\r\n"] {
        assert!(sent.contains(line), "{line} is missing in {sent}");
    }
    stage.says(client, get("shop.test", "/away?q"));
    let sent = stage.sent(client);
    assert!(status(&sent) == "301" && sent.contains("Location: http://b.test/away?q\r\n"), "{sent}");
    stage.says(client, get("shop.test", "/bye"));
    assert_eq!((stage.closed(client), stage.dials()), (Some(Close::Abort), 0));
}

#[test]
fn answer_has_each_field_once() {
    let source = "avi.http.response(200, {content_type='a/b', cache_control='max-age=9'}, \
        avi.http.get_path() == '/empty' and '' or 'x')";
    let mut stage = Stage::new(&scripted(&[(REQ, source)]));
    let client = stage.client();
    for path in ["/", "/empty"] {
        stage.says(client, get("shop.test", path));
        let sent = stage.sent(client).to_ascii_lowercase();
        for line in ["content-type: a/b\r\n", "cache-control: max-age=9\r\n", "date: "] {
            let name = line.split(' ').next().expect("a name");
            assert!(sent.contains(line) && sent.matches(name).count() == 1, "{line:?} in {sent}");
        }
    }
    let source = "avi.http.response(200, {cache_control='max-age=9'}, 'later')";
    let mut stage = Stage::new(&scripted(&[(FAILED, source)]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    let sent = stage.sent(client);
    assert!(sent.contains("cache-control: max-age=9\r\n") && !sent.contains("no-store"), "{sent}");
}

#[test]
fn request_that_its_profile_refuses_has_no_script() {
    let mut plan = scripted(&[(REQ, "avi.http.response(200, 'seen')")]);
    plan.virtual_services[0].http.as_mut().expect("HTTP").max_body_bytes = 1000;
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 5000\r\n\r\n");
    assert_eq!(status(&stage.sent(client)), "413");
}

#[test]
fn script_sees_the_host_that_a_rule_has_written() {
    let source = "avi.http.add_header('X-Seen', avi.http.get_header('host') .. ' ' .. avi.http.hostname())";
    let mut plan = scripted(&[(REQ, source)]);
    let text =
        |text: &str| api::UriToken { kind: api::UriTokenKind::Text.into(), text: text.into(), ..Default::default() };
    let rewrite = api::HttpRewrite { host: vec![text("inner"), text("test")], ..Default::default() };
    plan.http_policy_sets[0].request_rules = vec![api::HttpRequestRule {
        rule: Some(api::HttpRule { name: "r".into(), r#match: Some(under("/")), ..Default::default() }),
        rewrite: Some(rewrite),
        ..Default::default()
    }];
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    let sent = stage.sent(server);
    assert!(sent.contains("X-Seen: inner.test inner.test\r\n"), "{sent}");
    assert_eq!(sent.matches("Host: ").count(), 1, "{sent}");
}

#[test]
fn fault_is_a_500_and_hurts_its_own_request_only() {
    let source = "if avi.http.get_path() == '/loop' then while true do end end \
        if avi.http.get_path() == '/nil' then local x = nil + 1 end";
    let mut stage = Stage::new(&scripted(&[(REQ, source)]));
    for path in ["/nil", "/loop"] {
        let client = stage.client();
        stage.says(client, get("shop.test", path));
        assert_eq!(status(&stage.sent(client)), "500");
    }
    assert_eq!(stage.failures(Cause::ScriptFailed), 2);
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET / "));
}

#[test]
fn script_that_is_none_fails_what_it_would_run_for() {
    for (event, status_wanted) in [(REQ, "500"), (RESP, "500"), (FAILED, "200")] {
        let mut stage = Stage::new(&scripted(&[(event, "local a = 1\nbreak")]));
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        if event != REQ {
            let server = stage.connected();
            stage.says(server, OK);
        }
        assert_eq!(status(&stage.sent(client)), status_wanted, "{event:?}");
        assert_eq!(stage.failures(Cause::ScriptFailed), u64::from(status_wanted == "500"));
    }
}

#[test]
fn response_is_changed_and_remembers_its_request() {
    let scripts = [
        (REQ, "avi.vs.reqvar.path = avi.http.get_path()"),
        (
            RESP,
            "avi.http.add_header('X-Path', avi.vs.reqvar.path) avi.http.remove_header('X-Secret') \
            avi.http.add_header('X-Asked', avi.http.get_header('host', avi.HTTP_REQUEST)) \
            avi.http.add_cookie('c', '1', '/')",
        ),
    ];
    let mut stage = Stage::new(&scripted(&scripts));
    let client = stage.client();
    stage.says(client, get("shop.test", "/a"));
    let server = stage.connected();
    stage.says(server, OK.replace("\r\n\r\n", "\r\nX-Secret: s\r\n\r\n"));
    let sent = stage.sent(client);
    for line in ["X-Path: /a\r\n", "X-Asked: shop.test\r\n", "Set-Cookie: c=1; path=/\r\n"] {
        assert!(sent.contains(line), "{line} is missing in {sent}");
    }
    assert!(!sent.contains("X-Secret"), "{sent}");
}

#[test]
fn response_is_replaced_by_an_answer_or_a_fault() {
    let source = "if avi.http.status() == '200' then avi.http.response(503, {}, 'closed') else error('odd') end";
    for (answer, wanted) in [(OK.to_owned(), "503"), (OK.replace("200 OK", "404 Not Found"), "500")] {
        let mut stage = Stage::new(&scripted(&[(RESP, source)]));
        let client = stage.client();
        stage.says(client, get("shop.test", "/a"));
        let server = stage.connected();
        stage.says(server, answer);
        let sent = stage.sent(client);
        assert_eq!(status(&sent), wanted, "{sent}");
        assert_eq!(stage.closed(server), Some(Close::Abort));
        assert_eq!(stage.failures(Cause::ScriptFailed), u64::from(wanted == "500"));
    }
}

#[test]
fn failure_has_the_answer_of_its_script() {
    let source = "if avi.http.internal_status() == 'server_refused' then avi.http.response(200, 'later') end";
    let mut stage = Stage::new(&scripted(&[(FAILED, source)]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    let sent = stage.sent(client);
    assert!(status(&sent) == "200" && sent.ends_with("\r\n\r\nlater"), "{sent}");
    assert_eq!(stage.failures(Cause::ServerRefused), 1);
}

#[test]
fn streams_have_their_scripts_too() {
    let scripts = [
        (REQ, "if avi.http.get_path() == '/no' then avi.http.response(403, {}, 'no') end"),
        (RESP, "avi.http.add_header('x-added', 'yes')"),
    ];
    let mut stage = Stage::new(&http2(scripted(&scripts)));
    let mut browser = Browser::new(&mut stage);
    browser.asks_host(&mut stage, "shop.test", "/no");
    let heard = browser.heard().join("\n");
    assert!(heard.contains("403") && heard.contains("no"), "{heard}");
    browser.asks_host(&mut stage, "shop.test", "/yes");
    let server = stage.connected();
    stage.says(server, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["3: 200", "3: ok, all"]);
}

#[test]
fn script_asks_which_servers_are_up() {
    let source = "local up, all = avi.pool.get_servers('nine') avi.vs.log(up, ' of ', all) \
        avi.http.response(up > 0 and 200 or 503, {}, up .. ' of ' .. all .. ' ' \
        .. avi.pool.get_server_status('nine', '10.1.9.1', 8000) .. avi.pool.get_server_status('nine', '10.1.9.2', 8000))";
    let mut plan = scripted(&[(REQ, source)]);
    plan.pools[1].monitored = true;
    let mut stage = Stage::new(&plan);
    stage.proxy.set_server_up(&mut stage.tape, "pool-9", "server 0", true);
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let sent = stage.sent(client);
    assert!(status(&sent) == "200" && sent.ends_with("1 of 1 10"), "{sent}");
    stage.proxy.set_server_up(&mut stage.tape, "pool-9", "server 0", false);
    stage.says(client, get("shop.test", "/"));
    let sent = stage.sent(client);
    assert!(status(&sent) == "503" && sent.ends_with("0 of 1 00"), "{sent}");
}

#[test]
fn response_knows_its_server() {
    let source = "avi.http.add_header('X-Server', avi.pool.server_ip()) \
        avi.http.add_header('X-Both', table.concat({avi.pool.get_server_info()}, ' '))";
    let mut stage = Stage::new(&scripted(&[(RESP, source)]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    stage.says(server, OK);
    let sent = stage.sent(client);
    assert!(sent.contains("X-Server: 10.1.0.1\r\n") && sent.contains("X-Both: 10.1.0.1 8000\r\n"), "{sent}");
}

/// The first script of docs/datascript.md in which a text stands.
pub fn documented(text: &str) -> &'static str {
    let page = include_str!("../../../../docs/datascript.md");
    let mut scripts = page.split("```lua\n").skip(1).filter_map(|block| block.split("```").next());
    scripts.find(|script| script.contains(text)).expect("a script")
}

#[test]
fn table_binds_clients_to_a_server_that_is_up_as_its_page_says() {
    let mut plan = scripted_with(plan(3), &[(REQ, documented("table_lookup")), (RESP, documented("table_insert"))]);
    plan.script_sets[0].pools = vec![Named { name: "api".into(), uuid: plan.pools[0].uuid.clone() }];
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    for at in 0..3 {
        stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {at}"), true);
    }
    let ask = |stage: &mut Stage, token: &str| {
        let client = stage.client();
        let head = format!("GET / HTTP/1.1\r\nHost: shop.test\r\nX-Token: {token}\r\nConnection: close\r\n\r\n");
        stage.says(client, head);
        let server = stage.connected();
        let address = stage.dialled_address();
        stage.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        assert_eq!(status(&stage.sent(client)), "200");
        address
    };
    let first = ask(&mut stage, "a");
    let others: Vec<String> = (0..6).map(|number| ask(&mut stage, &format!("b{number}"))).collect();
    assert!(others.iter().any(|other| *other != first), "{others:?}");
    (0..6).for_each(|_| assert_eq!(ask(&mut stage, "a"), first));
    let at = (0..3).find(|at| first == format!("10.1.0.{}:8000", at + 1)).expect("one of three");
    stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {at}"), false);
    let second = ask(&mut stage, "a");
    assert_ne!(second, first);
    (0..6).for_each(|_| assert_eq!(ask(&mut stage, "a"), second));
}

#[test]
fn limit_of_a_set_counts_for_each_client_as_its_page_says() {
    let mut plan = scripted(&[(REQ, documented("exceed(\"logins\""))]);
    plan.script_sets[0].limits = vec![ScriptLimit { name: "logins".into(), count: 5, period_s: 10, burst: 0 }];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    for number in 0..5 {
        stage.says(client, get("shop.test", "/login"));
        let server = if number == 0 { stage.connected() } else { stage.dialled() };
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200", "{number}");
    }
    stage.says(client, get("shop.test", "/login"));
    let sent = stage.sent(client).to_ascii_lowercase();
    assert!(status(&sent) == "429" && sent.contains("retry-after: 10\r\n") && sent.ends_with("slow down"), "{sent}");
    stage.tape.sleep(std::time::Duration::from_secs(2));
    stage.says(client, get("shop.test", "/login"));
    assert_eq!(stage.sent(client), "", "it goes to its server");
}

/// The limit of the profile: one in a minute.
fn limited(action: api::rate_limit::Action) -> Plan {
    let mut plan = scripted(&[(REQ, "avi.vs.rate_limit(avi.RL_CUSTOM_STRING, avi.http.get_header('X-Key') or '')")]);
    let limit = api::RateLimit { count: 1, period_s: 60, action: Some(action), ..Default::default() };
    plan.virtual_services[0].script_limit = Some(limit);
    plan
}

fn slow_down() -> api::rate_limit::Action {
    let (content_type, content) = ("text/html".into(), b"<b>no</b>".into());
    api::rate_limit::Action::Response(api::LocalResponse { status: 429, content_type, content })
}

#[test]
fn limit_of_the_profile_answers_as_the_profile_says() {
    let mut stage = Stage::new(&limited(slow_down()));
    let keyed = |key: &str| format!("GET / HTTP/1.1\r\nHost: shop.test\r\nX-Key: {key}\r\n\r\n");
    let ask = |stage: &mut Stage, key: &str| {
        let client = stage.client();
        stage.says(client, keyed(key));
        stage.sent(client)
    };
    assert_eq!((ask(&mut stage, "a"), ask(&mut stage, "b")), (String::new(), String::new()));
    let sent = ask(&mut stage, "a");
    assert!(status(&sent) == "429" && sent.contains("Retry-After: 60\r\n") && sent.ends_with("<b>no</b>"), "{sent}");
    assert_eq!(stage.failures(Cause::ClientRequestRate), 1);
    assert_eq!(stage.limited(), [("script_requests", 1)]);
    let told = |stage: &mut Stage, key| stage.explain(&question(&keyed(key))).local;
    let local = told(&mut stage, "a").expect("the engine answers");
    assert_eq!((local.status, local.cause), (Some(429), "client_request_rate"));
    assert!(told(&mut stage, "c").is_none());
}

#[test]
fn limit_of_the_profile_counts_as_a_limit_whatever_it_does() {
    use api::rate_limit::Action::{Close as Ends, Redirect};
    let to = api::HttpRedirect { status: 307, tls: true, keep_query: true, ..Default::default() };
    for (action, wanted) in [
        (Redirect(to), None),
        (Ends(api::Close { reset: false }), Some(Close::Linger)),
        (Ends(api::Close { reset: true }), Some(Close::Abort)),
    ] {
        let mut stage = Stage::new(&limited(action));
        let first = stage.client();
        stage.says(first, get("shop.test", "/"));
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        match wanted {
            Some(_) => assert_eq!((stage.closed(client), stage.sent(client).as_str()), (wanted, "")),
            None => {
                let sent = stage.sent(client);
                assert!(status(&sent) == "307" && !sent.contains("Retry-After"), "{sent}");
            }
        }
        assert_eq!((stage.failures(Cause::ClientRequestRate), stage.failures(Cause::ClientDenied)), (1, 0));
    }
}

#[test]
fn call_beyond_the_limit_of_the_profile_is_told_that_it_is_used_up() {
    let mut stage = Stage::new(&http2(to_http2(limited(slow_down()))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "POST", CALL, false);
    browser.asks(&mut stage, "POST", CALL, false);
    assert_eq!(browser.heard()[0], "3: 200, all");
    assert!(browser.fields.contains("grpc-status: 8\r\n"), "{}", browser.fields);
}

#[test]
fn request_that_no_server_takes_has_the_answer_of_its_script() {
    let answers = "avi.http.redirect('https://b.test' .. avi.http.get_uri())";
    let fails = "avi.http.response(200, {}, 'for all failures')";
    for (scripts, wanted) in [
        (vec![(UNBALANCED, answers), (FAILED, fails)], "302"),
        (vec![(UNBALANCED, "avi.vs.log(avi.pool.get_servers('nine'))"), (FAILED, fails)], "200"),
        (vec![(UNBALANCED, "avi.vs.log('no')")], "503"),
        (vec![(UNBALANCED, "error('odd')"), (FAILED, fails)], "200"),
        (vec![(FAILED, fails)], "200"),
    ] {
        let mut plan = scripted(&scripts);
        plan.pools[0].monitored = true;
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, get("shop.test", "/x?y"));
        let sent = stage.sent(client);
        assert_eq!((status(&sent), stage.dials()), (wanted, 0), "{scripts:?}: {sent}");
        assert_eq!(sent.contains("Location: https://b.test/x?y\r\n"), wanted == "302", "{sent}");
        assert_eq!(stage.failures(Cause::NoServer), 1);
    }
    // A server that is there and fails is no such case.
    let mut stage = Stage::new(&scripted(&[(UNBALANCED, answers), (FAILED, fails)]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    stage.says(server, "no HTTP\r\n\r\n");
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn session_goes_to_one_server_as_its_page_says() {
    let mut plan = scripted_with(plan(8), &[(REQ, documented("avi.pool.chash"))]);
    plan.pools[0].algorithm = api::Algorithm::ConsistentHash.into();
    let mut stage = Stage::new(&plan);
    let mut ask = |head: &str| {
        let client = stage.client();
        stage.says(client, head);
        let server = stage.connected();
        let address = stage.dialled_address();
        stage.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        assert_eq!(status(&stage.sent(client)), "200");
        let told = stage.explain(&question(head)).picked.map(|(at, _)| format!("10.1.0.{}:8000", at + 1));
        assert_eq!(told.as_deref(), Some(&*address), "{head}");
        address
    };
    let mut by_query = |session: u32| ask(&get("shop.test", &format!("/?sessionid={session}")));
    let servers: Vec<String> = (0..30).map(&mut by_query).collect();
    assert_eq!(servers, (0..30).map(&mut by_query).collect::<Vec<_>>());
    assert!((4..=8).contains(&servers.iter().collect::<std::collections::HashSet<_>>().len()), "{servers:?}");
    for (session, server) in servers.iter().enumerate() {
        let head = format!("GET / HTTP/1.1\r\nHost: shop.test\r\nX-Session-Id: {session}\r\n\r\n");
        assert_eq!(ask(&head), *server);
    }
}

#[test]
fn key_of_a_script_holds_for_the_next_server_and_for_the_pool_that_takes_over() {
    let source = "avi.pool.chash(avi.http.get_path())";
    let mut plan = scripted_with(plan(1), &[(REQ, source)]);
    plan.pools[0].monitored = true;
    let mut other = api::Pool { uuid: "backup".into(), ..plan.pools[0].clone() };
    (other.monitored, other.algorithm) = (false, api::Algorithm::ConsistentHash.into());
    other.servers = (0..8)
        .map(|at| api::Server { id: format!("b{at}"), address: format!("10.1.7.{at}"), ..other.servers[0].clone() })
        .collect();
    plan.pools.push(other);
    (plan.pools[0].fail_action, plan.pools[0].fail_answer) = (api::FailAction::Answer.into(), backup("backup"));
    let mut stage = Stage::new(&plan);
    let mut ask = |path: &str| {
        let client = stage.client();
        stage.says(client, get("shop.test", path));
        stage.connected();
        stage.dialled_address()
    };
    let servers: Vec<String> = (0..20).map(|at| ask(&format!("/{at}"))).collect();
    assert_eq!(servers, (0..20).map(|at| ask(&format!("/{at}"))).collect::<Vec<_>>());
    assert!(servers.iter().collect::<std::collections::HashSet<_>>().len() > 3, "{servers:?}");
}

#[test]
fn key_binds_requests_to_a_server_that_is_up_as_its_page_says() {
    let mut plan = scripted_with(plan(3), &[(REQ, documented("avi.vs.persist"))]);
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    for at in 0..3 {
        stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {at}"), true);
    }
    let ask = |stage: &mut Stage, token: &str| {
        let client = stage.client();
        let head = format!("GET / HTTP/1.1\r\nHost: shop.test\r\nX-Token: {token}\r\n\r\n");
        stage.says(client, &head);
        stage.connected();
        let address = stage.dialled_address();
        let told = stage.explain(&question(&head)).picked.map(|(at, _)| format!("10.1.0.{}:8000", at + 1));
        assert_eq!(told.as_deref(), Some(&*address));
        address
    };
    let first = ask(&mut stage, "a");
    let others: Vec<String> = (0..6).map(|number| ask(&mut stage, &format!("b{number}"))).collect();
    assert!(others.iter().any(|other| *other != first), "{others:?}");
    (0..6).for_each(|_| assert_eq!(ask(&mut stage, "a"), first));
    (0..6).for_each(|number| assert_eq!(ask(&mut stage, &format!("b{number}")), others[number]));
    let server = (0..3).find(|at| first == format!("10.1.0.{}:8000", at + 1)).expect("one of three");
    stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {server}"), false);
    let second = ask(&mut stage, "a");
    assert_ne!(second, first);
    stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {server}"), true);
    (0..6).for_each(|_| assert_eq!(ask(&mut stage, "a"), second, "it stays"));
    stage.tape.sleep(std::time::Duration::from_secs(1_201));
    let later: Vec<String> = (0..6).map(|number| ask(&mut stage, &format!("c{number}"))).collect();
    assert!(later.iter().any(|other| *other != second));
}

#[test]
fn key_of_a_body_binds_within_the_pool_that_it_chooses() {
    let data = "avi.pool.select('three') avi.vs.persist(avi.http.get_req_body(), 60)";
    let mut plan =
        scripted_with(plan(3), &[(REQ, "avi.http.set_request_body_buffer_size(1)"), (ScriptEvent::HttpReqData, data)]);
    plan.script_sets[0].pools.push(Named { name: "three".into(), uuid: "pool".into() });
    plan.virtual_services[0].pool_uuid = "pool-9".into();
    let mut stage = Stage::new(&plan);
    let mut ask = |body: &str| {
        let client = stage.client();
        stage.says(client, format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        stage.connected();
        stage.dialled_address()
    };
    let all: Vec<String> = (0..6).map(|number| ask(&format!("session {number}"))).collect();
    assert!(all.iter().any(|other| *other != all[0]) && !all.contains(&"10.1.9.1:8000".into()), "{all:?}");
    assert_eq!((0..6).map(|number| ask(&format!("session {number}"))).collect::<Vec<_>>(), all);
}
