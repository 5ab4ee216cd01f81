//! HTTP/2 of clients: the connection that carries streams, and what is to be sent on each of them.

use std::collections::VecDeque;

use weir_policy::{Http2, HttpProfile};
use weir_telemetry::Happening;
use weir_wire::{
    head::BodyLength,
    http1::{Framing, Hop},
    http2::{Code, Config, Connection, FRAME_BYTES_MIN, PREFACE, Refused, Role, Settings},
};

use crate::{
    buf::Buf,
    client::{
        Client, Stage,
        intake::{Next, Received},
    },
    connection::stream::{Piece, Stream},
    core::Core,
    error::Error,
    exchange::{Exchange, incoming::Incoming, table::Exchanges},
    head::Target,
    io::{Close, Conn, Io, Time},
};

/// The window of a connection for what it uploads.
const WINDOW: u32 = 1 << 20;
/// Content of fewer bytes is copied behind the header of its frame: a piece of its own would cost more.
const COPIED_BYTES: usize = 2048;

pub(crate) struct Front {
    pub connection: Connection<Outbox>,
    /// Streams that may have something to send, in the order of their turns.
    turns: VecDeque<u32>,
    /// It is in the list of carriers with frames to send.
    is_listed: bool,
    /// Whether its deadline is that of a connection with streams.
    pub is_busy: bool,
}

/// What is to be sent on a stream.
#[derive(Default)]
pub(crate) struct Outbox {
    /// The client that stands for the stream, as long as its exchange lasts.
    pub client: Option<Conn>,
    pieces: VecDeque<Piece>,
    /// Nothing comes behind the pieces, and the stream ends like this.
    ends: Option<Close>,
    has_turn: bool,
}

/// A stream whose client is gone.
pub(crate) struct Departed {
    pub carrier: Conn,
    pub id: u32,
    pieces: Vec<Piece>,
    how: Close,
}

impl Departed {
    pub fn of(stream: &mut Stream, how: Close) -> Self {
        Self { carrier: stream.carrier, id: stream.id, pieces: std::mem::take(&mut stream.fresh), how }
    }
}

impl Client {
    /// Whether the first bytes are those of HTTP/2. A method of HTTP/1 that begins like them has another fourth byte.
    pub fn begins_http2(&self, core: &Core) -> bool {
        let begins = self.requests == 0 && self.connection.inbox.first().starts_with(&PREFACE[..4]);
        begins && core.snapshot.listener(self.listener()).is_some_and(|listener| listener.http2)
    }

    /// Whether the connection may carry more requests.
    pub fn may_ask_more(&self) -> bool {
        let http2 = self.service.http().and_then(|http| http.http2);
        http2.is_none_or(|http2| http2.max_requests == 0 || self.requests < http2.max_requests)
    }

    /// Reads the request that opens a stream, whose handle is `conn`. Error: the connection cannot go on.
    pub fn next_stream<I: Io>(
        &mut self,
        io: &mut I,
        core: &mut Core,
        exchanges: &mut Exchanges<Exchange>,
        conn: Conn,
        piece: &[u8],
    ) -> Result<Next, Code> {
        let is_served = self.look_up_service(core);
        let Self { stage: Stage::Http2(front), service, .. } = self else { return Err(Code::InternalError) };
        let Some(http) = service.http().filter(|_| is_served) else { return Ok(Next::Unserved) };
        let request = match front.connection.request(piece, &http.request_limits, &mut core.fields) {
            Ok(request) => request,
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Message(error)) => return Ok(Next::Refused(Error::Request(error))),
        };
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
        Ok(received.take(io, self, conn, core.date.line(), exchanges))
    }
}

impl Front {
    pub fn new(http: &HttpProfile, http2: &Http2, now: Time) -> Self {
        let settings = Settings {
            enable_push: false,
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
            turns: VecDeque::new(),
            is_listed: false,
            is_busy: false,
        }
    }

    /// The clients that stand for its streams.
    pub fn clients(&self) -> impl Iterator<Item = Conn> {
        self.connection.each_kept().filter_map(|outbox| outbox.client)
    }

    /// How many pieces wait to be sent. Each may hold a block.
    pub fn pieces(&self) -> usize {
        self.connection.each_kept().map(|outbox| outbox.pieces.len()).sum()
    }

