//! Runs against real servers over real sockets.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    thread,
    time::Duration,
};

use weir_tls::{Certificate, Provider, ServerConfig, TlsSession, TlsSettings, Version};
use weir_wire::{
    head::FieldTable,
    http2::{Code, Config, Connection, Event, Role, Settings},
};

use super::{
    Runner,
    tests::{NEVER, failures},
};
use crate::{
    flags::Flags,
    origin::{self, Origin},
    tally::Tally,
    task::Task,
};

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn origin(object_bytes: usize) -> SocketAddr {
    let (listener, address) = listener();
    thread::spawn(move || Origin::new(vec![listener], object_bytes).unwrap().run());
    address
}

fn run(url: String, flags: Flags) -> Tally {
    let flags = Flags { url, duration: Duration::from_secs(60), ..flags };
    let mut runner = Runner::new(Task::new(&flags, 0).unwrap()).unwrap();
    runner.open_idle().unwrap();
    runner.run(&NEVER).unwrap()
}

fn counted(tally: &Tally) -> (u64, Vec<(&str, u64)>) {
    (tally.requests, failures(tally))
}

fn http2(streams: usize) -> Flags {
    Flags { http2: true, connections: 3, streams, requests_per_connection: 0, count: Some(200), ..Flags::default() }
}

#[test]
fn many_streams_share_connections() {
    for (object_bytes, body_bytes) in [(128, 0), (0, 5), (3_000_000, 0), (10, 200_000)] {
        let flags = Flags { body_bytes, answer_bytes: Some(object_bytes as u64), ..http2(8) };
        let flags = Flags { server_header: Some("x-origin".into()), ..flags };
        let address = origin(object_bytes);
        let tally = run(format!("http://{address}/a"), flags);
        assert_eq!(counted(&tally), (200, vec![]), "{object_bytes} {body_bytes}");
        assert_eq!(tally.per_value[&address.to_string()], 200);
    }
}

#[test]
fn answer_of_another_length_is_a_mistake_in_every_version() {
    let url = format!("http://{}/a", origin(10));
    for http2 in [true, false] {
        let flags = Flags { http2, answer_bytes: Some(11), count: Some(20), ..Flags::default() };
        assert_eq!(counted(&run(url.clone(), flags)), (0, vec![("bad_response", 20)]));
    }
}

#[test]
fn connections_end_after_their_requests_whatever_the_number_of_streams() {
    for (streams, requests_per_connection) in [(1, 1), (1, 3), (4, 1), (4, 10)] {
        let flags = Flags { requests_per_connection, ..http2(streams) };
        assert_eq!(counted(&run(format!("http://{}/a", origin(1)), flags)), (200, vec![]));
    }
}

#[test]
fn calls_of_grpc_get_their_message_back() {
    let flags = Flags { grpc: true, http2: false, body_bytes: 128, answer_bytes: Some(128), ..http2(16) };
    assert_eq!(counted(&run(format!("http://{}/s/m", origin(1)), flags)), (200, vec![]));
}

#[test]
fn messages_of_websocket_come_back() {
    for (body_bytes, requests_per_connection) in [(0, 0), (128, 0), (70_000, 0), (128, 1)] {
        let flags = Flags { body_bytes, requests_per_connection, count: Some(200), ..Flags::default() };
        assert_eq!(counted(&run(format!("ws://{}/a", origin(1)), flags)), (200, vec![]));
    }
}

#[test]
fn server_without_websocket_fails_the_message() {
    let flags = Flags { count: Some(5), ..Flags::default() };
    let (listener, address) = listener();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        }
    });
    assert_eq!(counted(&run(format!("ws://{address}/a"), flags)), (0, vec![("status", 5)]));
}

#[test]
fn idle_connections_and_waiting_streams_are_held() {
    let flags = Flags { idle_connections: 70, waiting_streams: 20, count: Some(10), ..http2(2) };
    let tally = run(format!("http://{}/a", origin(1)), flags);
    assert_eq!((tally.idle_held, tally.waiting_held, failures(&tally)), (70, 1400, vec![]));
    assert_eq!(tally.requests, 10);
}

#[test]
fn stream_without_an_answer_fails_alone() {
    let flags = Flags { timeout: Duration::from_millis(100), count: Some(6), ..http2(2) };
    let tally = run(format!("http://{}/wait", origin(1)), flags);
    assert_eq!(counted(&tally), (0, vec![("timeout", 6)]));
}

