//! One TLS connection, either side: the peer's bytes in, plaintext and bytes for the peer out.
//!
//! rustls decrypts in the caller's buffer. A session only stores an incomplete record, and frees it when the record is
//! complete. So an idle session has keys and no buffer.

use std::{num::NonZeroU32, sync::Arc};

use rustls::{CommonState, HandshakeKind, client::UnbufferedClientConnection, server::UnbufferedServerConnection};

use crate::{
    CertificateFault, ClientAuth, ClientCertificate, ClientConfig, Error, Fault, Group, ServerConfig, ServerName,
    Version, origin,
    shown::{self, Shown},
    sni, suites,
    unbuffered::{Sent, Unbuffered},
};

const RECORD_HEADER_BYTES: usize = 5;
/// The limit of what is stored of a peer: an incomplete record, or the records of an incomplete handshake message.
/// Beyond it the session fails.
const PARTIAL_BYTES_MAX: usize = 32 * 1024;
/// Taken from a peer before its handshake is complete. Beyond it the session fails.
const HANDSHAKE_BYTES_MAX: usize = 64 * 1024;

/// The record of a fatal decode_error, as it is before there are keys (RFC 8446 §5.1, §6).
const DECODE_ERROR: [u8; 7] = [21, 3, 3, 0, 2, 2, 50];

pub struct TlsSession {
    end: End,
    phase: Phase,
    /// Of the certificate that the client was given.
    key: Option<&'static str>,
    /// Received and not yet used up.
    partial: Vec<u8>,
    /// The peer said close_notify; what comes behind it is dropped (RFC 8446 §6.1).
    peer_closed: bool,
    send_close_notify: bool,
    /// The alert that has ended the session, if it is known.
    alert: Option<u8>,
    /// `None`: the peer is not asked for a certificate.
    asked: Option<Box<Asked>>,
    origin: Option<NonZeroU32>,
}

/// A client that is asked for a certificate.
struct Asked {
    by: Arc<ClientAuth>,
    shown: Option<Shown>,
    /// `None`: it has shown none, or the handshake is not complete.
    certificate: Option<Arc<ClientCertificate>>,
}

/// What a call of [`TlsSession::receive`] brought about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// The handshake was completed.
    pub handshaken: bool,
    /// The peer has sent close_notify: it sends no more, and all that it sent has arrived. An end of the stream without
    /// it may come from an attacker.
    pub closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handshaken {
    pub version: Version,
    /// IANA name.
    pub cipher_suite: &'static str,
    /// Name of the key exchange group, as in [`Group::NAMES`]; `None` without an exchange.
    pub group: Option<&'static str>,
    /// What the key of the server's certificate signs with, on the server's side; `None` for a resumed session, which needs
    /// no certificate.
    pub key: Option<&'static str>,
    pub resumed: bool,
}

/// The numbers that IANA has given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    pub version: u16,
    pub suite: u16,
    /// 0: there was no exchange of keys.
    pub group: u16,
    pub resumed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Handshake {
        received_bytes: usize,
    },
    Traffic,
    /// We said close_notify: nothing more is sent.
    Closed,
    /// Nothing is sent or received.
    Failed,
}

enum End {
    Server(Box<UnbufferedServerConnection>),
    Client(Box<UnbufferedClientConnection>),
}

impl TlsSession {
    pub fn server(config: &ServerConfig) -> Result<Self, Error> {
        let connection = UnbufferedServerConnection::new(config.rustls.clone()).map_err(refused)?;
        let mut session = Self::new(End::Server(Box::new(connection)), config.send_close_notify);
        session.asked = config.clients.clone().map(|by| Box::new(Asked { by, shown: None, certificate: None }));
        Ok(session)
    }

    /// Starts a handshake with the server called `name`, and appends the first flight to `to_peer`.
    pub fn client(config: &ClientConfig, name: &ServerName, to_peer: &mut Vec<u8>) -> Result<Self, Error> {
        let connection = UnbufferedClientConnection::new(config.rustls.clone(), name.0.clone()).map_err(refused)?;
        let mut session = Self::new(End::Client(Box::new(connection)), config.send_close_notify);
        session.receive(&mut [], &mut |_| {}, to_peer)?;
        Ok(session)
    }

    fn new(end: End, send_close_notify: bool) -> Self {
        Self {
            end,
            phase: Phase::Handshake { received_bytes: 0 },
            key: None,
            partial: Vec::new(),
            peer_closed: false,
            send_close_notify,
            alert: None,
            asked: None,
            origin: None,
        }
    }

    /// Says where the session begins, unless it goes on from an earlier one. For a server that
    /// [keeps that](ServerConfig::keeps_origin), before anything is received.
    pub fn set_origin(&mut self, origin: NonZeroU32) {
        self.origin = Some(origin);
    }

