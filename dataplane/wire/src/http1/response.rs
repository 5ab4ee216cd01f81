//! A server's response head.

use httparse::{Error as Lenient, ParserConfig, Status};

use super::{Error, FieldTable, Fields, Framing, Limits, Method, Parsed, Version, framing::Control, head};

#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'b> {
    /// 100–599 without 101. A 1xx head is followed by another head.
    pub status: u16,
    pub reason: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: Framing,
    /// The server allows another exchange on its connection.
    pub keep_alive: bool,
    /// Connection names fields beyond the usual hop-by-hop ones; see [`Fields::connection_names`].
    pub names_hop_fields: bool,
    /// Bytes of the input that the head takes.
    pub len: usize,
}

/// Parses the head at the start of `input`, which answers a request with `method`.
pub fn response<'b>(
    input: &'b [u8],
    method: Method,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Parsed<ResponseHead<'b>>, Error> {
    let input = head::within(input, limits);
    // httparse would skip empty lines.
    if matches!(input, [b'\r' | b'\n', ..]) {
        return Err(Error::StartLine);
    }
    let FieldTable { spans, repaired } = table;
    let (mut head, mut taken_away, mut room) = (input, 0, Some(repaired));
    loop {
        let mut headers = head::no_headers();
        let mut raw = httparse::Response::new(&mut []);
        let config = ParserConfig::default();
        let end = match config.parse_response_with_uninit_headers(&mut raw, head, &mut headers[..limits.fields]) {
            Ok(Status::Complete(bytes)) => bytes,
            Ok(Status::Partial) => return head::incomplete(input, limits),
            Err(Lenient::HeaderName) if let Some(room) = room.take() => {
                *room = without_space_before_colons(input);
                (taken_away, head) = (input.len() - room.len(), room);
                continue;
            }
            Err(error) => return Err(strict(error)),
        };
        let (Some(status), Some(reason)) = (raw.code, raw.reason) else { return Err(Error::StartLine) };
        let version = Version::of_minor(raw.version);
        let fields = head::fields(&head[..end], raw.headers, limits, spans)?;
        check_status(status)?;
        let control = Control::of(&fields, version)?;
        let body = body(&control, status, method);
        return Ok(Parsed::Whole(ResponseHead {
            status,
            reason: reason.as_bytes(),
            version,
            fields,
            body,
            keep_alive: control.persists(version) && body != Framing::UntilClose,
            names_hop_fields: control.names_hop_fields,
            len: end + taken_away,
        }));
    }
}

/// A head as the server should have written it (RFC 9112 §5.1). Few servers write white space there, and only their
/// heads are read a second time. Bytes after the head stay as they are. So does a line without a valid name: the parser
/// reports it.
#[cold]
fn without_space_before_colons(input: &[u8]) -> Vec<u8> {
    let mut repaired = Vec::with_capacity(input.len());
    let mut lines = input.split_inclusive(|&byte| byte == b'\n');
    for line in lines.by_ref() {
        let name_bytes = line.iter().position(|byte| b" \t:\r\n".contains(byte)).unwrap_or(line.len());
        let (name, rest) = line.split_at(name_bytes);
        let space_bytes = rest.iter().position(|byte| !b" \t".contains(byte)).unwrap_or(rest.len());
        let value = &rest[space_bytes..];
        // At the end of what has come, a colon may follow.
        let spaced = !name.is_empty() && (value.starts_with(b":") || value.is_empty());
        repaired.extend_from_slice(name);
        repaired.extend_from_slice(if spaced { value } else { rest });
        if line == b"\r\n" {
            break;
        }
    }
    lines.for_each(|line| repaired.extend_from_slice(line));
    repaired
}

fn check_status(status: u16) -> Result<(), Error> {
    match status {
        // We never ask for an upgrade. To accept one would give the client a connection that we do not understand any
        // more.
        101 => Err(Error::SwitchedProtocols),
        100..=599 => Ok(()),
        _ => Err(Error::Status),
    }
}

/// RFC 9112 §6.3.
fn body(control: &Control<'_>, status: u16, method: Method) -> Framing {
    let never = method == Method::Head || matches!(status, 100..=199 | 204 | 304);
    if never { Framing::None } else { control.framing().unwrap_or(Framing::UntilClose) }
}

fn strict(error: Lenient) -> Error {
    match error {
        Lenient::HeaderName | Lenient::HeaderValue => Error::Field,
        Lenient::NewLine => Error::LineEnding,
        Lenient::TooManyHeaders => Error::TooManyFields,
        Lenient::Version | Lenient::Token | Lenient::Status => Error::StartLine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_head<T>(input: &str, method: Method, look: impl Fn(ResponseHead<'_>) -> T) -> T {
        match response(input.as_bytes(), method, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(head)) => look(head),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_a_response() {
        with_head("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", Method::Get, |head| {
            assert_eq!((head.status, head.reason), (404, &b"Not Found"[..]));
            assert_eq!((head.version, head.keep_alive), (Version::Http11, true));
            assert_eq!((head.body, head.len), (Framing::Length(3), 45));
        });
    }

    #[test]
    fn answer_to_head_has_no_body_whatever_it_says() {
        for field in ["Content-Length: 3", "Transfer-Encoding: chunked", "X: y"] {
            let input = format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
            with_head(&input, Method::Head, |head| assert_eq!((head.body, head.keep_alive), (Framing::None, true)));
        }
    }
}
