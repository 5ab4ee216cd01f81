//! What records say of requests and connections, and why these are significant.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, Analytics, Plan};
use weir_proxy::io::{Conn, Event, Gone};
use weir_telemetry::{
    Cause,
    record::{Packed, Reasons},
};

use crate::{
    GET, OK,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    status,
    tape::{Stage, l4_plan, plan},
    websocket,
};

const PATH: usize = 1;
const QUERY: usize = 2;
const OTHER_METHOD: usize = 7;
const REQUEST_HEADERS: usize = 8;
const RESPONSE_HEADERS: usize = 9;
const CONTENT_TYPE: usize = 13;
const REQUEST: u8 = 1;
const CONNECTION: u8 = 2;
const NO_SERVER: u32 = u32::MAX;
const NO_REASON: Reasons = Reasons::NONE;

/// The plan, whose requests leave records.
pub fn recording(plan: Plan) -> Plan {
    with(plan, Analytics { all_until_unix_s: u64::MAX, ..slow() })
}

fn with(mut plan: Plan, analytics: Analytics) -> Plan {
    plan.virtual_services.iter_mut().for_each(|service| service.analytics = Some(analytics.clone()));
    plan
}

fn slow() -> Analytics {
    Analytics {
        slow_total_ms: 3_900,
        slow_app_ms: 1_500,
        slow_client_rtt_ms: 1_000,
        slow_server_rtt_ms: 500,
        ..Analytics::default()
    }
}

/// The records of one batch, and what waits by class.
pub struct Taken {
    packed: Vec<u8>,
    pub waiting: Vec<(u32, u64)>,
}

impl Taken {
    pub fn records(&self) -> Vec<Packed<'_>> {
        Packed::all(&self.packed).expect("a batch can be read")
    }

    /// The only one.
    pub fn record(&self) -> Packed<'_> {
        let [record] = self.records()[..] else { panic!("{} records", self.records().len()) };
        record
    }
}

impl Stage {
    pub fn records(&mut self) -> Taken {
        let Some(mut batch) = self.proxy.take_records(false) else { return Taken { packed: vec![], waiting: vec![] } };
        let waiting = batch.waiting.iter().map(|waiting| (waiting.class as u32, waiting.count)).collect();
        let packed = std::mem::take(&mut batch.buffer).into_packed();
        self.proxy.return_records(batch);
        Taken { packed, waiting }
    }

    fn sleep(&mut self, ms: u64) {
        self.tape.sleep(Duration::from_millis(ms));
    }

    /// Checks the only record: kind, status, status of the server, cause and reasons.
    #[track_caller]
    fn records_one(&mut self, kind: u8, [status, server_status]: [u16; 2], cause: Option<Cause>, reasons: Reasons) {
        let taken = self.records();
        let record = taken.record();
        let [wait, app, transfer, rtt, total] = record.times();
        assert_eq!(wait + app + transfer + rtt, total);
        let found = (record.kind(), record.status(), record.server_status(), record.cause(), record.reasons());
        let cause = cause.map_or(0, |cause| cause as u16 + 1);
        assert_eq!(found, (kind, status, server_status, cause, reasons.bits()));
        let class = if reasons == NO_REASON { 3 } else { 1 };
        assert_eq!((record.class(), record.weight()), (class, 1));
    }
}

/// A stage whose client has asked.
fn asked(servers: usize, text: &str) -> (Stage, Conn) {
    let mut stage = Stage::new(&recording(plan(servers)));
    let client = stage.client();
    stage.says(client, text);
    (stage, client)
}

/// A stage whose client has been answered.
fn answered(answer: &str) -> Stage {
    let (mut stage, _) = asked(1, GET);
    let server = stage.connected();
    stage.says(server, answer);
    stage
}

