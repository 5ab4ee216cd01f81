//! Requests that wait in the queue of their pool while its servers have as many connections as they may have.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, CookiePersistence, HashInput};
use weir_proxy::io::{Close, Event, Gone};
use weir_telemetry::{Cause, QueueCounters};
use weir_wire::http2::{Code, Settings};

use crate::{
    GET, OK,
    calls::wait,
    explanations::question,
    groups::{backup, grouped, monitored},
    http2::{Browser, http2},
    origin::{Origin, asks, to_http2},
    policies::{to_pool, with},
    records::recording,
    reselects::reselect,
    status,
    tape::{Stage, plan},
};

const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";

/// Servers with one connection each, and so many places in the queue.
fn queueing(servers: usize, depth: u32) -> api::Plan {
    let mut plan = recording(plan(servers));
    limit(&mut plan.pools[0], depth);
    plan
}

fn limit(pool: &mut api::Pool, depth: u32) {
    pool.servers.iter_mut().for_each(|server| server.max_connections = 1);
    pool.request_queue_depth = Some(depth);
}

fn get(path: &str) -> String {
    format!("GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// The path that a server is asked for.
fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or_default()
}

impl Stage {
    fn queue(&self) -> QueueCounters {
        self.proxy.counters().queue(0)
    }

    /// Of requests: those that wait, that had to, for which the queue was full, and that waited too long.
    fn queue_counts(&self) -> [u64; 4] {
        let QueueCounters { waiting, queued, full, timeouts } = self.queue();
        [waiting, queued, full, timeouts]
    }

    fn pass_time(&mut self, span: Duration) {
        self.tape.sleep(span);
        self.batch(vec![]);
    }
}

#[test]
fn newest_request_goes_first_and_on_the_connection_that_has_become_idle() {
    let mut stage = Stage::new(&queueing(1, 8));
    let first = asks(&mut stage, GET);
    let server = stage.connected();
    stage.sent(server);
    let waiting: Vec<_> = ["a", "b", "c"].iter().map(|name| asks(&mut stage, &get(name))).collect();
    assert_eq!((stage.dials(), stage.queue_counts()), (1, [3, 3, 0, 0]));
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(first)), "200");
    for (name, client) in ["/c", "/b", "/a"].iter().zip(waiting.into_iter().rev()) {
        assert_eq!(path(&stage.sent(server)), *name);
        assert_eq!(stage.sent(client), "");
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200");
    }
    assert_eq!((stage.dials(), stage.queue_counts()), (1, [0, 3, 0, 0]));
    assert!(!stage.proxy.has_more_to_do());
}

#[test]
fn new_request_comes_before_those_that_wait() {
    let mut stage = Stage::new(&queueing(1, 8));
    asks(&mut stage, GET);
    let server = stage.connected();
    stage.sent(server);
    asks(&mut stage, &get("old"));
    let client = stage.client();
    let (answer, request) = (stage.data(server, OK), stage.data(client, get("new")));
    stage.batch(vec![answer, request]);
    assert_eq!(path(&stage.sent(server)), "/new");
    stage.says(server, OK);
    assert_eq!(path(&stage.sent(server)), "/old");
}

#[test]
fn queue_that_is_full_and_other_methods_have_the_fail_action_at_once() {
    let mut stage = Stage::new(&queueing(1, 1));
    asks(&mut stage, GET);
    let server = stage.connected();
    let waits = asks(&mut stage, GET);
    let beyond = asks(&mut stage, GET);
    assert_eq!((status(&stage.sent(beyond)), stage.queue_counts()), ("503", [1, 1, 1, 0]));
    for request in [POST, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let other = asks(&mut stage, request);
        assert_eq!(status(&stage.sent(other)), "503", "{request}");
    }
    assert_eq!((stage.failures(Cause::NoServer), stage.queue_counts()), (3, [1, 1, 1, 0]));
    stage.says(server, OK);
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(waits)), "200");
}

