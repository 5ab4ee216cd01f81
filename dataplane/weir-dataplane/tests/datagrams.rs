//! Virtual services of datagrams: the data plane as a process, with real clients and servers.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the tests of connections use all of it")]
mod bench;

use std::{
    io::ErrorKind,
    net::{SocketAddr, UdpSocket},
    thread,
};

use bench::{Agent, Dataplane, PATIENCE, plan, wait_until};
use weir_api::dataplane::v1::{
    Drain, ErrorCounter, L4Profile, Plan, Removed, TransportProtocol, UdpAnswers, UdpProfile, to_dataplane::Frame,
};

/// The longest datagram over IPv4.
const BYTES_MAX: usize = 65_507;

fn dataplane() -> Dataplane {
    Dataplane::start_with(&["--no-pin", "--workers", "1"])
}

fn datagrams(revision: u64, address: SocketAddr, servers: &[SocketAddr], answers: UdpAnswers) -> Plan {
    let mut plan = plan(revision, address, servers);
    let service = &mut plan.virtual_services[0];
    (service.http, service.tcp, service.l4) = (None, None, Some(L4Profile::default()));
    service.udp =
        Some(UdpProfile { idle_timeout_s: 60, per_datagram: false, answers: answers.into(), ..UdpProfile::default() });
    service.listeners[0].protocol = TransportProtocol::Udp.into();
    plan
}

/// Answers each datagram with its name and the datagram.
fn server(name: &'static str) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut room = vec![0; BYTES_MAX];
        while let Ok((bytes, client)) = socket.recv_from(&mut room) {
            let answer = [name.as_bytes(), &room[..bytes]].concat();
            // A client that is gone is no fault.
            let _ = socket.send_to(&answer[..answer.len().min(BYTES_MAX)], client);
        }
    });
    address
}

