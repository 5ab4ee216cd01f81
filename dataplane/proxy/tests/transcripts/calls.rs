//! Calls of gRPC: what their clients get when Weir answers, how long they may take, and what their servers learn.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, Plan};
use weir_proxy::io::{Event, Gone};
use weir_telemetry::Cause;
use weir_wire::http2::{Code, Settings};

use crate::{
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    records::recording,
    tape::{Stage, plan},
};

pub const CALL: &[(&str, &str)] = &[("content-type", "application/grpc+proto"), ("te", "trailers")];
/// Resets of servers, and the status of gRPC for each.
const RESETS: [(Code, &str); 8] = [
    (Code::NoError, "13"),
    (Code::ProtocolError, "13"),
    (Code::InternalError, "13"),
    (Code::FlowControlError, "13"),
    (Code::RefusedStream, "14"),
    (Code::Cancel, "1"),
    (Code::EnhanceYourCalm, "8"),
    (Code::InadequateSecurity, "7"),
];
/// What the head of a server's answer says.
const ANSWER: &[(&str, &str)] = &[("content-type", "application/grpc")];
/// A message of three bytes.
const MESSAGE: &[u8] = b"\0\0\0\0\x03abc";

fn calling(plan: &Plan, fields: &[(&str, &str)]) -> (Stage, Browser, u32) {
    let mut stage = Stage::new(&http2(to_http2(plan.clone())));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "POST", &[CALL, fields].concat(), false);
    (stage, browser, id)
}

/// A call that has reached its server, which has not answered.
fn connected(plan: &Plan, fields: &[(&str, &str)]) -> (Stage, Browser, u32, Origin) {
    let (mut stage, browser, id) = calling(plan, fields);
    let origin = Origin::new(&mut stage);
    (stage, browser, id, origin)
}

/// A call whose server has sent the head of its answer.
fn answered(fields: &[(&str, &str)]) -> (Stage, Browser, u32, Origin) {
    let (mut stage, mut browser, id, mut origin) = connected(&plan(1), fields);
    let head = origin.head(1, 200, ANSWER, false);
    origin.says(&mut stage, &head);
    origin.heard();
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200"]);
    (stage, browser, id, origin)
}

/// The server says this much of its answer.
fn says(stage: &mut Stage, browser: &mut Browser, origin: &mut Origin, content: &[u8]) {
    let content = origin.content(1, content, false);
    origin.says(stage, &content);
    browser.hears(stage);
    browser.heard();
}

/// What the browser has heard is one head that ends its stream, with this status of gRPC.
fn assert_answer(browser: &mut Browser, code: &str, message: &str) {
    let (heard, fields) = (browser.heard(), std::mem::take(&mut browser.fields));
    assert_eq!(heard[0], "1: 200, all", "{heard:?}");
    for line in ["content-type: application/grpc\r\n", &format!("grpc-status: {code}\r\n"), "date: "] {
        assert!(fields.contains(line), "{fields}");
    }
    assert!(fields.contains(&format!("grpc-message: {message}\r\n")), "{fields}");
}

/// What the browser hears now are trailers with this status, and that it need say no more.
fn assert_trailers(stage: &mut Stage, browser: &mut Browser, code: &str, message: &str) {
    browser.hears(stage);
    let trailers = format!("1: grpc-status {code}, grpc-message {message}");
    assert_eq!(browser.heard(), [trailers.as_str(), "1: NoError"]);
}

