//! Drives rustls' unbuffered API, whose two sides share no trait, from state to state until rustls needs more input.
//!
//! Flow: [`TlsSession`](crate::TlsSession) calls it for each piece of input and output. rustls remembers positions in
//! unfinished input, so every call must show it the same input until it has finished.

use std::ops::Deref;

use rustls::{
    client::{ClientConnectionData, UnbufferedClientConnection},
    server::{ServerConnectionData, UnbufferedServerConnection},
    unbuffered::{
        ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedConnectionCommon,
        UnbufferedStatus,
    },
};

use crate::Error;

/// What a record needs beside its plaintext, at most: 29 with TLS 1.2 and AES-GCM.
pub const RECORD_OVERHEAD_MAX: usize = 32;

const RECORD_PLAINTEXT_MAX: usize = 16 * 1024;
/// Room for a close_notify under any cipher suite.
const GOODBYE_BYTES_MAX: usize = RECORD_OVERHEAD_MAX + 2;

/// What a call of [`TlsSession::send`](crate::TlsSession::send) did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// Bytes of plaintext taken.
    pub taken: usize,
    /// Bytes of room written.
    pub written: usize,
}

pub(crate) struct Pumped {
    /// Bytes of input that rustls has done with.
    pub used: usize,
    /// The peer said close_notify.
    pub closed: bool,
}

pub(crate) trait Unbuffered: Deref<Target = UnbufferedConnectionCommon<Self::Data>> {
    type Data;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// Goes on until rustls needs more input. After an error it appends the alert to `to_peer`.
    fn pump(
        &mut self,
        input: &mut [u8],
        plaintext: &mut impl FnMut(&[u8]),
        to_peer: &mut Vec<u8>,
    ) -> Result<Pumped, rustls::Error> {
        let mut pumped = Pumped { used: 0, closed: false };
        loop {
            let UnbufferedStatus { discard, state, .. } = self.process(&mut input[pumped.used..]);
            pumped.used += discard;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        pumped.used += record.discard;
                        plaintext(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => append(to_peer, &mut data),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => pumped.closed = true,
                Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) | ConnectionState::Closed) => {
                    return Ok(pumped);
                }
                Ok(_) => return Err(rustls::Error::General("early data, which is never accepted".to_owned())),
                Err(error) => {
                    self.drain_alert(to_peer);
                    return Err(error);
                }
            }
        }
    }

    /// Only while something is queued: after that rustls would read on behind the error.
    fn drain_alert(&mut self, to_peer: &mut Vec<u8>) {
        while self.wants_write() {
            match self.process(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => append(to_peer, &mut data),
                _ => return,
            }
        }
    }

    /// `partial` is what rustls has seen and not done with: it must see it again, unchanged.
    fn encrypt(&mut self, partial: &mut [u8], plaintext: &[u8], room: &mut [u8]) -> Result<Sent, Error> {
        let mut sent = Sent::default();
        while sent.taken < plaintext.len() && room.len() - sent.written > RECORD_OVERHEAD_MAX {
            let room = &mut room[sent.written..];
            match self.process(partial).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let fits = RECORD_PLAINTEXT_MAX.min(room.len() - RECORD_OVERHEAD_MAX);
                    let piece = &plaintext[sent.taken..];
                    let piece = &piece[..fits.min(piece.len())];
                    match traffic.encrypt(piece, room) {
                        Ok(written) => {
                            sent.written += written;
                            sent.taken += piece.len();
                        }
                        // A key update goes first, as the next state.
                        Err(EncryptError::InsufficientSize(_)) => {}
                        Err(EncryptError::EncryptExhausted) => return Err(Error::Closed),
                    }
                }
                // A key update has 27 bytes and fits any room that is looked at.
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    sent.written += data.encode(room).map_err(|_| Error::Failed)?;
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                _ => return Err(Error::Closed),
            }
        }
        Ok(sent)
    }

    fn say_goodbye(&mut self, partial: &mut [u8], to_peer: &mut Vec<u8>) {
        loop {
            match self.process(partial).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let start = to_peer.len();
                    to_peer.resize(start + GOODBYE_BYTES_MAX, 0);
                    let written = traffic.queue_close_notify(&mut to_peer[start..]);
                    return to_peer.truncate(start + written.unwrap_or(0));
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => append(to_peer, &mut data),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                _ => return,
            }
        }
    }
}

impl Unbuffered for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }
}

impl Unbuffered for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }
}

/// Appends a record that rustls has ready, asking it first how long it is.
fn append(out: &mut Vec<u8>, data: &mut EncodeTlsData<'_, impl Sized>) {
    let start = out.len();
    if let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) = data.encode(&mut []) {
        out.resize(start + required_size, 0);
        let encoded = data.encode(&mut out[start..]);
        debug_assert!(encoded.is_ok_and(|written| written == required_size));
    }
}
