//! Rules that say which requests need a token, and what those with a good one may.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rules::{
    Access, AddressGroup, Authentication, Authorization, ClaimMatch, Denial, Grant, Rule, StringGroup, TextRule,
    WantedClaim,
};

use crate::{
    finding::{Findings, Subject},
    policies::{groups::Groups, rule::RuleReader},
    wanted,
};

const AUTHENTICATION: &str = "sso_policy_ref.authentication_policy.authn_rules";
const AUTHORIZATION: &str = "sso_policy_ref.authorization_policy.authz_rules";
const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

/// The rules, and the groups that they compare with.
#[derive(Debug)]
pub(crate) struct Read {
    pub rules: Access,
    pub strings: Vec<Arc<StringGroup>>,
    pub addresses: Vec<Arc<AddressGroup>>,
}

/// `None`: they cannot be used; the findings say why.
pub(crate) fn read(
    service: Subject<'_>,
    from: &v1::AccessRules,
    groups: &Groups<'_>,
    findings: &mut Findings,
) -> Option<Read> {
    let authentication = from.authentication.iter().map(|rule| {
        let reader = AccessReader { service, list: AUTHENTICATION, groups };
        let action = if rule.skip { Authentication::Skip } else { Authentication::Token };
        reader.rule(rule.rule.as_ref(), findings).map(|rule| with(rule, action))
    });
    let authentication: Vec<_> = authentication.collect();
    let authorization = from.authorization.iter().map(|rule| {
        let reader = AccessReader { service, list: AUTHORIZATION, groups };
        let (made, action) = (reader.rule(rule.rule.as_ref(), findings), reader.authorization(rule, findings));
        Some(with(made?, action?))
    });
    let authorization: Vec<_> = authorization.collect();
    let authentication = authentication.into_iter().collect::<Option<_>>()?;
    let authorization = authorization.into_iter().collect::<Option<_>>()?;
    let strings = string_groups(from).filter_map(|uuid| Some(groups.strings.find(uuid)??.object.clone()));
    let addresses = address_groups(from).filter_map(|uuid| Some(groups.addresses.find(uuid)??.object.clone()));
    Some(Read {
        strings: strings.collect(),
        addresses: addresses.collect(),
        rules: Access::of(authentication, authorization),
    })
}

impl Read {
    /// Whether both are made of the same groups.
    pub fn has_groups_of(&self, other: &Self) -> bool {
        fn same<T>(one: &[Arc<T>], other: &[Arc<T>]) -> bool {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
        }
        same(&self.strings, &other.strings) && same(&self.addresses, &other.addresses)
    }
}

fn matches_of(from: &v1::AccessRules) -> impl Iterator<Item = &v1::HttpMatch> {
    let rules = from.authentication.iter().map(|rule| &rule.rule);
    let rules = rules.chain(from.authorization.iter().map(|rule| &rule.rule));
    rules.filter_map(|rule| rule.as_ref()?.r#match.as_ref())
}

/// The uuids of the groups of strings that requests and claims are compared with.
pub(crate) fn string_groups(from: &v1::AccessRules) -> impl Iterator<Item = &str> {
    let claims = from.authorization.iter().flat_map(|rule| &rule.claims).filter_map(|claim| match &claim.value {
        Some(v1::claim_match::Value::Text(text)) => text.value.as_ref(),
        _ => None,
    });
    let of_claims = claims.flat_map(|text| text.string_group_uuids.iter().map(String::as_str));
    matches_of(from).flat_map(wanted::string_groups).chain(of_claims)
}

pub(crate) fn address_groups(from: &v1::AccessRules) -> impl Iterator<Item = &str> {
    matches_of(from).flat_map(wanted::address_groups)
}

fn with<A>(rule: Rule<()>, action: A) -> Rule<A> {
    let Rule { name, conditions, log, all_headers, .. } = rule;
    Rule { name, conditions, log, all_headers, action }
}

/// Reads the rules of one list.
struct AccessReader<'s> {
    service: Subject<'s>,
    list: &'static str,
    groups: &'s Groups<'s>,
}

impl AccessReader<'_> {
    fn at(&self, from: Option<&v1::HttpRule>) -> String {
        format!("{}[{}]", self.list, from.map_or(0, |rule| rule.position))
    }

    fn texts(&self) -> RuleReader<'_> {
        RuleReader { subject: self.service, list: self.list, groups: self.groups }
    }

    fn rule(&self, from: Option<&v1::HttpRule>, findings: &mut Findings) -> Option<Rule<()>> {
        let Some(rule) = from else {
            findings.error(self.service, self.list, "has a rule without a name and a match");
            return None;
        };
        let conditions = match &rule.r#match {
            None => Vec::new(),
            Some(matched) => self.texts().conditions(format!("{}.match", self.at(from)), matched, findings)?,
        };
        let (name, log, all_headers) = (rule.name.clone(), rule.log, rule.all_headers);
        Some(Rule { name, conditions, log, all_headers, action: () })
    }

    fn authorization(&self, from: &v1::AuthorizationRule, findings: &mut Findings) -> Option<Authorization> {
        use v1::authorization_rule::Action;
        let at = self.at(from.rule.as_ref());
        let then = match from.action {
            Some(Action::Allow(_)) => Some(Grant::Allow),
            Some(Action::Close(_)) => Some(Grant::Refuse(Denial::Close)),
            Some(Action::Status(401)) => Some(Grant::Refuse(Denial::Unauthorized)),
            Some(Action::Status(403)) => Some(Grant::Refuse(Denial::Forbidden)),
            Some(Action::Status(status)) => {
                findings.error(self.service, format!("{at}.action.status_code"), format!("{status} is not 401 or 403"));
                None
            }
            None => {
                findings.error(self.service, format!("{at}.action"), UNKNOWN);
                None
            }
        };
        let claims = from.claims.iter().enumerate().map(|(number, claim)| {
            let at = format!("{at}.match.access_token.matches[{number}]");
            let wanted = self.claim(&at, claim, findings)?;
            Some(ClaimMatch { name: claim.name.clone(), mandatory: claim.mandatory, wanted })
        });
        let claims: Vec<_> = claims.collect();
        Some(Authorization { claims: claims.into_iter().collect::<Option<_>>()?, then: then? })
    }

    fn claim(&self, at: &str, from: &v1::ClaimMatch, findings: &mut Findings) -> Option<WantedClaim> {
        use v1::claim_match::Value;
        Some(match &from.value {
            Some(Value::Number(number)) => WantedClaim::Number(number.value),
            Some(Value::Truth(truth)) => WantedClaim::Truth(truth.value),
            Some(Value::Text(text)) => WantedClaim::Text(match &text.value {
                None => None,
                Some(text) => Some(self.text(&format!("{at}.string_match"), text, findings)?),
            }),
            None => {
                findings.error(self.service, format!("{at}.type"), UNKNOWN);
                return None;
            }
        })
    }

    fn text(&self, at: &str, from: &v1::TextMatch, findings: &mut Findings) -> Option<TextRule> {
        let text = self.texts().text(at, from, findings)?;
        let rule = TextRule::compile(&text);
        rule.map_err(|error| findings.error(self.service, at.to_owned(), error.to_string())).ok()
    }
}
