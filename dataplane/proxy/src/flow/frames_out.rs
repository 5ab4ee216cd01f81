//! Frames on their way out, to clients and to servers: moves what streams have to send to the connections that carry
//! them, and sends as much as windows and connections allow.

use crate::{
    carrier::Carrier,
    client::{Client, Stage},
    connection::Connection,
    core::Core,
    io::{Close, Conn, Io},
    proxy::{Parties, Proxy},
    server::Server,
};

/// What a stream with a closed window may hold, as a part of what one with an open window may: less than the driver
/// reads at once, so that nothing is read behind that.
const SHUT_PART: usize = 32;

impl Proxy {
    /// Moves what streams have to send to the connections that carry them, and sends as much as windows allow.
    #[inline]
    pub(crate) fn flush_streams<I: Io>(&mut self, io: &mut I) {
        let has_streams = self.clients.streams() > 0 || self.servers.streams() > 0;
        if has_streams || !self.core.carriers.is_empty() || !self.core.departed.is_empty() {
            self.flush_all_streams(io);
        }
    }

    fn flush_all_streams<I: Io>(&mut self, io: &mut I) {
        loop {
            // What is sent may let a request go to another server.
            self.start_requests(io);
            self.collect_output(io);
            if self.core.carriers.is_empty() {
                return;
            }
            while let Some(conn) = self.core.carriers.pop() {
                self.send_frames(io, conn);
            }
        }
    }

    fn collect_output<I: Io>(&mut self, io: &I) {
        let Self { clients, servers, core, .. } = self;
        let mut unflushed = std::mem::take(&mut core.unflushed);
        for &conn in unflushed.iter().filter(|conn| conn.is_stream()) {
            let found = clients.find(conn).map(|client| &mut client.connection);
            let Some(connection) = found.or_else(|| servers.find(conn).map(|server| &mut server.connection)) else {
                continue;
            };
            let is_finished = connection.line.is_finished();
            let Some(stream) = connection.stream() else { continue };
            // A tunnel says its end itself: the peer may go on.
            let is_all = is_finished && !stream.is_tunnel;
            let (carrier, id, fresh) = (stream.carrier, stream.id, std::mem::take(&mut stream.fresh));
            let found = clients.find(carrier).and_then(|client| client.carrier());
            if let Some(found) = found.or_else(|| servers.find(carrier).and_then(|server| server.carrier())) {
                found.speak(id, fresh, is_all);
                found.list(carrier, &mut core.carriers);
            }
        }
        unflushed.retain(|conn| !conn.is_stream());
        unflushed.append(&mut core.unflushed);
        core.unflushed = unflushed;
        for departed in std::mem::take(&mut core.departed) {
            let carrier = departed.carrier;
            if let Some(found) = clients.find(carrier).and_then(|client| client.carrier()) {
                found.depart(departed, io.now());
                found.list(carrier, &mut core.carriers);
            }
        }
    }

    fn send_frames<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Self { clients, core, .. } = self;
        let Some(client) = clients.find(conn) else { return self.send_frames_to_server(io, conn) };
        let goes_on = client.may_stay(core) && client.may_ask_more();
        let Client { connection, stage: Stage::Http2(carrier), .. } = client else { return };
        carrier.unlist();
        if !goes_on || carrier.connection.is_suspect() {
            carrier.connection.leave();
        }
        let (left, shut) = ship(io, core, connection, carrier);
        let most_bytes = core.room.queued_bytes / SHUT_PART;
        let has_ended = connection.line.ended;
        let ends = carrier.connection.is_over() || has_ended;
        client.report_bytes(core);
        for (stream, bytes, pieces) in left {
            let Some(client) = self.clients.find(stream) else { continue };
            if client.connection.line.let_go(bytes, pieces) {
                self.client_drained(io, stream);
            }
        }
        for stream in shut {
            self.stop_server(io, stream, most_bytes);
        }
        if ends {
            // A reset, because the peer still sends control frames, must not cost it its last responses.
            let how = if has_ended { Close::Flush } else { Close::Linger };
            return self.close_client(io, conn, how);
        }
        self.watch_carrier(io, conn);
    }

    /// Reads no more from the server of a stream whose window is closed, once `most_bytes` wait: a connection can have
    /// many such streams.
    fn stop_server<I: Io>(&mut self, io: &mut I, conn: Conn, most_bytes: usize) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(id) = client.exchange() else { return };
        if !self.exchanges.find(id).is_some_and(|exchange| exchange.has_begun_response()) {
            return;
        }
        let Ok(Parties { client, server, core, .. }) = self.parties(id) else { return };
        if server.lost().is_none() && client.connection.line.begins_to_wait(most_bytes) {
            server.connection.line.read(io, false);
            server.connection.line.expect(io, None);
            client.watch_stall(io, core);
        }
    }

    fn send_frames_to_server<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Self { servers, core, .. } = self;
        let Some(server) = servers.find(conn) else { return };
        let is_established = server.is_busy();
        let Server { connection, back: Some(back), .. } = server else { return };
        back.carrier.unlist();
        if !is_established {
            return;
        }
        let left = ship(io, core, connection, &mut back.carrier).0;
        server.report_bytes(core);
        for (stream, bytes, pieces) in left {
            let Some(server) = self.servers.find(stream) else { continue };
            // A server that takes the request slowly is not silent.
            if server.connection.line.deadline().is_some() {
                server.await_response(io);
            }
            if server.connection.line.let_go(bytes, pieces) {
                self.server_drained(io, stream);
            }
        }
        if !self.end_unused_carrier(io, conn) {
            self.watch_server_carrier(io, conn);
        }
    }

    /// Has the driver report when connections have sent what they have no room behind. Call this when everything of the
    /// batch is queued.
    #[inline]
    pub(crate) fn await_room<I: Io>(&mut self, io: &mut I) {
        if self.core.full_carriers.is_empty() {
            return;
        }
        for conn in std::mem::take(&mut self.core.full_carriers) {
            let client = self.clients.find(conn).map(|client| &client.connection.line);
            if let Some(line) = client.or_else(|| self.servers.find(conn).map(|server| &server.connection.line)) {
                // Who asks while something is queued gets `Drained`.
                let _ = line.queued(io);
            }
        }
    }

    /// A client's connection that carries streams has sent everything.
    pub(crate) fn carrier_drained<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(carrier) = self.clients.find(conn).and_then(|client| client.carrier()) {
            carrier.list(conn, &mut self.core.carriers);
        }
        self.take_frames(io, conn);
    }
}

/// Queues what a carrier may send now. Returns how many bytes and pieces of which sessions that is, and which sessions
/// have content for which a window is closed.
fn ship<I: Io>(
    io: &mut I,
    core: &mut Core,
    connection: &mut Connection,
    carrier: &mut Carrier,
) -> (Vec<(Conn, usize, u32)>, Vec<Conn>) {
    let mut room = core.room;
    if connection.line.is_full(io, &room) {
        room.queued_bytes = 0;
    }
    connection.line.moved_at = io.now();
    let sent = carrier.send(io, &room);
    for buf in sent.frames.end() {
        carrier.queue(buf.len());
        connection.deliver(io, &mut core.unflushed, buf);
    }
    if sent.is_full {
        core.full_carriers.push(connection.conn());
    }
    (sent.left, sent.shut)
}
