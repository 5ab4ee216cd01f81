//! What is known of one request while it lives, and which [`Phase`] it is in. `request` takes it from Waiting to Sending,
//! `response` to Streaming and to its end; whatever fails leaves through `rescue`.

use weir_balance::HashKey;
use weir_policy::HttpProfile;
use weir_tls::ServerName;
use weir_wire::{
    head::{Method, Version},
    http1::{Body, Request},
};

use crate::{
    buf::Buf,
    held::Held,
    inbox::Inbox,
    io::{Conn, Io, Time},
    pace::Pace,
    request::read_trailers,
    rescue::Error,
    response::Download,
};

pub(crate) struct Exchange {
    pub method: Method,
    pub version: Version,
    /// The client said that it sends nothing after it.
    pub last: bool,
    /// The client and we would both go on after it.
    pub keep_alive: bool,
    /// The client has its 100 from us.
    continued: bool,
    pub key: HashKey,
    /// The dense id of the server that the client's cookie names.
    pub named: Option<u32>,
    /// What TLS shall call the server; `None`: what it calls it by itself.
    pub asked_name: Option<Box<ServerName>>,
    /// Dense ids of servers that would not take it.
    pub tried: Vec<u32>,
    pub upload: Body,
    pub upload_bytes: u64,
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
    Waiting { request: Buf, on: Wait },
    /// The request is on its way, the response has not begun. What is `repeatable` can be sent once more, while no byte of
    /// an answer has come.
    Sending { server: Conn, repeatable: Option<Repeatable> },
    /// The response is on its way.
    Streaming { server: Conn, download: Download },
}

pub(crate) enum Wait {
    /// More of the body comes before a server is looked for.
    Body,
    /// It is being connected to, or is an idle one that gets the request at the end of the batch, if it has not said
    /// goodbye by then.
    Server(Option<Conn>),
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

#[cold]
fn copy(head: &Buf) -> Buf {
    Buf::from_vec(head.to_vec())
}

impl Exchange {
    pub fn new(asked: &Request<'_>, keep_alive: bool, continued: bool, key: HashKey, request: Buf) -> Self {
        Self {
            method: asked.head.method,
            version: asked.head.version,
            last: !asked.keep_alive,
            keep_alive,
            continued,
            key,
            named: None,
            asked_name: None,
            tried: Vec::new(),
            upload: Body::new(asked.framing),
            upload_bytes: 0,
            binds_connection: false,
            repeated: false,
            phase: Phase::Waiting { request, on: Wait::Server(None) },
            aside: None,
        }
    }

    /// More of its body comes before a server is looked for.
    pub fn gather_body(&mut self) {
        if let Phase::Waiting { on, .. } = &mut self.phase {
            *on = Wait::Body;
        }
    }

    /// Enough of it has come: a server is looked for, and the body is not read meanwhile.
    pub fn stop_gathering(&mut self) {
        self.wait_for(None);
        self.pause();
    }

    /// The next piece of its body; `None`: no more has come.
    pub fn next_piece<I: Io>(
        &mut self,
        io: &mut I,
        inbox: &mut Inbox,
        http: &HttpProfile,
    ) -> Result<Option<Buf>, Error> {
        match self.aside.as_mut().and_then(|aside| aside.held.pop()) {
            Some(piece) => Ok(Some(piece)),
            None => self.read_piece(io, inbox, http),
        }
    }

    fn read_piece<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox, http: &HttpProfile) -> Result<Option<Buf>, Error> {
        if self.upload.is_at_trailers() {
            return read_trailers(io, http, inbox, &mut self.upload, Error::Request);
        }
        let Some(mut piece) = inbox.pop() else { return Ok(None) };
        let read = self.upload.read(&piece).map_err(Error::Request)?;
        self.upload_bytes += read.payload as u64;
        if http.max_body_bytes.is_some_and(|most| self.upload_bytes > most) {
            return Err(Error::BodyTooLarge);
        }
        if read.taken < piece.len() {
            let body = piece.split_to(read.taken);
            inbox.put_back(piece);
            piece = body;
        }
        Ok(Some(piece))
    }

