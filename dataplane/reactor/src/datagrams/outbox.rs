//! The datagrams to send at the end of a batch. What a socket does not take at once is dropped, and reported.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    os::fd::AsFd,
};

use weir_proxy::datagrams::io::{Arrival, Datagram, ListenerId, ServerSocket};

use super::{arena::Arena, headers::Headers, listeners::Listeners, servers::Servers};
use crate::socket::gone;

#[derive(Default)]
pub(super) struct Outbox {
    forwards: Vec<(ServerSocket, Datagram)>,
    replies: Vec<(ListenerId, SocketAddr, Datagram)>,
}

impl Outbox {
    pub fn forward(&mut self, datagram: Datagram, to: ServerSocket) {
        self.forwards.push((to, datagram));
    }

    pub fn reply(&mut self, datagram: Datagram, from: ListenerId, to: SocketAddr) {
        self.replies.push((from, to, datagram));
    }

    /// Sends everything. Adds what failed to `failed`.
    pub fn send(
        &mut self,
        arena: &Arena,
        listeners: &Listeners,
        servers: &Servers,
        headers: &mut Headers,
        failed: &mut Vec<Arrival>,
    ) {
        for run in self.forwards.chunk_by(|one, next| one.0 == next.0) {
            forward(run, arena, servers, headers, failed);
        }
        self.forwards.clear();
        if !self.replies.is_sorted_by_key(|reply| reply.0.0) {
            self.replies.sort_by_key(|reply| reply.0.0);
        }
        for run in self.replies.chunk_by(|one, next| one.0 == next.0) {
            reply(run, arena, listeners, headers, failed);
        }
        self.replies.clear();
    }
}

/// Sends a run of datagrams to one server.
fn forward(
    mut run: &[(ServerSocket, Datagram)],
    arena: &Arena,
    servers: &Servers,
    headers: &mut Headers,
    failed: &mut Vec<Arrival>,
) {
    let mut repeated = false;
    while let Some((to, first)) = run.first()
        && let Some(socket) = servers.socket(*to)
    {
        let sent = match run {
            [_] => socket.send(arena.bytes(*first)).map(|_| 1),
            run => headers.send(socket.as_fd(), arena, run.iter().map(|(_, datagram)| (*datagram, None))),
        };
        match sent {
            Ok(count) => run = &run[count.min(run.len())..],
            // News of an earlier datagram, which the kernel tells once: this one was not tried.
            Err(err) if err.kind() == ErrorKind::ConnectionRefused && !repeated => {
                repeated = true;
                failed.push(Arrival::Refused { socket: *to, why: gone(&err) });
            }
            Err(err) => {
                failed.push(Arrival::Refused { socket: *to, why: gone(&err) });
                run = &run[1..];
            }
        }
    }
}

/// Sends a run of datagrams to clients, from one listener.
fn reply(
    mut run: &[(ListenerId, SocketAddr, Datagram)],
    arena: &Arena,
    listeners: &Listeners,
    headers: &mut Headers,
    failed: &mut Vec<Arrival>,
) {
    while let Some((from, ..)) = run.first()
        && let Some(socket) = listeners.socket(*from)
    {
        match headers.send(socket, arena, run.iter().map(|(_, to, datagram)| (*datagram, Some(*to)))) {
            Ok(count) => run = &run[count.min(run.len())..],
            Err(err) => {
                // Without room in the socket, none of the others would be taken either.
                let lost = if is_full(&err) { run.len() } else { 1 };
                failed.extend((0..lost).map(|_| Arrival::Dropped { listener: *from }));
                run = &run[lost..];
            }
        }
    }
}

fn is_full(err: &io::Error) -> bool {
    err.kind() == ErrorKind::WouldBlock || err.raw_os_error() == Some(libc::ENOBUFS)
}
