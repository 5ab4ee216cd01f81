//! What names of hosts lead to: exact names first, then the longest of the patterns that match. Copies share their
//! entries, so that a change costs what it changes.
//!
//! A name is looked up once as a whole, and once for each number of labels that patterns have, whatever the number of
//! names. `cargo bench -p weir-snapshot` measures it.

use std::hash::{Hash, Hasher};

use hashbrown::Equivalent;
use memchr::{memchr, memchr_iter};

use crate::shared::Shared;

/// The longest name of a host (RFC 1035 §2.3.4).
const BYTES_MAX: usize = 253;

/// Places for dots: more than a name of this length has, and a power of two.
const DOTS: usize = 128;

/// The name of a host without a port and without the dot of the root. It is ASCII, and its case does not count. It is not
/// copied, because to do so takes longer than to look it up.
#[derive(Clone, Copy)]
pub struct HostName<'h>(&'h [u8]);

impl<'h> HostName<'h> {
    /// `host` is a server name of TLS, or what a request gives as its host, with or without a port. `None`: it is no
    /// name but an address, or longer than a name may be.
    pub fn of(host: &'h [u8]) -> Option<Self> {
        let end = memchr(b':', host).unwrap_or(host.len());
        let name = &host[..end];
        let name = name.strip_suffix(b".").unwrap_or(name);
        if name.is_empty() || name.len() > BYTES_MAX || name[0] == b'[' {
            return None;
        }
        name.is_ascii().then_some(Self(name))
    }

    pub fn to_lower_case(&self) -> String {
        String::from_utf8_lossy(self.0).to_ascii_lowercase()
    }
}

impl Eq for HostName<'_> {}

impl PartialEq for HostName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

/// A text of names by which a value is found, and the same of a name that is looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Text(Box<[u8]>);

struct Sought<'t>(&'t [u8]);

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(caseless_hash(&self.0));
    }
}

impl Hash for Sought<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(caseless_hash(self.0));
    }
}

impl Equivalent<Text> for Sought<'_> {
    fn equivalent(&self, text: &Text) -> bool {
        self.0.eq_ignore_ascii_case(&text.0)
    }
}

/// A hash of a text in which the case of letters does not count.
fn caseless_hash(text: &[u8]) -> u64 {
    const LOWER: u64 = 0x2020_2020_2020_2020;
    // A prime near the golden ratio of all numbers.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ (word | LOWER)).wrapping_mul(SPREAD);
        mixed ^ mixed >> 32
    };
    let (words, rest) = text.as_chunks::<8>();
    let hash = words.iter().fold(text.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

/// A name as an operator writes it, in lower case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Pattern {
    /// `www.a.test`
    Exact(Box<str>),
    /// `*.a.test`: all names below it, at any depth.
    Below(Box<str>),
    /// `.a.test`: `a.test` and all names below it.
    From(Box<str>),
    /// `www.a.*`: all names that begin with these labels.
    Beginning(Box<str>),
}

impl Pattern {
    /// `None`: it has none of the forms.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (form, name): (fn(Box<str>) -> Self, &str) = if let Some(name) = text.strip_prefix("*.") {
            (Pattern::Below, name)
        } else if let Some(name) = text.strip_prefix('.') {
            (Pattern::From, name)
        } else if let Some(name) = text.strip_suffix(".*") {
            (Pattern::Beginning, name)
        } else {
            (Pattern::Exact, &text)
        };
        let is_label = |label: &str| {
            !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        (name.len() <= BYTES_MAX && name.split('.').all(is_label)).then(|| form(name.into()))
    }

    /// Without its star.
    fn text(&self) -> &[u8] {
        match self {
            Pattern::Exact(name) | Pattern::Below(name) | Pattern::From(name) | Pattern::Beginning(name) => {
                name.as_bytes()
            }
        }
    }
}

/// A value for each pattern.
#[derive(Clone, Debug)]
pub(crate) struct Hosts<T> {
    /// By the text of exact names, and by what follows the `*.` or the dot of others.
    names: Shared<Text, Named<T>>,
    /// By what precedes the `.*`.
    beginnings: Shared<Text, T>,
    /// How many patterns there are, by how many labels their texts have: of those for endings, and for beginnings.
    endings_with: Lengths,
    beginnings_with: Lengths,
}

/// Numbers of texts by their numbers of labels. Longer ones count with the longest.
#[derive(Clone, Copy, Default, Debug)]
struct Lengths([u32; 8]);

impl Lengths {
    fn of(&mut self, text: &[u8]) -> &mut u32 {
        let dots = memchr_iter(b'.', text).count();
        &mut self.0[(dots + 1).min(7)]
    }

