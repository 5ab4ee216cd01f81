//! Batches of records on their way to the agent. A batch stays here until an agent has taken it; its buffers then go back to
//! its worker, which has two sets of them. So neither a slow agent nor none costs more memory than that.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{SystemTime, UNIX_EPOCH},
};

use weir_api::dataplane::v1::{
    FromDataplane, RecordedServer, RecordedService, Records, RecordsTaken, Unrecorded, from_dataplane::Frame,
};
use weir_proxy::records::Batch;
use weir_snapshot::Pool;
use weir_telemetry::record::{Buffer, Waiting};

/// How many batches may wait for an agent to take them after they were sent.
const SENT_MAX: usize = 4;

pub struct Outbox {
    /// When the process started, in nanoseconds since 1970.
    process: u64,
    /// In the order in which they were sent. Of each worker, the numbers rise.
    sent: VecDeque<Sent>,
    /// At most two of each worker.
    waiting: VecDeque<(u32, Batch)>,
}

struct Sent {
    worker: u32,
    number: u64,
    message: FromDataplane,
    /// What is left of the batch, without what is in the message.
    rest: Batch,
}

impl Outbox {
    pub fn new() -> Self {
        let process = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            process: u64::try_from(process.as_nanos()).unwrap_or(u64::MAX),
            sent: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    #[cfg(test)]
    pub fn process(&self) -> u64 {
        self.process
    }

    /// Takes a batch of a worker.
    pub fn add(&mut self, worker: u32, batch: Batch) {
        self.waiting.push_back((worker, batch));
    }

    /// The next batch to send, if an agent may have one more.
    pub fn next(&mut self) -> Option<&FromDataplane> {
        if self.sent.len() >= SENT_MAX {
            return None;
        }
        let (worker, batch) = self.waiting.pop_front()?;
        self.sent.push_back(self.sent_of(worker, batch));
        self.sent.back().map(|sent| &sent.message)
    }

    /// Those that were sent and that no agent has taken: the next one gets them again.
    pub fn unconfirmed(&self) -> impl Iterator<Item = &FromDataplane> {
        self.sent.iter().map(|sent| &sent.message)
    }

    /// An agent has taken batches. Returns them, for their workers.
    pub fn taken(&mut self, taken: &RecordsTaken) -> Vec<(u32, Batch)> {
        if taken.process != self.process {
            return Vec::new();
        }
        let is_taken = |sent: &Sent| sent.worker == taken.worker && sent.number <= taken.number;
        let (done, left): (VecDeque<_>, _) = self.sent.drain(..).partition(is_taken);
        self.sent = left;
        done.into_iter().map(|sent| (sent.worker, sent.recovered())).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }

    fn sent_of(&self, worker: u32, mut batch: Batch) -> Sent {
        let services = batch.services.iter();
        let services = services.map(|service| RecordedService { number: service.id, uuid: service.uuid.clone() });
        let records = Records {
            process: self.process,
            worker,
            number: batch.number,
            services: services.collect(),
            servers: batch.servers.iter().map(|(id, pool)| recorded_server(*id, pool)).collect(),
            waiting: unrecorded(&batch.waiting),
            packed: std::mem::take(&mut batch.buffer).into_packed(),
        };
        // The worker's last use of them may be that of a Plan that is gone.
        batch.services.clear();
        batch.servers.clear();
        Sent {
            worker,
            number: batch.number,
            message: FromDataplane { frame: Some(Frame::Records(records)) },
            rest: batch,
        }
    }
}

impl Sent {
    fn recovered(self) -> Batch {
        match self.message.frame {
            Some(Frame::Records(records)) => Batch { buffer: Buffer::of(records.packed), ..self.rest },
            _ => self.rest,
        }
    }
}

fn recorded_server(id: u32, pool: &Pool) -> RecordedServer {
    let server = pool.servers.iter().find(|server| server.id == id);
    let server_id = server.map(|server| server.name.clone()).unwrap_or_default();
    RecordedServer { number: id, pool_uuid: pool.uuid.clone(), server_id, at_service_port: pool.uses_service_port }
}

/// A virtual service that went and came again has two rows in the worker, and one name.
fn unrecorded(waiting: &[Waiting]) -> Vec<Unrecorded> {
    let mut counts = BTreeMap::<(&str, u32), u64>::new();
    waiting.iter().for_each(|row| *counts.entry((&row.service, row.class as u32)).or_default() += row.count);
    let counts = counts.into_iter();
    counts.map(|((uuid, class), count)| Unrecorded { virtual_service_uuid: uuid.into(), class, count }).collect()
}

#[cfg(test)]
mod tests {
    use weir_telemetry::record::Class;

    use super::*;

    #[test]
    fn what_waits_of_a_service_that_came_again_is_added_up() {
        let row = |service: &str, class, count| Waiting { service: service.into(), class, count };
        let rows =
            [row("a", Class::All, 2), row("b", Class::All, 0), row("a", Class::Filtered, 1), row("a", Class::All, 3)];
        let told: Vec<_> =
            unrecorded(&rows).into_iter().map(|told| (told.virtual_service_uuid, told.class, told.count)).collect();
        assert_eq!(told, [("a".into(), 2, 1), ("a".into(), 3, 5), ("b".into(), 3, 0)]);
    }
}