/// A server of HTTP/2 that begins to leave each connection with the fifth request.
fn leave_each_fifth(mut stream: TcpStream) {
    let settings = Settings::default();
    let config = Config { settings, window: 1 << 20, head_bytes: 4096, control_frames: 0, empty_frames: 0 };
    let mut connection = Connection::<()>::new(Role::Server, config, 0);
    let (mut bytes, mut table, mut heads) = ([0; 4096], FieldTable::new(), 0);
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        let (piece, mut at, mut out) = (&bytes[..count], 0, Vec::new());
        while let Ok(event) = connection.take(piece, &mut at, 0) {
            match event {
                Event::Head { stream, .. } => {
                    connection.request(piece, &weir_wire::head::Limits::new(0, 0, 0), &mut table).unwrap();
                    heads += 1;
                    if heads == 5 {
                        connection.go_away(Code::NoError);
                    }
                    let mut room = [0; 64];
                    let block = [0x89]; // 204
                    let written = connection.write_head(&mut room, stream, true, |room| {
                        room[..1].copy_from_slice(&block);
                        Ok::<_, weir_wire::head::Overflow>(1)
                    });
                    out.append(connection.control());
                    out.extend_from_slice(&room[..written.unwrap()]);
                    connection.end(stream, Code::NoError);
                }
                Event::More => break,
                _ => {}
            }
        }
        out.append(connection.control());
        if stream.write_all(&out).is_err() {
            return;
        }
    }
}

#[test]
fn requests_go_on_elsewhere_when_a_server_leaves() {
    let (listener, address) = listener();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || leave_each_fifth(stream));
        }
    });
    assert_eq!(counted(&run(format!("http://{address}/a"), http2(8))), (200, vec![]));
}

/// Serves TLS with these names of ALPN, and an origin behind it.
fn secure(protocols: &[&str]) -> SocketAddr {
    let provider = Provider::new();
    let chain = include_bytes!("../../../../dataplane/tls/testdata/default-ec.crt.der").to_vec();
    let key = include_bytes!("../../../../dataplane/tls/testdata/default-ec.key.der");
    let certificate = Certificate::read(&[chain], key, &provider).unwrap();
    let settings = TlsSettings {
        versions: vec![Version::Tls13],
        cipher_suites: vec!["TLS_AES_128_GCM_SHA256".to_owned()],
        groups: Vec::new(),
        prefer_client_order: false,
        session_resumption: false,
        tickets: None,
        protocols: protocols.iter().map(|name| (*name).into()).collect(),
        send_close_notify: true,
    };
    let (config, _) = ServerConfig::build(&settings, &[certificate], None, &provider).unwrap();
    let (listener, address) = listener();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let session = TlsSession::server(&config).unwrap();
            thread::spawn(move || serve_secure(stream, session));
        }
    });
    address
}

fn serve_secure(mut stream: TcpStream, mut session: TlsSession) {
    let site = std::rc::Rc::new(origin::site::Site::new("secure".into(), 128));
    let (mut answers, mut table) = (origin::Answers::new(site), FieldTable::new());
    let mut bytes = [0; 16_384];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        let mut to_peer = Vec::new();
        let progress =
            session.receive(&mut bytes[..count], &mut |plain| _ = answers.feed(plain, &mut table), &mut to_peer);
        let mut room = vec![0; 100_000];
        if let Ok(sent) = session.send(&std::mem::take(&mut answers.out), &mut room) {
            to_peer.extend_from_slice(&room[..sent.written]);
        }
        if stream.write_all(&to_peer).is_err() || progress.is_err() {
            return;
        }
    }
}

#[test]
fn each_connection_makes_a_full_handshake_and_agrees_on_the_protocol() {
    let flags = Flags { tls: Some(Version::Tls13), requests_per_connection: 1, count: Some(30), ..http2(1) };
    let tally = run(format!("https://{}/a", secure(&["http/1.1", "h2"])), flags);
    assert_eq!((counted(&tally), tally.tls.full, tally.tls.resumed), ((30, vec![]), 30, 0));
}

#[test]
fn server_of_another_protocol_fails_the_handshake() {
    let flags = Flags { count: Some(3), ..http2(2) };
    let tally = run(format!("https://{}/a", secure(&[])), flags);
    assert_eq!(counted(&tally), (0, vec![("tls: the server does not agree to speak h2", 3)]));
}

#[test]
fn datagrams_come_back_from_the_origin() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let flags = Flags { url: format!("udp://{}", socket.local_addr().unwrap()), body_bytes: 64, ..Flags::default() };
    thread::spawn(move || origin::echo(&socket));
    let flags = Flags { connections: 1000, requests_per_connection: 0, count: Some(5000), ..flags };
    let mut datagrams = crate::udp::Datagrams::new(Task::new(&flags, 0).unwrap());
    datagrams.open().unwrap();
    assert_eq!(counted(&datagrams.run(&NEVER)), (5000, vec![]));
}
