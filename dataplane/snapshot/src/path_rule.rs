//! What a child wants of the paths of requests: texts, or regular expressions.

use std::{cmp::Ordering, sync::Arc};

use weir_api::dataplane::v1;
use weir_policy::{RequestPath, TextCriterion, TextMatch};
use weir_rules::{Criterion, TextMatch as Comparison, TextRule};

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

impl PathRule {
    /// A rule that matches one of several values is as many rules, each with its own rank. Empty: it is malformed, and the
    /// findings tell how.
    pub fn read(
        service: Subject<'_>,
        field: &str,
        source: &v1::TextMatch,
        findings: &mut Findings,
    ) -> Option<Vec<Self>> {
        if source.criterion() != v1::TextCriterion::Regex {
            let rule = path::read(service, field, source, findings)?;
            return Some(each_value(&rule).map(|text| Self { text, expressions: None }).collect());
        }
        let rule = TextMatch {
            criterion: TextCriterion::Contains,
            negated: source.negated,
            values: source.values.clone(),
            case_sensitive: source.case_sensitive,
            decoded: source.decoded,
        };
        each_value(&rule).map(|text| Self::compile(service, field, text, findings)).collect()
    }

    fn compile(service: Subject<'_>, field: &str, text: TextMatch, findings: &mut Findings) -> Option<Self> {
        let compiled = TextRule::compile(&Comparison {
            criterion: Criterion::Regex,
            negated: text.negated,
            values: text.values.clone(),
            groups: Vec::new(),
            case_sensitive: text.case_sensitive,
            decoded: text.decoded,
        });
        let expressions = compiled.map_err(|error| findings.error(service, field, error.to_string())).ok()?;
        Some(Self { text, expressions: Some(Arc::new(expressions)) })
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
