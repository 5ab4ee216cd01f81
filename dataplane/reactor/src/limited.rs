//! Connections that take tokens of a bucket for all bytes that they move. Without tokens nothing is read and nothing sent:
//! the connection waits for its turn behind those that came before. A turn moves a block in each direction.

use std::{io::ErrorKind, sync::Arc};

use weir_proxy::io::{Bucket, Conn, Event, Io};

use crate::{
    READ_BYTES,
    input::{BULK_BYTES_MAX, BULK_READ_BYTES},
    output::{took, write_up_to},
    reactor::Reactor,
    slot::{List, NextRead, Output, Phase},
    tokens::Limiter,
};

/// Turns in one line in one batch, so that other connections do not wait for long.
const TURNS_MAX: usize = 64;

impl Reactor {
    pub(crate) fn change_limit(&mut self, conn: Conn, bucket: Option<&Arc<Bucket>>) {
        let feeder = self.table.feeder(conn);
        let Some(slot) = self.table.owned(conn) else { return };
        let is_same = match (slot.limiter, bucket) {
            (Some(limiter), Some(bucket)) => self.tokens.is_of(limiter, bucket),
            (before, after) => before.is_none() && after.is_none(),
        };
        if is_same {
            return;
        }
        let limiter = bucket.and_then(|bucket| self.tokens.join(bucket));
        let before = std::mem::replace(&mut slot.limiter, limiter);
        before.into_iter().for_each(|limiter| self.tokens.leave(limiter));
        if slot.lists.leave(List::Waiting) {
            // It waits in the line of its new bucket, if it has to.
            self.mark_dirty(conn);
            self.read_later(conn);
        }
        if limiter.is_none() {
            return;
        }
        // The kernel would move bytes that nobody counts.
        for from in [Some(conn), feeder].into_iter().flatten() {
            if let Some(relay) = self.table.owned(from).and_then(|slot| slot.relay.as_mut()) {
                relay.left = 0;
            }
        }
    }

    pub(crate) fn end_limit(&mut self, index: u32) {
        let limiter = self.table.peek(self.table.conn(index)).and_then(|slot| slot.limiter);
        limiter.into_iter().for_each(|limiter| self.tokens.leave(limiter));
    }

