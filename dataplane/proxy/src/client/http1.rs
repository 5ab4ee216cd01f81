//! HTTP/1 of clients: reads the next request from the inbox.

use weir_policy::HttpProfile;
use weir_telemetry::Happening;
use weir_wire::{
    head::Name,
    http1::{self, Hop, Parsed, Request},
    websocket,
};

use crate::{
    client::{
        Client, Stage,
        intake::{Next, Received},
    },
    core::Core,
    error::Error,
    exchange::{Exchange, incoming::Incoming, table::Exchanges},
    head::Target,
    io::Io,
};

impl Client {
    /// Reads the next request from the inbox.
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
                Ok(Parsed::Whole(request)) => {
                    core.counters.note(Happening::Request { service: self.service.id });
                    self.requests += 1;
                    let may_go_on = !core.draining && !self.service.drains;
                    let asked = self.asked(http, &request, may_go_on, bytes.len() > request.len);
                    let (next, len) =
                        (asked.take(io, self, self.connection.conn(), core.date.line(), exchanges), request.len);
                    self.connection.inbox.head_read(len);
                    return next;
                }
            }
        }
        Next::More
    }

    fn asked<'r>(
        &self,
        http: &HttpProfile,
        request: &'r Request<'r>,
        may_go_on: bool,
        more_has_come: bool,
    ) -> Received<'r> {
        let head = &request.head;
        let more_allowed = http.max_keepalive_requests.is_none_or(|most| self.requests < most);
        let keep_alive = request.keep_alive && may_go_on && more_allowed;
        let stays = keep_alive && head.body.is_zero();
        let (websocket, to_server) = match head.fields.has(Name::Upgrade) {
            true => upgrade(http, request),
            false => (None, Hop::to_server(request.framing)),
        };
        Received {
            head,
            body: Incoming::of_client(request.framing, http.max_body_bytes),
            last: !request.keep_alive,
            keep_alive,
            stays,
            more_has_come,
            to_client: Target::Text(Hop::to_client(head.version, stays)),
            to_server,
            websocket,
        }
    }
}

/// What a request that wants another protocol gets of that: WebSocket, or nothing.
#[cold]
fn upgrade(http: &HttpProfile, request: &Request<'_>) -> (Option<websocket::Key>, Hop) {
    match websocket::Key::asked_by(&request.head).filter(|_| http.websockets) {
        Some(key) => (Some(key), Hop::websocket()),
        None => (None, Hop::to_server(request.framing)),
    }
}
