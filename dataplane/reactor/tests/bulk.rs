//! How the reactor shares its time among connections that send more than one batch reads.

#![allow(clippy::unwrap_used)]
use std::{
    collections::HashMap,
    io::{ErrorKind, Write},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use weir_proxy::io::Event;
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

/// Not counted: the connections are accepted, and their windows open.
const FIRST_BATCHES: usize = 100;
const BATCHES: usize = 400;

/// How many bytes the reactor reads from each client. Before each batch, each client sends `sent_bytes`, or as much as
/// the kernel accepts.
fn read_of_each(clients: usize, sent_bytes: usize) -> Vec<usize> {
    let mut reactor = Reactor::new(Limits::default()).unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
    let mut streams: Vec<TcpStream> = (0..clients).map(|_| TcpStream::connect(at).unwrap()).collect();
    let (mut conns, mut events, mut read) = (HashMap::new(), Vec::new(), vec![0; clients]);
    let block = vec![b'b'; sent_bytes];
    for batch in 0..FIRST_BATCHES + BATCHES {
        for stream in &mut streams {
            stream.set_nonblocking(true).unwrap();
            match stream.write(&block) {
                Err(err) if err.kind() != ErrorKind::WouldBlock => panic!("{err}"),
                _ => {}
            }
        }
        reactor.poll(Some(Duration::ZERO), &mut events).unwrap();
        for event in events.drain(..) {
            match event {
                Event::Accepted { conn, peer, .. } => {
                    let client = streams.iter().position(|stream| stream.local_addr().unwrap() == peer).unwrap();
                    conns.insert(conn, client);
                }
                Event::Data { conn, buf } if batch >= FIRST_BATCHES => read[conns[&conn]] += buf.len(),
                Event::Data { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        reactor.flush();
    }
    read
}

fn assert_shared(clients: usize, sent_bytes: usize) {
    let read = read_of_each(clients, sent_bytes);
    let (mean, least) = (read.iter().sum::<usize>() / clients, *read.iter().min().unwrap());
    assert!(least > mean * 3 / 4, "of {clients} clients that send {sent_bytes} bytes each time: {read:?}");
}

#[test]
fn connections_that_send_more_than_a_batch_reads_are_read_in_turn() {
    for clients in [3, 8, 24] {
        assert_shared(clients, 1024 * 1024);
    }
}

/// The kernel reports a drained connection again as soon as its client sends, while others still wait for their turn.
#[test]
fn connections_that_wait_for_their_turn_are_not_overtaken_by_reported_ones() {
    for clients in [8, 24, 60] {
        assert_shared(clients, 100 * 1024);
    }
}