    /// Where the session began, once the handshake is complete: as [said](Self::set_origin) for the first connection that it
    /// goes on from. `None`: nobody said so.
    pub fn origin(&self) -> Option<NonZeroU32> {
        self.origin
    }

    /// Takes all of `input`, and overwrites it. Plaintext is handed over in order, in pieces of at most a record. Bytes
    /// for the peer are appended to `to_peer`, also on failure: then they are the alert with the reason.
    pub fn receive(
        &mut self,
        mut input: &mut [u8],
        plaintext: &mut impl FnMut(&[u8]),
        to_peer: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        if self.phase == Phase::Failed {
            return Err(Error::Failed);
        }
        let mut progress = Progress::default();
        while !self.partial.is_empty() && !input.is_empty() && !self.peer_closed {
            let (completing, rest) = input.split_at_mut(missing_bytes(&self.partial).min(input.len()));
            self.keep(completing)?;
            let mut partial = std::mem::take(&mut self.partial);
            let used = self.consume(&mut partial, plaintext, to_peer, &mut progress)?;
            if used < partial.len() && !self.peer_closed {
                partial.drain(..used);
                self.partial = partial;
            }
            input = rest;
        }
        // A client's first flight needs no input.
        if self.partial.is_empty() && !self.peer_closed {
            let used = self.consume(input, plaintext, to_peer, &mut progress)?;
            if !self.peer_closed {
                self.keep(&input[used..])?;
            }
        }
        Ok(progress)
    }

    /// Encrypts as much of `plaintext` as fits into `room`, in whole records. It takes nothing if `room` is not longer
    /// than [`crate::RECORD_OVERHEAD_MAX`].
    pub fn send(&mut self, plaintext: &[u8], room: &mut [u8]) -> Result<Sent, Error> {
        match self.phase {
            Phase::Handshake { .. } => return Err(Error::NotHandshaken),
            Phase::Closed => return Err(Error::Closed),
            Phase::Failed => return Err(Error::Failed),
            Phase::Traffic => {}
        }
        match &mut self.end {
            End::Server(connection) => connection.encrypt(&mut self.partial, plaintext, room),
            End::Client(connection) => connection.encrypt(&mut self.partial, plaintext, room),
        }
    }

    /// Appends the close_notify of our side, if the configuration wants one and none has been sent.
    pub fn close(&mut self, to_peer: &mut Vec<u8>) {
        if self.phase != Phase::Traffic {
            return;
        }
        self.phase = Phase::Closed;
        if self.send_close_notify {
            match &mut self.end {
                End::Server(connection) => connection.say_goodbye(&mut self.partial, to_peer),
                End::Client(connection) => connection.say_goodbye(&mut self.partial, to_peer),
            }
        }
    }

    /// The peer said close_notify, so that the end of the stream is no attacker's cut.
    pub fn is_closed_by_peer(&self) -> bool {
        self.peer_closed
    }

    /// `None` until the handshake is complete.
    pub fn handshaken(&self) -> Option<Handshaken> {
        let state = self.state();
        if state.is_handshaking() {
            return None;
        }
        let suite = state.negotiated_cipher_suite()?;
        let resumed = state.handshake_kind() == Some(HandshakeKind::Resumed);
        Some(Handshaken {
            version: suites::version_of(suite),
            cipher_suite: suites::iana_name(suite.suite())?,
            group: state.negotiated_key_exchange_group().and_then(|group| Group::name_of(group.name())),
            key: self.key.filter(|_| !resumed),
            resumed,
        })
    }