#[test]
fn request_whose_client_has_gone_leaves_the_queue() {
    for event in [|conn| Event::Eof { conn }, |conn| Event::Gone { conn, why: Gone::Reset }] {
        let mut stage = Stage::new(&queueing(1, 1));
        asks(&mut stage, GET);
        let server = stage.connected();
        stage.sent(server);
        let gone = asks(&mut stage, &get("gone"));
        stage.batch(vec![event(gone)]);
        assert_eq!((stage.failures(Cause::ClientAborted), stage.queue_counts()), (1, [0, 1, 0, 0]));
        asks(&mut stage, &get("other"));
        stage.says(server, OK);
        assert_eq!(path(&stage.sent(server)), "/other");
    }
}

#[test]
fn wait_ends_with_the_timeout_of_the_server() {
    let mut stage = Stage::new(&queueing(1, 8));
    asks(&mut stage, GET);
    stage.connected();
    let waits = asks(&mut stage, GET);
    assert_eq!(stage.wait_for_deadline(waits), Duration::from_secs(2));
    assert_eq!((status(&stage.sent(waits)), stage.queue_counts()), ("503", [0, 1, 0, 1]));
    assert_eq!(stage.failures(Cause::ServerQueueTimeout), 1);
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.status(), record.cause()), (503, Cause::ServerQueueTimeout as u16 + 1));
}

#[test]
fn record_has_the_time_in_the_queue_in_its_wait() {
    let mut stage = Stage::new(&queueing(1, 8));
    let busy = asks(&mut stage, GET);
    let server = stage.connected();
    let waits = asks(&mut stage, GET);
    stage.tape.sleep(Duration::from_millis(300));
    stage.says(server, OK);
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(busy)), status(&stage.sent(waits))), ("200", "200"));
    let taken = stage.records();
    let waits: Vec<_> = taken.records().iter().map(|record| record.times()[0] / 1_000).collect();
    assert_eq!(waits, [0, 300]);
}

#[test]
fn server_that_comes_up_takes_requests_from_the_queue_and_without_any_they_fail() {
    fn set_up(stage: &mut Stage, server: usize, up: bool) {
        stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {server}"), up);
    }
    let mut stage = Stage::new(&monitored(queueing(2, 8)));
    set_up(&mut stage, 0, true);
    asks(&mut stage, GET);
    let first = stage.connected();
    let (older, newer) = (asks(&mut stage, &get("older")), asks(&mut stage, &get("newer")));
    set_up(&mut stage, 1, true);
    assert!(stage.proxy.has_more_to_do());
    stage.pass_time(Duration::ZERO);
    let second = stage.connected();
    assert_eq!((path(&stage.sent(second)), stage.proxy.has_more_to_do()), ("/newer", false));
    (0..2).for_each(|server| set_up(&mut stage, server, false));
    stage.pass_time(Duration::ZERO);
    assert_eq!((status(&stage.sent(older)), stage.queue_counts()), ("503", [0, 2, 0, 0]));
    [first, second].into_iter().for_each(|server| stage.says(server, OK));
    assert_eq!(status(&stage.sent(newer)), "200");
}

#[test]
fn pool_that_changes_or_goes_frees_those_that_wait() {
    let before = queueing(1, 8);
    let mut wider = before.clone();
    wider.revision += 1;
    wider.pools[0].servers[0].max_connections = 2;
    let mut without = before.clone();
    without.revision += 1;
    (without.pools[0].uuid, without.virtual_services[0].pool_uuid) = ("other".into(), "other".into());
    for (after, dials, answer) in [(wider, 2, ""), (without, 1, "503")] {
        let mut stage = Stage::new(&before);
        asks(&mut stage, GET);
        stage.connected();
        let waits = asks(&mut stage, GET);
        stage.replace(&after);
        stage.pass_time(Duration::ZERO);
        let sent = stage.sent(waits);
        assert_eq!((stage.dials(), if sent.is_empty() { "" } else { status(&sent) }), (dials, answer));
        assert_eq!(stage.queue().waiting, 0);
    }
}

