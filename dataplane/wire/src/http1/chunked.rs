//! Chunked transfer coding (RFC 9112 §7.1), checked byte by byte outside the content and passed on as it came. Stricter
//! than the RFC where readers are known to differ: no white space around sizes, no control characters in extensions.

use std::ops::Range;

use super::{Error, Piece, framing::LENGTH_MAX};

/// Of one chunk. Those of a body may be as many as its chunks: each of them may be signed.
const EXTENSION_BYTES_MAX: u16 = 1024;
const TRAILER_BYTES_MAX: u16 = 8192;
/// Leading zeros included.
const SIZE_DIGITS_MAX: u8 = 16;

/// What only a head may say (RFC 9110 §6.5.1), for whoever behind us merges trailers into the head; the forwarded fields
/// because a server would believe that we wrote them. At most 8.
const FORBIDDEN_TRAILERS: [&[u8]; 7] = [
    b"connection",
    b"content-length",
    b"forwarded",
    b"host",
    b"transfer-encoding",
    b"x-forwarded-for",
    b"x-forwarded-proto",
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    state: State,
    /// Content bytes of the chunk: counted up while its size is read, down while its content is.
    left: u64,
    extension_bytes: u16,
    trailer_bytes: u16,
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
    /// `candidates`: a bit for each forbidden name that the `len` bytes so far begin.
    TrailerName {
        candidates: u8,
        len: u8,
    },
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

impl Chunked {
    pub fn new() -> Self {
        Self { state: State::Size { digits: 0 }, left: 0, extension_bytes: 0, trailer_bytes: 0 }
    }

    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub fn read(&mut self, input: &[u8], mut payload: impl FnMut(Range<usize>)) -> Result<Piece, Error> {
        let (mut at, mut payload_bytes) = (0, 0);
        while at < input.len() && !self.is_done() {
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
                at += 1;
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
            (State::LineStart, byte) => self.trailer_name(ALL_CANDIDATES, 0, byte),
            (State::TrailerName { candidates, len }, b':') => self.trailer_colon(candidates, len),
            (State::TrailerName { candidates, len }, byte) => self.trailer_name(candidates, len, byte),
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerValue, byte) => self.trailer_value(byte),
            (State::TrailerLf, b'\n') => Ok(State::LineStart),
            (State::EndLf, b'\n') => Ok(State::Done),
            (State::TrailerLf | State::EndLf, _) => Err(Error::Trailer),
            (State::SizeLf | State::Content | State::ContentCr | State::ContentLf | State::Done, _) => {
                Err(Error::ChunkFraming)
            }
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
        count(&mut self.extension_bytes, EXTENSION_BYTES_MAX, Error::ChunkFraming)?;
        if is_text(byte) { Ok(State::Extension) } else { Err(Error::ChunkFraming) }
    }

    fn trailer_name(&mut self, candidates: u8, len: u8, byte: u8) -> Result<State, Error> {
        count(&mut self.trailer_bytes, TRAILER_BYTES_MAX, Error::Trailer)?;
        if !is_token(byte) {
            return Err(Error::Trailer);
        }
        let goes_on = |name: &[u8]| name.get(len as usize) == Some(&byte.to_ascii_lowercase());
        let still = matching(|i| candidates & (1 << i) != 0 && goes_on(FORBIDDEN_TRAILERS[i]));
        Ok(State::TrailerName { candidates: still, len: len.saturating_add(1) })
    }

    fn trailer_colon(&mut self, candidates: u8, len: u8) -> Result<State, Error> {
        count(&mut self.trailer_bytes, TRAILER_BYTES_MAX, Error::Trailer)?;
        let forbidden = matching(|i| candidates & (1 << i) != 0 && FORBIDDEN_TRAILERS[i].len() == len as usize);
        if forbidden == 0 { Ok(State::TrailerValue) } else { Err(Error::Trailer) }
    }

    fn trailer_value(&mut self, byte: u8) -> Result<State, Error> {
        count(&mut self.trailer_bytes, TRAILER_BYTES_MAX, Error::Trailer)?;
        if is_text(byte) { Ok(State::TrailerValue) } else { Err(Error::Trailer) }
    }
}

const ALL_CANDIDATES: u8 = (1 << FORBIDDEN_TRAILERS.len()) - 1;

/// The set of forbidden trailers, a bit each, of which `holds` is true.
fn matching(holds: impl Fn(usize) -> bool) -> u8 {
    (0..FORBIDDEN_TRAILERS.len()).filter(|&i| holds(i)).fold(0, |set, i| set | 1 << i)
}

fn count(bytes: &mut u16, max: u16, error: Error) -> Result<(), Error> {
    *bytes += 1;
    if *bytes > max { Err(error) } else { Ok(()) }
}

/// tchar (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// What a field value is made of: HTAB, SP, VCHAR, obs-text.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Result<bool, Error> {
        Chunked::new().read(input, |_| {}).map(|piece| piece.done)
    }

    #[test]
    fn accepts_what_the_grammar_allows() {
        let bodies: [&[u8]; 6] = [
            b"0\r\n\r\n",
            b"5\r\nhello\r\n0\r\n\r\n",
            b"0005\r\nhello\r\n00\r\n\r\n",
            b"A\r\n0123456789\r\n0\r\n\r\n",
            b"1;name=\"a b\";c\r\nx\r\n0;d\r\n\r\n",
            b"0\r\nX-A: b\r\nHosts: c\r\nHos: d\r\nX-Host: e\r\nEmpty:\r\n\r\n",
        ];
        for body in bodies {
            assert_eq!(read(body), Ok(true), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn refuses_what_readers_disagree_about() {
        let bodies: [(&[u8], Error); 24] = [
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
            (b"0\r\n\n", Error::Trailer),
            (b"0\r\n\r\r", Error::Trailer),
            (b"0\r\n a: b\r\n", Error::Trailer),
            (b"0\r\na : b\r\n", Error::Trailer),
            (b"0\r\na: b\n", Error::Trailer),
            (b"0\r\nTransfer-Encoding: chunked\r\n", Error::Trailer),
        ];
        for (body, error) in bodies {
            assert_eq!(read(body), Err(error), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn refuses_each_trailer_that_belongs_into_the_head() {
        for name in FORBIDDEN_TRAILERS {
            let body = [b"0\r\nX: y\r\n", name.to_ascii_uppercase().as_slice(), b": 1\r\n\r\n"].concat();
            assert_eq!(read(&body), Err(Error::Trailer));
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
    fn refuses_trailers_without_end() {
        let trailer = [b"X: ", "t".repeat(1000).as_bytes(), b"\r\n"].concat();
        let body = |trailers| [b"0\r\n", trailer.repeat(trailers).as_slice(), b"\r\n"].concat();
        assert_eq!(read(&body(8)), Ok(true));
        assert_eq!(read(&body(9)), Err(Error::Trailer));
    }

    #[test]
    fn takes_the_largest_chunk_for_what_it_is() {
        let mut chunked = Chunked::new();
        let piece = chunked.read(b"7fffffffffffffff\r\nhello", |_| {});
        assert_eq!(piece, Ok(Piece { taken: 23, payload: 5, done: false }));
        assert_eq!(chunked.left, LENGTH_MAX - 5);
    }
}
