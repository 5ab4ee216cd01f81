//! Follows a message body through the bytes of its connection, whatever their split.

use std::ops::Range;

use super::{Framing, Parsed, Trailers, chunked::Chunked};
use crate::Error;

/// How far a read came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Bytes of the input that belong to the body, with chunk framing. They are passed on unchanged. The bytes after
    /// them are the trailer section ([`Body::is_at_trailers`]), or the next message, or unexpected.
    pub taken: usize,
    /// Bytes of content among them.
    pub payload: usize,
    /// The body is whole.
    pub done: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Body(State);

#[derive(Clone, Copy, Debug)]
enum State {
    /// Bytes still to come.
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

impl Body {
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::None => State::Length(0),
            Framing::Length(bytes) => State::Length(bytes),
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::UntilClose => State::UntilClose,
        })
    }

    /// Whether the body is whole; at once when there is none.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            State::Length(left) => *left == 0,
            State::Chunked(chunked) => chunked.is_done(),
            State::UntilClose => false,
        }
    }

    /// Whether the next byte is the first of a trailer section that has fields.
    pub fn is_at_trailers(&self) -> bool {
        matches!(&self.0, State::Chunked(chunked) if chunked.is_at_trailers())
    }

    /// Reads the trailer section, all in one piece; it ends the body. `input` begins with it.
    pub fn trailers<'b>(&mut self, input: &'b [u8]) -> Result<Parsed<Trailers<'b>>, Error> {
        match &mut self.0 {
            State::Chunked(chunked) if chunked.is_at_trailers() => chunked.trailers(input),
            _ => Err(Error::Trailer),
        }
    }

    /// Whether the end of the connection, now, is the end of the body and not a cut.
    pub fn cut_is_end(&self) -> bool {
        matches!(self.0, State::UntilClose)
    }

    /// Bytes still to come of a body whose length was declared; 0 of any other.
    pub fn length_left(&self) -> u64 {
        match &self.0 {
            State::Length(left) => *left,
            State::Chunked(_) | State::UntilClose => 0,
        }
    }

    /// Says that so many bytes of a body whose length was declared went their way unread.
    pub fn pass(&mut self, bytes: u64) {
        if let State::Length(left) = &mut self.0 {
            debug_assert!(bytes <= *left);
            *left = left.saturating_sub(bytes);
        }
    }

    /// Reads on. Takes all of `input` unless the body, or all of it but its trailers, ends in it.
    pub fn read(&mut self, input: &[u8]) -> Result<Piece, Error> {
        self.read_payload(input, |_| {})
    }

    /// Like [`read`](Self::read), and also reports where in `input` the content is, for a caller that must send it
    /// without its framing.
    pub fn read_payload(&mut self, input: &[u8], mut payload: impl FnMut(Range<usize>)) -> Result<Piece, Error> {
        let taken = match &mut self.0 {
            State::Chunked(chunked) => return chunked.read(input, payload),
            State::UntilClose => input.len(),
            State::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                taken
            }
        };
        if taken > 0 {
            payload(0..taken);
        }
        Ok(Piece { taken, payload: taken, done: self.is_done() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_declared_length_may_pass_unread() {
        let mut body = Body::new(Framing::Length(5));
        assert_eq!(body.length_left(), 5);
        body.pass(3);
        assert_eq!(body.read(b"lo, and the next message"), Ok(Piece { taken: 2, payload: 2, done: true }));
        assert_eq!(Body::new(Framing::Chunked).length_left(), 0);
    }

    #[test]
    fn body_of_a_length_ends_at_it() {
        let mut body = Body::new(Framing::Length(5));
        assert_eq!(body.read(b"hel"), Ok(Piece { taken: 3, payload: 3, done: false }));
        assert!(!body.is_done() && !body.cut_is_end());
        assert_eq!(body.read(b"lo, and the next message"), Ok(Piece { taken: 2, payload: 2, done: true }));
        assert_eq!(body.read(b"more"), Ok(Piece { taken: 0, payload: 0, done: true }));
    }

    #[test]
    fn no_body_is_done_at_once() {
        for framing in [Framing::None, Framing::Length(0)] {
            assert!(Body::new(framing).is_done());
        }
    }

    #[test]
    fn body_until_close_ends_with_the_connection_only() {
        let mut body = Body::new(Framing::UntilClose);
        assert_eq!(body.read(b"hello"), Ok(Piece { taken: 5, payload: 5, done: false }));
        assert!(body.cut_is_end());
    }

    #[test]
    fn connection_that_ends_in_a_chunked_body_cuts_it() {
        let mut body = Body::new(Framing::Chunked);
        assert_eq!(body.read(b"5\r\nhello\r\n"), Ok(Piece { taken: 10, payload: 5, done: false }));
        assert!(!body.cut_is_end());
    }

    #[test]
    fn tells_where_the_content_of_chunks_lies() {
        let input = b"5\r\nhello\r\n2;x\r\n, \r\n0\r\n\r\nrest";
        let mut content = Vec::new();
        let piece = Body::new(Framing::Chunked).read_payload(input, |range| content.extend_from_slice(&input[range]));
        assert_eq!(piece, Ok(Piece { taken: input.len() - 4, payload: 7, done: true }));
        assert_eq!(content, b"hello, ");
    }

    #[test]
    fn trailers_are_read_when_they_are_whole() {
        let mut body = Body::new(Framing::Chunked);
        assert_eq!(body.read(b"2\r\nok\r\n0\r\nX-A: b\r\n"), Ok(Piece { taken: 10, payload: 2, done: false }));
        assert!(body.is_at_trailers());
        assert_eq!(body.read(b"X-A: b\r\n"), Ok(Piece { taken: 0, payload: 0, done: false }));
        assert!(matches!(body.trailers(b"X-A: b\r\n"), Ok(Parsed::Partial)));
        assert!(!body.is_done());
        assert!(matches!(body.trailers(b"X-A: b\r\n\r\nrest"), Ok(Parsed::Whole(whole)) if whole.bytes() == 10));
        assert!(body.is_done() && !body.is_at_trailers());
    }
}
