//! From a Plan to snapshots: one for each worker, built here so that no worker waits for it; whole or not at all.

use std::{
    collections::{BTreeSet, hash_map::RandomState},
    hash::{BuildHasher, Hasher},
    net::SocketAddr,
    os::fd::OwnedFd,
    sync::Arc,
};

use weir_api::dataplane::v1::{Finding, Plan, WorkerPinning};
use weir_snapshot::{Snapshot, Worker};

use crate::{held::Held, log, pinning, server::Received};

/// The snapshots that the workers have, and what they listen on.
pub struct Served {
    workers: Vec<Worker>,
    pub snapshots: Vec<Arc<Snapshot>>,
    pub listening: BTreeSet<SocketAddr>,
}

/// A Plan that the workers are changing to; the agent's next frame waits for it.
pub struct Applying {
    pub revision: u64,
    pub warnings: Vec<Finding>,
    pub waiting: usize,
    pub _received: Received,
}

/// What a Plan becomes: a snapshot and new sockets for each worker.
pub struct Change {
    pub snapshots: Vec<Arc<Snapshot>>,
    pub sockets: Vec<Vec<OwnedFd>>,
    pub listening: BTreeSet<SocketAddr>,
    pub pinning: WorkerPinning,
    pub warnings: Vec<Finding>,
}

impl Served {
    pub fn new(workers: u32) -> Self {
        // Engines that start together shall not all begin with the same servers.
        let offset = RandomState::new().build_hasher().finish() as u32;
        let workers = Worker::all(workers, offset);
        let snapshots = workers.iter().map(|_| Arc::new(Snapshot::empty())).collect();
        Self { workers, snapshots, listening: BTreeSet::new() }
    }

    /// What has to change for `plan`, or every reason to refuse it.
    pub fn change(&self, plan: &Plan, held: &Held) -> Result<Change, Vec<Finding>> {
        let mut errors = held.missing(plan);
        let mut built = Vec::new();
        for (worker, previous) in self.workers.iter().zip(&self.snapshots) {
            match Snapshot::build(plan, Some(previous), worker) {
                Ok(snapshot) => built.push(snapshot),
                // The other workers would refuse it for the same reasons.
                Err(findings) => {
                    errors.extend(findings);
                    break;
                }
            }
        }
        let pinning = pinning::wanted(plan.worker_pinning).unwrap_or_else(|finding| {
            errors.push(finding);
            WorkerPinning::Auto
        });
        if !errors.is_empty() {
            return Err(errors);
        }
        let warnings = built.first().map(|(_, warnings)| warnings.clone()).unwrap_or_default();
        let snapshots: Vec<_> = built.into_iter().map(|(snapshot, _)| Arc::new(snapshot)).collect();
        let listening: BTreeSet<_> =
            snapshots.iter().take(1).flat_map(|s| s.listeners().map(|(at, _)| at.address)).collect();
        let sockets = (0..snapshots.len()).map(|worker| self.sockets(worker as u32, &listening, held)).collect();
        Ok(Change { snapshots, sockets, listening, pinning, warnings })
    }

    fn sockets(&self, worker: u32, listening: &BTreeSet<SocketAddr>, held: &Held) -> Vec<OwnedFd> {
        let share = |address: &SocketAddr| match held.share(*address, worker) {
            Ok(socket) => socket,
            Err(why) => {
                log::error(format!(
                    "worker {worker} does not listen on {address}: {why}; raise the limit of open files"
                ));
                None
            }
        };
        listening.difference(&self.listening).filter_map(share).collect()
    }
}
