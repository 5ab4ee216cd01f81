//! Builds a snapshot for each worker from a Plan or a change. This happens on the control thread, so that no worker is
//! held up. A change is accepted whole or refused whole.

use std::{
    collections::{BTreeSet, hash_map::RandomState},
    hash::{BuildHasher, Hasher},
    os::fd::OwnedFd,
    sync::Arc,
};

use weir_api::dataplane::v1::{Finding, WorkerPinning};
use weir_rate::Tallies;
use weir_snapshot::{Change, Difference, Snapshot, TransportAddress, Worker};

use crate::{client_addresses, held::Held, inbox::Received, pinning};

/// The snapshots that the workers have, and the addresses that they listen on.
pub struct Served {
    workers: Vec<Worker>,
    pub snapshots: Vec<Arc<Snapshot>>,
    pub listening: BTreeSet<TransportAddress>,
    /// Addresses at which the agent has replaced the socket. The workers listen on the new one with the next Plan.
    renewed: BTreeSet<TransportAddress>,
    /// The agent that sent the Plan in force.
    agent: Option<u64>,
}

/// A Plan that the workers are changing to. Agents wait for it, new ones too.
pub struct Applying {
    pub revision: u64,
    pub warnings: Arc<[Finding]>,
    pub waiting: usize,
    pub received: Received,
}

/// The result of a change: a snapshot and new sockets for each worker.
pub struct Prepared {
    pub snapshots: Vec<Arc<Snapshot>>,
    pub sockets: Vec<Vec<OwnedFd>>,
    pub pinning: WorkerPinning,
    pub warnings: Arc<[Finding]>,
}

impl Served {
    pub fn new(workers: u32) -> Self {
        // Random, so that engines that start together do not all begin with the same servers, and nobody knows where limits
        // count whom.
        let seed = RandomState::new().build_hasher().finish();
        let workers = Worker::all(workers, seed);
        let snapshots = workers.iter().map(|_| Arc::new(Snapshot::empty())).collect();
        Self { workers, snapshots, listening: BTreeSet::new(), renewed: BTreeSet::new(), agent: None }
    }

    /// What limits have counted. `None`: there is no worker.
    pub fn tallies(&self) -> Option<&Tallies> {
        self.workers.first().map(|worker| &worker.tallies)
    }

    /// The first worker, for what it shares with all others.
    pub fn worker(&self) -> Option<&Worker> {
        self.workers.first()
    }

    pub fn revision(&self) -> u64 {
        self.snapshots.first().map_or(0, |snapshot| snapshot.revision())
    }

    /// Whether the change is a whole Plan, or starts from the Plan in force. That Plan must be from the same agent: another
    /// agent may have a Plan of another controller at the same revision.
    pub fn has_base(&self, change: &Change, agent: u64) -> bool {
        change.base().is_none_or(|base| self.agent == Some(agent) && self.revision() == base)
    }

    /// Builds all that a change needs, or returns every reason to refuse it.
    pub fn prepare(&self, change: &Change, held: &Held) -> Result<Prepared, Vec<Finding>> {
        let mut errors = held.missing(change.services());
        errors.extend(client_addresses::refusals(change.services()));
        let mut made = Vec::new();
        for (worker, before) in self.workers.iter().zip(&self.snapshots) {
            match before.changed(change, worker) {
                Ok(snapshot) => made.push(snapshot),
                // The other workers would refuse it for the same reasons.
                Err(findings) => {
                    errors.extend(findings);
                    break;
                }
            }
        }
        let pinning = pinning::wanted(change.worker_pinning()).unwrap_or_else(|finding| {
            errors.push(finding);
            WorkerPinning::Auto
        });
        if !errors.is_empty() {
            return Err(errors);
        }
        let warnings = made.first().map(|(_, warnings)| warnings.clone()).unwrap_or_default();
        let snapshots: Vec<_> = made.into_iter().map(|(snapshot, _)| Arc::new(snapshot)).collect();
        let sockets = (0..).zip(&snapshots).map(|(worker, snapshot)| self.sockets(worker, snapshot, held));
        let sockets = sockets.collect::<Result<_, _>>().map_err(|finding| vec![finding])?;
        Ok(Prepared { snapshots, sockets, pinning, warnings })
    }

    /// What the first worker would serve by after a change that stays a draft. The error says why there is no such thing.
    pub fn draft(&self, change: &Change) -> Result<Arc<Snapshot>, String> {
        if change.base() != Some(self.revision()) {
            return Err("it serves another configuration than the draft starts from: ask again".into());
        }
        let (worker, before) = self.workers.first().zip(self.snapshots.first()).ok_or("there is no worker")?;
        let made = before.changed(change, worker);
        made.map(|(snapshot, _)| Arc::new(snapshot)).map_err(|findings| refusal(&findings))
    }

    /// Records that the workers have been ordered to swap to these snapshots.
    pub fn accept(&mut self, snapshots: Vec<Arc<Snapshot>>, agent: u64) {
        if let Some(Difference { listeners, listeners_gone, .. }) = snapshots.first().map(|made| made.difference()) {
            for at in listeners_gone {
                self.listening.remove(at);
            }
            self.listening.extend(listeners);
        }
        self.renewed.clear();
        self.snapshots = snapshots;
        self.agent = Some(agent);
    }

    /// Addresses of listeners that the last change removed.
    pub fn left(&self) -> impl Iterator<Item = TransportAddress> {
        let gone = self.snapshots.first().map(|snapshot| &snapshot.difference().listeners_gone);
        gone.into_iter().flatten().copied()
    }

    /// Records that the agent has replaced the sockets at these addresses.
    pub fn renew(&mut self, changed: BTreeSet<TransportAddress>) {
        self.renewed.extend(changed.intersection(&self.listening));
    }

    /// The sockets on which a worker must start to listen. A worker that does not get all of them would serve only a part
    /// of the clients.
    fn sockets(&self, worker: u32, snapshot: &Snapshot, held: &Held) -> Result<Vec<OwnedFd>, Finding> {
        let brought = snapshot.difference().listeners.iter().copied();
        let brought = brought.filter(|at| !self.listening.contains(at));
        let renewed = self.renewed.iter().copied().filter(|at| snapshot.listener(*at).is_some());
        let share = |at: TransportAddress| {
            held.share(at, worker).map_err(|why| {
                let listener = snapshot.listener(at);
                let service = listener.map(|listener| &listener.service);
                Finding {
                    kind: "virtualservice".into(),
                    uuid: service.map(|service| service.uuid.clone()).unwrap_or_default(),
                    name: service.map(|service| service.name.clone()).unwrap_or_default(),
                    field: "services".into(),
                    message: format!(
                        "worker {worker} cannot listen on {at}: {why}; each listener needs two file descriptors per \
                         worker, so raise the engine's limit of open files (LimitNOFILE)"
                    ),
                }
            })
        };
        brought.chain(renewed).filter_map(|at| share(at).transpose()).collect()
    }
}

/// The first reason why a draft is refused.
fn refusal(findings: &[Finding]) -> String {
    let Some(Finding { kind, name, field, message, .. }) = findings.first() else {
        return "the draft is refused".into();
    };
    format!("it would refuse the draft: {kind} {name}: {field}: {message}")
}
