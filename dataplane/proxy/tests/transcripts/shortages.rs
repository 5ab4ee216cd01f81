//! More clients than places, and more unread responses than memory: who is evicted, and who does not notice.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits,
    io::{Close, Conn},
};
use weir_telemetry::Cause;

use crate::{
    GET, OK, status,
    tape::{Stage, plan},
};

const PLACES: usize = 16;
const MAIN: &str = "10.0.0.1:80";
const OTHER: &str = "10.0.0.2:80";

/// Two virtual services, each with its own pool: `MAIN` and `OTHER`.
fn stage() -> Stage {
    stage_with(PLACES)
}

fn stage_with(places: usize) -> Stage {
    let mut plan = plan(1);
    let (mut service, mut pool) = (plan.virtual_services[0].clone(), plan.pools[0].clone());
    (service.uuid, service.pool_uuid, pool.uuid) = ("other".into(), "other pool".into(), "other pool".into());
    service.listeners = vec![api::Listener { address: "10.0.0.2".into(), port: 80, ..Default::default() }];
    plan.virtual_services.push(service);
    plan.pools.push(pool);
    Stage::with(&plan, Limits { clients: places, ..Limits::default() })
}

/// A client that was answered once and stays.
fn idle(stage: &mut Stage, listener: &str, peer: &str) -> Conn {
    let client = asking(stage, listener, peer);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    stage.gone(server, weir_proxy::io::Gone::Reset);
    stage.tape.sleep(Duration::from_millis(100));
    client
}

/// A client that waits for its response.
fn asking(stage: &mut Stage, listener: &str, peer: &str) -> Conn {
    let client = stage.client_from(listener, peer);
    stage.says(client, GET);
    stage.tape.sleep(Duration::from_millis(100));
    client
}

fn address(n: usize) -> String {
    format!("10.2.0.{n}:4000")
}

#[test]
fn longest_idle_client_is_evicted_for_the_next() {
    let mut stage = stage();
    let clients: Vec<_> = (0..PLACES).map(|n| idle(&mut stage, MAIN, &address(n))).collect();
    assert_eq!(stage.closed(clients[0]), Some(Close::Flush), "one place is kept free");
    let next = idle(&mut stage, MAIN, &address(100));
    assert_eq!((stage.closed(clients[1]), stage.closed(clients[2])), (Some(Close::Flush), None));
    assert_eq!(stage.closed(next), None);
    assert_eq!(stage.failures(Cause::EngineEvicted), 2);
}

/// Sessions of UDP need the descriptors of a quarter of the clients.
#[test]
fn clients_become_fewer_when_the_maximum_falls() {
    let mut plan = plan(1);
    let mut stage =
        Stage::with(&plan, Limits { clients: PLACES, clients_beside_sessions: PLACES - 4, ..Limits::default() });
    let mut clients: Vec<_> = (0..PLACES - 1).map(|n| idle(&mut stage, MAIN, &address(n))).collect();
    let mut udp = plan.virtual_services[0].clone();
    (udp.uuid, udp.name) = ("udp".into(), "udp".into());
    (udp.http, udp.tcp) = (None, None);
    (udp.l4, udp.udp) =
        (Some(api::L4Profile::default()), Some(api::UdpProfile { idle_timeout_s: 10, ..Default::default() }));
    udp.listeners[0].protocol = api::TransportProtocol::Udp.into();
    plan.revision += 1;
    plan.virtual_services.push(udp);
    stage.replace(&plan);
    let held: Vec<_> = (0..6)
        .map(|n| {
            clients.push(idle(&mut stage, MAIN, &address(100 + n)));
            clients.iter().filter(|conn| stage.closed(**conn).is_none()).count()
        })
        .collect();
    assert_eq!(held, [14, 13, 12, 12, 12, 12]);
}

