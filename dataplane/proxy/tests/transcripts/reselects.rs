//! Requests that go to another server after a response.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::io::{Close, Conn, Event, Gone};

use crate::{
    GET, OK, status,
    tape::{Stage, plan},
};

const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";

pub fn reselect() -> api::Reselect {
    let range = |first, last| api::StatusRange { first, last };
    api::Reselect { statuses: vec![range(404, 404), range(500, 599)], max_retries: 4, ..Default::default() }
}

fn stage(servers: usize, reselect: api::Reselect) -> (Stage, Conn) {
    let mut plan = plan(servers);
    plan.pools[0].reselect = Some(reselect);
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    (stage, client)
}

fn reselects(stage: &Stage) -> u64 {
    stage.proxy.counters().service(0).expect("the service has counters").reselects
}

#[test]
fn client_gets_the_first_response_that_may_pass() {
    let (mut stage, client) = stage(3, reselect());
    stage.says(client, GET);
    let first = stage.connected();
    let request = stage.sent(first);
    stage.says(first, BUSY);
    assert_eq!(stage.sent(client), "");
    assert_eq!(stage.closed(first), Some(Close::Abort));
    let second = stage.connected();
    assert_eq!(stage.sent(second), request);
    stage.says(second, OK);
    let answer = stage.sent(client);
    assert!(status(&answer) == "200" && !answer.contains("busy"), "{answer}");
    assert_eq!((stage.closed(client), stage.closed(second), reselects(&stage)), (None, None, 1));
    let service = stage.proxy.counters().service(0).expect("the service has counters");
    assert_eq!(service.responses, [0, 1, 0, 0, 0], "clients saw one response");
}

#[test]
fn last_response_passes_when_all_servers_or_all_retries_are_used_up() {
    for (servers, max_retries, dials) in [(3, 4, 3), (6, 4, 5), (3, 1, 2), (1, 4, 1), (3, 0, 1)] {
        let (mut stage, client) = stage(servers, api::Reselect { max_retries, ..reselect() });
        stage.says(client, GET);
        let mut addresses = std::collections::HashSet::new();
        for _ in 0..dials {
            let server = stage.connected();
            addresses.insert(stage.dialled_address());
            stage.says(server, BUSY);
        }
        assert_eq!((stage.dials(), addresses.len()), (dials, dials), "no server is asked twice");
        let answer = stage.sent(client);
        assert!(answer.ends_with("\r\n\r\nbusy"), "{answer}");
        assert_eq!(reselects(&stage), dials as u64 - 1);
        assert_eq!(stage.closed(client), None);
    }
}

/// Servers that all answer with errors do not get several times the requests of clients.
#[test]
fn pool_has_a_budget_of_retries() {
    let (mut stage, client) = stage(3, reselect());
    let (mut requests, mut asked) = (0, 0);
    while requests < 400 {
        stage.tape.sleep(Duration::from_millis(10));
        stage.says(client, GET);
        requests += 1;
        loop {
            let server = stage.connected();
            asked += 1;
            stage.says(server, BUSY.replace("Content-Length", "Connection: close\r\nContent-Length"));
            if stage.sent(client).ends_with("busy") {
                break;
            }
        }
    }
    assert_eq!(asked - requests, reselects(&stage));
    assert!((100..=30 + 400 / 5).contains(&reselects(&stage)), "{} retries", reselects(&stage));
    stage.tape.sleep(Duration::from_secs(11));
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, BUSY);
    assert_eq!(stage.sent(client), "", "a new window has retries of its own");
}

/// It passes in any case: its connection is that of its client.
#[test]
fn challenge_that_binds_its_connection_takes_no_retry() {
    let mut plan = plan(3);
    let statuses = vec![api::StatusRange { first: 400, last: 599 }];
    plan.pools[0].reselect = Some(api::Reselect { statuses, ..reselect() });
    plan.virtual_services[0].http.as_mut().expect("speaks HTTP").detect_ntlm = true;
    let mut stage = Stage::new(&plan);
    let challenge =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for _ in 0..100 {
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        stage.says(server, challenge);
        assert_eq!(status(&stage.sent(client)), "401");
    }
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, BUSY);
    assert_eq!((stage.sent(client), reselects(&stage)), (String::new(), 1), "all retries are left");
}

#[test]
fn other_statuses_pass() {
    for code in ["200 OK", "302 Found", "403 Forbidden"] {
        let (mut stage, client) = stage(3, reselect());
        stage.says(client, GET);
        let server = stage.connected();
        stage.says(server, format!("HTTP/1.1 {code}\r\nContent-Length: 0\r\n\r\n"));
        assert!(stage.sent(client).starts_with(&format!("HTTP/1.1 {code}")));
        assert_eq!(stage.dials(), 1);
    }
}

