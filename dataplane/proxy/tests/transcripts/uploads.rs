//! Request bodies: buffered until enough has arrived, and refused when they are too slow.

use std::time::Duration;

use weir_api::dataplane::v1::{HttpProfile, Plan};
use weir_telemetry::Cause;

use crate::{
    OK, status,
    tape::{Stage, plan},
};

const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n";
const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

fn with(change: impl FnOnce(&mut HttpProfile)) -> Plan {
    let mut plan = plan(1);
    change(plan.virtual_services[0].http.as_mut().expect("speaks HTTP"));
    plan
}

fn buffering(bytes: u32) -> Plan {
    with(|http| http.request_buffer_bytes = bytes)
}

#[test]
fn no_server_is_held_for_a_body_that_is_still_coming() {
    for (head, pieces) in [(POST, ["one ", "two "]), (CHUNKED, ["4\r\none \r\n", "0\r\n\r\n"])] {
        let mut stage = Stage::new(&buffering(1000));
        let client = stage.client();
        stage.says(client, head);
        stage.says(client, pieces[0]);
        assert_eq!(stage.dials(), 0, "{head}");
        stage.says(client, pieces[1]);
        let server = stage.connected();
        assert!(stage.sent(server).ends_with(&pieces.concat()), "{head}");
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200");
        assert_eq!(stage.blocks_in_use(), 0);
    }
}

#[test]
fn body_larger_than_the_buffer_goes_on_once_that_is_full() {
    let mut stage = Stage::new(&buffering(6));
    let client = stage.client();
    stage.says(client, POST);
    stage.says(client, "one ");
    assert_eq!(stage.dials(), 0);
    stage.says(client, "tw");
    let server = stage.connected();
    assert!(stage.sent(server).ends_with("\r\n\r\none tw"));
    stage.says(client, "o ");
    assert_eq!(stage.sent(server), "o ");
}

#[test]
fn bodies_that_drip_take_no_more_memory_than_the_buffer_may() {
    let mut stage = Stage::new(&buffering(16_000));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000\r\n\r\n");
    for _ in 0..4000 {
        stage.says(client, "x");
    }
    assert!(stage.blocks_in_use() <= 3, "{} blocks for 4,000 bytes in blocks of 4,096", stage.blocks_in_use());
}

#[test]
fn request_without_a_body_does_not_wait() {
    let mut stage = Stage::new(&buffering(1000));
    let client = stage.client();
    stage.says(client, crate::GET);
    assert_eq!(stage.dials(), 1);
}

#[test]
fn client_that_waits_for_a_100_of_the_server_is_not_kept_waiting() {
    let mut stage = Stage::new(&with(|http| {
        http.request_buffer_bytes = 1000;
        http.respond_with_100_continue = false;
    }));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n");
    assert_eq!(stage.dials(), 1);
}

#[test]
fn buffered_body_that_is_too_large_is_refused_before_any_server_is_asked() {
    let mut stage = Stage::new(&with(|http| {
        http.request_buffer_bytes = 1000;
        http.max_body_bytes = 5;
    }));
    let client = stage.client();
    stage.says(client, format!("{CHUNKED}4\r\none \r\n"));
    stage.says(client, "4\r\ntwo \r\n");
    assert_eq!((stage.dials(), status(&stage.sent(client))), (0, "413"));
}

#[test]
fn buffered_body_that_stops_fails_before_a_server_is_used() {
    let mut stage = Stage::new(&buffering(1000));
    let client = stage.client();
    stage.says(client, POST);
    stage.says(client, "one ");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(4), "client_body_timeout");
    assert_eq!((stage.dials(), status(&stage.sent(client))), (0, "408"));
}

#[test]
fn request_after_a_buffered_body_is_answered() {
    let mut stage = Stage::new(&buffering(1000));
    let client = stage.client();
    stage.says(client, POST);
    stage.says(client, format!("one two {}", crate::GET));
    let server = stage.connected();
    stage.says(server, OK);
    assert!(stage.sent(server).contains("GET / HTTP/1.1"));
    stage.says(server, OK);
    assert_eq!(stage.sent(client).matches("200 OK").count(), 2);
}

#[test]
fn body_slower_than_the_minimum_rate_fails() {
    let mut stage = Stage::new(&with(|http| http.min_body_bytes_per_s = 100));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    stage.connected();
    let mut waited = Duration::ZERO;
    while stage.failures(Cause::ClientBodyTimeout) == 0 && waited < Duration::from_secs(60) {
        stage.tape.sleep(Duration::from_secs(1));
        waited += Duration::from_secs(1);
        if stage.deadline_has_passed(client) {
            stage.wait_for_deadline(client);
        } else {
            stage.says(client, "x");
        }
    }
    assert!(waited <= Duration::from_secs(7), "{waited:?}");
    assert_eq!(status(&stage.sent(client)), "408");
}

#[test]
fn body_at_the_minimum_rate_completes() {
    let mut stage = Stage::new(&with(|http| http.min_body_bytes_per_s = 100));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    let server = stage.connected();
    for _ in 0..50 {
        stage.tape.sleep(Duration::from_secs(1));
        assert!(!stage.deadline_has_passed(client));
        stage.says(client, "x".repeat(100));
    }
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn time_in_which_the_server_takes_nothing_does_not_count_against_the_client() {
    let mut stage = Stage::new(&with(|http| http.min_body_bytes_per_s = 100));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    let server = stage.connected();
    stage.tape.stuck = true;
    stage.says(client, "x".repeat(2000));
    assert!(stage.is_paused(client));
    stage.tape.sleep(Duration::from_secs(1));
    stage.batch(vec![]);
    assert!(!stage.deadline_has_passed(client), "it is not even read");
    stage.tape.stuck = false;
    stage.batch(vec![]);
    stage.tape.sleep(Duration::from_millis(900));
    stage.batch(vec![weir_proxy::io::Event::Drained { conn: server }]);
    stage.tape.sleep(Duration::from_secs(3));
    assert!(!stage.deadline_has_passed(client), "its grace period begins again");
}

#[test]
fn upload_whose_client_takes_its_response_slowly_goes_on() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, POST);
    let server = stage.connected();
    stage.tape.stuck = true;
    stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{}", "x".repeat(3000)));
    assert!(stage.is_paused(server));
    for _ in 0..3 {
        stage.tape.takes(client, 100);
        assert_eq!(stage.wait_for_deadline(client).as_secs(), 60);
        assert_eq!(stage.closed(client), None);
    }
    stage.wait_for_deadline(client);
    assert!(stage.closed(client).is_some());
    assert_eq!((stage.failures(Cause::ClientStalled), stage.failures(Cause::ClientBodyTimeout)), (1, 0));
}