    /// Holds back more of its body; false: no more has come.
    pub fn gather<I: Io>(&mut self, io: &mut I, inbox: &mut Inbox, http: &HttpProfile) -> Result<bool, Error> {
        let Some(piece) = self.read_piece(io, inbox, http)? else { return Ok(false) };
        self.aside().held.gather(piece);
        Ok(true)
    }

    /// Whether its body has come, as far as that is needed to look for a server.
    pub fn has_gathered(&self, bytes: usize) -> bool {
        self.upload.is_done() || self.aside.as_ref().map_or(0, |aside| aside.held.bytes()) >= bytes
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

    /// How many pieces it holds, each of which may hold a block.
    pub fn pieces(&self) -> usize {
        let of_phase = match &self.phase {
            Phase::Waiting { .. } => 1,
            Phase::Sending { repeatable, .. } => repeatable.as_ref().map_or(0, Repeatable::pieces),
            Phase::Streaming { .. } => 0,
        };
        of_phase + self.aside.as_ref().map_or(0, |aside| aside.held.pieces())
    }

    /// Goes back to where no server was found. False: nothing of it is kept, or it has been answered.
    pub fn begin_again(&mut self) -> bool {
        let Phase::Sending { repeatable, .. } = &mut self.phase else { return false };
        let Some(Repeatable { head, body }) = repeatable.take() else { return false };
        if let Some(body) = body {
            self.aside().held.prepend(*body);
        }
        self.phase = Phase::Waiting { request: head, on: Wait::Server(None) };
        self.repeated = true;
        self.pause();
        true
    }

    fn aside(&mut self) -> &mut Aside {
        self.aside.get_or_insert_default()
    }

    pub fn pace(&mut self) -> &mut Pace {
        &mut self.aside().pace
    }

    /// The body is not read for now.
    pub fn pause(&mut self) {
        if let Some(aside) = &mut self.aside {
            aside.pace.pause();
        }
    }

    /// The client has ended; it did so when that was first said.
    pub fn leave(&mut self, now: Time) {
        self.aside().left_at.get_or_insert(now);
    }

    /// Since when we know that its client has ended, though what that sent before may still be unread.
    pub fn left_at(&self) -> Option<Time> {
        self.aside.as_ref()?.left_at
    }

    /// Whether some of its body is still to be sent.
    pub fn awaits_body(&self) -> bool {
        !self.upload.is_done() || self.aside.as_ref().is_some_and(|aside| !aside.held.is_empty())
    }

    pub fn server(&self) -> Option<Conn> {
        match self.phase {
            Phase::Waiting { on: Wait::Server(server), .. } => server,
            Phase::Waiting { on: Wait::Body, .. } => None,
            Phase::Sending { server, .. } | Phase::Streaming { server, .. } => Some(server),
        }
    }

    pub fn is_gathering(&self) -> bool {
        matches!(self.phase, Phase::Waiting { on: Wait::Body, .. })
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting { .. })
    }

    pub fn has_begun_response(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. })
    }

    /// Whether the client would see by the framing alone that the rest of its response is missing.
    pub fn shows_cut(&self) -> bool {
        matches!(&self.phase, Phase::Streaming { download, .. } if download.shows_cut())
    }

    pub fn wait_for(&mut self, conn: Option<Conn>) {
        if let Phase::Waiting { on, .. } = &mut self.phase {
            *on = Wait::Server(conn);
        }
    }

    /// A 1xx that an HTTP/1.0 client would not understand, or that the client has had from us.
    pub fn keeps_interim_from_client(&self, status: u16) -> bool {
        self.version == Version::Http10 || (status == 100 && self.continued)
    }
}
