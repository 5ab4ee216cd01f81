//! How the reactor shares its batches among connections that always bring more than it reads at once.

#![allow(clippy::unwrap_used)]
use std::{
    collections::HashMap,
    io::{ErrorKind, Write},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use weir_proxy::io::Event;
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

/// In these nothing is counted yet: connections come, and their windows open.
const FIRST_BATCHES: usize = 100;
const BATCHES: usize = 400;

/// The bytes that were read of each of some clients that send so much before each batch, or until the kernel takes no
/// more.
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
fn connections_that_bring_more_than_a_batch_takes_have_turns() {
    for clients in [3, 8, 24] {
        assert_shared(clients, 1024 * 1024);
    }
}

/// Each that was read to its end is reported anew, beside those that wait.
#[test]
fn connections_that_wait_are_not_overtaken_by_those_that_the_kernel_reports() {
    for clients in [8, 24, 60] {
        assert_shared(clients, 100 * 1024);
    }
}
