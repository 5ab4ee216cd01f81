//! The listening sockets of one worker, and how many connections to take from a backlog at once. Listeners are
//! level-triggered: a backlog that is not empty is reported again.

use std::{
    collections::HashMap,
    io,
    net::TcpListener,
    os::fd::{AsFd, OwnedFd},
};

use weir_proxy::io::TransportAddress;

use crate::{poller::EDGE, socket};

/// What accepted sockets inherit from their listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    pub nodelay: bool,
    /// Probe a peer silent for so long; 0: never.
    pub keepalive_idle_s: u32,
    /// Clients send first, so the kernel reports a connection when its first bytes are there, and they are read at
    /// once. This saves a wake-up. With a connection for each request, the same CPU time serves 22–25 % more requests
    /// at light load, and as many as before when busy.
    pub defer_accept: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { nodelay: true, keepalive_idle_s: 0, defer_accept: false }
    }
}

/// Most connections taken off one backlog in one batch.
const TAKE_MAX: u32 = 64;

pub struct Listener {
    pub socket: TcpListener,
    pub at: TransportAddress,
    pub options: SocketOptions,
    /// The socket is bound and does not listen, because the agent has shut it: the kernel refuses clients, until the
    /// agent has it listen again.
    pub is_shut: bool,
    take: u32,
    /// The batch in which the last `take` was used up.
    used_up: u64,
}

impl Listener {
    pub fn new(fd: OwnedFd, options: SocketOptions) -> io::Result<Self> {
        let is_shut = !socket::is_listening(fd.as_fd());
        if is_shut && !socket::can_listen(fd.as_fd()) {
            let why = "the descriptor is neither a listening TCP socket nor a bound one that is not connected";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let socket = TcpListener::from(fd);
        socket.set_nonblocking(true)?;
        let at = TransportAddress::tcp(socket.local_addr()?);
        let listener = Self { socket, at, options, is_shut, take: 1, used_up: 0 };
        listener.set_options()?;
        Ok(listener)
    }

    /// Costs nothing when they are what they were: a new Plan changes few of a thousand listeners.
    pub fn tune(&mut self, options: SocketOptions) -> io::Result<()> {
        if std::mem::replace(&mut self.options, options) == options { Ok(()) } else { self.set_options() }
    }

    fn set_options(&self) -> io::Result<()> {
        let SocketOptions { nodelay, keepalive_idle_s, defer_accept } = self.options;
        socket::set_defer_accept(&self.socket, defer_accept)?;
        socket::set_nodelay(&self.socket, nodelay)?;
        socket::set_keepalive(&self.socket, keepalive_idle_s)
    }

    /// What the poller reports of it. A socket that is shut is over all the time, so it is reported only when that changes:
    /// when a client comes, it listens again.
    pub fn watched(&self, what: u32) -> u32 {
        if self.is_shut { what | EDGE } else { what }
    }

    /// How many connections to take in batch number `batch`: usually one, so that no system call is spent to learn that
    /// the backlog is empty; twice as many each time that it was not.
    pub fn take(&mut self, batch: u64) -> u32 {
        self.take = if self.used_up + 1 == batch { (self.take * 2).min(TAKE_MAX) } else { 1 };
        self.take
    }

    pub fn used_up(&mut self, batch: u64) {
        self.used_up = batch;
    }
}

/// All of a worker's, each at an index that stays, found by address.
#[derive(Default)]
pub struct Listeners {
    places: Vec<Option<Listener>>,
    by_address: HashMap<TransportAddress, usize>,
    free: Vec<usize>,
}

impl Listeners {
    /// Takes one in, where no other is; returns its index.
    pub fn put(&mut self, listener: Listener) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.by_address.insert(listener.at, index);
        self.places[index] = Some(listener);
        index
    }

    pub fn take(&mut self, at: TransportAddress) -> Option<Listener> {
        let index = self.by_address.remove(&at)?;
        self.free.push(index);
        self.places[index].take()
    }

    pub fn at(&mut self, index: usize) -> Option<&mut Listener> {
        self.places.get_mut(index)?.as_mut()
    }

    pub fn find(&mut self, at: TransportAddress) -> Option<&mut Listener> {
        let index = *self.by_address.get(&at)?;
        self.at(index)
    }

    pub fn each(&self) -> impl Iterator<Item = (usize, &Listener)> {
        self.places.iter().enumerate().filter_map(|(index, listener)| Some((index, listener.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener() -> Listener {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        Listener::new(socket.into(), SocketOptions::default()).unwrap()
    }

    #[test]
    fn takes_more_while_backlog_stays_full() {
        let mut listener = listener();
        let mut takes = Vec::new();
        for batch in 1..9 {
            takes.push(listener.take(batch));
            listener.used_up(batch);
        }
        assert_eq!(takes, [2, 4, 8, 16, 32, 64, 64, 64]);
        assert_eq!(listener.take(20), 1);
    }

    #[test]
    fn refuses_descriptor_that_does_not_listen_and_one_of_another_protocol() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let connected = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let unbound = socket::open(&"127.0.0.1:80".parse().unwrap(), None).unwrap();
        for fd in [OwnedFd::from(one), datagrams.into(), connected.into(), unbound.into()] {
            assert!(Listener::new(fd, SocketOptions::default()).is_err());
        }
    }

    #[test]
    fn listeners_are_found_by_address_and_their_places_used_again() {
        let mut listeners = Listeners::default();
        let indices = [(); 3].map(|()| listeners.put(listener()));
        assert_eq!(indices, [0, 1, 2]);
        let address = listeners.at(1).unwrap().at;
        assert_eq!(listeners.take(address).map(|taken| taken.at), Some(address));
        assert!(listeners.find(address).is_none() && listeners.at(1).is_none());
        assert_eq!(listeners.put(listener()), 1);
        assert_eq!(listeners.each().count(), 3);
    }
}
