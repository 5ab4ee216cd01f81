//! How bytes cross a connection, a client's or a server's: as they are, or in TLS.

use weir_tls::{ClientConfig, Error, Handshaken, Progress, ServerConfig, ServerName, TlsSession};

use crate::{
    buf::Buf,
    connection::{
        inbox::Inbox,
        line::Line,
        secure::{Secure, send_all},
    },
    io::{Conn, Io},
};

pub(crate) enum Channel {
    Plain,
    /// Boxed, for the memory of those who come without.
    Tls(Box<Secure>),
}

impl Channel {
    /// A client shall speak first.
    pub fn accept(config: &ServerConfig) -> Result<Self, Error> {
        Ok(Self::Tls(Box::new(Secure::new(TlsSession::server(config)?))))
    }

    /// Speaks first to a server.
    pub fn connect<I: Io>(
        io: &mut I,
        line: &mut Line,
        config: &ClientConfig,
        name: &ServerName,
        scratch: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let session = TlsSession::client(config, name, scratch)?;
        send_all(io, line, scratch);
        Ok(Self::Tls(Box::new(Secure::new(session))))
    }

    /// Whether the connection carries bytes as the other side of us takes them.
    pub fn is_plain(&self) -> bool {
        matches!(self, Channel::Plain)
    }

    /// `None` in plain, and until the handshake is complete.
    pub fn handshaken(&self) -> Option<Handshaken> {
        match self {
            Channel::Plain => None,
            Channel::Tls(secure) => secure.handshaken(),
        }
    }

    /// Takes what has come; what is in it for us goes into the inbox.
    #[inline]
    pub fn receive<I: Io>(
        &mut self,
        io: &mut I,
        line: &mut Line,
        buf: Buf,
        inbox: &mut Inbox,
        scratch: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        match self {
            Channel::Plain => {
                inbox.push(buf);
                Ok(Progress::default())
            }
            Channel::Tls(secure) => secure.open(io, line, buf, inbox, scratch),
        }
    }

    /// Queues bytes for the peer, in TLS until the end of the batch.
    #[inline]
    pub fn deliver<I: Io>(&mut self, io: &mut I, line: &mut Line, unflushed: &mut Vec<Conn>, plain: Buf) {
        match self {
            Channel::Plain => line.send(io, plain),
            Channel::Tls(secure) => {
                if secure.push(io, line, plain) {
                    unflushed.push(line.conn);
                }
            }
        }
    }

    /// The end of a batch.
    pub fn flush<I: Io>(&mut self, io: &mut I, line: &mut Line) {
        if let Channel::Tls(secure) = self {
            secure.flush(io, line);
        }
    }

    /// Whether something waits for [`flush`](Self::flush).
    pub fn holds_back(&self) -> bool {
        matches!(self, Channel::Tls(secure) if secure.holds_back())
    }

    /// What TLS says last, unless our side has ended.
    pub fn close<I: Io>(&mut self, io: &mut I, line: &mut Line, scratch: &mut Vec<u8>) {
        if let Channel::Tls(secure) = self
            && !line.is_finished()
        {
            secure.close(io, line, scratch);
        }
    }

    /// Ends our side. TLS says so only where that was `said` to us too: a cut is passed on as a cut.
    pub fn finish<I: Io>(&mut self, io: &mut I, line: &mut Line, scratch: &mut Vec<u8>, said: bool) {
        match said {
            true => self.close(io, line, scratch),
            false => self.flush(io, line),
        }
        line.finish(io);
    }

    /// Whether the end of the stream is one that the peer has said, where it could be an attacker's cut.
    pub fn vouches_for_end(&self) -> bool {
        match self {
            Channel::Plain => true,
            Channel::Tls(secure) => secure.is_closed_by_peer(),
        }
    }
}
