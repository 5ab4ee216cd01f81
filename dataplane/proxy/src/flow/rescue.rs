//! The only map from errors to what the client sees. While nothing of a response has been sent, the client gets a
//! status and an error page; otherwise its connection ends. All failures pass through here.

use weir_balance::Failure;
use weir_jwt::Fault;
use weir_rules::{Barred, Denial, Excess, LocalResponse, Redirect};
use weir_script::{Ending, Seen};
use weir_snapshot::FailAction;
use weir_telemetry::{Cause, HandshakeFault, Happening};
use weir_tls::CertificateFault;
use weir_wire::{head::Method, http1::Hop, http2::Code};

use crate::{
    call,
    client::{
        Client, Stage,
        ruled::{Asker, Why},
        token,
    },
    core::Core,
    error::Error,
    exchange::{Exchange, table::ExchangeId},
    flow::judging::may_be_of_client,
    head::Target,
    io::{Close, Conn, Gone, Io, Time},
    page::Page,
    proxy::{ClientSide, Proxy},
};

/// What the client gets after an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Remedy {
    /// The status of the page, for a client that has nothing of a response yet.
    pub page: Option<u16>,
    /// How the connection ends if there is no page, and the framing of the partial response does not show the cut.
    pub close: Close,
    pub cause: Cause,
}

pub(crate) fn remedy(error: Error) -> Remedy {
    let (page, cause) = match error {
        Error::Request(wrong) => request_remedy(wrong),
        Error::AcceptTimeout => return without_page(Close::Flush, Cause::ClientAcceptTimeout),
        Error::ProxyHeader => return without_page(Close::Abort, Cause::ClientProxyHeader),
        // Lingers, so that the client gets the alert with the reason.
        Error::ClientCertificate { fault, in_handshake: true } => {
            return without_page(Close::Linger, cause_of(fault));
        }
        Error::ClientCertificate { fault, in_handshake: false } => (400, cause_of(fault)),
        Error::ForgedField => (400, Cause::ClientForgedField),
        Error::Token(fault) => token_remedy(fault),
        Error::Unauthorized(Denial::Close) => return without_page(ending(false), Cause::ClientTokenInsufficient),
        Error::Unauthorized(Denial::Unauthorized) => (401, Cause::ClientTokenInsufficient),
        Error::Unauthorized(Denial::Forbidden) => (403, Cause::ClientTokenInsufficient),
        Error::ClientTls(_) => return without_page(Close::Linger, Cause::ClientTls),
        Error::ClientStalled => return without_page(Close::Abort, Cause::ClientStalled),
        Error::Denied { reset } => return without_page(ending(reset), Cause::ClientDenied),
        Error::RateLimited { reset } => return without_page(ending(reset), Cause::ClientRequestRate),
        Error::ConnectionLimited { reset } => {
            let close = if reset { Close::Abort } else { Close::Flush };
            return without_page(close, Cause::ClientConnectionRate);
        }
        Error::Barred(Barred::Denied) => return without_page(Close::Abort, Cause::ClientNetworkDenied),
        Error::Barred(Barred::TooOften) => return without_page(Close::Abort, Cause::ClientNetworkRate),
        Error::TooManyConnections => return without_page(Close::Abort, Cause::ClientConnections),
        Error::ClientAborted => return without_page(Close::Abort, Cause::ClientAborted),
        Error::HeadTimeout => (408, Cause::ClientHeadTimeout),
        Error::BodyTimeout => (408, Cause::ClientBodyTimeout),
        Error::BodyTooLarge => (413, Cause::ClientBodyTooLarge),
        Error::Connect(Gone::Refused) => (502, Cause::ServerRefused),
        Error::Connect(Gone::Unreachable) => (502, Cause::ServerUnreachable),
        Error::StreamReset(Code::Http11Required) => (502, Cause::NoHttp2),
        Error::Connect(Gone::Reset) | Error::ServerReset | Error::StreamReset(_) => (502, Cause::ServerReset),
        Error::Connect(Gone::Local) => (503, Cause::LocalResources),
        Error::ConnectTimeout => (504, Cause::ServerConnectTimeout),
        Error::ServerTls => (502, Cause::ServerTls),
        Error::ServerUntrusted => (502, Cause::ServerUntrusted),
        Error::ServerClosed => (502, Cause::ServerClosed),
        Error::ServerRefused | Error::ServerLeft => (503, Cause::ServerRefused),
        Error::ServerWithdrawn => (503, Cause::ServerWithdrawn),
        Error::ServerProtocol => (502, Cause::ServerBadResponse),
        Error::ResponseTimeout => (504, Cause::ServerResponseTimeout),
        Error::Response(
            weir_wire::Error::HeadTooLarge | weir_wire::Error::FieldTooLarge | weir_wire::Error::TooManyFields,
        ) => (502, Cause::ServerHeadTooLarge),
        Error::Response(_) => (502, Cause::ServerBadResponse),
        Error::NoPool => (503, Cause::NoPool),
        Error::NoHttp2 => (501, Cause::NoHttp2),
        Error::UnknownHost => (404, Cause::ClientUnknownHost),
        Error::OtherHost => (400, Cause::ClientOtherHost),
        Error::Misdirected => (421, Cause::ClientOtherHost),
        Error::NoServer => (503, Cause::NoServer),
        Error::ServersTooOften => (503, Cause::ServerConnectionRate),
        Error::QueueTimeout => (503, Cause::ServerQueueTimeout),
        Error::BoundServerDown => return without_page(Close::Abort, Cause::NoServer),
        Error::DeadlineExceeded => (504, Cause::DeadlineExceeded),
        Error::Script => (500, Cause::ScriptFailed),
        Error::ConnectionScript => return without_page(Close::Linger, Cause::ScriptFailed),
        // Answered in another way, unless that is missing.
        Error::Scripted | Error::Defect => (502, Cause::Internal),
    };
    // For a response that ends with its connection, only a reset shows the cut.
    Remedy { page: Some(page), close: Close::Cut, cause }
}

