//! Tokens as attackers and issuers make them.

use aws_lc_rs::{
    digest::{SHA256, digest},
    encoding::{AsDer, PublicKeyX509Der},
    hmac,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RsaEncoding, RsaKeyPair},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use proptest::prelude::*;
use weir_jwt::{Algorithm, Fault, Key, Rules, TOKEN_BYTES_MAX, Verified};

const NOW: u64 = 1_800_000_000;
const HEAD: &str = r#"{"alg":"ES256"}"#;

/// An issuer with a key.
enum Issuer {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
}

impl Issuer {
    fn ec(algorithm: &'static EcdsaSigningAlgorithm) -> Self {
        Self::Ec(EcdsaKeyPair::generate(algorithm).expect("it works"))
    }

    fn es256() -> Self {
        Self::ec(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)
    }

    fn rsa(encoding: &'static dyn RsaEncoding) -> Self {
        Self::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).expect("it works"), encoding)
    }

    fn der(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = match self {
            Self::Ec(pair) => pair.public_key().as_der(),
            Self::Ed(pair) => pair.public_key().as_der(),
            Self::Rsa(pair, _) => pair.public_key().as_der(),
        }
        .expect("it works");
        der.as_ref().to_vec()
    }

    fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Key {
        Key::read(id, algorithm, &self.der()).expect("it works")
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Ec(pair) => pair.sign(&random, message).expect("it works").as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature).expect("it works");
                signature
            }
        }
    }

    fn token(&self, head: &str, claims: &str) -> String {
        let signed = format!("{}.{}", text(head.as_bytes()), text(claims.as_bytes()));
        format!("{signed}.{}", text(&self.sign(signed.as_bytes())))
    }
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn claims() -> String {
    claims_with("")
}

