//! One thread's run: begins requests when they are due and a connection is free, and takes what comes back.

use std::{
    collections::VecDeque,
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use weir_proxy::io::{Close, Conn, Event, Gone, Io, Time};
use weir_reactor::{Driver, Limits, Reactor};
use weir_tls::TlsSession;
use weir_wire::head::FieldTable;

use crate::{
    answer::{Answered, Reading},
    lane::{Lane, Link, Stage, UnderWay, send_raw},
    tally::{Cause, Tally},
    task::Task,
};

/// How long a connection rests after a failure, so that a dead server is not hammered.
const REST: Duration = Duration::from_millis(10);

/// How many idle connections are being opened at once: more would measure a crowd, not connections that idle.
const OPENING_MAX: usize = 64;

/// How often to look whether there is enough.
const LOOK: Duration = Duration::from_millis(100);

pub struct Runner {
    task: Task,
    io: Reactor,
    lanes: Vec<Lane>,
    /// Lanes by the slot of their connection.
    lane_of: Vec<u32>,
    /// Lanes that may carry the next request, each in its turn.
    idle: VecDeque<u32>,
    resting: VecDeque<(Time, u32)>,
    begun: u64,
    under_way: usize,
    tally: Tally,
    table: FieldTable,
    scratch: Vec<u8>,
}

impl Runner {
    pub fn new(task: Task) -> io::Result<Self> {
        let mut io = Reactor::new(Limits::default())?;
        io.connect_from(task.sources.clone());
        Ok(Self {
            io,
            lanes: (0..task.connections + task.idle_connections).map(|_| Lane::default()).collect(),
            lane_of: Vec::new(),
            idle: (0..task.connections as u32).collect(),
            resting: VecDeque::new(),
            begun: 0,
            under_way: 0,
            tally: Tally::new(),
            table: FieldTable::new(),
            scratch: Vec::new(),
            task,
        })
    }

    /// Opens the connections that idle, with one request on each.
    pub fn open_idle(&mut self) -> io::Result<()> {
        let mut events = Vec::new();
        let mut opened = self.task.connections;
        self.io.poll(Some(Duration::ZERO), &mut events)?;
        while opened < self.lanes.len() || self.under_way > 0 {
            while opened < self.lanes.len() && self.under_way < OPENING_MAX {
                let now = self.io.now();
                self.begin(opened as u32, now);
                opened += 1;
            }
            self.turn(self.task.timeout, &mut events)?;
        }
        self.tally.begin();
        self.begun = 0;
        Ok(())
    }

    /// Runs until the time is over, the count is reached, or there is `enough`. What is then under way counts nowhere, unless it is drained.
    pub fn run(&mut self, enough: &AtomicBool) -> io::Result<Tally> {
        let mut events = Vec::new();
        self.io.poll(Some(Duration::ZERO), &mut events)?;
        let start = self.io.now();
        let end = start + self.task.duration;
        if self.task.timeline {
            self.tally.timeline.get_or_insert_default().begin(start);
        }
        while self.io.now() < end && !self.is_done() && !enough.load(Ordering::Relaxed) {
            self.wake_rested();
            let wait = self.begin_due(start);
            self.turn(wait.min(end.since(self.io.now())).min(LOOK), &mut events)?;
        }
        self.tally.missed = self.missed(self.io.now().min(end).since(start));
        while self.task.drain && self.under_way > 0 {
            self.turn(self.task.timeout, &mut events)?;
        }
        self.tally.span = self.io.now().since(start);
        self.tally.idle_held =
            self.lanes[self.task.connections..].iter().filter(|lane| lane.link.is_some()).count() as u64;
        Ok(std::mem::replace(&mut self.tally, Tally::new()))
    }

    /// Sends what is to be sent, waits for events and takes them.
    fn turn(&mut self, wait: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        self.io.flush();
        self.io.poll(Some(wait), events)?;
        for event in events.drain(..) {
            self.take(event);
        }
        Ok(())
    }

    /// Idle lanes stand behind the others; they carry one request and then nothing.
    fn is_idle_lane(&self, index: u32) -> bool {
        index as usize >= self.task.connections
    }

    /// A lane may carry the next request, unless it is there to idle.
    fn release(&mut self, index: u32) {
        if !self.is_idle_lane(index) {
            self.idle.push_back(index);
        }
    }

    fn is_done(&self) -> bool {
        self.task.count.is_some_and(|count| self.begun >= count) && self.under_way == 0
    }

    fn wake_rested(&mut self) {
        while let Some(&(until, lane)) = self.resting.front()
            && until <= self.io.now()
        {
            self.resting.pop_front();
            self.release(lane);
        }
    }

    /// Requests that were due in `span` and found no connection free; one that is free would carry them now.
    fn missed(&self, span: Duration) -> u64 {
        if self.idle.is_empty() { self.due(span).saturating_sub(self.begun) } else { 0 }
    }

    /// Requests that should have begun in `span`; without a rate: those that have.
    fn due(&self, span: Duration) -> u64 {
        let due = match self.task.interval {
            Some(interval) => span.as_nanos().div_ceil(interval.as_nanos().max(1)) as u64,
            None => return self.begun,
        };
        due.min(self.task.count.unwrap_or(u64::MAX))
    }

    /// Begins what is due; returns how long nothing more will be.
    fn begin_due(&mut self, start: Time) -> Duration {
        let now = self.io.now();
        let rested = self.resting.front().map(|(until, _)| until.since(now));
        loop {
            let left = self.task.count.is_none_or(|count| self.begun < count);
            if !left || self.idle.is_empty() {
                return rested.unwrap_or(self.task.timeout);
            }
            let due = match self.task.interval {
                Some(interval) => start + interval.mul_f64(self.begun as f64),
                None => now,
            };
            if due > now {
                return rested.unwrap_or(Duration::MAX).min(due.since(now));
            }
            if let Some(lane) = self.idle.pop_front() {
                self.begin(lane, due);
            }
        }
    }

    fn begin(&mut self, index: u32, due: Time) {
        let now = self.io.now();
        self.begun += 1;
        self.under_way += 1;
        let lane = &mut self.lanes[index as usize];
        lane.under_way = Some(UnderWay { due, begun: now });
        let conn = lane.link.as_ref().map(|link| link.conn);
        let outcome = match conn {
            Some(_) => self.send_request(index),
            None => self.connect(index),
        };
        if let Err(cause) = outcome {
            return self.failed(index, cause);
        }
        if let Some(link) = &self.lanes[index as usize].link {
            self.io.deadline(link.conn, Some(now + self.task.timeout));
        }
    }

    fn connect(&mut self, index: u32) -> Result<(), Cause> {
        self.scratch.clear();
        let tls = match &self.task.tls {
            Some(tls) => Some(TlsSession::client(&tls.config, &tls.name, &mut self.scratch)?),
            None => None,
        };
        let conn = self.io.connect(self.task.address);
        let slot = conn.slot as usize;
        if self.lane_of.len() <= slot {
            self.lane_of.resize(slot + 1, u32::MAX);
        }
        self.lane_of[slot] = index;
        let is_plain = tls.is_none();
        self.lanes[index as usize].link = Some(Link::new(conn, tls));
        send_raw(&mut self.io, conn, &self.scratch);
        if is_plain { self.send_request(index) } else { Ok(()) }
    }

    fn send_request(&mut self, index: u32) -> Result<(), Cause> {
        let stays = self.is_idle_lane(index);
        let Some(link) = &mut self.lanes[index as usize].link else { return Ok(()) };
        let is_last = !stays && link.served + 1 == self.task.requests_per_connection;
        link.send(&mut self.io, if is_last { &self.task.last_request } else { &self.task.request })
    }

    /// The lane of a connection, unless that is not its connection any more.
    fn lane(&self, conn: Conn) -> Option<u32> {
        let index = *self.lane_of.get(conn.slot as usize)?;
        let link = self.lanes.get(index as usize)?.link.as_ref()?;
        (link.conn == conn).then_some(index)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Connected { conn } => {
                if let Some(link) = self.lane(conn).and_then(|index| self.lanes[index as usize].link.as_mut()) {
                    link.connected();
                }
            }
            Event::Data { conn, mut buf } => {
                if let Some(index) = self.lane(conn) {
                    self.received(index, buf.bytes_mut().unwrap_or_default());
                }
            }
            Event::Eof { conn } => self.ended(conn),
            Event::Gone { conn, why } => self.gone(conn, why),
            Event::Deadline { conn } => {
                if let Some(index) = self.lane(conn) {
                    self.failed(index, Cause::Timeout);
                }
            }
            Event::Leaving { .. }
            | Event::Drained { .. }
            | Event::Broken { .. }
            | Event::Relayed { .. }
            | Event::Accepted { .. } => {}
        }
    }

    fn received(&mut self, index: u32, bytes: &mut [u8]) {
        let Some(link) = &mut self.lanes[index as usize].link else { return };
        let Self { tally, task, .. } = self;
        let mut value = link.value.take();
        let mut reading = Reading {
            method: task.method,
            table: &mut self.table,
            server_header: task.server_header.as_deref(),
            on_value: &mut |seen| {
                tally.value(seen);
                if task.timeline {
                    value = Some(String::from_utf8_lossy(seen).into());
                }
            },
        };
        let received = link.receive(&mut self.io, bytes, &mut reading, &mut self.scratch);
        link.value = value;
        match received {
            Err(cause) => self.failed(index, cause),
            Ok(false) => self.settle(index),
            Ok(true) => {
                link.count_handshake(&mut self.tally);
                if let Err(cause) = self.send_request(index) {
                    self.failed(index, cause);
                }
            }
        }
    }

    fn settle(&mut self, index: u32) {
        let Some(link) = &mut self.lanes[index as usize].link else { return };
        match link.reader.outcome() {
            Some(Ok(answered)) => self.answered(index, answered),
            Some(Err(cause)) => self.failed(index, cause),
            None => {}
        }
    }

    fn answered(&mut self, index: u32, answered: Answered) {
        let now = self.io.now();
        let stays = self.is_idle_lane(index);
        let lane = &mut self.lanes[index as usize];
        let (Some(link), Some(request)) = (&mut lane.link, lane.under_way.take()) else { return };
        self.under_way -= 1;
        self.tally.bytes += std::mem::take(&mut link.reader.bytes);
        let value = link.value.as_deref();
        if answered.status >= 400 {
            self.tally.failed(Cause::Status, now, request.begun, value);
        } else {
            self.tally.answered(now, request.due, request.begun, value);
        }
        link.served += 1;
        if answered.keep_alive && (stays || link.served != self.task.requests_per_connection) {
            self.io.deadline(link.conn, None);
        } else if self.task.reset {
            self.io.close(link.conn, Close::Abort);
            lane.link = None;
        } else {
            link.say_goodbye(&mut self.io, &mut self.scratch);
            self.io.close(link.conn, Close::Flush);
            lane.link = None;
        }
        self.release(index);
    }

    fn ended(&mut self, conn: Conn) {
        let Some(index) = self.lane(conn) else { return };
        let lane = &mut self.lanes[index as usize];
        let Some(link) = &mut lane.link else { return };
        if lane.under_way.is_none() {
            self.io.close(conn, Close::Flush);
            lane.link = None;
        } else if link.stage == Stage::Handshaking {
            self.failed(index, Cause::Tls("connection ended in the handshake".into()));
        } else {
            link.reader.end();
            self.settle(index);
        }
    }

    fn gone(&mut self, conn: Conn, why: Gone) {
        let Some(index) = self.lane(conn) else { return };
        let connecting = self.lanes[index as usize].link.as_ref().is_some_and(|link| link.stage == Stage::Connecting);
        let cause = match why {
            Gone::Local => Cause::Local,
            Gone::Refused | Gone::Unreachable => Cause::Connect,
            Gone::Reset if connecting => Cause::Connect,
            Gone::Reset => Cause::Reset,
        };
        self.failed(index, cause);
    }

    /// Ends the request under way, if there is one, and its connection.
    fn failed(&mut self, index: u32, cause: Cause) {
        let lane = &mut self.lanes[index as usize];
        let link = lane.link.take();
        if let Some(link) = &link {
            self.io.close(link.conn, Close::Abort);
        }
        if let Some(request) = lane.under_way.take() {
            self.under_way -= 1;
            let now = self.io.now();
            self.tally.failed(cause, now, request.begun, link.as_ref().and_then(|link| link.value.as_deref()));
            self.resting.push_back((now + REST, index));
        }
    }
}

#[cfg(test)]
mod tests {
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

    static NEVER: AtomicBool = AtomicBool::new(false);

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

    fn failures(tally: &Tally) -> Vec<(&str, u64)> {
        let errors = tally.errors.iter().filter(|(_, count)| **count > 0);
        errors.map(|(name, count)| (name.as_str(), *count)).collect()
    }
}
