//! Servers to which new connections fail: which clients wait for them, and which do not.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, Plan};
use weir_proxy::io::{Close, Conn, Event, Gone};
use weir_telemetry::Cause;

use crate::{
    GET, OK, status,
    tape::{Stage, l4_plan, plan},
};

const FIRST: &str = "10.1.0.1:8000";
const PATIENCE: Duration = Duration::from_millis(500);

fn watching(mut plan: Plan) -> Plan {
    plan.pools[0].inline_health = true;
    plan
}

/// What the servers at an address do with a connect.
#[derive(Clone, Copy)]
enum Dialled {
    Stands,
    Silent,
    Refused,
}

/// Treats connects as `how` says until one is established or none is under way. Returns it, and how long that took.
fn dial(stage: &mut Stage, how: impl Fn(&str) -> Dialled) -> (Conn, Duration) {
    let mut waited = Duration::ZERO;
    loop {
        let (conn, address) = (stage.dialled(), stage.dialled_address());
        match how(&address) {
            Dialled::Stands => return (stage.connected(), waited),
            Dialled::Silent => waited += stage.wait_for_deadline(conn),
            Dialled::Refused => stage.gone(conn, Gone::Refused),
        }
        if stage.closed(conn).is_some() && stage.dialled() == conn {
            return (conn, waited);
        }
    }
}

/// One request of a new client over a new connection, answered by any server. Returns how long the client waited, and
/// how many connects that took.
fn ask(stage: &mut Stage, how: impl Fn(&str) -> Dialled) -> (Duration, usize) {
    let (client, before) = (stage.client(), stage.dials());
    stage.says(client, GET);
    let (server, waited) = dial(stage, how);
    stage.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    assert_eq!(status(&stage.sent(client)), "200");
    (waited, stage.dials() - before)
}

fn first_is(how: Dialled) -> impl Fn(&str) -> Dialled + Copy {
    move |address| if address == FIRST { how } else { Dialled::Stands }
}

#[test]
fn only_the_first_request_waits_for_a_server_that_swallows_connects() {
    for algorithm in [api::Algorithm::RoundRobin, api::Algorithm::LeastConnections] {
        let mut plan = watching(plan(2));
        plan.pools[0].algorithm = algorithm as i32;
        let mut stage = Stage::new(&plan);
        let waits: Vec<_> = (0..8).map(|_| ask(&mut stage, first_is(Dialled::Silent)).0).collect();
        assert_eq!(waits.iter().sum::<Duration>(), PATIENCE, "{waits:?}");
    }
}

#[test]
fn pool_that_does_not_watch_has_each_request_wait_in_turn() {
    let mut stage = Stage::new(&plan(2));
    let waits: Vec<_> = (0..8).map(|_| ask(&mut stage, first_is(Dialled::Silent)).0).collect();
    assert!(waits.iter().filter(|wait| **wait == Duration::from_secs(1)).count() >= 4, "{waits:?}");
}

#[test]
fn requests_during_a_hanging_connect_go_elsewhere_after_its_deadline() {
    let mut stage = Stage::new(&watching(plan(2)));
    let clients: Vec<_> = (0..4).map(|_| stage.client()).collect();
    let mut waiting = Vec::new();
    for client in &clients {
        stage.says(*client, GET);
        match stage.dialled_address().as_str() {
            FIRST => waiting.push(stage.dialled()),
            _ => drop(stage.connected()),
        }
    }
    assert_eq!(waiting.len(), 2);
    assert_eq!(stage.wait_for_deadline(waiting[0]), PATIENCE);
    assert_eq!(stage.wait_for_deadline(waiting[1]), Duration::ZERO);
    assert!(waiting.iter().all(|conn| stage.closed(*conn) == Some(Close::Abort)));
    let before = stage.dials();
    let (waited, dials) = ask(&mut stage, first_is(Dialled::Silent));
    assert_eq!(
        (waited, dials, stage.dials() - before),
        (Duration::ZERO, 1, 1),
        "the next request goes to the other server at once"
    );
}

#[test]
fn server_is_suspect_after_several_clients_left_during_connects() {
    for (stays, tells) in [(PATIENCE / 2, true), (PATIENCE / 2 - Duration::from_millis(1), false)] {
        for mut stage in [Stage::new(&watching(plan(2))), Stage::new(&watching(l4_plan(2)))] {
            for client in 1..=5 {
                let conn = stage.client();
                stage.says(conn, GET);
                assert_eq!(stage.dials(), client);
                stage.tape.sleep(stays);
                assert!(stage.suspects().is_empty(), "a few slow connects may be due to distance");
                stage.gone(conn, Gone::Reset);
            }
            assert_eq!(!stage.suspects().is_empty(), tells);
        }
    }
}

