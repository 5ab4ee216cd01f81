//! Datagrams of one worker: the sockets that clients send to, and a connected socket per session.
//!
//! What a pair of datagrams costs is system calls. At a listener, one `recvmmsg` takes up to [`TAKE_MAX`] datagrams, and
//! one `sendmmsg` sends all answers of a batch. A session's own socket costs one `send` and one `recv` per pair. Most
//! stay in the epoll set from session to session. Datagrams stay where they were received until they are sent on.
//!
//! All sockets are level-triggered: what is left is reported again, so there is nothing to remember. A socket that had
//! datagrams left is asked for more of them the next time.

mod arena;
mod headers;
mod listeners;
mod outbox;
mod pairs;
mod servers;
mod trains;

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
};

use weir_proxy::{
    datagrams::io::{Arrival, Datagram, ListenerId, NotOpened, ServerSocket},
    io::TransportAddress,
};

use crate::{
    poller::{Poller, READABLE, Report},
    socket::gone,
};
use arena::Arena;
use headers::Headers;
use listeners::Listeners;
use outbox::Outbox;
use servers::Servers;

/// The maximum of datagrams or trains that one call takes off a socket.
const TAKE_MAX: usize = 32;
/// The socket of a session that is asked for so many datagrams at once receives trains from then on.
const TRAINS_FROM: usize = 4;

/// Tokens of datagrams have both bits. Those of listeners of connections have only the first.
pub(crate) const DATAGRAM_TOKEN: u64 = 3 << 62;
/// The socket of a session.
const SERVER_TOKEN: u64 = 1 << 61;

pub(crate) struct Datagrams {
    listeners: Listeners,
    servers: Servers,
    arena: Arena,
    headers: Headers,
    arrivals: Vec<Arrival>,
    outbox: Outbox,
    /// Sockets whose sessions have ended. They are released at the end of the batch.
    shut: Vec<ServerSocket>,
    batch: u32,
}

impl Datagrams {
    /// For at most so many sockets of sessions.
    pub fn new(sockets_max: usize) -> Self {
        Self {
            listeners: Listeners::default(),
            servers: Servers::new(sockets_max),
            arena: Arena::default(),
            headers: Headers::new(),
            arrivals: Vec::new(),
            outbox: Outbox::default(),
            shut: Vec::new(),
            batch: 2,
        }
    }

    pub fn listen(&mut self, fd: OwnedFd, at: TransportAddress, poller: &Poller) -> io::Result<()> {
        self.arena.prepare();
        let (id, before) = self.listeners.put(fd, at)?;
        if let Some(before) = before {
            poller.remove(before.as_fd())?;
        }
        let Some(socket) = self.listeners.socket(id) else { return Ok(()) };
        let added = poller.add(socket, READABLE, listener_token(id));
        if added.is_err() {
            self.listeners.take(at);
        }
        added
    }

    /// Receives no more there. Answers still go out.
    pub fn mute(&mut self, at: TransportAddress, poller: &Poller) -> io::Result<()> {
        let Some(id) = self.listeners.find(at) else { return Ok(()) };
        let Some(socket) = self.listeners.socket(id) else { return Ok(()) };
        poller.change(socket, 0, listener_token(id))
    }

    pub fn unlisten(&mut self, at: TransportAddress, poller: &Poller) -> io::Result<()> {
        match self.listeners.take(at) {
            // Others may hold the socket, so that closing our descriptor would leave it in the set.
            Some(socket) => poller.remove(socket.as_fd()),
            None => Ok(()),
        }
    }

    pub fn listens_at(&self) -> impl Iterator<Item = TransportAddress> {
        self.listeners.addresses()
    }

    /// Takes what a socket has, as far as there is room in this batch.
    pub fn ready(&mut self, report: Report) {
        let number = report.token as u32;
        if report.token & SERVER_TOKEN == 0 {
            return self.receive_from_clients(ListenerId(number));
        }
        self.receive_from_server(number);
    }

    pub fn take_arrivals(&mut self, into: &mut Vec<Arrival>) {
        into.append(&mut self.arrivals);
    }

    /// Sends what was queued, closes what was shut, and forgets the datagrams of the batch.
    pub fn flush(&mut self) {
        let Self { outbox, arena, listeners, servers, headers, arrivals, .. } = self;
        outbox.send(arena, listeners, servers, headers, arrivals);
        self.shut.drain(..).for_each(|socket| self.servers.release(socket));
        self.arena.clear();
        self.batch = self.batch.wrapping_add(1);
    }

    /// Sockets of sessions, with those that rest.
    pub fn sockets(&self) -> usize {
        self.servers.len()
    }

