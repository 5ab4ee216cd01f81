//! Clients that speak HTTP/2: each stream is an exchange of its own.

use weir_api::dataplane::v1::{Http2Profile, Plan};
use weir_proxy::io::{Close, Conn, Event};
use weir_telemetry::Cause;
use weir_wire::{
    head::{FieldTable, HeadSink, Limits, Method},
    http2::{
        Code, Config, Connection, Event as Came, Role, Settings,
        hpack::{Encoder, Target},
    },
};

use crate::{
    OK,
    tape::{Stage, plan},
};

const LIMITS: Limits = Limits { head_bytes: 8192, field_bytes: 4096, fields: 64 };

fn http2(mut plan: Plan) -> Plan {
    let service = &mut plan.virtual_services[0];
    service.listeners[0].http2 = true;
    service.http.as_mut().expect("speaks HTTP").http2 = Some(Http2Profile {
        max_concurrent_streams: 4,
        initial_window_bytes: 65_536,
        max_requests: 0,
        max_control_frames: 100,
        max_empty_frames: 10,
    });
    plan
}

/// A client of HTTP/2.
struct Browser {
    connection: Connection<()>,
    conn: Conn,
    heard: Vec<String>,
}

impl Browser {
    fn connect(stage: &mut Stage, settings: Settings) -> Self {
        let config = Config { settings, window: 1 << 20, head_bytes: 8192, control_frames: 0, empty_frames: 0 };
        Self { connection: Connection::new(Role::Client, config, 0), conn: stage.client(), heard: Vec::new() }
    }

    fn new(stage: &mut Stage) -> Self {
        Self::connect(stage, Settings { enable_push: false, ..Settings::default() })
    }

    /// Sends its control frames, and these bytes behind them.
    fn says(&mut self, stage: &mut Stage, bytes: &[u8]) {
        let all = [&std::mem::take(self.connection.control())[..], bytes].concat();
        let events = all.chunks(Stage::BLOCK_BYTES).map(|part| stage.data(self.conn, part)).collect();
        stage.batch(events);
        self.hears(stage);
    }

    fn asks(&mut self, stage: &mut Stage, method: &str, fields: &[(&str, &str)], is_all: bool) -> u32 {
        let id = self.connection.open().expect("a stream");
        let mut out = vec![0; 8192];
        let written = self.connection.write_head(&mut out, id, is_all, |room| {
            let mut encoder = Encoder::request(room, Target { scheme: b"http", authority: b"a" });
            encoder.request(method.as_bytes(), b"/");
            fields.iter().for_each(|(name, value)| encoder.field(name.as_bytes(), [value.as_bytes()]));
            encoder.end()
        });
        let written = written.expect("room");
        self.says(stage, &out[..written]);
        id
    }

    fn sends(&mut self, stage: &mut Stage, id: u32, content: &[u8], is_all: bool) {
        let header = self.connection.data(id, content.len() as u32, is_all);
        self.says(stage, &[&header[..], content].concat());
    }

    /// Takes what has come.
    fn hears(&mut self, stage: &mut Stage) {
        let piece = stage.sent_bytes(self.conn);
        let mut at = 0;
        loop {
            let told = match self.connection.take(&piece, &mut at, 0).expect("it keeps the standard") {
                Came::More => return,
                Came::Head { stream, is_all } => {
                    let mut table = FieldTable::new();
                    let head = self.connection.response(&piece, Method::Get, &LIMITS, &mut table).expect("a head");
                    let length = head.fields.text_bytes();
                    assert!(length > 0 || head.status < 200);
                    format!("{stream}: {}{}", head.status, if is_all { ", all" } else { "" })
                }
                Came::Trailers { stream } => format!("{stream}: trailers"),
                Came::Data { stream, content, is_all } => {
                    self.connection.give_back(stream, content.len() as u32);
                    let text = String::from_utf8_lossy(&piece[content]);
                    format!("{stream}: {text}{}", if is_all { ", all" } else { "" })
                }
                Came::Reset { stream, code } => {
                    self.connection.end(stream, Code::Cancel);
                    format!("{stream}: {code:?}")
                }
                Came::Room { .. } => continue,
                Came::GoAway { last, code } => format!("goes away after {last}: {code:?}"),
            };
            self.heard.push(told);
        }
    }

    fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }
}

#[test]
fn streams_are_answered_each_by_a_server() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    assert_eq!(browser.asks(&mut stage, "GET", &[("x-a", "b")], true), 1);
    let first = stage.connected();
    assert_eq!(stage.sent(first), "GET / HTTP/1.1\r\nhost: a\r\nx-a: b\r\n\r\n");
    assert_eq!(browser.asks(&mut stage, "GET", &[], true), 3);
    let second = stage.connected();
    stage.says(second, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["3: 200", "3: ok, all"]);
    stage.says(first, "HTTP/1.1 204 No Content\r\n\r\n");
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 204, all"]);
    assert_eq!(browser.asks(&mut stage, "GET", &[], true), 5);
    assert_eq!(stage.dials(), 2, "the servers' connections stay");
    assert_eq!(stage.closed(browser.conn), None);
    let service = stage.proxy.counters().service(0).expect("the service has counters");
    assert_eq!((service.requests, service.connections, service.open_connections), (3, 1, 1));
}

