//! The reactor over real loopback sockets: what a handler is told, and what a peer sees.

#![allow(clippy::unwrap_used)]
use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use weir_proxy::io::{Close, Conn, Event, Gone, Io, TransportAddress};
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

/// Longer than anything here takes; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(120);

struct Bench {
    reactor: Reactor,
    events: Vec<Event>,
}

impl Bench {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        Self { reactor: Reactor::new(limits).unwrap(), events: Vec::new() }
    }

    fn listen(&mut self) -> SocketAddr {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        self.reactor.listen(socket.into(), SocketOptions::default()).unwrap().address
    }

    fn listen_for_data(&mut self) -> SocketAddr {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let options = SocketOptions { defer_accept: true, ..SocketOptions::default() };
        self.reactor.listen(socket.into(), options).unwrap().address
    }

    /// Runs batches, giving each event to `handle`, until that returns something.
    fn until<T>(&mut self, mut handle: impl FnMut(&mut Reactor, Event) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            while !self.events.is_empty() {
                let event = self.events.remove(0);
                if let Some(found) = handle(&mut self.reactor, event) {
                    self.reactor.flush();
                    return found;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "nothing happened");
            self.batch(Duration::from_secs(1));
        }
    }

    fn until_no_connection_is_left(&mut self) {
        let begun = Instant::now();
        while self.reactor.connections() > 0 {
            assert!(begun.elapsed() < PATIENCE, "a connection is left");
            self.batch(Duration::from_secs(1));
        }
    }

    fn batch(&mut self, wait: Duration) {
        self.reactor.flush();
        self.reactor.poll(Some(wait), &mut self.events).unwrap();
    }

    fn accepted(&mut self) -> Conn {
        self.until(|_, event| match event {
            Event::Accepted { conn, .. } => Some(conn),
            _ => None,
        })
    }

    fn send(&mut self, conn: Conn, bytes: &[u8]) {
        for piece in bytes.chunks(16 * 1024) {
            let mut buf = self.reactor.buffer();
            assert_eq!(buf.append(piece), piece.len());
            self.reactor.send(conn, buf);
        }
    }

    /// Bytes of `conn` up to its end, and how it ended.
    fn read_to_end(&mut self, wanted: Conn) -> (Vec<u8>, Event) {
        let mut bytes = Vec::new();
        let end = self.until(|_, event| match event {
            Event::Data { conn, buf } if conn == wanted => {
                bytes.extend_from_slice(&buf);
                None
            }
            Event::Eof { conn } | Event::Gone { conn, .. } if conn == wanted => Some(event),
            _ => None,
        });
        (bytes, end)
    }
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn read_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn tells_the_time_of_day() {
    let unix_s = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut bench = Bench::new();
    let before = unix_s();
    bench.batch(Duration::ZERO);
    assert!((before..=unix_s()).contains(&bench.reactor.unix_s()));
}

#[test]
fn echoes_and_survives_half_close() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"hello").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        read_all(&stream)
    });
    let conn = bench.accepted();
    let (bytes, end) = bench.read_to_end(conn);
    assert!(matches!(end, Event::Eof { .. }));
    bench.send(conn, &bytes);
    bench.reactor.close(conn, Close::Flush);
    bench.reactor.flush();
    assert_eq!(client.join().unwrap(), b"hello");
    assert_eq!(bench.reactor.connections(), 0);
}

#[test]
fn tells_peers_of_both_sides_and_the_listener() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let client = TcpStream::connect(address).unwrap();
    let (listener, peer) = bench.until(|_, event| match event {
        Event::Accepted { listener, peer, .. } => Some((listener, peer)),
        _ => None,
    });
    assert_eq!((listener, peer), (TransportAddress::tcp(address), client.local_addr().unwrap()));
}

#[test]
fn bytes_queued_before_the_connection_stands_arrive() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bench = Bench::new();
    let conn = bench.reactor.connect(listener.local_addr().unwrap());
    bench.send(conn, b"early");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).unwrap();
        stream.write_all(b"late").unwrap();
        bytes
    });
    let (bytes, _) = bench.read_to_end(conn);
    assert_eq!((&*bytes, &server.join().unwrap()), (&b"late"[..], b"early"));
}