    /// Whether a connection may move bytes now. If not, it waits for its turn.
    fn has_tokens(&mut self, conn: Conn) -> bool {
        let Some(slot) = self.table.at(conn) else { return false };
        let Some(limiter) = slot.limiter else { return true };
        if slot.lists.has(List::Waiting) {
            return false;
        }
        let is_free = self.tokens.are_free(limiter, self.now);
        if !is_free {
            slot.lists.enter(List::Waiting);
            self.tokens.wait(limiter, conn, self.now);
        }
        is_free
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn read_limited(&mut self, conn: Conn, events: &mut Vec<Event>) {
        if self.has_tokens(conn) {
            self.read_with_tokens(conn, events);
        }
    }

    fn read_with_tokens(&mut self, conn: Conn, events: &mut Vec<Event>) {
        let memory_is_short = self.buffered_bytes() > self.limits.buffer_bytes / 2;
        let Some(slot) = self.table.at(conn) else { return };
        let left = slot.limiter.map_or(0, |limiter| self.tokens.left(limiter, self.now));
        match slot.next_read == NextRead::Bulk && left >= BULK_READ_BYTES as u64 && !memory_is_short {
            true => self.read_bulk(conn, events),
            false => self.read(conn, events),
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn write_limited(&mut self, conn: Conn) {
        while self.has_unsent(conn) {
            if !self.has_tokens(conn) {
                if self.is_flushing(conn) {
                    self.departs(conn);
                }
                return;
            }
            self.write_block(conn);
        }
        if let Some(output) = self.table.at(conn).map(|slot| slot.output) {
            self.written(conn, output, false);
        }
    }

    fn has_unsent(&mut self, conn: Conn) -> bool {
        self.table.at(conn).is_some_and(|slot| slot.output == Output::Clear && !slot.queue.is_empty())
    }

    /// Sends a block, or all if there are tokens for all.
    fn write_block(&mut self, conn: Conn) {
        let Some(slot) = self.table.at(conn) else { return };
        let limiter = slot.limiter;
        let left = limiter.map_or(u64::MAX, |limiter| self.tokens.left(limiter, self.now));
        let most = if left >= slot.queued_bytes as u64 { usize::MAX } else { READ_BYTES };
        match write_up_to(slot, most) {
            Ok(sent) => {
                limiter.into_iter().for_each(|limiter| self.tokens.spend(limiter, sent));
                took(slot, sent, most);
            }
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            Err(err) if err.kind() == ErrorKind::WouldBlock => slot.output = Output::Blocked,
            Err(_) => self.broken(conn),
        }
    }

    /// Gives those their turns who wait for no longer.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_turns(&mut self, events: &mut Vec<Event>) {
        for (limiter, waiting) in self.tokens.waiting() {
            for turn in 0..waiting.min(TURNS_MAX) {
                // What a fast service moves must not make other connections wait, either.
                if turn > 0 && self.bulk_bytes >= BULK_BYTES_MAX {
                    break;
                }
                let Some(conn) = self.tokens.take_turn(limiter, self.now) else { break };
                self.take_turn(conn, limiter, events);
            }
        }
        self.tokens.look_ahead(self.now);
    }

    fn take_turn(&mut self, conn: Conn, limiter: Limiter, events: &mut Vec<Event>) {
        let Some(slot) = self.table.at(conn) else { return };
        // Its bucket may have changed since it came into this line.
        if slot.limiter != Some(limiter) || !slot.lists.leave(List::Waiting) {
            return;
        }
        if slot.relay.is_some() {
            // What is in the pipe leaves before anything that is read now.
            self.relay_on(conn, events);
        } else if slot.phase == Phase::Open && slot.wants_input() {
            // Tokens that it has not are taken next time. So neither direction waits for the other.
            self.read_with_tokens(conn, events);
        }
        let Some(slot) = self.table.at(conn) else { return };
        let queued_bytes = slot.queued_bytes;
        if self.has_unsent(conn) {
            self.write_block(conn);
            self.write_limited(conn);
            self.give_time(conn, queued_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        thread::{self, JoinHandle},
        time::{Duration, Instant},
    };

    use weir_proxy::io::{Close, Gone, Io};

    use super::*;
    use crate::{Driver, Limits, SocketOptions};

    /// Connects this many peers, and limits our ends of their connections together.
    fn limited<const N: usize>(reactor: &mut Reactor, mbps: u64) -> [(TcpStream, Conn); N] {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
        let (mut events, bucket) = (Vec::new(), Arc::new(Bucket::new(mbps)));
        [(); N].map(|()| {
            let stream = TcpStream::connect(address).unwrap();
            loop {
                reactor.poll(None, &mut events).unwrap();
                if let Some(Event::Accepted { conn, .. }) = events.pop() {
                    reactor.limit(conn, Some(&bucket));
                    reactor.flush();
                    return (stream, conn);
                }
            }
        })
    }

    fn sends(reactor: &mut Reactor, conn: Conn, bytes: usize) {
        for at in (0..bytes).step_by(10_000) {
            let mut buf = reactor.buffer();
            let piece: Vec<_> = (at..bytes.min(at + 10_000)).map(|at| (at / 251) as u8).collect();
            buf.append(&piece);
            reactor.send(conn, buf);
        }
        reactor.close(conn, Close::Flush);
    }

    /// Receives all. Returns how many bytes came, if they are those of [`sends`], and when the last did.
    fn receives(mut stream: TcpStream) -> JoinHandle<(usize, Instant)> {
        thread::spawn(move || {
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            assert!(got.iter().enumerate().all(|(at, byte)| *byte == (at / 251) as u8));
            (got.len(), Instant::now())
        })
    }

    fn runs(reactor: &mut Reactor, until: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        while !until(&events) {
            reactor.flush();
            reactor.poll(Some(Duration::from_millis(100)), &mut events).unwrap();
        }
        events
    }

    #[test]
    fn connections_send_at_the_rate_of_their_bucket_together() {
        const BYTES: usize = 1_000_000;
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let peers = limited::<2>(&mut reactor, 32);
        let begun = Instant::now();
        let receivers = peers.map(|(stream, conn)| {
            sends(&mut reactor, conn, BYTES);
            receives(stream)
        });
        runs(&mut reactor, |_| receivers.iter().all(|receiver| receiver.is_finished()));
        let ends = receivers.map(|receiver| receiver.join().unwrap());
        assert_eq!(ends.map(|(bytes, _)| bytes), [BYTES; 2]);
        let [one, other] = ends.map(|(_, at)| at.duration_since(begun));
        // 2 MB at 4 MB a second, but for a burst of 400 KB.
        let both = one.max(other);
        assert!((Duration::from_millis(360)..Duration::from_millis(1_500)).contains(&both), "{both:?}");
        // The first has the burst.
        assert!(one.abs_diff(other) < Duration::from_millis(250), "they take turns: {one:?} {other:?}");
        assert!(reactor.tokens.waiting().all(|(_, waiting)| waiting == 0));
        assert_eq!(reactor.connections(), 0);
    }

    #[test]
    fn connections_are_read_at_the_rate_of_their_bucket() {
        const BYTES: usize = 1_000_000;
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(mut stream, conn)] = limited::<1>(&mut reactor, 16);
        let begun = Instant::now();
        let sent: Vec<_> = (0..BYTES).map(|at| (at / 251) as u8).collect();
        let peer = thread::spawn(move || stream.write_all(&sent));
        let events = runs(&mut reactor, |events| matches!(events.last(), Some(Event::Eof { .. })));
        let took = begun.elapsed();
        peer.join().unwrap().unwrap();
        let mut at = 0;
        for event in events {
            match event {
                Event::Data { conn: from, buf } => {
                    assert!(from == conn && buf.iter().all(|byte| (*byte == (at / 251) as u8, at += 1).0));
                }
                Event::Eof { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(at, BYTES);
        // 1 MB at 2 MB a second, but for a burst of 200 KB.
        assert!((Duration::from_millis(360)..Duration::from_millis(1_500)).contains(&took), "{took:?}");
    }

    #[test]
    fn reset_is_seen_while_a_connection_waits() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(stream, conn), (other, sender)] = limited::<2>(&mut reactor, 1);
        other.set_nonblocking(true).unwrap();
        for conn in [sender, conn] {
            for _ in 0..40 {
                let mut buf = reactor.buffer();
                buf.append(&[7; 10_000]);
                reactor.send(conn, buf);
            }
        }
        reactor.flush();
        assert!(reactor.waits_for_tokens(conn) && reactor.waits_for_tokens(sender));
        crate::socket::reset_on_close(&stream).unwrap();
        drop(stream);
        let is_gone = |event: &Event| matches!(event, Event::Gone { conn: gone, why: Gone::Reset } if *gone == conn);
        let begun = Instant::now();
        runs(&mut reactor, |events| events.iter().any(is_gone));
        assert!(begun.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn limit_ends_relays_and_lets_none_begin() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(mut one, from), (mut other, to)] = limited::<2>(&mut reactor, 8);
        for conn in [from, to] {
            let limiter = reactor.table.owned(conn).unwrap().limiter.take();
            reactor.tokens.leave(limiter.unwrap());
        }
        reactor.relay(from, to, u64::MAX, weir_proxy::io::After::GoOn);
        one.write_all(b"moved").unwrap();
        runs(&mut reactor, |events| matches!(events.last(), Some(Event::Relayed { bytes: 5, .. })));
        other.read_exact(&mut [0; 5]).unwrap();
        reactor.limit(to, Some(&Arc::new(Bucket::new(8))));
        one.write_all(b"seen").unwrap();
        let events = runs(&mut reactor, |events| matches!(events.last(), Some(Event::Data { .. })));
        assert!(matches!(&events[..], [Event::Data { conn, buf }] if *conn == from && buf[..] == *b"seen"));
        reactor.relay(from, to, 9, weir_proxy::io::After::GoOn);
        assert!(reactor.table.peek(from).unwrap().relay.is_none());
    }

    /// Has the connections use up the burst of their bucket, and wait.
    fn uses_up(reactor: &mut Reactor, conn: Conn, bytes: usize) {
        for at in (0..bytes).step_by(10_000) {
            let mut buf = reactor.buffer();
            buf.append(&[7; 10_000][..bytes.min(at + 10_000) - at]);
            reactor.send(conn, buf);
        }
        reactor.flush();
        assert!(reactor.waits_for_tokens(conn));
    }

    #[test]
    fn what_is_in_a_pipe_leaves_before_what_is_read_after_a_limit_began() {
        const BYTES: usize = 24_000_000;
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(one, from), (mut other, to)] = limited::<2>(&mut reactor, 8);
        for conn in [from, to] {
            reactor.limit(conn, None);
        }
        reactor.relay(from, to, u64::MAX, weir_proxy::io::After::GoOn);
        let sender = {
            let mut one = one.try_clone().unwrap();
            let sent: Vec<_> = (0..BYTES).map(|at| (at / 251) as u8).collect();
            thread::spawn(move || {
                one.write_all(&sent).unwrap();
                one.shutdown(std::net::Shutdown::Write).unwrap();
            })
        };
        let is_blocked = |event: &Event| matches!(event, Event::Relayed { bytes: 0, .. });
        runs(&mut reactor, |events| events.iter().any(is_blocked));
        assert!(reactor.table.peek(from).unwrap().relay.as_ref().is_some_and(|relay| relay.pipe.is_some()));
        // The source waits for its turn to send, and has its turn while the pipe is full.
        let bucket = Arc::new(Bucket::new(80));
        reactor.limit(from, Some(&bucket));
        uses_up(&mut reactor, from, 2_000_000);
        let taker = thread::spawn({
            let mut one = one;
            // Until the connection is aborted.
            move || drop(std::io::copy(&mut one, &mut std::io::sink()))
        });
        let (mut events, mut read) = (Vec::new(), 0);
        for _ in 0..40 {
            reactor.poll(Some(Duration::from_millis(10)), &mut events).unwrap();
            read += events.drain(..).filter(|event| matches!(event, Event::Data { .. })).count();
            reactor.flush();
        }
        assert_eq!(read, 0, "nothing is read as long as the pipe holds something");
        let receiver = thread::spawn(move || {
            let mut got = Vec::new();
            other.read_to_end(&mut got).unwrap();
            got
        });
        // A handler that passes on what is read.
        'all: loop {
            reactor.poll(Some(Duration::from_millis(100)), &mut events).unwrap();
            for event in events.drain(..) {
                match event {
                    Event::Data { buf, .. } => reactor.send(to, buf),
                    Event::Eof { .. } => break 'all,
                    _ => {}
                }
            }
            reactor.flush();
        }
        reactor.close(to, Close::Flush);
        reactor.close(from, Close::Abort);
        runs(&mut reactor, |_| receiver.is_finished());
        let got = receiver.join().unwrap();
        assert_eq!(got.len(), BYTES);
        assert!(got.iter().enumerate().all(|(at, byte)| *byte == (at / 251) as u8), "all bytes are in their order");
        sender.join().unwrap();
        taker.join().unwrap();
    }

    #[test]
    fn connection_that_waits_goes_on_in_the_line_of_its_new_bucket() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(stream, conn), (_other, third)] = limited::<2>(&mut reactor, 1);
        uses_up(&mut reactor, conn, 600_000);
        reactor.limit(third, Some(&Arc::new(Bucket::new(8))));
        reactor.limit(conn, Some(&Arc::new(Bucket::new(800))));
        // This bucket has the line of the first one.
        reactor.limit(third, Some(&Arc::new(Bucket::new(9))));
        let begun = Instant::now();
        let mut taken = stream.try_clone().unwrap();
        let receiver = thread::spawn(move || taken.read_exact(&mut vec![0; 600_000]));
        runs(&mut reactor, |_| receiver.is_finished());
        receiver.join().unwrap().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(1), "5 s by the first bucket");
        reactor.limit(conn, Some(&Arc::new(Bucket::new(1))));
        uses_up(&mut reactor, conn, 600_000);
        reactor.limit(conn, None);
        reactor.flush();
        assert!(!reactor.waits_for_tokens(conn) && reactor.table.peek(conn).unwrap().limiter.is_none());
    }

    #[test]
    fn small_pieces_have_as_much_of_a_turn_as_large_ones() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(large, bulk), (small, pieces)] = limited::<2>(&mut reactor, 8);
        uses_up(&mut reactor, bulk, 400_000);
        for _ in 0..60 {
            let mut buf = reactor.buffer();
            buf.append(&[7; 100]);
            reactor.send(pieces, buf);
        }
        let takes = |mut stream: TcpStream, bytes| {
            thread::spawn(move || {
                stream.read_exact(&mut vec![0; bytes]).unwrap();
                Instant::now()
            })
        };
        let (large, small) = (takes(large, 400_000), takes(small, 6_000));
        runs(&mut reactor, |_| large.is_finished() && small.is_finished());
        let (large, small) = (large.join().unwrap(), small.join().unwrap());
        assert!(small + Duration::from_millis(100) < large, "one turn is enough for all 60 pieces");
    }
}
