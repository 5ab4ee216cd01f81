//! A server's response head.

use super::{
    Framing, Parsed,
    framing::Control,
    heads,
    lines::Section,
    start::{StatusLine, Stop},
};
use crate::{
    Error,
    head::{FieldTable, Limits, Method, ResponseHead, SWITCHING_PROTOCOLS, Span, check_status, has_no_content},
};

/// A response head, and what it says of the connection that it came on.
#[derive(Clone, Copy, Debug)]
pub struct Response<'b> {
    pub head: ResponseHead<'b>,
    pub framing: Framing,
    /// The server allows another exchange on its connection.
    pub keep_alive: bool,
    /// Bytes of the input that the head takes.
    pub len: usize,
}

/// Parses the head at the start of `input`, which answers a request with `method`.
pub fn response<'b>(
    input: &'b [u8],
    method: Method,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Parsed<Response<'b>>, Error> {
    response_or_switch(input, method, false, limits, table)
}

/// The same of a request that may have asked its server to switch protocols (`may_switch`): the status may be 101 then.
#[inline(always)]
pub fn response_or_switch<'b>(
    input: &'b [u8],
    method: Method,
    may_switch: bool,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Parsed<Response<'b>>, Error> {
    let input = heads::within(input, limits);
    let FieldTable { spans, text: repaired, .. } = table;
    let (mut text, mut read) = (input, Whole::read(input, limits, spans));
    if let Err(Stop::Wrong(Error::Field)) = read {
        *repaired = without_space_before_colons(input);
        text = repaired;
        read = Whole::read(text, limits, spans);
    }
    let Whole { line, section } = match read {
        Ok(read) => read,
        Err(Stop::Partial) => return heads::incomplete(input, limits),
        Err(Stop::Wrong(error)) => return Err(error),
    };
    let StatusLine { version, status, reason, .. } = line;
    check_status(status)?;
    if status == SWITCHING_PROTOCOLS && !may_switch {
        // Nobody asked for it. To accept it would give the client a connection that we do not understand any more.
        return Err(Error::SwitchedProtocols);
    }
    let mut lines = section.lines(text, spans);
    let control = Control::of(&mut lines, version)?;
    let framing = framing(&control, status, method);
    Ok(Parsed::Whole(Response {
        head: ResponseHead { status, reason, version, fields: lines.fields(), body: framing.length() },
        framing,
        keep_alive: control.persists(version) && framing != Framing::UntilClose,
        len: section.end + (input.len() - text.len()),
    }))
}

/// A head that is all there.
struct Whole<'b> {
    line: StatusLine<'b>,
    section: Section,
}

impl<'b> Whole<'b> {
    #[inline]
    fn read(input: &'b [u8], limits: &Limits, spans: &mut [Span]) -> Result<Self, Stop> {
        let line = StatusLine::read(input)?;
        let section = Section::read(input, line.end, limits, spans)?;
        Ok(Self { line, section })
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

/// RFC 9112 §6.3.
fn framing(control: &Control<'_>, status: u16, method: Method) -> Framing {
    if has_no_content(status, method) { Framing::None } else { control.framing().unwrap_or(Framing::UntilClose) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::{BodyLength, Version};

    fn with_response<T>(input: &str, method: Method, look: impl Fn(Response<'_>) -> T) -> T {
        match response(input.as_bytes(), method, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(response)) => look(response),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_a_response() {
        with_response("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", Method::Get, |response| {
            let head = response.head;
            assert_eq!((head.status, head.reason), (404, &b"Not Found"[..]));
            assert_eq!((head.version, response.keep_alive), (Version::Http11, true));
            assert_eq!((head.body, response.framing), (BodyLength::Bytes(3), Framing::Length(3)));
            assert_eq!(response.len, 45);
        });
    }

    #[test]
    fn answer_to_head_has_no_body_whatever_it_says() {
        for field in ["Content-Length: 3", "Transfer-Encoding: chunked", "X: y"] {
            let input = format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
            with_response(&input, Method::Head, |response| {
                assert_eq!((response.framing, response.keep_alive), (Framing::None, true));
            });
        }
    }
}
