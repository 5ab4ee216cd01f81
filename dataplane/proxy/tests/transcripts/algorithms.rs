//! What servers show about themselves reaches the algorithms, and what of a request names its server.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::explain::Question;

use crate::{
    hosted::get,
    status,
    tape::{Stage, plan},
};

const LAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// How many of these requests each server gets. `answer` says how long each takes, and what it sends.
fn counts(stage: &mut Stage, requests: usize, answer: impl Fn(usize) -> (u64, String)) -> [usize; 4] {
    let mut counts = [0; 4];
    for _ in 0..requests {
        let client = stage.client();
        stage.says(client, get("a", "/"));
        let server = stage.connected();
        let address = stage.dialled_address();
        let last = address.split([':', '.']).nth(3).and_then(|last| last.parse::<usize>().ok());
        let at = last.expect("an address of a server") - 1;
        counts[at] += 1;
        let (ms, response) = answer(at);
        stage.tape.sleep(Duration::from_millis(ms));
        stage.says(server, response);
        assert_eq!(status(&stage.sent(client)), "200");
    }
    counts
}

fn stage(algorithm: api::Algorithm) -> Stage {
    let mut plan = plan(4);
    plan.pools[0].algorithm = algorithm.into();
    Stage::new(&plan)
}

#[test]
fn server_whose_answers_begin_late_gets_few_requests() {
    let mut stage = stage(api::Algorithm::FastestResponse);
    let counts = counts(&mut stage, 200, |at| (if at == 1 { 200 } else { 5 }, LAST.into()));
    assert!(counts[1] < 10 && counts.iter().all(|count| *count > 0), "{counts:?}");
}

#[test]
fn server_that_sends_much_gets_few_requests() {
    let large = format!("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\nConnection: close\r\n\r\n{}", "x".repeat(3_000));
    let mut stage = stage(api::Algorithm::LeastLoad);
    let counts = counts(&mut stage, 200, |at| (5, if at == 2 { large.clone() } else { LAST.into() }));
    assert!(counts[2] < 10, "{counts:?}");
}

#[test]
fn answers_that_become_slow_make_a_server_full() {
    let mut plan = plan(4);
    plan.pools[0].algorithm = api::Algorithm::FewestServers.into();
    plan.pools[0].slow_ms = 50;
    let mut stage = Stage::new(&plan);
    assert_eq!(counts(&mut stage, 30, |_| (5, LAST.into())), [30, 0, 0, 0], "one is enough");
    counts(&mut stage, 30, |_| (100, LAST.into()));
    let busy = stage.client();
    stage.says(busy, get("a", "/"));
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    let other = stage.client();
    stage.says(other, get("a", "/"));
    assert_eq!(stage.dialled_address(), "10.1.0.2:8000", "the first has room for one request");
}

#[test]
fn request_without_the_header_field_that_is_hashed_goes_by_its_client() {
    let mut plan = plan(4);
    plan.pools[0].algorithm = api::Algorithm::ConsistentHash.into();
    (plan.pools[0].hash_input, plan.pools[0].hash_header) = (api::HashInput::Header.into(), "X-Tenant".into());
    let mut stage = Stage::new(&plan);
    let mut ask = |client: &str, head: &str| {
        let conn = stage.client_from("10.0.0.1:80", client);
        stage.says(conn, head);
        let server = stage.connected();
        stage.says(server, LAST);
        stage.dialled_address()
    };
    let clients: Vec<String> = (1..30).map(|last| format!("10.2.0.{last}:4000")).collect();
    let without: std::collections::BTreeSet<_> = clients.iter().map(|client| ask(client, &get("a", "/"))).collect();
    assert_eq!(without.len(), 4, "clients are spread");
    let tenant = "GET / HTTP/1.1\r\nHost: a\r\nX-Tenant: t\r\n\r\n";
    let with: std::collections::BTreeSet<_> = clients.iter().map(|client| ask(client, tenant)).collect();
    assert_eq!(with.len(), 1, "a tenant has one server");
}

#[test]
fn hosts_are_part_of_the_hash_of_a_uri() {
    let mut plan = plan(4);
    plan.pools[0].algorithm = api::Algorithm::ConsistentHash.into();
    plan.pools[0].hash_input = api::HashInput::Uri.into();
    let mut stage = Stage::new(&plan);
    let mut ask = |host: &str| {
        let client = stage.client();
        stage.says(client, get(host, "/"));
        let server = stage.connected();
        stage.says(server, LAST);
        stage.dialled_address()
    };
    let hosts: Vec<_> = (0..30).map(|number| format!("host-{number}")).collect();
    let first: Vec<_> = hosts.iter().map(|host| ask(host)).collect();
    assert_eq!(hosts.iter().map(|host| ask(host)).collect::<Vec<_>>(), first);
    assert_eq!(first.into_iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
}

#[test]
fn server_that_has_come_up_is_told_with_its_share() {
    let mut plan = plan(2);
    plan.pools[0].ramp_ms = 100_000;
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    let up = |stage: &mut Stage, server: &str, up| stage.proxy.set_server_up(&mut stage.tape, "pool", server, up);
    let shares = |stage: &mut Stage| {
        let question = Question {
            listener: "10.0.0.1:80".parse().unwrap(),
            tls: false,
            server_name: String::new(),
            client: "10.2.0.1:4000".parse().unwrap(),
            head: get("a", "/").into(),
        };
        stage.explain(&question).servers.iter().map(|server| server.share_percent).collect::<Vec<_>>()
    };
    up(&mut stage, "server 0", true);
    stage.tape.sleep(Duration::from_secs(50));
    assert_eq!(shares(&mut stage), [5, 100], "its time begins with the first look");
    stage.tape.sleep(Duration::from_secs(50));
    up(&mut stage, "server 1", true);
    assert_eq!(shares(&mut stage), [55, 5]);
    stage.tape.sleep(Duration::from_secs(100));
    assert_eq!(shares(&mut stage), [100, 100]);
}
