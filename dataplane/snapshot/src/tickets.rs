//! The tickets by which all workers of the engine take turns at the servers of a pool. A pool keeps its tickets while any
//! worker has it.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashMapExt};
use weir_balance::Tickets;

#[derive(Clone, Debug)]
pub struct TicketsOfPools {
    first: u64,
    by_pool: Arc<Mutex<HashMap<String, Tickets>>>,
}

impl TicketsOfPools {
    pub fn beginning_at(first: u64) -> Self {
        Self { first, by_pool: Arc::new(Mutex::new(HashMap::new())) }
    }

    /// Those of the pool with this uuid. Those of pools that are gone are forgotten.
    pub fn of(&self, pool: &str) -> Tickets {
        let mut by_pool = self.by_pool.lock().unwrap_or_else(PoisonError::into_inner);
        by_pool.retain(|uuid, tickets| uuid == pool || !tickets.are_last());
        by_pool.entry(pool.into()).or_insert_with(|| Tickets::beginning_at(self.first)).clone()
    }
}
