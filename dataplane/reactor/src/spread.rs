//! Work that is spread over batches. One client of HTTP/2 can make the handler begin or reset a hundred connections in a
//! batch, at about 20 µs each, and all other clients of this worker wait for the end of the batch.

use std::collections::VecDeque;

/// What one batch does: a quarter of a millisecond of work.
pub const BATCH: usize = 8;
/// What waits at most: some tenths of a second of work, which no deadline of a connect notices.
const WAITING_MAX: usize = 4096;

/// Work of one kind.
pub struct Spread<T> {
    /// In this batch.
    done: usize,
    /// For later batches, the oldest first.
    waiting: VecDeque<T>,
}

impl<T> Default for Spread<T> {
    fn default() -> Self {
        Self { done: 0, waiting: VecDeque::new() }
    }
}

impl<T> Spread<T> {
    /// Returns the work if it is to be done now, and keeps it for a later batch otherwise.
    pub fn now_or_later(&mut self, work: T) -> Option<T> {
        if self.done < BATCH || self.waiting.len() == WAITING_MAX {
            self.done += 1;
            return Some(work);
        }
        self.waiting.push_back(work);
        None
    }

    pub fn begin_batch(&mut self) {
        self.done = 0;
    }

    /// What earlier batches have left for this one. What is not wanted any more counts as nothing.
    pub fn next(&mut self, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        while self.done < BATCH
            && let Some(work) = self.waiting.pop_front()
        {
            if is_wanted(&work) {
                self.done += 1;
                return Some(work);
            }
        }
        None
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
