//! Servers that speak HTTP/2: requests of all clients share connections.

use std::time::Duration;

use weir_proxy::io::{Close, Conn, Event, Gone};
use weir_telemetry::Cause;
use weir_wire::http2::{Code, PREFACE, Settings};

use crate::{
    GET, OK,
    origin::{Origin, asks, ready, stage, to_http2},
    status,
    tape::{Stage, plan},
};

/// A response without the date that Weir adds.
fn undated(response: &str) -> String {
    response.replace("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "")
}

#[test]
fn requests_wait_for_the_settings_of_the_server() {
    let mut stage = stage(1);
    let client = asks(&mut stage, "GET /a HTTP/1.1\r\nHost: b\r\nConnection: x\r\nX: y\r\nCookie: c=d\r\n\r\n");
    let mut origin = Origin::silent(&mut stage, Settings::default());
    assert_eq!(origin.heard(), [""; 0]);
    origin.says(&mut stage, &[]);
    assert_eq!(origin.heard(), ["1: GET /a host: b; cookie: c=d; all"]);
    origin.answers(&mut stage, 1, "hello");
    assert_eq!(undated(&stage.sent(client)), "HTTP/1.1 200 \r\ncontent-length: 5\r\n\r\nhello");
    assert_eq!((stage.closed(client), stage.closed(origin.conn)), (None, None));
    assert_eq!(stage.blocks_in_use(), 0);
    let counted = stage.proxy.counters().server(0).expect("the server has counters");
    assert_eq!((counted.connections, counted.http2_connections), (1, 1));
}

#[test]
fn requests_of_all_clients_share_a_connection_and_leave_together() {
    let (mut stage, mut origin) = ready(Settings::default());
    let clients: Vec<_> = (0..8).map(|_| stage.client()).collect();
    let events = clients.iter().map(|client| stage.data(*client, GET)).collect();
    stage.batch(events);
    assert_eq!((stage.dials(), stage.pieces(origin.conn)), (1, 1), "one write");
    origin.hears(&mut stage);
    let heard: Vec<_> = (0..8).map(|n| format!("{}: GET / host: a; all", 3 + 2 * n)).collect();
    assert_eq!(origin.heard(), heard);
    for (n, client) in clients.iter().enumerate() {
        origin.answers(&mut stage, 3 + 2 * n as u32, &n.to_string());
        assert!(stage.sent(*client).ends_with(&n.to_string()));
    }
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn next_connection_opens_when_the_last_is_nearly_full() {
    let (mut stage, mut first) = ready(Settings { max_concurrent_streams: Some(4), ..Settings::default() });
    for _ in 0..3 {
        asks(&mut stage, GET);
    }
    assert_eq!(stage.dials(), 1);
    asks(&mut stage, GET);
    assert_eq!(stage.dials(), 2, "three of four are taken");
    first.hears(&mut stage);
    assert_eq!(first.heard().len(), 4, "the fourth waits for no connect");
    let waiting = asks(&mut stage, GET);
    let mut second = Origin::new(&mut stage);
    assert_eq!(second.heard().len(), 1);
    second.answers(&mut stage, 1, "late");
    assert!(stage.sent(waiting).ends_with("late"));
    assert_eq!(stage.dials(), 2);
}

#[test]
fn streams_beyond_what_the_settings_allow_go_to_another_connection() {
    let mut stage = stage(1);
    let clients: Vec<_> = (0..5).map(|_| asks(&mut stage, GET)).collect();
    assert_eq!(stage.dials(), 1);
    let mut first = Origin::accept(&mut stage, Settings { max_concurrent_streams: Some(2), ..Settings::default() });
    assert_eq!(first.heard().len(), 2);
    assert!(stage.dials() > 1);
    first.answers(&mut stage, 1, "ok");
    assert!(clients.iter().all(|client| stage.closed(*client).is_none()));
}

#[test]
fn connections_to_a_server_are_limited() {
    let mut plan = to_http2(plan(1));
    plan.pools[0].servers[0].max_connections = 1;
    let mut stage = Stage::new(&plan);
    let first = asks(&mut stage, GET);
    let mut origin = Origin::accept(&mut stage, Settings { max_concurrent_streams: Some(2), ..Settings::default() });
    asks(&mut stage, GET);
    let third = asks(&mut stage, GET);
    assert_eq!((status(&stage.sent(third)), stage.dials()), ("503", 1));
    origin.hears(&mut stage);
    origin.answers(&mut stage, 1, "ok");
    assert_eq!(status(&stage.sent(first)), "200");
    let fourth = asks(&mut stage, GET);
    origin.hears(&mut stage);
    origin.answers(&mut stage, 5, "ok");
    assert_eq!(status(&stage.sent(fourth)), "200");
}

#[test]
fn bodies_go_as_frames() {
    let (mut stage, mut origin) = ready(Settings::default());
    let post = "POST / HTTP/1.1\r\nHost: a\r\n";
    let client = asks(&mut stage, &format!("{post}Content-Length: 5\r\n\r\nhel"));
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["3: POST / host: a; content-length: 5; ", "3: \"hel\""]);
    stage.says(client, "lo");
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["3: \"lo\", all"]);
    let client = asks(&mut stage, &format!("{post}Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo"));
    stage.says(client, "\r\n0\r\n\r\n");
    origin.hears(&mut stage);
    let heard = origin.heard();
    assert_eq!(heard[0], "5: POST / host: a; ");
    assert_eq!(heard[1..], ["5: \"hel\"", "5: \"lo\"", "5: \"\", all"]);
}

