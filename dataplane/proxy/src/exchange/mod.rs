//! One request and its response: the decisions made for it, how far it has come ([`Phase`]), and the two connections
//! that it stands between. Connections refer to it by its [`ExchangeId`](crate::exchange::table::ExchangeId).

pub(crate) mod awaited;
pub(crate) mod bond;
pub(crate) mod coded;
mod elsewhere;
pub(crate) mod held;
pub(crate) mod incoming;
pub(crate) mod judged;
mod outcome;
mod pace;
mod queue;
mod reselect;
pub(crate) mod scripted;
pub(crate) mod showing;
mod stamps;
pub(crate) mod table;
mod turn;
mod websocket;
pub(crate) mod within;

use std::{cell::Cell, sync::Arc, time::Duration};

use weir_balance::{HashKey, Standing};
use weir_coding::Wanted;
use weir_policy::{HttpProfile, Prefix};
use weir_rules::Pending;
use weir_snapshot::{Pool, STREAMS_MAX, VirtualService};
use weir_wire::{
    head::{BodyLength, Method, RequestHead, Version},
    websocket::Key,
};

use crate::{
    buf::Buf,
    cache::{
        object::Serving,
        role::{Caching, What},
    },
    connection::inbox::Inbox,
    error::{Error, defect},
    exchange::{
        awaited::Awaited,
        bond::Bond,
        coded::{Coder, Compressing, Rewriting},
        held::Held,
        incoming::{Form, Incoming, Part},
        judged::Judged,
        pace::Pace,
        scripted::Scripted,
        stamps::Stamps,
        turn::Turn,
        within::Elsewhere,
    },
    head,
    io::{Conn, Io, Time},
    reach::Reach,
};

pub(crate) struct Exchange {
    pub client: Conn,
    /// This version of the service applies until the exchange ends, even after a new snapshot.
    pub service: Arc<VirtualService>,
    pub method: Method,
    pub version: Version,
    /// The client said that it sends no other request after this one.
    pub last: bool,
    /// Both the client and Weir would keep the connection after this exchange.
    pub keep_alive: bool,
    /// The client gets its 100 from Weir, not from the server.
    pub continued: bool,
    /// The pool that a rule has chosen, or the choice in a group; `None`: that of the service.
    pub chosen: Option<Arc<Pool>>,
    pub key: HashKey,
    /// The dense id of the server that the client's cookie names.
    pub named: Option<u32>,
    pub bond: Cell<Bond>,
    /// What it wants of its connection to a server; `None`: any will do.
    pub reach: Option<Box<Reach>>,
    /// Dense ids of servers that were tried in vain.
    pub tried: Vec<u32>,
    pub body: Incoming,
    /// How the body goes on to the server: [`Form::Content`] if the server may speak HTTP/2. Then the head is a block.
    pub form: Form,
    /// Only the end of the body shows how long it is.
    pub is_endless: bool,
    /// The request authenticates the connection that it is sent on.
    pub binds_connection: bool,
    /// A server has failed to take the request. It needs a new connection now.
    pub repeated: bool,
    pub judged: Judged,
    pub phase: Phase,
    pub stamps: Stamps,
    /// What few requests need. Boxed, because an exchange is moved with each request.
    aside: Option<Box<Aside>>,
}

