//! Our end of a connection, whoever the peer is: what has come and is not read yet, what is sent, and TLS between them.

pub(crate) mod channel;
pub(crate) mod inbox;
pub(crate) mod line;
mod secure;

use weir_tls::{Error, Progress};

use crate::{
    buf::Buf,
    connection::{channel::Channel, inbox::Inbox, line::Line},
    io::{Close, Conn, Io, Time},
};

pub(crate) struct Connection {
    pub line: Line,
    pub inbox: Inbox,
    /// The peer sends no more.
    pub ended: bool,
    pub channel: Channel,
}

impl Connection {
    pub fn new(conn: Conn, channel: Channel, now: Time) -> Self {
        Self { line: Line::new(conn, now), inbox: Inbox::default(), ended: false, channel }
    }

    pub fn conn(&self) -> Conn {
        self.line.conn
    }

    /// Takes what has come.
    #[inline]
    pub fn receive<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, buf: Buf) -> Result<Progress, Error> {
        self.channel.receive(io, &mut self.line, buf, &mut self.inbox, scratch)
    }

    /// Queues plaintext for the peer.
    #[inline]
    pub fn deliver<I: Io>(&mut self, io: &mut I, unflushed: &mut Vec<Conn>, plain: Buf) {
        self.channel.deliver(io, &mut self.line, unflushed, plain);
    }

    /// The end of a batch.
    pub fn flush<I: Io>(&mut self, io: &mut I) {
        self.channel.flush(io, &mut self.line);
    }

    /// Whether it carries bytes as the other side of us sends and takes them.
    pub fn is_plain(&self) -> bool {
        self.channel.is_plain()
    }

    /// Whether the peer has not taken all that was queued for it.
    pub fn has_unsent<I: Io>(&self, io: &I) -> bool {
        self.channel.holds_back() || io.queued(self.conn()) > 0
    }

    /// Whether the peer has sent all that it ever will, and all of it has been read.
    pub fn is_exhausted(&self) -> bool {
        self.ended && self.inbox.is_empty()
    }

    /// Whether the peer itself has said that it sends no more, as far as the connection lets it (RFC 9112 §9.8).
    pub fn has_ended_for_good(&self) -> bool {
        self.ended && self.channel.vouches_for_end()
    }

    /// Tells the peer that no more comes; it may go on sending. `said`: so has the other side, so that TLS may.
    pub fn finish<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, said: bool) {
        self.channel.finish(io, &mut self.line, scratch, said);
    }

    /// Lets out what waits to be sealed and leaves out what TLS says last, so that TLS too shows a cut.
    pub fn cut<I: Io>(&mut self, io: &mut I) {
        self.flush(io);
        self.channel = Channel::Plain;
    }

    /// Ends it. The handle is dead then.
    pub fn close<I: Io>(&mut self, io: &mut I, scratch: &mut Vec<u8>, how: Close) {
        match how {
            Close::Flush | Close::Linger => self.channel.close(io, &mut self.line, scratch),
            Close::Cut => self.flush(io),
            Close::Abort => {}
        }
        io.close(self.conn(), how);
    }
}