#[test]
fn no_client_gets_more_than_the_server_has_announced() {
    for (length, is_all) in [("0", true), ("0", false), ("3", true)] {
        let (mut stage, mut origin) = ready(Settings::default());
        let client = asks(&mut stage, GET);
        origin.hears(&mut stage);
        let head = origin.head(3, 200, &[("content-length", length)], false);
        let content = origin.content(3, b"HTTP/1.1 200 OK\r\n\r\n", is_all);
        origin.says(&mut stage, &[head, content].concat());
        let got = undated(&stage.sent(client));
        assert_eq!(got, format!("HTTP/1.1 200 \r\ncontent-length: {length}\r\n\r\n"));
        assert!(stage.closed(client).is_some(), "{length}");
    }
}

#[test]
fn responses_of_unknown_length_are_chunked_for_clients_of_http1() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, GET);
    origin.hears(&mut stage);
    let head = origin.head(3, 200, &[("x", "y")], false);
    let first = origin.content(3, b"abc", false);
    origin.says(&mut stage, &[head, first].concat());
    assert_eq!(undated(&stage.sent(client)), "HTTP/1.1 200 \r\nx: y\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    let last = origin.content(3, b"", true);
    origin.connection.end(3, Code::NoError);
    origin.says(&mut stage, &last);
    assert_eq!((stage.sent(client).as_str(), stage.closed(client)), ("0\r\n\r\n", None));
    stage.says(client, GET);
    origin.hears(&mut stage);
    let head = origin.head(5, 200, &[], true);
    origin.connection.end(5, Code::NoError);
    origin.says(&mut stage, &head);
    assert!(stage.sent(client).ends_with("chunked\r\n\r\n0\r\n\r\n"), "the client learns that nothing comes");
    stage.says(client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    origin.hears(&mut stage);
    let head = origin.head(7, 200, &[("content-length", "9")], true);
    origin.connection.end(7, Code::NoError);
    origin.says(&mut stage, &head);
    assert_eq!(undated(&stage.sent(client)), "HTTP/1.1 200 \r\ncontent-length: 9\r\n\r\n");
    assert_eq!(stage.closed(client), None);
}

#[test]
fn content_behind_a_response_without_content_reaches_no_client() {
    for (request, status) in [("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 200), (GET, 204), (GET, 304)] {
        let (mut stage, mut origin) = ready(Settings::default());
        let client = asks(&mut stage, request);
        origin.hears(&mut stage);
        let head = origin.head(3, status, &[("x", "y")], false);
        let forged = origin.content(3, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true);
        origin.says(&mut stage, &[head, forged].concat());
        let sent = stage.sent(client);
        assert!(!sent.contains("Content-Length: 0\r\n\r\n"), "{status}: {sent}");
    }
}

#[test]
fn interim_responses_pass() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, GET);
    origin.hears(&mut stage);
    let interim = origin.head(3, 103, &[("link", "a")], false);
    origin.says(&mut stage, &interim);
    assert_eq!(stage.sent(client), "HTTP/1.1 103 \r\nlink: a\r\n\r\n");
    origin.answers(&mut stage, 3, "ok");
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn client_that_goes_resets_its_stream_alone() {
    let (mut stage, mut origin) = ready(Settings::default());
    let (gone, stays) = (asks(&mut stage, GET), asks(&mut stage, GET));
    stage.gone(gone, Gone::Reset);
    origin.hears(&mut stage);
    assert_eq!(origin.heard()[2..], ["3: Cancel"]);
    origin.answers(&mut stage, 5, "ok");
    assert_eq!((status(&stage.sent(stays)), stage.closed(origin.conn)), ("200", None));
}

#[test]
fn request_that_never_left_leaves_no_trace() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = stage.client();
    let ask = stage.data(client, GET);
    stage.batch(vec![ask, Event::Gone { conn: client, why: Gone::Reset }]);
    asks(&mut stage, GET);
    origin.hears(&mut stage);
    assert_eq!(origin.heard().len(), 1);
}

