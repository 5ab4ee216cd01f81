//! The sockets of sessions, each connected to a server. The kernel chooses the port of a socket at random, or the socket
//! has the address and port of a client.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
};

use weir_proxy::datagrams::io::ServerSocket;

use super::{Pace, pairs::Pair};
use crate::socket;

pub(super) struct Servers {
    slots: Vec<Slot>,
    free: Vec<u32>,
    most: usize,
}

struct Slot {
    generation: u32,
    place: Option<Place>,
}

pub(super) struct Place {
    pub socket: UdpSocket,
    pub pace: Pace,
    /// `None`: the socket has an address of this machine.
    pair: Option<Box<Pair>>,
}

impl Servers {
    /// For at most so many sockets.
    pub fn new(most: usize) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), most }
    }

    /// The error is `AddrInUse` if another socket has the address `from` of the client.
    pub fn open(&mut self, to: &SocketAddr, from: Option<SocketAddr>) -> io::Result<ServerSocket> {
        if self.slots.len() - self.free.len() >= self.most {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let pair = from.map(|client| Pair::claim(client, *to)).transpose()?;
        let socket = match from {
            Some(client) => socket::open_datagrams_from(&client, to)?,
            None => socket::open_datagrams(to)?,
        };
        let place = Some(Place { socket, pace: Pace::default(), pair });
        if let Some(slot) = self.free.pop() {
            let Slot { generation, place: free } = &mut self.slots[slot as usize];
            *free = place;
            return Ok(ServerSocket { slot, generation: *generation });
        }
        self.slots.push(Slot { generation: 0, place });
        Ok(ServerSocket { slot: self.slots.len() as u32 - 1, generation: 0 })
    }

    pub fn at(&mut self, socket: ServerSocket) -> Option<&mut Place> {
        let slot = self.slots.get_mut(socket.slot as usize)?;
        slot.place.as_mut().filter(|_| slot.generation == socket.generation)
    }

    pub fn socket(&self, socket: ServerSocket) -> Option<&UdpSocket> {
        let slot = self.slots.get(socket.slot as usize).filter(|slot| slot.generation == socket.generation)?;
        slot.place.as_ref().map(|place| &place.socket)
    }

    /// Allows another socket to send from the same client to the same server, before this one is closed.
    pub fn give_up_pair(&mut self, socket: ServerSocket) {
        if let Some(place) = self.at(socket) {
            place.pair = None;
        }
    }

    /// Closing also takes the socket out of the epoll set: it has a single descriptor.
    pub fn close(&mut self, socket: ServerSocket) {
        let Some(slot) = self.slots.get_mut(socket.slot as usize) else { return };
        if slot.generation == socket.generation && slot.place.take().is_some() {
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(socket.slot);
        }
    }
}
