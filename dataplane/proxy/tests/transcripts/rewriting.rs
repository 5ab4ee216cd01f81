//! Responses in which texts are replaced.

use weir_api::dataplane::v1 as api;
use weir_proxy::io::{Conn, Event, Gone, Io};

use crate::{
    compression::{compressing, read},
    explanations::question,
    http2::{Browser, http2},
    tape::{Stage, plan},
    websocket::{ASKS, SWITCHES, with_websockets},
};

const ASK: &str = "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n";
const BODY: &str = "<a href=http://inside/x>http://insid</a>http://inside";
const REWRITTEN: &str = "<a href=https://shop.example/x>http://insid</a>https://shop.example";

fn rewriting(plan: api::Plan) -> api::Plan {
    replacing(plan, &[("http://inside", "https://shop.example"), ("secret ", "")])
}

fn replacing(mut plan: api::Plan, pairs: &[(&str, &str)]) -> api::Plan {
    let pair = |(search, replacement): &(&str, &str)| api::Replacement {
        search: (*search).to_owned(),
        replacement: (*replacement).to_owned(),
        ..Default::default()
    };
    plan.virtual_services[0].http.as_mut().expect("it is of HTTP").content_rewrite = Some(api::ContentRewrite {
        content_types: vec!["text/html".to_owned()],
        pairs: pairs.iter().map(pair).collect(),
    });
    plan
}

fn ok(fields: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// What a client hears that asks so, of a server that says so.
fn heard(plan: &api::Plan, ask: &str, says: &str) -> String {
    let mut stage = Stage::new(plan);
    let client = stage.client();
    stage.says(client, ask);
    let server = stage.connected();
    stage.says(server, says);
    assert_eq!(stage.closed(client), None);
    stage.sent(client)
}

fn caching(mut plan: api::Plan) -> api::Plan {
    plan.virtual_services[0].http.as_mut().expect("it is of HTTP").cache =
        Some(api::Cache { max_bytes: 1 << 20, x_cache_field: true, ..Default::default() });
    plan
}

/// What a client gets that begins to take what is queued for it.
fn taken(stage: &mut Stage, client: Conn) -> String {
    stage.tape.stuck = false;
    let mut sent = stage.sent(client);
    for _ in 0..2000 {
        stage.batch(vec![Event::Drained { conn: client }]);
        sent += &stage.sent(client);
    }
    sent
}

/// The content of a response in chunks.
fn unchunked(sent: &str) -> String {
    let (_, mut body) = sent.split_once("\r\n\r\n").expect("a head");
    let mut content = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n").expect("a chunk");
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            return content;
        }
        content += &rest[..size];
        body = &rest[size + 2..];
    }
}

#[test]
fn texts_are_replaced_and_the_server_is_asked_for_no_coding() {
    let mut stage = Stage::new(&rewriting(plan(1)));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    let request = stage.sent(server);
    assert!(!request.to_lowercase().contains("accept-encoding"), "{request}");
    stage.says(server, ok("ETag: \"a\"\r\nAccept-Ranges: bytes\r\nContent-MD5: x\r\n", BODY));
    let sent = stage.sent(client);
    assert!(
        sent.starts_with(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: W/\"a\"\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
            Transfer-Encoding: chunked\r\n\r\n"
        ),
        "{sent}"
    );
    assert_eq!(unchunked(&sent), REWRITTEN);
    // Both connections serve on.
    stage.says(client, ASK);
    stage.says(server, ok("", "a secret word"));
    assert_eq!((unchunked(&stage.sent(client)).as_str(), stage.dials()), ("a word", 1));
}

#[test]
fn texts_are_found_across_pieces_of_one_byte_and_across_chunks() {
    let mut stage = Stage::new(&rewriting(plan(1)));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    for byte in ok("", BODY).bytes() {
        stage.says(server, [byte]);
    }
    assert_eq!(unchunked(&stage.sent(client)), REWRITTEN);
    stage.says(client, ASK);
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n");
    for chunk in BODY.as_bytes().chunks(3) {
        stage.says(server, format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk)));
    }
    stage.says(server, "0\r\nX-Sum: 1\r\n\r\n");
    let sent = stage.sent(client);
    assert!(sent.ends_with("\r\n0\r\nX-Sum: 1\r\n\r\n"), "{sent}");
    assert_eq!(unchunked(&sent), REWRITTEN);
}

