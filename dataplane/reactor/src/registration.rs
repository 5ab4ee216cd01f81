//! Registering connections with epoll, as late as possible. A client that waits for its response has nothing to send.
//! If its connection ends with the response, as without keep-alive, it is never registered. That saves a twentieth of
//! such a request.
//!
//! Registering reports what the client did in the meantime.

use std::{collections::VecDeque, io, os::fd::AsFd, time::Duration};

use weir_proxy::io::{Conn, Event, Time};

use crate::{
    poller::{EDGE, PEER_DONE, READABLE, WRITABLE},
    reactor::{Reactor, token_of},
    slot::{Interest, Phase, Registration},
    socket::gone,
};

/// How long a connection rests at most: it may take that long to learn that a client has given up.
const REST_MAX: Duration = Duration::from_millis(20);

/// Connections that are not registered yet.
#[derive(Default)]
pub struct Unregistered {
    /// Accepted in this batch.
    new: Vec<Conn>,
    /// Until when; the soonest first.
    resting: VecDeque<(Time, Conn)>,
}

impl Unregistered {
    /// When the first connection has rested long enough.
    pub fn next(&self) -> Option<Time> {
        self.resting.front().map(|(until, _)| *until)
    }
}

impl Reactor {
    /// The end of the batch tells whether a new connection rests.
    pub(crate) fn register_later(&mut self, conn: Conn) {
        self.unregistered.new.push(conn);
    }

    pub(crate) fn let_rest(&mut self, conn: Conn, on: bool) {
        let Some(slot) = self.table.owned(conn) else { return };
        match slot.registration {
            Registration::Due if on => slot.registration = Registration::Resting,
            Registration::Resting if !on => self.register(conn, Interest::Readable),
            _ => {}
        }
    }

    /// The end of a batch.
    pub(crate) fn register_new(&mut self) {
        let until = self.now + REST_MAX;
        let mut new = std::mem::take(&mut self.unregistered.new);
        for conn in new.drain(..) {
            match self.table.at(conn) {
                Some(slot) if slot.registration == Registration::Resting => {
                    self.unregistered.resting.push_back((until, conn))
                }
                _ => self.register(conn, Interest::Readable),
            }
        }
        self.unregistered.new = new;
    }

    /// The begin of a batch.
    pub(crate) fn register_rested(&mut self) {
        while self.unregistered.next().is_some_and(|until| until <= self.now)
            && let Some((_, conn)) = self.unregistered.resting.pop_front()
        {
            self.register(conn, Interest::Readable);
        }
    }

    /// Registers a connection that has a socket and is not registered yet; one that cannot be is gone.
    pub(crate) fn register(&mut self, conn: Conn, interest: Interest) {
        let Some(slot) = self.table.at(conn) else { return };
        if let Registration::Registered(_) = slot.registration {
            return;
        }
        let (Some(stream), phase) = (&slot.stream, slot.phase) else { return };
        slot.registration = Registration::Registered(interest);
        if let Err(err) = self.poller.add(stream.as_fd(), reports_of(interest), token_of(conn)) {
            self.free(conn.slot);
            if matches!(phase, Phase::Open | Phase::Connecting) {
                self.pending.push(Event::Gone { conn, why: gone(&err) });
            }
        }
    }

    /// Asks for reports of a socket that becomes writable.
    pub(crate) fn report_writable(&mut self, conn: Conn) -> io::Result<()> {
        let Some(slot) = self.table.at(conn) else { return Ok(()) };
        let interest = Interest::ReadableAndWritable;
        match slot.registration {
            Registration::Due | Registration::Resting => self.register(conn, interest),
            Registration::Registered(Interest::ReadableAndWritable) => {}
            Registration::Registered(Interest::Readable) => {
                slot.registration = Registration::Registered(interest);
                let Some(stream) = &slot.stream else { return Ok(()) };
                return self.poller.change(stream.as_fd(), reports_of(interest), token_of(conn));
            }
        }
        Ok(())
    }
}

fn reports_of(interest: Interest) -> u32 {
    let input = READABLE | PEER_DONE | EDGE;
    match interest {
        Interest::Readable => input,
        Interest::ReadableAndWritable => input | WRITABLE,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use weir_proxy::io::Io;

    use super::*;
    use crate::{Driver, Limits, SocketOptions};

    fn accepted(reactor: &mut Reactor) -> (TcpStream, Conn) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = reactor.listen(socket.into(), SocketOptions::default()).unwrap();
        let (client, mut events) = (TcpStream::connect(at.address).unwrap(), Vec::new());
        loop {
            reactor.poll(None, &mut events).unwrap();
            if let Some(Event::Accepted { conn, .. }) = events.pop() {
                return (client, conn);
            }
        }
    }

    #[test]
    fn connection_is_registered_at_the_end_of_its_batch_or_of_its_rest() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let registration = |reactor: &Reactor, conn| reactor.table.peek(conn).unwrap().registration;
        let [(_client, rests), (_other, listens)] = [(); 2].map(|()| accepted(&mut reactor));
        reactor.resting(rests, true);
        assert_eq!(
            [rests, listens].map(|conn| registration(&reactor, conn)),
            [Registration::Resting, Registration::Due]
        );
        reactor.flush();
        assert_eq!(registration(&reactor, rests), Registration::Resting);
        assert_eq!(registration(&reactor, listens), Registration::Registered(Interest::Readable));
        reactor.resting(rests, false);
        assert_eq!(registration(&reactor, rests), Registration::Registered(Interest::Readable));
        reactor.report_writable(rests).unwrap();
        assert_eq!(registration(&reactor, rests), Registration::Registered(Interest::ReadableAndWritable));
    }
}
