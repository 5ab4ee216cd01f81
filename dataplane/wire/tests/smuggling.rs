//! Requests with which one parser has been made to see another message than the next one: each is refused, or read in
//! the one way that is left.

use weir_wire::{
    Error,
    head::{FieldTable, Limits, Method},
    http1::{Framing, Parsed, request, response},
};

#[derive(Debug, PartialEq)]
enum Verdict {
    Refused(Error),
    Waits,
    Reads(Framing),
}
use Verdict::*;

const LIMITS: Limits = Limits { head_bytes: 8192, field_bytes: 4096, fields: 64 };

fn of_request(input: &[u8]) -> Verdict {
    match request(input, &LIMITS, &mut FieldTable::new()) {
        Err(error) => Refused(error),
        Ok(Parsed::Partial) => Waits,
        Ok(Parsed::Whole(message)) => Reads(message.framing),
    }
}

fn of_response(input: &[u8]) -> Verdict {
    match response(input, Method::Get, &LIMITS, &mut FieldTable::new()) {
        Err(error) => Refused(error),
        Ok(Parsed::Partial) => Waits,
        Ok(Parsed::Whole(message)) => Reads(message.framing),
    }
}

type Case = (&'static str, &'static [u8], Verdict);

fn check(cases: &[Case], read: impl Fn(&[u8]) -> Verdict) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, input, want)| {
            let got = read(input);
            (got != *want).then(|| format!("{name}: {got:?}, want {want:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn framing_of_a_request_is_read_in_one_way_or_refused() {
    check(FRAMING, of_request);
}

#[test]
fn lines_and_fields_of_a_request_are_read_in_one_way_or_refused() {
    check(LINES_AND_FIELDS, of_request);
}

#[test]
fn request_line_is_read_in_one_way_or_refused() {
    check(REQUEST_LINE, of_request);
}

#[test]
fn host_is_one_and_a_host() {
    check(HOST, of_request);
}

#[test]
fn response_is_read_in_one_way_or_refused() {
    check(RESPONSE, of_response);
}

const FRAMING: &[Case] = &[
    (
        "content-length and transfer-encoding",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        Refused(Error::TwoFramings),
    ),
    (
        "transfer-encoding and content-length",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        Refused(Error::TwoFramings),
    ),
    (
        "content-length beside a coding that is none",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n",
        Refused(Error::TwoFramings),
    ),
    (
        "two different content-lengths",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "two equal content-lengths",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "two content-lengths in different case",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\ncONTENT-lENGTH: 0\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "list of content-lengths",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "content-length with a sign",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "negative content-length",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "hexadecimal content-length",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "content-length with white space inside",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 0\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "content-length with a fraction",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "content-length in other digits",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \xd9\xa5\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    ("empty content-length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", Refused(Error::ContentLength)),
    (
        "content-length that wraps to 5",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "largest content-length",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n",
        Reads(Framing::Length(i64::MAX as u64)),
    ),
    (
        "content-length that is negative in 64 bits with a sign",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "content-length with leading zeros",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0005\r\n\r\n",
        Reads(Framing::Length(5)),
    ),
    (
        "white space around a content-length",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \t 5 \t\r\n\r\n",
        Reads(Framing::Length(5)),
    ),
    (
        "unknown coding alone",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "identity",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "unknown coding before chunked",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        Refused(Error::UnknownCoding),
    ),
    (
        "unknown coding before chunked, in two fields",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        Refused(Error::UnknownCoding),
    ),
    (
        "chunked before another coding",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "chunked twice",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "chunked twice, in two fields",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "chunked in quotes",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "chunked with a parameter",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "chunked behind a comma",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "chunked behind a vertical tab",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
        Refused(Error::Field),
    ),
    (
        "chunked behind a byte that folds to a space",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \xa0chunked\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "empty transfer-encoding",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "transfer-encoding in HTTP/1.0",
        b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        Refused(Error::TransferEncoding),
    ),
    (
        "chunked in capitals",
        b"POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING: CHUNKED\r\n\r\n",
        Reads(Framing::Chunked),
    ),
    (
        "underscore for a hyphen is another field",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent_Length: 5\r\nTransfer_Encoding: chunked\r\n\r\n",
        Reads(Framing::None),
    ),
    ("GET with a body", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", Reads(Framing::Length(5))),
];

const LINES_AND_FIELDS: &[Case] = &[
    ("bare LF behind the request line", b"GET / HTTP/1.1\nHost: a\r\n\r\n", Refused(Error::LineEnding)),
    ("bare LF behind a field", b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", Refused(Error::LineEnding)),
    ("bare LF behind white space", b"GET / HTTP/1.1\r\nHost: a \nX: b\r\n\r\n", Refused(Error::LineEnding)),
    ("bare LF behind an empty value", b"GET / HTTP/1.1\r\nHost: a\r\nX:\n\r\n", Refused(Error::LineEnding)),
    ("bare LF for the empty line", b"GET / HTTP/1.1\r\nHost: a\r\n\n", Refused(Error::LineEnding)),
    ("bare LF throughout", b"GET / HTTP/1.1\nHost: a\n\n", Refused(Error::LineEnding)),
    ("bare CR in a value", b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", Refused(Error::Field)),
    ("bare CR behind a value", b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", Refused(Error::Field)),
    ("bare CR for the empty line", b"GET / HTTP/1.1\r\nHost: a\r\n\rX", Refused(Error::LineEnding)),
    ("NUL in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", Refused(Error::Field)),
    ("NUL in a name", b"GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n", Refused(Error::Field)),
    ("DEL in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", Refused(Error::Field)),
    ("folded field", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", Refused(Error::Field)),
    ("field folded with a tab", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", Refused(Error::Field)),
    ("white space before the first field", b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", Refused(Error::Field)),
    ("space before the colon", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", Refused(Error::Field)),
    ("tab before the colon", b"GET / HTTP/1.1\r\nHost\t: a\r\n\r\n", Refused(Error::Field)),
    ("empty field name", b"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", Refused(Error::Field)),
    ("line without a colon", b"GET / HTTP/1.1\r\nHost: a\r\nfoo\r\n\r\n", Refused(Error::Field)),
    ("space in a field name", b"GET / HTTP/1.1\r\nHost: a\r\nfoo bar: b\r\n\r\n", Refused(Error::Field)),
    ("field name outside ASCII", b"GET / HTTP/1.1\r\nHost: a\r\nf\xc3\xbc: b\r\n\r\n", Refused(Error::Field)),
    ("two empty lines before the request", b"\r\n\r\nGET / HTTP/1.1\r\n", Refused(Error::StartLine)),
    ("bare LF before the request", b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("empty line before the request", b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Reads(Framing::None)),
    ("bytes outside ASCII in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: \xff\r\n\r\n", Reads(Framing::None)),
    ("head that has not ended", b"GET / HTTP/1.1\r\nHost: a\r\n", Waits),
    ("CR that has not ended", b"\r", Waits),
    ("nothing", b"", Waits),
    (
        "more connection options than anyone needs",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a\
                \r\n\r\n",
        Refused(Error::Field),
    ),
];

const REQUEST_LINE: &[Case] = &[
    ("two spaces before the target", b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("two spaces behind the target", b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("tab for a space", b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("space before the method", b" GET / HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("space behind the version", b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", Refused(Error::LineEnding)),
    ("space inside the target", b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("method that is no token", b"GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("method that nobody knows", b"BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n", Reads(Framing::None)),
    ("HTTP/0.9", b"GET /\r\n\r\n", Refused(Error::StartLine)),
    ("HTTP/1.2", b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", Refused(Error::Version)),
    ("HTTP/1.10", b"GET / HTTP/1.10\r\nHost: a\r\n\r\n", Refused(Error::LineEnding)),
    ("HTTP/2.0", b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", Refused(Error::Version)),
    ("preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refused(Error::Version)),
    ("version in small letters", b"GET / http/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("other protocol", b"OPTIONS rtsp://a RTSP/1.0\r\n\r\n", Refused(Error::StartLine)),
    ("first bytes of a TLS handshake", b"\x16\x03\x01\x02\x00\x01\x00", Refused(Error::StartLine)),
    ("fragment", b"GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("UTF-8 in the target", b"GET /\xc3\xbc HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("bad UTF-8 in the target", b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("NUL in the target", b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::StartLine)),
    ("target without a slash", b"GET index.html HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("authority for a target", b"GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("asterisk for GET", b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("asterisk for OPTIONS", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", Reads(Framing::None)),
    ("CONNECT", b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", Refused(Error::Connect)),
    ("CONNECT to a path", b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Connect)),
    ("absolute target", b"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", Reads(Framing::None)),
    ("absolute target without a host", b"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("absolute target with a user", b"GET http://u@b/ HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("absolute target elsewhere", b"GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n", Refused(Error::Target)),
    ("absolute target, no Host", b"GET http://b/ HTTP/1.1\r\n\r\n", Refused(Error::Host)),
];

const HOST: &[Case] = &[
    ("no Host", b"GET / HTTP/1.1\r\n\r\n", Refused(Error::Host)),
    ("no Host in HTTP/1.0", b"GET / HTTP/1.0\r\n\r\n", Reads(Framing::None)),
    ("two Hosts", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refused(Error::Host)),
    ("two equal Hosts", b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", Refused(Error::Host)),
    ("two Hosts in HTTP/1.0", b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", Refused(Error::Host)),
    ("Host with a path", b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", Refused(Error::Host)),
    ("Host with a user", b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", Refused(Error::Host)),
    ("Host with a space", b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", Refused(Error::Host)),
    ("Host with markup", b"GET / HTTP/1.1\r\nHost: <a>\r\n\r\n", Refused(Error::Host)),
    ("Host outside ASCII", b"GET / HTTP/1.1\r\nHost: \xc3\xbc\r\n\r\n", Refused(Error::Host)),
    ("Host with two ports", b"GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", Refused(Error::Host)),
    ("Host with a port of letters", b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", Refused(Error::Host)),
    ("Host with an open bracket", b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", Refused(Error::Host)),
    ("Host behind a bracket", b"GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n", Refused(Error::Host)),
    ("Host of IPv6 and port", b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", Reads(Framing::None)),
    ("Host of IPv4 and port", b"GET / HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n\r\n", Reads(Framing::None)),
    ("empty Host", b"GET / HTTP/1.1\r\nHost:\r\n\r\n", Reads(Framing::None)),
];

const RESPONSE: &[Case] = &[
    ("length", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Reads(Framing::Length(5))),
    ("chunked", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Reads(Framing::Chunked)),
    ("neither", b"HTTP/1.1 200 OK\r\n\r\n", Reads(Framing::UntilClose)),
    ("neither in HTTP/1.0", b"HTTP/1.0 200 OK\r\n\r\n", Reads(Framing::UntilClose)),
    ("204 with a length", b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", Reads(Framing::None)),
    ("304 with a length", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", Reads(Framing::None)),
    ("100", b"HTTP/1.1 100 Continue\r\n\r\n", Reads(Framing::None)),
    ("no reason, no space", b"HTTP/1.1 204\r\n\r\n", Reads(Framing::None)),
    (
        "length and chunked",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        Refused(Error::TwoFramings),
    ),
    (
        "two lengths",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    (
        "length that is negative in 64 bits with a sign",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n",
        Refused(Error::ContentLength),
    ),
    ("chunked in HTTP/1.0", b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Refused(Error::TransferEncoding)),
    ("unknown coding", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", Refused(Error::TransferEncoding)),
    ("white space before a colon", b"HTTP/1.1 200 OK\r\nContent-Length \t: 5\r\n\r\n", Reads(Framing::Length(5))),
    ("form feed before a colon", b"HTTP/1.1 200 OK\r\nX \x0c: 5\r\n\r\n", Refused(Error::Field)),
    ("white space for a name", b"HTTP/1.1 200 OK\r\n : 5\r\n\r\n", Refused(Error::Field)),
    ("white space in a name", b"HTTP/1.1 200 OK\r\nX Y : 5\r\n\r\n", Refused(Error::Field)),
    ("continued line", b"HTTP/1.1 200 OK\r\nX : 5\r\n 6\r\n\r\n", Refused(Error::Field)),
    (
        "length and chunked, with white space before a colon",
        b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        Refused(Error::TwoFramings),
    ),
    ("101", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", Refused(Error::SwitchedProtocols)),
    ("status below 100", b"HTTP/1.1 099 No\r\n\r\n", Refused(Error::Status)),
    ("status above 599", b"HTTP/1.1 600 No\r\n\r\n", Refused(Error::Status)),
    ("status of letters", b"HTTP/1.1 2xx OK\r\n\r\n", Refused(Error::StartLine)),
    ("bare LF", b"HTTP/1.1 200 OK\nContent-Length: 5\n\n", Refused(Error::LineEnding)),
    ("bare LF behind no reason", b"HTTP/1.1 200\n\r\n", Refused(Error::LineEnding)),
    ("empty line before it", b"\r\nHTTP/1.1 200 OK\r\n\r\n", Refused(Error::StartLine)),
    ("HTTP/2.0", b"HTTP/2.0 200 OK\r\n\r\n", Refused(Error::StartLine)),
    ("garbage", b"SSH-2.0-OpenSSH_9.2\r\n", Refused(Error::StartLine)),
];
