//! The data plane as a process, with real connections, and with commands over its socket as an agent sends them.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the tests of datagrams use all of it")]
mod bench;

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    process::Command,
    thread,
};

use bench::{Agent, Dataplane, Silent, Spinner, WORKERS, change, get, listener, origin, plan, wait_until};
use weir_api::dataplane::v1::{
    Certificate, Drain, LetGo, Plan, Removed, ServerState, ServerStates, TlsProfile, TlsVersion, WorkerPinning,
    from_dataplane::Frame as Reply, to_dataplane::Frame,
};
use weir_reactor::process;

#[test]
fn serves_a_plan_and_counts_what_it_served() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    assert_eq!((agent.hello.workers, agent.hello.applied_revision, agent.handed_back.len()), (WORKERS, 0, 0));
    let address = agent.give_socket();
    agent.apply(plan(7, address, &[origin("one"), origin("two")]));
    let answers: Vec<_> = (0..20).map(|_| get(address)).collect();
    assert!(answers.iter().all(|a| a.starts_with("HTTP/1.1 200 OK") && a.ends_with("X-Forwarded-For: 127.0.0.1")));
    assert!(answers.iter().any(|a| a.contains("one")) && answers.iter().any(|a| a.contains("two")));
    let sample = agent.sample_when(|sample| sample.virtual_services[0].requests_total == 20);
    assert_eq!(sample.virtual_services[0].responses_total, [0, 20, 0, 0, 0]);
    assert_eq!(sample.servers.iter().map(|server| server.requests_total).sum::<u64>(), 20);
    assert!(sample.servers.iter().all(|server| server.up));
    assert!(sample.rss_bytes > 0 && sample.workers == WORKERS && sample.pid == dataplane.process.id());
}

