//! Records of what happens in a seed, beside what clients and servers have seen, and beside the same seed with a throttle.
//!
//! A record changes nothing about traffic. So a seed whose records are throttled has the same requests as one without a
//! limit, and what its records stand for, together with what waits, must be as much, to the unit.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
};

use weir_api::dataplane::v1 as api;
use weir_proxy::{Proxy, records::Batch};
use weir_telemetry::{
    Cause,
    record::{Kind, Packed},
};

use crate::{
    peer::{Heard, Ledger},
    scenario::{Change, Scenario},
};

/// Seeds without records show that these change nothing.
const SEEDS_WITHOUT: u64 = 4;
/// Every so many seeds are played once more with a throttle.
const SEEDS_PER_THROTTLED: u64 = 5;
/// Where the method of a record stands.
const METHOD: usize = 5;
const PATH: usize = 1;
const TUNNEL_FLAG: u32 = 1 << 17;
/// What the head of a response may have.
const HEAD_BYTES_MAX: u64 = 700;

/// How a seed records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Off,
    All,
    Throttled,
}

impl Mode {
    pub fn of(seed: u64) -> Self {
        if seed.is_multiple_of(SEEDS_WITHOUT) { Mode::Off } else { Mode::All }
    }

    pub fn is_repeated(seed: u64) -> bool {
        seed.is_multiple_of(SEEDS_PER_THROTTLED) && Self::of(seed) == Mode::All
    }
}

/// Whether some Plans of a seed have no records.
pub fn pauses(seed: u64) -> bool {
    seed.is_multiple_of(7)
}

/// Gives the Plans of a scenario a policy. In some of them the virtual services record for a part of the time.
pub fn set(scenario: &mut Scenario, mode: Mode, seed: u64) {
    if mode == Mode::Off {
        return;
    }
    let pauses = pauses(seed);
    let plans = scenario.changes.iter_mut().filter_map(|(_, change)| match change {
        Change::Plan(plan) => Some(plan.as_mut()),
        Change::ServerUp { .. } | Change::Drain => None,
    });
    for plan in plans.chain([&mut scenario.plan]) {
        let records = !pauses || plan.revision.is_multiple_of(2);
        for service in &mut plan.virtual_services {
            service.analytics = records.then(|| policy(mode, seed));
        }
    }
}

fn policy(mode: Mode, seed: u64) -> api::Analytics {
    let per_s = if mode == Mode::Throttled { [1, 2, 3] } else { [0; 3] };
    let filter =
        api::RecordFilter { client_subnets: vec!["10.2.0.0/29".into()], until_unix_s: u64::MAX, ..Default::default() };
    api::Analytics {
        significant_per_s: per_s[0],
        filtered_per_s: per_s[1],
        all_per_s: per_s[2],
        all_until_unix_s: u64::MAX,
        filters: vec![filter],
        significant_off: seed.is_multiple_of(11),
        slow_total_ms: 200,
        slow_app_ms: 50,
        slow_server_rtt_ms: 50,
        slow_client_rtt_ms: 50,
        not_errors: vec![api::StatusRange { first: 404, last: 404 }],
        ..Default::default()
    }
}

/// What recorded requests and connections there were, by virtual service and class.
pub type Sums = BTreeMap<(String, u32), u64>;

/// The records of one run.
#[derive(Default)]
pub struct Books {
    packed: Vec<Vec<u8>>,
    services: HashMap<u32, String>,
    servers: HashMap<u32, String>,
    waiting: Sums,
    /// Not given back yet.
    held: Option<Batch>,
    turns: u32,
    numbers: u64,
    wrong: Vec<String>,
}

impl Books {
    /// Takes what there is, in some turns, and gives it back later.
    pub fn collect(&mut self, proxy: &mut Proxy) {
        self.turns += 1;
        match self.turns % 16 {
            3 => {
                if let Some(held) = self.held.take() {
                    proxy.return_records(held);
                }
            }
            7 => self.take(proxy, false),
            _ => {}
        }
    }

    fn take(&mut self, proxy: &mut Proxy, is_last: bool) {
        let Some(mut batch) = proxy.take_records(is_last) else { return };
        self.numbers += 1;
        if batch.number != self.numbers {
            self.wrong.push(format!("batch {} comes after {}", batch.number, self.numbers - 1));
        }
        self.services.extend(batch.services.iter().map(|service| (service.id, service.uuid.clone())));
        for (id, pool) in &batch.servers {
            match pool.servers.iter().find(|server| server.id == *id) {
                Some(server) => _ = self.servers.insert(*id, server.name.clone()),
                None => self.wrong.push(format!("pool {} has no server {id}", pool.uuid)),
            }
        }
        // A virtual service that came again has two rows.
        let mut waiting = Sums::new();
        for row in &batch.waiting {
            *waiting.entry((row.service.to_string(), row.class as u32)).or_default() += row.count;
        }
        self.waiting.extend(waiting);
        let packed = std::mem::take(&mut batch.buffer).into_packed();
        self.packed.push(packed);
        match self.held {
            None => self.held = Some(batch),
            Some(_) => proxy.return_records(batch),
        }
    }

