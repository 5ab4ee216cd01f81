//! What the proxy asks of the world: connections, time, buffers. No file descriptor, no clock, no system call on this
//! side of it, so the same proxy runs over epoll (`reactor`), over a simulated network (`sim`), and later over others.
//!
//! Completion style. A driver hands over a batch of [`Event`]s with owned buffers; the proxy answers by calling [`Io`];
//! when the batch is done the driver sends what was queued, once per connection. Nothing is ever short: `send` takes all,
//! and who sends more than the peer takes watches [`Io::queued`], stops reading the other side and waits for `Drained`.

use std::{net::SocketAddr, time::Duration};

use crate::buf::Buf;

pub use weir_snapshot::{Protocol, TransportAddress};

/// A connection: a slot and the generation of its use, so that a handle kept too long names nothing. A driver uses a
/// slot again from the next batch on, never in the one in which its connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Conn {
    pub slot: u32,
    pub generation: u32,
}

/// Monotonic time of one driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Time {
    pub nanos: u64,
}

impl Time {
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }
}

impl std::ops::Add<Duration> for Time {
    type Output = Time;

    fn add(self, span: Duration) -> Time {
        Time { nanos: self.nanos.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)) }
    }
}

#[derive(Debug)]
pub enum Event {
    /// A client has connected to the listener at `listener`.
    Accepted {
        conn: Conn,
        listener: TransportAddress,
        peer: SocketAddr,
    },
    /// A connection begun with [`Io::connect`] stands.
    Connected {
        conn: Conn,
    },
    Data {
        conn: Conn,
        buf: Buf,
    },
    /// So many bytes of `conn` have been relayed since this was said last; 0: some wait for the receiver.
    Relayed {
        conn: Conn,
        bytes: u64,
    },
    /// The peer sends no more; it may still read.
    Eof {
        conn: Conn,
    },
    /// The peer has ended, or its connection has failed, and that is not learnt by reading because it is not read. What it
    /// sent before comes as ever when it is read, and then `Eof` or `Gone`.
    Leaving {
        conn: Conn,
    },
    /// What was queued has left. Comes once after [`Io::queued`] was seen above 0, in a later batch; who never asks may
    /// never be told.
    Drained {
        conn: Conn,
    },
    /// Nothing that is sent arrives any more. What the peer sent before comes as ever, and then `Gone`: never, where it is
    /// not read.
    Broken {
        conn: Conn,
    },
    /// The deadline set last has passed; it is not set any more.
    Deadline {
        conn: Conn,
    },
    /// The connection is over and its handle dead: the peer's or the network's doing, never ours.
    Gone {
        conn: Conn,
        why: Gone,
    },
}

impl Event {
    /// Whose it is.
    #[inline]
    pub fn conn(&self) -> Conn {
        match *self {
            Event::Accepted { conn, .. }
            | Event::Connected { conn }
            | Event::Data { conn, .. }
            | Event::Relayed { conn, .. }
            | Event::Eof { conn }
            | Event::Leaving { conn }
            | Event::Drained { conn }
            | Event::Broken { conn }
            | Event::Deadline { conn }
            | Event::Gone { conn, .. } => conn,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// A connect was refused.
    Refused,
    /// A connect found no way, or the way was lost.
    Unreachable,
    Reset,
    /// This machine's doing: no descriptor, no port, no memory.
    Local,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Close {
    /// Nothing more is expected from the peer: send what is queued, then close.
    Flush,
    /// The peer may still be sending: send what is queued, close our side, read and drop for a while, so that a reset
    /// does not overtake the answer (RFC 9112 §9.6).
    Linger,
    /// More should have come and will not: send what is queued, then reset, so that the end shows as no end.
    Cut,
    /// Now, with a reset; what is queued is dropped.
    Abort,
}

pub trait Io {
    fn now(&self) -> Time;

    /// Seconds since 1970 (UTC) by the wall clock, for what peers are told; it may jump. Asked once a batch.
    fn unix_s(&self) -> u64;

    /// An empty buffer of the driver's block length.
    fn buffer(&mut self) -> Buf;

    /// An empty buffer with room for `bytes`: a block where one suffices.
    fn buffer_for(&mut self, bytes: usize) -> Buf {
        let mut block = self.buffer();
        if block.room().len() >= bytes { block } else { Buf::with_room(bytes) }
    }

    /// What all buffers take that are in use, in whole blocks.
    fn buffered_bytes(&self) -> usize;

    /// Begins a connection. `send` and `deadline` are legal at once; the outcome comes as `Connected` or `Gone`.
    fn connect(&mut self, to: SocketAddr) -> Conn;

    /// Queues `buf` behind what is queued already. Does nothing when `conn` is dead.
    fn send(&mut self, conn: Conn, buf: Buf);

    /// Bytes queued and not yet taken by the network.
    fn queued(&self, conn: Conn) -> usize;

    /// Turns the reading of a connection off or on again (it begins on). `Data` and `Eof` wait while it is off.
    fn reading(&mut self, conn: Conn, on: bool);

    /// Says whether nothing of interest comes from a connection for now: the driver may take its time to learn of what
    /// does come.
    fn resting(&mut self, _conn: Conn, _on: bool) {}

    /// Allows the driver to move up to `bytes` of what comes on `from` to `to` by itself, behind what is queued there:
    /// `Relayed` tells how far it has come, `queued` counts what waits for `to`. It may stop at any byte or never begin;
    /// what it does not move comes as `Data`, and `Eof` and `Gone` come as ever. To be called at the end of a batch: `Data`
    /// of `from` that is in the same batch does not count.
    fn relay(&mut self, from: Conn, to: Conn, bytes: u64);

    /// Ends our side: once what is queued has left, the peer is told that no more comes. It may go on sending.
    fn finish(&mut self, conn: Conn);

    /// Sets, moves or clears the one deadline of a connection.
    fn deadline(&mut self, conn: Conn, at: Option<Time>);

    /// Ends a connection. The handle is dead when this returns; no event of it follows.
    fn close(&mut self, conn: Conn, how: Close);
}

/// Who a driver drives.
pub trait Handler {
    /// Takes all events of one batch, in order of arrival, and leaves the list empty. An event whose `conn` was closed
    /// earlier in the same batch may still be in it.
    fn handle<I: Io>(&mut self, io: &mut I, events: &mut Vec<Event>);
}
