//! Ids of objects with long names: the [index](id) of a row in a table, and a generation. An object keeps its id from one
//! snapshot to the next. An index that becomes free is used again, with the next generation, so tables stay dense.
//!
//! The ids depend only on the Plans and their order: workers that get the same Plans assign the same ids.

use weir_telemetry::id;

use crate::shared::Shared;

/// How many ids stay free: tables have at most this many unused rows, in which the counters of removed objects stand until
/// others get the rows. The generations of an index begin again after 16,384 objects, and so after 2 million removals.
const SPARE: usize = 128;

/// The free ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    /// The ids of removed objects, numbered in the order of their removal.
    free: Shared<u64, u32>,
    /// The number of the oldest.
    oldest: u64,
    /// The first index that no object had.
    next: u32,
}

/// Allocates and frees ids during one change.
#[derive(Default)]
pub(crate) struct Renumbering {
    ids: Ids,
    /// Ids of new objects whose index other objects had earlier.
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
        if self.ids.free.len() > SPARE
            && let Some(freed) = self.ids.free.remove(&self.ids.oldest)
        {
            self.ids.oldest += 1;
            self.recycled.push(id::successor(freed));
            return id::successor(freed);
        }
        self.ids.next += 1;
        debug_assert!(self.ids.next <= id::INDEXES, "more objects than a Plan may have");
        self.ids.next - 1
    }

    /// The index alone, for objects that are not counted.
    pub fn take_index(&mut self) -> u32 {
        id::index(self.take()) as u32
    }

    /// Frees the id of an object that was removed.
    pub fn free(&mut self, id: u32) {
        self.freed.push(id);
    }

    /// The ids after the change, and those that were recycled in it.
    pub fn done(mut self) -> (Ids, Vec<u32>) {
        // Only now, so that an index freed in this change is not reused in it.
        self.freed.sort_unstable();
        for id in self.freed {
            self.ids.free.insert(self.ids.oldest + self.ids.free.len() as u64, id);
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
    fn index_is_reused_oldest_first_with_the_next_generation() {
        let all = SPARE as u32 + 2;
        let (ids, ..) = changed(&Ids::default(), [], all as usize);
        let (ids, ..) = changed(&ids, (0..all).rev(), 0);
        let (ids, taken, recycled) = changed(&ids, [], 3);
        let reused = [0, 1].map(id::successor).to_vec();
        assert_eq!((taken, &recycled), ([&reused[..], &[all]].concat(), &reused));
        let (ids, ..) = changed(&ids, reused, 0);
        let (_, taken, _) = changed(&ids, [], 3);
        assert_eq!(taken, [id::successor(2), id::successor(3), all + 1]);
    }

    #[test]
    fn table_stays_small_however_many_objects_are_replaced() {
        let (mut ids, mut living, _) = changed(&Ids::default(), [], 100);
        for _ in 0..50 {
            (ids, living, _) = changed(&ids, living, 100);
        }
        assert!(ids.next as usize <= SPARE + 300, "{}", ids.next);
    }

    #[test]
    fn freed_index_is_not_reused_in_the_same_change() {
        let (ids, ..) = changed(&Ids::default(), [], 2000);
        let (_, taken, _) = changed(&ids, 0..2000, 5);
        assert_eq!(taken, [2000, 2001, 2002, 2003, 2004]);
    }
}
