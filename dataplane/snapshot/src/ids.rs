//! Small dense ids for objects with long names. An object keeps its id from one snapshot to the next. Tables on the hot
//! path are indexed by ids.
//!
//! The ids depend only on the Plans and their order: workers that get the same Plans assign the same ids.

use std::{collections::VecDeque, sync::Arc};

/// How many freed ids are held back before the oldest is reused: connections of its former object may still be ending.
/// Tables by id have at most this many unused rows.
const QUARANTINE: usize = 1024;

/// The free ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    /// Oldest first.
    free: Arc<VecDeque<u32>>,
    next: u32,
}

/// Allocates and frees ids during one change.
#[derive(Default)]
pub(crate) struct Renumbering {
    ids: Ids,
    /// Ids of new objects that other objects had earlier.
    recycled: Vec<u32>,
    freed: Vec<u32>,
}

impl Ids {
    pub fn renumbering(&self) -> Renumbering {
        Renumbering { ids: self.clone(), ..Renumbering::default() }
    }
}

impl Renumbering {
    /// An id for a new object.
    pub fn take(&mut self) -> u32 {
        if self.ids.free.len() > QUARANTINE
            && let Some(id) = Arc::make_mut(&mut self.ids.free).pop_front()
        {
            self.recycled.push(id);
            return id;
        }
        self.ids.next += 1;
        self.ids.next - 1
    }

    /// Frees the id of an object that was removed.
    pub fn free(&mut self, id: u32) {
        self.freed.push(id);
    }

    /// The ids after the change, and those that were recycled in it.
    pub fn done(mut self) -> (Ids, Vec<u32>) {
        if !self.freed.is_empty() {
            // Only now, so that an id freed in this change is not reused in it.
            self.freed.sort_unstable();
            Arc::make_mut(&mut self.ids.free).extend(self.freed);
        }
        (self.ids, self.recycled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(ids: &Ids, freed: impl IntoIterator<Item = u32>, newcomers: usize) -> (Ids, Vec<u32>, Vec<u32>) {
        let mut renumbering = ids.renumbering();
        freed.into_iter().for_each(|id| renumbering.free(id));
        let taken = (0..newcomers).map(|_| renumbering.take()).collect();
        let (ids, recycled) = renumbering.done();
        (ids, taken, recycled)
    }

    #[test]
    fn new_ids_are_dense() {
        let (ids, taken, _) = changed(&Ids::default(), [], 3);
        assert_eq!(taken, [0, 1, 2]);
        let (_, taken, recycled) = changed(&ids, [0], 2);
        assert_eq!((taken, recycled), (vec![3, 4], vec![]));
    }

    #[test]
    fn freed_id_is_reused_oldest_first_once_the_quarantine_is_full() {
        let all = QUARANTINE as u32 + 2;
        let (ids, ..) = changed(&Ids::default(), [], all as usize);
        let (ids, ..) = changed(&ids, (0..all).rev(), 0);
        let (_, taken, recycled) = changed(&ids, [], 3);
        assert_eq!((taken, recycled), (vec![0, 1, all], vec![0, 1]));
    }

    #[test]
    fn table_stays_small_however_many_objects_are_replaced() {
        let (mut ids, mut living, _) = changed(&Ids::default(), [], 100);
        for _ in 0..50 {
            (ids, living, _) = changed(&ids, living, 100);
        }
        assert!(ids.next as usize <= QUARANTINE + 300, "{}", ids.next);
    }

    #[test]
    fn freed_id_is_not_reused_in_the_same_change() {
        let (ids, ..) = changed(&Ids::default(), [], 2000);
        let (_, taken, _) = changed(&ids, 0..2000, 5);
        assert_eq!(taken, [2000, 2001, 2002, 2003, 2004]);
    }
}
