//! Regular expressions that are searched for in content which comes in pieces.
//!
//! What an expression matches where a text begins follows from the next [`WINDOW_BYTES`] bytes alone, and from the bytes
//! around these for `\b`, `^` and `$`. So it does not depend on the pieces, and no more has to be held back.

use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::{
    Anchored, Input, MatchKind,
    hybrid::dfa::{Cache, DFA},
    meta::Regex,
    nfa::thompson,
    util::{pool::Pool, primitives::NonMaxUsize, syntax},
};
use weir_rules::TextError;

use crate::found::{Found, Next};

/// A match has so many bytes at most.
pub const WINDOW_BYTES: usize = 4096;

/// What the expressions may take in memory, for the search, and again for what has to be held back.
const BYTES_MAX: usize = 1 << 20;
/// What groups may take in memory, for each state that a search can be in.
const GROUPS_BYTES_MAX: usize = 16 << 20;
/// What either may keep of its own work. An expression that needs more at once gets it.
const CACHE_BYTES: usize = 256 << 10;

type Caches = Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>>;

pub(crate) struct Expressions {
    regex: Regex,
    /// The pair that each expression belongs to, by pattern.
    pairs: Box<[usize]>,
    /// Says whether a text may go on as a match of one of them.
    beginnings: DFA,
    caches: Caches,
    /// The longest match, [`WINDOW_BYTES`] at most.
    longest: usize,
    /// What a byte that is looked at counts as work: each state of a search may look at it.
    cost: usize,
}

/// An expression that cannot be searched for. `pair`: `None`: all of them together.
pub(crate) struct BadExpression {
    pub pair: Option<usize>,
    pub why: String,
}

