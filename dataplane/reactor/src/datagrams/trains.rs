//! Whether the datagrams of a socket pass the kernel as trains.

use std::{
    net::UdpSocket,
    os::fd::{AsFd, BorrowedFd},
};

use super::arena::DATAGRAM_BYTES_MAX;
use crate::socket;

#[derive(Clone, Copy)]
pub(super) struct Trains {
    /// The socket has UDP_GRO: what it receives may be a train. That costs a little at each call, so that only sockets
    /// with many datagrams of one peer have it.
    pub are_received: bool,
    /// Longer datagrams are not sent as a train. The limit falls when the kernel refuses one.
    each_max: usize,
}

impl Trains {
    /// Another process may have had the socket, and made it receive trains.
    pub fn of(socket: &UdpSocket) -> Self {
        Self { are_received: socket::receives_trains(socket.as_fd()), ..Self::default() }
    }

    /// Has the kernel join datagrams of one peer, if it can.
    pub fn receive(&mut self, on: BorrowedFd<'_>) {
        self.are_received = self.are_received || socket::receive_trains(on).is_ok();
    }

    /// Of which length trains may be sent. After the kernel has refused a train, its datagrams are sent one by one.
    pub fn limit(&self, refused: Option<usize>) -> usize {
        if refused.is_some() { 0 } else { self.each_max }
    }

    /// Datagrams were sent. If the kernel had refused them as a train, it was not for the peer's address.
    pub fn learn(&mut self, refused: &mut Option<usize>) {
        if let Some(each) = refused.take() {
            self.each_max = self.each_max.min(each.saturating_sub(1));
        }
    }
}

impl Default for Trains {
    fn default() -> Self {
        Self { are_received: false, each_max: DATAGRAM_BYTES_MAX }
    }
}
