//! A sample: the counters of all workers added up and put beside the names of what they count.

use std::time::{SystemTime, UNIX_EPOCH};

use weir_api::dataplane::v1::{ErrorCounter, Sample, ServerCounters, VirtualServiceCounters};
use weir_reactor::process;
use weir_snapshot::{Pool, Snapshot, VirtualService};
use weir_telemetry::Counters;

use crate::order::Counted;

/// Collects the answers of one second.
pub struct Collecting {
    waiting: usize,
    sum: Counters,
    /// Servers that are up to every worker that has answered; `None` before the first.
    up: Option<Vec<u32>>,
}

impl Collecting {
    pub fn new(workers: usize) -> Self {
        Self { waiting: workers, sum: Counters::default(), up: None }
    }

    /// True when this was the last answer.
    pub fn add(&mut self, counted: Counted) -> bool {
        self.sum.add(&counted.counters);
        match &mut self.up {
            Some(up) => up.retain(|id| counted.up.binary_search(id).is_ok()),
            None => self.up = Some(counted.up),
        }
        self.waiting = self.waiting.saturating_sub(1);
        self.waiting == 0
    }

    pub fn sample(&self, snapshot: &Snapshot, workers: u32) -> Sample {
        let cpu = process::cpu_time().unwrap_or_default();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut virtual_services: Vec<_> = snapshot.services().map(|service| self.service(service)).collect();
        virtual_services.sort_by(|a, b| a.uuid.cmp(&b.uuid));
        let mut servers: Vec<_> = snapshot.pools().flat_map(|pool| self.servers(pool)).collect();
        servers.sort_by(|a, b| (&a.pool_uuid, &a.server_id).cmp(&(&b.pool_uuid, &b.server_id)));
        Sample {
            unix_ms: since_epoch.as_millis() as u64,
            pid: std::process::id(),
            cpu_user_us: cpu.user.as_micros() as u64,
            cpu_system_us: cpu.system.as_micros() as u64,
            rss_bytes: process::resident_bytes().unwrap_or_default(),
            workers,
            virtual_services,
            servers,
        }
    }

    fn service(&self, service: &VirtualService) -> VirtualServiceCounters {
        let counted = self.sum.service(service.id).cloned().unwrap_or_default();
        let error = |(cause, total): (weir_telemetry::Cause, u64)| ErrorCounter { cause: cause.name().into(), total };
        VirtualServiceCounters {
            uuid: service.uuid.clone(),
            connections_total: counted.connections,
            open_connections: counted.open_connections,
            tls_handshakes_total: counted.handshakes,
            tls_resumptions_total: counted.resumptions,
            tls_failures_total: counted.handshake_failures,
            requests_total: counted.requests,
            responses_total: counted.responses.to_vec(),
            local_responses_total: counted.local_responses,
            client_aborts_total: counted.client_aborts,
            received_bytes_total: counted.received_bytes,
            sent_bytes_total: counted.sent_bytes,
            errors: counted.failures().map(error).collect(),
        }
    }

    fn servers<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = ServerCounters> + 'a {
        pool.servers.iter().map(|server| {
            let counted = self.sum.server(server.id).cloned().unwrap_or_default();
            ServerCounters {
                pool_uuid: pool.uuid.clone(),
                server_id: server.name.clone(),
                connections_total: counted.connections,
                open_connections: counted.open_connections,
                requests_total: counted.requests,
                failures_total: counted.failures,
                reused_total: counted.reused,
                up: self.up.as_ref().is_some_and(|up| up.binary_search(&server.id).is_ok()),
            }
        })
    }
}
