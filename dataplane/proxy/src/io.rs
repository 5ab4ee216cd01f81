//! The interface between the proxy and its driver: connections, time and buffers. The proxy has no file descriptor,
//! makes no system call and reads no clock, so the same proxy runs over epoll (`reactor`) and over a simulated network
//! (`sim`).
//!
//! The interface is completion-based. A driver passes a batch of [`Event`]s with owned buffers, and the proxy answers
//! by calls of [`Io`]. After the batch, the driver sends what was queued, once per connection. A `send` is never
//! partial. A sender that may exceed what the peer reads checks [`Io::queued`], stops reading the connection that the
//! bytes come from, and waits for `Drained`.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use crate::buf::Buf;

pub use weir_rate::{Bucket, Ration};
pub use weir_snapshot::{Protocol, TransportAddress};

/// The handle of a connection: a slot, and the generation of its use. A stale handle finds no connection. A driver
/// reuses a slot from the next batch on, never in the batch in which its connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Conn {
    pub slot: u32,
    pub generation: u32,
}

/// Monotonic time, the same for all drivers of a process.
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
    /// A connection that [`Io::connect`] began is established.
    Connected {
        conn: Conn,
    },
    Data {
        conn: Conn,
        buf: Buf,
    },
    /// The driver has relayed this many bytes of `conn` since the last such event. 0: relayed bytes wait for the
    /// receiver.
    Relayed {
        conn: Conn,
        bytes: u64,
    },
    /// The peer has ended its side. It may still read.
    Eof {
        conn: Conn,
    },
    /// The peer has ended its side, or its connection has failed, while the proxy does not read the connection. When it
    /// reads again, it gets what the peer sent before as `Data`, and then `Eof` or `Gone`.
    Leaving {
        conn: Conn,
    },
    /// Everything queued has been sent. The event comes once, in a later batch, if [`Io::queued`] has returned more than
    /// 0 before. Otherwise it may never come.
    Drained {
        conn: Conn,
    },
    /// The peer receives nothing more. What it sent before still comes as `Data`, and then `Gone`. Neither comes while
    /// the connection is not read.
    Broken {
        conn: Conn,
    },
    /// The deadline set last has passed. The connection has no deadline now.
    Deadline {
        conn: Conn,
    },
    /// The connection is over, and its handle is dead. The peer or the network ended it, not the proxy.
    Gone {
        conn: Conn,
        why: Gone,
    },
}

impl Event {
    /// The connection that the event is about.
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
    /// The peer refused the connect.
    Refused,
    /// A connect found no route, or the route was lost.
    Unreachable,
    Reset,
    /// This machine has no descriptor, port or memory left.
    Local,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Close {
    /// Nothing more is expected from the peer: send what is queued, then close.
    Flush,
    /// The peer may still be sending: send what is queued, close our side, then read and discard for a while. Otherwise
    /// a reset could overtake the response (RFC 9112 §9.6).
    Linger,
    /// The peer expects more, which will not come: send what is queued, then reset, so that the peer sees a cut and not
    /// a regular end.
    Cut,
    /// Reset at once and drop what is queued.
    Abort,
}

/// What the proxy does with the receiver of relayed bytes after the last of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    GoOn,
    /// It closes the connection. Until then the driver may hold the end of the bytes back, to send both together.
    Close,
}

pub trait Io {
    fn now(&self) -> Time;

    /// Seconds since 1970 (UTC) by the wall clock, for the `Date` field. The clock may jump. The proxy asks once per
    /// batch.
    fn unix_s(&self) -> u64;

    /// The same in microseconds. It may cost a look at the clock.
    fn unix_us(&self) -> u64;

    /// Bytes that no peer can guess.
    fn random(&mut self) -> [u8; 16];

    /// An empty buffer of the driver's block length.
    fn buffer(&mut self) -> Buf;

    /// An empty buffer with room for `bytes`: a block if that is large enough.
    fn buffer_for(&mut self, bytes: usize) -> Buf {
        let mut block = self.buffer();
        if block.room().len() >= bytes { block } else { Buf::with_room(bytes) }
    }

    /// One piece of all this content, in memory that the driver can send without copying it. `None`: the driver has none.
    /// To make one takes system calls. It is worth them for content that is sent many times, and is not small.
    fn lasting(&mut self, _content: &[Vec<u8>]) -> Option<Buf> {
        None
    }

    /// The memory of all buffers in use, in whole blocks.
    fn buffered_bytes(&self) -> usize;

    /// Begins a connection. `send` and `deadline` may be called at once. The outcome is `Connected` or `Gone`.
    fn connect(&mut self, to: SocketAddr) -> Conn;

    /// Queues `buf` behind what is queued already. Does nothing if `conn` is dead.
    fn send(&mut self, conn: Conn, buf: Buf);

    /// Bytes that are queued and that the network has not taken yet.
    fn queued(&self, conn: Conn) -> usize;

    /// The time of a round trip to the peer of an open connection, as the network has seen it so far. `None`: it has not.
    /// To ask may cost a system call.
    fn round_trip(&self, conn: Conn) -> Option<Duration>;

    /// Our end of an open connection. To ask may cost a system call.
    fn local_address(&self, conn: Conn) -> Option<SocketAddr>;

    /// Turns reading of a connection off or on; it begins on. While it is off, no `Data` and no `Eof` comes.
    fn reading(&mut self, conn: Conn, on: bool);

    /// Says whether the proxy expects nothing urgent from a connection for now. If so, the driver may report input
    /// late.
    fn resting(&mut self, _conn: Conn, _on: bool) {}

    /// From now on the bytes of a connection, in both directions, take tokens of a bucket. While there are none, the driver
    /// reads nothing and sends nothing of what is queued. `None`: they take none any more.
    fn limit(&mut self, _conn: Conn, _bucket: Option<&Arc<Bucket>>) {}

    /// Whether a connection has something to read or to send, and waits for tokens.
    fn waits_for_tokens(&self, _conn: Conn) -> bool {
        false
    }

    /// Allows the driver to move up to `bytes` of the input of `from` to `to` by itself, behind what is queued there.
    /// `Relayed` tells how many bytes it has moved, and `queued` counts those that wait for `to`. The driver may stop
    /// at any byte or never begin. What it does not move comes as `Data`; `Eof` and `Gone` come as usual. Call this at
    /// the end of a batch: `bytes` does not include `Data` of `from` in that batch.
    fn relay(&mut self, from: Conn, to: Conn, bytes: u64, after: After);

    /// Ends our side: once what is queued has been sent, the peer sees the end. The peer may go on sending.
    fn finish(&mut self, conn: Conn);

    /// Sets, moves or clears the one deadline of a connection.
    fn deadline(&mut self, conn: Conn, at: Option<Time>);

    /// Ends a connection. When this returns, the handle is dead, and no event of the connection follows.
    fn close(&mut self, conn: Conn, how: Close);
}

/// Receives the events of a driver.
pub trait Handler {
    /// Handles all events of one batch, in order of arrival, and leaves the list empty. The batch may still hold events
    /// of a connection that was closed earlier in it.
    fn handle<I: Io>(&mut self, io: &mut I, events: &mut Vec<Event>);
}
