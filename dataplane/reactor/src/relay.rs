//! Relaying: bytes that the handler would only pass on go from one socket to the other through a pipe. The handler
//! learns how many bytes have gone, and everything else that happens to either connection.
//!
//! Relayed bytes never overtake others: the queue of the receiving connection leaves first. A relay continues when the
//! one connection becomes readable or the other writable. It ends after its bytes, with either connection, or if there
//! is no pipe.

use std::io::{self, ErrorKind};

use weir_proxy::io::{After, Conn, Event, Gone};

use crate::{
    pipe::PIPE_BYTES,
    reactor::Reactor,
    slot::{Input, NextRead, Output, Phase, Relay},
    socket::{self, gone},
};

/// How often a pipe is filled for one connection in one batch, so that a fast connection does not make others wait.
const FILLS_MAX: usize = 2;

/// Why a relay does not go on at once.
enum Pause {
    /// Everything has been moved.
    Through,
    /// The source has nothing.
    Dry,
    /// The receiver takes nothing.
    Blocked,
    /// Others have their turn.
    Spent,
    /// The source has ended, or there is no pipe: what more there is comes to the handler.
    Over,
    SourceFailed(Gone),
    ReceiverFailed,
}

impl Reactor {
    pub(crate) fn begin_relay(&mut self, from: Conn, to: Conn, bytes: u64, after: After) {
        let takes_nothing =
            self.table.peek(to).is_none_or(|slot| slot.output == Output::Broken || slot.limiter.is_some());
        if takes_nothing || self.table.feeder(to).is_some_and(|other| other != from) {
            return;
        }
        let Some(slot) = self.table.owned(from).filter(|slot| slot.relay.is_none() && slot.limiter.is_none()) else {
            return;
        };
        slot.relay = Some(Box::new(Relay { to, left: bytes, after, pipe: None, moved: 0 }));
        if let Some(slot) = self.table.owned(to) {
            slot.fed_by = Some(from);
        }
        self.mark_dirty(to);
    }

    /// Everything queued for `to` has left, and it takes more. Returns how many bytes it got; `None`: nobody feeds it.
    pub(crate) fn feed(&mut self, to: Conn) -> Option<u64> {
        let from = self.table.feeder(to)?;
        let mut events = std::mem::take(&mut self.pending);
        let moved = self.relay_on(from, &mut events);
        events.append(&mut self.pending);
        self.pending = events;
        Some(moved)
    }

    /// Goes on with the relay that a connection feeds; returns how many bytes were moved.
    pub(crate) fn relay_on(&mut self, from: Conn, events: &mut Vec<Event>) -> u64 {
        let Some(mut relay) = self.table.owned(from).and_then(|slot| slot.relay.take()) else { return 0 };
        let pause = self.pump(from, &mut relay);
        let blocked = matches!(pause, Pause::Blocked);
        let moved = std::mem::take(&mut relay.moved);
        if moved > 0 || blocked {
            events.push(Event::Relayed { conn: from, bytes: moved });
        }
        match pause {
            Pause::Dry | Pause::Blocked => self.keep(from, relay),
            Pause::Spent => {
                self.keep(from, relay);
                self.read_later(from);
            }
            Pause::Through | Pause::Over => self.end_relay(from, &relay, events),
            Pause::SourceFailed(why) => {
                self.part(&relay);
                self.free(from.slot);
                events.push(Event::Gone { conn: from, why });
            }
            Pause::ReceiverFailed => {
                self.broken(relay.to);
                self.end_relay(from, &relay, events);
            }
        }
        if blocked && let Some(to) = self.table.owned(from).and_then(|slot| slot.relay.as_ref()).map(|relay| relay.to) {
            self.watch_writable(to);
        }
        moved
    }

    fn end_relay(&mut self, from: Conn, relay: &Relay, events: &mut Vec<Event>) {
        self.part(relay);
        let Some(slot) = self.table.owned(from) else { return };
        slot.next_read = NextRead::Head;
        // Bytes after the relayed ones must be known before the connection is used for anything else.
        if slot.wants_input() {
            self.read(from, events);
        }
    }

