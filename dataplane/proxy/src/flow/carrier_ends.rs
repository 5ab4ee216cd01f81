//! How connections to servers that carry streams end, and when: what becomes of the streams.

use weir_balance::Failure;
use weir_telemetry::Happening;
use weir_wire::http2::Code;

use crate::{
    buf::Buf,
    error::Error,
    io::{Close, Conn, Io},
    proxy::Proxy,
    server::{Server, Work, back::Stage},
};

// Ends.
impl Proxy {
    /// A stream is over: its connection has room for another.
    pub(crate) fn leave_carrier(&mut self, carrier: Conn, id: u32) {
        let Some(back) = self.servers.find(carrier).and_then(|server| server.back.as_mut()) else { return };
        back.load = back.load.saturating_sub(1);
        if id > 0 {
            back.carrier.connection.end(id, Code::Cancel);
        }
        back.carrier.list(carrier, &mut self.core.carriers);
    }

    /// Takes a connection to a server out of use: at once, or if it carries streams behind the last of them.
    pub(crate) fn retire<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Some(server) = self.servers.find(conn) else { return };
        match &mut server.back {
            Some(back) if back.load > 0 => {
                back.is_retired = true;
                self.core.pools.retire_carrier(server.place, conn);
            }
            Some(_) => self.dismiss_carrier(io, conn, Code::NoError),
            None => self.close_server(io, conn, Close::Flush),
        }
    }

    /// Ends a connection that carries no streams.
    pub(crate) fn dismiss_carrier<I: Io>(&mut self, io: &mut I, conn: Conn, code: Code) {
        let Ok(server) = self.servers.live(conn) else { return };
        let is_established = server.is_busy();
        if let Some(back) = &mut server.back
            && is_established
        {
            back.carrier.connection.go_away(code);
            let frames = Buf::from_vec(std::mem::take(back.carrier.connection.control()));
            server.connection.deliver(io, &mut self.core.unflushed, frames);
        }
        self.close_server(io, conn, if is_established { Close::Flush } else { Close::Abort });
    }

    /// The server takes no new streams on a connection, and has not seen those behind `last`.
    pub(crate) fn server_leaves<I: Io>(&mut self, io: &mut I, conn: Conn, last: u32) {
        let Ok(server) = self.servers.live(conn) else { return };
        let place = server.place;
        let Some(back) = &mut server.back else { return };
        (back.is_retired, back.last) = (true, Some(last));
        let waiting = std::mem::take(&mut back.waiting);
        if back.stage == Stage::New {
            // It would do the same to the next connection.
            self.core.pools.retire_carrier(place, conn);
            return self.carrier_failed(io, conn, waiting, Error::ServerClosed, Close::Flush);
        }
        let ids = back.carrier.connection.ids();
        let unseen = ids.into_iter().filter(|id| *id > last);
        let unseen: Vec<_> = unseen.filter_map(|id| back.carrier.connection.kept(id)?.owner).collect();
        back.carrier.list(conn, &mut self.core.carriers);
        self.core.pools.retire_carrier(place, conn);
        let error = server.refusal();
        self.send_elsewhere(io, waiting);
        for stream in unseen {
            self.server_lost(io, stream, error);
        }
    }

    /// A connection that carries streams is unusable, and so are they.
    pub(crate) fn carrier_lost<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error, how: Close) {
        let Ok(server) = self.servers.live(conn) else { return };
        let (place, since) = (server.place, server.begun_at);
        let Some(back) = &mut server.back else { return };
        back.is_retired = true;
        let was = back.stage;
        let waiting = std::mem::take(&mut back.waiting);
        self.core.pools.retire_carrier(place, conn);
        if was == Stage::New {
            return self.carrier_failed(io, conn, waiting, error, how);
        }
        let is_carried = |server: &Server| server.connection.carrier() == Some(conn);
        let streams = self.servers.each_stream().filter(|(_, server)| is_carried(server) && server.is_busy());
        let streams: Vec<_> = streams.map(|(stream, _)| stream).collect();
        for stream in streams {
            self.server_lost(io, stream, error);
        }
        self.close_server(io, conn, how);
        // Nothing was sent of them. If the server is gone, the next connect will show it.
        self.send_elsewhere(io, waiting);
        if error == Error::ServerProtocol {
            self.core.counters.note(Happening::ServerFailed { server: place.server, reset: false });
            self.suspect(io, place, Failure::Broken, since);
        }
    }

    /// A connection has failed before it could carry anything: each of the requests that waited tries another server.
    fn carrier_failed<I: Io>(&mut self, io: &mut I, conn: Conn, waiting: Vec<Conn>, error: Error, how: Close) {
        let Ok(server) = self.servers.live(conn) else { return };
        let (place, since) = (server.place, server.begun_at);
        for stream in &waiting {
            if let Some(Work::Exchange(id)) = self.servers.peek(*stream).and_then(Server::work) {
                self.note_lost_server(id, *stream);
            }
        }
        let works = self.close_waiting(io, waiting);
        self.close_server(io, conn, how);
        if error.blames_server() {
            let failure = if error == Error::ConnectTimeout { Failure::Silent } else { Failure::Broken };
            self.suspect(io, place, failure, since);
        }
        for work in works {
            self.exclude(work, place, error);
            self.try_another(io, work, error);
        }
    }

    /// Streams that no byte was sent on: their requests get others.
    pub(crate) fn send_elsewhere<I: Io>(&mut self, io: &mut I, streams: Vec<Conn>) {
        for work in self.close_waiting(io, streams) {
            self.try_another(io, work, Error::ServerClosed);
        }
    }

    /// Closes streams that no byte was sent on, and returns their work: what still waits here would count as a connection
    /// when the first goes elsewhere.
    fn close_waiting<I: Io>(&mut self, io: &mut I, streams: Vec<Conn>) -> Vec<Work> {
        let works = streams.iter().filter_map(|stream| self.servers.peek(*stream)?.work()).collect();
        streams.into_iter().for_each(|stream| self.close_server(io, stream, Close::Abort));
        works
    }
}

