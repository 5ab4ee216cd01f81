//! gzip (RFC 1952) of content that is at hand as a whole, by libdeflate. It takes half the work of an encoder that takes
//! content piece by piece, and one compressor of each level serves all responses of a worker.

use std::{cell::RefCell, rc::Rc};

use libdeflater::{CompressionLvl, Compressor};

use crate::step::{Broken, Step, Until};

/// The longest content. To encode it takes as long as a response may take in one batch.
pub const BYTES_MAX: usize = 64 << 10;
const LEVELS: usize = 9;

/// The compressors of a worker.
#[derive(Clone, Default)]
pub(crate) struct Compressors(Rc<RefCell<[Option<Compressor>; LEVELS]>>);

/// Keeps the content until its end.
pub struct Whole {
    level: u8,
    content: Vec<u8>,
    /// How long the content is.
    length: usize,
    /// How much of it is to come.
    left: usize,
    /// Encoded. `None`: its end has not come.
    coded: Option<Vec<u8>>,
    /// How much of that went out.
    written: usize,
    compressors: Compressors,
}

impl Compressors {
    /// The memory that the one of this level, from 1 to 9, will take.
    pub fn lacks_bytes(&self, level: u8) -> usize {
        if self.0.borrow()[place_of(level)].is_some() { 0 } else { compressor_bytes(level) }
    }

    pub fn prepare(&self, level: u8) {
        let compressor = &mut self.0.borrow_mut()[place_of(level)];
        if compressor.is_none() {
            *compressor = CompressionLvl::new(level.into()).ok().map(Compressor::new);
        }
    }

    fn encode(&self, level: u8, content: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut all = self.0.borrow_mut();
        let compressor = all[place_of(level)].as_mut().ok_or(Broken)?;
        let mut coded = vec![0; compressor.gzip_compress_bound(content.len())];
        let bytes = compressor.gzip_compress(content, &mut coded).map_err(|_| Broken)?;
        coded.truncate(bytes);
        Ok(coded)
    }
}

/// The memory of a compressor, at most. libdeflate has a table of hashes for its first level, and three for others.
fn compressor_bytes(level: u8) -> usize {
    if level <= 1 { 256 << 10 } else { 704 << 10 }
}

fn place_of(level: u8) -> usize {
    usize::from(level).clamp(1, LEVELS) - 1
}

impl Whole {
    /// `length` is that of the content, [`BYTES_MAX`] at most.
    pub(crate) fn new(level: u8, length: usize, compressors: Compressors) -> Self {
        Self { level, content: Vec::with_capacity(length), length, left: length, coded: None, written: 0, compressors }
    }

    /// How much memory it has.
    pub fn bytes(&self) -> usize {
        self.length
    }

    /// [`Until::Flush`] brings nothing out.
    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        self.left = self.left.checked_sub(input.len()).ok_or(Broken)?;
        self.content.extend_from_slice(input);
        if until != Until::End {
            return Ok(Step { read: input.len(), written: 0, is_done: true });
        }
        let coded = match &mut self.coded {
            Some(coded) => coded,
            None => {
                let coded = self.compressors.encode(self.level, &self.content)?;
                self.content = Vec::new();
                self.coded.insert(coded)
            }
        };
        let left = &coded[self.written..];
        let bytes = left.len().min(room.len());
        room[..bytes].copy_from_slice(&left[..bytes]);
        self.written += bytes;
        Ok(Step { read: input.len(), written: bytes, is_done: self.written == coded.len() })
    }
}
