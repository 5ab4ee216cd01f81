//! What the proxy does on exact batches of events: cases that a simulation meets once in a thousand seeds.

mod access;
mod algorithms;
mod authenticated;
mod barred;
mod caching;
mod calls;
mod compression;
mod connect_rates;
mod datagrams;
mod departures;
mod downgrades;
mod ejections;
mod excluded;
mod explained_rules;
mod explanations;
mod fallbacks;
mod groups;
mod heads;
mod hosted;
mod http2;
mod http2_attacks;
mod http2_servers;
mod introductions;
mod labeled;
mod leaving;
mod limits;
mod origin;
mod own_cookies;
mod pages;
mod persistence;
mod policies;
mod pool_rules;
mod ports;
mod queues;
mod records;
mod repeats;
mod reselects;
mod rewriting;
mod ruled;
mod scripted_answers;
mod scripted_bodies;
mod scripted_connections;
mod scripts;
mod secure_servers;
mod server_departures;
mod server_hosts;
mod service_ports;
mod settings;
mod shortages;
mod suspects;
mod tape;
mod throughput;
mod times;
mod tls_selectors;
mod tls_sessions;
mod tokens;
mod traces;
mod true_clients;
mod tunnels;
mod uploads;
mod websocket;

use std::time::Duration;

use tape::{Stage, plan};
use weir_api::dataplane::v1::{Duty, Plan};
use weir_proxy::{
    Limits,
    io::{After, Close, Conn, Event, Gone},
};
use weir_telemetry::Cause;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or("none")
}

/// A stage after one exchange: a client, and an idle server connection.
fn warm(servers: usize) -> (Stage, Conn, Conn) {
    let mut stage = Stage::new(&plan(servers));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    stage.sent(server);
    (stage, client, server)
}

#[test]
fn keeps_both_connections_and_no_buffer_between_requests() {
    let (mut stage, client, server) = warm(1);
    assert_eq!(stage.blocks_in_use(), 0);
    stage.says(client, GET);
    assert_eq!(stage.dials(), 1);
    assert!(stage.sent(server).starts_with("GET / HTTP/1.1\r\n"));
}

/// The service of `plan`, which tells its clients to reconnect elsewhere.
fn draining(mut plan: Plan) -> Plan {
    plan.revision += 1;
    plan.virtual_services[0].duty = Duty::Drain.into();
    plan
}

#[test]
fn client_of_a_draining_service_is_answered_and_its_connection_ends() {
    let (mut stage, client, server) = warm(1);
    stage.replace(&draining(plan(1)));
    assert_eq!(stage.closed(client), None, "its next request may be on its way");
    stage.says(client, GET);
    stage.says(server, OK);
    let answer = stage.sent(client);
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("Connection: close\r\n"), "{answer}");
    assert_eq!(stage.closed(client), Some(Close::Linger));
}

#[test]
fn response_that_begins_while_the_service_drains_is_the_last() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.replace(&draining(plan(1)));
    stage.says(server, OK);
    assert!(stage.sent(client).contains("Connection: close\r\n"));
}

#[test]
fn page_of_a_draining_service_ends_the_connection() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.replace(&draining(plan(1)));
    stage.says(server, "nonsense\r\n\r\n");
    let answer = stage.sent(client);
    assert_eq!(status(&answer), "502");
    assert!(answer.contains("Connection: close\r\n"), "{answer}");
}

#[test]
fn new_client_of_a_draining_service_is_served_once() {
    let mut stage = Stage::new(&draining(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    let answer = stage.sent(client);
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("Connection: close\r\n"), "{answer}");
}

#[test]
fn client_stays_when_its_service_stops_draining() {
    let (mut stage, client, server) = warm(1);
    stage.replace(&draining(plan(1)));
    let mut back = plan(1);
    back.revision = 3;
    stage.replace(&back);
    stage.says(client, GET);
    stage.says(server, OK);
    assert!(!stage.sent(client).contains("Connection: close"));
    assert_eq!(stage.closed(client), None);
}

#[test]
fn client_rests_between_its_first_whole_request_and_the_answer() {
    let (mut stage, _, server) = warm(1);
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    assert!(!stage.is_resting(client), "its body is to come");
    stage.says(server, OK);
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    assert!(stage.is_resting(client));
    stage.says(server, OK);
    assert!(!stage.is_resting(client), "it may ask again");
}

#[test]
fn sends_one_piece_to_the_server_and_head_and_body_to_the_client() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.says(server, OK);
    assert_eq!((stage.pieces(server), stage.pieces(client)), (1, 2));
}

