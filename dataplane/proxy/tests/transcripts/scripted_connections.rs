//! DataScripts for connections: before TLS, in its handshake, and before a server is chosen for bytes that are not parsed.

use weir_api::dataplane::v1::{self as api, Named, ScriptEvent};
use weir_proxy::io::{Close, Event, Gone};
use weir_telemetry::Cause;
use weir_tls::{ClientConfig, ClientSettings, Group, Provider, Version};

use crate::{
    OK,
    hosted::{Visitor, get, terminating},
    http2::http2,
    records::recording,
    scripts::{documented, scripted, scripted_with},
    status,
    tape::{Stage, l4_plan, plan},
};

const ACCEPT: ScriptEvent = ScriptEvent::TcpClientAccept;
const PRE_CONNECT: ScriptEvent = ScriptEvent::ClientSslPreConnect;
const HELLO: ScriptEvent = ScriptEvent::ClientSslClientHello;
const HANDSHAKE: ScriptEvent = ScriptEvent::SslHandshakeDone;
const BYTES: ScriptEvent = ScriptEvent::L4Request;

/// What scripts have said, by record.
fn said(stage: &mut Stage) -> Vec<String> {
    stage.records().records().iter().map(|record| record.place().2).collect()
}

/// A virtual service that terminates TLS, without children.
fn secure() -> api::Plan {
    let mut plan = terminating(plan(1));
    plan.virtual_services.truncate(1);
    plan.virtual_services[0].hosting = api::Hosting::None.into();
    plan
}

#[test]
fn script_lets_clients_in_or_ends_their_connections() {
    let source = "avi.vs.log('from ', avi.vs.client_ip()) \
        if avi.vs.client_ip() == '192.0.2.1' then avi.vs.close_conn(true) end \
        if avi.vs.client_ip() == '192.0.2.2' then avi.vs.close_conn() end \
        if avi.vs.client_ip() == '192.0.2.3' then avi.pool.select('nine') end";
    for (plan, is_http) in [(plan(1), true), (l4_plan(1), false)] {
        let mut stage = Stage::new(&recording(scripted_with(plan, &[(ACCEPT, source)])));
        let refused = stage.client_from("10.0.0.1:80", "192.0.2.1:4000");
        assert_eq!((stage.closed(refused), stage.dials()), (Some(Close::Abort), 0));
        let refused = stage.client_from("10.0.0.1:80", "192.0.2.2:4000");
        assert_eq!((stage.closed(refused), stage.dials()), (Some(Close::Linger), 0));
        assert_eq!(stage.failures(Cause::ClientDenied), 2);
        assert_eq!(said(&mut stage), ["from 192.0.2.1", "from 192.0.2.2"]);
        let client = stage.client_from("10.0.0.1:80", "192.0.2.3:4000");
        if is_http {
            assert_eq!((stage.closed(client), stage.failures(Cause::ScriptFailed)), (Some(Close::Linger), 1));
            assert_eq!(stage.sent(client), "", "no page for a client that has asked nothing");
            let why = "requests of the connection are still to come in TCP_CLIENT_ACCEPT: choose in HTTP_REQ";
            let fault = format!("from 192.0.2.3\nsteer TCP_CLIENT_ACCEPT:1: avi.pool.select: {why}");
            assert_eq!(said(&mut stage), [fault]);
        } else {
            assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
        }
        let client = stage.client_from("10.0.0.1:80", "192.0.2.4:4000");
        match is_http {
            true => stage.says(client, get("shop.test", "/")),
            false => assert_eq!(stage.dials(), 2),
        }
        assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    }
}

#[test]
fn what_a_script_says_of_a_connection_is_in_the_record_of_its_first_request() {
    let scripts = [(ACCEPT, "avi.vs.log('hello')"), (ScriptEvent::HttpReq, "avi.vs.log(avi.http.get_path())")];
    let mut stage = Stage::new(&recording(scripted(&scripts)));
    let client = stage.client();
    for (path, wanted) in [("/a", "hello\n/a"), ("/b", "/b")] {
        stage.says(client, get("shop.test", path));
        let server = stage.connected();
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200");
        assert_eq!(said(&mut stage), [wanted]);
    }
    let mut stage = Stage::new(&recording(scripted_with(http2(plan(1)), &scripts)));
    let mut browser = crate::http2::Browser::new(&mut stage);
    for wanted in ["hello\n/", "/"] {
        browser.asks(&mut stage, "GET", &[], true);
        let server = stage.connected();
        stage.says(server, OK);
        assert_eq!(said(&mut stage), [wanted]);
    }
}

