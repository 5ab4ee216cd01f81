//! Tells the balancer what a server's responses and failures show about the server.

use weir_wire::{grpc, head::ResponseHead};

use crate::{
    call,
    error::Error,
    exchange::{Exchange, table::ExchangeId},
    io::{Conn, Io, Time},
    pool::{Place, Pools},
    proxy::{Parties, Proxy},
};

/// 501 and 505 are about the request: the server does not know its method, or its version.
fn is_error_of_server(status: u16) -> bool {
    status >= 500 && !matches!(status, 501 | 505)
}

/// The head of a response with this status has come. What is no error shows itself at the end of the response.
#[cold]
#[inline(never)]
pub(super) fn judge(exchange: &mut Exchange, pools: &mut Pools, (at, status): (Place, u16), now: Time) {
    // The pool may say that some are none.
    let is_expected = exchange.pool().is_some_and(|pool| pool.not_errors.has(status));
    if is_error_of_server(status) && !is_expected {
        exchange.is_judged = true;
        pools.judge(at, true, exchange.stamps.waited(now), now);
    }
}

impl Parties<'_> {
    /// All of a response has come. An answer to a call is judged by its status of gRPC alone.
    #[cold]
    #[inline(never)]
    pub(super) fn judge_whole<I: Io>(&mut self, io: &I) {
        if !self.exchange.is_judged && self.client.call().is_none() {
            let waited = self.exchange.stamps.waited(io.now());
            self.core.pools.judge(self.server.place, false, waited, io.now());
        }
    }

    /// The head of the answer to a call has come. If it is all of the answer, it has a status of gRPC.
    #[cold]
    pub(super) fn judge_answer<I: Io>(&mut self, io: &I, head: &ResponseHead<'_>) {
        if head.status == call::STATUS
            && let Some(status) = grpc::status(&head.fields)
        {
            self.judge_call(io, status);
        }
    }

    fn judge_call<I: Io>(&mut self, io: &I, status: u32) {
        let is_error = grpc::is_error_of_server(status);
        if is_error || self.core.pools.some_failed() {
            self.exchange.is_judged = true;
            let waited = self.exchange.stamps.waited(io.now());
            self.core.pools.judge(self.server.place, is_error, waited, io.now());
        }
    }
}

impl Proxy {
    /// The trailers of a call have come, with this status of gRPC.
    pub(super) fn judge_call<I: Io>(&mut self, io: &I, id: ExchangeId, status: u32) {
        if let Ok(mut parties) = self.parties(id) {
            parties.judge_call(io, status);
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
