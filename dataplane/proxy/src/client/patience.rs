//! The deadlines of a client's connection.

use std::time::Duration;

use crate::{
    carrier::TAKEN_BYTES_MIN,
    client::{Client, Stage},
    core::Core,
    error::Error,
    exchange::Exchange,
    io::Io,
};

/// What a passed deadline means.
pub(crate) enum Expiry {
    /// Nothing yet: the client is still within its time.
    Slow,
    /// The connection is idle, or the tunnel silent, for too long.
    Idle,
    Failed(Error),
}

// Setting deadlines.
impl Client {
    /// Waits for the rest of a head, or for the next request.
    pub fn await_request<I: Io>(&mut self, io: &mut I) {
        self.connection.line.read(io, true);
        if self.connection.inbox.is_empty() {
            return;
        }
        if self.connection.inbox.first() == b"\r\n" {
            // Old clients send an empty line behind a body. It begins no request (RFC 9112 §2.2).
            return self.connection.inbox.head_read(2);
        }
        if matches!(self.stage, Stage::Idle) {
            self.stage = Stage::Head;
            self.connection.line.expect(io, self.service.http().and_then(|http| http.timeouts.client_header));
        }
    }

    /// Waits for the response.
    pub fn await_answer<I: Io>(&mut self, io: &mut I, exchange: &Exchange) {
        self.connection.line.expect(io, exchange.patience(io.now()));
    }

    /// Waits for more of a body: for the time that one read may take, or less if the minimum rate requires it.
    pub fn await_body<I: Io>(&mut self, io: &mut I, core: &Core, exchange: &mut Exchange) {
        // A call may be silent for as long as its client and its server like, and the server's timeout allows.
        let patience = match self.call() {
            Some(_) => None,
            None => exchange.body_patience(io.now(), core.limits.slow_body),
        };
        self.stalled_at = u32::MAX;
        self.connection.line.expect(io, patience);
    }

    /// Waits for the client to take what is queued for it.
    pub fn watch_stall<I: Io>(&mut self, io: &mut I, core: &Core) {
        self.stalled_at = self.connection.line.queued(io).try_into().unwrap_or(u32::MAX);
        self.connection.line.expect(io, Some(core.limits.stalled_client));
    }

    /// Waits for more bytes in the tunnel. True if there were none for the whole idle timeout.
    pub fn await_crossing<I: Io>(&mut self, io: &mut I) -> bool {
        let Stage::Tunnel(tunnel) = &self.stage else { return false };
        let left = tunnel.quiet_left(&self.service, io.now());
        if left == Some(Duration::ZERO) {
            return true;
        }
        self.connection.line.expect(io, left);
        false
    }

    /// Everything queued has been sent.
    pub fn drained<I: Io>(&mut self, io: &mut I, core: &Core, exchange: Option<&mut Exchange>) {
        match exchange {
            Some(exchange) if exchange.awaits_body() && self.connection.line.is_reading() => {
                self.await_body(io, core, exchange);
            }
            Some(exchange) => self.await_answer(io, exchange),
            None if matches!(self.stage, Stage::Idle) && self.has_asked() => self.await_next(io),
            None => {}
        }
    }

    /// Tells the driver whether the client only waits for its response. Only for the first request: many connections
    /// end after it, and a call for each later request would cost more than it saves.
    pub fn rest<I: Io>(&mut self, io: &mut I, on: bool) {
        if self.requests == 1 && !self.connection.conn().is_stream() {
            io.resting(self.connection.conn(), on);
        }
    }

    /// The request is answered, and the connection goes on.
    pub fn finish_request<I: Io>(&mut self, io: &mut I) {
        self.rest(io, false);
        self.stage = Stage::Idle;
        self.stalled_at = u32::MAX;
        self.await_next(io);
    }

    fn await_next<I: Io>(&mut self, io: &mut I) {
        self.connection.line.expect(io, self.service.http().and_then(|http| http.timeouts.keepalive));
    }
}

// Passed deadlines.
impl Client {
    pub fn expired<I: Io>(&mut self, io: &mut I, core: &Core, exchange: Option<&Exchange>) -> Expiry {
        if !self.connection.line.has_expired(io) {
            return Expiry::Slow;
        }
        let carrier = self.connection.carrier().unwrap_or(self.connection.line.conn);
        if io.waits_for_tokens(carrier) {
            // Others have used up the throughput. That is not the client's fault.
            self.connection.line.excuse(io);
            return Expiry::Slow;
        }
        if let Some(exchange) = exchange {
            if exchange.has_waited_out(io.now()) {
                return Expiry::Failed(Error::ClientAborted);
            }
            // While the client must take its response first, the deadline is that of the response. The messages of a call
            // have no time.
            let is_for_body = self.stalled_at == u32::MAX && self.call().is_none();
            if is_for_body && exchange.awaits_body() && self.connection.line.is_reading() {
                return Expiry::Failed(Error::BodyTimeout);
            }
        }
        let queued = self.connection.line.queued(io);
        match self.stage {
            Stage::Tunnel(_) => {
                if self.await_crossing(io) {
                    Expiry::Idle
                } else {
                    Expiry::Slow
                }
            }
            Stage::Http2(_) => Expiry::Slow,
            Stage::Introduction | Stage::Hello(_) | Stage::Handshake | Stage::FirstBytes { .. } => {
                Expiry::Failed(Error::AcceptTimeout)
            }
            Stage::Head => Expiry::Failed(Error::HeadTimeout),
            Stage::Idle | Stage::Exchange(_) if queued > 0 => {
                let before = self.stalled_at as usize;
                let takes_some = match self.connection.stream() {
                    None => queued < before,
                    Some(stream) => stream.waits_for_turn || queued.saturating_add(TAKEN_BYTES_MIN) <= before,
                };
                self.watch_stall(io, core);
                if takes_some { Expiry::Slow } else { Expiry::Failed(Error::ClientStalled) }
            }
            Stage::Idle if !self.has_asked() => Expiry::Failed(Error::AcceptTimeout),
            Stage::Idle => Expiry::Idle,
            Stage::Exchange(_) => Expiry::Slow,
        }
    }
}