fn claims_with(more: &str) -> String {
    format!(r#"{{"iss":"https://issuer.test","aud":"shop","exp":{}{more}}}"#, NOW + 600)
}

fn rules(keys: Vec<Key>) -> Rules {
    Rules::new(keys, Some("https://issuer.test"), "shop")
}

fn judge(rules: &Rules, token: &str) -> Result<(), Fault> {
    rules.judge(token.as_bytes(), NOW, &mut Verified::default())
}

#[test]
fn token_of_each_algorithm_is_good_by_its_key_and_by_no_other_algorithm_of_it() {
    use Algorithm::*;
    let issuers: [(Issuer, Algorithm); 10] = [
        (Issuer::rsa(&signature::RSA_PKCS1_SHA256), Rs256),
        (Issuer::rsa(&signature::RSA_PKCS1_SHA384), Rs384),
        (Issuer::rsa(&signature::RSA_PKCS1_SHA512), Rs512),
        (Issuer::rsa(&signature::RSA_PSS_SHA256), Ps256),
        (Issuer::rsa(&signature::RSA_PSS_SHA384), Ps384),
        (Issuer::rsa(&signature::RSA_PSS_SHA512), Ps512),
        (Issuer::es256(), Es256),
        (Issuer::ec(&signature::ECDSA_P384_SHA384_FIXED_SIGNING), Es384),
        (Issuer::ec(&signature::ECDSA_P521_SHA512_FIXED_SIGNING), Es512),
        (Issuer::Ed(Ed25519KeyPair::generate().unwrap()), EdDsa),
    ];
    for (issuer, algorithm) in &issuers {
        let head = format!(r#"{{"alg":"{}"}}"#, algorithm.name());
        let token = issuer.token(&head, &claims());
        assert_eq!(judge(&rules(vec![issuer.key(None, *algorithm)]), &token), Ok(()), "{algorithm:?}");
        for (_, other) in &issuers {
            let Ok(key) = Key::read(None, *other, &issuer.der()) else { continue };
            if other != algorithm {
                assert_eq!(judge(&rules(vec![key]), &token), Err(Fault::Algorithm), "{algorithm:?} as {other:?}");
            }
        }
    }
    let [rs, es] = [&issuers[0].0, &issuers[6].0].map(Issuer::der);
    assert!(Key::read(None, Es256, &rs).is_err() && Key::read(None, Rs256, &es).is_err());
    assert!(Key::read(None, Es384, &es).is_err(), "of another curve");
}

#[test]
fn token_without_signature_or_signed_with_the_public_key_as_a_secret_is_refused() {
    let issuer = Issuer::es256();
    let rules = rules(vec![issuer.key(None, Algorithm::Es256)]);
    for none in ["none", "None", "NONE", "nOnE"] {
        let head = format!(r#"{{"alg":"{none}"}}"#);
        let signed = format!("{}.{}", text(head.as_bytes()), text(claims().as_bytes()));
        assert_eq!(judge(&rules, &format!("{signed}.")), Err(Fault::Algorithm));
        assert_eq!(judge(&rules, &signed), Err(Fault::Malformed));
    }
    for secret in [issuer.der(), text(&issuer.der()).into_bytes(), Vec::new()] {
        let signed = format!("{}.{}", text(br#"{"alg":"HS256"}"#), text(claims().as_bytes()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), signed.as_bytes());
        assert_eq!(judge(&rules, &format!("{signed}.{}", text(tag.as_ref()))), Err(Fault::Algorithm));
    }
    let token = issuer.token(HEAD, &claims());
    let (signed, _) = token.rsplit_once('.').unwrap();
    for empty in [vec![], vec![0; 64], vec![0; 63], digest(&SHA256, signed.as_bytes()).as_ref().to_vec()] {
        assert_eq!(judge(&rules, &format!("{signed}.{}", text(&empty))), Err(Fault::Signature));
    }
}

#[test]
fn key_is_the_one_that_the_token_names_and_a_token_brings_none() {
    let (a, b) = (Issuer::es256(), Issuer::es256());
    let both = rules(vec![a.key(Some("a"), Algorithm::Es256), b.key(Some("b"), Algorithm::Es256)]);
    let head = |kid: &str| format!(r#"{{"alg":"ES256","kid":"{kid}"}}"#);
    assert_eq!(judge(&both, &a.token(&head("a"), &claims())), Ok(()));
    assert_eq!(judge(&both, &a.token(&head("b"), &claims())), Err(Fault::Signature), "the name of another key");
    for unknown in ["c", "", "A", "a'", "../a", "a\\u0000"] {
        assert_eq!(judge(&both, &a.token(&head(unknown), &claims())), Err(Fault::UnknownKey), "{unknown:?}");
    }
    assert_eq!(judge(&both, &b.token(HEAD, &claims())), Ok(()), "all are tried");
    let stranger = Issuer::es256();
    let brings = r#"{"alg":"ES256","jwk":{"kty":"EC"},"jku":"https://evil.test/","x5u":"https://evil.test/"}"#;
    assert_eq!(judge(&both, &stranger.token(brings, &claims())), Err(Fault::Signature));
    let rsa = Issuer::rsa(&signature::RSA_PKCS1_SHA256);
    let mixed = rules(vec![a.key(Some("a"), Algorithm::Es256), rsa.key(Some("r"), Algorithm::Rs256)]);
    assert_eq!(judge(&mixed, &a.token(&head("r"), &claims())), Err(Fault::Algorithm), "the name of a key of RSA");
}

#[test]
fn token_that_names_no_key_is_tried_with_a_few() {
    let issuers: Vec<_> = (0..6).map(|_| Issuer::es256()).collect();
    let names = ["0", "1", "2", "3", "4", "5"];
    let rsa = Issuer::rsa(&signature::RSA_PKCS1_SHA256).key(None, Algorithm::Rs256);
    let keys = issuers.iter().zip(names).map(|(issuer, name)| issuer.key(Some(name), Algorithm::Es256));
    let rules = rules([rsa].into_iter().chain(keys).collect());
    let outcomes: Vec<_> = issuers.iter().map(|issuer| judge(&rules, &issuer.token(HEAD, &claims())).is_ok()).collect();
    assert_eq!(outcomes, [true, true, true, true, false, false], "keys for other algorithms do not count");
    for (issuer, name) in issuers.iter().zip(names) {
        let head = format!(r#"{{"alg":"ES256","kid":"{name}"}}"#);
        assert_eq!(judge(&rules, &issuer.token(&head, &claims())), Ok(()));
    }
}

#[test]
fn claims_must_be_there_once_and_fit() {
    let issuer = Issuer::es256();
    let rules = rules(vec![issuer.key(None, Algorithm::Es256)]);
    let of = |claims: &str| judge(&rules, &issuer.token(HEAD, claims));
    let (soon, past) = (NOW + 600, NOW - 600);
    assert_eq!(
        of(&format!(r#"{{"iss":"https://issuer.test","aud":["x","shop"],"exp":{soon}.5,"nbf":{NOW}}}"#)),
        Ok(())
    );
    for (claims, fault) in [
        (format!(r#"{{"iss":"https://issuer.test","aud":"shop","exp":{past}}}"#), Fault::Expired),
        (r#"{"iss":"https://issuer.test","aud":"shop"}"#.to_owned(), Fault::Malformed),
        (format!(r#"{{"iss":"https://issuer.test","aud":"shop","exp":{past},"exp":{soon}}}"#), Fault::Malformed),
        (format!(r#"{{"iss":"https://issuer.test","aud":"x","aud":"shop","exp":{soon}}}"#), Fault::Malformed),
        (format!(r#"{{"iss":"https://issuer.test/","aud":"shop","exp":{soon}}}"#), Fault::Issuer),
        (format!(r#"{{"aud":"shop","exp":{soon}}}"#), Fault::Issuer),
        (format!(r#"{{"iss":"https://issuer.test","aud":"shop2","exp":{soon}}}"#), Fault::Audience),
        (format!(r#"{{"iss":"https://issuer.test","aud":[],"exp":{soon}}}"#), Fault::Audience),
        (format!(r#"{{"iss":"https://issuer.test","exp":{soon}}}"#), Fault::Audience),
        (claims_with(&format!(r#","nbf":{soon}"#)), Fault::NotYetValid),
    ] {
        assert_eq!(of(&claims), Err(fault), "{claims}");
    }
    let any_issuer = Rules::new(vec![issuer.key(None, Algorithm::Es256)], None, "shop");
    assert_eq!(judge(&any_issuer, &issuer.token(HEAD, &format!(r#"{{"aud":"shop","exp":{soon}}}"#))), Ok(()));
}

#[test]
fn clocks_may_differ_by_a_minute() {
    let issuer = Issuer::es256();
    let rules = rules(vec![issuer.key(None, Algorithm::Es256)]);
    let token = |exp: u64, nbf: u64| {
        issuer.token(HEAD, &format!(r#"{{"iss":"https://issuer.test","aud":"shop","exp":{exp},"nbf":{nbf}}}"#))
    };
    for (exp, nbf, outcome) in [
        (NOW - 59, NOW - 100, Ok(())),
        (NOW - 60, NOW - 100, Err(Fault::Expired)),
        (NOW + 100, NOW + 60, Ok(())),
        (NOW + 100, NOW + 61, Err(Fault::NotYetValid)),
        (u64::MAX, 0, Ok(())),
    ] {
        assert_eq!(judge(&rules, &token(exp, nbf)), outcome, "{exp} {nbf}");
    }
}

#[test]
fn verified_token_is_good_until_its_end_and_only_by_the_rules_that_it_has_passed() {
    let issuer = Issuer::es256();
    let by = |audience: &str| Rules::new(vec![issuer.key(None, Algorithm::Es256)], None, audience);
    let (shop, other) = (by("shop"), by("other"));
    let token = issuer.token(HEAD, &claims());
    let mut verified = Verified::default();
    for now in [NOW, NOW + 1, NOW + 659] {
        assert_eq!(shop.judge(token.as_bytes(), now, &mut verified), Ok(()));
    }
    assert_eq!(shop.judge(token.as_bytes(), NOW + 660, &mut verified), Err(Fault::Expired));
    assert_eq!(other.judge(token.as_bytes(), NOW, &mut verified), Err(Fault::Audience));
    let without_keys = rules(Vec::new());
    assert_eq!(without_keys.judge(token.as_bytes(), NOW, &mut verified), Err(Fault::UnknownKey));
}

#[test]
fn oversized_and_malformed_tokens_are_refused() {
    let issuer = Issuer::es256();
    let rules = rules(vec![issuer.key(None, Algorithm::Es256)]);
    let padded = |bytes: usize| issuer.token(HEAD, &claims_with(&format!(r#","x":"{}""#, "a".repeat(bytes))));
    assert_eq!(judge(&rules, &padded(5_500)), Ok(()));
    assert_eq!(judge(&rules, &padded(TOKEN_BYTES_MAX)), Err(Fault::TooLong));
    let token = issuer.token(HEAD, &claims());
    for wrong in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "...".to_owned(),
        format!("{token}."),
        format!("{token}="),
        format!(" {token}"),
        format!("x.{token}"),
        token.replacen('.', "..", 1),
        token.replacen('.', "=.", 1),
    ] {
        assert_eq!(judge(&rules, &wrong), Err(Fault::Malformed), "{wrong}");
    }
}

proptest! {
    /// Anywhere in a good token, or instead of it.
    #[test]
    fn any_bytes_are_no_token(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), "[A-Za-z0-9_-]{0,4}".prop_map(String::into_bytes)],
        from in any::<prop::sample::Index>(),
        replaced in prop_oneof![0..4_usize, 0..300_usize],
    ) {
        let issuer = Issuer::es256();
        let rules = rules(vec![issuer.key(None, Algorithm::Es256)]);
        let good = issuer.token(HEAD, &claims()).into_bytes();
        prop_assert!(rules.judge(&good, NOW, &mut Verified::default()).is_ok());
        let from = from.index(good.len());
        let to = (from + replaced).min(good.len());
        let changed = [&good[..from], &bytes, &good[to..]].concat();
        for token in [&bytes, &changed].into_iter().filter(|token| **token != good) {
            prop_assert!(rules.judge(token, NOW, &mut Verified::default()).is_err(), "{:?}", token);
        }
    }

    #[test]
    fn any_head_and_claims_are_no_good_without_the_key(head in ".{0,80}", claims in ".{0,80}") {
        let known = Issuer::es256();
        let rules = rules(vec![known.key(None, Algorithm::Es256)]);
        let token = Issuer::es256().token(&head, &claims);
        prop_assert!(judge(&rules, &token).is_err());
        // Signed with the key, they are still to be claims.
        prop_assert!(judge(&rules, &known.token(HEAD, &claims)).is_err());
    }
}

#[path = "../../fuzz/src/jwt.rs"]
mod fuzzed;

#[test]
fn corpus_holds_what_must_hold_for_any_token() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/jwt");
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        fuzzed::check(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 6);
}
