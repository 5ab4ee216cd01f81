//! Where a head is written to. Nothing is truncated: a head that does not fit is an [`Overflow`].

/// The room did not suffice; nothing of what was written may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow;

/// Appends to a slice. After an overflow nothing fits any more, and [`Room::end`] returns the error.
pub(crate) struct Room<'o> {
    left: &'o mut [u8],
    bytes: usize,
    overflowed: bool,
}

impl<'o> Room<'o> {
    pub fn new(out: &'o mut [u8]) -> Self {
        Self { bytes: out.len(), left: out, overflowed: false }
    }

    /// Returns what it has written, for changes of letters.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> &mut [u8] {
        match std::mem::take(&mut self.left).split_at_mut_checked(bytes.len()) {
            Some((part, rest)) => {
                part.copy_from_slice(bytes);
                self.left = rest;
                part
            }
            None => {
                self.overflowed = true;
                &mut []
            }
        }
    }

    #[inline]
    pub fn push(&mut self, byte: u8) {
        match std::mem::take(&mut self.left).split_first_mut() {
            Some((first, rest)) => {
                *first = byte;
                self.left = rest;
            }
            None => self.overflowed = true,
        }
    }

    /// The bytes written.
    #[inline]
    pub fn end(self) -> Result<usize, Overflow> {
        if self.overflowed { Err(Overflow) } else { Ok(self.bytes - self.left.len()) }
    }
}
