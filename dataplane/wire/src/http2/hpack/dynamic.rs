//! The dynamic table (RFC 7541 §2.3.2): the fields that the peer has sent before, as lines ready to be appended.
//!
//! The lines lie in one piece of memory, the oldest first. It grows with what the peer stores, so that a connection of few
//! fields takes little.

use std::collections::VecDeque;

use super::{ENTRY_OVERHEAD, Kind, LINE_END, SEPARATOR};

pub(super) struct Table {
    /// The newest last.
    entries: VecDeque<Entry>,
    lines: Vec<u8>,
    /// The size by the standard's count.
    size: usize,
    most: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    name_bytes: u32,
    line_bytes: u32,
    kind: Kind,
}

/// What `Table::get` finds.
pub(super) struct Found<'t> {
    pub line: &'t [u8],
    pub name_bytes: usize,
    pub kind: Kind,
}

/// The first memory that a table takes.
const FIRST_BYTES: usize = 256;

impl Table {
    pub fn new(most: usize) -> Self {
        Self { entries: VecDeque::new(), lines: Vec::new(), size: 0, most }
    }

    /// The entry of an index; 0 is the newest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Found<'_>> {
        let entry = self.entries.get(self.entries.len().checked_sub(index + 1)?)?;
        let start = entry.start as usize;
        let line = self.lines.get(start..start + entry.line_bytes as usize)?;
        Some(Found { line, name_bytes: entry.name_bytes as usize, kind: entry.kind })
    }

    /// Adds an entry, and evicts as many of the oldest as it needs. One that is larger than the table empties it.
    pub fn insert(&mut self, line: &[u8], name_bytes: usize, kind: Kind) {
        let size = size_of_entry(line.len());
        self.evict_until(self.most.saturating_sub(size));
        if size > self.most {
            return;
        }
        self.make_room(line.len());
        let start = self.lines.len() as u32;
        self.lines.extend_from_slice(line);
        self.size += size;
        self.entries.push_back(Entry { start, name_bytes: name_bytes as u32, line_bytes: line.len() as u32, kind });
    }

    pub fn resize(&mut self, most: usize) {
        self.most = most;
        self.evict_until(most);
    }

    fn evict_until(&mut self, size: usize) {
        while self.size > size
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= size_of_entry(oldest.line_bytes as usize);
        }
        if self.entries.is_empty() {
            self.lines.clear();
        }
    }

    /// Makes room for a line: the lines move to the front if that frees half of the memory, or else the memory grows.
    fn make_room(&mut self, bytes: usize) {
        if self.lines.capacity() - self.lines.len() >= bytes {
            return;
        }
        let evicted = self.entries.front().map_or(self.lines.len(), |oldest| oldest.start as usize);
        self.lines.drain(..evicted);
        self.entries.iter_mut().for_each(|entry| entry.start -= evicted as u32);
        let wanted = (2 * (self.lines.len() + bytes)).max(FIRST_BYTES);
        if wanted > self.lines.capacity() {
            self.lines.reserve_exact(wanted - self.lines.len());
        }
    }
}

fn size_of_entry(line_bytes: usize) -> usize {
    line_bytes - SEPARATOR.len() - LINE_END.len() + ENTRY_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Name;

    fn insert(table: &mut Table, name: &str, value: &str) {
        table.insert(format!("{name}: {value}\r\n").as_bytes(), name.len(), Kind::Field(Name::Other));
    }

    fn lines(table: &Table) -> Vec<String> {
        let line = |index| table.get(index).map(|found| String::from_utf8_lossy(found.line).into_owned());
        (0..).map_while(line).collect()
    }

    #[test]
    fn newest_comes_first_and_the_oldest_goes() {
        let mut table = Table::new(2 * (ENTRY_OVERHEAD + 2));
        insert(&mut table, "a", "1");
        insert(&mut table, "b", "2");
        assert_eq!(lines(&table), ["b: 2\r\n", "a: 1\r\n"]);
        insert(&mut table, "c", "3");
        assert_eq!(lines(&table), ["c: 3\r\n", "b: 2\r\n"]);
        insert(&mut table, "d", "34");
        assert_eq!(lines(&table), ["d: 34\r\n"]);
        table.resize(ENTRY_OVERHEAD + 2);
        assert!(lines(&table).is_empty());
        insert(&mut table, "e", "");
        insert(&mut table, "f", "too large");
        assert!(lines(&table).is_empty(), "an entry larger than the table empties it");
    }

    #[test]
    fn memory_stays_within_twice_the_table() {
        let mut table = Table::new(4096);
        for i in 0..10_000 {
            insert(&mut table, "x-name", &"v".repeat(i % 97));
            assert!(table.lines.capacity() <= 2 * 4096 && table.size <= 4096);
        }
        assert_eq!(lines(&table)[0], format!("x-name: {}\r\n", "v".repeat(9_999 % 97)));
    }
}