#[test]
fn failed_connect_leads_to_the_queue_of_the_servers_that_are_left() {
    let mut stage = Stage::new(&queueing(2, 8));
    asks(&mut stage, GET);
    let busy = stage.connected();
    stage.sent(busy);
    let client = asks(&mut stage, &get("second"));
    let refused = stage.dialled();
    stage.gone(refused, Gone::Refused);
    assert_eq!((stage.sent(client), stage.queue_counts()), (String::new(), [1, 1, 0, 0]));
    stage.says(busy, OK);
    assert_eq!(path(&stage.sent(busy)), "/second");
}

#[test]
fn request_that_a_cookie_binds_waits_for_its_server_though_another_has_room() {
    let mut plan = queueing(2, 1);
    plan.pools[0].persistence = Some(CookiePersistence { cookie_name: "to".into(), ..Default::default() });
    (0..2).for_each(|at| plan.pools[0].servers[at].token = format!("t{at}"));
    let bound = GET.replace("\r\n\r\n", "\r\nCookie: to=t1\r\n\r\n");
    let mut stage = Stage::new(&plan);
    asks(&mut stage, &bound);
    let server = stage.connected();
    stage.sent(server);
    assert_eq!(stage.dialled_address(), "10.1.0.2:8000");
    let waits = asks(&mut stage, &bound);
    assert_eq!((stage.dials(), stage.queue_counts()), (1, [1, 1, 0, 0]));
    // The queue is full: it gets another server, as in a pool without a queue.
    asks(&mut stage, &bound);
    assert_eq!((stage.dials(), stage.dialled_address().as_str()), (2, "10.1.0.1:8000"));
    stage.says(server, OK);
    assert!(!stage.sent(server).is_empty());
    stage.says(server, OK);
    let answer = stage.sent(waits);
    assert_eq!((status(&answer), answer.contains("Set-Cookie")), ("200", false));
}

#[test]
fn request_that_a_cookie_binds_waits_for_its_server_though_another_pool_of_the_group_has_room() {
    let mut plan = grouped(queueing(1, 8), &[(1, 1), (1, 1)]);
    for (at, pool) in plan.pools.iter_mut().enumerate() {
        pool.persistence = Some(CookiePersistence { cookie_name: "to".into(), ..Default::default() });
        pool.servers[0].token = format!("t{at}");
    }
    let bound = GET.replace("\r\n\r\n", "\r\nCookie: to=t1\r\n\r\n");
    let mut stage = Stage::new(&plan);
    asks(&mut stage, &bound);
    let server = stage.connected();
    stage.sent(server);
    let waits = asks(&mut stage, &bound);
    assert_eq!(stage.dials(), 1, "the other pool does not get it");
    stage.says(server, OK);
    assert!(!stage.sent(server).is_empty());
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(waits)), "200");
}

#[test]
fn request_that_its_address_binds_waits_for_its_server() {
    let mut plan = queueing(3, 8);
    let pool = &mut plan.pools[0];
    (pool.algorithm, pool.hash_input) = (api::Algorithm::ConsistentHash as i32, HashInput::SourceAddress as i32);
    pool.waits_for_hashed = true;
    let mut stage = Stage::new(&plan);
    asks(&mut stage, GET);
    let server = stage.connected();
    stage.sent(server);
    asks(&mut stage, &get("waits"));
    assert_eq!((stage.dials(), stage.queue_counts()), (1, [1, 1, 0, 0]));
    stage.says(server, OK);
    assert_eq!(path(&stage.sent(server)), "/waits");
}

#[test]
fn request_of_a_group_waits_only_while_all_of_its_pools_are_full_and_before_the_backup() {
    let mut plan = grouped(queueing(1, 8), &[(1, 1), (1, 1)]);
    with_backup(&mut plan);
    plan.pool_groups[0].fail_answer = plan.pools[0].fail_answer.clone();
    let mut stage = Stage::new(&plan);
    (0..2).for_each(|_| _ = asks(&mut stage, GET));
    assert_eq!((stage.dials(), stage.queue().queued), (2, 0), "each pool takes one");
    let waits = asks(&mut stage, &get("waits"));
    assert_eq!((stage.dials(), stage.sent(waits)), (2, String::new()));
    let server = stage.connected();
    stage.sent(server);
    stage.says(server, OK);
    assert_eq!((path(&stage.sent(server)), stage.dials()), ("/waits", 2), "the backup has room");
}