#[test]
fn body_goes_to_the_server_as_it_comes() {
    for (fields, head, sent) in [
        (&[("content-length", "6")][..], "content-length: 6\r\n", ["abc", "def"]),
        (&[], "Transfer-Encoding: chunked\r\n", ["3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n"]),
    ] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = Browser::new(&mut stage);
        let id = browser.asks(&mut stage, "POST", fields, false);
        let server = stage.connected();
        assert_eq!(stage.sent(server), format!("POST / HTTP/1.1\r\nhost: a\r\n{head}\r\n"));
        browser.sends(&mut stage, id, b"abc", false);
        assert_eq!(stage.sent(server), sent[0]);
        browser.sends(&mut stage, id, b"def", true);
        assert_eq!(stage.sent(server), sent[1]);
        stage.says(server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
        assert_eq!(stage.blocks_in_use(), 0);
    }
}

#[test]
fn length_that_is_not_kept_is_refused() {
    for (content, is_all) in [(&b"abcdefg"[..], false), (b"abc", true)] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = Browser::new(&mut stage);
        let id = browser.asks(&mut stage, "POST", &[("content-length", "6")], false);
        let server = stage.connected();
        browser.sends(&mut stage, id, content, is_all);
        assert_eq!(browser.heard()[0], "1: 400");
        assert_eq!(stage.closed(server), Some(Close::Abort));
    }
}

#[test]
fn content_waits_for_the_window_of_its_stream_and_stops_its_server() {
    let mut stage = Stage::new(&http2(plan(1)));
    let settings = Settings { enable_push: false, initial_window: 1000, ..Settings::default() };
    let mut browser = Browser::connect(&mut stage, settings);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n{}", "x".repeat(3000)));
    assert!(stage.is_paused(server));
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200".to_string(), format!("1: {}", "x".repeat(1000))]);
    let mut content = 1000;
    while content < 3000 {
        browser.says(&mut stage, b"");
        content += browser.heard().iter().map(|told| told.len() - 3).sum::<usize>();
    }
    assert!(!stage.is_paused(server));
    stage.says(server, "y".repeat(1000));
    browser.says(&mut stage, b"");
    let told = browser.heard().concat();
    assert!(told.ends_with("y, all"), "{told}");
}

#[test]
fn failures_end_a_stream_and_not_the_connection() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.says(server, "no HTTP at all\r\n\r\n");
    browser.hears(&mut stage);
    assert_eq!(browser.heard()[0], "1: 502");
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    stage.batch(vec![Event::Eof { conn: server }]);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["3: 200", "3: half", "3: InternalError"]);
    assert_eq!(stage.closed(browser.conn), None);
}

#[test]
fn reset_of_a_stream_ends_its_work() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    browser.connection.end(id, Code::Cancel);
    browser.says(&mut stage, b"");
    assert_eq!((stage.closed(server), stage.failures(Cause::ClientAborted)), (Some(Close::Abort), 1));
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.batch(vec![Event::Eof { conn: browser.conn }]);
    assert_eq!((stage.closed(server), stage.closed(browser.conn)), (Some(Close::Abort), Some(Close::Flush)));
    assert!(stage.proxy.is_idle());
}

#[test]
fn breach_of_the_standard_ends_the_connection_with_its_code() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    browser.says(&mut stage, &[0, 0, 0, 9, 4, 0, 0, 0, 1]);
    assert_eq!(browser.heard(), ["goes away after 1: ProtocolError"]);
    assert_eq!((stage.closed(browser.conn), stage.closed(server)), (Some(Close::Linger), Some(Close::Abort)));
    assert!(stage.proxy.is_idle());
}

#[test]
fn draining_service_ends_the_connection_with_its_last_stream() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.proxy.let_go();
    stage.says(server, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["goes away after 2147483647: NoError", "1: 200", "1: ok, all"]);
    browser.says(&mut stage, b"");
    assert_eq!(browser.heard(), ["goes away after 1: NoError"]);
    assert_eq!(stage.closed(browser.conn), Some(Close::Flush));
}

#[test]
fn clients_of_http1_are_served_on_the_same_listener() {
    let mut stage = Stage::new(&http2(plan(1)));
    let client = stage.client();
    stage.says(client, "PRINT / HTTP/1.1\r\nHost: a\r\n\r\n");
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("PRINT / HTTP/1.1\r\n"));
    stage.says(server, OK);
    assert!(stage.sent(client).starts_with("HTTP/1.1 200 OK\r\n"));
}