    /// What the handshake has agreed on, by numbers. `None` until it is complete.
    pub fn numbers(&self) -> Option<Numbers> {
        let state = self.state();
        if state.is_handshaking() {
            return None;
        }
        let suite = state.negotiated_cipher_suite()?;
        Some(Numbers {
            version: suites::version_of(suite).number(),
            suite: suite.suite().into(),
            group: state.negotiated_key_exchange_group().map_or(0, |group| group.name().into()),
            resumed: state.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }

    /// The alert that has failed the session, from either end. `None`: it has not failed, or the alert is not known, because
    /// it was encrypted.
    pub fn alert(&self) -> Option<u8> {
        self.alert
    }

    /// The protocol that both ends have agreed on by ALPN.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.state().alpn_protocol()
    }

    /// The certificate that the client has shown in the handshake, or in the one of the session that it resumes. `None`: none,
    /// or the handshake is not complete.
    pub fn client_certificate(&self) -> Option<&Arc<ClientCertificate>> {
        self.asked.as_ref()?.certificate.as_ref()
    }

    fn state(&self) -> &CommonState {
        match &self.end {
            End::Server(connection) => connection,
            End::Client(connection) => connection,
        }
    }

    /// Gives whole records to rustls; returns how much of `input` it has done with.
    fn consume(
        &mut self,
        input: &mut [u8],
        plaintext: &mut impl FnMut(&[u8]),
        to_peer: &mut Vec<u8>,
        progress: &mut Progress,
    ) -> Result<usize, Error> {
        let queued_bytes = to_peer.len();
        if let (Phase::Handshake { .. }, Some(asked)) = (self.phase, &self.asked) {
            shown::resume(asked.shown);
        }
        if let (Phase::Handshake { .. }, Some(origin)) = (self.phase, self.origin) {
            origin::resume(origin);
        }
        let outcome = match &mut self.end {
            End::Server(connection) => connection.pump(input, plaintext, to_peer),
            End::Client(connection) => connection.pump(input, plaintext, to_peer),
        };
        // Also after an error: the next session on this thread must not find it.
        if matches!(self.phase, Phase::Handshake { .. }) {
            self.key = sni::take_chosen().or(self.key);
            if let Some(asked) = &mut self.asked {
                asked.shown = shown::suspend();
            }
            if self.origin.is_some() {
                self.origin = origin::suspend();
            }
        }
        let pumped = outcome.map_err(|error| {
            // rustls queues no alert for some of what cannot be a first message at all.
            if to_peer.len() == queued_bytes && self.state().protocol_version().is_none() {
                to_peer.extend_from_slice(&DECODE_ERROR);
            }
            self.alert = match &error {
                rustls::Error::AlertReceived(alert) => Some(u8::from(*alert)),
                _ => alert_of(&to_peer[queued_bytes..]),
            };
            let shown = self.asked.as_ref().map(|asked| asked.shown);
            self.failed(match error {
                rustls::Error::NoCertificatesPresented => Error::ClientCertificate(CertificateFault::Missing),
                rustls::Error::InvalidCertificate(_) if shown.is_some() => {
                    Error::ClientCertificate(match shown.flatten() {
                        Some(Shown::Bad(fault)) => fault,
                        _ => CertificateFault::Unreadable,
                    })
                }
                rustls::Error::InvalidCertificate(_) => Error::Untrusted(error.to_string()),
                _ => Error::Peer(Fault::of(&error), error.to_string()),
            })
        })?;
        progress.closed |= pumped.closed;
        self.peer_closed |= pumped.closed;
        if let Phase::Handshake { received_bytes } = &mut self.phase {
            *received_bytes += pumped.used;
            if *received_bytes > HANDSHAKE_BYTES_MAX {
                return Err(self.failed(Error::HandshakeTooLong));
            }
            if !self.state().is_handshaking() {
                self.phase = Phase::Traffic;
                progress.handshaken = true;
                self.keep_certificate();
            }
        }
        Ok(pumped.used)
    }

    /// The handshake is complete.
    fn keep_certificate(&mut self) {
        let Some(mut asked) = self.asked.take() else { return };
        if let Some(chain) = self.state().peer_certificates() {
            asked.certificate = Some(Arc::new(ClientCertificate::new(chain, &asked.by.authorities, asked.shown)));
        }
        self.asked = Some(asked);
    }

    #[inline(always)]
    fn keep(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(()); // as a rule, whole records come
        }
        if self.partial.len() + bytes.len() > PARTIAL_BYTES_MAX {
            return Err(self.failed(Error::HandshakeTooLong));
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    fn failed(&mut self, error: Error) -> Error {
        self.phase = Phase::Failed;
        self.partial = Vec::new();
        error
    }
}

/// How many more bytes complete the record that `partial` begins with. If the record is complete and still here, it
/// holds a part of a handshake message. rustls does not say how much more that needs, so the answer is: all there is.
fn missing_bytes(partial: &[u8]) -> usize {
    let &[_, _, _, high, low, ..] = partial else { return RECORD_HEADER_BYTES - partial.len() };
    let record_bytes = RECORD_HEADER_BYTES + usize::from(u16::from_be_bytes([high, low]));
    match record_bytes.saturating_sub(partial.len()) {
        0 => usize::MAX,
        missing => missing,
    }
}

/// The alert that records for the peer end with, if it is not encrypted (RFC 8446 §6).
fn alert_of(records: &[u8]) -> Option<u8> {
    match records.last_chunk()? {
        [21, 3, _, 0, 2, _, alert] => Some(*alert),
        _ => None,
    }
}

fn refused(error: rustls::Error) -> Error {
    Error::Refused(error.to_string())
}

#[cfg(test)]
mod tests {
    use rustls::unbuffered::ConnectionState;

    use super::*;

    use crate::{Certificate, ClientSettings, Group, Provider, RECORD_OVERHEAD_MAX, TlsSettings};

    fn server(provider: &Provider) -> TlsSession {
        let chain = include_bytes!("../testdata/default-ec.crt.der").to_vec();
        let key = include_bytes!("../testdata/default-ec.key.der");
        let certificate = Certificate::read(&[chain], key, provider).unwrap();
        let settings = TlsSettings {
            versions: vec![Version::Tls13],
            cipher_suites: vec!["TLS_AES_128_GCM_SHA256".to_owned()],
            groups: Vec::new(),
            prefer_client_order: false,
            session_resumption: true,
            tickets: None,
            protocols: Vec::new(),
            send_close_notify: true,
        };
        let (config, _) = ServerConfig::build(&settings, &[certificate], None, provider).unwrap();
        TlsSession::server(&config).unwrap()
    }

    fn handshaken() -> [TlsSession; 2] {
        let provider = Provider::new();
        let settings = ClientSettings {
            versions: vec![Version::Tls13],
            cipher_suites: Vec::new(),
            groups: vec![Group::X25519],
            session_resumption: false,
        };
        let client = ClientConfig::unverified(&settings, &provider).unwrap();

        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        let mut client = TlsSession::client(&client, &ServerName::parse("a.test").unwrap(), &mut to_server).unwrap();
        let mut server = server(&provider);
        while !to_server.is_empty() {
            server.receive(&mut to_server, &mut |_| {}, &mut to_client).unwrap();
            to_server.clear();
            client.receive(&mut to_client, &mut |_| {}, &mut to_server).unwrap();
            to_client.clear();
        }
        [client, server]
    }

    fn seal(session: &mut TlsSession, plaintext: &[u8]) -> Vec<u8> {
        let mut sealed = vec![0; plaintext.len() + 10 * RECORD_OVERHEAD_MAX];
        let sent = session.send(plaintext, &mut sealed).unwrap();
        assert_eq!(sent.taken, plaintext.len());
        sealed.truncate(sent.written);
        sealed
    }

    #[test]
    fn what_cannot_be_a_first_message_is_answered_with_an_alert() {
        let mut to_peer = Vec::new();
        let mut hello_of_460_kilobytes = [&[22, 3, 1, 0, 40][..], &[7; 40]].concat();
        let mut session = server(&Provider::new());
        let heard = session.receive(&mut hello_of_460_kilobytes, &mut |_| {}, &mut to_peer);
        assert!(heard.is_err());
        assert_eq!(to_peer, DECODE_ERROR);
    }

    #[test]
    fn idle_session_keeps_no_buffer() {
        let [mut client, mut server] = handshaken();
        let sealed = seal(&mut client, &[7; 40_000]);
        let mut pieces = sealed.chunks(1_000).map(<[u8]>::to_vec);
        server.receive(&mut pieces.next().unwrap(), &mut |_| {}, &mut Vec::new()).unwrap();
        assert!(server.partial.capacity() > 0);
        for mut piece in pieces {
            server.receive(&mut piece, &mut |_| {}, &mut Vec::new()).unwrap();
        }
        assert_eq!((server.partial.capacity(), client.partial.capacity()), (0, 0));
    }

    /// A peer may ask for new keys at any time. The answer goes before the next record, however little room there is.
    #[test]
    fn key_update_finds_its_place_in_the_tightest_room() {
        for room_bytes in [RECORD_OVERHEAD_MAX + 1, 60, 64, 100] {
            let [mut client, mut server] = handshaken();
            let End::Client(connection) = &mut client.end else { panic!("a client") };
            let Ok(ConnectionState::WriteTraffic(traffic)) = connection.process(&mut []).state else { panic!("open") };
            traffic.refresh_traffic_keys().unwrap();
            let mut to_server = Vec::new();
            client.receive(&mut [], &mut |_| {}, &mut to_server).unwrap();
            assert!(!to_server.is_empty());
            server.receive(&mut to_server, &mut |_| {}, &mut Vec::new()).unwrap();

            let (mut sent_bytes, mut heard) = (0, Vec::new());
            while sent_bytes < 200 {
                let mut room = vec![0; room_bytes];
                let sent = server.send(&[b'x'; 200][sent_bytes..], &mut room).unwrap();
                assert!(sent.written > 0, "room of {room_bytes}");
                sent_bytes += sent.taken;
                let input = &mut room[..sent.written];
                client.receive(input, &mut |piece| heard.extend_from_slice(piece), &mut Vec::new()).unwrap();
            }
            assert_eq!(heard, [b'x'; 200]);
        }
    }
}
