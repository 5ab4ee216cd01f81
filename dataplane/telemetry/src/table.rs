//! The counters of many objects, found by their ids.

use crate::id;

/// Rows by the index of an id. What happens to an object after another one has its row counts in `stray`, which nobody
/// reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Table<T> {
    rows: Vec<Row<T>>,
    stray: T,
}

/// That of a service has 256 bytes, so that its place is found by a shift. With one counter more, a request of HTTP/1
/// takes 8 instructions more. That of a server has 128 bytes for the same reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Row<T> {
    generation: u32,
    counters: T,
}

impl<T: Default> Table<T> {
    pub fn get(&self, id: u32) -> Option<&T> {
        let row = self.rows.get(id::index(id)).filter(|row| row.generation == id::generation(id));
        row.map(|row| &row.counters)
    }

    pub fn row(&mut self, id: u32) -> &mut T {
        let at = id::index(id);
        if self.rows.get(at).is_none_or(|row| row.generation != id::generation(id)) {
            return self.other_row(id);
        }
        &mut self.rows[at].counters
    }

    /// What each row counts.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().map(|row| &row.counters)
    }

    #[cold]
    fn other_row(&mut self, id: u32) -> &mut T {
        let at = id::index(id);
        if at < self.rows.len() {
            return &mut self.stray;
        }
        self.restart(id);
        &mut self.rows[at].counters
    }

    /// Gives the row to the object with this id.
    pub fn restart(&mut self, id: u32) {
        let at = id::index(id);
        self.reach(at + 1);
        self.rows[at] = Row { generation: id::generation(id), counters: T::default() };
    }

    fn reach(&mut self, len: usize) {
        if self.rows.len() < len {
            self.rows.resize_with(len, Row::default);
        }
    }

    /// `stray` stays: nobody reads it.
    pub fn copy(&mut self, other: &Self, copy: impl Fn(&mut T, &T)) {
        self.rows.truncate(other.rows.len());
        self.reach(other.rows.len());
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            mine.generation = theirs.generation;
            copy(&mut mine.counters, &theirs.counters);
        }
    }

    pub fn add(&mut self, other: &Self, add: impl Fn(&mut T, &T)) {
        self.reach(other.rows.len());
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            debug_assert_eq!(mine.generation, theirs.generation, "the workers count by different snapshots");
            add(&mut mine.counters, &theirs.counters);
        }
    }
}
