//! The sockets of sessions, each connected to a server. The kernel chooses the port of each session at random, or the
//! socket has the address and port of a client.
//!
//! The socket of an ended session rests: it is connected to nobody and has no port, until another session connects it
//! from a new port. That costs a third of what it costs to make a socket, add it to the epoll set and close it. A socket
//! with the address of a client is closed.

use std::{
    collections::VecDeque,
    io,
    net::{SocketAddr, UdpSocket},
    os::fd::AsFd,
};

use weir_proxy::datagrams::io::ServerSocket;

use super::{Pace, is_lack_of_sockets, pairs::Pair, server_token, trains::Trains};
use crate::{
    poller::{Poller, READABLE},
    socket,
};

/// The maximum of sockets that rest. Others are closed when their session ends.
const RESTING_MAX: usize = 1024;

pub(super) struct Servers {
    slots: Vec<Slot>,
    empty: Vec<u32>,
    /// Slots of sockets that rest, of IPv4 and of IPv6. The one that rests longest is used first.
    resting: [VecDeque<u32>; 2],
    most: usize,
}

struct Slot {
    generation: u32,
    family: Family,
    state: State,
}

enum State {
    Empty,
    Resting(UdpSocket),
    Connected(Place),
}

pub(super) struct Place {
    pub socket: UdpSocket,
    pub pace: Pace,
    pub trains: Trains,
    /// The socket has the address of a client, and so does not rest.
    is_of_client: bool,
    /// The client and the server, until the session ends.
    pair: Option<Box<Pair>>,
}

impl Place {
    fn new(socket: UdpSocket, pair: Option<Box<Pair>>) -> Self {
        Self { socket, pace: Pace::default(), trains: Trains::default(), is_of_client: pair.is_some(), pair }
    }
}

/// An index of the lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4 = 0,
    V6 = 1,
}

