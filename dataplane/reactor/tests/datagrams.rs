//! Datagrams over real sockets.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    io::ErrorKind,
    net::{SocketAddr, TcpListener, UdpSocket},
    os::fd::AsRawFd,
    time::Duration,
};

use weir_proxy::{
    datagrams::io::{Arrival, Datagram, DatagramIo, ListenerId, NotOpened, ServerSocket},
    io::{Event, Gone, Io, Protocol, TransportAddress},
};
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

const PATIENCE: Duration = Duration::from_secs(120);

fn socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

fn listening() -> (Reactor, TransportAddress) {
    let mut reactor = Reactor::new(Limits { datagram_sockets: 3, ..Limits::default() }).unwrap();
    let at = reactor.listen(socket().0.into(), SocketOptions::default()).unwrap();
    assert_eq!(at.protocol, Protocol::Udp);
    (reactor, at)
}

/// The arrivals of the next batch that has some.
fn arrivals(reactor: &mut Reactor) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    while arrivals.is_empty() {
        reactor.flush();
        reactor.poll(Some(PATIENCE), &mut Vec::new()).unwrap();
        reactor.take_arrivals(&mut arrivals);
    }
    arrivals
}

fn of_client(arrival: &Arrival) -> (ListenerId, SocketAddr, Datagram) {
    match arrival {
        Arrival::FromClient { listener, peer, datagram } => (*listener, *peer, *datagram),
        other => panic!("{other:?}"),
    }
}

fn answer(arrivals: &[Arrival]) -> (ServerSocket, Datagram) {
    match arrivals {
        [Arrival::FromServer { socket, datagram }] => (*socket, *datagram),
        other => panic!("{other:?}"),
    }
}

#[test]
fn datagram_goes_to_the_server_and_its_answer_to_the_client() {
    let (mut reactor, at) = listening();
    let ((client, _), (server, server_address)) = (socket(), socket());
    client.send_to(b"question", at.address).unwrap();
    let (listener, peer, datagram) = of_client(&arrivals(&mut reactor)[0]);
    assert_eq!((reactor.bound_to(listener), peer, datagram.bytes), (Some(at), client.local_addr().unwrap(), 8));
    let to = reactor.open(server_address, None).unwrap();
    reactor.forward(datagram, to);
    reactor.flush();
    let mut room = [0; 64];
    let (bytes, from) = server.recv_from(&mut room).unwrap();
    assert_eq!(&room[..bytes], b"question");
    server.send_to(b"an answer", from).unwrap();
    let (socket, datagram) = answer(&arrivals(&mut reactor));
    assert_eq!(socket, to);
    reactor.reply(datagram, listener, peer);
    reactor.flush();
    let (bytes, from) = client.recv_from(&mut room).unwrap();
    assert_eq!((&room[..bytes], from), (&b"an answer"[..], at.address));
}

#[test]
fn more_datagrams_than_one_batch_holds_wait_for_the_next() {
    let (mut reactor, at) = listening();
    let (client, _) = socket();
    let (mut seen, mut batches) = (BTreeSet::new(), 0);
    for number in 0..200u32 {
        client.send_to(&vec![0; number as usize], at.address).unwrap();
    }
    while seen.len() < 200 {
        let batch = arrivals(&mut reactor);
        assert!(batch.len() <= 128);
        batches += 1;
        seen.extend(batch.iter().map(|arrival| of_client(arrival).2.bytes));
    }
    assert!(batches > 1);
}