#[test]
fn reset_after_the_head_is_no_orderly_end() {
    let (mut stage, mut origin) = ready(Settings::default());
    for (fields, cut) in [(&[("content-length", "9")][..], "abc"), (&[], "3\r\nabc\r\n")] {
        let client = asks(&mut stage, GET);
        origin.hears(&mut stage);
        let id = origin.heard()[0].split(':').next().and_then(|id| id.parse().ok()).expect("a stream");
        let head = origin.head(id, 200, fields, false);
        let content = origin.content(id, b"abc", false);
        origin.says(&mut stage, &[head, content].concat());
        origin.resets(&mut stage, id, Code::InternalError);
        assert!(stage.sent(client).ends_with(cut), "no last chunk");
        assert!(stage.closed(client).is_some());
    }
    assert_eq!((stage.closed(origin.conn), stage.failures(Cause::ServerReset)), (None, 2));
}

#[test]
fn reset_before_the_head_is_an_error_page() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
    origin.hears(&mut stage);
    origin.resets(&mut stage, 3, Code::InternalError);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("502", 1));
}

#[test]
fn response_that_needs_no_more_of_the_request_is_whole() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab");
    origin.hears(&mut stage);
    let head = origin.head(3, 413, &[("content-length", "2")], false);
    let content = origin.content(3, b"no", true);
    origin.says(&mut stage, &[head, content].concat());
    origin.resets(&mut stage, 3, Code::NoError);
    assert!(stage.sent(client).ends_with("no"));
    assert_eq!(stage.failures(Cause::ServerReset), 0);
}

#[test]
fn nothing_is_sent_on_a_stream_that_the_server_has_reset() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\nab");
    origin.hears(&mut stage);
    stage.tape.stuck = true;
    let head = origin.head(3, 413, &[("content-length", "3000")], false);
    let content = [origin.content(3, &[b'n'; 1500], false), origin.content(3, &[b'n'; 1500], true)].concat();
    origin.says(&mut stage, &[head, content].concat());
    origin.resets(&mut stage, 3, Code::NoError);
    stage.sent_bytes(origin.conn);
    stage.says(client, "x".repeat(100));
    let late = stage.sent_bytes(origin.conn);
    assert_eq!(late, [0_u8; 0], "the server has ended the stream");
    stage.tape.stuck = false;
    stage.batch(vec![]);
    for _ in 0..5 {
        stage.batch(vec![Event::Drained { conn: client }]);
    }
    let response = stage.sent(client);
    assert_eq!((status(&response), response.matches('n').count() > 3000), ("413", true));
    assert_eq!((stage.failures(Cause::ServerReset), stage.closed(origin.conn)), (0, None));
    let next = asks(&mut stage, GET);
    origin.hears(&mut stage);
    origin.answers(&mut stage, 5, "ok");
    assert_eq!(status(&stage.sent(next)), "200");
}

