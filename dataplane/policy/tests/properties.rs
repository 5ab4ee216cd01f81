//! What holds for every head that passes, whatever the client, the server and the profile.

use std::net::SocketAddr;

use proptest::{prelude::*, sample::select};
use weir_policy::{ClientFacts, HttpProfile, HttpSettings, Reply, XffUpdate};
use weir_wire::{
    head::{FieldTable, Limits, Method, Name, NameSet, Overflow, Version},
    http1::{Framing, HeadWriter, Hop, Outgoing, OutgoingBody, Parsed, Request, Response, request, response},
};

/// Field lines that the edits care about, and some that they do not.
const LINES: [&str; 24] = [
    "Connection: close",
    "Connection: keep-alive, X-Hop",
    "Connection: Host, Content-Length, Set-Cookie",
    "Keep-Alive: timeout=5",
    "TE: trailers",
    "Upgrade: h2c",
    "Proxy-Connection: close",
    "Expect: 100-continue",
    "X-Hop: 1",
    "X-Forwarded-For: 10.0.0.1",
    "x-forwarded-for: 10.0.0.2, 10.0.0.3",
    "X-Forwarded-For:",
    "X-Forwarded-Proto: gopher",
    "X-Client: 10.0.0.4",
    "Set-Cookie: a=b; Path=/",
    "Set-Cookie: c; secure ; HTTPONLY",
    "set-cookie:",
    "Location: http://a:8080/b",
    "Location: http://[::1]",
    "Location: /c",
    "Strict-Transport-Security: max-age=1",
    "Cookie: a=b",
    "Accept: */*",
    "X-Long: 0123456789012345678901234567890123456789012345678901234567890123456789",
];

const FRAMINGS: [&str; 4] = ["", "Content-Length: 0\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"];

const TARGETS: [&str; 4] = ["/", "/a?b", "http://b.example:81/c", "http://b.example?d"];

fn lines() -> impl Strategy<Value = String> {
    proptest::collection::vec(select(&LINES[..]), 0..12)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\r\n")).collect())
}

fn request_text() -> impl Strategy<Value = String> {
    let starts = (select(&["GET", "POST", "HEAD"][..]), select(&TARGETS[..]));
    let host = select(&["Host: a.example", "host: [::1]:80", "Host:"][..]);
    (starts, any::<bool>(), lines(), host, lines(), select(&FRAMINGS[..])).prop_map(
        |((method, target), http11, before, host, after, framing)| {
            // HTTP/1.0 does not know chunks.
            let (version, framing) = if http11 { ("1.1", framing) } else { ("1.0", FRAMINGS[2]) };
            format!("{method} {target} HTTP/{version}\r\n{before}{host}\r\n{framing}{after}\r\n")
        },
    )
}

fn response_text() -> impl Strategy<Value = String> {
    let statuses = select(&[100, 103, 200, 204, 302, 304, 404, 500][..]);
    (statuses, lines(), select(&FRAMINGS[..]), lines()).prop_map(|(status, before, framing, after)| {
        format!("HTTP/1.1 {status} Reason\r\n{before}{framing}{after}\r\n")
    })
}

fn settings() -> impl Strategy<Value = HttpSettings> {
    let xff = (any::<bool>(), select(&["", "X-Forwarded-For", "X-Client"][..]));
    let update = select(&[XffUpdate::Replace, XffUpdate::Append, XffUpdate::AddNew][..]);
    let flags = proptest::array::uniform6(any::<bool>());
    let numbers = (select(&[0, 443, 65535][..]), select(&[0, u64::MAX][..]));
    (xff, update, flags, numbers).prop_map(|((xff, name), xff_update, flags, (https_port, hsts_max_age_s))| {
        let [x_forwarded_proto, secure_cookies, httponly_cookies, hsts, location, respond_with_100_continue] = flags;
        HttpSettings {
            respond_with_100_continue,
            xff,
            xff_name: name.into(),
            xff_update,
            x_forwarded_proto,
            https_port,
            server_side_redirect_to_https: location,
            secure_cookies,
            httponly_cookies,
            hsts,
            hsts_max_age_s,
            hsts_include_subdomains: true,
            ..HttpSettings::default()
        }
    })
}

fn client(v6: bool, tls: bool) -> ClientFacts {
    let [v4_peer, v6_peer] = [([255; 4], 65535).into(), ([0xffff; 8], 65535).into()];
    let (peer, listener): (SocketAddr, SocketAddr) = if v6 { (v6_peer, v6_peer) } else { (v4_peer, v4_peer) };
    ClientFacts::new(peer, listener, tls)
}

