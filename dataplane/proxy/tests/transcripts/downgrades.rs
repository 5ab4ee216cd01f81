//! Requests of HTTP/2 that would mean something else to a server of HTTP/1: each gets its right answer, and no server
//! gets a byte of it.

use weir_proxy::io::Close;

use crate::{
    OK,
    http2::{Browser, http2},
    tape::{Stage, plan},
};

type Field = (&'static str, &'static str);

const START: [Field; 4] = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")];
const RESET: &str = "1: ProtocolError";

/// Literals that are not stored.
fn block(fields: &[Field]) -> Vec<u8> {
    let string = |text: &str| {
        assert!(text.len() < 127);
        [&[text.len() as u8], text.as_bytes()].concat()
    };
    fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
}

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, 1], payload].concat()
}

/// `END_HEADERS`, and `END_STREAM` if nothing follows.
fn head(fields: &[Field], is_all: bool) -> Vec<u8> {
    frame(1, 4 | u8::from(is_all), &block(fields))
}

fn data(content: &[u8], is_all: bool) -> Vec<u8> {
    frame(0, u8::from(is_all), content)
}

/// A client that has sent this on its first stream.
fn sent(stage: &mut Stage, frames: &[u8]) -> Browser {
    let mut browser = Browser::new(stage);
    browser.connection.open().expect("a stream");
    browser.says(stage, frames);
    browser
}

/// What the client of a request hears; no server may be asked, nor the connection suffer.
fn refused(fields: &[Field]) -> Vec<String> {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = sent(&mut stage, &head(fields, true));
    assert_eq!(stage.dials(), 0, "{fields:?}");
    let heard = browser.heard();
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    assert_eq!(stage.sent(server), "GET / HTTP/1.1\r\nhost: a\r\n\r\n", "behind {fields:?}");
    heard
}

fn with(name: &'static str, value: &'static str) -> Vec<Field> {
    [&START[..], &[(name, value)]].concat()
}

fn instead(at: usize, value: &'static str) -> Vec<Field> {
    let mut fields = START.to_vec();
    fields[at].1 = value;
    fields
}

fn without(at: usize) -> Vec<Field> {
    let mut fields = START.to_vec();
    fields.remove(at);
    fields
}

