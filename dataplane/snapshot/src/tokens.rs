//! The tokens that requests must bring.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_jwt::{Algorithm, Key, Rules};
use weir_rules::Access;

use crate::{
    access::{self, Read},
    finding::{Findings, Subject},
    kept::both_or_neither,
    policies::groups::Groups,
};

/// What requests must bring, and where it is.
#[derive(Debug)]
pub struct Tokens {
    pub rules: Rules,
    /// The parameter of the query with the token; `None`: it is in the field Authorization.
    pub query_name: Option<Box<str>>,
    access: Option<Read>,
    source: v1::TokenRules,
}

impl Tokens {
    /// Which requests need one, and what those with a good one may. `None`: all do, and may all.
    pub fn access(&self) -> Option<&Access> {
        self.access.as_ref().map(|read| &read.rules)
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        self.source == other.source && both_or_neither(self.access.as_ref(), other.access.as_ref(), Read::has_groups_of)
    }
}

const KEYS: &str = "sso_policy_ref.authentication_policy.default_auth_profile_ref.jwt_profile_ref.jwks_keys";

/// Error: it cannot be done, and the findings say why.
pub(crate) fn read(
    service: Subject<'_>,
    source: &v1::VirtualService,
    groups: &Groups<'_>,
    findings: &mut Findings,
) -> Result<Option<Arc<Tokens>>, ()> {
    let Some(from) = &source.tokens else { return Ok(None) };
    let mut refuse = |field: &str, why: String| findings.error(service, field.to_owned(), why);
    if source.http.is_none() {
        refuse("sso_policy_ref", "is for requests, which this virtual service does not know".to_owned());
    }
    let audience = from.access.as_ref().map_or(&from.audience, |access| &access.audience);
    if audience.is_empty() {
        refuse("jwt_config.audience", "is empty: tokens for others would be good".to_owned());
    }
    if from.keys.is_empty() {
        refuse(KEYS, "has no key".to_owned());
    }
    let mut keys = Vec::new();
    for (at, key) in from.keys.iter().enumerate() {
        let read = algorithm(key.algorithm).map(|algorithm| Key::read(key.id.as_deref(), algorithm, &key.spki_der));
        match read {
            Some(Ok(key)) => keys.push(key),
            Some(Err(_)) => refuse(&format!("{KEYS}[{at}]"), "is no key of its algorithm".to_owned()),
            None => refuse(&format!("{KEYS}[{at}].alg"), "is unknown to this engine; upgrade the engine".to_owned()),
        }
    }
    let access = match &from.access {
        None => Ok(None),
        Some(from) => access::read(service, from, groups, findings).map(Some).ok_or(()),
    };
    if keys.len() < from.keys.len() || keys.is_empty() || audience.is_empty() || source.http.is_none() {
        return Err(());
    }
    let issuer = Some(from.issuer.as_str()).filter(|issuer| !issuer.is_empty());
    let query_name = Some(from.query_name.as_str()).filter(|name| !name.is_empty()).map(Into::into);
    let (rules, access) = (Rules::new(keys, issuer, audience), access?);
    Ok(Some(Arc::new(Tokens { rules, query_name, access, source: from.clone() })))
}

fn algorithm(number: i32) -> Option<Algorithm> {
    Some(match v1::TokenAlgorithm::try_from(number).ok()? {
        v1::TokenAlgorithm::Unspecified => return None,
        v1::TokenAlgorithm::Rs256 => Algorithm::Rs256,
        v1::TokenAlgorithm::Rs384 => Algorithm::Rs384,
        v1::TokenAlgorithm::Rs512 => Algorithm::Rs512,
        v1::TokenAlgorithm::Ps256 => Algorithm::Ps256,
        v1::TokenAlgorithm::Ps384 => Algorithm::Ps384,
        v1::TokenAlgorithm::Ps512 => Algorithm::Ps512,
        v1::TokenAlgorithm::Es256 => Algorithm::Es256,
        v1::TokenAlgorithm::Es384 => Algorithm::Es384,
        v1::TokenAlgorithm::Es512 => Algorithm::Es512,
        v1::TokenAlgorithm::Eddsa => Algorithm::EdDsa,
    })
}
