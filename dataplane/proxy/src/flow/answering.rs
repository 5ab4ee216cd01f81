//! Tunnels with scripts: the server to which these bind one, and its first bytes, of which they may want to see some before
//! the client gets any. What the client sends crosses meanwhile.

use weir_script::FIRST_BYTES_MAX;

use crate::{
    flow::carry::Ends,
    io::{Conn, Io, Time},
    proxy::Proxy,
    server::{Life, State, Work},
    tunnel::Standing,
};

impl Ends<'_> {
    /// The connection to the server is ready.
    #[cold]
    pub(super) fn begin_scripted(&mut self, now: Time, conn: Conn) {
        let Some(scripts) = self.client.service.scripts.as_deref() else { return };
        if let Some(persist) = self.client.sent().and_then(|sent| sent.persist.as_ref()) {
            persist.bind(&scripts.served.store, self.server.place.address, now.nanos);
        }
        if scripts.on_first_answer {
            self.server.state = State::Answering { client: conn };
        }
    }
}

impl Proxy {
    /// Passes on what has come from the client, and its end.
    #[cold]
    pub(super) fn carry_before_answer<I: Io>(&mut self, io: &mut I, conn: Conn, server: Conn) {
        let Some(client) = self.clients.find(conn) else { return };
        let Some(server) = self.servers.find(server) else { return };
        if !matches!(server.state, State::Answering { .. }) {
            return;
        }
        server.connection.line.read(io, true);
        let mut ends = Ends { client, server, core: &mut self.core };
        ends.carry_up(io);
        ends.client.note_crossing(io.now());
        ends.client.report_bytes(ends.core);
        ends.server.report_bytes(ends.core);
        let up = &ends.client.connection;
        if up.is_exhausted() {
            let (core, said) = (ends.core, up.has_ended_for_good());
            ends.server.connection.end_output(io, &mut core.scratch, &mut core.unflushed, said);
            self.limit_tunnel(io, conn, Standing::HalfClosed);
        }
    }

    /// Shows scripts what has come of the server, once it is as much as they wait for. Then bytes cross both ways.
    #[cold]
    pub(super) fn hear_answer<I: Io>(&mut self, io: &mut I, conn: Conn, client: Conn) {
        let Some(hearer) = self.clients.find(client) else { return };
        let Some(server) = self.servers.find(conn) else { return };
        let Some(tunnel) = hearer.tunnel() else { return };
        let awaited = tunnel.awaited as usize;
        let inbox = &mut server.connection.inbox;
        inbox.settle(|| io.buffer());
        let (there, has_ended) = (inbox.bytes(), server.connection.line.ended);
        let is_whole = has_ended || there >= FIRST_BYTES_MAX;
        hearer.note_crossing(io.now());
        if there > 0 && (there >= awaited || is_whole) {
            let first = inbox.beginning(FIRST_BYTES_MAX);
            let seen = first.len();
            match hearer.show_answer(io, &mut self.core, server, (first, is_whole)) {
                Err(error) => return self.fail(io, client, error),
                Ok(met) => {
                    if let Some(tunnel) = hearer.tunnel() {
                        tunnel.awaited = met.awaits as u32;
                    }
                    if met.awaits > 0 {
                        return server.connection.line.read(io, true);
                    }
                    if let Some(bytes) = met.bytes {
                        server.connection.inbox.replace_beginning(seen, bytes);
                    }
                }
            }
        } else if !has_ended {
            return server.connection.line.read(io, true);
        }
        server.state = State::Busy(Work::Tunnel(client));
        if server.life == Life::Broken {
            self.limit_tunnel(io, client, Standing::Broken);
        }
        self.carry(io, client);
    }
}
