//! What it costs to judge a token, in ns: the first time, and again. Prints the best of many short runs. `cargo bench -p
//! weir-jwt`

use std::{hint::black_box, time::Instant};

use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use weir_jwt::{Algorithm, Key, Rules, Verified};

const NOW: u64 = 1_800_000_000;
const ROUNDS: u32 = 200;
const RUNS: u32 = 100;

fn main() {
    let Ok(pair) = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING) else { return };
    let Ok(der): Result<PublicKeyX509Der<'_>, _> = pair.public_key().as_der() else { return };
    let Ok(key) = Key::read(Some("2026"), Algorithm::Es256, der.as_ref()) else { return };
    let rules = Rules::new(vec![key], Some("https://issuer.test"), "shop");
    let claims = format!(
        r#"{{"iss":"https://issuer.test","sub":"alice","aud":"shop","exp":{},"iat":{NOW},"roles":["buyer","seller"]}}"#,
        NOW + 600
    );
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!("{}.{}", text(br#"{"typ":"JWT","alg":"ES256","kid":"2026"}"#), text(claims.as_bytes()));
    let Ok(signature) = pair.sign(&SystemRandom::new(), signed.as_bytes()) else { return };
    let token = format!("{signed}.{}", text(signature.as_ref()));

    let mut verified = Verified::default();
    report("first, ES256", || rules.judge(black_box(token.as_bytes()), NOW, &mut Verified::default()).is_ok());
    report("again", || rules.judge(black_box(token.as_bytes()), NOW, &mut verified).is_ok());
}

fn report(what: &str, mut judge: impl FnMut() -> bool) {
    let best = (0..RUNS).map(|_| {
        let begin = Instant::now();
        assert!((0..ROUNDS).all(|_| judge()), "the token is good");
        begin.elapsed() / ROUNDS
    });
    println!("{what}: {} ns", best.min().unwrap_or_default().as_nanos());
}
