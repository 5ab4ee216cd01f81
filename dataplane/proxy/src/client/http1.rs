//! HTTP/1 of clients: reads the next request from the inbox.

use std::sync::Arc;

use weir_policy::{HttpProfile, Trace};
use weir_snapshot::{VirtualService, Wanting};
use weir_telemetry::Happening;
use weir_wire::{
    head::{Name, RequestHead},
    http1::{self, Hop, Parsed, Request},
    websocket,
};

use crate::{
    client::{
        Client, Stage,
        intake::{Next, Received, Shared},
        span::{span_of, traced},
    },
    core::Core,
    error::Error,
    exchange::{Exchange, incoming::Incoming, table::Exchanges},
    head::Target,
    io::Io,
    records::Come,
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
                Err(wrong) => return Next::Refused { error: Error::Request(wrong), head_only: false },
                Ok(Parsed::Partial) => {
                    if !self.connection.inbox.keep_for_more() {
                        break;
                    }
                }
                Ok(Parsed::Whole(request)) => {
                    self.requests += 1;
                    let (mut child, method) = (None, request.head.method as usize);
                    if self.service.shares_listeners() {
                        match self.choose(&core.snapshot, &request.head, false, &mut core.rules) {
                            Ok(chosen) => child = chosen,
                            Err(error) => {
                                if let Some(analytics) = &self.service.analytics {
                                    let came = (request.len, false);
                                    let come = Come::of(self.service.id, &request.head, came, self.peer, io.now());
                                    self.noted = core.records.begin_request(analytics, &come);
                                }
                                core.counters.note(Happening::Request { service: self.service.id, method });
                                return Next::refused(error, &request.head);
                            }
                        }
                    }
                    let service = child.as_ref().map_or(&self.service, |found| &found.child);
                    core.counters.note(Happening::Request { service: service.id, method });
                    if let Some(analytics) = &service.analytics {
                        let come = Come::of(service.id, &request.head, (request.len, false), self.peer, io.now());
                        self.noted = core.records.begin_request(analytics, &come);
                    }
                    let Some(http) = service.http() else { return Next::Unserved };
                    let may_go_on = !core.draining && !service.drains;
                    let upgrades = request.head.fields.has(Name::Upgrade);
                    let websocket = if upgrades { key_of(http, &request.head) } else { None };
                    let hints = (may_go_on, bytes.len() > request.len);
                    let span;
                    let trace = match traced(service) {
                        None => None,
                        Some(with) => {
                            span = span_of(io, &mut core.records, with, &request.head, self.noted);
                            Some(&span)
                        }
                    };
                    let with = (websocket.as_ref(), trace);
                    let asked = self.asked(service, http, &request, with, hints);
                    let (next, len) = (
                        asked.take(
                            io,
                            self,
                            self.connection.conn(),
                            Shared {
                                date: core.date.line(),
                                rules: &mut core.rules,
                                scripts: &mut core.scripts,
                                pools: &mut core.pools,
                                snapshot: &core.snapshot,
                                admission: &mut core.admission,
                                records: &mut core.records,
                            },
                            exchanges,
                        ),
                        request.len,
                    );
                    self.connection.inbox.head_read(len);
                    if let Some(Wanting { child, rule }) = child {
                        if let Some(rule) = rule {
                            core.records.note_host_rule(self.noted, &rule);
                        }
                        self.serve_once(child, core.epoch);
                    }
                    return next;
                }
            }
        }
        Next::More
    }

    fn asked<'r>(
        &self,
        service: &'r Arc<VirtualService>,
        http: &HttpProfile,
        request: &'r Request<'r>,
        (websocket, trace): (Option<&'r websocket::Key>, Option<&'r Trace>),
        (may_go_on, more_has_come): (bool, bool),
    ) -> Received<'r> {
        let head = &request.head;
        let more_allowed = http.max_keepalive_requests.is_none_or(|most| self.requests < most);
        let keep_alive = request.keep_alive && may_go_on && more_allowed;
        let stays = keep_alive && head.body.is_zero();
        let to_server = match websocket {
            Some(_) => Hop::websocket(),
            None => Hop::to_server(request.framing),
        };
        Received {
            service,
            head,
            body: Incoming::of_client(request.framing, http.max_body_bytes),
            last: !request.keep_alive,
            keep_alive,
            stays,
            more_has_come,
            to_client: Target::Text(Hop::to_client(head.version, stays)),
            to_server,
            websocket,
            trace,
        }
    }
}

/// The key of a request that may switch to WebSocket. It gets no other protocol that it asks for.
#[cold]
fn key_of(http: &HttpProfile, head: &RequestHead<'_>) -> Option<websocket::Key> {
    websocket::Key::asked_by(head).filter(|_| http.websockets)
}
