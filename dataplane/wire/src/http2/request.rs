//! The head of a request (RFC 9113 §8.3.1).

use super::{
    Refused,
    block::{self, Message, Read},
    hpack::{Decoder, Pseudo},
};
use crate::{
    Error,
    head::{
        BodyLength, FieldTable, Limits, Method, Name, NameSet, RequestHead, Version, is_host, is_token, may_be_target,
    },
    websocket,
};

/// A request head, and what it says beside.
#[derive(Clone, Copy, Debug)]
pub struct Request<'b> {
    pub head: RequestHead<'b>,
    pub scheme: &'b [u8],
    /// It asks for a tunnel of WebSocket (RFC 8441). Its head is that of the handshake in HTTP/1.1, which has no key yet.
    pub is_websocket: bool,
    /// Nothing follows on its stream.
    pub is_all: bool,
}

/// Reads a whole block as the head of a request. `is_all`: no body follows.
pub fn request<'b>(
    block: &[u8],
    is_all: bool,
    decoder: &mut Decoder,
    limits: &Limits,
    table: &'b mut FieldTable,
) -> Result<Request<'b>, Refused> {
    let read = block::read(block, Message::Request, decoder, limits, table)?;
    let mut method_text = read.pseudo(Pseudo::Method).ok_or(Error::StartLine)?;
    let is_websocket = method_text == b"CONNECT";
    if is_websocket {
        check_connect(read.pseudo(Pseudo::Protocol), &read)?;
        method_text = b"GET";
    } else if read.pseudo(Pseudo::Protocol).is_some() {
        return Err(Error::StartLine.into());
    }
    if !is_token(method_text) {
        return Err(Error::StartLine.into());
    }
    let method = Method::of(method_text);
    let scheme = read.pseudo(Pseudo::Scheme).filter(|scheme| [&b"http"[..], b"https"].contains(scheme));
    let scheme = scheme.ok_or(Error::Target)?;
    let path = read.pseudo(Pseudo::Path).filter(|path| is_path(path, method)).ok_or(Error::Target)?;
    let host = read.fields.among(NameSet::of(&[Name::Host])).next().map(|field| field.value);
    let host = host.filter(|host| !host.is_empty() && is_host(host)).ok_or(Error::Host)?;
    // What follows on a tunnel is no body.
    let body = if is_websocket { BodyLength::None } else { read.facts.body(is_all)? };
    let head = RequestHead {
        method,
        method_text,
        target: path,
        path,
        version: Version::Http11,
        fields: read.fields,
        body,
        expect_continue: read.facts.expect_continue && !body.is_zero(),
        host: Some(host),
        absolute: false,
    };
    Ok(Request { head, scheme, is_websocket, is_all })
}

/// CONNECT is taken only for WebSocket, and without any body.
fn check_connect(protocol: Option<&[u8]>, read: &Read<'_>) -> Result<(), Error> {
    if !protocol.is_some_and(websocket::is_protocol) {
        return Err(Error::Connect);
    }
    if read.facts.length.is_some() {
        return Err(Error::ContentLength);
    }
    if websocket::has_version(&read.fields) { Ok(()) } else { Err(Error::WebSocketVersion) }
}