impl Expressions {
    /// Of pairs and their expressions, in the order in which they count.
    pub fn new(expressions: &[(usize, &str)]) -> Result<Self, BadExpression> {
        // A point stands for each byte but a line end, as letters and classes stand for bytes.
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let mut read = Vec::with_capacity(expressions.len());
        let mut longest = 1;
        for &(pair, text) in expressions {
            let bad = |why: String| BadExpression { pair: Some(pair), why };
            let expression = syntax::parse_with(text, &syntax)
                .map_err(|error| bad(TextError::of_syntax(&error.to_string()).to_string()))?;
            match expression.properties().minimum_len() {
                Some(0) => return Err(bad("matches an empty text, too: have it match one byte at least".to_owned())),
                Some(bytes) if bytes > WINDOW_BYTES => {
                    return Err(bad(format!("matches {bytes} bytes or more: it may need {WINDOW_BYTES} at most")));
                }
                _ => {}
            }
            longest = longest.max(expression.properties().maximum_len().unwrap_or(WINDOW_BYTES).min(WINDOW_BYTES));
            read.push(expression);
        }
        let all = |why: String| BadExpression { pair: None, why };
        let limits = Regex::config()
            .match_kind(MatchKind::LeftmostFirst)
            .utf8_empty(false)
            .nfa_size_limit(Some(BYTES_MAX))
            .onepass_size_limit(Some(BYTES_MAX))
            .hybrid_cache_capacity(CACHE_BYTES);
        let regex = Regex::builder().configure(limits).build_many_from_hir(&read).map_err(|error| {
            all(match error.size_limit() {
                Some(limit) => format!("the expressions need more than {limit} bytes"),
                None => error.to_string(),
            })
        })?;
        let states = thompson::Config::new()
            .utf8(false)
            .nfa_size_limit(Some(BYTES_MAX))
            .which_captures(thompson::WhichCaptures::None);
        let states = thompson::Compiler::new().configure(states).build_many_from_hir(&read);
        let states = states.map_err(|error| all(error.to_string()))?;
        let kept = DFA::config()
            .match_kind(MatchKind::LeftmostFirst)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true);
        let beginnings =
            DFA::builder().configure(kept).build_from_nfa(states).map_err(|error| all(error.to_string()))?;
        // The slowest way to search keeps two tables: where each group stands, for each state.
        let (states, slots) = (beginnings.get_nfa().states().len(), regex.group_info().slot_len());
        if 16 * slots * (states + slots) > GROUPS_BYTES_MAX {
            return Err(all("the expressions are too long for as many groups as they have together".to_owned()));
        }
        let cost = 1 + states / 64;
        let caches = beginnings.clone();
        let caches = Pool::new(Box::new(move || caches.create_cache()) as _);
        Ok(Self {
            regex,
            pairs: expressions.iter().map(|(pair, _)| *pair).collect(),
            beginnings,
            caches,
            longest,
            cost,
        })
    }

    /// The groups of the expression of a pair, besides the whole match.
    pub fn groups(&self, pair: usize) -> usize {
        let pattern = self.pairs.iter().position(|of| *of == pair);
        pattern.map_or(0, |pattern| {
            let pattern = regex_automata::PatternID::must(pattern);
            self.regex.group_info().group_len(pattern).saturating_sub(1)
        })
    }

    pub fn bytes(&self) -> usize {
        self.regex.memory_usage() + self.beginnings.memory_usage()
    }

    /// What a look at so many bytes counts as work.
    pub fn work_of(&self, bytes: usize) -> usize {
        bytes * self.cost
    }

    /// The next match that begins at `at` or later. `work`: grows by what was looked at; from `most` on the search
    /// stops where it is.
    pub fn find(&self, content: &[u8], mut at: usize, work: &mut usize, most: usize) -> Next {
        let stride = 2 * self.longest;
        let anchored = |span| Input::new(content).span(span).anchored(Anchored::Yes);
        loop {
            if *work >= most {
                return Next::From(at);
            }
            let end = content.len().min(at + stride);
            let Some(found) = self.regex.search(&Input::new(content).span(at..end)) else {
                *work += self.work_of(end - at);
                if end == content.len() {
                    return Next::None;
                }
                at = end - self.longest + 1;
                continue;
            };
            // Behind its end, more was looked at for a longer match.
            *work += self.work_of((found.start() + self.longest).min(end) - at);
            let begin = found.start();
            if end < content.len() && begin + self.longest > end {
                // What begins here, or shortly before, has not been seen as far as it may reach.
                at = begin.min(end - self.longest + 1);
                continue;
            }
            let limit = content.len().min(begin + self.longest);
            let found = match found.end() <= limit {
                true => Some(found),
                // It reaches too far: there may be a shorter match.
                false => {
                    *work += self.work_of(limit - begin);
                    self.regex.search(&anchored(begin..limit))
                }
            };
            match found {
                Some(found) => {
                    let pair = self.pairs[found.pattern().as_usize()];
                    return Next::Found(Found { begin, end: found.end(), pair });
                }
                None => at = begin + 1,
            }
        }
    }

    /// Where a group of the match at `begin` stands in the content. `slots`: room that is kept.
    pub fn locate(&self, content: &[u8], begin: usize, slots: &mut Vec<Option<NonMaxUsize>>) -> Option<Located> {
        slots.resize(self.regex.group_info().slot_len(), None);
        let limit = content.len().min(begin + self.longest);
        let input = Input::new(content).span(begin..limit).anchored(Anchored::Yes);
        Some(Located { pattern: self.regex.search_slots(&input, slots)? })
    }

    pub fn group(&self, located: Located, group: usize, slots: &[Option<NonMaxUsize>]) -> Option<(usize, usize)> {
        let (begin, end) = self.regex.group_info().slots(located.pattern, group)?;
        Some((slots.get(begin)?.as_ref()?.get(), slots.get(end)?.as_ref()?.get()))
    }

    /// Where the first match may begin, at `at` or later, that what comes next may lengthen, change, or make a match. It may
    /// be too early, if more than `most` bytes would have to be looked at.
    pub fn open_from(&self, content: &[u8], at: usize, work: &mut usize, most: usize) -> usize {
        let first = at.max(content.len().saturating_sub(self.longest));
        let mut cache = self.caches.get();
        (first..content.len())
            .find(|&begin| self.is_open(&mut cache, content, begin, work, most))
            .unwrap_or(content.len())
    }

    fn is_open(&self, cache: &mut Cache, content: &[u8], begin: usize, work: &mut usize, most: usize) -> bool {
        let input = Input::new(content).span(begin..content.len()).anchored(Anchored::Yes);
        let Ok(mut state) = self.beginnings.start_state_forward(cache, &input) else { return true };
        for &byte in &content[begin..] {
            *work += self.work_of(1);
            match self.beginnings.next_state(cache, state, byte) {
                Ok(next) if next.is_tagged() && next.is_dead() => return false,
                Ok(next) if *work < most => state = next,
                _ => return true,
            }
        }
        true
    }
}

/// The expression that has matched.
#[derive(Clone, Copy)]
pub(crate) struct Located {
    pattern: regex_automata::PatternID,
}