#[test]
fn idle_connection_that_ends_in_the_batch_it_is_picked_in_costs_nothing() {
    let (mut stage, client, server) = warm(1);
    let request = stage.data(client, GET);
    stage.batch(vec![request, Event::Eof { conn: server }]);
    assert_eq!(stage.sent(server), "");
    let fresh = stage.connected();
    assert!(stage.sent(fresh).starts_with("GET /"));
    stage.says(fresh, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn request_that_lost_its_idle_connection_waits_for_the_next_connect() {
    let (mut stage, client, server) = warm(2);
    let request = stage.data(client, GET);
    stage.batch(vec![request, Event::Gone { conn: server, why: Gone::Reset }]);
    let second = stage.dialled();
    assert_eq!(stage.sent(second), "", "nothing is sent before a connection is established");
    stage.gone(second, Gone::Refused);
    let third = stage.connected();
    assert_ne!(second, third);
    assert!(stage.sent(third).starts_with("GET /"));
}

#[test]
fn idle_connection_that_sends_anything_is_closed() {
    let (mut stage, client, server) = warm(1);
    stage.says(server, OK);
    assert_eq!(stage.closed(server), Some(Close::Abort));
    assert_eq!(stage.sent(client), "");
}

#[test]
fn response_before_its_request_is_dropped() {
    let (mut stage, client, server) = warm(1);
    let (request, stray) = (stage.data(client, GET), stage.data(server, OK));
    stage.batch(vec![request, stray]);
    assert_eq!(stage.closed(server), Some(Close::Abort));
    assert_eq!(stage.sent(client), "");
    let fresh = stage.connected();
    stage.says(fresh, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn surplus_behind_a_response_is_dropped_with_its_connection() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.says(server, format!("{OK}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"));
    assert!(stage.sent(client).ends_with("ok"));
    assert_eq!(stage.closed(server), Some(Close::Abort));
}

#[test]
fn tries_another_server_when_one_refuses() {
    let mut stage = Stage::new(&plan(2));
    let client = stage.client();
    stage.says(client, GET);
    let first = stage.dialled();
    stage.gone(first, Gone::Refused);
    assert_eq!(stage.dials(), 2);
    let second = stage.dialled();
    let waited = stage.wait_for_deadline(second);
    assert_eq!(waited, Duration::from_secs(1));
    let answer = stage.sent(client);
    assert_eq!(status(&answer), "504", "both servers were tried once: {answer}");
}

#[test]
fn server_that_refused_is_not_tried_again_after_the_pool_changes() {
    let mut stage = Stage::new(&plan(3));
    let client = stage.client();
    stage.says(client, GET);
    let first = stage.dialled();
    stage.gone(first, Gone::Refused);
    let mut without_first = plan(3);
    without_first.revision = 2;
    without_first.pools[0].servers.remove(0);
    stage.replace(&without_first);
    let second = stage.dialled();
    stage.gone(second, Gone::Refused);
    assert_eq!(stage.dials(), 3, "one server has not been tried yet");
    assert_eq!(stage.dialled_address(), "10.1.0.3:8000");
    let third = stage.dialled();
    stage.gone(third, Gone::Refused);
    assert_eq!(status(&stage.sent(client)), "502");
}

#[test]
fn does_not_try_another_server_once_the_request_is_sent() {
    let mut stage = Stage::new(&plan(2));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.gone(server, Gone::Reset);
    assert_eq!(stage.dials(), 1);
    assert_eq!(status(&stage.sent(client)), "502");
    assert_eq!(stage.closed(client), None, "the client may ask again");
}

#[test]
fn answers_pipelined_requests_in_order() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    let second = "GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stage.says(client, format!("{GET}{second}"));
    let server = stage.connected();
    assert_eq!(stage.sent(server).matches("HTTP/1.1").count(), 1, "the second waits");
    stage.says(server, OK);
    assert!(stage.sent(server).starts_with("GET /second"));
    stage.says(server, OK);
    assert_eq!(stage.sent(client).matches("200 OK").count(), 2);
    assert_eq!(stage.closed(client), Some(Close::Flush));
}

#[test]
fn cut_that_the_framing_shows_does_not_overtake_what_was_sent() {
    for (head, half) in [("Content-Length: 9", "half"), ("Transfer-Encoding: chunked", "9\r\nhalf")] {
        let (mut stage, client, server) = warm(1);
        stage.says(client, GET);
        stage.says(server, format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{half}"));
        stage.batch(vec![Event::Eof { conn: server }]);
        assert!(stage.sent(client).ends_with("half"));
        assert_eq!(stage.closed(client), Some(Close::Linger), "{head}");
    }
}

#[test]
fn cut_that_only_the_end_of_the_connection_shows_is_a_reset() {
    for (request, head, half) in [
        ("GET / HTTP/1.0\r\n\r\n", "Server: a", "half"),
        ("GET / HTTP/1.0\r\n\r\n", "Transfer-Encoding: chunked", "9\r\nhalf"),
    ] {
        let (mut stage, _, server) = warm(1);
        let client = stage.client();
        stage.says(client, request);
        stage.says(server, format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{half}"));
        assert!(stage.sent(client).ends_with("half"));
        stage.gone(server, Gone::Reset);
        assert_eq!(stage.closed(client), Some(Close::Cut), "{head}");
    }
}

#[test]
fn client_that_sends_bytes_after_its_last_request_gets_the_response() {
    let (mut stage, _, server) = warm(1);
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.0\r\n\r\na body of no length");
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!(stage.closed(client), Some(Close::Linger), "what it sends on must not reset the answer");
}

#[test]
fn body_without_length_goes_in_chunks_to_a_client_that_stays() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.says(server, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the");
    let answer = stage.sent(client);
    assert!(answer.contains("\r\nTransfer-Encoding: chunked\r\n") && !answer.contains("close"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n6\r\nto the\r\n"), "{answer}");
    stage.says(server, " very long end");
    stage.batch(vec![Event::Eof { conn: server }]);
    assert_eq!(stage.sent(client), "e\r\n very long end\r\n0\r\n\r\n");
    assert!(stage.closed(server).is_some());
    assert_eq!(stage.closed(client), None);
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, "HTTP/1.1 200 OK\r\n\r\n");
    stage.batch(vec![Event::Eof { conn: server }]);
    assert!(stage.sent(client).ends_with("\r\n\r\n0\r\n\r\n"), "an empty body has an end, too");
    assert_eq!((stage.closed(client), stage.blocks_in_use()), (None, 0));
}

#[test]
fn body_without_length_ends_with_the_connection_of_a_client_that_does_not_stay() {
    for request in [
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ] {
        let (mut stage, _, server) = warm(1);
        let client = stage.client();
        stage.says(client, request);
        stage.says(server, "HTTP/1.1 200 OK\r\n\r\nto the end");
        stage.batch(vec![Event::Eof { conn: server }]);
        let answer = stage.sent(client);
        assert!(answer.ends_with("\r\n\r\nto the end") && answer.contains("Connection: close\r\n"), "{answer}");
        assert!(!answer.contains("chunked") && stage.closed(client).is_some());
    }
}

#[test]
fn empty_line_between_requests_begins_none() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody\r\n");
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!((stage.blocks_in_use(), stage.is_paused(client)), (0, false));
    stage.sent(server);
    stage.says(client, format!("\r\n{GET}"));
    assert!(stage.sent(server).starts_with("GET / HTTP/1.1\r\n"), "another one in front of it, too");
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    stage.says(client, "\r");
    stage.says(client, "\n");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(3), "a request that is cut there has begun");
}

#[test]
fn client_that_sends_only_an_empty_line_is_idle() {
    let (mut stage, client, _) = warm(1);
    stage.says(client, "\r\n");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(5));
    assert_eq!((stage.sent(client), stage.closed(client)), (String::new(), Some(Close::Flush)));
}

/// The driver holds the end of such a relay back until the close.
#[test]
fn client_whose_connection_ends_with_a_relay_is_closed_in_the_batch_of_its_last_bytes() {
    for (request, after, closed) in [
        (GET, After::GoOn, None),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", After::Close, Some(Close::Flush)),
    ] {
        let (mut stage, _, server) = warm(1);
        let client = stage.client();
        stage.says(client, request);
        stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        assert_eq!(stage.tape.relays, [(server, client, 100_000, after)]);
        stage.batch(vec![Event::Relayed { conn: server, bytes: 90_000 }]);
        assert_eq!(stage.closed(client), None);
        stage.batch(vec![Event::Relayed { conn: server, bytes: 10_000 }]);
        assert_eq!(stage.closed(client), closed, "{request}");
    }
}

#[test]
fn http10_client_gets_content_without_chunks() {
    let (mut stage, _, server) = warm(1);
    let old = stage.client();
    stage.says(old, "GET / HTTP/1.0\r\n\r\n");
    stage.says(server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    assert!(stage.sent(old).ends_with("\r\n\r\nabcde"));
    assert_eq!(stage.closed(old), Some(Close::Flush));
    assert_eq!(stage.closed(server), None, "the server's connection is as good as before");
}

#[test]
fn early_response_ends_the_clients_connection() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome");
    stage.says(server, OK);
    let answer = stage.sent(client);
    assert!(answer.contains("Connection: close"), "{answer}");
    assert_eq!(stage.closed(client), Some(Close::Linger));
    assert!(stage.closed(server).is_some(), "half a request is on it");
}

#[test]
fn expectation_is_answered_by_the_proxy_and_not_passed_on() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(stage.sent(client), "HTTP/1.1 100 Continue\r\n\r\n");
    stage.says(client, "body");
    let request = stage.sent(server);
    assert!(!request.contains("Expect") && request.ends_with("\r\n\r\nbody"), "{request}");
    stage.says(server, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(stage.sent(client), "", "one is enough");
}

#[test]
fn half_a_head_is_answered_408_in_time() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, "GET / HT");
    assert_eq!(stage.wait_for_deadline(client), Duration::from_secs(3));
    assert_eq!(status(&stage.sent(client)), "408");
    assert_eq!(stage.closed(client), Some(Close::Linger));
}

