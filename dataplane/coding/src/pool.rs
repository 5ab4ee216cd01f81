//! The encoders of one worker. They need much memory, so they are reused, and their number is bounded.

use std::{cell::RefCell, rc::Rc};

use crate::{
    coding::Coding,
    encoder::Encoder,
    step::{Broken, Step, Until},
};

/// The memory for all encoders of a worker.
pub const BYTES_MAX: usize = 16 << 20;

impl Coding {
    /// The memory of an encoder, at most.
    pub(crate) fn encoder_bytes(self) -> usize {
        match self {
            Coding::Gzip => 288 << 10,
            Coding::Zstd => 768 << 10,
            Coding::Brotli => 2 << 20,
        }
    }
}

/// Encoders that are not in use, and the memory of all.
#[derive(Clone, Default)]
pub struct Pool(Rc<RefCell<Shelf>>);

#[derive(Default)]
struct Shelf {
    idle: Vec<Encoder>,
    /// Of those in use and of idle ones.
    bytes: usize,
}

/// An encoder in use. It goes back to its pool when it is dropped.
pub struct Pooled {
    /// `None` only while being dropped.
    encoder: Option<Encoder>,
    pool: Pool,
}

impl Pool {
    /// `None`: the memory is used up.
    pub fn take(&self, coding: Coding, level: u8) -> Option<Pooled> {
        let mut shelf = self.0.borrow_mut();
        let encoder = match shelf.take_idle(coding, level) {
            Some(encoder) => encoder,
            None => shelf.make(coding, level)?,
        };
        Some(Pooled { encoder: Some(encoder), pool: self.clone() })
    }

    /// The memory of all encoders.
    pub fn bytes(&self) -> usize {
        self.0.borrow().bytes
    }
}

impl Shelf {
    fn take_idle(&mut self, coding: Coding, level: u8) -> Option<Encoder> {
        let at = self.idle.iter().rposition(|idle| idle.coding() == coding)?;
        let mut encoder = self.idle.swap_remove(at);
        if encoder.begin_again(level) {
            return Some(encoder);
        }
        self.bytes -= coding.encoder_bytes();
        None
    }

    fn make(&mut self, coding: Coding, level: u8) -> Option<Encoder> {
        let bytes = coding.encoder_bytes();
        while self.bytes + bytes > BYTES_MAX {
            self.bytes -= self.idle.pop()?.coding().encoder_bytes();
        }
        let encoder = Encoder::new(coding, level).ok()?;
        self.bytes += bytes;
        Some(encoder)
    }

    fn put_back(&mut self, encoder: Encoder) {
        match encoder.can_serve_again() {
            true => self.idle.push(encoder),
            false => self.bytes -= encoder.coding().encoder_bytes(),
        }
    }
}

impl Pooled {
    pub fn coding(&self) -> Coding {
        self.encoder.as_ref().map_or(Coding::Gzip, Encoder::coding)
    }

    /// As [`Encoder::step`].
    ///
    /// # Errors
    /// The encoder has failed, and the response is lost.
    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        self.encoder.as_mut().ok_or(Broken)?.step(input, room, until)
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if let Some(encoder) = self.encoder.take() {
            self.pool.0.borrow_mut().put_back(encoder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_idle_encoders_make_room_for_others() {
        let pool = Pool::default();
        let gzips: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Gzip, 1)).collect();
        assert_eq!(gzips.len(), BYTES_MAX / Coding::Gzip.encoder_bytes());
        assert!(pool.take(Coding::Zstd, 1).is_none());
        drop(gzips);
        let zstds: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Zstd, 1)).collect();
        drop(zstds);
        assert!(pool.bytes() > 0, "these serve again");
        assert!(pool.bytes() <= BYTES_MAX);
        let brotlis: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Brotli, 1)).collect();
        assert_eq!(brotlis.len(), BYTES_MAX / Coding::Brotli.encoder_bytes());
        drop(brotlis);
        assert_eq!(pool.bytes(), 0);
    }
}
