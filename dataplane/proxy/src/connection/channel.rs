//! How a connection carries bytes: plain or in TLS.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

use weir_snapshot::HostName;
use weir_tls::{ClientCertificate, ClientConfig, Error, Handshaken, Progress, ServerConfig, ServerName, TlsSession};

use crate::{
    buf::Buf,
    connection::{
        inbox::Inbox,
        line::Line,
        secure::{Secure, send_all},
        stream::{Piece, Stream},
    },
    io::{Conn, Io},
    origin::origin_of,
};

pub(crate) enum Channel {
    Plain,
    /// Boxed, so that plain connections take less memory.
    Tls(Box<Secure>),
    /// A stream of another connection.
    Stream(Box<Stream>),
}

impl Channel {
    /// Waits for a client's ClientHello.
    pub fn accept(config: &ServerConfig, peer: SocketAddr) -> Result<Self, Error> {
        Self::accept_named(config, peer, None)
    }

    /// The same, for a client whose server name has chosen the configuration.
    pub fn accept_named(config: &ServerConfig, peer: SocketAddr, name: Option<HostName<'_>>) -> Result<Self, Error> {
        let mut session = TlsSession::server(config)?;
        if config.keeps_origin {
            session.set_origin(origin_of(peer));
        }
        let mut secure = Secure::new(session);
        secure.name = name.map(|name| name.to_lower_case().into());
        Ok(Self::Tls(Box::new(secure)))
    }

    /// The server name that has chosen the configuration, if one has.
    pub fn server_name(&self) -> Option<HostName<'_>> {
        match self {
            Channel::Tls(secure) => HostName::of(secure.name.as_ref()?.as_bytes()),
            Channel::Plain | Channel::Stream(_) => None,
        }
    }

    /// The server name that a client has asked for, as far as it is known.
    pub fn asked_name(&self) -> Option<&str> {
        match self {
            Channel::Tls(secure) => secure.asked_name(),
            Channel::Plain | Channel::Stream(_) => None,
        }
    }

    /// The certificate that a client has shown.
    #[cold]
    pub fn client_certificate(&self) -> Option<&Arc<ClientCertificate>> {
        match self {
            Channel::Tls(secure) => secure.client_certificate(),
            Channel::Plain | Channel::Stream(_) => None,
        }
    }

    /// Where the session of TLS of a client began, if the configuration keeps that.
    #[inline]
    pub fn origin(&self) -> Option<NonZeroU32> {
        match self {
            Channel::Plain => None,
            Channel::Tls(secure) => secure.origin(),
            Channel::Stream(stream) => stream.origin,
        }
    }

    /// Sends a ClientHello to a server.
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

    /// Whether the connection carries bytes unencrypted.
    pub fn is_plain(&self) -> bool {
        matches!(self, Channel::Plain)
    }

    /// `None` without TLS, and until the handshake is complete.
    pub fn handshaken(&self) -> Option<Handshaken> {
        match self {
            Channel::Plain | Channel::Stream(_) => None,
            Channel::Tls(secure) => secure.handshaken(),
        }
    }

    /// Its TLS, if it has any.
    pub fn secure_mut(&mut self) -> Option<&mut Secure> {
        match self {
            Channel::Plain | Channel::Stream(_) => None,
            Channel::Tls(secure) => Some(secure),
        }
    }

    /// The protocol that both ends have agreed on in the handshake.
    pub fn protocol(&self) -> Option<&[u8]> {
        match self {
            Channel::Plain | Channel::Stream(_) => None,
            Channel::Tls(secure) => secure.protocol(),
        }
    }

    /// Takes input, and puts its plaintext into the inbox.
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
            Channel::Plain | Channel::Stream(_) => {
                inbox.push(buf);
                Ok(Progress::default())
            }
            Channel::Tls(secure) => secure.open(io, line, buf, inbox, scratch),
        }
    }

    /// Queues bytes for the peer; in TLS they are encrypted at the end of the batch.
    #[inline]
    pub fn deliver<I: Io>(&mut self, io: &mut I, line: &mut Line, unflushed: &mut Vec<Conn>, plain: Buf) {
        match self {
            Channel::Plain => line.send(io, plain),
            Channel::Tls(secure) => {
                if secure.push(io, line, plain) {
                    unflushed.push(line.conn);
                }
            }
            Channel::Stream(stream) => stream.push(Piece::Content(plain), line, unflushed),
        }
    }

    /// Queues the head of a response in the form of the connection.
    #[inline]
    pub fn deliver_head<I: Io>(
        &mut self,
        io: &mut I,
        line: &mut Line,
        unflushed: &mut Vec<Conn>,
        head: Buf,
        is_final: bool,
    ) {
        match self {
            Channel::Stream(stream) => stream.push(Piece::Head { block: head, is_final }, line, unflushed),
            _ => self.deliver(io, line, unflushed, head),
        }
    }

    /// Sends what was held back until the end of the batch.
    pub fn flush<I: Io>(&mut self, io: &mut I, line: &mut Line) {
        if let Channel::Tls(secure) = self {
            secure.flush(io, line);
        }
    }

    /// Whether something waits for [`flush`](Self::flush).
    pub fn holds_back(&self) -> bool {
        matches!(self, Channel::Tls(secure) if secure.holds_back())
    }

    /// Sends a close_notify, unless our side has ended already.
    pub fn close<I: Io>(&mut self, io: &mut I, line: &mut Line, scratch: &mut Vec<u8>) {
        if let Channel::Tls(secure) = self
            && !line.is_finished()
        {
            secure.close(io, line, scratch);
        }
    }

    /// Ends our side. TLS sends a close_notify only if the other connection ended with one (`said`): a cut is passed on
    /// as a cut.
    pub fn end_output<I: Io>(
        &mut self,
        io: &mut I,
        line: &mut Line,
        scratch: &mut Vec<u8>,
        unflushed: &mut Vec<Conn>,
        said: bool,
    ) {
        match self {
            Channel::Stream(stream) if !line.is_finished() => stream.push(Piece::End, line, unflushed),
            _ if said => self.close(io, line, scratch),
            _ => self.flush(io, line),
        }
        line.end_output(io);
    }

    /// Whether the peer itself declared the end. In TLS, an end without a close_notify may be an attacker's cut.
    pub fn vouches_for_end(&self) -> bool {
        match self {
            Channel::Plain | Channel::Stream(_) => true,
            Channel::Tls(secure) => secure.is_closed_by_peer(),
        }
    }
}
