//! A connection to the server, with the requests under way on it.

use weir_proxy::io::{Conn, Io};
use weir_tls::TlsSession;

use crate::{
    answer::{Outcome, Reading},
    speaker::Speaker,
    tally::{Cause, Tally},
};

pub struct Link {
    pub conn: Conn,
    pub speaker: Speaker,
    pub stage: Stage,
    /// Requests begun on this connection, and those of them that are under way.
    pub begun: u64,
    pub under_way: u32,
    /// Lanes that go on with another connection, after this one.
    pub parked: Vec<u32>,
    /// A deadline is set.
    pub is_timed: bool,
    /// Its streams wait, or were asked to.
    pub waits: bool,
    /// What has come since an answer was counted.
    pub bytes: u64,
    /// The last value of the field that answers are counted by.
    pub value: Option<String>,
    /// What is to be sent.
    pub out: Vec<u8>,
    tls: Option<TlsSession>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Connecting,
    Handshaking,
    Open,
}

impl Link {
    pub fn new(conn: Conn, speaker: Speaker, tls: Option<TlsSession>) -> Self {
        Self {
            conn,
            speaker,
            stage: Stage::Connecting,
            begun: 0,
            under_way: 0,
            parked: Vec::new(),
            is_timed: false,
            waits: false,
            bytes: 0,
            value: None,
            out: Vec::new(),
            tls,
        }
    }

    /// The connection is established.
    pub fn connected(&mut self) {
        self.stage = if self.tls.is_some() { Stage::Handshaking } else { Stage::Open };
    }

    /// Whether requests may be written: without TLS before the connection is established.
    pub fn may_ask(&self) -> bool {
        self.tls.is_none() || self.stage == Stage::Open
    }

    /// Queues all that was written.
    pub fn flush(&mut self, io: &mut impl Io) -> Result<(), Cause> {
        let mut bytes = &self.out[..];
        while !bytes.is_empty() {
            let mut buf = io.buffer();
            let taken = match &mut self.tls {
                None => buf.append(bytes),
                Some(tls) => {
                    let sent = tls.send(bytes, buf.room())?;
                    buf.filled(sent.written);
                    sent.taken
                }
            };
            bytes = &bytes[taken..];
            io.send(self.conn, buf);
        }
        self.out.clear();
        Ok(())
    }

    /// Takes what has arrived; true when this completed the handshake. `to_peer` is used as scratch.
    pub fn receive(
        &mut self,
        io: &mut impl Io,
        bytes: &mut [u8],
        reading: &mut Reading<'_>,
        to_peer: &mut Vec<u8>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<bool, Cause> {
        let Self { tls, speaker, out, bytes: received, .. } = self;
        let mut feed = |plain: &[u8]| {
            *received += plain.len() as u64;
            speaker.feed(plain, reading, out, outcomes)
        };
        let mut fed = Ok(());
        let mut handshaken = false;
        match tls {
            None => fed = feed(bytes),
            Some(tls) => {
                to_peer.clear();
                let mut plain = |plain: &[u8]| {
                    if fed.is_ok() {
                        fed = feed(plain);
                    }
                };
                let progress = tls.receive(bytes, &mut plain, to_peer);
                send_raw(io, self.conn, to_peer);
                handshaken = progress?.handshaken;
            }
        }
        fed?;
        self.speaker.settle(reading.script, outcomes);
        if handshaken {
            self.stage = Stage::Open;
        }
        Ok(handshaken)
    }

    /// What both ends agreed to speak over TLS; `None`: nothing, or there is no TLS.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(TlsSession::protocol)
    }

    pub fn count_handshake(&self, tally: &mut Tally) {
        if let Some(handshaken) = self.tls.as_ref().and_then(TlsSession::handshaken) {
            tally.handshaken(handshaken);
        }
    }

    /// Says goodbye, where the protocol or TLS has a word for it.
    pub fn say_goodbye(&mut self, io: &mut impl Io, to_peer: &mut Vec<u8>) {
        self.speaker.say_goodbye(&mut self.out);
        // The connection ends anyway.
        let _ = self.flush(io);
        if let Some(tls) = &mut self.tls {
            to_peer.clear();
            tls.close(to_peer);
            send_raw(io, self.conn, to_peer);
        }
    }
}

/// Queues bytes as they are.
pub fn send_raw(io: &mut impl Io, conn: Conn, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let mut buf = io.buffer();
        bytes = &bytes[buf.append(bytes)..];
        io.send(conn, buf);
    }
}