fn cause_of(fault: CertificateFault) -> Cause {
    match fault {
        CertificateFault::Missing => Cause::ClientCertificateMissing,
        CertificateFault::NotYetValid | CertificateFault::Expired => Cause::ClientCertificateExpired,
        CertificateFault::Revoked => Cause::ClientCertificateRevoked,
        CertificateFault::CrlExpired | CertificateFault::CrlMissing => Cause::ClientCertificateNoCrl,
        CertificateFault::UnknownAuthority
        | CertificateFault::Purpose
        | CertificateFault::Names
        | CertificateFault::Chain
        | CertificateFault::TooLong
        | CertificateFault::Unreadable
        | CertificateFault::Proof => Cause::ClientCertificateUntrusted,
    }
}

/// RFC 6750 §3.1.
fn token_remedy(fault: Fault) -> (u16, Cause) {
    match fault {
        Fault::Missing => (401, Cause::ClientTokenMissing),
        Fault::Several => (400, Cause::ClientTokenMalformed),
        Fault::TooLong | Fault::Malformed => (401, Cause::ClientTokenMalformed),
        Fault::Algorithm | Fault::UnknownKey | Fault::Signature => (401, Cause::ClientTokenUntrusted),
        Fault::Expired | Fault::NotYetValid => (401, Cause::ClientTokenExpired),
        Fault::Issuer | Fault::Audience => (401, Cause::ClientTokenForOthers),
    }
}

fn request_remedy(wrong: weir_wire::Error) -> (u16, Cause) {
    use weir_wire::Error::*;
    match wrong {
        TargetTooLong => (414, Cause::ClientUriTooLong),
        FieldTooLarge | TooManyFields | HeadTooLarge => (431, Cause::ClientHeadTooLarge),
        UnknownCoding | Connect | WebSocketVersion => (501, Cause::ClientUnsupported),
        Version => (505, Cause::ClientUnsupported),
        _ => (400, Cause::ClientBadRequest),
    }
}

fn ending(reset: bool) -> Close {
    if reset { Close::Abort } else { Close::Linger }
}

fn without_page(close: Close, cause: Cause) -> Remedy {
    Remedy { page: None, close, cause }
}

/// What counts as a failure of a server.
pub(crate) fn failed(server: u32, error: Error) -> Happening {
    Happening::ServerFailed { server, reset: remedy(error).cause == Cause::ServerReset }
}

/// Why a handshake failed that was under way.
fn fault(error: Error) -> HandshakeFault {
    match error {
        Error::ClientTls(fault) => fault,
        Error::ClientCertificate { fault: CertificateFault::Missing, .. } => HandshakeFault::NoCertificate,
        Error::ClientCertificate { .. } => HandshakeFault::BadCertificate,
        Error::AcceptTimeout => HandshakeFault::Timeout,
        Error::ClientAborted => HandshakeFault::Closed,
        _ => HandshakeFault::Internal,
    }
}

