//! The listening sockets of one worker, and how many connections to take off a backlog at once.
//! Listeners are level-triggered: what is left in a backlog is reported again.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::fd::{AsFd, OwnedFd},
};

use crate::socket;

/// What accepted sockets inherit from their listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    pub nodelay: bool,
    /// Probe a peer silent for so long; 0: never.
    pub keepalive_idle_s: u32,
    /// Clients speak first: the kernel hands over a connection when its first bytes are there, and they are read at once.
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
    pub address: SocketAddr,
    pub read_at_once: bool,
    take: u32,
    /// The batch in which the last `take` was used up.
    used_up: u64,
}

impl Listener {
    pub fn new(fd: OwnedFd, options: SocketOptions) -> io::Result<Self> {
        if !socket::is_listening(fd.as_fd()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the descriptor is not a listening TCP socket"));
        }
        let socket = TcpListener::from(fd);
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let mut listener = Self { socket, address, read_at_once: false, take: 1, used_up: 0 };
        listener.tune(options)?;
        Ok(listener)
    }

    pub fn tune(&mut self, options: SocketOptions) -> io::Result<()> {
        self.read_at_once = options.defer_accept;
        socket::set_defer_accept(&self.socket, options.defer_accept)?;
        socket::set_nodelay(&self.socket, options.nodelay)?;
        socket::set_keepalive(&self.socket, options.keepalive_idle_s)
    }

    /// How many connections to take in batch number `batch`: one as a rule, so that no call is spent on learning that
    /// the backlog is empty; twice as many each time it was not.
    pub fn take(&mut self, batch: u64) -> u32 {
        self.take = if self.used_up + 1 == batch { (self.take * 2).min(TAKE_MAX) } else { 1 };
        self.take
    }

    pub fn used_up(&mut self, batch: u64) {
        self.used_up = batch;
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
    fn refuses_descriptor_that_does_not_listen() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(Listener::new(one.into(), SocketOptions::default()).is_err());
    }
}
