//! Tells the balancer what a server's responses and failures show about the server.

use weir_wire::{grpc, head::SWITCHING_PROTOCOLS};

use crate::{
    error::Error,
    exchange::{Exchange, table::ExchangeId},
    io::{Conn, Io},
    proxy::{Parties, Proxy},
};

/// What the head of a response shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Status(u16),
    /// The head begins the answer to a call, which its trailers judge.
    Nothing,
    /// The head is all of the answer to a call, with this status of gRPC.
    Call(u32),
}

impl Shown {
    #[inline]
    pub fn may_be_error(self) -> bool {
        match self {
            Self::Status(status) => status >= 500,
            Self::Nothing => false,
            Self::Call(_) => true,
        }
    }

    fn is_error(self, exchange: &Exchange) -> Option<bool> {
        match self {
            Self::Status(status) if status < 200 && status != SWITCHING_PROTOCOLS => None,
            // The pool says that these are none.
            Self::Status(status) if exchange.pool().is_some_and(|pool| pool.not_errors.has(status)) => Some(false),
            Self::Status(status) => Some(is_error_of_server(status)),
            Self::Call(status) => Some(grpc::is_error_of_server(status)),
            Self::Nothing => None,
        }
    }
}

/// 501 and 505 are about the request: the server does not know its method, or its version.
fn is_error_of_server(status: u16) -> bool {
    status >= 500 && !matches!(status, 501 | 505)
}

impl Parties<'_> {
    /// The head of a response has come.
    #[cold]
    pub(super) fn judge<I: Io>(&mut self, io: &I, shown: Shown) {
        let Some(is_error) = shown.is_error(self.exchange) else { return };
        let waited = self.exchange.stamps.waited(io.now());
        self.core.pools.judge(self.server.place, is_error, waited, io.now());
    }
}

impl Proxy {
    /// The trailers of a call have come, with this status of gRPC.
    pub(super) fn judge_call<I: Io>(&mut self, io: &I, id: ExchangeId, status: u32) {
        if let Ok(mut parties) = self.parties(id)
            && parties.core.pools.judges(grpc::is_error_of_server(status))
        {
            parties.judge(io, Shown::Call(status));
        }
    }

    /// An exchange has failed, so long after the server had it.
    pub(super) fn judge_failure<I: Io>(&mut self, io: &I, conn: Conn, error: Error, waited: u64) {
        if error.blames_server()
            && let Some(server) = self.servers.peek(conn)
        {
            self.core.pools.judge(server.place, true, waited, io.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_about_the_request_say_nothing_about_the_server() {
        let errors = [200, 404, 429, 500, 501, 502, 503, 504, 505, 599].map(is_error_of_server);
        assert_eq!(errors, [false, false, false, true, false, true, true, true, false, true]);
    }
}
