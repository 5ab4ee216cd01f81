//! Clients whose connections begin with a PROXY header.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::io::{Close, Conn, Event};
use weir_telemetry::Cause;

use crate::{
    GET, OK, status,
    tape::{Stage, l4_plan, plan, with_another_pool},
};

const LINE: &str = "PROXY TCP4 192.0.2.7 203.0.113.1 5000 443\r\n";
const SENDER: &str = "10.9.0.1:4000";
const LISTENER: &str = "10.0.0.1:80";

/// The plan, for clients behind the proxies of 10.9.0.0/16.
fn introduced(mut plan: api::Plan) -> api::Plan {
    let tcp = api::TcpProfile { proxy_protocol_sources: vec!["10.9.0.0/16".into()], ..Default::default() };
    plan.virtual_services[0].tcp = Some(tcp);
    if let Some(http) = &mut plan.virtual_services[0].http {
        (http.xff, http.xff_name, http.post_accept_timeout_ms) = (true, "X-Forwarded-For".into(), 6_000);
    }
    plan
}

fn stage(plan: api::Plan) -> (Stage, Conn) {
    let mut stage = Stage::new(&introduced(plan));
    let client = stage.client_from(LISTENER, SENDER);
    (stage, client)
}

/// A header of version 2 for the client of `LINE`.
fn binary(command: u8, tlvs: &[u8]) -> Vec<u8> {
    let ends = [192, 0, 2, 7, 203, 0, 113, 1, 0x13, 0x88, 0x01, 0xbb];
    let length = ((ends.len() + tlvs.len()) as u16).to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", &[0x20 | command, 0x11][..], &length, &ends, tlvs].concat()
}

#[test]
fn client_is_who_the_header_names() {
    for header in [LINE.as_bytes().to_vec(), binary(1, b"")] {
        let (mut stage, client) = stage(plan(1));
        stage.says(client, [&header, GET.as_bytes()].concat());
        let server = stage.connected();
        let request = stage.sent(server);
        assert!(request.contains("X-Forwarded-For: 192.0.2.7\r\n"), "{request}");
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200");
        stage.says(client, GET);
        assert!(stage.sent(server).contains("X-Forwarded-For: 192.0.2.7\r\n"), "for each request");
    }
}

#[test]
fn header_may_come_byte_by_byte() {
    let (mut stage, client) = stage(plan(1));
    for byte in [LINE.as_bytes(), GET.as_bytes()].concat() {
        stage.says(client, [byte]);
    }
    let server = stage.connected();
    assert!(stage.sent(server).contains("X-Forwarded-For: 192.0.2.7\r\n"));
}

#[test]
fn sender_that_speaks_for_itself_keeps_its_address() {
    for header in [binary(0, b""), b"PROXY UNKNOWN\r\n".to_vec()] {
        let (mut stage, client) = stage(plan(1));
        stage.says(client, [&header, GET.as_bytes()].concat());
        let server = stage.connected();
        assert!(stage.sent(server).contains("X-Forwarded-For: 10.9.0.1\r\n"));
    }
}

#[test]
fn client_from_elsewhere_is_refused_and_counted() {
    let (mut stage, _) = stage(plan(1));
    let stranger = stage.client_from(LISTENER, "10.8.0.1:4000");
    assert_eq!(stage.closed(stranger), Some(Close::Abort));
    assert_eq!(stage.failures(Cause::ClientSourceUntrusted), 1);
    stage.says(stranger, format!("{LINE}{GET}"));
    assert_eq!((stage.sent(stranger), stage.dials()), (String::new(), 0));
}

#[test]
fn connection_without_a_header_is_closed_and_counted() {
    for start in [GET, "PROXY TCP4 nobody\r\n", "\r\n\r\n\0\r\nQUIT\nx###"] {
        let (mut stage, client) = stage(plan(1));
        stage.says(client, start);
        assert_eq!(stage.closed(client), Some(Close::Abort), "{start}");
        assert_eq!(stage.failures(Cause::ClientProxyHeader), 1);
        assert_eq!((stage.sent(client), stage.dials()), (String::new(), 0));
        assert!(stage.proxy.is_idle());
    }
}

