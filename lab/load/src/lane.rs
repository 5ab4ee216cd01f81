//! One of the connections held open: its link to the server, if it has one, and the request under way.

use weir_proxy::io::{Conn, Io, Time};
use weir_tls::TlsSession;

use crate::{
    answer::{Reader, Reading},
    tally::{Cause, Tally},
};

#[derive(Default)]
pub struct Lane {
    pub link: Option<Link>,
    pub under_way: Option<UnderWay>,
}

pub struct UnderWay {
    pub due: Time,
    pub begun: Time,
}

pub struct Link {
    pub conn: Conn,
    pub reader: Reader,
    pub stage: Stage,
    /// Requests answered on this connection.
    pub served: u64,
    /// The last value of the field that answers are counted by.
    pub value: Option<String>,
    tls: Option<TlsSession>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Connecting,
    Handshaking,
    Open,
}

impl Link {
    pub fn new(conn: Conn, tls: Option<TlsSession>) -> Self {
        Self { conn, reader: Reader::default(), stage: Stage::Connecting, served: 0, value: None, tls }
    }

    /// The connection is established; true if a request can be sent.
    pub fn connected(&mut self) -> bool {
        self.stage = if self.tls.is_some() { Stage::Handshaking } else { Stage::Open };
        self.stage == Stage::Open
    }

    pub fn send(&mut self, io: &mut impl Io, mut bytes: &[u8]) -> Result<(), Cause> {
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
        Ok(())
    }

    /// Takes what has arrived; true when this completed the handshake. `to_peer` is used as scratch.
    pub fn receive(
        &mut self,
        io: &mut impl Io,
        bytes: &mut [u8],
        reading: &mut Reading<'_>,
        to_peer: &mut Vec<u8>,
    ) -> Result<bool, Cause> {
        let Self { tls, reader, .. } = self;
        let Some(tls) = tls else {
            reader.feed(bytes, reading);
            return Ok(false);
        };
        to_peer.clear();
        let progress = tls.receive(bytes, &mut |plain| reader.feed(plain, reading), to_peer);
        send_raw(io, self.conn, to_peer);
        let handshaken = progress?.handshaken;
        if handshaken {
            self.stage = Stage::Open;
        }
        Ok(handshaken)
    }

    pub fn count_handshake(&self, tally: &mut Tally) {
        if let Some(handshaken) = self.tls.as_ref().and_then(TlsSession::handshaken) {
            tally.handshaken(handshaken);
        }
    }

    /// Says goodbye, where TLS has a word for it.
    pub fn say_goodbye(&mut self, io: &mut impl Io, to_peer: &mut Vec<u8>) {
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
