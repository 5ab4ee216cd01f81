//! Servers whose responses are errors: they get fewer requests, and then none for a while.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, Plan, ScriptEvent};
use weir_proxy::io::{Conn, Event, Gone};
use weir_wire::http2::Code;

use crate::{
    GET, OK,
    calls::CALL,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    scripts::scripted_with,
    tape::{Stage, plan},
    websocket::{CONNECT, with_websockets},
};

const BAD: &str = "10.1.0.1:8000";
const ERROR: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const NOT_IMPLEMENTED: &str = "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n";
const EXPECTED: &str = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
const PAUSE: Duration = Duration::from_secs(30);
/// After a trial whose response has begun well.
const SETTLED: Duration = Duration::from_secs(1);
/// Between two requests. Errors of less than two seconds eject nobody.
const STEP: Duration = Duration::from_millis(24);
/// Between two requests to the same server.
const LONG_STEP: Duration = Duration::from_millis(340);
/// A response that does not end.
const STREAMS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok";

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
        stage.tape.sleep(STEP);
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
fn server_that_answers_with_errors_is_ejected_and_one_trial_brings_it_back() {
    let mut stage = stage(&watching(4));
    assert!((7..13).contains(&ask(&mut stage, 100, says(ERROR))));
    assert_eq!(stage.suspects().len(), 1);
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, says(ERROR)), 1, "the trial fails");
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, says(ERROR)), 0, "the second pause is twice as long");
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, says(OK)), 1);
    stage.tape.sleep(SETTLED);
    assert!(ask(&mut stage, 40, says(OK)) > 4);
    assert!(stage.suspects().is_empty());
}

#[test]
fn trial_brings_the_server_back_while_its_response_still_runs() {
    let mut stage = stage(&watching(4));
    ask(&mut stage, 100, says(ERROR));
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, |stage, server| stage.says(server, STREAMS)), 1);
    stage.tape.sleep(SETTLED);
    assert!(ask(&mut stage, 40, says(OK)) > 4);
}

#[test]
fn trial_whose_response_is_cut_fails() {
    let mut stage = stage(&watching(4));
    ask(&mut stage, 100, says(ERROR));
    stage.tape.sleep(PAUSE);
    let cut = |stage: &mut Stage, server| {
        stage.says(server, STREAMS);
        stage.gone(server, Gone::Reset);
    };
    assert_eq!(ask(&mut stage, 40, cut), 1);
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, cut), 0);
}

#[test]
fn responses_that_do_not_end_count_as_good() {
    let mut stage = stage(&watching(4));
    let number = std::cell::Cell::new(0);
    let mostly_streams = |stage: &mut Stage, server| {
        number.set(number.get() + 1);
        says(if number.get() % 5 == 0 { ERROR } else { STREAMS })(stage, server);
    };
    // Its part of errors is up to 0.3, so that it gets half of its ratio at least.
    assert!(ask(&mut stage, 400, mostly_streams) > 40);
    assert!(stage.suspects().is_empty());
}

/// Clients with connections of their own, on which their servers have answered once. Those of the bad server send another
/// request, which ends as `end` has it. How many come to it.
fn ask_again(plan: Plan, again: &str, end: impl Fn(&mut Stage, Conn)) -> (Stage, usize) {
    let mut plan = plan;
    plan.virtual_services[0].http.as_mut().expect("HTTP").connection_multiplexing = false;
    let mut stage = stage(&plan);
    let mut known = Vec::new();
    for _ in 0..80 {
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        stage.says(server, OK);
        if stage.dialled_address() == BAD {
            known.push((client, server));
        }
    }
    assert_eq!(known.len(), 20);
    let mut bad = 0;
    for (client, server) in known {
        let dials = stage.dials();
        stage.tape.sleep(LONG_STEP);
        for piece in again.as_bytes().chunks(4096) {
            if !stage.is_paused(client) {
                stage.says(client, piece);
            }
        }
        if stage.dials() == dials {
            end(&mut stage, server);
            bad += 1;
        }
    }
    (stage, bad)
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
        let (stage, bad) = ask_again(watching(4), POST, end);
        assert!((7..9).contains(&bad), "{number}: {bad} before it was ejected");
        assert_eq!(stage.suspects().len(), 1, "{number}");
    }
}

