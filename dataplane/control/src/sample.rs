//! A sample: the sums of all workers' counters, with the names of what they count. The names and their order stay from
//! one Plan to the next; only the numbers are written each second.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use weir_api::dataplane::v1::{
    self, CacheCounters, ErrorCounter, PoolCounters, Sample, ServerCounters, VirtualServiceCounters,
};
use weir_reactor::process;
use weir_snapshot::{Pool, Snapshot};
use weir_telemetry::{Cause, Counters, Histogram};

use crate::{handshakes, order::Counted, up::Up};

/// Each object that comes or goes moves all rows behind it. If there are more of them, the rows are made anew.
const MOVES_MAX: usize = 64;

/// Collects the workers' answers for one sample.
pub struct Collecting {
    waiting: usize,
    /// The sum over the workers that have answered. A server counts as up if it is up on all of them.
    sum: Option<Box<Counted>>,
}

impl Collecting {
    pub fn new(workers: usize) -> Self {
        Self { waiting: workers, sum: None }
    }

    /// Adds an answer, and puts it into `spare` once it is added. Returns the sum after the last one.
    #[expect(clippy::vec_box, reason = "they go back to the workers as they came")]
    pub fn add(&mut self, counted: Box<Counted>, spare: &mut Vec<Box<Counted>>) -> Option<Box<Counted>> {
        match &mut self.sum {
            Some(sum) => {
                sum.workers.extend_from_slice(&counted.workers);
                sum.counters.add(&counted.counters);
                sum.up.retain(&counted.up);
                sum.suspect.extend_from_slice(&counted.suspect);
                sum.ejected.extend_from_slice(&counted.ejected);
                spare.push(counted);
            }
            None => self.sum = Some(counted),
        }
        self.waiting = self.waiting.saturating_sub(1);
        self.sum.take_if(|_| self.waiting == 0)
    }
}

/// The sample, whose rows are reused each second.
#[derive(PartialEq, Debug)]
pub struct Rows {
    sample: Sample,
    /// Ids, in the order of the sample's rows.
    services: Vec<u32>,
    servers: Vec<u32>,
    pools: Vec<u32>,
}

impl Rows {
    pub fn of(snapshot: &Snapshot, workers: u32) -> Self {
        let mut services: Vec<_> = snapshot.services().collect();
        services.sort_by(|a, b| a.uuid.cmp(&b.uuid));
        let mut pools: Vec<_> = snapshot.pools().collect();
        pools.sort_by(|a, b| a.uuid.cmp(&b.uuid));
        let servers = || pools.iter().flat_map(|pool| pool.servers_by_name().map(|server| (&pool.uuid, server)));
        let queues = || pools.iter().filter(|pool| pool.queue_depth.is_some());
        let sample = Sample {
            pid: std::process::id(),
            workers,
            virtual_services: services.iter().map(|service| service_row(&service.uuid)).collect(),
            servers: servers().map(|(pool_uuid, server)| server_row(pool_uuid, &server.name)).collect(),
            pools: queues().map(|pool| pool_row(&pool.uuid)).collect(),
            ..Default::default()
        };
        let services = services.iter().map(|service| service.id).collect();
        let servers = servers().map(|(_, server)| server.id).collect();
        Self { sample, services, servers, pools: queues().map(|pool| pool.id).collect() }
    }

    /// Takes the rows of the next snapshot.
    pub fn follow(&mut self, next: &Snapshot) {
        let difference = next.difference();
        let moved = difference.services.len() + difference.services_gone.len();
        if moved + difference.pools.len() + difference.pools_gone.len() > MOVES_MAX {
            *self = Self::of(next, self.sample.workers);
            return;
        }
        difference.services_gone.iter().for_each(|gone| self.put_service(&gone.uuid, None));
        difference.services.iter().for_each(|service| self.put_service(&service.uuid, Some(service.id)));
        difference.pools_gone.iter().for_each(|gone| self.put_pool(&gone.uuid, None));
        difference.pools.iter().for_each(|pool| self.put_pool(&pool.uuid, Some(pool)));
    }

    fn put_service(&mut self, uuid: &str, id: Option<u32>) {
        let rows = &mut self.sample.virtual_services;
        match (rows.binary_search_by(|row| row.uuid.as_str().cmp(uuid)), id) {
            (Ok(at), None) => {
                rows.remove(at);
                self.services.remove(at);
            }
            (Err(at), Some(id)) => {
                rows.insert(at, service_row(uuid));
                self.services.insert(at, id);
            }
            // Its id stays.
            (Ok(_), Some(_)) | (Err(_), None) => {}
        }
    }

