//! Chunked transfer coding (RFC 9112 §7.1). Everything except the content is checked byte by byte, and passed on
//! unchanged up to the trailers. It is stricter than the RFC where readers are known to differ: no white space around
//! sizes, no control characters in extensions.

use std::ops::Range;

use super::{Parsed, Piece, Trailers};
use crate::{Error, head::LENGTH_MAX, scan::is_text};

/// Of one chunk. Those of a body may be as many as its chunks: each of them may be signed.
const EXTENSION_BYTES_MAX: u16 = 1024;
/// Leading zeros included.
const SIZE_DIGITS_MAX: u8 = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    state: State,
    /// Content bytes of the chunk: counted up while its size is read, down while its content is.
    left: u64,
    extension_bytes: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Size {
        digits: u8,
    },
    Extension,
    SizeLf,
    Content,
    ContentCr,
    ContentLf,
    /// At a trailer or at the empty line that ends the body.
    LineStart,
    /// At a trailer: the section is not read here.
    Trailers,
    EndLf,
    Done,
}

impl Chunked {
    pub fn new() -> Self {
        Self { state: State::Size { digits: 0 }, left: 0, extension_bytes: 0 }
    }

    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub fn is_at_trailers(&self) -> bool {
        self.state == State::Trailers
    }

    pub fn trailers<'b>(&mut self, input: &'b [u8]) -> Result<Parsed<Trailers<'b>>, Error> {
        let parsed = Trailers::read(input)?;
        if let Parsed::Whole(_) = parsed {
            self.state = State::Done;
        }
        Ok(parsed)
    }

    pub fn read(&mut self, input: &[u8], mut payload: impl FnMut(Range<usize>)) -> Result<Piece, Error> {
        let (mut at, mut payload_bytes) = (0, 0);
        while at < input.len() && !self.is_done() && !self.is_at_trailers() {
            if self.state == State::Content {
                let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len() - at);
                payload(at..at + taken);
                (at, payload_bytes) = (at + taken, payload_bytes + taken);
                self.left -= taken as u64;
                if self.left == 0 {
                    self.state = State::ContentCr;
                }
            } else {
                self.state = self.step(input[at])?;
                at += usize::from(!self.is_at_trailers());
            }
        }
        Ok(Piece { taken: at, payload: payload_bytes, done: self.is_done() })
    }

    /// The state behind one byte that is not content.
    fn step(&mut self, byte: u8) -> Result<State, Error> {
        match (self.state, byte) {
            (State::Size { digits: 1.. }, b'\r') => Ok(State::SizeLf),
            (State::Size { digits: 1.. }, b';') => {
                self.extension_bytes = 0;
                Ok(State::Extension)
            }
            (State::Size { digits }, byte) => self.size_digit(digits, byte),
            (State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Extension, byte) => self.extension(byte),
            (State::SizeLf, b'\n') if self.left == 0 => Ok(State::LineStart),
            (State::SizeLf, b'\n') => Ok(State::Content),
            (State::ContentCr, b'\r') => Ok(State::ContentLf),
            (State::ContentLf, b'\n') => Ok(State::Size { digits: 0 }),
            (State::LineStart, b'\r') => Ok(State::EndLf),
            (State::LineStart, _) => Ok(State::Trailers),
            (State::EndLf, b'\n') => Ok(State::Done),
            (State::EndLf, _) => Err(Error::Trailer),
            (
                State::SizeLf | State::Content | State::ContentCr | State::ContentLf | State::Trailers | State::Done,
                _,
            ) => Err(Error::ChunkFraming),
        }
    }

    fn size_digit(&mut self, digits: u8, byte: u8) -> Result<State, Error> {
        let digit = char::from(byte).to_digit(16).ok_or(Error::ChunkSize)?;
        if digits == SIZE_DIGITS_MAX || self.left > LENGTH_MAX >> 4 {
            return Err(Error::ChunkSize);
        }
        self.left = self.left << 4 | u64::from(digit);
        Ok(State::Size { digits: digits + 1 })
    }

    fn extension(&mut self, byte: u8) -> Result<State, Error> {
        self.extension_bytes += 1;
        let fits = self.extension_bytes <= EXTENSION_BYTES_MAX && is_text(byte);
        if fits { Ok(State::Extension) } else { Err(Error::ChunkFraming) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Result<bool, Error> {
        Chunked::new().read(input, |_| {}).map(|piece| piece.done)
    }

    #[test]
    fn accepts_what_the_grammar_allows() {
        let bodies: [&[u8]; 5] = [
            b"0\r\n\r\n",
            b"5\r\nhello\r\n0\r\n\r\n",
            b"0005\r\nhello\r\n00\r\n\r\n",
            b"A\r\n0123456789\r\n0\r\n\r\n",
            b"1;name=\"a b\";c\r\nx\r\n0;d\r\n\r\n",
        ];
        for body in bodies {
            assert_eq!(read(body), Ok(true), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn refuses_what_readers_disagree_about() {
        let bodies: [(&[u8], Error); 19] = [
            (b"\r\n", Error::ChunkSize),
            (b";a\r\n", Error::ChunkSize),
            (b" 5\r\n", Error::ChunkSize),
            (b"5 \r\n", Error::ChunkSize),
            (b"5 ;a\r\n", Error::ChunkSize),
            (b"-5\r\n", Error::ChunkSize),
            (b"0x5\r\n", Error::ChunkSize),
            (b"5g\r\n", Error::ChunkSize),
            (b"5\n", Error::ChunkSize),
            (b"00000000000000005\r\n", Error::ChunkSize),
            (b"8000000000000000\r\n", Error::ChunkSize),
            (b"ffffffffffffffff\r\n", Error::ChunkSize),
            (b"5;a\n", Error::ChunkFraming),
            (b"5;a\0\r\n", Error::ChunkFraming),
            (b"5;a\rb", Error::ChunkFraming),
            (b"5\r\rhello", Error::ChunkFraming),
            (b"5\r\nhello\n", Error::ChunkFraming),
            (b"5\r\nhello0\r\n", Error::ChunkFraming),
            (b"0\r\n\r\r", Error::Trailer),
        ];
        for (body, error) in bodies {
            assert_eq!(read(body), Err(error), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn refuses_extensions_without_end() {
        let chunk = |bytes| [b"1;", "e".repeat(bytes).as_bytes(), b"\r\nx\r\n"].concat();
        let most = usize::from(EXTENSION_BYTES_MAX);
        assert_eq!(read(&chunk(most)), Ok(false));
        assert_eq!(read(&chunk(most + 1)), Err(Error::ChunkFraming));
    }

    #[test]
    fn each_chunk_may_have_its_extension() {
        let chunk = b"1;signature=0123456789\r\nx\r\n";
        assert_eq!(read(&chunk.repeat(10_000)), Ok(false));
    }

    #[test]
    fn takes_the_largest_chunk_for_what_it_is() {
        let mut chunked = Chunked::new();
        let piece = chunked.read(b"7fffffffffffffff\r\nhello", |_| {});
        assert_eq!(piece, Ok(Piece { taken: 23, payload: 5, done: false }));
        assert_eq!(chunked.left, LENGTH_MAX - 5);
    }
}
