//! Responses that are compressed on their way.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits,
    io::{Close, Conn, Event, Gone},
};

use crate::{
    records::recording,
    tape::{Stage, plan},
};

/// Longer than a body that is encoded at once.
const LONG: usize = 100_000;
const ASK: &str = "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n";

pub fn compressing(change: impl FnOnce(&mut api::Compression)) -> api::Plan {
    let mut plan = plan(1);
    let mut compression = api::Compression {
        content_types: vec!["text/html".into()],
        level_normal: 1,
        level_aggressive: 5,
        remove_accept_encoding: true,
        ..Default::default()
    };
    change(&mut compression);
    plan.virtual_services[0].http.as_mut().expect("it is of HTTP").compression = Some(compression);
    plan
}

fn page(bytes: usize) -> String {
    (0..)
        .map(|line| format!("<p>{line}</p>\n"))
        .flat_map(|line| line.into_bytes())
        .take(bytes)
        .map(char::from)
        .collect()
}

/// A client that has asked, and the server that has its request.
fn asked(stage: &mut Stage, ask: &str) -> (Conn, Conn) {
    let client = stage.client();
    stage.says(client, ask);
    let server = stage.connected();
    (client, server)
}

/// Says it in as many pieces as it needs, in one batch.
fn says_at_once(stage: &mut Stage, conn: Conn, text: &str) {
    let events = text.as_bytes().chunks(Stage::BLOCK_BYTES).map(|piece| stage.data(conn, piece)).collect();
    stage.batch(events);
}

/// The head, and the content of gzip as far as it can be read. `is_whole`: its end is there.
pub struct Answer {
    pub head: String,
    pub content: String,
    pub is_whole: bool,
}

pub fn read(stage: &mut Stage, client: Conn, chunked: bool) -> Answer {
    answer(&stage.sent_bytes(client), chunked)
}

fn answer(sent: &[u8], chunked: bool) -> Answer {
    let end = sent.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let (mut body, mut coded, mut last) = (&sent[end..], Vec::new(), !chunked);
    while chunked && !body.is_empty() {
        let line = body.windows(2).position(|two| two == b"\r\n").expect("a chunk");
        let size = usize::from_str_radix(std::str::from_utf8(&body[..line]).expect("text"), 16).expect("a size");
        coded.extend_from_slice(&body[line + 2..line + 2 + size]);
        last = size == 0;
        body = &body[line + 2 + size + 2..];
    }
    if !chunked {
        coded = body.to_vec();
    }
    let (mut inflate, mut content) = (zlib_rs::Inflate::new(true, 31), vec![0; 1 << 20]);
    let status = inflate.decompress(&coded, &mut content, zlib_rs::InflateFlush::NoFlush);
    content.truncate(inflate.total_out() as usize);
    Answer {
        head: String::from_utf8_lossy(&sent[..end]).into_owned(),
        content: String::from_utf8(content).expect("text"),
        is_whole: last && status == Ok(zlib_rs::Status::StreamEnd),
    }
}

fn ok(bytes: usize, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {bytes}\r\nETag: \"a\"\r\n\r\n{body}")
}

#[test]
fn client_of_http_1_1_gets_chunks_and_the_server_hears_nothing_of_it() {
    let mut stage = Stage::new(&recording(compressing(|_| {})));
    let (client, server) = asked(&mut stage, ASK);
    let request = stage.sent(server);
    assert!(!request.to_lowercase().contains("accept-encoding"), "{request}");
    stage.says(server, ok(2000, &page(2000)));
    let Answer { head, content, is_whole } = read(&mut stage, client, true);
    assert!(is_whole && content == page(2000), "{content}");
    assert_eq!(
        head,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: W/\"a\"\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
        Content-Encoding: gzip\r\nVary: Accept-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    // Both connections serve on.
    stage.says(client, ASK);
    stage.says(server, ok(3, "abc"));
    assert_eq!((read(&mut stage, client, true).content.as_str(), stage.dials()), ("abc", 1));
    let taken = stage.records();
    let records = taken.records();
    assert_eq!(records[0].flags() >> 19 & 7, 1);
    assert!(records[0].response_bytes() < 1000, "{}", records[0].response_bytes());
}

#[test]
fn server_may_hear_what_the_client_accepts() {
    let mut stage = Stage::new(&compressing(|compression| compression.remove_accept_encoding = false));
    let (client, server) = asked(&mut stage, ASK);
    assert!(stage.sent(server).contains("Accept-Encoding: gzip"));
    let coded = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxy";
    stage.says(server, coded);
    assert!(stage.sent(client).ends_with("Content-Length: 2\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\nxy"));
}

#[test]
fn what_has_come_goes_on_while_the_server_pauses() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let (client, server) = asked(&mut stage, ASK);
    stage.says(server, format!("{}{}", ok(LONG, ""), page(1000)));
    let Answer { content, is_whole, .. } = read(&mut stage, client, true);
    assert_eq!((content, is_whole), (page(1000), false));
    // Nothing new, nothing more.
    stage.batch(vec![]);
    assert!(stage.sent(client).is_empty());
}

