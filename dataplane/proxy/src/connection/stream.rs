//! A stream of an HTTP/2 connection. To the rest of the proxy it is a connection of its own to a client or to a server,
//! with its own inbox and output, that carries one exchange.
//!
//! The session of the connection that carries it moves its input here and its output on. The driver knows nothing of it.

use std::num::NonZeroU32;

use weir_wire::http2::Code;

use crate::{
    buf::Buf,
    call::Call,
    connection::line::Line,
    io::{Conn, Io},
};

/// The handles of clients' streams have slots from here on. No driver has so many connections.
pub(crate) const CLIENT_STREAMS: u32 = 1 << 31;
/// The same for streams to servers.
pub(crate) const SERVER_STREAMS: u32 = CLIENT_STREAMS + (1 << 30);

pub(crate) struct Stream {
    /// The connection that carries it.
    pub carrier: Conn,
    /// Its identifier on that connection; 0: it is not open yet.
    pub id: u32,
    /// Output that the carrier has not taken yet.
    pub fresh: Vec<Piece>,
    /// Bytes that have come, and that the peer may not send again yet.
    pub credit: u32,
    /// Why it is reset, if it is, and if there is more to say than usual.
    pub code: Option<Code>,
    /// What it carries is not parsed any more.
    pub is_tunnel: bool,
    /// The call of gRPC that it carries.
    pub call: Option<Call>,
    /// At the last look its output waited for that of other streams, and not for its own window.
    pub waits_for_turn: bool,
    /// Where the session of TLS of the client's connection began, if the configuration keeps that.
    pub origin: Option<NonZeroU32>,
}

pub(crate) enum Piece {
    /// A block of fields. After one that is not final another one comes.
    Head {
        block: Buf,
        is_final: bool,
    },
    Content(Buf),
    /// A block of fields, which ends the stream.
    Trailers(Buf),
    /// Nothing more comes, while the peer may go on sending.
    End,
}

impl Stream {
    pub fn new(carrier: Conn, id: u32, call: Option<Call>) -> Self {
        let (is_tunnel, waits_for_turn) = (false, false);
        Self { carrier, id, fresh: Vec::new(), credit: 0, code: None, is_tunnel, call, waits_for_turn, origin: None }
    }

    /// Queues output. The carrier takes it at the end of the batch.
    #[inline(never)]
    pub fn push(&mut self, piece: Piece, line: &mut Line, unflushed: &mut Vec<Conn>) {
        line.hold(match &piece {
            Piece::Head { block: bytes, .. } | Piece::Content(bytes) | Piece::Trailers(bytes) => bytes.len(),
            Piece::End => 0,
        });
        if let (Some(call), Piece::Content(bytes)) = (&mut self.call, &piece) {
            call.answer.take(bytes);
        }
        if self.fresh.is_empty() {
            unflushed.push(line.conn);
        }
        self.fresh.push(piece);
    }

    /// Nothing more is queued. The carrier sends the end behind what is.
    pub fn finish<I: Io>(&self, io: &mut I, line: &mut Line, unflushed: &mut Vec<Conn>) {
        if !line.is_finished() {
            line.end_output(io);
            if self.fresh.is_empty() {
                unflushed.push(line.conn);
            }
        }
    }
}

impl Conn {
    /// Whether it is the handle of a stream.
    #[inline]
    pub(crate) fn is_stream(self) -> bool {
        self.slot >= CLIENT_STREAMS
    }
}
