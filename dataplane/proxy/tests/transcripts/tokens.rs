//! Requests that must bring a token: who gets in, and what others hear.

use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    signature::{Ed25519KeyPair, KeyPair},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use weir_api::dataplane::v1::{self as api, HttpPolicySet};
use weir_proxy::io::Close;
use weir_telemetry::Cause;

use crate::{
    hosted::get,
    http2::{Browser, http2},
    policies::{security, under, with},
    status,
    tape::{Stage, plan},
};

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
