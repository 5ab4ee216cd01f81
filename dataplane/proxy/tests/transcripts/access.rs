//! Which requests need a token, and what those with a good one may.

use weir_api::dataplane::v1::{
    self as api, AccessRules, AuthenticationRule, AuthorizationRule, ClaimMatch, HttpMatch, TextCriterion,
    authorization_rule::Action, claim_match::Value,
};
use weir_telemetry::Cause;

use crate::{
    explanations::question,
    http2::{Browser, http2},
    policies::{rule, text, under},
    records::recording,
    ruled::{names, said},
    status,
    tape::{Stage, plan},
    tokens::{Issuer, NOW},
};

/// Lists of rules, as in `api/record`.
const AUTHENTICATION: u8 = 6;
const AUTHORIZATION: u8 = 7;

/// A virtual service with these rules for tokens of an issuer.
fn with_rules(issuer: &Issuer, access: AccessRules, mut plan: api::Plan) -> api::Plan {
    let tokens = issuer.rules("").expect("rules");
    let access = AccessRules { audience: "shop".into(), ..access };
    plan.virtual_services[0].tokens = Some(api::TokenRules { audience: String::new(), access: Some(access), ..tokens });
    plan
}

fn skip(name: &str, matched: HttpMatch) -> AuthenticationRule {
    AuthenticationRule { rule: rule(name, matched), skip: true }
}

fn needs(name: &str, matched: HttpMatch) -> AuthenticationRule {
    AuthenticationRule { rule: rule(name, matched), skip: false }
}

fn authorize(name: &str, matched: HttpMatch, claims: Vec<ClaimMatch>, action: Action) -> AuthorizationRule {
    AuthorizationRule { rule: rule(name, matched), claims, action: Some(action) }
}

fn allow() -> Action {
    Action::Allow(api::Allow {})
}

fn claim(name: &str, mandatory: bool, value: Value) -> ClaimMatch {
    ClaimMatch { name: name.into(), mandatory, value: Some(value) }
}

fn is_text(value: &str) -> Value {
    let value = text(TextCriterion::Equals, &[value]).map(|text| api::TextMatch { case_sensitive: true, ..text });
    Value::Text(api::TextClaim { value })
}

