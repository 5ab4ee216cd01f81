//! DataScripts that see more than heads: bodies, and the server that gets a request.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, CookiePersistence, Named, Plan, ScriptEvent, ScriptLimit};
use weir_proxy::io::{Close, Event, Gone};
use weir_telemetry::Cause;

use crate::{
    OK,
    calls::CALL,
    hosted::get,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    policies::under,
    scripts::{documented, scripted, scripted_with},
    status,
    tape::{Stage, plan},
};

const REQ: ScriptEvent = ScriptEvent::HttpReq;
const REQ_DATA: ScriptEvent = ScriptEvent::HttpReqData;
const CHOSEN: ScriptEvent = ScriptEvent::HttpLbDone;
const RESP: ScriptEvent = ScriptEvent::HttpResp;
const RESP_DATA: ScriptEvent = ScriptEvent::HttpRespData;
const FAILED: ScriptEvent = ScriptEvent::HttpRespFailed;

const WANTS: (ScriptEvent, &str) = (REQ, "avi.http.set_request_body_buffer_size(1)");
const WANTS_BACK: (ScriptEvent, &str) = (RESP, "avi.http.set_response_body_buffer_size(1)");

fn post(fields: &str, body: &str) -> String {
    format!("POST /a HTTP/1.1\r\nHost: shop.test\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn ok(fields: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Sends all bodies that contain "nine" to the second pool, and tells it what was seen.
const STEER: &str = "local body = avi.http.get_req_body() \
    if string.contains(body, 'nine') then avi.pool.select('nine') end \
    avi.http.add_header('X-Seen', body == '' and 'nothing' or #body .. string.sub(body, -4)) \
    avi.http.set_path('/b')";

#[test]
fn request_goes_where_its_body_says_once_that_has_come() {
    let chunked = "POST /a HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (head, pieces, seen) in [
        (&*post("", "").replace("Length: 0", "Length: 8"), ["to n", "ine!"], "8ine!"),
        (chunked, ["5\r\nto ni\r\n3\r\nn", "e!\r\n0\r\n\r\n"], "8ine!"),
        (chunked, ["8\r\nto nine!\r\n", "0\r\nX-Trailer: a\r\n\r\n"], "8ine!"),
    ] {
        let mut stage = Stage::new(&scripted(&[WANTS, (REQ_DATA, STEER)]));
        let client = stage.client();
        stage.says(client, head);
        stage.says(client, pieces[0]);
        assert_eq!(stage.dials(), 0, "{head}");
        stage.says(client, pieces[1]);
        let server = stage.connected();
        assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
        let sent = stage.sent(server);
        assert!(sent.starts_with("POST /b HTTP/1.1\r\n") && sent.contains(&format!("X-Seen: {seen}\r\n")), "{sent}");
        assert!(sent.ends_with(&pieces.concat()), "{sent}");
        assert_eq!(sent.matches("Host: shop.test\r\n").count(), 1, "{sent}");
        let framing = if head.contains("chunked") { "Transfer-Encoding: chunked\r\n" } else { "Content-Length: 8\r\n" };
        assert!(
            sent.matches(framing).count() == 1
                && sent.matches("-Encoding").count() + sent.matches("-Length").count() == 1,
            "{sent}"
        );
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200");
        // The connection goes on with a request whose body leads nowhere else.
        stage.says(client, post("", "to one"));
        stage.connected();
        assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    }
}

#[test]
fn body_that_is_longer_is_cut_for_its_script_and_goes_on_whole() {
    let body = format!("nine{}", "x".repeat(3_000));
    for head in [post("", ""), "POST /a HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n".into()] {
        let mut stage = Stage::new(&scripted(&[WANTS, (REQ_DATA, STEER)]));
        let client = stage.client();
        let is_chunked = head.contains("chunked");
        let text = if is_chunked { format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()) } else { body.clone() };
        stage.says(client, head.replace("Length: 0", "Length: 3004"));
        stage.says(client, &text[..500]);
        assert_eq!(stage.dials(), 0);
        stage.says(client, &text[500..1_600]);
        let server = stage.connected();
        assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
        stage.says(client, &text[1_600..]);
        let sent = stage.sent(server);
        assert!(sent.contains("X-Seen: 1024xxxx\r\n") && sent.ends_with(&text), "{sent}");
    }
}

