//! One response on its way through an encoder.

use crate::{
    brotli::Brotli,
    coding::Coding,
    gzip::Gzip,
    plain::Plain,
    step::{Broken, Step, Until},
    sum::Sum,
    whole::Whole,
    zstd::Zstd,
};

pub enum Encoder {
    Gzip(Gzip),
    /// gzip, too.
    Whole(Whole),
    Brotli(Box<Brotli>),
    Zstd(Zstd),
    /// It has given its memory to another response.
    Plain(Plain),
}

impl Encoder {
    /// `level` is one of gzip, from 1 to 9: other codings have one that takes about as much work.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(coding: Coding, level: u8) -> Result<Self, Broken> {
        Ok(match coding {
            Coding::Gzip => Encoder::Gzip(Gzip::new(level)),
            Coding::Brotli => Encoder::Brotli(Box::new(Brotli::new(level))),
            Coding::Zstd => Encoder::Zstd(Zstd::new(level)?),
        })
    }

    pub fn coding(&self) -> Coding {
        match self {
            Encoder::Gzip(_) | Encoder::Whole(_) => Coding::Gzip,
            Encoder::Brotli(_) => Coding::Brotli,
            Encoder::Zstd(_) => Coding::Zstd,
            Encoder::Plain(plain) => plain.coding(),
        }
    }

    /// Whether it can serve another response after this one.
    pub(crate) fn can_serve_again(&self) -> bool {
        match self {
            Encoder::Gzip(gzip) => gzip.is_over(),
            Encoder::Whole(_) | Encoder::Brotli(_) | Encoder::Plain(_) => false,
            Encoder::Zstd(_) => true,
        }
    }

    /// Prepares for another response. `false`: it can serve no other.
    pub(crate) fn begin_again(&mut self, level: u8) -> bool {
        match self {
            Encoder::Gzip(gzip) => gzip.begin_again(level),
            // Brotli cannot be reset.
            Encoder::Whole(_) | Encoder::Brotli(_) | Encoder::Plain(_) => false,
            Encoder::Zstd(zstd) => zstd.begin_again(level),
        }
    }

    /// # Errors
    /// The encoder has failed, and the response is lost.
    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        match self {
            Encoder::Gzip(gzip) => gzip.step(input, room, until),
            Encoder::Whole(whole) => whole.step(input, room, until),
            Encoder::Brotli(brotli) => brotli.step(input, room, until),
            Encoder::Zstd(zstd) => zstd.step(input, room, until),
            Encoder::Plain(plain) => Ok(plain.step(input, room, until)),
        }
    }

    /// The memory that it needs, at most.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Encoder::Plain(_) => 0,
            Encoder::Whole(whole) => whole.bytes(),
            Encoder::Gzip(_) | Encoder::Brotli(_) | Encoder::Zstd(_) => self.coding().encoder_bytes(),
        }
    }

    /// Whether all that it has taken comes out of a flush.
    pub(crate) fn can_rest(&self) -> bool {
        !matches!(self, Encoder::Whole(_))
    }

    /// Goes on without an encoder, if all that it has taken has come out. `begins`: that is nothing.
    pub(crate) fn become_plain(&mut self, begins: bool) {
        let sum = if let Encoder::Gzip(gzip) = self { gzip.sum() } else { Sum::default() };
        *self = Encoder::Plain(Plain::new(self.coding(), sum, begins));
    }
}
