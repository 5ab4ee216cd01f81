//! A client's connection: TLS or plain bytes in, one request after another out of them, in order; a later one waits in
//! the inbox, unread, until the one before is answered. Between requests it holds no buffer.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use weir_policy::{ClientFacts, HttpProfile, LastHop};
use weir_snapshot::{Application, VirtualService};
use weir_telemetry::Happening;
use weir_wire::{
    head::BodyLength,
    http1::{self, HeadWriter, Hop, Parsed, Request},
};

use crate::{
    buf::Buf,
    channel::Channel,
    exchange::Exchange,
    inbox::Inbox,
    io::{Close, Conn, Io, Time, TransportAddress},
    line::Line,
    pool::balance_key,
    proxy::Core,
    rescue::Error,
    tunnel::Tunnel,
};

pub(crate) struct Client {
    pub line: Line,
    /// Of the request in flight, or of the one before; looked up again for the next one after a new snapshot.
    pub service: Arc<VirtualService>,
    /// The virtual service that counts this connection.
    pub accepted_by: u32,
    pub facts: ClientFacts,
    pub inbox: Inbox,
    pub stage: Stage,
    /// The client sends no more.
    pub ended: bool,
    /// A server connection of this client's own, where they are not shared.
    pub reserved: Option<Conn>,
    pub peer: SocketAddr,
    /// The snapshot that `service` was looked up in.
    epoch: u32,
    channel: Channel,
    requests: u32,
    received: u64,
    /// Bytes queued when we last looked whether the client takes any.
    stalled_at: usize,
}

pub(crate) enum Stage {
    Handshake,
    /// Between two requests, or before the first.
    Idle,
    /// Part of a request head has come.
    Head,
    /// Boxed, as the next, for the memory of those who wait between two requests.
    Exchange(Box<Exchange>),
    /// Nothing is read out of the bytes.
    Tunnel(Box<Tunnel>),
}