#[test]
fn framing_hides_no_content_and_takes_no_memory() {
    let chunks = |content: &str| content.chars().map(|one| format!("1\r\n{one}\r\n")).collect::<String>();
    let head = "POST /a HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut stage = Stage::new(&scripted(&[WANTS, (REQ_DATA, STEER)]));
    let client = stage.client();
    stage.says(client, head);
    let text = chunks(&format!("{}nine", "x".repeat(900))) + "0\r\n\r\n";
    text.as_bytes().chunks(1_500).for_each(|part| stage.says(client, part));
    let server = stage.connected();
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    (0..20).for_each(|_| stage.batch(vec![Event::Drained { conn: server }]));
    let sent = stage.sent(server);
    assert!(sent.contains("X-Seen: 904nine\r\n") && sent.ends_with(&text), "{sent}");
    // The same without an end.
    let wants = (REQ, "avi.http.set_request_body_buffer_size(256)");
    let mut stage = Stage::new(&scripted(&[wants, (REQ_DATA, STEER)]));
    let client = stage.client();
    stage.says(client, head);
    let mut came = 0;
    while stage.closed(client).is_none() && came < 200 {
        stage.says(client, chunks(&"x".repeat(300)));
        came += 1;
        assert!(stage.blocks_in_use() < 20, "{} blocks", stage.blocks_in_use());
    }
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("413", 0), "after {came}");
}

#[test]
fn script_for_a_body_answers_redirects_closes_or_fails() {
    let source = "local b = avi.http.get_req_body() if b == 'no' then avi.http.response(403, {}, 'it says ' .. b) end \
        if b == 'go' then avi.http.redirect('/there') end if b == 'by' then avi.vs.close_conn(true) end \
        if b == 'so' then while true do end end if b == 'oh' then avi.vs.log(nil .. b) end \
        if b == 'mm' then local s = b while true do s = s .. s end end";
    let mut stage = Stage::new(&scripted(&[WANTS, (REQ_DATA, source)]));
    let client = stage.client();
    for (body, wanted) in [("no", "403"), ("go", "302")] {
        stage.says(client, post("", body));
        let sent = stage.sent(client);
        assert!(status(&sent) == wanted && stage.closed(client).is_none(), "{sent}");
        assert_eq!((sent.ends_with("it says no"), sent.contains("Location: /there\r\n")), (body == "no", body == "go"));
    }
    for body in ["so", "oh", "mm"] {
        let client = stage.client();
        stage.says(client, post("", body));
        assert_eq!(status(&stage.sent(client)), "500", "{body}");
    }
    assert_eq!(stage.failures(Cause::ScriptFailed), 3);
    stage.says(client, post("", "by"));
    assert_eq!((stage.closed(client), stage.dials()), (Some(Close::Abort), 0));
    let other = stage.client();
    stage.says(other, post("", "on"));
    let server = stage.connected();
    assert!(stage.sent(server).ends_with("\r\n\r\non"));
    assert_eq!(stage.sent(other), "");
}

#[test]
fn answer_to_half_a_body_ends_the_connection() {
    let mut stage = Stage::new(&scripted(&[WANTS, (REQ_DATA, "avi.http.response(403, {}, 'no')")]));
    let client = stage.client();
    stage.says(client, post("", "").replace("Length: 0", "Length: 9000") + &"x".repeat(1_100));
    let sent = stage.sent(client);
    assert!(status(&sent) == "403" && sent.to_lowercase().contains("connection: close\r\n"), "{sent}");
    assert!(stage.closed(client).is_some());
}

