//! New connections to servers, of which each may have so many in a time.

use std::time::Duration;

use weir_api::dataplane::v1::{self as api, CookiePersistence, RateLimit, rate_limit::Action};
use weir_proxy::io::{Close, Event, Gone};
use weir_telemetry::{Cause, record::Reasons};
use weir_wire::http2::Settings;

use crate::{
    GET, OK,
    origin::{Origin, asks, to_http2},
    records::recording,
    status,
    tape::{Stage, l4_plan, plan},
};

const LAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// One connection to each server in ten seconds.
fn limited(mut plan: api::Plan, action: Option<Action>) -> api::Plan {
    plan.pools[0].connect_rate = Some(RateLimit { count: 1, period_s: 10, action, ..RateLimit::default() });
    plan
}

fn busy() -> Option<Action> {
    Some(Action::Response(api::LocalResponse {
        status: 429,
        content_type: "text/plain".into(),
        content: b"busy".into(),
    }))
}

fn closes(reset: bool) -> Option<Action> {
    Some(Action::Close(api::Close { reset }))
}

/// Asks, and has the server answer and close. Returns what the client gets.
fn gets(stage: &mut Stage, request: &str) -> String {
    let (client, dials) = (stage.client(), stage.dials());
    stage.says(client, request);
    if stage.dials() > dials {
        let server = stage.connected();
        stage.says(server, LAST);
    }
    stage.sent(client)
}

#[test]
fn server_that_had_its_connections_gets_no_other_until_their_time_has_come() {
    let mut stage = Stage::new(&limited(plan(2), busy()));
    let servers: Vec<_> = (0..2)
        .map(|_| {
            assert_eq!(status(&gets(&mut stage, GET)), "200");
            stage.dialled_address()
        })
        .collect();
    assert_eq!(servers, ["10.1.0.1:8000", "10.1.0.2:8000"]);
    let answer = gets(&mut stage, GET);
    assert!(status(&answer) == "429" && answer.ends_with("busy"), "{answer}");
    assert_eq!((stage.dials(), stage.failures(Cause::ServerConnectionRate)), (2, 1));
    stage.tape.sleep(Duration::from_secs(10));
    assert_eq!(status(&gets(&mut stage, GET)), "200");
    assert_eq!(stage.proxy.servers_suspect(weir_proxy::io::Io::now(&stage.tape)).count(), 0);
}

#[test]
fn what_the_rate_of_a_server_refuses_is_no_failure_of_its_client() {
    let refusal = Some(Action::Response(api::LocalResponse { status: 403, ..Default::default() }));
    for (action, wanted) in [(busy(), "429"), (closes(false), "none")] {
        let mut plan = limited(plan(1), action);
        plan.virtual_services[0].request_limits = vec![RateLimit {
            name: "failed".into(),
            of_failures: true,
            ..RateLimit { count: 2, period_s: 3600, action: refusal.clone(), ..RateLimit::default() }
        }];
        let mut stage = Stage::new(&plan);
        let statuses: Vec<_> = (0..6).map(|_| status(&gets(&mut stage, GET)).to_owned()).collect();
        assert_eq!(statuses, ["200", wanted, wanted, wanted, wanted, wanted]);
    }
}

#[test]
fn another_server_is_picked_and_idle_connections_do_not_count() {
    let mut stage = Stage::new(&limited(plan(2), busy()));
    let first = asks(&mut stage, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(first)), "200");
    // In turn: the second server, the first one's idle connection, and then nothing that is left.
    let second = asks(&mut stage, GET);
    let other = stage.connected();
    let (third, fourth) = (asks(&mut stage, GET), asks(&mut stage, GET));
    assert_eq!((stage.dials(), status(&stage.sent(fourth))), (2, "429"));
    stage.says(other, OK);
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(second)), status(&stage.sent(third))), ("200", "200"));
}

#[test]
fn client_that_is_bound_to_such_a_server_gets_another() {
    let mut plan = limited(plan(2), busy());
    plan.pools[0].persistence = Some(CookiePersistence { cookie_name: "to".into(), ..Default::default() });
    (0..2).for_each(|at| plan.pools[0].servers[at].token = format!("t{at}"));
    let bound = GET.replace("\r\n\r\n", "\r\nCookie: to=t1\r\n\r\n");
    let mut stage = Stage::new(&plan);
    for (address, cookie) in [("10.1.0.2:8000", false), ("10.1.0.1:8000", true)] {
        let answer = gets(&mut stage, &bound);
        assert_eq!((stage.dialled_address().as_str(), answer.contains("Set-Cookie: to=t0")), (address, cookie));
    }
}

#[test]
fn action_closes_resets_redirects_or_only_reports() {
    for (reset, how) in [(false, Close::Linger), (true, Close::Abort)] {
        let mut stage = Stage::new(&limited(plan(1), closes(reset)));
        gets(&mut stage, GET);
        let client = asks(&mut stage, GET);
        assert_eq!((stage.sent(client), stage.closed(client)), (String::new(), Some(how)));
    }
    let host = api::UriToken { kind: api::UriTokenKind::Text.into(), text: "busy.test".into(), ..Default::default() };
    let redirect = api::HttpRedirect { status: 302, host: vec![host], ..Default::default() };
    let mut stage = Stage::new(&limited(plan(1), Some(Action::Redirect(redirect))));
    gets(&mut stage, GET);
    let answer = gets(&mut stage, GET);
    assert!(status(&answer) == "302" && answer.contains("\r\nLocation: http://busy.test/\r\n"), "{answer}");

    let mut stage = Stage::new(&limited(recording(plan(1)), None));
    assert!((0..2).all(|_| status(&gets(&mut stage, GET)) == "200"));
    let taken = stage.records();
    let reasons: Vec<_> = taken.records().iter().map(|record| record.reasons()).collect();
    assert_eq!(reasons, [0, Reasons::RATE_LIMITED.bits()]);
}