#[test]
fn large_transfer_arrives_whole_while_the_sender_waits_for_drained() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let sent = noise(30_000_000);
    let expected = sent.clone();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"go").unwrap();
        let bytes = read_all(&stream);
        assert!(bytes == expected, "the bytes differ");
    });
    let conn = bench.accepted();
    let mut peak = 0;
    for piece in sent.chunks(1_000_000) {
        bench.send(conn, piece);
        peak = peak.max(bench.reactor.queued(conn));
        bench.until(|_, event| matches!(event, Event::Drained { .. }).then_some(()));
        assert_eq!(bench.reactor.queued(conn), 0);
    }
    bench.reactor.close(conn, Close::Flush);
    bench.reactor.flush();
    client.join().unwrap();
    assert_eq!(peak, 1_000_000);
}

#[test]
fn paused_reading_holds_the_peer_back_and_loses_nothing() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let sent = noise(20_000_000);
    let expected = sent.clone();
    let client = thread::spawn(move || TcpStream::connect(address).unwrap().write_all(&sent).unwrap());
    let conn = bench.accepted();
    let (mut got, mut batches, mut ended) = (Vec::new(), 0, false);
    while !ended {
        let before = got.len();
        bench.reactor.reading(conn, true);
        bench.batch(Duration::from_secs(1));
        for event in bench.events.drain(..) {
            match event {
                Event::Data { buf, .. } => got.extend_from_slice(&buf),
                Event::Eof { .. } => ended = true,
                Event::Leaving { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        bench.reactor.reading(conn, false);
        assert!(got.len() - before <= 16 * 16 * 1024, "one batch brought {}", got.len() - before);
        bench.batch(Duration::ZERO);
        bench.events.retain(|event| !matches!(event, Event::Leaving { .. }));
        assert!(bench.events.is_empty(), "{:?} while reading was off", bench.events);
        batches += 1;
    }
    client.join().unwrap();
    assert!(got == expected && batches > 20);
}

#[test]
fn fast_peer_does_not_keep_the_others_waiting() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let flood = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let bytes = vec![0; 1 << 20];
        while stream.write_all(&bytes).is_ok() {}
    });
    let flooding = bench.accepted();
    let mut quiet = TcpStream::connect(address).unwrap();
    quiet.write_all(b"x").unwrap();
    let mut most = 0;
    bench.until(|_, event| match event {
        Event::Data { conn, .. } if conn == flooding => {
            most += 1;
            None
        }
        Event::Data { .. } => Some(()),
        _ => None,
    });
    assert!(most < 10_000);
    bench.reactor.close(flooding, Close::Abort);
    flood.join().unwrap();
}

#[test]
fn refused_connect_is_told_as_refused() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut bench = Bench::new();
    let begun = bench.reactor.connect(address);
    bench.send(begun, b"in vain");
    let gone = bench.until(|_, event| match event {
        Event::Gone { conn, why } if conn == begun => Some(why),
        _ => None,
    });
    assert_eq!(gone, Gone::Refused);
    assert_eq!((bench.reactor.connections(), bench.reactor.queued(begun)), (0, 0));
}

#[test]
fn abort_resets_the_peer_and_kills_the_handle() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let mut client = TcpStream::connect(address).unwrap();
    let conn = bench.accepted();
    bench.send(conn, b"never sent");
    bench.reactor.close(conn, Close::Abort);
    bench.send(conn, b"to nobody");
    bench.reactor.flush();
    let err = client.read(&mut [0; 16]).unwrap_err();
    assert_eq!(err.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(bench.reactor.connections(), 0);
}

#[test]
fn cut_resets_the_peer_behind_what_was_queued() {
    cut_behind(&noise(32 * 1024));
}

#[test]
fn cut_does_not_overtake_what_the_peer_has_not_read_yet() {
    cut_behind(&noise(24 * 1024 * 1024));
}

