//! One request and its response: what the exchange was decided by, how far it has come ([`Phase`]), and which two
//! connections it stands between. Connections know it by its [`ExchangeId`](crate::exchange::table::ExchangeId).

mod held;
pub(crate) mod incoming;
mod pace;
pub(crate) mod table;

use std::{sync::Arc, time::Duration};

use weir_balance::HashKey;
use weir_policy::HttpProfile;
use weir_snapshot::VirtualService;
use weir_tls::ServerName;
use weir_wire::head::{Method, RequestHead, Version};

use crate::{
    buf::Buf,
    connection::inbox::Inbox,
    error::{Error, defect},
    exchange::{
        held::Held,
        incoming::{Form, Incoming},
        pace::Pace,
    },
    io::{Conn, Io, Time},
};

pub(crate) struct Exchange {
    pub client: Conn,
    /// It is decided by this one to its end; a new snapshot is for the next exchange.
    pub service: Arc<VirtualService>,
    pub method: Method,
    pub version: Version,
    /// The client said that it sends nothing after it.
    pub last: bool,
    /// The client and we would both go on after it.
    pub keep_alive: bool,
    /// The client has its 100 from us.
    pub continued: bool,
    pub key: HashKey,
    /// The dense id of the server that the client's cookie names.
    pub named: Option<u32>,
    /// What TLS shall call the server; `None`: what it calls it by itself.
    pub asked_name: Option<Box<ServerName>>,
    /// Dense ids of servers that would not take it.
    pub tried: Vec<u32>,
    pub request: Incoming,
    /// It authenticates the connection that it goes out on.
    pub binds_connection: bool,
    /// It is being sent once more, and goes out on a fresh connection.
    pub repeated: bool,
    pub phase: Phase,
    /// What most requests never need, apart: an exchange is moved with each of them.
    aside: Option<Box<Aside>>,
}

#[derive(Default)]
struct Aside {
    /// Read off the body and not sent.
    held: Held,
    pace: Pace,
    /// Since when we know that its client has ended, though what that sent before may still be unread.
    left_at: Option<Time>,
}

pub(crate) enum Phase {
    /// No byte has been sent to any server: another one can still be tried.
    Waiting { head: Buf, on: Wait },
    /// The request is on its way, the response has not begun. What is `repeatable` can be sent once more, while no byte of
    /// an answer has come.
    Sending { server: Conn, repeatable: Option<Repeatable> },
    /// The response is on its way.
    Streaming { server: Conn, response: Response },
}

#[derive(Clone, Copy)]
pub(crate) enum Wait {
    /// More of the body comes before a server is looked for.
    Body,
    /// A server is being looked for.
    Place,
    /// It is being connected to, or is an idle one that gets the request at the end of the batch, if it has not said
    /// goodbye by then.
    Server(Conn),
}

/// A response whose head has gone to the client.
pub(crate) struct Response {
    pub body: Incoming,
    pub form: Form,
    pub client_goes_on: bool,
    pub server_goes_on: bool,
}

/// How far the bytes at hand brought an exchange.
pub(crate) enum Came {
    /// As far as they go.
    Far,
    /// To its end.
    Through,
}

/// What of a request would go out once more: what was sent of it.
pub(crate) struct Repeatable {
    head: Buf,
    body: Option<Box<Held>>,
}

impl Exchange {
    pub fn new(
        client: Conn,
        service: Arc<VirtualService>,
        head: &RequestHead<'_>,
        request: Incoming,
        written: Buf,
    ) -> Self {
        Self {
            client,
            service,
            method: head.method,
            version: head.version,
            last: false,
            keep_alive: true,
            continued: false,
            key: HashKey::default(),
            named: None,
            asked_name: None,
            tried: Vec::new(),
            request,
            binds_connection: false,
            repeated: false,
            phase: Phase::Waiting { head: written, on: Wait::Place },
            aside: None,
        }
    }

    /// As it was decided when the request came.
    pub fn http(&self) -> Result<&HttpProfile, Error> {
        http_of(&self.service)
    }

