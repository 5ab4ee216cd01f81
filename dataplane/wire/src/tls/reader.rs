//! Puts together the first handshake message of a connection, however it is spread over records and reads. Of the
//! bytes nothing is consumed: who reads them afterwards, here or on a server, reads them from their beginning.

use super::{ClientHello, NoClientHello};

/// The limit of the message. Post-quantum key shares make it two kilobytes, and certificates of authorities longer.
pub const HELLO_BYTES_MAX: usize = 64 * 1024;
/// The limit of a record's content (RFC 8446 §5.1).
const RECORD_BYTES_MAX: usize = 16 * 1024;
const RECORD_HEADER_BYTES: usize = 5;
const MESSAGE_HEADER_BYTES: usize = 4;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// Each byte is looked at once, however few bytes come at a time.
#[derive(Default)]
pub struct ClientHelloReader {
    header: [u8; RECORD_HEADER_BYTES],
    /// How many bytes of the record's header have come.
    header_bytes: usize,
    /// How many bytes of the record's content are still to come.
    record_bytes: usize,
    /// The message as far as it has come, without the headers of records.
    message: Vec<u8>,
    /// Bytes taken, with the headers of records.
    taken: usize,
}

impl ClientHelloReader {
    /// Takes the next bytes of the connection. Returns whether the message is whole; what follows it is not looked at.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<bool, NoClientHello> {
        while !bytes.is_empty() && !self.is_whole() {
            let used = match self.record_bytes {
                0 => self.take_header(bytes)?,
                _ => self.take_content(bytes)?,
            };
            self.taken += used;
            // Records of one byte each would make the input six times as long as the message.
            if self.taken > HELLO_BYTES_MAX {
                return Err(NoClientHello::TooLong);
            }
            bytes = &bytes[used..];
        }
        Ok(self.is_whole())
    }

    /// The message, once it is whole.
    pub fn client_hello(&self) -> Result<ClientHello<'_>, NoClientHello> {
        match self.is_whole() {
            true => ClientHello::read(&self.message[MESSAGE_HEADER_BYTES..]),
            false => Err(NoClientHello::Malformed),
        }
    }

    fn take_header(&mut self, bytes: &[u8]) -> Result<usize, NoClientHello> {
        let used = bytes.len().min(RECORD_HEADER_BYTES - self.header_bytes);
        self.header[self.header_bytes..][..used].copy_from_slice(&bytes[..used]);
        self.header_bytes += used;
        let is_tls = |(at, byte): (usize, &u8)| match at {
            0 => *byte == HANDSHAKE,
            1 => *byte == 3,
            _ => true,
        };
        if !self.header[..self.header_bytes].iter().enumerate().all(is_tls) {
            return Err(NoClientHello::NotTls);
        }
        if self.header_bytes == RECORD_HEADER_BYTES {
            let length = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
            // A record of a handshake is never empty (RFC 8446 §5.1).
            if length == 0 {
                return Err(NoClientHello::Malformed);
            }
            if length > RECORD_BYTES_MAX {
                return Err(NoClientHello::TooLong);
            }
            (self.record_bytes, self.header_bytes) = (length, 0);
        }
        Ok(used)
    }

    fn take_content(&mut self, bytes: &[u8]) -> Result<usize, NoClientHello> {
        let missing = self.message_bytes().unwrap_or(MESSAGE_HEADER_BYTES) - self.message.len();
        let used = bytes.len().min(self.record_bytes).min(missing);
        self.record_bytes -= used;
        self.message.extend_from_slice(&bytes[..used]);
        if self.message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(NoClientHello::NotTls);
        }
        match self.message_bytes() {
            Some(bytes) if bytes > HELLO_BYTES_MAX => Err(NoClientHello::TooLong),
            _ => Ok(used),
        }
    }

    fn is_whole(&self) -> bool {
        self.message_bytes() == Some(self.message.len())
    }

    /// The length of the whole message with its header; `None`: not known yet.
    fn message_bytes(&self) -> Option<usize> {
        let [_, high, mid, low] = *self.message.first_chunk::<MESSAGE_HEADER_BYTES>()?;
        Some(MESSAGE_HEADER_BYTES + u32::from_be_bytes([0, high, mid, low]) as usize)
    }
}
