//! Heads that are refused, changed or answered by policy.

use std::time::Duration;

use weir_api::dataplane::v1::{Plan, Underscores};
use weir_proxy::io::Close;

use crate::{
    GET, OK, status,
    tape::{Stage, plan},
    warm,
};

fn plan_with(underscores: Underscores) -> Plan {
    let mut plan = plan(1);
    plan.virtual_services[0].http.as_mut().expect("HTTP").underscores = underscores.into();
    plan
}

const UNDERSCORED: &str = "GET / HTTP/1.1\r\nHost: a\r\nX_Id: 7\r\n\r\n";

#[test]
fn request_with_an_underscore_is_refused_where_the_operator_wants_none() {
    let mut stage = Stage::new(&plan_with(Underscores::Refuse));
    let client = stage.client();
    stage.says(client, UNDERSCORED);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("400", 0));
    assert_eq!(stage.closed(client), Some(Close::Linger));
}

#[test]
fn field_with_an_underscore_is_dropped_where_the_operator_wants_none() {
    for (underscores, passes) in [(Underscores::Pass, true), (Underscores::Drop, false)] {
        let mut stage = Stage::new(&plan_with(underscores));
        let client = stage.client();
        stage.says(client, UNDERSCORED);
        let server = stage.connected();
        assert_eq!(stage.sent(server).contains("X_Id: 7\r\n"), passes, "{underscores:?}");
    }
}

#[test]
fn pages_and_responses_without_a_date_get_the_current_second() {
    let (mut stage, client, server) = warm(1);
    stage.tape.sleep(Duration::from_secs(3));
    stage.says(client, GET);
    stage.says(server, OK);
    let answer = stage.sent(client);
    assert!(answer.contains("\r\nDate: Sun, 06 Nov 1994 08:49:40 GMT\r\n"), "{answer}");

    stage.tape.sleep(Duration::from_secs(2));
    stage.says(client, "GET / HTTP/1.1\r\n\r\n");
    let page = stage.sent(client);
    assert_eq!(status(&page), "400");
    assert!(page.contains("\r\nDate: Sun, 06 Nov 1994 08:49:42 GMT\r\n"), "{page}");
}

/// A chunked message with this head and these trailers, in pieces of this size.
fn pieces(head: &str, trailers: &str, piece_bytes: usize) -> Vec<String> {
    let message = format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n{trailers}\r\n");
    message.as_bytes().chunks(piece_bytes).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
}

#[test]
fn fields_that_belong_into_the_head_of_a_request_are_dropped_from_its_trailers() {
    let forged = "X-Forwarded-For: 192.0.2.66\r\nX-Sum: 7\r\nx_forwarded_for: 192.0.2.66\r\nHost: b\r\n\
                  Content_Length: 5\r\nAuthorization: Basic Og==\r\n";
    for (trailers, passed) in
        [(forged, "X-Sum: 7\r\n"), ("Host: b\r\n", ""), ("X-A: b\r\nX-C:\r\n", "X-A: b\r\nX-C:\r\n")]
    {
        for piece_bytes in [1000, 1] {
            let (mut stage, client, server) = warm(1);
            for piece in pieces("POST / HTTP/1.1\r\nHost: a", trailers, piece_bytes) {
                stage.says(client, piece);
            }
            let sent = stage.sent(server);
            let expected = format!("\r\n\r\n2\r\nok\r\n0\r\n{passed}\r\n");
            assert!(sent.ends_with(&expected), "in pieces of {piece_bytes}: {sent}");
            stage.says(server, OK);
            assert_eq!((status(&stage.sent(client)), stage.closed(server)), ("200", None));
        }
    }
}

#[test]
fn trailers_that_frame_a_message_end_it() {
    for trailer in ["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
        let (mut stage, client, server) = warm(1);
        for piece in pieces("POST / HTTP/1.1\r\nHost: a", trailer, 1000) {
            stage.says(client, piece);
        }
        assert_eq!((status(&stage.sent(client)), stage.closed(server)), ("400", Some(Close::Abort)));
    }
}

#[test]
fn fields_that_belong_into_the_head_of_a_response_are_dropped_from_its_trailers() {
    let forged = "Set-Cookie: a=b\r\nX-Sum: 7\r\nStrict-Transport-Security: max-age=0\r\nLocation: /\r\n";
    for piece_bytes in [1000, 1] {
        let (mut stage, client, server) = warm(1);
        stage.says(client, GET);
        for piece in pieces("HTTP/1.1 200 OK", forged, piece_bytes) {
            stage.says(server, piece);
        }
        let answer = stage.sent(client);
        assert!(answer.ends_with("\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n"), "in pieces of {piece_bytes}: {answer}");
        assert_eq!((stage.closed(client), stage.closed(server)), (None, None));
    }
}

#[test]
fn trace_that_may_not_be_passed_on_reaches_no_server() {
    let (mut stage, client, server) = warm(1);
    let trace = |left: u32| format!("TRACE / HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\nMax-Forwards: {left}\r\n\r\n");
    stage.says(client, trace(0));
    let answer = stage.sent(client);
    assert_eq!((status(&answer), stage.sent(server)), ("405", String::new()));
    assert!(answer.contains("\r\nAllow: OPTIONS\r\n") && !answer.contains("a=b"), "{answer}");
    stage.says(client, trace(1));
    assert!(stage.sent(server).contains("\r\nMax-Forwards: 0\r\n"));
}
