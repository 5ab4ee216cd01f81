//! Replaces the texts of one response, whose content comes in pieces and goes on in blocks. So what is made of a piece may be
//! many times as long, and never stands in memory as a whole.

use std::{fmt, sync::Arc};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

/// A text, and what stands in its place then.
pub type Pair<'t> = (&'t [u8], &'t [u8]);

pub(crate) struct Pairs {
    automaton: AhoCorasick,
    /// By pattern of the automaton.
    replacements: Box<[Box<[u8]>]>,
    /// The texts that are searched for, sorted.
    sorted: Box<[Box<[u8]>]>,
    longest: usize,
}

pub struct Replacer {
    pairs: Arc<Pairs>,
    /// What has come. It has gone on up to `at`.
    content: Vec<u8>,
    at: usize,
    /// What goes on next: the content up to here, and the replacement from here on.
    plain_end: usize,
    replacement: Option<Replacement>,
    /// From where on content may be the beginning of a text whose end has not come. `None`: that is to be found out.
    open: Option<usize>,
    /// More may go on.
    is_due: bool,
    has_ended: bool,
}

#[derive(Clone, Copy)]
struct Replacement {
    pattern: usize,
    written: usize,
    /// Where the text ends that it replaces.
    text_end: usize,
}

impl Replacer {
    pub(crate) fn new(pairs: Arc<Pairs>) -> Self {
        Self {
            pairs,
            content: Vec::new(),
            at: 0,
            plain_end: 0,
            replacement: None,
            open: Some(0),
            is_due: false,
            has_ended: false,
        }
    }

    /// Takes a piece of the content. Until [`write`](Self::write) leaves room, the caller should bring no more.
    pub fn take(&mut self, piece: &[u8]) {
        self.content.drain(..self.at);
        self.plain_end -= self.at;
        if let Some(replacement) = &mut self.replacement {
            replacement.text_end -= self.at;
        }
        self.at = 0;
        self.content.extend_from_slice(piece);
        (self.open, self.is_due) = (None, true);
    }

    /// No more content comes.
    pub fn end(&mut self) {
        if !self.has_ended {
            (self.has_ended, self.open, self.is_due) = (true, Some(self.content.len()), true);
        }
    }

    /// Whether more may go on before more comes.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Bytes of content that have not gone on.
    pub fn held_bytes(&self) -> usize {
        self.content.len() - self.at
    }

    /// Writes what is certain of the content that goes on, as far as there is room. Returns its length.
    pub fn write(&mut self, room: &mut [u8]) -> usize {
        let mut written = 0;
        while written < room.len() {
            let room = &mut room[written..];
            if self.at < self.plain_end {
                let bytes = copy(&self.content[self.at..self.plain_end], room);
                (self.at, written) = (self.at + bytes, written + bytes);
            } else if let Some(replacement) = &mut self.replacement {
                let bytes = copy(&self.pairs.replacements[replacement.pattern][replacement.written..], room);
                (replacement.written, written) = (replacement.written + bytes, written + bytes);
                if replacement.written == self.pairs.replacements[replacement.pattern].len() {
                    self.at = replacement.text_end;
                    self.plain_end = self.at;
                    self.replacement = None;
                }
            } else if !self.decide() {
                self.is_due = false;
                break;
            }
        }
        written
    }

    /// Finds what goes on next. False: the next piece decides.
    fn decide(&mut self) -> bool {
        let open = match self.open {
            Some(open) if self.at <= open => open,
            // A text may have taken what could have been the beginning of another one.
            _ => self.pairs.open_from(&self.content, self.at),
        };
        self.open = Some(open);
        if self.at == open {
            return false;
        }
        // A text that begins before `open` ends in what has come, and no other one can come before it.
        let found = self.pairs.automaton.find(Input::new(&self.content).range(self.at..));
        match found.filter(|found| found.start() < open) {
            Some(found) => {
                self.plain_end = found.start();
                let (pattern, text_end) = (found.pattern().as_usize(), found.end());
                self.replacement = Some(Replacement { pattern, written: 0, text_end });
            }
            None => self.plain_end = open,
        }
        true
    }
}

fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let bytes = from.len().min(to.len());
    to[..bytes].copy_from_slice(&from[..bytes]);
    bytes
}

impl Pairs {
    /// `None`: there is no pair, a text is empty, or the texts are too long together.
    pub fn new(pairs: &[Pair<'_>]) -> Option<Self> {
        if pairs.is_empty() || pairs.iter().any(|(search, _)| search.is_empty()) {
            return None;
        }
        let texts = || pairs.iter().map(|(search, _)| *search);
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            // A DFA of a hundred long texts, which the builder would choose, takes a hundred megabytes.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(texts())
            .ok()?;
        let mut sorted: Vec<Box<[u8]>> = texts().map(Box::from).collect();
        sorted.sort_unstable();
        Some(Self {
            automaton,
            replacements: pairs.iter().map(|(_, replacement)| Box::from(*replacement)).collect(),
            sorted: sorted.into(),
            longest: texts().map(<[u8]>::len).max()?,
        })
    }

    pub fn bytes(&self) -> usize {
        let texts = self.sorted.iter().chain(&self.replacements).map(|text| text.len()).sum::<usize>();
        self.automaton.memory_usage() + texts
    }

    /// Where the first text may begin, at `at` or later, whose end has not come.
    fn open_from(&self, content: &[u8], at: usize) -> usize {
        let first = at.max((content.len() + 1).saturating_sub(self.longest));
        (first..content.len()).find(|&begin| self.is_beginning(&content[begin..])).unwrap_or(content.len())
    }

    /// Whether a longer text begins so.
    fn is_beginning(&self, tail: &[u8]) -> bool {
        let next = self.sorted.partition_point(|text| **text <= *tail);
        self.sorted.get(next).is_some_and(|text| text.starts_with(tail))
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(&self.sorted).finish()
    }
}
