//! What names of hosts lead to: exact names first, then the longest of the patterns that match. Copies share their
//! entries, so that a change costs what it changes.
//!
//! A name is looked up once as a whole, and once for each number of labels that patterns have, whatever the number of
//! names. `cargo bench -p weir-snapshot` measures it.

use std::iter::successors;

use memchr::{memchr, memchr_iter};

use crate::shared::Shared;

/// The longest name of a host (RFC 1035 §2.3.4).
const BYTES_MAX: usize = 253;

/// More than a name of this length has, if none is empty.
const LABELS_MAX: usize = 127;

/// Places for the bytes of a name, in words.
const WORDS: usize = BYTES_MAX.div_ceil(8);
/// 1 in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const HIGHEST: u64 = ONES << 7;

/// The name of a host as it is compared: in lower case, without a port and without the dot of the root.
#[derive(Clone, Copy)]
pub struct HostName {
    bytes: [u8; WORDS * 8],
    len: u8,
    dots: Dots,
}

impl HostName {
    /// `host` is a server name of TLS, or what a request gives as its host, with or without a port. `None`: it is no
    /// name but an address, or longer than a name may be.
    pub fn of(host: &[u8]) -> Option<Self> {
        let end = memchr(b':', host).unwrap_or(host.len());
        let name = &host[..end];
        let name = name.strip_suffix(b".").unwrap_or(name);
        if name.is_empty() || name.len() > BYTES_MAX || name[0] == b'[' {
            return None;
        }
        let (mut bytes, mut dots, mut all) = ([0; WORDS * 8], Dots::default(), 0);
        bytes[..name.len()].copy_from_slice(name);
        // Eight bytes at once, because most names are short, and a loop over the rest of a name takes longer than its words.
        let (words, _) = bytes[..name.len().next_multiple_of(8)].as_chunks_mut::<8>();
        for (number, chunk) in words.iter_mut().enumerate() {
            let word = u64::from_le_bytes(*chunk);
            all |= word;
            dots.0[number / 8] |= u64::from(each_of(word ^ (ONES * u64::from(b'.')))) << (number % 8 * 8);
            *chunk = lower(word).to_le_bytes();
        }
        (all & HIGHEST == 0).then_some(Self { bytes, len: name.len() as u8, dots })
    }

