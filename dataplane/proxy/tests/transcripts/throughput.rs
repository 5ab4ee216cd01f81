//! Limits of bytes: whose connections take tokens of which bucket, and what the proxy does while they wait for some. The
//! tape moves as many bytes of clients as their buckets let, as a driver does.

use std::{collections::HashMap, sync::Arc, time::Duration};

use weir_api::dataplane::v1::Plan;
use weir_proxy::io::{Bucket, Conn, Event, Io};
use weir_rate::Ration;
use weir_telemetry::Cause;

use crate::{
    GET, OK,
    http2::{Browser, http2},
    status,
    tape::{Stage, l4_plan, plan},
};

const MEGABYTE: usize = 1_000_000;
const PIECE: usize = 4_000;
const MS: Duration = Duration::from_millis(1);

fn limited(mut plan: Plan, mbps: u32) -> Plan {
    plan.virtual_services[0].max_throughput_mbps = mbps;
    plan
}

fn takes_from(stage: &Stage, conn: Conn, bucket: &Arc<Bucket>) -> bool {
    stage.tape.bucket(conn).is_some_and(|other| Arc::ptr_eq(&other, bucket))
}

/// How long connections of a bucket wait that have moved so many bytes.
fn wait_for(stage: &Stage, bucket: &Arc<Bucket>, bytes: usize) -> Duration {
    let (now, mut ration) = (stage.tape.now().nanos, Ration::of(bucket.clone()));
    assert!(ration.ask(now).is_ok());
    ration.spend(bytes as u64);
    let left = ration.ask(now).expect("the burst");
    ration.spend(left);
    Duration::from_nanos(ration.ask(now).expect_err("all has moved") - now)
}

/// Servers that send to clients, and clients that send, a megabyte each.
struct Transfer {
    stage: Stage,
    ration: Ration,
    clients: Vec<Conn>,
    servers: HashMap<Conn, Conn>,
}

impl Transfer {
    fn new(plan: &Plan, clients: usize, first: &str) -> Self {
        let mut stage = Stage::new(plan);
        let mut servers = HashMap::new();
        let clients: Vec<_> = (0..clients)
            .map(|_| {
                let client = stage.client();
                stage.says(client, first);
                servers.insert(client, stage.connected());
                client
            })
            .collect();
        let bucket = stage.tape.bucket(clients[0]).expect("the service is limited");
        assert!(clients.iter().all(|client| takes_from(&stage, *client, &bucket)));
        stage.tape.stuck = true;
        Self { stage, ration: Ration::of(bucket), clients, servers }
    }

    /// Has each server answer, and each client take what its bucket lets it take. Returns when each of them had all.
    fn download(&mut self, head: &str) -> Vec<Duration> {
        let (begun, total) = (self.stage.tape.now(), head.len() + MEGABYTE);
        let mut unsaid: HashMap<_, _> =
            self.servers.iter().map(|(client, server)| (*client, (*server, total))).collect();
        let (mut ends, mut turn) = (vec![None; self.clients.len()], 0);
        while ends.contains(&None) {
            for (client, (server, left)) in &mut unsaid {
                while *left > 0 && !self.stage.is_paused(*server) {
                    let said = total - *left;
                    let bytes = if said == 0 { head.len() } else { PIECE.min(*left) };
                    let piece = if said == 0 { head.as_bytes().to_vec() } else { vec![b'x'; bytes] };
                    *left -= bytes;
                    self.stage.says(*server, piece);
                    assert!(self.stage.tape.queued(*client) < 20_000, "the server is read no faster than the client");
                }
            }
            let now = self.stage.tape.now();
            turn += 1;
            for place in (0..ends.len()).map(|place| (place + turn) % ends.len()).collect::<Vec<_>>() {
                let client = self.clients[place];
                let queued = self.stage.tape.queued(client);
                if queued > 0
                    && let Ok(tokens) = self.ration.ask(now.nanos)
                {
                    let bytes = queued.min(tokens as usize).min(1_500);
                    self.ration.spend(bytes as u64);
                    self.stage.tape.takes(client, bytes);
                    if bytes == queued {
                        self.stage.batch(vec![Event::Drained { conn: client }]);
                    }
                }
                if unsaid[&client].1 == 0 && self.stage.tape.queued(client) == 0 {
                    ends[place].get_or_insert(now.since(begun));
                }
            }
            self.stage.tape.sleep(MS);
        }
        ends.into_iter().flatten().collect()
    }
}

/// A megabyte at 1 MB a second, but for a burst of 100 KB.
fn takes(took: Duration, seconds: f64) {
    assert!((took.as_secs_f64() - seconds).abs() < 0.05 * seconds, "{took:?}, not {seconds} s");
}

#[test]
fn download_goes_at_the_rate_and_clients_share_it() {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {MEGABYTE}\r\n\r\n");
    for (clients, seconds) in [(1, 0.9), (2, 1.9)] {
        let mut transfer = Transfer::new(&limited(plan(1), 8), clients, GET);
        let ends = transfer.download(&head);
        ends.iter().for_each(|end| takes(*end, seconds));
        for client in transfer.clients {
            let got = transfer.stage.sent_bytes(client);
            assert!(got.len() >= MEGABYTE && got.ends_with(b"xxxx"), "{} bytes", got.len());
            assert_eq!(got.iter().filter(|byte| **byte == b'x').count(), MEGABYTE);
        }
        assert_eq!(transfer.stage.blocks_in_use(), 0);
    }
}

#[test]
fn tunnels_are_limited_too() {
    let mut transfer = Transfer::new(&limited(l4_plan(1), 8), 2, "asks");
    transfer.download("head").into_iter().for_each(|end| takes(end, 1.9));
    for client in transfer.clients {
        assert_eq!(transfer.stage.sent_bytes(client).len(), 4 + MEGABYTE);
    }
}