#[test]
fn short_response_of_known_length_goes_on_when_all_of_it_has_come() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let (client, server) = asked(&mut stage, ASK);
    let whole = page(2000);
    stage.says(server, format!("{}{}", ok(2000, ""), &whole[..1000]));
    let head = stage.sent_bytes(client);
    assert!(head.ends_with(b"\r\n\r\n"), "{}", head.escape_ascii());
    stage.says(server, &whole[1000..]);
    let Answer { content, is_whole, .. } = answer(&[head, stage.sent_bytes(client)].concat(), true);
    assert_eq!((content, is_whole), (whole, true));
}

#[test]
fn client_sees_that_the_server_broke_off() {
    for http10 in [false, true] {
        let mut stage = Stage::new(&compressing(|_| {}));
        let ask = if http10 { ASK.replace("1.1", "1.0") } else { ASK.to_owned() };
        let (client, server) = asked(&mut stage, &ask);
        stage.says(server, format!("{}{}", ok(2000, ""), page(1000)));
        stage.gone(server, Gone::Reset);
        let Answer { is_whole, .. } = read(&mut stage, client, !http10);
        assert!(!is_whole);
        assert_eq!(stage.closed(client), Some(if http10 { Close::Cut } else { Close::Linger }));
    }
}

#[test]
fn client_of_http_1_0_gets_the_end_with_its_connection() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let ask = ASK.replace("HTTP/1.1", "HTTP/1.0").replace("\r\n\r\n", "\r\nConnection: keep-alive\r\n\r\n");
    let (client, server) = asked(&mut stage, &ask);
    stage.says(server, ok(2000, &page(2000)));
    let Answer { head, content, is_whole } = read(&mut stage, client, false);
    assert!(is_whole && content == page(2000));
    assert!(head.contains("Connection: close\r\n") && !head.contains("Transfer-Encoding"), "{head}");
    assert!(stage.closed(client).is_some());
}

#[test]
fn end_of_the_servers_connection_is_the_end_of_a_response_without_a_length() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let (client, server) = asked(&mut stage, ASK);
    stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{}", page(500)));
    stage.batch(vec![Event::Eof { conn: server }]);
    let Answer { content, is_whole, .. } = read(&mut stage, client, true);
    assert_eq!((content, is_whole), (page(500), true));
    assert_eq!(stage.closed(client), None);
}

#[test]
fn trailers_stand_behind_the_content_but_for_sums_of_other_bytes() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let (client, server) = asked(&mut stage, ASK);
    stage.says(
        server,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nabc\r\n0\r\nContent-MD5: x\r\nX-Sum: 1\r\n\r\n",
    );
    let sent = stage.sent_bytes(client);
    assert!(sent.ends_with(b"\r\n0\r\nX-Sum: 1\r\n\r\n"), "{}", sent.escape_ascii());
}

#[test]
fn large_response_has_a_share_of_each_batch() {
    let mut stage = Stage::with(&compressing(|_| {}), Limits::default());
    let (client, server) = asked(&mut stage, ASK);
    let text = "a".repeat(200_000);
    says_at_once(&mut stage, server, &ok(text.len(), &text));
    let mut batches = 1;
    while stage.proxy.has_more_to_do() {
        assert!(stage.is_paused(server));
        stage.batch(vec![]);
        batches += 1;
    }
    let Answer { content, is_whole, .. } = read(&mut stage, client, true);
    assert!(is_whole && content == text);
    assert!((3..=4).contains(&batches), "{batches}");
    assert!(!stage.is_paused(server));
}

