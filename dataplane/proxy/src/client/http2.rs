//! HTTP/2 of clients: how their connections begin to carry streams, and the request that opens a stream.

use std::sync::Arc;

use weir_policy::{Http2, HttpProfile};
use weir_snapshot::VirtualService;
use weir_telemetry::{Cause, Happening};
use weir_wire::{
    head::{Name, NameSet},
    http1::{Framing, Hop},
    http2::{Code, Config, FRAME_BYTES_MIN, PREFACE, Priority, Refused, Role, Settings},
    websocket,
};

use crate::{
    call::Call,
    carrier::{Carrier, millis},
    client::{
        Client, Stage,
        intake::{Next, Received, Shared},
        span::{span_of, traced},
    },
    core::Core,
    error::Error,
    exchange::{Exchange, incoming::Incoming, table::Exchanges},
    head::Target,
    io::{Conn, Io},
    records::Come,
};

/// The window of a connection for what it uploads.
const WINDOW: u32 = 1 << 20;
/// A head that is too large costs the peer as much as so many control frames: a few bytes may decode to many.
pub(crate) const LARGE_HEAD_COSTS: u32 = 8;

/// What a request that opens a stream has become, the child virtual service that it is for, and the call that it is.
type Opened = (Next, Option<Arc<VirtualService>>, Option<Call>);

/// A stream that a client opens.
pub(crate) struct NewStream {
    /// The handle of the client that stands for it.
    pub conn: Conn,
    /// Its identifier on the connection.
    pub id: u32,
    /// There is no place for it.
    pub is_full: bool,
}

impl Client {
    /// Whether the first bytes are those of HTTP/2. A method of HTTP/1 that begins like them has another fourth byte.
    pub fn begins_http2(&mut self) -> bool {
        self.requests == 0 && self.connection.inbox.begins_with(&PREFACE[..4])
    }

    /// Begins to carry streams. False: its listener does not let clients speak HTTP/2.
    pub fn begin_http2<I: Io>(&mut self, io: &mut I, core: &mut Core) -> bool {
        if !self.look_up_service(core) || !core.snapshot.listener(self.listener()).is_some_and(|found| found.http2) {
            return false;
        }
        let Some(http) = self.service.http() else { return false };
        let Some(http2) = &http.http2 else { return false };
        let mut carrier = Box::new(Carrier::new(Role::Server, config(http, http2), io.now()));
        self.connection.line.expect(io, http.timeouts.client_header);
        carrier.list(self.connection.conn(), &mut core.carriers);
        self.stage = Stage::Http2(carrier);
        core.counters.note(Happening::Http2Begun { service: self.accepted_by });
        true
    }

    /// Whether the connection may carry more requests.
    pub fn may_ask_more(&self) -> bool {
        let http2 = self.service.http().and_then(|http| http.http2);
        http2.is_none_or(|http2| http2.max_requests == 0 || self.requests < http2.max_requests)
    }

