//! Requests that a server of HTTP/2 wants by HTTP/1.1 (HTTP_1_1_REQUIRED).

use weir_api::dataplane::v1::Plan;
use weir_proxy::io::{Close, Gone};
use weir_telemetry::Cause;
use weir_wire::http2::{Code, Settings};

use crate::{
    GET, OK,
    origin::{Origin, asks, ready, to_http2},
    status,
    tape::{Stage, l4_plan, plan},
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

/// At most two connections to the server.
fn pair(mut plan: Plan) -> Stage {
    plan.pools[0].servers[0].max_connections = 2;
    Stage::new(&to_http2(plan))
}

#[test]
fn connections_for_http1_count_beside_those_that_carry_requests() {
    let mut stage = pair(plan(1));
    let falls_back = asks(&mut stage, GET);
    let one = Settings { max_concurrent_streams: Some(1), ..Settings::default() };
    let mut origin = Origin::accept(&mut stage, one);
    origin.resets(&mut stage, 1, Code::Http11Required);
    let carried = asks(&mut stage, GET);
    let third = asks(&mut stage, GET);
    assert_eq!((status(&stage.sent(third)), stage.dials()), ("503", 2));
    let server = stage.connected();
    stage.says(server, OK);
    origin.hears(&mut stage);
    origin.answers(&mut stage, 3, "ok");
    assert_eq!([falls_back, carried].map(|client| status(&stage.sent(client)).to_owned()), ["200", "200"]);
}

#[test]
fn requests_on_a_connection_that_takes_no_more_are_no_connections() {
    let mut stage = pair(plan(1));
    let carried = [asks(&mut stage, GET), asks(&mut stage, GET), asks(&mut stage, GET)];
    let mut leaving = Origin::new(&mut stage);
    leaving.connection.go_away(Code::NoError);
    leaving.says(&mut stage, &[]);
    let falls_back = asks(&mut stage, GET);
    let mut origin = Origin::new(&mut stage);
    origin.resets(&mut stage, 1, Code::Http11Required);
    let server = stage.connected();
    assert_eq!((stage.sent(server).as_str(), stage.dials()), ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", 3));
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(falls_back)), "200");
    for (client, id) in carried.into_iter().zip([1, 3, 5]) {
        leaving.answers(&mut stage, id, "ok");
        assert_eq!(status(&stage.sent(client)), "200");
    }
    assert_eq!(stage.closed(leaving.conn), Some(Close::Flush));
}

#[test]
fn requests_that_a_lost_connection_carried_are_no_connections() {
    let mut stage = pair(plan(1));
    asks(&mut stage, GET);
    let mut lost = Origin::new(&mut stage);
    lost.answers(&mut stage, 1, "ok");
    let clients = [asks(&mut stage, GET), asks(&mut stage, GET), asks(&mut stage, GET)];
    stage.gone(lost.conn, Gone::Reset);
    let mut next = Origin::new(&mut stage);
    for (client, id) in clients.into_iter().zip([1, 3, 5]) {
        next.answers(&mut stage, id, "ok");
        assert_eq!((status(&stage.sent(client)), stage.dials()), ("200", 2));
    }
}

/// `plan` with a virtual service of layer 4 at port 81, which has the same pool.
fn with_tunnels(mut plan: Plan) -> Plan {
    let mut layer4 = l4_plan(1).virtual_services.remove(0);
    (layer4.uuid, layer4.name, layer4.listeners[0].port) = ("layer 4".into(), "layer 4".into(), 81);
    plan.virtual_services.push(layer4);
    plan
}

#[test]
fn unused_connection_gives_way_to_a_tunnel() {
    let mut stage = pair(with_tunnels(plan(1)));
    let client = asks(&mut stage, GET);
    let mut first = Origin::new(&mut stage);
    let tunnel = stage.client_from("10.0.0.1:81", "10.2.0.2:4000");
    stage.connected();
    first.answers(&mut stage, 1, "ok");
    assert_eq!(status(&stage.sent(client)), "200");
    let second = stage.client_from("10.0.0.1:81", "10.2.0.2:4001");
    assert_eq!(stage.closed(first.conn), Some(Close::Flush));
    stage.connected();
    let third = stage.client_from("10.0.0.1:81", "10.2.0.2:4002");
    assert_eq!([tunnel, second, third].map(|tunnel| stage.closed(tunnel).is_some()), [false, false, true]);
    assert_eq!(stage.dials(), 3);
}

#[test]
fn tunnel_goes_to_another_server_if_one_has_no_room() {
    let mut plan = with_tunnels(plan(2));
    plan.pools[0].servers[1].max_connections = 3;
    let mut stage = pair(plan);
    let tunnels = [4000, 4001, 4002, 4003, 4004, 4005].map(|port| {
        let tunnel = stage.client_from("10.0.0.1:81", &format!("10.2.0.2:{port}"));
        if stage.closed(tunnel).is_none() {
            stage.connected();
        }
        tunnel
    });
    assert_eq!(tunnels.map(|tunnel| stage.closed(tunnel).is_some()), [false, false, false, false, false, true]);
}

#[test]
fn tunnels_share_the_limit_with_connections_that_carry_requests() {
    let mut stage = pair(with_tunnels(plan(1)));
    let clients = [asks(&mut stage, GET), asks(&mut stage, GET), asks(&mut stage, GET)];
    let mut origin = Origin::new(&mut stage);
    let tunnels = [(); 2].map(|()| stage.client_from("10.0.0.1:81", "10.2.0.2:4000"));
    assert_eq!(
        tunnels.map(|tunnel| stage.closed(tunnel).is_some()),
        [false, true],
        "three requests are one connection"
    );
    assert_eq!(stage.dials(), 2);
    for (client, id) in clients.into_iter().zip([1, 3, 5]) {
        origin.answers(&mut stage, id, "ok");
        assert_eq!(status(&stage.sent(client)), "200");
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
