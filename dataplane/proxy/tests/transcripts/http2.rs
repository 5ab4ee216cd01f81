//! Clients that speak HTTP/2: each stream is an exchange of its own.

use weir_api::dataplane::v1::{self as api, Http2Profile, Plan};
use weir_proxy::io::{Close, Conn, Event, Gone};
use weir_telemetry::Cause;
use weir_wire::{
    head::{Field, FieldTable, Fields, HeadSink, Limits, Method},
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

pub fn http2(mut plan: Plan) -> Plan {
    let service = &mut plan.virtual_services[0];
    service.listeners[0].http2 = true;
    service.http.as_mut().expect("speaks HTTP").http2 = Some(Http2Profile {
        max_concurrent_streams: 4,
        initial_window_bytes: 65_536,
        max_requests: 0,
        max_control_frames: 100,
        max_empty_frames: 10,
        max_field_bytes: 4096,
    });
    plan
}

/// A client of HTTP/2.
pub struct Browser {
    pub connection: Connection<()>,
    pub conn: Conn,
    pub heard: Vec<String>,
    /// What it asks with.
    pub method: Method,
    /// The fields of the head that came last.
    pub fields: String,
}

impl Browser {
    pub fn connect(stage: &mut Stage, settings: Settings) -> Self {
        let config = Config { settings, window: 1 << 20, head_bytes: 8192, control_frames: 0, empty_frames: 0 };
        Self {
            connection: Connection::new(Role::Client, config, 0),
            conn: stage.client(),
            heard: Vec::new(),
            method: Method::Get,
            fields: String::new(),
        }
    }

    pub fn new(stage: &mut Stage) -> Self {
        Self::connect(stage, Settings { enable_push: false, ..Settings::default() })
    }

    /// Sends its control frames, and these bytes behind them.
    pub fn says(&mut self, stage: &mut Stage, bytes: &[u8]) {
        let all = [&std::mem::take(self.connection.control())[..], bytes].concat();
        let events = all.chunks(Stage::BLOCK_BYTES).map(|part| stage.data(self.conn, part)).collect();
        stage.batch(events);
        self.hears(stage);
    }

    pub fn asks(&mut self, stage: &mut Stage, method: &str, fields: &[(&str, &str)], is_all: bool) -> u32 {
        self.asks_of(stage, "a", method, fields, is_all)
    }

    /// Asks any host.
    pub fn asks_of(
        &mut self,
        stage: &mut Stage,
        host: &str,
        method: &str,
        fields: &[(&str, &str)],
        is_all: bool,
    ) -> u32 {
        let id = self.connection.open().expect("a stream");
        let mut out = vec![0; 8192];
        let written = self.connection.write_head(&mut out, id, is_all, |room| {
            let mut encoder = Encoder::request(room, Target { scheme: b"http", authority: host.as_bytes() });
            encoder.request(method.as_bytes(), b"/");
            fields.iter().for_each(|(name, value)| encoder.field(name.as_bytes(), [value.as_bytes()]));
            encoder.end()
        });
        let written = written.expect("room");
        self.says(stage, &out[..written]);
        id
    }

    /// Asks another host than usual.
    pub fn asks_host(&mut self, stage: &mut Stage, authority: &str, path: &str) -> u32 {
        let id = self.connection.open().expect("a stream");
        let mut out = vec![0; 1024];
        let written = self.connection.write_head(&mut out, id, true, |room| {
            let mut encoder = Encoder::request(room, Target { scheme: b"http", authority: authority.as_bytes() });
            encoder.request(b"GET", path.as_bytes());
            encoder.end()
        });
        self.says(stage, &out[..written.expect("room")]);
        id
    }

    /// The bytes of a request without fields of its own.
    pub fn request(&mut self, method: &str, is_all: bool) -> (u32, Vec<u8>) {
        let id = self.connection.open().expect("a stream");
        let mut out = vec![0; 1024];
        let written = self.connection.write_head(&mut out, id, is_all, |room| {
            let mut encoder = Encoder::request(room, Target { scheme: b"http", authority: b"a" });
            encoder.request(method.as_bytes(), b"/");
            encoder.end()
        });
        out.truncate(written.expect("room"));
        (id, out)
    }

    /// Content in frames, as far as the windows allow.
    pub fn content(&mut self, id: u32, mut content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        while !content.is_empty() && self.connection.room(id) > 0 {
            let (part, rest) = content.split_at(content.len().min(self.connection.room(id) as usize));
            out.extend_from_slice(&self.connection.data(id, part.len() as u32, false));
            out.extend_from_slice(part);
            content = rest;
        }
        out
    }

    pub fn sends(&mut self, stage: &mut Stage, id: u32, content: &[u8], is_all: bool) {
        let header = self.connection.data(id, content.len() as u32, is_all);
        self.says(stage, &[&header[..], content].concat());
    }

    /// Takes what has come.
    pub fn hears(&mut self, stage: &mut Stage) {
        let piece = stage.sent_bytes(self.conn);
        let mut at = 0;
        loop {
            let told = match self.connection.take(&piece, &mut at, 0).expect("it keeps the standard") {
                Came::More => return,
                Came::Head { stream, is_all } => {
                    let mut table = FieldTable::new();
                    let head = self.connection.response(&piece, self.method, &LIMITS, &mut table).expect("a head");
                    self.fields = lines(&head.fields);
                    let length = head.fields.text_bytes();
                    assert!(length > 0 || head.status < 200);
                    format!("{stream}: {}{}", head.status, if is_all { ", all" } else { "" })
                }
                Came::Trailers { stream } => {
                    let mut table = FieldTable::new();
                    let fields = self.connection.trailers(&piece, &LIMITS, &mut table).expect("trailers");
                    let texts = fields.iter().map(|field| [field.name_text, b" ", field.value].concat());
                    format!("{stream}: {}", String::from_utf8_lossy(&texts.collect::<Vec<_>>().join(&b", "[..])))
                }
                Came::Data { stream, content, is_all } => {
                    self.connection.give_back(stream, content.len() as u32);
                    let text = String::from_utf8_lossy(&piece[content]);
                    format!("{stream}: {text}{}", if is_all { ", all" } else { "" })
                }
                Came::Reset { stream, code } => {
                    self.connection.end(stream, Code::Cancel);
                    format!("{stream}: {code:?}")
                }
                Came::Room { .. } | Came::Priority { .. } => continue,
                Came::GoAway { last, code } => format!("goes away after {last}: {code:?}"),
            };
            self.heard.push(told);
        }
    }

    pub fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }
}

