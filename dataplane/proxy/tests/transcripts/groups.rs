//! Pool groups: which pool gets a request, and what a client gets when no server takes it.

use weir_api::dataplane::v1::{self as api, FailAnswer, GroupMember, Plan, PoolGroup, fail_answer::Answer};
use weir_proxy::{
    explain::{PickedMember, Question},
    io::{Close, Gone},
};

use crate::{
    hosted::get,
    http2::{Browser, http2},
    origin::to_http2,
    status,
    tape::{Stage, l4_plan, plan},
};

const LAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// The service has a group of these pools, each with a ratio and a priority. The server of pool 3 is 10.1.3.1.
pub fn grouped(mut plan: Plan, members: &[(u32, u32)]) -> Plan {
    let first = plan.pools.remove(0);
    let member = |number: usize| {
        let mut pool = api::Pool { uuid: format!("pool-{number}"), name: format!("pool {number}"), ..first.clone() };
        for (at, server) in pool.servers.iter_mut().enumerate() {
            server.address = format!("10.1.{number}.{}", at + 1);
        }
        pool
    };
    plan.pools = (0..members.len()).map(member).collect();
    let members = members.iter().enumerate().map(|(number, (ratio, priority))| GroupMember {
        pool_uuid: format!("pool-{number}"),
        ratio: *ratio,
        priority: *priority,
    });
    plan.pool_groups = vec![PoolGroup {
        uuid: "group".into(),
        name: "group".into(),
        members: members.collect(),
        ..Default::default()
    }];
    let service = &mut plan.virtual_services[0];
    (service.pool_uuid, service.pool_group_uuid) = (String::new(), "group".into());
    plan
}

pub fn monitored(mut plan: Plan) -> Plan {
    plan.pools.iter_mut().for_each(|pool| pool.monitored = true);
    plan
}

pub fn set_up(stage: &mut Stage, pool: usize, server: usize, up: bool) {
    stage.proxy.set_server_up(&mut stage.tape, &format!("pool-{pool}"), &format!("server {server}"), up);
}

/// The number of the pool that gets a request.
fn pool_of(stage: &mut Stage, head: &str) -> usize {
    let client = stage.client();
    stage.says(client, head);
    let server = stage.connected();
    stage.says(server, LAST);
    assert_eq!(status(&stage.sent(client)), "200");
    dialled_pool(stage)
}

fn dialled_pool(stage: &Stage) -> usize {
    let address = stage.dialled_address();
    address.split('.').nth(2).and_then(|number| number.parse().ok()).expect("an address of a pool")
}

fn counts(stage: &mut Stage, requests: usize, pools: usize) -> Vec<usize> {
    let mut counts = vec![0; pools];
    (0..requests).for_each(|_| counts[pool_of(stage, &get("a", "/"))] += 1);
    counts
}

fn answer(answer: Answer) -> Option<FailAnswer> {
    Some(FailAnswer { answer: Some(answer) })
}

pub fn backup(uuid: &str) -> Option<FailAnswer> {
    answer(Answer::BackupPoolUuid(uuid.into()))
}

pub fn page(status: u32, content: &str) -> Option<FailAnswer> {
    let (content_type, content) = ("text/html".into(), content.into());
    answer(Answer::Response(api::LocalResponse { status, content_type, content }))
}

pub fn redirect(path: &str) -> Option<FailAnswer> {
    let text = |text: &str| api::UriToken {
        kind: api::UriTokenKind::Text.into(),
        text: text.to_owned(),
        ..Default::default()
    };
    let path = if path.is_empty() { Vec::new() } else { vec![text(path)] };
    let host = vec![text("status.test")];
    answer(Answer::Redirect(api::HttpRedirect {
        status: 302,
        tls: true,
        host,
        path,
        keep_query: true,
        ..Default::default()
    }))
}