#[test]
fn failures_are_a_status_of_grpc_with_the_cause() {
    let (mut stage, mut browser, _) = calling(&plan(1), &[]);
    let server = stage.dialled();
    stage.gone(server, Gone::Refused);
    browser.hears(&mut stage);
    assert_answer(&mut browser, "14", "server_refused");

    let (_, mut browser, _) = calling(&plan(0), &[]);
    assert_answer(&mut browser, "14", "no_server");

    let (mut stage, mut browser, _, mut origin) = connected(&plan(1), &[]);
    let malformed = origin.head(1, 200, &[("transfer-encoding", "chunked")], false);
    origin.says(&mut stage, &malformed);
    browser.hears(&mut stage);
    assert_answer(&mut browser, "14", "server_bad_response");

    let mut small = plan(1);
    small.virtual_services[0].http.as_mut().expect("speaks HTTP").max_body_bytes = 3;
    let (mut stage, mut browser, id, _) = connected(&small, &[]);
    browser.sends(&mut stage, id, b"large", false);
    assert_answer(&mut browser, "2", "client_body_too_large");

    let (_, mut browser, _) = calling(&small, &[("content-length", "4")]);
    assert_answer(&mut browser, "2", "client_body_too_large");

    let mut redirecting = plan(1);
    redirecting.virtual_services[0].http.as_mut().expect("speaks HTTP").http_to_https = true;
    let (_, mut browser, _) = calling(&redirecting, &[]);
    assert_answer(&mut browser, "2", "HTTP status 308");
}

#[test]
fn other_requests_get_pages() {
    for (method, kind) in [("POST", "application/json"), ("POST", "application/grpc-web"), ("GET", "application/grpc")]
    {
        let mut stage = Stage::new(&http2(plan(0)));
        let mut browser = Browser::new(&mut stage);
        browser.asks(&mut stage, method, &[("content-type", kind)], true);
        assert_eq!(browser.heard()[0], "1: 503");
    }
}