#[test]
fn server_that_allows_no_streams_is_not_asked_for_ever() {
    let mut stage = stage(1);
    let client = asks(&mut stage, GET);
    for _ in 0..10 {
        if stage.closed(stage.dialled()).is_none() {
            Origin::accept(&mut stage, Settings { max_concurrent_streams: Some(0), ..Settings::default() });
        }
    }
    assert_eq!(status(&stage.sent(client)), "503");
    assert!(stage.dials() <= 3, "{}", stage.dials());
}

#[test]
fn fewer_streams_than_are_open_let_those_go_on() {
    let (mut stage, mut origin) = ready(Settings { max_concurrent_streams: Some(10), ..Settings::default() });
    let clients: Vec<_> = (0..4).map(|_| asks(&mut stage, GET)).collect();
    origin.hears(&mut stage);
    // SETTINGS_MAX_CONCURRENT_STREAMS of 2.
    stage.says(origin.conn, [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2]);
    let fifth = asks(&mut stage, GET);
    origin.hears(&mut stage);
    assert_eq!((origin.heard().len(), stage.dials()), (4, 2), "it goes to another connection");
    let mut second = Origin::new(&mut stage);
    second.answers(&mut stage, 1, "ok");
    assert_eq!(status(&stage.sent(fifth)), "200");
    for (n, client) in clients.into_iter().enumerate() {
        origin.answers(&mut stage, 3 + 2 * n as u32, "ok");
        assert_eq!(status(&stage.sent(client)), "200");
    }
}

#[test]
fn targets_and_fields_of_a_connection_are_those_of_http2() {
    for (request, heard) in [
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * host: a; all"),
        ("OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * host: b; all"),
        ("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", "GET / host: b; all"),
        ("GET http://b?c HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?c host: b; all"),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\nKeep-Alive: 5\r\nTE: gzip\r\n\
            Upgrade: h2c\r\nProxy-Connection: close\r\nX-Kept: \t2 \r\n\r\n",
            "GET / host: a; x-kept: 2; all",
        ),
    ] {
        let (mut stage, mut origin) = ready(Settings::default());
        asks(&mut stage, request);
        origin.hears(&mut stage);
        assert_eq!(origin.heard(), [format!("3: {heard}")]);
    }
}

#[test]
fn upload_ends_when_the_server_has_answered_and_needs_no_more() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\nab");
    origin.hears(&mut stage);
    stage.tape.stuck = true;
    let head = origin.head(3, 413, &[("content-length", "6000")], false);
    origin.says(&mut stage, &head);
    for n in 1..=6 {
        let content = origin.content(3, &[b'x'; 1000], n == 6);
        origin.says(&mut stage, &content);
    }
    assert!(stage.sent_bytes(client).len() < 6000, "the client takes nothing, so some of the response waits");
    origin.resets(&mut stage, 3, Code::NoError);
    stage.says(client, "cd");
    stage.batch(vec![Event::Drained { conn: origin.conn }]);
    assert_eq!((stage.sent_bytes(origin.conn), stage.is_paused(client)), (vec![], true));
    stage.tape.stuck = false;
    stage.batch(Vec::new());
    while stage.closed(client).is_none() {
        stage.batch(vec![Event::Drained { conn: client }]);
    }
    assert!(stage.sent(client).ends_with("xxx"));
    assert_eq!((stage.closed(client), stage.failures(Cause::ServerReset)), (Some(Close::Linger), 0));
    assert_eq!((stage.sent_bytes(origin.conn), stage.closed(origin.conn)), (vec![], None));
}

#[test]
fn servers_learn_which_clients_take_trailers() {
    for (te, told) in [("TE: deflate, trailers", "te: trailers; "), ("TE: deflate", ""), ("X: trailers", "")] {
        let (mut stage, mut origin) = ready(Settings::default());
        asks(&mut stage, &format!("GET / HTTP/1.1\r\nHost: a\r\n{te}\r\n\r\n"));
        origin.hears(&mut stage);
        assert!(origin.heard()[0].ends_with(&format!("; {told}all")), "{te}");
    }
}