/// Fields as lines of text.
fn lines(fields: &Fields<'_>) -> String {
    let line = |field: Field<'_>| {
        let [name, value] = [field.name_text, field.value].map(String::from_utf8_lossy);
        format!("{name}: {value}\r\n")
    };
    fields.iter().map(line).collect()
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
fn clients_of_http2_and_their_streams_are_counted_beside_others() {
    let mut stage = Stage::new(&http2(plan(1)));
    let counted = |stage: &Stage| {
        let row = stage.proxy.counters().service(0).expect("the service has counters").clone();
        let connections = [row.connections, row.http2_connections, row.open_http2_connections];
        (connections, row.open_streams, [row.requests, row.http2_requests, row.calls])
    };
    let client = stage.client();
    stage.data(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let first = stage.connected();
    browser.asks(&mut stage, "POST", &[("content-type", "application/grpc")], true);
    browser.asks(&mut stage, "GET", &[("connection", "close")], true);
    let why = "servers of HTTP/1.1 get no call, and the third is malformed: their streams are over";
    assert_eq!(counted(&stage), ([2, 1, 1], 1, [2, 2, 1]), "{why}");
    browser.asks(&mut stage, "GET", &[], true);
    assert_eq!(counted(&stage), ([2, 1, 1], 2, [3, 3, 1]));
    stage.says(first, OK);
    assert_eq!(counted(&stage), ([2, 1, 1], 1, [3, 3, 1]));
    stage.gone(browser.conn, Gone::Reset);
    assert_eq!(counted(&stage), ([2, 1, 0], 0, [3, 3, 1]));
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
fn server_that_is_silent_behind_a_body_is_given_up_though_the_end_came_alone() {
    for length in [Some("3"), None] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = Browser::new(&mut stage);
        let fields: Vec<_> = length.map(|length| ("content-length", length)).into_iter().collect();
        let id = browser.asks(&mut stage, "POST", &fields, false);
        let server = stage.connected();
        browser.sends(&mut stage, id, b"abc", false);
        browser.sends(&mut stage, id, b"", true);
        assert_eq!(stage.wait_for_deadline(server).as_secs(), 2, "{length:?}");
        browser.hears(&mut stage);
        assert_eq!(browser.heard()[0], "1: 504", "{length:?}");
    }
}

#[test]
fn trailers_go_both_ways() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "POST", &[("te", "trailers")], false);
    let server = stage.connected();
    stage.sent(server);
    let mut frames = browser.connection.data(id, 3, false).to_vec();
    frames.extend_from_slice(b"abc");
    let mut out = vec![0; 1024];
    let written = browser.connection.write_head(&mut out, id, true, |room| {
        let mut encoder = Encoder::trailers(room);
        encoder.lines(b"X-Sum: 1\r\nHost: b\r\n");
        encoder.end()
    });
    frames.extend_from_slice(&out[..written.expect("room")]);
    browser.says(&mut stage, &frames);
    assert_eq!(stage.sent(server), "3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n");
    let body = "2\r\nok\r\n0\r\nGrpc-Status:0 \r\nSet-Cookie: a=b\r\n\r\n";
    stage.says(server, format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"));
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200", "1: ok", "1: grpc-status 0"]);
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn malformed_requests_reset_their_streams_and_cost_the_peer_its_budget() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    for count in 0..200 {
        browser.asks(&mut stage, "GET", &[("connection", "close")], true);
        let heard = browser.heard();
        if heard[0].starts_with("goes away") {
            return assert_eq!((count > 50, stage.dials()), (true, 0));
        }
        assert!(heard[0].ends_with(": ProtocolError"), "{heard:?}");
    }
    panic!("it may go on");
}

