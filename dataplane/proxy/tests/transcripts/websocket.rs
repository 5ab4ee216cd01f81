//! WebSocket: requests that become tunnels, of clients that speak HTTP/1.1 and HTTP/2.

use std::time::Duration;

use weir_api::dataplane::v1::{Http2ToServers, Plan, TcpProfile};
use weir_proxy::{
    Limits,
    io::{After, Close, Conn, Event, Gone},
};
use weir_telemetry::{Cause, ServiceCounters};
use weir_wire::http2::Code;

use crate::{
    OK,
    http2::{Browser, http2},
    origin::Origin,
    policies::{to_pool, with},
    status,
    tape::{Stage, plan},
};

/// The key and the answer of RFC 6455 §1.3.
pub const ASKS: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const ASKED: &str = "GET /chat HTTP/1.1\r\nHost: a\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
    Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
pub const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n";

pub fn with_websockets(mut plan: Plan) -> Plan {
    plan.virtual_services[0].http.as_mut().expect("speaks HTTP").websockets = true;
    plan
}

/// A client that has asked for WebSocket, and its server.
fn asking(plan: &Plan) -> (Stage, Conn, Conn) {
    let mut stage = Stage::new(plan);
    let client = stage.client();
    stage.says(client, ASKS);
    let server = stage.connected();
    assert_eq!(stage.sent(server), ASKED);
    (stage, client, server)
}

/// An open WebSocket.
fn open(plan: &Plan) -> (Stage, Conn, Conn) {
    let (mut stage, client, server) = asking(plan);
    stage.says(server, SWITCHES);
    let answer = stage.sent(client);
    assert!(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{answer}");
    assert!(answer.ends_with("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), "{answer}");
    (stage, client, server)
}

fn counters(stage: &Stage) -> &ServiceCounters {
    stage.proxy.counters().service(0).expect("the service has counters")
}

#[test]
fn websocket_is_a_tunnel_from_the_answer_on() {
    let (mut stage, client, server) = open(&with_websockets(plan(1)));
    assert_eq!(stage.blocks_in_use(), 0);
    stage.says(client, "GET / HTTP/1.1\r\n\r\n");
    assert_eq!(stage.sent(server), "GET / HTTP/1.1\r\n\r\n");
    stage.says(server, "HTTP/1.1 101\r\n\r\n");
    assert_eq!(stage.sent(client), "HTTP/1.1 101\r\n\r\n");
    assert_eq!((counters(&stage).requests, counters(&stage).responses), (1, [1, 0, 0, 0, 0]));
    assert_eq!((counters(&stage).websockets, counters(&stage).open_websockets), (1, 1));
    stage.batch(vec![Event::Eof { conn: client }]);
    assert!(stage.is_finished(server) && stage.closed(server).is_none());
    stage.says(server, "close");
    stage.batch(vec![Event::Eof { conn: server }]);
    assert_eq!(stage.sent(client), "close");
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Flush), Some(Close::Flush)));
    assert_eq!((counters(&stage).websockets, counters(&stage).open_websockets), (1, 0));
    assert!(stage.proxy.is_idle());
}

#[test]
fn what_follows_the_heads_at_once_crosses_behind_the_answer() {
    let mut stage = Stage::new(&with_websockets(plan(1)));
    let client = stage.client();
    stage.says(client, format!("{ASKS}early"));
    assert!(stage.is_paused(client), "what it sends now waits in the kernel");
    let server = stage.connected();
    assert_eq!(stage.sent(server), ASKED);
    stage.says(server, format!("{SWITCHES}hello"));
    assert!(stage.sent(client).ends_with("\r\n\r\nhello"));
    assert_eq!(stage.sent(server), "early");
    assert!(!stage.is_paused(client));
}

#[test]
fn bulk_data_is_relayed_by_the_driver() {
    let (mut stage, client, server) = open(&with_websockets(plan(1)));
    stage.says(server, "x".repeat(4000));
    assert_eq!(stage.tape.relays, [(server, client, u64::MAX, After::GoOn)]);
}

