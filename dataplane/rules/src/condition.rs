//! The conditions of a rule.

use std::{net::IpAddr, ops::RangeInclusive, sync::Arc};

use weir_wire::head::{Fields, Name, NameSet, ResponseHead};

use crate::{
    addresses::{AddressGroup, AddressRule, Addresses},
    asked::{Asked, HttpVersion, Needs, Scratch, View, host_name},
    cookies,
    criterion::{Criterion, TextError},
    text::{TextMatch, TextRule},
};

/// All conditions of a rule must hold.
#[derive(Clone, Debug)]
pub enum Condition {
    Client(AddressMatch),
    Source(AddressMatch),
    ListenerPort(NumberMatch),
    /// The client's connection uses TLS, or does not.
    Tls(bool),
    Method(NameMatch),
    Version(VersionMatch),
    Path(TextRule),
    Query(TextRule),
    Host(HostRule),
    Field(FieldMatch),
    Cookie(FieldMatch),

    // Of responses.
    Status(NumberMatch),
    Location(TextRule),
    ResponseField(FieldMatch),
}

#[derive(Clone, Debug)]
pub struct AddressMatch(AddressRule);

impl AddressMatch {
    pub fn new(negated: bool, own: Addresses, groups: Vec<Arc<AddressGroup>>) -> Self {
        Self(AddressRule { negated, own, groups: groups.into() })
    }

    /// Those that it compares with, beside its own addresses.
    pub fn groups(&self) -> &[Arc<AddressGroup>] {
        &self.0.groups
    }

    /// Whether both compare with the same groups.
    pub fn has_groups_of(&self, other: &Self) -> bool {
        let (one, other) = (self.groups(), other.groups());
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    #[inline]
    pub fn holds(&self, address: IpAddr) -> bool {
        self.0.matches(address)
    }
}

#[derive(Clone, Debug)]
pub struct NumberMatch {
    pub negated: bool,
    pub ranges: Vec<RangeInclusive<u32>>,
}

impl NumberMatch {
    pub fn holds(&self, number: u32) -> bool {
        self.ranges.iter().any(|range| range.contains(&number)) != self.negated
    }
}

/// Of methods, whose case counts (RFC 9110 §9.1).
#[derive(Clone, Debug)]
pub struct NameMatch {
    pub negated: bool,
    pub names: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct VersionMatch {
    pub negated: bool,
    pub versions: Vec<HttpVersion>,
}

/// A field by its name, or a cookie.
#[derive(Clone, Debug)]
pub struct FieldMatch {
    pub name: String,
    pub value: TextRule,
}

impl FieldMatch {
    fn matches<'b>(&self, values: impl Iterator<Item = &'b [u8]>) -> bool {
        let mut values = values;
        values.any(|value| self.value.any_as_is(value)) != self.value.negated
    }
}

/// Compares hosts without their port, and values that have one with host and port.
#[derive(Clone, Debug)]
pub struct HostRule {
    pub(crate) bare: Option<TextRule>,
    pub(crate) with_port: Option<TextRule>,
    pub(crate) negated: bool,
}

impl HostRule {
    pub fn compile(source: &TextMatch) -> Result<Self, TextError> {
        let is_literal = !matches!(source.criterion, Criterion::Exists | Criterion::Regex);
        let (with_port, bare): (Vec<String>, Vec<String>) =
            source.values.iter().cloned().partition(|value| is_literal && has_port(value));
        let part = |values: Vec<String>| TextRule::compile(&TextMatch { values, negated: false, ..source.clone() });
        let is_name_end = matches!(source.criterion, Criterion::Equals | Criterion::EndsWith);
        let without_root = |value: String| {
            let port = if has_port(&value) { value.rfind(':') } else { None };
            let (name, port) = value.split_at(port.unwrap_or(value.len()));
            match name.strip_suffix('.') {
                Some(name) if is_name_end => format!("{name}{port}"),
                _ => value,
            }
        };
        let [bare, with_port] = [bare, with_port].map(|all| all.into_iter().map(without_root).collect::<Vec<_>>());
        let wants_bare = !bare.is_empty() || with_port.is_empty();
        Ok(Self {
            bare: wants_bare.then(|| part(bare)).transpose()?,
            with_port: (!with_port.is_empty()).then(|| part(with_port)).transpose()?,
            negated: source.negated,
        })
    }

    fn compares_small(&self) -> bool {
        self.bare.iter().chain(&self.with_port).any(TextRule::compares_small)
    }

    fn matches(&self, view: &View<'_>) -> bool {
        let host = |rule: &TextRule| view.host(rule.compares_small());
        let bare = self.bare.as_ref().is_some_and(|rule| host(rule).is_some_and(|host| rule.any(host_name(host))));
        let with_port = || {
            let rule = self.with_port.as_ref()?;
            let (host, name) = (host(rule)?, host_name(host(rule)?));
            let port = host.iter().rposition(|&byte| byte == b':').filter(|at| *at >= name.len());
            let whole = [name, port.map_or(&b""[..], |at| &host[at..])].concat();
            Some(rule.any(&whole))
        };
        (bare || with_port().unwrap_or(false)) != self.negated
    }
}

fn has_port(value: &str) -> bool {
    let (host, port) = value.rsplit_once(':').unwrap_or_default();
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && (!host.contains(':') || host.ends_with(']'))
}

impl Condition {
    pub(crate) fn needs(&self, needs: &mut Needs) {
        match self {
            Condition::Path(rule) => needs.path.note(rule),
            Condition::Query(rule) => needs.query.note(rule),
            Condition::Host(rule) => needs.host_small |= rule.compares_small(),
            _ => {}
        }
    }

