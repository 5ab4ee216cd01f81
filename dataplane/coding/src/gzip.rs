//! gzip (RFC 1952), by zlib-rs. The frame around the deflated content is written here: content may go on without the
//! encoder, and what stands behind it has to be known then.

use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Status};

use crate::{
    step::{Broken, Step, Until},
    sum::Sum,
    tail::Tail,
};

/// The largest window. Negative: without a frame.
const WINDOW_BITS: i32 = -15;
/// Deflated; no name, no time; of Unix.
pub(crate) const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

pub struct Gzip {
    deflate: Deflate,
    sum: Sum,
    /// Of the frame: goes out before all else.
    frame: Tail,
    /// All of the content has been deflated. zlib-rs 0.6.8 resets only such a state well: of another one, the next stream
    /// could begin within a block.
    is_over: bool,
}

impl Gzip {
    pub fn new(level: u8) -> Self {
        let config = DeflateConfig { level: level.into(), window_bits: WINDOW_BITS, ..DeflateConfig::default() };
        let deflate = Deflate::new_with_config(config);
        Self { deflate, sum: Sum::default(), frame: Tail::of(&HEAD), is_over: false }
    }

    pub fn begin_again(&mut self, level: u8) -> bool {
        let was_over = std::mem::replace(&mut self.is_over, false);
        (self.sum, self.frame) = (Sum::default(), Tail::of(&HEAD));
        self.deflate.reset();
        was_over && self.deflate.set_level(level.into()) == Ok(Status::Ok)
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Of the content until now.
    pub fn sum(&self) -> Sum {
        self.sum
    }

    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        let framed = self.frame.write(room);
        let room = &mut room[framed..];
        if self.is_over || !self.frame.is_empty() {
            return Ok(Step { read: 0, written: framed, is_done: self.is_over && self.frame.is_empty() });
        }
        let flush = match until {
            Until::More => DeflateFlush::NoFlush,
            Until::Flush => DeflateFlush::SyncFlush,
            Until::End => DeflateFlush::Finish,
        };
        let (before_in, before_out) = (self.deflate.total_in(), self.deflate.total_out());
        let status = self.deflate.compress(input, room, flush).map_err(|_| Broken)?;
        let read = (self.deflate.total_in() - before_in) as usize;
        let mut written = (self.deflate.total_out() - before_out) as usize;
        self.sum.add(&input[..read]);
        let is_done = match until {
            Until::End => {
                self.is_over = status == Status::StreamEnd;
                if self.is_over {
                    self.frame = Tail::of(&self.sum.text());
                    written += self.frame.write(&mut room[written..]);
                }
                self.is_over && self.frame.is_empty()
            }
            // A buffer that is not full shows that nothing more waits for room.
            Until::More | Until::Flush => read == input.len() && written < room.len(),
        };
        Ok(Step { read, written: framed + written, is_done })
    }
}
