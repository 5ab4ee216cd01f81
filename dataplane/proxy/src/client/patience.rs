//! How long a client's connection may take for what it is to do next.

use std::time::Duration;

use crate::{
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
    /// Nobody asks for anything.
    Idle,
    Failed(Error),
}

// What it expects.
impl Client {
    /// Waits for the rest of a head, or for the next request.
    pub fn await_request<I: Io>(&mut self, io: &mut I) {
        self.connection.line.read(io, true);
        if self.connection.inbox.is_empty() {
            return;
        }
        if matches!(self.stage, Stage::Idle) {
            self.stage = Stage::Head;
            self.connection.line.expect(io, self.service.http().and_then(|http| http.timeouts.client_header));
        }
    }

    /// Waits for its answer.
    pub fn await_answer<I: Io>(&mut self, io: &mut I, exchange: &Exchange) {
        self.connection.line.expect(io, exchange.patience(io.now()));
    }

    /// Waits for more of a body: for the next read of it, and no longer than its rate allows.
    pub fn await_body<I: Io>(&mut self, io: &mut I, core: &Core, exchange: &mut Exchange) {
        self.connection.line.expect(io, exchange.body_patience(io.now(), core.limits.slow_body));
    }

    /// Waits for the client to take what is queued for it.
    pub fn watch_stall<I: Io>(&mut self, io: &mut I, core: &Core) {
        self.stalled_at = io.queued(self.connection.conn());
        self.connection.line.expect(io, Some(core.limits.stalled_client));
    }

    /// Waits for more to cross its tunnel. True when nothing has for as long as may be.
    pub fn await_crossing<I: Io>(&mut self, io: &mut I) -> bool {
        let Stage::Tunnel(tunnel) = &self.stage else { return false };
        let left = tunnel.quiet_left(&self.service, io.now());
        if left == Some(Duration::ZERO) {
            return true;
        }
        self.connection.line.expect(io, left);
        false
    }

    /// Everything queued has left.
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

    /// Whether it has only to wait for its answer. With the first one many a connection ends; to tell of each does not
    /// pay.
    pub fn rest<I: Io>(&mut self, io: &mut I, on: bool) {
        if self.requests == 1 {
            io.resting(self.connection.conn(), on);
        }
    }

    /// The request has been answered, and the connection goes on.
    pub fn finish_request<I: Io>(&mut self, io: &mut I) {
        self.rest(io, false);
        self.stage = Stage::Idle;
        self.stalled_at = usize::MAX;
        self.await_next(io);
    }

    fn await_next<I: Io>(&mut self, io: &mut I) {
        self.connection.line.expect(io, self.service.http().and_then(|http| http.timeouts.keepalive));
    }
}

// What it has failed to do in time.
impl Client {
    pub fn expired<I: Io>(&mut self, io: &mut I, core: &Core, exchange: Option<&Exchange>) -> Expiry {
        if !self.connection.line.has_expired(io) {
            return Expiry::Slow;
        }
        if let Some(exchange) = exchange {
            if exchange.is_lost(io.now()) {
                return Expiry::Failed(Error::ClientAborted);
            }
            if exchange.awaits_body() && self.connection.line.is_reading() {
                return Expiry::Failed(Error::BodyTimeout);
            }
        }
        let queued = io.queued(self.connection.conn());
        match self.stage {
            Stage::Tunnel(_) => {
                if self.await_crossing(io) {
                    Expiry::Idle
                } else {
                    Expiry::Slow
                }
            }
            Stage::Handshake => Expiry::Failed(Error::AcceptTimeout),
            Stage::Head => Expiry::Failed(Error::HeadTimeout),
            Stage::Idle | Stage::Exchange(_) if queued > 0 => {
                let takes_some = queued < self.stalled_at;
                self.watch_stall(io, core);
                if takes_some { Expiry::Slow } else { Expiry::Failed(Error::ClientStalled) }
            }
            Stage::Idle if !self.has_asked() => Expiry::Failed(Error::AcceptTimeout),
            Stage::Idle => Expiry::Idle,
            Stage::Exchange(_) => Expiry::Slow,
        }
    }
}
