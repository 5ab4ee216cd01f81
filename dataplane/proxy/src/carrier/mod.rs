//! A connection of HTTP/2 that carries streams, to a client or to a server: the state of the protocol, and what is to be
//! sent on each stream. A session of its own stands for each stream, as long as its exchange lasts.

pub(crate) mod frames;
mod turns;

use std::{collections::VecDeque, time::Duration};

use weir_wire::http2::{Code, Config, Connection, Priority, Role, URGENCIES};

use crate::{
    connection::stream::{Piece, Stream},
    io::{Close, Conn, Time},
};

/// A client takes nothing if it takes less than this within [`stalled_client`](crate::Limits::stalled_client): 512 bytes
/// a second. The limit of time alone would let it open its windows byte by byte.
pub(crate) const TAKEN_BYTES_MIN: usize = 512 * 60;

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
    /// Of a client: the connections to servers that carry streams of this connection alone. The next stream tries the
    /// last one.
    pub own: Vec<Conn>,
}

/// What is to be sent on a stream.
pub(crate) struct Outbox {
    /// The session that stands for the stream, as long as its exchange lasts.
    pub owner: Option<Conn>,
    pieces: VecDeque<Piece>,
    /// The final head was queued.
    has_head: bool,
    /// Nothing comes behind the pieces, and the stream ends like this.
    ends: Option<Close>,
    /// The peer has been told that nothing more comes.
    is_said: bool,
    /// What it is reset with behind the pieces, unless it ends well.
    code: Code,
    /// The end was sent.
    is_over: bool,
    has_turn: bool,
    pub priority: Priority,
    /// When its session went, or later the peer had taken enough; and how many bytes the peer has taken since then.
    took: (Time, usize),
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            owner: None,
            pieces: VecDeque::new(),
            has_head: false,
            ends: None,
            is_said: false,
            code: Code::InternalError,
            is_over: false,
            has_turn: false,
            priority: Priority::UNSAID,
            took: (Time::default(), 0),
        }
    }
}

/// A stream of a client whose session is gone.
pub(crate) struct Departed {
    pub carrier: Conn,
    pub id: u32,
    pieces: Vec<Piece>,
    how: Close,
    /// Why the stream is reset, if it is.
    code: Code,
}

impl Departed {
    pub fn of(stream: &mut Stream, how: Close) -> Self {
        // A tunnel that breaks is cancelled, too (RFC 8441 §5).
        let is_cancelled = how == Close::Abort || stream.is_tunnel;
        let usual = if is_cancelled { Code::Cancel } else { Code::InternalError };
        Self {
            carrier: stream.carrier,
            id: stream.id,
            pieces: std::mem::take(&mut stream.fresh),
            how,
            code: stream.code.unwrap_or(usual),
        }
    }
}

impl Carrier {
    pub fn new(role: Role, config: Config, now: Time) -> Self {
        Self {
            connection: Connection::new(role, config, millis(now)),
            turns: Default::default(),
            is_listed: false,
            is_busy: false,
            amid_since: None,
            queued_bytes: 0,
            took: (now, 0),
            own: Vec::new(),
        }
    }

    /// So many bytes are queued for its connection.
    pub fn queue(&mut self, bytes: usize) {
        self.queued_bytes += bytes as u64;
    }

    /// A connection to a server has got a stream of this connection, and carries no others.
    pub fn keep_own(&mut self, conn: Conn) {
        self.own.retain(|own| *own != conn);
        self.own.push(conn);
    }

    /// The sessions that stand for its streams.
    pub fn owners(&self) -> impl Iterator<Item = Conn> {
        self.connection.each_kept().filter_map(|outbox| outbox.owner)
    }

    /// How many pieces wait to be sent for sessions that are gone. Each may hold a block.
    pub fn pieces(&self) -> usize {
        let orphans = self.connection.each_kept().filter(|outbox| outbox.owner.is_none());
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

    /// Takes over what a stream has to send. `is_all`: nothing follows.
    pub fn speak(&mut self, id: u32, pieces: Vec<Piece>, is_all: bool) {
        let Some(outbox) = self.connection.kept(id) else { return };
        outbox.take(pieces);
        if is_all {
            outbox.ends = Some(Close::Flush);
        }
        self.give_turn(id);
    }

    /// The session of a client's stream is gone.
    pub fn depart(&mut self, departed: Departed, now: Time) {
        let Departed { id, pieces, how, code, .. } = departed;
        let Some(outbox) = self.connection.kept(id) else { return };
        outbox.take(pieces);
        let code = match how {
            Close::Abort => code,
            // No server has seen the request.
            _ if !outbox.has_head => Code::RefusedStream,
            Close::Flush | Close::Linger | Close::Cut => {
                (outbox.ends, outbox.took, outbox.code) = (Some(how), (now, 0), code);
                return self.give_turn(id);
            }
        };
        self.connection.end(id, code);
    }

    /// The peer takes nothing more on a stream.
    pub fn silence(&mut self, id: u32) {
        if let Some(outbox) = self.connection.kept(id) {
            outbox.pieces.clear();
            outbox.is_over = true;
        }
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

    /// Resets streams without a session whose peer has taken too little for `span`. Returns how many. `excused`: the peer could
    /// not take anything.
    pub fn give_up(&mut self, now: Time, span: Duration, excused: bool) -> usize {
        let mut stalled = self.connection.ids();
        stalled.retain(|id| {
            let waits = self.waits_for_turn(*id);
            let Some(outbox) = self.connection.kept(*id) else { return false };
            let is_over = outbox.owner.is_none() && now.since(outbox.took.0) >= span;
            let takes_enough = excused || waits || outbox.took.1 >= TAKEN_BYTES_MIN;
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

    /// Whether the peer has taken too little for `span` of what is sent on the connection, of which `queued` bytes wait. `excused`
    /// as in `give_up`.
    pub fn is_stalled(&mut self, queued: usize, now: Time, span: Duration, excused: bool) -> bool {
        let taken = self.queued_bytes.saturating_sub(queued as u64);
        if excused || queued == 0 || taken >= self.took.1 + TAKEN_BYTES_MIN as u64 {
            self.took = (now, taken);
        }
        now.since(self.took.0) >= span
    }

    /// Notes whether a frame or a block has come in part.
    pub fn note_part(&mut self, now: Time) {
        self.amid_since = self.connection.is_amid_frame().then(|| self.amid_since.unwrap_or(now));
    }

    /// For how long a frame or a block has been incomplete. `excused` as in `give_up`.
    pub fn amid_for(&mut self, now: Time, excused: bool) -> Option<Duration> {
        if excused {
            self.amid_since = self.amid_since.and(Some(now));
        }
        self.amid_since.map(|since| now.since(since))
    }
}

impl Outbox {
    fn take(&mut self, pieces: Vec<Piece>) {
        self.has_head |= pieces.iter().any(|piece| matches!(piece, Piece::Head { is_final: true, .. }));
        match self.pieces.is_empty() {
            true => self.pieces = pieces.into(),
            false => self.pieces.extend(pieces),
        }
    }

    /// Its pieces have gone, or wait for the peer. Most streams wait for an answer now, and need no room meanwhile.
    fn end_turn(&mut self) {
        self.has_turn = false;
        if self.pieces.is_empty() {
            self.pieces = VecDeque::new();
        }
    }
}

pub(crate) fn millis(now: Time) -> u64 {
    now.nanos / 1_000_000
}
