//! A client's request head.

use httparse::{Error as Lenient, Status};

use super::{
    Error, FieldTable, Fields, Framing, Limits, Parsed, Version,
    framing::Control,
    head,
    target::{self, Target},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Trace,
    Patch,
    Other,
}

impl Method {
    /// Whether to ask twice is to ask once (RFC 9110 §9.2.2).
    pub fn is_idempotent(self) -> bool {
        use Method::*;
        matches!(self, Get | Head | Put | Delete | Options | Trace)
    }

    /// Methods are case-sensitive (RFC 9110 §9.1).
    pub fn of(text: &[u8]) -> Self {
        match text {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"POST" => Method::Post,
            b"PUT" => Method::Put,
            b"DELETE" => Method::Delete,
            b"OPTIONS" => Method::Options,
            b"TRACE" => Method::Trace,
            b"PATCH" => Method::Patch,
            _ => Method::Other,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'b> {
    pub method: Method,
    pub method_text: &'b [u8],
    /// As it came: `/path?query`, `*`, or `http://host/path?query`.
    pub target: &'b [u8],
    /// The part of the target that a server gets: `/path?query` or `*`; `?query` if an absolute target has no path.
    pub path: &'b [u8],
    pub version: Version,
    pub fields: Fields<'b>,
    pub body: Framing,
    /// The client wants another exchange on its connection.
    pub keep_alive: bool,
    /// The client waits for a 100 before it sends the body.
    pub expect_continue: bool,
    /// Connection names fields beyond the usual hop-by-hop ones; see [`Fields::connection_names`].
    pub names_hop_fields: bool,
    /// Host and port the request is for. `None`: HTTP/1.0 without Host.
    pub host: Option<&'b [u8]>,
    /// The target is in absolute form. So `host` comes from the target, and the Host field is ignored (RFC 9112
    /// §3.2.2).
    pub absolute: bool,
    /// Bytes of the input that the head takes.
    pub len: usize,
}

/// Parses the head at the start of `input`.
pub fn request<'b>(
    input: &'b [u8],
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Parsed<RequestHead<'b>>, Error> {
    let input = head::within(input, limits);
    let start = leading_empty_line(input)?;
    let mut headers = head::no_headers();
    let mut raw = httparse::Request::new(&mut []);
    let end = match raw.parse_with_uninit_headers(&input[start..], &mut headers[..limits.fields]) {
        Ok(Status::Complete(bytes)) => start + bytes,
        Ok(Status::Partial) => return head::incomplete(input, limits),
        Err(error) => return Err(strict(error, &input[start..])),
    };
    let (Some(method_text), Some(target)) = (raw.method, raw.path) else { return Err(Error::StartLine) };
    let (method_text, target) = (method_text.as_bytes(), target.as_bytes());
    let version = Version::of_minor(raw.version);
    let fields = head::fields(&input[..end], raw.headers, limits, &mut table.spans)?;
    if method_text == b"CONNECT" {
        return Err(Error::Connect);
    }
    let method = Method::of(method_text);
    let taken_apart = Target::of(target, method)?;
    let control = Control::of(&fields, version)?;
    check_host(control.host, version)?;
    let body = control.framing().unwrap_or(Framing::None);
    Ok(Parsed::Whole(RequestHead {
        method,
        method_text,
        target,
        path: taken_apart.path,
        version,
        fields,
        body,
        keep_alive: control.persists(version),
        // Without a body there is nothing to wait for, and HTTP/1.0 does not have this (RFC 9110 §10.1.1).
        expect_continue: control.expect_continue && version == Version::Http11 && has_content(body),
        names_hop_fields: control.names_hop_fields,
        host: taken_apart.authority.or(control.host),
        absolute: taken_apart.authority.is_some(),
        len: end,
    }))
}

fn has_content(body: Framing) -> bool {
    !matches!(body, Framing::None | Framing::Length(0))
}

/// One empty line before a request is accepted (RFC 9112 §2.2), and no more. httparse would skip any number.
fn leading_empty_line(input: &[u8]) -> Result<usize, Error> {
    let start = if input.starts_with(b"\r\n") { 2 } else { 0 };
    match input[start..] {
        [b'\n', ..] => Err(Error::StartLine),
        [b'\r', ..] if start > 0 => Err(Error::StartLine),
        _ => Ok(start),
    }
}

/// RFC 9112 §3.2: one valid Host, which HTTP/1.0 may do without.
fn check_host(host: Option<&[u8]>, version: Version) -> Result<(), Error> {
    match host {
        Some(host) if target::is_host(host) => Ok(()),
        None if version == Version::Http10 => Ok(()),
        _ => Err(Error::Host),
    }
}

fn strict(error: Lenient, input: &[u8]) -> Error {
    match error {
        Lenient::HeaderName | Lenient::HeaderValue => Error::Field,
        Lenient::NewLine => Error::LineEnding,
        Lenient::TooManyHeaders => Error::TooManyFields,
        Lenient::Version if names_other_version(input) => Error::Version,
        Lenient::Version | Lenient::Token | Lenient::Status => Error::StartLine,
    }
}

/// Whether the third word of the request line is another HTTP version rather than garbage.
fn names_other_version(input: &[u8]) -> bool {
    let word = input.splitn(3, |&b| b == b' ').nth(2).unwrap_or_default();
    match word.strip_prefix(b"HTTP/") {
        Some([b'1', b'.', minor, ..]) => minor.is_ascii_digit(),
        Some([b'1', ..]) => false,
        Some([major, ..]) => major.is_ascii_digit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_head<T>(input: &str, look: impl Fn(RequestHead<'_>) -> T) -> T {
        match request(input.as_bytes(), &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(head)) => look(head),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_a_request() {
        let input = "POST /a?b HTTP/1.1\r\nHost: c:80\r\nContent-Length: 3\r\n\r\nabcGET";
        with_head(input, |head| {
            assert_eq!((head.method, head.method_text), (Method::Post, &b"POST"[..]));
            assert_eq!((head.target, head.path), (&b"/a?b"[..], &b"/a?b"[..]));
            assert_eq!((head.version, head.keep_alive), (Version::Http11, true));
            assert_eq!((head.host, head.absolute), (Some(&b"c:80"[..]), false));
            assert_eq!((head.body, head.len), (Framing::Length(3), input.len() - "abcGET".len()));
        });
    }

    #[test]
    fn absolute_target_overrules_host() {
        with_head("GET http://b:81/x HTTP/1.1\r\nHost: a\r\n\r\n", |head| {
            assert_eq!((head.host, head.absolute, head.path), (Some(&b"b:81"[..]), true, &b"/x"[..]));
        });
    }

    #[test]
    fn forgiven_empty_line_belongs_to_the_head() {
        let input = "\r\nGET / HTTP/1.0\r\n\r\n";
        with_head(input, |head| assert_eq!((head.len, head.host), (input.len(), None)));
    }

    #[test]
    fn methods_are_case_sensitive() {
        for (text, method) in [
            ("GET", Method::Get),
            ("HEAD", Method::Head),
            ("POST", Method::Post),
            ("PUT", Method::Put),
            ("DELETE", Method::Delete),
            ("OPTIONS", Method::Options),
            ("TRACE", Method::Trace),
            ("PATCH", Method::Patch),
            ("get", Method::Other),
        ] {
            assert_eq!(Method::of(text.as_bytes()), method);
        }
    }
}
