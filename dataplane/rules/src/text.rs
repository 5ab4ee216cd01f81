//! Comparisons of texts.

use std::sync::Arc;

use regex_automata::meta::Regex;

use crate::{
    criterion::{Criterion, TextError, compile_regex},
    groups::StringGroup,
};

/// A comparison as the operator has written it.
#[derive(Clone, Debug)]
pub struct TextMatch {
    pub criterion: Criterion,
    /// It matches if no value does.
    pub negated: bool,
    /// One of them must match, or a key of one of the groups.
    pub values: Vec<String>,
    pub groups: Vec<Arc<StringGroup>>,
    pub case_sensitive: bool,
    /// Compares the text with its percent-encodings decoded.
    pub decoded: bool,
}

/// A comparison, compiled.
#[derive(Clone, Debug)]
pub struct TextRule {
    pub(crate) criterion: Criterion,
    pub(crate) negated: bool,
    pub(crate) case_sensitive: bool,
    pub(crate) decoded: bool,
    /// In small letters where the case does not count, except expressions.
    pub(crate) values: Box<[Box<[u8]>]>,
    groups: Box<[Arc<StringGroup>]>,
    regex: Option<Box<Regex>>,
}

impl TextRule {
    pub fn compile(source: &TextMatch) -> Result<Self, TextError> {
        let TextMatch { criterion, negated, case_sensitive, decoded, .. } = *source;
        if criterion != Criterion::Exists && source.values.is_empty() && source.groups.is_empty() {
            return Err(TextError::NoValue);
        }
        for group in &source.groups {
            group.prepare(criterion, !case_sensitive)?;
        }
        let regex = match criterion {
            Criterion::Regex if !source.values.is_empty() => {
                let patterns: Vec<&str> = source.values.iter().map(String::as_str).collect();
                Some(Box::new(compile_regex(&patterns, case_sensitive)?))
            }
            _ => None,
        };
        let text = |value: &String| match case_sensitive || criterion == Criterion::Regex {
            true => value.as_bytes().into(),
            false => value.to_ascii_lowercase().into_bytes().into(),
        };
        let values = source.values.iter().map(text).collect();
        let groups = source.groups.as_slice().into();
        Ok(Self { criterion, negated, case_sensitive, decoded, values, groups, regex })
    }

    /// Whether the rule has texts that a small-lettered form of the input is compared with.
    pub(crate) fn compares_small(&self) -> bool {
        !self.case_sensitive && !matches!(self.criterion, Criterion::Exists | Criterion::Regex)
    }

    /// Whether the rule looks at groups.
    pub(crate) fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether a value or a key matches, whether or not the rule is negated. `text` is in small letters if
    /// [`compares_small`](Self::compares_small).
    #[inline]
    pub(crate) fn any(&self, text: &[u8]) -> bool {
        match self.criterion {
            Criterion::Exists => true,
            Criterion::Regex => self.regex.as_ref().is_some_and(|regex| regex.is_match(text)) || self.in_groups(text),
            criterion => self.values.iter().any(|value| fits(criterion, text, value)) || self.in_groups(text),
        }
    }

    /// The same for a text that nothing was prepared of.
    pub(crate) fn any_as_is(&self, text: &[u8]) -> bool {
        match self.compares_small() && text.iter().any(u8::is_ascii_uppercase) {
            true => self.any(&text.to_ascii_lowercase()),
            false => self.any(text),
        }
    }

    /// Whether the rule matches a text.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.any_as_is(text) != self.negated
    }

    fn in_groups(&self, text: &[u8]) -> bool {
        self.groups.iter().any(|group| group.find(self.criterion, text, !self.case_sensitive).is_some())
    }

    /// The value of the key that matches.
    pub(crate) fn value_of_group(&self, text: &[u8]) -> Option<&str> {
        let found = |group: &'_ Arc<StringGroup>| group.find(self.criterion, text, !self.case_sensitive);
        self.groups.iter().find_map(|group| Some(group.value(found(group)?)))
    }

    /// What the groups of the expression have found in `text`; the first is the whole match.
    pub(crate) fn captures<'t>(&self, text: &'t [u8]) -> Option<Vec<&'t [u8]>> {
        let regex = self.regex.as_ref()?;
        let mut captures = regex.create_captures();
        regex.captures(text, &mut captures);
        captures.is_match().then(|| captures.iter().map(|span| span.map_or(&b""[..], |span| &text[span])).collect())
    }
}

#[inline]
fn fits(criterion: Criterion, text: &[u8], value: &[u8]) -> bool {
    match criterion {
        Criterion::Equals => text == value,
        Criterion::BeginsWith => text.starts_with(value),
        Criterion::EndsWith => text.ends_with(value),
        Criterion::Contains => value.is_empty() || text.windows(value.len()).any(|part| part == value),
        Criterion::Exists | Criterion::Regex => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(criterion: Criterion, values: &[&str], case_sensitive: bool) -> Result<TextRule, TextError> {
        let values = values.iter().map(|value| value.to_string()).collect();
        TextRule::compile(&TextMatch {
            criterion,
            negated: false,
            values,
            groups: Vec::new(),
            case_sensitive,
            decoded: false,
        })
    }

    #[test]
    fn each_criterion_looks_at_its_part() {
        use Criterion::*;
        for (criterion, value, text, expected) in [
            (Equals, "/A", "/a", true),
            (Equals, "/a", "/a/", false),
            (BeginsWith, "/a", "/AB", true),
            (BeginsWith, "/a", "/", false),
            (EndsWith, ".PNG", "/x.png", true),
            (EndsWith, ".png", "png", false),
            (Contains, "b", "/aBc", true),
            (Contains, "", "", true),
            (Contains, "bb", "b", false),
            (Regex, "^/a+$", "/AAA", true),
            (Regex, "^/a+$", "/aab", false),
            (Regex, "^/a.*$", "/a\n\u{aa}", true),
            (Regex, "^/\u{e9}$", "/\u{e9}", true),
        ] {
            let compiled = rule(criterion, &[value], false).unwrap();
            assert_eq!(compiled.any_as_is(text.as_bytes()), expected, "{criterion:?} {value} of {text}");
        }
        assert!(!rule(Equals, &["/A"], true).unwrap().any_as_is(b"/a"));
        assert!(!rule(Regex, &["A"], true).unwrap().any_as_is(b"a"));
        assert!(rule(Exists, &[], true).unwrap().any_as_is(b""));
    }

    #[test]
    fn expression_that_needs_more_than_linear_time_is_refused() {
        for pattern in [r"(a)\1", "(?=a)b", "(?<!a)b", "("] {
            let error = rule(Criterion::Regex, &[pattern], true).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, TextError::Regex(_)) && !text.contains('\n'), "{text}");
        }
        let large = rule(Criterion::Regex, &["(a{1000}){1000}"], true).unwrap_err();
        assert!(large.to_string().contains("bytes"), "{large}");
        assert_eq!(rule(Criterion::Equals, &[], true).unwrap_err(), TextError::NoValue);
    }

    #[test]
    fn captures_are_those_of_the_value_that_matches() {
        let compiled = rule(Criterion::Regex, &["^/x/(.*)$", "^/([a-z]+)/([0-9]+)"], true).unwrap();
        assert_eq!(compiled.captures(b"/shop/12/x"), Some(vec![&b"/shop/12"[..], b"shop", b"12"]));
        assert_eq!(compiled.captures(b"/x/"), Some(vec![&b"/x/"[..], b""]));
        assert_eq!(compiled.captures(b"?"), None);
    }
}