#[test]
fn record_shows_request_response_server_and_times() {
    let text = "PURGE /shop/item?id=7 HTTP/1.1\r\nHost: a\r\nUser-Agent: curl/8\r\nReferer: http://b/\r\n\
        X-Forwarded-For: 192.0.2.1\r\nContent-Length: 3\r\n\
        traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\nabc";
    let (mut stage, _) = asked(1, text);
    stage.sleep(3);
    let server = stage.connected();
    stage.sleep(20);
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\n";
    stage.says(server, answer);
    stage.sleep(7);
    stage.says(server, "ok");
    let taken = stage.records();
    let record = taken.record();
    let texts: Vec<_> = (0..6).map(|text| String::from_utf8_lossy(record.text(text))).collect();
    assert_eq!(texts, ["a", "/shop/item", "id=7", "curl/8", "http://b/", "192.0.2.1"]);
    assert_eq!((record.text(OTHER_METHOD), record.text(CONTENT_TYPE)), (&b"PURGE"[..], &b"text/plain"[..]));
    assert_eq!((record.u8(5), record.u8(6), record.u8(7)), (255, 11, 1), "method, version, servers tried");
    assert_eq!(record.client().to_string(), "10.2.0.1:4000");
    assert_eq!(record.request_bytes(), text.len() as u64);
    assert_eq!(record.u64(152), answer.len() as u64 + 2, "bytes of the server");
    assert_eq!(record.times(), [3_000, 17_000, 7_000, 3_000, 30_000]);
    assert_eq!(record.u32(204), 3_000, "the connect");
    assert_eq!((record.u8(208), record.u8(231)), (0x0a, 0x31), "trace and span");
    assert_eq!(record.flags(), 1 << 12 | 1 << 13, "traced, sampled");
    assert_eq!(record.u64(24), 784_111_777_030_000, "its end");
    assert_ne!(record.u16(116), 0, "the port towards the server");
    assert!(record.server() != NO_SERVER && record.sequence() == 1);
}

#[test]
fn each_request_of_a_connection_has_its_record_and_reuse_shows() {
    let (mut stage, client) = asked(1, GET);
    let server = stage.connected();
    stage.says(server, OK);
    stage.says(client, GET);
    stage.says(server, OK);
    let taken = stage.records();
    assert_eq!(
        taken.records().iter().map(|record| (record.flags(), record.sequence())).collect::<Vec<_>>(),
        [(0, 1), (1 << 8, 2)]
    );
    assert!(stage.records().packed.is_empty(), "they are handed over once");
}

#[test]
fn nothing_is_recorded_without_a_policy_or_a_reason() {
    for plan in [plan(1), with(plan(1), slow())] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        stage.says(server, OK);
        assert!(stage.records().packed.is_empty());
    }
}

#[test]
fn records_end_when_their_time_is_over() {
    // The tape begins at 784111777.
    let analytics = Analytics { all_until_unix_s: 784_111_779, ..slow() };
    let mut stage = Stage::new(&with(plan(1), analytics));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(stage.records().records().len(), 1);
    stage.sleep(2_000);
    stage.says(client, GET);
    stage.says(server, OK);
    assert_eq!(stage.records().records().len(), 0);
}

#[test]
fn errors_of_servers_are_significant() {
    let of = |status| format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n");
    answered(OK).records_one(REQUEST, [200, 200], None, NO_REASON);
    answered(&of(404)).records_one(REQUEST, [404, 404], None, Reasons::STATUS_4XX);
    answered(&of(500)).records_one(REQUEST, [500, 500], None, Reasons::STATUS_5XX);
    let reasons = Reasons::STATUS_5XX | Reasons::SERVER_BAD_RESPONSE;
    answered("nonsense\r\n\r\n").records_one(REQUEST, [502, 0], Some(Cause::ServerBadResponse), reasons);
}