    fn put_pool(&mut self, uuid: &str, pool: Option<&Arc<Pool>>) {
        let rows = &mut self.sample.servers;
        let from = rows.partition_point(|row| row.pool_uuid.as_str() < uuid);
        let to = from + rows[from..].partition_point(|row| row.pool_uuid == uuid);
        let servers = || pool.into_iter().flat_map(|pool| pool.servers_by_name());
        rows.splice(from..to, servers().map(|server| server_row(uuid, &server.name)));
        self.servers.splice(from..to, servers().map(|server| server.id));
        let rows = &mut self.sample.pools;
        let from = rows.partition_point(|row| row.pool_uuid.as_str() < uuid);
        let to = from + usize::from(rows.get(from).is_some_and(|row| row.pool_uuid == uuid));
        let queue = || pool.into_iter().filter(|pool| pool.queue_depth.is_some());
        rows.splice(from..to, queue().map(|_| pool_row(uuid)));
        self.pools.splice(from..to, queue().map(|pool| pool.id));
    }

    /// Takes the sample with its current numbers. Return it with [`put_back`](Self::put_back) once it is sent.
    pub fn fill(&mut self, counted: &Counted, pinned_workers: u32) -> Sample {
        let mut sample = std::mem::take(&mut self.sample);
        let cpu = process::cpu_time().unwrap_or_default();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        sample.unix_ms = since_epoch.as_millis() as u64;
        sample.cpu_user_us = cpu.user.as_micros() as u64;
        sample.cpu_system_us = cpu.system.as_micros() as u64;
        sample.rss_bytes = process::resident_bytes().unwrap_or_default();
        sample.pinned_workers = pinned_workers;
        sample.worker_counters.clone_from(&counted.workers);
        sample.worker_counters.sort_unstable_by_key(|counters| counters.worker);
        for (row, id) in sample.virtual_services.iter_mut().zip(&self.services) {
            fill_service(row, *id, &counted.counters);
        }
        let (suspecting, ejecting) = (workers_by_server(&counted.suspect), workers_by_server(&counted.ejected));
        for (row, id) in sample.servers.iter_mut().zip(&self.servers) {
            fill_server(row, *id, &counted.counters, &counted.up);
            row.suspecting_workers = suspecting.get(id).copied().unwrap_or_default();
            row.ejecting_workers = ejecting.get(id).copied().unwrap_or_default();
        }
        for (row, id) in sample.pools.iter_mut().zip(&self.pools) {
            let counted = counted.counters.queue(*id);
            row.queued = counted.waiting;
            row.queued_total = counted.queued;
            row.queue_full_total = counted.full;
            row.queue_timeouts_total = counted.timeouts;
        }
        sample
    }

    pub fn put_back(&mut self, sample: Sample) {
        self.sample = sample;
    }
}

fn service_row(uuid: &str) -> VirtualServiceCounters {
    VirtualServiceCounters { uuid: uuid.to_owned(), ..Default::default() }
}

fn pool_row(uuid: &str) -> PoolCounters {
    PoolCounters { pool_uuid: uuid.to_owned(), ..Default::default() }
}

fn server_row(pool_uuid: &str, server_name: &str) -> ServerCounters {
    ServerCounters { pool_uuid: pool_uuid.to_owned(), server_id: server_name.to_owned(), ..Default::default() }
}

fn workers_by_server(told: &[u32]) -> BTreeMap<u32, u32> {
    let mut workers = BTreeMap::new();
    told.iter().for_each(|id| *workers.entry(*id).or_default() += 1);
    workers
}

