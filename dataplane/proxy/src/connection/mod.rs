//! Our end of any connection: unread input, output, and TLS between them.

pub(crate) mod channel;
pub(crate) mod inbox;
pub(crate) mod line;
pub(crate) mod secure;
pub(crate) mod stream;

use weir_tls::{Error, Progress};

use crate::{
    buf::Buf,
    connection::{
        channel::Channel,
        inbox::Inbox,
        line::Line,
        stream::{Piece, Stream},
    },
    head,
    io::{Close, Conn, Io, Time},
};

pub(crate) struct Connection {
    pub line: Line,
    pub inbox: Inbox,
    pub channel: Channel,
}

impl Connection {
    pub fn new(conn: Conn, channel: Channel, now: Time) -> Self {
        Self { line: Line::new(conn, now), inbox: Inbox::default(), channel }
    }

    pub fn conn(&self) -> Conn {
        self.line.conn
    }

    /// Takes input.
    #[inline]
    pub fn receive<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, buf: Buf) -> Result<Progress, Error> {
        self.channel.receive(io, &mut self.line, buf, &mut self.inbox, scratch)
    }

    /// Queues plaintext for the peer.
    #[inline]
    pub fn deliver<I: Io>(&mut self, io: &mut I, unflushed: &mut Vec<Conn>, plain: Buf) {
        self.channel.deliver(io, &mut self.line, unflushed, plain);
    }

    /// Queues the head of a response. After one that is not final another one comes.
    #[inline]
    pub fn deliver_head<I: Io>(&mut self, io: &mut I, unflushed: &mut Vec<Conn>, head: Buf, is_final: bool) {
        self.channel.deliver_head(io, &mut self.line, unflushed, head, is_final);
    }

    /// Queues trailers, which are lines of text, behind a body whose framing does not contain them. A connection of
    /// HTTP/1 drops them.
    #[cold]
    pub fn deliver_trailers<I: Io>(&mut self, io: &mut I, unflushed: &mut Vec<Conn>, lines: &[u8]) {
        if let Channel::Stream(stream) = &mut self.channel
            && let Ok(block) = head::write_trailers(io, lines)
        {
            stream.push(Piece::Trailers(block), &mut self.line, unflushed);
        }
    }

    /// The stream that it is, if it is one.
    pub fn stream(&mut self) -> Option<&mut Stream> {
        match &mut self.channel {
            Channel::Stream(stream) => Some(stream),
            Channel::Plain | Channel::Tls(_) => None,
        }
    }

    /// The connection that carries it, if it is a stream.
    pub fn carrier(&self) -> Option<Conn> {
        match &self.channel {
            Channel::Stream(stream) => Some(stream.carrier),
            Channel::Plain | Channel::Tls(_) => None,
        }
    }

    /// Nothing more is sent on a stream.
    pub fn finish<I: Io>(&mut self, io: &mut I, unflushed: &mut Vec<Conn>) {
        if let Channel::Stream(stream) = &self.channel {
            stream.finish(io, &mut self.line, unflushed);
        }
    }

    /// Sends what was held back until the end of the batch.
    pub fn flush<I: Io>(&mut self, io: &mut I) {
        self.channel.flush(io, &mut self.line);
    }

    /// Whether it carries bytes unencrypted.
    pub fn is_plain(&self) -> bool {
        self.channel.is_plain()
    }

    /// Whether the peer has not taken all that was queued for it.
    pub fn has_unsent<I: Io>(&self, io: &I) -> bool {
        self.channel.holds_back() || self.line.queued(io) > 0
    }

    /// Whether the peer has ended, and all its input has been read.
    pub fn is_exhausted(&self) -> bool {
        self.line.ended && self.inbox.is_empty()
    }

    /// Whether the peer itself has declared its end, as far as the connection can show that (RFC 9112 §9.8).
    pub fn has_ended_for_good(&self) -> bool {
        self.line.ended && self.channel.vouches_for_end()
    }

    /// Ends our side; the peer may go on sending. `said`: the other connection's peer declared its end, so TLS may do
    /// so, too.
    pub fn end_output<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, unflushed: &mut Vec<Conn>, said: bool) {
        self.channel.end_output(io, &mut self.line, scratch, unflushed, said);
    }

    /// Sends what waits for encryption, but no close_notify afterwards, so that TLS shows the cut.
    pub fn cut<I: Io>(&mut self, io: &mut I) {
        self.flush(io);
        if let Channel::Tls(_) = self.channel {
            self.channel = Channel::Plain;
        }
    }

    /// Closes the connection. Its handle is dead then.
    pub fn close<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, how: Close) {
        match how {
            Close::Flush | Close::Linger => self.channel.close(io, &mut self.line, scratch),
            Close::Cut => self.flush(io),
            Close::Abort => {}
        }
        if !self.conn().is_stream() {
            io.close(self.conn(), how);
        }
    }
}
