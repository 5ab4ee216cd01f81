//! Replaces the texts of one response, whose content comes in pieces and goes on in blocks. So what is made of a piece may be
//! many times as long, and never stands in memory as a whole.

use std::{rc::Rc, sync::Arc};

use regex_automata::util::primitives::NonMaxUsize;

use crate::{
    expressions::Located,
    found::{Found, Next},
    literals::Literals,
    pairs::{Pairs, Part},
};

/// What the variables of a service stand for in one response, by their numbers.
pub type Values = Rc<[Box<[u8]>]>;

/// Bytes that one call of [`Replacer::write`] looks at for expressions, at most: a few milliseconds of work.
const WORK_MOST: usize = 1 << 20;
/// Bytes that are looked at per piece to hold back less of it.
const LOOK_MOST: usize = 64 << 10;
/// So many bytes that are looked at take the time of one that is written.
const WORK_PER_BYTE: usize = 16;

pub struct Replacer {
    pairs: Arc<Pairs>,
    /// `None`: there are no variables.
    values: Option<Values>,
    /// The texts of variables that are searched for.
    varied: Option<Box<Literals>>,
    /// What has come. It has gone on up to `at`, of which the last byte stays: expressions may look at it.
    content: Vec<u8>,
    at: usize,
    /// What goes on next: the content up to here, and the replacement from here on.
    plain_end: usize,
    replacement: Option<Replacement>,
    /// From where on content may be the beginning of a text whose end has not come. `None`: that is to be found out.
    open: Option<usize>,
    /// The next texts: those of literals, expressions and variables.
    next: [Next; 3],
    /// Room for the groups of expressions.
    slots: Vec<Option<NonMaxUsize>>,
    /// Bytes that were looked at for expressions in this call, and in this piece for what is held back.
    work: usize,
    looked: usize,
    /// More may go on.
    is_due: bool,
    has_ended: bool,
}

#[derive(Clone, Copy)]
struct Replacement {
    pair: usize,
    /// The part that is written next, and how much of it is.
    part: usize,
    written: usize,
    /// Where the text ends that it replaces.
    text_end: usize,
    /// Where its groups stand, before so many bytes of the content had gone.
    located: Option<Located>,
    gone: usize,
}

impl Replacer {
    pub(crate) fn new(pairs: Arc<Pairs>, values: Option<Values>) -> Self {
        let varied = values.as_deref().and_then(|values| pairs.varied(values));
        Self {
            pairs,
            values,
            varied,
            content: Vec::new(),
            at: 0,
            plain_end: 0,
            replacement: None,
            open: Some(0),
            next: [Next::From(0); 3],
            slots: Vec::new(),
            work: 0,
            looked: 0,
            is_due: false,
            has_ended: false,
        }
    }