// Time.
impl Proxy {
    /// Sets the deadline of a connection when it gets its first stream, or has lost its last.
    pub(crate) fn watch_server_carrier<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        let idle = server.pool.timeouts.idle_connection;
        let Some(back) = server.back.as_mut().filter(|back| back.stage == Stage::Ready) else {
            return;
        };
        match back.carrier.turns_busy() {
            Some(true) => server.connection.line.look_again(io),
            Some(false) => server.connection.line.expect(io, idle),
            None => {}
        }
    }

    /// The deadline of a connection that carries streams has passed.
    pub(crate) fn server_carrier_deadline<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(server) = self.servers.live(conn) else { return };
        let Some(back) = &mut server.back else { return };
        match back.stage {
            Stage::New => return self.carrier_lost(io, conn, Error::ConnectTimeout, Close::Abort),
            Stage::Asked => return self.carrier_lost(io, conn, Error::ServerClosed, Close::Abort),
            Stage::Ready if back.load == 0 => {
                return self.dismiss_carrier(io, conn, Code::NoError);
            }
            Stage::Ready => {}
        }
        let streams: Vec<_> = back.carrier.owners().collect();
        server.connection.line.look_again(io);
        for stream in streams {
            let deadline = self.servers.peek(stream).and_then(|server| server.connection.line.deadline());
            if deadline.is_some_and(|at| at <= io.now()) {
                self.server_deadline(io, stream);
            }
        }
    }

    /// Ends a connection that carries no streams and should carry no more. Returns whether it has ended.
    pub(crate) fn end_unused_carrier<I: Io>(&mut self, io: &mut I, conn: Conn) -> bool {
        // What its last stream has come to may have ended it already.
        let Some(server) = self.servers.find(conn) else { return true };
        let (has_life_left, has_ended) = (server.has_life_left(io.now()), server.connection.line.ended);
        let Some(back) = &server.back else { return false };
        let is_unused = back.is_unused();
        let goes = back.is_retired || self.core.draining || !has_life_left || has_ended;
        if is_unused && goes {
            self.dismiss_carrier(io, conn, Code::NoError);
        }
        is_unused && goes
    }
}
