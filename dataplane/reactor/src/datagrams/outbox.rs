//! The datagrams to send at the end of a batch. What a socket does not take at once is dropped, and reported.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    os::fd::AsFd,
};

use weir_proxy::datagrams::io::{Arrival, Datagram, ListenerId, ServerSocket};

use super::{
    arena::Arena,
    headers::{Headers, Unsent},
    listeners::Listeners,
    servers::{Place, Servers},
};
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
        listeners: &mut Listeners,
        servers: &mut Servers,
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
    servers: &mut Servers,
    headers: &mut Headers,
    failed: &mut Vec<Arrival>,
) {
    let (mut repeated, mut no_train) = (false, None);
    while let Some((to, first)) = run.first()
        && let Some(Place { socket, trains, .. }) = servers.place(*to)
    {
        let sent = match run {
            [_] => socket.send(arena.bytes(*first)).map(|_| 1).map_err(Unsent::one),
            run => {
                let datagrams = run.iter().map(|(_, datagram)| (*datagram, None));
                headers.send(socket.as_fd(), arena, datagrams, trains.limit(no_train))
            }
        };
        match sent {
            Ok(count) => {
                trains.learn(&mut no_train);
                run = &run[count.min(run.len())..];
            }
            Err(unsent) if unsent.is_no_train() => no_train = Some(unsent.each),
            // News of an earlier datagram, which the kernel tells once: this one was not tried.
            Err(Unsent { error, .. }) if error.kind() == ErrorKind::ConnectionRefused && !repeated => {
                repeated = true;
                failed.push(Arrival::Refused { socket: *to, why: gone(&error) });
            }
            Err(Unsent { error, datagrams, .. }) => {
                let why = gone(&error);
                failed.extend((0..datagrams).map(|_| Arrival::Refused { socket: *to, why }));
                run = &run[datagrams.min(run.len())..];
            }
        }
    }
}

/// Sends a run of datagrams to clients, from one listener.
fn reply(
    mut run: &[(ListenerId, SocketAddr, Datagram)],
    arena: &Arena,
    listeners: &mut Listeners,
    headers: &mut Headers,
    failed: &mut Vec<Arrival>,
) {
    let mut no_train = None;
    while let Some((from, ..)) = run.first()
        && let Some(place) = listeners.place(*from)
    {
        let datagrams = run.iter().map(|(_, to, datagram)| (*datagram, Some(*to)));
        match headers.send(place.socket.as_fd(), arena, datagrams, place.trains.limit(no_train)) {
            Ok(count) => {
                no_train = None;
                run = &run[count.min(run.len())..];
            }
            Err(unsent) if unsent.is_no_train() => {
                // The way to another client may take trains.
                no_train = Some(unsent.each);
            }
            Err(Unsent { error, .. }) if place.begins_fragments(&error) => {}
            Err(Unsent { error, datagrams, .. }) => {
                // Without room in the socket, none of the others would be taken either.
                let lost = if is_full(&error) { run.len() } else { datagrams.min(run.len()) };
                failed.extend((0..lost).map(|_| Arrival::Dropped { listener: *from }));
                run = &run[lost..];
            }
        }
    }
}

fn is_full(err: &io::Error) -> bool {
    err.kind() == ErrorKind::WouldBlock || err.raw_os_error() == Some(libc::ENOBUFS)
}
