//! One TLS connection, either side: bytes of the peer in, plaintext and bytes for the peer out.
//!
//! rustls decrypts in the caller's own buffer. Only the tail of a record that is not whole yet is kept here, and given
//! up again as soon as the record is complete, so an idle session holds keys and no buffer.

use rustls::{
    CommonState, HandshakeKind,
    client::{ClientConnectionData, UnbufferedClientConnection},
    pki_types::ServerName,
    server::{ServerConnectionData, UnbufferedServerConnection},
    unbuffered::{ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus},
};

use crate::{ClientConfig, Error, ServerConfig, Version, suites};

/// What a record needs beside its plaintext, at most: 29 with TLS 1.2 and AES-GCM.
pub const RECORD_OVERHEAD_MAX: usize = 32;

const RECORD_HEADER_BYTES: usize = 5;
const RECORD_PLAINTEXT_MAX: usize = 16 * 1024;
/// Kept of a peer: a record in part, or the records of a handshake message in part. Beyond it the session fails.
const PARTIAL_BYTES_MAX: usize = 32 * 1024;
/// Taken from a peer before its handshake is complete. Beyond it the session fails.
const HANDSHAKE_BYTES_MAX: usize = 64 * 1024;

pub struct TlsSession {
    end: End,
    phase: Phase,
    /// Received and not yet used up.
    partial: Vec<u8>,
    send_close_notify: bool,
}

/// What a call of [`TlsSession::receive`] brought about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// The handshake was completed.
    pub handshaken: bool,
    /// The peer said close_notify: it sends no more, and all it sent has arrived. An end of the stream without it may be
    /// an attacker's cut.
    pub closed: bool,
}

/// What a call of [`TlsSession::send`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// Bytes of plaintext taken.
    pub taken: usize,
    /// Bytes of room written.
    pub written: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handshaken {
    pub version: Version,
    /// IANA name.
    pub cipher_suite: &'static str,
    pub resumed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Handshake {
        received_bytes: usize,
    },
    Traffic,
    /// We said close_notify, or the session failed: nothing more is sent.
    Closed,
}

enum End {
    Server(Box<UnbufferedServerConnection>),
    Client(Box<UnbufferedClientConnection>),
}

impl TlsSession {
    pub fn server(config: &ServerConfig) -> Result<Self, Error> {
        let connection = UnbufferedServerConnection::new(config.rustls.clone()).map_err(refused)?;
        Ok(Self::new(End::Server(Box::new(connection)), config.send_close_notify))
    }

    /// Begins a handshake with the server called `name`, a host name or an IP address; its first flight is appended to
    /// `to_peer`.
    pub fn client(config: &ClientConfig, name: &str, to_peer: &mut Vec<u8>) -> Result<Self, Error> {
        let name = ServerName::try_from(name.to_owned()).map_err(|_| Error::BadServerName(name.to_owned()))?;
        let connection = UnbufferedClientConnection::new(config.rustls.clone(), name).map_err(refused)?;
        let mut session = Self::new(End::Client(Box::new(connection)), true);
        session.receive(&mut [], &mut |_| {}, to_peer)?;
        Ok(session)
    }

    fn new(end: End, send_close_notify: bool) -> Self {
        Self { end, phase: Phase::Handshake { received_bytes: 0 }, partial: Vec::new(), send_close_notify }
    }

    /// Takes all of `input`, overwriting it. Plaintext is handed over in order, in pieces of up to a record. What the
    /// peer must be sent is appended to `to_peer`, also when this fails: then it is the alert that says why.
    pub fn receive(
        &mut self,
        input: &mut [u8],
        plaintext: &mut impl FnMut(&[u8]),
        to_peer: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        unimplemented!()
    }

    /// Encrypts as much of `plaintext` as fits `room`, in whole records. Takes nothing when `room` is not longer than
    /// [`RECORD_OVERHEAD_MAX`].
    pub fn send(&mut self, plaintext: &[u8], room: &mut [u8]) -> Result<Sent, Error> {
        unimplemented!()
    }

    /// Appends the close_notify that ends our side, if the configuration wants one and none has been sent.
    pub fn close(&mut self, to_peer: &mut Vec<u8>) {
        unimplemented!()
    }

    /// `None` until the handshake is complete.
    pub fn handshaken(&self) -> Option<Handshaken> {
        unimplemented!()
    }
}

fn refused(error: rustls::Error) -> Error {
    Error::Refused(error.to_string())
}
