//! Error pages of operators, in place of those of the engine.

use weir_api::dataplane::v1::{self as api, ErrorPage, ErrorPageProfile, NumberMatch, NumberRange, Plan};
use weir_proxy::io::Gone;

use crate::{
    GET,
    hosted::get,
    http2::{Browser, http2},
    status,
    tape::{Stage, plan},
};

fn is_in(first: u32, last: u32) -> Option<NumberMatch> {
    Some(NumberMatch { negated: false, ranges: vec![NumberRange { first, last }] })
}

/// Pages for 502 and 503, a redirect for 404, and JSON for all others but 408.
fn paged(mut plan: Plan) -> Plan {
    let page = |status, content_type: &str, content: &str| ErrorPage {
        status,
        content_type: content_type.into(),
        content: content.into(),
        ..ErrorPage::default()
    };
    let not_408 = Some(NumberMatch { negated: true, ranges: vec![NumberRange { first: 408, last: 408 }] });
    let pages = vec![
        page(is_in(502, 503), "text/html", "<h1>sorry</h1>"),
        ErrorPage { status: is_in(404, 404), location: "https://help.test/".into(), ..ErrorPage::default() },
        page(not_408, "application/json", "{}"),
    ];
    plan.error_page_profiles = vec![ErrorPageProfile { uuid: "pages".into(), name: "pages".into(), pages }];
    plan.virtual_services[0].error_page_profile_uuid = "pages".into();
    plan
}

#[test]
fn failures_have_the_page_of_their_status() {
    let mut stage = Stage::new(&paged(plan(1)));
    let client = stage.client();
    stage.says(client, get("a", "/"));
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    let sent = stage.sent(client);
    assert!(status(&sent) == "502" && sent.ends_with("\r\n\r\n<h1>sorry</h1>"), "{sent}");
    for line in ["Content-Type: text/html\r\n", "Content-Length: 14\r\n", "Cache-Control: no-store\r\n"] {
        assert!(sent.contains(line), "{line} is missing in {sent}");
    }
    stage.says(client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    let sent = stage.sent(client);
    assert!(sent.contains("Content-Length: 14\r\n") && sent.ends_with("\r\n\r\n"), "{sent}");
    stage.says(client, "GET / HTTP/1.1\r\n\r\n");
    let sent = stage.sent(client);
    assert!(status(&sent) == "400" && sent.ends_with("\r\n\r\n{}"), "{sent}");
}

#[test]
fn status_without_a_page_has_that_of_the_engine_and_servers_keep_theirs() {
    let mut stage = Stage::new(&paged(plan(1)));
    let client = stage.client();
    stage.says(client, "GET / HTTP");
    stage.wait_for_deadline(client);
    let sent = stage.sent(client);
    assert!(status(&sent) == "408" && sent.ends_with("</h1>\n"), "{sent}");
    let client = stage.client();
    stage.says(client, get("a", "/"));
    let server = stage.connected();
    stage.says(server, "HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nown");
    assert!(stage.sent(client).ends_with("\r\n\r\nown"));
}

#[test]
fn streams_get_pages_and_calls_do_not() {
    let mut plan = http2(paged(plan(1)));
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "GET", &[], true);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), [format!("{id}: 503"), format!("{id}: <h1>sorry</h1>, all")]);
    let id = browser.asks(&mut stage, "POST", &[("content-type", "application/grpc")], true);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), [format!("{id}: 200, all")]);
}

#[test]
fn answers_of_rules_without_content_have_pages_too() {
    let answer = |status, content: &str| {
        Some(api::http_security_rule::Action::Response(api::LocalResponse {
            status,
            content_type: "text/plain".into(),
            content: content.into(),
        }))
    };
    for (action, expected, end) in [
        (answer(503, ""), "503", "\r\n\r\n<h1>sorry</h1>"),
        (answer(503, "no"), "503", "\r\n\r\nno"),
        (answer(404, ""), "302", "\r\n\r\n"),
        (answer(200, ""), "200", "\r\n\r\n"),
    ] {
        let mut plan = paged(plan(1));
        let rule = Some(api::HttpRule { name: "all".into(), ..Default::default() });
        let security_rules = vec![api::HttpSecurityRule { rule, action }];
        plan.http_policy_sets = vec![api::HttpPolicySet { uuid: "set".into(), security_rules, ..Default::default() }];
        plan.virtual_services[0].http_policy_set_uuids = vec!["set".into()];
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, get("a", "/"));
        let sent = stage.sent(client);
        assert!(status(&sent) == expected && sent.ends_with(end), "{sent}");
        assert_eq!(sent.contains("Location: https://help.test/\r\n"), expected == "302", "{sent}");
    }
}

#[test]
fn changed_pages_are_in_force_for_the_next_request() {
    let mut plan = paged(plan(0));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("a", "/"));
    assert!(stage.sent(client).ends_with("<h1>sorry</h1>"));
    plan.revision += 1;
    plan.error_page_profiles[0].pages[0].content = b"later".to_vec();
    stage.replace(&plan);
    stage.says(client, get("a", "/"));
    assert!(stage.sent(client).ends_with("later"));
}

#[test]
fn page_for_head_has_a_length_and_no_body() {
    let mut without_pool = plan(1);
    without_pool.virtual_services[0].pool_uuid.clear();
    without_pool.pools.clear();
    let mut stage = Stage::new(&without_pool);
    let client = stage.client();
    stage.says(client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = stage.sent(client);
    stage.says(client, GET);
    let whole = stage.sent(client);
    assert_eq!(status(&head), "503");
    let body = whole.strip_prefix(&head).expect("the same head");
    assert!(whole.contains(&format!("Content-Length: {}\r\n", body.len())), "{whole}");
}
