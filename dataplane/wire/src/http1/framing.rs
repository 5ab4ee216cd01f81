//! The fields that the protocol itself obeys: where a body ends (RFC 9112 §6), and what becomes of the connection behind
//! it (§9). Read in one pass; whatever could be read in two ways is refused.

use super::lines::Lines;
use crate::{
    Error,
    head::{BodyLength, Field, Name, NameSet, Version, decimal},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    None,
    Length(u64),
    Chunked,
    /// Of responses only: the body ends with the connection.
    UntilClose,
}

impl Framing {
    /// How a message goes on in HTTP/1 whose protocol frames its body otherwise.
    pub fn of(length: BodyLength) -> Self {
        match length {
            BodyLength::None => Framing::None,
            BodyLength::Bytes(bytes) => Framing::Length(bytes),
            BodyLength::Unknown => Framing::Chunked,
        }
    }

    pub fn length(self) -> BodyLength {
        match self {
            Framing::None => BodyLength::None,
            Framing::Length(bytes) => BodyLength::Bytes(bytes),
            Framing::Chunked | Framing::UntilClose => BodyLength::Unknown,
        }
    }
}

/// Options that one head may list in Connection; more would make looking up each field among them expensive.
const CONNECTION_OPTIONS_MAX: usize = 32;

const OBEYED: NameSet =
    NameSet::of(&[Name::Connection, Name::ContentLength, Name::Expect, Name::Host, Name::TransferEncoding]);

/// What these fields say, before anyone asks what message they stand in.
#[derive(Default)]
pub(super) struct Control<'b> {
    pub host: Option<&'b [u8]>,
    pub expect_continue: bool,
    names_hop_fields: bool,
    length: Option<u64>,
    chunked: bool,
    unknown_coding: bool,
    close: bool,
    keep_alive: bool,
    connection_options: usize,
}

impl<'b> Control<'b> {
    /// Reads these fields of a head, and marks the fields that Connection names: they end here.
    pub fn of(lines: &mut Lines<'b>, version: Version) -> Result<Self, Error> {
        let mut control = Control::default();
        for field in lines.among(OBEYED) {
            match field.name {
                Name::Connection => control.connection(field.value)?,
                Name::ContentLength => control.content_length(field.value)?,
                Name::Expect => control.expect_continue |= field.value.eq_ignore_ascii_case(b"100-continue"),
                Name::Host => control.host(field.value)?,
                Name::TransferEncoding => control.transfer_encoding(field.value)?,
                _ => {}
            }
        }
        control.agree(lines.seen.has(Name::TransferEncoding), version)?;
        if control.names_hop_fields {
            lines.end_here(is_named_away);
        }
        Ok(control)
    }

    /// A declared body, if any.
    pub fn framing(&self) -> Option<Framing> {
        if self.chunked { Some(Framing::Chunked) } else { self.length.map(Framing::Length) }
    }

    /// RFC 9112 §9.3.
    pub fn persists(&self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }

    fn agree(&self, has_coding: bool, version: Version) -> Result<(), Error> {
        match has_coding {
            false => Ok(()),
            // Also when it is no valid coding: what matters is that somebody else may take it for one.
            true if self.length.is_some() => Err(Error::TwoFramings),
            true if !self.chunked || version == Version::Http10 => Err(Error::TransferEncoding),
            true if self.unknown_coding => Err(Error::UnknownCoding),
            true => Ok(()),
        }
    }

