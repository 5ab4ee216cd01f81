//! HTTP/1 as the simulated peers read it. It is simple on purpose, and shares nothing with `weir-wire`, which it
//! checks.

/// The start line and the fields of a message.
#[derive(Clone, Debug)]
pub struct Head {
    pub start: String,
    fields: Vec<(String, String)>,
}

impl Head {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The number in a field.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    /// The nth word of the start line.
    pub fn word(&self, n: usize) -> &str {
        self.start.split(' ').nth(n).unwrap_or_default()
    }

    pub fn says_close(&self) -> bool {
        self.field("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// The framing that the fields give a body that is there.
    pub fn framing(&self) -> Option<Framing> {
        if self.field("Transfer-Encoding").is_some() {
            return Some(Framing::Chunked);
        }
        self.number("Content-Length").map(|bytes| Framing::Length(bytes as usize))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// Reads messages off a stream of bytes.
#[derive(Default)]
pub struct Reader {
    bytes: Vec<u8>,
    /// Of `bytes`, already read.
    read: usize,
    body: Vec<u8>,
    /// Of the last chunked body.
    trailers: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct Malformed(pub String);

impl Reader {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.read));
        self.bytes.extend_from_slice(bytes);
    }

    fn unread(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    /// Everything that has not been read.
    pub fn rest(&mut self) -> Vec<u8> {
        let rest = self.unread().to_vec();
        self.read = self.bytes.len();
        rest
    }

    pub fn head(&mut self) -> Result<Option<Head>, Malformed> {
        let Some(end) = self.unread().windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
        let text = self.unread()[..end].to_vec();
        self.read += end + 4;
        let text = String::from_utf8(text).map_err(|_| Malformed("head is not text".into()))?;
        self.trailers.clear();
        let mut lines = text.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        Ok(Some(Head { start, fields: lines.map(field).collect::<Result<_, _>>()? }))
    }

    /// The number in a trailer of the body that was read last.
    pub fn trailer(&self, name: &str) -> Option<u64> {
        self.trailers.iter().find(|(field, _)| field.eq_ignore_ascii_case(name))?.1.parse().ok()
    }

    /// What has come of the body since the last look, without framing, and whether it is whole.
    pub fn body(&mut self, framing: &mut Framing) -> Result<(&[u8], bool), Malformed> {
        self.body.clear();
        let whole = match framing {
            Framing::Length(left) => {
                let len = (*left).min(self.unread().len());
                self.take_body(len);
                *left -= len;
                *left == 0
            }
            Framing::UntilClose => {
                self.take_body(self.unread().len());
                false
            }
            Framing::Chunked => self.take_chunks()?,
        };
        Ok((&self.body, whole))
    }

    fn take_body(&mut self, len: usize) {
        self.body.extend_from_slice(&self.bytes[self.read..self.read + len]);
        self.read += len;
    }

    /// True once the last chunk has been read. A chunk is read when all of it is there.
    fn take_chunks(&mut self) -> Result<bool, Malformed> {
        loop {
            let unread = self.unread();
            let Some(line) = unread.windows(2).position(|window| window == b"\r\n") else { return Ok(false) };
            let size = String::from_utf8_lossy(&unread[..line]).into_owned();
            let size = usize::from_str_radix(&size, 16).map_err(|_| Malformed(format!("chunk size {size:?}")))?;
            if size == 0 {
                return self.take_trailers(line);
            }
            let end = line + 2 + size + 2;
            if unread.len() < end {
                return Ok(false);
            }
            if &unread[end - 2..end] != b"\r\n" {
                return Err(Malformed("chunk does not end in CRLF".into()));
            }
            self.read += line + 2;
            self.take_body(size);
            self.read += 2;
        }
    }

    /// Takes the last chunk, whose line ends there, and the trailers behind it, when all of them are there.
    fn take_trailers(&mut self, line: usize) -> Result<bool, Malformed> {
        let rest = &self.unread()[line..];
        let Some(end) = rest.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(false) };
        let text = String::from_utf8_lossy(&rest[..end]).into_owned();
        self.trailers = text.split("\r\n").filter(|line| !line.is_empty()).map(field).collect::<Result<_, _>>()?;
        self.read += line + end + 4;
        Ok(true)
    }
}

/// The name and the value in a line.
fn field(line: &str) -> Result<(String, String), Malformed> {
    let (name, value) = line.split_once(':').ok_or_else(|| Malformed(format!("field without colon: {line:?}")))?;
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// `body` in chunks of at most `most` bytes.
pub fn chunked(body: &[u8], most: usize) -> Vec<u8> {
    chunked_with(body, most, "")
}

/// The same with lines of trailers.
pub fn chunked_with(body: &[u8], most: usize, trailers: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 64);
    for chunk in body.chunks(most) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_chunks_however_it_is_cut() {
        let body = b"the quick brown fox";
        let sent = chunked_with(body, 7, "X-Sum: 7\r\n");
        let mut reader = Reader::default();
        let mut framing = Framing::Chunked;
        let mut read = Vec::new();
        for (i, byte) in sent.iter().enumerate() {
            reader.push(&[*byte]);
            let (piece, whole) = reader.body(&mut framing).unwrap();
            read.extend_from_slice(piece);
            assert_eq!(whole, i + 1 == sent.len());
        }
        assert_eq!((&read[..], reader.trailer("x-sum")), (&body[..], Some(7)));
    }
}