#[test]
fn client_that_has_asked_again_is_no_longer_the_longest_idle() {
    let mut stage = stage();
    let clients: Vec<_> = (0..PLACES - 1).map(|n| idle(&mut stage, MAIN, &address(n))).collect();
    stage.says(clients[0], GET);
    let server = stage.connected();
    stage.says(server, OK);
    stage.client_from(MAIN, &address(100));
    assert_eq!((stage.closed(clients[0]), stage.closed(clients[1])), (None, Some(Close::Flush)));
}

#[test]
fn address_that_holds_most_clients_loses_one_first() {
    let mut stage = stage();
    let bystander = idle(&mut stage, MAIN, "10.2.0.1:4000");
    let crowd: Vec<_> = (1..PLACES - 1).map(|n| idle(&mut stage, MAIN, &format!("10.9.0.1:{n}"))).collect();
    for n in 2..8 {
        idle(&mut stage, MAIN, &address(n));
    }
    assert_eq!(stage.closed(bystander), None, "it has been idle for longest");
    assert_eq!(crowd.iter().filter(|conn| stage.closed(**conn).is_some()).count(), 6);
}

#[test]
fn ipv6_addresses_of_one_network_are_one() {
    let mut stage = stage();
    let bystander = idle(&mut stage, MAIN, "[2001:db8:1::1]:4000");
    for n in 1..PLACES - 1 {
        idle(&mut stage, MAIN, &format!("[2001:db8:9::{n:x}]:4000"));
    }
    idle(&mut stage, MAIN, "[2001:db8:2::1]:4000");
    assert_eq!(stage.closed(bystander), None);
}

#[test]
fn service_below_its_share_loses_no_client() {
    let mut stage = stage();
    let bystander = idle(&mut stage, OTHER, "10.2.0.1:4000");
    let crowd: Vec<_> = (1..PLACES + 10).map(|n| idle(&mut stage, MAIN, &address(n))).collect();
    assert_eq!(stage.closed(bystander), None);
    assert!(stage.closed(crowd[0]).is_some());
}

#[test]
fn clients_that_send_nothing_or_half_a_head_are_evicted_like_idle_ones() {
    for first_words in ["", "GET / HT"] {
        let mut stage = stage();
        let bystander = idle(&mut stage, OTHER, "10.2.0.1:4000");
        let crowd: Vec<_> = (1..PLACES - 1)
            .map(|n| {
                let client = stage.client_from(MAIN, &format!("10.9.0.1:{n}"));
                if !first_words.is_empty() {
                    stage.says(client, first_words);
                }
                stage.tape.sleep(Duration::from_millis(1));
                client
            })
            .collect();
        let next = asking(&mut stage, OTHER, "10.2.0.2:4000");
        assert_eq!(stage.closed(crowd[0]), Some(Close::Abort), "{first_words:?}");
        assert_eq!((stage.closed(bystander), stage.closed(next)), (None, None));
    }
}

