//! Peers that reset while content in lasting memory is on its way to them. A process of its own, as it counts its descriptors.

#![allow(clippy::unwrap_used)]
use std::{
    fs,
    io::Read,
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
    time::Duration,
};

use weir_proxy::{
    buf::Buf,
    io::{Close, Event, Io},
};
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

const PIECE_BYTES: usize = 16 * 1024;
/// More than sockets take at once.
const PIECES: usize = 1_000;

/// Makes the next close a reset.
fn reset_on_close(peer: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let (at, len) = ((&raw const linger).cast(), size_of::<libc::linger>() as libc::socklen_t);
    // SAFETY: `linger` outlives the call, and the kernel only reads it.
    assert_eq!(unsafe { libc::setsockopt(peer.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, at, len) }, 0);
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

#[test]
fn peers_that_reset_in_the_middle_leave_neither_pipes_nor_memory() {
    let mut reactor = Reactor::new(Limits::default()).unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
    let (mut events, mut before) = (Vec::new(), None);
    for round in 0..40 {
        let mut peer = TcpStream::connect(at).unwrap();
        let conn = loop {
            reactor.poll(None, &mut events).unwrap();
            if let Some(Event::Accepted { conn, .. }) = events.pop() {
                break conn;
            }
        };
        let mut whole = reactor.lasting(&vec![vec![round as u8; PIECE_BYTES]; PIECES]).unwrap();
        reactor.send(conn, Buf::from_vec(b"head".to_vec()));
        (0..PIECES).for_each(|_| reactor.send(conn, whole.split_to(PIECE_BYTES)));
        drop(whole);
        reactor.flush();
        assert!(reactor.queued(conn) > 0, "the socket has taken a part");
        let mut got = vec![0; 4 + round * PIECE_BYTES / 3];
        peer.read_exact(&mut got).unwrap();
        assert!(got[4..].iter().all(|byte| *byte == round as u8));
        reset_on_close(&peer);
        drop(peer);
        if round % 2 == 0 {
            reactor.close(conn, Close::Flush);
        }
        while reactor.connections() > 0 {
            reactor.poll(Some(Duration::from_millis(10)), &mut events).unwrap();
            if events.drain(..).any(|event| matches!(event, Event::Gone { .. })) {
                break;
            }
        }
        assert_eq!(reactor.connections(), 0, "round {round}");
        // The first rounds make the pipe that is kept, and lists that grow.
        let now = (descriptors(), mappings());
        let (kept, known) = *before.get_or_insert(now);
        assert!(round < 4 || now.0 <= kept + 1 && now.1 <= known + 4, "round {round}: {now:?}, and {before:?} before");
    }
}
