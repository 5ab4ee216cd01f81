//! Requests sent on an idle connection that the server had closed already. The client of an idempotent request does not
//! notice.

use weir_proxy::io::{Close, Conn, Event, Gone};

use crate::{GET, OK, status, tape::Stage, warm};

/// A request sent on a connection that has served one before.
fn swallowed(request: &str) -> (Stage, Conn, Conn) {
    let (mut stage, client, server) = warm(1);
    stage.says(client, request);
    assert_ne!(stage.sent(server), "");
    (stage, client, server)
}

#[test]
fn idempotent_request_that_a_reused_connection_swallowed_is_sent_once_more() {
    for request in [
        GET,
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        "DELETE /a HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
        "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    ] {
        for end in [|conn| Event::Eof { conn }, |conn| Event::Gone { conn, why: Gone::Reset }] {
            let (mut stage, client, server) = warm(1);
            stage.says(client, request);
            let first = stage.sent(server);
            stage.batch(vec![end(server)]);
            assert_eq!(stage.dials(), 2, "{request}");
            let fresh = stage.connected();
            assert_eq!(stage.sent(fresh), first);
            stage.says(fresh, "HTTP/1.1 204 No Content\r\n\r\n");
            assert_eq!(status(&stage.sent(client)), "204");
            assert_eq!(stage.closed(client), None);
            assert_eq!(stage.blocks_in_use(), 0);
        }
    }
}

#[test]
fn body_that_is_still_coming_follows_the_repeated_request() {
    let (mut stage, client, server) = swallowed("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    stage.batch(vec![Event::Eof { conn: server }]);
    let fresh = stage.connected();
    assert!(stage.sent(fresh).ends_with("\r\n\r\nhalf"));
    stage.says(client, "rest");
    assert_eq!(stage.sent(fresh), "rest");
    stage.says(fresh, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn request_that_must_not_be_repeated_is_answered_502() {
    for request in [
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "PATCH / HTTP/1.1\r\nHost: a\r\n\r\n",
        "LOCK / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let (mut stage, client, server) = swallowed(request);
        stage.batch(vec![Event::Eof { conn: server }]);
        assert_eq!((stage.dials(), status(&stage.sent(client))), (1, "502"), "{request}");
    }
}

#[test]
fn request_is_repeated_once() {
    let (mut stage, client, server) = swallowed(GET);
    stage.batch(vec![Event::Eof { conn: server }]);
    let fresh = stage.connected();
    stage.batch(vec![Event::Eof { conn: fresh }]);
    assert_eq!((stage.dials(), status(&stage.sent(client))), (2, "502"));
}

#[test]
fn first_request_on_a_connection_is_not_repeated() {
    let (mut stage, _, _) = warm(1);
    let others = stage.client();
    stage.says(others, GET);
    let client = stage.client();
    stage.says(client, GET);
    let fresh = stage.connected();
    stage.batch(vec![Event::Eof { conn: fresh }]);
    assert_eq!(status(&stage.sent(client)), "502");
}

#[test]
fn request_is_not_repeated_once_any_byte_of_a_response_has_come() {
    for begun in ["H", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Le"] {
        let (mut stage, client, server) = swallowed(GET);
        stage.says(server, begun);
        stage.batch(vec![Event::Eof { conn: server }]);
        assert_eq!(stage.dials(), 1, "{begun}");
        assert!(stage.sent(client).contains("502"));
    }
}

#[test]
fn repeated_request_takes_no_other_idle_connection() {
    let (mut stage, client, server) = warm(1);
    let others = stage.client();
    stage.says(client, GET);
    stage.says(others, GET);
    let second = stage.connected();
    stage.says(second, OK);
    assert_eq!(stage.closed(second), None, "it stands idle");
    stage.sent(second);
    stage.batch(vec![Event::Eof { conn: server }]);
    assert_eq!(stage.sent(second), "", "it may be as dead as the first");
    let fresh = stage.connected();
    assert!(stage.sent(fresh).starts_with("GET"));
    stage.says(fresh, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn body_too_long_to_keep_is_not_repeated() {
    let (mut stage, client, server) = swallowed("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n");
    for _ in 0..4 {
        stage.says(client, "x".repeat(1000));
    }
    stage.sent(server);
    stage.batch(vec![Event::Eof { conn: server }]);
    assert_eq!((stage.dials(), status(&stage.sent(client))), (1, "502"));
    assert_eq!(stage.closed(server), Some(Close::Abort));
}

#[test]
fn repeated_request_goes_to_another_server_if_this_one_refuses_connections() {
    let (mut stage, client, first) = warm(2);
    stage.says(client, GET);
    let second = stage.connected();
    stage.says(second, OK);
    stage.says(client, GET);
    assert_ne!(stage.sent(first), "");
    stage.batch(vec![Event::Eof { conn: first }]);
    let fresh = stage.dialled_address();
    stage.gone(stage.dialled(), Gone::Refused);
    assert_ne!(stage.dialled_address(), fresh);
    let other = stage.connected();
    stage.sent(client);
    stage.says(other, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}
