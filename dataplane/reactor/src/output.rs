//! Sending: everything that is queued on a connection leaves at the end of the batch in one system call. After that the
//! connection ends, if it has to: by close, reset, or lingering.

use std::{
    io::{self, ErrorKind, IoSlice, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use weir_proxy::io::{Conn, Event, Gone};

use crate::{
    lending,
    poller::{Report, WRITABLE},
    reactor::{FLUSH_MAX, LINGER_BYTES_MAX, LINGER_MAX, Reactor},
    slot::{Input, Interest, List, Output, PIECES_FEW, PIECES_MAX, Phase, Slot, Then},
    socket,
};

/// The number of empty queues that are stored for the next batch, and the size beyond which a queue is not worth
/// storing.
const QUEUES_KEPT: usize = 1024;
const QUEUE_PIECES_KEPT: usize = 64;

/// The kernel does not tell when a peer has received everything. So we look again: soon at first, later more rarely,
/// for half a minute in all.
const SETTLE_FIRST: Duration = Duration::from_millis(10);
const SETTLE_PAUSE_MAX: Duration = Duration::from_secs(1);
const SETTLE_LOOKS: u32 = 36;

impl Reactor {
    pub(crate) fn mark_dirty(&mut self, conn: Conn) {
        if self.table.at(conn).is_some_and(|slot| slot.lists.enter(List::Dirty)) {
            self.dirty.push(conn);
        }
    }

    /// The kernel takes more again.
    pub(crate) fn write_on(&mut self, conn: Conn, report: Report) {
        if report.has(WRITABLE)
            && let Some(slot) = self.table.at(conn)
            && slot.output == Output::Blocked
        {
            slot.output = Output::Clear;
            let queued_bytes = slot.queued_bytes;
            self.write(conn);
            self.give_time(conn, queued_bytes);
        }
    }

    /// A connection given up may take as long as it likes as long as the peer takes something.
    pub(crate) fn give_time(&mut self, conn: Conn, queued_bytes: usize) {
        let until = self.now + FLUSH_MAX;
        if let Some(slot) = self.table.at(conn)
            && matches!(slot.phase, Phase::Flushing { .. })
            && slot.queued_bytes < queued_bytes
        {
            self.timers.set(conn.slot, Some(until));
        }
    }

    pub(crate) fn write(&mut self, conn: Conn) {
        let more_follows = self.table.is_about_to_be_fed(conn);
        let Some(slot) = self.table.at(conn) else { return };
        if slot.limiter.is_some() {
            return self.write_limited(conn);
        }
        while slot.output == Output::Clear && !slot.queue.is_empty() {
            let written = match lending::next(slot) {
                Some(next) => match lending::send(slot, next, &mut self.pipes) {
                    Some(written) => written,
                    None => write_up_to(slot, next.bytes).map(|sent| (sent, next.bytes)),
                },
                None => write_once(slot, more_follows).map(|sent| (sent, usize::MAX)),
            };
            match written {
                Ok((sent, most)) => took(slot, sent, most),
                Err(err) if err.kind() == ErrorKind::Interrupted => {}
                Err(err) if err.kind() == ErrorKind::WouldBlock => slot.output = Output::Blocked,
                Err(_) => return self.broken(conn),
            }
        }
        let output = slot.output;
        self.written(conn, output, more_follows);
    }

    /// The kernel has taken all that is queued, or takes no more.
    #[inline]
    pub(crate) fn written(&mut self, conn: Conn, output: Output, more_follows: bool) {
        match output {
            Output::Blocked => {
                if self.is_flushing(conn) {
                    self.departs(conn);
                }
                self.watch_writable(conn);
            }
            Output::Clear => self.all_sent(conn, more_follows),
            Output::Broken => {}
        }
    }

    pub(crate) fn is_flushing(&self, conn: Conn) -> bool {
        self.table.peek(conn).is_some_and(|slot| matches!(slot.phase, Phase::Flushing { .. }))
    }

    /// Asks epoll to report when the kernel takes more. Only peers that are slower than we are cost this second call.
    pub(crate) fn watch_writable(&mut self, conn: Conn) {
        let Some(slot) = self.table.at(conn) else { return };
        slot.watched.set(true);
        if self.report_writable(conn).is_err() {
            self.broken(conn);
        }
    }

    /// `more_follows`: the kernel holds the end of it back for what this connection is fed.
    fn all_sent(&mut self, conn: Conn, more_follows: bool) {
        let now = self.now;
        let Some(slot) = self.table.at(conn) else { return };
        let queue = std::mem::take(&mut slot.queue);
        if (1..=QUEUE_PIECES_KEPT).contains(&queue.capacity()) && self.queues.len() < QUEUES_KEPT {
            self.queues.push(queue);
        }
        if let Phase::Flushing { then } = slot.phase {
            return match then {
                Then::Close => {
                    if slot.corked {
                        // With bytes of the peer unread, the close alone would drop what is held back.
                        shut_down(slot);
                    }
                    self.free(conn.slot);
                }
                Then::Reset => {
                    if slot.corked {
                        self.push(conn);
                    }
                    self.settle(conn.slot, SETTLE_LOOKS);
                }
                Then::Linger if slot.input == Input::Ended => self.free(conn.slot),
                Then::Linger => {
                    shut_down(slot);
                    slot.phase = Phase::Lingering { bytes_left: LINGER_BYTES_MAX };
                    self.departs(conn);
                    self.timers.set(conn.slot, Some(now + LINGER_MAX));
                    self.register(conn, Interest::Readable);
                    self.drop_input(conn);
                }
            };
        }
        if std::mem::take(&mut slot.finishing) {
            shut_down(slot);
        }
        let corked = slot.corked;
        let nothing_more = self.feed(conn).map_or(corked, |fed_bytes| more_follows && fed_bytes == 0);
        if nothing_more {
            self.push(conn);
        }
        let relayed_bytes = self.table.relayed_bytes(conn);
        if let Some(slot) = self.table.owned(conn).filter(|_| relayed_bytes == 0)
            && slot.watched.replace(false)
        {
            self.pending.push(Event::Drained { conn });
        }
    }

    /// Resets a connection once its peer has what was sent to it, or at the last look.
    pub(crate) fn settle(&mut self, index: u32, looks_left: u32) {
        let pause = SETTLE_FIRST * (1 << (SETTLE_LOOKS - looks_left).min(8));
        let (conn, look_again) = (self.table.conn(index), self.now + pause.min(SETTLE_PAUSE_MAX));
        let Some(slot) = self.table.at(conn) else { return };
        let outstanding = slot.stream.as_ref().and_then(|stream| socket::unacknowledged_bytes(stream).ok());
        if looks_left == 0 || outstanding.is_none_or(|bytes| bytes == 0) {
            return self.abort(index);
        }
        slot.phase = Phase::Settling { looks_left: looks_left - 1 };
        self.timers.set(index, Some(look_again));
        self.departs(conn);
    }

    /// Sends what the kernel holds back: what it was held back for has not come after all.
    fn push(&mut self, conn: Conn) {
        let Some(slot) = self.table.at(conn) else { return };
        slot.corked = false;
        if let Some(stream) = &slot.stream {
            // Fails only when the connection is over.
            let _ = socket::push(stream);
        }
    }

    /// Nothing more can be sent. What the peer sent before may still be unread and comes first.
    pub(crate) fn broken(&mut self, conn: Conn) {
        let Some(slot) = self.table.at(conn) else { return };
        if !matches!(slot.phase, Phase::Open | Phase::Connecting) {
            return self.free(conn.slot);
        }
        let known = slot.output == Output::Broken;
        slot.queue.clear();
        (slot.queued_bytes, slot.output) = (0, Output::Broken);
        let in_pipe = slot.relay.as_ref().is_some_and(|relay| relay.held_bytes() > 0);
        let unread = in_pipe || slot.stream.as_ref().is_some_and(|stream| matches!(stream.peek(&mut [0]), Ok(1..)));
        if !unread {
            self.free(conn.slot);
            return self.pending.push(Event::Gone { conn, why: Gone::Reset });
        }
        slot.input = Input::Ending;
        if slot.reading {
            self.read_later(conn);
        }
        if !known {
            self.pending.push(Event::Broken { conn });
        }
        // What was to be relayed here comes to the handler.
        if let Some(from) = self.table.feeder(conn) {
            self.read_later(from);
        }
    }
}

fn write_once(slot: &Slot, more_follows: bool) -> io::Result<usize> {
    let Some(mut stream) = slot.stream.as_ref() else { return Err(ErrorKind::WouldBlock.into()) };
    match slot.queue.len() {
        1 if !more_follows => stream.write(&slot.queue[0]),
        0..=PIECES_FEW => write_pieces::<PIECES_FEW>(stream, slot, more_follows),
        _ => write_pieces::<PIECES_MAX>(stream, slot, more_follows),
    }
}

fn write_pieces<const N: usize>(mut stream: &TcpStream, slot: &Slot, more_follows: bool) -> io::Result<usize> {
    let mut pieces = [IoSlice::new(&[]); N];
    let filled = pieces.iter_mut().zip(&slot.queue).map(|(piece, buf)| *piece = IoSlice::new(buf)).count();
    if more_follows {
        return socket::send_before_more(stream, &pieces[..filled]);
    }
    stream.write_vectored(&pieces[..filled])
}

/// Sends at most so many bytes of what is queued.
pub(crate) fn write_up_to(slot: &Slot, most: usize) -> io::Result<usize> {
    if most >= slot.queued_bytes {
        return write_once(slot, false);
    }
    let Some(mut stream) = slot.stream.as_ref() else { return Err(ErrorKind::WouldBlock.into()) };
    let (mut pieces, mut filled, mut left) = ([IoSlice::new(&[]); PIECES_MAX], 0, most);
    for (piece, buf) in pieces.iter_mut().zip(&slot.queue) {
        let part = &buf[..buf.len().min(left)];
        left -= part.len();
        (*piece, filled) = (IoSlice::new(part), filled + 1);
        if left == 0 {
            break;
        }
    }
    stream.write_vectored(&pieces[..filled])
}

/// Removes `sent` bytes from the queue, of which at most `most` were offered. If the kernel took less than it was offered,
/// it takes no more for now.
pub(crate) fn took(slot: &mut Slot, sent: usize, most: usize) {
    let offered = slot.queue.iter().take(PIECES_MAX).map(|buf| buf.len()).sum::<usize>().min(most);
    dequeue(slot, sent);
    if sent < offered {
        slot.output = Output::Blocked;
    }
}

fn dequeue(slot: &mut Slot, sent: usize) {
    slot.queued_bytes -= sent;
    let mut left = sent;
    while let Some(front) = slot.queue.front_mut() {
        if front.len() > left {
            front.advance(left);
            break;
        }
        left -= front.len();
        slot.queue.pop_front();
        if left == 0 {
            break;
        }
    }
}

fn shut_down(slot: &Slot) {
    if let Some(stream) = &slot.stream {
        // Fails only when the connection is already over, which the next read reports.
        let _ = stream.shutdown(Shutdown::Write);
    }
}
