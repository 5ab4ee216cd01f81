//! Datagrams over real sockets.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    io::ErrorKind,
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

use weir_proxy::{
    datagrams::io::{Arrival, Datagram, DatagramIo, ListenerId, NotOpened, ServerSocket},
    io::{Gone, Protocol, TransportAddress},
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
    assert_eq!(reactor.open(server_address, None), Err(NotOpened::Gone(Gone::Local)));
    reactor.shut(sockets[1]);
    assert_eq!(reactor.open(server_address, None), Err(NotOpened::Gone(Gone::Local)));
    reactor.flush();
    let next = reactor.open(server_address, None).unwrap();
    assert_eq!(next.slot, sockets[1].slot);
    assert_ne!(next, sockets[1]);
    drop(server);
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