#[derive(Default)]
struct Aside {
    /// Body that has been read and not sent.
    held: Held,
    /// What stands behind the body, as in [`Part::Trailers`].
    trailers: Option<Buf>,
    pace: Pace,
    /// How many servers have answered in vain.
    reselects: u32,
    /// A server of HTTP/2 wants the request by HTTP/1.1.
    needs_http1: bool,
    /// How many connections were left by their server before it took the request.
    departures: u32,
    /// When the proxy learnt that the client has ended. Bytes that the client sent before may still be unread.
    left_at: Option<Time>,
    /// Of a request to switch to WebSocket: what the server's answer must prove.
    websocket: Option<Key>,
    /// What rules wait for the response.
    awaited: Option<Awaited>,
    /// What limits count when it is answered.
    pending: Cell<Pending>,
    /// `None`: its response is not compressed, whatever it is.
    compressing: Option<Compressing>,
    /// `None`: its response is not rewritten, whatever it is.
    rewriting: Option<Rewriting>,
    /// `None`: the cache has nothing to do with it.
    caching: Option<Box<Caching>>,
    /// What makes something of its response.
    coder: Cell<Option<Box<Coder>>>,
    elsewhere: Elsewhere,
    turn: Turn,
    /// Path and query that the client asked for, if rules have changed them for the server.
    asked_target: Option<Box<[u8]>>,
    /// The host that the client asked for, if the profile has another one for servers; or nothing.
    asked_host: Box<[u8]>,
    /// The server that answers, if its own cookie gets a prefix. `None`: it gets none.
    prefixed: Option<Cell<Option<u32>>>,
    scripted: Scripted,
    /// The response tells how long the client's connection waits.
    tells_keepalive: bool,
    /// Limits count it also if it does not fail.
    counts_success: bool,
}

pub(crate) enum Phase {
    /// No byte has been sent to any server, so another server can still be tried.
    Waiting { head: Buf, on: Wait },
    /// The request is being sent, and the response has not begun. `repeatable` can be sent once more while no byte of a
    /// response has arrived.
    Sending { server: Conn, repeatable: Option<Repeatable> },
    /// The response is being passed on.
    Streaming { server: Conn, delivery: Delivery },
    /// A stored response answers.
    Serving { serving: Serving, delivery: Delivery },
}

#[derive(Clone, Copy)]
pub(crate) enum Wait {
    /// Waits for more of the body before it chooses a server.
    Body,
    /// Waits for a server to be chosen.
    Place,
    /// Waits for the response to another request, which may answer this one, too.
    Stored,
    /// Waits until servers of its pool have fewer connections.
    Turn,
    /// Waits for a connect, or for the end of the batch, when an idle connection gets the request, unless it has ended
    /// by then.
    Server(Conn),
}

/// A response whose head has been sent to the client.
pub(crate) struct Delivery {
    pub body: Incoming,
    pub form: Form,
    pub client_goes_on: bool,
    pub server_goes_on: bool,
}

/// What the available bytes led to.
pub(crate) enum Outcome {
    /// More bytes are needed.
    NeedsMore,
    /// The exchange has reached its next phase, or its end. There may be more to do.
    Advanced,
    /// The server has answered, and the request goes to another server.
    Withheld,
}

/// What would be sent again of a request: all that has been sent of it.
pub(crate) struct Repeatable {
    head: Buf,
    body: Option<Box<Held>>,
    /// Only if the server has said that it did not process the request.
    if_refused: bool,
}

impl Exchange {
    pub fn new(
        client: Conn,
        service: Arc<VirtualService>,
        head: &RequestHead<'_>,
        body: Incoming,
        written: Buf,
        now: Time,
    ) -> Self {
        Self {
            client,
            service,
            method: head.method,
            version: head.version,
            last: false,
            keep_alive: true,
            continued: false,
            chosen: None,
            key: HashKey::default(),
            named: None,
            bond: Cell::default(),
            reach: None,
            tried: Vec::new(),
            body,
            form: Form::AsReceived,
            is_endless: head.body == BodyLength::Unknown,
            binds_connection: false,
            repeated: false,
            judged: Judged::default(),
            phase: Phase::Waiting { head: written, on: Wait::Place },
            stamps: Stamps::begun(now),
            aside: None,
        }
    }

    /// The profile that applied when the request arrived.
    pub fn http(&self) -> Result<&HttpProfile, Error> {
        http_of(&self.service)
    }

