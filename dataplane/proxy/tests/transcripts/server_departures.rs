//! Servers that speak HTTP/2 and end a connection, or refuse a stream: requests that they have not processed go on.

use weir_proxy::io::{Close, Gone};
use weir_telemetry::Cause;
use weir_wire::http2::{Code, Settings};

use crate::{
    GET,
    origin::{Origin, asks, ready, stage},
    status,
};

/// GOAWAY frames, which name the last stream that their sender takes.
const GOES_AFTER_THE_FIRST: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0";
const GOES_BEFORE_THE_FIRST: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";

#[test]
fn server_that_leaves_at_once_is_not_asked_again() {
    let mut stage = stage(1);
    let client = asks(&mut stage, GET);
    let mut origin = Origin::silent(&mut stage, Settings::default());
    origin.connection.go_away(Code::NoError);
    let settings_and_end = std::mem::take(origin.connection.control());
    stage.says(origin.conn, settings_and_end);
    assert_eq!((stage.dials(), status(&stage.sent(client))), (1, "502"));
}

#[test]
fn refused_stream_is_sent_again_whatever_its_method() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
    origin.hears(&mut stage);
    origin.heard();
    origin.resets(&mut stage, 3, Code::RefusedStream);
    assert_eq!(origin.heard(), ["5: POST / host: a; content-length: 2; ", "5: \"ab\", all"]);
    origin.resets(&mut stage, 5, Code::RefusedStream);
    assert_eq!(status(&stage.sent(client)), "503", "there is no other server");
    assert_eq!(origin.heard(), [""; 0]);
}

#[test]
fn streams_that_a_server_has_not_seen_go_to_another_connection() {
    let (mut stage, mut origin) = ready(Settings::default());
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
    let seen = asks(&mut stage, post);
    origin.hears(&mut stage);
    // It does not know of the next when it goes away.
    origin.connection.go_away(Code::NoError);
    let goes = std::mem::take(origin.connection.control());
    let unseen = asks(&mut stage, post);
    stage.says(origin.conn, &goes);
    assert_eq!(stage.dials(), 2);
    let mut next = Origin::new(&mut stage);
    assert_eq!(next.heard()[0], "1: POST / host: a; content-length: 2; ");
    next.answers(&mut stage, 1, "again");
    assert!(stage.sent(unseen).ends_with("again"));
    let answer = [origin.head(3, 200, &[("content-length", "2")], false), origin.content(3, b"ok", true)].concat();
    stage.says(origin.conn, &answer);
    assert!(stage.sent(seen).ends_with("ok"));
    assert_eq!(stage.closed(origin.conn), Some(Close::Flush), "it has carried its last stream");
    asks(&mut stage, GET);
    assert_eq!(stage.dials(), 2);
}

#[test]
fn server_that_leaves_again_and_again_gets_the_request_until_it_takes_it() {
    let mut stage = stage(1);
    let clients: Vec<_> = (0..5).map(|_| asks(&mut stage, GET)).collect();
    for client in clients {
        let mut origin = Origin::new(&mut stage);
        stage.says(origin.conn, GOES_AFTER_THE_FIRST);
        origin.answers(&mut stage, 1, "ok");
        assert!(stage.sent(client).ends_with("ok"));
    }
    assert_eq!((stage.dials(), stage.failures(Cause::ServerRefused)), (5, 0));
}

#[test]
fn server_that_takes_nothing_before_it_leaves_is_asked_twice() {
    let mut stage = stage(1);
    let client = asks(&mut stage, GET);
    for _ in 0..2 {
        let origin = Origin::new(&mut stage);
        stage.says(origin.conn, GOES_BEFORE_THE_FIRST);
    }
    assert_eq!((stage.dials(), status(&stage.sent(client))), (2, "503"));
}

#[test]
fn lost_connection_repeats_what_may_be_repeated() {
    let (mut stage, mut origin) = ready(Settings::default());
    let get = asks(&mut stage, GET);
    let post = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
    origin.hears(&mut stage);
    stage.gone(origin.conn, Gone::Reset);
    assert_eq!((status(&stage.sent(post)), stage.dials()), ("502", 2));
    let mut next = Origin::new(&mut stage);
    assert_eq!(next.heard(), ["1: GET / host: a; all"]);
    stage.gone(next.conn, Gone::Reset);
    assert_eq!(status(&stage.sent(get)), "502", "it is repeated once");
}

#[test]
fn request_that_is_overtaken_on_each_connection_is_given_up() {
    let mut stage = stage(1);
    let four = Settings { max_concurrent_streams: Some(4), ..Settings::default() };
    asks(&mut stage, GET);
    let mut at = Origin::accept(&mut stage, four);
    let overtaken = asks(&mut stage, "GET /overtaken HTTP/1.1\r\nHost: a\r\n\r\n");
    (0..2).for_each(|_| _ = asks(&mut stage, GET));
    at.hears(&mut stage);
    let (mut sent, mut answer) = (0, String::new());
    // Each connection has the first stream of another request when the overtaken one comes to it.
    while answer.is_empty() {
        sent += at.heard().iter().filter(|line| line.contains("/overtaken")).count();
        assert!(sent <= 101, "it is sent for ever");
        let mut next = Origin::accept(&mut stage, four);
        asks(&mut stage, GET);
        next.hears(&mut stage);
        let goes = [at.head(1, 200, &[("content-length", "0")], true), GOES_AFTER_THE_FIRST.to_vec()].concat();
        at.connection.end(1, Code::NoError);
        at.says(&mut stage, &goes);
        next.hears(&mut stage);
        answer = stage.sent(overtaken);
        at = next;
    }
    assert_eq!((sent, status(&answer)), (101, "503"));
}

#[test]
fn departure_before_the_request_leaves_is_no_refusal() {
    let (mut stage, origin) = ready(Settings::default());
    let client = stage.client();
    let ask = stage.data(client, GET);
    let goes = stage.data(origin.conn, GOES_AFTER_THE_FIRST);
    stage.batch(vec![ask, goes]);
    let mut next = Origin::new(&mut stage);
    assert_eq!((stage.dials(), next.heard().len()), (2, 1));
    next.resets(&mut stage, 1, Code::RefusedStream);
    assert_eq!(next.heard(), ["3: GET / host: a; all"], "it was refused once");
    next.answers(&mut stage, 3, "ok");
    assert!(stage.sent(client).ends_with("ok"));
}