#[test]
fn speaks_tls_with_curl() {
    let dir = std::env::temp_dir().join(format!("weir-dataplane-tls-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(&dir).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2";
    let request: Vec<_> =
        request.split(' ').chain(["-subj", "/CN=shop", "-addext", "subjectAltName=DNS:shop"]).collect();
    run("openssl", &request);
    run("openssl", &["x509", "-in", "cert.pem", "-outform", "DER", "-out", "cert.der"]);
    run("openssl", &["pkcs8", "-topk8", "-nocrypt", "-in", "key.pem", "-outform", "DER", "-out", "key.der"]);

    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let mut plan = plan(1, address, &[origin("one")]);
    plan.certificates = vec![Certificate {
        uuid: "cert-1".into(),
        name: "shop".into(),
        chain_der: vec![std::fs::read(dir.join("cert.der")).unwrap()],
        key_pkcs8_der: std::fs::read(dir.join("key.der")).unwrap(),
        ocsp_answer: None,
    }];
    let service = &mut plan.virtual_services[0];
    service.listeners[0].tls = true;
    service.certificate_uuids = vec!["cert-1".into()];
    service.tls = Some(TlsProfile {
        uuid: "sslprofile-1".into(),
        name: "standard".into(),
        versions: vec![TlsVersion::TlsVersion12 as i32, TlsVersion::TlsVersion13 as i32],
        cipher_suites: vec!["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".into(), "TLS_AES_128_GCM_SHA256".into()],
        send_close_notify: true,
        ..Default::default()
    });
    agent.apply(plan);
    let url = format!("https://shop:{}/", address.port());
    let resolve = format!("shop:{}:127.0.0.1", address.port());
    for version in ["1.2", "1.3"] {
        let args = ["-sS", "--cacert", "cert.pem", "--resolve", &resolve, "--tls-max", version, &url];
        assert_eq!(run("curl", &args), "one X-Forwarded-For: 127.0.0.1");
    }
    let sample = agent.sample_when(|sample| sample.virtual_services[0].tls_handshakes_total == 2);
    assert_eq!(sample.virtual_services[0].tls_failures_total, 0);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn client_that_sends_far_too_much_reads_why_it_was_refused() {
    const BODY_BYTES: usize = 100_000_000;
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let mut plan = plan(1, address, &[origin("one")]);
    plan.virtual_services[0].http.as_mut().unwrap().max_body_bytes = 1_000_000;
    agent.apply(plan);
    let mut client = TcpStream::connect(address).unwrap();
    write!(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {BODY_BYTES}\r\n\r\n").unwrap();
    let block = vec![b'x'; 1_000_000];
    (0..BODY_BYTES / block.len()).for_each(|_| client.write_all(&block).unwrap());
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn refuses_plan_without_sockets_and_keeps_serving_the_current_one() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let origin = origin("one");
    agent.apply(plan(1, address, &[origin]));
    let mut next = plan(2, address, &[origin]);
    next.virtual_services[0].listeners.push(listener("127.0.0.1:1".parse().unwrap()));
    agent.send(Frame::Plan(next));
    let Reply::Nack(nack) = agent.verdict() else { panic!("it was accepted") };
    assert_eq!((nack.revision, nack.errors.len()), (2, 1));
    assert_eq!((&*nack.errors[0].name, &*nack.errors[0].field), ("shop", "services[1]"));
    assert!(nack.errors[0].message.contains("127.0.0.1:1"), "{}", nack.errors[0].message);
    assert!(get(address).contains("one"));
}

#[test]
fn refuses_plan_for_whose_listeners_it_has_too_few_descriptors() {
    let dataplane = Dataplane::start_with_descriptors(64, &["--no-pin"]);
    let mut agent = Agent::connect(&dataplane);
    let origin = origin("one");
    let mut large = plan(1, agent.give_socket(), &[origin]);
    (0..19).for_each(|_| large.virtual_services[0].listeners.push(listener(agent.give_socket())));
    agent.send(Frame::Plan(large));
    let Reply::Nack(nack) = agent.verdict() else { panic!("it was accepted") };
    assert_eq!(&*nack.errors[0].name, "shop");
    assert!(nack.errors[0].message.contains("LimitNOFILE"), "{}", nack.errors[0].message);
    let address = agent.give_socket();
    agent.apply(plan(2, address, &[origin]));
    assert!(get(address).contains("one"));
}

/// A change that adds a virtual service at `address` with the existing pool.
fn another(revision: u64, address: SocketAddr) -> Plan {
    let mut added = plan(revision, address, &[]);
    added.pools.clear();
    (added.virtual_services[0].uuid, added.virtual_services[0].name) = ("virtualservice-2".into(), "other".into());
    added
}

#[test]
fn changes_leave_other_objects_alone_and_appear_in_the_sample() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let first = agent.give_socket();
    agent.apply(plan(1, first, &[origin("one")]));
    let second = agent.give_socket();
    agent.change(1, another(2, second), Removed::default());
    assert!(get(first).contains("one") && get(second).contains("one"));
    let mut moved = plan(3, first, &[origin("two"), origin("two")]);
    moved.virtual_services.clear();
    agent.change(2, moved, Removed::default());
    assert!(get(first).contains("two") && get(second).contains("two"));
    let sample = agent.sample_when(|sample| sample.virtual_services.iter().all(|service| service.requests_total == 2));
    assert_eq!((sample.virtual_services.len(), sample.servers.len()), (2, 2));

    let gone = Removed { virtual_services: vec!["virtualservice-1".into()], ..Default::default() };
    agent.change(3, Plan { revision: 4, ..Default::default() }, gone);
    assert!(TcpStream::connect(first).is_err(), "nobody holds the socket");
    assert!(get(second).contains("two"));
    let sample = agent.sample_when(|sample| sample.virtual_services.len() == 1);
    assert_eq!(sample.virtual_services[0].uuid, "virtualservice-2");
}

/// Each has a pool of its own, is asked once, and goes.
#[test]
fn virtual_services_that_come_and_go_take_no_more_memory_than_a_few() {
    const FEW: u64 = 200;
    const MORE_BYTES_MAX: u64 = 1 << 20;
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let (address, server) = (agent.give_socket(), origin("one"));
    agent.apply(plan(1, address, &[server]));
    let resident = |agent: &mut Agent| {
        agent.sample_when(|_| true);
        agent.sample_when(|sample| sample.virtual_services.len() == 1).rss_bytes
    };
    let mut before = 0;
    for n in 0..3 * FEW {
        if n == FEW {
            before = resident(&mut agent);
        }
        let (revision, at) = (2 * n + 2, agent.give_socket());
        let mut passing = plan(revision, at, &[server]);
        let service = &mut passing.virtual_services[0];
        (service.uuid, service.pool_uuid) = (format!("virtualservice-passing-{n}"), format!("pool-passing-{n}"));
        passing.pools[0].uuid = service.pool_uuid.clone();
        let gone = Removed {
            virtual_services: vec![service.uuid.clone()],
            pools: vec![service.pool_uuid.clone()],
            ..Default::default()
        };
        agent.change(revision - 1, passing, Removed::default());
        assert!(get(at).contains("one"));
        agent.change(revision, Plan { revision: revision + 1, ..Default::default() }, gone);
    }
    let after = resident(&mut agent);
    assert!(after < before + MORE_BYTES_MAX, "{before} bytes after {FEW}, {after} after {}", 3 * FEW);
}

#[test]
fn refused_change_leaves_the_current_plan_and_the_next_starts_from_it() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let first = agent.give_socket();
    agent.apply(plan(1, first, &[origin("one")]));
    let no_pool = Removed { pools: vec!["pool-1".into()], ..Default::default() };
    agent.send(change(1, Plan { revision: 2, ..Default::default() }, no_pool));
    let Reply::Nack(nack) = agent.verdict() else { panic!("a service without its pool was accepted") };
    assert_eq!(
        (nack.revision, nack.resync, &*nack.errors[0].name, &*nack.errors[0].field),
        (2, false, "shop", "pool_ref")
    );
    assert!(get(first).contains("one"));
    let second = agent.give_socket();
    agent.change(1, another(3, second), Removed::default());
    assert!(get(first).contains("one") && get(second).contains("one"));
}

#[test]
fn change_of_another_plan_is_answered_by_requesting_the_whole_plan() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let is_asked_for_all = |agent: &mut Agent, base| {
        agent.send(change(base, Plan { revision: 9, ..Default::default() }, Removed::default()));
        let Reply::Nack(nack) = agent.verdict() else { panic!("it was accepted") };
        assert_eq!((nack.revision, nack.resync, nack.errors.len()), (9, true, 0));
    };
    assert!(agent.hello.takes_changes);
    is_asked_for_all(&mut agent, 0);
    let address = agent.give_socket();
    agent.apply(plan(5, address, &[origin("one")]));
    is_asked_for_all(&mut agent, 4);
    // The revision is the same, but only the previous agent knew whether the Plan is, too.
    let mut next = Agent::connect(&dataplane);
    is_asked_for_all(&mut next, 5);
    assert!(get(address).contains("one"));
    next.apply(plan(9, address, &[origin("two")]));
    assert!(get(address).contains("two"));
}

#[test]
fn new_agent_takes_over_sockets_and_traffic_without_a_gap() {
    let dataplane = Dataplane::start();
    let mut first = Agent::connect(&dataplane);
    let address = first.give_socket();
    let origin = origin("one");
    first.apply(plan(5, address, &[origin]));
    drop(first);
    assert!(get(address).contains("one"), "traffic needs no agent");
    let mut second = Agent::connect(&dataplane);
    assert_eq!(second.hello.applied_revision, 5);
    assert_eq!(second.handed_back.len(), WORKERS as usize);
    assert!(second.handed_back.iter().all(|(_, socket)| socket.local_addr().unwrap() == address));
    let third = Agent::connect(&dataplane);
    assert_eq!((third.hello.applied_revision, third.handed_back.len()), (5, WORKERS as usize));
    second.sees_its_link_closed();
    assert!(get(address).contains("one"));
}

/// What a peer that is no agent receives on the control socket until its connection ends.
fn heard(mut stray: &UnixStream) -> Vec<u8> {
    let mut heard = Vec::new();
    match stray.read_to_end(&mut heard) {
        Err(why) if why.kind() == ErrorKind::WouldBlock => {
            panic!("its connection stays open, and it received {heard:?}")
        }
        // A reset is an end, too.
        _ => heard,
    }
}

#[test]
fn connection_without_a_greeting_ends_no_link_and_receives_nothing() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    agent.apply(plan(1, address, &[origin("one")]));
    let silent: Vec<_> = (0..5).map(|_| dataplane.stray()).collect();
    let cut = dataplane.stray();
    (&cut).write_all(b"\0\0\0").unwrap();
    for said in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0\0", b"\0\0\0\x02\x2a\0", b"\xff\xff\xff\xff"] {
        let stray = dataplane.stray();
        (&stray).write_all(said).unwrap();
        assert_eq!(heard(&stray), b"", "{said:?}");
    }
    agent.send(Frame::Plan(plan(2, address, &[origin("two")])));
    let Reply::Ack(ack) = agent.verdict() else { panic!("it was refused") };
    assert_eq!(ack.revision, 2, "the current agent is still served");
    for stray in silent.iter().chain([&cut]) {
        assert_eq!(heard(stray), b"", "its connection is closed after a while");
    }
    agent.sample_when(|_| true);
}