#[test]
fn lines_in_names_and_values_reset_their_stream() {
    for (name, value) in [
        ("x-a", "b\r\nx-b: c"),
        ("x-a", "b\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("x-a", "b\n"),
        ("x-a", "\rb"),
        ("x-a", "b\0c"),
        ("x-a\r\nx-b", "c"),
        ("x-a\n", "b"),
        ("x-a\0", "b"),
        ("x-a: b\r\nx-b", "c"),
        ("x-a:", "b"),
        ("x a", "b"),
        ("x-a ", "b"),
        (" x-a", "b"),
        ("", "b"),
        ("X-A", "b"),
        ("Host", "a"),
        ("Content-Length", "0"),
        ("cookie", "a=b\r\nx-b: c"),
        ("content-length", "0\r\nx-b: c"),
    ] {
        assert_eq!(refused(&with(name, value)), [RESET], "{name:?}: {value:?}");
    }
}

#[test]
fn fields_of_a_connection_reset_their_stream() {
    for (name, value) in [
        ("transfer-encoding", "chunked"),
        ("transfer-encoding", "identity"),
        ("transfer-encoding", ""),
        ("connection", "close"),
        ("connection", "x-a"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("upgrade", "websocket"),
        ("upgrade", "h2c"),
        ("te", "gzip"),
        ("te", "trailers, chunked"),
        ("te", "chunked"),
    ] {
        assert_eq!(refused(&with(name, value)), [RESET], "{name:?}: {value:?}");
    }
}

#[test]
fn paths_that_are_none_reset_their_stream() {
    for path in [
        "",
        "a",
        "*",
        "?a",
        "#a",
        "/a#b",
        "http://b/",
        "//b/ HTTP/1.1\r\nx: ",
        "/ HTTP/1.1",
        "/a b",
        "/a\tb",
        " /a",
        "/a ",
        "/a\r\nx-b: c",
        "/ HTTP/1.1\r\nhost: b\r\n\r\nGET /smuggled",
        "/a\n",
        "/a\0",
        "/\x7f",
        "b:80",
    ] {
        assert_eq!(refused(&instead(3, path)), [RESET], "{path:?}");
    }
}

#[test]
fn pseudo_header_fields_that_do_not_fit_reset_their_stream() {
    let mut rows = vec![without(0), without(1), without(3), without(2)];
    rows.extend(START.map(|(name, value)| with(name, value)));
    rows.extend(
        [(":path", "/b"), (":method", "POST"), (":authority", "b"), (":status", "200")].map(|(n, v)| with(n, v)),
    );
    rows.extend([(":unknown", "a"), (":", "a"), (":Path", "/"), (":protocol", "websocket")].map(|(n, v)| with(n, v)));
    rows.push([&[("x-a", "b")], &START[..]].concat());
    rows.push([&START[..2], &[("x-a", "b")], &START[2..]].concat());
    rows.extend(["", "ftp", "HTTP", "http\r\nx-b: c", "http ", "http://a/", "http\0"].map(|scheme| instead(1, scheme)));
    rows.extend(
        ["", "GET /", "GET / HTTP/1.1\r\nx-b: c", "G T", "GET ", "G\tT", "G:T", "G\0T"]
            .map(|method| instead(0, method)),
    );
    for fields in rows {
        assert_eq!(refused(&fields), [RESET], "{fields:?}");
    }
}

#[test]
fn hosts_that_are_none_or_two_reset_their_stream() {
    for authority in ["", "b\r\nx-b: c", "b c", "b\0", "u@b", "b/", "b?c", "b#c", "http://b"] {
        assert_eq!(refused(&instead(2, authority)), [RESET], "{authority:?}");
    }
    for host in ["b", "", "a:80", "a, b", "a\r\nx-b: c"] {
        assert_eq!(refused(&with("host", host)), [RESET], "{host:?}");
    }
    let twice = [&without(2)[..], &[("host", "a"), ("host", "a")]].concat();
    assert_eq!(refused(&twice), [RESET]);
}

#[test]
fn connect_is_not_implemented() {
    for fields in [instead(0, "CONNECT"), vec![(":method", "CONNECT"), (":authority", "a:80")]] {
        let heard = refused(&fields);
        assert_eq!(heard[0], "1: 501", "{heard:?}");
    }
}

#[test]
fn lengths_that_are_none_reset_their_stream() {
    for length in ["-1", "+3", "3 ", " 3", "0x3", "3, 3", "3,4", "", "3;", "18446744073709551616", "\u{661}"] {
        let fields = [&instead(0, "POST")[..], &[("content-length", length)]].concat();
        assert_eq!(refused(&fields), [RESET], "{length:?}");
    }
    for lengths in [["3", "3"], ["3", "4"], ["0", "0"]] {
        let fields = [&instead(0, "POST")[..], &lengths.map(|length| ("content-length", length))].concat();
        assert_eq!(refused(&fields), [RESET], "{lengths:?}");
    }
    let announced = [&instead(0, "POST")[..], &[("content-length", "3")]].concat();
    assert_eq!(refused(&announced), [RESET], "its stream ends with its head");
}

/// Bodies of another length than was announced: 3.
fn forged() -> [Vec<u8>; 6] {
    [
        data(b"abcd", true),
        data(b"abc\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n", false),
        data(b"ab", true),
        data(b"", true),
        [data(b"abc", false), data(b"d", true)].concat(),
        [data(b"ab", false), frame(1, 5, &block(&[("x-a", "b")]))].concat(),
    ]
}

fn announces_three() -> Vec<u8> {
    head(&[&instead(0, "POST")[..], &[("content-length", "3")]].concat(), false)
}

#[test]
fn server_never_gets_more_than_was_announced_and_is_left_where_less_comes() {
    for body in forged() {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = sent(&mut stage, &announces_three());
        let server = stage.connected();
        browser.says(&mut stage, &body);
        assert_eq!(browser.heard(), [RESET], "{body:?}");
        let got = stage.sent(server);
        let got = got.strip_prefix("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n").expect("the head");
        assert!("abc".starts_with(got), "{got:?}");
        assert_eq!(stage.closed(server), Some(Close::Abort), "{body:?}");
    }
}

#[test]
fn server_is_not_asked_where_all_of_a_forged_length_comes_at_once() {
    for body in forged() {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = sent(&mut stage, &[announces_three(), body.clone()].concat());
        assert_eq!(browser.heard(), [RESET], "{body:?}");
        if stage.dials() > 0 {
            let server = stage.dialled();
            assert_eq!((stage.sent(server), stage.closed(server)), (String::new(), Some(Close::Abort)), "{body:?}");
        }
    }
}

#[test]
fn trailers_that_are_malformed_reset_their_stream_and_end_no_request() {
    for trailer in [
        ("content-length", "3"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        (":path", "/"),
        (":status", "200"),
        ("X-A", "b"),
        ("x-a", "b\r\n\r\nGET /smuggled HTTP/1.1"),
        ("x-a\r\n", "b"),
    ] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = sent(&mut stage, &head(&instead(0, "POST"), false));
        let server = stage.connected();
        browser.says(&mut stage, &[data(b"abc", false), frame(1, 5, &block(&[trailer]))].concat());
        assert_eq!(browser.heard(), [RESET], "{trailer:?}");
        let got = stage.sent(server);
        let head = "POST / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let got = got.strip_prefix(head).expect("the head");
        assert!("3\r\nabc\r\n".starts_with(got), "{got:?}");
        assert_eq!(stage.closed(server), Some(Close::Abort), "{trailer:?}");
    }
}

#[test]
fn what_is_allowed_means_the_same_to_the_server() {
    for (fields, got) in [
        (with("te", "trailers"), "GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
        (with("host", "a"), "GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
        ([&without(2)[..], &[("host", "b")]].concat(), "GET / HTTP/1.1\r\nhost: b\r\n\r\n"),
        (
            [&with("cookie", "a=b")[..], &[("cookie", "c=d")]].concat(),
            "GET / HTTP/1.1\r\nhost: a\r\ncookie: a=b; c=d\r\n\r\n",
        ),
        (instead(3, "//b/../c?d=http://e/"), "GET //b/../c?d=http://e/ HTTP/1.1\r\nhost: a\r\n\r\n"),
        (instead(1, "https"), "GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
        (vec![(":method", "OPTIONS"), START[1], START[2], (":path", "*")], "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n"),
        (with("content-length", "0"), "GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"),
    ] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = sent(&mut stage, &head(&fields, true));
        let server = stage.connected();
        assert_eq!(stage.sent(server), got, "{fields:?}");
        stage.says(server, OK);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: 200", "1: ok, all"], "{fields:?}");
    }
}