/// Replaces what an expression finds by a text with its first group, a field of the request, the address of the client, and
/// its name.
fn rewriting_by_request(mut plan: api::Plan) -> api::Plan {
    use api::{HeaderVariable, replacement_part::Part};
    let part = |part| api::ReplacementPart { part: Some(part) };
    let variable = |variable: HeaderVariable, field: &str| {
        let field = field.to_owned();
        api::HeaderValue { variable: variable.into(), field, ..Default::default() }
    };
    let text = |text: &str| part(Part::Text(text.to_owned()));
    let parts = vec![
        text("https://"),
        part(Part::Variable(variable(HeaderVariable::Field, "Host"))),
        text("/"),
        part(Part::Group(1)),
        text("?from="),
        part(Part::Variable(variable(HeaderVariable::ClientAddress, ""))),
        text("&id="),
        part(Part::Variable(variable(HeaderVariable::RequestId, ""))),
    ];
    let pairs = vec![
        api::Replacement { search: "http://([a-z]+)".to_owned(), is_expression: true, parts, ..Default::default() },
        api::Replacement {
            search_variable: Some(variable(HeaderVariable::Field, "X-Token")),
            replacement: "***".to_owned(),
            ..Default::default()
        },
    ];
    let content_types = vec!["text/html".to_owned()];
    plan.virtual_services[0].http.as_mut().expect("it is of HTTP").content_rewrite =
        Some(api::ContentRewrite { content_types, pairs });
    plan
}

#[test]
fn expressions_and_variables_act_by_request_and_across_pieces() {
    let mut stage = Stage::new(&rewriting_by_request(plan(1)));
    let mut names = Vec::new();
    for (host, token, kept) in [("a.test", "X-Token: abc\r\n", "***"), ("b.test", "", "abc")] {
        let client = stage.client();
        stage.says(client, format!("GET / HTTP/1.1\r\nHost: {host}\r\n{token}\r\n"));
        let server = stage.connected();
        for piece in ok("", "<a href=http://inside/x> abc http:/ http://z").as_bytes().chunks(3) {
            stage.says(server, piece);
        }
        let content = unchunked(&stage.sent(client));
        let (before, name) = content.rsplit_once("&id=").expect("the name of the request");
        let first = format!(
            "<a href=https://{host}/inside?from=10.2.0.1&id={name}/x> {kept} http:/ https://{host}/z?from=10.2.0.1"
        );
        assert_eq!(before, first);
        assert_eq!(name.len(), 13, "{name}");
        names.push(name.to_owned());
        stage.gone(client, Gone::Reset);
    }
    assert_ne!(names[0], names[1]);
}

#[test]
fn what_cannot_be_the_beginning_of_a_text_goes_on_at_once() {
    let mut stage = Stage::new(&rewriting(plan(1)));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n1234567890");
    assert!(stage.sent(client).ends_with("\r\n\r\n000a\r\n1234567890\r\n"));
    stage.says(server, "12345http:");
    assert_eq!(stage.sent(client), "000a\r\n12345http:\r\n0\r\n\r\n");
}

#[test]
fn end_of_the_connection_ends_the_content_and_what_was_held_back_goes_on() {
    let mut stage = Stage::new(&rewriting(plan(1)));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nVary: Cookie\r\n\r\n{BODY}"));
    stage.says(server, " and http://insi");
    assert!(!stage.sent(client).ends_with("http://insi"));
    stage.batch(vec![Event::Eof { conn: server }]);
    assert_eq!(stage.sent(client), "000b\r\nhttp://insi\r\n0\r\n\r\n");
    let ask = "GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\n\r\n";
    let sent = heard(&rewriting(plan(1)), ask, &ok("Vary: Cookie\r\n", BODY));
    assert!(sent.contains("Vary: Cookie\r\n") && unchunked(&sent) == REWRITTEN, "{sent}");
}

#[test]
fn client_of_http_1_0_gets_the_end_with_its_connection() {
    let mut stage = Stage::new(&rewriting(plan(1)));
    let client = stage.client();
    stage.says(client, "GET / HTTP/1.0\r\n\r\n");
    let server = stage.connected();
    stage.says(server, ok("", BODY));
    let sent = stage.sent(client);
    assert!(sent.ends_with(&format!("\r\n\r\n{REWRITTEN}")) && !sent.contains("Content-Length"), "{sent}");
    assert!(stage.closed(client).is_some());
}

