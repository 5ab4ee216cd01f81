//! Groups of strings. Rules compare texts with the keys of a group, and may use the value of the key that matches.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex_automata::meta::Regex;

use crate::{
    criterion::{Criterion, TextError, compile_regex},
    prefixes::Prefixes,
};

/// Shared by the rules that use it. Each way to compare is made ready once, when the first rule that needs it is compiled.
#[derive(Debug)]
pub struct StringGroup {
    pub uuid: String,
    pub name: String,
    pairs: Vec<(String, String)>,
    /// Of several keys that match, the longest counts; else the shortest.
    longest_match: bool,
    /// For texts as they are, and for texts in small letters.
    tables: [Table; 2],
}

#[derive(Default, Debug)]
struct Table {
    forward: OnceLock<Prefixes>,
    reversed: OnceLock<Prefixes>,
    parts: OnceLock<Option<Box<AhoCorasick>>>,
    expressions: OnceLock<Result<Box<Regex>, String>>,
}

impl StringGroup {
    pub fn new(uuid: String, name: String, pairs: Vec<(String, String)>, longest_match: bool) -> Self {
        Self { uuid, name, pairs, longest_match, tables: Default::default() }
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The value that belongs to a key that was found.
    pub fn value(&self, key: u32) -> &str {
        self.pairs.get(key as usize).map_or("", |pair| &pair.1)
    }

    /// Makes a comparison ready, so that no request pays for it.
    pub fn prepare(&self, criterion: Criterion, small: bool) -> Result<(), TextError> {
        match criterion {
            Criterion::Regex => drop(self.expressions(small).as_ref().map_err(|why| TextError::Regex(why.clone()))?),
            Criterion::EndsWith => drop(self.reversed(small)),
            Criterion::Contains => match self.parts(small) {
                Some(_) => {}
                None if self.is_empty() => {}
                None => return Err(TextError::TooLarge),
            },
            Criterion::Equals | Criterion::BeginsWith | Criterion::Exists => drop(self.forward(small)),
        }
        Ok(())
    }

    /// The key that a text matches. `small`: the text is in small letters, and the case of keys does not count.
    pub fn find(&self, criterion: Criterion, text: &[u8], small: bool) -> Option<u32> {
        let found: &mut dyn Iterator<Item = (usize, u32)> = match criterion {
            Criterion::Exists => return None,
            Criterion::Equals => return self.forward(small).of_same(text).first().copied(),
            Criterion::BeginsWith => &mut self.forward(small).of_beginnings(text),
            Criterion::EndsWith => &mut self.reversed(small).of_ends(text),
            Criterion::Contains => {
                let parts = self.parts(small)?;
                &mut parts.find_overlapping_iter(text).map(|found| (found.len(), found.pattern().as_u32()))
            }
            Criterion::Regex => {
                let Ok(expressions) = self.expressions(small) else { return None };
                return expressions.find(text).map(|found| found.pattern().as_u32());
            }
        };
        let key =
            if self.longest_match { found.max_by_key(|found| found.0) } else { found.min_by_key(|found| found.0) };
        key.map(|(_, key)| key)
    }

    fn forward(&self, small: bool) -> &Prefixes {
        self.tables[usize::from(small)].forward.get_or_init(|| Prefixes::of(self.keys(small).collect()))
    }

    fn reversed(&self, small: bool) -> &Prefixes {
        let reverse = |(mut key, at): (Vec<u8>, u32)| {
            key.reverse();
            (key, at)
        };
        self.tables[usize::from(small)].reversed.get_or_init(|| Prefixes::of(self.keys(small).map(reverse).collect()))
    }

    fn parts(&self, small: bool) -> Option<&AhoCorasick> {
        let texts = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).to_owned();
        let build = || texts.build(self.keys(small).map(|(key, _)| key)).ok().map(Box::new);
        self.tables[usize::from(small)].parts.get_or_init(build).as_deref()
    }

    fn expressions(&self, small: bool) -> &Result<Box<Regex>, String> {
        let keys: Vec<&str> = self.pairs.iter().map(|pair| pair.0.as_str()).collect();
        self.tables[usize::from(small)]
            .expressions
            .get_or_init(|| compile_regex(&keys, !small).map(Box::new).map_err(|why| why.to_string()))
    }

    fn keys(&self, small: bool) -> impl Iterator<Item = (Vec<u8>, u32)> + '_ {
        let key = move |key: &str| if small { key.to_ascii_lowercase().into_bytes() } else { key.as_bytes().to_vec() };
        self.pairs.iter().enumerate().map(move |(at, pair)| (key(&pair.0), at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(longest_match: bool) -> StringGroup {
        let pairs = ["/a", "/A/b", "jpg", "/a/b/c"].map(|key| (key.to_owned(), format!("value of {key}")));
        StringGroup::new("stringgroup-1".into(), "paths".into(), pairs.to_vec(), longest_match)
    }

    fn found(group: &StringGroup, criterion: Criterion, text: &str, small: bool) -> Option<String> {
        group.prepare(criterion, small).unwrap();
        group.find(criterion, text.as_bytes(), small).map(|key| group.value(key).to_owned())
    }

    #[test]
    fn shortest_key_counts_unless_the_longest_is_wanted() {
        use Criterion::*;
        for (criterion, text, small, short, long) in [
            (BeginsWith, "/a/b/c/d", true, Some("/a"), Some("/a/b/c")),
            (BeginsWith, "/a/b/", false, Some("/a"), Some("/a")),
            (BeginsWith, "/x", true, None, None),
            (Equals, "/a/b", true, Some("/A/b"), Some("/A/b")),
            (Equals, "/a/b", false, None, None),
            (EndsWith, "x/a/b", true, Some("/A/b"), Some("/A/b")),
            (EndsWith, "x.jpg", true, Some("jpg"), Some("jpg")),
            (Contains, "0/a/b/c.jpg?", true, Some("/a"), Some("/a/b/c")),
            (Regex, "x/a/b", true, Some("/a"), Some("/a")),
            (Exists, "/a", true, None, None),
        ] {
            for (longest, expected) in [(false, short), (true, long)] {
                let value = found(&group(longest), criterion, text, small);
                assert_eq!(value, expected.map(|key| format!("value of {key}")), "{criterion:?} {text} {longest}");
            }
        }
    }

    #[test]
    fn key_that_is_no_expression_is_told() {
        let group = StringGroup::new(String::new(), String::new(), vec![("(".into(), String::new())], false);
        assert!(matches!(group.prepare(Criterion::Regex, true), Err(TextError::Regex(_))));
    }
}
