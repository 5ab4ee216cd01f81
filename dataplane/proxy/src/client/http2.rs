//! HTTP/2 of clients: the connection that carries streams, and what is to be sent on each of them.

use std::{collections::VecDeque, time::Duration};

use weir_policy::{Http2, HttpProfile};
use weir_telemetry::Happening;
use weir_wire::{
    head::BodyLength,
    http1::{Framing, Hop},
    http2::{Code, Config, Connection, FRAME_BYTES_MIN, PREFACE, Priority, Refused, Role, Settings, URGENCIES},
};

use crate::{
    client::{
        Client, Stage,
        frames::Frames,
        intake::{Next, Received},
    },
    connection::stream::{Piece, Stream},
    core::Core,
    error::Error,
    exchange::{Exchange, incoming::Incoming, table::Exchanges},
    head::Target,
    io::{Close, Conn, Io, Time},
    limits::Room,
};

/// The window of a connection for what it uploads.
const WINDOW: u32 = 1 << 20;
/// A client takes nothing if it takes less than this within [`stalled_client`](crate::Limits::stalled_client): 512 bytes
/// a second. The limit of time alone would let it open its windows byte by byte.
pub(crate) const TAKEN_BYTES_MIN: usize = 512 * 60;
/// A head that is too large costs the peer as much as so many control frames: a few bytes may decode to many.
pub(crate) const LARGE_HEAD_COSTS: u32 = 8;

pub(crate) struct Carrier {
    pub connection: Connection<Outbox>,
    /// Streams that may have something to send, in the order of their turns, by urgency.
    turns: [VecDeque<u32>; URGENCIES],
    /// It is in the list of carriers with frames to send.
    is_listed: bool,
    /// It had streams at the last look.
    is_busy: bool,
    /// Since when a frame or a block of fields has been incomplete.
    amid_since: Option<Time>,
    /// Bytes that were queued for its connection.
    queued_bytes: u64,
    /// The last time when the peer had taken enough, and how many bytes it had taken until then.
    took: (Time, u64),
}

/// What is to be sent on a stream.
pub(crate) struct Outbox {
    /// The client that stands for the stream, as long as its exchange lasts.
    pub client: Option<Conn>,
    pieces: VecDeque<Piece>,
    /// The final head was queued.
    has_head: bool,
    /// Nothing comes behind the pieces, and the stream ends like this.
    ends: Option<Close>,
    has_turn: bool,
    pub priority: Priority,
    /// When its client went, or later the peer had taken enough; and how many bytes the peer has taken since then.
    took: (Time, usize),
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            client: None,
            pieces: VecDeque::new(),
            has_head: false,
            ends: None,
            has_turn: false,
            priority: Priority::UNSAID,
            took: (Time::default(), 0),
        }
    }
}

/// A stream whose client is gone.
pub(crate) struct Departed {
    pub carrier: Conn,
    pub id: u32,
    pieces: Vec<Piece>,
    how: Close,
    /// Why the stream is reset, if it is.
    code: Code,
}

/// What was sent.
pub(crate) struct Sent {
    pub frames: Frames,
    /// How many bytes and pieces of which clients.
    pub left: Vec<(Conn, usize, u32)>,
    /// Clients with content for which a window is closed.
    pub shut: Vec<Conn>,
    /// There is more, for which the connection has no room.
    pub is_full: bool,
}

/// What has become of a stream's turn.
enum Turn {
    Again,
    /// The window of the connection is closed.
    WaitsForAll,
    Over,
}