#[test]
fn client_of_http_2_gets_the_same() {
    let mut stage = Stage::new(&http2(rewriting(plan(1))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[("accept-encoding", "gzip")], true);
    let server = stage.connected();
    for piece in ok("ETag: \"a\"\r\n", BODY).as_bytes().chunks(7) {
        stage.says(server, piece);
    }
    browser.hears(&mut stage);
    let text = browser.heard.join("\n");
    assert!(text.contains("https://shop.example"), "{text}");
    assert!(
        browser.fields.contains("etag: W/\"a\"") && !browser.fields.contains("content-length"),
        "{}",
        browser.fields
    );
}

#[test]
fn texts_are_replaced_before_the_content_is_compressed() {
    let mut stage = Stage::new(&rewriting(compressing(|_| {})));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    for piece in ok("", BODY).as_bytes().chunks(5) {
        stage.says(server, piece);
    }
    let answer = read(&mut stage, client, true);
    assert!(answer.is_whole && answer.content == REWRITTEN, "{}", answer.content);
    assert!(answer.head.contains("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"), "{}", answer.head);
}

#[test]
fn stored_response_is_rewritten_each_time() {
    let mut stage = Stage::new(&caching(rewriting(plan(1))));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    stage.says(server, ok("Cache-Control: max-age=60\r\nETag: \"a\"\r\n", BODY));
    assert_eq!(unchunked(&stage.sent(client)), REWRITTEN);
    stage.says(client, ASK);
    let sent = stage.sent(client);
    assert!(
        sent.contains("X-Cache: HIT") && sent.contains("ETag: W/\"a\"") && !sent.contains("Content-Length"),
        "{sent}"
    );
    assert_eq!(unchunked(&sent), REWRITTEN);
    stage.says(client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let sent = stage.sent(client);
    assert!(sent.contains("ETag: W/\"a\"") && !sent.contains("Content-Length") && sent.ends_with("\r\n\r\n"), "{sent}");
    stage.says(client, "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: W/\"a\"\r\n\r\n");
    let sent = stage.sent(client);
    assert!(sent.starts_with("HTTP/1.1 304") && sent.contains("ETag: W/\"a\""), "{sent}");
    assert_eq!(stage.dials(), 1);
}

#[test]
fn client_that_asks_for_a_part_gets_the_whole_from_a_server_and_from_the_cache() {
    let mut stage = Stage::new(&caching(rewriting(plan(1))));
    let client = stage.client();
    let ask = "GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\nIf-Range: \"a\"\r\n\r\n";
    stage.says(client, ask);
    let server = stage.connected();
    let asked = stage.sent(server);
    assert!(!asked.contains("Range"), "{asked}");
    stage.says(server, ok("Cache-Control: max-age=60\r\nETag: \"a\"\r\n", BODY));
    assert_eq!(unchunked(&stage.sent(client)), REWRITTEN);
    stage.says(client, ask);
    let sent = stage.sent(client);
    assert!(sent.starts_with("HTTP/1.1 200 ") && sent.contains("X-Cache: HIT"), "{sent}");
    assert_eq!((unchunked(&sent).as_str(), stage.dials()), (REWRITTEN, 1));
}

#[test]
fn answer_that_does_not_switch_to_websocket_is_rewritten_and_a_websocket_is_not() {
    let plan = with_websockets(caching(rewriting(compressing(|_| {}))));
    for switches in [false, true] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, ASKS.replace("\r\nUpgrade", "\r\nAccept-Encoding: gzip\r\nUpgrade"));
        let server = stage.connected();
        let asked = stage.sent(server);
        assert!(!asked.contains("Accept-Encoding") && asked.contains("Upgrade: websocket"), "{asked}");
        if switches {
            stage.says(server, format!("{SWITCHES}{BODY}"));
            assert!(stage.sent(client).ends_with(&format!("\r\n\r\n{BODY}")));
        } else {
            stage.says(server, ok("Cache-Control: max-age=60\r\n", BODY));
            assert_eq!(unchunked(&stage.sent(client)), REWRITTEN);
        }
    }
}