#[test]
fn script_for_a_body_runs_only_where_one_wants_to_see_it() {
    let counts = (REQ_DATA, "avi.http.add_header('X-Seen', '<' .. avi.http.get_req_body() .. '>')");
    for (wants, request, seen) in [
        (true, post("", "a"), Some("<a>")),
        (true, post("", ""), Some("<>")),
        (true, get("shop.test", "/"), Some("<>")),
        (false, post("", "a"), None),
        (false, get("shop.test", "/"), None),
    ] {
        let scripts = if wants { vec![WANTS, counts] } else { vec![(REQ, "avi.vs.log('x')"), counts] };
        let mut stage = Stage::new(&scripted(&scripts));
        let client = stage.client();
        stage.says(client, &request);
        let server = stage.connected();
        let sent = stage.sent(server);
        let found = sent.split("X-Seen: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        assert_eq!(found, seen, "{request}");
    }
    // The profile keeps bodies anyway.
    let mut plan = scripted(&[counts]);
    plan.virtual_services[0].http.as_mut().expect("HTTP").request_buffer_bytes = 2;
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, post("", "abc"));
    let server = stage.connected();
    let sent = stage.sent(server);
    assert!(sent.contains("X-Seen: <ab>\r\n") && sent.ends_with("abc"), "{sent}");
}

#[test]
fn client_that_waits_for_a_100_gets_it_before_its_body_is_shown() {
    for responds in [true, false] {
        let mut plan = scripted(&[WANTS, (REQ_DATA, STEER)]);
        plan.virtual_services[0].http.as_mut().expect("HTTP").respond_with_100_continue = responds;
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, post("Expect: 100-continue\r\n", "").replace("Length: 0", "Length: 4"));
        assert_eq!((status(&stage.sent(client)), stage.dials()), ("100", 0), "{responds}");
        stage.says(client, "nine");
        let server = stage.connected();
        assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
        assert!(stage.sent(server).ends_with("nine"));
        stage.says(server, "HTTP/1.1 100 Continue\r\n\r\n");
        assert_eq!(stage.sent(client), "", "it has one");
    }
}

#[test]
fn body_chooses_a_group_a_server_and_another_name() {
    let mut plan = scripted_with(
        plan(3),
        &[
            WANTS,
            (
                REQ_DATA,
                "local b = avi.http.get_req_body() if b == 'g' then avi.poolgroup.select('group') end \
                if b == 's' then avi.pool.select('own', '10.1.0.3', 8000) end \
                if b == 'h' then avi.http.replace_header('Host', 'inner.test') end \
                if b == 'x' then avi.pool.select('own', '10.1.0.9') end",
            ),
        ],
    );
    let members = vec![api::GroupMember { pool_uuid: "pool-9".into(), ratio: 1, ..Default::default() }];
    plan.pool_groups = vec![api::PoolGroup { uuid: "g".into(), members, ..Default::default() }];
    plan.script_sets[0].pool_groups = vec![Named { name: "group".into(), uuid: "g".into() }];
    plan.script_sets[0].pools.push(Named { name: "own".into(), uuid: "pool".into() });
    let mut stage = Stage::new(&plan);
    let mut ask = |body: &str| {
        let client = stage.client();
        stage.says(client, post("", body));
        let server = stage.connected();
        (stage.dialled_address(), stage.sent(server))
    };
    assert_eq!(ask("g").0, "10.1.9.1:8000");
    (0..3).for_each(|_| assert_eq!(ask("s").0, "10.1.0.3:8000"));
    let (_, sent) = ask("h");
    assert!(sent.contains("Host: inner.test\r\n") && !sent.contains("shop.test"), "{sent}");
    let client = stage.client();
    stage.says(client, post("", "x"));
    assert_eq!(status(&stage.sent(client)), "500");
}

