//! The sockets that clients send to. A socket that takes the place of another at its address keeps the id, so that
//! sessions go on.

use std::{
    collections::HashMap,
    io,
    net::UdpSocket,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use weir_proxy::{datagrams::io::ListenerId, io::TransportAddress};

use super::trains::Trains;
use crate::socket;

#[derive(Default)]
pub(super) struct Listeners {
    places: HashMap<ListenerId, Place>,
    by_address: HashMap<TransportAddress, ListenerId>,
    next: u32,
}

pub(super) struct Place {
    pub socket: UdpSocket,
    at: TransportAddress,
    pub trains: Trains,
    /// No datagram has been too long for the way yet.
    refuses_fragments: bool,
}

impl Listeners {
    /// Takes a socket in. Returns the one that was there before.
    pub fn put(&mut self, fd: OwnedFd, at: TransportAddress) -> io::Result<(ListenerId, Option<UdpSocket>)> {
        let socket = UdpSocket::from(fd);
        socket.set_nonblocking(true)?;
        let id = self.by_address.get(&at).copied().unwrap_or_else(|| {
            self.next += 1;
            ListenerId(self.next)
        });
        self.by_address.insert(at, id);
        let trains = Trains::of(&socket);
        let refuses_fragments = at.address.is_ipv4() && socket::refuse_fragments(socket.as_fd());
        let before = self.places.insert(id, Place { socket, at, trains, refuses_fragments });
        Ok((id, before.map(|place| place.socket)))
    }

    pub fn take(&mut self, at: TransportAddress) -> Option<UdpSocket> {
        let id = self.by_address.remove(&at)?;
        self.places.remove(&id).map(|place| place.socket)
    }

    pub fn find(&self, at: TransportAddress) -> Option<ListenerId> {
        self.by_address.get(&at).copied()
    }

    pub fn socket(&self, id: ListenerId) -> Option<BorrowedFd<'_>> {
        self.places.get(&id).map(|place| place.socket.as_fd())
    }

    pub fn place(&mut self, id: ListenerId) -> Option<&mut Place> {
        self.places.get_mut(&id)
    }

    pub fn address(&self, id: ListenerId) -> Option<TransportAddress> {
        self.places.get(&id).map(|place| place.at)
    }

    pub fn addresses(&self) -> impl Iterator<Item = TransportAddress> {
        self.by_address.keys().copied()
    }
}

impl Place {
    /// Whether a datagram that was too long for the way is sent the next time.
    pub fn begins_fragments(&mut self, refusal: &io::Error) -> bool {
        let begins = self.refuses_fragments && refusal.raw_os_error() == Some(libc::EMSGSIZE);
        if begins {
            self.refuses_fragments = false;
        }
        begins && socket::send_fragments(self.socket.as_fd()).is_ok()
    }
}
