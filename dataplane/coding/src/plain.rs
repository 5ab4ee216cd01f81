//! Content that goes on as it is within a body that was begun encoded, in the blocks that each format has for what does not
//! get shorter. They need no memory: a response goes on in them when its encoder serves another one. What that encoder had
//! taken has come out before, up to a whole byte.

use crate::{
    coding::Coding,
    gzip,
    step::{Step, Until},
    sum::Sum,
    tail::Tail,
};

pub struct Plain {
    coding: Coding,
    /// Of all content, before and since: gzip says it at its end.
    sum: Sum,
    /// What goes out before all else: of a head or an end, what had no room.
    tail: Tail,
    /// Content that the head of a block has announced and that has not gone out.
    block_left: usize,
    has_ended: bool,
}

impl Plain {
    /// `sum`: of the content until now, if it is of gzip. `begins`: nothing of the body has gone out.
    pub fn new(coding: Coding, sum: Sum, begins: bool) -> Self {
        let tail = if begins { begin(coding) } else { Tail::default() };
        Self { coding, sum, tail, block_left: 0, has_ended: false }
    }

    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// A block may be longer than the room: the caller comes again with the rest of the input.
    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Step {
        let (mut read, mut written) = (0, 0);
        loop {
            written += self.tail.write(&mut room[written..]);
            let bytes = self.block_left.min(input.len() - read).min(room.len() - written);
            let content = &input[read..read + bytes];
            room[written..written + bytes].copy_from_slice(content);
            if self.coding == Coding::Gzip {
                self.sum.add(content);
            }
            (read, written) = (read + bytes, written + bytes);
            self.block_left -= bytes;
            let left = input.len() - read;
            let is_between_blocks = self.tail.is_empty() && self.block_left == 0;
            if is_between_blocks && left > 0 {
                self.block_left = left.min(BLOCK_BYTES_MAX);
                self.tail = self.block_head(self.block_left);
            } else if is_between_blocks && until == Until::End && !self.has_ended {
                self.has_ended = true;
                self.tail = self.end();
            } else {
                return Step { read, written, is_done: left == 0 && is_between_blocks };
            }
        }
    }

    /// What stands before so many bytes of content.
    fn block_head(&self, bytes: usize) -> Tail {
        match self.coding {
            // RFC 1951 §3.2.4: not the last block, stored; its length, and the complement of that.
            Coding::Gzip => {
                let [low, high] = (bytes as u16).to_le_bytes();
                Tail::of(&[0, low, high, !low, !high])
            }
            // RFC 7932 §9.2: not the last meta-block, four nibbles of length less one, uncompressed.
            Coding::Brotli => Tail::of(&(((bytes - 1) << 3 | 1 << 19) as u32).to_le_bytes()[..3]),
            // RFC 8878 §3.1.1.2: not the last block, raw, its length.
            Coding::Zstd => Tail::of(&((bytes << 3) as u32).to_le_bytes()[..3]),
        }
    }

    fn end(&self) -> Tail {
        match self.coding {
            Coding::Gzip => {
                let mut end = [0; 13];
                end[..5].copy_from_slice(&[1, 0, 0, 0xff, 0xff]);
                end[5..].copy_from_slice(&self.sum.text());
                Tail::of(&end)
            }
            // The last meta-block, empty.
            Coding::Brotli => Tail::of(&[3]),
            // The last block, raw, empty.
            Coding::Zstd => Tail::of(&[1, 0, 0]),
        }
    }
}

/// What stands before the first block.
fn begin(coding: Coding) -> Tail {
    match coding {
        Coding::Gzip => Tail::of(&gzip::HEAD),
        // RFC 7932 §9.1, §9.2: a window of 16 bits, and an empty block of metadata up to a whole byte.
        Coding::Brotli => Tail::of(&[0x0c]),
        // RFC 8878 §3.1.1.1: no size, no checksum, and a window of 64 KiB.
        Coding::Zstd => Tail::of(&[0x28, 0xb5, 0x2f, 0xfd, 0, 6 << 3]),
    }
}

/// What a block has at most in each format.
const BLOCK_BYTES_MAX: usize = 0xffff;
