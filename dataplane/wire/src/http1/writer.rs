//! Writes a head into a caller's buffer. Nothing is truncated: a head that does not fit is an [`Overflow`].

use super::field::{Field, Fields};

/// The room did not suffice; nothing of what was written may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow;

/// Appends to a slice. After an overflow nothing fits any more, and [`HeadWriter::end`] returns the error.
pub struct HeadWriter<'o> {
    /// The room that is left.
    room: &'o mut [u8],
    room_bytes: usize,
    overflowed: bool,
}

impl<'o> HeadWriter<'o> {
    pub fn new(out: &'o mut [u8]) -> Self {
        Self { room_bytes: out.len(), room: out, overflowed: false }
    }

    /// Appends bytes that the caller vouches for.
    #[inline]
    pub fn text(&mut self, bytes: &[u8]) -> &mut Self {
        match std::mem::take(&mut self.room).split_at_mut_checked(bytes.len()) {
            Some((part, rest)) => {
                part.copy_from_slice(bytes);
                self.room = rest;
            }
            None => self.overflowed = true,
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
        if self.overflowed { Err(Overflow) } else { Ok(self.room_bytes - self.room.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(room: usize, write: impl Fn(&mut HeadWriter<'_>)) -> Result<String, Overflow> {
        let mut bytes = vec![0; room];
        let mut out = HeadWriter::new(&mut bytes);
        write(&mut out);
        let len = out.end()?;
        Ok(String::from_utf8_lossy(&bytes[..len]).into_owned())
    }

    #[test]
    fn writes_a_request_and_a_response() {
        let request = written(100, |out| _ = out.request_line(b"GET", b"/a").field(b"Host", b"b"));
        assert_eq!(request.as_deref(), Ok("GET /a HTTP/1.1\r\nHost: b\r\n\r\n"));
        let response = written(100, |out| _ = out.status_line(503, b"Busy").text(b"Age: ").number(0).text(b"\r\n"));
        assert_eq!(response.as_deref(), Ok("HTTP/1.1 503 Busy\r\nAge: 0\r\n\r\n"));
    }

    #[test]
    fn gives_a_bare_query_the_path_it_lacks() {
        let request = written(100, |out| _ = out.request_line(b"GET", b"?a"));
        assert_eq!(request.as_deref(), Ok("GET /?a HTTP/1.1\r\n\r\n"));
    }

    #[test]
    fn writes_the_largest_number() {
        assert_eq!(written(22, |out| _ = out.number(u64::MAX)).as_deref(), Ok("18446744073709551615\r\n"));
    }

    #[test]
    fn reports_overflow_even_if_what_follows_would_fit() {
        let whole = |out: &mut HeadWriter<'_>| _ = out.text(b"abcdef").text(b"g");
        assert_eq!(written(9, whole).as_deref(), Ok("abcdefg\r\n"));
        for room in 0..9 {
            assert_eq!(written(room, whole), Err(Overflow));
        }
    }
}