#[test]
fn scripts_see_the_client_of_a_proxy_header_and_not_its_sender() {
    let source = "avi.vs.log(avi.vs.client_ip()) if avi.vs.client_ip() == '192.0.2.9' then avi.vs.close_conn(true) end";
    let mut plan = recording(scripted(&[(ACCEPT, source)]));
    let tcp = plan.virtual_services[0].tcp.as_mut().expect("TCP");
    tcp.proxy_protocol_sources = vec!["10.2.0.0/16".into()];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    assert_eq!(stage.closed(client), None);
    stage.says(client, "PROXY TCP4 192.0.2.9 10.0.0.1 4000 80\r\n");
    assert_eq!((stage.closed(client), said(&mut stage)), (Some(Close::Abort), vec!["192.0.2.9".to_owned()]));
    let client = stage.client();
    stage.says(client, "PROXY TCP4 192.0.2.8 10.0.0.1 4000 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(stage.dials(), 1);
}

#[test]
fn script_refuses_a_server_name_before_the_engine_answers_as_its_page_says() {
    let mut plan = recording(scripted_with(secure(), &[(HELLO, documented("-- CLIENT_SSL_CLIENT_HELLO"))]));
    plan.string_groups = vec![api::StringGroup {
        uuid: "names".into(),
        name: "names".into(),
        pairs: vec![api::StringPair { key: "shop.test".into(), value: String::new() }],
        ..Default::default()
    }];
    plan.script_sets[0].string_group_uuids = vec!["names".into()];
    for (name, size) in [("shop.test", 1), ("SHOP.test", 4000), ("other.test", 1), ("other.test", 4000)] {
        let mut stage = Stage::new(&plan);
        let mut visitor = Visitor::new(&mut stage, name);
        if name == "other.test" {
            for piece in std::mem::take(&mut visitor.hello).chunks(size) {
                stage.says(visitor.conn, piece);
            }
            assert_eq!((stage.sent_bytes(visitor.conn).len(), stage.closed(visitor.conn)), (0, Some(Close::Abort)));
            assert_eq!((said(&mut stage), stage.failures(Cause::ClientDenied)), (vec![format!("not here: {name}")], 1));
            assert_eq!(stage.failures(Cause::ClientTls), 0);
        } else {
            visitor.greets(&mut stage, size);
            visitor.says(&mut stage, &get(name, "/"));
            let server = stage.connected();
            stage.says(server, OK);
            assert!(visitor.heard(&mut stage).starts_with("HTTP/1.1 200 "));
        }
    }
}

#[test]
fn child_that_a_hello_chooses_has_its_scripts_and_the_parent_has_its_own() {
    let mut plan = scripted_with(terminating(plan(1)), &[(HELLO, "avi.vs.close_conn(true)")]);
    plan.virtual_services[0].script_set_uuids.clear();
    plan.virtual_services[2].script_set_uuids = vec!["s".into()];
    for (name, is_closed) in [("shop.test", false), ("blog.test", true), ("other", false)] {
        let mut stage = Stage::new(&plan);
        let mut visitor = Visitor::new(&mut stage, name);
        visitor.greets(&mut stage, 4000);
        assert_eq!(stage.closed(visitor.conn).is_some(), is_closed, "{name}");
    }
}

#[test]
fn scripts_know_the_tls_of_a_handshake_that_is_complete() {
    let scripts = [
        (PRE_CONNECT, "avi.vs.log('before')"),
        (
            HANDSHAKE,
            "avi.vs.log(avi.ssl.protocol(), ' ', avi.ssl.cipher(), ' ', avi.ssl.server_name()) \
            if avi.ssl.protocol() == 'TLS 1.2' then avi.vs.close_conn() end",
        ),
    ];
    let mut plan = recording(scripted_with(secure(), &scripts));
    let tls = plan.virtual_services[0].tls.as_mut().expect("it terminates TLS");
    tls.versions = [api::TlsVersion::TlsVersion12, api::TlsVersion::TlsVersion13].map(Into::into).to_vec();
    tls.cipher_suites.push("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".into());
    for (version, suite) in
        [(Version::Tls12, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"), (Version::Tls13, "TLS_AES_128_GCM_SHA256")]
    {
        let settings = ClientSettings {
            versions: vec![version],
            cipher_suites: vec![suite.to_owned()],
            groups: vec![Group::X25519],
            session_resumption: false,
        };
        let config = ClientConfig::unverified(&settings, &Provider::new()).expect("a configuration");
        let mut stage = Stage::new(&plan);
        let conn = stage.client();
        let mut visitor = Visitor::with(conn, &config, "a.test");
        visitor.greets(&mut stage, 4000);
        let wanted = format!("before\n{} {suite} a.test", version.name());
        if version == Version::Tls12 {
            assert_eq!((stage.closed(conn), said(&mut stage)), (Some(Close::Linger), vec![wanted]));
            continue;
        }
        assert_eq!(stage.closed(conn), None);
        visitor.says(&mut stage, &get("a.test", "/"));
        let server = stage.connected();
        stage.says(server, OK);
        assert!(visitor.heard(&mut stage).starts_with("HTTP/1.1 200 "));
        assert_eq!(said(&mut stage), [wanted]);
    }
    let mut stage = Stage::new(&recording(scripted(&scripts)));
    stage.client();
    assert_eq!(said(&mut stage), Vec::<String>::new(), "a client without TLS has no such events");
}

/// A service of layer 4 whose script finds pools by the server name of TLS.
fn by_name() -> api::Plan {
    let mut plan = scripted_with(l4_plan(1), &[(BYTES, documented("-- L4_REQUEST"))]);
    let own = Named { name: "pool-shop.test".into(), uuid: "pool-9".into() };
    plan.script_sets[0].pools = vec![own];
    plan
}

#[test]
fn script_finds_the_pool_in_a_hello_that_goes_to_the_server_as_it_came_as_its_page_says() {
    for size in [1, 7, 100, 4000] {
        let mut stage = Stage::new(&recording(by_name()));
        let visitor = Visitor::new(&mut stage, "shop.test");
        let mut most = 0;
        for piece in visitor.hello.chunks(size) {
            assert_eq!(stage.dials(), 0, "no server is chosen yet");
            stage.says(visitor.conn, piece);
            most = most.max(stage.blocks_in_use());
        }
        assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
        assert!(most <= 2, "{most} blocks hold a hello in pieces of {size}");
        let server = stage.connected();
        assert_eq!(stage.sent_bytes(server), visitor.hello);
        stage.says(server, "hi");
        assert_eq!(stage.sent(visitor.conn), "hi");
        stage.batch(vec![Event::Eof { conn: visitor.conn }, Event::Eof { conn: server }]);
        assert_eq!(said(&mut stage), ["shop.test"]);
    }
    for bytes in [&b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"[..], b"\x16\x03\x01\x00\x01\x01aaaaaaaaaaaaaaaaaaaaaa"] {
        let mut stage = Stage::new(&by_name());
        let client = stage.client();
        stage.says(client, bytes);
        assert_eq!((stage.closed(client), stage.dials()), (Some(Close::Linger), 0));
    }
    let mut stage = Stage::new(&by_name());
    let mut visitor = Visitor::new(&mut stage, "other.test");
    visitor.greets(&mut stage, 4000);
    assert_eq!((stage.closed(visitor.conn).is_some(), stage.failures(Cause::ScriptFailed)), (true, 1), "no such pool");
}

#[test]
fn script_names_a_server_and_another_one_takes_over_when_that_is_down() {
    let source = "avi.pool.select('own', '10.1.0.' .. avi.l4.read(1))";
    let mut plan = scripted_with(l4_plan(3), &[(BYTES, source)]);
    plan.script_sets[0].pools = vec![Named { name: "own".into(), uuid: plan.pools[0].uuid.clone() }];
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    for at in 0..3 {
        stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {at}"), true);
    }
    for number in [3, 1, 3, 2, 2] {
        let client = stage.client();
        stage.says(client, number.to_string());
        assert_eq!(stage.dialled_address(), format!("10.1.0.{number}:8000"));
        let server = stage.connected();
        assert_eq!(stage.sent(server), number.to_string());
    }
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 1", false);
    let client = stage.client();
    stage.says(client, "2");
    assert_ne!(stage.dialled_address(), "10.1.0.2:8000");
    let client = stage.client();
    stage.says(client, "9");
    assert_eq!((stage.closed(client).is_some(), stage.failures(Cause::ScriptFailed)), (true, 1), "no such server");
}

#[test]
fn script_waits_as_long_as_a_handshake_may_take_or_until_the_client_has_sent_all() {
    let source = "local n = avi.l4.collect(10) avi.vs.log(n, avi.l4.read()) if n < 3 then avi.vs.close_conn(true) end";
    let plan = recording(scripted_with(l4_plan(1), &[(BYTES, source)]));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, "abc");
    stage.batch(vec![Event::Eof { conn: client }]);
    let server = stage.connected();
    assert_eq!(stage.sent(server), "abc");
    assert!(stage.is_finished(server));
    let client = stage.client();
    stage.says(client, "ab");
    stage.batch(vec![Event::Eof { conn: client }]);
    assert_eq!((stage.closed(client), said(&mut stage)), (Some(Close::Abort), vec!["2ab".to_owned()]));
    for bytes in ["", "ab"] {
        let client = stage.client();
        if !bytes.is_empty() {
            stage.says(client, bytes);
        }
        stage.wait_for_deadline(client);
        assert_eq!((stage.closed(client), stage.dials()), (Some(Close::Flush), 1));
    }
    assert_eq!(stage.failures(Cause::ClientAcceptTimeout), 2);
    let client = stage.client();
    stage.batch(vec![Event::Eof { conn: client }]);
    assert_eq!((stage.closed(client), stage.dials()), (Some(Close::Flush), 1), "a probe is no failure");
}

#[test]
fn script_sees_what_tls_carries_and_no_more_than_its_bound() {
    let source = "if avi.l4.collect(65000) >= 65000 then avi.pool.select('nine') end \
        avi.vs.log(#avi.l4.read(), ' ', avi.ssl.protocol())";
    let mut plan = recording(scripted_with(secure(), &[(BYTES, source)]));
    let service = &mut plan.virtual_services[0];
    (service.http, service.l4) = (None, Some(api::L4Profile::default()));
    let mut stage = Stage::new(&plan);
    let mut visitor = Visitor::new(&mut stage, "a.test");
    visitor.greets(&mut stage, 4000);
    for _ in 0..33 {
        assert_eq!(stage.dials(), 0);
        visitor.says(&mut stage, &"x".repeat(2000));
    }
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    let server = stage.connected();
    let mut passed = 0;
    while passed < 33 * 2000 {
        let some = stage.sent(server).len();
        assert!(some > 0, "{passed} bytes have been sent");
        passed += some;
        stage.batch(vec![Event::Drained { conn: server }]);
    }
    stage.batch(vec![Event::Eof { conn: visitor.conn }, Event::Eof { conn: server }]);
    assert_eq!(said(&mut stage), ["65000 TLS 1.3"]);
}

#[test]
fn engine_refuses_scripts_for_events_that_a_service_never_has() {
    let stage = Stage::new(&plan(1));
    assert!(stage.refuses_plan(&scripted(&[(BYTES, "")])));
    assert!(stage.refuses_plan(&scripted_with(l4_plan(1), &[(ScriptEvent::HttpReq, "")])));
    assert!(!stage.refuses_plan(&scripted_with(l4_plan(1), &[(ACCEPT, ""), (HANDSHAKE, ""), (BYTES, "")])));
}

#[test]
fn scripts_know_how_many_connections_are_open() {
    let count = "avi.vs.log(avi.vs.get_open_conns())";
    for (plan, event) in [(l4_plan(1), ACCEPT), (plan(1), ScriptEvent::HttpReq), (http2(plan(1)), ScriptEvent::HttpReq)]
    {
        let mut stage = Stage::new(&recording(scripted_with(plan, &[(event, count)])));
        let (first, second) = (stage.client(), stage.client());
        if event == ScriptEvent::HttpReq {
            for (client, dials) in [(first, 1), (second, 2)] {
                stage.says(client, get("shop.test", "/"));
                assert_eq!(stage.dials(), dials);
            }
        }
        stage.gone(first, Gone::Reset);
        let third = stage.client();
        if event == ScriptEvent::HttpReq {
            stage.says(third, get("shop.test", "/"));
        }
        for client in [second, third] {
            stage.gone(client, Gone::Reset);
        }
        let wanted = if event == ACCEPT { ["1", "2", "2"] } else { ["2", "2", "2"] };
        let mut found = said(&mut stage);
        found.sort();
        assert_eq!(found, wanted, "{event:?}");
    }
}

#[test]
fn connections_are_not_counted_where_no_script_has_the_name() {
    let source = "local count = avi.vs['get_open' .. '_conns'] avi.vs.log(tostring(pcall(count)))";
    let mut stage = Stage::new(&recording(scripted(&[(ScriptEvent::HttpReq, source)])));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    stage.gone(client, Gone::Reset);
    assert_eq!(said(&mut stage), ["false"], "no script has the name, so nobody counts");
}