#[test]
fn slow_requests_are_significant() {
    let (mut stage, _) = asked(1, GET);
    stage.sleep(600);
    let server = stage.connected();
    stage.sleep(1_900);
    stage.says(server, &OK[..OK.len() - 1]);
    stage.records_one_is_absent();
    stage.sleep(1_500);
    stage.says(server, "k");
    stage.records_one(REQUEST, [200, 200], None, Reasons::SLOW_TOTAL | Reasons::SLOW_SERVER_RTT);
    let (mut stage, client) = asked(1, GET);
    let server = stage.connected();
    stage.sleep(1_600);
    stage.says(server, OK);
    stage.records_one(REQUEST, [200, 200], None, Reasons::SLOW_APP);
    // The driver is asked about one of eight records, and not about a plain connection's first.
    stage.tape.round_trip = Some(Duration::from_millis(1_001));
    for _ in 0..8 {
        stage.says(client, GET);
        stage.says(server, OK);
    }
    let taken = stage.records();
    let rtts: Vec<_> = taken.records().iter().map(|record| (record.u32(192), record.reasons())).collect();
    let slow = (1_001_000, Reasons::SLOW_CLIENT_RTT.bits());
    assert!(rtts.contains(&slow), "{rtts:?}");
}

impl Stage {
    #[track_caller]
    fn records_one_is_absent(&mut self) {
        assert!(self.records().packed.is_empty(), "it is not over");
    }
}

#[test]
fn client_that_leaves_or_is_too_slow_is_significant() {
    let (mut stage, client) = asked(1, GET);
    let server = stage.connected();
    stage.gone(client, Gone::Reset);
    assert!(stage.closed(server).is_some());
    stage.records_one(REQUEST, [0, 0], Some(Cause::ClientAborted), Reasons::CLIENT_ABORTED);
    let (mut stage, client) = asked(1, "GET / HT");
    stage.wait_for_deadline(client);
    stage.batch(vec![Event::Deadline { conn: client }]);
    assert_eq!(status(&stage.sent(client)), "408");
    let reasons = Reasons::STATUS_4XX | Reasons::CLIENT_TIMED_OUT;
    stage.records_one(REQUEST, [408, 0], Some(Cause::ClientHeadTimeout), reasons);
}

