//! Clients that speak HTTP/2 and want to cost more than they bring.

use std::time::Duration;

use weir_proxy::{Limits, io::Close};
use weir_telemetry::Cause;
use weir_wire::http2::{Code, Flags, FrameHeader, FrameType, Settings, hpack::TABLE_BYTES};

use crate::{
    OK,
    http2::{Browser, http2},
    tape::{Stage, plan},
};

fn update(stream: u32, bytes: u32) -> Vec<u8> {
    let header = FrameHeader { bytes: 4, kind: FrameType::WindowUpdate, flags: Flags::NONE, stream };
    [&header.write()[..], &bytes.to_be_bytes()].concat()
}

#[test]
fn head_that_never_ends_holds_up_no_other_stream_for_long() {
    let mut patient = http2(plan(1));
    patient.pools[0].response_timeout_ms = 3_600_000;
    let mut stage = Stage::new(&patient);
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    let (_, mut unended) = browser.request("GET", true);
    unended[4] &= !0x4;
    browser.says(&mut stage, &unended);
    let mut waited = Duration::ZERO;
    while stage.closed(browser.conn).is_none() {
        waited += stage.wait_for_deadline(browser.conn);
    }
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["goes away after 1: EnhanceYourCalm"]);
    assert_eq!((waited.as_secs(), stage.failures(Cause::ClientHeadTimeout)), (3, 1));
    assert_eq!(stage.closed(server), Some(Close::Abort));
}

/// A field that the table holds takes a byte of each later block, and thousands when it is decoded.
#[test]
fn heads_that_decode_to_too_much_cost_the_budget() {
    let mut small = http2(plan(1));
    small.virtual_services[0].http.as_mut().expect("speaks HTTP").max_request_head_bytes = 8192;
    let mut stage = Stage::new(&small);
    let mut browser = Browser::new(&mut stage);
    let (_, first) = browser.request("GET", true);
    let value = "v".repeat(TABLE_BYTES - 100);
    let mut stored = vec![0x40, 3];
    stored.extend_from_slice(b"x-b");
    stored.extend_from_slice(&[0x7f, 0x80 | ((value.len() - 127) % 128) as u8, ((value.len() - 127) / 128) as u8]);
    stored.extend_from_slice(value.as_bytes());
    let table_of_4096 = [0x3f, 0xe1, 0x1f];
    let first = [&first[..9], &table_of_4096, &first[10..]].concat();
    browser.says(&mut stage, &with_fields(&first, &stored));
    let refused = (0..100).take_while(|_| {
        let (id, request) = browser.request("GET", true);
        browser.heard.clear();
        browser.says(&mut stage, &with_fields(&request, &[0xbe; 4]));
        browser.connection.end(id, Code::NoError);
        let told = browser.heard().concat();
        assert!(told.contains(&format!("{id}: 431")), "{told}");
        !told.contains("goes away")
    });
    // Of 100 control frames three quarters were used: eight for each head, of which its answer brings one back.
    assert_eq!((refused.count(), stage.dials()), (10, 1));
}

/// A request with more of a block behind its own.
fn with_fields(request: &[u8], more: &[u8]) -> Vec<u8> {
    let mut all = [request, more].concat();
    let bytes = all.len() - 9;
    all[..3].copy_from_slice(&(bytes as u32).to_be_bytes()[1..]);
    all
}

#[test]
fn waiting_requests_hold_no_block() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    assert_eq!(stage.blocks_in_use(), 0, "while its server is dialled");
    let server = stage.connected();
    assert_eq!(stage.blocks_in_use(), 0, "while its server thinks");
    stage.says(server, OK);
    browser.asks(&mut stage, "GET", &[], true);
    assert_eq!((stage.dials(), stage.blocks_in_use()), (1, 0), "on a connection that was used before");
}

