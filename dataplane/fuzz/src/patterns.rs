//! What must hold for the patterns of a policy, and for a path that they are compared with.

use std::sync::Arc;

use weir_rules::{
    Asked, Condition, Criterion, HttpVersion, Origin, Policies, PolicySet, RequestAction, Rule, Scratch, StringGroup,
    TextMatch, TextRule,
};
use weir_wire::{
    head::{FieldTable, Limits, RequestHead},
    http1::{self, Parsed},
};

/// So many patterns are compared.
const PATTERNS_MAX: usize = 12;

/// `input`: a byte that says how patterns are compared, a path, and a pattern in each line. All patterns together, and the
/// keys of a group, match where each of them alone does. Returns whether a pattern was compared.
pub fn check(input: &[u8]) -> bool {
    let [how, text @ ..] = input else { return false };
    let Ok(text) = str::from_utf8(text) else { return false };
    let mut lines = text.split('\n');
    let head = format!("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", lines.next().unwrap_or_default());
    let mut table = FieldTable::new();
    let Ok(Parsed::Whole(request)) = http1::request(head.as_bytes(), &Limits::new(0, 0, 0), &mut table) else {
        return false;
    };
    let criterion = match how & 7 {
        0 => Criterion::Equals,
        1 => Criterion::BeginsWith,
        2 => Criterion::EndsWith,
        3 => Criterion::Contains,
        _ => Criterion::Regex,
    };
    let rule = |values: &[&str], groups| TextMatch {
        criterion,
        negated: false,
        values: values.iter().map(|value| value.to_string()).collect(),
        groups,
        case_sensitive: how & 8 > 0,
        decoded: how & 16 > 0,
    };
    let (mut good, mut rules) = (Vec::new(), Vec::new());
    for pattern in lines.take(PATTERNS_MAX) {
        match TextRule::compile(&rule(&[pattern], Vec::new())) {
            Ok(compiled) => {
                good.push(pattern);
                rules.push(compiled);
            }
            Err(error) => {
                let why = error.to_string();
                assert!(criterion == Criterion::Regex && !why.is_empty() && !why.contains('\n'), "{pattern:?}: {why}");
            }
        }
    }
    let matching = |rules: &[TextRule]| matching(&request.head, rules);
    let alone: Vec<usize> =
        (0..rules.len()).filter(|&at| !matching(std::slice::from_ref(&rules[at])).is_empty()).collect();
    assert_eq!(matching(&rules), alone, "{good:?}");

    let pairs = good.iter().map(|key| (key.to_string(), String::new())).collect();
    let group = Arc::new(StringGroup::new(String::new(), String::new(), pairs, how & 32 > 0));
    for (values, groups) in [(&good[..], Vec::new()), (&[], vec![group])] {
        // Together, expressions may be too large.
        match TextRule::compile(&rule(values, groups)) {
            Ok(one) => assert_eq!(!matching(&[one]).is_empty(), !alone.is_empty(), "{good:?}"),
            Err(_) => assert!(criterion == Criterion::Regex || good.is_empty(), "{good:?}"),
        }
    }
    !good.is_empty()
}

/// The places of the rules that match.
fn matching(head: &RequestHead<'_>, rules: &[TextRule]) -> Vec<usize> {
    let rule = |(at, rule): (usize, &TextRule)| Rule {
        name: at.to_string(),
        conditions: vec![Condition::Path(rule.clone())],
        log: false,
        all_headers: false,
        action: RequestAction::default(),
    };
    let rules = rules.iter().enumerate().map(rule).collect();
    let set = PolicySet::compile(String::new(), String::new(), Vec::new(), rules, Vec::new());
    let policies = Policies::of(vec![Arc::new(set)], Vec::new(), None);
    let client = [192, 0, 2, 1].into();
    let from = Origin { client, source: client, listener: ([192, 0, 2, 2], 80).into(), tls: None };
    let asked = Asked { head, version: HttpVersion::Http11, from };
    let acting = policies.acting(&asked, &mut Scratch::default());
    acting.iter().map(|rule| rule.name.parse().expect("a number")).collect()
}
