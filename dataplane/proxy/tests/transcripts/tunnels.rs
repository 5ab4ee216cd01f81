//! Virtual services of layer 4.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::io::{After, Close, Conn, Event, Gone};

use crate::tape::{Stage, l4_plan};

/// An established tunnel.
fn tunnel(plan: &api::Plan) -> (Stage, Conn, Conn) {
    let mut stage = Stage::new(plan);
    let client = stage.client();
    let server = stage.connected();
    (stage, client, server)
}

#[test]
fn server_is_connected_before_any_byte_and_may_send_first() {
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    stage.says(server, "220 ready");
    assert_eq!(stage.sent(client), "220 ready");
    stage.says(client, "EHLO a");
    assert_eq!(stage.sent(server), "EHLO a");
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn first_server_gets_all_where_the_fewest_shall_be_used() {
    let mut plan = l4_plan(2);
    plan.pools[0].algorithm = api::Algorithm::FewestServers.into();
    let (mut stage, ..) = tunnel(&plan);
    for _ in 0..20 {
        stage.client();
        assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    }
}

#[test]
fn server_has_the_port_that_the_client_chose() {
    let mut plan = l4_plan(2);
    let listener = api::Listener { port: 2121, ..plan.virtual_services[0].listeners[0].clone() };
    plan.virtual_services[0].listeners.push(listener);
    plan.pools[0].use_service_port = true;
    let mut stage = Stage::new(&plan);
    for (to, at) in [("10.0.0.1:2121", "10.1.0.1:2121"), ("10.0.0.1:80", "10.1.0.2:80")] {
        stage.client_from(to, "10.2.0.1:4000");
        assert_eq!(stage.dialled_address(), at);
    }
    stage.client_from("10.0.0.1:2121", "10.2.0.2:4000");
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    assert_eq!(stage.dialled_address(), "10.1.0.2:2121", "the next server has it, too");
    plan.revision += 1;
    plan.pools[0].use_service_port = false;
    stage.replace(&plan);
    stage.client_from("10.0.0.1:2121", "10.2.0.3:4000");
    assert_eq!(stage.dialled_address().split(':').nth(1), Some("8000"));
}

#[test]
fn early_bytes_of_a_client_wait_for_the_server() {
    let mut stage = Stage::new(&l4_plan(1));
    let client = stage.client();
    stage.says(client, "early");
    assert!(stage.is_paused(client), "the client is not read beyond the limit");
    let server = stage.connected();
    assert_eq!(stage.sent(server), "early");
    assert!(!stage.is_paused(client));
}

#[test]
fn end_of_one_direction_leaves_the_other_open() {
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    let question = stage.data(client, "question");
    stage.batch(vec![question, Event::Eof { conn: client }]);
    assert_eq!(stage.sent(server), "question");
    assert!(stage.is_finished(server) && stage.closed(server).is_none());
    stage.says(server, "answer");
    stage.batch(vec![Event::Eof { conn: server }]);
    assert_eq!(stage.sent(client), "answer");
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Flush), Some(Close::Flush)));
    assert!(stage.proxy.is_idle());
}

#[test]
fn end_before_the_server_is_connected_is_passed_on_behind_the_bytes() {
    let mut stage = Stage::new(&l4_plan(1));
    let client = stage.client();
    stage.says(client, "question");
    stage.batch(vec![Event::Eof { conn: client }]);
    let server = stage.connected();
    assert_eq!(stage.sent(server), "question");
    assert!(stage.is_finished(server));
}

#[test]
fn reset_is_passed_on_as_a_reset() {
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    stage.gone(client, Gone::Reset);
    assert_eq!(stage.closed(server), Some(Close::Cut));
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    stage.gone(server, Gone::Reset);
    assert_eq!(stage.closed(client), Some(Close::Cut));
    assert!(stage.proxy.is_idle());
}

