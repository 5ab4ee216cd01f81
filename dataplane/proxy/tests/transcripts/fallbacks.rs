//! Requests that a server of HTTP/2 wants by HTTP/1.1 (HTTP_1_1_REQUIRED).

use weir_proxy::io::Close;
use weir_telemetry::Cause;
use weir_wire::http2::{Code, Settings};

use crate::{
    GET, OK,
    origin::{Origin, asks, ready, to_http2},
    status,
    tape::{Stage, plan},
};

#[test]
fn request_that_a_server_wants_by_http1_goes_by_http1() {
    let (mut stage, mut origin) = ready(Settings::default());
    let put = "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
    let clients = [asks(&mut stage, put), asks(&mut stage, GET)];
    origin.hears(&mut stage);
    origin.heard();
    origin.resets(&mut stage, 3, Code::Http11Required);
    let server = stage.connected();
    assert_eq!(stage.sent(server), "PUT /a HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    stage.says(clients[0], "1\r\nc\r\n0\r\n\r\n");
    assert_eq!(stage.sent(server), "1\r\nc\r\n0\r\n\r\n");
    stage.says(server, OK);
    // The connection of HTTP/2 and its other streams go on.
    origin.answers(&mut stage, 5, "ok");
    assert_eq!(clients.map(|client| status(&stage.sent(client)).to_owned()), ["200", "200"]);
    // The next request begins with HTTP/2, and finds the connection of HTTP/1.1.
    stage.says(clients[0], GET);
    origin.hears(&mut stage);
    assert_eq!(origin.heard(), ["7: GET / host: a; all"]);
    origin.resets(&mut stage, 7, Code::Http11Required);
    assert_eq!(stage.sent(server), "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(clients[0])), stage.dials()), ("200", 2));
    assert_eq!((stage.failures(Cause::NoHttp2), stage.blocks_in_use()), (0, 0));
}

#[test]
fn request_that_may_not_be_sent_again_gets_no_answer_by_http1() {
    let (mut stage, mut origin) = ready(Settings::default());
    let post = asks(&mut stage, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
    let early = asks(&mut stage, GET);
    let begun = asks(&mut stage, GET);
    origin.hears(&mut stage);
    origin.resets(&mut stage, 3, Code::Http11Required);
    let interim = origin.head(5, 103, &[], false);
    origin.says(&mut stage, &interim);
    origin.resets(&mut stage, 5, Code::Http11Required);
    let head = origin.head(7, 200, &[("content-length", "2")], false);
    origin.says(&mut stage, &head);
    origin.resets(&mut stage, 7, Code::Http11Required);
    assert_eq!(status(&stage.sent(post)), "502");
    assert!(stage.sent(early).contains("HTTP/1.1 502 "));
    assert!(stage.closed(begun).is_some());
    assert_eq!((stage.failures(Cause::NoHttp2), stage.dials()), (3, 1));
}

#[test]
fn request_by_http1_counts_as_a_connection() {
    for (most, dials, answer) in [(1, 1, "502"), (2, 2, "200")] {
        let mut narrow = to_http2(plan(1));
        narrow.pools[0].servers[0].max_connections = most;
        let mut stage = Stage::new(&narrow);
        let clients = [asks(&mut stage, GET), asks(&mut stage, GET), asks(&mut stage, GET)];
        let mut origin = Origin::new(&mut stage);
        origin.resets(&mut stage, 1, Code::Http11Required);
        assert_eq!(stage.dials(), dials);
        if dials > 1 {
            let server = stage.connected();
            stage.says(server, OK);
        }
        assert_eq!(status(&stage.sent(clients[0])), answer, "at most {most}");
    }
}

#[test]
fn client_with_connections_of_its_own_has_one_for_http1() {
    let mut plan = to_http2(plan(1));
    plan.virtual_services[0].http.as_mut().expect("HTTP").connection_multiplexing = false;
    let mut stage = Stage::new(&plan);
    let client = asks(&mut stage, GET);
    let mut origin = Origin::new(&mut stage);
    origin.resets(&mut stage, 1, Code::Http11Required);
    let server = stage.connected();
    assert_eq!(stage.sent(server), "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(client)), stage.closed(origin.conn)), ("200", Some(Close::Flush)));
    stage.says(client, GET);
    assert_eq!((stage.sent(server).as_str(), stage.dials()), ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", 2));
}