#[test]
fn request_that_the_profile_answers_takes_no_turn_of_a_pool() {
    let mut stage = Stage::new(&grouped(plan(1), &[(1, 0), (1, 0)]));
    let next = |stage: &mut Stage| pool_of(stage, &get("a", "/"));
    assert_eq!((next(&mut stage), next(&mut stage)), (0, 1));
    let client = stage.client();
    stage.says(client, "OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!((next(&mut stage), next(&mut stage)), (0, 1));
}

#[test]
fn pools_of_one_priority_share_requests_by_ratio() {
    let mut stage = Stage::new(&grouped(plan(2), &[(9, 0), (1, 0), (0, 0)]));
    assert_eq!(counts(&mut stage, 100, 3), [90, 10, 0]);
}

#[test]
fn changed_ratios_count_from_the_next_request_on() {
    let before = grouped(plan(1), &[(1, 0), (0, 0)]);
    let mut stage = Stage::new(&before);
    assert_eq!(counts(&mut stage, 10, 2), [10, 0]);
    let mut after = before.clone();
    after.revision += 1;
    (after.pool_groups[0].members[0].ratio, after.pool_groups[0].members[1].ratio) = (1, 3);
    stage.replace(&after);
    let counts = counts(&mut stage, 100, 2);
    assert!(counts[0].abs_diff(25) <= 1, "{counts:?}");
}

#[test]
fn highest_priority_with_servers_enough_takes_all() {
    let mut plan = monitored(grouped(plan(2), &[(1, 2), (1, 1), (1, 1)]));
    plan.pool_groups[0].min_servers = 2;
    let mut stage = Stage::new(&plan);
    for (pool, server) in [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)] {
        set_up(&mut stage, pool, server, true);
    }
    assert_eq!(counts(&mut stage, 10, 3), [10, 0, 0]);
    set_up(&mut stage, 0, 1, false);
    assert_eq!(counts(&mut stage, 10, 3), [0, 5, 5], "one server is too few");
    set_up(&mut stage, 2, 0, false);
    set_up(&mut stage, 2, 1, false);
    assert_eq!(counts(&mut stage, 10, 3), [10, 0, 0], "no priority has enough");
    set_up(&mut stage, 0, 1, true);
    assert_eq!(counts(&mut stage, 10, 3), [10, 0, 0]);
}

#[test]
fn pool_with_fewer_servers_than_it_needs_takes_no_part() {
    let mut plan = monitored(grouped(plan(2), &[(1, 0), (1, 0)]));
    plan.pools[0].min_servers_up = 2;
    let mut stage = Stage::new(&plan);
    for (pool, server) in [(0, 0), (1, 0)] {
        set_up(&mut stage, pool, server, true);
    }
    assert_eq!(counts(&mut stage, 10, 2), [0, 10]);
}

