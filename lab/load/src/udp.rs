//! One thread's datagrams to a server that echoes them. Sessions take turns: a datagram goes out on the next one while
//! the answers are awaited in the same order, so that neither needs a system call to learn where there is something.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    ops::RangeInclusive,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant, SystemTime},
};

use weir_proxy::io::Time;

use crate::{
    runner::LOOK,
    script::{DATAGRAM_BYTES, Script},
    tally::{Cause, Tally},
    task::Task,
};

/// How long to rest after a failure of this machine or a refusal, so that a dead server is not hammered.
const REST: Duration = Duration::from_millis(10);
/// Ports of sessions. Those of sessions that do not stay are used again only after all others, with each address.
const PORTS: RangeInclusive<u16> = 10_000..=65_535;

pub struct Datagrams {
    task: Task,
    datagram: Vec<u8>,
    begun_at: Instant,
    sessions: Vec<Option<Session>>,
    /// Datagrams without an answer, in the order in which they were sent.
    under_way: VecDeque<UnderWay>,
    next: usize,
    begun: u64,
    ports: Ports,
    heard: Vec<u8>,
    tally: Tally,
}

struct Session {
    socket: UdpSocket,
    sent: u64,
}

struct UnderWay {
    session: usize,
    number: u64,
    begun: Time,
}

impl Datagrams {
    pub fn new(task: Task) -> Self {
        let datagram = match &task.script {
            Script::Datagram(bytes) => bytes.clone(),
            _ => Vec::new(),
        };
        Self {
            sessions: (0..task.connections).map(|_| None).collect(),
            ports: Ports::new(&task),
            // A longer answer than the datagram is seen to be longer.
            heard: vec![0; *DATAGRAM_BYTES.end()],
            datagram,
            begun_at: Instant::now(),
            under_way: VecDeque::new(),
            next: 0,
            begun: 0,
            tally: Tally::new(),
            task,
        }
    }

    /// Opens the sessions that stay.
    pub fn open(&mut self) -> io::Result<()> {
        if self.task.requests_per_connection == 0 {
            for at in 0..self.sessions.len() {
                self.sessions[at] = Some(self.session()?);
            }
        }
        Ok(())
    }

    /// Runs until the time is over, the count is reached, or there is `enough`.
    pub fn run(&mut self, enough: &AtomicBool) -> Tally {
        let start = self.now();
        let end = start + self.task.duration;
        let mut now = start;
        while now < end && !enough.load(Ordering::Relaxed) {
            while self.under_way.len() < self.task.in_flight && self.task.count.is_none_or(|count| self.begun < count) {
                self.send();
            }
            if self.under_way.is_empty() && self.task.count.is_some_and(|count| self.begun >= count) {
                break;
            }
            self.receive();
            now = self.now();
        }
        while self.task.drain && !self.under_way.is_empty() {
            self.receive();
        }
        self.tally.span = self.now().since(start);
        std::mem::replace(&mut self.tally, Tally::new())
    }

    fn now(&self) -> Time {
        Time::default() + self.begun_at.elapsed()
    }

    fn session(&mut self) -> io::Result<Session> {
        let socket = self.ports.next()?;
        socket.connect(self.task.address)?;
        socket.set_read_timeout(Some(self.task.timeout.min(LOOK)))?;
        Ok(Session { socket, sent: 0 })
    }

    /// Sends the next datagram, on the session whose turn it is.
    fn send(&mut self) {
        let session = self.next;
        self.next = (session + 1) % self.sessions.len();
        let (number, begun) = (self.begun, self.now());
        self.begun += 1;
        if self.sessions[session].is_none() {
            match self.session() {
                Ok(opened) => self.sessions[session] = Some(opened),
                Err(_) => return self.failed(Cause::Local, begun),
            }
        }
        let Some(open) = &mut self.sessions[session] else { return };
        open.sent += 1;
        self.datagram[..8].copy_from_slice(&number.to_be_bytes());
        let mut sent = open.socket.send(&self.datagram);
        if matches!(&sent, Err(error) if error.kind() == ErrorKind::ConnectionRefused) {
            // It is about an earlier datagram, and was not told before.
            sent = open.socket.send(&self.datagram);
        }
        match sent {
            Ok(_) => self.under_way.push_back(UnderWay { session, number, begun }),
            Err(error) => {
                self.sessions[session] = None;
                self.failed(cause_of(&error), begun);
            }
        }
    }

    /// Takes the answer to the datagram that was sent first.
    fn receive(&mut self) {
        let Some(UnderWay { session, number, begun }) = self.under_way.pop_front() else { return };
        let Some(open) = &self.sessions[session] else { return };
        if self.now().since(begun) >= self.task.timeout {
            // Others were waited for meanwhile: what has not come by now is late. The session ends with a failure.
            let _ = open.socket.set_nonblocking(true);
        }
        let heard = loop {
            match open.socket.recv(&mut self.heard) {
                Err(error) if is_wait(&error) && self.now().since(begun) < self.task.timeout => {}
                heard => break heard,
            }
        };
        let is_last = open.sent == self.task.requests_per_connection;
        self.datagram[..8].copy_from_slice(&number.to_be_bytes());
        match heard {
            Ok(bytes) if self.heard[..bytes] == self.datagram => {
                let now = self.now();
                self.tally.bytes += bytes as u64;
                self.tally.answered(now, begun, begun, None);
                if is_last || now.since(begun) >= self.task.timeout {
                    self.sessions[session] = None;
                }
            }
            // A late answer must not be taken for that of the next datagram.
            other => {
                self.sessions[session] = None;
                self.failed(other.map_or_else(|error| cause_of(&error), |_| Cause::BadResponse), begun);
            }
        }
    }