    fn pump(&mut self, from: Conn, relay: &mut Relay) -> Pause {
        for _ in 0..FILLS_MAX {
            match self.table.owned(relay.to).map(|slot| (slot.output, slot.queue.is_empty(), slot.phase)) {
                None => return Pause::Over,
                Some((Output::Broken, ..)) => return Pause::ReceiverFailed,
                Some((Output::Clear, true, Phase::Open)) => {}
                Some(_) => return Pause::Blocked,
            }
            if let Err(pause) = self.fill(from, relay).and_then(|()| self.drain_pipe(relay)) {
                return pause;
            }
            if relay.left == 0 {
                return Pause::Through;
            }
        }
        Pause::Spent
    }

    /// Takes from the source into an empty pipe.
    fn fill(&mut self, from: Conn, relay: &mut Relay) -> Result<(), Pause> {
        if relay.pipe.is_some() {
            return Ok(());
        }
        let Some(slot) = self.table.owned(from) else { return Err(Pause::Over) };
        let (true, Some(stream)) = (slot.wants_input(), &slot.stream) else {
            return Err(if slot.input == Input::Ended { Pause::Over } else { Pause::Dry });
        };
        let Some(mut pipe) = self.pipes.take() else { return Err(Pause::Over) };
        let wanted = usize::try_from(relay.left).unwrap_or(PIPE_BYTES);
        match retried(|| pipe.fill(stream, wanted)) {
            Ok(moved @ 1..) => {
                relay.left = relay.left.saturating_sub(moved as u64);
                relay.pipe = Some(pipe);
                Ok(())
            }
            end => {
                self.pipes.put_back(pipe);
                Err(match end {
                    Err(err) if err.kind() == ErrorKind::WouldBlock => {
                        slot.input = Input::Drained;
                        Pause::Dry
                    }
                    // The read that follows says what the end is.
                    Ok(_) => Pause::Over,
                    Err(err) if err.raw_os_error() == Some(libc::EINVAL) => Pause::Over,
                    Err(err) => Pause::SourceFailed(gone(&err)),
                })
            }
        }
    }

    /// Gives the receiver what is in the pipe.
    fn drain_pipe(&mut self, relay: &mut Relay) -> Result<(), Pause> {
        let Some(slot) = self.table.owned(relay.to) else { return Err(Pause::Over) };
        let (Some(pipe), Some(stream)) = (&mut relay.pipe, &slot.stream) else { return Err(Pause::Over) };
        if relay.left == 0 && relay.after == After::Close && !slot.corked {
            // The kernel takes 16 pages from a pipe at once. In between it sends what does not fill a segment, whenever
            // the receiver acknowledges something. A segment costs as much as 30 KB of its content. A cork makes all
            // segments full, and the last one takes the end of the connection along: 100 KB on a connection of their
            // own cost a fifth less. If the cork fails, nothing else does.
            slot.corked = socket::cork(stream).is_ok();
        }
        while pipe.held > 0 {
            match retried(|| pipe.drain(stream)) {
                Ok(moved) => relay.moved += moved as u64,
                Err(err) if err.kind() == ErrorKind::WouldBlock => {
                    slot.output = Output::Blocked;
                    return Err(Pause::Blocked);
                }
                Err(_) => return Err(Pause::ReceiverFailed),
            }
        }
        if let Some(pipe) = relay.pipe.take() {
            self.pipes.put_back(pipe);
        }
        Ok(())
    }

    fn keep(&mut self, from: Conn, relay: Box<Relay>) {
        if let Some(slot) = self.table.owned(from) {
            slot.relay = Some(relay);
        }
    }

    /// The receiver is fed no more. What the kernel holds back leaves with the next flush: with the end of the
    /// connection, or alone.
    pub(crate) fn part(&mut self, relay: &Relay) {
        let Some(to) = self.table.owned(relay.to) else { return };
        to.fed_by = None;
        if to.corked {
            self.mark_dirty(relay.to);
        }
    }
}

fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        thread,
    };

    use weir_proxy::io::{Close, Io};

    use super::*;
    use crate::{Driver, Limits, SocketOptions, pipe::Pipes};

    /// Two peers, and our ends of their connections.
    fn peers(reactor: &mut Reactor) -> [(TcpStream, Conn); 2] {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
        let mut events = Vec::new();
        [(); 2].map(|()| {
            let stream = TcpStream::connect(address).unwrap();
            loop {
                reactor.poll(None, &mut events).unwrap();
                if let Some(Event::Accepted { conn, .. }) = events.pop() {
                    reactor.flush();
                    return (stream, conn);
                }
            }
        })
    }

    /// Runs batches until the handler knows that `len` bytes were relayed.
    fn until_relayed(reactor: &mut Reactor, from: Conn, len: usize) {
        let (mut relayed, mut events) = (0, Vec::new());
        while relayed < len as u64 {
            reactor.flush();
            reactor.poll(None, &mut events).unwrap();
            for event in events.drain(..) {
                match event {
                    Event::Relayed { conn, bytes } if conn == from => relayed += bytes,
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn relay_goes_on_in_a_pipe_of_one_page() {
        const PAGE_BYTES: usize = 4096;
        let mut reactor = Reactor::new(Limits { pipes: 1, ..Limits::default() }).unwrap();
        reactor.pipes = Pipes::of_one(PAGE_BYTES);
        let [(mut source, from), (mut receiver, to)] = peers(&mut reactor);
        let bytes: Vec<u8> = (0..100 * PAGE_BYTES + 7).map(|n| (n / 251) as u8).collect();
        reactor.relay(from, to, bytes.len() as u64, After::GoOn);
        let (sent, len) = (bytes.clone(), bytes.len());
        let peers = thread::spawn(move || {
            let sender = thread::spawn(move || source.write_all(&sent).map(|()| source));
            let mut got = vec![0; len];
            receiver.read_exact(&mut got).unwrap();
            (got, sender.join().unwrap().unwrap(), receiver)
        });
        until_relayed(&mut reactor, from, bytes.len());
        assert!(peers.join().unwrap().0 == bytes);
        assert_eq!(reactor.table.peek(from).map(|slot| slot.next_read), Some(NextRead::Head));
    }

    /// Relays `len` bytes until the handler knows of all of them, and checks that the kernel holds the last back.
    fn relay_to_the_last(reactor: &mut Reactor, source: &mut TcpStream, from: Conn, to: Conn, len: usize) {
        reactor.relay(from, to, len as u64, After::Close);
        source.write_all(&vec![7; len]).unwrap();
        until_relayed(reactor, from, len);
        assert!(reactor.table.peek(to).unwrap().corked);
    }

    #[test]
    fn end_of_a_relay_is_held_back_for_the_close_and_sent_without_it() {
        const BYTES: usize = 40_007;
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(mut source, from), (mut receiver, to)] = peers(&mut reactor);
        let mut got = vec![0; BYTES];
        for _ in 0..2 {
            relay_to_the_last(&mut reactor, &mut source, from, to, BYTES);
            reactor.flush();
            assert!(!reactor.table.peek(to).unwrap().corked);
            receiver.read_exact(&mut got).unwrap();
        }
        relay_to_the_last(&mut reactor, &mut source, from, to, BYTES);
        reactor.close(to, Close::Cut);
        reactor.flush();
        receiver.read_exact(&mut got).unwrap();
        assert!(!reactor.table.peek(to).unwrap().corked, "a reset overtakes nothing");
    }

    #[test]
    fn end_of_a_relay_is_sent_when_its_source_is_closed() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let [(_source, from), (receiver, to)] = peers(&mut reactor);
        reactor.relay(from, to, 9, After::Close);
        reactor.flush();
        let slot = reactor.table.owned(to).unwrap();
        socket::cork(slot.stream.as_ref().unwrap()).unwrap();
        (&mut slot.stream.as_ref().unwrap()).write_all(b"held").unwrap();
        slot.corked = true;
        receiver.set_nonblocking(true).unwrap();
        assert!(receiver.peek(&mut [0]).is_err());
        reactor.close(from, Close::Flush);
        reactor.flush();
        assert!(!reactor.table.peek(to).unwrap().corked);
        assert_eq!(receiver.peek(&mut [0; 9]).unwrap(), 4);
    }
}
