//! Which rules of a list a request may match: those whose host and path are among the request's. What the index does not
//! know, such as methods and addresses, is looked at with each rule that it finds.
//!
//! A rule is under one of its hosts, if it wants equal ones, and there under its path, if it wants one that can be looked
//! up. All rules with beginnings are found in one search, and so are all with parts, or with expressions.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use foldhash::{HashMap, HashMapExt};
use regex_automata::{Input, PatternSet, meta::Regex};

use crate::{
    asked::{View, host_name},
    condition::{Condition, HostRule},
    criterion::{Criterion, compile_regex_set},
    prefixes::Prefixes,
    text::TextRule,
};

/// So few rules, or expressions, are looked at one by one.
const FEW: usize = 4;
/// A rule for more hosts than this is not listed under each of them: each host has its own tables of paths.
const HOSTS_MAX: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// By the host without its port, in small letters, and as it is where the case counts.
    hosts: [HashMap<Box<[u8]>, Paths>; 2],
    anywhere: Paths,
    /// Nothing is indexed: all rules may match.
    is_short: bool,
}

/// By path. Each form that paths are compared in has tables of its own.
#[derive(Debug, Default)]
struct Paths {
    always: Vec<u32>,
    forms: Vec<Form>,
}

#[derive(Debug)]
struct Form {
    decoded: bool,
    small: bool,
    beginnings: Prefixes,
    parts: Option<Box<Parts>>,
    /// Those for which the case does not count, and those for which it does.
    expressions: Vec<Expressions>,
}

/// Whatever contains one of these.
#[derive(Debug)]
struct Parts {
    texts: AhoCorasick,
    rules: Box<[u32]>,
}

#[derive(Debug)]
struct Expressions {
    all: Regex,
    rules: Box<[u32]>,
}

impl Index {
    pub fn of<'c>(rules: impl ExactSizeIterator<Item = &'c [Condition]>) -> Self {
        if rules.len() <= FEW {
            return Self { is_short: true, ..Self::default() };
        }
        let mut hosts: [HashMap<Box<[u8]>, Draft<'c>>; 2] = [HashMap::new(), HashMap::new()];
        let mut anywhere = Draft::default();
        for (at, conditions) in rules.enumerate() {
            let path = conditions.iter().find_map(path_of);
            match conditions.iter().find_map(hosts_of).filter(|(names, _)| path.is_none() || names.len() <= HOSTS_MAX) {
                None => anywhere.add(at as u32, path),
                Some((names, small)) => {
                    for name in names {
                        hosts[usize::from(!small)].entry(name).or_default().add(at as u32, path);
                    }
                }
            }
        }
        let paths = |drafts: HashMap<Box<[u8]>, Draft<'c>>| {
            drafts.into_iter().map(|(name, draft)| (name, draft.into_paths())).collect()
        };
        let [small, as_is] = hosts;
        Self { hosts: [paths(small), paths(as_is)], anywhere: anywhere.into_paths(), is_short: false }
    }

    /// Fills `found` with the rules that may match, in their order.
    #[inline]
    pub fn find(&self, view: &View<'_>, rules: u32, found: &mut Vec<u32>) {
        found.clear();
        if self.is_short {
            return found.extend(0..rules);
        }
        self.anywhere.find(view, found);
        for (small, hosts) in [true, false].into_iter().zip(&self.hosts) {
            if !hosts.is_empty()
                && let Some(host) = view.host(small)
                && let Some(paths) = hosts.get(host_name(host))
            {
                paths.find(view, found);
            }
        }
        found.sort_unstable();
        found.dedup();
    }
}

impl Paths {
    fn find(&self, view: &View<'_>, found: &mut Vec<u32>) {
        found.extend_from_slice(&self.always);
        for form in &self.forms {
            let path = view.path(form.decoded, form.small);
            found.extend(form.beginnings.of_beginnings(path).map(|(_, rule)| rule));
            if let Some(parts) = &form.parts {
                // A part may be in a path a thousand times: what is found is kept small.
                let mut bound = found.len() + 2 * parts.rules.len();
                for text in parts.texts.find_overlapping_iter(path) {
                    found.push(parts.rules[text.pattern().as_usize()]);
                    if found.len() > bound {
                        found.sort_unstable();
                        found.dedup();
                        bound = found.len() + 2 * parts.rules.len();
                    }
                }
            }
            for expressions in &form.expressions {
                let mut matching = PatternSet::new(expressions.all.pattern_len());
                expressions.all.which_overlapping_matches(&Input::new(path), &mut matching);
                let rules = matching.iter().map(|pattern| expressions.rules[pattern.as_usize()]);
                found.extend(rules.take(matching.len()));
            }
        }
    }
}

