//! Requests that go to their servers at the port that the client has connected to.

use weir_api::dataplane::v1 as api;
use weir_proxy::io::{Conn, Gone};

use crate::{
    GET, OK,
    secure_servers::secure,
    tape::{Stage, plan},
};

fn at_service_ports(mut plan: api::Plan) -> api::Plan {
    let listener = api::Listener { port: 8080, ..plan.virtual_services[0].listeners[0].clone() };
    plan.virtual_services[0].listeners.push(listener);
    plan.pools[0].use_service_port = true;
    plan
}

fn client_of(stage: &mut Stage, port: u16) -> Conn {
    stage.client_from(&format!("10.0.0.1:{port}"), "10.2.0.1:4000")
}

#[test]
fn requests_of_two_ports_share_no_connection() {
    let mut plan = at_service_ports(plan(1));
    let mut stage = Stage::new(&plan);
    let mut pairs = Vec::new();
    for port in [80, 8080] {
        let client = client_of(&mut stage, port);
        stage.says(client, GET);
        assert_eq!(stage.dialled_address(), format!("10.1.0.1:{port}"));
        let server = stage.connected();
        stage.says(server, OK);
        pairs.push((client, server));
    }
    for (client, server) in pairs.iter().rev() {
        stage.sent(*client);
        stage.sent(*server);
        stage.says(*client, GET);
        assert!(stage.sent(*server).starts_with("GET "), "on the connection of its port");
        stage.says(*server, OK);
        assert!(stage.sent(*client).starts_with("HTTP/1.1 200 "));
    }
    assert_eq!(stage.dials(), 2);
    plan.revision += 1;
    plan.pools[0].use_service_port = false;
    stage.replace(&plan);
    stage.says(pairs[1].0, GET);
    assert_eq!((stage.dialled_address().as_str(), stage.dials()), ("10.1.0.1:8000", 3));
}

#[test]
fn streams_of_two_ports_share_no_connection() {
    let mut plan = at_service_ports(plan(1));
    plan.pools[0].http2 = Some(api::Http2ToServers { max_control_frames: 1000, max_field_bytes: 4096 });
    let mut stage = Stage::new(&plan);
    for (port, dials) in [(80, 1), (80, 1), (8080, 2), (80, 2), (8080, 2)] {
        let client = client_of(&mut stage, port);
        stage.says(client, GET);
        assert_eq!(stage.dials(), dials, "{port}");
    }
    assert_eq!(stage.dialled_address(), "10.1.0.1:8080");
}

#[test]
fn next_server_is_tried_at_the_same_port() {
    let mut stage = Stage::new(&at_service_ports(plan(2)));
    let client = client_of(&mut stage, 8080);
    stage.says(client, GET);
    let (first, dead) = (stage.dialled_address(), stage.dialled());
    stage.gone(dead, Gone::Refused);
    let next = stage.dialled_address();
    assert!(first != next && first.ends_with(":8080") && next.ends_with(":8080"), "{first}, {next}");
}

#[test]
fn request_of_a_client_without_tls_goes_in_plain_text_where_the_port_says_so() {
    for (by_service, begins) in [(true, b'G'), (false, 22)] {
        let mut plan = secure(at_service_ports(plan(1)));
        plan.pools[0].tls_by_service = by_service;
        let mut stage = Stage::new(&plan);
        let client = client_of(&mut stage, 8080);
        stage.says(client, GET);
        assert_eq!(stage.dialled_address(), "10.1.0.1:8080");
        let server = stage.connected();
        assert_eq!(stage.sent_bytes(server)[0], begins);
    }
}
