//! Relays over real loopback sockets: bytes that cross without coming up, in order, and what is told of them.

#![allow(clippy::unwrap_used)]
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use weir_proxy::io::{After, Close, Conn, Event, Io};
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

/// Longer than anything here takes; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(120);
/// More than sockets and a pipe hold together.
const MUCH_BYTES: usize = 24 * 1024 * 1024;

struct Bench {
    reactor: Reactor,
    address: SocketAddr,
}

impl Bench {
    fn new() -> Self {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = reactor.listen(socket.into(), SocketOptions::default()).unwrap().address;
        Self { reactor, address }
    }

    /// A peer that has said one byte, so that it is accepted at once, and our end of its connection.
    fn peer(&mut self) -> (TcpStream, Conn) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(b"!").unwrap();
        let mut accepted = None;
        self.until(|event| {
            if let Event::Accepted { conn, .. } = event {
                accepted = Some(*conn);
            }
            matches!(event, Event::Data { .. })
        });
        (stream, accepted.unwrap())
    }

    /// Runs batches until an event is what is waited for.
    fn until(&mut self, mut wanted: impl FnMut(&Event) -> bool) {
        let (begun, mut events) = (Instant::now(), Vec::new());
        loop {
            self.reactor.flush();
            self.reactor.poll(Some(Duration::from_secs(1)), &mut events).unwrap();
            for event in events.drain(..) {
                if wanted(&event) {
                    return;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "nothing happened");
        }
    }
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn write_all(mut stream: TcpStream, bytes: Vec<u8>) -> thread::JoinHandle<TcpStream> {
    thread::spawn(move || {
        stream.write_all(&bytes).unwrap();
        stream
    })
}

fn read_exactly(mut stream: TcpStream, len: usize) -> thread::JoinHandle<(TcpStream, Vec<u8>)> {
    thread::spawn(move || {
        let mut bytes = vec![0; len];
        stream.read_exact(&mut bytes).unwrap();
        (stream, bytes)
    })
}

#[test]
fn relays_behind_what_is_queued_and_hands_over_what_comes_after() {
    let mut bench = Bench::new();
    let ((server, from), (client, to)) = (bench.peer(), bench.peer());
    let mut head = bench.reactor.buffer();
    head.append(b"head ");
    bench.reactor.send(to, head);
    bench.reactor.relay(from, to, MUCH_BYTES as u64, After::GoOn);
    let body = noise(MUCH_BYTES);
    let sent = write_all(server, [&body[..], b"next"].concat());
    let got = read_exactly(client, 5 + MUCH_BYTES);
    let (mut relayed, mut after) = (0, Vec::new());
    bench.until(|event| {
        match event {
            Event::Relayed { conn, bytes } if *conn == from => relayed += bytes,
            Event::Data { conn, buf } if *conn == from => after.extend_from_slice(buf),
            _ => {}
        }
        after == b"next"
    });
    assert_eq!(relayed, MUCH_BYTES as u64);
    let (_, bytes) = got.join().unwrap();
    assert!(bytes[..5] == *b"head " && bytes[5..] == body);
    sent.join().unwrap();
}

#[test]
fn what_was_to_be_relayed_to_a_peer_that_takes_nothing_any_more_is_handed_over() {
    let mut bench = Bench::new();
    let ((mut server, from), (mut client, to)) = (bench.peer(), bench.peer());
    bench.reactor.reading(to, false);
    client.write_all(b"unread").unwrap();
    for piece in noise(MUCH_BYTES).chunks(16 * 1024) {
        let mut buf = bench.reactor.buffer();
        buf.append(piece);
        bench.reactor.send(to, buf);
    }
    bench.reactor.relay(from, to, u64::MAX, After::GoOn);
    server.write_all(b"more").unwrap();
    bench.until(|event| matches!(event, Event::Relayed { conn, bytes: 0 } if *conn == from));
    drop(client);
    let mut broken = false;
    bench.until(|event| {
        broken |= matches!(event, Event::Broken { conn } if *conn == to);
        matches!(event, Event::Data { conn, buf } if *conn == from && **buf == *b"more")
    });
    assert!(broken);
}

#[test]
fn receiver_that_reads_late_is_waited_for_and_said_to_be() {
    let mut bench = Bench::new();
    let ((server, from), (client, to)) = (bench.peer(), bench.peer());
    bench.reactor.relay(from, to, MUCH_BYTES as u64, After::GoOn);
    let sent = write_all(server, noise(MUCH_BYTES));
    let mut relayed = 0;
    bench.until(|event| {
        if let Event::Relayed { bytes, .. } = event {
            relayed += bytes;
        }
        matches!(event, Event::Relayed { bytes: 0, .. })
    });
    assert!(relayed < MUCH_BYTES as u64);
    assert!(bench.reactor.queued(to) > 0, "what is in the pipe waits for the receiver");
    let got = read_exactly(client, MUCH_BYTES);
    let mut drained = false;
    bench.until(|event| {
        match event {
            Event::Relayed { bytes, .. } => relayed += bytes,
            Event::Drained { conn } => drained |= *conn == to,
            _ => {}
        }
        relayed == MUCH_BYTES as u64 && drained
    });
    assert_eq!(bench.reactor.queued(to), 0);
    assert!(got.join().unwrap().1 == noise(MUCH_BYTES));
    sent.join().unwrap();
}

#[test]
fn source_that_ends_early_is_told_behind_its_last_byte() {
    let mut bench = Bench::new();
    let ((mut server, from), (client, to)) = (bench.peer(), bench.peer());
    bench.reactor.relay(from, to, u64::MAX, After::GoOn);
    server.write_all(b"not all").unwrap();
    drop(server);
    let mut relayed = 0;
    bench.until(|event| {
        if let Event::Relayed { bytes, .. } = event {
            relayed += bytes;
        }
        matches!(event, Event::Eof { conn } if *conn == from)
    });
    assert_eq!(relayed, 7);
    assert_eq!(read_exactly(client, 7).join().unwrap().1, b"not all");
}

#[test]
fn receiver_that_leaves_is_told_and_takes_the_pipe_with_it() {
    let mut bench = Bench::new();
    let ((server, from), (client, to)) = (bench.peer(), bench.peer());
    bench.reactor.relay(from, to, u64::MAX, After::GoOn);
    let writer = thread::spawn(move || {
        let mut server = server;
        while server.write_all(&[7; 65536]).is_ok() {}
    });
    bench.until(|event| matches!(event, Event::Relayed { .. }));
    drop(client); // unread bytes make it a reset
    bench.until(|event| matches!(event, Event::Gone { conn, .. } if *conn == to));
    bench.reactor.close(from, Close::Abort);
    writer.join().unwrap();
    assert_eq!(bench.reactor.connections(), 0);
}

#[test]
fn what_a_receiver_said_before_it_reset_is_read_although_it_takes_no_more() {
    let mut bench = Bench::new();
    let ((mut client, from), (mut server, to)) = (bench.peer(), bench.peer());
    bench.reactor.reading(to, false);
    bench.reactor.relay(from, to, u64::MAX, After::GoOn);
    client.write_all(b"unread bytes make the close a reset").unwrap();
    bench.until(|event| matches!(event, Event::Relayed { .. }));
    server.peek(&mut [0]).unwrap();
    server.write_all(b"421").unwrap();
    drop(server);
    thread::spawn(move || client.write_all(&noise(MUCH_BYTES)));
    bench.until(
        |event| matches!(event, Event::Data { conn, .. } | Event::Gone { conn, .. } if [from, to].contains(conn)),
    );
    bench.reactor.reading(to, true);
    let mut heard = Vec::new();
    bench.until(|event| match event {
        Event::Data { conn, buf } if *conn == to => {
            heard.extend_from_slice(buf);
            false
        }
        Event::Gone { conn, .. } => *conn == to,
        _ => false,
    });
    assert_eq!(heard, b"421");
}

#[test]
fn goes_on_as_data_when_the_source_is_relayed_no_more() {
    let mut bench = Bench::new();
    let ((mut server, from), (_client, to)) = (bench.peer(), bench.peer());
    bench.reactor.relay(from, to, u64::MAX, After::GoOn);
    bench.reactor.close(to, Close::Flush);
    server.write_all(b"for us").unwrap();
    let mut got = Vec::new();
    bench.until(|event| {
        if let Event::Data { conn, buf } = event
            && *conn == from
        {
            got.extend_from_slice(buf);
        }
        got == b"for us"
    });
}

/// Less than a segment of the loopback device, so that the kernel holds all of it back, and than any window.
const BODY_BYTES: usize = 40_007;

#[test]
fn all_relayed_bytes_arrive_before_the_close_although_the_receiver_has_sent_more() {
    let mut bench = Bench::new();
    let ((server, from), (mut client, to)) = (bench.peer(), bench.peer());
    bench.reactor.reading(to, false);
    client.write_all(b"never read").unwrap();
    bench.reactor.relay(from, to, BODY_BYTES as u64, After::Close);
    let (body, mut relayed) = (noise(BODY_BYTES), 0);
    let sent = write_all(server, body.clone());
    bench.until(|event| {
        if let Event::Relayed { conn, bytes } = event
            && *conn == from
        {
            relayed += bytes;
        }
        relayed == BODY_BYTES as u64
    });
    bench.reactor.close(to, Close::Flush);
    bench.reactor.flush();
    assert!(read_exactly(client, BODY_BYTES).join().unwrap().1 == body);
    sent.join().unwrap();
}