    /// The pool whose servers may get the request.
    #[inline]
    pub fn pool(&self) -> Option<&Arc<Pool>> {
        match &self.chosen {
            Some(chosen) => Some(chosen),
            None => self.service.pool.as_ref().filter(|_| !self.is_for_group()),
        }
    }

    /// The server that the request names does not get it, because of how it stands.
    #[cold]
    pub fn lose_bond(&self, standing: Standing) {
        self.bond.set(self.bond.get().lost(standing));
    }

    /// Has rules look at the response.
    pub fn await_response(&mut self, awaited: Awaited) {
        self.aside().awaited = Some(awaited);
    }

    /// The connection of its server ends behind the response of an error, if the profile says so.
    pub fn leave_server_behind_error(&mut self) {
        if self.service.http().is_some_and(|http| http.close_servers_on_error)
            && let Phase::Streaming { delivery, .. } = &mut self.phase
        {
            delivery.server_goes_on = false;
        }
    }

    /// What rules wait for the response.
    #[inline]
    pub fn awaited(&self) -> Option<&Awaited> {
        self.aside.as_ref()?.awaited.as_ref()
    }

    /// Has the response compressed if that is possible.
    pub fn compress_response(&mut self, wanted: Wanted) {
        self.aside().compressing = Some(Compressing::new(wanted));
    }

    /// How the response is compressed.
    #[inline]
    pub fn compressing(&self) -> Option<&Compressing> {
        self.aside.as_ref()?.compressing.as_ref()
    }

    /// Has the response rewritten if that is possible.
    pub fn rewrite_response(&mut self, rewriting: Rewriting) {
        self.aside().rewriting = Some(rewriting);
    }

    #[inline]
    pub fn rewriting(&self) -> Option<&Rewriting> {
        self.aside.as_ref()?.rewriting.as_ref()
    }

    /// Has the cache answer it, or store its response.
    pub fn cache(&mut self, what: What) {
        self.aside().caching = Some(Box::new(Caching::new(what)));
    }

    #[inline]
    pub fn caching(&self) -> Option<&Caching> {
        self.aside.as_ref()?.caching.as_deref()
    }

    pub fn caching_mut(&mut self) -> Option<&mut Caching> {
        self.aside.as_mut()?.caching.as_deref_mut()
    }

    /// Something is made of the response.
    pub fn make(&self, coder: Coder) {
        if let Some(aside) = &self.aside {
            aside.coder.set(Some(Box::new(coder)));
        }
    }

    pub fn coder(&mut self) -> Result<&mut Coder, Error> {
        self.aside.as_mut().and_then(|aside| aside.coder.get_mut().as_deref_mut()).ok_or(Error::Defect)
    }

    /// Whether texts are to be replaced in content that has come.
    pub fn has_texts_to_replace(&mut self) -> bool {
        self.coder().is_ok_and(|coder| coder.has_texts_to_replace())
    }

    /// The stored response that answers, and whether something is made of it.
    pub fn serving(&mut self) -> Result<(&mut Serving, bool), Error> {
        match &mut self.phase {
            Phase::Serving { serving, delivery } => Ok((serving, delivery.is_coded())),
            _ => Err(Error::Defect),
        }
    }

    /// Adds lines to the head that waits for its server. Returns the head without them.
    pub fn add_lines<I: Io>(&mut self, io: &mut I, lines: &[u8]) -> Result<Buf, Error> {
        let form = self.form;
        let Phase::Waiting { head, .. } = &mut self.phase else { return Err(Error::Defect) };
        let with_lines = head::with_lines(io, head, form, lines)?;
        Ok(std::mem::replace(head, with_lines))
    }

    /// The response of its server is not needed. `head`: the request, if another server gets it.
    pub fn leave_server(&mut self, head: Buf) {
        self.phase = Phase::Waiting { head, on: Wait::Stored };
    }