impl Departed {
    pub fn of(stream: &mut Stream, how: Close) -> Self {
        Self {
            carrier: stream.carrier,
            id: stream.id,
            pieces: std::mem::take(&mut stream.fresh),
            how,
            code: stream.code,
        }
    }
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
        let mut carrier = Box::new(Carrier::new(http, http2, io.now()));
        self.connection.line.expect(io, http.timeouts.client_header);
        carrier.list(self.connection.conn(), &mut core.carriers);
        self.stage = Stage::Http2(carrier);
        true
    }

    /// Whether the connection may carry more requests.
    pub fn may_ask_more(&self) -> bool {
        let http2 = self.service.http().and_then(|http| http.http2);
        http2.is_none_or(|http2| http2.max_requests == 0 || self.requests < http2.max_requests)
    }

    /// Reads the request that opens a stream, whose handle is `conn`. `is_full`: there is no place for it. Error: the
    /// connection cannot go on.
    pub fn next_stream<I: Io>(
        &mut self,
        io: &mut I,
        core: &mut Core,
        exchanges: &mut Exchanges<Exchange>,
        (conn, id): (Conn, u32),
        piece: &[u8],
        is_full: bool,
    ) -> Result<Next, Code> {
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
                return Ok(Next::Refused(Error::Request(error)));
            }
        };
        if let Some(value) = request.head.fields.find(b"priority")
            && let Some(outbox) = carrier.connection.kept(id)
        {
            outbox.priority = Priority::read(value);
        }
        if !is_served || is_full {
            return Ok(Next::Unserved);
        }
        core.counters.note(Happening::Request { service: service.id });
        self.requests += 1;
        let head = &request.head;
        let framing = match head.body {
            BodyLength::None => Framing::None,
            BodyLength::Bytes(bytes) => Framing::Length(bytes),
            BodyLength::Unknown => Framing::Chunked,
        };
        let received = Received {
            head,
            body: Incoming::of_stream(head.body, request.is_all, http.max_body_bytes),
            last: true,
            keep_alive: false,
            stays: false,
            more_has_come: false,
            to_client: Target::Block,
            to_server: Hop::to_server(framing),
        };
        let next = received.take(io, self, conn, core.date.line(), exchanges);
        // Many streams may wait at once, and each would hold a whole block.
        if let Next::Exchange { id, .. } = next
            && let Some(exchange) = exchanges.find(id)
        {
            exchange.shrink_head();
        }
        Ok(next)
    }
}

/// Whether a head exceeds a limit of size, so that its peer is told so.
pub(crate) fn is_too_large(error: weir_wire::Error) -> bool {
    use weir_wire::Error::{FieldTooLarge, HeadTooLarge, TargetTooLong, TooManyFields};
    matches!(error, FieldTooLarge | HeadTooLarge | TargetTooLong | TooManyFields)
}

impl Carrier {
    fn new(http: &HttpProfile, http2: &Http2, now: Time) -> Self {
        let settings = Settings {
            max_concurrent_streams: Some(http2.max_streams),
            initial_window: http2.window_bytes,
            max_header_list_bytes: Some(http.request_limits.head_bytes as u32),
            max_frame_bytes: FRAME_BYTES_MIN as u32,
            no_rfc7540_priorities: true,
            ..Settings::default()
        };
        let config = Config {
            settings,
            window: WINDOW,
            head_bytes: http.request_limits.head_bytes,
            control_frames: http2.control_frames,
            empty_frames: http2.empty_frames,
        };
        Self {
            connection: Connection::new(Role::Server, config, millis(now)),
            turns: Default::default(),
            is_listed: false,
            is_busy: false,
            amid_since: None,
            queued_bytes: 0,
            took: (now, 0),
        }
    }

    /// So many bytes are queued for its connection.
    pub fn queue(&mut self, bytes: usize) {
        self.queued_bytes += bytes as u64;
    }

    /// The clients that stand for its streams.
    pub fn clients(&self) -> impl Iterator<Item = Conn> {
        self.connection.each_kept().filter_map(|outbox| outbox.client)
    }

    /// How many pieces wait to be sent for clients that are gone. Each may hold a block.
    pub fn pieces(&self) -> usize {
        let orphans = self.connection.each_kept().filter(|outbox| outbox.client.is_none());
        orphans.map(|outbox| outbox.pieces.len()).sum()
    }

    /// Puts it into the list of carriers with frames to send.
    pub fn list(&mut self, conn: Conn, carriers: &mut Vec<Conn>) {
        if !std::mem::replace(&mut self.is_listed, true) {
            carriers.push(conn);
        }
    }

    pub fn unlist(&mut self) {
        self.is_listed = false;
    }

    /// Whether it has got its first stream, or lost its last, since the last call.
    pub fn turns_busy(&mut self) -> Option<bool> {
        let is_busy = self.connection.streams() > 0;
        (std::mem::replace(&mut self.is_busy, is_busy) != is_busy).then_some(is_busy)
    }

