//! Writes a head as a block. Nothing is truncated: a head that does not fit is an [`Overflow`].

use super::{SEPARATOR, fixed, integer};
use crate::head::{Field, Fields, HeadSink, Name};

/// An indexed field (RFC 7541 §6.1).
const INDEXED: u8 = 0x80;
/// A literal that no hop may put into a table (§6.2.3). It costs as much as one that only this hop does not store, and
/// the fields of which the sender demanded it need not be told apart from others.
const NEVER_INDEXED: u8 = 0x10;

const METHOD: usize = 2;
const PATH: usize = 4;
const SCHEME: usize = 6;
const STATUS: usize = 8;
/// The longest name of the static table.
const NAME_MAX: usize = 27;

/// The room did not suffice; nothing of what was written may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow;

/// Appends to a slice. After an overflow nothing fits any more, and [`Encoder::end`] returns the error.
pub struct Encoder<'o> {
    room: &'o mut [u8],
    room_bytes: usize,
    overflowed: bool,
    target: Option<Target<'o>>,
}

/// What a request says of its target beside the path.
#[derive(Clone, Copy, Debug)]
pub struct Target<'o> {
    pub scheme: &'o [u8],
    pub authority: &'o [u8],
}

impl<'o> Encoder<'o> {
    /// The head of a response.
    pub fn response(out: &'o mut [u8]) -> Self {
        Self { room_bytes: out.len(), room: out, overflowed: false, target: None }
    }

    /// The head of a request. Its Host fields give way to the target's authority (RFC 9113 §8.3.1).
    pub fn request(out: &'o mut [u8], target: Target<'o>) -> Self {
        Self { target: Some(target), ..Self::response(out) }
    }

    /// The bytes of the block.
    pub fn end(self) -> Result<usize, Overflow> {
        if self.overflowed { Err(Overflow) } else { Ok(self.room_bytes - self.room.len()) }
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut [u8] {
        match std::mem::take(&mut self.room).split_at_mut_checked(bytes.len()) {
            Some((part, rest)) => {
                part.copy_from_slice(bytes);
                self.room = rest;
                part
            }
            None => {
                self.overflowed = true;
                &mut []
            }
        }
    }

    fn integer(&mut self, number: usize, bits: u32, pattern: u8) {
        let (bytes, len) = integer::write(number, bits, pattern);
        self.bytes(&bytes[..len]);
    }

    fn string(&mut self, string: &[u8]) -> &mut [u8] {
        self.integer(string.len(), 7, 0);
        self.bytes(string)
    }

    /// Writes a field whose value one entry of the static table has, from `index` on, or whose name the entry has.
    fn pseudo(&mut self, index: usize, values: &[&[u8]], value: &[u8]) {
        match values.iter().position(|known| *known == value) {
            Some(at) => self.integer(index + at, 7, INDEXED),
            None => {
                self.integer(index, 4, NEVER_INDEXED);
                self.string(value);
            }
        }
    }

    fn name(&mut self, name: &[u8]) {
        let mut small = [0; NAME_MAX];
        let index = small.get_mut(..name.len()).and_then(|small| {
            small.copy_from_slice(name);
            small.make_ascii_lowercase();
            fixed::index_of(small)
        });
        self.integer(index.unwrap_or_default(), 4, NEVER_INDEXED);
        if index.is_none() {
            self.string(name).make_ascii_lowercase();
        }
    }

    fn write(&mut self, field: &Field<'_>) {
        if self.target.is_some() && field.name == Name::Host {
            return;
        }
        self.name(field.name_text);
        self.string(field.value);
    }
}

impl HeadSink for Encoder<'_> {
    fn request(&mut self, method: &[u8], path: &[u8]) {
        let Some(Target { scheme, authority }) = self.target else { return };
        self.pseudo(METHOD, &[b"GET", b"POST"], method);
        self.pseudo(SCHEME, &[b"http", b"https"], scheme);
        self.pseudo(1, &[b""], authority);
        if path.starts_with(b"?") {
            self.integer(PATH, 4, NEVER_INDEXED);
            self.integer(path.len() + 1, 7, 0);
            self.bytes(b"/");
            self.bytes(path);
        } else {
            self.pseudo(PATH, &[b"/", b"/index.html"], path);
        }
    }