#[test]
fn answers_that_were_left_are_read_in_larger_numbers() {
    let (mut reactor, _) = listening();
    let (server, server_address) = socket();
    let to = reactor.open(server_address, None).unwrap();
    // The address of the socket is known from what it sends: nothing is sent without a datagram of a client.
    let (client, _) = socket();
    client.send_to(b"?", reactor.listeners()[0].address).unwrap();
    let (.., datagram) = of_client(&arrivals(&mut reactor)[0]);
    reactor.forward(datagram, to);
    reactor.flush();
    let (_, from) = server.recv_from(&mut [0; 8]).unwrap();
    for _ in 0..63 {
        server.send_to(b"answer", from).unwrap();
    }
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 63 {
        sizes.push(arrivals(&mut reactor).len());
    }
    assert_eq!(sizes, [1, 2, 4, 8, 16, 32]);
}

fn set(socket: &UdpSocket, level: i32, option: i32, value: i32) {
    let len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: `value` outlives the call, and has `len` bytes.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), len) };
    assert_eq!(done, 0);
}

/// A train of datagrams of `each` bytes, and a shorter one. Each byte tells the number of its datagram.
fn train(full: u8, each: usize, last: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..full).flat_map(|number| vec![number; each]).collect();
    bytes.resize(bytes.len() + last, full);
    bytes
}

/// A listener that a client has sent so many datagrams at once that it receives trains.
fn listening_for_trains() -> (Reactor, TransportAddress) {
    let (mut reactor, at) = listening();
    let (client, _) = socket();
    (0..40).for_each(|_| assert_eq!(client.send_to(b"x", at.address).unwrap(), 1));
    let mut seen = 0;
    while seen < 40 {
        seen += arrivals(&mut reactor).len();
    }
    reactor.flush();
    (reactor, at)
}

#[test]
fn train_of_a_client_is_received_at_once_and_forwarded_datagram_by_datagram() {
    let (mut reactor, at) = listening_for_trains();
    let ((client, _), (server, server_address)) = (socket(), socket());
    set(&client, libc::SOL_UDP, libc::UDP_SEGMENT, 100);
    let sent = train(50, 100, 30);
    (0..4).for_each(|_| assert_eq!(client.send_to(&sent, at.address).unwrap(), sent.len()));
    let batch = arrivals(&mut reactor);
    assert_eq!(batch.len(), 4 * 51, "a batch has room for 128 datagrams or trains");
    let to = reactor.open(server_address, None).unwrap();
    batch[..51].iter().for_each(|arrival| reactor.forward(of_client(arrival).2, to));
    reactor.flush();
    let mut got = Vec::new();
    for _ in 0..51 {
        let mut room = [0; 200];
        let bytes = server.recv(&mut room).unwrap();
        assert_eq!(bytes, if got.len() < 5000 { 100 } else { 30 });
        got.extend_from_slice(&room[..bytes]);
    }
    assert!(got == sent);
}

#[test]
fn datagrams_of_one_length_for_one_peer_are_sent_as_a_train() {
    let (mut reactor, at) = listening();
    let ((client, _), (server, server_address)) = (socket(), socket());
    let sent = train(20, 100, 30);
    sent.chunks(100).for_each(|datagram| assert_eq!(client.send_to(datagram, at.address).unwrap(), datagram.len()));
    let batch = arrivals(&mut reactor);
    assert_eq!(batch.len(), 21);
    let to = reactor.open(server_address, None).unwrap();
    for peer in [&server, &client] {
        set(peer, libc::SOL_UDP, libc::UDP_GRO, 1);
    }
    for arrival in &batch {
        let (listener, peer, datagram) = of_client(arrival);
        reactor.forward(datagram, to);
        reactor.reply(datagram, listener, peer);
    }
    reactor.flush();
    for peer in [&server, &client] {
        let mut room = [0; 3000];
        let bytes = peer.recv(&mut room).unwrap();
        assert!(room[..bytes] == sent, "{bytes} bytes came at once");
    }
}