/// An object without any event has no counters, and its numbers here stay 0.
fn fill_service(row: &mut VirtualServiceCounters, id: u32, counters: &Counters) {
    let Some(counted) = counters.service(id) else { return };
    let error = |(cause, total): (Cause, u64)| ErrorCounter { cause: cause.name().into(), total };
    row.connections_total = counted.connections;
    row.open_connections = counted.open_connections;
    row.http2_connections_total = counted.http2_connections;
    row.open_http2_connections = counted.open_http2_connections;
    row.open_http2_requests = counted.open_streams;
    row.tls_handshakes_total = counted.handshakes;
    if let Some(handshakes) = counted.handshakes() {
        handshakes::fill(row, handshakes);
    }
    row.requests_total = counted.requests;
    row.requests_by_method_total.clear();
    row.requests_by_method_total.extend(counted.by_method);
    row.http2_requests_total = counted.http2_requests;
    row.grpc_calls_total = counted.calls;
    row.responses_total.clear();
    row.responses_total.extend(counted.responses);
    let local = counted.local_responses();
    row.local_responses_total = local.iter().sum();
    row.local_responses_by_class_total.clear();
    row.local_responses_by_class_total.extend(local);
    row.excluded_responses_total.clear();
    row.excluded_responses_total.extend(counted.excluded_responses().into_iter().flatten());
    row.cache = counted.cache().map(|cache| CacheCounters { lookups_total: cache.lookups, hits_total: cache.hits });
    row.reselects_total = counted.reselects;
    row.client_aborts_total = counted.client_aborts();
    row.received_bytes_total = counted.received_bytes;
    row.sent_bytes_total = counted.sent_bytes;
    row.received_datagrams_total = counted.received_datagrams;
    row.sent_datagrams_total = counted.sent_datagrams;
    row.websockets_total = counted.websockets;
    row.open_websockets = counted.open_websockets;
    row.errors.clear();
    row.errors.extend(counted.failures().map(error));
    row.limited.clear();
    row.limited.extend(counted.limited().map(|(by, total)| ErrorCounter { cause: by.name().into(), total }));
    if let Some(times) = counters.times(id) {
        let row = row.times.get_or_insert_default();
        fill_histogram(row.total.get_or_insert_default(), &times.total);
        fill_histogram(row.wait.get_or_insert_default(), &times.wait);
        fill_histogram(row.response.get_or_insert_default(), &times.response);
        fill_histogram(row.server_rtt.get_or_insert_default(), &times.server_rtt);
        fill_histogram(row.app_response.get_or_insert_default(), &times.app_response);
        fill_histogram(row.transfer.get_or_insert_default(), &times.transfer);
    }
    if let Some(client_rtt) = counters.client_rtt(id) {
        fill_histogram(row.client_rtt.get_or_insert_default(), client_rtt);
    }
}

fn fill_histogram(row: &mut v1::Histogram, counted: &Histogram) {
    let (first, counts) = counted.run();
    fill_run(row, counted.sum_ticks(), first, counts);
}

/// `first` is the bucket of the first count.
fn fill_run(row: &mut v1::Histogram, sum_ticks: u64, first: usize, counts: &[u32]) {
    let is_used = |count: &u32| *count > 0;
    let begin = counts.iter().position(is_used).unwrap_or_default();
    let end = counts.iter().rposition(is_used).map_or(begin, |last| last + 1);
    row.sum_ticks = sum_ticks;
    row.first = (first + begin) as u32;
    row.counts.clear();
    row.counts.extend_from_slice(&counts[begin..end]);
}

fn fill_server(row: &mut ServerCounters, id: u32, counters: &Counters, up: &Up) {
    row.up = up.contains(id);
    let Some(counted) = counters.server(id) else { return };
    row.connections_total = counted.connections;
    row.open_connections = counted.open_connections;
    row.http2_connections_total = counted.http2_connections;
    row.requests_total = counted.requests;
    row.failures_total = counted.failures;
    row.resets_total = counters.resets_of_server(id);
    row.reused_total = counted.reused;
    row.received_bytes_total = counted.received_bytes;
    row.sent_bytes_total = counted.sent_bytes;
    row.responses_total.clear();
    row.responses_total.extend(counted.responses);
    row.excluded_responses_total.clear();
    row.excluded_responses_total.extend(counters.excluded_of_server(id).into_iter().flatten());
    row.connect_ticks_total = counted.connect_ticks;
    if let Some(took) = &counted.app_response {
        fill_run(row.app_response.get_or_insert_default(), took.sum_ticks(), 0, took.counts());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_goes_without_empty_buckets_at_its_ends() {
        let mut counted = Histogram::default();
        [1 << 10, 1 << 10, 1 << 11].into_iter().for_each(|ticks| counted.count(ticks));
        let mut row = v1::Histogram { counts: vec![7; 40], ..Default::default() };
        fill_histogram(&mut row, &counted);
        let between = [0; 7];
        let expected = [&[2], &between[..], &[1]].concat();
        assert_eq!(row, v1::Histogram { sum_ticks: 4096, first: 80, counts: expected });
        fill_histogram(&mut row, &Histogram::default());
        assert_eq!(row, v1::Histogram::default());
    }
}