#[test]
fn call_for_servers_of_http1_is_refused() {
    let mut stage = Stage::new(&http2(plan(1)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "POST", CALL, false);
    assert_answer(&mut browser, "12", "no_http2");
    assert_eq!((stage.dials(), stage.failures(Cause::NoHttp2)), (0, 1));
    browser.asks(&mut stage, "POST", &[("content-type", "application/grpc-web"), ("te", "trailers")], true);
    let server = stage.connected();
    assert_eq!(stage.sent(server), "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/grpc-web\r\n\r\n");
}

#[test]
fn server_learns_what_the_client_said_of_trailers_and_time() {
    for (fields, told) in [
        (&[("te", "trailers"), ("grpc-timeout", "1500m")][..], "grpc-timeout: 1500m; te: trailers; "),
        (&[("grpc-timeout", "2S")], "grpc-timeout: 2S; "),
    ] {
        let mut stage = Stage::new(&http2(to_http2(plan(1))));
        Browser::new(&mut stage).asks(&mut stage, "POST", fields, false);
        assert_eq!(Origin::new(&mut stage).heard(), [format!("1: POST / host: a; {told}")]);
    }
}

/// Lets time pass until the browser hears something, for two minutes at most.
pub fn wait(stage: &mut Stage, browser: &mut Browser) -> Duration {
    let mut waited = Duration::ZERO;
    while browser.heard.is_empty() && waited.as_secs() < 120 {
        waited += stage.wait_for_deadline(browser.conn);
        browser.hears(stage);
    }
    waited
}

#[test]
fn call_ends_with_its_deadline() {
    let (mut stage, mut browser, _, mut origin) = connected(&plan(1), &[("grpc-timeout", "1500m")]);
    origin.heard();
    let waited = wait(&mut stage, &mut browser);
    assert!((2..=3).contains(&waited.as_secs()), "{waited:?}");
    assert_answer(&mut browser, "4", "deadline_exceeded");
    origin.hears(&mut stage);
    assert_eq!((origin.heard(), stage.failures(Cause::DeadlineExceeded)), (vec!["1: Cancel".to_owned()], 1));
}

#[test]
fn call_ends_with_its_deadline_amid_its_answer() {
    let (mut stage, mut browser, _, mut origin) = answered(&[("grpc-timeout", "1500m")]);
    says(&mut stage, &mut browser, &mut origin, MESSAGE);
    let waited = wait(&mut stage, &mut browser);
    assert!((2..=3).contains(&waited.as_secs()), "{waited:?}");
    assert_trailers(&mut stage, &mut browser, "4", "deadline_exceeded");
    origin.hears(&mut stage);
    assert_eq!((origin.heard(), stage.failures(Cause::DeadlineExceeded)), (vec!["1: Cancel".to_owned()], 1));
}

/// Weir looks at deadlines once a second, and a server may look sooner.
#[test]
fn call_that_its_server_cancels_after_the_deadline_has_passed_it() {
    for (after, status, message, cause) in
        [(100, "1", "server_reset", Cause::ServerReset), (101, "4", "deadline_exceeded", Cause::DeadlineExceeded)]
    {
        let (mut stage, mut browser, _, mut origin) = connected(&plan(1), &[("grpc-timeout", "100500u")]);
        origin.heard();
        stage.tape.sleep(Duration::from_millis(after));
        origin.resets(&mut stage, 1, Code::Cancel);
        browser.hears(&mut stage);
        assert_answer(&mut browser, status, message);
        assert_eq!(stage.failures(cause), 1, "{after} ms");
    }
}

#[test]
fn call_that_fails_between_two_messages_gets_a_status() {
    for messages in [&[][..], &[MESSAGE], &[&MESSAGE[..6], &MESSAGE[6..], b"\x01\0\0\0\0"]] {
        for (code, status) in RESETS {
            let (mut stage, mut browser, _, mut origin) = answered(&[]);
            messages.iter().for_each(|part| says(&mut stage, &mut browser, &mut origin, part));
            origin.resets(&mut stage, 1, code);
            assert_trailers(&mut stage, &mut browser, status, "server_reset");
            assert_eq!((stage.failures(Cause::ServerReset), stage.closed(origin.conn)), (1, None));
        }
    }
    let (mut stage, mut browser, _, origin) = answered(&[]);
    stage.gone(origin.conn, Gone::Reset);
    assert_trailers(&mut stage, &mut browser, "14", "server_reset");
}

#[test]
fn call_that_fails_within_a_message_is_reset() {
    for part in [&MESSAGE[..1], &MESSAGE[..4], &MESSAGE[..5], &MESSAGE[..7], b"<h1>not a message"] {
        let (mut stage, mut browser, _, mut origin) = answered(&[]);
        says(&mut stage, &mut browser, &mut origin, MESSAGE);
        says(&mut stage, &mut browser, &mut origin, part);
        origin.resets(&mut stage, 1, Code::InternalError);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: InternalError"], "{part:?}");
    }
}

#[test]
fn call_that_is_reset_before_its_answer_has_the_status_of_the_code() {
    for (code, status) in RESETS {
        let (mut stage, mut browser, id, mut origin) = connected(&plan(1), &[]);
        browser.sends(&mut stage, id, MESSAGE, false);
        origin.resets(&mut stage, 1, code);
        if code == Code::RefusedStream {
            // The server gets it once more.
            origin.resets(&mut stage, 3, code);
        }
        browser.hears(&mut stage);
        let cause = if code == Code::RefusedStream { "server_refused" } else { "server_reset" };
        assert_answer(&mut browser, status, cause);
    }
}

#[test]
fn call_that_its_server_wants_by_http1_is_refused() {
    let (mut stage, mut browser, id, mut origin) = connected(&plan(1), &[]);
    browser.sends(&mut stage, id, MESSAGE, true);
    origin.resets(&mut stage, 1, Code::Http11Required);
    browser.hears(&mut stage);
    assert_answer(&mut browser, "12", "no_http2");
    assert_eq!((stage.failures(Cause::NoHttp2), stage.dials()), (1, 1));
}

#[test]
fn reset_within_a_message_has_the_code_that_says_the_same() {
    for (code, _) in RESETS {
        let (mut stage, mut browser, _, mut origin) = answered(&[]);
        says(&mut stage, &mut browser, &mut origin, &MESSAGE[..7]);
        origin.resets(&mut stage, 1, code);
        browser.hears(&mut stage);
        let told = match code {
            Code::Cancel | Code::EnhanceYourCalm | Code::InadequateSecurity => code,
            // Part of a refused call has been answered.
            _ => Code::InternalError,
        };
        assert_eq!(browser.heard(), [format!("1: {told:?}")], "{code:?}");
    }
}

#[test]
fn resets_of_requests_that_are_no_calls_are_all_alike() {
    for (code, _) in RESETS {
        let mut stage = Stage::new(&http2(to_http2(plan(1))));
        let mut browser = Browser::new(&mut stage);
        browser.asks(&mut stage, "POST", &[], true);
        let mut origin = Origin::new(&mut stage);
        let head = origin.head(1, 200, &[], false);
        let content = origin.content(1, b"abc", false);
        origin.says(&mut stage, &[head, content].concat());
        origin.resets(&mut stage, 1, code);
        browser.hears(&mut stage);
        assert_eq!(browser.heard()[2..], ["1: InternalError"], "{code:?}");
    }
}

#[test]
fn call_whose_answer_has_a_length_is_reset() {
    let (mut stage, mut browser, _, mut origin) = connected(&plan(1), &[]);
    let head = origin.head(1, 200, &[ANSWER, &[("content-length", "16")]].concat(), false);
    let content = origin.content(1, MESSAGE, false);
    origin.says(&mut stage, &[head, content].concat());
    browser.hears(&mut stage);
    browser.heard();
    origin.resets(&mut stage, 1, Code::InternalError);
    browser.hears(&mut stage);
    // Trailers behind half of what was announced would be malformed (RFC 9113 §8.1.1).
    assert_eq!(browser.heard(), ["1: InternalError"]);
}

#[test]
fn call_that_moves_in_either_direction_goes_on() {
    let (mut stage, mut browser, id, mut origin) = answered(&[]);
    for _ in 0..5 {
        stage.tape.sleep(Duration::from_millis(1500));
        browser.sends(&mut stage, id, MESSAGE, false);
        stage.batch(vec![Event::Deadline { conn: origin.conn }]);
        stage.tape.sleep(Duration::from_millis(1500));
        says(&mut stage, &mut browser, &mut origin, MESSAGE);
        stage.batch(vec![Event::Deadline { conn: origin.conn }]);
    }
    browser.hears(&mut stage);
    assert_eq!((browser.heard(), stage.failures(Cause::ServerResponseTimeout)), (vec![], 0));
    let mut waited = Duration::ZERO;
    while stage.failures(Cause::ServerResponseTimeout) == 0 && waited.as_secs() < 60 {
        waited += stage.wait_for_deadline(origin.conn);
    }
    assert!((2..=3).contains(&waited.as_secs()), "the server's timeout: {waited:?}");
    assert_trailers(&mut stage, &mut browser, "4", "server_response_timeout");
}

#[test]
fn server_that_does_not_answer_a_call_has_its_timeout() {
    let (mut stage, mut browser, id, origin) = connected(&plan(1), &[]);
    browser.sends(&mut stage, id, MESSAGE, false);
    while browser.heard.is_empty() {
        stage.wait_for_deadline(origin.conn);
        browser.hears(&mut stage);
    }
    assert_answer(&mut browser, "4", "server_response_timeout");
}

#[test]
fn call_reaches_its_server_before_its_messages_are_buffered() {
    let mut gathering = plan(1);
    gathering.virtual_services[0].http.as_mut().expect("speaks HTTP").request_buffer_bytes = 65_536;
    let (mut stage, mut browser, id, mut origin) = connected(&gathering, &[]);
    origin.heard();
    browser.sends(&mut stage, id, b"message", false);
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["1: \"message\""]);
}