/// What the bytes in the inbox come to.
pub(crate) enum Next {
    /// More must come.
    More,
    /// A request for a server; `answer_continue`: its client waits for a 100 that is ours to give.
    Exchange {
        exchange: Box<Exchange>,
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

impl Next {
    #[cold]
    fn local(
        status: u16,
        keep_alive: bool,
        hop: Hop,
        mut response: Buf,
        write: impl FnOnce(&mut HeadWriter<'_>),
    ) -> Self {
        let mut sink = HeadWriter::new(response.room(), hop);
        write(&mut sink);
        match sink.end() {
            Ok(bytes) => {
                response.filled(bytes);
                Next::Local { status, response, keep_alive }
            }
            Err(_) => Next::Refused(Error::HeadOverflow),
        }
    }
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

/// What a passed deadline means.
pub(crate) enum Expiry {
    /// Nothing yet: the client is still within its time.
    Slow,
    /// Nobody asks for anything.
    Idle,
    Failed(Error),
}

impl Client {
    pub fn accept<I: Io>(
        io: &mut I,
        core: &mut Core,
        conn: Conn,
        listener: TransportAddress,
        peer: SocketAddr,
    ) -> Option<Self> {
        let found = core.snapshot.listener(listener)?;
        let service = found.service.clone();
        let channel = match &service.tls {
            Some(config) if found.tls => Channel::accept(config).ok()?,
            _ => Channel::Plain,
        };
        let mut line = Line::new(conn, io.now());
        let patience = match service.http() {
            Some(http) => http.timeouts.post_accept,
            None => (!channel.is_plain()).then_some(core.limits.handshake),
        };
        line.expect(io, patience);
        core.counters.note(Happening::ClientConnected { service: service.id });
        core.shortage.addresses.add(peer);
        Some(Self {
            line,
            accepted_by: service.id,
            facts: ClientFacts::new(peer, listener.address, !channel.is_plain()),
            inbox: Inbox::default(),
            stage: if channel.is_plain() { Stage::first(&service, peer, io.now()) } else { Stage::Handshake },
            ended: false,
            reserved: None,
            peer,
            epoch: core.epoch,
            service,
            channel,
            requests: 0,
            received: 0,
            stalled_at: usize::MAX,
        })
    }

    pub fn exchange(&mut self) -> Option<&mut Exchange> {
        match &mut self.stage {
            Stage::Exchange(exchange) => Some(exchange),
            _ => None,
        }
    }

    pub fn tunnel(&mut self) -> Option<&mut Tunnel> {
        match &mut self.stage {
            Stage::Tunnel(tunnel) => Some(tunnel),
            _ => None,
        }
    }

    /// Servers that would not take what this client wants taken.
    pub fn tried(&mut self) -> Option<&mut Vec<u32>> {
        match &mut self.stage {
            Stage::Exchange(exchange) => Some(&mut exchange.tried),
            Stage::Tunnel(tunnel) => Some(&mut tunnel.tried),
            _ => None,
        }
    }

    /// Whether a request of it has been read.
    pub fn has_asked(&self) -> bool {
        self.requests > 0
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle | Stage::Handshake) && self.inbox.is_empty()
    }

    /// Whether a handshake has begun and is not complete: a probe that only connects has begun none.
    pub fn is_amid_handshake(&self) -> bool {
        matches!(self.stage, Stage::Handshake) && self.received > 0
    }

    /// Takes what has come.
    pub fn receive<I: Io>(&mut self, io: &mut I, core: &mut Core, buf: Buf) -> Result<(), Error> {
        self.received += buf.len() as u64;
        let received = self.channel.receive(io, &mut self.line, buf, &mut self.inbox, &mut core.scratch);
        let progress = received.map_err(|_| Error::ClientTls)?;
        if progress.handshaken {
            let resumed = self.channel.handshaken().is_some_and(|handshaken| handshaken.resumed);
            core.counters.note(Happening::Handshake { service: self.service.id, resumed });
            self.stage = Stage::first(&self.service, self.peer, io.now());
        }
        if progress.closed {
            self.end(io.now());
        }
        Ok(())
    }

    /// The client sends no more.
    pub fn end(&mut self, now: Time) {
        self.ended = true;
        self.leave(now);
    }

    /// The client will send no more than what is unread.
    pub fn leave(&mut self, now: Time) {
        if let Stage::Exchange(exchange) = &mut self.stage {
            exchange.leave(now);
        }
    }

    /// Whether it is taken for gone: it has ended, and may not wait for its answer like that any longer.
    pub fn is_lost(&self, now: Time) -> bool {
        self.patience(now) == Some(Duration::ZERO)
    }

    /// How long it may wait for its answer; `None`: as long as it takes.
    fn patience(&self, now: Time) -> Option<Duration> {
        let Stage::Exchange(exchange) = &self.stage else { return None };
        let most = self.service.http().and_then(|http| http.timeouts.half_close).unwrap_or_default();
        Some(most.saturating_sub(now.since(exchange.left_at()?)))
    }

    /// Waits for its answer.
    pub fn await_answer<I: Io>(&mut self, io: &mut I) {
        self.line.expect(io, self.patience(io.now()));
    }

    /// So many bytes came from the client and went on without us.
    pub fn relayed<I: Io>(&mut self, io: &I, core: &mut Core, bytes: u64) {
        self.received += bytes;
        self.crossed(io, core, bytes);
    }

    /// Queues plaintext for the client.
    pub fn deliver<I: Io>(&mut self, io: &mut I, unflushed: &mut Vec<Conn>, plain: Buf) {
        self.channel.deliver(io, &mut self.line, unflushed, plain);
    }

    /// Whether its connection carries bytes as servers send and take them.
    pub fn is_plain(&self) -> bool {
        self.channel.is_plain()
    }

    /// Tells the client that no more comes; it may go on sending. `said`: so has the other side, so that TLS may.
    pub fn finish<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, said: bool) {
        self.channel.finish(io, &mut self.line, scratch, said);
    }

    /// Whether it has said itself that it sends no more, as far as its connection lets it.
    pub fn has_ended_for_good(&self) -> bool {
        self.ended && self.channel.vouches_for_end()
    }

    /// Whether it has not taken all that was queued for it.
    pub fn has_unsent<I: Io>(&self, io: &I) -> bool {
        self.channel.holds_back() || io.queued(self.line.conn) > 0
    }

    /// The end of a batch.
    pub fn flush<I: Io>(&mut self, io: &mut I) {
        self.channel.flush(io, &mut self.line);
    }

    /// What TLS says last.
    pub fn say_goodbye<I: Io>(&mut self, io: &mut I, core: &mut Core) {
        self.channel.close(io, &mut self.line, &mut core.scratch);
    }

    /// Lets out what waits to be sealed and leaves out what TLS says last, so that TLS too shows a cut.
    pub fn cut<I: Io>(&mut self, io: &mut I) {
        self.flush(io);
        self.channel = Channel::Plain;
    }

    /// How its connection ends behind a response: what a client may still be sending must not reset the answer.
    pub fn farewell(&self) -> Close {
        let sends_no_more = match &self.stage {
            Stage::Exchange(exchange) => exchange.last && !exchange.awaits_body() && self.inbox.is_empty(),
            _ => false,
        };
        if self.ended || sends_no_more { Close::Flush } else { Close::Linger }
    }

    /// Where it connected to.
    fn listener(&self) -> TransportAddress {
        TransportAddress::tcp(self.facts.listener())
    }

    /// Whether what the listener serves now is served to this client: false once its virtual service is gone.
    pub fn is_served(&self, core: &Core) -> bool {
        self.epoch == core.epoch
            || core.snapshot.listener(self.listener()).is_some_and(|listener| {
                let same_kind = listener.service.http().is_some() == self.service.http().is_some();
                same_kind && listener.tls != self.is_plain()
            })
    }

    /// Whether its connection may go on behind a response.
    pub fn may_stay(&self, core: &Core) -> bool {
        let drains = match self.epoch == core.epoch {
            true => self.service.drains,
            false => core.snapshot.listener(self.listener()).is_none_or(|listener| listener.service.drains),
        };
        !core.draining && !drains && self.is_served(core)
    }

    fn look_up_service(&mut self, core: &Core) -> bool {
        if self.epoch != core.epoch {
            let Some(found) = core.snapshot.listener(self.listener()).filter(|_| self.is_served(core)) else {
                return false;
            };
            self.service = found.service.clone();
            self.epoch = core.epoch;
        }
        true
    }

    pub fn report_bytes(&mut self, core: &mut Core) {
        let (service, sent) = (self.service.id, self.line.take_sent());
        let received = std::mem::take(&mut self.received);
        if received + sent > 0 {
            core.counters.note(Happening::ClientBytes { service, received, sent });
        }
    }
}

// Requests.
impl Client {
    /// Reads the next request out of the inbox.
    pub fn next_request<I: Io>(&mut self, io: &mut I, core: &mut Core) -> Next {
        if self.inbox.is_empty() || matches!(self.stage, Stage::Handshake) {
            return Next::More;
        }
        if !self.look_up_service(core) {
            return Next::Unserved;
        }
        let Some(http) = self.service.http() else { return Next::Unserved };
        let limits = &http.request_limits;
        while self.inbox.may_hold_head(limits.head_bytes) {
            let bytes = self.inbox.first();
            match http1::request(bytes, limits, &mut core.fields) {
                Err(wrong) => return Next::Refused(Error::Request(wrong)),
                Ok(Parsed::Partial) => {
                    if !self.inbox.keep_for_more() {
                        break;
                    }
                }
                Ok(Parsed::Whole(request)) => {
                    core.counters.note(Happening::Request { service: self.service.id });
                    self.requests += 1;
                    let around = Around {
                        may_go_on: !core.draining && !self.service.drains,
                        more_has_come: bytes.len() > request.len,
                        date: core.date.line(),
                    };
                    let (next, len) = (self.take_request(io, http, &request, around), request.len);
                    self.inbox.head_read(len);
                    return next;
                }
            }
        }
        Next::More
    }

    fn take_request<I: Io>(&self, io: &mut I, http: &HttpProfile, asked: &Request<'_>, around: Around<'_>) -> Next {
        let head = &asked.head;
        let more_allowed = http.max_keepalive_requests.is_none_or(|most| self.requests < most);
        let keep_alive = asked.keep_alive && around.may_go_on && more_allowed;
        if http.refuses(head) {
            return Next::Refused(Error::Request(weir_wire::Error::Field));
        }
        let stays = keep_alive && head.body.is_zero();
        let hop = Hop::to_client(head.version, stays);
        if let Some(redirect) = http.redirect_to_https(head, &self.facts) {
            let response = io.buffer_for(redirect.bytes_max() + Hop::BYTES_MAX);
            return Next::local(redirect.status(), stays, hop, response, |out| redirect.write(around.date, out));
        }
        if let Some(last) = http.answer_as_last(head, &self.facts) {
            let response = io.buffer_for(LastHop::BYTES_MAX + Hop::BYTES_MAX);
            return Next::local(last.status(), stays, hop, response, |out| last.write(around.date, out));
        }
        if is_too_large(head.body, http) {
            return Next::Refused(Error::BodyTooLarge);
        }
        let mut request = io.buffer_for(http.request_bytes_max(head) + Hop::BYTES_MAX);
        let mut sink = HeadWriter::new(request.room(), Hop::to_server(asked.framing));
        http.write_request(head, &self.facts, &mut sink);
        match sink.end() {
            Ok(bytes) => request.filled(bytes),
            Err(_) => return Next::Refused(Error::HeadOverflow),
        }
        let answers_continue = http.answers_continue(head);
        let pool = self.service.pool.as_deref();
        let key = pool.map(|pool| balance_key(pool, Some(head), self.peer)).unwrap_or_default();
        let mut exchange = Box::new(Exchange::new(asked, keep_alive, answers_continue, key, request));
        let tls = pool.and_then(|pool| pool.tls.as_ref());
        let persistence = pool.and_then(|pool| pool.persistence.as_ref());
        exchange.named = persistence.and_then(|persistence| persistence.named_by(&head.fields));
        exchange.asked_name = tls.and_then(|tls| tls.asked_name(head.host)).map(Box::new);
        if self.ended {
            exchange.leave(io.now());
        }
        exchange.binds_connection = http.binds_connection(&head.fields);
        // Who waits for a server's 100 sends no body before it.
        let gathers = http.request_buffer_bytes > 0 && (answers_continue || !head.expect_continue);
        if gathers && exchange.awaits_body() {
            exchange.gather_body();
        }
        Next::Exchange { exchange, answer_continue: answers_continue && !around.more_has_come }
    }

    /// Waits for the rest of a head, or for the next request.
    pub fn await_request<I: Io>(&mut self, io: &mut I) {
        self.line.read(io, true);
        if self.inbox.is_empty() {
            return;
        }
        if matches!(self.stage, Stage::Idle) {
            self.stage = Stage::Head;
            self.line.expect(io, self.service.http().and_then(|http| http.timeouts.client_header));
        }
    }

    /// Whether it has only to wait for its answer. With the first one many a connection ends; to tell of each does not
    /// pay.
    pub fn rest<I: Io>(&mut self, io: &mut I, on: bool) {
        if self.requests == 1 {
            io.resting(self.line.conn, on);
        }
    }

    /// The request has been answered, and the connection goes on.
    pub fn finish_request<I: Io>(&mut self, io: &mut I) {
        self.rest(io, false);
        self.stage = Stage::Idle;
        self.stalled_at = usize::MAX;
        self.line.expect(io, self.service.http().and_then(|http| http.timeouts.keepalive));
    }

    /// Waits for the client to take what is queued for it.
    pub fn watch_stall<I: Io>(&mut self, io: &mut I, core: &Core) {
        self.stalled_at = io.queued(self.line.conn);
        self.line.expect(io, Some(core.limits.stalled_client));
    }

    /// Everything queued has left.
    pub fn drained<I: Io>(&mut self, io: &mut I, core: &Core) {
        let Some(timeouts) = self.service.http().map(|http| &http.timeouts) else { return };
        match &self.stage {
            Stage::Idle if self.requests > 0 => self.line.expect(io, timeouts.keepalive),
            Stage::Exchange(exchange) if exchange.awaits_body() && self.line.is_reading() => self.await_body(io, core),
            Stage::Exchange(_) => self.await_answer(io),
            _ => {}
        }
    }

    /// Waits for more of a body: for the next read of it, and no longer than its rate allows.
    pub fn await_body<I: Io>(&mut self, io: &mut I, core: &Core) {
        let (Stage::Exchange(exchange), Some(http)) = (&mut self.stage, self.service.http()) else { return };
        let mut most = http.timeouts.client_body;
        if let Some(least) = http.min_body_bytes_per_s {
            let (now, grace) = (io.now(), core.limits.slow_body);
            let body_bytes = exchange.upload_bytes;
            let left = exchange.pace().time_left(now, body_bytes, least, grace, most.unwrap_or(grace));
            most = Some(most.map_or(left, |most| most.min(left)));
        }
        self.line.expect(io, most);
    }

    pub fn expired<I: Io>(&mut self, io: &mut I, core: &Core) -> Expiry {
        if !self.line.has_expired(io) {
            return Expiry::Slow;
        }
        let queued = io.queued(self.line.conn);
        match &self.stage {
            Stage::Exchange(_) if self.is_lost(io.now()) => Expiry::Failed(Error::ClientAborted),
            Stage::Tunnel(_) => match self.quiet_left(io.now()) {
                Some(Duration::ZERO) => Expiry::Idle,
                left => {
                    self.line.expect(io, left);
                    Expiry::Slow
                }
            },
            Stage::Handshake => Expiry::Failed(Error::AcceptTimeout),
            Stage::Head => Expiry::Failed(Error::HeadTimeout),
            Stage::Exchange(exchange) if exchange.awaits_body() && self.line.is_reading() => {
                Expiry::Failed(Error::BodyTimeout)
            }
            Stage::Idle | Stage::Exchange(_) if queued > 0 => {
                let takes_some = queued < self.stalled_at;
                self.watch_stall(io, core);
                if takes_some { Expiry::Slow } else { Expiry::Failed(Error::ClientStalled) }
            }
            Stage::Idle if self.requests == 0 => Expiry::Failed(Error::AcceptTimeout),
            Stage::Idle => Expiry::Idle,
            Stage::Exchange(_) => Expiry::Slow,
        }
    }
}

impl Stage {
    /// Of a client that has nothing to agree on any more before it may ask for something.
    fn first(service: &VirtualService, peer: SocketAddr, now: Time) -> Self {
        match &service.application {
            Application::Http(_) => Stage::Idle,
            Application::L4(_) => Stage::Tunnel(Box::new(Tunnel::new(service, peer, now))),
        }
    }
}

fn is_too_large(body: BodyLength, http: &HttpProfile) -> bool {
    matches!((body, http.max_body_bytes), (BodyLength::Bytes(bytes), Some(most)) if bytes > most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousands of them stand idle. 320 is a size class of the allocator; the next is 384.
    #[test]
    fn client_is_small() {
        assert!(size_of::<Client>() <= 320, "{}", size_of::<Client>());
    }
}
