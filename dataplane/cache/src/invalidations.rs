//! Which resources were changed through any worker: what a worker has stored of them before holds no more (RFC 9111 §4.4).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Key;

/// Resources share a place if their hashes do, and then lose what is stored together.
const PLACES: usize = 4096;

#[derive(Debug)]
pub struct Invalidations(Box<[AtomicU32]>);

impl Default for Invalidations {
    fn default() -> Self {
        Self((0..PLACES).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Invalidations {
    fn place(&self, key: &Key) -> &AtomicU32 {
        &self.0[key.resource() as usize % PLACES]
    }

    /// How often a resource was changed until now.
    pub fn of(&self, key: &Key) -> u32 {
        self.place(key).load(Ordering::Acquire)
    }

    pub fn count(&self, key: &Key) {
        self.place(key).fetch_add(1, Ordering::AcqRel);
    }
}
