//! Writes a head as a block.

use super::{LINE_END, SEPARATOR, fixed, integer};
use crate::head::{Field, Fields, HeadSink, Name, Overflow, Room};

/// An indexed field (RFC 7541 §6.1).
const INDEXED: u8 = 0x80;
/// A literal that no hop may put into a table (§6.2.3). It costs as much as one that only this hop does not store, and
/// the fields of which the sender demanded it need not be told apart from others.
const NEVER_INDEXED: u8 = 0x10;

/// The first entries of pseudo-header fields in the static table.
const AUTHORITY: usize = 1;
const METHOD: usize = 2;
const PATH: usize = 4;
const SCHEME: usize = 6;
const STATUS: usize = 8;

/// Appends to a slice. A block that does not fit is an [`Overflow`], which [`Encoder::end`] returns.
pub struct Encoder<'o> {
    room: Room<'o>,
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
        Self { room: Room::new(out), target: None }
    }

    /// The head of a request. Its Host fields give way to the target's authority (RFC 9113 §8.3.1).
    pub fn request(out: &'o mut [u8], target: Target<'o>) -> Self {
        Self { room: Room::new(out), target: Some(target) }
    }

    /// Trailers. They come as [`lines`](Self::lines).
    pub fn trailers(out: &'o mut [u8]) -> Self {
        Self::response(out)
    }

    /// Fields as lines of text, as HTTP/1 writes them.
    pub fn lines(&mut self, lines: &[u8]) {
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            self.put(&line[..colon], [line[colon + 1..].trim_ascii()].into_iter());
        }
    }

    /// The bytes of the block.
    pub fn end(self) -> Result<usize, Overflow> {
        self.room.end()
    }

    #[inline(always)]
    fn integer(&mut self, number: usize, bits: u32, pattern: u8) {
        let most = (1 << bits) - 1;
        if number < most {
            self.room.push(pattern | number as u8);
        } else if number - most < 0x80 {
            // Most names in the static table.
            self.room.push(pattern | most as u8);
            self.room.push((number - most) as u8);
        } else {
            self.long_integer(number, bits, pattern);
        }
    }

    #[cold]
    fn long_integer(&mut self, number: usize, bits: u32, pattern: u8) {
        let (bytes, len) = integer::write(number, bits, pattern);
        self.room.append(&bytes[..len]);
    }

    /// A string that is made of parts.
    fn string<'v>(&mut self, parts: impl Iterator<Item = &'v [u8]> + Clone) {
        self.integer(parts.clone().map(<[u8]>::len).sum(), 7, 0);
        parts.for_each(|part| _ = self.room.append(part));
    }

    fn put<'v>(&mut self, name: &[u8], value: impl Iterator<Item = &'v [u8]> + Clone) {
        self.name(name);
        self.string(value);
    }

    /// Writes a pseudo-header field whose first entry in the static table is `first`.
    fn pseudo(&mut self, first: usize, value: &[u8]) {
        match fixed::index_with(first, value) {
            Some(index) => self.integer(index, 7, INDEXED),
            None => self.literal(first, [value].into_iter()),
        }
    }

    /// Writes a field with the name of an entry.
    fn literal<'v>(&mut self, index: usize, value: impl Iterator<Item = &'v [u8]> + Clone) {
        self.integer(index, 4, NEVER_INDEXED);
        self.string(value);
    }

    fn name(&mut self, name: &[u8]) {
        let index = fixed::index_of(name);
        self.integer(index.unwrap_or_default(), 4, NEVER_INDEXED);
        if index.is_none() {
            self.integer(name.len(), 7, 0);
            self.room.append(name).make_ascii_lowercase();
        }
    }
}

impl HeadSink for Encoder<'_> {
    fn request(&mut self, method: &[u8], path: &[u8]) {
        let Some(Target { scheme, authority }) = self.target else { return };
        self.pseudo(METHOD, method);
        self.pseudo(SCHEME, scheme);
        self.pseudo(AUTHORITY, authority);
        match path.starts_with(b"?") {
            true => self.literal(PATH, [b"/", path].into_iter()),
            false => self.pseudo(PATH, path),
        }
    }

    /// The reason has no place in HTTP/2.
    fn status(&mut self, status: u16, _reason: &[u8]) {
        let digits = [status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        self.pseudo(STATUS, &digits);
    }

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, mut keep: impl FnMut(Field<'b>) -> bool) {
        let is_response = self.target.is_none();
        for field in fields.passing().filter(|field| is_response || field.name != Name::Host) {
            if keep(field) {
                self.put(field.name_text, [field.value].into_iter());
            }
        }
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        if self.target.is_none() || Name::of(name) != Name::Host {
            self.put(name, value.into_iter());
        }
    }

    fn line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(LINE_END).unwrap_or(line);
        let Some(at) = line.windows(SEPARATOR.len()).position(|pair| pair == SEPARATOR) else { return };
        self.field(&line[..at], [&line[at + SEPARATOR.len()..]]);
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