    /// Whether more becomes of the response, or of what limits count, than the profile says.
    #[inline]
    pub fn treats_response(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| {
            aside.awaited.is_some()
                || aside.compressing.is_some()
                || aside.rewriting.is_some()
                || aside.caching.is_some()
                || !aside.asked_host.is_empty()
                || aside.prefixed.is_some()
                || aside.tells_keepalive
                || aside.counts_success
        })
    }

    /// The request is for a pool whose servers set the cookie that leads clients back.
    pub fn prefix_cookies(&mut self) {
        self.aside().prefixed = Some(Cell::default());
    }

    /// The response is to tell how long the client's connection waits.
    pub fn tell_keepalive(&mut self) {
        self.aside().tells_keepalive = true;
    }

    /// The cookie of this server gets its prefix.
    #[cold]
    pub fn prefix_cookie_of(&self, server: u32) {
        if let Some(prefixed) = self.aside.as_ref().and_then(|aside| aside.prefixed.as_ref()) {
            prefixed.set(Some(server));
        }
    }

    /// What a cookie of the server gets before its value.
    pub fn prefix(&self) -> Option<&Prefix> {
        let server = self.aside.as_ref()?.prefixed.as_ref()?.get()?;
        self.pool()?.persistence.as_ref()?.prefix(server)
    }

    /// A response of which something is made.
    pub fn coded(&mut self) -> Result<(&mut Delivery, &mut Coder), Error> {
        let coder = self.aside.as_mut().and_then(|aside| aside.coder.get_mut().as_deref_mut());
        match (&mut self.phase, coder) {
            (Phase::Streaming { delivery, .. }, Some(coder)) => Ok((delivery, coder)),
            _ => Err(Error::Defect),
        }
    }

    /// Bytes of content that went to the client: of the response of a server, and of a stored one.
    pub fn delivered_bytes(&self) -> u64 {
        let made = |aside: &Aside| {
            let coder = aside.coder.take()?;
            let sent_bytes = coder.sent_bytes;
            aside.coder.set(Some(coder));
            Some(sent_bytes)
        };
        match &self.phase {
            Phase::Streaming { delivery, .. } | Phase::Serving { delivery, .. } if delivery.is_coded() => {
                self.aside.as_deref().and_then(made).unwrap_or_default()
            }
            Phase::Streaming { delivery, .. } => delivery.body.content_bytes,
            Phase::Serving { serving, .. } => serving.sent_bytes,
            Phase::Waiting { .. } | Phase::Sending { .. } => 0,
        }
    }

    /// The server connection that the exchange uses or waits for.
    #[inline]
    pub fn server(&self) -> Option<Conn> {
        match self.phase {
            Phase::Waiting { on: Wait::Server(server), .. }
            | Phase::Sending { server, .. }
            | Phase::Streaming { server, .. } => Some(server),
            Phase::Waiting { on: Wait::Body | Wait::Place | Wait::Stored | Wait::Turn, .. } | Phase::Serving { .. } => {
                None
            }
        }
    }

    /// Asks the server to switch to WebSocket.
    pub fn ask_for_websocket(&mut self, key: Key) {
        self.aside().websocket = Some(key);
    }

    /// The key of a request to switch to WebSocket.
    #[inline]
    pub fn websocket(&self) -> Option<&Key> {
        self.aside.as_ref()?.websocket.as_ref()
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting { .. })
    }

    /// Whether it waits for the choice of its server.
    pub fn awaits_place(&self) -> bool {
        matches!(self.phase, Phase::Waiting { on: Wait::Place, .. })
    }

    pub fn is_gathering(&self) -> bool {
        matches!(self.phase, Phase::Waiting { on: Wait::Body, .. })
    }

    pub fn has_begun_response(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. } | Phase::Serving { .. })
    }

    /// Whether a stored response answers it.
    #[inline]
    pub fn is_served(&self) -> bool {
        matches!(self.phase, Phase::Serving { .. })
    }

    /// Whether it waits for the response to another request.
    pub fn awaits_stored(&self) -> bool {
        matches!(self.phase, Phase::Waiting { on: Wait::Stored, .. })
    }

    /// Whether the framing alone would show the client that the rest of the response is missing.
    pub fn shows_cut(&self) -> bool {
        matches!(&self.phase,
            Phase::Streaming { delivery, .. } | Phase::Serving { delivery, .. } if delivery.shows_cut())
    }

    /// Whether trailers may stand behind what the client has got: no length was announced.
    pub fn may_end_with_trailers(&self) -> bool {
        matches!(&self.phase, Phase::Streaming { delivery, .. } if delivery.body.is_endless_stream())
    }

    /// Sets what the exchange waits for. No byte of it has been sent.
    pub fn wait_for(&mut self, what: Wait) {
        match &mut self.phase {
            Phase::Waiting { on, .. } => *on = what,
            Phase::Sending { .. } | Phase::Streaming { .. } | Phase::Serving { .. } => {
                debug_assert!(false, "an exchange that has been sent waits for nothing")
            }
        }
    }

    /// Whether a 1xx must not reach the client: an HTTP/1.0 client does not understand it, and a 100 may have come from
    /// Weir.
    pub fn keeps_interim_from_client(&self, status: u16) -> bool {
        self.version == Version::Http10 || (status == 100 && self.continued)
    }

    /// Moves the head out of its block, while nothing of it was sent.
    pub fn shrink_head(&mut self) {
        if let Phase::Waiting { head, .. } = &mut self.phase {
            *head = copy(head);
        }
    }

    /// How many pieces the exchange holds. Each may hold a block.
    pub fn pieces(&self) -> usize {
        let of_phase = match &self.phase {
            Phase::Waiting { .. } => 1,
            Phase::Sending { repeatable, .. } => repeatable.as_ref().map_or(0, Repeatable::pieces),
            Phase::Streaming { .. } | Phase::Serving { .. } => 0,
        };
        of_phase + self.aside.as_ref().map_or(0, |aside| aside.held.pieces()) + self.pieces_collected()
    }

    fn aside(&mut self) -> &mut Aside {
        self.aside.get_or_insert_default()
    }
}