/// The peer of a connection that is cut hears all these bytes, and then the reset.
fn cut_behind(bytes: &[u8]) {
    let mut bench = Bench::new();
    let address = bench.listen();
    let mut client = TcpStream::connect(address).unwrap();
    let conn = bench.accepted();
    bench.send(conn, bytes);
    bench.reactor.close(conn, Close::Cut);
    let reader = thread::spawn(move || {
        let mut heard = Vec::new();
        let end = client.read_to_end(&mut heard).unwrap_err();
        (heard, end.kind())
    });
    bench.reactor.flush();
    while bench.reactor.connections() > 0 {
        bench.batch(PATIENCE);
    }
    let (heard, end) = reader.join().unwrap();
    assert_eq!(end, std::io::ErrorKind::ConnectionReset);
    assert!(heard == bytes, "heard {} bytes", heard.len());
}

#[test]
fn end_of_a_peer_that_is_not_read_is_told_and_what_it_sent_before_still_comes() {
    for ends_first in [false, true] {
        let mut bench = Bench::new();
        let address = bench.listen();
        let mut client = TcpStream::connect(address).unwrap();
        let conn = bench.accepted();
        let mut end = |bench: &mut Bench| {
            client.write_all(&noise(100_000)).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            bench.batch(Duration::from_secs(1));
        };
        if ends_first {
            end(&mut bench);
            bench.reactor.reading(conn, false);
        } else {
            bench.reactor.reading(conn, false);
            end(&mut bench);
        }
        let mut bytes = 0;
        bench.until(|_, event| match event {
            Event::Data { buf, .. } => {
                bytes += buf.len();
                None
            }
            Event::Leaving { conn: leaving } => (leaving == conn).then_some(()),
            _ => None,
        });
        assert!(bytes < 100_000, "{bytes}");
        bench.reactor.reading(conn, true);
        let (rest, end) = bench.read_to_end(conn);
        assert_eq!(bytes + rest.len(), 100_000);
        assert!(matches!(end, Event::Eof { .. }));
    }
}

#[test]
fn reset_of_the_peer_is_told_even_while_reading_is_off() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bench = Bench::new();
    let begun = bench.reactor.connect(listener.local_addr().unwrap());
    bench.send(begun, b"unread bytes make the close a reset");
    bench.until(|_, event| matches!(event, Event::Connected { .. }).then_some(()));
    bench.reactor.reading(begun, false);
    let (stream, _) = listener.accept().unwrap();
    stream.peek(&mut [0]).unwrap();
    drop(stream);
    let gone = bench.until(|_, event| match event {
        Event::Gone { why, .. } => Some(why),
        _ => None,
    });
    assert_eq!(gone, Gone::Reset);
}

#[test]
fn answer_sent_before_a_reset_is_read_before_the_reset_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bench = Bench::new();
    let conn = bench.reactor.connect(listener.local_addr().unwrap());
    bench.send(conn, b"request");
    bench.until(|_, event| matches!(event, Event::Connected { .. }).then_some(()));
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(b"413").unwrap();
    drop(stream);
    let (bytes, end) = bench.read_to_end(conn);
    assert_eq!(bytes, b"413");
    assert!(matches!(end, Event::Gone { why: Gone::Reset, .. }), "{end:?}");
}

#[test]
fn sender_learns_that_its_peer_takes_nothing_any_more_also_while_it_does_not_read() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let mut client = TcpStream::connect(address).unwrap();
    let conn = bench.accepted();
    bench.reactor.reading(conn, false);
    client.write_all(b"unread").unwrap();
    // More than the kernels of both sides take: the reset comes while some is queued, and is a reset for the unread rest.
    for _ in 0..8 {
        bench.send(conn, &noise(1024 * 1024));
    }
    bench.batch(Duration::ZERO);
    assert!(bench.reactor.queued(conn) > 0);
    drop(client);
    bench.until(|_, event| matches!(event, Event::Broken { conn: broken } if broken == conn).then_some(()));
    assert_eq!(bench.reactor.queued(conn), 0);
    bench.reactor.reading(conn, true);
    let (bytes, end) = bench.read_to_end(conn);
    assert_eq!(bytes, b"unread");
    assert!(matches!(end, Event::Gone { why: Gone::Reset, .. }));
}