#[test]
fn workers_count_together_and_each_server_apart() {
    let plan = limited(plan(2), busy());
    let mut one = Stage::new(&plan);
    let mut other = one.beside(&plan);
    assert_eq!(status(&gets(&mut one, GET)), "200");
    assert_eq!(status(&gets(&mut other, GET)), "200");
    assert_eq!((one.dialled_address().as_str(), other.dialled_address().as_str()), ("10.1.0.1:8000", "10.1.0.2:8000"));
    assert_eq!((status(&gets(&mut one, GET)), status(&gets(&mut other, GET))), ("429", "429"));
}

#[test]
fn tunnels_count_and_find_another_server_or_none() {
    let mut stage = Stage::new(&limited(l4_plan(2), closes(false)));
    let addresses: Vec<_> = (0..2)
        .map(|_| {
            stage.client();
            stage.dialled_address()
        })
        .collect();
    assert_eq!(addresses, ["10.1.0.1:8000", "10.1.0.2:8000"]);
    let beyond = stage.client();
    assert_eq!((stage.dials(), stage.closed(beyond).is_some()), (2, true));
    assert_eq!(stage.failures(Cause::ServerConnectionRate), 1);
}

#[test]
fn streams_on_a_connection_that_stands_do_not_count() {
    let mut stage = Stage::new(&limited(to_http2(plan(1)), busy()));
    let first = asks(&mut stage, GET);
    let mut origin = Origin::accept(&mut stage, Settings { max_concurrent_streams: Some(2), ..Settings::default() });
    let second = asks(&mut stage, GET);
    let third = asks(&mut stage, GET);
    assert_eq!((status(&stage.sent(third)), stage.dials()), ("429", 1));
    assert_eq!(stage.failures(Cause::ServerConnectionRate), 1);
    origin.hears(&mut stage);
    origin.answers(&mut stage, 1, "ok");
    origin.answers(&mut stage, 3, "ok");
    assert_eq!((status(&stage.sent(first)), status(&stage.sent(second))), ("200", "200"));
    stage.batch(vec![Event::Eof { conn: first }]);
}

#[test]
fn requests_in_a_queue_wait_for_the_next_connection_too() {
    let mut plan = limited(plan(1), busy());
    plan.pools[0].request_queue_depth = Some(8);
    wait_in_a_queue(&plan);
    // Each is bound to the server.
    let pool = &mut plan.pools[0];
    (pool.algorithm, pool.hash_input) = (api::Algorithm::ConsistentHash as i32, api::HashInput::SourceAddress as i32);
    pool.waits_for_hashed = true;
    wait_in_a_queue(&plan);
}

fn wait_in_a_queue(plan: &api::Plan) {
    let mut stage = Stage::new(plan);
    assert_eq!(status(&gets(&mut stage, GET)), "200");
    let waiting: Vec<_> = (0..2).map(|_| asks(&mut stage, GET)).collect();
    assert_eq!((stage.dials(), stage.failures(Cause::ServerConnectionRate)), (1, 0));
    for client in waiting.iter().rev() {
        let now = weir_proxy::io::Io::now(&stage.tape);
        let due = stage.proxy.due().expect("a connection may begin then").since(now);
        assert!(due > Duration::from_secs(9) && due <= Duration::from_secs(10), "{due:?}");
        stage.tape.sleep(due);
        stage.batch(vec![]);
        let server = stage.connected();
        stage.says(server, LAST);
        assert_eq!(status(&stage.sent(*client)), "200");
    }
    assert_eq!(stage.proxy.due(), None);
    assert_eq!((stage.dials(), stage.failures(Cause::ServerConnectionRate)), (3, 0));
}

#[test]
fn response_is_not_withheld_where_the_other_server_may_get_no_connection() {
    let mut plan = limited(plan(2), busy());
    plan.pools[0].reselect = Some(api::Reselect {
        statuses: vec![api::StatusRange { first: 503, last: 503 }],
        max_retries: 2,
        ..Default::default()
    });
    let mut stage = Stage::new(&plan);
    assert_eq!(status(&gets(&mut stage, GET)), "200");
    let client = asks(&mut stage, GET);
    let server = stage.connected();
    stage.says(server, LAST.replace("200 OK", "503 Service Unavailable"));
    assert_eq!(status(&stage.sent(client)), "503");
    assert_eq!(stage.failures(Cause::ServerConnectionRate), 0);
}

#[test]
fn failure_of_the_only_server_is_not_called_its_rate() {
    let mut stage = Stage::new(&limited(l4_plan(1), closes(false)));
    let client = stage.client();
    let server = stage.dialled();
    stage.gone(server, Gone::Refused);
    assert!(stage.closed(client).is_some());
    assert_eq!((stage.failures(Cause::ServerConnectionRate), stage.failures(Cause::ServerRefused)), (0, 1));
}