// The request's body.
impl Exchange {
    /// Whether some of the body is still to be sent.
    #[inline]
    pub fn awaits_body(&self) -> bool {
        !self.body.is_done() || self.aside.as_ref().is_some_and(|aside| !aside.held.is_empty())
    }

    /// The trailers that stand behind the body, as lines of text, if the body goes on as content.
    pub fn trailers(&self) -> &[u8] {
        self.aside.as_ref().and_then(|aside| aside.trailers.as_deref()).unwrap_or_default()
    }

    /// Content has come on the stream of the request. True: only its end has come, and nothing is left to pass on.
    pub fn came(&mut self, bytes: usize, is_all: bool) -> Result<bool, Error> {
        let awaited = self.awaits_body();
        self.body.came(bytes, is_all)?;
        Ok(awaited && !self.awaits_body())
    }

    /// Whether the client has sent its whole last request.
    pub fn has_all(&self) -> bool {
        self.last && !self.awaits_body()
    }

    /// The next piece of the body; `None`: no more has arrived.
    pub fn next_piece<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox) -> Result<Option<Buf>, Error> {
        match self.aside.as_mut().and_then(|aside| aside.held.pop()) {
            Some(piece) => Ok(Some(piece)),
            None => self.read_piece(io, inbox),
        }
    }

    fn read_piece<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox) -> Result<Option<Buf>, Error> {
        if self.form == Form::Content {
            self.hold_content(io, inbox, |_, held, piece| held.push(piece))?;
            return Ok(self.aside.as_mut().and_then(|aside| aside.held.pop()));
        }
        let http = http_of(&self.service)?;
        let mut next = None;
        self.body.read(io, inbox, http, Form::AsReceived, |_, part| {
            if let Part::Bytes(piece) = part {
                next = Some(piece);
            }
        })?;
        Ok(next)
    }

    /// Buffers the content of the next piece; it may consist of several parts. False: no more has arrived.
    fn hold_content<I: Io>(
        &mut self,
        io: &mut I,
        inbox: &mut Inbox,
        hold: impl Fn(&mut I, &mut Held, Buf),
    ) -> Result<bool, Error> {
        let Self { service, body, aside, .. } = self;
        let (http, mut has_some) = (http_of(service)?, false);
        while !has_some && !body.is_done() {
            let take = |io: &mut I, part| match part {
                Part::Bytes(piece) => {
                    has_some = true;
                    hold(io, &mut aside.get_or_insert_default().held, piece);
                }
                Part::Trailers(lines) => aside.get_or_insert_default().trailers = Some(lines),
            };
            if !body.read(io, inbox, http, Form::Content, take)? {
                break;
            }
        }
        Ok(has_some)
    }

    /// Buffers more of the body; false: no more has arrived.
    pub fn gather<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox) -> Result<bool, Error> {
        if self.form == Form::Content {
            return self.hold_content(io, inbox, |io, held, piece| held.gather(io, piece));
        }
        let Some(piece) = self.read_piece(io, inbox)? else { return Ok(false) };
        self.aside().held.gather(io, piece);
        Ok(true)
    }

    /// Whether enough of the body has arrived to choose a server.
    pub fn has_gathered(&self, bytes: usize) -> bool {
        self.body.is_done() || self.held_bytes() >= bytes && self.has_enough_for_scripts()
    }

    /// Bytes of the body that wait, with their framing.
    pub(super) fn held_bytes(&self) -> usize {
        self.aside.as_ref().map_or(0, |aside| aside.held.bytes())
    }

    /// Stops buffering: the proxy chooses a server, and does not read the body meanwhile.
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

    /// How long the next byte of the body may take, if there is a minimum rate. `grace` applies at the beginning and
    /// after a pause.
    pub fn body_patience(&mut self, now: Time, grace: Duration) -> Option<Duration> {
        let http = self.service.http()?;
        let (most, least) = (http.timeouts.client_body, http.min_body_bytes_per_s);
        let Some(least) = least else { return most };
        let bytes = self.body.content_bytes;
        let left = self.aside().pace.time_left(now, bytes, least, grace, most.unwrap_or(grace));
        Some(most.map_or(left, |most| most.min(left)))
    }
}

