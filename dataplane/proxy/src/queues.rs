//! Requests that wait until servers of their pools have fewer connections. What has come last is the first to go: its client
//! is the most likely to wait still.

use crate::exchange::table::ExchangeId;

#[derive(Default)]
pub(crate) struct Queues {
    /// Of the pools with these ids. None is empty between batches.
    queues: Vec<(u32, Vec<ExchangeId>)>,
    /// Requests may go on though no batch has come: servers have changed, or more may go on than a batch lets.
    pub are_due: bool,
}

impl Queues {
    #[inline]
    pub fn are_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// The pools in which requests wait.
    pub fn pools(&self) -> Vec<u32> {
        self.queues.iter().map(|(pool, _)| *pool).collect()
    }

    /// How many wait for a pool.
    pub fn len(&self, pool: u32) -> usize {
        self.queues.iter().find(|(other, _)| *other == pool).map_or(0, |(_, waiting)| waiting.len())
    }

    /// Those that wait for a pool, the newest last.
    pub fn of(&mut self, pool: u32) -> &mut Vec<ExchangeId> {
        let at = self.queues.iter().position(|(other, _)| *other == pool).unwrap_or_else(|| {
            self.queues.push((pool, Vec::new()));
            self.queues.len() - 1
        });
        &mut self.queues[at].1
    }

    /// Another pool is the first the next time.
    pub fn turn(&mut self) {
        if !self.queues.is_empty() {
            self.queues.rotate_left(1);
        }
    }

    pub fn forget_empty(&mut self) {
        self.queues.retain(|(_, waiting)| !waiting.is_empty());
    }
}