    /// The server's connection that it has, or waits for.
    #[inline]
    pub fn server(&self) -> Option<Conn> {
        match self.phase {
            Phase::Waiting { on: Wait::Server(server), .. }
            | Phase::Sending { server, .. }
            | Phase::Streaming { server, .. } => Some(server),
            Phase::Waiting { on: Wait::Body | Wait::Place, .. } => None,
        }
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting { .. })
    }

    pub fn is_gathering(&self) -> bool {
        matches!(self.phase, Phase::Waiting { on: Wait::Body, .. })
    }

    pub fn has_begun_response(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. })
    }

    /// Whether the client would see by the framing alone that the rest of its response is missing.
    pub fn shows_cut(&self) -> bool {
        matches!(&self.phase, Phase::Streaming { response, .. } if response.shows_cut())
    }

    /// No byte of it has been sent, and it waits for something else from now on.
    pub fn wait_for(&mut self, what: Wait) {
        match &mut self.phase {
            Phase::Waiting { on, .. } => *on = what,
            Phase::Sending { .. } | Phase::Streaming { .. } => {
                debug_assert!(false, "what has been sent waits for nothing")
            }
        }
    }

    /// A 1xx that an HTTP/1.0 client would not understand, or that the client has had from us.
    pub fn keeps_interim_from_client(&self, status: u16) -> bool {
        self.version == Version::Http10 || (status == 100 && self.continued)
    }

    /// How many pieces it holds, each of which may hold a block.
    pub fn pieces(&self) -> usize {
        let of_phase = match &self.phase {
            Phase::Waiting { .. } => 1,
            Phase::Sending { repeatable, .. } => repeatable.as_ref().map_or(0, Repeatable::pieces),
            Phase::Streaming { .. } => 0,
        };
        of_phase + self.aside.as_ref().map_or(0, |aside| aside.held.pieces())
    }

    fn aside(&mut self) -> &mut Aside {
        self.aside.get_or_insert_default()
    }
}

// Its body.
impl Exchange {
    /// Whether some of its body is still to be sent.
    #[inline]
    pub fn awaits_body(&self) -> bool {
        !self.request.is_done() || self.aside.as_ref().is_some_and(|aside| !aside.held.is_empty())
    }

    /// Whether its client has sent all that it will: what it said it sends, and that this is the last of it.
    pub fn has_all(&self) -> bool {
        self.last && !self.awaits_body()
    }

    /// The next piece of its body; `None`: no more has come.
    pub fn next_piece<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox) -> Result<Option<Buf>, Error> {
        match self.aside.as_mut().and_then(|aside| aside.held.pop()) {
            Some(piece) => Ok(Some(piece)),
            None => self.read_piece(io, inbox),
        }
    }

    fn read_piece<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox) -> Result<Option<Buf>, Error> {
        let http = http_of(&self.service)?;
        let mut next = None;
        self.request.read(io, inbox, http, Form::AsReceived, |_, piece| next = Some(piece))?;
        Ok(next)
    }

    /// Holds back more of its body; false: no more has come.
    pub fn gather<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox) -> Result<bool, Error> {
        let Some(piece) = self.read_piece(io, inbox)? else { return Ok(false) };
        self.aside().held.gather(piece);
        Ok(true)
    }

    /// Whether its body has come, as far as that is needed to look for a server.
    pub fn has_gathered(&self, bytes: usize) -> bool {
        self.request.is_done() || self.aside.as_ref().map_or(0, |aside| aside.held.bytes()) >= bytes
    }

    /// Enough of it has come: a server is looked for, and the body is not read meanwhile.
    pub fn stop_gathering(&mut self) {
        self.wait_for(Wait::Place);
        self.pause();
    }

    /// The body is not read for now.
    pub fn pause(&mut self) {
        if let Some(aside) = &mut self.aside {
            aside.pace.pause();
        }
    }

    /// How long the next byte of the body may take, if it must come at a rate; `grace` at the beginning and after a pause.
    pub fn body_patience(&mut self, now: Time, grace: Duration) -> Option<Duration> {
        let http = self.service.http()?;
        let (most, least) = (http.timeouts.client_body, http.min_body_bytes_per_s);
        let Some(least) = least else { return most };
        let bytes = self.request.content_bytes;
        let left = self.aside().pace.time_left(now, bytes, least, grace, most.unwrap_or(grace));
        Some(most.map_or(left, |most| most.min(left)))
    }
}