/// The status of gRPC in the only record, plus 1.
fn recorded_status(stage: &mut Stage) -> u16 {
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.status(), record.flags() & 1 << 16), (200, 1 << 16), "a call");
    record.u16(134)
}

#[test]
fn record_of_a_call_has_its_status_of_grpc() {
    for (code, want) in [("0", 1), ("13", 14), ("4294967295", u16::MAX), ("none", 0)] {
        for is_only_head in [false, true] {
            let (mut stage, mut browser, id, mut origin) = connected(&recording(plan(1)), &[]);
            browser.sends(&mut stage, id, MESSAGE, true);
            origin.hears(&mut stage);
            origin.heard();
            let status = [("grpc-status", code)];
            let said = match is_only_head {
                true => {
                    let head = origin.head(1, 200, &[ANSWER, &status].concat(), true);
                    origin.connection.end(1, Code::NoError);
                    head
                }
                false => [origin.head(1, 200, ANSWER, false), origin.trailers(1, "grpc-status", code)].concat(),
            };
            origin.says(&mut stage, &said);
            assert_eq!(recorded_status(&mut stage), want, "{code}, {is_only_head}");
        }
    }
}

#[test]
fn record_of_a_call_lacks_a_status_of_grpc_that_a_mask_hides() {
    for (header, want) in [("grpc-status", 0), ("Grpc-Status", 0), ("grpc-message", 14)] {
        for is_only_head in [false, true] {
            let mut plan = recording(plan(1));
            plan.virtual_services[0].analytics.as_mut().expect("a policy").header_masks = vec![api::Mask {
                name: Some(api::TextMatch {
                    criterion: api::TextCriterion::Equals.into(),
                    values: vec![header.into()],
                    ..Default::default()
                }),
                remove: false,
            }];
            let (mut stage, mut browser, id, mut origin) = connected(&plan, &[]);
            browser.sends(&mut stage, id, MESSAGE, true);
            origin.hears(&mut stage);
            let said = match is_only_head {
                true => {
                    let head = origin.head(1, 200, &[ANSWER, &[("grpc-status", "13")]].concat(), true);
                    origin.connection.end(1, Code::NoError);
                    head
                }
                false => [origin.head(1, 200, ANSWER, false), origin.trailers(1, "grpc-status", "13")].concat(),
            };
            origin.says(&mut stage, &said);
            assert_eq!(recorded_status(&mut stage), want, "{header}, {is_only_head}");
        }
    }
}