    /// Takes a piece of the content. Until [`write`](Self::write) leaves room, the caller should bring no more.
    pub fn take(&mut self, piece: &[u8]) {
        let gone = self.at.saturating_sub(1);
        self.content.drain(..gone);
        self.plain_end -= gone;
        if let Some(replacement) = &mut self.replacement {
            replacement.text_end -= gone;
            replacement.gone += gone;
        }
        self.at -= gone;
        self.content.extend_from_slice(piece);
        // What was found last may go on in this piece.
        self.next = [Next::From(self.at); 3];
        (self.open, self.looked, self.is_due) = (None, 0, true);
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

    /// What the last call of [`write`](Self::write) has worked besides what it has written, in bytes that take as long.
    pub fn worked_bytes(&self) -> usize {
        self.work / WORK_PER_BYTE
    }

    /// Writes what is certain of the content that goes on, as far as there is room and not too much work. Returns its length.
    pub fn write(&mut self, room: &mut [u8]) -> usize {
        let mut written = 0;
        self.work = 0;
        while written < room.len() {
            let room = &mut room[written..];
            if self.at < self.plain_end {
                let bytes = copy(&self.content[self.at..self.plain_end], room);
                (self.at, written) = (self.at + bytes, written + bytes);
            } else if let Some(replacement) = self.replacement {
                match self.rest_of_part(replacement) {
                    Some(rest) => {
                        let bytes = copy(rest, room);
                        written += bytes;
                        let is_whole = bytes == rest.len();
                        let (part, of_part) = match is_whole {
                            true => (replacement.part + 1, 0),
                            false => (replacement.part, replacement.written + bytes),
                        };
                        self.replacement = Some(Replacement { part, written: of_part, ..replacement });
                    }
                    None => {
                        (self.at, self.plain_end) = (replacement.text_end, replacement.text_end);
                        self.replacement = None;
                    }
                }
            } else {
                match self.decide() {
                    Decided::More => {}
                    // It goes on in the next call.
                    Decided::Later => break,
                    Decided::Nothing => {
                        self.is_due = false;
                        break;
                    }
                }
            }
        }
        written
    }

    /// What is left of the part that is written. `None`: all parts are written.
    fn rest_of_part(&self, of: Replacement) -> Option<&[u8]> {
        let part = match self.pairs.replacement(of.pair).get(of.part)? {
            Part::Text(text) => &text[..],
            Part::Variable(variable) => self.values.as_deref().map_or(&[][..], |values| &values[*variable]),
            Part::Group(group) => {
                let found = of.located.zip(self.pairs.expressions.as_ref());
                let span = found.and_then(|(located, expressions)| expressions.group(located, *group, &self.slots));
                // A group that has not taken part is empty.
                span.map_or(&[][..], |(begin, end)| &self.content[begin - of.gone..end - of.gone])
            }
        };
        Some(&part[of.written..])
    }

    /// Finds what goes on next.
    fn decide(&mut self) -> Decided {
        let open = match self.open {
            Some(open) if self.at <= open => open,
            // A text may have taken what could have been the beginning of another one.
            _ => self.open_from(),
        };
        self.open = Some(open);
        if self.at == open {
            return Decided::Nothing;
        }
        self.search();
        let mut nearest: Option<Found> = None;
        let mut searched_to = open;
        for next in self.next {
            match next {
                Next::Found(found)
                    if nearest.is_none_or(|best| (found.begin, found.pair) < (best.begin, best.pair)) =>
                {
                    nearest = Some(found);
                }
                Next::From(at) => searched_to = searched_to.min(at),
                _ => {}
            }
        }
        // A text that begins before `open` ends in what has come, and no other one can come before it.
        match nearest.filter(|found| found.begin < searched_to) {
            Some(found) => {
                self.plain_end = found.begin;
                let located = self.locate(found);
                self.replacement =
                    Some(Replacement { pair: found.pair, part: 0, written: 0, text_end: found.end, located, gone: 0 });
            }
            None if self.at == searched_to => return Decided::Later,
            None => self.plain_end = searched_to,
        }
        Decided::More
    }

    fn open_from(&mut self) -> usize {
        if self.has_ended {
            return self.content.len();
        }
        let (content, at) = (&self.content[..], self.at);
        let literals = self.pairs.literals.as_ref().map(|literals| literals.open_from(content, at));
        let varied = self.varied.as_ref().map(|texts| texts.open_from(content, at));
        let expressions = self.pairs.expressions.as_ref();
        let before = self.looked;
        let expressions = expressions.map(|by| by.open_from(content, at, &mut self.looked, LOOK_MOST));
        self.work += self.looked - before;
        literals.into_iter().chain(varied).chain(expressions).min().unwrap_or(content.len())
    }

    /// Finds the next text in each way that knows none yet, or one that another text has taken a part of.
    fn search(&mut self) {
        let (content, at) = (&self.content[..], self.at);
        let from = |next: Next| match next {
            Next::From(from) => Some(from.max(at)),
            Next::Found(found) if found.begin < at => Some(at),
            Next::Found(_) | Next::None => None,
        };
        let among = |literals: Option<&Literals>, from| match literals.and_then(|texts| texts.find(content, from)) {
            Some(found) => Next::Found(found),
            None => Next::None,
        };
        let [of_literals, of_expressions, of_variables] = &mut self.next;
        if let Some(from) = from(*of_literals) {
            *of_literals = among(self.pairs.literals.as_ref(), from);
        }
        if let Some(from) = from(*of_variables) {
            *of_variables = among(self.varied.as_deref(), from);
        }
        if let Some(from) = from(*of_expressions) {
            *of_expressions = match &self.pairs.expressions {
                Some(expressions) => expressions.find(content, from, &mut self.work, WORK_MOST),
                None => Next::None,
            };
        }
    }

    /// Finds the groups of what was found, if they are written.
    fn locate(&mut self, found: Found) -> Option<Located> {
        let expressions = self.pairs.expressions.as_ref().filter(|_| self.pairs.writes_groups(found.pair))?;
        self.work += expressions.work_of(found.end - found.begin);
        expressions.locate(&self.content, found.begin, &mut self.slots)
    }
}

/// What a look at the content has come to.
enum Decided {
    /// More goes on.
    More,
    /// There was too much work for now.
    Later,
    /// The next piece decides.
    Nothing,
}

fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let bytes = from.len().min(to.len());
    to[..bytes].copy_from_slice(&from[..bytes]);
    bytes
}
