//! Content in lasting memory, as a peer receives it: whole, whatever becomes of the memory behind it.

#![allow(clippy::unwrap_used)]
use std::{
    io::Read,
    net::{TcpListener, TcpStream},
    time::Duration,
};

use weir_proxy::{
    buf::Buf,
    io::{Close, Conn, Event, Io},
};
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

const PIECE_BYTES: usize = 16 * 1024;

/// A reactor, a peer, and our end of its connection.
fn connected(limits: Limits) -> (Reactor, TcpStream, Conn) {
    let mut reactor = Reactor::new(limits).unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
    let (peer, mut events) = (TcpStream::connect(at).unwrap(), Vec::new());
    loop {
        reactor.poll(None, &mut events).unwrap();
        if let Some(Event::Accepted { conn, .. }) = events.pop() {
            return (reactor, peer, conn);
        }
    }
}

fn content(seed: usize, bytes: usize) -> Vec<Vec<u8>> {
    let all: Vec<u8> = (0..bytes).map(|at| ((at + seed) / 251 % 256) as u8).collect();
    all.chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect()
}

fn queue(reactor: &mut Reactor, conn: Conn, content: &[Vec<u8>]) {
    let mut whole = reactor.lasting(content).unwrap();
    for piece in content {
        let piece = whole.split_to(piece.len());
        reactor.send(conn, piece);
    }
}

/// Runs batches until the reactor has no connection, while the peer reads everything.
fn received(mut reactor: Reactor, mut peer: TcpStream) -> Vec<u8> {
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).map(|_| got)
    });
    let mut events = Vec::new();
    while reactor.connections() > 0 {
        reactor.flush();
        reactor.poll(Some(Duration::from_millis(10)), &mut events).unwrap();
    }
    reader.join().unwrap().unwrap()
}

#[test]
fn peers_of_any_speed_receive_heads_and_content_in_order() {
    // Of one byte less than a page, of some pages, and of more than a socket takes at once.
    for bytes in [4 * PIECE_BYTES + 4095, 100_000, 900_000, 20_000_001] {
        for pipes in [Limits::default().pipes, 0] {
            let (mut reactor, peer, conn) = connected(Limits { pipes, ..Limits::default() });
            let (first, second) = (content(0, bytes), content(77, bytes));
            for content in [&first, &second] {
                reactor.send(conn, Buf::from_vec(b"head".to_vec()));
                queue(&mut reactor, conn, content);
            }
            reactor.send(conn, Buf::from_vec(b"end".to_vec()));
            reactor.close(conn, Close::Flush);
            let expected =
                [b"head".to_vec(), first.concat(), b"head".to_vec(), second.concat(), b"end".to_vec()].concat();
            assert!(received(reactor, peer) == expected, "{bytes} bytes by {pipes} pipes");
        }
    }
}

#[test]
fn content_that_is_dropped_on_its_way_arrives_as_it_was() {
    let (mut reactor, peer, conn) = connected(Limits::default());
    let sent = content(5, 5 * PIECE_BYTES);
    queue(&mut reactor, conn, &sent);
    reactor.flush();
    assert_eq!(reactor.queued(conn), 0, "the kernel has all of it, and nobody else holds it");
    // New content, which takes the addresses that are free again.
    let others: Vec<Buf> = (0..100).filter_map(|seed| reactor.lasting(&content(7 * seed, 5 * PIECE_BYTES))).collect();
    assert_eq!(others.len(), 100);
    reactor.close(conn, Close::Flush);
    assert!(received(reactor, peer) == sent.concat());
}