fn with_request<T>(input: &[u8], look: impl FnOnce(&Request<'_>) -> T) -> T {
    match request(input, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
        Ok(Parsed::Whole(message)) => look(&message),
        other => panic!("{}: {other:?}", input.escape_ascii()),
    }
}

fn with_response<T>(input: &[u8], method: Method, look: impl FnOnce(&Response<'_>) -> T) -> T {
    match response(input, method, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
        Ok(Parsed::Whole(message)) => look(&message),
        other => panic!("{}: {other:?}", input.escape_ascii()),
    }
}

/// Returns the bytes written.
fn written(room: &mut [u8], hop: Hop, write: impl FnOnce(&mut HeadWriter<'_>)) -> Result<usize, Overflow> {
    let mut out = HeadWriter::new(room, hop);
    write(&mut out);
    out.end()
}

/// Writes the request for a server.
fn passed(profile: &HttpProfile, client: &ClientFacts, sent: &Request<'_>, room: &mut [u8]) -> Result<usize, Overflow> {
    written(room, Hop::to_server(sent.framing), |out| profile.write_request(&sent.head, client, None, out))
}

const DATE: &[u8] = b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
const NEVER_PASS: NameSet = NameSet::of(&[Name::KeepAlive, Name::ProxyConnection, Name::Te, Name::Upgrade]);

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn server_reads_the_request_that_the_client_meant(
        text in request_text(), settings in settings(), v6: bool, tls: bool,
    ) {
        let profile = HttpProfile::compile(&settings).unwrap();
        with_request(text.as_bytes(), |sent| {
            let mut out = vec![0; profile.request_bytes_max(&sent.head) + Hop::BYTES_MAX];
            let written = passed(&profile, &client(v6, tls), sent, &mut out).unwrap();
            with_request(&out[..written], |got| {
                prop_assert_eq!((got.framing, got.len), (sent.framing, written));
                prop_assert_eq!((got.head.version, got.keep_alive), (Version::Http11, true));
                let (sent, got) = (sent.head, got.head);
                prop_assert_eq!(got.method_text, sent.method_text);
                prop_assert_eq!((got.host, got.absolute), (sent.host, false));
                prop_assert!(!got.fields.has_any(NEVER_PASS) && !got.fields.has(Name::Connection));
                prop_assert_eq!(got.fields.find(b"Accept").is_some(), sent.fields.find(b"Accept").is_some());
                if profile.answers_continue(&sent) {
                    prop_assert!(!got.expect_continue);
                }
                if settings.xff {
                    let name = if settings.xff_name.is_empty() { "X-Forwarded-For" } else { &settings.xff_name };
                    let all = got.fields.iter().filter(|field| field.name_text.eq_ignore_ascii_case(name.as_bytes()));
                    let last = all.last().and_then(|field| field.value.rsplit(|&b| b == b' ').next()).unwrap();
                    let address: &[u8] = if v6 { b"ffff:ffff" } else { b"255.255" };
                    prop_assert!(last.ends_with(address));
                }
                Ok(())
            })
        })?;
    }

    #[test]
    fn client_reads_the_response_that_the_server_meant(
        text in response_text(), settings in settings(), to_head: bool, http11: bool, tls: bool, keep_alive: bool,
    ) {
        let profile = HttpProfile::compile(&settings).unwrap();
        let method = if to_head { Method::Head } else { Method::Get };
        let version = if http11 { Version::Http11 } else { Version::Http10 };
        with_response(text.as_bytes(), method, |sent| {
            let outgoing = Outgoing::of(sent, version, keep_alive);
            let reply = Reply { cookie: b"", date: DATE };
            let mut out = vec![0; profile.response_bytes_max(&sent.head, reply) + Hop::BYTES_MAX];
            let client = client(false, tls);
            let written =
                written(&mut out, outgoing.hop, |out| profile.write_response(&sent.head, &client, reply, out)).unwrap();
            with_response(&out[..written], method, |got| {
                prop_assert_eq!((got.head.status, got.len), (sent.head.status, written));
                prop_assert!(!got.head.fields.has_any(NEVER_PASS));
                prop_assert_eq!(got.framing, framing_for(sent, outgoing));
                if sent.head.status >= 200 {
                    prop_assert!(got.head.fields.has(Name::Date));
                    prop_assert_eq!(got.keep_alive, outgoing.keep_alive);
                    let promises = got.head.fields.iter().filter(|field| field.name == Name::StrictTransportSecurity);
                    prop_assert!(promises.count() == 1 || !(tls && settings.hsts));
                }
                Ok(())
            })
        })?;
    }

    #[test]
    fn room_that_is_too_small_is_reported(text in request_text(), settings in settings(), missing in 1..40_usize) {
        let profile = HttpProfile::compile(&settings).unwrap();
        with_request(text.as_bytes(), |sent| {
            let mut out = vec![0; profile.request_bytes_max(&sent.head) + Hop::BYTES_MAX];
            let written = passed(&profile, &client(true, true), sent, &mut out).unwrap();
            let room = &mut out[..written.saturating_sub(missing)];
            prop_assert!(passed(&profile, &client(true, true), sent, room).is_err());
            Ok(())
        })?;
    }

    #[test]
    fn redirect_is_a_response_to_any_request(text in request_text(), keep_alive: bool, v6: bool, port in 1..65536_u32) {
        let settings = HttpSettings { http_to_https: true, https_port: port, ..HttpSettings::default() };
        let profile = HttpProfile::compile(&settings).unwrap();
        with_request(text.as_bytes(), |sent| {
            let redirect = profile.redirect_to_https(&sent.head, &client(v6, false)).unwrap();
            let mut out = vec![0; redirect.bytes_max() + Hop::BYTES_MAX];
            let hop = Hop::to_client(sent.head.version, keep_alive);
            let written = written(&mut out, hop, |out| redirect.write(DATE, out)).unwrap();
            with_response(&out[..written], sent.head.method, |got| {
                prop_assert_eq!((got.head.status, got.len), (redirect.status(), written));
                prop_assert!(got.head.body.is_zero());
                prop_assert!(got.head.fields.find(b"Location").is_some_and(|url| url.starts_with(b"https://")));
                Ok(())
            })
        })?;
    }
}

/// The framing by which the client must read the body that the proxy is told to send.
fn framing_for(sent: &Response<'_>, outgoing: Outgoing) -> Framing {
    match outgoing.body {
        OutgoingBody::AsReceived => sent.framing,
        OutgoingBody::Unchunked => Framing::UntilClose,
        OutgoingBody::Chunked => Framing::Chunked,
    }
}