    pub(crate) fn holds(&self, view: &View<'_>) -> bool {
        let asked = view.asked;
        match self {
            Condition::Client(rule) => rule.0.matches(asked.from.client),
            Condition::Source(rule) => rule.0.matches(asked.from.source),
            Condition::ListenerPort(rule) => rule.holds(asked.from.listener.port().into()),
            Condition::Tls(tls) => asked.from.tls.is_some() == *tls,
            Condition::Method(rule) => {
                rule.names.iter().any(|name| name.as_bytes() == asked.head.method_text) != rule.negated
            }
            Condition::Version(rule) => rule.versions.contains(&asked.version) != rule.negated,
            Condition::Path(rule) => rule.any(view.path(rule.decoded, rule.compares_small())) != rule.negated,
            Condition::Query(rule) => {
                view.query(rule.decoded, rule.compares_small()).is_some_and(|query| rule.any(query)) != rule.negated
            }
            Condition::Host(rule) => rule.matches(view),
            // Of an absolute target, the field counts for nothing (RFC 9112 §3.2.2).
            Condition::Field(rule) if rule.name.eq_ignore_ascii_case("host") => {
                rule.matches(asked.head.host.into_iter())
            }
            Condition::Field(rule) => rule.matches(values(&asked.head.fields, &rule.name)),
            Condition::Cookie(rule) => rule.matches(cookies::values(&asked.head.fields, rule.name.as_bytes())),
            Condition::Status(_) | Condition::Location(_) | Condition::ResponseField(_) => true,
        }
    }

    /// The same for a response, once its request is known to match.
    pub(crate) fn holds_of_response(&self, head: &ResponseHead<'_>) -> bool {
        match self {
            Condition::Status(rule) => rule.holds(head.status.into()),
            Condition::Location(rule) => {
                let mut locations = head.fields.among(NameSet::of(&[Name::Location]));
                locations.any(|field| rule.any_as_is(field.value)) != rule.negated
            }
            Condition::ResponseField(rule) => rule.matches(values(&head.fields, &rule.name)),
            _ => true,
        }
    }
}

fn values<'f>(fields: &Fields<'f>, name: &str) -> impl Iterator<Item = &'f [u8]> {
    let name = name.as_bytes();
    fields.iter().filter(move |field| field.name_text.eq_ignore_ascii_case(name)).map(|field| field.value)
}

/// Conditions that stand alone, and not in a set of rules.
#[derive(Debug)]
pub struct Conditions {
    all: Box<[Condition]>,
    needs: Needs,
}

impl Conditions {
    pub fn of(all: Vec<Condition>) -> Self {
        Self { needs: Needs::of(all.iter()), all: all.into() }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether all of them hold.
    pub fn hold(&self, asked: &Asked<'_>, scratch: &mut Scratch) -> bool {
        let (view, _) = scratch.view(asked, &self.needs);
        self.all.iter().all(|condition| condition.holds(&view))
    }

    /// The groups of addresses that they compare with.
    pub fn address_groups(&self) -> impl Iterator<Item = &Arc<AddressGroup>> {
        self.all.iter().flat_map(|condition| match condition {
            Condition::Client(addresses) | Condition::Source(addresses) => addresses.groups(),
            _ => &[],
        })
    }
}

impl Needs {
    pub fn of<'c>(conditions: impl Iterator<Item = &'c Condition>) -> Self {
        let mut needs = Needs::default();
        conditions.for_each(|condition| condition.needs(&mut needs));
        needs
    }

    pub fn join(&mut self, other: Self) {
        self.path.join(other.path);
        self.query.join(other.query);
        self.host_small |= other.host_small;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_of_the_root_makes_no_other_host() {
        let table = |value: &str, criterion| {
            let (values, groups) = (vec![value.to_owned()], Vec::new());
            let source = TextMatch { criterion, negated: false, values, groups, case_sensitive: false, decoded: false };
            let rule = HostRule::compile(&source).unwrap();
            let value = |rule: &TextRule| String::from_utf8(rule.values[0].to_vec()).unwrap();
            (rule.bare.as_ref().map(value), rule.with_port.as_ref().map(value))
        };
        for (value, criterion, bare, with_port) in [
            ("a.test.", Criterion::Equals, Some("a.test"), None),
            ("a.test.:80", Criterion::Equals, None, Some("a.test:80")),
            ("test.:80", Criterion::EndsWith, None, Some("test:80")),
            ("a.test.", Criterion::BeginsWith, Some("a.test."), None),
            (":80", Criterion::EndsWith, None, Some(":80")),
        ] {
            assert_eq!(table(value, criterion), (bare.map(str::to_owned), with_port.map(str::to_owned)), "{value}");
        }
    }

    #[test]
    fn value_with_a_port_is_told_from_an_address() {
        for (value, expected) in [
            ("a.test", false),
            ("a.test:80", true),
            ("[::1]:80", true),
            ("[::1]", false),
            ("::1", false),
            ("a:b", false),
        ] {
            assert_eq!(has_port(value), expected, "{value}");
        }
    }
}