/// Whether the message on a stream is malformed, so that the stream ends without a response (RFC 9113 §8.1.1).
fn is_malformed(error: Error) -> bool {
    matches!(error, Error::Request(_)) && remedy(error).page == Some(400)
}

/// What the client has still to get when its exchange fails.
enum Owed {
    Response {
        head_only: bool,
        /// The end of this request in the client's bytes is known, so the next request can be read.
        keep_alive: bool,
    },
    /// The rest of a partial response. `shows_cut`: the framing alone tells the client that the rest is missing.
    Rest { shows_cut: bool },
    /// The status of a call, behind the messages that it has got.
    Status,
}

impl Owed {
    fn of(exchange: &Exchange, client: &Client, error: Error) -> Self {
        if exchange.has_begun_response() && !exchange.holds_head() {
            let messages_are_whole = client.call().is_some_and(|call| call.answer.are_whole());
            return match messages_are_whole && exchange.may_end_with_trailers() {
                true => Owed::Status,
                false => Owed::Rest { shows_cut: exchange.shows_cut() },
            };
        }
        Owed::Response {
            head_only: exchange.method == Method::Head,
            keep_alive: exchange.keep_alive && !exchange.awaits_body() && error.leaves_client_readable(),
        }
    }
}

/// What the scripts for a failure want.
#[cold]
fn by_script(
    (exchange, client, core): (&Exchange, &Client, &mut Core),
    seen: Box<Seen>,
    (cause, now): (Cause, Time),
    is_shortage: bool,
) -> Option<Instead> {
    let scripts = exchange.service.scripts.as_deref()?;
    let ending = core.scripts.fail(scripts, &mut core.pools, seen, (cause.name(), now), is_shortage);
    if !core.scripts.said.is_empty() {
        core.note_said(client.noted);
    }
    ending.map(Instead::Scripted)
}

/// Sends a client to an error page elsewhere.
const FOUND: u16 = 302;

/// What a client gets instead of a page.
enum Instead {
    Page,
    Close,
    /// `location`: where it goes instead; empty: nowhere.
    Answer {
        response: LocalResponse,
        location: Vec<u8>,
    },
    /// What a script answers.
    Scripted(Ending),
}

impl Instead {
    /// Of a request that no server takes.
    fn of(exchange: &Exchange) -> Self {
        match exchange.fail_action() {
            Some(FailAction::CloseConnection) => Self::Close,
            Some(FailAction::Answer(response)) if response.status == 503 && response.content.is_empty() => Self::Page,
            Some(FailAction::Answer(response)) => Self::Answer { response: response.clone(), location: Vec::new() },
            Some(FailAction::Redirect(redirect)) => Self::redirect(exchange, redirect),
            // No server of the backup takes it either.
            Some(FailAction::LocalResponse | FailAction::Backup(_)) | None => Self::Page,
        }
    }

    /// Of a request for which no connection to a server may begin.
    #[cold]
    fn beyond_rate(exchange: &Exchange) -> Self {
        match exchange.pool().and_then(|pool| pool.connect_rate.as_ref()).map(|rate| &rate.excess) {
            Some(Excess::Close { reset }) => Self::Scripted(Ending::Close { reset: *reset }),
            Some(Excess::Respond(response)) => Self::Answer { response: response.clone(), location: Vec::new() },
            Some(Excess::Redirect(redirect)) => Self::redirect(exchange, redirect),
            Some(Excess::Report) | None => Self::Page,
        }
    }

    /// How the client's connection ends. `None`: the client gets an answer.
    fn closing(&self) -> Option<Close> {
        match self {
            Self::Close | Self::Scripted(Ending::Close { reset: false }) => Some(Close::Linger),
            Self::Scripted(Ending::Close { reset: true }) => Some(Close::Abort),
            Self::Page | Self::Answer { .. } | Self::Scripted(_) => None,
        }
    }

    fn redirect(exchange: &Exchange, redirect: &Redirect) -> Self {
        let target = exchange.target().unwrap_or_default();
        let Some(location) = redirect.location_of(&target) else { return Self::Page };
        let (content_type, content) = Default::default();
        let response = LocalResponse { status: redirect.status, content_type, content };
        Self::Answer { response, location }
    }
}