    /// Takes over what a stream has to send.
    pub fn speak(&mut self, id: u32, pieces: impl IntoIterator<Item = Piece>) {
        let Some(outbox) = self.connection.kept(id) else { return };
        outbox.take(pieces);
        self.give_turn(id);
    }

    /// The client of a stream is gone.
    pub fn depart(&mut self, departed: Departed, now: Time) {
        let Departed { id, pieces, how, code, .. } = departed;
        let Some(outbox) = self.connection.kept(id) else { return };
        outbox.take(pieces);
        let code = match how {
            Close::Abort => code,
            // No server has seen the request.
            _ if !outbox.has_head => Code::RefusedStream,
            Close::Flush | Close::Linger | Close::Cut => {
                (outbox.ends, outbox.took) = (Some(how), (now, 0));
                return self.give_turn(id);
            }
        };
        self.connection.end(id, code);
    }

    fn give_turn(&mut self, id: u32) {
        if let Some(outbox) = self.connection.kept(id)
            && !std::mem::replace(&mut outbox.has_turn, true)
        {
            self.turns[usize::from(outbox.priority.urgency)].push_back(id);
        }
    }

    /// The peer wants the response of a stream earlier or later.
    pub fn prefer(&mut self, id: u32, priority: Priority) {
        let Some(outbox) = self.connection.kept(id) else { return };
        let before = std::mem::replace(&mut outbox.priority, priority);
        if outbox.has_turn && before.urgency != priority.urgency {
            self.turns[usize::from(before.urgency)].retain(|waiting| *waiting != id);
            self.turns[usize::from(priority.urgency)].push_back(id);
        }
    }

    /// The peer takes more on a stream; 0: on all.
    pub fn has_room(&mut self, id: u32) {
        match id {
            0 => self.connection.ids().into_iter().for_each(|id| self.give_turn(id)),
            id => self.give_turn(id),
        }
    }

    /// Resets streams without a client whose peer has taken too little for `span`. Returns how many.
    pub fn give_up(&mut self, now: Time, span: Duration) -> usize {
        let mut stalled = self.connection.ids();
        stalled.retain(|id| {
            let waits = self.waits_for_turn(*id);
            let Some(outbox) = self.connection.kept(*id) else { return false };
            let is_over = outbox.ends.is_some() && now.since(outbox.took.0) >= span;
            let takes_enough = waits || outbox.took.1 >= TAKEN_BYTES_MIN;
            if is_over && takes_enough {
                outbox.took = (now, 0);
            }
            is_over && !takes_enough
        });
        for id in &stalled {
            self.connection.end(*id, Code::Cancel);
        }
        stalled.len()
    }

    /// Whether output of a stream waits for that of others only, and not for its own window.
    pub fn waits_for_turn(&mut self, id: u32) -> bool {
        self.connection.has_room() && self.connection.kept(id).is_some_and(|outbox| outbox.has_turn)
    }

    /// Whether the peer has taken too little for `span` of what is sent on the connection, of which `queued` bytes wait.
    pub fn is_stalled(&mut self, queued: usize, now: Time, span: Duration) -> bool {
        let taken = self.queued_bytes.saturating_sub(queued as u64);
        if queued == 0 || taken >= self.took.1 + TAKEN_BYTES_MIN as u64 {
            self.took = (now, taken);
        }
        now.since(self.took.0) >= span
    }

    /// Notes whether a frame or a block has come in part.
    pub fn note_part(&mut self, now: Time) {
        self.amid_since = self.connection.is_amid_frame().then(|| self.amid_since.unwrap_or(now));
    }

    /// For how long a frame or a block has been incomplete.
    pub fn amid_for(&self, now: Time) -> Option<Duration> {
        self.amid_since.map(|since| now.since(since))
    }

    /// Sends what may be sent now: control frames, and frames of the streams in turn.
    pub fn send<I: Io>(&mut self, io: &mut I, room: &Room) -> Sent {
        let mut sent = Sent { frames: Frames::default(), left: Vec::new(), shut: Vec::new(), is_full: false };
        sent.frames.control(io, self.connection.control());
        let mut bytes = 0;
        for urgency in 0..URGENCIES {
            self.send_in_turn(io, urgency, room, &mut sent, &mut bytes);
        }
        sent.frames.control(io, self.connection.control());
        sent
    }

