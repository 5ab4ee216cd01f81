//! A batch: each event is handed to the session that it is for, and then comes what has waited for the end of the batch.
//!
//! Nothing here decides anything about HTTP. What can wait for the end of the batch does: a request on an idle server
//! connection, in case its end is in the same batch, relaying, and sealing, so that a batch costs one record.

use crate::{
    io::{Event, Handler, Io},
    proxy::Proxy,
};

impl Handler for Proxy {
    fn handle<I: Io>(&mut self, io: &mut I, events: &mut Vec<Event>) {
        self.core.begin_batch(io.buffered_bytes(), io.unix_s());
        for event in events.drain(..) {
            match event {
                Event::Accepted { conn, listener, peer } => self.accepted(io, conn, listener, peer),
                Event::Connected { conn } => self.connected(io, conn),
                Event::Data { conn, buf } if self.servers.contains(conn) => self.server_data(io, conn, buf),
                Event::Data { conn, buf } => self.client_data(io, conn, buf),
                Event::Relayed { conn, bytes } if self.servers.contains(conn) => self.relayed(io, conn, bytes),
                Event::Relayed { conn, bytes } => self.client_relayed(io, conn, bytes),
                Event::Eof { conn } if self.servers.contains(conn) => self.server_eof(io, conn),
                Event::Eof { conn } => self.client_eof(io, conn),
                Event::Leaving { conn } => self.client_leaving(io, conn),
                Event::Drained { conn } if self.servers.contains(conn) => self.server_drained(io, conn),
                Event::Drained { conn } => self.client_drained(io, conn),
                Event::Broken { conn } if self.servers.contains(conn) => self.server_broken(io, conn),
                Event::Broken { conn } => self.client_broken(io, conn),
                Event::Deadline { conn } if self.servers.contains(conn) => self.server_deadline(io, conn),
                Event::Deadline { conn } => self.client_deadline(io, conn),
                Event::Gone { conn, why } if self.servers.contains(conn) => self.server_gone(io, conn, why),
                Event::Gone { conn, .. } => self.client_gone(io, conn),
            }
        }
        self.end_batch(io);
        self.free_memory(io);
    }
}

impl Proxy {
    fn end_batch<I: Io>(&mut self, io: &mut I) {
        while !self.core.starting.is_empty() {
            let mut starting = std::mem::take(&mut self.core.starting);
            starting.drain(..).for_each(|id| self.send_request(io, id));
            if self.core.starting.is_empty() {
                self.core.starting = starting;
            }
        }
        let mut relayable = std::mem::take(&mut self.core.relayable);
        relayable.drain(..).for_each(|id| self.relay(io, id));
        self.core.relayable = relayable;
        let mut in_bulk = std::mem::take(&mut self.core.in_bulk);
        in_bulk.drain(..).for_each(|conn| self.relay_tunnel(io, conn));
        self.core.in_bulk = in_bulk;
        let mut unflushed = std::mem::take(&mut self.core.unflushed);
        for conn in unflushed.drain(..) {
            if let Some(client) = self.clients.find(conn) {
                client.connection.flush(io);
            } else if let Some(server) = self.servers.find(conn) {
                server.connection.flush(io);
            }
        }
        self.core.unflushed = unflushed;
    }
}
