//! What a carrier sends next: control frames, and frames of its streams in turn.

use weir_wire::http2::{Code, URGENCIES};

use super::{Carrier, frames::Frames};
use crate::{
    connection::stream::Piece,
    io::{Close, Conn, Io},
    limits::Room,
};

/// What was sent.
pub(crate) struct Sent {
    pub frames: Frames,
    /// How many bytes and pieces of which sessions.
    pub left: Vec<(Conn, usize, u32)>,
    /// Sessions with content for which a window is closed.
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

impl Carrier {
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
                        outbox.end_turn();
                    }
                    in_vain = 0;
                }
            }
        }
    }

    /// One frame of a stream.
    fn frame<I: Io>(&mut self, io: &mut I, id: u32, sent: &mut Sent, bytes: &mut usize) -> Turn {
        let (room, window_is_open) = (self.connection.room(id) as usize, self.connection.has_room());
        let Some(outbox) = self.connection.kept(id).filter(|outbox| !outbox.is_over) else { return Turn::Over };
        let (owner, ends) = (outbox.owner, outbox.ends);
        let ends_well = matches!(ends, Some(Close::Flush | Close::Linger));
        match outbox.pieces.pop_front() {
            Some(Piece::Head { block, .. }) => {
                let is_last = outbox.pieces.is_empty() && ends_well;
                sent.left.extend(owner.map(|owner| (owner, block.len(), 1)));
                if sent.frames.head(io, &mut self.connection, id, is_last, &block).is_err() {
                    return self.over(id, Code::InternalError);
                }
                if is_last { self.said_all(id) } else { Turn::Again }
            }
            Some(Piece::Content(content)) if room == 0 && !content.is_empty() => {
                outbox.pieces.push_front(Piece::Content(content));
                sent.shut.extend(owner);
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
                sent.left.extend(owner.map(|owner| (owner, part.len(), u32::from(is_whole))));
                *bytes += part.len();
                let header = self.connection.data(id, part.len() as u32, is_last);
                sent.frames.data(io, &header, part);
                if is_last { self.said_all(id) } else { Turn::Again }
            }
            Some(Piece::Trailers(block)) => {
                sent.left.extend(owner.map(|owner| (owner, block.len(), 1)));
                match sent.frames.head(io, &mut self.connection, id, true, &block) {
                    Ok(()) => self.said_all(id),
                    Err(_) => self.over(id, Code::InternalError),
                }
            }
            Some(Piece::End) => {
                outbox.is_said = true;
                sent.left.extend(owner.map(|owner| (owner, 0, 1)));
                let header = self.connection.data(id, 0, true);
                sent.frames.append(io, &header);
                Turn::Again
            }
            None if ends_well && outbox.is_said => self.over(id, Code::NoError),
            None if ends_well => {
                let header = self.connection.data(id, 0, true);
                sent.frames.append(io, &header);
                self.said_all(id)
            }
            None if ends.is_some() => {
                let code = outbox.code;
                self.over(id, code)
            }
            None => Turn::Over,
        }
    }

    /// The end of a stream was sent. As long as its session stands, more of the peer may come.
    fn said_all(&mut self, id: u32) -> Turn {
        match self.connection.kept(id) {
            Some(outbox) if outbox.owner.is_some() => {
                outbox.is_over = true;
                Turn::Over
            }
            _ => self.over(id, Code::NoError),
        }
    }

    fn over(&mut self, id: u32, code: Code) -> Turn {
        self.connection.end(id, code);
        Turn::Over
    }
}
