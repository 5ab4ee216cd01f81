//! The buffer of a worker: records one behind the other, until they are handed over.

use super::{Class, Others, Record, Texts, fixed::BYTES, texts::lengths};

/// The largest record.
const RECORD_BYTES_MAX: usize = 32 << 10;

#[derive(Debug, Default)]
pub struct Buffer {
    packed: Vec<u8>,
}

impl Buffer {
    pub const BYTES_MAX: usize = 1 << 20;

    /// Takes a buffer that was handed over before, or makes one.
    pub fn of(mut packed: Vec<u8>) -> Self {
        packed.clear();
        packed.reserve_exact(Self::BYTES_MAX);
        Self { packed }
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Whether it should be handed over before its time.
    pub fn is_half_full(&self) -> bool {
        self.packed.len() >= Self::BYTES_MAX / 2
    }

    /// Whether a record of a class may come in: when the buffer fills up, those of class `All` give way first, and then
    /// the filtered ones.
    pub fn admits(&self, class: Class) -> bool {
        let filled = self.packed.len();
        match class {
            Class::All => filled < Self::BYTES_MAX / 4 * 3,
            Class::Filtered => filled < Self::BYTES_MAX / 10 * 9,
            Class::Significant => filled + RECORD_BYTES_MAX <= self.packed.capacity(),
        }
    }

    /// Packs a record, for which [`admits`](Self::admits) has said that there is room. All texts together have less than
    /// 32 KiB.
    #[inline]
    pub fn pack(&mut self, record: &Record, texts: &Texts, others: Others<'_>) {
        let others = fitting(texts.run().len(), others);
        let bytes = BYTES + texts.run().len() + others.iter().map(|text| text.len()).sum::<usize>();
        let mut fixed = [0; BYTES];
        record.write(&mut fixed, bytes as u16, lengths(texts, &others));
        self.packed.extend_from_slice(&fixed);
        self.packed.extend_from_slice(texts.run());
        for text in others {
            if !text.is_empty() {
                self.packed.extend_from_slice(text);
            }
        }
    }

    pub fn into_packed(self) -> Vec<u8> {
        self.packed
    }
}

/// Cuts what exceeds the largest record. Those who bring texts keep to limits of their own that are far below.
#[inline]
fn fitting(texts_bytes: usize, mut others: Others<'_>) -> Others<'_> {
    let mut left = RECORD_BYTES_MAX - BYTES - texts_bytes;
    for text in &mut others {
        *text = &text[..text.len().min(left)];
        left -= text.len();
    }
    others
}
