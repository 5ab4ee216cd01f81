//! What is searched for in content, and what stands in its place then.

use std::fmt;

use crate::{
    expressions::{BadExpression, Expressions},
    literals::Literals,
};

/// What is searched for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Search {
    Text(Box<[u8]>),
    /// A regular expression.
    Expression(String),
    /// The text that a variable stands for, by its number.
    Variable(usize),
}

/// A part of what is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    Text(Box<[u8]>),
    /// What a group of the expression has found; 0 is all of it.
    Group(usize),
    /// A variable, by its number.
    Variable(usize),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    pub search: Search,
    /// Empty: the text is removed.
    pub replacement: Box<[Part]>,
}

/// Pairs that cannot be used. `pair`: the one at fault; `None`: all of them together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadPair {
    pub pair: Option<usize>,
    pub of: Of,
    pub why: String,
}

/// Which side of a pair is at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    Search,
    Replacement,
}

/// So many pairs may search for what a variable stands for: these texts are prepared for each response.
pub const VARIABLE_SEARCHES_MAX: usize = 8;
/// Variables that stand for more together are not searched for: the first ones are.
pub const VARIABLE_SEARCH_BYTES_MAX: usize = 1024;

pub(crate) struct Pairs {
    all: Box<[Pair]>,
    /// Of the pairs that search for a text.
    pub literals: Option<Literals>,
    pub expressions: Option<Expressions>,
    /// The pairs that search for what a variable stands for, and that variable.
    varied: Box<[(usize, usize)]>,
}

impl Pairs {
    /// `variables`: how many there are.
    pub fn new(pairs: Vec<Pair>, variables: usize) -> Result<Self, BadPair> {
        let bad = |pair, of, why: &str| Err(BadPair { pair, of, why: why.to_owned() });
        if pairs.is_empty() {
            return bad(None, Of::Search, "has no pairs");
        }
        let (mut texts, mut expressions, mut varied) = (Vec::new(), Vec::new(), Vec::new());
        for (at, pair) in pairs.iter().enumerate() {
            match &pair.search {
                Search::Text(text) if text.is_empty() => return bad(Some(at), Of::Search, "is empty"),
                Search::Text(text) => texts.push((at, &text[..])),
                Search::Expression(expression) => expressions.push((at, expression.as_str())),
                Search::Variable(variable) if *variable >= variables => {
                    return bad(Some(at), Of::Search, "names no variable");
                }
                Search::Variable(variable) => varied.push((at, *variable)),
            }
        }
        if varied.len() > VARIABLE_SEARCHES_MAX {
            return bad(Some(varied[VARIABLE_SEARCHES_MAX].0), Of::Search, "is one variable too many to search for");
        }
        let literals = match texts.is_empty() {
            true => None,
            false => match Literals::new(&texts) {
                None => return bad(None, Of::Search, "has too much text"),
                some => some,
            },
        };
        let expressions = match expressions.is_empty() {
            true => None,
            false => Some(Expressions::new(&expressions).map_err(|BadExpression { pair, why }| BadPair {
                pair,
                of: Of::Search,
                why,
            })?),
        };
        for (at, pair) in pairs.iter().enumerate() {
            let groups = match (&pair.search, &expressions) {
                (Search::Expression(_), Some(expressions)) => Some(expressions.groups(at)),
                _ => None,
            };
            for part in &pair.replacement {
                match (part, groups) {
                    (Part::Group(group), Some(groups)) if *group > groups => {
                        let why = format!("writes group {group}: the expression has {groups}");
                        return Err(BadPair { pair: Some(at), of: Of::Replacement, why });
                    }
                    (Part::Group(_), None) => {
                        return bad(
                            Some(at),
                            Of::Replacement,
                            "writes a group, and the pair searches for no expression",
                        );
                    }
                    (Part::Variable(variable), _) if *variable >= variables => {
                        return bad(Some(at), Of::Replacement, "names no variable");
                    }
                    _ => {}
                }
            }
        }
        Ok(Self { all: pairs.into(), literals, expressions, varied: varied.into() })
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// What stands in the place of what a pair has found.
    pub fn replacement(&self, pair: usize) -> &[Part] {
        &self.all[pair].replacement
    }

    pub fn writes_groups(&self, pair: usize) -> bool {
        self.replacement(pair).iter().any(|part| matches!(part, Part::Group(_)))
    }

    /// The texts that variables stand for, where pairs search for them. `values`: of all variables.
    pub fn varied(&self, values: &[Box<[u8]>]) -> Option<Box<Literals>> {
        let mut room = VARIABLE_SEARCH_BYTES_MAX;
        let texts: Vec<(usize, &[u8])> = self
            .varied
            .iter()
            .map(|&(pair, variable)| (pair, &values[variable][..]))
            .filter(|(_, text)| {
                let fits = !text.is_empty() && text.len() <= room;
                room -= if fits { text.len() } else { 0 };
                fits
            })
            .collect();
        Literals::new(&texts).map(Box::new)
    }

    pub fn bytes(&self) -> usize {
        let text = |part: &Part| if let Part::Text(text) = part { text.len() } else { 0 };
        let texts = self.all.iter().flat_map(|pair| &pair.replacement).map(text).sum::<usize>();
        let literals = self.literals.as_ref().map_or(0, Literals::bytes);
        texts + literals + self.expressions.as_ref().map_or(0, Expressions::bytes)
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.all.iter().map(|pair| &pair.search)).finish()
    }
}