#[test]
fn any_other_answer_is_a_response_and_the_connection_goes_on() {
    for answer in [OK, "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n"] {
        let (mut stage, client, server) = asking(&with_websockets(plan(1)));
        stage.says(server, answer);
        assert_eq!(status(&stage.sent(client)), status(answer));
        stage.says(client, ASKS);
        assert_eq!(stage.dials(), 1);
        assert_eq!(stage.sent(server), ASKED);
        stage.says(server, SWITCHES);
        assert_eq!(status(&stage.sent(client)), "101");
    }
}

#[test]
fn answer_to_another_key_is_refused() {
    for (from, to) in [("s3pP", "S3pP"), ("Upgrade: websocket", "Upgrade: h2c"), ("Connection: Upgrade\r\n", "")] {
        let (mut stage, client, server) = asking(&with_websockets(plan(1)));
        stage.says(server, SWITCHES.replacen(from, to, 1));
        assert_eq!(status(&stage.sent(client)), "502", "{to}");
        assert_eq!((stage.closed(server), stage.failures(Cause::ServerBadResponse)), (Some(Close::Abort), 1));
        assert_eq!(counters(&stage).websockets, 0);
    }
}

#[test]
fn other_requests_go_without_upgrade_and_their_server_may_not_switch() {
    let enabled = with_websockets(plan(1));
    for (plan, from, to) in [
        (plan(1), "a\r\n", "a\r\n"),
        (enabled.clone(), "Upgrade: websocket", "Upgrade: h2c"),
        (enabled.clone(), "Upgrade: websocket", "Upgrade: websocket, h2c"),
        (enabled.clone(), "keep-alive, Upgrade", "keep-alive"),
        (enabled.clone(), "Version: 13", "Version: 8"),
        (enabled.clone(), "dGhl", ""),
        (enabled, "GET", "POST"),
    ] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, ASKS.replacen(from, to, 1));
        let server = stage.connected();
        let asked = stage.sent(server);
        assert!(!asked.contains("Upgrade"), "{asked}");
        stage.says(server, SWITCHES);
        assert_eq!(status(&stage.sent(client)), "502");
    }
}

#[test]
fn reset_of_either_side_is_passed_on() {
    for client_goes in [true, false] {
        let (mut stage, client, server) = open(&with_websockets(plan(1)));
        let (goes, stays) = if client_goes { (client, server) } else { (server, client) };
        stage.gone(goes, Gone::Reset);
        assert_eq!(stage.closed(stays), Some(Close::Cut));
        assert_eq!(counters(&stage).open_websockets, 0);
        assert!(stage.proxy.is_idle());
    }
}

#[test]
fn server_that_switches_and_is_lost_in_one_batch_cuts_the_client() {
    let (mut stage, client, server) = asking(&with_websockets(plan(1)));
    let says = stage.data(server, format!("{SWITCHES}last words"));
    stage.batch(vec![says, Event::Gone { conn: server, why: Gone::Reset }]);
    assert!(stage.sent(client).ends_with("\r\n\r\nlast words"));
    assert_eq!(stage.closed(client), Some(Close::Cut));
    assert!(stage.proxy.is_idle());
}

#[test]
fn timeouts_of_http_end_with_the_switch_and_idle_time_begins() {
    let mut plan = with_websockets(plan(1));
    let (mut stage, client, server) = open(&plan);
    assert!(!stage.has_deadline(client) && !stage.has_deadline(server));
    stage.says(client, "ping");
    assert!(!stage.has_deadline(client) && !stage.has_deadline(server));
    plan.virtual_services[0].tcp = Some(TcpProfile { idle_timeout_s: 10, ..Default::default() });
    let (mut stage, client, server) = open(&plan);
    stage.tape.sleep(Duration::from_secs(6));
    stage.says(server, "still here");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(4));
    assert_eq!(stage.closed(client), None);
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(6));
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Flush), Some(Close::Flush)));
}

#[test]
fn websocket_outlives_a_drain_and_its_service_does_not_outlive_the_plan() {
    let plan = with_websockets(plan(1));
    let (mut stage, client, server) = open(&plan);
    stage.proxy.let_go();
    stage.proxy.drain(&mut stage.tape);
    stage.says(client, "still here");
    assert_eq!((stage.sent(server), stage.closed(client)), ("still here".into(), None));
    assert!(!stage.proxy.is_idle());
    let mut without = plan;
    without.virtual_services.clear();
    without.revision = 2;
    stage.replace(&without);
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Cut), Some(Close::Cut)));
}