#[test]
fn length_that_is_not_kept_is_refused() {
    for (content, is_all) in [(&b"abcdefg"[..], false), (b"abc", true)] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = Browser::new(&mut stage);
        let id = browser.asks(&mut stage, "POST", &[("content-length", "6")], false);
        let server = stage.connected();
        browser.sends(&mut stage, id, content, is_all);
        assert_eq!(browser.heard(), ["1: ProtocolError"]);
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
    assert_eq!(stage.closed(browser.conn), Some(Close::Linger), "what it still sends must not cost it the response");
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

#[test]
fn upload_goes_on_as_its_server_takes_it() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "POST", &[], false);
    let server = stage.connected();
    stage.sent(server);
    let (mut sent, mut got) = (0, 0);
    for _ in 0..40 {
        let frames = browser.content(id, &[b'u'; 20_000]);
        sent += 20_000.min(frames.len());
        browser.says(&mut stage, &frames);
        while stage.is_paused(browser.conn) {
            stage.batch(vec![Event::Drained { conn: browser.conn }]);
        }
        (0..10).for_each(|_| stage.batch(vec![Event::Drained { conn: server }]));
        got += stage.sent_bytes(server).iter().filter(|byte| **byte == b'u').count();
    }
    assert!(sent > 500_000 && got > 500_000, "{sent} sent, {got} came");
    assert!(stage.blocks_in_use() < 40, "{}", stage.blocks_in_use());
}

#[test]
fn upload_waits_for_its_server_within_its_window() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "POST", &[], false);
    let server = stage.connected();
    stage.tape.stuck = true;
    let frames = browser.content(id, &vec![b'u'; 100_000]);
    for part in frames.chunks(4096) {
        stage.says(browser.conn, part);
    }
    browser.hears(&mut stage);
    assert_eq!(browser.content(id, b"more"), b"", "the window is used up");
    assert_eq!(browser.asks(&mut stage, "GET", &[], true), 3, "others go on");
    stage.tape.stuck = false;
    stage.batch(vec![]);
    for _ in 0..200 {
        stage.batch(vec![Event::Drained { conn: server }]);
    }
    browser.hears(&mut stage);
    assert_ne!(browser.content(id, b"more"), b"");
}

