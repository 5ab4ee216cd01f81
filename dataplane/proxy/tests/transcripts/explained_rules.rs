//! What is said of the rules that act on a request agrees with what the server gets.

use weir_api::dataplane::v1::{self as api, HttpPolicySet, HttpRequestRule, http_request_rule::Action};
use weir_proxy::explain::{Acting, EditKind};

use crate::{
    explanations::question,
    hosted::get,
    policies::{edit, rule, security, under, with},
    scripts::scripted,
    status,
    tape::{Stage, plan},
};

fn to_nine() -> Option<Action> {
    Some(Action::Pool(api::PoolChoice { pool_uuid: "pool-9".into(), ..Default::default() }))
}

fn word(text: &str) -> api::UriToken {
    api::UriToken { kind: api::UriTokenKind::Text.into(), text: text.into(), ..Default::default() }
}

fn rewrite(host: &[&str], path: &str) -> Option<api::HttpRewrite> {
    let host = host.iter().map(|part| word(part)).collect();
    Some(api::HttpRewrite { host, path: vec![word(path)], keep_query: true, ..Default::default() })
}

fn house() -> HttpPolicySet {
    let of_rule = |name: &str, path: &str| HttpRequestRule { rule: rule(name, under(path)), ..Default::default() };
    let gone = api::LocalResponse { status: 410, ..Default::default() };
    HttpPolicySet {
        request_rules: vec![
            HttpRequestRule {
                edits: vec![
                    edit(api::EditKind::Add, "X-A", Some("1")),
                    edit(api::EditKind::Remove, "X-B", None),
                    api::HeaderEdit { cookie: true, ..edit(api::EditKind::Replace, "id", Some("7")) },
                ],
                ..of_rule("mark", "/")
            },
            HttpRequestRule { rewrite: rewrite(&["inner", "test"], "new"), ..of_rule("move", "/api") },
            HttpRequestRule { action: to_nine(), ..of_rule("choose", "/api") },
            HttpRequestRule { rewrite: rewrite(&[], "late"), action: to_nine(), ..of_rule("late", "/api/v2") },
            HttpRequestRule { action: Some(Action::Response(gone)), ..of_rule("answer", "/api/v2/gone") },
            HttpRequestRule { edits: vec![edit(api::EditKind::Add, "X-C", Some("1"))], ..of_rule("behind", "/api/v2") },
        ],
        ..HttpPolicySet::default()
    }
}

/// What a rule does, in short.
fn short(rule: &Acting) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut parts = vec![format!("{}/{}", rule.set, rule.name)];
    parts.extend(rule.edits.iter().map(|edit| {
        let kind = match edit.kind {
            EditKind::Add => '+',
            EditKind::Remove => '-',
            EditKind::Replace => '=',
        };
        format!("{kind}{}{}", if edit.cookie { "cookie:" } else { "" }, edit.name)
    }));
    if let Some(to) = &rule.rewrites_to {
        parts.push(format!("to {}{}", text(to.host.as_deref().unwrap_or_default()), text(&to.target)));
    }
    let facts = [
        (rule.rewrites_late, "rewrites late"),
        (rule.chooses, "chooses"),
        (rule.chooses_late, "chooses late"),
        (rule.lacks_part, "lacks part"),
    ];
    parts.extend(facts.iter().filter(|(holds, _)| *holds).map(|(_, name)| (*name).to_owned()));
    if let Some(answer) = &rule.answer {
        parts.push(format!("{} {}", answer.status, text(answer.location.as_deref().unwrap_or_default())));
    }
    parts.join(" ")
}

fn acting(stage: &mut Stage, head: &str) -> Vec<String> {
    stage.explain(&question(head)).rules.requests.iter().map(short).collect()
}

#[test]
fn each_request_rule_that_acts_is_told_with_what_it_does() {
    let mut stage = Stage::new(&with(plan(1), house()));
    let head = get("shop.test", "/api/v2?q");
    let mark = "rules/mark +X-A -X-B =cookie:id";
    assert_eq!(acting(&mut stage, &get("shop.test", "/")), [mark]);
    let all = [
        mark,
        "rules/move to inner.test/new?q",
        "rules/choose chooses",
        "rules/late rewrites late chooses late",
        "rules/behind +X-C",
    ];
    assert_eq!(acting(&mut stage, &head), all);
    let told = stage.explain(&question(&head));
    assert_eq!(told.pool.as_ref().map(|pool| &*pool.uuid), Some("pool-9"));
    assert_eq!(told.rules.host.as_deref(), Some(&b"inner.test"[..]));
    assert_eq!(told.rules.target.as_deref(), Some(&b"/new?q"[..]));
    // This is what happens.
    let client = stage.client();
    stage.says(client, head);
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    let server = stage.connected();
    let sent = stage.sent(server);
    assert!(sent.starts_with("GET /new?q HTTP/1.1\r\n") && sent.contains("Host: inner.test\r\n"), "{sent}");
    assert!(sent.contains("X-A: 1\r\n") && sent.contains("X-C: 1\r\n"), "{sent}");
}

