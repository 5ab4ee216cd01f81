//! Input of a peer that has not been read yet, in the pieces in which it arrived. A head must lie in one piece to be
//! parsed, so pieces are joined while a head is incomplete. Pieces of a body are never joined. Holds no buffer when
//! empty.

use std::collections::VecDeque;

use weir_wire::http1::may_complete;

use crate::buf::Buf;

#[derive(Default)]
pub(crate) struct Inbox {
    first: Option<Buf>,
    rest: VecDeque<Buf>,
    /// How many bytes of `first` a parser has seen as an incomplete head.
    incomplete: usize,
}

impl Inbox {
    pub fn push(&mut self, buf: Buf) {
        if buf.is_empty() {
            return;
        }
        match self.first {
            None => self.first = Some(buf),
            Some(_) => self.rest.push_back(buf),
        }
    }

    /// Appends content behind what waits already, copied into blocks of its own, so that many small pieces hold little.
    pub fn append(&mut self, content: &[u8], mut block: impl FnMut() -> Buf) {
        let mut content = content;
        while !content.is_empty() {
            let appended = self.rest.back_mut().map_or(0, |last| last.append(content));
            if appended == 0 {
                self.rest.push_back(block());
            }
            content = &content[appended..];
        }
    }

    /// Copies the last piece into the block before it, as far as that has room: pieces that drip in hold few blocks.
    pub fn settle(&mut self, block: impl FnMut() -> Buf) {
        if let Some(last) = self.rest.pop_back() {
            self.append(&last, block);
        }
    }

    pub fn bytes(&self) -> usize {
        self.first().len() + self.rest.iter().map(|piece| piece.len()).sum::<usize>()
    }