#[test]
fn pool_of_a_rule_stays_whatever_the_body_says() {
    let mut plan = scripted(&[WANTS, (REQ_DATA, STEER)]);
    plan.http_policy_sets[0].request_rules = vec![api::HttpRequestRule {
        rule: Some(api::HttpRule { name: "r".into(), r#match: Some(under("/a")), ..Default::default() }),
        action: Some(api::http_request_rule::Action::Pool(api::PoolChoice {
            pool_uuid: "pool".into(),
            ..Default::default()
        })),
        ..Default::default()
    }];
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, post("", "nine"));
    let server = stage.connected();
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    assert!(stage.sent(server).contains("X-Seen: 4nine\r\n"));
}

/// Both pools speak HTTP/2.
fn all_http2(scripts: &[(ScriptEvent, &str)]) -> Plan {
    let mut plan = to_http2(scripted(scripts));
    plan.pools[1].http2 = plan.pools[0].http2;
    plan
}

#[test]
fn bodies_on_streams_are_shown_and_go_to_servers_of_http2() {
    let mut stage =
        Stage::new(&http2(all_http2(&[WANTS, (REQ_DATA, STEER), (CHOSEN, "avi.http.add_header('x-chosen', 'yes')")])));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "POST", &[], false);
    browser.sends(&mut stage, id, b"to n", false);
    assert_eq!(stage.dials(), 0);
    browser.sends(&mut stage, id, b"ine!", true);
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    let mut origin = Origin::new(&mut stage);
    let heard = origin.heard().join("\n");
    assert!(heard.contains("/b") && heard.contains("to nine!"), "{heard}");
    assert!(heard.contains("x-chosen"), "{heard}");
    origin.answers(&mut stage, 1, "ok");
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
}

#[test]
fn pool_that_speaks_another_http_is_no_choice_for_a_body() {
    let mut stage = Stage::new(&to_http2(scripted(&[WANTS, (REQ_DATA, STEER)])));
    let client = stage.client();
    stage.says(client, post("", "nine"));
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("500", 0));
    assert_eq!(stage.failures(Cause::ScriptFailed), 1);
}

#[test]
fn pool_that_binds_by_a_cookie_of_servers_is_no_choice_for_a_body() {
    let binds = CookiePersistence { cookie_name: "id".into(), prefixes: true, ..Default::default() };
    for (is_first, is_second) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut plan = scripted(&[WANTS, (REQ_DATA, STEER)]);
        for (pool, is_bound) in plan.pools.iter_mut().zip([is_first, is_second]) {
            pool.persistence = is_bound.then(|| binds.clone());
            pool.servers.iter_mut().enumerate().for_each(|(at, server)| server.token = format!("{at:032x}"));
        }
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, post(&format!("Cookie: id={:032x}~x\r\n", 0), "nine"));
        if is_first || is_second {
            assert_eq!((status(&stage.sent(client)), stage.dials()), ("500", 0));
            assert_eq!(stage.failures(Cause::ScriptFailed), 1);
        } else {
            stage.connected();
            assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
        }
        // The pool of the virtual service may bind as it likes.
        let client = stage.client();
        stage.says(client, post("", "one"));
        stage.connected();
        assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    }
}

/// Content in chunks of one byte, each with so many bytes of extensions.
fn in_small_chunks(bytes: usize, extension_bytes: usize) -> String {
    format!("1;{}\r\nx\r\n", "e".repeat(extension_bytes)).repeat(bytes)
}