/// The first pool, and one that others of its group may stand beside: it has room for any number of requests.
fn beside_roomy(members: &[(u32, u32)]) -> api::Plan {
    let mut plan = grouped(queueing(1, 8), members);
    (plan.pools[1].servers[0].max_connections, plan.pools[1].request_queue_depth) = (0, None);
    plan
}

#[test]
fn pools_of_a_group_that_get_no_requests_do_not_keep_others_from_waiting() {
    let without_ratio = beside_roomy(&[(1, 1), (0, 1)]);
    let mut lacks_servers = beside_roomy(&[(1, 1), (1, 1)]);
    lacks_servers.pools[1].min_servers_up = 2;
    for plan in [without_ratio, lacks_servers] {
        let mut stage = Stage::new(&plan);
        asks(&mut stage, GET);
        stage.connected();
        let waits: Vec<_> = (0..3).map(|_| asks(&mut stage, GET)).collect();
        assert_eq!(stage.explain(&question(GET)).queued, Some(3));
        (0..3).for_each(|_| stage.pass_time(Duration::ZERO));
        assert_eq!((stage.dials(), stage.queue_counts()), (1, [3, 3, 0, 0]));
        assert_eq!(stage.wait_for_deadline(waits[0]), Duration::from_secs(2));
        assert_eq!((status(&stage.sent(waits[0])), stage.queue_counts()), ("503", [2, 3, 0, 1]));
    }
}

#[test]
fn pool_that_leaves_the_group_does_not_keep_others_from_waiting() {
    let before = grouped(queueing(1, 8), &[(1, 1), (1, 1)]);
    let mut stage = Stage::new(&before);
    asks(&mut stage, GET);
    let server = stage.connected();
    asks(&mut stage, GET);
    let other = stage.connected();
    let waits = asks(&mut stage, GET);
    let mut after = before.clone();
    after.revision += 1;
    after.pool_groups[0].members.truncate(1);
    stage.replace(&after);
    stage.says(other, OK);
    (0..3).for_each(|_| stage.pass_time(Duration::ZERO));
    assert_eq!((stage.dials(), stage.queue_counts()), (2, [1, 1, 0, 0]));
    stage.says(server, OK);
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(waits)), "200");
}

#[test]
fn request_of_a_group_goes_to_any_pool_that_gets_room_also_one_that_it_has_left() {
    let mut plan = grouped(queueing(1, 8), &[(1, 1), (1, 1)]);
    plan.pools[1].request_queue_depth = None;
    let mut stage = Stage::new(&plan);
    (0..2).for_each(|_| _ = asks(&mut stage, GET));
    let second = stage.connected();
    stage.sent(second);
    for name in ["in-first", "from-second"] {
        asks(&mut stage, &get(name));
    }
    assert_eq!(stage.queue_counts(), [2, 2, 0, 0]);
    for name in ["/from-second", "/in-first"] {
        stage.says(second, OK);
        assert_eq!(path(&stage.sent(second)), name);
    }
    assert_eq!((stage.dials(), stage.queue_counts()), (2, [0, 2, 0, 0]));
}

#[test]
fn request_for_one_pool_does_not_keep_those_of_a_group_from_another_one() {
    let plan = grouped(queueing(1, 8), &[(1, 1), (1, 1)]);
    let mut stage = Stage::new(&with(plan, to_pool("/first", "pool-0")));
    (0..2).for_each(|_| _ = asks(&mut stage, GET));
    let second = stage.connected();
    stage.sent(second);
    asks(&mut stage, &get("any"));
    asks(&mut stage, &get("first/one"));
    assert_eq!(stage.queue_counts(), [2, 2, 0, 0]);
    stage.says(second, OK);
    assert_eq!((path(&stage.sent(second)), stage.queue_counts()), ("/any", [1, 2, 0, 0]));
}