#[test]
fn lingering_close_lets_the_answer_through_to_a_peer_that_still_sends() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&vec![b'x'; 600_000]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        read_all(&stream)
    });
    let conn = bench.accepted();
    bench.send(conn, b"too large");
    bench.reactor.close(conn, Close::Linger);
    bench.until_no_connection_is_left();
    assert!(bench.events.is_empty(), "a closed connection told {:?}", bench.events);
    assert_eq!(client.join().unwrap(), b"too large");
}

#[test]
fn peer_that_sends_on_and_on_still_reads_its_answer() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let block = vec![b'x'; 1_000_000];
        (0..100).for_each(|_| stream.write_all(&block).unwrap());
        stream.shutdown(Shutdown::Write).unwrap();
        read_all(&stream)
    });
    let conn = bench.accepted();
    bench.send(conn, b"too large");
    bench.reactor.close(conn, Close::Linger);
    bench.until_no_connection_is_left();
    assert_eq!(client.join().unwrap(), b"too large");
}

#[test]
fn peer_that_never_ends_is_cut_off_after_some_seconds() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let _client = TcpStream::connect(address).unwrap();
    let conn = bench.accepted();
    let begun = Instant::now();
    bench.reactor.close(conn, Close::Linger);
    bench.until_no_connection_is_left();
    let lasted = begun.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_secs(20)).contains(&lasted), "{lasted:?}");
}

#[test]
fn deadlines_come_in_order_and_only_while_they_stand() {
    let mut bench = Bench::new();
    let address = bench.listen();
    let clients: Vec<_> = (0..4).map(|_| TcpStream::connect(address).unwrap()).collect();
    let conns: Vec<_> = clients.iter().map(|_| bench.accepted()).collect();
    let now = bench.reactor.now();
    for (conn, ms) in conns.iter().zip([60, 20, 40, 10]) {
        bench.reactor.deadline(*conn, Some(now + Duration::from_millis(ms)));
    }
    bench.reactor.deadline(conns[3], None);
    let mut order = Vec::new();
    bench.until(|io, event| {
        if let Event::Deadline { conn } = event {
            order.push((conn, io.now().since(now)));
        }
        (order.len() == 3).then_some(())
    });
    assert_eq!(order.iter().map(|(conn, _)| *conn).collect::<Vec<_>>(), [conns[1], conns[2], conns[0]]);
    assert!(order[0].1 >= Duration::from_millis(20) && order[2].1 >= Duration::from_millis(60));
}

#[test]
fn backlog_waits_while_the_table_is_full() {
    let mut bench = Bench::with(Limits { connections: 4, ..Limits::default() });
    let address = bench.listen();
    let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    let first = bench.accepted();
    bench.accepted();
    bench.batch(Duration::ZERO);
    assert!(bench.events.is_empty());
    bench.reactor.close(first, Close::Abort);
    bench.accepted();
    drop(clients);
}

#[test]
fn connection_that_was_given_up_makes_room_for_the_next() {
    let mut bench = Bench::with(Limits { connections: 4, ..Limits::default() });
    let address = bench.listen();
    let clients: Vec<_> = (0..2).map(|_| TcpStream::connect(address).unwrap()).collect();
    let given_up = [bench.accepted(), bench.accepted()];
    for conn in given_up {
        bench.send(conn, b"bye");
        bench.reactor.close(conn, Close::Linger);
    }
    bench.batch(Duration::ZERO);
    assert_eq!(bench.reactor.connections(), 2, "their clients may still be sending");
    let mut next = TcpStream::connect(address).unwrap();
    let accepted = bench.accepted();
    bench.send(accepted, b"welcome");
    bench.reactor.flush();
    let mut heard = [0; 7];
    next.read_exact(&mut heard).unwrap();
    assert_eq!((&heard, bench.reactor.connections()), (b"welcome", 2));
    drop(clients);
}