#[test]
fn connection_that_takes_nothing_stops_the_servers_and_goes_on() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.tape.stuck = true;
    stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{}", "x".repeat(3000)));
    stage.says(server, "x".repeat(3000));
    assert!(stage.is_paused(server));
    stage.tape.stuck = false;
    stage.batch(vec![]);
    let mut content = 0;
    for _ in 0..20 {
        stage.batch(vec![Event::Drained { conn: browser.conn }]);
        browser.hears(&mut stage);
        content += browser.heard().iter().map(|told| told.matches('x').count()).sum::<usize>();
    }
    assert_eq!(content, 6000);
    assert!(!stage.is_paused(server));
}

#[test]
fn answer_that_its_client_never_takes_is_given_up() {
    let mut stage = Stage::new(&http2(plan(1)));
    let settings = Settings { enable_push: false, initial_window: 0, ..Settings::default() };
    let mut browser = Browser::connect(&mut stage, settings);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.says(server, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200"]);
    let mut waited = std::time::Duration::ZERO;
    while browser.heard.is_empty() {
        waited += stage.wait_for_deadline(browser.conn);
        browser.hears(&mut stage);
    }
    assert_eq!(browser.heard(), ["1: Cancel"]);
    assert_eq!((waited.as_secs(), stage.failures(Cause::ClientStalled)), (60, 1));
    assert_eq!(stage.wait_for_deadline(browser.conn).as_secs(), 5);
    assert_eq!(stage.closed(browser.conn), Some(Close::Linger));
}

#[test]
fn what_comes_behind_an_answer_in_one_batch_is_dropped() {
    let mut redirecting = http2(plan(1));
    redirecting.virtual_services[0].http.as_mut().expect("speaks HTTP").http_to_https = true;
    let mut stage = Stage::new(&redirecting);
    let mut browser = Browser::new(&mut stage);
    let (id, mut bytes) = browser.request("POST", false);
    bytes.extend(browser.content(id, b"a body that nobody reads"));
    bytes.extend([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8].repeat(2)); // resets of the stream
    browser.says(&mut stage, &bytes);
    assert_eq!(browser.heard(), [] as [&str; 0], "the client has reset the stream");
    let (_, bytes) = browser.request("POST", false);
    browser.says(&mut stage, &bytes);
    assert_eq!(browser.heard(), ["3: 308, all", "3: NoError"]);
    assert_eq!(stage.closed(browser.conn), None);
}

#[test]
fn answer_that_is_ready_is_sent_before_the_end() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    let answer = stage.data(server, OK);
    stage.batch(vec![answer, Event::Eof { conn: browser.conn }]);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
    assert_eq!(stage.closed(browser.conn), Some(Close::Flush));
}

#[test]
fn listener_that_goes_takes_its_connections_along() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut idle = Browser::new(&mut stage);
    let mut busy = Browser::new(&mut stage);
    idle.says(&mut stage, b"");
    busy.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.replace(&plan(1));
    stage.batch(vec![]);
    idle.hears(&mut stage);
    assert_eq!(
        (idle.heard(), stage.closed(idle.conn)),
        (vec!["goes away after 0: NoError".into()], Some(Close::Linger))
    );
    // Under way before the client could know: no server sees it.
    busy.asks(&mut stage, "GET", &[], true);
    assert_eq!(busy.heard(), ["3: RefusedStream", "goes away after 2147483647: NoError"]);
    stage.says(server, OK);
    busy.says(&mut stage, b"");
    assert_eq!(busy.heard(), ["1: 200", "1: ok, all", "goes away after 3: NoError"]);
    assert_eq!(stage.closed(busy.conn), Some(Close::Linger));
    assert!(stage.proxy.is_idle() || stage.dials() == 1);
}

#[test]
fn connection_without_leave_speaks_http1() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, &weir_wire::http2::PREFACE[..]);
    assert_eq!(crate::status(&stage.sent(client)), "505");
}

#[test]
fn preface_may_come_in_any_pieces() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let (_, request) = browser.request("GET", true);
    let all = [&std::mem::take(browser.connection.control())[..], &request].concat();
    for byte in all {
        stage.says(browser.conn, [byte]);
    }
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET / HTTP/1.1\r\n"));
}