#[test]
fn request_that_no_server_of_its_pool_takes_goes_to_another_pool() {
    let mut stage = Stage::new(&grouped(plan(1), &[(1, 1), (1, 0)]));
    let client = stage.client();
    stage.says(client, get("a", "/x"));
    assert_eq!(dialled_pool(&stage), 0);
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    assert_eq!(dialled_pool(&stage), 1);
    let server = stage.connected();
    assert!(stage.sent(server).starts_with("GET /x HTTP/1.1\r\n"));
    stage.says(server, LAST);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn pool_whose_servers_refuse_is_avoided_until_a_trial_is_due() {
    let mut plan = grouped(plan(1), &[(1, 1), (1, 0)]);
    plan.pools.iter_mut().for_each(|pool| pool.inline_health = true);
    let mut stage = Stage::new(&plan);
    let ask = |stage: &mut Stage| {
        let client = stage.client();
        stage.says(client, get("a", "/"));
        let first = dialled_pool(stage);
        if first == 0 {
            let dead = stage.dialled();
            stage.gone(dead, Gone::Refused);
        }
        let server = stage.connected();
        stage.says(server, LAST);
        assert_eq!(status(&stage.sent(client)), "200");
        first
    };
    let firsts: Vec<_> = (0..6).map(|_| ask(&mut stage)).collect();
    assert_eq!(firsts, [0, 0, 0, 1, 1, 1], "after three failures the server is suspect");
    stage.tape.sleep(std::time::Duration::from_secs(1));
    let firsts: Vec<_> = (0..3).map(|_| ask(&mut stage)).collect();
    assert_eq!(firsts, [0, 1, 1], "one request tries it");
}

#[test]
fn cookie_keeps_a_client_in_its_pool_whatever_the_ratios_say() {
    let mut plan = grouped(plan(1), &[(1, 5), (0, 0)]);
    for (number, pool) in plan.pools.iter_mut().enumerate() {
        let cookie_name = format!("pool{number}");
        pool.persistence = Some(api::CookiePersistence { cookie_name, ..Default::default() });
        pool.servers[0].token = "token".into();
        pool.monitored = number == 1;
    }
    let mut stage = Stage::new(&plan);
    set_up(&mut stage, 1, 0, true);
    let named = "GET / HTTP/1.1\r\nHost: a\r\nCookie: pool1=token\r\n\r\n";
    assert_eq!(pool_of(&mut stage, named), 1);
    assert_eq!(pool_of(&mut stage, &get("a", "/")), 0);
    set_up(&mut stage, 1, 0, false);
    assert_eq!(pool_of(&mut stage, named), 0, "its server is down");
}

#[test]
fn address_keeps_a_client_in_its_pool() {
    let mut plan = grouped(plan(1), &[(1, 0), (1, 0), (1, 0)]);
    plan.pool_groups[0].by_client_address = true;
    let mut stage = Stage::new(&plan);
    let mut pools = std::collections::BTreeSet::new();
    for client in 1..60 {
        let ask = |stage: &mut Stage, port| {
            let conn = stage.client_from("10.0.0.1:80", &format!("10.2.0.{client}:{port}"));
            stage.says(conn, get("a", "/"));
            let server = stage.connected();
            stage.says(server, LAST);
            dialled_pool(stage)
        };
        let first = ask(&mut stage, 4000);
        assert_eq!(ask(&mut stage, 5000), first, "client {client}");
        pools.insert(first);
    }
    assert_eq!(pools.len(), 3);
}

/// The group with a rule that chooses a pool for /pool, and another group for /group.
fn ruled(mut plan: Plan) -> Plan {
    let rule = |name: &str, choice| api::HttpRequestRule {
        rule: Some(api::HttpRule {
            name: name.into(),
            r#match: Some(api::HttpMatch {
                path: Some(api::TextMatch {
                    criterion: api::TextCriterion::Equals.into(),
                    values: vec![format!("/{name}")],
                    ..Default::default()
                }),
                ..Default::default()
            }),
            ..Default::default()
        }),
        action: Some(api::http_request_rule::Action::Pool(choice)),
        ..Default::default()
    };
    let pool = api::PoolChoice { pool_uuid: "pool-0".into(), ..Default::default() };
    let group = api::PoolChoice { pool_group_uuid: "other".into(), ..Default::default() };
    let request_rules = vec![rule("pool", pool), rule("group", group)];
    plan.http_policy_sets = vec![api::HttpPolicySet { uuid: "set".into(), request_rules, ..Default::default() }];
    plan.virtual_services[0].http_policy_set_uuids = vec!["set".into()];
    let member = |pool: &str| GroupMember { pool_uuid: pool.into(), ratio: 1, priority: 0 };
    plan.pool_groups.push(PoolGroup { uuid: "other".into(), members: vec![member("pool-2")], ..Default::default() });
    plan
}

#[test]
fn rules_choose_a_group_or_one_pool_alone() {
    let mut plan = monitored(ruled(grouped(plan(1), &[(1, 0), (1, 1), (0, 0)])));
    plan.pool_groups[1].fail_answer = page(503, "not here");
    let mut stage = Stage::new(&plan);
    (0..3).for_each(|pool| set_up(&mut stage, pool, 0, true));
    let pools = ["/", "/pool", "/group"].map(|path| pool_of(&mut stage, &get("a", path)));
    assert_eq!(pools, [1, 0, 2]);
    set_up(&mut stage, 0, 0, false);
    set_up(&mut stage, 2, 0, false);
    let client = stage.client();
    stage.says(client, get("a", "/pool"));
    assert_eq!(status(&stage.sent(client)), "503", "the other pools of the group are not for it");
    let client = stage.client();
    stage.says(client, get("a", "/group"));
    let sent = stage.sent(client);
    assert!(status(&sent) == "503" && sent.ends_with("\r\n\r\nnot here"), "{sent}");
}

