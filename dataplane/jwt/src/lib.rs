//! JSON Web Tokens of clients (RFC 7519), signed ones (RFC 7515): whether one is good.
//!
//! The key says with which algorithm it is used, and never the token (RFC 8725 §3.1). No algorithm with a shared secret is
//! implemented, nor is `none`. What the head of a token says about where keys are is not read.
//!
//! A token that was good is remembered, so that the next request with it costs a hash; so is one whose signature was wrong.

mod json;
mod key;
mod verified;

use aws_lc_rs::digest::{Context, SHA256, digest};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

pub use key::{Algorithm, Key, UnusableKey};
pub use verified::Verified;
use weir_rules::ClaimValues;

use json::{Claims, Head};

/// Of a token.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;
/// A token that names no key is tried with so many at most: each costs as much as a signature.
pub const KEYS_TRIED_MAX: usize = 4;
/// How far the clock of an issuer may be from ours, in seconds.
const SKEW_S: u64 = 60;

/// What is wrong with a token, or with how it came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    Missing,
    /// The request has more than one.
    Several,
    TooLong,
    /// It is no signed token, or its JSON is not what it has to be.
    Malformed,
    /// It wants an algorithm that the key is not for.
    Algorithm,
    /// No key has its `kid`.
    UnknownKey,
    Signature,
    Expired,
    NotYetValid,
    /// Another issuer has made it,
    Issuer,
    /// or it is for others.
    Audience,
}

impl Fault {
    pub const ALL: [Self; 11] = [
        Self::Missing,
        Self::Several,
        Self::TooLong,
        Self::Malformed,
        Self::Algorithm,
        Self::UnknownKey,
        Self::Signature,
        Self::Expired,
        Self::NotYetValid,
        Self::Issuer,
        Self::Audience,
    ];

    /// What a client is told (RFC 6750 §3): no quote and no backslash.
    pub fn description(self) -> &'static str {
        match self {
            Self::Missing => "the request has no token",
            Self::Several => "the request has more than one token",
            Self::TooLong => "the token is too long",
            Self::Malformed => "the token is malformed",
            Self::Algorithm => "the algorithm of the token is not that of the key",
            Self::UnknownKey => "the key of the token is not known",
            Self::Signature => "the signature of the token is wrong",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::Issuer => "the token is of another issuer",
            Self::Audience => "the token is for another audience",
        }
    }
}

/// What a token must be.
#[derive(Debug)]
pub struct Rules {
    keys: Box<[Key]>,
    /// `None`: any issuer that has one of the keys.
    issuer: Option<Box<str>>,
    audience: Box<str>,
    /// Differs for other rules.
    digest: [u8; 32],
}

impl Rules {
    pub fn new(keys: Vec<Key>, issuer: Option<&str>, audience: &str) -> Self {
        let mut context = Context::new(&SHA256);
        let mut add = |part: &[u8]| {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        };
        add(audience.as_bytes());
        add(&[u8::from(issuer.is_some())]);
        add(issuer.unwrap_or_default().as_bytes());
        keys.iter().for_each(|key| key.parts().iter().for_each(|part| add(part)));
        let mut whole = [0; 32];
        whole.copy_from_slice(context.finish().as_ref());
        Self { keys: keys.into(), issuer: issuer.map(Into::into), audience: audience.into(), digest: whole }
    }