#[test]
fn head_that_never_ends_holds_no_place() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let (_, bytes) = browser.request("GET", true);
    let mut unended = bytes.clone();
    unended[4] &= !0x4;
    browser.says(&mut stage, &unended);
    while stage.closed(browser.conn).is_none() {
        assert_eq!(stage.wait_for_deadline(browser.conn).as_secs(), 3, "the time for a head");
    }
}

#[test]
fn many_small_frames_hold_few_blocks() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "POST", &[], false);
    for _ in 0..1000 {
        browser.sends(&mut stage, id, b"a", false);
    }
    assert!(stage.blocks_in_use() < 5, "{}", stage.blocks_in_use());
}

#[test]
fn stream_that_is_reset_in_the_batch_that_opens_it_reaches_no_server() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.says(&mut stage, b"");
    let (id, mut bytes) = browser.request("GET", true);
    browser.connection.end(id, Code::Cancel);
    bytes.append(browser.connection.control());
    browser.says(&mut stage, &bytes);
    assert_eq!((stage.dials(), stage.failures(Cause::ClientAborted)), (0, 1));
}

#[test]
fn urgent_responses_go_first_and_others_take_turns() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    let mut events = Vec::new();
    for priority in ["u=5", "u=3", "u=3, i", "u=3, i"] {
        browser.asks(&mut stage, "GET", &[("priority", priority)], true);
        let server = stage.connected();
        events.push(stage.data(server, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"));
        events.extend([stage.data(server, b"a"), stage.data(server, b"b")]);
    }
    stage.batch(events);
    browser.hears(&mut stage);
    let heard = browser.heard();
    let order: String = heard.iter().map(|told| &told[..1]).collect();
    assert_eq!(order, "333575757111", "{heard:?}");
}

#[test]
fn streams_are_of_the_client_that_the_proxy_header_names() {
    let mut plan = http2(plan(1));
    let service = &mut plan.virtual_services[0];
    let http = service.http.as_mut().expect("speaks HTTP");
    (http.xff, http.xff_name) = (true, "X-Forwarded-For".into());
    service.tcp.as_mut().expect("speaks TCP").proxy_protocol_sources = vec!["10.2.0.0/16".into()];
    let mut stage = Stage::new(&plan);
    let mut browser = Browser::new(&mut stage);
    stage.says(browser.conn, "PROXY TCP4 192.0.2.7 203.0.113.1 5000 443\r\n");
    for _ in 0..2 {
        browser.asks(&mut stage, "GET", &[], true);
        let server = stage.connected();
        let request = stage.sent(server);
        assert!(request.contains("X-Forwarded-For: 192.0.2.7\r\n"), "{request}");
    }
}

#[test]
fn stream_gets_the_first_response_that_may_pass() {
    let mut plan = http2(plan(2));
    let statuses = vec![api::StatusRange { first: 503, last: 503 }];
    plan.pools[0].reselect = Some(api::Reselect { statuses, max_retries: 4, ..Default::default() });
    let mut stage = Stage::new(&plan);
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "PUT", &[], false);
    let first = stage.connected();
    browser.sends(&mut stage, id, b"abc", true);
    stage.says(first, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy");
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), [""; 0]);
    let second = stage.connected();
    assert!(stage.sent(second).ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
    stage.says(second, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
}

#[test]
fn page_for_head_has_no_content_and_says_how_much_there_would_be() {
    let long = "x".repeat(5000);
    let mut closed = plan(1);
    closed.pools[0].servers.clear();
    for (plan, fields, status) in [(&closed, &[][..], "503"), (&plan(1), &[("x-long", long.as_str())], "431")] {
        let mut lengths = Vec::new();
        for method in ["GET", "HEAD"] {
            let mut stage = Stage::new(&http2(plan.clone()));
            let mut browser = Browser::new(&mut stage);
            browser.method = Method::of(method.as_bytes());
            browser.asks(&mut stage, method, fields, true);
            let heard = browser.heard();
            lengths.push(browser.fields.lines().find(|line| line.starts_with("content-length")).map(str::to_owned));
            match method {
                "GET" => assert!(heard[0] == format!("1: {status}") && heard[1].ends_with("</h1>\n, all"), "{heard:?}"),
                _ => assert_eq!(heard, [format!("1: {status}, all")]),
            }
        }
        assert!(lengths[0].is_some() && lengths[0] == lengths[1], "{lengths:?}");
    }
}

#[test]
fn panic_amid_the_frames_of_one_connection_keeps_no_other_from_its_answers() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browsers = [(); 3].map(|()| Browser::new(&mut stage));
    let servers = browsers.each_mut().map(|browser| {
        browser.asks(&mut stage, "GET", &[], true);
        stage.connected()
    });
    stage.tape.panics_at = Some(browsers[1].conn);
    let answers = servers.iter().map(|server| stage.data(*server, OK)).collect();
    stage.contained(answers);
    for browser in [0, 2] {
        let browser = &mut browsers[browser];
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
        assert_eq!(browser.asks(&mut stage, "GET", &[], true), 3);
        let server = stage.connected();
        stage.says(server, OK);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["3: 200", "3: ok, all"]);
    }
}

