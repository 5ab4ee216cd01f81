//! Registering connections with epoll, no sooner than needed. A client that has asked and waits for its answer has
//! nothing to say; if its connection ends with the answer, as one in each request does without keep-alive, it never
//! enters the set: a twentieth of what such a request costs.
//!
//! What a client does meanwhile is learnt when it is registered, because that reports what is there already.

use std::{collections::VecDeque, io, os::fd::AsFd, time::Duration};

use weir_proxy::io::{Conn, Event, Time};

use crate::{
    driver::{Reactor, gone, token_of},
    poller::{EDGE, PEER_DONE, READABLE, WRITABLE},
    table::Phase,
};

/// How long a connection rests at most: so long does it take to learn that a client has given up.
const REST_MAX: Duration = Duration::from_millis(20);

#[derive(Default)]
pub struct Registration {
    /// Accepted in this batch.
    new: Vec<Conn>,
    /// Until when; the soonest first.
    resting: VecDeque<(Time, Conn)>,
}

impl Registration {
    /// When somebody has rested enough.
    pub fn next(&self) -> Option<Time> {
        self.resting.front().map(|(until, _)| *until)
    }
}

impl Reactor {
    /// The end of the batch tells whether a new connection rests.
    pub(crate) fn register_later(&mut self, conn: Conn) {
        self.registration.new.push(conn);
    }

    pub(crate) fn let_rest(&mut self, conn: Conn, on: bool) {
        let Some(slot) = self.table.owned(conn) else { return };
        if std::mem::replace(&mut slot.resting, on) && !on {
            self.register(conn);
        }
    }

    /// The end of a batch.
    pub(crate) fn register_new(&mut self) {
        let until = self.now + REST_MAX;
        let mut new = std::mem::take(&mut self.registration.new);
        for conn in new.drain(..) {
            match self.table.at(conn) {
                Some(slot) if slot.resting => self.registration.resting.push_back((until, conn)),
                _ => self.register(conn),
            }
        }
        self.registration.new = new;
    }

    /// The begin of a batch.
    pub(crate) fn register_rested(&mut self) {
        while self.registration.next().is_some_and(|until| until <= self.now)
            && let Some((_, conn)) = self.registration.resting.pop_front()
        {
            self.register(conn);
        }
    }

    /// Registers a connection that is not yet; one that cannot be is gone.
    pub(crate) fn register(&mut self, conn: Conn) {
        let Some(slot) = self.table.at(conn).filter(|slot| !slot.registered) else { return };
        slot.registered = true;
        let what = READABLE | PEER_DONE | EDGE | if slot.watches_writable { WRITABLE } else { 0 };
        let (Some(stream), phase) = (&slot.stream, slot.phase) else { return };
        if let Err(err) = self.poller.add(stream.as_fd(), what, token_of(conn)) {
            self.free(conn.slot);
            if matches!(phase, Phase::Open | Phase::Connecting) {
                self.pending.push(Event::Gone { conn, why: gone(&err) });
            }
        }
    }

    /// Asks for reports of a socket that becomes writable.
    pub(crate) fn report_writable(&mut self, conn: Conn) -> io::Result<()> {
        let Some(slot) = self.table.at(conn) else { return Ok(()) };
        slot.watches_writable = true;
        if !slot.registered {
            self.register(conn);
            return Ok(());
        }
        let Some(stream) = &slot.stream else { return Ok(()) };
        self.poller.change(stream.as_fd(), READABLE | PEER_DONE | WRITABLE | EDGE, token_of(conn))
    }
}