#[test]
fn connection_that_was_given_up_ends_when_memory_runs_out() {
    let mut bench = Bench::with(Limits { buffer_bytes: 4 * 1024 * 1024, ..Limits::default() });
    let address = bench.listen();
    let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    let conns = [(); 3].map(|()| bench.accepted());
    // More than the kernels of both sides take.
    let answer = noise(16 * 1024 * 1024);
    for conn in conns {
        bench.send(conn, &answer);
        bench.reactor.close(conn, Close::Flush);
        bench.batch(Duration::ZERO);
        bench.batch(Duration::ZERO);
    }
    assert!(bench.reactor.connections() < 3, "nobody reads what they hold");
    assert!(bench.reactor.buffered_bytes() <= 4 * 1024 * 1024);
    drop(clients);
}

#[test]
fn peers_are_read_a_block_at_a_time_where_memory_is_short() {
    let mut bench = Bench::with(Limits { buffer_bytes: 8 * 16 * 1024, ..Limits::default() });
    let address = bench.listen();
    let sender = thread::spawn(move || TcpStream::connect(address).unwrap().write_all(&noise(1_000_000)).unwrap());
    let conn = bench.accepted();
    let mut held = Vec::new();
    let (mut bytes, mut most_in_a_batch) = (0, 0);
    while bytes < 1_000_000 {
        bench.batch(Duration::from_secs(1));
        let mut in_this_batch = 0;
        for event in bench.events.drain(..) {
            if let Event::Data { buf, .. } = event {
                in_this_batch += buf.len();
                held.push(buf);
            }
        }
        bytes += in_this_batch;
        if bytes > 300_000 {
            most_in_a_batch = most_in_a_batch.max(in_this_batch);
        }
    }
    assert!(most_in_a_batch <= 16 * 1024, "{most_in_a_batch} bytes at once");
    sender.join().unwrap();
    bench.reactor.close(conn, Close::Abort);
}

#[test]
fn each_client_of_half_a_table_finds_a_server_and_one_connection_more_is_refused_in_full_view() {
    let mut bench = Bench::with(Limits { connections: 6, ..Limits::default() });
    let (address, servers) = (bench.listen(), TcpListener::bind("127.0.0.1:0").unwrap());
    let to = servers.local_addr().unwrap();
    let connected = |bench: &mut Bench| {
        let conn = bench.reactor.connect(to);
        bench.until(|_, event| match event {
            Event::Connected { conn: it } if it == conn => Some(Ok(conn)),
            Event::Gone { conn: it, why } if it == conn => Some(Err(why)),
            _ => None,
        })
    };
    let mut ends = Vec::new();
    for _ in 0..3 {
        let client = TcpStream::connect(address).unwrap();
        let conn = bench.accepted();
        ends.push((client, conn, connected(&mut bench).unwrap()));
    }
    assert_eq!(connected(&mut bench), Err(Gone::Local));
    let waiting = TcpStream::connect(address).unwrap();
    bench.batch(Duration::ZERO);
    assert!(bench.events.is_empty());
    let (_, client, server) = ends.remove(0);
    bench.reactor.close(server, Close::Abort);
    connected(&mut bench).unwrap();
    bench.reactor.close(client, Close::Abort);
    bench.accepted();
    drop(waiting);
}

#[test]
fn connection_reaches_whoever_else_holds_a_socket_that_was_given_up() {
    let mut bench = Bench::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = bench.reactor.listen(socket.try_clone().unwrap().into(), SocketOptions::default()).unwrap();
    bench.reactor.unlisten(at).unwrap();
    let client = TcpStream::connect(at.address).unwrap();
    bench.batch(Duration::ZERO);
    assert!(bench.events.is_empty() && bench.reactor.listeners().is_empty());
    socket.set_nonblocking(false).unwrap();
    assert_eq!(socket.accept().unwrap().1, client.local_addr().unwrap());
}