fn client(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn ask(client: &UdpSocket, question: &[u8]) -> Vec<u8> {
    let mut room = vec![0; BYTES_MAX];
    client.send(question).unwrap();
    let bytes = client.recv(&mut room).unwrap();
    room.truncate(bytes);
    room
}

#[test]
fn client_keeps_its_server_and_gets_its_answers() {
    let dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    agent.apply(datagrams(1, at, &[server("one "), server("two ")], UdpAnswers::Unknown));
    let clients: Vec<_> = (0..8).map(|_| client(at)).collect();
    let first: Vec<_> = clients.iter().map(|client| ask(client, b"hello")).collect();
    for _ in 0..3 {
        assert_eq!(clients.iter().map(|client| ask(client, b"hello")).collect::<Vec<_>>(), first);
    }
    assert_eq!(first.iter().filter(|answer| *answer == b"one hello").count(), 4);
    let sample = agent.sample_when(|sample| sample.virtual_services[0].received_datagrams_total == 32);
    let counted = &sample.virtual_services[0];
    assert_eq!((counted.connections_total, counted.open_connections, counted.sent_datagrams_total), (8, 8, 32));
    assert_eq!((counted.received_bytes_total, counted.sent_bytes_total), (32 * 5, 32 * 9));
    assert_eq!(sample.servers.iter().map(|server| server.open_connections).collect::<Vec<_>>(), [4, 4]);
}

#[test]
fn datagrams_of_every_length_pass_whole_and_alone() {
    let dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    agent.apply(datagrams(1, at, &[server("")], UdpAnswers::Unknown));
    let client = client(at);
    for bytes in [0, 1, 1472, 1473, 9000, 65_000, BYTES_MAX] {
        let sent: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        assert!(ask(&client, &sent) == sent, "{bytes} bytes");
    }
}

#[test]
fn session_of_counted_answers_ends_with_the_last_one() {
    let dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    agent.apply(datagrams(1, at, &[server("")], UdpAnswers::OneEach));
    let clients: Vec<_> = (0..20).map(|_| client(at)).collect();
    clients.iter().for_each(|client| drop(ask(client, b"question")));
    let sample = agent.sample_when(|sample| sample.virtual_services[0].connections_total == 20);
    assert_eq!(sample.virtual_services[0].open_connections, 0);
}

#[test]
fn session_moves_away_from_a_server_whose_host_refuses_datagrams() {
    let dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    let dead = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    agent.apply(datagrams(1, at, &[dead, server("alive ")], UdpAnswers::Unknown));
    let clients: Vec<_> = (0..4).map(|_| client(at)).collect();
    for client in &clients {
        client.set_nonblocking(true).unwrap();
        let mut room = [0; 64];
        wait_until(|| {
            // As clients do: they repeat what is not answered.
            client.send(b"hello").unwrap();
            matches!(client.recv(&mut room), Ok(bytes) if &room[..bytes] == b"alive hello")
        });
    }
    let sample = agent.sample_when(|sample| sample.servers.iter().any(|server| server.failures_total > 0));
    let errors = &sample.virtual_services[0].errors;
    assert!(matches!(&errors[..], [ErrorCounter { cause, .. }] if cause == "server_refused"), "{errors:?}");
    let row = |address: SocketAddr| sample.servers.iter().find(|server| server.server_id == address.to_string());
    assert_eq!(row(dead).unwrap().open_connections, 0);
}

#[test]
fn new_clients_get_in_when_sockets_are_used_up_and_an_established_session_stays() {
    // The worker has 128 sockets for sessions then, and keeps 64 of them free.
    let dataplane = Dataplane::start_with_descriptors(2048, &["--no-pin", "--workers", "1"]);
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    agent.apply(datagrams(1, at, &[server("one "), server("two ")], UdpAnswers::Unknown));
    let talker = client(at);
    let answer = ask(&talker, b"hello");
    assert_eq!(ask(&talker, b"hello"), answer);
    // All of them stay, so that no two have the same port.
    let flood: Vec<_> = (0..200).map(|_| client(at)).collect();
    flood.iter().for_each(|client| drop(ask(client, b"flood")));
    assert_eq!(ask(&talker, b"hello"), answer);
    let sample = agent.sample_when(|sample| sample.virtual_services[0].received_datagrams_total == 203);
    let counted = &sample.virtual_services[0];
    assert_eq!((counted.connections_total, counted.open_connections, counted.sent_datagrams_total), (201, 64, 203));
    let expected = [ErrorCounter { cause: "engine_sessions".into(), total: 137 }];
    assert_eq!(counted.errors, expected);
}

#[test]
fn next_agent_gets_the_socket_back_and_sessions_go_on() {
    let dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    let servers = [server("one "), server("two ")];
    agent.apply(datagrams(1, at, &servers, UdpAnswers::Unknown));
    let client = client(at);
    let answer = ask(&client, b"hello");
    drop(agent);
    let mut agent = Agent::connect(&dataplane);
    let named: Vec<_> = agent.handed_back.iter().map(|(named, _)| (named.port, named.protocol())).collect();
    assert_eq!(named, [(at.port().into(), TransportProtocol::Udp)]);
    agent.apply(datagrams(2, at, &servers, UdpAnswers::Unknown));
    assert_eq!(ask(&client, b"hello"), answer);
    let sample = agent.sample_when(|sample| sample.virtual_services[0].received_datagrams_total == 2);
    assert_eq!(sample.virtual_services[0].connections_total, 1);
}

#[test]
fn same_port_serves_datagrams_and_connections() {
    let dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    let mut both = datagrams(1, at, &[server("udp ")], UdpAnswers::Unknown);
    agent.give_socket_at(at);
    let mut other = plan(1, at, &[bench::origin("tcp")]);
    (other.virtual_services[0].uuid, other.pools[0].uuid) = ("virtualservice-2".into(), "pool-2".into());
    other.virtual_services[0].pool_uuid = "pool-2".into();
    both.virtual_services.append(&mut other.virtual_services);
    both.pools.append(&mut other.pools);
    agent.apply(both);
    assert_eq!(ask(&client(at), b"hello"), b"udp hello");
    assert!(bench::get(at).contains("tcp"));
}

#[test]
fn removed_service_answers_nobody_and_ends_its_sessions() {
    let dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    agent.apply(datagrams(1, at, &[server("")], UdpAnswers::Unknown));
    let client = client(at);
    ask(&client, b"hello");
    let removed = Removed { virtual_services: vec!["virtualservice-1".into()], ..Removed::default() };
    agent.change(1, Plan { revision: 2, ..Plan::default() }, removed);
    client.set_nonblocking(true).unwrap();
    wait_until(|| {
        // The last descriptor of the socket is closed: the kernel refuses.
        client.send(b"hello").is_err_and(|err| err.kind() == ErrorKind::ConnectionRefused)
    });
    agent.sample_when(|sample| sample.servers.iter().all(|server| server.open_connections == 0));
}

#[test]
fn drain_ends_sessions_before_they_are_idle() {
    let mut dataplane = dataplane();
    let mut agent = Agent::connect(&dataplane);
    let at = agent.give_datagram_socket();
    agent.apply(datagrams(1, at, &[server("")], UdpAnswers::Unknown));
    ask(&client(at), b"hello");
    agent.send(Frame::Drain(Drain { timeout_ms: 120_000 }));
    wait_until(|| dataplane.ended());
}