#[test]
fn queues_that_wait_for_the_same_server_take_turns() {
    let plan = grouped(queueing(1, 8), &[(1, 1), (1, 1)]);
    let mut stage = Stage::new(&with(plan, to_pool("/second", "pool-1")));
    (0..2).for_each(|_| _ = asks(&mut stage, GET));
    let second = stage.connected();
    stage.sent(second);
    for name in ["a", "b", "c", "second/x", "second/y"] {
        asks(&mut stage, &get(name));
    }
    let came: Vec<_> = (0..4)
        .map(|_| {
            stage.says(second, OK);
            path(&stage.sent(second)).to_owned()
        })
        .collect();
    assert_eq!(came, ["/c", "/second/y", "/a", "/second/x"], "b waits behind x");
}

/// Gives the first pool a backup with one server.
fn with_backup(plan: &mut api::Plan) {
    let mut spare = plan.pools[0].clone();
    (spare.uuid, spare.servers[0].address) = ("spare".into(), "10.1.9.1".into());
    plan.pools.push(spare);
    let pool = &mut plan.pools[0];
    (pool.fail_action, pool.fail_answer) = (api::FailAction::Answer.into(), backup("spare"));
}

#[test]
fn backup_takes_a_request_that_has_waited_too_long() {
    let mut plan = queueing(1, 8);
    with_backup(&mut plan);
    let mut stage = Stage::new(&plan);
    asks(&mut stage, GET);
    stage.connected();
    let waits = asks(&mut stage, GET);
    assert_eq!((stage.dials(), stage.wait_for_deadline(waits)), (1, Duration::from_secs(2)));
    assert_eq!(stage.dialled_address(), "10.1.9.1:8000");
    let spare = stage.connected();
    stage.says(spare, OK);
    assert_eq!((status(&stage.sent(waits)), stage.queue_counts()), ("200", [0, 1, 0, 1]));
    // The backup is as full: the request does not wait once more.
    let (last, beyond) = (asks(&mut stage, GET), asks(&mut stage, GET));
    stage.wait_for_deadline(last);
    let spare = stage.dialled();
    stage.wait_for_deadline(beyond);
    assert_eq!((stage.dialled(), status(&stage.sent(beyond))), (spare, "503"));
    assert_eq!(stage.failures(Cause::ServerQueueTimeout), 1);
}