// The end of the client.
impl Exchange {
    /// Records that the client has ended. Only the first call sets the time.
    pub fn leave(&mut self, now: Time) {
        self.aside().left_at.get_or_insert(now);
    }

    /// How much longer the client may wait for the response, or, in a queue, for its turn; `None`: without limit.
    pub fn patience(&self, now: Time) -> Option<Duration> {
        self.aside.as_ref()?;
        let of_client = self.patience_with_ended(now);
        of_client.into_iter().chain(self.patience_in_queue(now)).min()
    }

    /// How much longer a client that has ended may wait.
    fn patience_with_ended(&self, now: Time) -> Option<Duration> {
        let left_at = self.aside.as_ref()?.left_at?;
        let most = self.service.http().and_then(|http| http.timeouts.half_close).unwrap_or_default();
        Some(most.saturating_sub(now.since(left_at)))
    }

    /// Whether the client counts as gone: it has ended, and has waited for the response as long as it may.
    pub fn has_waited_out(&self, now: Time) -> bool {
        self.patience_with_ended(now) == Some(Duration::ZERO)
    }
}

// Sending, and sending again.
impl Exchange {
    /// Starts to send: returns the head, unless it has been sent already. On a reused connection, keeps an idempotent
    /// request for a repeat. A server of HTTP/2 may refuse any request, so each is kept. Where the pool wants that, keeps a
    /// request for another server.
    pub fn send_on(&mut self, server: Conn, reused: bool, memory_is_short: bool) -> Option<Buf> {
        let sending = Phase::Sending { server, repeatable: None };
        let Phase::Waiting { head, .. } = std::mem::replace(&mut self.phase, sending) else { return None };
        let is_safe = reused && self.method.is_idempotent();
        if is_safe || self.form == Form::Content || self.wants_other_servers() {
            let repeatable = Some(Repeatable::new(&head, !is_safe || self.repeated, memory_is_short));
            self.phase = Phase::Sending { server, repeatable };
        }
        Some(head)
    }

