//! What a worker needs of its driver beyond what its proxy needs (`weir_proxy::io::Io`): a turn of events, and where to
//! listen. The epoll [`Reactor`](crate::Reactor) is one driver. Another driver implements this trait, and `main` names
//! it.

use std::{io, os::fd::OwnedFd, time::Duration};

use weir_proxy::{
    datagrams::io::{Arrival, DatagramIo},
    io::{Event, TransportAddress},
};

use crate::{SocketOptions, Waker};

pub trait Driver: DatagramIo + Sized {
    /// # Errors
    /// The kernel refuses what a driver needs from the begin on.
    fn new(limits: Limits) -> io::Result<Self>;

    /// What another thread interrupts [`poll`](Self::poll) with.
    fn waker(&self) -> Waker;

    /// Waits for events, at most `wait`, and appends them to `events`. True if a [`Waker`] was used.
    ///
    /// # Errors
    /// Only if waiting itself fails, which no peer can cause.
    fn poll(&mut self, wait: Option<Duration>, events: &mut Vec<Event>) -> io::Result<bool>;

    /// Appends the datagrams of the last [`poll`](Self::poll).
    fn take_arrivals(&mut self, into: &mut Vec<Arrival>);

    /// Sends what the handler queued in this batch.
    fn flush(&mut self);

    /// Accepts on a listening socket, or receives on a UDP socket, from now on, and no more on an earlier one at the same
    /// address. Returns the address.
    ///
    /// # Errors
    /// `fd` is neither a listening TCP socket nor a bound UDP socket, or the driver can watch no more sockets.
    fn listen(&mut self, fd: OwnedFd, options: SocketOptions) -> io::Result<TransportAddress>;

    /// Changes the options of connections accepted from now on; false if nobody listens there for connections.
    ///
    /// # Errors
    /// The kernel refuses an option.
    fn tune(&mut self, at: TransportAddress, options: SocketOptions) -> io::Result<bool>;

    /// Stops accepting there. Connections in the backlog are left for others who hold the socket.
    ///
    /// # Errors
    /// Only if watching itself fails.
    fn unlisten(&mut self, at: TransportAddress) -> io::Result<()>;

    /// Stops accepting or receiving there. Sessions of datagrams can still answer.
    ///
    /// # Errors
    /// Only if watching itself fails.
    fn mute(&mut self, at: TransportAddress) -> io::Result<()>;

    fn listeners(&self) -> Vec<TransportAddress>;

    /// Connections of any phase, those included that only send their rest.
    fn connections(&self) -> usize;
}

/// What a driver holds at most.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The limit of connections, to clients and servers together. Accepting stops when clients have half of them, so
    /// that each client can have a server. A connect beyond the limit fails with [`Gone::Local`].
    pub connections: usize,
    /// Sockets of sessions of datagrams, which count as connections. Opening one more fails with
    /// [`NotOpened::NoSocket`].
    pub datagram_sockets: usize,
    /// Ports of this machine for those sockets. The kernel keeps the limit: opening one more fails in the same way.
    pub datagram_ports: usize,
    /// Pipes for relaying, of two descriptors each, beside the connections.
    pub pipes: usize,
    /// Blocks kept for reuse.
    pub idle_blocks: usize,
    /// The limit of memory for blocks. Beyond it, connections that the handler has given up end at once. The handler
    /// has to give up other connections itself.
    pub buffer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 500_000,
            datagram_sockets: 65_536,
            datagram_ports: 28_232,
            pipes: 256,
            idle_blocks: 2048,
            buffer_bytes: 1 << 30,
        }
    }
}
