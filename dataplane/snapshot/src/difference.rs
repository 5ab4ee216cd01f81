//! What one snapshot has other than the one before it: what a worker has to do something about.

use std::sync::Arc;

use crate::{Pool, TransportAddress, VirtualService};

#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// New, or made anew.
    pub services: Vec<Arc<VirtualService>>,
    pub services_gone: Vec<Gone>,
    /// New, or made anew.
    pub pools: Vec<Arc<Pool>>,
    pub pools_gone: Vec<Gone>,
    /// New, or of a service that is new or made anew.
    pub listeners: Vec<TransportAddress>,
    pub listeners_gone: Vec<TransportAddress>,
    /// Clients may be here that are served no more: their listener is gone, or speaks something else now.
    pub displaces_clients: bool,
    pub recycled: Recycled,
}

/// An object of the snapshot before that is in this one no more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gone {
    pub uuid: String,
    /// Its dense id.
    pub id: u32,
}

/// Ids that this snapshot gives to newcomers and that have named something else before: their counters start again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recycled {
    pub services: Vec<u32>,
    pub servers: Vec<u32>,
}
