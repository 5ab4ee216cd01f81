//! Zstandard (RFC 8878), by the library of its authors.

use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, zstd_sys::ZSTD_EndDirective};

use crate::step::{Broken, Step, Until};

/// Of 64 KiB: larger ones gain little on pages, and each encoder holds several times as much.
const WINDOW_LOG: u32 = 16;
/// Of the tables, for the same reason.
const TABLE_LOG: u32 = 15;

pub struct Zstd(CCtx<'static>);

impl Zstd {
    pub fn new(level: u8) -> Result<Self, Broken> {
        let mut zstd = Self(CCtx::try_create().ok_or(Broken)?);
        zstd.set_level(level).map(|()| zstd)
    }

    pub fn begin_again(&mut self, level: u8) -> bool {
        self.0.reset(ResetDirective::SessionOnly).is_ok() && self.set_level(level).is_ok()
    }

    fn set_level(&mut self, level: u8) -> Result<(), Broken> {
        let level = match level {
            0..=1 => 1,
            2..=3 => 2,
            4..=6 => 3,
            _ => 5,
        };
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::WindowLog(WINDOW_LOG),
            CParameter::HashLog(TABLE_LOG),
            CParameter::ChainLog(TABLE_LOG),
        ] {
            self.0.set_parameter(parameter).map_err(|_| Broken)?;
        }
        Ok(())
    }

    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        let until = match until {
            Until::More => ZSTD_EndDirective::ZSTD_e_continue,
            Until::Flush => ZSTD_EndDirective::ZSTD_e_flush,
            Until::End => ZSTD_EndDirective::ZSTD_e_end,
        };
        let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(room));
        let left = self.0.compress_stream2(&mut to, &mut from, until).map_err(|_| Broken)?;
        let (read, written) = (from.pos, to.pos());
        // Without a flush, what is left is a hint.
        let is_done = read == input.len() && (left == 0 || until == ZSTD_EndDirective::ZSTD_e_continue);
        Ok(Step { read, written, is_done })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coding;

    #[test]
    fn needs_no_more_memory_than_the_pool_counts() {
        let content: Vec<u8> = (0..1 << 20).map(|at: u32| (at.wrapping_mul(at) >> 7) as u8).collect();
        let mut room = vec![0; 2 << 20];
        for level in 1..=9 {
            let mut zstd = Zstd::new(level).unwrap();
            zstd.step(&content, &mut room, Until::Flush).unwrap();
            assert!(zstd.0.sizeof() <= Coding::Zstd.encoder_bytes(), "level {level}: {}", zstd.0.sizeof());
        }
    }
}