#[test]
fn stream_whose_window_opens_byte_by_byte_is_given_up() {
    // When its server has sent all, and before that.
    for length in [2000, 4000] {
        let mut stage = Stage::new(&http2(plan(1)));
        let settings = Settings { enable_push: false, initial_window: 0, ..Settings::default() };
        let mut browser = Browser::connect(&mut stage, settings);
        browser.asks(&mut stage, "GET", &[], true);
        let server = stage.connected();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(2000));
        stage.says(server, answer);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: 200"]);
        let mut waited = Duration::ZERO;
        while stage.failures(Cause::ClientStalled) == 0 {
            assert!(waited.as_secs() < 70, "it holds its answer for ever");
            waited += stage.wait_for_deadline(browser.conn);
            stage.says(browser.conn, update(1, 1));
        }
        assert_eq!(waited.as_secs(), 60);
        let reset = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8];
        assert!(stage.sent_bytes(browser.conn).ends_with(&reset), "the stream ends alone");
        assert_eq!(stage.closed(browser.conn), None);
    }
}

#[test]
fn connection_that_takes_nothing_at_all_is_ended() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.tape.stuck = true;
    stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n{}", "x".repeat(3000)));
    let mut waited = Duration::ZERO;
    while stage.closed(browser.conn).is_none() {
        waited += stage.wait_for_deadline(browser.conn);
    }
    assert_eq!((waited.as_secs(), stage.closed(browser.conn)), (60, Some(Close::Abort)));
    assert_eq!((stage.failures(Cause::ClientStalled), stage.closed(server)), (1, Some(Close::Abort)));
}

/// One client must not take the place of every other client's stream.
#[test]
fn last_places_are_for_connections_with_few_streams() {
    let mut wide = http2(plan(1));
    let http = wide.virtual_services[0].http.as_mut().expect("speaks HTTP");
    http.http2.as_mut().expect("HTTP/2").max_concurrent_streams = 100;
    let mut stage = Stage::with(&wide, Limits { clients: 32, ..Limits::default() });
    let mut hoarder = Browser::new(&mut stage);
    let refused = (0..32).filter(|_| {
        hoarder.asks(&mut stage, "GET", &[], true);
        !hoarder.heard().is_empty()
    });
    assert_eq!(refused.count(), 2);
    let mut other = Browser::new(&mut stage);
    other.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.says(server, OK);
    other.hears(&mut stage);
    assert_eq!(other.heard(), ["1: 200", "1: ok, all"]);
}

/// A small part of what an open window allows: the connection may have a hundred such streams.
#[test]
fn closed_window_stops_the_server_early() {
    for (window, is_paused) in [(0, true), (65_535, false)] {
        let mut stage = Stage::new(&http2(plan(1)));
        let settings = Settings { enable_push: false, initial_window: window, ..Settings::default() };
        let mut browser = Browser::connect(&mut stage, settings);
        browser.asks(&mut stage, "GET", &[], true);
        let server = stage.connected();
        stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n{}", "x".repeat(40)));
        assert_eq!(stage.is_paused(server), is_paused);
        stage.says(browser.conn, update(1, 600));
        stage.batch(vec![]);
        assert!(!stage.is_paused(server));
        stage.says(server, "x".repeat(560));
        assert_eq!(stage.sent_bytes(browser.conn).iter().filter(|byte| **byte == b'x').count(), 600);
        assert!(stage.blocks_in_use() == 0 && stage.closed(browser.conn).is_none());
    }
}

#[test]
fn client_whose_streams_hold_the_memory_is_evicted() {
    let limits = Limits { buffer_bytes: 4 * Stage::BLOCK_BYTES, ..Limits::default() };
    let mut stage = Stage::with(&http2(plan(1)), limits);
    let other = stage.client_from("10.0.0.1:80", "10.2.0.2:4000");
    stage.says(other, "GET / HTTP/1.1\r\n");
    let settings = Settings { enable_push: false, initial_window: 0, ..Settings::default() };
    let mut hoarder = Browser::connect(&mut stage, settings);
    let mut servers = vec![];
    while stage.closed(hoarder.conn).is_none() {
        assert!(servers.len() < 4, "{} blocks are in use", stage.blocks_in_use());
        hoarder.asks(&mut stage, "GET", &[], true);
        servers.push(stage.connected());
        stage.says(
            servers[servers.len() - 1],
            format!("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n{}", "x".repeat(3000)),
        );
    }
    assert_eq!((stage.closed(hoarder.conn), stage.closed(other)), (Some(Close::Abort), None));
    assert_eq!((stage.failures(Cause::EngineMemory), stage.blocks_in_use()), (1, 1));
}
