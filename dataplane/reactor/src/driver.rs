//! What a worker asks of its driver beyond what its proxy does (`weir_proxy::io::Io`): a turn of events, and where to
//! listen. The epoll [`Reactor`](crate::Reactor) is one driver; another takes its place by being one, and `main` names it.

use std::{io, os::fd::OwnedFd, time::Duration};

use weir_proxy::io::{Event, Io, TransportAddress};

use crate::{SocketOptions, Waker};

pub trait Driver: Io + Sized {
    /// # Errors
    /// The kernel refuses what a driver needs from the begin on.
    fn new(limits: Limits) -> io::Result<Self>;

    /// What another thread interrupts [`poll`](Self::poll) with.
    fn waker(&self) -> Waker;

    /// Waits for something to happen, at most `wait`, and appends it to `events`. True when a [`Waker`] was used.
    ///
    /// # Errors
    /// Only when waiting itself fails, which no peer can cause.
    fn poll(&mut self, wait: Option<Duration>, events: &mut Vec<Event>) -> io::Result<bool>;

    /// Sends what the handler queued in this batch.
    fn flush(&mut self);

    /// Accepts on a listening socket from now on, in place of one at the same address. Returns where that is.
    ///
    /// # Errors
    /// `fd` is no listening TCP socket (what brings datagrams is refused), or the driver can watch no more.
    fn listen(&mut self, fd: OwnedFd, options: SocketOptions) -> io::Result<TransportAddress>;

    /// Changes what connections accepted from now on inherit; false when nobody listens there.
    ///
    /// # Errors
    /// The kernel refuses an option.
    fn tune(&mut self, at: TransportAddress, options: SocketOptions) -> io::Result<bool>;

    /// Accepts no more there; what waits in the backlog is for whoever else holds the socket.
    ///
    /// # Errors
    /// Only when watching itself fails.
    fn unlisten(&mut self, at: TransportAddress) -> io::Result<()>;

    fn listeners(&self) -> Vec<TransportAddress>;

    /// Connections of any phase, those included that only send their rest.
    fn connections(&self) -> usize;
}

/// What a driver holds at most.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections of both sides. Accepting stops when clients have half of them, so that each can have a server; a
    /// connect beyond all fails with [`Gone::Local`].
    pub connections: usize,
    /// Pipes for relaying, of two descriptors each, beside the connections.
    pub pipes: usize,
    /// Blocks kept for reuse.
    pub idle_blocks: usize,
    /// Memory for blocks in use. Beyond it, connections that the handler has given up end at once; whatever else holds blocks
    /// is the handler's to give up.
    pub buffer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 500_000, pipes: 256, idle_blocks: 2048, buffer_bytes: 1 << 30 }
    }
}
