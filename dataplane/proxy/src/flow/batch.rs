//! Handles a batch: passes each event to its session, and then does what was deferred to the end of the batch.
//!
//! Nothing here decides anything about HTTP. Three things are deferred: sending a request on an idle server connection,
//! because the connection's end may be in the same batch; relaying; and encryption, so that a batch needs few records.

use crate::{
    io::{Conn, Event, Handler, Io},
    proxy::Proxy,
};

impl Handler for Proxy {
    fn handle<I: Io>(&mut self, io: &mut I, events: &mut Vec<Event>) {
        self.core.begin_batch(io.buffered_bytes(), io.unix_s());
        if self.has_paced() {
            self.code_on(io);
        }
        if self.core.pools.leavers.are_due(io.now()) {
            self.end_leavers(io);
        }
        for event in events.drain(..) {
            let conn = event.conn();
            if let Event::Accepted { listener, peer, .. } = event {
                self.accepted(io, conn, listener, peer);
            } else if self.servers.contains(conn) {
                self.server_event(io, conn, event);
            } else if self.clients.contains(conn) {
                self.client_event(io, conn, event);
            }
            // All other events belong to connections that were closed earlier in this batch.
        }
        self.end_batch(io);
        self.free_memory(io);
        if !self.core.queues.are_empty() {
            self.serve_queues(io);
        }
    }
}

impl Proxy {
    fn client_event<I: Io>(&mut self, io: &mut I, conn: Conn, event: Event) {
        match event {
            Event::Data { buf, .. } => self.client_data(io, conn, buf),
            Event::Relayed { bytes, .. } => self.client_relayed(io, conn, bytes),
            Event::Eof { .. } => self.client_eof(io, conn),
            Event::Leaving { .. } => self.client_leaving(io, conn),
            Event::Drained { .. } => self.client_drained(io, conn),
            Event::Broken { .. } => self.client_broken(io, conn),
            Event::Deadline { .. } => self.client_deadline(io, conn),
            Event::Gone { .. } => self.client_gone(io, conn),
            Event::Accepted { .. } | Event::Connected { .. } => {}
        }
    }

    fn server_event<I: Io>(&mut self, io: &mut I, conn: Conn, event: Event) {
        match event {
            Event::Connected { .. } => self.connected(io, conn),
            Event::Data { buf, .. } => self.server_data(io, conn, buf),
            Event::Relayed { bytes, .. } => self.relayed(io, conn, bytes),
            Event::Eof { .. } => self.server_eof(io, conn),
            Event::Drained { .. } => self.server_drained(io, conn),
            Event::Broken { .. } => self.server_broken(io, conn),
            Event::Deadline { .. } => self.server_deadline(io, conn),
            Event::Gone { why, .. } => self.server_gone(io, conn, why),
            Event::Leaving { .. } => self.server_leaving(io, conn),
            Event::Accepted { .. } => {}
        }
    }

    #[inline]
    pub(crate) fn start_requests<I: Io>(&mut self, io: &mut I) {
        while !self.core.starting.is_empty() {
            let mut starting = std::mem::take(&mut self.core.starting);
            starting.drain(..).for_each(|id| self.send_request(io, id));
            if self.core.starting.is_empty() {
                self.core.starting = starting;
            }
        }
    }

    pub(super) fn end_batch<I: Io>(&mut self, io: &mut I) {
        let mut opened = std::mem::take(&mut self.core.opened);
        opened.drain(..).for_each(|id| self.begin_stream(io, id));
        debug_assert!(self.core.opened.is_empty(), "no stream opens while others begin");
        self.core.opened = opened;
        if self.core.cache.has_landed() {
            self.land(io);
        }
        self.start_requests(io);
        if !self.core.coding.is_empty() {
            self.flush_coders(io);
        }
        let mut relayable = std::mem::take(&mut self.core.relayable);
        relayable.drain(..).for_each(|id| self.relay(io, id));
        self.core.relayable = relayable;
        let mut in_bulk = std::mem::take(&mut self.core.in_bulk);
        in_bulk.drain(..).for_each(|conn| self.relay_tunnel(io, conn));
        self.core.in_bulk = in_bulk;
        self.flush_streams(io);
        let mut unflushed = std::mem::take(&mut self.core.unflushed);
        for conn in unflushed.drain(..) {
            if let Some(client) = self.clients.find(conn) {
                client.connection.flush(io);
            } else if let Some(server) = self.servers.find(conn) {
                server.connection.flush(io);
            }
        }
        self.core.unflushed = unflushed;
        self.await_room(io);
    }
}
