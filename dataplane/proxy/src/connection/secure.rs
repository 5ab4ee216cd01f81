//! The TLS of a connection. It decrypts input into the inbox. It joins the plaintext of a batch into as few records as
//! possible, because each record costs an encryption and each send a system call.
//!
//! Between batches it holds no buffer of its own.

use std::{num::NonZeroU32, sync::Arc};

use weir_tls::{ClientCertificate, Error, Handshaken, Numbers, Progress, RECORD_OVERHEAD_MAX, TlsSession};

use weir_wire::tls::ClientHelloReader;

use crate::{
    buf::Buf,
    connection::{inbox::Inbox, line::Line},
    io::Io,
};

/// Of the cipher suites that a client offers.
const SUITES_BYTES_MAX: usize = 128;
/// Of the subject of a client's certificate.
const SUBJECT_BYTES_MAX: usize = 512;

struct Asked {
    name: Option<Box<str>>,
    suites: Box<[u8]>,
    /// What its certificate says, if it has shown one.
    certificate: Option<Noted>,
}

/// What a record shows of the certificate of a client.
struct Noted {
    fault: &'static str,
    /// Cut.
    subject: Box<str>,
}

/// What a client of TLS has said in its handshake.
#[derive(Clone, Copy, Default)]
pub(crate) struct TlsTexts<'c> {
    pub server_name: &'c [u8],
    /// Cipher suites, if the handshake has failed.
    pub offered: &'c [u8],
    /// What is wrong with its certificate.
    pub fault: &'c [u8],
    /// The subject of its certificate.
    pub subject: &'c [u8],
}

impl TlsTexts<'_> {
    #[inline(always)]
    pub fn are_empty(&self) -> bool {
        let Self { server_name, offered, fault, subject } = self;
        server_name.len() + offered.len() + fault.len() + subject.len() == 0
    }
}

pub(crate) struct Secure {
    session: TlsSession,
    /// The server name that has chosen the configuration.
    pub name: Option<Box<str>>,
    /// What the ClientHello says, for records.
    asked: Option<Box<Asked>>,
    /// Plaintext that waits for more of it, or for the end of the batch.
    joined: Option<Buf>,
}

impl Secure {
    pub fn new(session: TlsSession) -> Self {
        Self { session, name: None, asked: None, joined: None }
    }

    pub fn handshaken(&self) -> Option<Handshaken> {
        self.session.handshaken()
    }

    /// Where its session began, if the configuration keeps that.
    pub fn origin(&self) -> Option<NonZeroU32> {
        self.session.origin()
    }

    pub fn numbers(&self) -> Option<Numbers> {
        self.session.numbers()
    }

    /// Keeps what a record shows of the ClientHello, if `piece` begins with all of it.
    #[cold]
    pub fn note_hello(&mut self, piece: &[u8]) {
        let mut reader = ClientHelloReader::default();
        if self.asked.is_none()
            && reader.take(piece).is_ok_and(|whole| whole)
            && let Ok(hello) = reader.client_hello()
        {
            let suites = hello.cipher_suites();
            let suites = suites[..suites.len().min(SUITES_BYTES_MAX)].into();
            let name = hello.server_name().map(Into::into);
            self.asked = Some(Box::new(Asked { name, suites, certificate: None }));
        }
    }

    /// Keeps what a record shows of the client's certificate.
    #[cold]
    pub fn note_certificate(&mut self) {
        let Some(certificate) = self.session.client_certificate() else { return };
        let noted = Noted {
            fault: certificate.fault().map_or("", |fault| fault.name()),
            subject: certificate.subject(SUBJECT_BYTES_MAX).into(),
        };
        let name = self.name.clone();
        let asked = || Box::new(Asked { name, suites: Box::default(), certificate: None });
        self.asked.get_or_insert_with(asked).certificate = Some(noted);
    }