    /// The same for streams of one urgency.
    fn send_in_turn<I: Io>(&mut self, io: &mut I, urgency: usize, room: &Room, sent: &mut Sent, bytes: &mut usize) {
        let mut in_vain = 0;
        while in_vain < self.turns[urgency].len() {
            sent.is_full |= *bytes >= room.queued_bytes || sent.frames.pieces() >= room.queued_pieces as usize;
            if sent.is_full {
                return;
            }
            let Some(id) = self.turns[urgency].pop_front() else { return };
            match self.frame(io, id, sent, bytes) {
                Turn::Again => {
                    let is_incremental = self.connection.kept(id).is_none_or(|outbox| outbox.priority.is_incremental);
                    match is_incremental {
                        true => self.turns[urgency].push_back(id),
                        false => self.turns[urgency].push_front(id),
                    }
                    in_vain = 0;
                }
                Turn::WaitsForAll => {
                    self.turns[urgency].push_back(id);
                    in_vain += 1;
                }
                Turn::Over => {
                    if let Some(outbox) = self.connection.kept(id) {
                        outbox.has_turn = false;
                    }
                    in_vain = 0;
                }
            }
        }
    }

    /// One frame of a stream.
    fn frame<I: Io>(&mut self, io: &mut I, id: u32, sent: &mut Sent, bytes: &mut usize) -> Turn {
        let (room, window_is_open) = (self.connection.room(id) as usize, self.connection.has_room());
        let Some(outbox) = self.connection.kept(id) else { return Turn::Over };
        let (client, ends) = (outbox.client, outbox.ends);
        let ends_well = matches!(ends, Some(Close::Flush | Close::Linger));
        match outbox.pieces.pop_front() {
            Some(Piece::Head { block, .. }) => {
                let is_last = outbox.pieces.is_empty() && ends_well;
                sent.left.extend(client.map(|client| (client, block.len(), 1)));
                if sent.frames.head(io, &mut self.connection, id, is_last, &block).is_err() {
                    return self.over(id, Code::InternalError);
                }
                if is_last { self.over(id, Code::NoError) } else { Turn::Again }
            }
            Some(Piece::Content(content)) if room == 0 => {
                outbox.pieces.push_front(Piece::Content(content));
                sent.shut.extend(client);
                if window_is_open { Turn::Over } else { Turn::WaitsForAll }
            }
            Some(Piece::Content(mut content)) => {
                let part = content.split_to(content.len().min(room));
                let is_whole = content.is_empty();
                if !is_whole {
                    outbox.pieces.push_front(Piece::Content(content));
                }
                let is_last = outbox.pieces.is_empty() && ends_well;
                outbox.took.1 += part.len();
                sent.left.extend(client.map(|client| (client, part.len(), u32::from(is_whole))));
                *bytes += part.len();
                let header = self.connection.data(id, part.len() as u32, is_last);
                sent.frames.data(io, &header, part);
                if is_last { self.over(id, Code::NoError) } else { Turn::Again }
            }
            Some(Piece::Trailers(block)) => {
                sent.left.extend(client.map(|client| (client, block.len(), 1)));
                match sent.frames.head(io, &mut self.connection, id, true, &block) {
                    Ok(()) => self.over(id, Code::NoError),
                    Err(_) => self.over(id, Code::InternalError),
                }
            }
            None if ends_well => {
                let header = self.connection.data(id, 0, true);
                sent.frames.append(io, &header);
                self.over(id, Code::NoError)
            }
            None if ends.is_some() => self.over(id, Code::InternalError),
            None => Turn::Over,
        }
    }

    fn over(&mut self, id: u32, code: Code) -> Turn {
        self.connection.end(id, code);
        Turn::Over
    }
}

impl Outbox {
    fn take(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        for piece in pieces {
            self.has_head |= matches!(piece, Piece::Head { is_final: true, .. });
            self.pieces.push_back(piece);
        }
    }
}

pub(crate) fn millis(now: Time) -> u64 {
    now.nanos / 1_000_000
}