#[test]
fn client_that_asks_nothing_valid_is_significant() {
    let (mut stage, client) = asked(1, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n");
    assert_eq!(status(&stage.sent(client)), "400");
    let reasons = Reasons::STATUS_4XX | Reasons::CLIENT_BAD_REQUEST;
    stage.records_one(REQUEST, [400, 0], Some(Cause::ClientBadRequest), reasons);
}

#[test]
fn client_that_never_asks_leaves_a_record_of_its_connection() {
    let mut plan = recording(plan(1));
    plan.virtual_services[0].http.as_mut().unwrap().post_accept_timeout_ms = 500;
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.wait_for_deadline(client);
    stage.batch(vec![Event::Deadline { conn: client }]);
    let taken = stage.records();
    let (record, reasons) = (taken.record(), Reasons::CLIENT_TIMED_OUT.bits());
    assert_eq!((record.kind(), record.reasons(), record.times()[4]), (CONNECTION, reasons, 500_000));
}

#[test]
fn idle_client_that_is_closed_leaves_no_record() {
    let (mut stage, client) = asked(1, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(stage.records().records().len(), 1);
    stage.wait_for_deadline(client);
    stage.batch(vec![Event::Deadline { conn: client }]);
    assert!(stage.closed(client).is_some());
    assert!(stage.records().packed.is_empty());
}

#[test]
fn client_from_elsewhere_is_significant() {
    let mut plan = recording(plan(1));
    plan.virtual_services[0].tcp =
        Some(api::TcpProfile { proxy_protocol_sources: vec!["10.9.0.0/16".into()], ..Default::default() });
    let mut stage = Stage::new(&plan);
    stage.client();
    stage.records_one(CONNECTION, [0, 0], Some(Cause::ClientSourceUntrusted), Reasons::CLIENT_REFUSED);
    let client = stage.client_from("10.0.0.1:80", "10.9.0.1:4000");
    stage.says(client, ["PROXY TCP4 192.0.2.7 203.0.113.1 5000 443\r\n", GET].concat());
    let server = stage.connected();
    stage.says(server, OK);
    let taken = stage.records();
    let record = taken.record();
    assert_eq!(record.client().to_string(), "192.0.2.7:5000");
    assert_eq!([record.u32(72), record.u32(76)].map(u32::to_le_bytes), [[0, 0, 0xff, 0xff], [10, 9, 0, 1]]);
}

#[test]
fn server_that_cannot_be_reached_is_significant() {
    for (why, status, cause, reason) in [
        (Gone::Refused, 502, Cause::ServerRefused, Reasons::SERVER_REFUSED),
        (Gone::Unreachable, 502, Cause::ServerUnreachable, Reasons::SERVER_REFUSED),
        (Gone::Local, 503, Cause::LocalResources, Reasons::ENGINE_RESOURCES),
    ] {
        let (mut stage, _) = asked(1, GET);
        let server = stage.dialled();
        stage.gone(server, why);
        let taken = stage.records();
        assert_ne!(taken.record().server(), NO_SERVER, "it says which");
        let reasons = Reasons::STATUS_5XX | reason;
        assert_eq!((taken.record().status(), taken.record().reasons()), (status, reasons.bits()));
        assert_eq!(taken.record().cause(), cause as u16 + 1);
    }
    let (mut stage, _) = asked(1, GET);
    let server = stage.dialled();
    stage.wait_for_deadline(server);
    stage.batch(vec![Event::Deadline { conn: server }]);
    let reasons = Reasons::STATUS_5XX | Reasons::SERVER_CONNECT_TIMEOUT;
    stage.records_one(REQUEST, [504, 0], Some(Cause::ServerConnectTimeout), reasons);
}

#[test]
fn server_that_breaks_off_or_is_silent_is_significant() {
    let (mut stage, _) = asked(1, GET);
    let server = stage.connected();
    stage.gone(server, Gone::Reset);
    let reasons = Reasons::STATUS_5XX | Reasons::SERVER_RESET;
    stage.records_one(REQUEST, [502, 0], Some(Cause::ServerReset), reasons);
    let (mut stage, _) = asked(1, GET);
    let server = stage.connected();
    stage.wait_for_deadline(server);
    stage.batch(vec![Event::Deadline { conn: server }]);
    let reasons = Reasons::STATUS_5XX | Reasons::SERVER_RESPONSE_TIMEOUT | Reasons::SLOW_APP;
    stage.records_one(REQUEST, [504, 0], Some(Cause::ServerResponseTimeout), reasons);
    let (mut stage, client) = asked(1, GET);
    let server = stage.connected();
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart");
    stage.gone(server, Gone::Reset);
    assert!(stage.closed(client).is_some());
    stage.records_one(REQUEST, [200, 200], Some(Cause::ServerReset), Reasons::SERVER_RESET);
}

#[test]
fn request_without_a_server_or_a_pool_is_significant() {
    let mut monitored = recording(plan(1));
    monitored.pools[0].monitored = true;
    let mut stage = Stage::new(&monitored);
    for up in [true, false] {
        stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", up);
    }
    let client = stage.client();
    stage.says(client, GET);
    let reasons = Reasons::STATUS_5XX | Reasons::NO_SERVER;
    stage.records_one(REQUEST, [503, 0], Some(Cause::NoServer), reasons);
    let mut plan = recording(plan(1));
    plan.virtual_services[0].pool_uuid.clear();
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, GET);
    stage.records_one(REQUEST, [503, 0], Some(Cause::NoPool), Reasons::STATUS_5XX | Reasons::NO_POOL);
}

#[test]
fn request_that_two_servers_were_tried_for_is_significant() {
    let (mut stage, _) = asked(2, GET);
    let first = stage.dialled();
    stage.gone(first, Gone::Refused);
    let second = stage.connected();
    stage.says(second, OK);
    stage.records_one(REQUEST, [200, 200], None, Reasons::RETRIED);
}

#[test]
fn what_exceeds_the_rate_waits_for_the_next_record() {
    let analytics = Analytics { all_until_unix_s: u64::MAX, all_per_s: 2, ..slow() };
    let mut stage = Stage::new(&with(plan(1), analytics));
    let client = stage.client();
    let server = (stage.says(client, GET), stage.connected()).1;
    stage.says(server, OK);
    for _ in 0..9 {
        stage.says(client, GET);
        stage.says(server, OK);
    }
    let taken = stage.records();
    assert_eq!(taken.records().iter().map(Packed::weight).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(taken.waiting, [(3, 8)]);
    assert!(stage.records().waiting.is_empty(), "nothing is new");
    stage.sleep(600);
    stage.says(client, GET);
    stage.says(server, OK);
    let taken = stage.records();
    assert_eq!((taken.record().weight(), taken.waiting), (9, vec![(3, 0)]));
}

#[test]
fn what_waits_outlives_its_policy() {
    let analytics = Analytics { all_until_unix_s: u64::MAX, all_per_s: 1, ..slow() };
    let mut stage = Stage::new(&with(plan(1), analytics));
    let client = stage.client();
    let server = (stage.says(client, GET), stage.connected()).1;
    for _ in 0..3 {
        stage.says(server, OK);
        stage.says(client, GET);
    }
    let mut next = plan(1);
    next.revision += 1;
    stage.replace(&next);
    stage.says(server, OK);
    let taken = stage.records();
    assert_eq!((taken.record().weight(), taken.waiting), (1, vec![(3, 3)]));
}

#[test]
fn first_class_that_holds_counts() {
    let filter = |uri: &str, subnet: &str| api::RecordFilter {
        client_subnets: vec![subnet.into()],
        uri: Some(api::TextMatch {
            criterion: api::TextCriterion::Contains as i32,
            values: vec![uri.into()],
            ..Default::default()
        }),
        until_unix_s: u64::MAX,
        ..Default::default()
    };
    let filters = vec![filter("one", "10.0.0.0/8"), filter("q=two", "10.2.0.0/16"), filter("one", "192.0.2.0/24")];
    let mut stage = Stage::new(&with(plan(1), Analytics { filters, ..slow() }));
    let client = stage.client();
    let mut server = None;
    for (target, status, class, bits) in
        [("/one?q=two", 200, 2, 0b11), ("/one", 200, 2, 0b01), ("/one", 404, 1, 0b01), ("/?q=two", 200, 2, 0b10)]
    {
        stage.says(client, format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let server = *server.get_or_insert_with(|| stage.connected());
        stage.says(server, format!("HTTP/1.1 {status} OK\r\nContent-Length: 0\r\n\r\n"));
        let taken = stage.records();
        assert_eq!((taken.record().class(), taken.record().u16(124)), (class, bits), "{target} {status}");
    }
    stage.says(client, GET);
    stage.says(server.unwrap(), OK);
    assert!(stage.records().packed.is_empty(), "no filter holds");
}

#[test]
fn header_fields_show_without_secrets() {
    let name = |value: &str| {
        Some(api::TextMatch {
            criterion: api::TextCriterion::Equals as i32,
            values: vec![value.into()],
            ..Default::default()
        })
    };
    let analytics = Analytics {
        all_until_unix_s: u64::MAX,
        all_headers: true,
        header_masks: vec![
            api::Mask { name: name("X-Key"), remove: false },
            api::Mask { name: name("X-Gone"), remove: true },
        ],
        query_masks: vec![
            api::Mask { name: name("token"), remove: false },
            api::Mask { name: name("pin"), remove: true },
        ],
        ..slow()
    };
    let mut stage = Stage::new(&with(plan(1), analytics));
    let client = stage.client();
    stage.says(
        client,
        "GET /?a=1&token=secret&pin=secret&b HTTP/1.1\r\nHost: a\r\nAuthorization: secret\r\nCOOKIE: secret\r\n\
         x-key: secret\r\nx-gone: secret\r\nReferer: http://b/?token=secret\r\nProxy-Authorization: secret\r\n\
         Accept: */*\r\n\r\n",
    );
    let server = stage.connected();
    let location = "Location: /?pin=secret&c=2\r\n";
    stage.says(
        server,
        format!("HTTP/1.1 302 Found\r\nSet-Cookie: secret\r\n{location}Content-Length: 0\r\nX-Gone: secret\r\n\r\n"),
    );
    let taken = stage.records();
    let record = taken.record();
    let text = |text| String::from_utf8_lossy(record.text(text)).into_owned();
    assert_eq!((text(PATH), text(QUERY)), ("/".into(), "a=1&token=***&b".into()));
    assert_eq!(
        text(REQUEST_HEADERS),
        "Host: a\r\nAuthorization: ***\r\nCOOKIE: ***\r\nx-key: ***\r\nReferer: http://b/?token=***\r\n\
         Proxy-Authorization: ***\r\nAccept: */*\r\n"
    );
    assert_eq!(text(RESPONSE_HEADERS), "Set-Cookie: ***\r\nLocation: /?c=2\r\nContent-Length: 0\r\n");
    assert!(!taken.packed.windows(6).any(|part| part == b"secret"));
}

/// The texts that header fields have of their own in a record hide what the header fields hide.
#[test]
fn texts_of_header_fields_show_without_secrets() {
    let mask = |criterion: api::TextCriterion, value: &str, remove| api::Mask {
        name: Some(api::TextMatch { criterion: criterion as i32, values: vec![value.into()], ..Default::default() }),
        remove,
    };
    let texts = |header_masks: Vec<api::Mask>| {
        let mut stage = Stage::new(&with(plan(1), Analytics { all_until_unix_s: u64::MAX, header_masks, ..slow() }));
        let client = stage.client();
        stage.says(
            client,
            "GET / HTTP/1.1\r\nhost: secret\r\nUSER-AGENT: secret\r\nReferer: secret\r\nX-Forwarded-For: secret\r\n\
             traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n",
        );
        let server = stage.connected();
        stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: secret\r\n\r\n");
        let taken = stage.records();
        let record = taken.record();
        let texts = [0, 3, 4, 5, CONTENT_TYPE].map(|text| String::from_utf8_lossy(record.text(text)).into_owned());
        (texts, record.flags() & 1 << 12 != 0)
    };
    use api::TextCriterion::{BeginsWith, Equals};
    assert_eq!(texts(vec![]), (["secret"; 5].map(String::from), true));
    let some = vec![mask(Equals, "User-Agent", false), mask(Equals, "content-type", true), mask(Equals, "Host", true)];
    assert_eq!(texts(some), (["", "***", "secret", "secret", ""].map(String::from), true));
    let others = vec![mask(Equals, "x-forwarded-for", false), mask(Equals, "REFERER", false)];
    assert_eq!(texts(others), (["secret", "secret", "***", "***", "secret"].map(String::from), true));
    assert_eq!(texts(vec![mask(BeginsWith, "", false)]), (["***"; 5].map(String::from), false));
    assert_eq!(texts(vec![mask(BeginsWith, "", true)]), ([""; 5].map(String::from), false));
}

#[test]
fn header_fields_that_are_too_long_are_cut_at_a_line() {
    let mut stage = Stage::new(&with(plan(1), Analytics { all_until_unix_s: u64::MAX, all_headers: true, ..slow() }));
    let client = stage.client();
    let lines: String = (10..17).map(|n| format!("X-{n}: {}\r\n", "x".repeat(550))).collect();
    stage.says(client, format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n"));
    let server = stage.connected();
    let lines: String = (10..40).map(|n| format!("X-{n}: {}\r\n", "x".repeat(550))).collect();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{lines}\r\n");
    head.as_bytes().chunks(4_000).for_each(|piece| stage.says(server, piece));
    let taken = stage.records();
    let record = taken.record();
    assert_eq!(record.flags() & 1 << 6, 1 << 6);
    assert_eq!(record.text(REQUEST_HEADERS).len(), 9 + 7 * 558);
    assert_eq!(record.text(RESPONSE_HEADERS).len(), 19 + 14 * 558);
}

#[test]
fn streams_leave_records_and_those_that_are_reset_too() {
    let mut stage = Stage::new(&to_http2(http2(recording(plan(1)))));
    let mut browser = Browser::new(&mut stage);
    let answered = browser.asks(&mut stage, "GET", &[], true);
    let mut origin = Origin::accept(&mut stage, weir_wire::http2::Settings::default());
    origin.answers(&mut stage, 1, "ok");
    browser.asks(&mut stage, "GET", &[], true);
    stage.gone(browser.conn, Gone::Reset);
    assert_eq!(answered, 1);
    let taken = stage.records();
    let seen: Vec<_> = taken.records().iter().map(|record| (record.u8(6), record.status(), record.cause())).collect();
    assert_eq!(seen, [(20, 200, 0), (20, 0, Cause::ClientAborted as u16 + 1)]);
}

#[test]
fn websocket_leaves_its_record_at_its_end() {
    let mut stage = Stage::new(&websocket::with_websockets(recording(plan(1))));
    let client = stage.client();
    stage.says(client, websocket::ASKS);
    let server = stage.connected();
    stage.says(server, websocket::SWITCHES);
    let head_bytes = stage.sent(client).len() as u64;
    stage.says(client, "question");
    stage.says(server, "answer");
    stage.records_one_is_absent();
    stage.sleep(5_000);
    stage.batch(vec![Event::Eof { conn: client }, Event::Eof { conn: server }]);
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.kind(), record.status(), record.flags()), (REQUEST, 101, 1 << 15 | 1 << 17));
    assert_eq!(record.request_bytes(), websocket::ASKS.len() as u64 + 8);
    assert_eq!((record.response_bytes(), record.times()[4]), (head_bytes + 6, 5_000_000));
    assert_eq!((record.class(), record.reasons()), (3, 0), "it is not slow, it is long");
}

#[test]
fn tunnel_leaves_a_record_of_its_connection() {
    let mut stage = Stage::new(&recording(l4_plan(1)));
    let client = stage.client();
    stage.sleep(3);
    let server = stage.connected();
    stage.sleep(20);
    stage.says(server, "220 ready");
    stage.sleep(7);
    stage.says(client, "QUIT");
    stage.batch(vec![Event::Eof { conn: client }, Event::Eof { conn: server }]);
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.kind(), record.status(), record.flags()), (CONNECTION, 0, 1 << 17));
    assert_eq!((record.request_bytes(), record.response_bytes()), (4, 9));
    assert_eq!(record.times(), [3_000, 17_000, 7_000, 3_000, 30_000]);
    assert_ne!(record.server(), NO_SERVER);
    let mut stage = Stage::new(&recording(l4_plan(1)));
    stage.client();
    let server = stage.dialled();
    stage.gone(server, Gone::Refused);
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.cause(), record.reasons()), (Cause::ServerRefused as u16 + 1, Reasons::SERVER_REFUSED.bits()));
    assert_eq!((record.kind(), record.u8(7)), (CONNECTION, 1), "servers tried");
    assert_ne!(record.server(), NO_SERVER, "it says which");
}