    fn failed(&mut self, cause: Cause, begun: Time) {
        let rests = matches!(cause, Cause::Connect | Cause::Local);
        self.tally.failed(cause, self.now(), begun, None);
        if rests {
            thread::sleep(REST);
        }
    }
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn cause_of(error: &io::Error) -> Cause {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Cause::Connect,
        _ if is_wait(error) => Cause::Timeout,
        _ => Cause::Local,
    }
}

/// Where sessions come from.
struct Ports {
    sources: Vec<IpAddr>,
    address: usize,
    port: u16,
}

impl Ports {
    /// Sessions that stay have the same ports in each load: a load goes on with the sessions that the load before it has
    /// left behind, so that a warm-up is one. Others begin anywhere, so that two loads have different sessions.
    fn new(task: &Task) -> Self {
        let any = if task.address.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let sources = if task.sources.is_empty() { vec![any] } else { task.sources.clone() };
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let skipped = if task.requests_per_connection == 0 { 0 } else { nanos % PORTS.len() as u32 };
        Self { sources, address: 0, port: PORTS.start() + skipped as u16 }
    }

    /// A socket with an address and a port that were not used for as long as possible. Ports in use are left out.
    fn next(&mut self) -> io::Result<UdpSocket> {
        let mut tries = self.sources.len() * PORTS.len();
        loop {
            self.address = (self.address + 1) % self.sources.len();
            if self.address == 0 {
                self.port = if self.port == *PORTS.end() { *PORTS.start() } else { self.port + 1 };
            }
            tries -= 1;
            match UdpSocket::bind(SocketAddr::new(self.sources[self.address], self.port)) {
                Err(error) if error.kind() == ErrorKind::AddrInUse && tries > 0 => {}
                bound => return bound,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, thread};

    use super::*;
    use crate::flags::Flags;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// Answers each datagram with what `answer` makes of it.
    fn server(answer: impl Fn(&[u8], SocketAddr) -> Option<Vec<u8>> + Send + 'static) -> String {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let url = format!("udp://{}", socket.local_addr().unwrap());
        thread::spawn(move || {
            let mut bytes = [0; 100];
            while let Ok((len, from)) = socket.recv_from(&mut bytes) {
                if let Some(answer) = answer(&bytes[..len], from) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        url
    }

    fn run(url: String, flags: Flags) -> Tally {
        let flags = Flags { url, body_bytes: 64, duration: Duration::from_secs(30), ..flags };
        let mut datagrams = Datagrams::new(Task::new(&flags, 0).unwrap());
        datagrams.open().unwrap();
        datagrams.run(&NEVER)
    }

    fn failures(tally: &Tally) -> Vec<(&str, u64)> {
        let errors = tally.errors.iter().filter(|(_, count)| **count > 0);
        errors.map(|(name, count)| (name.as_str(), *count)).collect()
    }

    /// How many sessions a server sees in so many loads of 500 datagrams, one after the other. Each caller has a network
    /// of its own, so that nobody else uses the ports.
    fn sessions(network: u8, requests_per_connection: u64, loads: usize) -> usize {
        let (seen, sources) = std::sync::mpsc::channel();
        let url = server(move |bytes, from| {
            let _ = seen.send(from);
            Some(bytes.to_vec())
        });
        for _ in 0..loads {
            let sources = (1..=3).map(|host| Ipv4Addr::new(127, 77, network, host).into()).collect();
            let flags = Flags { connections: 100, sources, ..Flags::default() };
            let tally = run(url.clone(), Flags { requests_per_connection, count: Some(500), ..flags });
            assert_eq!((tally.requests, tally.bytes, failures(&tally)), (500, 32_000, vec![]));
        }
        sources.try_iter().collect::<std::collections::HashSet<_>>().len()
    }

    #[test]
    fn sessions_stay_or_are_fresh() {
        assert_eq!([sessions(1, 0, 1), sessions(1, 1, 1), sessions(1, 2, 1)], [100, 500, 300]);
    }

    #[test]
    fn sessions_that_stay_are_those_of_the_load_before() {
        assert_eq!(sessions(2, 0, 2), 100);
    }

    #[test]
    fn tells_mistakes_of_the_server() {
        let timeout = Duration::from_millis(50);
        let flags = || Flags { count: Some(20), connections: 5, in_flight: Some(1), timeout, ..Flags::default() };
        let all_but_every_fourth = |bytes: &[u8], _| (!bytes[7].is_multiple_of(4)).then(|| bytes.to_vec());
        let tally = run(server(all_but_every_fourth), flags());
        assert_eq!((tally.requests, failures(&tally)), (15, vec![("timeout", 5)]));
        let longer = |bytes: &[u8], _| Some([bytes, b"x"].concat());
        assert_eq!(failures(&run(server(longer), flags())), [("bad_response", 20)]);
        let another = |bytes: &[u8], _| Some([&[bytes[0] + 1], &bytes[1..]].concat());
        assert_eq!(failures(&run(server(another), flags())), [("bad_response", 20)]);
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(failures(&run(format!("udp://{nobody}"), flags())), [("connect", 20)]);
    }
}