    fn has(&self, labels: usize) -> bool {
        self.0[labels.min(7)] > 0
    }
}

/// The values under one text.
#[derive(Clone, Debug)]
struct Named<T> {
    exact: Option<T>,
    from: Option<T>,
    below: Option<T>,
}

impl<T> Named<T> {
    fn slot(&mut self, pattern: &Pattern) -> &mut Option<T> {
        match pattern {
            Pattern::Exact(_) => &mut self.exact,
            Pattern::Below(_) => &mut self.below,
            Pattern::From(_) | Pattern::Beginning(_) => &mut self.from,
        }
    }
}

impl<T> Default for Hosts<T> {
    fn default() -> Self {
        Self {
            names: Shared::default(),
            beginnings: Shared::default(),
            endings_with: Lengths::default(),
            beginnings_with: Lengths::default(),
        }
    }
}

impl<T: Clone> Hosts<T> {
    /// Adds a pattern that is not there.
    pub fn put(&mut self, pattern: &Pattern, value: T) {
        let name = pattern.text();
        match pattern {
            Pattern::Exact(_) => {}
            Pattern::Below(_) | Pattern::From(_) => *self.endings_with.of(name) += 1,
            Pattern::Beginning(_) => {
                *self.beginnings_with.of(name) += 1;
                return drop(self.beginnings.insert(Text(name.into()), value));
            }
        }
        let mut named = self.names.remove(&Sought(name)).unwrap_or(Named { exact: None, from: None, below: None });
        *named.slot(pattern) = Some(value);
        self.names.insert(Text(name.into()), named);
    }

    /// Removes a pattern.
    pub fn take(&mut self, pattern: &Pattern) -> Option<T> {
        let name = pattern.text();
        if let Pattern::Beginning(_) = pattern {
            let taken = self.beginnings.remove(&Sought(name))?;
            *self.beginnings_with.of(name) -= 1;
            return Some(taken);
        }
        let mut named = self.names.remove(&Sought(name))?;
        let taken = named.slot(pattern).take();
        if named.exact.is_some() || named.from.is_some() || named.below.is_some() {
            self.names.insert(Text(name.into()), named);
        }
        if taken.is_some() && !matches!(pattern, Pattern::Exact(_)) {
            *self.endings_with.of(name) -= 1;
        }
        taken
    }

    /// What a name leads to.
    pub fn find(&self, name: HostName<'_>) -> Option<&T> {
        let text = name.0;
        let whole = self.names.get(&Sought(text)).and_then(|named| named.exact.as_ref().or(named.from.as_ref()));
        whole.or_else(|| self.find_pattern(text))
    }