#[test]
fn requests_that_wait_for_a_failed_connect_try_another_server() {
    let mut stage = stage(2);
    let clients = [asks(&mut stage, GET), asks(&mut stage, GET), asks(&mut stage, GET)];
    assert_eq!(stage.dials(), 2, "in turn");
    let second = stage.dialled();
    stage.gone(second, Gone::Refused);
    assert_eq!(stage.dials(), 2, "the other connect is under way");
    let first = Conn { slot: second.slot - 1, ..second };
    stage.gone(first, Gone::Refused);
    assert_eq!((status(&stage.sent(clients[1])), stage.dials()), ("502", 3), "it has tried both");
    stage.gone(stage.dialled(), Gone::Refused);
    for client in [clients[0], clients[2]] {
        assert_eq!(status(&stage.sent(client)), "502");
    }
}

#[test]
fn server_that_does_not_speak_http2_is_told_from_one_that_does() {
    let mut stage = stage(1);
    let client = asks(&mut stage, GET);
    let server = stage.connected();
    assert!(stage.sent_bytes(server).starts_with(PREFACE));
    stage.says(server, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    assert_eq!((status(&stage.sent(client)), stage.failures(Cause::ServerBadResponse)), ("502", 1));
    assert!(stage.closed(server).is_some());
}

#[test]
fn what_breaks_the_standard_ends_the_connection_and_its_streams() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, GET);
    origin.hears(&mut stage);
    // A frame of PUSH_PROMISE.
    stage.says(origin.conn, [0, 0, 4, 5, 4, 0, 0, 0, 3, 0, 0, 0, 2]);
    assert_eq!((status(&stage.sent(client)), stage.failures(Cause::ServerBadResponse)), ("502", 1));
    origin.heard();
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["goes away: ProtocolError"]);
    assert_eq!(stage.closed(origin.conn), Some(Close::Flush));
}

#[test]
fn malformed_response_fails_its_stream_alone() {
    let (mut stage, mut origin) = ready(Settings::default());
    let (wrong, right) = (asks(&mut stage, GET), asks(&mut stage, GET));
    origin.hears(&mut stage);
    origin.heard();
    let head = origin.head(3, 200, &[("transfer-encoding", "chunked")], false);
    origin.says(&mut stage, &head);
    assert_eq!(status(&stage.sent(wrong)), "502");
    assert_eq!(origin.heard(), ["3: Cancel"]);
    origin.answers(&mut stage, 5, "ok");
    assert_eq!(status(&stage.sent(right)), "200");
}

#[test]
fn slow_client_closes_the_window_of_its_stream_alone() {
    let (mut stage, mut origin) = ready(Settings::default());
    let (slow, quick) = (asks(&mut stage, GET), asks(&mut stage, GET));
    origin.hears(&mut stage);
    stage.tape.stuck = true;
    let head = origin.head(3, 200, &[("content-length", "200000")], false);
    origin.says(&mut stage, &head);
    let mut sent = 0;
    while origin.connection.room(3) > 0 {
        let content = vec![b'x'; (origin.connection.room(3) as usize).min(1000)];
        sent += content.len();
        let frame = origin.content(3, &content, false);
        origin.says(&mut stage, &frame);
    }
    assert_eq!(sent, 65_535, "the first window");
    assert!(origin.connection.has_room());
    origin.answers(&mut stage, 5, "quick");
    assert!(stage.sent(quick).ends_with("quick"));
    stage.tape.stuck = false;
    while origin.connection.room(3) == 0 {
        stage.batch(vec![Event::Drained { conn: slow }]);
        origin.hears(&mut stage);
    }
    assert!(origin.connection.room(3) > 0);
    let all = stage.sent_bytes(slow).len();
    assert!(all >= 65_535, "{all}");
}