#[test]
fn exchange_ends_with_its_client() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.gone(client, Gone::Reset);
    assert_eq!(stage.closed(server), Some(Close::Abort), "an unrequested response may still arrive on it");
    assert!(stage.proxy.is_idle());
}

#[test]
fn server_is_not_read_while_the_client_takes_nothing() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.tape.stuck = true;
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n");
    for _ in 0..3 {
        stage.says(server, "x".repeat(1000));
    }
    assert!(stage.is_paused(server));
    let before = stage.sent(client).len();
    assert!(before < 2000, "{before} bytes are queued, 1000 are allowed and a piece may come on top");
    stage.tape.stuck = false;
    for _ in 0..4 {
        stage.batch(vec![Event::Drained { conn: client }]);
    }
    assert!(!stage.is_paused(server));
    stage.says(server, "x".repeat(1000));
    let body = before + stage.sent(client).len();
    assert!(body > 4000, "the rest follows: {body}");
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn client_that_receives_nothing_more_is_gone_even_with_another_request() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.says(client, GET);
    assert!(stage.is_paused(client));
    stage.says(server, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
    stage.batch(vec![Event::Broken { conn: client }]);
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Abort), Some(Close::Abort)));
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn server_connection_that_receives_nothing_more_gets_no_other_request() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.batch(vec![Event::Broken { conn: server }]);
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    assert!(stage.closed(server).is_some());
}