    /// Takes the last records, and judges all.
    /// `requests` is how many heads of requests were counted, `servers` the names of the servers.
    pub fn close(
        mut self,
        proxy: &mut Proxy,
        (mode, requests_counted): (Mode, u64),
        servers: Vec<String>,
        ledger: &mut Ledger,
    ) -> Sums {
        self.take(proxy, true);
        let mut wrong = std::mem::take(&mut self.wrong);
        let mut sums = self.waiting.clone();
        sums.retain(|_, count| *count > 0);
        let (mut requests, mut tunnels, mut sequence, mut heads) = (HashMap::new(), HashMap::new(), 0, 0);
        for packed in &self.packed {
            let Some(records) = Packed::all(packed) else {
                wrong.push("a batch cannot be read".into());
                continue;
            };
            for record in records {
                sequence += 1;
                if record.sequence() != sequence {
                    wrong.push(format!("record {} comes at {sequence}", record.sequence()));
                }
                let [wait, app, transfer, rtt, total] = record.times();
                if wait + app + transfer + rtt != total {
                    wrong.push(format!("{:?} do not add up", record.times()));
                }
                let Some(service) = self.services.get(&record.service()) else {
                    wrong.push(format!("virtual service {} has no name", record.service()));
                    continue;
                };
                if record.server() != u32::MAX && !self.servers.contains_key(&record.server()) {
                    wrong.push(format!("server {} has no name", record.server()));
                }
                *sums.entry((service.clone(), record.class().into())).or_default() += u64::from(record.weight());
                // A stream without a place is no request.
                let is_refused = record.cause() == Cause::EngineRefused as u16 + 1;
                heads += u64::from(record.u8(METHOD) != 0 && !is_refused);
                if record.kind() == Kind::Connection as u8 && record.flags() & TUNNEL_FLAG != 0 {
                    tunnels.entry(record.client()).or_insert_with(Vec::new).push(record);
                }
                if let Some(id) = id_of(&record) {
                    requests.entry(id).or_insert_with(Vec::new).push(record);
                }
            }
        }
        if mode == Mode::All {
            self.compare(&requests, &servers, ledger, &mut wrong);
            compare_tunnels(&tunnels, ledger, &mut wrong);
            if heads != requests_counted && !ledger.records_pause {
                wrong.push(format!("{heads} of {requests_counted} requests have a record"));
            }
        }
        wrong.into_iter().for_each(|wrong| ledger.violation("records", wrong));
        sums
    }

    /// Each request that a server has answered has one record, which says what its client has seen.
    fn compare(
        &self,
        requests: &HashMap<u64, Vec<Packed<'_>>>,
        servers: &[String],
        ledger: &Ledger,
        wrong: &mut Vec<String>,
    ) {
        for (id, Heard { status, body_bytes }) in &ledger.heard {
            let found = requests.get(id).map_or(&[][..], Vec::as_slice);
            let [record] = found else {
                if !ledger.records_pause {
                    wrong.push(format!("request {id} has {} records", found.len()));
                }
                continue;
            };
            if record.status() != *status || record.server_status() != *status {
                wrong.push(format!("request {id} got {status}, its record says {}", record.status()));
            }
            let head_bytes = record.response_bytes().checked_sub(*body_bytes);
            if head_bytes.is_none_or(|head| head == 0 || head > HEAD_BYTES_MAX) {
                wrong.push(format!("request {id} got {body_bytes} bytes, its record has {}", record.response_bytes()));
            }
            let server = self.servers.get(&record.server());
            let number = server.and_then(|server| servers.iter().position(|name| name == server));
            if number.is_none_or(|server| !ledger.has_served(server, *id)) {
                wrong.push(format!("request {id} was not answered by {server:?}, as its record says"));
            }
        }
    }
}

/// Each tunnel that has brought its client something has one record, which says how much went through it.
fn compare_tunnels(tunnels: &HashMap<SocketAddr, Vec<Packed<'_>>>, ledger: &Ledger, wrong: &mut Vec<String>) {
    for (client, carried) in &ledger.tunnels {
        let [record] = tunnels.get(client).map_or(&[][..], Vec::as_slice) else {
            if !ledger.records_pause {
                let found = tunnels.get(client).map_or(0, Vec::len);
                wrong.push(format!("the tunnel of {client} has {found} records"));
            }
            continue;
        };
        let (up, down) = (record.request_bytes(), record.response_bytes());
        let is_whole = (up, down) == (carried.sent, carried.heard);
        if carried.calm && !is_whole || up > carried.sent || down < carried.heard {
            wrong.push(format!("the tunnel of {client} has carried {carried:?}, and {up}, {down} by its record"));
        }
    }
}

/// The id of a request that peers made up.
fn id_of(record: &Packed<'_>) -> Option<u64> {
    str::from_utf8(record.text(PATH)).ok()?.strip_prefix('/')?.split('/').next()?.parse().ok()
}

/// What two runs of one seed recorded, if that differs.
pub fn differing(all: &Sums, throttled: &Sums) -> Option<String> {
    (all != throttled).then(|| format!("records: without a limit there were {all:?}, with one {throttled:?}"))
}
