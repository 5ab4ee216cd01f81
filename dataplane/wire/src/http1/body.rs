//! Follows a message body through the bytes of its connection, whatever their split.

use std::ops::Range;

use super::{Error, Framing};

/// How far a read came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Bytes of the input that belong to the body, chunk framing and trailers included; to be passed on as they are.
    /// What lies behind them is the next message's, or nobody's.
    pub taken: usize,
    /// Bytes of content among them.
    pub payload: usize,
    /// The body is whole.
    pub done: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Body {
    framing: Framing,
}

impl Body {
    pub fn new(framing: Framing) -> Self {
        Self { framing }
    }

    /// Whether the body is whole; at once when there is none.
    pub fn is_done(&self) -> bool {
        todo!()
    }

    /// Whether the end of the connection, now, is the end of the body and not a cut.
    pub fn cut_is_end(&self) -> bool {
        todo!()
    }

    /// Reads on. Takes all of `input` unless the body ends in it.
    pub fn read(&mut self, input: &[u8]) -> Result<Piece, Error> {
        self.read_payload(input, |_| {})
    }

    /// [`read`](Self::read) that also tells where in `input` the content lies, for who must send it without its framing.
    pub fn read_payload(&mut self, input: &[u8], payload: impl FnMut(Range<usize>)) -> Result<Piece, Error> {
        let _ = (input, payload, self.framing);
        todo!()
    }
}
