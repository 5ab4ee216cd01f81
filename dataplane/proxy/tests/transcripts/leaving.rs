//! Servers that are disabled, removed or down: how long they keep what they have.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::io::Close;
use weir_telemetry::Cause;
use weir_wire::http2::Settings;

use crate::{
    GET, OK,
    origin::{Origin, asks, to_http2},
    status,
    tape::{Stage, l4_plan, plan},
};

const GRACE: Duration = Duration::from_secs(60);
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";

fn patient(mut plan: api::Plan) -> api::Plan {
    plan.pools[0].disable_timeout_ms = Some(60_000);
    plan
}

/// The next plan, with another state of the first server.
fn enabled(plan: &api::Plan, enabled: bool) -> api::Plan {
    let mut next = plan.clone();
    next.revision += if enabled { 2 } else { 1 };
    next.pools[0].servers[0].enabled = enabled;
    next
}

/// Lets time pass, with a batch when the proxy asks for one.
fn pass(stage: &mut Stage, span: Duration) {
    stage.tape.sleep(span);
    if stage.proxy.due().is_some_and(|due| due <= weir_proxy::io::Io::now(&stage.tape)) {
        stage.batch(vec![]);
    }
}

#[test]
fn disabled_server_loses_its_requests_when_its_time_is_over() {
    let plan = patient(plan(2));
    for request in [GET, POST] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, request);
        let server = stage.connected();
        stage.replace(&enabled(&plan, false));
        pass(&mut stage, GRACE - Duration::from_secs(1));
        assert_eq!(stage.closed(server), None, "it still may answer");
        pass(&mut stage, Duration::from_secs(1));
        assert_eq!(stage.closed(server), Some(Close::Abort));
        assert_eq!((status(&stage.sent(client)), stage.dials()), ("503", 1));
        assert_eq!(stage.failures(Cause::ServerWithdrawn), 1);
        assert_eq!(stage.proxy.due(), None);
    }
}

#[test]
fn server_that_is_enabled_again_or_answers_in_time_loses_nothing() {
    let plan = patient(plan(2));
    for is_enabled in [false, true] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, POST);
        let server = stage.connected();
        stage.replace(&enabled(&plan, false));
        if is_enabled {
            stage.replace(&enabled(&plan, true));
            assert_eq!(stage.proxy.due(), None);
        } else {
            stage.says(server, OK);
            assert_eq!(stage.closed(server), Some(Close::Flush), "no other request comes to it");
        }
        pass(&mut stage, 2 * GRACE);
        if is_enabled {
            stage.says(server, OK);
        }
        assert_eq!(status(&stage.sent(client)), "200");
    }
}

#[test]
fn pool_without_grace_takes_everything_at_once_and_one_without_a_limit_nothing() {
    for timeout in [Some(0), None] {
        let mut plan = l4_plan(1);
        plan.pools[0].disable_timeout_ms = timeout;
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        let server = stage.connected();
        stage.replace(&enabled(&plan, false));
        pass(&mut stage, Duration::ZERO);
        pass(&mut stage, Duration::from_secs(100_000));
        let ends = [stage.closed(client), stage.closed(server)];
        assert_eq!(ends, if timeout.is_some() { [Some(Close::Cut); 2] } else { [None; 2] });
        assert_eq!(stage.failures(Cause::ServerWithdrawn), u64::from(timeout.is_some()));
    }
}

#[test]
fn changed_time_counts_from_when_the_server_was_disabled() {
    let plan = patient(l4_plan(1));
    let mut stage = Stage::new(&plan);
    stage.client();
    let server = stage.connected();
    let mut next = enabled(&plan, false);
    stage.replace(&next);
    pass(&mut stage, GRACE / 2);
    next.revision += 1;
    next.pools[0].disable_timeout_ms = Some(31_000);
    stage.replace(&next);
    assert_eq!(stage.closed(server), None);
    pass(&mut stage, Duration::from_secs(1));
    assert!(stage.closed(server).is_some());
}

#[test]
fn removed_server_keeps_its_work_for_the_same_time() {
    let plan = patient(l4_plan(2));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    let server = stage.connected();
    let mut next = plan.clone();
    next.revision += 1;
    next.pools[0].servers.remove(0);
    stage.replace(&next);
    pass(&mut stage, GRACE - Duration::from_secs(1));
    assert_eq!(stage.closed(server), None);
    pass(&mut stage, Duration::from_secs(1));
    assert_eq!((stage.closed(client), stage.closed(server)), (Some(Close::Cut), Some(Close::Cut)));
}