    /// Whether more is to be sent, as soon as the connection has room for it.
    pub fn has_turns(&self) -> bool {
        !self.turns.is_empty()
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

    /// Takes over what a stream has to send.
    pub fn speak(&mut self, id: u32, pieces: impl IntoIterator<Item = Piece>) {
        let Some(outbox) = self.connection.kept(id) else { return };
        outbox.pieces.extend(pieces);
        self.give_turn(id);
    }

    /// The exchange of a stream is over.
    pub fn depart(&mut self, departed: Departed) {
        let Departed { id, pieces, how, .. } = departed;
        let Some(outbox) = self.connection.kept(id) else { return };
        outbox.client = None;
        if how == Close::Abort {
            self.connection.end(id, Code::Cancel);
            return;
        }
        outbox.pieces.extend(pieces);
        outbox.ends = Some(how);
        self.give_turn(id);
    }

    fn give_turn(&mut self, id: u32) {
        if let Some(outbox) = self.connection.kept(id)
            && !std::mem::replace(&mut outbox.has_turn, true)
        {
            self.turns.push_back(id);
        }
    }

    /// The peer takes more on a stream, or on all of them.
    pub fn has_room(&mut self, id: u32) {
        match id {
            0 => self.connection.ids().into_iter().for_each(|id| self.give_turn(id)),
            id => self.give_turn(id),
        }
    }

    /// The frames that may be sent now, in pieces. `most_bytes`: the rest has to wait, and has its turn. `left`: learns
    /// which clients had so many bytes and pieces sent.
    pub fn frames<I: Io>(&mut self, io: &mut I, most_bytes: usize, left: &mut Vec<(Conn, usize, u32)>) -> Vec<Buf> {
        let mut out = Out { done: Vec::new(), open: io.buffer() };
        let control = std::mem::take(self.connection.control());
        control.chunks(out.open.room().len().max(1)).for_each(|part| {
            out.room(io, part.len());
            out.open.append(part);
        });
        let mut bytes = 0;
        while bytes < most_bytes
            && let Some(id) = self.turns.pop_front()
        {
            bytes += self.frame(io, id, &mut out, left);
        }
        let control = std::mem::take(self.connection.control());
        out.room(io, control.len());
        out.open.append(&control);
        out.done.push(out.open);
        out.done
    }

    /// One frame of a stream; returns its bytes of content.
    fn frame<I: Io>(&mut self, io: &mut I, id: u32, out: &mut Out, left: &mut Vec<(Conn, usize, u32)>) -> usize {
        let room = self.connection.room(id) as usize;
        let Some(outbox) = self.connection.kept(id) else { return 0 };
        outbox.has_turn = false;
        let client = outbox.client;
        let mut told = |bytes, pieces| left.extend(client.map(|client| (client, bytes, pieces)));
        let (piece, ends) = (outbox.pieces.pop_front(), outbox.ends);
        let is_last = outbox.pieces.is_empty() && matches!(ends, Some(Close::Flush | Close::Linger));
        let sent = match piece {
            None if is_last => {
                let header = self.connection.data(id, 0, true);
                out.room(io, header.len());
                out.open.append(&header);
                return self.over(id, Code::NoError);
            }
            None if ends.is_some() => return self.over(id, Code::InternalError),
            None => return 0,
            Some(Piece::Head(head)) => {
                told(head.len(), 1);
                out.room(io, head.len() + self.connection.overhead(head.len()));
                let space = out.open.room();
                let written = self.connection.write_head(space, id, is_last, |space| {
                    let space = space.get_mut(..head.len()).ok_or(weir_wire::head::Overflow)?;
                    space.copy_from_slice(&head);
                    Ok::<_, weir_wire::head::Overflow>(head.len())
                });
                out.open.filled(written.unwrap_or_default());
                if is_last {
                    return self.over(id, Code::NoError);
                }
                0
            }
            Some(Piece::Content(content)) if room == 0 && !content.is_empty() => {
                // It has its turn again when there is room.
                outbox.pieces.push_front(Piece::Content(content));
                return 0;
            }
            Some(Piece::Content(mut content)) => {
                let bytes = content.len().min(room);
                let is_whole = bytes == content.len();
                told(bytes, u32::from(is_whole));
                let part = content.split_to(bytes);
                if !is_whole {
                    outbox.pieces.push_front(Piece::Content(content));
                }
                let header = self.connection.data(id, bytes as u32, is_last && is_whole);
                out.data(io, &header, part);
                if is_last && is_whole {
                    return self.over(id, Code::NoError);
                }
                bytes
            }
        };
        self.give_turn(id);
        sent
    }

    fn over(&mut self, id: u32, code: Code) -> usize {
        self.connection.end(id, code);
        0
    }
}

/// Frames on their way out. Small ones share a buffer.
struct Out {
    done: Vec<Buf>,
    open: Buf,
}

impl Out {
    /// Makes room for so many bytes in the open buffer.
    fn room<I: Io>(&mut self, io: &mut I, bytes: usize) {
        if self.open.room().len() < bytes {
            let full = std::mem::replace(&mut self.open, io.buffer_for(bytes));
            self.done.push(full);
        }
    }

    fn data<I: Io>(&mut self, io: &mut I, header: &[u8], content: Buf) {
        let is_copied = content.len() <= COPIED_BYTES;
        self.room(io, header.len() + if is_copied { content.len() } else { 0 });
        self.open.append(header);
        if is_copied {
            self.open.append(&content);
        } else {
            let full = std::mem::replace(&mut self.open, io.buffer());
            self.done.extend([full, content]);
        }
    }
}

pub(crate) fn millis(now: Time) -> u64 {
    now.nanos / 1_000_000
}
