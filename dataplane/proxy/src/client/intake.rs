//! What happens to a new request: policy refuses or answers it, or it becomes an exchange.

use std::sync::Arc;

use weir_policy::{ClientFacts, HttpProfile, LastHop};
use weir_snapshot::{Pool, VirtualService};
use weir_wire::{
    head::{BodyLength, RequestHead},
    http1::Hop,
    http2::hpack,
};

use crate::{
    buf::Buf,
    client::Client,
    error::Error,
    exchange::{
        Exchange, Wait,
        incoming::{Form, Incoming},
        table::{ExchangeId, Exchanges},
    },
    head::{self, Sink, Target},
    io::{Conn, Io},
    pool::balance_key,
};

/// What the bytes in the inbox are.
pub(crate) enum Next {
    /// No complete request head yet.
    More,
    /// A request for a server. `answer_continue`: the client waits for a 100 that Weir sends.
    Exchange {
        id: ExchangeId,
        answer_continue: bool,
    },
    /// A request that policy answers.
    Local(Answer),
    Refused(Error),
    /// The listener has no virtual service any more.
    Unserved,
}

/// A response of Weir itself.
pub(crate) struct Answer {
    pub status: u16,
    /// With the content behind it, unless the connection needs them apart.
    pub head: Buf,
    pub content: Option<Buf>,
    pub keep_alive: bool,
}

/// A request, and what its connection says besides the head.
pub(super) struct Received<'r> {
    /// What the request is for.
    pub service: &'r Arc<VirtualService>,
    pub head: &'r RequestHead<'r>,
    pub body: Incoming,
    /// The client sends no other request after it.
    pub last: bool,
    /// Both the client and Weir would keep the connection after it.
    pub keep_alive: bool,
    /// The same for an answer that leaves the request's body unread.
    pub stays: bool,
    /// The inbox holds more than the head.
    pub more_has_come: bool,
    /// What Weir's own response says about the client's connection, and what the request says about the server's.
    pub to_client: Target,
    pub to_server: Hop,
}

impl Received<'_> {
    /// `conn` is the client's connection, or its stream. `date`: the field line of [`Date`](weir_policy::Date).
    pub fn take<I: Io>(
        self,
        io: &mut I,
        client: &Client,
        conn: Conn,
        date: &[u8],
        exchanges: &mut Exchanges<Exchange>,
    ) -> Next {
        let (service, head, facts) = (self.service, self.head, &client.facts);
        let Some(http) = service.http() else { return Next::Unserved };
        if http.refuses(head) {
            return Next::Refused(Error::Request(weir_wire::Error::Field));
        }
        if let Some(redirect) = http.redirect_to_https(head, facts) {
            return self.answer(io, redirect.status(), redirect.bytes_max(), |out| redirect.write(date, out));
        }
        if let Some(last) = http.answer_as_last(head, facts) {
            return self.answer(io, last.status(), LastHop::BYTES_MAX, |out| last.write(date, out));
        }
        if matches!((head.body, http.max_body_bytes), (BodyLength::Bytes(bytes), Some(most)) if bytes > most) {
            return Next::Refused(Error::BodyTooLarge);
        }
        let pool = service.pool.as_deref();
        let for_http2 = pool.filter(|pool| pool.http2.is_some());
        let written = match for_http2 {
            None => head::write_text(io, http.request_bytes_max(head), self.to_server, |out| {
                http.write_request(head, facts, out)
            }),
            Some(pool) => write_block(head, facts, http, pool),
        };
        let written = match written {
            Ok(written) => written,
            Err(error) => return Next::Refused(error),
        };
        let mut exchange = Exchange::new(conn, service.clone(), head, self.body, written);
        exchange.last = self.last;
        exchange.keep_alive = self.keep_alive;
        exchange.continued = http.answers_continue(head);
        exchange.binds_connection = http.binds_connection(&head.fields);
        if for_http2.is_some() {
            exchange.form = Form::Content;
        }
        if let Some(pool) = pool {
            exchange.key = balance_key(pool, Some(head), client.peer);
            exchange.named = pool.persistence.as_ref().and_then(|persistence| persistence.named_by(&head.fields));
            exchange.asked_name = pool.tls.as_ref().and_then(|tls| tls.asked_name(head.host)).map(Box::new);
        }
        if client.connection.line.ended {
            exchange.leave(io.now());
        }
        // A client that waits for the server's 100 sends no body before it.
        let gathers = http.request_buffer_bytes > 0 && (exchange.continued || !head.expect_continue);
        if gathers && exchange.awaits_body() {
            exchange.wait_for(Wait::Body);
        }
        let answer_continue = exchange.continued && !self.more_has_come;
        Next::Exchange { id: exchanges.insert(exchange), answer_continue }
    }

    #[cold]
    fn answer<I: Io>(&self, io: &mut I, status: u16, bytes_max: usize, write: impl FnOnce(&mut Sink<'_, '_>)) -> Next {
        match head::write_own(io, bytes_max, self.to_client, write) {
            Ok(head) => Next::Local(Answer { status, head, content: None, keep_alive: self.stays }),
            Err(error) => Next::Refused(error),
        }
    }
}

/// Writes the request for a server of HTTP/2.
#[inline(never)]
fn write_block(head: &RequestHead<'_>, facts: &ClientFacts, http: &HttpProfile, pool: &Pool) -> Result<Buf, Error> {
    let scheme = if pool.tls.is_some() { &b"https"[..] } else { b"http" };
    let named = facts.listener_authority();
    let target = hpack::Target { scheme, authority: head.host.unwrap_or(named.bytes()) };
    head::write_request_block(http.request_bytes_max(head), target, |out| http.write_request(head, facts, out))
}