    /// Whether a token is good now.
    pub fn judge(&self, token: &[u8], now_unix_s: u64, verified: &mut Verified) -> Result<(), Fault> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Fault::TooLong);
        }
        let known_by = self.known_by(token);
        if verified.has(&known_by, now_unix_s) {
            return Ok(());
        }
        if verified.is_wrong(&known_by) {
            return Err(Fault::Signature);
        }
        let outcome = self.verify(token, now_unix_s);
        match outcome {
            Ok(until) => verified.keep(known_by, until),
            Err(Fault::Signature) => verified.keep_wrong(known_by),
            Err(_) => {}
        }
        outcome.map(drop)
    }

    /// What names a token and these rules.
    fn known_by(&self, token: &[u8]) -> [u8; 32] {
        let mut known_by = self.digest;
        // Two tokens would have to have hashes that were chosen for this to be the same for both.
        known_by.iter_mut().zip(digest(&SHA256, token).as_ref()).for_each(|(byte, other)| *byte ^= other);
        known_by
    }

    /// Until when the token is good.
    fn verify(&self, token: &[u8], now_unix_s: u64) -> Result<u64, Fault> {
        let mut parts = token.rsplitn(2, |byte| *byte == b'.');
        let (signature, signed) = (parts.next().unwrap_or_default(), parts.next().ok_or(Fault::Malformed)?);
        let (head, claims) = split(signed).ok_or(Fault::Malformed)?;
        let head = Head::read(&decoded(head)?).ok_or(Fault::Malformed)?;
        let signature = decoded(signature)?;
        self.check_signature(&head, signed, &signature)?;
        // Only now are claims worth reading.
        let claims = Claims::read(&decoded(claims)?).ok_or(Fault::Malformed)?;
        if self.issuer.as_deref().is_some_and(|issuer| claims.issuer.as_deref() != Some(issuer)) {
            return Err(Fault::Issuer);
        }
        if !claims.audiences.iter().any(|audience| **audience == *self.audience) {
            return Err(Fault::Audience);
        }
        if claims.not_before.is_some_and(|begins| now_unix_s.saturating_add(SKEW_S) < begins) {
            return Err(Fault::NotYetValid);
        }
        // A token without an end could be used forever.
        let until = claims.expires.ok_or(Fault::Malformed)?.saturating_add(SKEW_S);
        if now_unix_s < until { Ok(until) } else { Err(Fault::Expired) }
    }

    /// A `kid` in the token names the key. Without one, the first [`KEYS_TRIED_MAX`] keys for the algorithm are tried.
    fn check_signature(&self, head: &Head, signed: &[u8], signature: &[u8]) -> Result<(), Fault> {
        let named = |key: &&Key| head.key.as_deref().is_none_or(|wanted| key.id() == Some(wanted));
        let mut candidates = self.keys.iter().filter(named).peekable();
        if candidates.peek().is_none() {
            return Err(Fault::UnknownKey);
        }
        let mut fitting = candidates.filter(|key| key.algorithm().name() == head.algorithm).peekable();
        if fitting.peek().is_none() {
            return Err(Fault::Algorithm);
        }
        if fitting.take(KEYS_TRIED_MAX).any(|key| key.has_signed(signed, signature)) {
            Ok(())
        } else {
            Err(Fault::Signature)
        }
    }
}

/// The claims of a token that is good. They are read again for each request, so that the memory of a worker holds none.
/// `None`: they cannot be read.
pub fn claims(token: &[u8]) -> Option<ClaimValues> {
    let part = token.split(|byte| *byte == b'.').nth(1)?;
    json::values(&decoded(part).ok()?)
}

/// Whom a good token is about. `None`: it does not say.
pub fn user(token: &[u8]) -> Option<String> {
    claims(token)?.subject().map(str::to_owned)
}

/// Head and claims. `None`: there are more or fewer parts.
fn split(signed: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = signed.split(|byte| *byte == b'.');
    let both = (parts.next()?, parts.next()?);
    parts.next().is_none().then_some(both)
}

/// RFC 7515 §2: base64url without padding. Another text for the same bytes would be another token, and is refused.
fn decoded(part: &[u8]) -> Result<Vec<u8>, Fault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Fault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ed25519 key.
    const KEY: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

    #[test]
    fn wrong_signature_is_remembered_for_its_rules() {
        let rules = |issuer| {
            let key = Key::read(None, Algorithm::EdDsa, &[&KEY[..], &[9; 32]].concat()).expect("a key");
            Rules::new(vec![key], issuer, "shop")
        };
        let (rules, others) = (rules(None), rules(Some("issuer")));
        let token = format!("{}.e30.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"EdDSA"}"#), URL_SAFE_NO_PAD.encode([7; 64]));
        let known_by = |rules: &Rules| rules.known_by(token.as_bytes());
        let mut verified = Verified::default();
        assert!(!verified.is_wrong(&known_by(&rules)));
        for _ in 0..2 {
            assert_eq!(rules.judge(token.as_bytes(), 5, &mut verified), Err(Fault::Signature));
            assert!(verified.is_wrong(&known_by(&rules)) && !verified.is_wrong(&known_by(&others)));
        }
    }
}