#[test]
fn window_of_a_stream_grows_when_much_comes() {
    let (mut stage, mut origin) = ready(Settings::default());
    asks(&mut stage, GET);
    origin.hears(&mut stage);
    let head = origin.head(3, 200, &[("content-length", "10000000")], false);
    let mut window = 0;
    origin.says(&mut stage, &head);
    for _ in 0..100 {
        let frame = origin.content(3, &[b'x'; 400], false);
        origin.says(&mut stage, &frame);
        window = window.max(origin.connection.window(3));
    }
    assert!(window > 1_000_000, "{window}");
}

#[test]
fn window_of_the_server_stops_the_upload() {
    let (mut stage, mut origin) = ready(Settings { initial_window: 10, ..Settings::default() });
    let client = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n");
    origin.hears(&mut stage);
    origin.heard();
    stage.says(client, "x".repeat(1500));
    let piece = stage.sent_bytes(origin.conn);
    assert_eq!(piece.len(), 9 + 10);
    assert!(stage.is_paused(client));
}

#[test]
fn response_timeout_resets_the_stream_alone() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, GET);
    origin.hears(&mut stage);
    origin.heard();
    let mut waited = Duration::ZERO;
    while stage.closed(client).is_none()
        && waited < Duration::from_secs(10)
        && stage.failures(Cause::ServerResponseTimeout) == 0
    {
        waited += stage.wait_for_deadline(origin.conn);
    }
    assert!((Duration::from_secs(2)..=Duration::from_secs(3)).contains(&waited), "{waited:?}");
    assert_eq!(status(&stage.sent(client)), "504");
    origin.hears(&mut stage);
    assert_eq!((origin.heard(), stage.closed(origin.conn)), (vec!["3: Cancel".to_owned()], None));
}

#[test]
fn idle_connection_is_asked_before_it_is_used_again() {
    let (mut stage, mut origin) = ready(Settings::default());
    stage.tape.sleep(Duration::from_secs(31));
    let client = asks(&mut stage, GET);
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), [""; 0]);
    origin.says(&mut stage, &[]);
    assert_eq!(origin.heard(), ["3: GET / host: a; all"]);
    origin.answers(&mut stage, 3, "ok");
    assert_eq!(status(&stage.sent(client)), "200");
    stage.tape.sleep(Duration::from_secs(31));
    let client = asks(&mut stage, GET);
    stage.wait_for_deadline(origin.conn);
    assert_eq!((stage.closed(origin.conn), stage.dials()), (Some(Close::Abort), 2));
    let mut next = Origin::new(&mut stage);
    next.answers(&mut stage, 1, "ok");
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn connection_ends_when_it_is_idle_or_old() {
    let mut plan = to_http2(plan(1));
    plan.pools[0].idle_connection_timeout_ms = 7_000;
    plan.pools[0].max_connection_reuse = 2;
    let mut stage = Stage::new(&plan);
    asks(&mut stage, GET);
    let mut origin = Origin::new(&mut stage);
    origin.answers(&mut stage, 1, "ok");
    assert_eq!(stage.wait_for_deadline(origin.conn), Duration::from_secs(7));
    assert_eq!(stage.closed(origin.conn), Some(Close::Flush));
    origin.heard();
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["goes away: NoError"]);
    asks(&mut stage, GET);
    let mut origin = Origin::new(&mut stage);
    asks(&mut stage, GET);
    assert_eq!(stage.dials(), 2);
    asks(&mut stage, GET);
    assert_eq!(stage.dials(), 3, "two requests are enough for one connection");
    origin.hears(&mut stage);
    origin.answers(&mut stage, 1, "ok");
    assert_eq!(stage.closed(origin.conn), None);
    origin.answers(&mut stage, 3, "ok");
    assert_eq!(stage.closed(origin.conn), Some(Close::Flush));
}

#[test]
fn clients_that_share_no_connection_have_their_own() {
    let mut plan = to_http2(plan(1));
    plan.virtual_services[0].http.as_mut().expect("HTTP").connection_multiplexing = false;
    let mut stage = Stage::new(&plan);
    let first = asks(&mut stage, GET);
    let mut origin = Origin::new(&mut stage);
    origin.answers(&mut stage, 1, "ok");
    asks(&mut stage, GET);
    assert_eq!(stage.dials(), 2);
    stage.says(first, GET);
    assert_eq!(stage.dials(), 2);
    origin.hears(&mut stage);
    assert_eq!(origin.heard().len(), 2);
}