#[test]
fn rule_that_answers_is_the_last_that_is_told() {
    let mut stage = Stage::new(&with(plan(1), house()));
    let head = get("shop.test", "/api/v2/gone");
    assert_eq!(acting(&mut stage, &head).last().map(String::as_str), Some("rules/answer 410 "));
    let told = stage.explain(&question(&head));
    assert_eq!(told.local.map(|local| (local.status, local.cause)), Some((Some(410), "request_rule")));
    let client = stage.client();
    stage.says(client, head);
    assert_eq!(status(&stage.sent(client)), "410");
}

#[test]
fn redirect_is_told_with_its_location_and_one_that_lacks_a_part_too() {
    let host = |token: api::UriToken| api::HttpRedirect { status: 302, host: vec![token], ..Default::default() };
    let part = api::UriToken { kind: api::UriTokenKind::Host.into(), first: 2, last: 2, ..Default::default() };
    let redirect = |name: &str, to| HttpRequestRule {
        rule: rule(name, under("/")),
        action: Some(Action::Redirect(to)),
        ..Default::default()
    };
    let rules = vec![redirect("third part", host(part)), redirect("always", host(word("else")))];
    let mut stage = Stage::new(&with(plan(1), HttpPolicySet { request_rules: rules, ..Default::default() }));
    let told = acting(&mut stage, &get("shop.test", "/"));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let sent = stage.sent(client);
    let location = sent.lines().find_map(|line| line.strip_prefix("Location: ")).expect("a redirect");
    assert_eq!(told, ["rules/third part lacks part".to_owned(), format!("rules/always 302 {location}")]);
}

#[test]
fn rules_behind_a_security_rule_that_ends_the_request_are_not_told() {
    let away = api::http_security_rule::Action::Close(api::Close { reset: true });
    let security_rules = vec![security("away", under("/"), away)];
    let mut stage = Stage::new(&with(plan(1), HttpPolicySet { security_rules, ..house() }));
    assert!(acting(&mut stage, &get("shop.test", "/api")).is_empty());
}

#[test]
fn what_scripts_edit_and_choose_is_told() {
    let source = "avi.pool.select('nine') avi.http.add_header('X-Seen', '1') avi.http.set_path('/else')";
    let mut stage = Stage::new(&scripted(&[(api::ScriptEvent::HttpReq, source)]));
    let told = stage.explain(&question(&get("shop.test", "/")));
    assert_eq!(told.pool.as_ref().map(|pool| &*pool.uuid), Some("pool-9"));
    assert!(told.rules.pool_by_script);
    let edits: Vec<_> = told.rules.edits_of_scripts.iter().map(|edit| (edit.kind, &*edit.name)).collect();
    assert_eq!(edits, [(EditKind::Add, "X-Seen")]);
    assert_eq!((told.rules.host, told.rules.target.as_deref()), (None, Some(&b"/else"[..])));
    // A rule that chooses comes before them.
    let choose = HttpRequestRule { rule: rule("own", under("/")), action: to_nine(), ..Default::default() };
    let mut plan = scripted(&[(api::ScriptEvent::HttpReq, source)]);
    plan.http_policy_sets[0].request_rules = vec![choose];
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let told = Stage::new(&plan).explain(&question(&get("shop.test", "/")));
    assert!(!told.rules.pool_by_script && told.rules.requests[0].chooses);
}

#[test]
fn host_of_the_server_is_what_it_is_asked_for() {
    let mut plan = with(plan(1), house());
    plan.pools.iter_mut().for_each(|pool| pool.servers[0].host = "own.test".into());
    let mut stage = Stage::new(&plan);
    let told = |stage: &mut Stage, host, path| stage.explain(&question(&get(host, path))).rules.host;
    assert_eq!(told(&mut stage, "shop.test", "/").as_deref(), Some(&b"own.test"[..]));
    assert_eq!(told(&mut stage, "shop.test", "/api").as_deref(), Some(&b"own.test"[..]));
    assert_eq!(told(&mut stage, "own.test", "/api"), None);
    let client = stage.client();
    stage.says(client, get("shop.test", "/api"));
    let server = stage.connected();
    let sent = stage.sent(server);
    assert!(sent.contains("own.test"), "{sent}");
}
