//! The sessions of one side of a worker: those of connections that the driver knows, and those of the streams that such
//! connections carry.

use crate::{
    error::{Error, defect},
    io::Conn,
    table::Table,
};

pub(crate) struct Sessions<T> {
    connections: Table<T>,
    streams: Table<T>,
    /// Handles of streams that have ended.
    free: Vec<Conn>,
    /// How many handles of streams there are.
    handles: u32,
    /// The slot of the first of them.
    first: u32,
}

impl<T> Sessions<T> {
    /// Reserves address space for connections in slots up to `room`, so that their table never moves.
    /// Streams have the slots from `first` on.
    pub fn with_room(room: usize, first: u32) -> Self {
        Self { connections: Table::with_room(room), streams: Table::default(), free: Vec::new(), handles: 0, first }
    }

    /// The handle of a stream among the streams alone. Of other handles, none that a stream has.
    #[inline]
    fn within_streams(&self, conn: Conn) -> Conn {
        Conn { slot: conn.slot.wrapping_sub(self.first), ..conn }
    }

    pub fn insert(&mut self, conn: Conn, session: T) -> &mut T {
        match conn.is_stream() {
            true => {
                debug_assert!(conn == self.next_stream(), "another stream has begun");
                if self.free.pop().is_none() {
                    self.handles += 1;
                }
                self.streams.insert(Conn { slot: conn.slot - self.first, ..conn }, session)
            }
            false => self.connections.insert(conn, session),
        }
    }

    /// The handle with which the next stream is to be inserted.
    pub fn next_stream(&self) -> Conn {
        self.free.last().copied().unwrap_or(Conn { slot: self.first + self.handles, generation: 0 })
    }

    #[inline]
    pub fn contains(&self, conn: Conn) -> bool {
        self.peek(conn).is_some()
    }

    #[inline]
    pub fn find(&mut self, conn: Conn) -> Option<&mut T> {
        let stream = self.within_streams(conn);
        match self.connections.entry_mut(conn.slot) {
            Some(entry) => Table::within_mut(entry, conn.generation),
            // No connection has had the slot: it is that of a stream.
            None => self.streams.find(stream),
        }
    }

    /// For callers whose session cannot be over.
    #[inline]
    pub fn live(&mut self, conn: Conn) -> Result<&mut T, Error> {
        self.find(conn).ok_or_else(|| defect("a session is over, but something still refers to it"))
    }

    #[inline]
    pub fn peek(&self, conn: Conn) -> Option<&T> {
        match self.connections.entry(conn.slot) {
            Some(entry) => Table::within(entry, conn.generation),
            None => self.streams.peek(self.within_streams(conn)),
        }
    }

    pub fn remove(&mut self, conn: Conn) -> Option<Box<T>> {
        if !conn.is_stream() {
            return self.connections.remove(conn);
        }
        let removed = self.streams.remove(self.within_streams(conn))?;
        self.free.push(Conn { generation: conn.generation.wrapping_add(1), ..conn });
        Some(removed)
    }

    /// How many streams there are.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Visits every connection: only for rare events.
    pub fn iter(&self) -> impl Iterator<Item = (Conn, &T)> {
        self.connections.iter()
    }

    /// As [`Table::sample`], of the connections.
    pub fn sample(&self, most: usize, turn: usize) -> impl Iterator<Item = (Conn, &T)> {
        self.connections.sample(most, turn)
    }

    /// Visits every stream: only for rare events.
    pub fn each_stream(&self) -> impl Iterator<Item = (Conn, &T)> {
        self.streams.iter().map(|(conn, session)| (Conn { slot: self.first + conn.slot, ..conn }, session))
    }

    /// The handles of all connections.
    pub fn conns(&self) -> Vec<Conn> {
        self.connections.conns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::stream::CLIENT_STREAMS;

    #[test]
    fn handle_stays_free_until_its_stream_is_inserted() {
        let mut sessions = Sessions::with_room(4, CLIENT_STREAMS);
        let first = sessions.next_stream();
        assert_eq!(sessions.next_stream(), first, "the stream did not come to be");
        sessions.insert(first, "first");
        let second = sessions.next_stream();
        sessions.insert(second, "second");
        assert_eq!([first, second].map(|conn| conn.slot - CLIENT_STREAMS), [0, 1]);
        assert_eq!(sessions.remove(first).as_deref(), Some(&"first"));
        let third = sessions.next_stream();
        assert_eq!(third, Conn { generation: first.generation + 1, ..first });
        sessions.insert(third, "third");
        assert_eq!((sessions.peek(first), sessions.peek(third)), (None, Some(&"third")));
        assert_eq!((sessions.streams(), sessions.next_stream().slot), (2, CLIENT_STREAMS + 2));
    }
}