#[test]
fn change_of_the_pool_ends_connections_behind_their_streams() {
    let (mut stage, mut origin) = ready(Settings::default());
    let client = asks(&mut stage, GET);
    origin.hears(&mut stage);
    let mut changed = to_http2(plan(1));
    (changed.revision, changed.pools[0].servers[0].enabled) = (2, false);
    stage.replace(&changed);
    assert_eq!(stage.closed(origin.conn), None);
    origin.answers(&mut stage, 3, "ok");
    assert_eq!((status(&stage.sent(client)), stage.closed(origin.conn)), ("200", Some(Close::Flush)));
}

#[test]
fn server_with_a_new_address_has_all_its_connections_again() {
    let mut before = to_http2(plan(1));
    before.pools[0].servers[0].max_connections = 2;
    let mut after = before.clone();
    (after.revision, after.pools[0].servers[0].port) = (2, 9000);
    let mut stage = Stage::new(&before);
    let clients: Vec<_> = (0..3).map(|_| asks(&mut stage, GET)).collect();
    let mut old = Origin::new(&mut stage);
    stage.replace(&after);
    for _ in 0..2 {
        let client = asks(&mut stage, GET);
        assert_eq!((stage.closed(client), stage.dials()), (None, 2));
        assert_eq!(stage.dialled_address(), "10.1.0.1:9000");
    }
    for (n, client) in clients.into_iter().enumerate() {
        old.answers(&mut stage, 1 + 2 * n as u32, "ok");
        assert_eq!(status(&stage.sent(client)), "200");
    }
    assert_eq!(stage.closed(old.conn), Some(Close::Flush));
}

#[test]
fn request_under_way_goes_as_http1_when_its_pool_has_lost_http2() {
    let mut before = to_http2(plan(1));
    before.pools[0].servers[0].max_connections = 1;
    before.virtual_services[0].http.as_mut().expect("HTTP").request_buffer_bytes = 1000;
    let mut after = before.clone();
    (after.revision, after.pools[0].http2) = (2, None);
    let mut stage = Stage::new(&before);
    let client = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    stage.replace(&after);
    stage.says(client, "cd");
    let server = stage.connected();
    assert_eq!(stage.sent(server), "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nabcd");
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("200", 1));
    for _ in 0..3 {
        stage.says(client, GET);
        let server = stage.dialled();
        stage.says(server, OK);
        assert_eq!((status(&stage.sent(client)), stage.dials()), ("200", 1), "the place is free again");
    }
    stage.gone(server, Gone::Reset);
    let gone = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    (after.revision, after.pools) = (3, vec![]);
    after.virtual_services[0].pool_uuid.clear();
    stage.replace(&after);
    stage.says(gone, "cd");
    assert_eq!(status(&stage.sent(gone)), "503", "the pool is gone");
}

#[test]
fn trailers_pass_both_ways() {
    let (mut stage, mut origin) = ready(Settings::default());
    let post = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let client = asks(&mut stage, &format!("{post}2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n"));
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["3: POST / host: a; ", "3: \"ab\"", "3: trailers x-sum"]);
    let head = origin.head(3, 200, &[], false);
    let content = origin.content(3, b"cd", false);
    let trailers = origin.trailers(3, "grpc-status", "0");
    origin.connection.end(3, Code::NoError);
    origin.says(&mut stage, &[head, content, trailers].concat());
    assert!(stage.sent(client).ends_with("chunked\r\n\r\n2\r\ncd\r\n0\r\ngrpc-status: 0\r\n\r\n"));
    let client = asks(&mut stage, &format!("{post}0\r\nX-Sum: 1\r\n\r\n"));
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["5: POST / host: a; ", "5: trailers x-sum"], "also without content");
    origin.answers(&mut stage, 5, "ok");
    assert_eq!(status(&stage.sent(client)), "200");
}