#[test]
fn rule_that_chooses_a_group_without_pools_gets_the_answer_of_the_group() {
    let mut plan = ruled(grouped(plan(1), &[(1, 0), (1, 0), (1, 0)]));
    plan.pool_groups[1].members.clear();
    plan.pool_groups[1].fail_answer = page(200, "<h1>Back soon</h1>");
    // The pool of the service is no pool of the group.
    plan.virtual_services[0].pool_group_uuid.clear();
    plan.virtual_services[0].pool_uuid = "pool-0".into();
    for plan in [plan.clone(), to_http2(plan.clone())] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, get("a", "/group"));
        let sent = stage.sent(client);
        assert!(status(&sent) == "200" && sent.ends_with("\r\n\r\n<h1>Back soon</h1>"), "{sent}");
        stage.says(client, "POST /group HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!(status(&stage.sent(client)), "200");
    }
    plan.pool_groups[1].fail_answer = answer(Answer::Close(api::Close::default()));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("a", "/group"));
    assert_eq!((stage.sent(client).as_str(), stage.closed(client)), ("", Some(Close::Linger)));
    plan.pool_groups[1].fail_answer = None;
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("a", "/group"));
    assert_eq!(status(&stage.sent(client)), "503");
}

#[test]
fn rule_that_chooses_a_group_whose_servers_are_down_gets_the_answer_of_its_pool() {
    let mut plan = monitored(ruled(grouped(plan(1), &[(1, 0), (1, 0), (1, 0)])));
    (plan.pools[2].fail_action, plan.pools[2].fail_answer) = (api::FailAction::Answer.into(), page(200, "closed"));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("a", "/group"));
    assert!(stage.sent(client).ends_with("\r\n\r\nclosed"));
}

#[test]
fn backup_takes_requests_for_a_group_without_pools() {
    let mut plan = monitored(ruled(grouped(plan(1), &[(1, 0), (1, 0), (1, 0)])));
    for group in &mut plan.pool_groups {
        group.members.clear();
        group.fail_answer = backup("pool-1");
    }
    (plan.pools[1].fail_action, plan.pools[1].fail_answer) = (api::FailAction::Answer.into(), page(503, "all is down"));
    for backup_speaks_http2 in [false, true] {
        if backup_speaks_http2 {
            plan.pools[1].http2 = Some(api::Http2ToServers::default());
        }
        let mut stage = Stage::new(&plan);
        set_up(&mut stage, 1, 0, true);
        for path in ["/", "/group"] {
            let client = stage.client();
            stage.says(client, get("a", path));
            assert_eq!(dialled_pool(&stage), 1, "{path}");
            let server = stage.connected();
            let sent = stage.sent(server);
            assert_eq!(sent.starts_with("GET "), !backup_speaks_http2, "{sent}");
        }
        set_up(&mut stage, 1, 0, false);
        for path in ["/", "/group"] {
            let client = stage.client();
            stage.says(client, get("a", path));
            assert!(stage.sent(client).ends_with("all is down"), "{path}");
        }
    }
}

#[test]
fn answer_of_an_operator_stands_in_for_the_page() {
    let mut plan = monitored(plan(1));
    (plan.pools[0].fail_action, plan.pools[0].fail_answer) =
        (api::FailAction::Answer.into(), page(200, "<h1>Back soon</h1>"));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("a", "/"));
    let sent = stage.sent(client);
    assert_eq!(status(&sent), "200");
    for line in ["Content-Type: text/html\r\n", "Content-Length: 18\r\n", "Cache-Control: no-store\r\n"] {
        assert!(sent.contains(line), "{line} is missing in {sent}");
    }
    assert!(sent.ends_with("\r\n\r\n<h1>Back soon</h1>"), "{sent}");
    stage.says(client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let sent = stage.sent(client);
    assert!(sent.contains("Content-Length: 18\r\n") && sent.ends_with("\r\n\r\n"), "{sent}");
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!(stage.closed(client), Some(Close::Linger), "the body is not read");
}

#[test]
fn redirect_has_path_and_query_of_the_request_unless_it_has_its_own() {
    for (path, location) in [("", "https://status.test/a/b?c=d"), ("/down", "https://status.test/down?c=d")] {
        let mut plan = monitored(plan(1));
        (plan.pools[0].fail_action, plan.pools[0].fail_answer) = (api::FailAction::Answer.into(), redirect(path));
        for plan in [plan.clone(), to_http2(plan)] {
            let mut stage = Stage::new(&plan);
            let client = stage.client();
            stage.says(client, get("a", "/a/b?c=d"));
            let sent = stage.sent(client);
            assert!(status(&sent) == "302" && sent.contains(&format!("Location: {location}\r\n")), "{sent}");
        }
    }
}

