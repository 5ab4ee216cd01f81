//! The whole: listeners, services, pools and servers, by what they are asked for.

use std::{net::SocketAddr, sync::Arc};

use foldhash::HashMap;
use weir_api::dataplane::v1::Plan;

use crate::{Finding, Pool, VirtualService};

/// Whom a snapshot is built for.
#[derive(Debug)]
pub struct Worker {
    pub provider: weir_tls::Provider,
    /// How many workers there are: limits that hold for an engine are divided by it.
    pub workers: u32,
}

#[derive(Debug)]
pub struct Snapshot {
    revision: u64,
    listeners: HashMap<SocketAddr, Listener>,
    services: HashMap<String, Arc<VirtualService>>,
    pools: HashMap<String, Arc<Pool>>,
    recycled: Recycled,
}

#[derive(Clone, Debug)]
pub struct Listener {
    pub tls: bool,
    pub service: Arc<VirtualService>,
}

/// Ids that this snapshot gives to newcomers and that have named something else before: their counters start again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recycled {
    pub services: Vec<u32>,
    pub servers: Vec<u32>,
}

impl Snapshot {
    /// Serves nothing: what a worker has before its first Plan.
    pub fn empty() -> Self {
        unimplemented!()
    }

    /// The snapshot of `plan` and the warnings about it, or every reason to refuse it. `previous` is the snapshot that
    /// this worker has now; what is unchanged is taken over from it.
    pub fn build(
        plan: &Plan,
        previous: Option<&Snapshot>,
        worker: &Worker,
    ) -> Result<(Snapshot, Vec<Finding>), Vec<Finding>> {
        unimplemented!()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What is served at the address that a client connected to.
    pub fn listener(&self, address: SocketAddr) -> Option<&Listener> {
        self.listeners.get(&address)
    }

    pub fn listeners(&self) -> impl Iterator<Item = (SocketAddr, &Listener)> {
        self.listeners.iter().map(|(address, listener)| (*address, listener))
    }

    pub fn services(&self) -> impl Iterator<Item = &Arc<VirtualService>> {
        self.services.values()
    }

    pub fn service(&self, uuid: &str) -> Option<&Arc<VirtualService>> {
        self.services.get(uuid)
    }

    pub fn pools(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.pools.values()
    }

    pub fn pool(&self, uuid: &str) -> Option<&Arc<Pool>> {
        self.pools.get(uuid)
    }

    pub fn recycled(&self) -> &Recycled {
        &self.recycled
    }
}