#[test]
fn connect_has_its_whole_timeout_if_no_other_server_would_take_the_request() {
    let mut stage = Stage::new(&watching(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.dialled();
    assert_eq!(stage.wait_for_deadline(server), PATIENCE);
    assert_eq!(stage.closed(server), None);
    assert_eq!(stage.wait_for_deadline(server), PATIENCE, "the rest of its second");
    assert_eq!(status(&stage.sent(client)), "504");
    assert_eq!(stage.failures(Cause::ServerConnectTimeout), 1);
}

#[test]
fn late_connect_is_used() {
    let mut stage = Stage::new(&watching(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.dialled();
    stage.wait_for_deadline(server);
    assert_eq!(stage.connected(), server);
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn server_that_refuses_three_times_is_tried_again_after_a_second() {
    let mut stage = Stage::new(&watching(plan(2)));
    let dials: Vec<_> = (0..12).map(|_| ask(&mut stage, first_is(Dialled::Refused)).1).collect();
    assert_eq!(dials.iter().filter(|dials| **dials == 2).count(), 3, "{dials:?}");
    stage.tape.sleep(Duration::from_secs(1));
    let dials: Vec<_> = (0..4).map(|_| ask(&mut stage, first_is(Dialled::Refused)).1).collect();
    assert_eq!(dials, [2, 1, 1, 1], "one request tries it");
    assert_eq!(stage.suspects(), [0]);
}

#[test]
fn server_that_answers_the_trial_gets_its_share_again() {
    let mut stage = Stage::new(&watching(plan(2)));
    ask(&mut stage, first_is(Dialled::Silent));
    assert_eq!(stage.suspects().len(), 1);
    stage.tape.sleep(Duration::from_secs(1));
    ask(&mut stage, |_| Dialled::Stands);
    assert_eq!(stage.suspects().len(), 0);
    let mut seen = Vec::new();
    for _ in 0..4 {
        ask(&mut stage, |_| Dialled::Stands);
        seen.push(stage.dialled_address());
    }
    assert_eq!(seen.iter().filter(|address| *address == FIRST).count(), 2, "{seen:?}");
}

#[test]
fn server_that_accepts_connections_and_answers_nothing_is_skipped() {
    let mut stage = Stage::new(&watching(plan(2)));
    let mut answers = Vec::new();
    for _ in 0..12 {
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        match stage.dialled_address() == FIRST {
            true => stage.gone(server, Gone::Reset),
            false => stage.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")),
        }
        answers.push(status(&stage.sent(client)).to_owned());
    }
    assert_eq!(answers.iter().filter(|status| *status == "502").count(), 3, "{answers:?}");
    assert!(answers[6..].iter().all(|status| status == "200"), "{answers:?}");
}

#[test]
fn end_of_a_used_connection_does_not_make_its_server_suspect() {
    let mut stage = Stage::new(&watching(plan(1)));
    for _ in 0..4 {
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        stage.says(server, OK);
        stage.says(client, GET);
        stage.gone(server, Gone::Reset);
    }
    assert_eq!(stage.suspects().len(), 0);
}

/// The first of two servers has a connection that carries its second request; the next connect to it hangs.
fn hanging() -> (Stage, Conn) {
    let mut stage = Stage::new(&watching(plan(2)));
    let asks = |stage: &mut Stage| {
        let client = stage.client();
        stage.says(client, GET);
    };
    asks(&mut stage);
    let reused = stage.connected();
    stage.says(reused, OK);
    stage.tape.sleep(Duration::from_millis(1));
    (0..4).for_each(|_| asks(&mut stage));
    assert_eq!((stage.dials(), stage.dialled_address().as_str()), (4, FIRST));
    (stage, reused)
}

#[test]
fn idle_connections_to_a_server_that_falls_silent_are_closed() {
    let (mut stage, idle) = hanging();
    stage.says(idle, OK);
    assert_eq!(stage.closed(idle), None);
    stage.wait_for_deadline(stage.dialled());
    assert_eq!(stage.closed(idle), Some(Close::Flush));
}

#[test]
fn connection_to_a_suspect_server_is_closed_after_its_response() {
    let (mut stage, busy) = hanging();
    stage.wait_for_deadline(stage.dialled());
    assert_eq!((stage.suspects(), stage.closed(busy)), (vec![0], None));
    stage.says(busy, OK);
    assert_eq!((stage.suspects(), stage.closed(busy)), (vec![0], Some(Close::Flush)));
}

#[test]
fn tunnels_wait_for_a_silent_server_once() {
    let mut stage = Stage::new(&watching(l4_plan(2)));
    let mut waits = Vec::new();
    for _ in 0..8 {
        stage.client();
        waits.push(dial(&mut stage, first_is(Dialled::Silent)).1);
    }
    assert_eq!(waits.iter().sum::<Duration>(), PATIENCE, "{waits:?}");
}

#[test]
fn last_server_is_used_though_it_is_suspect() {
    let mut stage = Stage::new(&watching(plan(1)));
    for _ in 0..5 {
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.dialled();
        stage.gone(server, Gone::Refused);
        assert_eq!(status(&stage.sent(client)), "502", "and not 503: it was asked");
    }
    assert_eq!(stage.suspects().len(), 1);
    ask(&mut stage, |_| Dialled::Stands);
    assert_eq!(stage.suspects().len(), 0);
}

#[test]
fn server_that_is_down_stays_down_when_all_others_are_suspect() {
    let mut plan = watching(plan(2));
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 1", true);
    for _ in 0..5 {
        let client = stage.client();
        stage.says(client, GET);
        assert_eq!(stage.dialled_address(), "10.1.0.2:8000");
        let server = stage.dialled();
        stage.batch(vec![Event::Gone { conn: server, why: Gone::Refused }]);
    }
}