    fn find_pattern(&self, text: &[u8]) -> Option<&T> {
        let (mut places, mut count) = ([0; DOTS], 0);
        // Without a branch, because nobody can foresee where the next dot is.
        for (at, byte) in text.iter().enumerate() {
            places[count % DOTS] = at as u8;
            count += usize::from(*byte == b'.');
        }
        // The last place may be written without being counted.
        let dots = places[..DOTS - 1].get(..count)?;
        let labels = dots.len() + 1;
        let mut endings = dots.iter().zip(1..).filter(|(_, before)| self.endings_with.has(labels - before));
        let ending = endings.find_map(|(dot, _)| {
            let named = self.names.get(&Sought(&text[usize::from(*dot) + 1..]))?;
            Some((*dot, named.below.as_ref().or(named.from.as_ref())?))
        });
        // Of two patterns the longer one.
        let shortest = ending.map_or(0, |(dot, _)| text.len() - usize::from(dot));
        let mut beginnings = dots.iter().rev().zip(1..).filter(|(_, behind)| self.beginnings_with.has(labels - behind));
        let beginning = beginnings.find_map(|(dot, _)| {
            let dot = usize::from(*dot);
            (dot >= shortest).then(|| self.beginnings.get(&Sought(&text[..dot]))).flatten()
        });
        beginning.or(ending.map(|(_, value)| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(patterns: &[&str]) -> Hosts<String> {
        let mut hosts = Hosts::default();
        patterns.iter().for_each(|text| hosts.put(&Pattern::read(text).unwrap(), text.to_string()));
        hosts
    }

    fn found(hosts: &Hosts<String>, name: &str) -> String {
        HostName::of(name.as_bytes()).and_then(|name| hosts.find(name)).cloned().unwrap_or_default()
    }

    #[test]
    fn exact_name_wins_and_then_the_longest_pattern() {
        let all = hosts(&[
            "www.a.test",
            "*.a.test",
            "*.b.a.test",
            ".c.test",
            "c.test",
            "*.test",
            "www.*",
            "www.shop.*",
            "x.y.z.*",
            "*.z.test",
        ]);
        for (name, pattern) in [
            ("www.a.test", "www.a.test"),
            ("WWW.A.Test:443", "www.a.test"),
            ("www.a.test.", "www.a.test"),
            ("a.test", "*.test"),
            ("x.a.test", "*.a.test"),
            ("x.y.a.test", "*.a.test"),
            ("b.a.test", "*.a.test"),
            ("x.b.a.test", "*.b.a.test"),
            ("c.test", "c.test"),
            ("x.c.test", ".c.test"),
            ("x.y.c.test", ".c.test"),
            ("www.shop.test", "www.shop.*"),
            ("www.shop.co.test", "www.shop.*"),
            ("www.shop", "www.*"),
            ("www.other", "www.*"),
            ("www.b.a.test", "*.b.a.test"),
            ("x.y.z.test", "*.z.test"),
            ("x.y.z.de", "x.y.z.*"),
            ("w.y.z.test", "*.z.test"),
            ("test", ""),
            ("shop", ""),
            ("wwww.other", ""),
            ("", ""),
            ("[::1]:80", ""),
            ("192.0.2.1", ""),
        ] {
            assert_eq!(found(&all, name), pattern, "{name}");
        }
    }

    #[test]
    fn pattern_of_a_domain_and_all_below_it_matches_the_domain() {
        let all = hosts(&[".a.test"]);
        assert_eq!(["a.test", "x.a.test", "xa.test"].map(|name| found(&all, name)), [".a.test", ".a.test", ""]);
    }

    #[test]
    fn what_has_none_of_the_forms_is_no_pattern() {
        for text in
            ["", "*", ".", "*.", ".*", "a..b", "*a.test", "a.*.test", "a.*.*", "a test", "*.a.*", "a/b", "ä.test"]
        {
            assert_eq!(Pattern::read(text), None, "{text}");
        }
    }

    #[test]
    fn removed_pattern_leaves_the_others_under_its_text() {
        let mut all = hosts(&["a.test", "*.a.test", "a.test.*"]);
        let before = all.clone();
        assert_eq!(all.take(&Pattern::read("*.a.test").unwrap()).as_deref(), Some("*.a.test"));
        assert_eq!(["a.test", "x.a.test"].map(|name| found(&all, name)), ["a.test", ""]);
        assert!(all.take(&Pattern::read("a.test.*").unwrap()).is_some());
        assert_eq!(found(&all, "a.test.x"), "");
        assert_eq!(found(&before, "x.a.test"), "*.a.test");
    }

    #[test]
    fn case_of_a_name_does_not_count() {
        let texts = (1..=BYTES_MAX).map(|len| (0..len).map(|at| b"az-9.Q"[(at * 7 + len) % 6]).collect::<Vec<_>>());
        for text in texts {
            let other: Vec<u8> =
                text.iter().map(|byte| byte ^ if byte.is_ascii_alphabetic() { 0x20 } else { 0 }).collect();
            assert_eq!(caseless_hash(&text), caseless_hash(&other));
            assert!(Sought(&other).equivalent(&Text(text.clone().into())));
            assert!(HostName::of(&text) == HostName::of(&other), "{text:?}");
        }
        assert!(HostName::of(b"a[.test") != HostName::of(b"a{.test"));
        assert_eq!(HostName::of(b"WWW.a.Test.:80").unwrap().to_lower_case(), "www.a.test");
        assert!((0x80..=u8::MAX).all(|byte| HostName::of(&[b'a', byte]).is_none()));
    }

    #[test]
    fn names_that_are_alike_have_other_hashes() {
        let names = (0..100_000).map(|n| format!("host-{n}.shop.example.com"));
        let hashes: std::collections::BTreeSet<_> = names.map(|name| caseless_hash(name.as_bytes())).collect();
        assert_eq!(hashes.len(), 100_000);
    }

    #[test]
    fn name_of_dots_leads_nowhere() {
        let all = hosts(&["*.test"]);
        assert_eq!(found(&all, &(".".repeat(DOTS - 1) + "test")), "*.test");
        assert_eq!([DOTS, BYTES_MAX].map(|dots| found(&all, &".".repeat(dots))), ["", ""]);
    }

    #[test]
    fn name_that_is_too_long_for_one_leads_nowhere() {
        assert!(HostName::of(&[b'a'; 254]).is_none() && HostName::of(&[b'a'; 253]).is_some());
    }
}