#[test]
fn response_to_head_ends_with_its_fields_and_those_of_the_connection_stay_behind() {
    for (answer, fields) in [
        ("200 OK\r\nContent-Length: 5\r\nConnection: X-Own, keep-alive\r\nX-Own: 1\r\n", "content-length: 5\r\n"),
        ("200 OK\r\nTransfer-Encoding: chunked\r\nKeep-Alive: 5\r\nX-Kept: \t1 \r\n", "x-kept: 1\r\n"),
        ("304 Not Modified\r\nContent-Length: 5\r\nProxy-Connection: close\r\n", "content-length: 5\r\n"),
    ] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = Browser::new(&mut stage);
        browser.method = Method::Head;
        browser.asks(&mut stage, "HEAD", &[], true);
        let server = stage.connected();
        stage.says(server, format!("HTTP/1.1 {answer}\r\n"));
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), [format!("1: {}, all", &answer[..3])]);
        assert_eq!(browser.fields.replace("date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", ""), fields);
    }
}

#[test]
fn windows_end_at_their_limits() {
    let update = |id: u8, more: u32| [&[0, 0, 4, 8, 0, 0, 0, 0, id][..], &more.to_be_bytes()].concat();
    let largest = (1 << 31) - 1 - 65_535;
    let settings = |window: u32| [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4][..], &window.to_be_bytes()].concat();
    for (bytes, told) in [
        (update(1, largest), ""),
        (update(0, largest - (1 << 20) + 65_535), ""),
        (update(1, largest + 1), "1: FlowControlError"),
        ([update(1, 1), settings((1 << 31) - 1)].concat(), "goes away after 1: FlowControlError"),
        (settings(1 << 31), "goes away after 1: FlowControlError"),
        ([update(0, largest), update(0, 1)].concat(), "goes away after 1: FlowControlError"),
    ] {
        let mut stage = Stage::new(&http2(plan(1)));
        let mut browser = Browser::new(&mut stage);
        browser.asks(&mut stage, "GET", &[], true);
        browser.heard();
        stage.says(browser.conn, &bytes);
        browser.hears(&mut stage);
        assert_eq!(browser.heard().concat(), told, "{bytes:?}");
    }
}

#[test]
fn client_that_waits_for_100_gets_one_and_the_interim_responses_of_its_server() {
    for answers in [true, false] {
        let mut plan = http2(plan(1));
        plan.virtual_services[0].http.as_mut().expect("speaks HTTP").respond_with_100_continue = answers;
        let mut stage = Stage::new(&plan);
        let mut browser = Browser::new(&mut stage);
        let id = browser.asks(&mut stage, "PUT", &[("content-length", "2"), ("expect", "100-continue")], false);
        let own = if answers { vec!["1: 100"] } else { vec![] };
        assert_eq!(browser.heard(), own);
        let server = stage.connected();
        assert_eq!(stage.sent(server).contains("expect: 100-continue\r\n"), !answers);
        stage.says(server, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), if answers { vec!["1: 103"] } else { vec!["1: 100", "1: 103"] });
        browser.sends(&mut stage, id, b"ab", true);
        assert_eq!(stage.sent(server), "ab");
        stage.says(server, OK);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
    }
}

#[test]
fn client_that_goes_away_still_gets_its_answers() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.says(browser.conn, [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    stage.says(server, OK);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200", "1: ok, all"]);
}
