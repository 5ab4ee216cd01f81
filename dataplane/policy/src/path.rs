//! Which paths a rule matches.
//!
//! The query is no part of the path. Encoded bytes may be decoded for the comparison, once; dot segments stay as they are.
//! A server may remove them: see [`RequestPath::simplified`].

use std::borrow::Cow;

use weir_wire::head::percent_decode;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TextCriterion {
    Equals,
    BeginsWith,
    EndsWith,
    Contains,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TextMatch {
    pub criterion: TextCriterion,
    /// It matches if no value does.
    pub negated: bool,
    /// One of them must match.
    pub values: Vec<String>,
    pub case_sensitive: bool,
    /// Compares the path with its percent-encodings decoded.
    pub decoded: bool,
}

/// The path of a request, in the forms that matches compare.
pub struct RequestPath<'r> {
    raw: Cow<'r, [u8]>,
    /// `None`: it has no encoded bytes.
    decoded: Option<Vec<u8>>,
}

impl<'r> RequestPath<'r> {
    /// `target` is what a server would get: `/path?query`, `*`, or `?query` of an absolute form without path.
    pub fn of(target: &'r [u8]) -> Self {
        let end = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
        let raw = if end == 0 { b"/" } else { &target[..end] };
        Self { raw: Cow::Borrowed(raw), decoded: decoded(raw) }
    }

    /// The path as servers have it that decode it and then remove dot segments (RFC 3986 §5.2.4) and empty segments.
    /// `None`: it has neither.
    pub fn simplified(&self) -> Option<RequestPath<'static>> {
        let text = self.text(true);
        if !text.starts_with(b"/") || !text.windows(2).any(|pair| pair == b"//" || pair == b"/.") {
            return None;
        }
        let segments = || text[1..].split(|byte| *byte == b'/');
        let last = segments().count() - 1;
        let is_odd =
            |(at, segment): (usize, &[u8])| [&b"."[..], b".."].contains(&segment) || segment.is_empty() && at < last;
        if !segments().enumerate().any(is_odd) {
            return None;
        }
        let mut kept: Vec<&[u8]> = Vec::new();
        for (at, segment) in segments().enumerate() {
            match segment {
                b".." => _ = kept.pop(),
                b"." | b"" => {}
                _ => kept.push(segment),
            }
            if at == last && [&b""[..], b".", b".."].contains(&segment) {
                kept.push(b"");
            }
        }
        let raw = [&b"/"[..], &kept.join(&b'/')].concat();
        Some(RequestPath { raw: Cow::Owned(raw), decoded: None })
    }

    /// As the client sent it, or with its percent-encodings decoded.
    pub fn text(&self, is_decoded: bool) -> &[u8] {
        match &self.decoded {
            Some(text) if is_decoded => text,
            _ => &self.raw,
        }
    }
}

impl TextMatch {
    pub fn matches(&self, path: &RequestPath<'_>) -> bool {
        let text = path.text(self.decoded);
        self.values.iter().any(|value| self.fits(text, value.as_bytes())) != self.negated
    }

    /// Compares any text, decoded in `scratch` if the rule wants that.
    pub fn matches_text(&self, text: &[u8], scratch: &mut Vec<u8>) -> bool {
        let text = match self.decoded && text.contains(&b'%') {
            true => {
                percent_decode(text, scratch);
                &scratch[..]
            }
            false => text,
        };
        self.values.iter().any(|value| self.fits(text, value.as_bytes())) != self.negated
    }

    fn fits(&self, text: &[u8], value: &[u8]) -> bool {
        let same = |part: &[u8]| match self.case_sensitive {
            true => part == value,
            false => part.eq_ignore_ascii_case(value),
        };
        let Some(longer) = text.len().checked_sub(value.len()) else { return false };
        match self.criterion {
            TextCriterion::Equals => longer == 0 && same(text),
            TextCriterion::BeginsWith => same(&text[..value.len()]),
            TextCriterion::EndsWith => same(&text[longer..]),
            TextCriterion::Contains => value.is_empty() || text.windows(value.len()).any(same),
        }
    }
}

fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    text.contains(&b'%').then(|| {
        let mut out = Vec::with_capacity(text.len());
        percent_decode(text, &mut out);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(criterion: TextCriterion, values: &[&str]) -> TextMatch {
        let values = values.iter().map(|value| value.to_string()).collect();
        TextMatch { criterion, negated: false, values, case_sensitive: false, decoded: true }
    }

    fn matches(rule: &TextMatch, target: &str) -> bool {
        rule.matches(&RequestPath::of(target.as_bytes()))
    }

    #[test]
    fn each_criterion_looks_at_its_part_of_the_path() {
        use TextCriterion::*;
        for (criterion, value, target, expected) in [
            (Equals, "/a", "/a", true),
            (Equals, "/a", "/a/", false),
            (Equals, "/a", "/a?b", true),
            (BeginsWith, "/a", "/ab", true),
            (BeginsWith, "/a", "/", false),
            (EndsWith, ".png", "/x.png", true),
            (EndsWith, ".png", "/x?y.png", false),
            (Contains, "b", "/abc", true),
            (Contains, "b", "/a?b", false),
            (Contains, "", "/", true),
            (Equals, "/", "?a", true),
            (Equals, "*", "*", true),
        ] {
            assert_eq!(matches(&of(criterion, &[value]), target), expected, "{criterion:?} {value} of {target}");
        }
    }

    #[test]
    fn one_of_the_values_suffices_and_none_where_it_is_negated() {
        let rule = of(TextCriterion::BeginsWith, &["/a", "/b"]);
        let negated = TextMatch { negated: true, ..rule.clone() };
        for (target, expected) in [("/a", true), ("/b", true), ("/c", false)] {
            assert_eq!((matches(&rule, target), matches(&negated, target)), (expected, !expected), "{target}");
        }
    }

    #[test]
    fn case_counts_if_the_rule_says_so() {
        let rule = of(TextCriterion::Equals, &["/Shop"]);
        assert!(matches(&rule, "/sHOP"));
        assert!(!matches(&TextMatch { case_sensitive: true, ..rule }, "/sHOP"));
    }

    #[test]
    fn path_is_decoded_once_and_only_if_the_rule_says_so() {
        let rule = of(TextCriterion::Equals, &["/a/b"]);
        let raw = TextMatch { decoded: false, ..rule.clone() };
        assert!(matches(&rule, "/a%2fb") && matches(&rule, "/%61/b") && !matches(&rule, "/a%252fb"));
        assert!(!matches(&raw, "/a%2Fb") && matches(&raw, "/a/b"));
        assert!(matches(&of(TextCriterion::Equals, &["/a%", "/%zz"]), "/a%"));
        assert!(matches(&of(TextCriterion::Equals, &["/%zz"]), "/%zz"));
    }

    #[test]
    fn simplified_path_has_neither_dot_segments_nor_empty_ones() {
        for (target, simple) in [
            ("/", None),
            ("/a/b?/../c", None),
            ("/a/", None),
            ("/.a/b../...", None),
            ("*", None),
            ("//", Some("/")),
            ("/a//b", Some("/a/b")),
            ("/a/b//", Some("/a/b/")),
            ("/./a", Some("/a")),
            ("/a/.", Some("/a/")),
            ("/a/../b", Some("/b")),
            ("/a/..", Some("/")),
            ("/../../a/", Some("/a/")),
            ("/a/%2e%2E/b", Some("/b")),
            ("/a%2f..%2fb", Some("/b")),
            ("/a%2f/b", Some("/a/b")),
            ("/a/%252e%252e/b", None),
        ] {
            let found = RequestPath::of(target.as_bytes()).simplified();
            let found = found.map(|path| String::from_utf8(path.raw.into_owned()).unwrap());
            assert_eq!(found.as_deref(), simple, "{target}");
        }
    }
}
