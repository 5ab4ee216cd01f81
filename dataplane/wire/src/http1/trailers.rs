//! The trailer section of a chunked body (RFC 9112 §7.1.2): read when it is whole, because what stands in it may not go on
//! as it came.

use super::{HeadWriter, Hop, Parsed};
use crate::{
    Error,
    head::{Field, HOP_BY_HOP, HeadSink, Name, NameSet, Overflow},
    scan::{is_text, is_token},
};

/// The longest section that has any fields, its empty line included.
pub const TRAILER_BYTES_MAX: usize = 8192;

const FRAMING: NameSet = NameSet::of(&[Name::ContentLength, Name::TransferEncoding]);

/// With the empty line that ends it.
#[derive(Clone, Copy, Debug)]
pub struct Trailers<'b>(&'b [u8]);

impl<'b> Trailers<'b> {
    /// The section at the start of `input`. Each line is name, colon, value and CRLF: no continuation, no white space
    /// before the colon, nothing that readers take for an end in different ways.
    pub(super) fn read(input: &'b [u8]) -> Result<Parsed<Self>, Error> {
        let input = &input[..input.len().min(TRAILER_BYTES_MAX)];
        let mut bytes = 0;
        for line in input.split_inclusive(|&byte| byte == b'\n') {
            bytes += line.len();
            if line == b"\r\n" {
                return Ok(Parsed::Whole(Trailers(&input[..bytes])));
            }
            check(line)?;
        }
        if input.len() < TRAILER_BYTES_MAX { Ok(Parsed::Partial) } else { Err(Error::Trailer) }
    }

    /// Bytes of the input that it takes, and room that is enough for what [`write`](Self::write) keeps.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The fields that `keep` keeps, line by line as they came, and the empty line; none that concerns the connection that
    /// they came on. Returns the bytes written.
    pub fn write(&self, mut keep: impl FnMut(Field<'b>) -> bool, out: &mut [u8]) -> Result<usize, Overflow> {
        let mut out = HeadWriter::new(out, Hop::default());
        for line in self.0.split_inclusive(|&byte| byte == b'\n') {
            if field(line).is_some_and(|field| !HOP_BY_HOP.has(field.name) && keep(field)) {
                out.line(line);
            }
        }
        out.end()
    }
}

/// Refuses a line, the last of which may be there in part.
fn check(line: &[u8]) -> Result<(), Error> {
    let name_bytes = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
    let (name, rest) = line.split_at(name_bytes);
    let value = match rest {
        [] if line == b"\r" => return Ok(()),
        [value @ .., b'\r', b'\n'] => value,
        [value @ .., b'\r'] => value,
        value => value,
    };
    let is_named = !name.is_empty() && name.iter().all(|&byte| is_token(byte));
    // Who frames a message behind its end means another message.
    let frames = !rest.is_empty() && FRAMING.has(Name::of(name));
    if is_named && !frames && value.iter().all(|&byte| is_text(byte)) { Ok(()) } else { Err(Error::Trailer) }
}

/// `None`: the empty line.
fn field(line: &[u8]) -> Option<Field<'_>> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let name_text = &line[..colon];
    Some(Field { name: Name::of(name_text), name_text, value: line[colon + 1..].trim_ascii() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Result<Option<usize>, Error> {
        Trailers::read(input).map(|parsed| match parsed {
            Parsed::Partial => None,
            Parsed::Whole(trailers) => Some(trailers.bytes()),
        })
    }

    #[test]
    fn reads_what_the_grammar_allows() {
        let section = b"X-A: b\r\nEmpty:\r\nc!:\t\xff \r\n\r\n";
        assert_eq!(read(&[&section[..], b"rest"].concat()), Ok(Some(section.len())));
        for bytes in 0..section.len() {
            assert_eq!(read(&section[..bytes]), Ok(None), "{bytes}");
        }
    }

    #[test]
    fn refuses_what_readers_disagree_about() {
        let sections: [&[u8]; 10] = [
            b" a: b\r\n",
            b"a : b\r\n",
            b"a: b\n",
            b"a: b\rc",
            b"a: b\0",
            b": b",
            b"a\r\n",
            b"a: b\r\n c\r\n",
            b"a: b\r\n\n",
            b"\r\r",
        ];
        for section in sections {
            assert_eq!(read(section), Err(Error::Trailer), "{}", section.escape_ascii());
        }
    }

    #[test]
    fn refuses_what_frames_a_message() {
        for section in [&b"X: y\r\ncontent-length:"[..], b"Transfer-Encoding: chunked\r\n"] {
            assert_eq!(read(section), Err(Error::Trailer), "{}", section.escape_ascii());
        }
        assert_eq!(read(b"Content-Lengths: 5\r\n"), Ok(None));
    }

    #[test]
    fn refuses_sections_without_end() {
        let section = |value_bytes| [b"X: ", "t".repeat(value_bytes).as_bytes(), b"\r\n\r\n"].concat();
        let most = TRAILER_BYTES_MAX - "X: \r\n\r\n".len();
        assert_eq!(read(&section(most)), Ok(Some(TRAILER_BYTES_MAX)));
        assert_eq!(read(&section(most + 1)), Err(Error::Trailer));
    }

    #[test]
    fn writes_what_is_kept() {
        let Ok(Parsed::Whole(trailers)) = Trailers::read(b"X-A: b\r\nHost:  c \r\nTE: d\r\nX-D: e\r\n\r\n") else {
            panic!("whole")
        };
        let mut room = [0; 100];
        let bytes = trailers.write(|field| field.name != Name::Host, &mut room).unwrap();
        assert_eq!(&room[..bytes], b"X-A: b\r\nX-D: e\r\n\r\n");
        let mut values = Vec::new();
        trailers
            .write(
                |field| {
                    values.push(field.value);
                    false
                },
                &mut room,
            )
            .unwrap();
        assert_eq!(values, [&b"b"[..], b"c", b"e"]);
    }
}