#[test]
fn request_that_returns_to_the_queue_has_waited_since_the_first_time() {
    let mut stage = Stage::new(&queueing(2, 8));
    asks(&mut stage, GET);
    let first = stage.connected();
    asks(&mut stage, GET);
    stage.connected();
    let waits = asks(&mut stage, GET);
    stage.tape.sleep(Duration::from_millis(500));
    stage.says(first, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    assert_eq!((stage.dials(), stage.queue_counts()), (3, [1, 1, 0, 0]));
    assert_eq!(stage.wait_for_deadline(waits), Duration::from_millis(1500));
}

#[test]
fn request_that_a_server_has_answered_does_not_wait_for_another_answer() {
    let one_stream = Settings { max_concurrent_streams: Some(1), ..Settings::default() };
    let mut plan = to_http2(plan(2));
    limit(&mut plan.pools[0], 8);
    plan.pools[0].reselect = Some(reselect());
    let mut stage = Stage::new(&plan);
    let first = asks(&mut stage, GET);
    let mut origin = Origin::accept(&mut stage, one_stream);
    origin.hears(&mut stage);
    asks(&mut stage, GET);
    Origin::accept(&mut stage, one_stream);
    let busy = origin.head(1, 503, &[("from", "server")], true);
    origin.says(&mut stage, &busy);
    let answer = stage.sent(first);
    assert_eq!((status(&answer), answer.contains("server")), ("503", true));
    assert_eq!((stage.failures(Cause::NoServer), stage.queue_counts()), (0, [0; 4]));
}

#[test]
fn bound_request_that_another_server_has_answered_does_not_wait_for_its_own() {
    let mut plan = queueing(3, 1);
    plan.pools[0].persistence = Some(CookiePersistence { cookie_name: "to".into(), ..Default::default() });
    (0..3).for_each(|at| plan.pools[0].servers[at].token = format!("t{at}"));
    plan.pools[0].reselect = Some(reselect());
    let bound = GET.replace("\r\n\r\n", "\r\nCookie: to=t1\r\n\r\n");
    let mut stage = Stage::new(&plan);
    let clients: Vec<_> = (0..3).map(|_| asks(&mut stage, &bound)).collect();
    let other = stage.connected();
    assert_eq!((stage.dials(), stage.queue_counts()), (2, [1, 1, 1, 0]));
    stage.batch(vec![Event::Gone { conn: clients[1], why: Gone::Reset }]);
    stage.says(other, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    assert_eq!((stage.dials(), stage.queue().waiting), (3, 0));
}

#[test]
fn request_that_a_server_wants_by_http_1_waits_for_a_connection_of_its_own() {
    let mut plan = to_http2(plan(1));
    limit(&mut plan.pools[0], 8);
    let mut stage = Stage::new(&plan);
    asks(&mut stage, GET);
    let mut origin = Origin::accept(&mut stage, Settings::default());
    let waits = asks(&mut stage, &get("old"));
    origin.hears(&mut stage);
    origin.resets(&mut stage, 3, Code::Http11Required);
    assert_eq!((stage.sent(waits), stage.dials(), stage.queue_counts()), (String::new(), 1, [1, 1, 0, 0]));
    origin.answers(&mut stage, 1, "ok");
    assert_eq!((stage.dials(), stage.queue().waiting), (2, 0));
    let server = stage.connected();
    assert_eq!(path(&stage.sent(server)), "/old");
}

#[test]
fn counts_of_a_queue_end_with_it() {
    let before = queueing(1, 8);
    let mut stage = Stage::new(&before);
    asks(&mut stage, GET);
    let server = stage.connected();
    asks(&mut stage, GET);
    assert_eq!(stage.queue_counts(), [1, 1, 0, 0]);
    (0..2).for_each(|_| stage.says(server, OK));
    for (revision, depth) in [(2, None), (3, Some(8))] {
        let mut after = before.clone();
        (after.revision, after.pools[0].request_queue_depth) = (revision, depth);
        stage.replace(&after);
        assert_eq!(stage.queue_counts(), [0, 0, 0, 0]);
    }
}

#[test]
fn requests_for_a_stream_go_on_when_the_servers_do_not_speak_http_2_any_more() {
    let bound = get("waits").replace("\r\n\r\n", "\r\nCookie: to=t0\r\n\r\n");
    for request in [get("waits"), bound] {
        let mut before = to_http2(plan(1));
        limit(&mut before.pools[0], 8);
        before.pools[0].persistence = Some(CookiePersistence { cookie_name: "to".into(), ..Default::default() });
        before.pools[0].servers[0].token = "t0".into();
        let mut stage = Stage::new(&before);
        let first = asks(&mut stage, GET);
        let one_stream = Settings { max_concurrent_streams: Some(1), ..Settings::default() };
        let mut origin = Origin::accept(&mut stage, one_stream);
        origin.hears(&mut stage);
        let waits = asks(&mut stage, &request);
        assert_eq!(stage.queue_counts(), [1, 1, 0, 0]);
        let mut after = before.clone();
        after.revision += 1;
        after.pools[0].http2 = None;
        stage.replace(&after);
        origin.answers(&mut stage, 1, "ok");
        assert_eq!(status(&stage.sent(first)), "200");
        stage.pass_time(Duration::ZERO);
        assert_eq!((stage.dials(), stage.queue().waiting), (2, 0), "{request}");
        let server = stage.connected();
        assert_eq!(path(&stage.sent(server)), "/waits");
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(waits)), "200");
    }
}