    /// The reason has no place in HTTP/2.
    fn status(&mut self, status: u16, _reason: &[u8]) {
        let digits = [status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        self.pseudo(STATUS, &[b"200", b"204", b"206", b"304", b"400", b"404", b"500"], &digits);
    }

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, mut keep: impl FnMut(Field<'b>) -> bool) {
        for field in fields.passing() {
            if keep(field) {
                self.write(&field);
            }
        }
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        if self.target.is_some() && Name::of(name) == Name::Host {
            return;
        }
        let parts = value.into_iter();
        self.name(name);
        self.integer(parts.clone().map(<[u8]>::len).sum(), 7, 0);
        parts.for_each(|part| _ = self.bytes(part));
    }

    fn line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r\n").unwrap_or(line);
        let Some(at) = line.windows(SEPARATOR.len()).position(|pair| pair == SEPARATOR) else { return };
        self.write(&Field {
            name: Name::of(&line[..at]),
            name_text: &line[..at],
            value: &line[at + SEPARATOR.len()..],
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::hpack::{Decoder, TABLE_BYTES};

    fn text(block: &[u8]) -> String {
        let (mut decoder, mut text) = (Decoder::new(TABLE_BYTES), Vec::new());
        let mut block = decoder.block(block);
        while block.next(&mut text).unwrap().is_some() {}
        String::from_utf8(text).unwrap()
    }

    fn response(room: usize, write: impl Fn(&mut Encoder<'_>)) -> Result<Vec<u8>, Overflow> {
        let mut bytes = vec![0; room];
        let mut out = Encoder::response(&mut bytes);
        write(&mut out);
        let len = out.end()?;
        bytes.truncate(len);
        Ok(bytes)
    }

    #[test]
    fn writes_a_request() {
        for (path, is) in [(&b"/"[..], "/"), (b"/a?b", "/a?b"), (b"?a", "/?a"), (b"*", "*")] {
            let mut bytes = [0; 200];
            let mut out = Encoder::request(&mut bytes, Target { scheme: b"https", authority: b"a:80" });
            out.request(b"PATCH", path);
            out.field(b"Host", [&b"b"[..]]);
            out.line(b"Host: c\r\n");
            out.line(b"X-A: b: c\r\n");
            let len = out.end().unwrap();
            let want = format!(":method: PATCH\r\n:scheme: https\r\n:authority: a:80\r\n:path: {is}\r\nx-a: b: c\r\n");
            assert_eq!(text(&bytes[..len]), want);
        }
    }

    #[test]
    fn writes_a_response() {
        let long = [b'x'; 300];
        let block = response(400, |out| {
            out.status(200, b"OK");
            out.number(b"Content-Length", 3);
            out.field(b"X-Long-Name-That-No-Table-Has", [&long[..], b"y"]);
            out.line(b"");
        });
        let want =
            format!(":status: 200\r\ncontent-length: 3\r\nx-long-name-that-no-table-has: {}y\r\n", "x".repeat(300));
        assert_eq!(block.map(|block| text(&block)), Ok(want));
        assert_eq!(response(10, |out| out.status(200, b"")), Ok(vec![0x88]));
        assert_eq!(response(10, |out| out.status(503, b"")), Ok(vec![0x18, 3, b'5', b'0', b'3']));
    }

    #[test]
    fn reports_overflow_even_if_what_follows_would_fit() {
        let write = |out: &mut Encoder<'_>| {
            out.field(b"Server", [&b"abc"[..]]);
            out.status(200, b"");
        };
        let whole = response(100, write).unwrap().len();
        assert!((0..whole).all(|room| response(room, write) == Err(Overflow)));
        assert!(response(whole, write).is_ok());
    }
}
