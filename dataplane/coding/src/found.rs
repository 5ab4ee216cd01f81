//! What a search in a part of the content has come to.

/// A text of the content that a pair replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub begin: usize,
    pub end: usize,
    pub pair: usize,
}

/// What is known about the next text that one way to search would find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// None begins before this place; the search goes on from there.
    From(usize),
    Found(Found),
    /// None begins in what has come.
    None,
}
