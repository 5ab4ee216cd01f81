//! Our end of a connection. It remembers what the driver has been told, so that no call is repeated, and knows when the
//! peer takes too little.

use std::time::Duration;

use crate::{
    buf::Buf,
    io::{Conn, Io, Time},
    limits::Room,
};

const NEVER: Time = Time { nanos: u64::MAX };

/// How often the deadlines of streams are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How much longer an excused peer has. It may need several steps to come on.
const EXCUSED: Duration = Duration::from_secs(10);

pub(crate) struct Line {
    pub conn: Conn,
    /// When a deadline was last set or cleared, which follows each arrival and departure of bytes.
    pub moved_at: Time,
    /// [`NEVER`]: there is none. In this form it takes less memory.
    deadline: Time,
    reading: bool,
    /// The peer has been told that nothing more comes.
    finished: bool,
    /// The peer has ended its side.
    pub ended: bool,
    /// The driver is still to be asked for the round trip to the peer.
    pub asks_round_trip: bool,
    /// Of a stream: its client waits until all that is queued has left.
    watched: bool,
    /// What was sent since the queue was last checked: an upper bound of the queue. The driver is asked only when the
    /// bound is too high, because each such call makes it report `Drained`.
    pieces: u32,
    bytes: u32,
    /// Bytes sent since [`take_sent`](Self::take_sent).
    sent: u64,
}

/// No queue holds as much as this can count: [`Room`] bounds it.
fn counted(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Line {
    pub fn new(conn: Conn, now: Time) -> Self {
        Self {
            conn,
            moved_at: now,
            deadline: NEVER,
            reading: true,
            finished: false,
            ended: false,
            asks_round_trip: false,
            watched: false,
            pieces: 0,
            bytes: 0,
            sent: 0,
        }
    }

    pub fn send<I: Io>(&mut self, io: &mut I, buf: Buf) {
        if buf.is_empty() {
            return;
        }
        self.pieces += 1;
        self.bytes = self.bytes.saturating_add(counted(buf.len()));
        self.sent += buf.len() as u64;
        io.send(self.conn, buf);
    }

    /// Bytes wait to be sent on a stream.
    pub fn hold(&mut self, bytes: usize) {
        self.pieces += 1;
        self.bytes = self.bytes.saturating_add(counted(bytes));
    }

    /// So many bytes and pieces of a stream have left. Returns whether its client waits for that, and nothing is left.
    pub fn let_go(&mut self, bytes: usize, pieces: u32) -> bool {
        self.bytes -= counted(bytes);
        self.pieces -= pieces;
        self.bytes == 0 && std::mem::take(&mut self.watched)
    }

    /// Of a stream whose window is closed: whether so many bytes are queued that its client has to wait from now on until
    /// all of them have left.
    pub fn begins_to_wait(&mut self, bytes: usize) -> bool {
        self.bytes as usize >= bytes && !std::mem::replace(&mut self.watched, true)
    }

    /// Bytes that are queued and that the network has not taken yet.
    pub fn queued<I: Io>(&self, io: &I) -> usize {
        if self.conn.is_stream() { self.bytes as usize } else { io.queued(self.conn) }
    }

    /// The driver has relayed this many bytes to the peer.
    pub fn relayed(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    /// Whether the peer must take what is queued before it gets more. `Drained` reports when it has.
    pub fn is_full<I: Io>(&mut self, io: &I, room: &Room) -> bool {
        if (self.bytes as usize) < room.queued_bytes && self.pieces < room.queued_pieces {
            return false;
        }
        self.bytes = counted(self.queued(io));
        // The pieces of a stream are counted one by one, and one may have no bytes.
        if self.bytes == 0 && !self.conn.is_stream() {
            self.pieces = 0;
        }
        self.watched = self.bytes as usize >= room.queued_bytes || self.pieces >= room.queued_pieces;
        self.watched
    }

    /// Pieces sent since the queue was last seen empty: an upper bound of those queued.
    pub fn pieces(&self) -> usize {
        self.pieces as usize
    }

    pub fn is_finished(&self) -> bool {
        self.finished
    }

    pub fn is_reading(&self) -> bool {
        self.reading
    }

    pub fn read<I: Io>(&mut self, io: &mut I, on: bool) {
        if self.reading != on {
            self.reading = on;
            if !self.conn.is_stream() {
                io.reading(self.conn, on);
            }
        }
    }

    /// Tells the peer that nothing more comes.
    pub fn end_output<I: Io>(&mut self, io: &mut I) {
        if !self.finished {
            self.finished = true;
            if !self.conn.is_stream() {
                io.finish(self.conn);
            }
        }
    }

    /// Sets the deadline to `span` from now; `None` clears it.
    pub fn expect<I: Io>(&mut self, io: &mut I, span: Option<Duration>) {
        self.moved_at = io.now();
        let at = span.map_or(NEVER, |span| self.moved_at + span);
        if self.deadline != at {
            self.deadline = at;
            self.tell_deadline(io);
        }
    }

    /// The peer could not do what it had to, so it has some time more.
    pub fn excuse<I: Io>(&mut self, io: &mut I) {
        self.deadline = io.now() + EXCUSED;
        self.tell_deadline(io);
    }

    /// Sets the deadline for the next look at the streams that it carries. It follows no bytes.
    pub fn look_again<I: Io>(&mut self, io: &mut I) {
        self.deadline = io.now() + LOOK;
        self.tell_deadline(io);
    }

    /// The carrier of a stream looks after the stream's deadline by itself.
    fn tell_deadline<I: Io>(&self, io: &mut I) {
        if !self.conn.is_stream() {
            io.deadline(self.conn, self.deadline());
        }
    }

    /// When the deadline passes.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != NEVER).then_some(self.deadline)
    }

    /// Whether the deadline has really passed: an event of the same batch may have moved or cleared it.
    pub fn has_expired<I: Io>(&mut self, io: &mut I) -> bool {
        let now = io.now();
        match self.deadline() {
            None => false,
            Some(at) if at > now => {
                self.tell_deadline(io);
                false
            }
            Some(_) => {
                self.deadline = NEVER;
                true
            }
        }
    }
}