    pub fn as_str(&self) -> &str {
        // Always ASCII.
        str::from_utf8(self.text()).unwrap_or_default()
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

/// Which bytes of a word of ASCII are 0, one bit for each.
fn each_of(word: u64) -> u8 {
    let zeroes = !((word & !HIGHEST) + !HIGHEST) & !word & HIGHEST;
    // Brings the bits, each of a byte of its own, together in the highest byte.
    ((zeroes >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// A word of ASCII in lower case.
fn lower(word: u64) -> u64 {
    let low = word & !HIGHEST;
    let from_a = low + ONES * u64::from(0x80 - b'A');
    let beyond_z = low + ONES * u64::from(0x7f - b'Z');
    word | (from_a & !beyond_z & !word & HIGHEST) >> 2
}

/// Where the dots of a name are, one bit for each byte.
#[derive(Clone, Copy, Default)]
struct Dots([u64; WORDS.div_ceil(8)]);

impl Dots {
    fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let ends = |at: usize, bits: u64| (bits != 0).then(|| at * 64 + bits.trailing_zeros() as usize);
        self.0.iter().enumerate().flat_map(move |(at, bits)| {
            successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1))).map_while(move |bits| ends(at, bits))
        })
    }

    /// From the last one on.
    fn rev(&self) -> impl Iterator<Item = usize> {
        let ends = |at: usize, bits: u64| Some(at * 64 + bits.checked_ilog2()? as usize);
        self.0.iter().enumerate().rev().flat_map(move |(at, bits)| {
            successors(Some(*bits), |bits| Some(bits & !(1 << bits.checked_ilog2()?)))
                .map_while(move |bits| ends(at, bits))
        })
    }
}

impl Eq for HostName {}

impl PartialEq for HostName {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
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
    names: Shared<Box<[u8]>, Named<T>>,
    /// By what precedes the `.*`.
    beginnings: Shared<Box<[u8]>, T>,
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
                return drop(self.beginnings.insert(name.into(), value));
            }
        }
        let mut named = self.names.remove(name).unwrap_or(Named { exact: None, from: None, below: None });
        *named.slot(pattern) = Some(value);
        self.names.insert(name.into(), named);
    }

    /// Removes a pattern.
    pub fn take(&mut self, pattern: &Pattern) -> Option<T> {
        let name = pattern.text();
        if let Pattern::Beginning(_) = pattern {
            let taken = self.beginnings.remove(name)?;
            *self.beginnings_with.of(name) -= 1;
            return Some(taken);
        }
        let mut named = self.names.remove(name)?;
        let taken = named.slot(pattern).take();
        if named.exact.is_some() || named.from.is_some() || named.below.is_some() {
            self.names.insert(name.into(), named);
        }
        if taken.is_some() && !matches!(pattern, Pattern::Exact(_)) {
            *self.endings_with.of(name) -= 1;
        }
        taken
    }

    /// What a name leads to.
    pub fn find(&self, name: &HostName) -> Option<&T> {
        let whole = self.names.get(name.text()).and_then(|named| named.exact.as_ref().or(named.from.as_ref()));
        whole.or_else(|| self.find_pattern(name))
    }

    fn find_pattern(&self, name: &HostName) -> Option<&T> {
        let (text, dots) = (name.text(), &name.dots);
        let labels = dots.count() + 1;
        if labels > LABELS_MAX {
            return None;
        }
        let mut endings = dots.iter().zip(1..).filter(|(_, before)| self.endings_with.has(labels - before));
        let ending = endings.find_map(|(dot, _)| {
            let named = self.names.get(&text[dot + 1..])?;
            Some((dot, named.below.as_ref().or(named.from.as_ref())?))
        });
        // Of two patterns the longer one.
        let shortest = ending.map_or(0, |(dot, _)| text.len() - dot);
        let mut beginnings = dots.rev().zip(1..).filter(|(_, behind)| self.beginnings_with.has(labels - behind));
        let beginning =
            beginnings.find_map(|(dot, _)| (dot >= shortest).then(|| self.beginnings.get(&text[..dot])).flatten());
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
        HostName::of(name.as_bytes()).and_then(|name| hosts.find(&name)).cloned().unwrap_or_default()
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
    fn name_is_in_lower_case_and_its_dots_are_known() {
        for len in 1..=BYTES_MAX {
            let bytes = |first: usize| (0..len).map(move |at| b".@AZ[`az{-"[(first + at * 7) % 10]);
            for text in (0..10).map(|first| bytes(first).collect::<Vec<_>>()) {
                let Some(name) = HostName::of(&text) else {
                    assert!(text[0] == b'[' || text == b".", "{text:?}");
                    continue;
                };
                let kept = text.strip_suffix(b".").unwrap_or(&text);
                let expected: Vec<_> = memchr_iter(b'.', kept).collect();
                assert_eq!(name.as_str().as_bytes(), kept.to_ascii_lowercase());
                assert!(name.dots.iter().eq(expected.iter().copied()), "{text:?}");
                assert!(name.dots.rev().eq(expected.iter().rev().copied()) && name.dots.count() == expected.len());
            }
        }
        assert!((0x80..=u8::MAX).all(|byte| HostName::of(&[b'a', byte]).is_none()));
    }

    #[test]
    fn name_that_is_too_long_for_one_leads_nowhere() {
        assert!(HostName::of(&[b'a'; 254]).is_none() && HostName::of(&[b'a'; 253]).is_some());
    }
}