    /// What a record says of the client, but for the cipher suites that it has offered.
    pub fn recorded(&self) -> TlsTexts<'_> {
        let mut texts =
            TlsTexts { server_name: self.asked_name().unwrap_or_default().as_bytes(), ..TlsTexts::default() };
        if let Some(noted) = self.asked.as_ref().and_then(|asked| asked.certificate.as_ref()) {
            (texts.fault, texts.subject) = (noted.fault.as_bytes(), noted.subject.as_bytes());
        }
        texts
    }

    /// The server name that the client has asked for, as far as it is known.
    pub fn asked_name(&self) -> Option<&str> {
        self.asked.as_ref().and_then(|asked| asked.name.as_deref()).or(self.name.as_deref())
    }

    /// The cipher suites that it has offered, until the handshake is complete.
    pub fn offered(&self) -> &[u8] {
        self.asked.as_ref().map_or(&[], |asked| &asked.suites)
    }

    pub fn client_certificate(&self) -> Option<&Arc<ClientCertificate>> {
        self.session.client_certificate()
    }

    pub fn alert(&self) -> Option<u8> {
        self.session.alert()
    }

    /// The handshake is complete.
    pub fn forget_offered(&mut self) {
        if let Some(asked) = &mut self.asked {
            asked.suites = Box::default();
        }
    }

    pub fn protocol(&self) -> Option<&[u8]> {
        self.session.protocol()
    }

    pub fn is_closed_by_peer(&self) -> bool {
        self.session.is_closed_by_peer()
    }

    /// Decrypts input of the peer. Sends what TLS itself has to send, alerts included.
    pub fn open<I: Io>(
        &mut self,
        io: &mut I,
        line: &mut Line,
        mut sealed: Buf,
        inbox: &mut Inbox,
        scratch: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        let mut opened = Opened { io, inbox, current: None };
        let progress = match sealed.bytes_mut() {
            Some(bytes) => self.session.receive(bytes, &mut |plain| opened.take(plain), scratch),
            None => self.session.receive(&mut sealed.to_vec(), &mut |plain| opened.take(plain), scratch),
        };
        opened.end();
        send_all(io, line, scratch);
        progress
    }

    /// Takes plaintext for the peer; true if a [`flush`](Self::flush) is due that was not due before.
    pub fn push<I: Io>(&mut self, io: &mut I, line: &mut Line, plain: Buf) -> bool {
        let Some(mut joined) = self.joined.replace(plain) else { return true };
        if let Some(plain) = self.joined.take_if(|plain| joined.room().len() >= plain.len()) {
            joined.append(&plain);
            self.joined = Some(joined);
        } else {
            self.seal(io, line, joined);
        }
        false
    }

    pub fn holds_back(&self) -> bool {
        self.joined.is_some()
    }

    pub fn flush<I: Io>(&mut self, io: &mut I, line: &mut Line) {
        if let Some(joined) = self.joined.take() {
            self.seal(io, line, joined);
        }
    }

    /// Sends a close_notify behind everything else, if the operator wants that.
    pub fn close<I: Io>(&mut self, io: &mut I, line: &mut Line, scratch: &mut Vec<u8>) {
        self.flush(io, line);
        self.session.close(scratch);
        send_all(io, line, scratch);
    }

    fn seal<I: Io>(&mut self, io: &mut I, line: &mut Line, mut plain: Buf) {
        while !plain.is_empty() {
            let mut sealed = io.buffer();
            while !plain.is_empty() && sealed.room().len() > RECORD_OVERHEAD_MAX {
                // Fails only after the session has closed, and then nothing is delivered to the peer.
                let Ok(sent) = self.session.send(&plain, sealed.room()) else { return };
                sealed.filled(sent.written);
                plain.advance(sent.taken);
            }
            line.send(io, sealed);
        }
    }
}

/// Receives plaintext into the inbox, in as few blocks as possible.
struct Opened<'a, I> {
    io: &'a mut I,
    inbox: &'a mut Inbox,
    current: Option<Buf>,
}

impl<I: Io> Opened<'_, I> {
    fn take(&mut self, mut plain: &[u8]) {
        while !plain.is_empty() {
            let mut current = self.current.take().unwrap_or_else(|| self.io.buffer());
            let taken = current.append(plain);
            plain = &plain[taken..];
            if plain.is_empty() {
                self.current = Some(current);
            } else {
                self.inbox.push(current);
            }
        }
    }

    fn end(self) {
        if let Some(last) = self.current {
            self.inbox.push(last);
        }
    }
}

pub(crate) fn send_all<I: Io>(io: &mut I, line: &mut Line, scratch: &mut Vec<u8>) {
    let mut rest = &scratch[..];
    while !rest.is_empty() {
        let mut buf = io.buffer();
        let taken = buf.append(rest);
        rest = &rest[taken..];
        line.send(io, buf);
    }
    scratch.clear();
}