#[test]
fn hung_server_of_one_service_is_no_outage_of_another() {
    let mut stage = stage();
    let crowd: Vec<_> = (1..PLACES).map(|n| asking(&mut stage, MAIN, &format!("10.9.0.1:{n}"))).collect();
    let held = stage.dials();
    let client = asking(&mut stage, OTHER, "10.2.0.1:4000");
    assert_eq!((stage.closed(client), stage.closed(crowd[0])), (None, Some(Close::Abort)));
    assert_eq!(stage.dials(), held + 1);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn working_clients_of_equal_addresses_stay_and_the_new_client_is_refused() {
    let mut stage = stage();
    let working: Vec<_> = (1..PLACES).map(|n| asking(&mut stage, MAIN, &address(n))).collect();
    let newcomer = stage.client_from(MAIN, &address(100));
    assert_eq!(stage.closed(newcomer), Some(Close::Abort));
    assert!(working.iter().all(|conn| stage.closed(*conn).is_none()));
    assert_eq!((stage.failures(Cause::EngineRefused), stage.failures(Cause::EngineEvicted)), (1, 0));
}

/// A survey does not see all of them, and each of their addresses holds one client.
#[test]
fn thousands_of_working_clients_of_equal_addresses_stay() {
    let mut stage = stage_with(10_000);
    let peer = |n: usize| format!("10.{}.{}.{}:4000", n >> 16, n >> 8 & 255, n & 255);
    let working = |stage: &mut Stage, n: usize| {
        let client = stage.client_from(MAIN, &peer(n));
        stage.says(client, GET);
        client
    };
    let clients: Vec<_> = (0..9_375).map(|n| working(&mut stage, n)).collect();
    let newcomers: Vec<_> = (10_000..10_100).map(|n| stage.client_from(MAIN, &peer(n))).collect();
    assert!(clients.iter().all(|conn| stage.closed(*conn).is_none()));
    assert!(newcomers.iter().all(|conn| stage.closed(*conn) == Some(Close::Abort)));
}

#[test]
fn client_that_waits_long_without_progress_is_evicted_like_an_idle_one() {
    let mut stage = stage();
    let stuck: Vec<_> = (1..PLACES).map(|n| asking(&mut stage, MAIN, &address(n))).collect();
    stage.tape.sleep(Duration::from_secs(30));
    let newcomer = stage.client_from(MAIN, &address(100));
    assert_eq!((stage.closed(newcomer), stage.closed(stuck[0])), (None, Some(Close::Abort)));
}

#[test]
fn download_that_makes_progress_is_not_stuck() {
    let mut stage = stage();
    let downloads: Vec<_> = (1..PLACES)
        .map(|n| {
            let client = asking(&mut stage, MAIN, &address(n));
            let server = stage.connected();
            stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n");
            (client, server)
        })
        .collect();
    for _ in 0..40 {
        stage.tape.sleep(Duration::from_secs(1));
        downloads.iter().for_each(|(_, server)| stage.says(*server, "more"));
    }
    let newcomer = stage.client_from(MAIN, &address(100));
    assert_eq!(stage.closed(newcomer), Some(Close::Abort));
    assert!(downloads.iter().all(|(client, _)| stage.closed(*client).is_none()));
}

/// A survey does not see all of them.
#[test]
fn address_with_most_clients_loses_first_among_thousands() {
    let mut stage = stage_with(4000);
    let silent = |stage: &mut Stage, listener: &str, peer: &str| {
        stage.tape.sleep(Duration::from_millis(1));
        stage.client_from(listener, peer)
    };
    let others: Vec<_> = (0..500).map(|n| silent(&mut stage, OTHER, &address(n % 200))).collect();
    let crowd: Vec<_> = (0..3250).map(|n| silent(&mut stage, MAIN, &format!("10.9.0.1:{n}"))).collect();
    let closed = |stage: &Stage, conns: &[Conn]| conns.iter().filter(|conn| stage.closed(**conn).is_some()).count();
    assert_eq!((closed(&stage, &others), closed(&stage, &crowd)), (0, 0));
    stage.tape.sleep(Duration::from_secs(2));
    let next: Vec<_> = (0..300).map(|n| silent(&mut stage, OTHER, &address(n % 200))).collect();
    assert_eq!((closed(&stage, &others), closed(&stage, &crowd), closed(&stage, &next)), (0, 300, 0));
    let oldest = closed(&stage, &crowd[..crowd.len() / 4]);
    assert!(oldest > 290, "{oldest} of the quarter that has stood still for longest");
}

/// One survey serves many new clients, and the address's weight falls with each eviction.
#[test]
fn address_that_has_lost_enough_clients_loses_no_more() {
    let mut stage = stage_with(4000);
    let silent = |stage: &mut Stage, listener: &str, peer: &str| {
        stage.tape.sleep(Duration::from_millis(1));
        stage.client_from(listener, peer)
    };
    let single = |n: usize| format!("10.{}.{}.{}:4000", 100 + (n >> 16), n >> 8 & 255, n & 255);
    let crowd: Vec<_> = (0..100).map(|n| silent(&mut stage, OTHER, &format!("10.9.0.1:{n}"))).collect();
    for n in 0..3650 {
        silent(&mut stage, MAIN, &single(n));
    }
    stage.tape.sleep(Duration::from_secs(2));
    for n in 4000..4300 {
        silent(&mut stage, MAIN, &single(n));
    }
    let gone = crowd.iter().filter(|conn| stage.closed(**conn).is_some()).count();
    // Seven clients are not far more than one, and the service is below its share.
    assert!((70..=93).contains(&gone), "{gone}");
    assert_eq!(stage.failures(Cause::EngineEvicted), 300 - gone as u64, "the other evictions are of MAIN");
}

/// A candidate that does not yield must not hide those that do.
#[test]
fn candidate_that_does_not_yield_does_not_hide_those_that_do() {
    let mut stage = stage_with(64);
    for n in 0..20 {
        idle(&mut stage, MAIN, &address(n));
    }
    for n in 0..10 {
        asking(&mut stage, MAIN, &format!("10.9.0.1:{n}"));
    }
    let others: Vec<_> = (20..50).map(|n| stage.client_from(MAIN, &address(n))).collect();
    let newcomers: Vec<_> = (0..3).map(|n| stage.client_from(MAIN, &format!("10.9.0.2:{n}"))).collect();
    assert!(newcomers.iter().all(|conn| stage.closed(*conn).is_none()));
    assert!(others.iter().all(|conn| stage.closed(*conn).is_none()));
}

/// Clients of one address that request much and read nothing; returns them with their servers.
fn deaf(stage: &mut Stage, count: usize) -> Vec<(Conn, Conn)> {
    (0..count)
        .map(|n| {
            let client = asking(stage, MAIN, &format!("10.9.0.1:{n}"));
            let server = stage.connected();
            stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
            (client, server)
        })
        .collect()
}

/// As [`stage`], with memory for this many blocks; peers take nothing.
fn tight(blocks: usize) -> Stage {
    let mut stage = Stage::with(&plan(1), Limits { buffer_bytes: blocks * Stage::BLOCK_BYTES, ..Limits::default() });
    stage.tape.keeps_buffers = true;
    stage
}

#[test]
fn servers_are_read_less_when_memory_runs_short() {
    let mut stage = tight(40);
    let deaf = deaf(&mut stage, 8);
    stage.tape.stuck = true;
    for _ in 0..20 {
        for (_, server) in &deaf {
            if !stage.is_paused(*server) {
                stage.says(*server, "x".repeat(100));
            }
        }
    }
    assert!(deaf.iter().all(|(_, server)| stage.is_paused(*server)));
    assert!(stage.blocks_in_use() <= 40, "{} blocks", stage.blocks_in_use());
    assert!(deaf.iter().all(|(client, _)| stage.closed(*client).is_none()));
}

#[test]
fn slowest_client_is_evicted_when_memory_has_run_out() {
    let mut stage = tight(20);
    let bystander = asking(&mut stage, MAIN, "10.2.0.1:4000");
    let patient = stage.connected();
    stage.says(patient, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    let deaf = deaf(&mut stage, 30);
    stage.tape.stuck = true;
    for (_, server) in &deaf {
        stage.says(*server, "x".repeat(100));
        stage.tape.sleep(Duration::from_millis(20));
    }
    let gone = deaf.iter().filter(|(client, _)| stage.closed(*client) == Some(Close::Abort)).count();
    assert!(gone > 0 && gone < 30, "{gone}");
    assert!(stage.blocks_in_use() <= 20, "{} blocks", stage.blocks_in_use());
    assert_eq!((stage.closed(deaf[0].0), stage.closed(deaf[29].0)), (Some(Close::Abort), None));
    assert_eq!(stage.closed(bystander), None, "it holds nothing");
    assert_eq!(stage.failures(Cause::EngineMemory), gone as u64);
}

/// Beyond the limit per batch, eviction goes on in the next one.
#[test]
fn one_batch_evicts_few_clients_for_memory_and_the_next_continues() {
    let mut stage = tight(1024);
    let deaf = deaf(&mut stage, 1200);
    stage.tape.stuck = true;
    let gone = |stage: &Stage| deaf.iter().filter(|(client, _)| stage.closed(*client).is_some()).count();
    let mut servers = deaf.iter().map(|(_, server)| *server);
    while gone(&stage) == 0 {
        stage.says(servers.next().expect("memory runs out before"), "x".repeat(100));
    }
    assert_eq!(gone(&stage), 32);
    let bystander = stage.client_from(MAIN, "10.2.0.1:4000");
    assert_eq!(gone(&stage), 64);
    stage.client_from(MAIN, "10.2.0.2:4000");
    let enough = gone(&stage);
    assert!(enough < 70 && stage.blocks_in_use() <= 960, "{enough} gone, {} blocks", stage.blocks_in_use());
    stage.says(bystander, GET);
    assert_eq!(gone(&stage), enough, "a sixteenth of the memory is free");
}

#[test]
fn no_client_is_evicted_for_an_address_that_holds_far_more() {
    let mut stage = stage_with(64);
    for n in 0..20 {
        idle(&mut stage, OTHER, &format!("10.9.0.1:{n}"));
    }
    let resting: Vec<_> = (0..20).map(|n| idle(&mut stage, MAIN, &address(n))).collect();
    let working: Vec<_> = (20..40).map(|n| asking(&mut stage, MAIN, &address(n))).collect();
    for n in 100..160 {
        stage.client_from(OTHER, &format!("10.9.0.1:{n}"));
        stage.tape.sleep(Duration::from_millis(1));
    }
    assert!(working.iter().chain(&resting).all(|conn| stage.closed(*conn).is_none()));
    let light = stage.client_from(OTHER, "10.2.0.99:4000");
    assert_eq!(stage.closed(light), None, "an address without clients gets a place");
}

#[test]
fn address_that_holds_far_more_loses_first_even_if_its_service_is_below_its_share() {
    let mut stage = stage_with(64);
    let crowd: Vec<_> = (0..20).map(|n| idle(&mut stage, OTHER, &format!("10.9.0.1:{n}"))).collect();
    let others: Vec<_> = (0..48).map(|n| idle(&mut stage, MAIN, &address(n))).collect();
    assert!(others.iter().all(|conn| stage.closed(*conn).is_none()));
    assert_eq!(crowd.iter().filter(|conn| stage.closed(**conn).is_some()).count(), 8);
}

#[test]
fn memory_of_requests_counts_for_the_clients_that_hold_it() {
    let mut plan = plan(1);
    plan.virtual_services[0].http.as_mut().expect("speaks HTTP").request_buffer_bytes = 1_000_000;
    let mut stage = Stage::with(&plan, Limits { buffer_bytes: 40 * Stage::BLOCK_BYTES, ..Limits::default() });
    stage.tape.keeps_buffers = true;
    let bystander = asking(&mut stage, MAIN, "10.2.0.1:4000");
    let gathering: Vec<_> = (0..30)
        .map(|n| {
            let client = stage.client_from(MAIN, &format!("10.9.0.1:{n}"));
            stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n");
            stage.says(client, "x".repeat(4000));
            stage.tape.sleep(Duration::from_millis(20));
            client
        })
        .collect();
    assert!(gathering.iter().any(|conn| stage.closed(*conn).is_some()));
    assert_eq!(stage.closed(bystander), None, "its request is one block");
    assert!(stage.blocks_in_use() <= 40, "{} blocks", stage.blocks_in_use());
}