#[test]
fn stream_whose_server_cannot_be_reached_says_which() {
    let mut stage = Stage::new(&to_http2(recording(plan(1))));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.dialled();
    stage.gone(server, Gone::Refused);
    let taken = stage.records();
    assert_eq!((taken.record().status(), taken.record().cause()), (502, Cause::ServerRefused as u16 + 1));
    assert_ne!(taken.record().server(), NO_SERVER);
}

#[test]
fn stream_to_a_new_connection_says_how_long_the_connect_took() {
    let mut stage = Stage::new(&to_http2(recording(plan(1))));
    let client = stage.client();
    stage.says(client, GET);
    stage.sleep(3);
    let mut origin = Origin::accept(&mut stage, weir_wire::http2::Settings::default());
    origin.answers(&mut stage, 1, "ok");
    let taken = stage.records();
    assert_eq!((taken.record().status(), taken.record().u32(204)), (200, 3_000));
}

/// The first server has answered, the second has not.
#[test]
fn record_after_a_reselect_shows_one_server() {
    let mut plan = with(plan(2), Analytics { all_headers: true, ..slow() });
    let statuses = vec![api::StatusRange { first: 503, last: 503 }];
    plan.pools[0].reselect = Some(api::Reselect { statuses, max_retries: 1, ..Default::default() });
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, GET);
    let first = stage.connected();
    stage.says(first, "HTTP/1.1 503 No\r\nContent-Type: text/first\r\nX-First: 1\r\nContent-Length: 0\r\n\r\n");
    let second = stage.connected();
    stage.gone(second, Gone::Reset);
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.status(), record.server_status(), record.u8(7)), (502, 0, 2));
    assert_eq!((record.text(CONTENT_TYPE), record.text(RESPONSE_HEADERS)), (&b""[..], &b""[..]));
    assert_eq!(record.u64(152), 0, "bytes of the server");
}

