use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use super::*;
use crate::flags::Flags;

/// Answers each request with `answer`, on as many connections as come.
fn server(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer_each(&stream, answer));
        }
    });
    address
}

fn answer_each(mut stream: &TcpStream, answer: &str) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while lines.by_ref().take_while(|line| !line.is_empty()).count() > 0 {
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn run(address: SocketAddr, flags: Flags) -> Tally {
    let flags = Flags { url: format!("http://{address}/"), duration: Duration::from_secs(30), ..flags };
    Runner::new(Task::new(&flags, 0).unwrap()).unwrap().run(&NEVER).unwrap()
}

pub static NEVER: AtomicBool = AtomicBool::new(false);

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Server: a\r\n\r\nok";

#[test]
fn sends_as_many_requests_as_asked_and_stops() {
    for requests_per_connection in [0, 1, 7] {
        let server_header = Some("X-Server".into());
        let flags =
            Flags { count: Some(500), connections: 9, requests_per_connection, server_header, ..Flags::default() };
        let tally = run(server(OK), flags);
        assert_eq!((tally.requests, tally.error_total(), tally.per_value["a"]), (500, 0, 500));
        assert_eq!(tally.bytes, 500 * OK.len() as u64);
    }
}

#[test]
fn ends_once_there_is_enough() {
    let flags = Flags { url: format!("http://{}/", server(OK)), ..Flags::default() };
    let mut runner = Runner::new(Task::new(&flags, 0).unwrap()).unwrap();
    let tally = runner.run(&AtomicBool::new(true)).unwrap();
    assert!(tally.span < flags.duration, "{:?}", tally.span);
}

#[test]
fn failure_tells_who_answered_before_on_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Two answers, and no third one.
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        for _ in 0..2 {
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            stream.write_all(OK.as_bytes()).unwrap();
        }
        lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    });
    let flags = Flags { connections: 1, requests_per_connection: 0, count: Some(4), ..Flags::default() };
    let tally = run(address, Flags { server_header: Some("X-Server".into()), timeline: true, ..flags });
    let failures = tally.timeline.unwrap().failures;
    let told: Vec<_> = failures.iter().map(|f| (f.cause.as_str(), f.value.as_deref())).collect();
    assert_eq!(told, [("reset", Some("a")), ("connect", None)]);
}

#[test]
fn begins_requests_at_the_rate_asked_for() {
    let flags = Flags { count: Some(100), rate: Some(500.0), ..Flags::default() };
    let tally = run(server(OK), flags);
    assert_eq!((tally.requests, tally.missed), (100, 0));
    assert!(tally.span >= Duration::from_millis(198), "{:?}", tally.span);
}

#[test]
fn misses_what_is_due_while_all_connections_are_busy_and_nothing_while_it_drains() {
    for (connections, misses) in [(1, true), (10_000, false)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let enough: &'static AtomicBool = Box::leak(Box::default());
        // Nobody is answered before `enough` is set, and for a while after that.
        thread::spawn(move || {
            let first = listener.accept();
            thread::sleep(Duration::from_millis(100));
            enough.store(true, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(300));
            first.iter().for_each(|(stream, _)| answer_each(stream, OK));
            for stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || answer_each(&stream, OK));
            }
        });
        let flags = Flags { url, connections, rate: Some(1000.0), drain: true, ..Flags::default() };
        let tally = Runner::new(Task::new(&flags, 0).unwrap()).unwrap().run(enough).unwrap();
        assert_eq!((tally.missed > 0, tally.error_total()), (misses, 0), "{connections}: {}", tally.missed);
    }
}

#[test]
fn idle_connections_stay_open_and_count_nothing() {
    let flags = Flags { idle_connections: 150, connections: 2, count: Some(20), ..Flags::default() };
    let url = format!("http://{}/", server(OK));
    let flags = Flags { url, duration: Duration::from_secs(30), ..flags };
    let mut runner = Runner::new(Task::new(&flags, 0).unwrap()).unwrap();
    runner.open_idle().unwrap();
    let tally = runner.run(&NEVER).unwrap();
    assert_eq!((tally.idle_held, tally.requests, tally.error_total()), (150, 20, 0));
}

#[test]
fn drains_what_is_under_way_when_asked() {
    // Each answer takes longer than the run.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (over, ended) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        let streams: Vec<_> = listener.incoming().take(3).map_while(Result::ok).collect();
        let _ = ended.recv_timeout(Duration::from_millis(60));
        streams.iter().for_each(|stream| answer_each(stream, OK));
    });
    let flags = Flags { url, duration: Duration::from_millis(20), connections: 3, drain: true, ..Flags::default() };
    let tally = Runner::new(Task::new(&flags, 0).unwrap()).unwrap().run(&NEVER).unwrap();
    drop(over);
    // On a busy machine, an answer may come before the runner has seen that its time is over, and it asks again.
    assert!(tally.requests >= 3 && tally.error_total() == 0, "{} answers, {:?}", tally.requests, tally.errors);
    assert!(tally.span >= Duration::from_millis(60), "{:?}", tally.span);
}

#[test]
fn stall_shows_in_the_corrected_latency_of_all_that_were_due() {
    // One connection that is never answered holds up everything behind it until its time is over.
    let flags = Flags { connections: 1, rate: Some(1000.0), timeout: Duration::from_secs(2), ..Flags::default() };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let silent = listener.accept();
        let answered = listener.accept();
        answered.iter().for_each(|(stream, _)| answer_each(stream, OK));
        drop(silent);
    });
    let flags = Flags { count: Some(50), requests_per_connection: 0, ..flags };
    let tally = run(address, flags);
    assert_eq!((tally.requests, tally.error_total()), (49, 1));
    assert!(tally.latency.min() >= 1_950_000, "corrected: {} µs", tally.latency.min());
    assert!(tally.uncorrected.value_at_quantile(0.5) < 1_000_000);
}

#[test]
fn tells_causes_of_failure_apart() {
    let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cases = [
        (refused, "connect"),
        (server("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), "status"),
        (server("SMTP\r\n\r\n"), "bad_response"),
    ];
    for (address, cause) in cases {
        let tally = run(address, Flags { count: Some(5), ..Flags::default() });
        assert_eq!((failures(&tally), tally.requests), (vec![(cause, 5)], 0));
    }
}

#[test]
fn tells_why_tls_failed() {
    // A fatal handshake_failure, and an end without a word.
    for (answer, cause) in [
        (&[21, 3, 3, 0, 2, 2, 40][..], "tls: received fatal alert: HandshakeFailure"),
        (&[], "tls: connection ended in the handshake"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let heard = stream.read(&mut [0; 16 * 1024]);
                heard.and_then(|_| stream.write_all(answer)).expect("a client that waits for it");
            }
        });
        let flags = Flags { url, count: Some(3), duration: Duration::from_secs(30), ..Flags::default() };
        let tally = Runner::new(Task::new(&flags, 0).unwrap()).unwrap().run(&NEVER).unwrap();
        assert_eq!(failures(&tally), [(cause, 3)]);
    }
}

pub fn failures(tally: &Tally) -> Vec<(&str, u64)> {
    let errors = tally.errors.iter().filter(|(_, count)| **count > 0);
    errors.map(|(name, count)| (name.as_str(), *count)).collect()
}
