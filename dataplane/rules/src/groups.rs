//! Groups of strings. Rules compare texts with the keys of a group, and may use the value of the key that matches.

use std::{cmp::Reverse, sync::OnceLock};

use aho_corasick::{Anchored, PatternID, automaton::Automaton, nfa::contiguous};
use foldhash::{HashSet, HashSetExt};
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
    parts: OnceLock<Option<Box<Parts>>>,
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
            Criterion::Contains => return self.parts(small)?.find(text, self.longest_match),
            Criterion::Regex => {
                let Ok(expressions) = self.expressions(small) else { return None };
                return expressions.find(text).map(|found| found.pattern().as_u32());
            }
        };
        // Of keys that differ in the case alone, the first one counts.
        let key = match self.longest_match {
            true => found.max_by_key(|found| (found.0, Reverse(found.1))),
            false => found.min_by_key(|found| *found),
        };
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

    fn parts(&self, small: bool) -> Option<&Parts> {
        let build = || Parts::of(self.keys(small)).map(Box::new);
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

/// Finds keys within a text, in a time that the text alone decides: however many keys end at one place, one of them counts.
#[derive(Debug)]
struct Parts {
    automaton: contiguous::NFA,
    /// Of the patterns of the automaton.
    keys: Vec<u32>,
}

impl Parts {
    /// `None`: the keys are too much.
    fn of(keys: impl Iterator<Item = (Vec<u8>, u32)>) -> Option<Self> {
        let mut known = HashSet::new();
        // Of keys that are the same, the first one counts.
        let (texts, keys): (Vec<_>, Vec<_>) = keys.filter(|(key, _)| known.insert(key.clone())).unzip();
        // A key that begins a text that has none is found by the automaton as soon as by a search before it.
        let automaton = contiguous::Builder::new().prefilter(false).build(texts).ok()?;
        Some(Self { automaton, keys })
    }

    /// The shortest key within a text, or the longest. Of several, the one that ends first.
    fn find(&self, text: &[u8], longest: bool) -> Option<u32> {
        let automaton = &self.automaton;
        let goal = if longest { automaton.max_pattern_len() } else { automaton.min_pattern_len() };
        let mut best: Option<(usize, PatternID)> = None;
        let mut state = automaton.start_state(Anchored::No).ok()?;
        let mut rest = text.iter();
        loop {
            if automaton.is_match(state) {
                // The keys that end here, from the longest to the shortest.
                let at = if longest { 0 } else { automaton.match_len(state) - 1 };
                let key = automaton.match_pattern(state, at);
                let len = automaton.pattern_len(key);
                if best.is_none_or(|(best, _)| if longest { len > best } else { len < best }) {
                    best = Some((len, key));
                    if len == goal {
                        break;
                    }
                }
            }
            let Some(byte) = rest.next() else { break };
            state = automaton.next_state(Anchored::No, state, *byte);
        }
        best.and_then(|(_, key)| self.keys.get(key.as_usize()).copied())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

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
    fn search_within_finds_what_looking_at_all_keys_finds() {
        let mut number = 1u64;
        let mut next = |below: u64| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (number >> 33) % below
        };
        for _ in 0..2000 {
            let mut word = |most: u64| -> String {
                let len = next(most + 1);
                (0..len).map(|_| ['a', 'b', 'A'][next(3) as usize]).collect()
            };
            let keys: Vec<String> = (0..8).map(|_| word(4)).filter(|key| !key.is_empty()).collect();
            let text = word(12);
            for (longest, small) in [(false, false), (false, true), (true, false), (true, true)] {
                let pairs = keys.iter().map(|key| (key.clone(), String::new())).collect();
                let group = StringGroup::new(String::new(), String::new(), pairs, longest);
                let fold = |text: &str| if small { text.to_ascii_lowercase() } else { text.to_owned() };
                let text = fold(&text);
                // Where it ends, its length, and its place among the keys.
                let ends = (0..=text.len()).flat_map(|end| keys.iter().map(move |key| (end, key)).enumerate());
                let all: Vec<(usize, u32)> = ends
                    .filter(|(_, (end, key))| text[..*end].ends_with(&fold(key)))
                    .map(|(at, (_, key))| (key.len(), at as u32))
                    .collect();
                let best = all.iter().map(|found| found.0);
                let best = if longest { best.max() } else { best.min() };
                let wanted = all.iter().find(|found| Some(found.0) == best).map(|found| found.1);
                let found = group.find(Criterion::Contains, text.as_bytes(), small);
                assert_eq!(found, wanted, "{keys:?} in {text}, longest {longest}, small {small}");
            }
        }
    }

    #[test]
    fn search_within_takes_as_long_as_the_text() {
        let pairs = (2..1500).map(|len| ("a".repeat(len), String::new())).chain([("z".into(), String::new())]);
        let text = "a".repeat(200_000);
        for longest in [false, true] {
            let group = StringGroup::new(String::new(), String::new(), pairs.clone().collect(), longest);
            group.prepare(Criterion::Contains, false).unwrap();
            let quickest = (0..5).map(|_| {
                let since = Instant::now();
                assert!(group.find(Criterion::Contains, text.as_bytes(), false).is_some());
                since.elapsed()
            });
            let quickest = quickest.min().unwrap();
            assert!(quickest.as_millis() < 50, "longest {longest}: {quickest:?}");
        }
    }

    #[test]
    fn first_of_keys_that_differ_in_case_alone_counts() {
        use Criterion::*;
        let pairs = ["/a", "/A", "/b"].map(|key| (key.to_owned(), format!("value of {key}")));
        for longest in [false, true] {
            let group = StringGroup::new(String::new(), String::new(), pairs.to_vec(), longest);
            for criterion in [Equals, BeginsWith, EndsWith, Contains] {
                assert_eq!(
                    found(&group, criterion, "/a", true).as_deref(),
                    Some("value of /a"),
                    "{criterion:?} {longest}"
                );
            }
        }
    }

    #[test]
    fn key_that_is_no_expression_is_told() {
        let group = StringGroup::new(String::new(), String::new(), vec![("(".into(), String::new())], false);
        assert!(matches!(group.prepare(Criterion::Regex, true), Err(TextError::Regex(_))));
    }
}
