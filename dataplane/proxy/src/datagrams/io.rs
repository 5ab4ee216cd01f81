//! What sessions of datagrams need of a driver, beside [`Io`](crate::io::Io). A driver passes a batch of [`Arrival`]s.
//! The proxy answers by calls of [`DatagramIo`]. After the batch, the driver sends what was queued. It never copies a
//! datagram, and never waits: what a socket does not take at once is dropped, as any router would drop it.

use std::net::SocketAddr;

use crate::io::{Gone, Io, TransportAddress};

/// A UDP socket that clients send to. A driver gives each number once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ListenerId(pub u32);

/// A UDP socket that is connected to a server: a slot, and the generation of its use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ServerSocket {
    pub slot: u32,
    pub generation: u32,
}

/// A received datagram. The driver keeps its bytes until the end of the batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Where the driver keeps it; only the driver knows what that means.
    pub at: u32,
    pub bytes: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    FromClient {
        listener: ListenerId,
        peer: SocketAddr,
        datagram: Datagram,
    },
    FromServer {
        socket: ServerSocket,
        datagram: Datagram,
    },
    /// An earlier datagram has not reached the server. The socket can still be used.
    Refused {
        socket: ServerSocket,
        why: Gone,
    },
    /// A datagram for a client was dropped: this machine could not send it.
    Dropped {
        listener: ListenerId,
    },
}

/// Why a socket was not opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotOpened {
    Gone(Gone),
    /// The address and port of the client cannot be had: another socket sends from there to the same server, another
    /// program has them, or nobody can have them (port 0, a link-local address).
    ClientAddress,
    /// No descriptor is left, or no memory for a socket.
    NoSocket,
    /// Every port is taken of those that the kernel chooses from.
    NoPort,
}

pub trait DatagramIo: Io {
    /// Where a listener is bound; `None`: it was closed.
    fn bound_to(&self, listener: ListenerId) -> Option<TransportAddress>;

    /// Opens a socket and connects it to a server. The server sees the address and port `from` of a client; `None`: it
    /// sees an address of this machine, and any port.
    ///
    /// # Errors
    /// There is no route, or this machine has no descriptor or port left. Never is another address taken than `from`.
    fn open(&mut self, to: SocketAddr, from: Option<SocketAddr>) -> Result<ServerSocket, NotOpened>;

    /// Queues a datagram for the server of a socket.
    fn forward(&mut self, datagram: Datagram, to: ServerSocket);

    /// Queues a datagram for a client, from the address of a listener.
    fn reply(&mut self, datagram: Datagram, from: ListenerId, to: SocketAddr);

    /// Closes a socket at the end of the batch, behind what is queued. No arrival of it follows, except those of this
    /// batch.
    fn shut(&mut self, socket: ServerSocket);
}
