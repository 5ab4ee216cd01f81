//! The world of the counted proxy: an [`Io`] that notes what it is asked for and does nothing else, so that next to
//! nothing of it is in the counts. Peers take all that is sent at once, and every connection can be made.

use std::{net::SocketAddr, time::Duration};

use weir_proxy::{
    buf::{Buf, BufPool},
    io::{After, Close, Conn, Io, Time},
};

const ROUND_TRIP: Duration = Duration::from_micros(100);
/// Between two batches.
const BATCH_TIME: Duration = Duration::from_micros(50);

pub struct World {
    now: Time,
    pub blocks: BufPool,
    pub sent: Vec<(Conn, Buf)>,
    pub connects: Vec<(Conn, SocketAddr)>,
    closed: Vec<Conn>,
    slots: Slots,
}

impl World {
    pub fn new() -> Self {
        Self {
            now: Time::default(),
            blocks: BufPool::new(weir_reactor::BLOCK_BYTES, 1024),
            sent: Vec::new(),
            connects: Vec::new(),
            closed: Vec::new(),
            slots: Slots::default(),
        }
    }

    /// A handle for a connection that comes in.
    pub fn accept(&mut self) -> Conn {
        self.slots.take()
    }

    pub fn pass_time(&mut self) {
        self.now = self.now + BATCH_TIME;
    }

    /// What the proxy has closed since this was asked last; their slots are used again from now on.
    pub fn take_closed(&mut self) -> Vec<Conn> {
        self.closed.iter().for_each(|conn| self.slots.put_back(*conn));
        std::mem::take(&mut self.closed)
    }
}

/// A driver has this ready; to reckon it from what has passed would be counted.
const UNIX_S: u64 = 784_111_777;

impl Io for World {
    fn now(&self) -> Time {
        self.now
    }

    fn unix_s(&self) -> u64 {
        UNIX_S
    }

    fn unix_us(&self) -> u64 {
        UNIX_S * 1_000_000 + self.now.nanos / 1_000
    }

    /// No row asks for it.
    fn random(&mut self) -> [u8; 16] {
        [0; 16]
    }

    fn buffer(&mut self) -> Buf {
        self.blocks.take()
    }

    fn buffered_bytes(&self) -> usize {
        self.blocks.in_use() * self.blocks.block_bytes()
    }

    fn connect(&mut self, to: SocketAddr) -> Conn {
        let conn = self.slots.take();
        self.connects.push((conn, to));
        conn
    }

    fn send(&mut self, conn: Conn, buf: Buf) {
        self.sent.push((conn, buf));
    }

    fn queued(&self, _conn: Conn) -> usize {
        0
    }

    fn round_trip(&self, _conn: Conn) -> Option<Duration> {
        Some(ROUND_TRIP)
    }

    fn local_address(&self, _conn: Conn) -> Option<SocketAddr> {
        Some(SocketAddr::new([10, 0, 0, 2].into(), 50_000))
    }

    fn reading(&mut self, _conn: Conn, _on: bool) {}

    /// Never begins, which a driver may do: so a body is counted on its way through the proxy.
    fn relay(&mut self, _from: Conn, _to: Conn, _bytes: u64, _after: After) {}

    fn finish(&mut self, _conn: Conn) {}

    fn deadline(&mut self, _conn: Conn, _at: Option<Time>) {}

    fn close(&mut self, conn: Conn, _how: Close) {
        self.closed.push(conn);
    }
}

#[derive(Default)]
struct Slots {
    free: Vec<Conn>,
    used: u32,
}

impl Slots {
    fn take(&mut self) -> Conn {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            Conn { slot: self.used - 1, generation: 1 }
        })
    }

    fn put_back(&mut self, conn: Conn) {
        self.free.push(Conn { generation: conn.generation + 1, ..conn });
    }
}