pub fn with_token(path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: shop.test\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// What becomes of a request: the status of the engine's own answer, "closed", or "server".
fn outcome(plan: &api::Plan, request: &str) -> (String, String, Stage) {
    let mut stage = Stage::new(plan);
    let client = stage.client();
    stage.says(client, request);
    if stage.dials() > 0 {
        return ("server".into(), String::new(), stage);
    }
    let answer = stage.sent(client);
    match stage.closed(client) {
        Some(_) if answer.is_empty() => ("closed".into(), answer, stage),
        _ => (status(&answer).to_owned(), answer, stage),
    }
}

/// Requests are let in with a role, or a level: all others of /admin get 403, and 401 of /staff.
fn by_claims() -> AccessRules {
    let number = |value| Value::Number(api::NumberClaim { value: Some(value) });
    let staff = Value::Truth(api::TruthClaim { value: Some(true) });
    AccessRules {
        authorization: vec![
            authorize(
                "revoked",
                HttpMatch::default(),
                vec![claim("jti", true, is_text("t-17"))],
                Action::Close(api::Close::default()),
            ),
            authorize(
                "admins",
                under("/admin"),
                vec![claim("role", true, is_text("admin")), claim("level", false, number(3))],
                allow(),
            ),
            authorize("admin", under("/admin"), vec![], Action::Status(403)),
            authorize("staff", under("/staff"), vec![claim("staff", true, staff)], allow()),
            authorize("others", under("/staff"), vec![], Action::Status(401)),
        ],
        ..AccessRules::default()
    }
}

#[test]
fn claims_decide_what_a_good_token_is_good_for() {
    let issuer = Issuer::new();
    let plan = with_rules(&issuer, by_claims(), plan(1));
    for (path, claims, expected) in [
        ("/", "", "server"),
        ("/admin", "", "403"),
        ("/%61dmin", "", "403"),
        ("/ADMIN", "", "403"),
        ("/admin", r#","role":"admin""#, "server"),
        ("/admin", r#","role":"Admin""#, "403"),
        ("/admin", r#","role":["guest","admin"]"#, "server"),
        ("/admin", r#","role":["guest"]"#, "403"),
        ("/admin", r#","role":"admin","level":3"#, "server"),
        ("/admin", r#","role":"admin","level":3.0"#, "server"),
        ("/admin", r#","role":"admin","level":4"#, "403"),
        // Of another type than the rule says, or nothing.
        ("/admin", r#","role":"admin","level":"3""#, "403"),
        ("/admin", r#","role":"admin","level":null"#, "403"),
        ("/admin", r#","role":{"admin":true}"#, "403"),
        ("/admin", r#","role":true"#, "403"),
        ("/admin", r#","role":["admin",1]"#, "403"),
        ("/admin", r#","role":[["admin"]]"#, "403"),
        ("/admin", r#","x":{"role":"admin"}"#, "403"),
        ("/staff", r#","staff":true"#, "server"),
        ("/staff", r#","staff":false"#, "401"),
        ("/staff", r#","staff":"true""#, "401"),
        ("/staff", r#","staff":1"#, "401"),
        ("/staff", "", "401"),
        // A rule that refuses takes another type for what it refuses.
        ("/", r#","jti":"t-17""#, "closed"),
        ("/", r#","jti":17"#, "closed"),
        ("/", r#","jti":["t-1","t-17"]"#, "closed"),
        ("/", r#","jti":"t-18""#, "server"),
        // Where rules compare paths, one that servers may read in another way is let in nowhere.
        ("//admin", r#","role":"admin""#, "403"),
        ("/x/../admin", r#","role":"admin""#, "403"),
        ("/x/%2e%2E/admin", "", "403"),
        ("/x/..;/admin", "", "403"),
    ] {
        let token = issuer.token(&format!(r#"{{"aud":"shop","exp":{}{claims}}}"#, NOW + 600));
        let (is, answer, stage) = outcome(&plan, &with_token(path, &token));
        assert_eq!(is, expected, "{path} {claims} {answer}");
        let refused = u64::from(expected != "server");
        assert_eq!(stage.failures(Cause::ClientTokenInsufficient), refused, "{path} {claims}");
        assert_eq!(answer.contains("error=\"insufficient_scope\""), ["401", "403"].contains(&expected), "{answer}");
    }
    // Rules let in nobody whose token is not good.
    for (token, expected) in [(issuer.until(NOW - 60), "401"), (Issuer::new().until(NOW + 600), "401")] {
        assert_eq!(outcome(&plan, &with_token("/", &token)).0, expected);
    }
}

#[test]
fn token_that_a_worker_knows_is_judged_by_its_claims_again() {
    let issuer = Issuer::new();
    let mut stage = Stage::new(&with_rules(&issuer, by_claims(), plan(1)));
    let token = issuer.token(&format!(r#"{{"aud":"shop","exp":{},"role":"guest"}}"#, NOW + 600));
    for _ in 0..2 {
        let client = stage.client();
        stage.says(client, with_token("/admin", &token));
        assert_eq!(status(&stage.sent(client)), "403");
        let client = stage.client();
        stage.says(client, with_token("/", &token));
        let server = stage.connected();
        assert!(stage.sent(server).starts_with("GET / "));
        stage.says(server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
}

fn some_need_none() -> AccessRules {
    let from = api::AddressMatch { subnets: vec!["10.9.0.0/16".into()], ..Default::default() };
    AccessRules {
        authentication: vec![
            needs("secret", under("/public/secret")),
            skip("public", under("/public")),
            skip("inside", HttpMatch { client: Some(from), ..HttpMatch::default() }),
        ],
        authorization: vec![authorize("none", HttpMatch::default(), vec![], Action::Status(403))],
        ..AccessRules::default()
    }
}

#[test]
fn rules_say_which_requests_need_no_token() {
    let issuer = Issuer::new();
    let plan = with_rules(&issuer, some_need_none(), plan(1));
    for (path, expected) in [
        ("/public", "server"),
        ("/public/a%20b", "server"),
        ("/public/secret", "401"),
        ("/public/%73ecret", "401"),
        ("/", "401"),
        ("/?/public", "401"),
        // Servers could read these as paths that need a token.
        ("/public/../secret", "401"),
        ("/public/%2e%2e/secret", "401"),
        ("/public%2f..%2fsecret", "401"),
        ("/public/..;/secret", "401"),
        ("/public/..\\secret", "401"),
        ("/public/%252e%252e/secret", "401"),
        ("/public//secret", "401"),
        ("/public/./secret", "401"),
    ] {
        let (is, answer, _) = outcome(&plan, &format!("GET {path} HTTP/1.1\r\nHost: shop.test\r\n\r\n"));
        let is = if is == "400" { "401".to_owned() } else { is }; // some are no paths for anybody
        assert_eq!(is, expected, "{path} {answer}");
    }
    // A token that is not good does no harm where none is needed.
    assert_eq!(outcome(&plan, &with_token("/public", "x")).0, "server");
    assert_eq!(outcome(&plan, &with_token("/", &issuer.until(NOW + 600))).0, "403");
    for (peer, path, dials) in [
        ("10.9.0.1:4000", "/", 1),
        ("10.8.0.1:4000", "/", 0),
        ("10.9.0.1:4000", "/public/secret", 0),
        ("10.9.0.1:4000", "//public/secret", 0),
    ] {
        let mut stage = Stage::new(&plan);
        let client = stage.client_from("10.0.0.1:80", peer);
        stage.says(client, format!("GET {path} HTTP/1.1\r\nHost: shop.test\r\n\r\n"));
        assert_eq!(stage.dials(), dials, "{peer} {path}");
    }
}

/// The address of the connection is the last proxy's, which is inside.
#[test]
fn client_that_no_proxy_names_needs_a_token_where_rules_compare_clients() {
    let issuer = Issuer::new();
    let mut plan = with_rules(&issuer, some_need_none(), plan(1));
    let http = plan.virtual_services[0].http.as_mut().expect("HTTP");
    http.true_client = Some(api::TrueClient { name: "X-Forwarded-For".into(), index: 1, from_right: true });
    let ask = |plan: &api::Plan, path: &str, field: &str| {
        let mut stage = Stage::new(plan);
        let request = format!("GET {path} HTTP/1.1\r\nHost: shop.test\r\n{field}\r\n");
        let mut asked = question(&request);
        asked.client = ([10, 9, 0, 5], 4000).into();
        let told = stage.explain(&asked).local.map_or("", |local| local.cause);
        let client = stage.client_from("10.0.0.1:80", "10.9.0.5:4000");
        stage.says(client, request);
        let is = if stage.dials() > 0 { "server".to_owned() } else { status(&stage.sent(client)).to_owned() };
        (is, told)
    };
    let (let_in, refused) = (("server".to_owned(), ""), ("401".to_owned(), "client_token_missing"));
    for (field, expected) in [
        ("X-Forwarded-For: 10.9.7.7, 192.0.2.1\r\n", &let_in),
        ("X-Forwarded-For: 198.51.100.7, 10.9.0.4\r\n", &refused),
        ("", &refused),
        ("X-Forwarded-For: 10.9.7.7\r\n", &refused),
        ("X-Forwarded-For: unknown, 10.9.0.4\r\n", &refused),
        ("X-Forwarded-For: _hidden, 10.9.0.4\r\n", &refused),
    ] {
        assert_eq!(ask(&plan, "/", field), *expected, "{field}");
    }
    let skips = plan.virtual_services[0].tokens.as_mut().and_then(|tokens| tokens.access.as_mut()).expect("rules");
    skips.authentication.retain(|rule| rule.rule.as_ref().is_none_or(|rule| rule.name != "inside"));
    assert_eq!(ask(&plan, "/public", ""), let_in, "no rule compares clients");
}

#[test]
fn explanations_and_records_name_the_rules_of_access() {
    let issuer = Issuer::new();
    let mut access = by_claims();
    access.authentication = some_need_none().authentication;
    let mut stage = Stage::new(&recording(with_rules(&issuer, access, plan(1))));
    let token = issuer.until(NOW + 600);
    for (request, rules, cause, all) in [
        (
            with_token("/admin", &token),
            [None, Some("admin")],
            "client_token_insufficient",
            vec![(AUTHORIZATION, "admin")],
        ),
        (with_token("/public/secret", &token), [Some("secret"), None], "", vec![(AUTHENTICATION, "secret")]),
        (with_token("/public", "x"), [Some("public"), None], "", vec![(AUTHENTICATION, "public")]),
        (with_token("//admin", &token), [None, None], "client_token_insufficient", vec![]),
    ] {
        let told = stage.explain(&question(&request));
        assert_eq!(
            told.access_rules.map(|rule| rule.unwrap_or_default()),
            rules.map(Option::unwrap_or_default),
            "{request}"
        );
        assert_eq!(told.local.map_or("", |local| local.cause), cause, "{request}");
        let (client, dials) = (stage.client(), stage.dials());
        stage.says(client, request);
        if cause.is_empty() {
            let server = if stage.dials() > dials { stage.connected() } else { stage.dialled() };
            stage.says(server, crate::OK);
        }
        assert_eq!(said(&mut stage).into_iter().map(|record| record.1).collect::<Vec<_>>(), [names(&all)]);
    }
}

#[test]
fn stream_is_judged_by_its_own_claims() {
    let issuer = Issuer::new();
    let mut stage = Stage::new(&with_rules(&issuer, by_claims(), http2(plan(1))));
    let mut browser = Browser::new(&mut stage);
    let token =
        |claims: &str| format!("Bearer {}", issuer.token(&format!(r#"{{"aud":"shop","exp":{}{claims}}}"#, NOW + 600)));
    browser.asks(&mut stage, "GET", &[("authorization", &token(r#","jti":"t-18""#))], true);
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET / "));
    browser.asks(&mut stage, "GET", &[("authorization", &token(r#","jti":"t-17""#))], true);
    assert_eq!(stage.failures(Cause::ClientTokenInsufficient), 1);
}

#[test]
fn groups_that_change_count_at_once() {
    let issuer = Issuer::new();
    let by_group = api::TextMatch {
        criterion: TextCriterion::Equals.into(),
        case_sensitive: true,
        string_group_uuids: vec!["revoked".into()],
        ..Default::default()
    };
    let value = Value::Text(api::TextClaim { value: Some(by_group) });
    let refuse = authorize("revoked", HttpMatch::default(), vec![claim("jti", true, value)], Action::Status(403));
    let access = AccessRules { authorization: vec![refuse], ..AccessRules::default() };
    let mut plan = with_rules(&issuer, access, plan(1));
    let group = |keys: &[&str]| api::StringGroup {
        uuid: "revoked".into(),
        name: "revoked".into(),
        pairs: keys.iter().map(|key| api::StringPair { key: (*key).into(), ..Default::default() }).collect(),
        ..Default::default()
    };
    plan.string_groups = vec![group(&["t-1"])];
    let mut stage = Stage::new(&plan);
    let token = issuer.token(&format!(r#"{{"aud":"shop","exp":{},"jti":"t-2"}}"#, NOW + 600));
    let client = stage.client();
    stage.says(client, with_token("/", &token));
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET / "));
    plan.revision += 1;
    plan.string_groups = vec![group(&["t-1", "t-2"])];
    stage.replace(&plan);
    let client = stage.client();
    stage.says(client, with_token("/", &token));
    assert_eq!(status(&stage.sent(client)), "403");
}
