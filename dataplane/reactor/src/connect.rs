//! Connecting, and resetting what is given up. Both are spread over batches.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpStream},
};

use weir_proxy::io::{Conn, Event};

use crate::{
    reactor::Reactor,
    slot::Interest,
    socket::{self, gone},
    spread::BATCH,
};

impl Reactor {
    /// Connections from now on come from these addresses in turn; from none: the kernel's choice.
    pub fn connect_from(&mut self, sources: Vec<IpAddr>) {
        (self.sources, self.next_source) = (sources, 0);
    }

    /// Does what earlier batches have left for this one.
    pub(crate) fn connect_and_reset_on(&mut self) {
        self.connects.begin_batch();
        // A connection may have been given up since.
        while let Some((conn, to)) = self.connects.next(|(conn, _)| self.table.peek(*conn).is_some()) {
            self.begin_connect(conn, &to);
        }
        self.resets.begin_batch();
        while let Some(stream) = self.resets.next(|_| true) {
            reset(&stream);
        }
    }

    /// Begins a connection, in this batch or in a later one.
    pub(crate) fn connect_in_turn(&mut self, conn: Conn, to: SocketAddr) {
        if let Some((conn, to)) = self.connects.now_or_later((conn, to)) {
            self.begin_connect(conn, &to);
        }
    }

    fn begin_connect(&mut self, conn: Conn, to: &SocketAddr) {
        let source = self.sources.get(self.next_source).copied();
        self.next_source = (self.next_source + 1) % self.sources.len().max(1);
        match open(to, source) {
            Ok(stream) => {
                if let Some(slot) = self.table.at(conn) {
                    slot.stream = Some(stream);
                }
                self.register(conn, Interest::ReadableAndWritable);
            }
            Err(err) => self.connect_failed(conn, &err),
        }
    }

    pub(crate) fn connect_failed(&mut self, conn: Conn, err: &io::Error) {
        self.free(conn.slot);
        self.pending.push(Event::Gone { conn, why: gone(err) });
    }

    /// Gives up a connection whose end the handler does not wait for any more. Its reset may come in a later batch.
    pub(crate) fn abort(&mut self, index: u32) {
        self.timers.set(index, None);
        let is_short = self.room() < BATCH;
        self.end_limit(index);
        let Some(stream) = self.table.remove(index) else { return };
        if is_short {
            reset(&stream);
        } else if let Some(stream) = self.resets.now_or_later(stream) {
            reset(&stream);
        }
    }
}

fn open(to: &SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let stream = socket::open(to, source)?;
    socket::connect(&stream, to)?;
    Ok(stream)
}

