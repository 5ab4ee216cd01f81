//! HTTP/2 of servers: streams, and the connections that carry them.

use std::{sync::Arc, time::Duration};

use weir_snapshot::Pool;

use crate::{
    carrier::Carrier,
    connection::{Connection, channel::Channel, stream::Stream},
    io::{Conn, Io, Time},
    pool::Place,
    server::{Server, Work, back::Stage},
};

/// A connection that was silent for so long is asked whether it still stands before it gets a request.
const SILENCE: Duration = Duration::from_secs(30);

impl Server {
    /// A stream that another connection carries.
    pub fn stream(conn: Conn, carrier: Conn, place: Place, pool: Arc<Pool>, work: Work, now: Time) -> Self {
        let channel = Channel::Stream(Box::new(Stream::new(carrier, 0, None)));
        // The settings of its carrier have proved the server.
        Self { unproven: false, ..Self::on(Connection::new(conn, channel, now), place, pool, work, now) }
    }

    pub fn carrier(&mut self) -> Option<&mut Carrier> {
        self.back.as_mut().map(|back| &mut back.carrier)
    }

    /// Whether the server has chosen HTTP/2, or has to speak it.
    pub fn speaks_http2(&self) -> bool {
        let channel = &self.connection.channel;
        let may = self.pool.http2.is_some() && !self.keeps_to_http1;
        may && (channel.is_plain() || channel.protocol() == Some(b"h2"))
    }

    /// Asks whether the server still stands, if the connection was silent for long.
    pub fn ask_after_silence<I: Io>(&mut self, io: &I) -> bool {
        let now = io.now();
        match &mut self.back {
            Some(back)
                if back.stage == Stage::Ready
                    && back.load == 0
                    && now.since(self.connection.line.moved_at) >= SILENCE =>
            {
                back.stage = Stage::Asked;
                back.carrier.connection.ping();
                true
            }
            _ => false,
        }
    }
}
