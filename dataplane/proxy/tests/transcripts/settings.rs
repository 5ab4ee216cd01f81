//! Settings of application profiles for HTTP about connections.

use weir_api::dataplane::v1 as api;
use weir_proxy::io::{Close, Conn};
use weir_telemetry::Cause;

use crate::{
    GET, OK,
    hosted::terminating,
    status,
    tape::{Stage, plan},
};

fn with(mut plan: api::Plan, edit: impl Fn(&mut api::HttpProfile)) -> api::Plan {
    plan.virtual_services.iter_mut().filter_map(|service| service.http.as_mut()).for_each(edit);
    plan
}

#[test]
fn client_without_tls_is_told_so_or_reset() {
    for (resets, close) in [(false, Close::Linger), (true, Close::Abort)] {
        let mut stage = Stage::new(&with(terminating(plan(1)), |http| http.reset_plain_on_tls = resets));
        let client = stage.client();
        stage.says(client, GET);
        assert_eq!(stage.closed(client), Some(close));
        assert_eq!(stage.failures(Cause::ClientTls), 1);
    }
}

/// A server has answered a client with this.
fn answered(stage: &mut Stage, answer: &str) -> Conn {
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, answer);
    assert!(!stage.sent(client).is_empty());
    server
}

#[test]
fn connection_of_a_server_ends_behind_an_error_if_it_shall() {
    const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno";
    const FAILED: &str = "HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n";
    for answer in [OK, FORBIDDEN, FAILED] {
        for closes in [false, true] {
            let mut stage = Stage::new(&with(plan(1), |http| http.close_servers_on_error = closes));
            let server = answered(&mut stage, answer);
            let ends = closes && answer != OK;
            assert_eq!(stage.closed(server), ends.then_some(Close::Flush), "{answer}");
        }
    }
}

#[test]
fn connection_that_a_client_authenticates_stays_behind_its_challenge() {
    let plan = with(plan(1), |http| (http.close_servers_on_error, http.detect_ntlm) = (true, true));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(status(&stage.sent(client)), "401");
    assert_eq!(stage.closed(server), None);
    stage.says(client, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: NTLM abc\r\n\r\n");
    assert!(stage.sent(server).contains("NTLM abc"));
}

/// What the client reads of how long its connection waits.
fn told(of_servers: bool, request: &str, answer: &str) -> Option<String> {
    let mut stage = Stage::new(&with(plan(1), |http| {
        (http.tell_keepalive, http.keepalive_of_servers, http.keepalive_timeout_ms) = (true, of_servers, 30_500);
    }));
    let client = stage.client();
    stage.says(client, request);
    let server = stage.connected();
    stage.says(server, answer);
    let answer = stage.sent(client);
    let lines: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix("Keep-Alive: ")).collect();
    assert!(lines.len() < 2, "{answer}");
    assert_eq!(answer.contains("Connection: keep-alive\r\n"), lines.len() == 1, "{answer}");
    lines.first().map(|&line| line.to_owned())
}

#[test]
fn client_is_told_how_long_its_connection_waits() {
    const SOON: &str = "HTTP/1.1 200 OK\r\nKeep-Alive: max=9, timeout=5\r\nContent-Length: 2\r\n\r\nok";
    const LATE: &str = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=99\r\nContent-Length: 2\r\n\r\nok";
    const LAST: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (of_servers, request, answer, expected) in [
        (false, GET, OK, Some("timeout=30")),
        (false, GET, SOON, Some("timeout=30")),
        (true, GET, OK, Some("timeout=30")),
        (true, GET, SOON, Some("timeout=5")),
        (true, GET, LATE, Some("timeout=30")),
        (false, LAST, OK, None),
    ] {
        assert_eq!(told(of_servers, request, answer).as_deref(), expected, "{of_servers} {request:?} {answer:?}");
    }
}

#[test]
fn client_is_told_nothing_of_it_without_the_setting() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert!(!stage.sent(client).contains("Keep-Alive"));
}
