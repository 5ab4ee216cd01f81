//! Contains a defect that shows as a panic while a batch is handled: the connections of that batch end, and the process
//! goes on. A second panic, while the proxy is told of these ends, shows that its state is no longer valid.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use weir_control::log;
use weir_proxy::{
    Proxy,
    datagrams::io::{Arrival, DatagramIo},
    io::{Close, Conn, Event, Gone, Handler, Io},
};

pub struct Containment {
    worker: u32,
    /// The connections of the batch being handled, in case that panics.
    batch: Vec<Conn>,
}

impl Containment {
    pub fn new(worker: u32) -> Self {
        Self { worker, batch: Vec::new() }
    }

    /// Lets `handler` handle a batch.
    ///     ///
    /// # Errors
    ///     ///
    /// If the handler panics again while it is told which connections the first panic has ended.
    pub fn handle(&mut self, handler: &mut impl Handler, io: &mut impl Io, events: &mut Vec<Event>) -> io::Result<()> {
        self.batch.clear();
        self.batch.extend(events.iter().map(Event::conn));
        if handled(handler, io, events) {
            return Ok(());
        }
        log::error(format!("worker {}: a panic ended {} connections", self.worker, self.batch.len()));
        events.clear();
        for &conn in &self.batch {
            io.close(conn, Close::Abort);
            events.push(Event::Gone { conn, why: Gone::Local });
        }
        if handled(handler, io, events) { Ok(()) } else { Err(again()) }
    }
}

impl Containment {
    /// Lets the proxy handle datagrams. A panic ends all sessions of the worker.
    ///
    /// # Errors
    /// If the proxy panics again while it ends the sessions.
    pub fn handle_datagrams<I: DatagramIo>(
        &mut self,
        proxy: &mut Proxy,
        io: &mut I,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<()> {
        if contained(|| proxy.handle_datagrams(io, arrivals)) {
            return Ok(());
        }
        log::error(format!("worker {}: a panic ended all sessions of datagrams", self.worker));
        arrivals.clear();
        if contained(|| proxy.end_sessions(io)) { Ok(()) } else { Err(again()) }
    }
}

impl Containment {
    /// The answer to a question; `None`: it panicked. No connection is of it, so none ends.
    pub fn ask<T>(&self, question: impl FnOnce() -> T) -> Option<T> {
        let mut answer = None;
        if !contained(|| answer = Some(question())) {
            log::error(format!("worker {}: a question panicked", self.worker));
        }
        answer
    }
}

fn handled(handler: &mut impl Handler, io: &mut impl Io, events: &mut Vec<Event>) -> bool {
    contained(|| handler.handle(io, events))
}

fn contained(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_ok()
}

fn again() -> io::Error {
    io::Error::other("another panic while containing a panic")
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read},
        net::{SocketAddr, TcpListener, TcpStream},
        time::Duration,
    };

    use weir_reactor::{Driver, Limits, Reactor, SocketOptions};

    use super::*;

    /// Panics at this many of the events that follow an accept.
    struct Defective {
        panics_left: usize,
        heard: Vec<Event>,
    }

    impl Handler for Defective {
        fn handle<I: Io>(&mut self, _io: &mut I, events: &mut Vec<Event>) {
            for event in events.drain(..) {
                if self.panics_left > 0 && !matches!(event, Event::Accepted { .. }) {
                    self.panics_left -= 1;
                    panic!("a defect, on purpose");
                }
                self.heard.push(event);
            }
        }
    }

    struct Bench {
        reactor: Reactor,
        handler: Defective,
        address: SocketAddr,
    }

    impl Bench {
        fn new(panics_left: usize) -> Self {
            let mut reactor = Reactor::new(Limits::default()).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = reactor.listen(listener.into(), SocketOptions::default()).unwrap().address;
            Self { reactor, handler: Defective { panics_left, heard: Vec::new() }, address }
        }

        fn client(&mut self) -> (TcpStream, Conn) {
            let client = TcpStream::connect(self.address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
            let mut events = Vec::new();
            while events.is_empty() {
                self.reactor.poll(Some(Duration::from_secs(1)), &mut events).unwrap();
            }
            let conn = events[0].conn();
            self.batch(events).unwrap();
            (client, conn)
        }

        fn batch(&mut self, mut events: Vec<Event>) -> io::Result<()> {
            let outcome = Containment::new(0).handle(&mut self.handler, &mut self.reactor, &mut events);
            self.reactor.flush();
            outcome
        }
    }

    fn is_reset(mut client: &TcpStream) -> bool {
        matches!(client.read(&mut [0]), Err(why) if why.kind() == ErrorKind::ConnectionReset)
    }

    #[test]
    fn panic_ends_the_connections_of_its_batch_and_no_other() {
        let mut bench = Bench::new(1);
        let [(one, conn), (other, other_conn), (mut bystander, third)] = [(); 3].map(|()| bench.client());
        bench.handler.heard.clear();
        bench.batch(vec![Event::Eof { conn }, Event::Eof { conn: other_conn }]).unwrap();
        let told = [conn, other_conn].map(|conn| format!("{:?}", Event::Gone { conn, why: Gone::Local }));
        assert_eq!(bench.handler.heard.iter().map(|event| format!("{event:?}")).collect::<Vec<_>>(), told);
        assert!(is_reset(&one) && is_reset(&other));
        let mut answer = bench.reactor.buffer();
        answer.append(b"fine");
        bench.reactor.send(third, answer);
        bench.batch(vec![Event::Drained { conn: third }]).unwrap();
        let mut read = [0; 4];
        bystander.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"fine");
    }

    #[test]
    fn question_that_panics_has_no_answer_and_ends_nothing() {
        let containment = Containment::new(0);
        assert_eq!(containment.ask(|| 7), Some(7));
        assert_eq!(containment.ask(|| -> u32 { panic!("a defect, on purpose") }), None);
        assert_eq!(containment.ask(|| 8), Some(8));
    }

    #[test]
    fn second_panic_is_not_contained() {
        let mut bench = Bench::new(2);
        let (client, conn) = bench.client();
        assert!(bench.batch(vec![Event::Eof { conn }]).is_err());
        assert!(is_reset(&client), "its connection is reset");
    }
}