impl Family {
    fn of(address: &SocketAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

impl Servers {
    /// For at most so many sockets, with those that rest.
    pub fn new(most: usize) -> Self {
        Self { slots: Vec::new(), empty: Vec::new(), resting: Default::default(), most }
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.empty.len()
    }

    /// Connects a socket to a server, from the address and port of a client, or from a port that the kernel chooses. The
    /// error is `AddrInUse` if another socket has the client's. There is room for so many sockets in all.
    pub fn open(
        &mut self,
        to: &SocketAddr,
        from: Option<SocketAddr>,
        room: usize,
        poller: &Poller,
    ) -> io::Result<ServerSocket> {
        if let Some(client) = from {
            let pair = Pair::claim(client, *to)?;
            return self.add(to, room, poller, Some(pair), || socket::open_datagrams_from(&client, to));
        }
        let family = Family::of(to);
        match self.resting[family as usize].pop_front() {
            Some(slot) => self.wake(slot, to).inspect_err(|_| self.resting[family as usize].push_back(slot)),
            None => self.add(to, room, poller, None, || {
                let socket = socket::open_datagrams(to)?;
                socket::connect_datagrams(&socket, to)?;
                Ok(socket)
            }),
        }
    }

    /// The socket that a session has in a slot. One that rests gets nothing: what came too late for its last session is
    /// dropped.
    pub fn in_slot(&mut self, slot: u32) -> Option<(ServerSocket, &mut Place)> {
        let Slot { generation, state, .. } = self.slots.get_mut(slot as usize)?;
        match state {
            State::Connected(place) => Some((ServerSocket { slot, generation: *generation }, place)),
            State::Resting(socket) => {
                socket::drop_datagrams(socket);
                None
            }
            State::Empty => None,
        }
    }

    pub fn place(&mut self, socket: ServerSocket) -> Option<&mut Place> {
        match self.slots.get_mut(socket.slot as usize)? {
            Slot { generation, state: State::Connected(place), .. } if *generation == socket.generation => Some(place),
            _ => None,
        }
    }

    /// Allows another socket to send from the same client to the same server, before this one is closed.
    pub fn give_up_pair(&mut self, socket: ServerSocket) {
        if let Some(place) = self.place(socket) {
            place.pair = None;
        }
    }

    /// Ends a session's use of a socket. The socket rests. It is closed if enough rest, if it has the address of a
    /// client, or if it receives trains, which is not for every session. Closing also takes it out of the epoll set: it
    /// has a single descriptor.
    pub fn release(&mut self, socket: ServerSocket) {
        let rests = self.resting.iter().map(VecDeque::len).sum::<usize>() < RESTING_MAX;
        let Some(slot) = self.slots.get_mut(socket.slot as usize) else { return };
        if slot.generation != socket.generation {
            return;
        }
        slot.generation = slot.generation.wrapping_add(1);
        let State::Connected(used) = std::mem::replace(&mut slot.state, State::Empty) else { return };
        if rests && !used.is_of_client && !used.trains.are_received && socket::disconnect(&used.socket).is_ok() {
            slot.state = State::Resting(used.socket);
            self.resting[slot.family as usize].push_back(socket.slot);
        } else {
            self.empty.push(socket.slot);
        }
    }

    /// Connects a socket that rests.
    fn wake(&mut self, slot: u32, to: &SocketAddr) -> io::Result<ServerSocket> {
        let Slot { generation, state, .. } = &mut self.slots[slot as usize];
        let State::Resting(socket) = state else { return Err(io::ErrorKind::NotConnected.into()) };
        // It may be that the server's last datagrams were on their way through the kernel when the socket was released.
        socket::drop_datagrams(socket);
        if let Err(err) = socket::connect_datagrams(socket, to) {
            // The kernel has chosen a port nevertheless. Whoever is next must get another one.
            socket::disconnect(socket)?;
            return Err(err);
        }
        *state = match std::mem::replace(state, State::Empty) {
            State::Resting(socket) => State::Connected(Place::new(socket, None)),
            other => other,
        };
        Ok(ServerSocket { slot, generation: *generation })
    }

    /// Opens a socket more. If the kernel has none, one that rests is closed for it.
    fn add(
        &mut self,
        to: &SocketAddr,
        room: usize,
        poller: &Poller,
        pair: Option<Box<Pair>>,
        open: impl Fn() -> io::Result<UdpSocket>,
    ) -> io::Result<ServerSocket> {
        let family = Family::of(to);
        if self.len() >= self.most.min(room) && !self.close_one_that_rests() {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let (slot, socket) = match self.open_in_slot(poller, &open) {
            Err(err) if is_lack_of_sockets(&err) && self.close_one_that_rests() => self.open_in_slot(poller, &open)?,
            opened => opened?,
        };
        if self.empty.pop().is_none() {
            self.slots.push(Slot { generation: 0, family, state: State::Empty });
        }
        let filled = &mut self.slots[slot as usize];
        (filled.family, filled.state) = (family, State::Connected(Place::new(socket, pair)));
        Ok(ServerSocket { slot, generation: filled.generation })
    }

    /// The slot is still empty.
    fn open_in_slot(&self, poller: &Poller, open: impl Fn() -> io::Result<UdpSocket>) -> io::Result<(u32, UdpSocket)> {
        let socket = open()?;
        let slot = self.empty.last().copied().unwrap_or(self.slots.len() as u32);
        poller.add(socket.as_fd(), READABLE, server_token(slot))?;
        Ok((slot, socket))
    }

    /// False if none rests.
    pub fn close_one_that_rests(&mut self) -> bool {
        let Some(slot) = self.resting.iter_mut().find_map(VecDeque::pop_front) else { return false };
        self.slots[slot as usize].state = State::Empty;
        self.empty.push(slot);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn server(address: &str) -> (UdpSocket, SocketAddr) {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        (socket, address)
    }

    fn descriptor(servers: &mut Servers, socket: ServerSocket) -> i32 {
        servers.place(socket).unwrap().socket.as_raw_fd()
    }

    #[test]
    fn session_takes_the_socket_of_an_ended_one_and_hears_nothing_of_that() {
        let poller = Poller::new().unwrap();
        let mut servers = Servers::new(1);
        let (server, address) = server("127.0.0.1:0");
        let first = servers.open(&address, None, 9, &poller).unwrap();
        let before = descriptor(&mut servers, first);
        let port = servers.place(first).unwrap().socket.local_addr().unwrap();
        server.send_to(b"late", port).unwrap();
        servers.release(first);
        assert!(servers.place(first).is_none());
        assert!(servers.in_slot(first.slot).is_none());
        let State::Resting(resting) = &servers.slots[0].state else { panic!("it does not rest") };
        assert_eq!(resting.recv(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // The port is free: another may have it.
        assert!(UdpSocket::bind(port).is_ok());
        let next = servers.open(&address, None, 9, &poller).unwrap();
        assert_ne!(next, first);
        assert_eq!((next.slot, descriptor(&mut servers, next)), (first.slot, before));
        let socket = &servers.place(next).unwrap().socket;
        assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        server.send_to(b"answer", socket.local_addr().unwrap()).unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 6);
    }

    #[test]
    fn what_a_resting_socket_still_gets_is_dropped_before_the_next_session() {
        let poller = Poller::new().unwrap();
        let mut servers = Servers::new(1);
        let (server, address) = server("127.0.0.1:0");
        let first = servers.open(&address, None, 9, &poller).unwrap();
        server.send_to(b"late", servers.place(first).unwrap().socket.local_addr().unwrap()).unwrap();
        servers.release(first);
        let next = servers.open(&address, None, 9, &poller).unwrap();
        let got = servers.place(next).unwrap().socket.recv(&mut [0; 8]);
        assert_eq!(got.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn resting_socket_of_one_family_makes_room_for_the_other() {
        let poller = Poller::new().unwrap();
        let mut servers = Servers::new(1);
        let ((_v4, v4), (_v6, v6)) = (server("127.0.0.1:0"), server("[::1]:0"));
        for to in [v4, v6, v6, v4] {
            let socket = servers.open(&to, None, 9, &poller).unwrap();
            assert_eq!(servers.place(socket).unwrap().socket.peer_addr().unwrap(), to);
            assert_eq!(servers.open(&to, None, 9, &poller).unwrap_err().raw_os_error(), Some(libc::EMFILE));
            servers.release(socket);
        }
    }

    #[test]
    fn socket_that_rests_is_closed_when_the_kernel_has_no_other() {
        let poller = Poller::new().unwrap();
        let mut servers = Servers::new(9);
        let (_server, address) = server("127.0.0.1:0");
        let resting = [(); 2].map(|()| servers.open(&address, None, 9, &poller).unwrap());
        resting.into_iter().for_each(|socket| servers.release(socket));
        let tries = std::cell::Cell::new(0);
        let open = |has_one: bool| {
            tries.set(tries.get() + 1);
            if !has_one {
                return Err(io::Error::from_raw_os_error(libc::ENFILE));
            }
            let socket = socket::open_datagrams(&address)?;
            socket::connect_datagrams(&socket, &address)?;
            Ok(socket)
        };
        servers.add(&address, 9, &poller, None, || open(tries.get() == 1)).unwrap();
        assert_eq!((tries.take(), servers.len()), (2, 2));
        let refused = servers.add(&address, 9, &poller, None, || open(false)).unwrap_err();
        assert_eq!((tries.take(), servers.len(), refused.raw_os_error()), (2, 1, Some(libc::ENFILE)));
        servers.add(&address, 9, &poller, None, || open(false)).unwrap_err();
        assert_eq!((tries.take(), servers.len()), (1, 1), "none rests");
    }

    #[test]
    fn connections_leave_no_room_for_sockets() {
        let poller = Poller::new().unwrap();
        let mut servers = Servers::new(9);
        let (_server, address) = server("127.0.0.1:0");
        assert_eq!(servers.open(&address, None, 0, &poller).unwrap_err().raw_os_error(), Some(libc::EMFILE));
        servers.open(&address, None, 1, &poller).unwrap();
        assert_eq!(servers.open(&address, None, 1, &poller).unwrap_err().raw_os_error(), Some(libc::EMFILE));
        assert_eq!(servers.len(), 1);
    }

    #[test]
    fn server_without_a_route_leaves_the_socket_at_rest() {
        let poller = Poller::new().unwrap();
        let mut servers = Servers::new(1);
        let (_server, address) = server("127.0.0.1:0");
        let first = servers.open(&address, None, 9, &poller).unwrap();
        servers.release(first);
        // The kernel refuses broadcasts on sockets that have not asked for them.
        assert!(servers.open(&"255.255.255.255:9".parse().unwrap(), None, 9, &poller).is_err());
        let State::Resting(resting) = &servers.slots[0].state else { panic!("it does not rest") };
        assert_eq!(resting.local_addr().unwrap().port(), 0);
        assert_eq!(servers.open(&address, None, 9, &poller).unwrap().slot, first.slot);
    }
}