#[test]
fn bytes_before_a_reset_arrive_before_the_reset() {
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    stage.tape.stuck = true;
    let said: Vec<Event> = ["421 ", "too ", "many"].map(|word| stage.data(server, word.repeat(300))).into();
    stage.batch(said);
    stage.batch(vec![Event::Gone { conn: server, why: Gone::Reset }]);
    assert_eq!(stage.sent(client).len(), 3600);
    assert_eq!((stage.closed(client), stage.blocks_in_use()), (Some(Close::Cut), 0));
}

#[test]
fn server_that_refuses_is_skipped_and_the_last_refusal_resets_the_client() {
    let mut stage = Stage::new(&l4_plan(2));
    let client = stage.client();
    let first = stage.dialled();
    stage.gone(first, Gone::Refused);
    assert_eq!(stage.dials(), 2);
    let second = stage.dialled();
    assert_eq!(stage.wait_for_deadline(second), Duration::from_secs(1));
    assert_eq!(stage.closed(client), Some(Close::Cut));
    assert!(stage.proxy.is_idle());
}

#[test]
fn receiver_that_takes_nothing_stops_the_other_from_being_read() {
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    stage.tape.stuck = true;
    for _ in 0..3 {
        stage.says(server, "x".repeat(600));
    }
    assert!(stage.is_paused(server));
    assert_eq!(stage.sent(client).len(), 1200, "1000 are allowed and a piece may come on top");
    stage.tape.stuck = false;
    stage.batch(vec![]);
    stage.batch(vec![Event::Drained { conn: client }]);
    assert_eq!(stage.sent(client).len(), 600);
    assert!(!stage.is_paused(server));
}

#[test]
fn bulk_data_is_relayed_and_counted() {
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    stage.says(client, "give me all");
    assert!(stage.tape.relays.is_empty(), "a short read is not bulk data");
    stage.says(server, "x".repeat(4000));
    assert_eq!(stage.tape.relays, [(server, client, u64::MAX, After::GoOn)]);
    stage.batch(vec![Event::Relayed { conn: server, bytes: 1_000_000 }]);
    let service = stage.proxy.counters().service(0).expect("the service has counters");
    assert_eq!((service.received_bytes, service.sent_bytes), (11, 1_004_000));
    assert_eq!((service.requests, service.connections, service.open_connections), (0, 1, 1));
}

#[test]
fn idle_tunnel_is_closed_in_time_and_an_active_one_goes_on() {
    let mut plan = l4_plan(1);
    plan.virtual_services[0].tcp = Some(api::TcpProfile { idle_timeout_s: 10, ..Default::default() });
    let (mut stage, client, server) = tunnel(&plan);
    stage.tape.sleep(Duration::from_secs(6));
    stage.says(server, "still here");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(4));
    assert_eq!(stage.closed(client), None);
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(6));
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Flush), Some(Close::Flush)));
}

#[test]
fn idle_tunnel_with_unsent_bytes_is_cut() {
    let mut plan = l4_plan(1);
    plan.virtual_services[0].tcp = Some(api::TcpProfile { idle_timeout_s: 10, ..Default::default() });
    let (mut stage, client, server) = tunnel(&plan);
    stage.tape.stuck = true;
    stage.says(server, "takes nothing");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(10));
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Cut), Some(Close::Cut)));
}

/// A tunnel that probes idle ends, and half-closed ones if so `half_closed_probes`.
fn probing(half_closed_probes: bool) -> (Stage, Conn, Conn) {
    let mut plan = l4_plan(1);
    let close_half_closed = !half_closed_probes;
    let tcp = api::TcpProfile { idle_timeout_s: 10, keepalive_probes: true, close_half_closed, ..Default::default() };
    plan.virtual_services[0].tcp = Some(tcp);
    tunnel(&plan)
}