#[test]
fn datagrams_that_the_kernel_refuses_as_a_train_are_sent_one_by_one() {
    let mut reactor = Reactor::new(Limits::default()).unwrap();
    let listener = socket().0;
    // The kernel makes no trains without checksums.
    set(&listener, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1);
    let at = reactor.listen(listener.into(), SocketOptions::default()).unwrap();
    let (client, _) = socket();
    let sent = train(10, 100, 0);
    sent.chunks(100).for_each(|datagram| assert_eq!(client.send_to(datagram, at.address).unwrap(), datagram.len()));
    for arrival in &arrivals(&mut reactor) {
        let (listener, peer, datagram) = of_client(arrival);
        reactor.reply(datagram, listener, peer);
    }
    let mut again = Vec::new();
    reactor.poll(Some(Duration::ZERO), &mut Vec::new()).unwrap();
    reactor.flush();
    reactor.take_arrivals(&mut again);
    assert!(again.is_empty(), "{again:?}");
    for datagram in sent.chunks(100) {
        let mut room = [0; 3000];
        let bytes = client.recv(&mut room).unwrap();
        assert_eq!(&room[..bytes], datagram);
    }
}

#[test]
fn listener_of_another_process_that_receives_trains_goes_on_to() {
    let (mut reactor, at) = listening();
    let (client, _) = socket();
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::SOL_UDP, libc::UDP_GRO, 1);
    set(&client, libc::SOL_UDP, libc::UDP_SEGMENT, 100);
    client.send_to(&train(3, 100, 0), listener.local_addr().unwrap()).unwrap();
    reactor.unlisten(at).unwrap();
    reactor.listen(listener.into(), SocketOptions::default()).unwrap();
    let sizes: Vec<_> = arrivals(&mut reactor).iter().map(|arrival| of_client(arrival).2.bytes).collect();
    assert_eq!(sizes, [100, 100, 100]);
}

#[test]
fn train_of_a_server_is_received_at_once() {
    let (mut reactor, at) = listening();
    let ((client, _), (server, server_address)) = (socket(), socket());
    let to = reactor.open(server_address, None).unwrap();
    client.send_to(b"?", at.address).unwrap();
    let (.., datagram) = of_client(&arrivals(&mut reactor)[0]);
    reactor.forward(datagram, to);
    reactor.flush();
    let (_, from) = server.recv_from(&mut [0; 8]).unwrap();
    let read = |reactor: &mut Reactor, count: usize| {
        let mut sizes = Vec::new();
        while sizes.iter().sum::<usize>() < count {
            sizes.push(arrivals(reactor).len());
        }
        sizes
    };
    (0..15).for_each(|_| assert_eq!(server.send_to(b"answer", from).unwrap(), 6));
    assert_eq!(read(&mut reactor, 15), [1, 2, 4, 8]);
    set(&server, libc::SOL_UDP, libc::UDP_SEGMENT, 100);
    server.send_to(&train(40, 100, 30), from).unwrap();
    assert_eq!(read(&mut reactor, 41), [41]);
    assert_eq!(server.local_addr().unwrap(), server_address);
}

#[test]
fn refusal_of_a_servers_host_is_reported_and_the_socket_stays_of_use() {
    let (mut reactor, at) = listening();
    let (server, server_address) = socket();
    drop(server);
    let (client, _) = socket();
    let to = reactor.open(server_address, None).unwrap();
    client.send_to(b"lost", at.address).unwrap();
    let (.., datagram) = of_client(&arrivals(&mut reactor)[0]);
    reactor.forward(datagram, to);
    let refused = arrivals(&mut reactor);
    assert!(matches!(refused[..], [Arrival::Refused { socket, why: Gone::Refused }] if socket == to), "{refused:?}");
    let server = UdpSocket::bind(server_address).unwrap();
    client.send_to(b"kept", at.address).unwrap();
    let (.., datagram) = of_client(&arrivals(&mut reactor)[0]);
    reactor.forward(datagram, to);
    reactor.flush();
    let mut room = [0; 8];
    assert_eq!((server.recv(&mut room).unwrap(), &room[..4]), (4, &b"kept"[..]));
}

