//! The clients of a worker: those that the driver connects, and the streams that their connections carry.

use crate::{client::Client, error::Error, io::Conn, table::Table};

pub(crate) struct Clients {
    connections: Table<Client>,
    streams: Table<Client>,
    /// Handles of streams that have ended.
    free: Vec<Conn>,
    /// How many handles of streams there are.
    handles: u32,
}

impl Clients {
    /// Reserves address space for connections in slots up to `room`, so that their table never moves.
    pub fn with_room(room: usize) -> Self {
        Self { connections: Table::with_room(room), streams: Table::default(), free: Vec::new(), handles: 0 }
    }

    pub fn insert(&mut self, conn: Conn, client: Client) -> &mut Client {
        match conn.is_stream() {
            true => self.streams.insert(conn.within_streams(), client),
            false => self.connections.insert(conn, client),
        }
    }

    /// A handle for a new stream.
    pub fn new_stream(&mut self) -> Conn {
        self.free.pop().unwrap_or_else(|| {
            self.handles += 1;
            Conn::of_stream(self.handles - 1, 0)
        })
    }

    pub fn contains(&self, conn: Conn) -> bool {
        self.peek(conn).is_some()
    }

    #[inline]
    pub fn find(&mut self, conn: Conn) -> Option<&mut Client> {
        match conn.is_stream() {
            true => self.streams.find(conn.within_streams()),
            false => self.connections.find(conn),
        }
    }

    /// For callers whose client cannot be gone.
    #[inline]
    pub fn live(&mut self, conn: Conn) -> Result<&mut Client, Error> {
        match conn.is_stream() {
            true => self.streams.live(conn.within_streams()),
            false => self.connections.live(conn),
        }
    }

    #[inline]
    pub fn peek(&self, conn: Conn) -> Option<&Client> {
        match conn.is_stream() {
            true => self.streams.peek(conn.within_streams()),
            false => self.connections.peek(conn),
        }
    }

    pub fn remove(&mut self, conn: Conn) -> Option<Box<Client>> {
        if !conn.is_stream() {
            return self.connections.remove(conn);
        }
        let removed = self.streams.remove(conn.within_streams())?;
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
    pub fn iter(&self) -> impl Iterator<Item = (Conn, &Client)> {
        self.connections.iter()
    }

    /// As [`Table::sample`], of the connections.
    pub fn sample(&self, most: usize, turn: usize) -> impl Iterator<Item = (Conn, &Client)> {
        self.connections.sample(most, turn)
    }

    /// The handles of all connections.
    pub fn conns(&self) -> Vec<Conn> {
        self.connections.conns()
    }
}