#[test]
fn evicted_clients_say_that_they_are_evicted() {
    let limits = weir_proxy::Limits { clients: 16, ..Default::default() };
    let mut stage = Stage::with(&http2(recording(plan(1))), limits);
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    stage.sleep(60_000);
    let halves: Vec<_> = (1..40)
        .map(|n| {
            let client = stage.client_from("10.0.0.1:80", &format!("10.9.0.{n}:4000"));
            stage.says(client, "GET / HT");
            stage.sleep(1);
            client
        })
        .collect();
    assert!(stage.closed(browser.conn).is_some() && stage.closed(halves[0]).is_some());
    let taken = stage.records();
    let seen: Vec<_> = taken.records().iter().map(|record| (record.kind(), record.u8(6), record.cause())).collect();
    let evicted = Cause::EngineEvicted as u16 + 1;
    assert!(seen.contains(&(REQUEST, 20, evicted)), "the stream: {seen:?}");
    assert!(seen.contains(&(REQUEST, 0, evicted)), "amid its head: {seen:?}");
    assert!(seen.iter().all(|(_, _, cause)| *cause == evicted), "{seen:?}");
}

#[test]
fn tunnel_that_is_long_is_not_significant() {
    let mut stage = Stage::new(&recording(l4_plan(1)));
    let client = stage.client();
    let server = stage.connected();
    stage.sleep(2_000);
    stage.says(server, "220 ready");
    stage.sleep(5_000);
    stage.batch(vec![Event::Eof { conn: client }, Event::Eof { conn: server }]);
    stage.records_one(CONNECTION, [0, 0], None, NO_REASON);
}

/// More requests than there is room for notes.
#[test]
fn requests_without_room_for_notes_wait() {
    let mut stage = Stage::new(&recording(plan(1)));
    let clients: Vec<_> = (0..4_100).map(|_| stage.client()).collect();
    clients.iter().for_each(|client| stage.says(*client, GET));
    clients.iter().for_each(|client| stage.gone(*client, Gone::Reset));
    let taken = stage.records();
    let weights: u64 = taken.records().iter().map(|record| u64::from(record.weight())).sum();
    let waiting: u64 = taken.waiting.iter().map(|(_, count)| count).sum();
    assert!(weights < 4_100 && taken.waiting.iter().all(|(class, _)| *class == 1));
    assert_eq!(weights + waiting, 4_100);
}
