//! The difference between a snapshot and the previous one, which a worker has to apply.

use std::sync::Arc;

use crate::{Pool, PoolGroup, TransportAddress, VirtualService};

#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// New or rebuilt.
    pub services: Vec<Arc<VirtualService>>,
    pub services_gone: Vec<Gone>,
    /// New or rebuilt.
    pub pools: Vec<Arc<Pool>>,
    pub pools_gone: Vec<Gone>,
    /// New or rebuilt.
    pub groups: Vec<Arc<PoolGroup>>,
    pub groups_gone: Vec<Gone>,
    /// Listeners of the services that are new or rebuilt.
    pub listeners: Vec<TransportAddress>,
    pub listeners_gone: Vec<TransportAddress>,
    /// Some listener was removed or speaks another protocol now: its clients can no longer be served.
    pub displaces_clients: bool,
    pub recycled: Recycled,
}

/// An object that was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gone {
    pub uuid: String,
    /// Its id.
    pub id: u32,
}

/// Ids of new objects that have the rows of objects removed earlier: their counters restart at 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recycled {
    pub services: Vec<u32>,
    pub servers: Vec<u32>,
}