#[test]
fn request_that_is_not_idempotent_goes_to_another_server_only_if_told() {
    for (any_method, code) in [(false, "503"), (true, "200")] {
        let (mut stage, client) = stage(2, api::Reselect { any_method, ..reselect() });
        stage.says(client, POST);
        let first = stage.connected();
        stage.says(first, BUSY);
        if any_method {
            let second = stage.connected();
            assert!(stage.sent(second).ends_with("\r\n\r\nbody"));
            stage.says(second, OK);
        }
        assert_eq!(status(&stage.sent(client)), code);
    }
}

#[test]
fn lost_request_that_is_kept_for_a_response_only_is_not_repeated() {
    for request in [GET, POST] {
        let (mut stage, client) = stage(2, api::Reselect { any_method: true, ..reselect() });
        stage.says(client, request);
        let server = stage.connected();
        stage.gone(server, Gone::Reset);
        assert_eq!((status(&stage.sent(client)), stage.dials()), ("502", 1));
    }
}

#[test]
fn rest_of_a_body_follows_to_the_other_server() {
    let (mut stage, client) = stage(2, reselect());
    stage.says(client, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    let first = stage.connected();
    stage.says(first, BUSY);
    let second = stage.connected();
    assert!(stage.sent(second).ends_with("\r\n\r\nhalf"));
    stage.says(client, "more");
    assert_eq!(stage.sent(second), "more");
    stage.says(second, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn request_whose_body_is_not_at_hand_any_more_keeps_its_answer() {
    let (mut stage, client) = stage(2, reselect());
    stage.says(client, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n");
    let server = stage.connected();
    (0..3).for_each(|_| stage.says(client, "x".repeat(1000)));
    stage.says(server, BUSY);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("503", 1), "a thousand bytes are kept");
}

#[test]
fn response_behind_an_interim_one_passes() {
    let (mut stage, client) = stage(2, reselect());
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, format!("HTTP/1.1 103 Early Hints\r\n\r\n{BUSY}"));
    let answer = stage.sent(client);
    assert!(answer.starts_with("HTTP/1.1 103") && answer.contains("HTTP/1.1 503"), "{answer}");
    assert_eq!(stage.dials(), 1);
}

#[test]
fn other_server_has_the_time_of_a_retry_and_its_connection_the_usual_time_again() {
    let (mut stage, client) = stage(2, api::Reselect { retry_timeout_ms: 300, ..reselect() });
    stage.says(client, GET);
    let first = stage.connected();
    stage.says(first, BUSY);
    let second = stage.connected();
    stage.says(second, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    stage.says(client, GET);
    let third = stage.connected();
    stage.says(third, BUSY);
    stage.says(second, "");
    assert_eq!(stage.wait_for_deadline(second), Duration::from_millis(300));
    assert_eq!(status(&stage.sent(client)), "504");
    let (mut stage, client) = self::stage(2, api::Reselect { retry_timeout_ms: 300, ..reselect() });
    stage.says(client, GET);
    let first = stage.connected();
    stage.says(first, BUSY);
    let second = stage.connected();
    stage.says(second, OK);
    let other = stage.client();
    stage.says(client, GET);
    stage.says(other, GET);
    assert_eq!(stage.wait_for_deadline(second), Duration::from_secs(2));
}

#[test]
fn servers_that_refuse_count_apart_from_those_that_answer() {
    let (mut stage, client) = stage(6, reselect());
    stage.says(client, GET);
    for _ in 0..2 {
        let server = stage.connected();
        stage.says(server, BUSY);
        let refused = stage.dialled();
        stage.gone(refused, Gone::Refused);
    }
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("200", 5));
}

#[test]
fn client_that_leaves_ends_the_second_try() {
    let (mut stage, client) = stage(2, reselect());
    stage.says(client, GET);
    let first = stage.connected();
    stage.says(first, BUSY);
    let second = stage.connected();
    stage.batch(vec![Event::Gone { conn: client, why: Gone::Reset }]);
    assert!(stage.closed(second).is_some() && stage.proxy.is_idle());
}

#[test]
fn retry_timeout_holds_on_connections_that_stood_before_it_was_set() {
    let mut before = plan(2);
    before.pools[0].reselect = Some(reselect());
    let mut stage = Stage::new(&before);
    let servers = [(); 2].map(|()| {
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        stage.says(server, OK);
        stage.sent(server);
        server
    });
    let mut after = before.clone();
    after.revision += 1;
    after.pools[0].reselect.as_mut().expect("set above").retry_timeout_ms = 300;
    stage.replace(&after);
    let client = stage.client();
    stage.says(client, GET);
    let (asked, other) = match stage.sent(servers[0]).is_empty() {
        true => (servers[1], servers[0]),
        false => (servers[0], servers[1]),
    };
    stage.says(asked, BUSY);
    assert!(stage.sent(other).starts_with("GET "));
    assert_eq!((stage.dials(), stage.wait_for_deadline(other)), (2, Duration::from_millis(300)));
}
