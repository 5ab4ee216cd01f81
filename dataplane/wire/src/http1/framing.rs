//! The fields that the protocol itself obeys: where a body ends (RFC 9112 §6), and whether the connection stays open
//! (§9). They are read in one pass. Whatever could be read in two ways is refused.

use super::{
    Error, Fields, Version,
    field::{Name, NameSet},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    None,
    Length(u64),
    Chunked,
    /// Of responses only: the body ends with the connection.
    UntilClose,
}

/// The longest body or chunk. A reader with signed 64-bit lengths would take a longer one for negative.
pub(super) const LENGTH_MAX: u64 = i64::MAX as u64;

/// The limit of options in Connection. With more of them, to look up each field among them would be expensive.
const CONNECTION_OPTIONS_MAX: usize = 32;

const OBEYED: NameSet =
    NameSet::of(&[Name::Connection, Name::ContentLength, Name::Expect, Name::Host, Name::TransferEncoding]);

/// What these fields say, before anyone asks what message they stand in.
#[derive(Default)]
pub(super) struct Control<'b> {
    pub host: Option<&'b [u8]>,
    pub expect_continue: bool,
    pub names_hop_fields: bool,
    length: Option<u64>,
    chunked: bool,
    unknown_coding: bool,
    close: bool,
    keep_alive: bool,
    connection_options: usize,
}

impl<'b> Control<'b> {
    pub fn of(fields: &Fields<'b>, version: Version) -> Result<Self, Error> {
        let mut control = Control::default();
        for field in fields.among(OBEYED) {
            match field.name {
                Name::Connection => control.connection(field.value)?,
                Name::ContentLength => control.content_length(field.value)?,
                Name::Expect => control.expect_continue |= field.value.eq_ignore_ascii_case(b"100-continue"),
                Name::Host => control.host(field.value)?,
                Name::TransferEncoding => control.transfer_encoding(field.value)?,
                _ => {}
            }
        }
        control.agree(fields.has(Name::TransferEncoding), version)?;
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

impl Fields<'_> {
    /// Whether Connection names this field, so that it must not be forwarded (RFC 9110 §7.6.1).
    pub fn connection_names(&self, name: &[u8]) -> bool {
        self.among(NameSet::of(&[Name::Connection]))
            .any(|field| list(field.value).any(|option| option.eq_ignore_ascii_case(name)))
    }
}

/// The elements of a comma-separated list, trimmed.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(|element| element.trim_ascii())
}

/// 1*DIGIT up to [`LENGTH_MAX`]; no sign, no white space, no list.
fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    let number = value.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    });
    number.filter(|number| *number <= LENGTH_MAX)
}

#[cfg(test)]
mod tests {
    use crate::http1::{FieldTable, Limits, Method, Parsed, RequestHead, ResponseHead, request, response};

    fn with_request<T>(lines: &str, look: impl Fn(RequestHead<'_>) -> T) -> T {
        let input = format!("{}\r\n\r\n", lines.replace('|', "\r\n"));
        match request(input.as_bytes(), &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(head)) => look(head),
            other => panic!("{other:?}"),
        }
    }

    fn with_response<T>(lines: &str, look: impl Fn(ResponseHead<'_>) -> T) -> T {
        let input = format!("{}\r\n\r\n", lines.replace('|', "\r\n"));
        match response(input.as_bytes(), Method::Get, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(head)) => look(head),
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
            assert_eq!(with_request(lines, |head| head.keep_alive), persists, "{lines}");
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
            assert_eq!(with_response(lines, |head| head.keep_alive), persists, "{lines}");
        }
    }

    #[test]
    fn unusual_connection_options_are_noticed() {
        for (option, noticed) in [
            ("close", false),
            ("keep-alive, Upgrade, TE", false),
            ("X-Hop", true),
            ("close, x-hop", true),
            ("Host", true),
        ] {
            let lines = format!("GET / HTTP/1.1|Host: a|Connection: {option}");
            assert_eq!(with_request(&lines, |head| head.names_hop_fields), noticed, "{option}");
        }
    }

    #[test]
    fn fields_that_connection_names_are_told() {
        with_request("GET / HTTP/1.1|Host: a|Connection: close, X-Hop|Connection: Other", |head| {
            assert!(head.fields.connection_names(b"x-hop"));
            assert!(head.fields.connection_names(b"OTHER"));
            assert!(!head.fields.connection_names(b"X-Ho"));
        });
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
            assert_eq!(with_request(lines, |head| head.expect_continue), waits, "{lines}");
        }
    }
}
