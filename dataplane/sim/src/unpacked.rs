//! What clients make of content that the engine has compressed.

use zlib_rs::{Inflate, InflateFlush, Status};

/// Which requests say that their client takes gzip.
pub fn takes_gzip(id: u64) -> bool {
    id.is_multiple_of(2)
}

/// The window of gzip, and 16 for its wrapper.
const WINDOW_BITS: u8 = 15 + 16;

/// Content of gzip on its way. It shares nothing with `weir-coding` but the library.
pub struct Unpacked {
    inflate: Inflate,
    pub is_whole: bool,
    /// As it came.
    pub coded_bytes: usize,
}

impl Unpacked {
    /// By the Content-Encoding of a response. `None`: the content came as it is.
    pub fn of(coding: Option<&[u8]>) -> Option<Self> {
        coding.map(|_| Self { inflate: Inflate::new(true, WINDOW_BITS), is_whole: false, coded_bytes: 0 })
    }

    /// The content in what has come. `None`: that is no gzip.
    pub fn unpack(&mut self, mut coded: &[u8]) -> Option<Vec<u8>> {
        self.coded_bytes += coded.len();
        let (mut content, mut room) = (Vec::new(), vec![0; 4096]);
        loop {
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(coded, &mut room, InflateFlush::NoFlush).ok()?;
            coded = &coded[(self.inflate.total_in() - before_in) as usize..];
            let written = (self.inflate.total_out() - before_out) as usize;
            content.extend_from_slice(&room[..written]);
            self.is_whole |= status == Status::StreamEnd;
            if self.is_whole {
                return coded.is_empty().then_some(content);
            }
            if written < room.len() && coded.is_empty() {
                return Some(content);
            }
            if written == 0 && status == Status::BufError {
                return None;
            }
        }
    }
}