pub const CONNECT: &[(&str, &str)] = &[(":protocol", "websocket"), ("sec-websocket-version", "13"), ("x-a", "b")];
/// The answer to the first key of the stage.
const SWITCHES_STREAM: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: 5tWd1XMQfqfRMZqGrwjPEgEvyeE=\r\nContent-Length: 0\r\n\r\n";

/// The answers to the first keys of a stage.
const ACCEPTS: [&str; 2] = ["5tWd1XMQfqfRMZqGrwjPEgEvyeE=", "HxQGuR/8NNkEk+gAR7AGRRQUR5I="];

/// Opens a WebSocket on a stream for a host, which gets the key with this number. Returns its server.
pub fn open_at(stage: &mut Stage, browser: &mut Browser, host: &str, number: usize) -> Conn {
    browser.asks_of(stage, host, "CONNECT", CONNECT, false);
    let server = stage.connected();
    stage.sent(server);
    stage.says(server, SWITCHES_STREAM.replace(ACCEPTS[0], ACCEPTS[number]));
    browser.hears(stage);
    assert!(browser.heard().concat().ends_with(": 200"));
    server
}

/// A client of HTTP/2 that has asked for WebSocket on its first stream.
fn asking_on_stream(plan: &Plan) -> (Stage, Browser, u32, Conn) {
    let mut stage = Stage::new(plan);
    let mut browser = Browser::new(&mut stage);
    browser.says(&mut stage, b"");
    assert!(browser.connection.peer().enable_connect_protocol);
    let id = browser.asks(&mut stage, "CONNECT", CONNECT, false);
    let server = stage.connected();
    assert_eq!(
        stage.sent(server),
        "GET / HTTP/1.1\r\nhost: a\r\nsec-websocket-version: 13\r\nx-a: b\r\n\
        Sec-WebSocket-Key: AQEBAQEBAQEBAQEBAQEBAQ==\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    );
    (stage, browser, id, server)
}

fn open_on_stream(plan: &Plan) -> (Stage, Browser, u32, Conn) {
    let (mut stage, mut browser, id, server) = asking_on_stream(plan);
    stage.says(server, SWITCHES_STREAM);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200"]);
    (stage, browser, id, server)
}

fn both(plan: Plan) -> Plan {
    http2(with_websockets(plan))
}

#[test]
fn stream_becomes_a_tunnel() {
    let (mut stage, mut browser, id, server) = open_on_stream(&both(plan(1)));
    browser.sends(&mut stage, id, b"question", false);
    assert_eq!(stage.sent(server), "question");
    stage.says(server, "answer");
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: answer"]);
    assert_eq!((counters(&stage).websockets, counters(&stage).open_websockets), (1, 1));
    assert_eq!(browser.asks(&mut stage, "GET", &[], true), 3, "other streams go on");
    let other = stage.connected();
    stage.says(other, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["3: 200", "3: ok, all"]);
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn each_side_of_a_stream_ends_for_itself() {
    for server_ends_first in [true, false] {
        let (mut stage, mut browser, id, server) = open_on_stream(&both(plan(1)));
        let server_ends = |stage: &mut Stage, browser: &mut Browser| {
            stage.says(server, "last");
            stage.batch(vec![Event::Eof { conn: server }]);
            browser.hears(stage);
        };
        if server_ends_first {
            server_ends(&mut stage, &mut browser);
            assert_eq!(browser.heard(), ["1: last", "1: , all"]);
            browser.sends(&mut stage, id, b"more", false);
            assert_eq!(stage.sent(server), "more");
            browser.sends(&mut stage, id, b"last", true);
        } else {
            browser.sends(&mut stage, id, b"last", true);
            assert!(stage.is_finished(server) && stage.closed(server).is_none());
            server_ends(&mut stage, &mut browser);
            assert_eq!(browser.heard(), ["1: last", "1: , all"]);
        }
        assert_eq!(stage.sent(server), "last");
        assert_eq!((stage.closed(server), stage.closed(browser.conn)), (Some(Close::Flush), None));
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), [] as [&str; 0], "no reset follows");
        assert_eq!(counters(&stage).open_websockets, 0);
    }
}