#[test]
fn complete_response_before_the_loss_of_its_server_is_delivered() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.tape.stuck = true;
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n");
    for _ in 0..3 {
        stage.says(server, "x".repeat(1000));
    }
    assert!(stage.is_paused(server));
    stage.gone(server, Gone::Reset);
    assert_eq!(stage.sent(client).bytes().filter(|byte| *byte == b'x').count(), 3000);
    assert_eq!(stage.closed(client), None);
    stage.tape.stuck = false;
    stage.batch(vec![]);
    stage.batch(vec![Event::Drained { conn: client }]);
    stage.says(client, GET);
    assert_ne!(stage.connected(), server, "a connection that is over is not used again");
}

#[test]
fn response_without_length_is_cut_when_its_server_was_lost() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.tape.stuck = true;
    stage.says(server, "HTTP/1.1 200 OK\r\n\r\n");
    for _ in 0..3 {
        stage.says(server, "x".repeat(1000));
    }
    stage.gone(server, Gone::Reset);
    assert!(stage.sent(client).ends_with("x\r\n"), "no last chunk");
    assert_eq!(stage.closed(client), Some(Close::Linger), "the framing shows the cut");
}

#[test]
fn client_that_takes_nothing_at_all_is_reset() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.tape.stuck = true;
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n");
    stage.says(server, "x".repeat(2000));
    stage.says(server, "x".repeat(2000));
    stage.wait_for_deadline(client);
    assert_eq!(stage.closed(client), Some(Close::Abort));
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn client_that_takes_nothing_is_watched_after_its_upload() {
    let (mut stage, _, server) = warm(1);
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    stage.tape.stuck = true;
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n");
    stage.says(server, "x".repeat(2000));
    stage.says(server, "x".repeat(1000));
    assert!(stage.is_paused(server));
    stage.says(client, "more");
    assert!(!stage.has_deadline(server), "nobody reads what it sends");
    stage.wait_for_deadline(client);
    assert_eq!(stage.closed(client), Some(Close::Abort));
}

