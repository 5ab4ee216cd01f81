//! Pieces of a request's body that have been read and wait: for more of the body, for a server, or for the case that the
//! connection they went out on has swallowed them. Holds no buffer when empty.

use std::collections::VecDeque;

use crate::buf::Buf;

#[derive(Default)]
pub(crate) struct Held {
    pieces: VecDeque<Buf>,
    bytes: usize,
}

impl Held {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes a piece that stays for a while: small ones are joined, because each holds a block.
    pub fn gather(&mut self, piece: Buf) {
        self.bytes += piece.len();
        if let Some(last) = self.pieces.back_mut()
            && last.room().len() >= piece.len()
        {
            last.append(&piece);
        } else {
            self.pieces.push_back(piece);
        }
    }

    /// Takes a piece that goes out at the same time; shares its block.
    pub fn share(&mut self, piece: &Buf) {
        self.bytes += piece.len();
        self.pieces.push_back(piece.share());
    }

    pub fn pop(&mut self) -> Option<Buf> {
        let next = self.pieces.pop_front()?;
        self.bytes -= next.len();
        Some(next)
    }

    /// Puts what went before in front of what is there.
    pub fn prepend(&mut self, mut before: Held) {
        before.bytes += self.bytes;
        before.pieces.append(&mut self.pieces);
        *self = before;
    }
}