#[test]
fn waker_ends_the_wait_of_another_thread() {
    let mut bench = Bench::new();
    let waker = bench.reactor.waker();
    let other = thread::spawn(move || waker.wake());
    assert!(bench.reactor.poll(Some(PATIENCE), &mut bench.events).unwrap());
    other.join().unwrap();
}

#[test]
fn end_of_our_side_comes_behind_what_was_sent_and_leaves_the_peer_free_to_answer() {
    let mut bench = Bench::new();
    let at = bench.listen();
    let peer = thread::spawn(move || {
        let mut stream = TcpStream::connect(at).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        stream.write_all(b"answer").unwrap();
        heard
    });
    let conn = bench.accepted();
    let question = vec![b'q'; 1_000_000];
    bench.send(conn, &question);
    bench.reactor.finish(conn);
    let (answer, end) = bench.read_to_end(conn);
    assert_eq!(answer, b"answer");
    assert!(matches!(end, Event::Eof { .. }), "{end:?}");
    assert_eq!(peer.join().unwrap(), question);
}

#[test]
fn connection_that_says_nothing_is_accepted_at_once_unless_that_is_put_off() {
    let mut bench = Bench::new();
    let (at_once, with_data) = (bench.listen(), bench.listen_for_data());
    let mut talker = TcpStream::connect(with_data).unwrap();
    let _silent = TcpStream::connect(at_once).unwrap();
    let accepted_at = |bench: &mut Bench| {
        bench.until(|_, event| match event {
            Event::Accepted { listener, .. } => Some(listener.address),
            _ => None,
        })
    };
    assert_eq!(accepted_at(&mut bench), at_once);
    talker.write_all(b"hello").unwrap();
    assert_eq!(accepted_at(&mut bench), with_data);
    let brought = bench.until(|_, event| match event {
        Event::Data { buf, .. } => Some(buf.to_vec()),
        _ => None,
    });
    assert_eq!(brought, b"hello");
}

/// A client that has asked, of which nothing is expected until it is answered.
fn resting_client(bench: &mut Bench) -> (TcpStream, Conn) {
    let at = bench.listen_for_data();
    let mut client = TcpStream::connect(at).unwrap();
    client.write_all(b"ask").unwrap();
    let conn = bench.accepted();
    bench.reactor.resting(conn, true);
    bench.until(|_, event| matches!(event, Event::Data { .. }).then_some(()));
    (client, conn)
}

#[test]
fn end_of_a_connection_that_rests_is_learnt_all_the_same() {
    let mut bench = Bench::new();
    let (client, resting) = resting_client(&mut bench);
    drop(client);
    bench.until(|_, event| match event {
        Event::Eof { conn } | Event::Gone { conn, .. } if conn == resting => Some(()),
        _ => None,
    });
}

#[test]
fn connection_that_has_rested_is_heard_again() {
    let mut bench = Bench::new();
    let (mut client, conn) = resting_client(&mut bench);
    client.write_all(b"early").unwrap();
    bench.send(conn, b"answer");
    bench.reactor.resting(conn, false);
    let mut answer = [0; 6];
    bench.reactor.flush();
    client.read_exact(&mut answer).unwrap();
    let heard = bench.until(|_, event| match event {
        Event::Data { buf, .. } => Some(buf.to_vec()),
        _ => None,
    });
    assert_eq!((&answer[..], &heard[..]), (&b"answer"[..], &b"early"[..]));
}

#[test]
fn connection_that_rests_gets_more_than_the_kernel_takes_at_once() {
    let mut bench = Bench::new();
    let (mut client, conn) = resting_client(&mut bench);
    let answer = vec![b'a'; 20_000_000];
    bench.send(conn, &answer);
    bench.reactor.close(conn, Close::Flush);
    let reader = thread::spawn(move || {
        let mut got = Vec::new();
        client.read_to_end(&mut got).unwrap();
        got.len()
    });
    let begun = Instant::now();
    while bench.reactor.connections() > 0 {
        assert!(begun.elapsed() < PATIENCE, "{} connections are left", bench.reactor.connections());
        bench.batch(Duration::from_millis(100));
    }
    assert_eq!(reader.join().unwrap(), answer.len());
}