#[test]
fn drain_lets_the_request_in_flight_finish() {
    let (mut stage, client, server) = warm(1);
    let idle = stage.client();
    stage.says(client, GET);
    stage.proxy.drain(&mut stage.tape);
    assert_eq!(stage.closed(idle), Some(Close::Flush));
    stage.says(server, OK);
    assert!(stage.sent(client).contains("Connection: close"));
    assert!(stage.proxy.is_idle());
}

/// The head of the response has promised that the connection stays open.
#[test]
fn client_of_a_removed_virtual_service_is_closed_behind_a_response_that_had_begun() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf");
    let mut without = plan(1);
    without.virtual_services.clear();
    stage.replace(&without);
    assert_eq!(stage.closed(client), None);
    stage.says(server, "half");
    assert!(stage.sent(client).ends_with("halfhalf"));
    assert!(stage.closed(client).is_some());
}

#[test]
fn removed_virtual_service_finishes_its_exchanges() {
    let (mut stage, client, server) = warm(1);
    let idle = stage.client();
    stage.says(client, GET);
    let mut without = plan(1);
    without.virtual_services.clear();
    without.revision = 2;
    stage.replace(&without);
    assert_eq!(stage.closed(idle), Some(Close::Flush));
    stage.says(server, OK);
    assert!(stage.sent(client).contains("Connection: close"));
    assert!(stage.closed(client).is_some());
}

#[test]
fn server_that_goes_down_loses_its_idle_connections_only() {
    let mut monitored = plan(1);
    monitored.pools[0].monitored = true;
    let mut stage = Stage::new(&monitored);
    let client = stage.client();
    stage.says(client, GET);
    assert_eq!(status(&stage.sent(client)), "503", "down until the monitors say otherwise");
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", true);
    stage.says(client, GET);
    let server = stage.connected();
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", false);
    assert_eq!(stage.closed(server), None, "a request is on it");
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!(stage.closed(server), Some(Close::Flush));
}

#[test]
fn client_keeps_its_own_server_connection_without_multiplexing() {
    let mut single = plan(1);
    if let Some(http) = &mut single.virtual_services[0].http {
        http.connection_multiplexing = false;
    }
    let mut stage = Stage::new(&single);
    let (one, other) = (stage.client(), stage.client());
    stage.says(one, GET);
    let first = stage.connected();
    stage.says(first, OK);
    stage.says(other, GET);
    assert_eq!(stage.dials(), 2, "not the other client's");
    stage.says(one, GET);
    assert_eq!(stage.sent(first).matches("GET /").count(), 2);
    stage.gone(one, Gone::Reset);
    assert!(stage.closed(first).is_some());
}

