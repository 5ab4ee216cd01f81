//! What requests are called, and whose they are: in header fields, for scripts, and in records.

use weir_api::dataplane::v1::{
    self as api, EditKind, HeaderVariable, HttpMatch, HttpPolicySet, HttpRequestRule, HttpResponseRule, Plan,
    ScriptEvent,
};

use crate::{
    OK,
    access::with_token,
    hosted::get,
    http2::{Browser, http2},
    policies::{edit, rule, with},
    records::recording,
    scripts::{documented, scripted_with},
    tape::{Stage, plan},
    tokens::{Issuer, NOW},
};

fn field(name: &str, variable: HeaderVariable) -> api::HeaderEdit {
    let value = Some(api::HeaderValue { variable: variable.into(), ..Default::default() });
    api::HeaderEdit { value, ..edit(EditKind::Replace, name, None) }
}

/// Rules that tell servers and clients what requests are called, and servers whose they are.
fn telling() -> HttpPolicySet {
    let to_server = vec![field("X-Request-ID", HeaderVariable::RequestId), field("X-User", HeaderVariable::User)];
    let to_client = vec![field("X-Request-ID", HeaderVariable::RequestId), field("X-User", HeaderVariable::User)];
    HttpPolicySet {
        request_rules: vec![HttpRequestRule {
            rule: rule("to server", HttpMatch::default()),
            edits: to_server,
            ..Default::default()
        }],
        response_rules: vec![HttpResponseRule {
            rule: rule("to client", HttpMatch::default()),
            edits: to_client,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn with_tokens(issuer: &Issuer, mut plan: Plan) -> Plan {
    plan.virtual_services[0].tokens = issuer.rules("");
    plan
}

fn of_user(issuer: &Issuer, user: &str) -> String {
    issuer.token(&format!(r#"{{"aud":"shop","exp":{},"sub":{user}}}"#, NOW + 600))
}

/// The value of a field in a head.
fn value<'h>(head: &'h str, name: &str) -> &'h str {
    let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {head}")).trim()
}

/// The heads that server and client get for a request.
fn told(stage: &mut Stage, request: &str) -> (String, String) {
    let client = stage.client();
    let dials = stage.dials();
    stage.says(client, request);
    let server = if stage.dials() > dials { stage.connected() } else { stage.dialled() };
    let asked = stage.sent(server);
    stage.says(server, OK);
    (asked, stage.sent(client))
}

/// The names in the records since the last call.
fn recorded(stage: &mut Stage) -> Vec<[String; 2]> {
    stage.records().records().iter().map(|record| record.names()).collect()
}

#[test]
fn server_client_and_record_hear_the_same_name_of_a_request() {
    let mut stage = Stage::new(&with(recording(plan(1)), telling()));
    let mut seen = Vec::new();
    for _ in 0..3 {
        let request = "GET / HTTP/1.1\r\nHost: a\r\nX-Request-ID: mine\r\nX-User: root\r\n\r\n";
        let (asked, answered) = told(&mut stage, request);
        let id = value(&asked, "X-Request-ID").to_owned();
        assert_eq!(value(&answered, "X-Request-ID"), id);
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert!(parts == [3, 4, 4] && !seen.contains(&id), "{id} after {seen:?}");
        assert_eq!((value(&asked, "X-User"), value(&answered, "X-User")), ("", ""), "nobody knows the user");
        assert_eq!(recorded(&mut stage), [[id.clone(), String::new()]]);
        seen.push(id);
    }
}

#[test]
fn request_without_records_is_named_too() {
    let (asked, answered) = told(&mut Stage::new(&with(plan(1), telling())), &get("a", "/"));
    assert_eq!(value(&asked, "X-Request-ID"), value(&answered, "X-Request-ID"));
}

#[test]
fn each_stream_has_a_name_of_its_own() {
    let mut stage = Stage::new(&with(http2(recording(plan(1))), telling()));
    let mut browser = Browser::new(&mut stage);
    let asked = [(); 2].map(|()| {
        browser.asks_host(&mut stage, "a", "/");
        let server = stage.connected();
        let asked = stage.sent(server);
        stage.says(server, OK.replace("keep-alive", "close"));
        value(&asked, "X-Request-ID").to_owned()
    });
    assert_ne!(asked[0], asked[1]);
    assert_eq!(recorded(&mut stage), asked.map(|id| [id, String::new()]));
}

#[test]
fn user_is_the_subject_of_a_good_token() {
    let issuer = Issuer::new();
    for (subject, user) in [
        (r#""alice""#, "alice"),
        (r#""J\u00fcrgen""#, "Jürgen"),
        (r#""a\r\nX-Admin: 1""#, ""), // it could not stand in a field
        ("7", ""),
    ] {
        let mut stage = Stage::new(&with(with_tokens(&issuer, recording(plan(1))), telling()));
        let (asked, answered) = told(&mut stage, &with_token("/", &of_user(&issuer, subject)));
        assert_eq!((value(&asked, "X-User"), value(&answered, "X-User")), (user, user), "{subject}");
        assert!(!asked.contains("X-Admin"), "{asked}");
        assert_eq!(recorded(&mut stage), [[value(&asked, "X-Request-ID").to_owned(), user.to_owned()]]);
    }
}

#[test]
fn credentials_that_nobody_has_checked_name_no_user() {
    let mut stage = Stage::new(&with(plan(1), telling()));
    // root:x
    let (asked, _) = told(&mut stage, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic cm9vdDp4\r\n\r\n");
    assert_eq!(value(&asked, "X-User"), "");
}

#[test]
fn scripts_know_the_names_that_rules_tell() {
    let issuer = Issuer::new();
    let scripts = [
        (
            ScriptEvent::HttpReq,
            "avi.http.add_header('X-Script', avi.http.get_request_id() .. ' ' .. avi.http.get_userid())",
        ),
        (ScriptEvent::HttpResp, "avi.http.set_userid(avi.http.get_userid() .. '@shop')"),
    ];
    let mut plan = with_tokens(&issuer, scripted_with(recording(plan(1)), &scripts));
    plan.http_policy_sets[0] = HttpPolicySet { uuid: "set-1".into(), name: "rules".into(), ..telling() };
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let mut stage = Stage::new(&plan);
    let (asked, answered) = told(&mut stage, &with_token("/", &of_user(&issuer, r#""alice""#)));
    let id = value(&asked, "X-Request-ID").to_owned();
    assert_eq!(value(&asked, "X-Script"), format!("{id} alice"));
    assert_eq!((value(&asked, "X-User"), value(&answered, "X-User")), ("alice", "alice@shop"));
    assert_eq!(recorded(&mut stage), [[id, "alice@shop".to_owned()]]);
}

#[test]
fn scripts_name_requests_without_rules() {
    let ask = "avi.http.add_header('X-Id', avi.http.get_request_id())";
    for events in [&[ScriptEvent::HttpAuth, ScriptEvent::HttpReq, ScriptEvent::HttpResp][..], &[ScriptEvent::HttpResp]]
    {
        let scripts: Vec<_> = events.iter().map(|event| (*event, ask)).collect();
        let mut stage = Stage::new(&scripted_with(recording(plan(1)), &scripts));
        let (asked, answered) = told(&mut stage, &get("a", "/"));
        let id = value(&answered, "X-Id").to_owned();
        let of_server: Vec<_> = asked.lines().filter_map(|line| line.strip_prefix("X-Id: ")).collect();
        assert_eq!(of_server, vec![id.as_str(); events.len() - 1]);
        assert_eq!(recorded(&mut stage), [[id, String::new()]]);
    }
    // Who does not ask finds a record without them.
    let mut stage = Stage::new(&scripted_with(recording(plan(1)), &[(ScriptEvent::HttpReq, "avi.vs.log('x')")]));
    told(&mut stage, &get("a", "/"));
    assert_eq!(recorded(&mut stage), [["", ""].map(str::to_owned)]);
}

#[test]
fn script_without_the_name_of_such_a_function_gets_no_names() {
    let issuer = Issuer::new();
    let source = "avi.vs.log(tostring(pcall(avi.http['get_user' .. 'id'])))";
    let mut plan = with_tokens(&issuer, scripted_with(recording(plan(1)), &[(ScriptEvent::HttpReq, source)]));
    plan.http_policy_sets[0] = HttpPolicySet { uuid: "set-1".into(), name: "rules".into(), ..telling() };
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let mut stage = Stage::new(&plan);
    let (asked, _) = told(&mut stage, &with_token("/", &of_user(&issuer, r#""alice""#)));
    assert_eq!(value(&asked, "X-User"), "alice", "rules know the user all the same");
    let said: Vec<String> = stage.records().records().iter().map(|record| record.place().2).collect();
    assert_eq!(said, ["false"]);
}

#[test]
fn script_says_whose_a_request_is_that_the_engine_answers() {
    let source = "avi.http.set_userid('bob') avi.http.response(403, avi.http.get_request_id())";
    let mut stage = Stage::new(&scripted_with(recording(plan(1)), &[(ScriptEvent::HttpReq, source)]));
    let client = stage.client();
    stage.says(client, get("a", "/"));
    let answer = stage.sent(client);
    let id = answer.rsplit("\r\n").next().unwrap_or_default().to_owned();
    assert_eq!(recorded(&mut stage), [[id, "bob".to_owned()]]);
}

#[test]
fn key_says_whose_a_request_is_as_the_page_says() {
    let scripts = [(ScriptEvent::HttpPostAuth, documented("set_userid"))];
    let mut plan = scripted_with(recording(plan(1)), &scripts);
    let pair = api::StringPair { key: "k-17".into(), value: "alice".into() };
    plan.string_groups =
        vec![api::StringGroup { uuid: "keys-1".into(), name: "keys".into(), pairs: vec![pair], ..Default::default() }];
    plan.script_sets[0].string_group_uuids = vec!["keys-1".into()];
    plan.http_policy_sets[0] = HttpPolicySet { uuid: "set-1".into(), name: "rules".into(), ..telling() };
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let mut stage = Stage::new(&plan);
    let (asked, _) = told(&mut stage, "GET / HTTP/1.1\r\nHost: a\r\nX-Key: k-17\r\nX-User: root\r\n\r\n");
    assert_eq!(value(&asked, "X-User"), "alice");
    assert_eq!(recorded(&mut stage)[0][1], "alice");
    let client = stage.client();
    stage.says(client, "GET / HTTP/1.1\r\nHost: a\r\nX-Key: K-17\r\nX-User: root\r\n\r\n");
    let answer = stage.sent(client);
    let [id, user] = &recorded(&mut stage)[0];
    assert!(answer.ends_with(&format!("no key: {id}")) && user.is_empty(), "{answer}");
}

#[test]
fn scripts_have_a_token_that_is_good() {
    let issuer = Issuer::new();
    let auth = "avi.http.add_header('X-Before', tostring(avi.http.get_access_token()))";
    let asks = "avi.http.remove_header('Authorization') avi.http.add_header('X-Token', avi.http.get_access_token())";
    let scripts = [(ScriptEvent::HttpAuth, auth), (ScriptEvent::HttpReq, asks)];
    let mut stage = Stage::new(&with_tokens(&issuer, scripted_with(recording(plan(1)), &scripts)));
    let token = of_user(&issuer, r#""alice""#);
    let (asked, _) = told(&mut stage, &with_token("/", &token));
    assert_eq!((value(&asked, "X-Before"), value(&asked, "X-Token")), ("nil", token.as_str()));
    assert!(!asked.contains("Authorization"), "{asked}");
    // The record is for names that somebody wants to know.
    assert_eq!(recorded(&mut stage), [["", ""].map(str::to_owned)]);
}