/// What servers do that get no more of a request.
const GIVE_UP: [fn(&mut Stage, Conn); 4] = [
    |stage, server| stage.gone(server, Gone::Reset),
    |stage, server| stage.batch(vec![Event::Eof { conn: server }]),
    |stage, server| stage.says(server, ERROR),
    |stage, server| stage.says(server, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"),
];

#[test]
fn server_that_does_not_wait_for_the_rest_of_a_request_is_to_blame() {
    let half = POST.replace("Length: 2", "Length: 9");
    for (number, end) in GIVE_UP[..3].iter().enumerate() {
        let (stage, bad) = ask_again(watching(4), &half, end);
        assert_eq!((bad, stage.suspects().len()), (7, 1), "{number}");
    }
}

#[test]
fn server_that_takes_nothing_more_of_a_request_is_to_blame_for_its_timeout() {
    let end = |stage: &mut Stage, server: Conn| {
        let waited = stage.wait_for_deadline(server);
        assert!(waited > Duration::from_secs(1), "{waited:?}");
    };
    let much = POST.replace("Length: 2", "Length: 9000000") + &"x".repeat(1_000_000);
    let (stage, bad) = ask_again(watching(4), &much, end);
    assert_eq!((bad, stage.suspects().len()), (8, 1));
}

#[test]
fn response_that_begins_before_its_request_ends_counts_at_its_end() {
    let half = POST.replace("Length: 2", "Length: 9");
    let number = std::cell::Cell::new(0);
    let mostly_good = |stage: &mut Stage, server: Conn| {
        number.set(number.get() + 1);
        stage.says(server, if number.get() % 2 == 0 { ERROR } else { OK });
    };
    let (stage, bad) = ask_again(watching(4), &half, mostly_good);
    assert_eq!((bad, stage.suspects().len()), (20, 0));
}

#[test]
fn server_that_waits_in_vain_for_the_rest_of_a_request_is_not_to_blame() {
    let half = POST.replace("Length: 2", "Length: 9");
    for (number, end) in GIVE_UP.into_iter().enumerate() {
        let end = |stage: &mut Stage, server| {
            stage.tape.sleep(Duration::from_secs(1));
            end(stage, server);
        };
        let (mut stage, bad) = ask_again(watching(4), &half, end);
        assert_eq!((bad, stage.suspects().len()), (20, 0), "{number}");
        // New connections show as little.
        for _ in 0..80 {
            let client = stage.client();
            stage.says(client, &half);
            let server = stage.connected();
            end(&mut stage, server);
        }
        assert_eq!(stage.suspects().len(), 0, "{number}");
    }
}

#[test]
fn server_without_websocket_is_not_to_blame_for_a_client_that_asks_for_it() {
    let mut stage = stage(&with_websockets(http2(watching(4))));
    let mut bad = 0;
    for _ in 0..80 {
        let mut browser = Browser::new(&mut stage);
        browser.says(&mut stage, b"");
        browser.asks(&mut stage, "CONNECT", CONNECT, false);
        let is_bad = stage.dialled_address() == BAD;
        let server = stage.connected();
        says(if is_bad { OK } else { NOT_FOUND })(&mut stage, server);
        browser.hears(&mut stage);
        assert!(browser.heard().concat().contains(if is_bad { ": 502" } else { ": 404" }));
        bad += usize::from(is_bad);
    }
    assert_eq!((bad, stage.suspects().len()), (20, 0));
}

#[test]
fn responses_that_a_script_replaces_show_as_much() {
    let source = "avi.http.response(200, {content_type = 'text/plain'}, 'ours')";
    let scripted = || scripted_with(watching(4), &[(ScriptEvent::HttpResp, source)]);
    let mut stage = stage(&scripted());
    assert!((7..13).contains(&ask(&mut stage, 100, says(ERROR))));
    stage.tape.sleep(PAUSE);
    assert_eq!(ask(&mut stage, 40, says(OK)), 1);
    stage.tape.sleep(SETTLED);
    assert!(ask(&mut stage, 40, says(OK)) > 4, "the trial was good");
}

#[test]
fn client_with_a_connection_of_its_own_leaves_an_ejected_server_of_http2_and_takes_no_trial() {
    let mut plan = http2(to_http2(watching(4)));
    plan.virtual_services[0].http.as_mut().expect("HTTP").connection_multiplexing = false;
    let mut stage = stage(&plan);
    let mut bound: Vec<_> = (0..4)
        .map(|_| {
            let mut browser = Browser::new(&mut stage);
            browser.asks(&mut stage, "GET", &[], true);
            let mut origin = Origin::new(&mut stage);
            origin.answers(&mut stage, 1, "ok");
            browser.hears(&mut stage);
            browser.connection.end(1, Code::NoError);
            (stage.dialled_address() == BAD, browser, origin)
        })
        .collect();
    let at = bound.iter().position(|(is_bad, ..)| *is_bad).expect("each server has one");
    let (_, mut browser, mut origin) = bound.swap_remove(at);
    let mut errors = 0;
    while stage.dials() == 4 && errors < 30 {
        let asked = browser.asks(&mut stage, "GET", &[], true);
        stage.tape.sleep(LONG_STEP);
        if stage.dials() == 4 {
            origin.hears(&mut stage);
            let id = 3 + 2 * errors;
            let error = origin.head(id, 503, &[("content-length", "0")], true);
            origin.connection.end(id, Code::NoError);
            origin.says(&mut stage, &error);
            browser.hears(&mut stage);
            browser.connection.end(asked, Code::NoError);
            errors += 1;
        }
    }
    assert_eq!((errors, stage.suspects().len()), (7, 1));
    assert_ne!(stage.dialled_address(), BAD, "another server gets the next request");
    stage.tape.sleep(PAUSE);
    let (_, mut other, mut its) = bound.remove(0);
    for id in [3, 5, 7, 9, 11, 13, 15, 17] {
        let asked = other.asks(&mut stage, "GET", &[], true);
        its.hears(&mut stage);
        // After a silence the server has to tell that it still stands.
        its.says(&mut stage, &[]);
        its.answers(&mut stage, id, "ok");
        other.hears(&mut stage);
        other.connection.end(asked, Code::NoError);
    }
    assert_eq!(stage.dials(), 5);
    let mut fresh = Browser::new(&mut stage);
    fresh.asks(&mut stage, "GET", &[], true);
    assert_eq!(stage.dialled_address(), BAD, "the trial was still due");
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
        stage.tape.sleep(STEP);
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
    assert!((7..13).contains(&bad), "{bad}");
}

type Answers = fn(&mut Origin) -> Vec<Vec<u8>>;

const TYPE: (&str, &str) = ("content-type", "application/grpc");

/// One call after the other over four servers, of which the first answers like this. How often.
fn call(answers: Answers) -> usize {
    let mut stage = stage(&http2(to_http2(watching(4))));
    let mut bad = 0;
    for _ in 0..100 {
        stage.tape.sleep(STEP);
        let mut browser = Browser::new(&mut stage);
        browser.asks(&mut stage, "POST", CALL, true);
        let is_bad = stage.dialled_address() == BAD;
        let mut origin = Origin::new(&mut stage);
        let answer = match is_bad {
            true => answers(&mut origin),
            false => vec![origin.head(1, 200, &[TYPE], false), origin.trailers(1, "grpc-status", "0")],
        };
        origin.says(&mut stage, &answer.concat());
        stage.gone(origin.conn, Gone::Reset);
        bad += usize::from(is_bad);
    }
    bad
}

#[test]
fn calls_are_judged_by_their_status_of_grpc_once() {
    let good: [(&str, Answers); 7] = [
        ("NOT_FOUND", |o| vec![o.head(1, 200, &[TYPE, ("grpc-status", "5")], true)]),
        ("NOT_FOUND in trailers", |o| vec![o.head(1, 200, &[TYPE], false), o.trailers(1, "grpc-status", "5")]),
        ("trailers go before the head", |o| {
            vec![o.head(1, 200, &[TYPE, ("grpc-status", "14")], false), o.trailers(1, "grpc-status", "0")]
        }),
        ("no path of gRPC", |o| vec![o.head(1, 404, &[], true)]),
        ("no path of gRPC, with a page", |o| vec![o.head(1, 404, &[], false), o.content(1, b"none", true)]),
        ("no answer of gRPC", |o| vec![o.head(1, 200, &[("content-type", "text/html")], true)]),
        ("a page", |o| vec![o.head(1, 200, &[("content-type", "text/html")], false), o.content(1, b"page", true)]),
    ];
    for (name, answers) in good {
        assert_eq!(call(answers), 25, "{name}");
    }
    let errors: [(&str, Answers); 7] = [
        ("UNAVAILABLE", |o| vec![o.head(1, 200, &[TYPE, ("grpc-status", "14")], true)]),
        ("UNAVAILABLE in trailers", |o| vec![o.head(1, 200, &[TYPE], false), o.trailers(1, "grpc-status", "14")]),
        ("503 and UNAVAILABLE", |o| vec![o.head(1, 503, &[TYPE], false), o.trailers(1, "grpc-status", "14")]),
        ("500 and OK", |o| vec![o.head(1, 500, &[TYPE], false), o.trailers(1, "grpc-status", "0")]),
        ("no status", |o| vec![o.head(1, 200, &[TYPE], true)]),
        ("no status behind content", |o| vec![o.head(1, 200, &[TYPE], false), o.content(1, b"\0\0\0\0\0", true)]),
        ("no status in trailers", |o| vec![o.head(1, 200, &[TYPE], false), o.trailers(1, "x", "0")]),
    ];
    for (name, answers) in errors {
        let bad = call(answers);
        assert!((7..13).contains(&bad), "{name}: {bad}");
    }
}
