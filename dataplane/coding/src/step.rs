//! One call of an encoder.

/// How far the output should come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// The encoder may keep what it was given, for a better ratio.
    More,
    /// All that it was given comes out.
    Flush,
    /// The content ends.
    End,
}

/// What one call came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Bytes of the input that were taken.
    pub read: usize,
    /// Bytes of the output that were written.
    pub written: usize,
    /// Nothing is left to do; otherwise the caller calls again with the rest of the input and with more room.
    pub is_done: bool,
}

/// An encoder has failed: for lack of memory, or by a defect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;
