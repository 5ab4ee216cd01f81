//! Servers whose responses are errors: they get fewer requests, and then none for a while.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, Plan};
use weir_proxy::io::{Conn, Gone};

use crate::{
    GET, OK,
    calls::CALL,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    tape::{Stage, plan},
};

const BAD: &str = "10.1.0.1:8000";
const ERROR: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const NOT_IMPLEMENTED: &str = "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n";
const EXPECTED: &str = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
const PAUSE: Duration = Duration::from_secs(30);

fn watching(servers: usize) -> Plan {
    let mut plan = plan(servers);
    plan.pools[0].inline_health = true;
    plan.pools[0].algorithm = api::Algorithm::RoundRobin as i32;
    plan
}

/// Of a process that is an hour old.
fn stage(plan: &Plan) -> Stage {
    let mut stage = Stage::new(plan);
    stage.tape.sleep(Duration::from_secs(3600));
    stage
}

/// Requests of new clients over new connections. Those that come to the bad server end as `end` has it. How many did.
fn ask(stage: &mut Stage, requests: usize, end: impl Fn(&mut Stage, Conn)) -> usize {
    let mut bad = 0;
    for _ in 0..requests {
        let client = stage.client();
        stage.says(client, GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        let is_bad = stage.dialled_address() == BAD;
        let server = stage.connected();
        match is_bad {
            true => end(stage, server),
            false => stage.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")),
        }
        assert!(!stage.sent(client).is_empty());
        bad += usize::from(is_bad);
    }
    bad
}

fn says(response: &str) -> impl Fn(&mut Stage, Conn) {
    let response = response.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    move |stage, server| stage.says(server, &response)
}

#[test]
fn server_that_answers_with_errors_is_ejected_and_one_probe_brings_it_back() {
    let mut stage = stage(&watching(4));
    assert!((7..12).contains(&ask(&mut stage, 100, says(ERROR))));
    assert_eq!(stage.suspects().len(), 1);
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, says(ERROR)), 1, "the probe fails");
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, says(ERROR)), 0, "the second pause is twice as long");
    stage.tape.sleep(PAUSE);
    assert!(ask(&mut stage, 40, says(OK)) > 4);
    assert!(stage.suspects().is_empty());
}

#[test]
fn responses_that_are_cut_and_connections_that_end_without_one_are_errors() {
    let ends: [fn(&mut Stage, Conn); 3] = [
        |stage, server| stage.gone(server, Gone::Reset),
        |stage, server| {
            stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
            stage.gone(server, Gone::Reset);
        },
        |stage, server| stage.says(server, "SSH-2.0-x\r\n"),
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let mut stage = stage(&watching(4));
        let bad = ask(&mut stage, 200, end);
        // New connections that end at once make it suspect before that.
        assert!((3..12).contains(&bad), "{number}: {bad}");
    }
}

#[test]
fn responses_that_the_request_causes_are_no_errors_and_neither_are_those_that_the_pool_expects() {
    let mut plan = watching(4);
    plan.pools[0].not_errors = vec![api::StatusRange { first: 500, last: 500 }];
    for response in [NOT_FOUND, NOT_IMPLEMENTED, EXPECTED] {
        let mut stage = stage(&plan);
        assert_eq!(ask(&mut stage, 200, says(response)), 50, "{response}");
    }
}

#[test]
fn withheld_responses_are_errors_too() {
    let mut plan = watching(4);
    let reselect = api::Reselect {
        statuses: vec![api::StatusRange { first: 500, last: 599 }],
        max_retries: 2,
        ..Default::default()
    };
    plan.pools[0].reselect = Some(reselect);
    let mut stage = stage(&plan);
    let mut bad = 0;
    for _ in 0..100 {
        let client = stage.client();
        stage.says(client, GET);
        while stage.dialled_address() == BAD && stage.sent(client).is_empty() {
            bad += 1;
            let server = stage.connected();
            stage.says(server, ERROR);
        }
        let server = stage.connected();
        stage.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        assert!(stage.sent(client).starts_with("HTTP/1.1 200"));
    }
    assert!((7..12).contains(&bad), "{bad}");
}

/// One call after the other over four servers, of which the first answers with a status of gRPC. How often.
fn call(status: &str, in_head: bool) -> usize {
    let mut stage = stage(&http2(to_http2(watching(4))));
    let mut bad = 0;
    for _ in 0..100 {
        let mut browser = Browser::new(&mut stage);
        browser.asks(&mut stage, "POST", CALL, true);
        let is_bad = stage.dialled_address() == BAD;
        let mut origin = Origin::new(&mut stage);
        let status = if is_bad { status } else { "0" };
        let answer = match in_head {
            true => origin.head(1, 200, &[("content-type", "application/grpc"), ("grpc-status", status)], true),
            false => [
                origin.head(1, 200, &[("content-type", "application/grpc")], false),
                origin.trailers(1, "grpc-status", status),
            ]
            .concat(),
        };
        origin.says(&mut stage, &answer);
        stage.gone(origin.conn, Gone::Reset);
        bad += usize::from(is_bad);
    }
    bad
}

#[test]
fn calls_are_judged_by_their_status_of_grpc() {
    for in_head in [true, false] {
        assert_eq!(call("5", in_head), 25, "NOT_FOUND");
        let bad = call("14", in_head);
        assert!((7..12).contains(&bad), "UNAVAILABLE: {bad}");
    }
}