#[test]
fn client_that_takes_nothing_holds_the_server_up() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let (client, server) = asked(&mut stage, ASK);
    stage.tape.stuck = true;
    let mut draw = 1_u64;
    let mut next = || {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        char::from(33 + (draw % 90) as u8)
    };
    let noise: String = (0..150_000).map(|_| next()).collect();
    says_at_once(&mut stage, server, &ok(noise.len(), &noise));
    for _ in 0..10 {
        stage.batch(vec![]);
    }
    assert!(stage.is_paused(server));
    stage.tape.stuck = false;
    for _ in 0..200 {
        stage.batch(vec![Event::Drained { conn: client }]);
    }
    let Answer { content, is_whole, .. } = read(&mut stage, client, true);
    assert!(is_whole && content == noise);
}

#[test]
fn short_round_trip_needs_no_compression() {
    let by_round_trip = || api::RoundTripLevels { low_ms: 10, high_ms: 200, mobile: vec![] };
    for (took_ms, compressed) in [(9, false), (10, true)] {
        let mut stage = Stage::new(&compressing(|compression| compression.by_round_trip = Some(by_round_trip())));
        stage.tape.round_trip = Some(Duration::from_millis(took_ms));
        let (client, server) = asked(&mut stage, ASK);
        stage.says(server, ok(1000, &page(1000)));
        let sent = stage.sent_bytes(client);
        let head = String::from_utf8_lossy(&sent);
        assert_eq!(head.contains("Content-Encoding: gzip"), compressed, "{took_ms} ms");
        assert!(head.contains("Vary: Accept-Encoding"));
    }
}

#[test]
fn responses_pass_as_they_are_when_all_encoders_are_in_use() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let mut plain = 0;
    for _ in 0..100 {
        let (client, server) = asked(&mut stage, ASK);
        stage.says(server, format!("{}{}", ok(LONG, ""), page(1000)));
        let sent = stage.sent_bytes(client);
        plain += usize::from(!String::from_utf8_lossy(&sent).contains("Content-Encoding"));
    }
    assert!((1..90).contains(&plain), "{plain} of 100");
}

/// RFC 9110 §15.4.5: otherwise the client could not freshen what it has.
#[test]
fn not_modified_has_the_tag_of_the_compressed_response() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let (client, server) = asked(&mut stage, ASK);
    stage.says(server, ok(2000, &page(2000)));
    assert!(read(&mut stage, client, true).head.contains("ETag: W/\"a\"\r\n"));
    stage.says(client, ASK.replace("Host: a\r\n", "Host: a\r\nIf-None-Match: W/\"a\"\r\n"));
    stage.says(server, "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
    let text = stage.sent(client);
    assert!(text.starts_with("HTTP/1.1 304 ") && text.contains("ETag: W/\"a\"\r\n"), "{text}");
}

#[test]
fn client_that_wants_no_transformation_gets_none() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let ask = ASK.replace("Host: a\r\n", "Host: a\r\nCache-Control: no-transform\r\n");
    let (client, server) = asked(&mut stage, &ask);
    assert!(stage.sent(server).contains("Cache-Control: no-transform\r\n"));
    stage.says(server, ok(2000, &page(2000)));
    let text = stage.sent(client);
    assert!(!text.contains("Content-Encoding") && text.ends_with(&page(2000)), "{text}");
}

/// Slow clients, or slow servers, of which each held an encoder until its response was over.
#[test]
fn slow_clients_keep_no_encoder_from_others_and_get_all_of_their_responses() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let mut slow = Vec::new();
    for number in 0..100 {
        let (client, server) = asked(&mut stage, ASK);
        let first = if number % 2 == 0 { 1000 } else { 0 };
        stage.says(server, format!("{}{}", ok(2000, ""), &page(2000)[..first]));
        slow.push((client, server, first));
        stage.tape.sleep(Duration::from_millis(200));
    }
    for (client, server, first) in slow {
        stage.says(server, &page(2000)[first..]);
        let Answer { head, content, is_whole } = read(&mut stage, client, true);
        assert!(head.contains("Content-Encoding: gzip\r\n"), "{head}");
        assert!(is_whole && content == page(2000), "{content}");
    }
}

#[test]
fn head_that_comes_before_its_content_goes_on_alone() {
    let mut stage = Stage::new(&compressing(|_| {}));
    let (client, server) = asked(&mut stage, ASK);
    stage.says(server, ok(2000, ""));
    let head = stage.sent(client);
    assert!(head.contains("Content-Encoding: gzip\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(head.matches("\r\n\r\n").count(), 1, "{head}");
}