#[test]
fn upload_that_waits_for_tokens_outlasts_the_timeout_of_its_body() {
    let mut stage = Stage::new(&limited(plan(1), 8));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\none ");
    let server = stage.connected();
    stage.tape.waiting = Some(client);
    stage.wait_for_deadline(client);
    assert!((0..9).all(|_| stage.wait_for_deadline(client) == Duration::from_secs(10)));
    assert_eq!(stage.closed(client), None);
    stage.says(client, "two ");
    assert!(stage.sent(server).ends_with("one two "));
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn body_that_stops_coming_is_given_up_when_its_client_has_tokens() {
    let mut stage = Stage::new(&limited(plan(1), 8));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\none ");
    stage.connected();
    stage.tape.waiting = Some(client);
    stage.wait_for_deadline(client);
    stage.tape.waiting = None;
    stage.wait_for_deadline(client);
    assert_eq!(status(&stage.sent(client)), "408");
}

#[test]
fn client_that_waits_for_its_response_is_not_stalled() {
    let mut stage = Stage::new(&limited(plan(1), 8));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.tape.stuck = true;
    stage.says(server, OK);
    stage.tape.waiting = Some(client);
    for _ in 0..200 {
        stage.wait_for_deadline(client);
    }
    assert_eq!(stage.closed(client), None);
    stage.tape.waiting = None;
    for _ in 0..3 {
        if stage.closed(client).is_none() {
            stage.wait_for_deadline(client);
        }
    }
    assert!(stage.closed(client).is_some(), "it takes nothing");
}

#[test]
fn limit_holds_for_open_connections_and_ends_for_them() {
    let (before, after) = (plan(1), limited(plan(1), 8));
    let mut stage = Stage::new(&before);
    let client = stage.client();
    assert!(stage.tape.bucket(client).is_none());
    let revised = |revision, plan: &Plan| Plan { revision, ..plan.clone() };
    stage.replace(&revised(2, &after));
    let bucket = stage.tape.bucket(client).expect("it is limited now");
    let later = stage.client();
    assert!(takes_from(&stage, later, &bucket));
    stage.replace(&revised(3, &limited(plan(1), 80)));
    assert!(takes_from(&stage, client, &bucket), "another number changes the bucket, not whose it is");
    takes(wait_for(&stage, &bucket, 10 * MEGABYTE), 0.9);
    stage.replace(&revised(4, &before));
    assert!(stage.tape.bucket(client).is_none() && stage.tape.bucket(later).is_none());
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn limit_ends_with_the_service_that_had_it() {
    let before = limited(plan(1), 8);
    let mut stage = Stage::new(&before);
    let client = stage.client();
    assert!(stage.tape.bucket(client).is_some());
    let mut after = Plan { revision: 2, ..plan(1) };
    after.virtual_services[0].uuid = "another".into();
    stage.replace(&after);
    assert!(stage.tape.bucket(client).is_none());
}

#[test]
fn plan_that_is_refused_changes_no_limit() {
    let mut stage = Stage::new(&limited(plan(1), 8));
    let client = stage.client();
    let bucket = stage.tape.bucket(client).expect("the service is limited");
    let mut refused = Plan { revision: 2, ..limited(plan(1), 80) };
    let mut unsound = refused.virtual_services[0].clone();
    (unsound.uuid, unsound.listeners[0].address) = ("unsound".into(), "nowhere".into());
    refused.virtual_services.push(unsound);
    assert!(stage.refuses_plan(&refused));
    takes(wait_for(&stage, &bucket, 10 * MEGABYTE), 9.9);
}

#[test]
fn carrier_whose_next_request_waits_for_tokens_is_not_idle() {
    let mut stage = Stage::new(&http2(limited(plan(1), 8)));
    let mut browser = Browser::new(&mut stage);
    browser.says(&mut stage, b"");
    let greeted = stage.sent_bytes(browser.conn).len();
    stage.tape.waiting = Some(browser.conn);
    for _ in 0..20 {
        stage.wait_for_deadline(browser.conn);
    }
    assert_eq!((stage.closed(browser.conn), stage.sent_bytes(browser.conn).len()), (None, greeted));
    stage.tape.waiting = None;
    stage.wait_for_deadline(browser.conn);
    assert!(stage.closed(browser.conn).is_some());
}

#[test]
fn head_on_a_carrier_that_waited_for_tokens_has_its_whole_time_from_then_on() {
    let mut patient = http2(limited(plan(1), 8));
    patient.pools[0].response_timeout_ms = 3_600_000;
    let mut stage = Stage::new(&patient);
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    stage.connected();
    let (_, mut unended) = browser.request("GET", true);
    unended[4] &= !0x4;
    browser.says(&mut stage, &unended);
    stage.tape.waiting = Some(browser.conn);
    for _ in 0..20 {
        stage.wait_for_deadline(browser.conn);
    }
    stage.tape.waiting = None;
    let mut waited = Duration::ZERO;
    while stage.closed(browser.conn).is_none() {
        waited += stage.wait_for_deadline(browser.conn);
    }
    assert_eq!((waited.as_secs(), stage.failures(Cause::ClientHeadTimeout)), (3, 1));
}

#[test]
fn client_behind_a_proxy_is_limited_once_it_is_known() {
    let mut plan = limited(plan(1), 8);
    let tcp = plan.virtual_services[0].tcp.as_mut().expect("uses TCP");
    tcp.proxy_protocol_sources = vec!["10.2.0.0/16".into()];
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    assert!(stage.tape.bucket(client).is_none());
    stage.says(client, "PROXY TCP4 192.0.2.1 10.0.0.1 4000 80\r\n");
    assert!(stage.tape.bucket(client).is_some());
}