    /// A copy of the first bytes.
    pub fn beginning(&self, most: usize) -> Vec<u8> {
        let mut copy = Vec::with_capacity(self.bytes().min(most));
        for piece in self.first.iter().chain(&self.rest) {
            let room = most - copy.len();
            copy.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        copy
    }

    /// Puts other content in the place of so many first bytes.
    pub fn replace_beginning(&mut self, bytes: usize, content: Vec<u8>) {
        let mut left = bytes;
        while left > 0
            && let Some(mut piece) = self.pop()
        {
            let gone = left.min(piece.len());
            piece.advance(gone);
            left -= gone;
            self.put_back(piece);
        }
        self.put_back(Buf::from_vec(content));
    }

    /// How many pieces it holds. Each may hold a block.
    pub fn pieces(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Takes the next piece, for a body.
    pub fn pop(&mut self) -> Option<Buf> {
        let next = std::mem::replace(&mut self.first, self.rest.pop_front());
        self.incomplete = 0;
        next
    }

    /// Puts back the rest of a piece.
    pub fn put_back(&mut self, buf: Buf) {
        if let Some(first) = self.first.take() {
            self.rest.push_front(first);
        }
        self.first = (!buf.is_empty()).then_some(buf).or_else(|| self.rest.pop_front());
        self.incomplete = 0;
    }

    /// The bytes in which the next head starts, if they are worth parsing.
    pub fn head(&mut self, head_bytes: usize) -> Option<&[u8]> {
        self.may_hold_head(head_bytes).then(|| self.first())
    }

    /// Joins new input to an incomplete head. Returns whether the [`first`](Self::first) piece is worth parsing: it has
    /// new bytes that may end the head, or more than `head_bytes`, which the parser refuses.
    pub fn may_hold_head(&mut self, head_bytes: usize) -> bool {
        if self.incomplete == 0 {
            return self.first.is_some();
        }
        let incomplete = self.incomplete;
        let first = self.joined();
        let fresh = &first[incomplete.min(first.len())..];
        may_complete(fresh) || (first.len() > head_bytes && !fresh.is_empty())
    }

    /// The bytes of the first piece.
    pub fn first(&self) -> &[u8] {
        self.first.as_deref().unwrap_or_default()
    }

    /// All bytes, joined. Only for what has to come whole and is short.
    pub fn joined(&mut self) -> &[u8] {
        while let Some(next) = self.rest.pop_front() {
            self.join(&next);
        }
        self.first()
    }

    /// Whether the input begins with these bytes, however it was cut.
    pub fn begins_with(&mut self, bytes: &[u8]) -> bool {
        while self.first().len() < bytes.len()
            && let Some(next) = self.rest.pop_front()
        {
            self.join(&next);
        }
        self.first().starts_with(bytes)
    }

    /// Records that [`head`](Self::head) gave an incomplete head. True if more input is there to join at once.
    pub fn keep_for_more(&mut self) -> bool {
        self.incomplete = self.first.as_deref().map_or(0, <[u8]>::len);
        !self.rest.is_empty()
    }

    /// Records that [`head`](Self::head) gave a complete head of `len` bytes.
    pub fn head_read(&mut self, len: usize) {
        let Some(first) = self.first.as_mut() else { return };
        first.advance(len);
        self.incomplete = 0;
        if first.is_empty() {
            self.pop();
        }
    }

    fn join(&mut self, next: &Buf) {
        let Some(first) = self.first.as_mut() else { return };
        if first.room().len() < next.len() {
            let mut larger = Buf::with_room((first.len() + next.len()) * 2);
            larger.append(first);
            *first = larger;
        }
        first.append(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buf::BufPool;

    fn inbox(pieces: &[&[u8]]) -> Inbox {
        let mut inbox = Inbox::default();
        pieces.iter().for_each(|piece| inbox.push(Buf::from_vec(piece.to_vec())));
        inbox
    }

    #[test]
    fn joins_pieces_only_while_a_head_is_incomplete() {
        let mut inbox = inbox(&[b"GET / ", b"HTTP/1.1\r\n", b"\r\nbody"]);
        assert_eq!(inbox.head(100), Some(&b"GET / "[..]));
        assert!(inbox.keep_for_more());
        assert_eq!(inbox.head(100), Some(&b"GET / HTTP/1.1\r\n\r\nbody"[..]));
        inbox.head_read(18);
        assert_eq!(inbox.pop().as_deref(), Some(&b"body"[..]));
        assert!(inbox.is_empty());
    }

    #[test]
    fn other_content_stands_in_the_place_of_first_bytes() {
        for (bytes, content, whole) in
            [(0, "", "abcdef"), (2, "", "cdef"), (5, "xyz", "xyzf"), (6, "", ""), (3, "", "def")]
        {
            let mut inbox = inbox(&[b"abc", b"d", b"ef"]);
            inbox.replace_beginning(bytes, content.as_bytes().to_vec());
            assert_eq!(inbox.beginning(9), whole.as_bytes());
            assert_eq!(inbox.is_empty(), whole.is_empty());
        }
    }

    #[test]
    fn head_that_ends_with_its_piece_leaves_the_next() {
        let mut inbox = inbox(&[b"GET / HTTP/1.1\r\n\r\n", b"body"]);
        assert!(inbox.head(100).is_some());
        inbox.head_read(18);
        assert_eq!(inbox.pop().as_deref(), Some(&b"body"[..]));
        assert!(inbox.is_empty());
    }

    #[test]
    fn does_not_look_again_before_a_line_ends_or_the_limit_is_passed() {
        let mut inbox = inbox(&[b"GET"]);
        assert!(inbox.head(8).is_some());
        assert!(!inbox.keep_for_more());
        inbox.push(Buf::from_vec(b" /".to_vec()));
        assert_eq!(inbox.head(8), None);
        inbox.keep_for_more();
        inbox.push(Buf::from_vec(b"long".to_vec()));
        assert_eq!(inbox.head(8), Some(&b"GET /long"[..]));
    }

    #[test]
    fn head_that_drips_in_stays_in_its_block() {
        let pool = BufPool::new(64, 8);
        let mut inbox = Inbox::default();
        for byte in b"GET / HTTP/1.1\r\n" {
            let mut piece = pool.take();
            piece.append(&[*byte]);
            inbox.push(piece);
            inbox.head(64);
            inbox.keep_for_more();
        }
        assert_eq!(pool.in_use(), 1);
        assert_eq!(inbox.pop().as_deref(), Some(&b"GET / HTTP/1.1\r\n"[..]));
    }

    #[test]
    fn head_larger_than_a_block_moves_to_a_larger_one() {
        let pool = BufPool::new(4, 8);
        let mut inbox = Inbox::default();
        for _ in 0..10 {
            let mut piece = pool.take();
            piece.append(b"abcd");
            inbox.push(piece);
            inbox.head(0);
            inbox.keep_for_more();
        }
        assert_eq!(pool.in_use(), 0);
        assert_eq!(inbox.pop().map(|whole| whole.len()), Some(40));
    }
}
