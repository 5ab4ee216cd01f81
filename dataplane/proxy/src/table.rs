//! Sessions by connection: an array indexed by the driver's slot, each entry checked against the generation of the
//! handle, so that a handle kept too long finds nothing. Its length is the driver's: one entry per slot ever used.

use crate::io::Conn;

pub(crate) struct Table<T> {
    entries: Vec<Option<(u32, Box<T>)>>,
    len: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), len: 0 }
    }
}

impl<T> Table<T> {
    /// For slots up to `room` without moving in memory; what is not used takes none.
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
        matches!(self.entries.get(conn.slot as usize), Some(Some((generation, _))) if *generation == conn.generation)
    }

    pub fn find(&mut self, conn: Conn) -> Option<&mut T> {
        match self.entries.get_mut(conn.slot as usize) {
            Some(Some((generation, session))) if *generation == conn.generation => Some(session),
            _ => None,
        }
    }

    pub fn remove(&mut self, conn: Conn) -> Option<Box<T>> {
        if !self.contains(conn) {
            return None;
        }
        self.len -= 1;
        self.entries[conn.slot as usize].take().map(|(_, session)| session)
    }

    /// A walk for rare occasions (a new snapshot, a drain, a shortage).
    pub fn iter(&self) -> impl Iterator<Item = (Conn, &T)> {
        self.entries.iter().enumerate().filter_map(|(slot, entry)| {
            let (generation, session) = entry.as_ref()?;
            Some((Conn { slot: slot as u32, generation: *generation }, &**session))
        })
    }

    pub fn peek(&self, conn: Conn) -> Option<&T> {
        match self.entries.get(conn.slot as usize) {
            Some(Some((generation, session))) if *generation == conn.generation => Some(session),
            _ => None,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Every handle in use.
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
}
