//! The texts of a record. Those that come with a request are copied when it comes, because its head is gone at its end.

use super::{Flags, fixed::TEXTS};

/// Texts that come with a request: host, path, query, user agent, referer, X-Forwarded-For.
const COMING: usize = 6;
/// How much of each is kept.
const MOST: [usize; COMING] = [64, 256, 128, 128, 128, 64];
const ROOM: usize = 64 + 256 + 128 + 128 + 128 + 64;

/// The texts of a request, one behind the other.
#[derive(Clone, Debug)]
pub struct Texts {
    bytes: [u8; ROOM],
    len: usize,
    lengths: [u16; COMING],
}

impl Default for Texts {
    fn default() -> Self {
        Self { bytes: [0; ROOM], len: 0, lengths: [0; COMING] }
    }
}

impl Texts {
    pub fn clear(&mut self) {
        (self.len, self.lengths) = (0, [0; COMING]);
    }

    /// Takes host, path, query, user agent, referer and X-Forwarded-For. Returns which of them are cut.
    #[inline]
    pub fn fill(&mut self, texts: [&[u8]; COMING]) -> Flags {
        let (mut len, mut flags) = (0, Flags::default());
        for (at, text) in texts.into_iter().enumerate() {
            let kept = &text[..text.len().min(MOST[at])];
            if kept.len() < text.len() {
                flags |= Flags::cut(at);
            }
            self.lengths[at] = kept.len() as u16;
            if !kept.is_empty() {
                self.bytes[len..len + kept.len()].copy_from_slice(kept);
                len += kept.len();
            }
        }
        self.len = len;
        flags
    }

    pub(super) fn run(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The other texts of a record, in the order of `api/record`: the server name of TLS, a method without a number, header
/// fields of request and response, offered cipher suites, content type.
pub type Others<'t> = [&'t [u8]; TEXTS - COMING];

pub(super) fn lengths(texts: &Texts, others: &Others<'_>) -> [u16; TEXTS] {
    let mut lengths = [0; TEXTS];
    lengths[..COMING].copy_from_slice(&texts.lengths);
    for (length, text) in lengths[COMING..].iter_mut().zip(others) {
        *length = text.len() as u16;
    }
    lengths
}
