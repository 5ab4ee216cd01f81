//! A client's request head.

use super::{
    Framing, Parsed,
    framing::Control,
    heads,
    lines::Section,
    start::{RequestLine, Stop},
    target::Target,
};
use crate::{
    Error,
    head::{FieldTable, Limits, Method, Name, RequestHead, Version, is_host},
};

/// A request head, and what it says of the connection that it came on.
#[derive(Clone, Copy, Debug)]
pub struct Request<'b> {
    pub head: RequestHead<'b>,
    pub framing: Framing,
    /// The client wants another exchange on its connection.
    pub keep_alive: bool,
    /// Bytes of the input that the head takes.
    pub len: usize,
}

/// Parses the head at the start of `input`.
pub fn request<'b>(input: &'b [u8], limits: &Limits, table: &'b mut FieldTable) -> Result<Parsed<Request<'b>>, Error> {
    let input = heads::within(input, limits);
    let spans = &mut *table.spans;
    let read = leading_empty_line(input).and_then(|start| {
        let line = RequestLine::read(input, start)?;
        let section = Section::read(input, line.end, limits, spans)?;
        Ok((line, section))
    });
    let (line, section) = match read {
        Ok(read) => read,
        Err(Stop::Partial) => return heads::incomplete(input, limits),
        Err(Stop::Wrong(error)) => return Err(error),
    };
    let RequestLine { method: method_text, target, version, .. } = line;
    let mut lines = section.lines(input, spans);
    if method_text == b"CONNECT" {
        return Err(Error::Connect);
    }
    let method = Method::of(method_text);
    let taken_apart = Target::of(target, method)?;
    let control = Control::of(&mut lines, version)?;
    check_host(control.host, version)?;
    if version == Version::Http10 && lines.seen.has(Name::Expect) {
        // It cannot wait for a 100, and must not make the server send one.
        lines.end_here(|_, field| field.name == Name::Expect);
    }
    let framing = control.framing().unwrap_or(Framing::None);
    let body = framing.length();
    let head = RequestHead {
        method,
        method_text,
        target,
        path: taken_apart.path,
        version,
        fields: lines.fields(),
        body,
        // Without a body to hold back there is nothing to wait for; HTTP/1.0 does not know it (RFC 9110 §10.1.1).
        expect_continue: control.expect_continue && version == Version::Http11 && !body.is_zero(),
        host: taken_apart.authority.or(control.host),
        absolute: taken_apart.authority.is_some(),
    };
    Ok(Parsed::Whole(Request { head, framing, keep_alive: control.persists(version), len: section.end }))
}

/// One empty line before a request is forgiven (RFC 9112 §2.2), no more.
fn leading_empty_line(input: &[u8]) -> Result<usize, Stop> {
    match input {
        [b'\r', b'\n', b'\r' | b'\n', ..] | [b'\n', ..] => Err(Stop::Wrong(Error::StartLine)),
        [b'\r', b'\n', ..] => Ok(2),
        [b'\r'] => Err(Stop::Partial),
        [b'\r', ..] => Err(Stop::Wrong(Error::LineEnding)),
        _ => Ok(0),
    }
}

/// RFC 9112 §3.2: one valid Host, which HTTP/1.0 may do without.
fn check_host(host: Option<&[u8]>, version: Version) -> Result<(), Error> {
    match host {
        Some(host) if is_host(host) => Ok(()),
        None if version == Version::Http10 => Ok(()),
        _ => Err(Error::Host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::BodyLength;

    fn with_request<T>(input: &str, look: impl Fn(Request<'_>) -> T) -> T {
        match request(input.as_bytes(), &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(request)) => look(request),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_a_request() {
        let input = "POST /a?b HTTP/1.1\r\nHost: c:80\r\nContent-Length: 3\r\n\r\nabcGET";
        with_request(input, |request| {
            let head = request.head;
            assert_eq!((head.method, head.method_text), (Method::Post, &b"POST"[..]));
            assert_eq!((head.target, head.path), (&b"/a?b"[..], &b"/a?b"[..]));
            assert_eq!((head.version, request.keep_alive), (Version::Http11, true));
            assert_eq!((head.host, head.absolute), (Some(&b"c:80"[..]), false));
            assert_eq!((head.body, request.framing), (BodyLength::Bytes(3), Framing::Length(3)));
            assert_eq!(request.len, input.len() - "abcGET".len());
        });
    }

    #[test]
    fn absolute_target_overrules_host() {
        with_request("GET http://b:81/x HTTP/1.1\r\nHost: a\r\n\r\n", |request| {
            let head = request.head;
            assert_eq!((head.host, head.absolute, head.path), (Some(&b"b:81"[..]), true, &b"/x"[..]));
        });
    }

    #[test]
    fn forgiven_empty_line_belongs_to_the_head() {
        let input = "\r\nGET / HTTP/1.0\r\n\r\n";
        with_request(input, |request| assert_eq!((request.len, request.head.host), (input.len(), None)));
    }
}
