//! A policy set of the Plan, read into rules.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rules::{PolicySet, RequestAction, ResponseAction, Rule, SecurityAction, Then};

use super::{
    groups::Groups,
    rate::{Place, read_limit},
    rule::{RuleReader, check_redirect, check_response},
};
use crate::{
    finding::{Findings, Subject},
    kept::reference,
    wanted,
};

/// The uuid of what a rule chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ChosenUuid {
    Pool(String),
    Group(String),
}

/// A set, what it was made from, and the pools and groups that its rules choose.
#[derive(Clone, Debug)]
pub(crate) struct KeptPolicySet {
    pub source: Arc<v1::HttpPolicySet>,
    pub object: Arc<PolicySet>,
    pub wanted: Arc<[ChosenUuid]>,
}

impl KeptPolicySet {
    /// The uuids of the groups that its rules compare with.
    pub fn string_groups(&self) -> impl Iterator<Item = &str> {
        matches_of(&self.source).flat_map(wanted::string_groups)
    }

    pub fn address_groups(&self) -> impl Iterator<Item = &str> {
        matches_of(&self.source).flat_map(wanted::address_groups)
    }
}

fn matches_of(set: &v1::HttpPolicySet) -> impl Iterator<Item = &v1::HttpMatch> {
    let security = set.security_rules.iter().map(|rule| &rule.rule);
    let requests = set.request_rules.iter().map(|rule| &rule.rule);
    let responses = set.response_rules.iter().map(|rule| &rule.rule);
    security.chain(requests).chain(responses).filter_map(|rule| rule.as_ref()?.r#match.as_ref())
}

pub(crate) fn subject(source: &v1::HttpPolicySet) -> Subject<'_> {
    Subject { kind: "httppolicyset", uuid: &source.uuid, name: &source.name }
}

impl Groups<'_> {
    /// `None` if the set is unusable; the findings give the reasons.
    pub fn read_set(&self, source: &Arc<v1::HttpPolicySet>, findings: &mut Findings) -> Option<KeptPolicySet> {
        let mut wanted = Vec::new();
        let before = findings.errors.len();
        let rule = |list: &'static str| RuleReader { subject: subject(source), list, groups: self };
        let security = source.security_rules.iter().enumerate().filter_map(|(place, from)| {
            let reader = rule("http_security_policy");
            let read = reader.rule(from.rule.as_ref(), false, findings);
            let earlier = &source.security_rules[..place];
            let action = security_action(&reader.at(from.rule.as_ref()), &reader, (from, earlier), findings)?;
            Some(with(read?, action))
        });
        let security = security.collect();
        let mut requests = Vec::new();
        for from in &source.request_rules {
            let reader = rule("http_request_policy");
            let read = reader.rule(from.rule.as_ref(), false, findings);
            let action = request_action(&reader.at(from.rule.as_ref()), &reader, from, &mut wanted, findings);
            requests.extend(read.zip(action).map(|(rule, action)| with(rule, action)));
        }
        let responses = source.response_rules.iter().filter_map(|from| {
            let reader = rule("http_response_policy");
            let at = reader.at(from.rule.as_ref());
            let read = reader.rule(from.rule.as_ref(), true, findings);
            let edits = reader.edits(&at, &from.edits, findings);
            let location = match &from.location {
                Some(location) => Some(reader.redirect(&format!("{at}.loc_hdr_action"), location, findings)?),
                None => None,
            };
            Some(with(read?, ResponseAction { edits: edits?, location }))
        });
        let responses = responses.collect();
        if findings.errors.len() > before {
            return None;
        }
        let object = PolicySet::compile(source.uuid.clone(), source.name.clone(), security, requests, responses);
        Some(KeptPolicySet { source: source.clone(), object: Arc::new(object), wanted: wanted.into() })
    }
}

fn with<A>(rule: Rule<()>, action: A) -> Rule<A> {
    let Rule { name, conditions, log, all_headers, action: () } = rule;
    Rule { name, conditions, log, all_headers, action }
}

fn security_action(
    at: &str,
    reader: &RuleReader<'_>,
    (from, earlier): (&v1::HttpSecurityRule, &[v1::HttpSecurityRule]),
    findings: &mut Findings,
) -> Option<SecurityAction> {
    use v1::http_security_rule::Action;
    let why = match &from.action {
        Some(Action::Allow(_)) => return Some(SecurityAction::Allow),
        Some(Action::Close(close)) => return Some(SecurityAction::Close { reset: close.reset }),
        Some(Action::Response(response)) => {
            return check_response(reader.subject, at, response, findings).map(SecurityAction::Respond);
        }
        Some(Action::RedirectToHttps(to)) => match u16::try_from(to.port) {
            Ok(port) if port > 0 => return Some(SecurityAction::RedirectToHttps { port }),
            _ => format!("{} is not a port; choose 1 to 65535", to.port),
        },
        Some(Action::RateLimit(limit)) => {
            let (subject, name) =
                (reader.subject, |rule: &v1::HttpSecurityRule| Some(rule.rule.as_ref()?.name.clone()));
            // What is counted goes on when other rules change. Several rules may have one name.
            let namesakes = earlier.iter().filter(|rule| name(rule) == name(from)).count();
            let identity = format!("{} {namesakes}", name(from).unwrap_or_default());
            let at = &format!("{at}.action.rate_profile");
            let place = Place { subject, at, scope: subject.uuid, identity: &identity };
            return read_limit(&place, limit, findings).map(|rate| SecurityAction::Limit(Box::new(rate)));
        }
        None => "has no action that this engine knows; upgrade the engine".to_owned(),
    };
    findings.error(reader.subject, format!("{at}.action"), why);
    None
}

fn request_action(
    at: &str,
    reader: &RuleReader<'_>,
    from: &v1::HttpRequestRule,
    wanted: &mut Vec<ChosenUuid>,
    findings: &mut Findings,
) -> Option<RequestAction> {
    use v1::http_request_rule::Action;
    let edits = reader.edits(at, &from.edits, findings);
    let rewrite = match &from.rewrite {
        Some(rewrite) => Some(reader.rewrite(&format!("{at}.rewrite_url_action"), rewrite, findings)?),
        None => None,
    };
    let then = match &from.action {
        None => Then::GoOn,
        Some(Action::Redirect(redirect)) => {
            Then::Redirect(check_redirect(reader.subject, &format!("{at}.redirect_action"), redirect, findings)?)
        }
        Some(Action::Response(response)) => {
            Then::Respond(check_response(reader.subject, &format!("{at}.switching_action"), response, findings)?)
        }
        Some(Action::Pool(choice)) => {
            let chosen = match reference(&choice.pool_group_uuid) {
                Some(uuid) => ChosenUuid::Group(uuid.to_owned()),
                None => ChosenUuid::Pool(choice.pool_uuid.clone()),
            };
            let known = wanted.iter().position(|other| *other == chosen);
            let pool = known.unwrap_or_else(|| {
                wanted.push(chosen);
                wanted.len() - 1
            });
            Then::Pool { pool: pool as u32, server: (!choice.server_id.is_empty()).then(|| choice.server_id.clone()) }
        }
    };
    Some(RequestAction { edits: edits?, rewrite, then })
}
