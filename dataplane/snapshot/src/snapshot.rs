//! The whole: listeners, services and pools, by what they are asked for.

use std::sync::Arc;

use foldhash::HashMap;

use crate::{
    Pool, TransportAddress, VirtualService, certificate::KeptCertificate, ids::Ids, pki_profile::KeptPkiProfile,
    pool::KeptPool, service::KeptService,
};

/// Whom a snapshot is built for.
#[derive(Debug)]
pub struct Worker {
    pub provider: weir_tls::Provider,
    /// How many workers there are: limits that hold for an engine are divided by it.
    pub workers: u32,
    /// Another one for each worker, and for each engine: with which servers of a pool it begins.
    pub offset: u32,
}

impl Worker {
    /// The workers of one process. `offset` is that of the first.
    pub fn all(workers: u32, offset: u32) -> Vec<Self> {
        let worker = |index| Self { provider: weir_tls::Provider::new(), workers, offset: offset.wrapping_add(index) };
        (0..workers).map(worker).collect()
    }
}

/// Made by [`Snapshot::build`].
#[derive(Debug, Default)]
pub struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) listeners: HashMap<TransportAddress, Listener>,
    pub(crate) services: HashMap<String, KeptService>,
    pub(crate) pools: HashMap<String, KeptPool>,
    pub(crate) certificates: HashMap<String, KeptCertificate>,
    pub(crate) pki_profiles: HashMap<String, KeptPkiProfile>,
    pub(crate) numbers: Numbers,
    pub(crate) recycled: Recycled,
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

/// The dense ids of everything that has one.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub services: Ids,
    pub pools: Ids,
    pub servers: Ids,
}

/// An object beside the part of the Plan that it was made from: it is made anew only when that part changes.
#[derive(Clone, Debug)]
pub(crate) struct Kept<S, T> {
    pub source: S,
    pub object: T,
}

impl Snapshot {
    /// Serves nothing: what a worker has before its first Plan.
    pub fn empty() -> Self {
        Self::default()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What is served where a client connected to.
    pub fn listener(&self, at: TransportAddress) -> Option<&Listener> {
        self.listeners.get(&at)
    }

    pub fn listeners(&self) -> impl Iterator<Item = (TransportAddress, &Listener)> {
        self.listeners.iter().map(|(at, listener)| (*at, listener))
    }

    pub fn services(&self) -> impl Iterator<Item = &Arc<VirtualService>> {
        self.services.values().map(|kept| &kept.object)
    }

    pub fn service(&self, uuid: &str) -> Option<&Arc<VirtualService>> {
        self.services.get(uuid).map(|kept| &kept.object)
    }

    pub fn pools(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.pools.values().map(|kept| &kept.object)
    }

    pub fn pool(&self, uuid: &str) -> Option<&Arc<Pool>> {
        self.pools.get(uuid).map(|kept| &kept.object)
    }

    pub fn recycled(&self) -> &Recycled {
        &self.recycled
    }
}
