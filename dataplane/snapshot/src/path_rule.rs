//! What a child wants of the paths of requests: texts, or regular expressions.

use std::{
    cmp::Ordering,
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use weir_api::dataplane::v1;
use weir_policy::{RequestPath, TextCriterion, TextMatch};
use weir_rules::{Criterion, TextError, TextMatch as Comparison, TextRule};

use crate::{
    finding::{Findings, Subject},
    path,
};

#[derive(Clone, Debug)]
pub(crate) struct PathRule {
    /// Of expressions, the criterion means nothing.
    text: TextMatch,
    /// `None`: the texts are compared as they are.
    expressions: Option<Arc<TextRule>>,
}

/// Equal if operators have said the same.
impl PartialEq for PathRule {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathRule {}

impl PartialOrd for PathRule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PathRule {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.has_expressions(), &self.text).cmp(&(other.has_expressions(), &other.text))
    }
}

/// What the rules of one virtual service have compiled, by the values, whether they are case-sensitive, and whether the
/// rule is negated. Many rules may have the values of one group.
#[derive(Default)]
pub(crate) struct Compiled(HashMap<(Vec<String>, bool, bool), Arc<TextRule>>);

impl Compiled {
    fn of(&mut self, text: &TextMatch) -> Result<Arc<TextRule>, TextError> {
        match self.0.entry((text.values.clone(), text.case_sensitive, text.negated)) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(place) => {
                let compiled = TextRule::compile(&Comparison {
                    criterion: Criterion::Regex,
                    negated: text.negated,
                    values: text.values.clone(),
                    groups: Vec::new(),
                    case_sensitive: text.case_sensitive,
                    decoded: false, // the rule is shown the text as it is compared
                })?;
                Ok(place.insert(Arc::new(compiled)).clone())
            }
        }
    }
}

impl PathRule {
    /// A rule that matches one of several values is as many rules, each with its own rank. `None`: it is malformed, and
    /// the findings tell how.
    pub fn read(
        service: Subject<'_>,
        field: &str,
        source: &v1::TextMatch,
        compiled: &mut Compiled,
        findings: &mut Findings,
    ) -> Option<Vec<Self>> {
        if source.criterion() != v1::TextCriterion::Regex {
            let rule = path::read(service, field, source, findings)?;
            return Some(each_value(&rule).map(|text| Self { text, expressions: None }).collect());
        }
        if !path::has_values(service, field, source, findings) {
            return None;
        }
        let rule = TextMatch {
            criterion: TextCriterion::Contains,
            negated: source.negated,
            values: source.values.clone(),
            case_sensitive: source.case_sensitive,
            decoded: source.decoded,
        };
        let mut with_expressions = |text: TextMatch| match compiled.of(&text) {
            Ok(expressions) => Some(Self { text, expressions: Some(expressions) }),
            Err(error) => {
                findings.error(service, field, error.to_string());
                None
            }
        };
        each_value(&rule).map(&mut with_expressions).collect()
    }

    fn has_expressions(&self) -> bool {
        self.expressions.is_some()
    }

    pub fn matches(&self, path: &RequestPath<'_>) -> bool {
        match &self.expressions {
            None => self.text.matches(path),
            Some(expressions) => expressions.matches(path.text(self.text.decoded)),
        }
    }

    /// The place of its kind: those with lower numbers are tried first.
    pub fn kind(&self) -> u8 {
        match self.text.criterion {
            _ if self.text.negated => Self::NEGATED,
            _ if self.has_expressions() => 4,
            TextCriterion::Equals => 0,
            TextCriterion::BeginsWith => 1,
            TextCriterion::EndsWith => 2,
            TextCriterion::Contains => 3,
        }
    }

    const NEGATED: u8 = 5;
    /// Of a rule without a path.
    pub const NO_PATH: u8 = 6;

    /// Of its longest value.
    pub fn value_bytes(&self) -> usize {
        self.text.values.iter().map(String::len).max().unwrap_or_default()
    }

    /// Whether it matches more than the same rule with the other `case_sensitive`.
    pub fn matches_more(&self) -> bool {
        self.text.case_sensitive == self.text.negated
    }
}

fn each_value(rule: &TextMatch) -> impl Iterator<Item = TextMatch> {
    let all = match rule.negated {
        true => vec![rule.values.clone()],
        false => rule.values.iter().map(|value| vec![value.clone()]).collect(),
    };
    all.into_iter().map(|values| TextMatch { values, ..rule.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: Subject<'static> = Subject { kind: "virtualservice", uuid: "u", name: "a" };

    fn expressions(values: &[&str], negated: bool, decoded: bool) -> v1::TextMatch {
        v1::TextMatch {
            criterion: v1::TextCriterion::Regex.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            negated,
            decoded,
            ..v1::TextMatch::default()
        }
    }

    #[test]
    fn rules_with_the_same_expressions_share_what_is_compiled() {
        let (mut compiled, mut findings) = (Compiled::default(), Findings::default());
        let mut read = |rule| PathRule::read(SERVICE, "path", &rule, &mut compiled, &mut findings).unwrap();
        let one = read(expressions(&["^/a", "^/b"], false, true));
        let other = read(expressions(&["^/b", "^/c"], false, false));
        let negated = read(expressions(&["^/b"], true, false));
        let shared = |one: &PathRule, other: &PathRule| {
            Arc::ptr_eq(one.expressions.as_ref().unwrap(), other.expressions.as_ref().unwrap())
        };
        assert!(shared(&one[1], &other[0]));
        assert!(!shared(&one[0], &other[1]) && !shared(&one[1], &negated[0]));
    }

    #[test]
    fn rule_without_values_is_refused_whatever_it_compares() {
        for criterion in [v1::TextCriterion::Regex, v1::TextCriterion::Contains] {
            for negated in [false, true] {
                let (mut compiled, mut findings) = (Compiled::default(), Findings::default());
                let rule = v1::TextMatch { criterion: criterion.into(), ..expressions(&[], negated, true) };
                assert!(PathRule::read(SERVICE, "path", &rule, &mut compiled, &mut findings).is_none());
                assert!(!findings.errors.is_empty(), "{criterion:?}");
            }
        }
    }
}
