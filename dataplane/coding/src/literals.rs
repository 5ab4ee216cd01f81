//! Texts that are searched for as they are.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use crate::found::Found;

pub(crate) struct Literals {
    automaton: AhoCorasick,
    /// The pair that each text belongs to, by pattern of the automaton.
    pairs: Box<[usize]>,
    /// The texts, sorted.
    sorted: Box<[Box<[u8]>]>,
    longest: usize,
}

impl Literals {
    /// Of pairs and their texts, in the order in which they count. `None`: there is none, one is empty, or they are too long
    /// together.
    pub fn new(texts: &[(usize, &[u8])]) -> Option<Self> {
        let longest = texts.iter().map(|(_, text)| text.len()).max()?;
        if texts.iter().any(|(_, text)| text.is_empty()) {
            return None;
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            // A DFA of a hundred long texts, which the builder would choose, takes a hundred megabytes.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(texts.iter().map(|(_, text)| text))
            .ok()?;
        let mut sorted: Vec<Box<[u8]>> = texts.iter().map(|(_, text)| Box::from(*text)).collect();
        sorted.sort_unstable();
        Some(Self { automaton, pairs: texts.iter().map(|(pair, _)| *pair).collect(), sorted: sorted.into(), longest })
    }

    pub fn bytes(&self) -> usize {
        self.automaton.memory_usage() + self.sorted.iter().map(|text| text.len()).sum::<usize>()
    }

    pub fn find(&self, content: &[u8], at: usize) -> Option<Found> {
        let found = self.automaton.find(Input::new(content).range(at..))?;
        let pair = self.pairs[found.pattern().as_usize()];
        Some(Found { begin: found.start(), end: found.end(), pair })
    }

    /// Where the first text may begin, at `at` or later, whose end has not come.
    pub fn open_from(&self, content: &[u8], at: usize) -> usize {
        let first = at.max((content.len() + 1).saturating_sub(self.longest));
        (first..content.len()).find(|&begin| self.is_beginning(&content[begin..])).unwrap_or(content.len())
    }

    /// Whether a longer text begins so.
    fn is_beginning(&self, tail: &[u8]) -> bool {
        let next = self.sorted.partition_point(|text| **text <= *tail);
        self.sorted.get(next).is_some_and(|text| text.starts_with(tail))
    }
}
