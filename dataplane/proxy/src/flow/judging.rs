//! Tells the balancer what a server's responses and failures show about the server.

use weir_wire::{
    grpc,
    head::{ResponseHead, SWITCHING_PROTOCOLS},
};

use crate::{
    call,
    error::Error,
    exchange::{Exchange, judged::Judged, table::ExchangeId},
    io::{Io, Time},
    pool::{Place, Pools},
    proxy::{Parties, Proxy},
};

/// 501 and 505 are about the request: the server does not know its method, or its version.
fn is_error_of_server(status: u16) -> bool {
    status >= 500 && !matches!(status, 501 | 505)
}

/// For so long a server may wait in vain for the rest of a request, and what it does then may be the client's fault.
const PATIENCE_NS: u64 = 1_000_000_000;

/// The head of a response with this status has come. One without an error counts as good at once, since the rest may be
/// long, unless the client has not sent its whole request: then it counts at its end.
#[cold]
#[inline(never)]
pub(super) fn judge(exchange: &mut Exchange, pools: &mut Pools, is_call: bool, (at, status): (Place, u16), now: Time) {
    // The pool may say that some are none.
    let is_expected = exchange.pool().is_some_and(|pool| pool.not_errors.has(status));
    let is_error = is_error_of_server(status) && !is_expected;
    let is_early = !is_call && exchange.awaits_body();
    if is_early && is_error && is_kept_waiting(exchange, now) {
        exchange.judged = Judged::Finally;
    }
    if is_error || !is_early && (status >= 200 || status == SWITCHING_PROTOCOLS) {
        // The end of a call says more, unless it has failed below gRPC.
        let is_final = is_call && status != call::STATUS;
        count(exchange, pools, at, (is_error, is_final), now);
    }
}

/// A response is over that did not end in an error.
#[cold]
#[inline(never)]
pub(super) fn judge_whole(exchange: &mut Exchange, pools: &mut Pools, at: Place, now: Time) {
    count(exchange, pools, at, (false, true), now);
}

fn count(exchange: &mut Exchange, pools: &mut Pools, at: Place, (is_error, is_final): (bool, bool), now: Time) {
    if let Some(shown) = exchange.judged.follow(is_error, is_final)
        && !pools.judge(at, shown, exchange.stamps.waited(now), now)
    {
        exchange.judged.is_not_counted();
    }
}

/// The client has not sent its whole request, and the server may have lost its patience.
fn is_kept_waiting(exchange: &Exchange, now: Time) -> bool {
    exchange.awaits_body() && exchange.stamps.waited(now) >= PATIENCE_NS
}

/// Whether a client can cause this failure of its exchange, so that it shows nothing about the server.
pub(super) fn may_be_of_client(error: Error, exchange: &Exchange, is_call: bool, now: Time) -> bool {
    use weir_wire::Error::{FieldTooLarge, HeadTooLarge, TooManyFields, WebSocketAccept};
    match error {
        // It may ask for WebSocket where there is none, or for much in a head.
        Error::Response(WebSocketAccept | HeadTooLarge | FieldTooLarge | TooManyFields) => true,
        // A server that does not take what has come cannot blame the client.
        Error::ResponseTimeout => exchange.stamps.starves(),
        // Calls may answer before they have all of it.
        Error::ServerClosed | Error::ServerReset | Error::StreamReset(_) => {
            is_kept_waiting(exchange, now) && !(is_call && exchange.has_begun_response())
        }
        _ => false,
    }
}

impl Parties<'_> {
    /// The head of the answer to a call has come. `is_all`: nothing follows.
    #[cold]
    pub(super) fn judge_answer<I: Io>(&mut self, io: &I, head: &ResponseHead<'_>, is_all: bool) {
        if head.status >= 400 {
            return;
        }
        if head.status != call::STATUS || !grpc::is_answer(&head.fields) {
            // A server that does not speak gRPC sends no status at the end: it has answered.
            count(self.exchange, &mut self.core.pools, self.server.place, (false, true), io.now());
        } else if is_all {
            self.judge_end_of_call(io, grpc::status(&head.fields));
        }
    }

    /// Without a status, a call has failed.
    fn judge_end_of_call<I: Io>(&mut self, io: &I, status: Option<u32>) {
        let is_error = status.is_none_or(grpc::is_error_of_server);
        count(self.exchange, &mut self.core.pools, self.server.place, (is_error, true), io.now());
    }
}

impl Proxy {
    /// All of a response has come on a stream. Of the answer to a call, `status` is that in its trailers.
    pub(super) fn judge_end<I: Io>(&mut self, io: &I, id: ExchangeId, status: Option<u32>) {
        if let Ok(mut parties) = self.parties(id)
            && parties.client.call().is_some()
        {
            parties.judge_end_of_call(io, status);
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
