//! The pools of the worker, lent to its scripts while an event runs.

use std::{cell::RefCell, mem, sync::Arc};

use weir_script::{Census, Servers};
use weir_snapshot::{Destinations, Pool, ServiceScripts};

use crate::pool::Pools;

/// Empty between events.
#[derive(Default)]
pub(super) struct Lent {
    pools: RefCell<Pools>,
    destinations: RefCell<Option<Arc<[Destinations]>>>,
}

/// Gives the pools back when it goes.
pub(super) struct Loan<'l> {
    lent: &'l Lent,
    pools: &'l mut Pools,
}

impl Lent {
    pub fn lend<'l>(&'l self, pools: &'l mut Pools, to: &ServiceScripts) -> Loan<'l> {
        *self.destinations.borrow_mut() = Some(to.destinations.clone());
        mem::swap(&mut *self.pools.borrow_mut(), pools);
        Loan { lent: self, pools }
    }

    /// `None`: the pool is not there any more.
    fn of<R>(&self, set: usize, pool: usize, look: impl FnOnce(&mut Pools, &Pool) -> R) -> Option<R> {
        let destinations = self.destinations.borrow();
        let pool = destinations.as_ref()?.get(set)?.pools.get(pool)?;
        Some(look(&mut self.pools.borrow_mut(), pool))
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        mem::swap(&mut *self.lent.pools.borrow_mut(), self.pools);
        *self.lent.destinations.borrow_mut() = None;
    }
}

impl Servers for Lent {
    fn census(&self, set: usize, pool: usize) -> Census {
        self.of(set, pool, |pools, pool| Census { up: pools.up_of(pool), all: pool.servers.len() }).unwrap_or_default()
    }

    fn is_up(&self, set: usize, pool: usize, named: &str) -> bool {
        let is_up = self.of(set, pool, |pools, pool| {
            ServiceScripts::server(pool, named).is_some_and(|server| pools.is_up(pool, server.id))
        });
        is_up == Some(true)
    }
}