// Its client's end.
impl Exchange {
    /// The client has ended; it did so when that was first said.
    pub fn leave(&mut self, now: Time) {
        self.aside().left_at.get_or_insert(now);
    }

    /// How long its client may wait for the answer; `None`: as long as it takes.
    pub fn patience(&self, now: Time) -> Option<Duration> {
        let left_at = self.aside.as_ref()?.left_at?;
        let most = self.service.http().and_then(|http| http.timeouts.half_close).unwrap_or_default();
        Some(most.saturating_sub(now.since(left_at)))
    }

    /// Whether its client is taken for gone: it has ended, and may not wait for its answer like that any longer.
    pub fn is_lost(&self, now: Time) -> bool {
        self.patience(now) == Some(Duration::ZERO)
    }
}

// Once it is sent, and once more.
impl Exchange {
    /// It goes out: its head, unless it has gone out already. On a connection that was used before, what may be sent once
    /// more is kept.
    pub fn send_on(&mut self, server: Conn, reused: bool, memory_is_short: bool) -> Option<Buf> {
        let sending = Phase::Sending { server, repeatable: None };
        let Phase::Waiting { head, .. } = std::mem::replace(&mut self.phase, sending) else { return None };
        if reused && self.method.is_idempotent() {
            let repeatable = Some(Repeatable::new(&head, memory_is_short));
            self.phase = Phase::Sending { server, repeatable };
        }
        Some(head)
    }

    /// A piece goes out that would have to go out again; more than `bytes_max` is not kept for that.
    pub fn keep_repeatable(&mut self, piece: &Buf, bytes_max: usize) {
        let Phase::Sending { repeatable, .. } = &mut self.phase else { return };
        let Some(Repeatable { body, .. }) = repeatable else { return };
        let body = body.get_or_insert_default();
        if body.bytes() + piece.len() > bytes_max {
            *repeatable = None;
        } else {
            body.share(piece);
        }
    }

    /// Something of a response has come.
    pub fn forget_repeatable(&mut self) {
        if let Phase::Sending { repeatable, .. } = &mut self.phase {
            *repeatable = None;
        }
    }

    /// Goes back to where no server was found. False: nothing of it is kept, or it has been answered.
    pub fn begin_again(&mut self) -> bool {
        let Phase::Sending { repeatable, .. } = &mut self.phase else { return false };
        let Some(Repeatable { head, body }) = repeatable.take() else { return false };
        if let Some(body) = body {
            self.aside().held.prepend(*body);
        }
        self.phase = Phase::Waiting { head, on: Wait::Place };
        self.repeated = true;
        self.pause();
        true
    }
}

impl Response {
    /// Whether the client sees by the framing alone that something is missing.
    pub fn shows_cut(&self) -> bool {
        self.form == Form::AsReceived && !self.body.ends_with_connection()
    }

    /// How many bytes may go to the client unseen.
    pub fn relayable_bytes(&self) -> u64 {
        if self.form == Form::AsReceived { self.body.unseen_bytes() } else { 0 }
    }
}

impl Repeatable {
    /// Where memory is short, the head is copied, because its block is larger.
    #[inline]
    pub fn new(head: &Buf, memory_is_short: bool) -> Self {
        let head = if memory_is_short { copy(head) } else { head.share() };
        Self { head, body: None }
    }

    fn pieces(&self) -> usize {
        1 + self.body.as_ref().map_or(0, |body| body.pieces())
    }
}

#[inline]
fn http_of(service: &VirtualService) -> Result<&HttpProfile, Error> {
    service.http().ok_or_else(|| defect("an exchange is of a virtual service without HTTP"))
}

#[cold]
fn copy(head: &Buf) -> Buf {
    Buf::from_vec(head.to_vec())
}
