//! Calls of gRPC: what their clients get when Weir answers, and how long they may take.

use std::time::Duration;

use weir_api::dataplane::v1::Plan;
use weir_proxy::io::{Conn, Event, Gone};
use weir_telemetry::Cause;
use weir_wire::http2::Settings;

use crate::{
    http2::{Browser, http2},
    tape::{Stage, plan},
};

const CALL: &[(&str, &str)] = &[("content-type", "application/grpc+proto"), ("te", "trailers")];

fn calling(plan: &Plan, fields: &[(&str, &str)]) -> (Stage, Browser, u32) {
    let mut stage = Stage::new(&http2(plan.clone()));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "POST", &[CALL, fields].concat(), false);
    (stage, browser, id)
}

fn connected(plan: &Plan, fields: &[(&str, &str)]) -> (Stage, Browser, u32, Conn) {
    let (mut stage, browser, id) = calling(plan, fields);
    let server = stage.connected();
    stage.sent(server);
    (stage, browser, id, server)
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

#[test]
fn failures_are_a_status_of_grpc_with_the_cause() {
    let (mut stage, mut browser, _) = calling(&plan(1), &[]);
    let server = stage.dialled();
    stage.gone(server, Gone::Refused);
    browser.hears(&mut stage);
    assert_answer(&mut browser, "14", "server_refused");

    let (_, mut browser, _) = calling(&plan(0), &[]);
    assert_answer(&mut browser, "14", "no_server");

    let (mut stage, mut browser, _, server) = connected(&plan(1), &[]);
    stage.says(server, "nonsense\r\n\r\n");
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
    for (method, kind) in [("POST", "application/json"), ("GET", "application/grpc")] {
        let mut stage = Stage::new(&http2(plan(0)));
        let mut browser = Browser::new(&mut stage);
        browser.asks(&mut stage, method, &[("content-type", kind)], true);
        assert_eq!(browser.heard()[0], "1: 503");
    }
}

/// Lets time pass until the browser hears something, for a minute at most.
fn wait(stage: &mut Stage, browser: &mut Browser) -> Duration {
    let mut waited = Duration::ZERO;
    while browser.heard.is_empty() && waited.as_secs() < 60 {
        waited += stage.wait_for_deadline(browser.conn);
        browser.hears(stage);
    }
    waited
}

#[test]
fn call_ends_with_its_deadline() {
    let (mut stage, mut browser, _, server) = connected(&plan(1), &[("grpc-timeout", "1500m")]);
    let waited = wait(&mut stage, &mut browser);
    assert!((2..=3).contains(&waited.as_secs()), "{waited:?}");
    assert_answer(&mut browser, "4", "deadline_exceeded");
    assert!(stage.closed(server).is_some());
    assert_eq!(stage.failures(Cause::DeadlineExceeded), 1);
}

#[test]
fn timeout_goes_on_to_the_server() {
    let (mut stage, _, _) = calling(&plan(1), &[("grpc-timeout", "1500m")]);
    let server = stage.connected();
    assert!(stage.sent(server).contains("grpc-timeout: 1500m\r\n"));
}

#[test]
fn call_that_moves_in_either_direction_goes_on() {
    let (mut stage, mut browser, id, server) = connected(&plan(1), &[]);
    stage.says(server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..5 {
        stage.tape.sleep(Duration::from_millis(1500));
        browser.sends(&mut stage, id, b"message", false);
        assert!(!stage.deadline_has_passed(server));
        stage.tape.sleep(Duration::from_millis(1500));
        stage.says(server, "2\r\nok\r\n");
        assert!(!stage.deadline_has_passed(server));
    }
    browser.hears(&mut stage);
    browser.heard();
    let waited = stage.wait_for_deadline(server);
    browser.hears(&mut stage);
    assert_eq!((waited.as_secs(), browser.heard()), (2, vec!["1: InternalError".to_string()]), "the server's timeout");
}

#[test]
fn server_that_does_not_answer_a_call_has_its_timeout() {
    let (mut stage, mut browser, id, server) = connected(&plan(1), &[]);
    browser.sends(&mut stage, id, b"message", false);
    stage.wait_for_deadline(server);
    browser.hears(&mut stage);
    assert_answer(&mut browser, "4", "server_response_timeout");
}

#[test]
fn call_reaches_its_server_before_its_messages_are_buffered() {
    let mut gathering = plan(1);
    gathering.virtual_services[0].http.as_mut().expect("speaks HTTP").request_buffer_bytes = 65_536;
    let (mut stage, mut browser, id, server) = connected(&gathering, &[]);
    browser.sends(&mut stage, id, b"message", false);
    assert_eq!(stage.sent(server), "7\r\nmessage\r\n");
}

#[test]
fn answer_may_end_before_the_call_has_said_all() {
    let (mut stage, mut browser, id, server) = connected(&plan(1), &[]);
    browser.sends(&mut stage, id, b"message", false);
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200", "1: ok, all", "1: NoError"]);
    stage.batch(vec![Event::Drained { conn: browser.conn }]);
    assert_eq!(stage.closed(browser.conn), None);
}

/// A call whose client takes the head of the answer and no content. Its server has more to say than may be queued.
fn unread() -> (Stage, Browser, u32, Conn) {
    let mut stage = Stage::new(&http2(plan(1)));
    let settings = Settings { enable_push: false, initial_window: 0, ..Settings::default() };
    let mut browser = Browser::connect(&mut stage, settings);
    let id = browser.asks(&mut stage, "POST", CALL, false);
    let server = stage.connected();
    stage.says(server, format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n{}", "x".repeat(2000)));
    assert!(stage.is_paused(server));
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), ["1: 200"]);
    (stage, browser, id, server)
}

#[test]
fn client_of_a_call_that_takes_nothing_has_stalled() {
    let (mut stage, mut browser, ..) = unread();
    let waited = wait(&mut stage, &mut browser);
    assert!((60..=61).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!((stage.failures(Cause::ClientStalled), stage.failures(Cause::ClientBodyTimeout)), (1, 0));
}

#[test]
fn slow_client_of_a_call_is_no_slow_server() {
    let (mut stage, mut browser, id, server) = unread();
    for _ in 0..10 {
        browser.sends(&mut stage, id, b"message", false);
        assert!(!stage.has_deadline(server), "nobody reads it");
        stage.wait_for_deadline(browser.conn);
        browser.hears(&mut stage);
    }
    assert_eq!((browser.heard(), stage.closed(server)), (vec![], None));
}
