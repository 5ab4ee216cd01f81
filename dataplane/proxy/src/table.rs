//! Sessions by connection: an array indexed by the driver's slot. Each entry keeps the generation of its handle, so
//! that a stale handle finds nothing. The array has one entry per slot that the driver has ever used.

use crate::io::Conn;

pub(crate) struct Table<T> {
    entries: Vec<Entry<T>>,
    len: usize,
}

/// A session with the generation of its handle.
type Entry<T> = Option<(u32, Box<T>)>;

/// The step from one slot of a sample to the next. It is a prime greater than any table, so that a full walk visits
/// each slot once. No driver assigns slots in steps of this size.
const HOP: u64 = 2_654_435_761;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), len: 0 }
    }
}

impl<T> Table<T> {
    /// Reserves address space for slots up to `room`, so that the table never moves. Unused slots take no memory.
    pub fn with_room(room: usize) -> Self {
        Self { entries: Vec::with_capacity(room), len: 0 }
    }

    pub fn insert(&mut self, conn: Conn, session: T) -> &mut T {
        let slot = conn.slot as usize;
        if slot >= self.entries.len() {
            self.entries.resize_with(slot + 1, || None);
        }
        let entry = &mut self.entries[slot];
        debug_assert!(entry.is_none(), "slot {slot} is taken");
        self.len += usize::from(entry.is_none());
        &mut entry.insert((conn.generation, Box::new(session))).1
    }

    pub fn contains(&self, conn: Conn) -> bool {
        self.peek(conn).is_some()
    }

    /// The entry of a slot, if there has been a session in this slot or behind it.
    #[inline]
    pub fn entry(&self, slot: u32) -> Option<&Entry<T>> {
        self.entries.get(slot as usize)
    }

    #[inline]
    pub fn entry_mut(&mut self, slot: u32) -> Option<&mut Entry<T>> {
        self.entries.get_mut(slot as usize)
    }

    /// The session in an entry, if it is that of this generation.
    #[inline]
    pub fn within(entry: &Entry<T>, generation: u32) -> Option<&T> {
        match entry {
            Some((found, session)) if *found == generation => Some(session),
            _ => None,
        }
    }

    #[inline]
    pub fn within_mut(entry: &mut Entry<T>, generation: u32) -> Option<&mut T> {
        match entry {
            Some((found, session)) if *found == generation => Some(session),
            _ => None,
        }
    }

    #[inline]
    pub fn find(&mut self, conn: Conn) -> Option<&mut T> {
        self.entry_mut(conn.slot).and_then(|entry| Self::within_mut(entry, conn.generation))
    }

    pub fn remove(&mut self, conn: Conn) -> Option<Box<T>> {
        if !self.contains(conn) {
            return None;
        }
        self.len -= 1;
        self.entries[conn.slot as usize].take().map(|(_, session)| session)
    }

    /// Visits every session: only for rare events (a new snapshot, a drain).
    pub fn iter(&self) -> impl Iterator<Item = (Conn, &T)> {
        (0..self.entries.len()).filter_map(|slot| self.at(slot))
    }

    /// About `most` sessions, spread over the table, or all if there are no more. Each `turn` selects other sessions.
    pub fn sample(&self, most: usize, turn: usize) -> impl Iterator<Item = (Conn, &T)> {
        let slots = self.entries.len();
        let visits = if self.len <= most { slots } else { slots * most / self.len };
        let nth = move |n: usize| ((n as u64 * HOP) % slots.max(1) as u64) as usize;
        let first = turn.wrapping_mul(visits) % slots.max(1);
        (first..first + visits).filter_map(move |n| self.at(nth(n)))
    }

    fn at(&self, slot: usize) -> Option<(Conn, &T)> {
        let (generation, session) = self.entries.get(slot)?.as_ref()?;
        Some((Conn { slot: slot as u32, generation: *generation }, session))
    }

    pub fn peek(&self, conn: Conn) -> Option<&T> {
        self.entry(conn.slot).and_then(|entry| Self::within(entry, conn.generation))
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The handles of all sessions.
    pub fn conns(&self) -> Vec<Conn> {
        self.iter().map(|(conn, _)| conn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Conn = Conn { slot: 3, generation: 1 };
    const NEW: Conn = Conn { slot: 3, generation: 2 };

    #[test]
    fn handle_of_an_earlier_use_finds_nothing() {
        let mut table = Table::default();
        table.insert(OLD, "old");
        assert!(table.remove(OLD).is_some());
        table.insert(NEW, "new");
        assert!(table.find(OLD).is_none());
        assert!(table.remove(OLD).is_none());
        assert_eq!(table.find(NEW), Some(&mut "new"));
        assert_eq!((table.len(), table.conns()), (1, vec![NEW]));
    }

    /// A thousand sessions in every second slot, as when clients and servers take slots in turn.
    fn alternating() -> Table<u32> {
        let mut table = Table::default();
        for slot in 0..1000 {
            table.insert(Conn { slot: 2 * slot, generation: 1 }, slot);
        }
        table
    }

    #[test]
    fn sample_has_the_wanted_size_and_differs_each_time() {
        let table = alternating();
        let sample =
            |turn| table.sample(100, turn).map(|(conn, _)| conn.slot).collect::<std::collections::HashSet<_>>();
        for turn in 0..20 {
            assert!((80..=120).contains(&sample(turn).len()), "{} in turn {turn}", sample(turn).len());
            let upper_half = sample(turn).iter().filter(|slot| **slot >= 1000).count();
            assert!((35..=65).contains(&upper_half), "{upper_half} of the upper half in turn {turn}");
        }
        let all: std::collections::HashSet<_> = (0..11).flat_map(sample).collect();
        assert_eq!(all.len(), 1000, "eleven turns visit all sessions");
    }

    #[test]
    fn sample_larger_than_the_table_is_all() {
        let mut all: Vec<_> = alternating().sample(2000, 7).map(|(conn, _)| conn.slot).collect();
        all.sort_unstable();
        assert_eq!(all, (0..1000).map(|n| 2 * n).collect::<Vec<_>>());
        assert_eq!(Table::<u32>::default().sample(10, 1).count(), 0);
    }
}
