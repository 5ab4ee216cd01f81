//! What a worker hands over: packed records, and the virtual services and servers whose ids are in them, so that the batch
//! can be read when these are long gone.

use std::sync::Arc;

use weir_snapshot::{Pool, VirtualService};
use weir_telemetry::{
    id,
    record::{Buffer, Waiting},
};

#[derive(Default)]
pub struct Batch {
    /// From 1, in each worker.
    pub number: u64,
    pub buffer: Buffer,
    pub services: Vec<Arc<VirtualService>>,
    /// Ids, and the pools that have these servers.
    pub servers: Vec<(u32, Arc<Pool>)>,
    pub waiting: Vec<Waiting>,
}

impl Batch {
    pub(super) fn empty() -> Self {
        Self::default().emptied()
    }

    /// The same without what is in it.
    pub(super) fn emptied(mut self) -> Self {
        self.services.clear();
        self.servers.clear();
        self.waiting.clear();
        Self { number: 0, buffer: Buffer::of(self.buffer.into_packed()), ..self }
    }
}

/// What the current batch lists.
#[derive(Default)]
pub(super) struct Listed {
    pub services: Stamps,
    pub servers: Stamps,
}

impl Listed {
    pub fn make_room<'s>(
        &mut self,
        services: impl Iterator<Item = &'s Arc<VirtualService>>,
        pools: impl Iterator<Item = &'s Arc<Pool>>,
    ) {
        services.for_each(|service| self.services.make_room(service.id));
        pools.flat_map(|pool| &pool.servers).for_each(|server| self.servers.make_room(server.id));
    }
}

/// By the index of an id: the id that was listed last, and with which batch. What has outlived its row may be listed more
/// than once.
#[derive(Default)]
pub(super) struct Stamps(Vec<(u32, u64)>);

/// Before the first batch.
const NOT_LISTED: (u32, u64) = (0, u64::MAX);

impl Stamps {
    fn make_room(&mut self, id: u32) {
        let at = id::index(id);
        if self.0.len() <= at {
            self.0.resize(at + 1, NOT_LISTED);
        }
    }

    #[inline]
    pub fn has(&self, id: u32, batch: u64) -> bool {
        self.0.get(id::index(id)) == Some(&(id, batch))
    }

    /// Whether it was not listed. From now on it is.
    #[inline]
    pub fn is_new(&mut self, id: u32, batch: u64) -> bool {
        if self.has(id, batch) {
            return false;
        }
        if let Some(stamp) = self.0.get_mut(id::index(id)) {
            *stamp = (id, batch);
        }
        true
    }
}
