//! The sum of the content of gzip.

use zlib_rs::crc32::crc32;

/// What gzip says of the content at its end (RFC 1952 §2.3.1).
#[derive(Clone, Copy, Default)]
pub struct Sum {
    crc: u32,
    bytes: u32,
}

impl Sum {
    pub fn add(&mut self, content: &[u8]) {
        self.crc = crc32(self.crc, content);
        self.bytes = self.bytes.wrapping_add(content.len() as u32);
    }

    pub fn text(self) -> [u8; 8] {
        let (mut text, [crc, bytes]) = ([0; 8], [self.crc, self.bytes].map(u32::to_le_bytes));
        text[..4].copy_from_slice(&crc);
        text[4..].copy_from_slice(&bytes);
        text
    }
}