#[test]
fn streams_of_clients_wait_and_leave_with_their_reset() {
    let mut stage = Stage::new(&http2(queueing(1, 8)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let server = stage.connected();
    stage.sent(server);
    let second = browser.asks(&mut stage, "GET", &[], true);
    let third = browser.asks(&mut stage, "GET", &[], true);
    assert_eq!(stage.queue_counts(), [2, 2, 0, 0]);
    browser.connection.end(third, Code::Cancel);
    browser.says(&mut stage, b"");
    assert_eq!(stage.queue_counts(), [1, 2, 0, 0]);
    stage.says(server, OK);
    browser.hears(&mut stage);
    browser.heard();
    assert!(stage.sent(server).starts_with("GET "));
    stage.says(server, OK);
    browser.hears(&mut stage);
    assert!(browser.heard().iter().all(|heard| heard.starts_with(&format!("{second}: "))));
    assert_eq!(stage.queue_counts(), [0, 2, 0, 0]);
}

#[test]
fn stream_of_a_client_waits_no_longer_than_the_timeout_of_the_server() {
    let mut stage = Stage::new(&http2(queueing(1, 8)));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    stage.connected();
    let second = browser.asks(&mut stage, "GET", &[], true);
    let waited = wait(&mut stage, &mut browser).as_secs();
    assert!((2..=3).contains(&waited), "{waited} s: the connection looks after its streams each second");
    assert!(browser.heard()[0].starts_with(&format!("{second}: 503")));
    assert_eq!(stage.queue_counts(), [0, 1, 0, 1]);
}

#[test]
fn request_waits_for_a_stream_where_connections_of_http_2_are_limited() {
    let mut plan = to_http2(plan(1));
    limit(&mut plan.pools[0], 8);
    let mut stage = Stage::new(&plan);
    let first = asks(&mut stage, GET);
    let mut origin = Origin::accept(&mut stage, Settings { max_concurrent_streams: Some(1), ..Settings::default() });
    origin.hears(&mut stage);
    origin.heard();
    let waits = asks(&mut stage, &get("waits"));
    assert_eq!((stage.dials(), stage.queue_counts()), (1, [1, 1, 0, 0]));
    origin.answers(&mut stage, 1, "ok");
    origin.hears(&mut stage);
    assert_eq!((status(&stage.sent(first)), origin.heard()), ("200", vec!["3: GET /waits host: a; all".to_owned()]));
    origin.answers(&mut stage, 3, "ok");
    assert_eq!((status(&stage.sent(waits)), stage.queue_counts()), ("200", [0, 1, 0, 0]));
}

#[test]
fn request_that_no_stream_of_a_group_is_left_for_is_refused() {
    let mut plan = grouped(to_http2(plan(1)), &[(1, 1), (1, 1)]);
    plan.pools.iter_mut().for_each(|pool| pool.servers[0].max_connections = 1);
    let mut stage = Stage::new(&plan);
    for _ in 0..2 {
        asks(&mut stage, GET);
        Origin::accept(&mut stage, Settings { max_concurrent_streams: Some(1), ..Settings::default() });
    }
    let beyond = asks(&mut stage, GET);
    assert_eq!((status(&stage.sent(beyond)), stage.dials()), ("503", 2));
}

#[test]
fn client_that_closed_its_side_may_wait_as_long_as_the_profile_says() {
    let mut plan = queueing(1, 8);
    plan.virtual_services[0].http.as_mut().unwrap().half_close_timeout_ms = 500;
    let mut stage = Stage::new(&plan);
    asks(&mut stage, GET);
    stage.connected();
    let client = asks(&mut stage, GET);
    stage.batch(vec![Event::Eof { conn: client }]);
    assert_eq!(stage.queue().waiting, 1);
    assert_eq!(stage.wait_for_deadline(client), Duration::from_millis(500));
    assert_eq!((stage.closed(client), stage.queue_counts()), (Some(Close::Abort), [0, 1, 0, 0]));
}

#[test]
fn explanation_says_that_a_request_would_wait() {
    let mut stage = Stage::new(&queueing(1, 1));
    let told = stage.explain(&question(GET));
    assert_eq!((told.queued, told.picked.is_some()), (None, true));
    asks(&mut stage, GET);
    let told = stage.explain(&question(GET));
    assert_eq!((told.queued, told.picked, told.local), (Some(0), None, None));
    let told = stage.explain(&question(POST));
    assert!(told.queued.is_none() && told.local.is_some());
    asks(&mut stage, GET);
    let told = stage.explain(&question(GET));
    assert!(told.queued.is_none() && told.local.is_some(), "the queue is full");
}
