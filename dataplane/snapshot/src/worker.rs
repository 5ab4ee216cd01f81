//! The worker that a snapshot is built for.

use std::sync::Arc;

use weir_cache::Invalidations;
use weir_rate::Tallies;
use weir_script::Stores;

use crate::tickets::TicketsOfPools;

#[derive(Debug)]
pub struct Worker {
    pub provider: weir_tls::Provider,
    /// The number of workers. A limit of the engine is divided by it.
    pub workers: u32,
    /// Its number among them.
    pub index: u32,
    /// Differs between workers and between engines. It determines with which servers of a pool the worker begins.
    pub offset: u32,
    /// What limits of rates have counted, for all workers together.
    pub tallies: Tallies,
    /// What scripts keep, for all workers together.
    pub stores: Stores,
    /// Which stored responses hold no more, for all workers together.
    pub invalidations: Arc<Invalidations>,
    /// The turns that all workers take together.
    pub tickets: TicketsOfPools,
}

impl Worker {
    /// All workers of one process. The seed is secret: clients must not be able to tell which keys share a place in a table.
    pub fn all(workers: u32, seed: u64) -> Vec<Self> {
        let tallies = Tallies::new(seed);
        // Servers show the offset by who begins with which of them, so it tells nothing of the rest of the seed.
        let offset = (seed >> 32) as u32;
        let stores = Stores::default();
        let invalidations = Arc::new(Invalidations::default());
        let tickets = TicketsOfPools::beginning_at(offset.into());
        let worker = |index| Self {
            provider: weir_tls::Provider::new(),
            workers,
            index,
            offset: offset.wrapping_add(index),
            tallies: tallies.clone(),
            stores: stores.clone(),
            invalidations: invalidations.clone(),
            tickets: tickets.clone(),
        };
        (0..workers).map(worker).collect()
    }
}
