//! gzip (RFC 1952), by zlib-rs.

use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Status};

use crate::step::{Broken, Step, Until};

/// The largest window, and 16 for the wrapper of gzip.
const WINDOW_BITS: i32 = 15 + 16;

pub struct Gzip {
    deflate: Deflate,
    /// It has come to its end. zlib-rs 0.6.8 resets only such a state well: of another one, the next stream could begin
    /// within a block.
    is_over: bool,
}

impl Gzip {
    pub fn new(level: u8) -> Self {
        let config = DeflateConfig { level: level.into(), window_bits: WINDOW_BITS, ..DeflateConfig::default() };
        Self { deflate: Deflate::new_with_config(config), is_over: false }
    }

    pub fn begin_again(&mut self, level: u8) -> bool {
        let was_over = std::mem::replace(&mut self.is_over, false);
        self.deflate.reset();
        was_over && self.deflate.set_level(level.into()) == Ok(Status::Ok)
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        let flush = match until {
            Until::More => DeflateFlush::NoFlush,
            Until::Flush => DeflateFlush::SyncFlush,
            Until::End => DeflateFlush::Finish,
        };
        let (before_in, before_out) = (self.deflate.total_in(), self.deflate.total_out());
        let status = self.deflate.compress(input, room, flush).map_err(|_| Broken)?;
        let read = (self.deflate.total_in() - before_in) as usize;
        let written = (self.deflate.total_out() - before_out) as usize;
        let is_done = match until {
            Until::End => {
                self.is_over = status == Status::StreamEnd;
                self.is_over
            }
            // A buffer that is not full shows that nothing more waits for room.
            Until::More | Until::Flush => read == input.len() && written < room.len(),
        };
        Ok(Step { read, written, is_done })
    }
}