/// The hosts that a rule wants one of, and whether they are in small letters.
fn hosts_of(condition: &Condition) -> Option<(Vec<Box<[u8]>>, bool)> {
    let Condition::Host(HostRule { bare, with_port, negated: false }) = condition else { return None };
    let both = || bare.iter().chain(with_port);
    let is_plain = |rule: &TextRule| rule.criterion == Criterion::Equals && !rule.has_groups();
    if !both().all(is_plain) {
        return None;
    }
    let names = both().flat_map(|rule| rule.values.iter().map(|value| host_name(value).into())).collect();
    Some((names, both().all(TextRule::compares_small)))
}

/// A path that can be looked up.
fn path_of(condition: &Condition) -> Option<&TextRule> {
    match condition {
        Condition::Path(rule) if !rule.negated && !rule.has_groups() && rule.criterion != Criterion::Exists => {
            Some(rule)
        }
        _ => None,
    }
}

/// Paths under construction.
#[derive(Default)]
struct Draft<'c> {
    always: Vec<u32>,
    with_path: Vec<(u32, &'c TextRule)>,
}

impl<'c> Draft<'c> {
    fn add(&mut self, rule: u32, path: Option<&'c TextRule>) {
        match path {
            Some(path) => self.with_path.push((rule, path)),
            None => self.always.push(rule),
        }
    }

    fn into_paths(self) -> Paths {
        let mut always = self.always;
        let mut forms = Vec::new();
        for (decoded, small) in [(false, false), (false, true), (true, false), (true, true)] {
            let of_form = |(_, path): &&(u32, &TextRule)| path.decoded == decoded && path.compares_small() == small;
            let rules: Vec<_> = self.with_path.iter().filter(of_form).copied().collect();
            if !rules.is_empty() {
                forms.push(form(decoded, small, &rules, &mut always));
            }
        }
        Paths { always, forms }
    }
}

/// `always` gets those that no table can be made of.
fn form(decoded: bool, small: bool, rules: &[(u32, &TextRule)], always: &mut Vec<u32>) -> Form {
    let values = |criteria: &[Criterion]| -> Vec<(Vec<u8>, u32)> {
        let rules = rules.iter().filter(|(_, path)| criteria.contains(&path.criterion));
        rules.flat_map(|(rule, path)| path.values.iter().map(|value| (value.to_vec(), *rule))).collect()
    };
    let beginnings = Prefixes::of(values(&[Criterion::Equals, Criterion::BeginsWith]));
    let parts = values(&[Criterion::EndsWith, Criterion::Contains]);
    // An empty part is in every path.
    let (parts, empty): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(text, _)| !text.is_empty());
    always.extend(empty.into_iter().map(|(_, rule)| rule));
    let texts =
        AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(parts.iter().map(|(text, _)| text));
    let ids: Box<[u32]> = parts.iter().map(|(_, rule)| *rule).collect();
    let parts = match texts {
        _ if ids.is_empty() => None,
        Ok(texts) => Some(Box::new(Parts { texts, rules: ids })),
        Err(_) => {
            always.extend(ids);
            None
        }
    };
    let expressions = [false, true].into_iter().filter_map(|case_sensitive| expressions(rules, case_sensitive, always));
    let expressions = expressions.collect();
    Form { decoded, small, beginnings, parts, expressions }
}

/// One automaton for all expressions. Few of them, and those that are too large together, are looked at one by one.
fn expressions(rules: &[(u32, &TextRule)], case_sensitive: bool, always: &mut Vec<u32>) -> Option<Expressions> {
    let is_one =
        |(_, path): &&(u32, &TextRule)| path.criterion == Criterion::Regex && path.case_sensitive == case_sensitive;
    let all = rules.iter().filter(is_one);
    let all = all.flat_map(|(rule, path)| path.values.iter().map(|value| (std::str::from_utf8(value), *rule)));
    let (patterns, ids): (Vec<&str>, Vec<u32>) = all.filter_map(|(text, rule)| Some((text.ok()?, rule))).unzip();
    let compiled = (ids.len() > FEW).then(|| compile_regex_set(&patterns, case_sensitive));
    match compiled {
        Some(Ok(all)) => Some(Expressions { all, rules: ids.into() }),
        Some(Err(_)) | None => {
            always.extend(ids);
            None
        }
    }
}
