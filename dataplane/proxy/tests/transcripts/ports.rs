//! Virtual services that have other profiles for some of their ports.

use weir_api::dataplane::v1 as api;
use weir_proxy::io::Close;

use crate::{
    GET, OK,
    datagrams::udp_plan,
    status,
    tape::{Stage, plan},
};

const PEER: &str = "10.2.0.1:4000";
const WEB: &str = "10.0.0.1:80";
const REQUEST_HEADERS: usize = 8;
const TUNNEL: &str = "10.0.0.1:8080";

/// HTTP at port 80, and layer 4 at port 8080.
fn varied() -> api::Plan {
    let mut plan = plan(1);
    let service = &mut plan.virtual_services[0];
    let tunnels = api::VirtualService {
        l4: Some(api::L4Profile::default()),
        tcp: service.tcp.clone(),
        pool_uuid: service.pool_uuid.clone(),
        ..api::VirtualService::default()
    };
    service.variants.push(tunnels);
    let listener = api::Listener { port: 8080, variant: 1, ..service.listeners[0].clone() };
    service.listeners.push(listener);
    plan
}

#[test]
fn port_of_layer_4_passes_on_what_port_of_http_reads() {
    let mut stage = Stage::new(&varied());
    let tunnel = stage.client_from(TUNNEL, PEER);
    let server = stage.connected();
    stage.says(tunnel, "no request");
    assert_eq!(stage.sent(server), "no request");
    let browser = stage.client_from(WEB, PEER);
    stage.says(browser, "no request\r\n\r\n");
    assert_eq!(status(&stage.sent(browser)), "400");
    let browser = stage.client_from(WEB, PEER);
    stage.says(browser, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(browser)), "200");
    let counted = stage.proxy.counters().service(0).expect("a service");
    assert_eq!((counted.connections, counted.requests), (3, 1), "its ports are counted together");
}

/// Only the port of HTTP wants header fields in records, and it is not the first part of its virtual service.
#[test]
fn port_with_its_own_profile_has_header_fields_in_records_from_the_first_plan_on() {
    let mut plan = varied();
    let service = &mut plan.virtual_services[0];
    let analytics =
        |all_headers| Some(api::Analytics { all_until_unix_s: u64::MAX, all_headers, ..api::Analytics::default() });
    let tunnels = service.variants.remove(0);
    let web = api::VirtualService { analytics: analytics(true), listeners: Vec::new(), ..service.clone() };
    let mut listeners = std::mem::take(&mut service.listeners);
    (listeners[0].variant, listeners[1].variant) = (1, 0);
    *service = api::VirtualService {
        uuid: service.uuid.clone(),
        name: service.name.clone(),
        listeners,
        analytics: analytics(false),
        variants: vec![api::VirtualService { uuid: String::new(), name: String::new(), ..web }],
        ..tunnels
    };
    let mut stage = Stage::new(&plan);
    let browser = stage.client_from(WEB, PEER);
    stage.says(browser, GET);
    let server = stage.connected();
    stage.says(server, OK);
    let taken = stage.records();
    let fields = String::from_utf8_lossy(taken.record().text(REQUEST_HEADERS)).into_owned();
    assert!(fields.contains("Host: "), "{fields:?}");
}

#[test]
fn tunnel_ends_when_its_port_speaks_http() {
    let mut stage = Stage::new(&varied());
    let tunnel = stage.client_from(TUNNEL, PEER);
    stage.connected();
    let mut plan = varied();
    plan.revision += 1;
    stage.replace(&plan);
    assert_eq!(stage.closed(tunnel), None, "nothing has changed");
    plan.revision += 1;
    plan.virtual_services[0].listeners[1].variant = 0;
    stage.replace(&plan);
    assert_eq!(stage.closed(tunnel), Some(Close::Cut));
}

#[test]
fn one_port_takes_datagrams_and_connections() {
    let mut plan = udp_plan(1, |_| {});
    let service = &mut plan.virtual_services[0];
    let over_tcp = api::VirtualService {
        udp: None,
        tcp: Some(api::TcpProfile { idle_timeout_s: 600, ..api::TcpProfile::default() }),
        listeners: Vec::new(),
        ..service.clone()
    };
    service.variants.push(over_tcp);
    let listener = api::Listener { protocol: 0, variant: 1, ..service.listeners[0].clone() };
    service.listeners.push(listener);
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.asks(PEER, 0), "0 to 10.1.0.1 on 0");
    let client = stage.client_from("10.0.0.1:53", PEER);
    let server = stage.connected();
    stage.says(client, "a question");
    assert_eq!(stage.sent(server), "a question");
    let counted = stage.proxy.counters().service(0).expect("a service");
    assert_eq!((counted.connections, counted.received_datagrams), (2, 1));
}