#[test]
fn heads_of_rewritten_content_agree() {
    let plan = rewriting(plan(1));
    let sent = heard(
        &plan,
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\nETag: \"a\"\r\n\r\n",
    );
    assert!(!sent.contains("Content-Length") && sent.contains("ETag: W/\"a\""), "{sent}");
    let ask = "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: W/\"a\"\r\n\r\n";
    let sent = heard(&plan, ask, "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
    assert!(sent.contains("ETag: W/\"a\""), "{sent}");
    let ask = "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"a\"\r\n\r\n";
    let sent = heard(&plan, ask, "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
    assert!(sent.contains("ETag: \"a\""), "of a type that is not rewritten: {sent}");
}

#[test]
fn other_responses_stay_as_they_are() {
    let plan = rewriting(plan(1));
    let length = BODY.len();
    for (head, of) in [
        ("200 OK\r\nContent-Type: image/png", "another type"),
        ("200 OK", "no type"),
        ("200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br", "encoded content"),
        ("200 OK\r\nContent-Type: text/html\r\nCache-Control: no-transform", "content that may not be changed"),
        ("206 Partial Content\r\nContent-Type: text/html\r\nContent-Range: bytes 0-52/99", "a part"),
    ] {
        let says = format!("HTTP/1.1 {head}\r\nETag: \"a\"\r\nContent-Length: {length}\r\n\r\n{BODY}");
        let sent = heard(&plan, ASK, &says);
        assert!(sent.ends_with(&format!("\r\n\r\n{BODY}")), "{of}: {sent}");
        assert!(
            sent.contains("ETag: \"a\"\r\n") && sent.contains(&format!("Content-Length: {length}\r\n")),
            "{of}: {sent}"
        );
    }
    let sent = heard(&plan, ASK, &ok("ETag: \"a\"\r\n", ""));
    assert!(sent.contains("Content-Length: 0\r\n") && sent.contains("ETag: \"a\""), "no content: {sent}");
    let sent = heard(&plan, ASK, "HTTP/1.1 204 No Content\r\nContent-Type: text/html\r\nETag: \"a\"\r\n\r\n");
    assert!(sent.contains("ETag: \"a\""), "{sent}");
    let sent = heard(
        &plan,
        ASK,
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\nhttp://inside",
    );
    assert_eq!(unchunked(&sent), "https://shop.example", "errors are rewritten, too");
}

#[test]
fn long_response_loses_nothing() {
    let body = BODY.repeat(5000);
    let mut stage = Stage::new(&rewriting(plan(1)));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    let said = ok("", &body);
    let (mut at, mut sent) = (0, String::new());
    while at < said.len() {
        let end = said.len().min(at + Stage::BLOCK_BYTES);
        stage.says(server, &said.as_bytes()[at..end]);
        sent += &stage.sent(client);
        at = end;
    }
    sent += &taken(&mut stage, client);
    assert!(unchunked(&sent) == REWRITTEN.repeat(5000));
}

/// So many bytes, and a few blocks more, wait for a client that takes nothing.
const MOST_QUEUED: usize = 1000 + 3 * Stage::BLOCK_BYTES;

/// Each of 400 letters becomes 4000.
fn growing() -> (api::Plan, String, String) {
    let replacement = "y".repeat(4000);
    (replacing(plan(1), &[("x", &replacement)]), "x".repeat(400), replacement.repeat(400))
}

#[test]
fn replacements_far_longer_than_their_texts_wait_for_the_client() {
    let (plan, body, rewritten) = growing();
    // From a server, and from what is stored.
    for (plan, times) in [(plan.clone(), 1), (caching(plan), 2)] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        for time in 0..times {
            stage.tape.stuck = true;
            stage.says(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            if time == 0 {
                let server = stage.connected();
                stage.says(server, ok("Cache-Control: max-age=60\r\n", &body));
            }
            for _ in 0..10 {
                stage.batch(Vec::new());
                assert!(stage.tape.queued(client) <= MOST_QUEUED, "{}", stage.tape.queued(client));
            }
            let sent = taken(&mut stage, client);
            assert!(unchunked(&sent) == rewritten, "{} bytes", sent.len());
        }
        assert_eq!(stage.dials(), 1);
    }
}

#[test]
fn replacements_of_a_server_that_is_lost_go_on_or_are_cut_where_they_become_too_long() {
    let (plan, body, rewritten) = growing();
    for (letters, is_cut) in [(100, false), (400, true)] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.tape.stuck = true;
        stage.says(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let server = stage.connected();
        stage.says(server, ok("", &body[..letters]));
        stage.gone(server, Gone::Reset);
        for _ in 0..100 {
            stage.batch(Vec::new());
            assert!(stage.tape.queued(client) <= (1 << 20) + MOST_QUEUED, "{}", stage.tape.queued(client));
        }
        assert_eq!((stage.closed(server).is_some(), stage.closed(client).is_some()), (true, is_cut));
        let sent = stage.sent(client);
        if is_cut {
            assert!(sent.matches('y').count() > 900_000 && !sent.ends_with("\r\n0\r\n\r\n"), "{} bytes", sent.len());
        } else {
            assert!(unchunked(&sent) == rewritten[..letters * 4000], "{} bytes", sent.len());
        }
    }
}

#[test]
fn long_replacements_are_compressed_in_shares() {
    let replacement = "y".repeat(4000);
    let mut stage = Stage::new(&replacing(compressing(|_| {}), &[("x", &replacement)]));
    let client = stage.client();
    stage.says(client, ASK);
    let server = stage.connected();
    stage.says(server, ok("", &"x".repeat(100)));
    let mut batches = 1;
    while stage.proxy.has_more_to_do() {
        stage.batch(Vec::new());
        batches += 1;
    }
    assert!((4..=9).contains(&batches), "{batches}");
    let answer = read(&mut stage, client, true);
    assert!(answer.is_whole && answer.content == replacement.repeat(100), "{} bytes", answer.content.len());
}

#[test]
fn question_about_a_request_says_that_its_response_would_be_rewritten() {
    assert!(Stage::new(&rewriting(plan(1))).explain(&question(ASK)).is_rewritten);
    assert!(!Stage::new(&plan(1)).explain(&question(ASK)).is_rewritten);
}