#[test]
fn what_is_kept_of_a_response_takes_the_memory_of_its_content() {
    let source = "if #avi.http.get_response_body() ~= 8192 then error('less') end";
    for extension_bytes in [1, 250] {
        let wants = (RESP, "avi.http.set_response_body_buffer_size(8)");
        let mut stage = Stage::new(&scripted(&[wants, (RESP_DATA, source)]));
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        let server = stage.connected();
        stage.says(server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        // Pieces of a length that no chunk has, so that they end anywhere in one.
        for part in in_small_chunks(8_191, extension_bytes).as_bytes().chunks(Stage::BLOCK_BYTES - 7) {
            stage.says(server, part);
            assert!(stage.blocks_in_use() < 12, "{} blocks", stage.blocks_in_use());
        }
        assert_eq!(stage.sent(client), "");
        stage.says(server, "3\r\nend\r\n0\r\n\r\n");
        (0..20).for_each(|_| stage.batch(vec![Event::Drained { conn: client }]));
        let sent = stage.sent(client);
        assert!(status(&sent) == "200" && sent.matches('x').count() == 8_191 && sent.contains("end"), "{}", sent.len());
    }
}

#[test]
fn what_is_kept_of_a_request_takes_the_memory_of_its_content() {
    let wants = (REQ, "avi.http.set_request_body_buffer_size(8)");
    let mut stage = Stage::new(&all_http2(&[wants, (REQ_DATA, STEER)]));
    let client = stage.client();
    stage.says(client, "POST /a HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n");
    for part in in_small_chunks(8_187, 250).as_bytes().chunks(Stage::BLOCK_BYTES - 7) {
        stage.says(client, part);
        assert!(stage.blocks_in_use() < 12, "{} blocks", stage.blocks_in_use());
    }
    assert_eq!((stage.sent(client).as_str(), stage.dials()), ("", 0));
    stage.says(client, "4\r\nnine\r\n0\r\n\r\n");
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
}

#[test]
fn calls_have_no_bodies_for_scripts() {
    let scripts = [WANTS, WANTS_BACK, (REQ_DATA, "error('no')"), (RESP_DATA, "error('no')")];
    let mut stage = Stage::new(&http2(all_http2(&scripts)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "POST", CALL, false);
    let mut origin = Origin::new(&mut stage);
    let head = origin.head(1, 200, &[("content-type", "application/grpc")], false);
    origin.says(&mut stage, &head);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200"], "it does not wait");
}

#[test]
fn each_server_that_is_tried_gets_its_own_head() {
    let source = "avi.http.add_header('X-Server', avi.pool.name() .. ' ' .. avi.pool.server_ip()) \
        avi.vs.log(avi.http.get_header('X-Server'))";
    let mut plan =
        scripted_with(plan(2), &[(CHOSEN, source), (RESP, "avi.http.add_header('X-Name', avi.pool.name())")]);
    plan.pools[0].name = "blue".into();
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    let server = stage.connected();
    let sent = stage.sent(server);
    let address = stage.dialled_address().replace(":8000", "");
    assert!(sent.contains(&format!("X-Server: blue {address}\r\n")) && sent.matches("X-Server").count() == 1, "{sent}");
    stage.says(server, OK);
    assert!(stage.sent(client).contains("X-Name: blue\r\n"));
    // An idle connection that its server closes: the request goes on another one, with one field.
    stage.says(client, get("shop.test", "/"));
    let (first, second) = (stage.dials(), stage.sent(server));
    if second.is_empty() {
        let server = stage.connected();
        assert_eq!(stage.sent(server).matches("X-Server").count(), 1);
    } else {
        assert_eq!(second.matches("X-Server").count(), 1, "{second}");
        stage.gone(server, Gone::Reset);
        assert!(stage.dials() > first);
        let again = stage.connected();
        assert_eq!(stage.sent(again).matches("X-Server").count(), 1);
    }
}

#[test]
fn head_for_a_server_keeps_what_it_says_of_its_connection() {
    let mut plan = scripted(&[(CHOSEN, "avi.http.replace_header('X-A', 'b') avi.http.add_cookie('c', 'd')")]);
    plan.virtual_services[0].http.as_mut().expect("HTTP").websockets = true;
    let handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (method, fields, wanted) in [
        ("POST", "Transfer-Encoding: chunked\r\n", &["Transfer-Encoding: chunked\r\n"][..]),
        ("POST", "Content-Length: 5\r\n", &["Content-Length: 5\r\n"]),
        ("GET", handshake, &["Connection: Upgrade\r\n", "Upgrade: websocket\r\n", "Sec-WebSocket-Key: dGhl"]),
        ("GET", "Connection: X-Own\r\nX-Own: a\r\n", &[]),
    ] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, format!("{method} / HTTP/1.1\r\nHost: shop.test\r\nX-A: a\r\n{fields}\r\n"));
        let server = stage.connected();
        let sent = stage.sent(server);
        for line in wanted.iter().chain(&["Host: shop.test\r\n", "X-A: b\r\n", "Cookie: c=d\r\n"]) {
            assert_eq!(sent.matches(line).count(), 1, "{line:?} in {sent}");
        }
        assert!(!sent.contains("X-A: a") && !sent.contains("X-Own") && sent.ends_with("\r\n\r\n"), "{sent}");
    }
}

