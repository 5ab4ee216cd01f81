//! The role of a virtual service where several share listeners: a parent has the listeners, and gives clients to its
//! children.

use weir_api::dataplane::v1;
use weir_policy::{PathCriterion, PathMatch};

use crate::{
    children::Wish,
    finding::{Findings, Subject},
    hosts::Pattern,
    kept::reference,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It shares its listeners with none.
    Single,
    Parent(Hosting),
    /// A child that gets the connections with its server name. `any_host`: their requests may be for other hosts.
    ByServerName {
        any_host: bool,
    },
    /// A child that gets the requests for its hosts and paths.
    ByRequest,
}

/// How a parent gives clients to its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hosting {
    /// Each connection, by the server name of its ClientHello.
    ByServerName,
    /// Each request, by its host and path.
    ByRequest,
}

const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

/// `None`: it cannot be used, and the findings say why. `parent` is what its parent does, if it has one.
pub(crate) fn read(
    service: Subject<'_>,
    source: &v1::VirtualService,
    parent: Option<Hosting>,
    findings: &mut Findings,
) -> Option<Role> {
    let hosting = match v1::Hosting::try_from(source.hosting) {
        Ok(v1::Hosting::None) => None,
        Ok(v1::Hosting::ByServerName) => Some(Hosting::ByServerName),
        Ok(v1::Hosting::ByRequest) => Some(Hosting::ByRequest),
        Err(_) => {
            findings.error(service, "vh_type", UNKNOWN);
            return None;
        }
    };
    if hosting == Some(Hosting::ByRequest) && source.http.is_none() {
        findings.error(service, "vh_type", "requests can be told apart in HTTP only; choose VS_TYPE_VH_SNI");
        return None;
    }
    let Some(uuid) = reference(&source.parent_uuid) else { return Some(hosting.map_or(Role::Single, Role::Parent)) };
    let refusal = match parent {
        None => format!("virtual service {uuid} has no children"),
        Some(_) if hosting.is_some() => "a child has no children of its own".to_owned(),
        Some(_) if !source.listeners.is_empty() => "a child has no addresses and ports of its own".to_owned(),
        Some(Hosting::ByServerName) => {
            let any_host = source.http.as_ref().is_none_or(|http| http.any_host);
            return Some(Role::ByServerName { any_host });
        }
        Some(Hosting::ByRequest) => return Some(Role::ByRequest),
    };
    findings.error(service, "vh_parent_vs_ref", refusal);
    None
}

/// What a child wants. Of a malformed wish the findings tell.
pub(crate) fn wishes(service: Subject<'_>, source: &v1::VirtualService, findings: &mut Findings) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for (at, name) in source.server_names.iter().enumerate() {
        let field = format!("vh_domain_name[{at}]");
        if let Some(pattern) = pattern(service, &field, name, findings) {
            wishes.push(Wish { pattern, path: None, field });
        }
    }
    for (at, wanted) in source.host_matches.iter().enumerate() {
        let field = format!("vh_matches[{at}]");
        let Some(pattern) = pattern(service, &format!("{field}.host"), &wanted.host, findings) else { continue };
        if wanted.rules.is_empty() {
            wishes.push(Wish { pattern: pattern.clone(), path: None, field: field.clone() });
        }
        for (number, rule) in wanted.rules.iter().enumerate() {
            let field = format!("{field}.rules[{number}]");
            match rule.path.as_ref().map(|rule| path(service, &field, rule, findings)) {
                None => wishes.push(Wish { pattern: pattern.clone(), path: None, field }),
                Some(Some(path)) => wishes.push(Wish { pattern: pattern.clone(), path: Some(path), field }),
                Some(None) => {}
            }
        }
    }
    wishes
}

fn pattern(service: Subject<'_>, field: &str, text: &str, findings: &mut Findings) -> Option<Pattern> {
    let pattern = Pattern::read(text);
    if pattern.is_none() {
        let message = format!("{text:?} is no name of a host: write a.example, *.a.example, .a.example or a.*");
        findings.error(service, field, message);
    }
    pattern
}

fn path(service: Subject<'_>, field: &str, rule: &v1::PathMatch, findings: &mut Findings) -> Option<PathMatch> {
    let criterion = match v1::PathCriterion::try_from(rule.criterion) {
        Ok(v1::PathCriterion::Equals) => PathCriterion::Equals,
        Ok(v1::PathCriterion::BeginsWith) => PathCriterion::BeginsWith,
        Ok(v1::PathCriterion::EndsWith) => PathCriterion::EndsWith,
        Ok(v1::PathCriterion::Contains) => PathCriterion::Contains,
        Ok(v1::PathCriterion::Unspecified) | Err(_) => {
            findings.error(service, format!("{field}.matches.path.match_criteria"), UNKNOWN);
            return None;
        }
    };
    if rule.values.is_empty() {
        findings.error(service, format!("{field}.matches.path.match_str"), "is empty: give a path to compare with");
        return None;
    }
    Some(PathMatch {
        criterion,
        negated: rule.negated,
        values: rule.values.clone(),
        case_sensitive: rule.case_sensitive,
        decoded: rule.decoded,
    })
}