#[test]
fn end_of_a_stream_counts_as_a_piece_until_it_has_left() {
    let limits = Limits { queued_pieces: 1, ..Limits::default() };
    let mut stage = Stage::with(&both(plan(1)), limits);
    let mut browser = Browser::new(&mut stage);
    let server = open_at(&mut stage, &mut browser, "a", 0);
    let header = browser.connection.data(1, 4, false);
    let more = stage.data(browser.conn, [&header[..], b"more"].concat());
    stage.batch(vec![Event::Eof { conn: server }, more]);
    browser.hears(&mut stage);
    assert_eq!((browser.heard(), stage.sent(server).as_str()), (vec!["1: , all".to_string()], "more"));
    browser.sends(&mut stage, 1, b"last", true);
    assert_eq!((stage.sent(server).as_str(), stage.closed(server)), ("last", Some(Close::Flush)));
    assert_eq!(stage.closed(browser.conn), None);
}

#[test]
fn reset_of_a_stream_and_reset_of_its_server_are_one() {
    let (mut stage, mut browser, id, server) = open_on_stream(&both(plan(1)));
    browser.connection.end(id, Code::Cancel);
    browser.says(&mut stage, b"");
    assert_eq!((stage.closed(server), counters(&stage).open_websockets), (Some(Close::Cut), 0));
    let (mut stage, mut browser, _, server) = open_on_stream(&both(plan(1)));
    let says = stage.data(server, "last words");
    stage.batch(vec![says, Event::Gone { conn: server, why: Gone::Reset }]);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: last words", "1: Cancel"]);
    assert_eq!(stage.closed(browser.conn), None);
}

#[test]
fn early_content_of_a_stream_waits_within_its_window() {
    let (mut stage, mut browser, id, server) = asking_on_stream(&both(plan(1)));
    let content = browser.content(id, &vec![b'e'; 100_000]);
    browser.says(&mut stage, &content);
    assert_eq!(browser.content(id, b"more"), b"", "the window is used up");
    stage.says(server, SWITCHES_STREAM);
    let mut got = 0;
    for _ in 0..200 {
        stage.batch(vec![Event::Drained { conn: server }]);
        got += stage.sent(server).len();
    }
    browser.hears(&mut stage);
    assert_eq!((got, browser.heard()), (65_536, vec!["1: 200".to_string()]));
    assert_ne!(browser.content(id, b"more"), b"");
}

#[test]
fn server_is_read_as_the_window_of_the_stream_allows() {
    let (mut stage, mut browser, _, server) = open_on_stream(&both(plan(1)));
    let mut said = 0;
    while !stage.is_paused(server) {
        stage.says(server, "x".repeat(4000));
        said += 4000;
    }
    assert!((65_535..80_000).contains(&said), "{said}");
    let mut got = 0;
    for _ in 0..20 {
        browser.says(&mut stage, b"");
        stage.batch(vec![Event::Drained { conn: browser.conn }]);
        got += browser.heard().iter().map(|told| told.len() - 3).sum::<usize>();
    }
    assert_eq!((got, stage.is_paused(server)), (said, false));
}

#[test]
fn answers_that_do_not_switch() {
    for (answer, told) in
        [(OK, "1: 502"), (SWITCHES, "1: 502"), ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "1: 403, all")]
    {
        let (mut stage, mut browser, id, server) = asking_on_stream(&both(plan(1)));
        browser.sends(&mut stage, id, b"early", false);
        stage.says(server, answer);
        browser.hears(&mut stage);
        let heard = browser.heard();
        assert_eq!((heard[0].as_str(), heard.last().map(String::as_str)), (told, Some("1: NoError")), "{heard:?}");
        assert_eq!(counters(&stage).websockets, 0);
    }
}

#[test]
fn connect_for_anything_else_is_refused() {
    let without = http2(plan(1));
    let other = &[(":protocol", "connect-udp")][..];
    let no_version = &[(":protocol", "websocket")][..];
    for (plan, fields, told) in [
        (&without, CONNECT, "1: 501"),
        (&both(plan(1)), &[], "1: 501"),
        (&both(plan(1)), other, "1: 501"),
        (&both(plan(1)), no_version, "1: 501"),
    ] {
        let mut stage = Stage::new(plan);
        let mut browser = Browser::new(&mut stage);
        browser.asks(&mut stage, "CONNECT", fields, false);
        assert_eq!((browser.heard()[0].as_str(), stage.dials()), (told, 0));
    }
}