#[test]
fn half_closed_tunnel_stays_as_long_as_it_is_probed() {
    for probes in [false, true] {
        let (mut stage, client, server) = probing(probes);
        assert!(!stage.has_deadline(client));
        stage.says(client, "question");
        stage.batch(vec![Event::Eof { conn: client }]);
        assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(10));
        assert_eq!(stage.closed(client).is_none(), probes);
        if probes {
            stage.says(server, "answer");
            assert_eq!(stage.sent(client), "answer");
            assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(10));
            assert_eq!(stage.closed(client), None);
        }
    }
}

#[test]
fn tunnel_that_has_lost_an_end_while_the_other_takes_nothing_is_cut_in_time() {
    for how in ["client broken", "server broken", "client left", "server left", "client ended"] {
        let (mut stage, client, server) = probing(true);
        let (from, to) = if how.starts_with("client") { (client, server) } else { (server, client) };
        stage.tape.stuck = true;
        stage.says(from, "x".repeat(600));
        if how != "client ended" {
            (0..2).for_each(|_| stage.says(from, "x".repeat(600)));
            assert!(stage.is_paused(from));
        }
        assert!(!stage.has_deadline(client), "probes find a peer that is gone");
        stage.tape.sleep(Duration::from_secs(60));
        stage.batch(vec![match how {
            "client ended" => Event::Eof { conn: from },
            _ if how.ends_with("left") => Event::Leaving { conn: from },
            _ => Event::Broken { conn: from },
        }]);
        assert_eq!(stage.closed(to), None, "{how}");
        assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(10), "{how}");
        assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Cut), Some(Close::Cut)), "{how}");
        assert_eq!(stage.blocks_in_use(), 0);
    }
}

#[test]
fn end_that_takes_some_keeps_a_half_closed_tunnel() {
    let (mut stage, client, server) = probing(false);
    stage.tape.stuck = true;
    (0..3).for_each(|_| stage.says(server, "x".repeat(600)));
    stage.batch(vec![Event::Leaving { conn: server }]);
    stage.tape.sleep(Duration::from_secs(6));
    stage.tape.stuck = false;
    stage.batch(vec![]);
    stage.batch(vec![Event::Drained { conn: client }]);
    assert_eq!(stage.sent(client).len(), 1800);
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(4));
    assert_eq!(stage.closed(client), None, "bytes have crossed since");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(6));
    assert!(stage.closed(client).is_some());
}

#[test]
fn end_that_receives_nothing_more_is_still_read() {
    for client_breaks in [false, true] {
        let (mut stage, client, server) = tunnel(&l4_plan(1));
        stage.tape.stuck = true;
        for end in [client, server] {
            (0..3).for_each(|_| stage.says(end, "x".repeat(600)));
        }
        assert!(stage.is_paused(client) && stage.is_paused(server));
        stage.tape.stuck = false;
        stage.batch(vec![]);
        let (broken, other) = if client_breaks { (client, server) } else { (server, client) };
        stage.batch(vec![Event::Broken { conn: broken }]);
        assert!(!stage.is_paused(server) && !stage.is_paused(client));
        assert_eq!(stage.closed(other), None);
        stage.gone(broken, Gone::Reset);
        assert_eq!(stage.sent(other).len(), 1800);
        assert_eq!(stage.closed(other), Some(Close::Cut));
    }
}

#[test]
fn tunnel_whose_virtual_service_is_removed_is_cut() {
    let (mut stage, client, server) = tunnel(&l4_plan(1));
    let mut without = l4_plan(1);
    without.virtual_services.clear();
    without.revision = 2;
    stage.replace(&without);
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Cut), Some(Close::Cut)));
}

#[test]
fn proxy_header_is_sent_before_anything_else() {
    let mut plan = l4_plan(1);
    let proxy_protocol = api::ProxyProtocol::V1 as i32;
    plan.virtual_services[0].l4 = Some(api::L4Profile { proxy_protocol, ..Default::default() });
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, "hello");
    let server = stage.connected();
    assert_eq!(stage.sent(server), "PROXY TCP4 10.2.0.1 10.0.0.1 4000 80\r\nhello");
}
