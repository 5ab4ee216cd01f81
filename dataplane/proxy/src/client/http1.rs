//! A client that speaks HTTP/1: the next request out of its inbox.

use weir_policy::{HttpProfile, LastHop};
use weir_telemetry::Happening;
use weir_wire::http1::{self, Framing, Overflow, Parsed, RequestHead};

use super::{Client, Stage};
use crate::{
    buf::Buf,
    core::Core,
    error::Error,
    exchange::{Exchange, Wait},
    exchanges::{ExchangeId, Exchanges},
    io::Io,
    pool::balance_key,
};

/// What the bytes in the inbox come to.
pub(crate) enum Next {
    /// More must come.
    More,
    /// A request for a server; `answer_continue`: its client waits for a 100 that is ours to give.
    Exchange {
        id: ExchangeId,
        answer_continue: bool,
    },
    /// A request that policy answers.
    Local {
        status: u16,
        response: Buf,
        keep_alive: bool,
    },
    Refused(Error),
    /// The listener serves nothing any more.
    Unserved,
}

/// What becomes of a request depends on this, besides its head.
struct Around<'a> {
    /// We would let the client's connection go on behind it.
    may_go_on: bool,
    /// More than the head is here already.
    more_has_come: bool,
    /// The line of [`Date`](weir_policy::Date).
    date: &'a [u8],
}

impl Client {
    /// Reads the next request out of the inbox.
    pub fn next_request<I: Io>(&mut self, io: &mut I, core: &mut Core, exchanges: &mut Exchanges<Exchange>) -> Next {
        if self.connection.inbox.is_empty() || matches!(self.stage, Stage::Handshake) {
            return Next::More;
        }
        if !self.look_up_service(core) {
            return Next::Unserved;
        }
        let Some(http) = self.service.http() else { return Next::Unserved };
        let limits = &http.request_limits;
        while self.connection.inbox.may_hold_head(limits.head_bytes) {
            let bytes = self.connection.inbox.first();
            match http1::request(bytes, limits, &mut core.fields) {
                Err(wrong) => return Next::Refused(Error::Request(wrong)),
                Ok(Parsed::Partial) => {
                    if !self.connection.inbox.keep_for_more() {
                        break;
                    }
                }
                Ok(Parsed::Whole(head)) => {
                    core.counters.note(Happening::Request { service: self.service.id });
                    self.requests += 1;
                    let around = Around {
                        may_go_on: !core.draining && !self.service.drains,
                        more_has_come: bytes.len() > head.len,
                        date: core.date.line(),
                    };
                    let (next, len) = (self.take_request(io, http, &head, around, exchanges), head.len);
                    self.connection.inbox.head_read(len);
                    return next;
                }
            }
        }
        Next::More
    }

    fn take_request<I: Io>(
        &self,
        io: &mut I,
        http: &HttpProfile,
        head: &RequestHead<'_>,
        around: Around<'_>,
        exchanges: &mut Exchanges<Exchange>,
    ) -> Next {
        let more_allowed = http.max_keepalive_requests.is_none_or(|most| self.requests < most);
        let keep_alive = head.keep_alive && around.may_go_on && more_allowed;
        if http.refuses(head) {
            return Next::Refused(Error::Request(http1::Error::Field));
        }
        let stays = keep_alive && matches!(head.body, Framing::None | Framing::Length(0));
        if let Some(redirect) = http.redirect_to_https(head, &self.facts) {
            let response = io.buffer_for(redirect.bytes_max());
            let write = |room: &mut [u8]| redirect.write(stays, around.date, room);
            return Next::local(redirect.status(), stays, response, write);
        }
        if let Some(last) = http.answer_as_last(head, &self.facts) {
            let response = io.buffer_for(LastHop::BYTES_MAX);
            let write = |room: &mut [u8]| last.write(stays, around.date, room);
            return Next::local(last.status(), stays, response, write);
        }
        if is_too_large(head.body, http) {
            return Next::Refused(Error::BodyTooLarge);
        }
        let mut written = io.buffer_for(http.request_bytes_max(head));
        match http.write_request(head, &self.facts, written.room()) {
            Ok(bytes) => written.filled(bytes),
            Err(_) => return Next::Refused(Error::Defect),
        }
        let conn = self.connection.conn();
        let mut exchange = Exchange::new(conn, self.service.clone(), head, http.max_body_bytes, written);
        exchange.keep_alive = keep_alive;
        exchange.continued = http.answers_continue(head);
        if let Some(pool) = exchange.service.pool.as_deref() {
            let tls = pool.tls.as_ref();
            let persistence = pool.persistence.as_ref();
            exchange.named = persistence.and_then(|persistence| persistence.named_by(&head.fields));
            exchange.asked_name = tls.and_then(|tls| tls.asked_name(head.host)).map(Box::new);
            exchange.key = balance_key(pool, Some(head), self.peer);
        }
        exchange.binds_connection = http.binds_connection(&head.fields);
        if self.connection.ended {
            exchange.leave(io.now());
        }
        // Who waits for a server's 100 sends no body before it.
        let gathers = http.request_buffer_bytes > 0 && (exchange.continued || !head.expect_continue);
        if gathers && exchange.awaits_body() {
            exchange.wait_for(Wait::Body);
        }
        let answer_continue = exchange.continued && !around.more_has_come;
        Next::Exchange { id: exchanges.insert(exchange), answer_continue }
    }
}

impl Next {
    #[cold]
    fn local(
        status: u16,
        keep_alive: bool,
        mut response: Buf,
        write: impl FnOnce(&mut [u8]) -> Result<usize, Overflow>,
    ) -> Self {
        match write(response.room()) {
            Ok(bytes) => {
                response.filled(bytes);
                Next::Local { status, response, keep_alive }
            }
            Err(_) => Next::Refused(Error::Defect),
        }
    }
}

fn is_too_large(body: Framing, http: &HttpProfile) -> bool {
    matches!((body, http.max_body_bytes), (Framing::Length(bytes), Some(most)) if bytes > most)
}
