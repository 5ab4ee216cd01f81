//! How texts are compared, and the expressions of those that are compared with one.

use std::fmt;

use regex_automata::{MatchKind, meta::Regex, nfa::thompson::WhichCaptures, util::syntax};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Criterion {
    Equals,
    BeginsWith,
    EndsWith,
    Contains,
    /// The text is there, whatever it is.
    Exists,
    /// A regular expression that runs in linear time.
    Regex,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextError {
    NoValue,
    Regex(String),
    /// So many texts cannot be looked for at once.
    TooLarge,
}

impl TextError {
    /// Of the text of a syntax error.
    pub fn of_syntax(error: &str) -> Self {
        TextError::Regex(one_line(error))
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextError::NoValue => write!(f, "has no text to compare with"),
            TextError::Regex(why) => write!(f, "{why}; look-around and back-references are not possible"),
            TextError::TooLarge => write!(f, "has too many texts to look for at once"),
        }
    }
}

/// The most that an expression may take in memory.
const REGEX_BYTES_MAX: usize = 1 << 20;
/// What it may keep of its own work, in each direction. An expression that needs more at once gets it.
const CACHE_BYTES: usize = 64 << 10;
/// The same for many expressions together: with less, hundreds of them begin anew with each text.
const SET_CACHE_BYTES: usize = 1 << 20;

/// Finds the first of the patterns that matches.
pub(crate) fn compile_regex(patterns: &[&str], case_sensitive: bool) -> Result<Regex, TextError> {
    compile(patterns, case_sensitive, MatchKind::LeftmostFirst, CACHE_BYTES)
}

/// Finds all of the patterns that match.
pub(crate) fn compile_regex_set(patterns: &[&str], case_sensitive: bool) -> Result<Regex, TextError> {
    compile(patterns, case_sensitive, MatchKind::All, SET_CACHE_BYTES)
}

fn compile(patterns: &[&str], case_sensitive: bool, kind: MatchKind, cache_bytes: usize) -> Result<Regex, TextError> {
    // Nobody asks where groups of a set stand, and room for them would be kept for each state of a search.
    let groups = if kind == MatchKind::All { WhichCaptures::None } else { WhichCaptures::All };
    let limits = Regex::config()
        .match_kind(kind)
        .which_captures(groups)
        .utf8_empty(false)
        .nfa_size_limit(Some(REGEX_BYTES_MAX))
        .onepass_size_limit(Some(REGEX_BYTES_MAX))
        .hybrid_cache_capacity(cache_bytes);
    // A point stands for each byte, also for one that is no text, and for a line end: nobody gets past a rule with one.
    let syntax =
        syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true).case_insensitive(!case_sensitive);
    Regex::builder().configure(limits).syntax(syntax).build_many(patterns).map_err(|error| {
        let why = match (error.syntax_error(), error.size_limit()) {
            (Some(error), _) => one_line(&error.to_string()),
            (None, Some(limit)) => format!("the expression needs more than {limit} bytes"),
            (None, None) => error.to_string(),
        };
        TextError::Regex(why)
    })
}

/// The last line of a syntax error says what is wrong; those before it show where, below each other.
fn one_line(error: &str) -> String {
    let last = error.lines().last().unwrap_or(error);
    last.trim_start_matches("error: ").to_owned()
}