#[test]
fn redirect_has_what_the_client_asked_for_and_not_what_rules_made_of_it() {
    let of_pool = |pool: &mut api::Pool, answer| {
        (pool.fail_action, pool.fail_answer) = (api::FailAction::Answer.into(), answer);
    };
    let mut by_pool = inside(monitored(plan(1)));
    of_pool(&mut by_pool.pools[0], redirect(""));
    let mut by_group = inside(monitored(grouped(plan(1), &[(1, 0)])));
    by_group.pool_groups[0].fail_answer = redirect("");
    let mut by_backup = inside(monitored(grouped(plan(1), &[(1, 0), (0, 0)])));
    by_backup.virtual_services[0].pool_group_uuid.clear();
    by_backup.virtual_services[0].pool_uuid = "pool-0".into();
    of_pool(&mut by_backup.pools[0], backup("pool-1"));
    of_pool(&mut by_backup.pools[1], redirect(""));
    for plan in [by_pool.clone(), to_http2(by_pool), by_group, by_backup] {
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, get("a", "/a/b?c=d"));
        let sent = stage.sent(client);
        let location = "Location: https://status.test/a/b?c=d\r\n";
        assert!(status(&sent) == "302" && sent.contains(location), "{sent}");
    }
}

/// A rule asks servers for another path and query.
fn inside(mut plan: api::Plan) -> api::Plan {
    let path =
        vec![api::UriToken { kind: api::UriTokenKind::Text.into(), text: "/inside".into(), ..Default::default() }];
    let rewrite = api::HttpRewrite { path, add_query: "x=y".into(), ..Default::default() };
    plan.http_policy_sets = vec![api::HttpPolicySet {
        uuid: "set".into(),
        request_rules: vec![api::HttpRequestRule {
            rule: Some(api::HttpRule { name: "inside".into(), ..Default::default() }),
            rewrite: Some(rewrite),
            ..Default::default()
        }],
        ..Default::default()
    }];
    plan.virtual_services[0].http_policy_set_uuids = vec!["set".into()];
    plan
}

#[test]
fn backup_takes_over_and_its_own_answer_counts_then() {
    let mut plan = monitored(grouped(plan(1), &[(1, 0), (0, 0)]));
    plan.virtual_services[0].pool_group_uuid.clear();
    plan.virtual_services[0].pool_uuid = "pool-0".into();
    (plan.pools[0].fail_action, plan.pools[0].fail_answer) = (api::FailAction::Answer.into(), backup("pool-1"));
    (plan.pools[1].fail_action, plan.pools[1].fail_answer) = (api::FailAction::Answer.into(), page(503, "all is down"));
    let mut stage = Stage::new(&plan);
    set_up(&mut stage, 0, 0, true);
    set_up(&mut stage, 1, 0, true);
    assert_eq!(pool_of(&mut stage, &get("a", "/")), 0);
    set_up(&mut stage, 0, 0, false);
    assert_eq!(pool_of(&mut stage, &get("a", "/")), 1);
    set_up(&mut stage, 1, 0, false);
    let client = stage.client();
    stage.says(client, get("a", "/"));
    assert!(stage.sent(client).ends_with("all is down"));
}

#[test]
fn answer_of_the_group_comes_before_that_of_its_pools() {
    let mut plan = monitored(grouped(plan(1), &[(1, 0)]));
    plan.pool_groups[0].fail_answer = answer(Answer::Close(api::Close::default()));
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("a", "/"));
    assert_eq!((stage.sent(client).as_str(), stage.closed(client)), ("", Some(Close::Linger)));
    plan.pool_groups[0].members.clear();
    plan.pool_groups[0].fail_answer = page(503, "empty");
    plan.revision += 1;
    stage.replace(&plan);
    let client = stage.client();
    stage.says(client, get("a", "/"));
    assert!(stage.sent(client).ends_with("\r\n\r\nempty"));
    plan.pool_groups[0].fail_answer = page(503, "");
    plan.revision += 1;
    stage.replace(&plan);
    stage.says(client, get("a", "/"));
    let sent = stage.sent(client);
    assert!(status(&sent) == "503" && sent.ends_with("</h1>\n"), "{sent}");
}

