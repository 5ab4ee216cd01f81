//! Requests that must bring a token: who gets in, and what others hear.

use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    signature::{Ed25519KeyPair, KeyPair},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use weir_api::dataplane::v1::{self as api, HttpPolicySet, ScriptEvent};
use weir_proxy::io::Close;
use weir_telemetry::Cause;

use crate::{
    OK,
    explanations::question,
    hosted::get,
    http2::{Browser, http2},
    policies::{security, under, with},
    scripts::{documented, scripted, scripted_with},
    status,
    tape::{Stage, plan},
};

const AUTH: ScriptEvent = ScriptEvent::HttpAuth;
const POST_AUTH: ScriptEvent = ScriptEvent::HttpPostAuth;

/// Of the tape, in seconds since 1970.
pub const NOW: u64 = 784_111_777;

pub struct Issuer(Ed25519KeyPair);

impl Issuer {
    pub fn new() -> Self {
        Self(Ed25519KeyPair::generate().expect("a key"))
    }

    pub fn token(&self, claims: &str) -> String {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let signed = format!("{}.{}", text(br#"{"alg":"EdDSA"}"#), text(claims.as_bytes()));
        format!("{signed}.{}", text(self.0.sign(signed.as_bytes()).as_ref()))
    }

    pub fn until(&self, expires: u64) -> String {
        self.token(&format!(r#"{{"aud":"shop","exp":{expires}}}"#))
    }

    pub fn rules(&self, query_name: &str) -> Option<api::TokenRules> {
        let der: PublicKeyX509Der<'_> = self.0.public_key().as_der().expect("its DER");
        let algorithm = api::TokenAlgorithm::Eddsa.into();
        let key = api::TokenKey { id: None, algorithm, spki_der: der.as_ref().to_vec() };
        let (audience, query_name) = ("shop".to_owned(), query_name.to_owned());
        Some(api::TokenRules { keys: vec![key], audience, query_name, ..Default::default() })
    }
}

/// A virtual service whose requests need a token in this parameter; empty: in the field Authorization.
fn asking(issuer: &Issuer, query_name: &str, mut plan: api::Plan) -> api::Plan {
    plan.virtual_services[0].tokens = issuer.rules(query_name);
    plan
}

fn with_field(lines: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: shop.test\r\n{lines}\r\n")
}

#[test]
fn request_with_a_good_token_goes_to_a_server_and_others_get_401_with_the_reason() {
    let issuer = Issuer::new();
    let (good, stranger) = (issuer.until(NOW + 600), Issuer::new());
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for (lines, code, challenge, cause) in [
        (String::new(), "401", "Bearer\r\n", Cause::ClientTokenMissing),
        ("Authorization: Basic YTpi\r\n".to_owned(), "401", "Bearer\r\n", Cause::ClientTokenMissing),
        ("Authorization: Bearer\r\n".to_owned(), "401", "Bearer\r\n", Cause::ClientTokenMissing),
        (format!("Authorization: Bearer{good}\r\n"), "401", "Bearer\r\n", Cause::ClientTokenMissing),
        (bearer("x"), "401", "Bearer error=\"invalid_token\"", Cause::ClientTokenMalformed),
        (bearer(&good) + &bearer(&good), "400", "Bearer error=\"invalid_request\"", Cause::ClientTokenMalformed),
        (bearer(&stranger.until(NOW + 600)), "401", "Bearer error=\"invalid_token\"", Cause::ClientTokenUntrusted),
        (bearer(&issuer.until(NOW - 60)), "401", "Bearer error=\"invalid_token\"", Cause::ClientTokenExpired),
        (bearer(&issuer.token(r#"{"aud":"x","exp":9e9}"#)), "401", "invalid_token", Cause::ClientTokenForOthers),
    ] {
        let mut stage = Stage::new(&asking(&issuer, "", plan(1)));
        let client = stage.client();
        stage.says(client, with_field(&lines));
        let answer = stage.sent(client);
        assert_eq!((status(&answer), stage.dials(), stage.failures(cause)), (code, 0, 1), "{lines}{answer}");
        let challenged = answer.split("WWW-Authenticate: ").nth(1).unwrap_or_default();
        assert!(challenged.contains(challenge), "{lines}{answer}");
    }
    let mut stage = Stage::new(&asking(&issuer, "", plan(1)));
    for scheme in ["Bearer", "bearer", "BEARER "] {
        let client = stage.client();
        stage.says(client, with_field(&format!("Authorization: {scheme} {good}\r\n")));
        let server = stage.connected();
        assert!(stage.sent(server).contains(&good), "the server gets the token, too");
    }
}

#[test]
fn token_may_be_in_the_query() {
    let issuer = Issuer::new();
    let good = issuer.until(NOW + 600);
    let mut stage = Stage::new(&asking(&issuer, "jwt", plan(1)));
    let client = stage.client();
    stage.says(client, with_field(&format!("Authorization: Bearer {good}\r\n")));
    assert_eq!(status(&stage.sent(client)), "401");
    let client = stage.client();
    stage.says(client, get("shop.test", &format!("/a?b=c&jwt={good}")));
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET /a?b=c&jwt="));
}

#[test]
fn security_rules_come_before_the_token_and_request_rules_behind_it() {
    use api::{http_request_rule::Action as Ask, http_security_rule::Action};
    let issuer = Issuer::new();
    let secret = api::LocalResponse { status: 200, content_type: "text/plain".into(), content: b"secret\n".to_vec() };
    let set = HttpPolicySet {
        security_rules: vec![security("away", under("/away"), Action::Close(api::Close { reset: true }))],
        request_rules: vec![api::HttpRequestRule {
            rule: security("page", under("/page"), Action::Allow(api::Allow {})).rule,
            action: Some(Ask::Response(secret)),
            ..Default::default()
        }],
        ..HttpPolicySet::default()
    };
    let mut stage = Stage::new(&asking(&issuer, "", with(plan(1), set)));
    let client = stage.client();
    stage.says(client, get("shop.test", "/page"));
    let answer = stage.sent(client);
    assert!(status(&answer) == "401" && !answer.contains("secret"), "{answer}");
    let client = stage.client();
    let good = issuer.until(NOW + 600);
    stage.says(client, format!("GET /page HTTP/1.1\r\nHost: shop.test\r\nAuthorization: Bearer {good}\r\n\r\n"));
    assert!(stage.sent(client).ends_with("secret\n"));
    let client = stage.client();
    stage.says(client, get("shop.test", "/away"));
    assert_eq!((stage.closed(client), stage.failures(Cause::ClientDenied)), (Some(Close::Abort), 1));
}

#[test]
fn request_on_a_stream_is_judged_by_its_own_token() {
    let issuer = Issuer::new();
    let good = issuer.until(NOW + 600);
    let mut stage = Stage::new(&asking(&issuer, "", http2(plan(1))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    assert!(browser.heard[0].starts_with("1: 401"), "{:?}", browser.heard);
    assert!(browser.fields.to_ascii_lowercase().contains("www-authenticate: bearer"), "{}", browser.fields);
    let field = format!("Bearer {good}");
    browser.asks(&mut stage, "GET", &[("authorization", &field)], true);
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET / "));
    browser.asks(&mut stage, "GET", &[], true);
    assert!(browser.heard.iter().any(|heard| heard.starts_with("5: 401")), "{:?}", browser.heard);
}

#[test]
fn script_finds_the_token_elsewhere_as_its_page_says() {
    let issuer = Issuer::new();
    let scripts = [
        (AUTH, documented("-- HTTP_AUTH: the token")),
        (ScriptEvent::HttpReq, "avi.http.add_header('X-Seen', avi.http.get_header('Authorization') or '')"),
    ];
    let plan = asking(&issuer, "", scripted_with(plan(1), &scripts));
    let good = issuer.until(NOW + 600);
    let mut stage = Stage::new(&plan);
    for (lines, code) in [
        (String::new(), "401"),
        ("Cookie: session=x\r\n".to_owned(), "401"),
        (format!("Cookie: session={good}\r\n"), "200"),
        (format!("Authorization: Bearer x\r\nCookie: session={good}\r\n"), "401"),
        (format!("Authorization: Bearer {good}\r\nCookie: session=x\r\n"), "200"),
    ] {
        let told = stage.explain(&question(&with_field(&lines))).local.and_then(|local| local.status);
        assert_eq!(told.map_or("200".to_owned(), |status| status.to_string()), code, "{lines}");
        let client = stage.client();
        stage.says(client, with_field(&lines));
        if code == "200" {
            let server = stage.connected();
            let sent = stage.sent(server);
            for name in ["Authorization", "X-Seen"] {
                assert_eq!(sent.matches(&format!("{name}: Bearer {good}\r\n")).count(), 1, "{name} in {sent}");
            }
            stage.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        }
        assert_eq!(status(&stage.sent(client)), code, "{lines}");
    }
}

#[test]
fn scripts_run_between_security_rules_and_request_rules_on_both_sides_of_the_token() {
    use api::{http_request_rule::Action as Ask, http_security_rule::Action};
    let issuer = Issuer::new();
    let local = |status| api::LocalResponse { status, content_type: "text/plain".into(), content: b"rule\n".to_vec() };
    let set = HttpPolicySet {
        uuid: "set-1".into(),
        security_rules: vec![security("away", under("/away"), Action::Response(local(403)))],
        request_rules: vec![api::HttpRequestRule {
            rule: security("page", under("/page"), Action::Allow(api::Allow {})).rule,
            action: Some(Ask::Response(local(200))),
            ..Default::default()
        }],
        ..HttpPolicySet::default()
    };
    let scripts = [
        (
            AUTH,
            "avi.vs.reqvar.a = 'before' avi.vs.log('before') if avi.http.get_query('login') then avi.http.redirect('/login') end",
        ),
        (
            POST_AUTH,
            "avi.vs.log(avi.vs.reqvar.a, ' behind') if avi.http.get_query('no') then avi.http.response(410) end",
        ),
        (ScriptEvent::HttpReq, "avi.http.add_header('X-A', avi.vs.reqvar.a)"),
        (ScriptEvent::HttpResp, "avi.http.add_header('X-B', avi.vs.reqvar.a)"),
    ];
    let mut plan = asking(&issuer, "jwt", scripted_with(plan(1), &scripts));
    plan.http_policy_sets = vec![set];
    plan.virtual_services[0].http_policy_set_uuids = vec!["set-1".into()];
    let good = issuer.until(NOW + 600);
    let mut stage = Stage::new(&plan);
    for (target, code, said) in [
        ("/away?login", "403", None),
        ("/?login", "302", Some("before")),
        ("/", "401", Some("before")),
        (&*format!("/page?no&jwt={good}"), "410", Some("before\nbefore behind")),
        (&*format!("/page?jwt={good}"), "200", Some("before\nbefore behind")),
    ] {
        let told = stage.explain(&question(&get("shop.test", target)));
        assert_eq!(told.local.and_then(|local| local.status).map(|status| status.to_string()).as_deref(), Some(code));
        assert_eq!(told.said.as_deref(), said, "{target}");
        let client = stage.client();
        stage.says(client, get("shop.test", target));
        let answer = stage.sent(client);
        assert_eq!((status(&answer), stage.dials()), (code, 0), "{target}");
    }
    let client = stage.client();
    stage.says(client, get("shop.test", &format!("/?jwt={good}")));
    let server = stage.connected();
    let sent = stage.sent(server);
    assert!(sent.contains("X-A: before\r\n"), "{sent}");
    stage.says(server, OK);
    let answer = stage.sent(client);
    assert!(answer.contains("X-B: before\r\n"), "{answer}");
}

#[test]
fn scripts_before_the_rules_run_without_tokens_on_streams_too_and_share_one_budget() {
    let scripts = [
        (AUTH, "avi.http.add_header('X-A', 'b') if avi.http.get_path() == '/no' then avi.http.response(403) end"),
        (POST_AUTH, "avi.http.remove_header('X-A') avi.http.add_header('X-C', 'd')"),
    ];
    let mut stage = Stage::new(&scripted(&scripts));
    let client = stage.client();
    stage.says(client, get("shop.test", "/no"));
    assert_eq!(status(&stage.sent(client)), "403");
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    let sent = stage.sent(server);
    assert!(sent.contains("X-C: d\r\n") && !sent.contains("X-A"), "{sent}");
    let mut stage = Stage::new(&scripted_with(http2(plan(1)), &scripts));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    assert!(stage.sent(server).contains("X-C: d\r\n"));

    // A machine that is busy may take away the time of a script, so it may have to try again.
    let slow = "for i = 1, 50000 do end";
    let mut stage = Stage::new(&scripted(&[(AUTH, slow)]));
    let passes = (0..50).any(|_| {
        let client = stage.client();
        stage.says(client, get("shop.test", "/"));
        stage.dials() == 1
    });
    assert!(passes);
    let mut stage = Stage::new(&scripted(&[(AUTH, slow), (POST_AUTH, slow), (ScriptEvent::HttpReq, slow)]));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    assert_eq!((status(&stage.sent(client)), stage.failures(Cause::ScriptFailed), stage.dials()), ("500", 1, 0));
}

#[test]
fn answer_of_a_script_before_the_token_is_no_failure_of_its_client() {
    let limit = api::RateLimit {
        name: "failed".into(),
        by_client: true,
        of_failures: true,
        count: 2,
        period_s: 10,
        ..Default::default()
    };
    let issuer = Issuer::new();
    let scripts = [(AUTH, "if avi.http.get_path() == '/login' then avi.http.redirect('/form') end")];
    let mut plan = asking(&issuer, "", scripted_with(plan(1), &scripts));
    plan.virtual_services[0].request_limits = vec![api::RateLimit {
        action: Some(api::rate_limit::Action::Response(api::LocalResponse { status: 429, ..Default::default() })),
        ..limit
    }];
    let mut stage = Stage::new(&plan);
    for (path, code) in
        [("/login", "302"), ("/login", "302"), ("/login", "302"), ("/", "401"), ("/", "401"), ("/", "429")]
    {
        let client = stage.client();
        stage.says(client, get("shop.test", path));
        assert_eq!(status(&stage.sent(client)), code, "{path}");
    }
}