/// A path, `*` of OPTIONS, and no other form.
fn is_path(path: &[u8], method: Method) -> bool {
    let is_form = path.first() == Some(&b'/') || path == b"*" && method == Method::Options;
    is_form && may_be_target(path) && !path.contains(&b' ') && !path.contains(&b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        head::BodyLength,
        http2::{Code, hpack::TABLE_BYTES},
    };

    const START: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/b?c")];

    /// Literals that are not stored.
    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let string = |text: &str| {
            assert!(text.len() < 127);
            [&[text.len() as u8], text.as_bytes()].concat()
        };
        fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
    }

    fn read_within<T>(
        limits: Limits,
        fields: &[(&str, &str)],
        is_all: bool,
        look: impl Fn(Request<'_>) -> T,
    ) -> Result<T, Refused> {
        let (mut decoder, mut table) = (Decoder::new(TABLE_BYTES), FieldTable::new());
        request(&block(fields), is_all, &mut decoder, &limits, &mut table).map(look)
    }

    fn read<T>(fields: &[(&str, &str)], is_all: bool, look: impl Fn(Request<'_>) -> T) -> Result<T, Refused> {
        read_within(Limits::new(0, 0, 0), fields, is_all, look)
    }

    fn refused(fields: &[(&str, &str)]) -> Option<Refused> {
        read(fields, false, |_| ()).err()
    }

    fn lines(request: Request<'_>) -> String {
        let mut all = String::new();
        request.head.fields.kept_lines(|_| true, |lines| all.push_str(&String::from_utf8_lossy(lines)));
        all
    }

    #[test]
    fn reads_a_request() {
        let fields = [&START[..], &[("x-a", "b"), ("te", "Trailers"), ("content-length", "3")]].concat();
        let request = read(&fields, false, |request| {
            let head = request.head;
            assert_eq!((head.method, head.version), (Method::Get, Version::Http11));
            assert_eq!((head.path, head.host), (&b"/b?c"[..], Some(&b"a"[..])));
            assert_eq!((head.body, head.expect_continue), (BodyLength::Bytes(3), false));
            assert_eq!((request.scheme, head.fields.take_trailers()), (&b"https"[..], true));
            lines(request)
        });
        assert_eq!(request.as_deref(), Ok("host: a\r\nx-a: b\r\ncontent-length: 3\r\n"));
    }

    #[test]
    fn crumbs_of_cookies_become_one_field() {
        let fields = [&START[..], &[("cookie", "a=b"), ("x-a", "b"), ("cookie", "c=d"), ("cookie", "e=f")]].concat();
        assert_eq!(read(&fields, true, lines).as_deref(), Ok("host: a\r\nx-a: b\r\ncookie: a=b; c=d; e=f\r\n"),);
        let empty = [&START[..], &[("cookie", "a=b"), ("cookie", ""), ("cookie", "")]].concat();
        assert_eq!(read(&empty, true, lines).as_deref(), Ok("host: a\r\ncookie: a=b\r\n"));
    }

    #[test]
    fn host_is_the_authority_or_stands_for_it() {
        let without = [START[0], START[1], START[3]];
        let with = |start: &[(&'static str, &'static str)], hosts: &[&'static str]| {
            [start, &hosts.iter().map(|host| ("host", *host)).collect::<Vec<_>>()].concat()
        };
        for (fields, host) in [
            (with(&START, &[]), Ok("host: a\r\n")),
            (with(&START, &["a"]), Ok("host: a\r\n")),
            (with(&without, &["c:80"]), Ok("host: c:80\r\n")),
            (with(&START, &["b"]), Err(Refused::Message(Error::Host))),
            (with(&without, &[]), Err(Refused::Message(Error::Host))),
            (with(&without, &[""]), Err(Refused::Message(Error::Host))),
            (with(&without, &["a", "a"]), Err(Refused::Message(Error::Host))),
            (with(&without, &["u@a"]), Err(Refused::Message(Error::Host))),
        ] {
            assert_eq!(read(&fields, true, lines).as_deref(), host.as_deref(), "{fields:?}");
        }
    }

    #[test]
    fn refuses_what_is_malformed() {
        let swapped = |at: usize, name: &'static str, value: &'static str| {
            let mut fields = START.to_vec();
            fields[at] = (name, value);
            fields
        };
        let added = |name: &'static str, value: &'static str| [&START[..], &[(name, value)]].concat();
        for (fields, error) in [
            (added("Upper", "a"), Error::Field),
            (added("connection", "close"), Error::Field),
            (added("transfer-encoding", "chunked"), Error::Field),
            (added("te", "gzip"), Error::Field),
            (added("a", "b\n"), Error::Field),
            (added(":path", "/"), Error::Field),
            (added(":other", "/"), Error::Field),
            ([&[("x-a", "b")], &START[..]].concat(), Error::Field),
            ([&[("cookie", "b")], &START[..]].concat(), Error::Field),
            ([&START[..3], &[("host", "a")], &START[3..]].concat(), Error::Field),
            (added(":status", "200"), Error::Field),
            (added(":protocol", "websocket"), Error::StartLine),
            (added("content-length", "+1"), Error::ContentLength),
            ([&added("content-length", "1")[..], &[("content-length", "1")]].concat(), Error::ContentLength),
            (swapped(0, ":method", "A B"), Error::StartLine),
            (swapped(0, ":method", "CONNECT"), Error::Connect),
            (swapped(0, "x-a", "b"), Error::Field),
            (swapped(1, ":scheme", "ftp"), Error::Target),
            (swapped(3, ":path", ""), Error::Target),
            (swapped(3, ":path", "*"), Error::Target),
            (swapped(3, ":path", "/a b"), Error::Target),
            (swapped(3, ":path", "/a#b"), Error::Target),
            (swapped(3, ":path", "http://a/"), Error::Target),
            (START[1..].to_vec(), Error::StartLine),
            (START[..3].to_vec(), Error::Target),
        ] {
            assert_eq!(refused(&fields), Some(Refused::Message(error)), "{fields:?}");
        }
        let announced = added("content-length", "1");
        assert_eq!(read(&announced, true, |_| ()), Err(Refused::Message(Error::ContentLength)));
        let none = added("content-length", "0");
        for is_all in [true, false] {
            assert_eq!(read(&none, is_all, |request| request.head.body), Ok(BodyLength::Bytes(0)));
        }
    }

    #[test]
    fn limits_hold_for_what_is_decoded() {
        let long = "x".repeat(120);
        let many = |count: usize| [&START[..], &vec![("x-a", long.as_str()); count]].concat();
        let head = Limits::new(300, 0, 0);
        assert_eq!(read_within(head, &many(1), true, |_| ()), Ok(()));
        assert_eq!(read_within(head, &many(2), true, |_| ()), Err(Refused::Message(Error::HeadTooLarge)));
        assert_eq!(read_within(head, &many(10), true, |_| ()), Err(Refused::Connection(Code::EnhanceYourCalm)));
        let crumbs = [&START[..], &[("cookie", &long[..60]), ("cookie", &long[..60])]].concat();
        assert_eq!(
            read_within(Limits::new(0, 100, 0), &crumbs, true, |_| ()),
            Err(Refused::Message(Error::FieldTooLarge))
        );
        let field = Limits::new(0, 100, 0);
        assert_eq!(read_within(field, &many(1), true, |_| ()), Err(Refused::Message(Error::FieldTooLarge)));
        let fields = Limits::new(0, 0, 3);
        assert_eq!(read_within(fields, &many(2), true, |_| ()), Ok(()));
        assert_eq!(read_within(fields, &many(3), true, |_| ()), Err(Refused::Message(Error::TooManyFields)));
    }

    #[test]
    fn connect_for_websocket_is_the_handshake_without_a_key() {
        let connect = |protocol: &'static str, more: &[(&'static str, &'static str)]| {
            let start = [(":method", "CONNECT"), START[1], START[2], START[3], (":protocol", protocol)];
            [&start[..], more].concat()
        };
        let version = ("sec-websocket-version", "13");
        let asked =
            read(&connect("websocket", &[version, ("sec-websocket-key", "b"), ("x-a", "b")]), false, |request| {
                let head = request.head;
                assert_eq!((head.method, head.method_text, head.path), (Method::Get, &b"GET"[..], &b"/b?c"[..]));
                assert_eq!((request.is_websocket, head.body), (true, BodyLength::None));
                lines(request)
            });
        assert_eq!(asked.as_deref(), Ok("host: a\r\nsec-websocket-version: 13\r\nx-a: b\r\n"));
        for (fields, error) in [
            (connect("connect-udp", &[version]), Error::Connect),
            (connect("websocket", &[]), Error::WebSocketVersion),
            (connect("websocket", &[("sec-websocket-version", "8")]), Error::WebSocketVersion),
            (connect("websocket", &[version, ("content-length", "0")]), Error::ContentLength),
        ] {
            assert_eq!(refused(&fields), Some(Refused::Message(error)), "{fields:?}");
        }
        for (without, error) in [(1, Error::Target), (2, Error::Host), (3, Error::Target)] {
            let mut fields = connect("websocket", &[version]);
            fields.remove(without);
            assert_eq!(refused(&fields), Some(Refused::Message(error)), "{fields:?}");
        }
    }

    #[test]
    fn table_stays_the_peers_after_a_refusal() {
        let (mut decoder, mut table) = (Decoder::new(TABLE_BYTES), FieldTable::new());
        let limits = Limits::new(0, 0, 0);
        let stored = |name: &str, value: &str| {
            [&[0x40, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
        };
        let bad = [block(&[("Bad", "a")]), stored("x-a", "b")].concat();
        assert!(request(&bad, true, &mut decoder, &limits, &mut table).is_err());
        let good = [block(&START), vec![0xbe]].concat();
        assert_eq!(
            request(&good, true, &mut decoder, &limits, &mut table).map(lines).as_deref(),
            Ok("host: a\r\nx-a: b\r\n"),
        );
        assert_eq!(
            request(&[0x80], true, &mut decoder, &limits, &mut table).err(),
            Some(Refused::Connection(Code::CompressionError)),
        );
    }
}