#[test]
fn server_that_goes_down_loses_its_work_only_if_the_pool_says_when() {
    for timeout in [Some(5_000), None] {
        let mut plan = plan(2);
        (plan.pools[0].monitored, plan.pools[0].down_timeout_ms) = (true, timeout);
        let mut stage = Stage::new(&plan);
        let judge = |stage: &mut Stage, up| stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", up);
        judge(&mut stage, true);
        let client = stage.client();
        stage.says(client, POST);
        let server = stage.connected();
        judge(&mut stage, false);
        judge(&mut stage, true);
        pass(&mut stage, Duration::from_secs(10));
        assert_eq!(stage.closed(server), None, "it is up again");
        judge(&mut stage, false);
        pass(&mut stage, Duration::from_secs(4));
        judge(&mut stage, false);
        pass(&mut stage, Duration::from_secs(1));
        assert_eq!(stage.closed(server).is_some(), timeout.is_some());
    }
}

#[test]
fn streams_end_with_the_connection_that_carries_them() {
    let plan = patient(to_http2(plan(1)));
    let mut stage = Stage::new(&plan);
    let clients: Vec<_> = [POST, POST].into_iter().map(|post| asks(&mut stage, post)).collect();
    let origin = Origin::accept(&mut stage, Settings::default());
    stage.replace(&enabled(&plan, false));
    pass(&mut stage, GRACE);
    assert!(stage.closed(origin.conn).is_some());
    for client in clients {
        assert_eq!(status(&stage.sent(client)), "503");
    }
}

#[test]
fn bound_clients_leave_a_disabled_server_when_its_time_is_over() {
    let mut plan = patient(plan(2));
    let pool = &mut plan.pools[0];
    (pool.persistence_header, pool.keeps_disabled) = ("X-Server".into(), true);
    pool.servers[0].header_value = "first".into();
    let mut stage = Stage::new(&plan);
    stage.replace(&enabled(&plan, false));
    let ask = |stage: &mut Stage| {
        let client = stage.client();
        stage.says(client, GET.replace("\r\n\r\n", "\r\nX-Server: first\r\n\r\n"));
        stage.dialled_address()
    };
    assert_eq!(ask(&mut stage), "10.1.0.1:8000");
    pass(&mut stage, GRACE);
    assert_eq!(ask(&mut stage), "10.1.0.2:8000");
}

/// A name whose answers leave out an address for a moment, or an operator who takes a removal back.
#[test]
fn removed_server_that_comes_back_in_time_loses_nothing() {
    let plan = patient(l4_plan(2));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    let server = stage.connected();
    let mut next = plan.clone();
    next.revision += 1;
    let back = next.pools[0].servers.remove(0);
    stage.replace(&next);
    pass(&mut stage, GRACE / 2);
    next.revision += 1;
    next.pools[0].servers.push(back);
    stage.replace(&next);
    assert_eq!(stage.proxy.due(), None);
    pass(&mut stage, 2 * GRACE);
    assert_eq!((stage.closed(client), stage.closed(server)), (None, None));
}

#[test]
fn server_that_nobody_judges_any_more_loses_nothing() {
    let mut plan = l4_plan(2);
    (plan.pools[0].monitored, plan.pools[0].down_timeout_ms) = (true, Some(5_000));
    let mut stage = Stage::new(&plan);
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", true);
    stage.client();
    let server = stage.connected();
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", false);
    plan.revision += 1;
    plan.pools[0].monitored = false;
    stage.replace(&plan);
    pass(&mut stage, GRACE);
    assert_eq!(stage.closed(server), None);
}

#[test]
fn time_for_servers_that_are_down_holds_for_those_that_were_down_before() {
    let mut plan = l4_plan(2);
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", true);
    stage.client();
    let server = stage.connected();
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", false);
    plan.revision += 1;
    plan.pools[0].down_timeout_ms = Some(5_000);
    stage.replace(&plan);
    pass(&mut stage, Duration::from_secs(5));
    assert!(stage.closed(server).is_some());
}
