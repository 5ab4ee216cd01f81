//! Writes a head into the room a caller gives. Nothing is cut: a head that does not fit is an [`Overflow`].

use super::field::{Field, Fields};

/// The room did not suffice; nothing of what was written may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow;

/// Appends to a slice. After an overflow it goes on counting, so [`HeadWriter::end`] is the one place to look.
pub struct HeadWriter<'o> {
    out: &'o mut [u8],
    len: usize,
    overflowed: bool,
}

impl<'o> HeadWriter<'o> {
    pub fn new(out: &'o mut [u8]) -> Self {
        Self { out, len: 0, overflowed: false }
    }

    /// Appends bytes that the caller vouches for.
    #[inline]
    pub fn text(&mut self, bytes: &[u8]) -> &mut Self {
        match self.out.get_mut(self.len..self.len + bytes.len()) {
            Some(room) if !self.overflowed => {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            _ => self.overflowed = true,
        }
        self
    }

    pub fn number(&mut self, value: u64) -> &mut Self {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = value;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return self.text(&digits[at..]);
            }
        }
    }

    /// `path` as in [`RequestHead`](super::RequestHead).
    pub fn request_line(&mut self, method: &[u8], path: &[u8]) -> &mut Self {
        let missing: &[u8] = if path.starts_with(b"?") { b"/" } else { b"" };
        self.text(method).text(b" ").text(missing).text(path).text(b" HTTP/1.1\r\n")
    }

    /// The version is ours, not the server's (RFC 9110 §2.5).
    pub fn status_line(&mut self, status: u16, reason: &[u8]) -> &mut Self {
        self.text(b"HTTP/1.1 ").number(status.into()).text(b" ").text(reason).text(b"\r\n")
    }

    pub fn field(&mut self, name: &[u8], value: &[u8]) -> &mut Self {
        self.text(name).text(b": ").text(value).text(b"\r\n")
    }

    /// The fields of a parsed head that `keep` keeps, line by line as they came.
    pub fn fields<'b>(&mut self, fields: &Fields<'b>, keep: impl FnMut(Field<'b>) -> bool) -> &mut Self {
        fields.kept_lines(keep, |lines| {
            self.text(lines);
        });
        self
    }

    /// The empty line; returns the bytes written.
    pub fn end(&mut self) -> Result<usize, Overflow> {
        self.text(b"\r\n");
        if self.overflowed { Err(Overflow) } else { Ok(self.len) }
    }
}