#[test]
fn streams_share_pools_and_get_the_answer_too() {
    let mut plan = http2(monitored(grouped(plan(1), &[(1, 0), (1, 0)])));
    plan.pool_groups[0].fail_answer = page(503, "later");
    let mut stage = Stage::new(&plan);
    (0..2).for_each(|pool| set_up(&mut stage, pool, 0, true));
    let mut browser = Browser::new(&mut stage);
    let mut pools = Vec::new();
    for _ in 0..4 {
        browser.asks(&mut stage, "GET", &[], true);
        let server = stage.connected();
        pools.push(dialled_pool(&stage));
        stage.says(server, LAST);
        browser.hears(&mut stage);
        assert!(browser.heard()[0].ends_with(": 200"));
    }
    assert_eq!(pools.iter().sum::<usize>(), 2, "{pools:?}");
    (0..2).for_each(|pool| set_up(&mut stage, pool, 0, false));
    let mut browser = Browser::new(&mut stage);
    let id = browser.asks(&mut stage, "GET", &[], true);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), [format!("{id}: 503"), format!("{id}: later, all")]);
    let id = browser.asks(&mut stage, "POST", &[("content-type", "application/grpc")], true);
    browser.hears(&mut stage);
    assert_eq!(browser.heard(), [format!("{id}: 200, all")], "a call gets a status of gRPC");
}

#[test]
fn tunnels_share_pools_and_leave_those_that_refuse() {
    let mut plan = monitored(grouped(l4_plan(1), &[(1, 1), (1, 1), (1, 0)]));
    let mut stage = Stage::new(&plan);
    (0..3).for_each(|pool| set_up(&mut stage, pool, 0, true));
    let pools: Vec<_> = (0..4)
        .map(|_| {
            stage.client();
            stage.connected();
            dialled_pool(&stage)
        })
        .collect();
    assert_eq!(pools, [0, 1, 0, 1]);
    stage.client();
    for expected in [0, 1, 2] {
        assert_eq!(dialled_pool(&stage), expected);
        let dead = stage.dialled();
        stage.gone(dead, Gone::Refused);
    }
    plan.revision += 1;
    plan.pool_groups[0].members.truncate(1);
    plan.pool_groups[0].fail_answer = backup("pool-2");
    stage.replace(&plan);
    set_up(&mut stage, 0, 0, false);
    stage.client();
    assert_eq!(dialled_pool(&stage), 2);
}

fn question() -> Question {
    Question {
        listener: "10.0.0.1:80".parse().expect("sound"),
        tls: false,
        server_name: String::new(),
        client: "10.2.0.1:4000".parse().expect("sound"),
        head: get("a", "/").into(),
    }
}

/// The pools that wait for their activation.
fn deactivated(stage: &mut Stage) -> Vec<usize> {
    let told = stage.proxy.explain(weir_proxy::io::Time::default(), &question());
    let members = told.group.expect("there is a group").1.into_iter().enumerate();
    members.filter(|(_, member)| member.is_deactivated).map(|(at, _)| at).collect()
}

/// Two pools, the first of which waits for its activation once it was down.
fn failing_over() -> Plan {
    let mut plan = monitored(grouped(plan(1), &[(1, 2), (1, 1)]));
    plan.pool_groups[0].activation = Some(0);
    for (number, pool) in plan.pools.iter_mut().enumerate() {
        let cookie_name = format!("pool{number}");
        pool.persistence = Some(api::CookiePersistence { cookie_name, ..Default::default() });
        pool.servers[0].token = "token".into();
    }
    plan
}