#[test]
fn host_for_one_try_is_not_that_of_the_next() {
    let source = "avi.http.add_header('X-Before', avi.http.hostname() .. ' ' .. avi.http.get_header('Host')) \
        avi.http.replace_header('Host', avi.pool.server_ip() .. '.inner')";
    for (host, before) in [("", "shop.test"), ("one.test", "one.test")] {
        let mut plan = scripted(&[(CHOSEN, source)]);
        plan.pools[0].servers[0].host = host.into();
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        let is_good = |sent: &str| {
            assert!(sent.contains(&format!("X-Before: {before} {before}\r\n")), "{sent}");
            assert!(sent.contains("Host: 10.1.0.1.inner\r\n") && sent.matches("Host:").count() == 1, "{sent}");
        };
        stage.says(client, get("shop.test", "/"));
        let server = stage.connected();
        is_good(&stage.sent(server));
        stage.says(server, OK);
        stage.says(client, get("shop.test", "/"));
        is_good(&stage.sent(server));
        // The idle connection was closed, so the request goes on another one.
        stage.gone(server, Gone::Reset);
        let again = stage.connected();
        is_good(&stage.sent(again));
    }
}

#[test]
fn request_behind_one_whose_script_for_the_choice_fails_goes_on() {
    let mut stage = Stage::new(&scripted(&[(CHOSEN, "if avi.http.get_path() == '/bad' then error('odd') end")]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/bad") + &get("shop.test", "/bad") + &get("shop.test", "/good"));
    (0..2).for_each(|_| _ = stage.connected());
    assert_eq!(stage.sent(client).matches("HTTP/1.1 500 ").count(), 2);
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET /good "));
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn script_for_the_choice_that_fails_is_a_500() {
    for source in ["error('odd')", "while true do end", "avi.http.response(200)"] {
        let mut stage = Stage::new(&scripted(&[(CHOSEN, source)]));
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        let server = stage.connected();
        assert_eq!((status(&stage.sent(client)), stage.sent(server).as_str()), ("500", ""), "{source}");
        assert_eq!(stage.failures(Cause::ScriptFailed), 1);
    }
}

#[test]
fn client_gets_nothing_of_a_response_before_its_script_has_seen_it() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let source = "avi.vs.log(avi.http.get_response_body()) \
        if avi.http.get_response_body() == 'it is a secret' then avi.http.response(403, {}, 'no') end \
        if avi.http.get_response_body() == 'it never ends!' then while true do end end";
    for (text, wanted) in [("it is harmless", "200"), ("it is a secret", "403"), ("it never ends!", "500")] {
        for is_chunked in [false, true] {
            let mut stage = Stage::new(&scripted(&[WANTS_BACK, (RESP_DATA, source)]));
            let client = stage.client();
            stage.says(client, get("shop.test", "/"));
            let server = stage.connected();
            let (head, pieces) = match is_chunked {
                true => (
                    chunked.to_owned(),
                    [format!("7\r\n{}\r\n", &text[..7]), format!("7\r\n{}\r\n0\r\n\r\n", &text[7..])],
                ),
                false => (ok("", "").replace("Length: 0", "Length: 14"), [text[..7].to_owned(), text[7..].to_owned()]),
            };
            stage.says(server, head + &pieces[0]);
            assert_eq!(stage.sent(client), "");
            stage.says(server, &pieces[1]);
            let sent = stage.sent(client);
            assert_eq!(status(&sent), wanted, "{sent}");
            if wanted == "200" {
                assert!(sent.contains(&text[..7]) && sent.contains(&text[7..]), "{sent}");
                assert!(stage.closed(client).is_none() && stage.closed(server).is_none());
                stage.says(client, get("shop.test", "/"));
                assert!(stage.sent(server).starts_with("GET / "), "both connections go on");
            } else {
                assert!(!sent.contains("it "), "{sent}");
                assert_eq!(stage.closed(server), Some(Close::Abort));
            }
            assert_eq!(stage.failures(Cause::ScriptFailed), u64::from(wanted == "500"));
        }
    }
}

#[test]
fn long_response_is_cut_for_its_script_and_goes_on_whole() {
    let body = format!("{}end", "0123456789".repeat(9_000));
    let source = "local b = avi.http.get_response_body() avi.http.set_reqvar('n', #b) \
        if #b ~= 1024 or #avi.http.get_response_body(1, 1000) ~= 24 then error(#b) end";
    for close in [false, true] {
        let mut stage = Stage::new(&scripted(&[WANTS_BACK, (RESP_DATA, source)]));
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        let server = stage.connected();
        let head = if close { "HTTP/1.1 200 OK\r\n\r\n".to_owned() } else { ok("", "").replace(": 0", ": 90003") };
        stage.says(server, head + &body[..600]);
        assert_eq!(stage.sent(client), "");
        let mut got = String::new();
        for part in body.as_bytes()[600..].chunks(4_000) {
            stage.says(server, part);
            got += &stage.sent(client);
        }
        if close {
            stage.batch(vec![Event::Eof { conn: server }]);
            got += &stage.sent(client);
        }
        assert_eq!(status(&got), "200");
        let digits = got.split_once("\r\n\r\n").expect("a head").1;
        let content: String = match close {
            true => digits.split("\r\n").filter(|line| line.len() > 4 || *line == "end").collect(),
            false => digits.to_owned(),
        };
        assert!(content.ends_with("end") && content.len() >= 90_003, "{}", content.len());
        assert_eq!(stage.blocks_in_use(), 0);
    }
}

#[test]
fn response_without_a_body_has_its_script_at_once() {
    let source = "avi.http.response(200, {}, '<' .. avi.http.get_response_body() .. '>')";
    for answer in [ok("", ""), "HTTP/1.1 204 No Content\r\n\r\n".into()] {
        let mut stage = Stage::new(&scripted(&[WANTS_BACK, (RESP_DATA, source)]));
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        let server = stage.connected();
        stage.says(server, answer);
        assert!(stage.sent(client).ends_with("\r\n\r\n<>"));
    }
    // Nobody asks for the body.
    let mut stage = Stage::new(&scripted(&[(RESP, "avi.vs.log('x')"), (RESP_DATA, source)]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    stage.says(server, OK);
    assert!(stage.sent(client).ends_with("ok"));
}

#[test]
fn server_that_fails_amid_a_response_that_waits_is_a_failure_without_a_response() {
    let fails = (FAILED, "avi.http.response(200, {}, 'later, ' .. avi.http.internal_status())");
    for (scripts, wanted) in
        [(vec![WANTS_BACK, (RESP_DATA, "")], "502"), (vec![WANTS_BACK, (RESP_DATA, ""), fails], "200")]
    {
        let mut stage = Stage::new(&scripted(&scripts));
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        let server = stage.connected();
        stage.says(server, ok("", "").replace(": 0", ": 9") + "half");
        stage.gone(server, Gone::Reset);
        let sent = stage.sent(client);
        assert!(status(&sent) == wanted && !sent.contains("half"), "{sent}");
        assert_eq!(stage.failures(Cause::ServerReset), 1);
    }
}

#[test]
fn response_that_waits_has_the_patience_of_its_server() {
    let mut stage = Stage::new(&scripted(&[WANTS_BACK, (RESP_DATA, "")]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    stage.says(server, ok("", "").replace(": 0", ": 9") + "half");
    stage.tape.sleep(Duration::from_millis(1));
    stage.wait_for_deadline(server);
    assert_eq!(status(&stage.sent(client)), "504");
}

#[test]
fn responses_on_streams_wait_for_their_scripts() {
    let source = "if avi.http.get_response_body() == 'secret' then avi.http.response(403, {}, 'no') end";
    let mut stage = Stage::new(&http2(all_http2(&[WANTS_BACK, (RESP_DATA, source)])));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let mut origin = Origin::new(&mut stage);
    for (id, content, wanted) in
        [(1, "harmless", ["1: 200", "1: harmless", "1: , all"]), (3, "secret", ["3: 403", "3: no, all", ""])]
    {
        if id == 3 {
            browser.asks(&mut stage, "GET", &[], true);
            origin.hears(&mut stage);
        }
        let head = origin.head(id, 200, &[], false);
        origin.says(&mut stage, &head);
        browser.hears(&mut stage);
        assert!(browser.heard().is_empty());
        let content = origin.content(id, content.as_bytes(), true);
        origin.says(&mut stage, &content);
        browser.hears(&mut stage);
        let heard = browser.heard();
        assert!(
            heard.concat().replace(", all", "") == wanted.concat().replace("1: , all", "").replace(", all", ""),
            "{heard:?}"
        );
    }
}

#[test]
fn model_in_a_body_chooses_a_pool_as_its_page_says() {
    let mut plan =
        scripted(&[(REQ, documented("set_request_body_buffer_size")), (REQ_DATA, documented("get_req_body"))]);
    plan.script_sets[0].pools[0].name = "large".into();
    let mut stage = Stage::new(&plan);
    for (body, address) in [
        (r#"{"model": "large-70b", "messages": []}"#, "10.1.9.1:8000"),
        (r#"{"messages": [], "model":"small-7b"}"#, "10.1.0.1:8000"),
    ] {
        let client = stage.client();
        stage.says(client, post("", body));
        stage.connected();
        assert_eq!(stage.dialled_address(), address);
    }
    let client = stage.client();
    stage.says(client, post("", "{}"));
    let sent = stage.sent(client);
    assert!(status(&sent) == "400" && sent.ends_with(r#"{"error": "no model"}"#), "{sent}");
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    stage.connected();
}

#[test]
fn tokens_of_responses_count_as_their_page_says() {
    let mut plan = scripted(&[
        (REQ, documented("exceed(\"tokens\", avi.vs.client_ip(), 0)")),
        (RESP, documented("set_response_body_buffer_size")),
        (RESP_DATA, documented("get_response_body")),
    ]);
    plan.script_sets[0].limits = vec![ScriptLimit { name: "tokens".into(), count: 100, period_s: 60, burst: 0 }];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    let json = "Content-Type: application/json\r\n";
    let long = format!(r#"{{"text": "{}", "usage": {{"total_tokens": 70}}}}"#, "word ".repeat(40_000));
    for (fields, body, asks) in [
        (json, r#"{"usage": {"total_tokens" : 40}}"#, true),
        ("Content-Type: text/plain\r\n", r#"{"usage": {"total_tokens": 900}}"#, true),
        (json, "{}", true),
        (json, &long, true),
        (json, "", false),
    ] {
        stage.says(client, get("shop.test", "/").replace("\r\n\r\n", "\r\nAccept-Encoding: gzip\r\n\r\n"));
        if !asks {
            let sent = stage.sent(client);
            assert!(status(&sent) == "429" && sent.ends_with("used up"), "{sent}");
            continue;
        }
        let server = if body.contains("40") { stage.connected() } else { stage.dialled() };
        assert!(!stage.sent(server).contains("Accept-Encoding"));
        for part in ok(fields, body).as_bytes().chunks(4_000) {
            stage.says(server, part);
        }
        // The client takes what was kept bit by bit.
        (0..200).for_each(|_| stage.batch(vec![Event::Drained { conn: client }]));
        let sent = stage.sent(client);
        assert!(status(&sent) == "200" && sent.ends_with(body), "{}", &sent[..sent.len().min(300)]);
    }
}

#[test]
fn pool_has_its_field_as_its_page_says() {
    let mut plan = scripted(&[(CHOSEN, documented("avi.pool.name"))]);
    plan.pools[0].name = "blue".into();
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    assert!(stage.sent(server).contains("X-Pool: blue\r\n"));
}

#[test]
fn error_that_scripts_collect_ends_the_connection_of_its_server() {
    for collects in [false, true] {
        let back = if collects { WANTS_BACK } else { (RESP, "") };
        let mut plan = scripted(&[back, (RESP_DATA, "local x = 1")]);
        plan.virtual_services[0].http.as_mut().unwrap().close_servers_on_error = true;
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        let server = stage.connected();
        stage.says(server, ok("", "no").replace("200 OK", "500 Oops"));
        assert_eq!(status(&stage.sent(client)), "500");
        assert_eq!(stage.closed(server), Some(Close::Flush), "collects {collects}");
    }
}