#[test]
fn silent_connections_are_bounded_and_do_not_block_agents_for_long() {
    let dataplane = Dataplane::start();
    let strays: Vec<_> = (0..40).map(|_| dataplane.stray()).collect();
    let hung_up_at_once = || {
        let closed = |stray: &&UnixStream| {
            stray.set_nonblocking(true).unwrap();
            matches!((&mut &**stray).read(&mut [0]), Ok(0))
        };
        strays.iter().filter(closed).count()
    };
    wait_until(|| hung_up_at_once() >= 24);
    strays.iter().for_each(|stray| stray.set_nonblocking(false).unwrap());
    assert!(strays.iter().all(|stray| heard(stray).is_empty()));
    assert_eq!(Agent::connect(&dataplane).hello.workers, WORKERS);
}

#[test]
fn listener_that_leaves_the_plan_is_closed_and_the_other_stays() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let (stays, leaves) = (agent.give_socket(), agent.give_socket());
    let origin = origin("one");
    let mut both = plan(1, stays, &[origin]);
    both.virtual_services[0].listeners.push(listener(leaves));
    agent.apply(both);
    assert!(get(leaves).contains("one"));
    agent.apply(plan(2, stays, &[origin]));
    assert!(TcpStream::connect(leaves).is_err(), "nobody holds the socket any more");
    assert!(get(stays).contains("one"));
    assert!(TcpListener::bind(leaves).is_ok());
}

