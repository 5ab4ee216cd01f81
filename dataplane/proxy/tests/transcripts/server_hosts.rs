//! What requests to servers have as Host, where the operator wants another one than the client's.

use weir_api::dataplane::v1::Plan;
use weir_proxy::io::Gone;

use crate::{
    GET, OK,
    calls::CALL,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    tape::{Stage, plan},
};

fn with_hosts(mut plan: Plan) -> Plan {
    for (server, host) in plan.pools[0].servers.iter_mut().zip(["one.test:8000", "two.test"]) {
        server.host = host.into();
    }
    plan
}

fn translating(mut plan: Plan) -> Plan {
    plan.virtual_services[0].http.as_mut().expect("HTTP").host_to_servers = "inner.test".into();
    plan
}

/// What the server of one request hears.
fn heard(stage: &mut Stage, request: &str) -> String {
    let client = stage.client();
    stage.says(client, request);
    let server = stage.connected();
    let heard = stage.sent(server);
    stage.says(server, OK);
    heard
}

#[test]
fn each_server_has_its_own_host_also_after_a_failed_connect() {
    let mut stage = Stage::new(&with_hosts(plan(2)));
    let client = stage.client();
    stage.says(client, "POST /a HTTP/1.1\r\nX-Host: a\r\nhost: shop.test\r\nContent-Length: 9\r\n\r\nHost: b\r\n");
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    let dialled = stage.dialled();
    stage.gone(dialled, Gone::Refused);
    let server = stage.connected();
    let heard = stage.sent(server);
    assert!(heard.contains("X-Host: a\r\nHost: two.test\r\n") && !heard.contains("shop.test"), "{heard}");
    assert!(heard.ends_with("\r\n\r\nHost: b\r\n"), "{heard}");
}

#[test]
fn request_has_the_host_of_the_pool_in_force() {
    let mut plan = with_hosts(plan(1));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    for (revision, host) in [(2, "one.test:8000"), (3, "other.test"), (4, "")] {
        stage.says(client, GET);
        // Connections of a pool with other hosts are closed.
        let server = stage.connected();
        let heard = stage.sent(server);
        let wanted = if host.is_empty() { "Host: a\r\n".to_owned() } else { format!("Host: {host}\r\n") };
        assert!(heard.contains(&wanted), "{heard}");
        stage.says(server, OK);
        plan.revision = revision;
        plan.pools[0].servers[0].host = if revision == 2 { "other.test".into() } else { String::new() };
        stage.replace(&plan);
    }
}

#[test]
fn servers_of_http2_have_it_as_authority() {
    let mut stage = Stage::new(&with_hosts(http2(to_http2(plan(1)))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "POST", CALL, true);
    let mut origin = Origin::new(&mut stage);
    let heard = origin.heard().join("\n");
    assert!(heard.contains("one.test:8000") && heard.contains("te: trailers"), "{heard}");
}

#[test]
fn host_of_the_virtual_service_is_in_requests_and_that_of_the_client_in_responses() {
    let mut stage = Stage::new(&translating(plan(1)));
    let client = stage.client();
    stage.says(client, "GET / HTTP/1.1\r\nHost: shop.test:8080\r\n\r\n");
    let server = stage.connected();
    let heard = stage.sent(server);
    assert!(heard.contains("Host: inner.test\r\n") && !heard.contains("shop.test"), "{heard}");
    stage.says(
        server,
        "HTTP/1.1 302 Found\r\nLocation: http://inner.test/a\r\nSet-Cookie: a=b; Domain=inner.test\r\nContent-Length: 0\r\n\r\n",
    );
    let got = stage.sent(client);
    assert!(got.contains("Location: http://shop.test:8080/a\r\n"), "{got}");
    assert!(got.contains("Set-Cookie: a=b; Domain=shop.test\r\n"), "{got}");
}

#[test]
fn port_that_the_scheme_has_anyway_is_that_of_no_other_service() {
    for (own, location, wanted) in [
        ("inner.test", "http://inner.test:80/a", "http://shop.test/a"),
        ("inner.test", "https://inner.test:443/a", "https://shop.test/a"),
        ("inner.test", "//inner.test:80/a", "//shop.test/a"),
        ("inner.test:80", "http://inner.test:80/a", "http://shop.test/a"),
        ("inner.test", "https://inner.test:80/a", "https://inner.test:80/a"),
        ("inner.test", "http://inner.test:443/a", "http://inner.test:443/a"),
        ("inner.test:8080", "http://inner.test:80/a", "http://inner.test:80/a"),
    ] {
        let mut plan = plan(1);
        plan.virtual_services[0].http.as_mut().expect("HTTP").host_to_servers = own.into();
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n");
        let server = stage.connected();
        stage.says(server, format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"));
        let got = stage.sent(client);
        assert!(got.contains(&format!("Location: {wanted}\r\n")), "{own}: {got}");
    }
}

#[test]
fn servers_that_stay_keep_their_connections_where_others_have_other_hosts() {
    for with_http2 in [false, true] {
        let make = |plan| if with_http2 { to_http2(with_hosts(plan)) } else { with_hosts(plan) };
        let mut stage = Stage::new(&make(plan(2)));
        let mut known = Vec::new();
        for _ in 0..2 {
            let client = stage.client();
            stage.says(client, GET);
            match with_http2 {
                true => {
                    let mut origin = Origin::new(&mut stage);
                    origin.answers(&mut stage, 1, "ok");
                    known.push(origin.conn);
                }
                false => {
                    let server = stage.connected();
                    stage.says(server, OK);
                    known.push(server);
                }
            }
        }
        let closed = |stage: &Stage| known.iter().filter(|conn| stage.closed(**conn).is_some()).count();
        let mut changed = make(plan(3));
        changed.pools[0].servers.rotate_right(1);
        changed.pools[0].servers[0].host = "three.test".into();
        changed.revision = 2;
        stage.replace(&changed);
        assert_eq!(closed(&stage), 0, "a server more");
        changed.pools[0].servers[1].host = "other.test".into();
        changed.revision = 3;
        stage.replace(&changed);
        assert_eq!(closed(&stage), 1, "one has another host");
    }
}

#[test]
fn connection_in_use_stays_after_another_server_has_come_and_ends_if_its_host_is_another() {
    for (is_other, stays) in [(false, true), (true, false)] {
        let mut stage = Stage::new(&with_hosts(plan(1)));
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        let mut changed = with_hosts(plan(2));
        changed.pools[0].servers.rotate_right(1);
        if is_other {
            changed.pools[0].servers[1].host = "other.test".into();
        }
        changed.revision = 2;
        stage.replace(&changed);
        stage.says(server, OK);
        assert_eq!(stage.closed(server).is_none(), stays);
    }
}

#[test]
fn host_of_a_server_goes_before_that_of_the_virtual_service() {
    let mut stage = Stage::new(&translating(with_hosts(plan(1))));
    assert!(heard(&mut stage, GET).contains("Host: one.test:8000\r\n"));
}

#[test]
fn request_without_a_host_gets_one_too() {
    for plan in [translating(plan(1)), with_hosts(plan(1))] {
        let mut stage = Stage::new(&plan);
        let heard = heard(&mut stage, "GET / HTTP/1.0\r\n\r\n");
        assert_eq!(heard.matches("Host: ").count(), 1, "{heard}");
        assert!(heard.contains("Host: inner.test\r\n") || heard.contains("Host: one.test:8000\r\n"), "{heard}");
    }
}
