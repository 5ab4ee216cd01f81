//! Buffered pieces of a request's body. They wait for more of the body, for a server, or for a repeat on another
//! connection. Holds no buffer when empty.

use std::collections::VecDeque;

use crate::{buf::Buf, io::Io};

#[derive(Default)]
pub(crate) struct Held {
    /// `None` until the first one: what holds nothing is dropped at once.
    pieces: Option<VecDeque<Buf>>,
    bytes: usize,
}

impl Held {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn pieces(&self) -> usize {
        self.pieces.as_ref().map_or(0, VecDeque::len)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Buf> {
        self.pieces.iter().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.as_ref().is_none_or(VecDeque::is_empty)
    }

    /// Adds a piece that stays for a while. Joins small pieces, because each holds a block. A part of a block, with no room
    /// behind it, moves to a block of its own: the bytes beside it may be anything, and many.
    pub fn gather<I: Io>(&mut self, io: &mut I, mut piece: Buf) {
        self.bytes += piece.len();
        if let Some(last) = self.pieces.as_mut().and_then(VecDeque::back_mut)
            && last.room().len() >= piece.len()
        {
            last.append(&piece);
            return;
        }
        let mut own = io.buffer();
        if piece.len() + piece.room().len() < own.room().len() / 2 {
            own.append(&piece);
            piece = own;
        }
        self.pieces.get_or_insert_default().push_back(piece);
    }

    /// Adds a piece that goes on soon.
    pub fn push(&mut self, piece: Buf) {
        self.bytes += piece.len();
        self.pieces.get_or_insert_default().push_back(piece);
    }

    /// Adds a piece that is also sent now; shares its block.
    pub fn share(&mut self, piece: &Buf) {
        self.bytes += piece.len();
        self.pieces.get_or_insert_default().push_back(piece.share());
    }

    pub fn pop(&mut self) -> Option<Buf> {
        let next = self.pieces.as_mut()?.pop_front()?;
        self.bytes -= next.len();
        Some(next)
    }

    /// Puts earlier pieces in front of these.
    pub fn prepend(&mut self, mut before: Held) {
        before.bytes += self.bytes;
        if let Some(pieces) = &mut self.pieces {
            before.pieces.get_or_insert_default().append(pieces);
        }
        *self = before;
    }
}