#[test]
fn tunnel_whose_ends_have_both_ended_is_complete_when_its_connection_ends() {
    for server_has_ended in [true, false] {
        let (mut stage, mut browser, id, server) = open_on_stream(&both(plan(1)));
        if server_has_ended {
            stage.batch(vec![Event::Eof { conn: server }]);
            browser.hears(&mut stage);
            assert_eq!(browser.heard(), ["1: , all"]);
        }
        stage.tape.stuck = true;
        // More than the server takes at once, and the end of the connection with it.
        let frame = |browser: &mut Browser, content: &str, is_all| {
            let header = browser.connection.data(id, content.len() as u32, is_all);
            [&header[..], content.as_bytes()].concat()
        };
        let frames = [frame(&mut browser, &"x".repeat(1_500), false), frame(&mut browser, "last", true)].concat();
        let data = stage.data(browser.conn, frames);
        stage.batch(vec![data, Event::Eof { conn: browser.conn }]);
        assert!(stage.sent(server).ends_with("xlast"));
        let how = if server_has_ended { Close::Flush } else { Close::Cut };
        assert_eq!(stage.closed(server), Some(how));
        assert!(stage.proxy.is_idle());
    }
}

#[test]
fn idle_stream_ends_in_time_and_its_connection_stays() {
    let mut plan = both(plan(1));
    plan.virtual_services[0].tcp = Some(TcpProfile { idle_timeout_s: 10, ..Default::default() });
    let (mut stage, mut browser, _, server) = open_on_stream(&plan);
    let mut waited = Duration::ZERO;
    while stage.closed(server).is_none() && waited.as_secs() < 60 {
        waited += stage.wait_for_deadline(browser.conn);
    }
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: , all", "1: NoError"]);
    assert!((10..=11).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(stage.closed(browser.conn), None);
}

#[test]
fn listener_that_goes_cuts_the_tunnels_of_its_streams() {
    let (mut stage, mut browser, _, server) = open_on_stream(&both(plan(1)));
    let mut without = both(plan(1));
    without.virtual_services.clear();
    without.revision = 2;
    stage.replace(&without);
    stage.batch(vec![]);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["goes away after 2147483647: NoError", "1: Cancel"]);
    assert_eq!(stage.closed(server), Some(Close::Cut));
}

#[test]
fn fields_behind_the_content_of_a_tunnel_are_an_error() {
    for is_open in [true, false] {
        let (mut stage, mut browser, id, server) = match is_open {
            true => open_on_stream(&both(plan(1))),
            false => asking_on_stream(&both(plan(1))),
        };
        let mut out = vec![0; 100];
        let written = browser.connection.write_head(&mut out, id, true, |room| {
            room[..5].copy_from_slice(b"\x00\x01a\x01b");
            Ok::<_, weir_wire::head::Overflow>(5)
        });
        browser.says(&mut stage, &out[..written.expect("room")]);
        let code = if is_open { "1: Cancel" } else { "1: ProtocolError" };
        assert_eq!(browser.heard(), [code]);
        assert!(stage.closed(server).is_some());
    }
}

#[test]
fn pool_that_a_rule_chooses_decides_whether_http1_may_switch() {
    let to_other = |plan: Plan| with(plan, to_pool("/chat", "pool-9"));
    let speaking_http2 = |pool: usize| {
        let mut plan = to_other(with_websockets(plan(1)));
        plan.pools[pool].http2 = Some(Http2ToServers::default());
        plan
    };
    let (mut stage, client, server) = open(&speaking_http2(0));
    stage.says(client, "question");
    assert_eq!(stage.sent(server), "question");

    let mut stage = Stage::new(&speaking_http2(1));
    let client = stage.client();
    stage.says(client, ASKS);
    let mut origin = Origin::new(&mut stage);
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    let heard = origin.heard().concat();
    assert!(heard.contains("GET /chat") && !heard.contains("pgrade"), "{heard}");
}
