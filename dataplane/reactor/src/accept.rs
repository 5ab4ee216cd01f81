//! Accepting: takes a few connections at a time, reads them at once if their first bytes are known to be there, and
//! leaves them in the backlog while this process has no room for them.

use std::{io::ErrorKind, os::fd::AsFd, time::Duration};

use weir_proxy::io::{Conn, Event};

use crate::{
    listener::Listener,
    poller::{Poller, READABLE},
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
        if listener.is_shut {
            return self.set_shut(index, false); // a client came: the next report is of it
        }
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
                    ErrorKind::InvalidInput => return self.set_shut(index, true),
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
            watch(&self.poller, index, listener, what);
        }
    }

    /// The agent has shut the socket, or has it listen again. Each change of what is watched has the kernel report once.
    #[cold]
    pub(crate) fn set_shut(&mut self, index: usize, is_shut: bool) {
        let what = if self.accept_again.is_some() { 0 } else { READABLE };
        if let Some(listener) = self.listeners.at(index).filter(|listener| listener.is_shut != is_shut) {
            listener.is_shut = is_shut;
            watch(&self.poller, index, listener, what);
        }
    }
}

fn watch(poller: &Poller, index: usize, listener: &Listener, what: u32) {
    // The descriptor is open and in the set: epoll has no reason to refuse.
    let _ = poller.change(listener.socket.as_fd(), listener.watched(what), LISTENER_TOKEN | index as u64);
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Shutdown, TcpListener, TcpStream},
        os::fd::{AsRawFd, OwnedFd},
    };

    use super::*;
    use crate::{Driver, Limits, SocketOptions};

    /// A socket that keeps its port when it is shut: one that was asked for.
    fn at_its_own_port() -> TcpListener {
        loop {
            let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            if let Ok(socket) = TcpListener::bind(free) {
                return socket;
            }
        }
    }

    /// How many clients come.
    fn accepted(reactor: &mut Reactor) -> usize {
        let mut events = Vec::new();
        for _ in 0..4 {
            reactor.poll(Some(Duration::from_millis(5)), &mut events).unwrap();
            reactor.flush();
        }
        events.iter().filter(|event| matches!(event, Event::Accepted { .. })).count()
    }

    #[test]
    fn socket_that_the_agent_shuts_costs_no_time_and_takes_clients_when_it_listens_again() {
        let socket = at_its_own_port();
        let shared = TcpStream::from(OwnedFd::from(socket.try_clone().unwrap()));
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let at = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(TcpStream::connect(at).unwrap());
            assert_eq!(accepted(&mut reactor), 1);
            shared.shutdown(Shutdown::Read).unwrap();
            assert_eq!(TcpStream::connect(at).unwrap_err().kind(), ErrorKind::ConnectionRefused);
            assert_eq!(accepted(&mut reactor), 0);
            assert!(reactor.accept_again.is_none(), "other listeners are not paused");
            let begun = std::time::Instant::now();
            for _ in 0..10 {
                reactor.poll(Some(Duration::from_millis(5)), &mut Vec::new()).unwrap();
            }
            assert!(begun.elapsed() >= Duration::from_millis(25), "it is reported again and again");
            // SAFETY: no pointers; the descriptor is open.
            assert_eq!(unsafe { libc::listen(shared.as_raw_fd(), 16) }, 0);
        }
        let _client = TcpStream::connect(at).unwrap();
        assert_eq!(accepted(&mut reactor), 1);
        let _another = TcpStream::connect(at).unwrap();
        assert_eq!(accepted(&mut reactor), 1, "it is level-triggered again");
    }

    #[test]
    fn socket_that_is_shut_already_costs_no_time_and_takes_clients_when_it_listens() {
        let socket = at_its_own_port();
        let shared = TcpStream::from(OwnedFd::from(socket.try_clone().unwrap()));
        shared.shutdown(Shutdown::Read).unwrap();
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let at = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
        assert_eq!(reactor.listeners().len(), 1);
        assert_eq!(TcpStream::connect(at).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(accepted(&mut reactor), 0);
        let begun = std::time::Instant::now();
        for _ in 0..10 {
            reactor.poll(Some(Duration::from_millis(5)), &mut Vec::new()).unwrap();
        }
        assert!(begun.elapsed() >= Duration::from_millis(25), "it is reported again and again");
        // SAFETY: no pointers; the descriptor is open.
        assert_eq!(unsafe { libc::listen(shared.as_raw_fd(), 16) }, 0);
        for _ in 0..2 {
            let _client = TcpStream::connect(at).unwrap();
            assert_eq!(accepted(&mut reactor), 1);
        }
        assert!(!reactor.listeners.at(0).unwrap().is_shut);
    }

    #[test]
    fn socket_that_is_shut_while_a_client_waits_pauses_no_other() {
        let socket = at_its_own_port();
        let shared = TcpStream::from(OwnedFd::from(socket.try_clone().unwrap()));
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        reactor.listen(socket.into(), SocketOptions::default()).unwrap();
        shared.shutdown(Shutdown::Read).unwrap();
        reactor.accept(0, &mut Vec::new());
        assert!(reactor.accept_again.is_none() && reactor.listeners.at(0).unwrap().is_shut);
    }
}