#[test]
fn sockets_are_bounded_and_closed_ones_are_free_from_the_next_batch_on() {
    let (mut reactor, _) = listening();
    let (server, server_address) = socket();
    let sockets: Vec<_> = (0..3).map(|_| reactor.open(server_address, None).unwrap()).collect();
    assert_eq!(reactor.open(server_address, None), Err(NotOpened::NoSocket));
    reactor.shut(sockets[1]);
    assert_eq!(reactor.open(server_address, None), Err(NotOpened::NoSocket));
    reactor.flush();
    let next = reactor.open(server_address, None).unwrap();
    assert_eq!(next.slot, sockets[1].slot);
    assert_ne!(next, sockets[1]);
    drop(server);
}

/// After the last service of UDP is gone, nobody opens another.
#[test]
fn socket_of_an_ended_session_gives_its_place_to_a_connection() {
    let mut reactor = Reactor::new(Limits { connections: 2, ..Limits::default() }).unwrap();
    let (_server, to) = socket();
    for session in [(); 2].map(|()| reactor.open(to, None).unwrap()) {
        reactor.shut(session);
    }
    reactor.flush();
    let servers = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut events = Vec::new();
    let conns = [(); 3].map(|()| reactor.connect(servers.local_addr().unwrap()));
    while events.len() < 3 {
        reactor.flush();
        reactor.poll(Some(PATIENCE), &mut events).unwrap();
    }
    let refused: Vec<_> = events.iter().filter(|event| matches!(event, Event::Gone { .. })).collect();
    assert!(matches!(refused[..], [Event::Gone { conn, why: Gone::Local }] if *conn == conns[2]), "{events:?}");
}

#[test]
fn muted_listener_answers_and_receives_nothing_more() {
    let (mut reactor, at) = listening();
    let (client, address) = socket();
    client.send_to(b"question", at.address).unwrap();
    let (listener, peer, datagram) = of_client(&arrivals(&mut reactor)[0]);
    reactor.mute(at).unwrap();
    reactor.reply(datagram, listener, peer);
    reactor.flush();
    assert_eq!(client.recv(&mut [0; 8]).unwrap(), 8);
    client.send_to(b"another", at.address).unwrap();
    let mut arrivals = Vec::new();
    reactor.poll(Some(Duration::ZERO), &mut Vec::new()).unwrap();
    reactor.take_arrivals(&mut arrivals);
    assert!(arrivals.is_empty(), "{arrivals:?} for {address}");
    reactor.unlisten(at).unwrap();
    assert_eq!((reactor.bound_to(listener), reactor.listeners()), (None, vec![]));
    // Nobody else holds the socket, so that the kernel refuses.
    client.connect(at.address).unwrap();
    let refused = (0..2).any(|_| {
        client.send(b"?").is_err()
            || client.recv(&mut [0; 8]).is_err_and(|err| err.kind() == ErrorKind::ConnectionRefused)
    });
    assert!(refused);
}

#[test]
fn socket_that_takes_the_place_of_another_keeps_its_id() {
    let (mut reactor, at) = listening();
    let (client, _) = socket();
    client.send_to(b"before", at.address).unwrap();
    let (before, ..) = of_client(&arrivals(&mut reactor)[0]);
    reactor.unlisten(at).unwrap();
    let socket = UdpSocket::bind(at.address).unwrap();
    let held = socket.try_clone().unwrap();
    assert_eq!(reactor.listen(socket.into(), SocketOptions::default()).unwrap(), at);
    client.send_to(b"between", at.address).unwrap();
    let (new, ..) = of_client(&arrivals(&mut reactor)[0]);
    assert_ne!(new, before, "it was closed in between");
    assert_eq!(reactor.listen(held.into(), SocketOptions::default()).unwrap(), at);
    client.send_to(b"after", at.address).unwrap();
    assert_eq!(of_client(&arrivals(&mut reactor)[0]).0, new);
}