/// The connection ends when the caller drops it.
fn reset(stream: &TcpStream) {
    // Without the reset the kernel would go on sending by itself, which is no harm.
    let _ = socket::reset_on_close(stream);
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read},
        net::TcpListener,
        time::Duration,
    };

    use weir_proxy::io::{Close, Io};

    use super::*;
    use crate::{Driver, Limits, spread::Spread};

    const MANY: usize = 5 * BATCH / 2;

    /// One batch. Returns how many connections it found established.
    fn batch(reactor: &mut Reactor) -> usize {
        let mut events = Vec::new();
        reactor.flush();
        reactor.poll(Some(Duration::from_secs(1)), &mut events).unwrap();
        events.iter().filter(|event| matches!(event, Event::Connected { .. })).count()
    }

    /// Connections in the order of their connects, and their peers' ends.
    fn connected(reactor: &mut Reactor) -> (Vec<Conn>, Vec<TcpStream>) {
        let servers = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = servers.local_addr().unwrap();
        let conns: Vec<_> = (0..MANY).map(|_| reactor.connect(to)).collect();
        let mut established = 0;
        while established < MANY {
            established += batch(reactor);
        }
        (conns, (0..MANY).map(|_| servers.accept().unwrap().0).collect())
    }

    #[test]
    fn a_batch_begins_some_of_many_connections_and_later_ones_the_rest_in_order() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let servers = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = servers.local_addr().unwrap();
        let conns: Vec<_> = (0..MANY).map(|_| reactor.connect(to)).collect();
        let begun = |reactor: &Reactor| {
            conns.iter().take_while(|conn| reactor.table.peek(**conn).unwrap().stream.is_some()).count()
        };
        assert_eq!(begun(&reactor), BATCH);
        // It is not begun yet, and so never.
        reactor.close(conns[MANY - 1], Close::Abort);
        let mut established = 0;
        for so_far in [2 * BATCH, MANY - 1] {
            established += batch(&mut reactor);
            let begun =
                conns.iter().filter(|conn| reactor.table.peek(**conn).is_some_and(|slot| slot.stream.is_some()));
            assert_eq!(begun.count(), so_far);
        }
        while established < MANY - 1 {
            established += batch(&mut reactor);
        }
        servers.set_nonblocking(true).unwrap();
        let accepted = std::iter::from_fn(|| servers.accept().ok()).count();
        assert_eq!((accepted, reactor.connects.waiting()), (MANY - 1, 0));
    }

    #[test]
    fn what_is_sent_on_a_connection_that_waits_for_its_turn_arrives() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let servers = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = servers.local_addr().unwrap();
        for _ in 0..MANY {
            let (conn, mut buf) = (reactor.connect(to), reactor.buffer());
            buf.append(b"hello");
            reactor.send(conn, buf);
        }
        let mut established = 0;
        while established < MANY {
            established += batch(&mut reactor);
        }
        reactor.flush();
        for _ in 0..MANY {
            let mut heard = [0; 5];
            servers.accept().unwrap().0.read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"hello");
        }
    }

    #[test]
    fn a_batch_resets_some_of_many_connections_and_later_ones_the_rest() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let (conns, peers) = connected(&mut reactor);
        batch(&mut reactor);
        conns.iter().for_each(|conn| reactor.close(*conn, Close::Abort));
        // Who waits for the last connection waits for its reset.
        assert_eq!((reactor.connections(), reactor.resets.waiting()), (MANY - BATCH, MANY - BATCH));
        for left in [MANY - 2 * BATCH, 0] {
            batch(&mut reactor);
            assert_eq!(reactor.resets.waiting(), left);
        }
        for mut peer in peers {
            assert_eq!(peer.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        }
    }

    #[test]
    fn connections_are_reset_at_once_where_room_is_short() {
        let mut reactor = Reactor::new(Limits { connections: MANY, ..Limits::default() }).unwrap();
        let (conns, _peers) = connected(&mut reactor);
        batch(&mut reactor);
        conns.iter().for_each(|conn| reactor.close(*conn, Close::Abort));
        // Of the first batch because of the room, and then as many as one batch resets.
        assert_eq!(reactor.resets.waiting(), MANY - 2 * BATCH);
    }

    #[test]
    fn connections_that_were_given_up_take_nobody_s_turn() {
        let mut reactor = Reactor::new(Limits::default()).unwrap();
        let servers = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = servers.local_addr().unwrap();
        let given_up: Vec<_> = (0..4 * MANY).map(|_| reactor.connect(to)).collect();
        let wanted = reactor.connect(to);
        given_up.iter().for_each(|conn| reactor.close(*conn, Close::Abort));
        batch(&mut reactor);
        assert!(reactor.table.peek(wanted).unwrap().stream.is_some());
        assert_eq!(reactor.connects.waiting(), 0);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut spread = Spread::default();
        let done = (0..6000).filter(|work| spread.now_or_later(*work).is_some()).count();
        assert_eq!((done, spread.waiting()), (6000 - 4096, 4096));
        assert_eq!((spread.next(|_| true), spread.begin_batch(), spread.next(|_| true)), (None, (), Some(8)));
    }
}