    fn host(&mut self, value: &'b [u8]) -> Result<(), Error> {
        match self.host.replace(value) {
            None => Ok(()),
            Some(_) => Err(Error::Host),
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), Error> {
        let length = decimal(value).ok_or(Error::ContentLength)?;
        match self.length.replace(length) {
            None => Ok(()),
            Some(_) => Err(Error::ContentLength),
        }
    }

    #[inline(never)]
    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Error> {
        for coding in list(value) {
            // Nothing follows `chunked`, not even itself (RFC 9112 §6.1).
            if self.chunked || coding.is_empty() {
                return Err(Error::TransferEncoding);
            }
            match coding.eq_ignore_ascii_case(b"chunked") {
                true => self.chunked = true,
                false => self.unknown_coding = true,
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn connection(&mut self, value: &[u8]) -> Result<(), Error> {
        for option in list(value).filter(|option| !option.is_empty()) {
            self.connection_options += 1;
            if self.connection_options > CONNECTION_OPTIONS_MAX {
                return Err(Error::Field);
            }
            if option.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if Name::of(option) == Name::Other || !USUAL_OPTIONS.has(Name::of(option)) {
                self.names_hop_fields = true;
            }
        }
        Ok(())
    }
}

/// Hop-by-hop whether Connection names them or not.
const USUAL_OPTIONS: NameSet =
    NameSet::of(&[Name::KeepAlive, Name::ProxyConnection, Name::Te, Name::TransferEncoding, Name::Upgrade]);

/// Not for a peer to take away by naming them in Connection: without these the next reader sees another message, or one
/// of another time.
const NEEDED: NameSet = NameSet::of(&[Name::ContentLength, Name::Date, Name::Host]);

/// Whether Connection names a field, which then goes no further than one hop (RFC 9110 §7.6.1).
fn is_named_away(lines: &Lines<'_>, field: Field<'_>) -> bool {
    let mut connections = lines.among(NameSet::of(&[Name::Connection]));
    let is_named =
        |connection: Field<'_>| list(connection.value).any(|option| option.eq_ignore_ascii_case(field.name_text));
    !NEEDED.has(field.name) && connections.any(is_named)
}

/// The elements of a comma-separated list, trimmed.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(|element| element.trim_ascii())
}

#[cfg(test)]
mod tests {
    use crate::{
        head::{FieldTable, Limits, Method},
        http1::{Parsed, Request, Response, request, response},
    };

    fn with_request<T>(lines: &str, look: impl Fn(Request<'_>) -> T) -> T {
        let input = format!("{}\r\n\r\n", lines.replace('|', "\r\n"));
        match request(input.as_bytes(), &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(message)) => look(message),
            other => panic!("{other:?}"),
        }
    }

    fn with_response<T>(lines: &str, look: impl Fn(Response<'_>) -> T) -> T {
        let input = format!("{}\r\n\r\n", lines.replace('|', "\r\n"));
        match response(input.as_bytes(), Method::Get, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(message)) => look(message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn connection_persists_by_version_and_options() {
        for (lines, persists) in [
            ("GET / HTTP/1.1|Host: a", true),
            ("GET / HTTP/1.1|Host: a|Connection: close", false),
            ("GET / HTTP/1.1|Host: a|Connection: x|Connection: y, CLOSE", false),
            ("GET / HTTP/1.1|Host: a|Connection: closed", true),
            ("GET / HTTP/1.0|Host: a", false),
            ("GET / HTTP/1.0|Host: a|Connection: Keep-Alive", true),
            ("GET / HTTP/1.0|Host: a|Connection: keep-alive, close", false),
        ] {
            assert_eq!(with_request(lines, |request| request.keep_alive), persists, "{lines}");
        }
    }

    #[test]
    fn response_until_close_does_not_persist() {
        for (lines, persists) in [
            ("HTTP/1.1 200 OK|Content-Length: 1", true),
            ("HTTP/1.1 200 OK|Content-Length: 1|Connection: close", false),
            ("HTTP/1.1 200 OK", false),
            ("HTTP/1.1 304 OK", true),
            ("HTTP/1.0 200 OK|Content-Length: 1|Connection: keep-alive", true),
        ] {
            assert_eq!(with_response(lines, |response| response.keep_alive), persists, "{lines}");
        }
    }

    /// The names of the fields that may go on.
    fn passing(lines: &str) -> String {
        with_request(lines, |request| {
            let names = request.head.fields.passing().map(|field| String::from_utf8_lossy(field.name_text));
            names.collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn fields_that_connection_names_go_no_further() {
        for (options, names) in [
            ("close", "Host X-Hop Close Date"),
            ("keep-alive, Upgrade, TE", "Host X-Hop Close Date"),
            ("X-HOP", "Host Close Date"),
            ("close, x-hop|Connection: Other", "Host Date"),
            ("X-Ho", "Host X-Hop Close Date"),
            ("Host, Date, Content-Length", "Host X-Hop Close Date"),
        ] {
            let lines = format!("GET / HTTP/1.1|Host: a|X-Hop: b|Close: c|Date: d|Connection: {options}");
            assert_eq!(passing(&lines), names, "{options}");
        }
    }

    #[test]
    fn http_1_0_knows_no_expectations() {
        assert_eq!(passing("GET / HTTP/1.1|Host: a|Expect: b"), "Host Expect");
        assert_eq!(passing("GET / HTTP/1.0|Host: a|Expect: b"), "Host");
    }

    #[test]
    fn client_waits_for_100_only_with_a_body_in_http_1_1() {
        for (lines, waits) in [
            ("POST / HTTP/1.1|Host: a|Expect: 100-continue|Content-Length: 1", true),
            ("POST / HTTP/1.1|Host: a|Expect: 100-Continue|Transfer-Encoding: chunked", true),
            ("POST / HTTP/1.1|Host: a|Expect: 100-continue|Content-Length: 0", false),
            ("POST / HTTP/1.1|Host: a|Expect: 100-continue", false),
            ("POST / HTTP/1.1|Host: a|Expect: else|Content-Length: 1", false),
            ("POST / HTTP/1.0|Host: a|Expect: 100-continue|Content-Length: 1", false),
        ] {
            assert_eq!(with_request(lines, |request| request.head.expect_continue), waits, "{lines}");
        }
    }
}