#[test]
fn primary_pool_that_was_down_waits_for_its_activation() {
    let mut plan = failing_over();
    let mut stage = Stage::new(&plan);
    let next = |stage: &mut Stage| pool_of(stage, &get("a", "/"));
    set_up(&mut stage, 1, 0, true);
    assert_eq!(next(&mut stage), 1);
    set_up(&mut stage, 0, 0, true);
    assert_eq!(next(&mut stage), 0, "it was not checked before");
    // Nobody asks while it is down.
    set_up(&mut stage, 0, 0, false);
    set_up(&mut stage, 0, 0, true);
    assert_eq!((next(&mut stage), deactivated(&mut stage)), (1, vec![0]));
    let named = "GET / HTTP/1.1\r\nHost: a\r\nCookie: pool0=token\r\n\r\n";
    assert_eq!(pool_of(&mut stage, named), 1, "a cookie does not lead there");
    plan.revision += 1;
    plan.pools[1].name = "other".into();
    stage.replace(&plan);
    assert_eq!(next(&mut stage), 1, "another Plan changes nothing");
    plan.revision += 1;
    plan.pool_groups[0].activation = Some(1);
    stage.replace(&plan);
    assert_eq!((next(&mut stage), deactivated(&mut stage)), (0, vec![]));
}

#[test]
fn primary_pool_whose_servers_take_turns_was_never_down() {
    let mut plan = monitored(grouped(plan(2), &[(1, 2), (1, 1)]));
    plan.pool_groups[0].activation = Some(0);
    for order in [[0, 1], [1, 0]] {
        let mut stage = Stage::new(&plan);
        for (pool, server) in [(0, 0), (1, 0)] {
            set_up(&mut stage, pool, server, true);
        }
        // In one message, the second server comes up and the first goes down.
        let verdicts = order.map(|at| ("pool-0", ["server 0", "server 1"][at], at == 1));
        stage.proxy.set_servers_up(&mut stage.tape, verdicts);
        assert_eq!((pool_of(&mut stage, &get("a", "/")), deactivated(&mut stage)), (0, vec![]), "{order:?}");
        stage.proxy.set_servers_up(&mut stage.tape, [("pool-0", "server 1", false), ("pool-1", "server 1", true)]);
        assert_eq!((pool_of(&mut stage, &get("a", "/")), deactivated(&mut stage)), (1, vec![0]), "it is down now");
    }
}

#[test]
fn primary_pool_that_waits_for_its_activation_helps_nobody_out() {
    let mut stage = Stage::new(&failing_over());
    for (pool, up) in [(0, true), (1, true), (0, false), (0, true)] {
        set_up(&mut stage, pool, 0, up);
    }
    let client = stage.client();
    stage.says(client, get("a", "/"));
    assert_eq!(dialled_pool(&stage), 1);
    let dead = stage.dialled();
    stage.gone(dead, Gone::Refused);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("502", 1));
    set_up(&mut stage, 1, 0, false);
    let client = stage.client();
    stage.says(client, get("a", "/"));
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("503", 1));
    set_up(&mut stage, 1, 0, true);
    assert_eq!(pool_of(&mut stage, &get("a", "/")), 1);
}

#[test]
fn group_is_explained_without_taking_a_turn() {
    let mut plan = monitored(grouped(plan(2), &[(3, 1), (1, 1), (1, 0)]));
    plan.pool_groups[0].fail_answer = page(200, "later");
    let mut stage = Stage::new(&plan);
    for (pool, server) in [(0, 0), (0, 1), (1, 0), (2, 0)] {
        set_up(&mut stage, pool, server, true);
    }
    for _ in 0..20 {
        let told = stage.proxy.explain(weir_proxy::io::Time::default(), &question());
        let (group, members) = told.group.expect("there is a group");
        let servers: Vec<_> = members.iter().map(|member| member.servers).collect();
        assert_eq!((group.uuid.as_str(), servers), ("group", vec![2, 1, 1]));
        assert_eq!(told.member, Some(PickedMember::ByRatio));
        let foreseen = told.pool.expect("there is a pool").uuid.clone();
        assert_eq!(format!("pool-{}", pool_of(&mut stage, &get("a", "/"))), foreseen);
    }
    for (pool, server) in [(0, 0), (0, 1), (1, 0), (2, 0)] {
        set_up(&mut stage, pool, server, false);
    }
    let told = stage.proxy.explain(weir_proxy::io::Time::default(), &question());
    let local = told.local.expect("the engine answers");
    assert_eq!((local.status, local.cause), (Some(200), "no_server"));
}