#[test]
fn client_that_pipelines_without_reading_waits() {
    let mut redirecting = plan(1);
    if let Some(http) = &mut redirecting.virtual_services[0].http {
        http.http_to_https = true;
    }
    let mut stage = Stage::new(&redirecting);
    let client = stage.client();
    stage.tape.stuck = true;
    stage.says(client, GET.repeat(100));
    assert!(stage.is_paused(client));
    let answered = stage.sent(client).matches("301").count();
    assert!((1..20).contains(&answered), "{answered} answers are queued");
    stage.tape.stuck = false;
    stage.batch(vec![]);
    stage.batch(vec![Event::Drained { conn: client }]);
    assert!(stage.sent(client).matches("301").count() > 0);
}

#[test]
fn endless_interim_responses_wait_for_a_client_that_does_not_read() {
    let (mut stage, client, server) = warm(1);
    stage.says(client, GET);
    stage.tape.stuck = true;
    for _ in 0..5 {
        stage.says(server, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(20));
    }
    assert!(stage.is_paused(server));
    assert!(stage.sent(client).len() < 1200);
}

#[test]
fn latest_idle_connection_is_used_first() {
    let (mut stage, one, first) = warm(1);
    let other = stage.client();
    stage.says(one, GET);
    stage.says(other, GET);
    let second = stage.connected();
    stage.says(first, OK);
    stage.says(second, OK);
    stage.sent(second);
    stage.says(one, GET);
    assert!(stage.sent(second).starts_with("GET /"));
}

#[test]
fn oldest_idle_connection_makes_room_for_the_latest() {
    let mut plan = plan(1);
    plan.pools[0].max_idle_connections = 1;
    let mut stage = Stage::new(&plan);
    let clients = [stage.client(), stage.client()];
    let servers = clients.map(|client| {
        stage.says(client, GET);
        stage.connected()
    });
    servers.iter().for_each(|server| stage.says(*server, OK));
    assert_eq!(servers.map(|server| stage.closed(server)), [Some(Close::Flush), None]);
    stage.sent(servers[1]);
    stage.says(clients[0], GET);
    assert!(stage.sent(servers[1]).starts_with("GET /"));
}

#[test]
fn idle_connection_is_closed_when_a_new_one_needs_its_place_and_a_busy_one_never() {
    let mut stage = Stage::with(&plan(3), Limits { clients: 3, ..Limits::default() });
    let clients = [stage.client(), stage.client()];
    let idle = [(); 2].map(|()| {
        stage.says(clients[0], GET);
        let server = stage.connected();
        stage.says(server, OK);
        server
    });
    assert_eq!(idle.map(|conn| stage.closed(conn)), [None, None]);
    stage.says(clients[0], GET);
    let busy = stage.connected();
    let gone = idle.map(|conn| stage.closed(conn) == Some(Close::Abort));
    assert!(gone[0] != gone[1], "{gone:?}");
    stage.says(clients[1], GET);
    assert_eq!(stage.closed(busy), None);
}

#[test]
fn client_gets_a_page_when_local_resources_are_exhausted() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, GET);
    let refused = stage.dialled();
    stage.gone(refused, Gone::Local);
    assert_eq!(status(&stage.sent(client)), "503");
    assert_eq!(stage.failures(Cause::LocalResources), 1);
}

#[test]
fn server_that_leaves_the_pool_loses_its_idle_connections() {
    let (mut stage, client, server) = warm(1);
    let mut moved = plan(1);
    moved.revision = 2;
    moved.pools[0].servers[0].address = "10.1.0.99".into();
    stage.replace(&moved);
    assert_eq!(stage.closed(server), Some(Close::Flush));
    stage.says(client, GET);
    assert_eq!(stage.dials(), 2);
}

#[test]
fn deadline_in_the_same_batch_as_the_expected_event_is_void() {
    let mut short = plan(1);
    short.pools[0].idle_connection_timeout_ms = 5_000;
    let mut stage = Stage::new(&short);
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    stage.sent(client);
    stage.tape.sleep(Duration::from_secs(5));
    let post = stage.data(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n");
    stage.batch(vec![post, Event::Deadline { conn: client }, Event::Deadline { conn: server }]);
    assert_eq!((stage.closed(client), stage.closed(server)), (None, None));
    stage.says(client, "x");
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}