impl Proxy {
    /// Fails the client's exchange, tunnel or connection.
    pub(crate) fn fail<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error) {
        self.refuse(io, conn, error, false);
    }

    /// As [`fail`](Self::fail), for a client without an exchange. `head_only`: it has asked with HEAD.
    pub(crate) fn refuse<I: Io>(&mut self, io: &mut I, conn: Conn, error: Error, head_only: bool) {
        let Ok(client) = self.clients.live(conn) else { return };
        if let Stage::Exchange(id) = client.stage {
            if !self.fail_exchange(io, id, error) {
                self.abandon(io, conn);
            }
            return;
        }
        let remedy = remedy(error);
        let service = client.service.id;
        // A script that ends the connection says nothing about its TLS.
        let is_by_script = matches!(error, Error::Denied { .. } | Error::ConnectionScript);
        if client.is_amid_handshake() && !is_by_script {
            let fault = fault(error);
            self.core.counters.note(Happening::HandshakeFailed { service, fault });
        }
        self.core.count_failure(service, remedy.cause);
        if client.service.analytics.is_some() {
            match (remedy.page, client.noted.is_something() || client.is_tunnel()) {
                (None, false) => self.record_failure(io, conn, remedy.cause),
                (Some(_), false) => self.note_unread(io, conn),
                (_, true) => {}
            }
            self.note_cause(conn, remedy.cause);
        }
        let Ok(client) = self.clients.live(conn) else { return };
        if let Stage::Tunnel(tunnel) = &client.stage {
            if let Some(server_conn) = tunnel.server {
                self.blame(io, server_conn, error, false);
            }
            return match is_by_script {
                true => self.close_client(io, conn, remedy.close),
                false => self.cut_tunnel(io, conn),
            };
        }
        match remedy.page {
            Some(_) if conn.is_stream() && is_malformed(error) => self.refuse_stream(io, conn),
            Some(status) => {
                let page = Page { status, error, cause: remedy.cause, head_only, keep_alive: false };
                self.answer_with_page(io, conn, page);
            }
            None => {
                let resets = error == Error::ClientTls(HandshakeFault::NotTls)
                    && client.service.http().is_some_and(|http| http.reset_plain_on_tls);
                self.close_client(io, conn, if resets { Close::Abort } else { remedy.close });
            }
        }
    }

    /// Ends the connection of a session that names an exchange which does not exist: a defect of Weir.
    #[cold]
    pub(crate) fn abandon<I: Io>(&mut self, io: &mut I, conn: Conn) {
        if let Some(client) = self.clients.find(conn) {
            let service = client.service.id;
            self.core.counters.note(Happening::Failed { service, cause: Cause::Internal });
            self.note_cause(conn, Cause::Internal);
            self.close_client(io, conn, Close::Abort);
        } else if self.servers.contains(conn) {
            self.close_server(io, conn, Close::Abort);
        }
    }

    /// Fails an exchange. False: it does not exist.
    pub(crate) fn fail_exchange<I: Io>(&mut self, io: &mut I, id: ExchangeId, error: Error) -> bool {
        let Ok(ClientSide { exchange, client, core }) = self.client_side(id) else { return false };
        if error == Error::Scripted
            && let Some(ending) = exchange.take_ending()
        {
            self.answer_by_script(io, id, ending);
            return true;
        }
        if error == Error::ServersTooOften {
            exchange.leave_uncounted();
        }
        let (conn, remedy, owed) = (exchange.client, remedy(error), Owed::of(exchange, client, error));
        core.counters.note(Happening::Failed { service: exchange.service.id, cause: remedy.cause });
        let may_stay = client.may_stay(core);
        if let Some(stream) = client.connection.stream().filter(|stream| stream.call.is_some()) {
            stream.code = call::reset_by(error);
        }
        let took_none = matches!(error, Error::NoServer | Error::QueueTimeout);
        let instead = match error {
            Error::ServersTooOften => Instead::beyond_rate(exchange),
            _ if took_none => Instead::of(exchange),
            _ => Instead::Page,
        };
        let is_for_scripts = matches!(owed, Owed::Response { .. }) && (error.blames_server() || took_none);
        let instead = match exchange.take_seen().filter(|_| is_for_scripts) {
            None => instead,
            Some(seen) => {
                let parties = (&*exchange, &*client, &mut *core);
                by_script(parties, seen, (remedy.cause, io.now()), took_none).unwrap_or(instead)
            }
        };
        let (server_conn, waited) = (exchange.server(), exchange.stamps.waited(io.now()));
        let is_of_client = may_be_of_client(error, exchange, client.call().is_some(), io.now());
        let shown = exchange.judged.follow(true, true).filter(|_| error.blames_server() && !is_of_client);
        if client.noted.is_something() {
            self.note_failed(io, id, remedy.cause);
        }
        if let Some(server_conn) = server_conn {
            if error == Error::ResponseTimeout
                && let Some(server) = self.servers.peek(server_conn)
            {
                self.core.pools.timed(server.place, waited, io.now());
            }
            if let Some((shown, server)) = shown.zip(self.servers.peek(server_conn)) {
                self.core.pools.judge(server.place, shown, waited, io.now());
            }
            self.blame(io, server_conn, error, is_of_client);
            self.close_server(io, server_conn, Close::Abort);
        }
        if let (Some(_), Some(how)) = (remedy.page, instead.closing()) {
            if let Some(exchange) = self.exchanges.find(id) {
                exchange.has_failed(io.now());
            }
            self.close_client(io, conn, how);
            return true;
        }
        match (remedy.page, owed) {
            (Some(_), _) if conn.is_stream() && is_malformed(error) => self.refuse_stream(io, conn),
            (Some(status), Owed::Response { head_only, keep_alive }) => {
                let keep_alive = keep_alive && may_stay;
                let page = Page { status, error, cause: remedy.cause, head_only, keep_alive };
                self.answer_instead(io, conn, page, instead);
            }
            (Some(status), Owed::Status) => self.end_call(io, conn, call::code_of(error, status), remedy.cause),
            (Some(_), Owed::Rest { shows_cut: true }) => self.cut_client(io, conn),
            _ => self.close_client(io, conn, remedy.close),
        }
        true
    }

    /// Ends a call behind the messages that its client has got.
    fn end_call<I: Io>(&mut self, io: &mut I, conn: Conn, code: u32, cause: Cause) {
        let Ok(client) = self.clients.live(conn) else { return };
        self.core.records.note_grpc_status(client.noted, Some(code));
        let trailers = call::trailers(code, cause.name());
        client.connection.deliver_trailers(io, &mut self.core.unflushed, trailers.as_bytes());
        self.close_client(io, conn, Close::Linger);
    }

    /// Ends the connection of a client that has part of a response. Bytes that are queued are still sent.
    fn cut_client<I: Io>(&mut self, io: &mut I, conn: Conn) {
        let Ok(client) = self.clients.live(conn) else { return };
        client.connection.cut(io);
        let exchange = client.exchange().and_then(|id| self.exchanges.peek(id));
        let how = client.farewell(exchange.is_some_and(Exchange::has_all));
        self.close_client(io, conn, how);
    }

    /// Records what the end of an exchange says about its server. `is_of_client`: the client may have caused it.
    pub(crate) fn blame<I: Io>(&mut self, io: &mut I, server_conn: Conn, error: Error, is_of_client: bool) {
        let Ok(server) = self.servers.live(server_conn) else { return };
        let (place, since) = (server.place, server.begun_at);
        if error.blames_server() {
            self.core.counters.note(failed(place.server, error));
            // An error that the request itself may have caused says nothing about the connection.
            let may_be_of_request = is_of_client || matches!(error, Error::Response(_) | Error::ResponseTimeout);
            if server.unproven && !may_be_of_request {
                self.suspect(io, place, Failure::Broken, since);
            }
        } else if error == Error::ClientAborted && server.keeps_waiting(io.now(), &self.core.limits) {
            // The server may just be far away: it becomes suspect only after several in a row.
            self.suspect(io, place, Failure::Broken, since);
        }
    }

    /// Answers with what an operator wants instead of a page.
    fn answer_instead<I: Io>(&mut self, io: &mut I, conn: Conn, page: Page, instead: Instead) {
        match instead {
            Instead::Answer { response, location }
                if self.clients.find(conn).is_some_and(|client| client.call().is_none()) =>
            {
                self.answer_by_operator(io, conn, page, &response, &location)
            }
            Instead::Scripted(ending) => {
                let keep_alive = page.keep_alive;
                self.answer_with(io, conn, (page.head_only, keep_alive), ending, Some(page.cause));
            }
            _ => self.answer_with_page(io, conn, page),
        }
    }

    fn answer_by_operator<I: Io>(
        &mut self,
        io: &mut I,
        conn: Conn,
        page: Page,
        response: &LocalResponse,
        location: &[u8],
    ) {
        let Ok(client) = self.clients.live(conn) else { return };
        let Some(http) = client.service.http() else { return self.close_client(io, conn, Close::Abort) };
        let Page { cause, head_only, keep_alive, .. } = page;
        let to = if conn.is_stream() { Target::Block } else { Target::Text(Hop::said(keep_alive)) };
        let asker = Asker { http, facts: &client.facts, to, head_only, keep_alive, date: self.core.date.line() };
        match asker.answer(
            io,
            response,
            Why { location, failure: Some(cause), challenge: token::challenge(page.error), ..Why::default() },
        ) {
            Ok(answer) => self.answer_for_server(io, conn, answer),
            Err(_) => self.close_client(io, conn, Close::Abort),
        }
    }

    fn answer_with_page<I: Io>(&mut self, io: &mut I, conn: Conn, page: Page) {
        let Ok(client) = self.clients.live(conn) else { return };
        if client.service.error_pages.is_some() && client.call().is_none() {
            return self.answer_with_own_page(io, conn, page);
        }
        self.answer_with_usual_page(io, conn, page);
    }

    /// Answers with the page that an operator has for the status, if there is one.
    #[cold]
    fn answer_with_own_page<I: Io>(&mut self, io: &mut I, conn: Conn, page: Page) {
        let Ok(client) = self.clients.live(conn) else { return };
        let pages = client.service.error_pages.clone();
        let Some(found) = pages.as_ref().and_then(|pages| pages.find(page.status)) else {
            return self.answer_with_usual_page(io, conn, page);
        };
        let status = if found.location.is_empty() { page.status } else { FOUND };
        let (content_type, content) = (found.content_type.clone(), found.content.clone());
        let response = LocalResponse { status, content_type, content };
        self.answer_by_operator(io, conn, page, &response, found.location.as_bytes());
    }

    fn answer_with_usual_page<I: Io>(&mut self, io: &mut I, conn: Conn, page: Page) {
        let Ok(client) = self.clients.live(conn) else { return };
        let target = match client.call() {
            Some(_) => Target::Call,
            None if conn.is_stream() => Target::Block,
            None => Target::Text(Hop::said(page.keep_alive)),
        };
        let written =
            client.service.http().map(|http| page.write(io, target, http, &client.facts, self.core.date.line()));
        match written {
            Some(Ok(answer)) => self.answer(io, conn, answer),
            Some(Err(_)) | None => self.close_client(io, conn, Close::Abort),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_page() {
        use weir_wire::Error::*;
        let pages = [
            (Error::Request(TwoFramings), 400),
            (Error::Request(TargetTooLong), 414),
            (Error::Request(HeadTooLarge), 431),
            (Error::Request(UnknownCoding), 501),
            (Error::Request(Version), 505),
            (Error::HeadTimeout, 408),
            (Error::UnknownHost, 404),
            (Error::OtherHost, 400),
            (Error::Misdirected, 421),
            (Error::BodyTooLarge, 413),
            (Error::Response(HeadTooLarge), 502),
            (Error::ServerClosed, 502),
            (Error::ServerRefused, 503),
            (Error::ServerLeft, 503),
            (Error::ServerProtocol, 502),
            (Error::ServerTls, 502),
            (Error::ServerUntrusted, 502),
            (Error::Connect(Gone::Refused), 502),
            (Error::Connect(Gone::Local), 503),
            (Error::NoServer, 503),
            (Error::ClientCertificate { fault: CertificateFault::Expired, in_handshake: false }, 400),
            (Error::ForgedField, 400),
            (Error::ConnectTimeout, 504),
            (Error::ResponseTimeout, 504),
        ];
        for (error, status) in pages {
            assert_eq!(remedy(error).page, Some(status), "{error:?}");
        }
    }

    #[test]
    fn client_that_has_sent_no_request_or_has_left_gets_no_page() {
        for error in
            [Error::AcceptTimeout, Error::ClientTls(HandshakeFault::Alert), Error::ClientAborted, Error::ClientStalled]
        {
            assert_eq!(remedy(error).page, None, "{error:?}");
            assert!(!error.blames_server());
        }
    }
}
