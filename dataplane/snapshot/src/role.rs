//! The role of a virtual service where several share listeners: a parent has the listeners, and gives clients to its
//! children.

use weir_api::dataplane::v1;

use crate::{
    finding::{Findings, Subject},
    hosts::Pattern,
    path_rule::{Compiled, PathRule},
    policies::Groups,
    wanted::Wanted,
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

/// What a child wants of one host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wish {
    pub pattern: Pattern,
    /// `None`: every path.
    pub path: Option<PathRule>,
    /// The name of the rule that says so; empty: none does.
    pub rule: String,
    /// What else a request must match; `None`: nothing.
    pub wanted: Option<Wanted>,
    /// The field of the virtual service that says so.
    pub field: String,
}

/// What a child must know of its parent.
pub(crate) struct Parent<'p> {
    pub name: &'p str,
    /// `None`: it has no children.
    pub hosting: Option<Hosting>,
    pub is_http: bool,
    pub terminates_tls: bool,
}

const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

/// `None`: it cannot be used, and the findings say why.
pub(crate) fn without_parent(
    service: Subject<'_>,
    source: &v1::VirtualService,
    findings: &mut Findings,
) -> Option<Role> {
    match v1::Hosting::try_from(source.hosting) {
        Ok(v1::Hosting::None) => Some(Role::Single),
        Ok(v1::Hosting::ByServerName) => Some(Role::Parent(Hosting::ByServerName)),
        Ok(v1::Hosting::ByRequest) if source.http.is_some() => Some(Role::Parent(Hosting::ByRequest)),
        Ok(v1::Hosting::ByRequest) => {
            findings.error(service, "vh_type", "only HTTP has requests to tell apart; choose VS_TYPE_VH_SNI");
            None
        }
        Err(_) => {
            findings.error(service, "vh_type", UNKNOWN);
            None
        }
    }
}

/// A child speaks what its parent's listeners speak.
pub(crate) fn of_child(
    service: Subject<'_>,
    source: &v1::VirtualService,
    parent: &Parent<'_>,
    findings: &mut Findings,
) -> Option<Role> {
    let (field, refusal) = match parent.hosting {
        None => ("vh_parent_vs_ref", format!("{} is no parent", parent.name)),
        Some(_) if source.hosting != 0 => ("type", "a child has no children of its own".to_owned()),
        Some(_) if !source.listeners.is_empty() => ("services", "a child has no addresses and ports".to_owned()),
        Some(_) if source.http.is_some() != parent.is_http => {
            ("application_profile_ref", format!("its parent {} and it must both be of HTTP, or neither", parent.name))
        }
        Some(Hosting::ByServerName) if parent.terminates_tls && source.tls.is_none() => {
            ("ssl_profile_ref", format!("its parent {} terminates TLS, which needs an SSL profile", parent.name))
        }
        Some(Hosting::ByServerName) if source.host_matches.iter().any(|wanted| !wanted.rules.is_empty()) => {
            ("vh_matches", format!("its parent {} chooses before there are paths: remove the rules", parent.name))
        }
        Some(Hosting::ByServerName) => {
            if parent.is_http && !parent.terminates_tls {
                let message =
                    format!("no port of its parent {} speaks TLS, so no client names it: has no effect", parent.name);
                findings.warning(service, "vh_parent_vs_ref", message);
            }
            return Some(Role::ByServerName { any_host: source.http.as_ref().is_none_or(|http| http.any_host) });
        }
        Some(Hosting::ByRequest) => return Some(Role::ByRequest),
    };
    findings.error(service, field, refusal);
    None
}

/// What a child wants. Of a malformed wish the findings tell.
pub(crate) fn wishes(
    service: Subject<'_>,
    source: &v1::VirtualService,
    groups: &Groups<'_>,
    findings: &mut Findings,
) -> Vec<Wish> {
    let (mut wishes, mut compiled) = (Vec::new(), Compiled::default());
    for (at, name) in source.server_names.iter().enumerate() {
        let field = format!("vh_domain_name[{at}]");
        if let Some(pattern) = pattern(service, &field, name, findings) {
            wishes.push(Wish { pattern, path: None, wanted: None, rule: String::new(), field });
        }
    }
    for (at, wanted) in source.host_matches.iter().enumerate() {
        let field = format!("vh_matches[{at}]");
        let Some(pattern) = pattern(service, &format!("{field}.host"), &wanted.host, findings) else { continue };
        if wanted.rules.is_empty() {
            let (pattern, field) = (pattern.clone(), field.clone());
            wishes.push(Wish { pattern, path: None, wanted: None, rule: String::new(), field });
        }
        for (number, rule) in wanted.rules.iter().enumerate() {
            let field = format!("{field}.rules[{number}]");
            let paths = match &rule.path {
                None => Some(vec![None]),
                Some(rule) => PathRule::read(service, &format!("{field}.matches.path"), rule, &mut compiled, findings)
                    .map(|paths| paths.into_iter().map(Some).collect()),
            };
            let wanted = match &rule.r#match {
                None => Some(None),
                Some(rule) => Wanted::read(service, format!("{field}.matches"), rule, groups, findings).map(Some),
            };
            let (Some(paths), Some(wanted)) = (paths, wanted) else { continue };
            wishes.extend(paths.into_iter().map(|path| Wish {
                pattern: pattern.clone(),
                path,
                wanted: wanted.clone(),
                rule: rule.name.clone(),
                field: field.clone(),
            }));
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