    /// Whether there are arrivals that no poll has given out yet.
    pub fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty()
    }

    pub fn bound_to(&self, listener: ListenerId) -> Option<TransportAddress> {
        self.listeners.address(listener)
    }

    /// Makes room for a connection. False: no socket rests.
    pub fn close_one_that_rests(&mut self) -> bool {
        self.servers.close_one_that_rests()
    }

    /// Opens a socket, if there are less than `most`.
    pub fn open(
        &mut self,
        to: SocketAddr,
        from: Option<SocketAddr>,
        most: usize,
        poller: &Poller,
    ) -> Result<ServerSocket, NotOpened> {
        self.servers.open(&to, from, most, poller).map_err(|err| not_opened(&err, from.is_some()))
    }

    pub fn forward(&mut self, datagram: Datagram, to: ServerSocket) {
        self.outbox.forward(datagram, to);
    }

    pub fn reply(&mut self, datagram: Datagram, from: ListenerId, to: SocketAddr) {
        self.outbox.reply(datagram, from, to);
    }

    /// Releases a socket at the end of the batch. Another session may have its client and server at once.
    pub fn shut(&mut self, socket: ServerSocket) {
        self.servers.give_up_pair(socket);
        self.shut.push(socket);
    }

    fn receive_from_clients(&mut self, listener: ListenerId) {
        let Some(place) = self.listeners.place(listener) else { return };
        let (socket, trains) = (place.socket.as_fd(), &mut place.trains);
        let Ok(count) = self.headers.receive(socket, &mut self.arena, TAKE_MAX, trains.are_received) else { return };
        let first = self.arrivals.len();
        for (peer, datagrams) in self.headers.peers(count).zip(self.arena.latest(count)) {
            let Some(peer) = peer else { continue };
            self.arrivals.extend(datagrams.map(|datagram| Arrival::FromClient { listener, peer, datagram }));
        }
        if count == TAKE_MAX && !trains.are_received && come_in_trains(&self.arrivals[first..]) {
            trains.receive(socket);
        }
    }

    fn receive_from_server(&mut self, slot: u32) {
        let Some((socket, place)) = self.servers.in_slot(slot) else { return };
        let take = place.pace.take(self.batch).min(self.arena.room());
        if take >= TRAINS_FROM {
            place.trains.receive(place.socket.as_fd());
        }
        let received = match take {
            0 => return,
            1 if !place.trains.are_received => self.arena.receive_one(&place.socket),
            take => self.headers.receive(place.socket.as_fd(), &mut self.arena, take, place.trains.are_received),
        };
        match received {
            Ok(count) => {
                if count == take {
                    place.pace.used_up(self.batch);
                }
                let datagrams = self.arena.latest(count).flatten();
                self.arrivals.extend(datagrams.map(|datagram| Arrival::FromServer { socket, datagram }));
            }
            Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
            Err(err) => self.arrivals.push(Arrival::Refused { socket, why: gone(&err) }),
        }
    }
}

/// Whether most datagrams of clients came right behind another one of the same client.
fn come_in_trains(arrivals: &[Arrival]) -> bool {
    let pairs = arrivals.windows(2).filter(|pair| match pair {
        [Arrival::FromClient { peer: one, .. }, Arrival::FromClient { peer: next, .. }] => one == next,
        _ => false,
    });
    pairs.count() * 2 > arrivals.len()
}

/// How many datagrams to ask the socket of a session for: usually one, by the cheapest call; twice as many each time that
/// some were left.
#[derive(Clone, Copy, Default)]
struct Pace {
    doublings: u8,
    /// The batch in which it had as many as were asked for. If it is reported in the next one, some were left.
    used_up: u32,
}

impl Pace {
    fn take(&mut self, batch: u32) -> usize {
        let some_left = self.used_up.wrapping_add(1) == batch;
        self.doublings = if some_left { (self.doublings + 1).min(TAKE_MAX.trailing_zeros() as u8) } else { 0 };
        1 << self.doublings
    }

    fn used_up(&mut self, batch: u32) {
        self.used_up = batch;
    }
}

fn not_opened(err: &io::Error, of_client: bool) -> NotOpened {
    if of_client && matches!(err.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) {
        return NotOpened::ClientAddress;
    }
    match err.raw_os_error() {
        _ if is_lack_of_sockets(err) => NotOpened::NoSocket,
        Some(libc::EAGAIN) => NotOpened::NoPort,
        _ => NotOpened::Gone(gone(err)),
    }
}

fn is_lack_of_sockets(err: &io::Error) -> bool {
    // The last one: the epoll sets of this user hold as many sockets as they may.
    matches!(err.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::ENOSPC))
}

fn listener_token(id: ListenerId) -> u64 {
    DATAGRAM_TOKEN | u64::from(id.0)
}

/// Without the generation: a socket may stay in the epoll set from session to session.
fn server_token(slot: u32) -> u64 {
    DATAGRAM_TOKEN | SERVER_TOKEN | u64::from(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_socket_is_asked_for_more_at_a_time_and_a_quiet_one_for_less() {
        let (mut pace, mut asked) = (Pace::default(), Vec::new());
        for batch in 5..=12 {
            asked.push(pace.take(batch));
            if batch != 11 {
                pace.used_up(batch);
            }
        }
        assert_eq!(asked, [1, 2, 4, 8, 16, 32, 32, 1]);
        assert_eq!(pace.take(20), 1, "it was not reported at once");
    }

    #[test]
    fn error_tells_what_a_new_socket_lacked() {
        let lack = |errno, of_client| not_opened(&io::Error::from_raw_os_error(errno), of_client);
        for errno in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM, libc::ENOSPC] {
            assert_eq!([false, true].map(|of_client| lack(errno, of_client)), [NotOpened::NoSocket; 2]);
        }
        assert_eq!(lack(libc::EAGAIN, false), NotOpened::NoPort);
        for errno in [libc::EADDRINUSE, libc::EADDRNOTAVAIL] {
            assert_eq!(lack(errno, true), NotOpened::ClientAddress);
        }
        assert_eq!(not_opened(&io::ErrorKind::AddrInUse.into(), true), NotOpened::ClientAddress, "of the same process");
        for errno in [libc::EAFNOSUPPORT, libc::EACCES, libc::EPERM, libc::EINVAL] {
            assert_eq!(lack(errno, false), NotOpened::Gone(weir_proxy::io::Gone::Local));
        }
    }

    #[test]
    fn tokens_of_the_last_slots_are_no_wake_and_no_listener_of_connections() {
        let token = server_token(u32::MAX);
        assert!(token != u64::MAX && token & DATAGRAM_TOKEN == DATAGRAM_TOKEN);
        assert_eq!(token as u32, u32::MAX);
        assert_eq!(listener_token(ListenerId(u32::MAX)) & SERVER_TOKEN, 0);
    }
}