#[test]
fn record_of_a_call_that_weir_answers_has_its_status_of_grpc() {
    let (mut stage, ..) = calling(&recording(plan(0)), &[]);
    assert_eq!(recorded_status(&mut stage), 15, "UNAVAILABLE");
    let (mut stage, mut browser, id, mut origin) = connected(&recording(plan(1)), &[]);
    browser.sends(&mut stage, id, MESSAGE, true);
    let head = origin.head(1, 200, ANSWER, false);
    origin.says(&mut stage, &head);
    origin.resets(&mut stage, 1, Code::EnhanceYourCalm);
    assert_eq!(recorded_status(&mut stage), 9, "RESOURCE_EXHAUSTED");
}

#[test]
fn answer_may_end_before_the_call_has_said_all() {
    let (mut stage, mut browser, id, mut origin) = answered(&[]);
    browser.sends(&mut stage, id, MESSAGE, false);
    let (content, trailers) = (origin.content(1, MESSAGE, false), origin.trailers(1, "grpc-status", "0"));
    origin.says(&mut stage, &[content, trailers].concat());
    browser.hears(&mut stage);
    assert_eq!(browser.heard()[1..], ["1: grpc-status 0", "1: NoError"]);
    stage.batch(vec![Event::Drained { conn: browser.conn }]);
    assert_eq!(stage.closed(browser.conn), None);
}

#[test]
fn cancelled_call_is_cancelled_at_its_server_and_leaves_its_place() {
    let mut narrow = plan(1);
    narrow.pools[0].servers[0].max_connections = 1;
    for is_answered in [false, true] {
        let (mut stage, mut browser, id) = calling(&narrow, &[]);
        let one = Settings { max_concurrent_streams: Some(1), ..Settings::default() };
        let mut origin = Origin::accept(&mut stage, one);
        if is_answered {
            let head = origin.head(1, 200, ANSWER, false);
            origin.says(&mut stage, &head);
        }
        origin.heard();
        browser.connection.end(id, Code::Cancel);
        browser.says(&mut stage, &[]);
        origin.hears(&mut stage);
        assert_eq!(origin.heard(), ["1: Cancel"]);
        browser.asks(&mut stage, "POST", CALL, false);
        origin.hears(&mut stage);
        assert!(origin.heard()[0].starts_with("3: POST"), "the next call has its place");
        assert_eq!(stage.dials(), 1);
    }
}