    /// Keeps a piece that is being sent for a repeat. If the body exceeds `bytes_max`, gives up the repeat.
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

    /// A byte of a response has arrived, so the request is not repeated.
    pub fn forget_repeatable(&mut self) {
        if let Phase::Sending { repeatable, .. } = &mut self.phase {
            *repeatable = None;
        }
    }

    /// Returns to the choice of a server. False if nothing is kept, or a byte of a response has arrived. `refused`: the
    /// server has said that it did not process the request.
    pub fn begin_again(&mut self, refused: bool) -> bool {
        let Phase::Sending { repeatable: Some(kept), .. } = &self.phase else { return false };
        let may = refused || !kept.if_refused;
        if may {
            self.return_to_choice();
        }
        may
    }

    /// A server has failed to take the request. The next try may be with the same server, the one after that not. A
    /// server that takes some requests of each connection will take this one too, if it gets it often enough.
    pub fn note_failure(&mut self, server: u32, error: Error) {
        if error == Error::ServerLeft {
            let departures = &mut self.aside().departures;
            *departures += 1;
            if *departures < STREAMS_MAX {
                return;
            }
        }
        if std::mem::replace(&mut self.repeated, true) {
            self.tried.push(server);
        }
    }

    /// A server of HTTP/2 wants the request by HTTP/1.1. That says nothing about the server, so it may be the next again.
    pub fn fall_back(&mut self) {
        self.aside().needs_http1 = true;
    }

    pub fn needs_http1(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.needs_http1)
    }

    fn return_to_choice(&mut self) {
        let Phase::Sending { repeatable, .. } = &mut self.phase else { return };
        let Some(Repeatable { head, body, .. }) = repeatable.take() else { return };
        if let Some(body) = body {
            self.aside().held.prepend(*body);
        }
        self.phase = Phase::Waiting { head, on: Wait::Place };
        self.stamps.begin_again();
        self.pause();
    }
}

impl Delivery {
    #[inline]
    pub fn is_coded(&self) -> bool {
        matches!(self.form, Form::Coded { .. })
    }

    /// Whether the framing alone shows the client that something is missing.
    pub fn shows_cut(&self) -> bool {
        match self.form {
            Form::AsReceived => !self.body.ends_with_connection(),
            Form::Content => false,
            Form::Chunks => true,
            Form::Coded { in_chunks } => in_chunks,
        }
    }

    /// How many bytes the driver may relay to the client.
    pub fn relayable_bytes(&self) -> u64 {
        if self.form == Form::AsReceived { self.body.unseen_bytes() } else { 0 }
    }
}

impl Repeatable {
    /// While memory is short, copies the head, because its block is larger.
    #[inline]
    pub fn new(head: &Buf, if_refused: bool, memory_is_short: bool) -> Self {
        let head = if memory_is_short { copy(head) } else { head.share() };
        Self { head, body: None, if_refused }
    }

    fn pieces(&self) -> usize {
        1 + self.body.as_ref().map_or(0, |body| body.pieces())
    }
}

#[inline]
fn http_of(service: &VirtualService) -> Result<&HttpProfile, Error> {
    service.http().ok_or_else(|| defect("the virtual service of an exchange has no HTTP profile"))
}

fn copy(head: &Buf) -> Buf {
    Buf::from_vec(head.to_vec())
}
