//! Clients that leave before they are answered: they take a bounded time and do not affect others.

use std::time::Duration;

use weir_api::dataplane::v1::Plan;
use weir_proxy::io::{Close, Event};
use weir_telemetry::Cause;

use crate::{
    GET, OK, status,
    tape::{Stage, plan},
    warm,
};

/// Lets clients that have ended their side wait this long for their response.
fn patient(mut plan: Plan, half_close_timeout_ms: u32) -> Plan {
    plan.virtual_services[0].http.as_mut().expect("speaks HTTP").half_close_timeout_ms = half_close_timeout_ms;
    plan
}

#[test]
fn client_that_ends_while_it_waits_is_gone_and_so_is_its_request() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.batch(vec![Event::Eof { conn: client }]);
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Abort), Some(Close::Abort)));
    assert_eq!(stage.failures(Cause::ClientAborted), 1);
    assert!(stage.proxy.is_idle());
}

#[test]
fn request_of_a_client_that_has_ended_goes_to_no_server() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    let request = stage.data(client, GET);
    stage.batch(vec![request, Event::Eof { conn: client }]);
    assert_eq!(stage.sent(stage.dialled()), "");
    assert_eq!((stage.closed(client), stage.closed(stage.dialled())), (Some(Close::Abort), Some(Close::Abort)));
}

#[test]
fn client_that_ends_amid_its_response_is_gone() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    stage.batch(vec![Event::Eof { conn: client }]);
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Abort), Some(Close::Abort)));
}

#[test]
fn end_of_a_client_that_is_not_read_is_noticed() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.says(client, GET);
    assert!(stage.is_paused(client), "its next request waits");
    stage.batch(vec![Event::Leaving { conn: client }]);
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Abort), Some(Close::Abort)));
}

#[test]
fn client_that_has_been_answered_may_end() {
    let (mut stage, client, server) = warm(1);
    stage.batch(vec![Event::Eof { conn: client }]);
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Flush), None));
    assert_eq!(stage.failures(Cause::ClientAborted), 0);
}

#[test]
fn half_closed_client_gets_its_answer_where_the_profile_lets_it_wait() {
    let mut stage = Stage::new(&patient(plan(1), 500));
    let client = stage.client();
    stage.says(client, GET);
    stage.batch(vec![Event::Eof { conn: client }]);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!(stage.closed(client), Some(Close::Flush));
}

#[test]
fn half_closed_client_waits_no_longer_than_its_profile_says() {
    let mut stage = Stage::new(&patient(plan(1), 500));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.tape.sleep(Duration::from_millis(300));
    stage.batch(vec![Event::Eof { conn: client }]);
    assert_eq!(stage.wait_for_deadline(client), Duration::from_millis(500));
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Abort), Some(Close::Abort)));
}

#[test]
fn slow_response_gives_a_half_closed_client_no_more_time() {
    let mut stage = Stage::new(&patient(plan(1), 500));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.batch(vec![Event::Eof { conn: client }]);
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    stage.tape.sleep(Duration::from_millis(400));
    stage.says(server, "more");
    stage.batch(vec![Event::Drained { conn: client }]);
    assert_eq!(stage.wait_for_deadline(client), Duration::from_millis(100));
    assert_eq!(stage.closed(client), Some(Close::Abort));
}

#[test]
fn request_of_a_client_that_has_waited_too_long_is_not_sent() {
    let mut stage = Stage::new(&patient(plan(1), 500));
    let client = stage.client();
    stage.says(client, GET);
    stage.batch(vec![Event::Eof { conn: client }]);
    stage.tape.sleep(Duration::from_millis(500));
    let server = stage.connected();
    assert_eq!(stage.sent(server), "");
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Abort), Some(Close::Abort)));
}