#[test]
fn call_goes_to_another_server_only_if_none_has_processed_it() {
    let (mut stage, mut browser, id, mut origin) = connected(&plan(2), &[]);
    browser.sends(&mut stage, id, MESSAGE, false);
    origin.heard();
    origin.resets(&mut stage, 1, Code::RefusedStream);
    let mut next = Origin::new(&mut stage);
    let heard = next.heard();
    assert!(heard[0].ends_with("te: trailers; ") && heard.len() == 2, "the head and the message: {heard:?}");
    next.resets(&mut stage, 1, Code::Cancel);
    browser.hears(&mut stage);
    assert_answer(&mut browser, "1", "server_reset");
    assert_eq!(stage.dials(), 2);
}

#[test]
fn upload_of_a_call_ends_when_its_server_needs_no_more() {
    let mut stage = Stage::new(&http2(to_http2(plan(1))));
    let slow = Settings { enable_push: false, initial_window: 100, ..Settings::default() };
    let mut browser = Browser::connect(&mut stage, slow);
    let id = browser.asks(&mut stage, "POST", CALL, false);
    let mut origin = Origin::new(&mut stage);
    let (head, content) = (origin.head(1, 200, ANSWER, false), origin.content(1, &[0; 3000], false));
    let trailers = origin.trailers(1, "grpc-status", "0");
    origin.says(&mut stage, &[head, content, trailers].concat());
    origin.resets(&mut stage, 1, Code::NoError);
    browser.sends(&mut stage, id, MESSAGE, false);
    // The client has not got all of the answer, and the server gets no more.
    assert!(stage.sent_bytes(origin.conn).is_empty());
    let mut heard = Vec::new();
    for _ in 0..100 {
        // Its window opens again.
        browser.says(&mut stage, &[]);
        heard.append(&mut browser.heard());
    }
    assert_eq!(heard[0], "1: 200");
    assert_eq!(heard[heard.len() - 2..], ["1: grpc-status 0", "1: NoError"]);
    let content: usize = heard[1..heard.len() - 2].iter().map(|text| text.len() - "1: ".len()).sum();
    assert_eq!((content, stage.failures(Cause::ServerReset)), (3000, 0));
}

#[test]
fn client_that_takes_nothing_of_an_answer_is_stalled_while_it_may_say_more() {
    let mut stage = Stage::new(&http2(to_http2(plan(1))));
    let slow = Settings { enable_push: false, initial_window: 100, ..Settings::default() };
    let mut browser = Browser::connect(&mut stage, slow);
    browser.asks(&mut stage, "POST", CALL, false);
    let mut origin = Origin::new(&mut stage);
    let (head, content) = (origin.head(1, 200, ANSWER, false), origin.content(1, &[0; 3000], false));
    origin.says(&mut stage, &[head, content].concat());
    browser.hears(&mut stage);
    assert_eq!(browser.heard().len(), 2, "the head, and as much as its window takes");
    let waited = wait(&mut stage, &mut browser);
    assert_eq!(browser.heard(), ["1: Cancel"]);
    assert!((60..=61).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!([Cause::ClientStalled, Cause::ClientBodyTimeout].map(|cause| stage.failures(cause)), [1, 0]);
}

#[test]
fn call_without_any_message_ends_on_both_sides() {
    for is_apart in [false, true] {
        let (mut stage, mut browser, id, mut origin);
        if is_apart {
            (stage, browser, id, origin) = connected(&plan(1), &[]);
            browser.sends(&mut stage, id, b"", true);
        } else {
            (stage, browser, id) = calling(&plan(1), &[]);
            browser.sends(&mut stage, id, b"", true);
            origin = Origin::new(&mut stage);
        }
        origin.hears(&mut stage);
        let heard = origin.heard();
        // A server of gRPC does not take the end of a call from its head.
        assert!(heard[0].ends_with("te: trailers; ") && heard[1] == "1: \"\", all", "{heard:?}");
        let only_head = origin.head(1, 200, &[ANSWER, &[("grpc-status", "0")]].concat(), true);
        origin.connection.end(1, Code::NoError);
        origin.says(&mut stage, &only_head);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: 200, all"]);
        assert!(browser.fields.contains("grpc-status: 0"));
    }
}