#[test]
fn monitored_server_serves_only_while_the_agent_says_it_is_up() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let origin = origin("one");
    let mut plan = plan(1, address, &[origin]);
    plan.pools[0].monitored = true;
    agent.apply(plan);
    assert!(get(address).starts_with("HTTP/1.1 503"));
    for up in [true, false] {
        let state = ServerState { pool_uuid: "pool-1".into(), server_id: origin.to_string(), up, tasks: None };
        agent.send(Frame::ServerStates(ServerStates { states: vec![state], sample_later: false }));
        agent.sample_when(|sample| sample.servers[0].up == up);
        assert!(get(address).starts_with(if up { "HTTP/1.1 200" } else { "HTTP/1.1 503" }));
    }
}

#[test]
fn server_that_swallows_connects_delays_few_clients_and_is_reported() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let (silent, good) = (Silent::new(), origin("one"));
    let mut plan = plan(1, address, &[silent.address, good]);
    plan.pools[0].inline_health = true;
    agent.apply(plan);
    for _ in 0..40 {
        assert!(get(address).contains("one"));
    }
    let sample = agent.sample_when(|sample| sample.virtual_services[0].requests_total == 40);
    let [suspect, sound] = [silent.address, good].map(|server| {
        let row = sample.servers.iter().find(|row| row.server_id == server.to_string()).unwrap();
        (row.suspecting_workers, row.failures_total, row.up)
    });
    assert!((1..=WORKERS).contains(&suspect.0) && suspect.2, "{suspect:?}");
    assert!(suspect.1 < 10, "of 20 that were its share: {suspect:?}");
    assert_eq!(sound, (0, 0, true));
}

#[test]
fn plan_determines_whether_workers_are_pinned() {
    let dataplane = Dataplane::start_with(&[]);
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let origins = [origin("one")];
    let cores = thread::available_parallelism().unwrap().get();
    for (revision, pinning, each, pinned) in [
        (1, WorkerPinning::Always, 1, WORKERS),
        (2, WorkerPinning::Never, cores, 0),
        (3, WorkerPinning::Always, 1, WORKERS),
    ] {
        agent.apply(Plan { worker_pinning: pinning.into(), ..plan(revision, address, &origins) });
        assert_eq!(dataplane.cores_of_workers(), vec![each; WORKERS as usize], "{pinning:?}");
        agent.sample_when(|sample| sample.pinned_workers == pinned);
        assert!(get(address).contains("one"));
    }
}