    /// Reads the request that opens a stream: with the child virtual service that it is for, and the call that it may be.
    /// Error: the connection cannot go on.
    pub fn next_stream<I: Io>(
        &mut self,
        io: &mut I,
        core: &mut Core,
        exchanges: &mut Exchanges<Exchange>,
        NewStream { conn, id, is_full }: NewStream,
        piece: &[u8],
    ) -> Result<Opened, Code> {
        let is_served = self.look_up_service(core);
        let Self { stage: Stage::Http2(carrier), service, .. } = self else { return Err(Code::InternalError) };
        let Some(http) = service.http() else { return Err(Code::InternalError) };
        // Every block is decoded, or the tables of both ends would differ.
        let request = match carrier.connection.request(piece, &http.stream_limits(), &mut core.fields) {
            Ok(request) => request,
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(error)) => {
                if is_too_large(error) {
                    carrier.connection.charge(LARGE_HEAD_COSTS, millis(io.now()))?;
                }
                let head_only = core.fields.asked_for_head();
                return Ok((Next::Refused { error: Error::Request(error), head_only }, None, None));
            }
        };
        if let Some(field) = request.head.fields.among(NameSet::of(&[Name::Priority])).next()
            && let Some(outbox) = carrier.connection.kept(id)
        {
            outbox.priority = Priority::read(field.value);
        }
        if is_served
            && is_full
            && let Some(analytics) = &self.service.analytics
        {
            let come = Come::of(self.service.id, &request.head, (piece.len(), true), self.peer, io.now());
            self.noted = core.records.begin_request(analytics, &come);
            core.records.note_cause(&mut self.noted, analytics, Cause::EngineRefused);
        }
        if !is_served || is_full {
            return Ok((Next::Unserved, None, None));
        }
        self.requests += 1;
        let head = &request.head;
        let (mut child, mut rule, method) = (None, None, head.method as usize);
        if self.service.shares_listeners() {
            match self.choose(&core.snapshot, head, true, &mut core.rules) {
                Ok(found) => (child, rule) = found.map_or((None, None), |found| (Some(found.child), found.rule)),
                Err(error) => {
                    if let Some(analytics) = &self.service.analytics {
                        let come = Come::of(self.service.id, head, (piece.len(), true), self.peer, io.now());
                        self.noted = core.records.begin_request(analytics, &come);
                    }
                    core.counters.note(Happening::StreamRequest { service: self.service.id, method });
                    return Ok((Next::refused(error, head), None, None));
                }
            }
        }
        let service = child.as_ref().unwrap_or(&self.service);
        core.counters.note(Happening::StreamRequest { service: service.id, method });
        if let Some(analytics) = &service.analytics {
            let come = Come::of(service.id, head, (piece.len(), true), self.peer, io.now());
            self.noted = core.records.begin_request(analytics, &come);
            if let Some(rule) = rule {
                core.records.note_host_rule(self.noted, &rule);
            }
        }
        let Some(http) = service.http() else { return Ok((Next::Unserved, None, None)) };
        if request.is_websocket && !http.websockets {
            return Ok((Next::refused(Error::Request(weir_wire::Error::Connect), head), child, None));
        }
        let call = Call::of(head, io.now());
        if call.is_some() {
            core.counters.note(Happening::Call { service: service.id });
        }
        let websocket = request.is_websocket.then(|| websocket::Key::of_nonce(io.random()));
        let trace = traced(service).map(|with| span_of(io, &mut core.records, with, head, self.noted));
        let received = Received {
            service,
            head,
            body: Incoming::of_stream(head.body, request.is_all || request.is_websocket, http.max_body_bytes),
            last: true,
            keep_alive: false,
            stays: false,
            more_has_come: false,
            to_client: if call.is_some() { Target::Call } else { Target::Block },
            to_server: if request.is_websocket { Hop::websocket() } else { Hop::to_server(Framing::of(head.body)) },
            websocket: websocket.as_ref(),
            trace: trace.as_ref(),
        };
        let shared = Shared {
            date: core.date.line(),
            rules: &mut core.rules,
            scripts: &mut core.scripts,
            pools: &mut core.pools,
            snapshot: &core.snapshot,
            admission: &mut core.admission,
            records: &mut core.records,
        };
        let next = received.take(io, self, conn, shared, exchanges);
        // Many streams may wait at once, and each would hold a whole block.
        if let Next::Exchange { id, .. } | Next::Reported { id, .. } = next
            && let Some(exchange) = exchanges.find(id)
        {
            exchange.shrink_head();
        }
        Ok((next, child, call))
    }
}

/// Whether a head exceeds a limit of size, so that its peer is told so.
pub(crate) fn is_too_large(error: weir_wire::Error) -> bool {
    use weir_wire::Error::{FieldTooLarge, HeadTooLarge, TargetTooLong, TooManyFields};
    matches!(error, FieldTooLarge | HeadTooLarge | TargetTooLong | TooManyFields)
}

fn config(http: &HttpProfile, http2: &Http2) -> Config {
    let settings = Settings {
        max_concurrent_streams: Some(http2.max_streams),
        initial_window: http2.window_bytes,
        max_header_list_bytes: Some(http.request_limits.head_bytes as u32),
        max_frame_bytes: FRAME_BYTES_MIN as u32,
        enable_connect_protocol: http.websockets,
        no_rfc7540_priorities: true,
        ..Settings::default()
    };
    Config {
        settings,
        window: WINDOW,
        head_bytes: http.request_limits.head_bytes,
        control_frames: http2.control_frames,
        empty_frames: http2.empty_frames,
    }
}
