//! Accepting: takes a few connections at a time, reads them at once if their first bytes are known to be there, and
//! leaves them in the backlog while this process has no room for them.

use std::{io::ErrorKind, os::fd::AsFd, time::Duration};

use weir_proxy::io::{Conn, Event};

use crate::{
    poller::READABLE,
    reactor::{LISTENER_TOKEN, Reactor},
    slot::{Input, List},
    socket,
};

/// How long the backlog waits when there is no descriptor, no memory or no room in the table.
const PAUSE: Duration = Duration::from_millis(50);

impl Reactor {
    pub(crate) fn accept(&mut self, index: usize, events: &mut Vec<Event>) {
        let batch = self.batch;
        let Some(listener) = self.listeners.at(index) else { return };
        let (take, at, read_at_once) = (listener.take(batch), listener.at, listener.options.defer_accept);
        for _ in 0..take {
            if !self.has_room_for_client() && !self.end_a_departing() {
                return self.pause_accepting();
            }
            let Some(listener) = self.listeners.at(index) else { return };
            match socket::accept(&listener.socket) {
                Ok((stream, peer)) => {
                    let conn = self.table.accept(stream);
                    events.push(Event::Accepted { conn, listener: at, peer });
                    self.begin_reading(conn, read_at_once, events);
                }
                Err(err) => match err.kind() {
                    ErrorKind::WouldBlock => return,
                    // The peer left while it waited, or a signal came: the next may be fine.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => return self.pause_accepting(),
                },
            }
        }
        if let Some(listener) = self.listeners.at(index) {
            listener.used_up(batch);
        }
    }

    /// The second half of the connections is for servers, which the clients of the first half need. If servers use more
    /// than their half, because some still send their rest, new clients wait.
    fn has_room_for_client(&mut self) -> bool {
        self.table.accepted() < self.limits.connections / 2 && self.make_room()
    }

    /// Whether one more connection may begin. If there is no other room, a socket that rests is closed for it.
    pub(crate) fn make_room(&mut self) -> bool {
        self.room() > 0 || self.datagrams.close_one_that_rests()
    }

    /// How many connections more may begin.
    pub(crate) fn room(&self) -> usize {
        let used = self.table.len() + self.resets.waiting() + self.datagrams.sockets();
        self.limits.connections.saturating_sub(used)
    }

    /// An accepted connection that the handler has given up does not end at once.
    pub(crate) fn departs(&mut self, conn: Conn) {
        if !self.table.at(conn).is_some_and(|slot| slot.accepted && slot.lists.enter(List::Departing)) {
            return;
        }
        self.departing.push_back(conn);
        if self.departing.len() > 2 * self.table.slots() {
            let table = &mut self.table;
            self.departing.retain(|&conn| table.at(conn).is_some());
        }
    }

    /// Makes room: ends the connection that was given up first. False if there is none.
    pub(crate) fn end_a_departing(&mut self) -> bool {
        while let Some(conn) = self.departing.pop_front() {
            if self.table.at(conn).is_some() {
                self.abort(conn.slot);
                return true;
            }
        }
        false
    }

    /// Reads what is already there. Registering reports what arrives before it.
    fn begin_reading(&mut self, conn: Conn, read_at_once: bool, events: &mut Vec<Event>) {
        if read_at_once {
            if let Some(slot) = self.table.at(conn) {
                slot.input = Input::Waiting;
            }
            self.read(conn, events);
        }
        self.register_later(conn);
    }

    fn pause_accepting(&mut self) {
        self.accept_again = Some(self.now + PAUSE);
        self.watch_listeners(0);
    }

    pub(crate) fn accept_after_pause(&mut self) {
        if self.accept_again.is_some_and(|at| at <= self.now) {
            self.accept_again = None;
            self.watch_listeners(READABLE);
        }
    }

    fn watch_listeners(&self, what: u32) {
        for (index, listener) in self.listeners.each() {
            // The descriptor is open and in the set: epoll has no reason to refuse.
            let _ = self.poller.change(listener.socket.as_fd(), what, LISTENER_TOKEN | index as u64);
        }
    }
}
