//! Writes a head into a caller's buffer.

use super::Hop;
use crate::head::{Field, Fields, HeadSink, NameSet, Overflow, Room};

/// Appends to a slice. A head that does not fit is an [`Overflow`], which [`HeadWriter::end`] returns.
pub struct HeadWriter<'o> {
    room: Room<'o>,
    hop: Hop,
}

impl<'o> HeadWriter<'o> {
    /// `hop`: what the head says of its connection.
    pub fn new(out: &'o mut [u8], hop: Hop) -> Self {
        Self { room: Room::new(out), hop }
    }

    /// Appends bytes that the caller vouches for.
    #[inline]
    pub(super) fn text(&mut self, bytes: &[u8]) -> &mut Self {
        self.room.append(bytes);
        self
    }

    /// What the connection asks for, and the empty line; returns the bytes written.
    pub fn end(mut self) -> Result<usize, Overflow> {
        self.hop.write(&mut self);
        self.text(b"\r\n");
        self.room.end()
    }
}

impl HeadSink for HeadWriter<'_> {
    fn request(&mut self, method: &[u8], path: &[u8]) {
        self.text(method).text(b" ");
        if path.starts_with(b"?") {
            self.text(b"/");
        }
        self.text(path).text(b" HTTP/1.1\r\n");
    }

    /// The version is ours, not the server's (RFC 9110 §2.5).
    fn status(&mut self, status: u16, reason: &[u8]) {
        let [a, b, c] = [status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        self.text(&[b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1', b' ', a, b, c, b' ']).text(reason).text(b"\r\n");
    }

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, keep: impl FnMut(Field<'b>) -> bool) {
        fields.kept_lines(keep, |lines| {
            self.text(lines);
        });
    }

    /// Most heads lose no field: their lines are copied in one piece.
    fn kept(&mut self, fields: &Fields<'_>, dropped: NameSet) {
        match fields.all_lines_without(dropped) {
            Some(lines) => _ = self.text(lines),
            None => self.kept_if(fields, |field| !dropped.has(field.name)),
        }
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        self.text(name).text(b": ");
        for part in value {
            self.text(part);
        }
        self.text(b"\r\n");
    }

    fn line(&mut self, line: &[u8]) {
        if !line.is_empty() {
            self.text(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{head::Version, http1::Framing};

    fn written(room: usize, hop: Hop, write: impl Fn(&mut HeadWriter<'_>)) -> Result<String, Overflow> {
        let mut bytes = vec![0; room];
        let mut out = HeadWriter::new(&mut bytes, hop);
        write(&mut out);
        let len = out.end()?;
        Ok(String::from_utf8_lossy(&bytes[..len]).into_owned())
    }

    #[test]
    fn writes_a_request_and_a_response() {
        let request = written(100, Hop::default(), |out| {
            out.request(b"GET", b"/a");
            out.field(b"Host", [&b"b"[..], b":80"]);
        });
        assert_eq!(request.as_deref(), Ok("GET /a HTTP/1.1\r\nHost: b:80\r\n\r\n"));
        let response = written(100, Hop::default(), |out| {
            out.status(503, b"Busy");
            out.number(b"Age", 0);
        });
        assert_eq!(response.as_deref(), Ok("HTTP/1.1 503 Busy\r\nAge: 0\r\n\r\n"));
    }

    #[test]
    fn says_of_its_connection_what_the_peer_would_not_assume() {
        for (hop, lines) in [
            (Hop::to_server(Framing::Length(1)), ""),
            (Hop::to_server(Framing::Chunked), "Transfer-Encoding: chunked\r\n"),
            (Hop::to_client(Version::Http11, true), ""),
            (Hop::to_client(Version::Http11, false), "Connection: close\r\n"),
            (Hop::to_client(Version::Http10, true), "Connection: keep-alive\r\n"),
            (Hop::said(true), "Connection: keep-alive\r\n"),
        ] {
            assert_eq!(written(100, hop, |out| out.line(b"A: b\r\n")), Ok(format!("A: b\r\n{lines}\r\n")));
        }
    }

    #[test]
    fn gives_a_bare_query_the_path_it_lacks() {
        let request = written(100, Hop::default(), |out| out.request(b"GET", b"?a"));
        assert_eq!(request.as_deref(), Ok("GET /?a HTTP/1.1\r\n\r\n"));
    }

    #[test]
    fn writes_the_largest_number() {
        let number = |out: &mut HeadWriter<'_>| out.number(b"A", u64::MAX);
        assert_eq!(written(27, Hop::default(), number).as_deref(), Ok("A: 18446744073709551615\r\n\r\n"));
    }

    #[test]
    fn reports_overflow_even_if_what_follows_would_fit() {
        let whole = |out: &mut HeadWriter<'_>| _ = out.text(b"abcdef").text(b"g");
        assert_eq!(written(9, Hop::default(), whole).as_deref(), Ok("abcdefg\r\n"));
        for room in 0..9 {
            assert_eq!(written(room, Hop::default(), whole), Err(Overflow));
        }
    }
}