#[test]
fn header_has_to_come_in_time() {
    let (mut stage, client) = stage(plan(1));
    stage.says(client, "PROXY TCP4 ");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(6));
    assert_eq!((stage.closed(client), stage.failures(Cause::ClientAcceptTimeout)), (Some(Close::Flush), 1));
    let (mut stage, client) = self::stage(l4_plan(1));
    stage.says(client, "PROXY TCP4 ");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(30));
    assert_eq!((stage.closed(client).is_some(), stage.dials()), (true, 0));
}

#[test]
fn first_request_has_to_come_in_the_time_that_is_left() {
    let (mut stage, client) = stage(plan(1));
    stage.tape.sleep(Duration::from_secs(2));
    stage.says(client, LINE);
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(4));
    assert_eq!((stage.closed(client), stage.failures(Cause::ClientAcceptTimeout)), (Some(Close::Flush), 1));
}

#[test]
fn probe_that_only_connects_is_no_failure() {
    for (said, failures) in [("", 0), ("PROXY ", 1)] {
        let (mut stage, client) = stage(plan(1));
        stage.says(client, said);
        stage.batch(vec![Event::Eof { conn: client }]);
        assert!(stage.closed(client).is_some());
        assert_eq!(stage.failures(Cause::ClientProxyHeader), failures, "{said}");
        assert!(stage.proxy.is_idle());
    }
}

#[test]
fn tunnel_begins_behind_the_header() {
    let (mut stage, client) = stage(l4_plan(1));
    assert_eq!(stage.dials(), 0, "nobody knows yet whether it is a client");
    stage.says(client, format!("{LINE}EHLO a"));
    let server = stage.connected();
    assert_eq!(stage.sent(server), "EHLO a");
    assert!(!stage.has_deadline(client));
    stage.says(server, "250 ok");
    assert_eq!(stage.sent(client), "250 ok");
}

#[test]
fn tunnel_is_served_by_the_service_as_it_is_behind_the_header() {
    let before = introduced(l4_plan(1));
    let mut stage = Stage::new(&before);
    let client = stage.client_from(LISTENER, SENDER);
    stage.says(client, &LINE[..20]);
    stage.replace(&with_another_pool(&before));
    stage.says(client, &LINE[20..]);
    assert_eq!((stage.dials(), stage.dialled_address().as_str()), (1, "10.1.9.9:8000"));
    assert_eq!(stage.closed(client), None);
}

#[test]
fn client_is_balanced_by_the_address_in_the_header() {
    let mut plan = introduced(l4_plan(8));
    plan.pools[0].algorithm = api::Algorithm::ConsistentHash as i32;
    let mut stage = Stage::new(&plan);
    let mut picked = |client: u32| {
        let conn = stage.client_from(LISTENER, SENDER);
        stage.says(conn, format!("PROXY TCP4 192.0.2.{client} 203.0.113.1 5000 443\r\n"));
        stage.dialled_address()
    };
    let first: Vec<_> = (0..20).map(&mut picked).collect();
    let again: Vec<_> = (0..20).map(&mut picked).collect();
    assert_eq!(first, again);
    assert!(first.iter().any(|server| *server != first[0]), "clients of one sender are not one client");
}

/// A plan of layer 4 that tells servers of its clients in this version.
fn telling(version: api::ProxyProtocol) -> api::Plan {
    let mut plan = l4_plan(1);
    plan.virtual_services[0].l4 = Some(api::L4Profile { proxy_protocol: version as i32, ..Default::default() });
    plan
}

#[test]
fn server_learns_what_the_header_said() {
    let (mut stage, client) = stage(telling(api::ProxyProtocol::V1));
    stage.says(client, binary(1, b""));
    let server = stage.connected();
    assert_eq!(stage.sent(server), LINE);

    let tlvs = [&[0xe0, 0, 4][..], b"mine", &[4, 0, 1, 0]].concat();
    let (mut stage, client) = self::stage(telling(api::ProxyProtocol::V2));
    stage.says(client, binary(1, &tlvs));
    let server = stage.connected();
    assert_eq!(stage.sent_bytes(server), binary(1, &tlvs[..7]), "padding is not passed on");
}

#[test]
fn sender_holds_the_places_of_its_clients() {
    let (mut stage, client) = stage(plan(1));
    stage.says(client, LINE);
    stage.batch(vec![Event::Eof { conn: client }]);
    assert!(stage.closed(client).is_some());
    assert!(stage.proxy.is_idle());
    let service = stage.proxy.counters().service(0).expect("the service has counters");
    assert_eq!((service.connections, service.open_connections), (1, 0));
}
