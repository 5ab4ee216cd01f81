//! A client that speaks HTTP/2 by prior knowledge. It asks on several streams at once, and sends fields that it has sent
//! before as indices, as browsers do.

use weir_wire::{
    head::{FieldTable, Limits, Method},
    http2::{Config, Connection, Event, Role, Settings},
};

use crate::Failure;

/// Requests that a client sends at once.
pub const STREAMS: usize = 8;

/// The regular fields of each request.
const FIELDS: [(&str, &str); 5] = [
    (":authority", "www.example.com"),
    ("user-agent", "Mozilla/5.0 (X11; Linux)"),
    ("accept", "text/html,application/xhtml+xml"),
    ("accept-encoding", "gzip, br"),
    ("cookie", "session=0123456789"),
];
/// GET, http and /index.html in the static table.
const TARGET: [u8; 3] = [0x82, 0x86, 0x85];
/// A connection begins with an empty table: this gives it the usual size.
const TABLE_4096: [u8; 3] = [0x3f, 0xe1, 0x1f];
/// The first index of the dynamic table.
const DYNAMIC: usize = 62;

const LIMITS: Limits = Limits { head_bytes: 16_384, field_bytes: 8192, fields: 64 };

pub struct Http2 {
    connection: Connection<()>,
    has_asked: bool,
    bytes: usize,
    answered: usize,
}

impl Http2 {
    pub fn new() -> Self {
        let settings = Settings { enable_push: false, ..Settings::default() };
        let config = Config { settings, window: 1 << 24, head_bytes: 16_384, control_frames: 0, empty_frames: 0 };
        Self { connection: Connection::new(Role::Client, config, 0), has_asked: false, bytes: 0, answered: 0 }
    }

    pub fn ask(&mut self, outbox: &mut Vec<u8>) -> Result<(), Failure> {
        outbox.append(self.connection.control());
        for _ in 0..STREAMS {
            let stream = self.connection.open().ok_or("no stream is left")?;
            let mut block = if self.has_asked { Vec::new() } else { TABLE_4096.to_vec() };
            block.extend_from_slice(&TARGET);
            for (at, (name, value)) in FIELDS.iter().enumerate() {
                if self.has_asked {
                    block.push(0x80 | (DYNAMIC + FIELDS.len() - 1 - at) as u8);
                } else {
                    block.push(0x40);
                    for text in [name, value] {
                        block.push(text.len() as u8);
                        block.extend_from_slice(text.as_bytes());
                    }
                }
            }
            self.has_asked = true;
            let mut out = vec![0; block.len() + self.connection.overhead(block.len())];
            let bytes = self.connection.write_head(&mut out, stream, true, |room| {
                room[..block.len()].copy_from_slice(&block);
                Ok::<_, weir_wire::head::Overflow>(block.len())
            });
            outbox.extend_from_slice(&out[..bytes.map_err(|_| "no room for a request")?]);
        }
        Ok(())
    }

    pub fn hear(&mut self, bytes: &[u8], outbox: &mut Vec<u8>) -> Result<(), Failure> {
        let mut at = 0;
        loop {
            match self.connection.take(bytes, &mut at, 0).map_err(|code| format!("{code:?}"))? {
                Event::More => break,
                Event::Head { .. } => {
                    let mut table = FieldTable::new();
                    let head = self.connection.response(bytes, Method::Get, &LIMITS, &mut table);
                    if head.map_err(|wrong| format!("{wrong:?}"))?.status != 200 {
                        return Err("a stream got no 200".into());
                    }
                }
                Event::Data { stream, content, is_all } => {
                    self.bytes += content.len();
                    self.connection.give_back(stream, content.len() as u32);
                    if is_all {
                        self.answered += 1;
                        self.connection.end(stream, weir_wire::http2::Code::NoError);
                    }
                }
                Event::Room { .. } | Event::Priority { .. } => {}
                other => return Err(format!("{other:?}").into()),
            }
        }
        outbox.append(self.connection.control());
        Ok(())
    }

    /// The length of each body, once all streams are answered; forgets it.
    pub fn take_response(&mut self) -> Option<usize> {
        let (answered, bytes) = (std::mem::take(&mut self.answered), std::mem::take(&mut self.bytes));
        (answered == STREAMS).then_some(bytes / STREAMS)
    }
}