#[test]
fn command_line_that_forbids_pinning_overrides_the_plan() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    agent.apply(Plan { worker_pinning: WorkerPinning::Always.into(), ..plan(1, address, &[origin("one")]) });
    let sample = agent.sample_when(|_| true);
    assert_eq!(sample.pinned_workers, 0);
    assert!(dataplane.cores_of_workers().iter().all(|cores| *cores == thread::available_parallelism().unwrap().get()));
}

#[test]
fn worker_leaves_a_core_that_another_process_keeps_busy() {
    let dataplane = Dataplane::start_with(&[]);
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let origins = [origin("one")];
    agent.apply(Plan { worker_pinning: WorkerPinning::Always.into(), ..plan(1, address, &origins) });
    let _busy: Vec<_> = process::cores().unwrap().into_iter().map(Spinner::on).collect();
    for _ in 0..100 {
        assert!(get(address).contains("one"));
    }
    assert_eq!(dataplane.cores_of_workers(), [1, 1], "it was told to stay");
    agent.apply(plan(2, address, &origins));
    let all = process::cores().unwrap().len();
    wait_until(|| {
        assert!(get(address).contains("one"));
        dataplane.cores_of_workers() == vec![all; WORKERS as usize]
    });
}

/// Otherwise clients would wait while the kernel enlarges the table.
#[test]
fn descriptors_have_room_from_the_start() {
    let (room, most) = Dataplane::start().descriptors();
    assert!(room >= most.min(1 << 20), "room for {room}, of {most} that it may open");
}

#[test]
fn terminated_process_finishes_the_response_under_way_then_ends() {
    let mut dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    agent.apply(plan(1, address, &[slow.local_addr().unwrap()]));
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n").unwrap();
    let (mut server, _) = slow.accept().unwrap();
    assert!(server.read(&mut [0; 1024]).unwrap() > 0);
    dataplane.terminate();
    let before = agent.sample_when(|_| true).unix_ms;
    agent.sample_when(|sample| sample.unix_ms > before && sample.virtual_services[0].open_connections == 1);
    assert!(!dataplane.ended());
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone").unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("done"), "{text}");
    wait_until(|| dataplane.ended());
    assert!(dataplane.process.wait().unwrap().success() && !dataplane.socket.exists());
}

#[test]
fn client_that_is_let_go_stays_until_its_next_response() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    agent.apply(plan(1, address, &[origin("one")]));
    let mut client = TcpStream::connect(address).unwrap();
    assert!(!ask(&mut client).contains("connection: close"));
    agent.send(Frame::LetGo(LetGo {}));
    wait_until(|| ask(&mut TcpStream::connect(address).unwrap()).contains("connection: close"));
    client.write_all(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n").unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap(); // to the end of the connection
    assert!(text.starts_with("HTTP/1.1 200") && text.to_lowercase().contains("connection: close"), "{text}");
}

/// Sends a request with keep-alive to an origin. Returns the whole response in lower case.
fn ask(client: &mut TcpStream) -> String {
    client.write_all(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n").unwrap();
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !text.ends_with("x-forwarded-for: 127.0.0.1") {
        let length = client.read(&mut buffer).unwrap();
        assert!(length > 0, "{text}");
        text += &String::from_utf8_lossy(&buffer[..length]).to_lowercase();
    }
    text
}

#[test]
fn drain_gives_up_stuck_connections_after_its_time() {
    let mut dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    agent.apply(plan(1, address, &[silent.local_addr().unwrap()]));
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n").unwrap();
    let (_server, _) = silent.accept().unwrap();
    agent.send(Frame::Drain(Drain { timeout_ms: 50 }));
    wait_until(|| dataplane.ended());
    assert!(dataplane.process.wait().unwrap().success());
}

#[test]
fn bad_frame_ends_the_link_and_nothing_else() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    agent.apply(plan(1, address, &[origin("one")]));
    let mut hostile = Agent::connect(&dataplane);
    hostile.send_raw(&[0xff; 64]);
    hostile.sees_its_link_closed();
    assert!(get(address).contains("one"));
    assert_eq!(Agent::connect(&dataplane).hello.applied_revision, 1);
}
