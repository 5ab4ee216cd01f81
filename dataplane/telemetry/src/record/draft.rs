//! A record while it is made: its fixed part, and behind it the texts that most records have, as they will be sent. So
//! its end is one copy.

use zerocopy::{Immutable, IntoBytes};

use super::{
    Fixed, Flags,
    fixed::{BYTES, TEXTS},
};

/// Texts that come with a request: host, path, query, user agent, referer, X-Forwarded-For.
const COMING: usize = 6;
/// How much of each is kept.
const MOST: [usize; COMING] = [64, 256, 128, 128, 128, 64];
const COMING_ROOM: usize = 64 + 256 + 128 + 128 + 128 + 64;
/// How much is kept of the content type of the response, which is the last text.
const CONTENT_TYPE_MOST: usize = 64;
const CONTENT_TYPE: usize = TEXTS - 1;

/// The texts between those that come with a request and the content type, in the order of `api/record`: the server name of
/// TLS, a method without a number, header fields of request and response, offered cipher suites (see [`Flags::OWN_SPAN`],
/// [`Flags::SCRIPTED`] and [`Flags::RULED`] for what else stands there), what is wrong with the certificate of the client, its
/// subject.
pub type Others<'t> = [&'t [u8]; CONTENT_TYPE - COMING];

/// The texts stand behind each other, because the head of a request is gone at its end.
#[derive(Clone, Debug, IntoBytes, Immutable)]
#[repr(C)]
pub struct Draft {
    pub fixed: Fixed,
    texts: [u8; COMING_ROOM + CONTENT_TYPE_MOST],
}

impl Default for Draft {
    fn default() -> Self {
        Self { fixed: Fixed::EMPTY, texts: [0; COMING_ROOM + CONTENT_TYPE_MOST] }
    }
}

impl Draft {
    /// Takes host, path, query, user agent, referer and X-Forwarded-For, before other texts. Notes which of them are cut.
    #[inline(always)]
    pub fn fill(&mut self, [host, path, query, user_agent, referer, forwarded_for]: [&[u8]; COMING]) {
        // One by one, so that the compiler knows each place.
        let end = self.put::<0>(0, host);
        let end = self.put::<1>(end, path);
        let end = self.put::<2>(end, query);
        let end = self.put::<3>(end, user_agent);
        let end = self.put::<4>(end, referer);
        let end = self.put::<5>(end, forwarded_for);
        self.fixed.bytes = (BYTES + end) as u16;
    }

    /// Returns where the next text begins.
    #[inline(always)]
    fn put<const TEXT: usize>(&mut self, begin: usize, text: &[u8]) -> usize {
        if text.is_empty() {
            return begin;
        }
        let kept = &text[..text.len().min(MOST[TEXT])];
        if kept.len() < text.len() {
            self.fixed.flags |= Flags::cut(TEXT);
        }
        self.fixed.lengths[TEXT] = kept.len() as u16;
        copy(&mut self.texts[begin..begin + kept.len()], kept);
        begin + kept.len()
    }

    /// The content type of the response, instead of an earlier one.
    #[inline]
    pub fn set_content_type(&mut self, text: &[u8]) {
        let kept = &text[..text.len().min(CONTENT_TYPE_MOST)];
        let at = self.content_type_at();
        copy(&mut self.texts[at..at + kept.len()], kept);
        self.fixed.lengths[CONTENT_TYPE] = kept.len() as u16;
        self.fixed.bytes = (BYTES + at + kept.len()) as u16;
    }

    /// Among the texts.
    fn content_type_at(&self) -> usize {
        usize::from(self.fixed.bytes - self.fixed.lengths[CONTENT_TYPE]) - BYTES
    }

    /// Puts other texts between, as far as the largest record has room for them. Returns what stands before these, and the
    /// content type.
    pub(super) fn part(&mut self, others: &mut Others<'_>, most: usize) -> [&[u8]; 2] {
        let at = BYTES + self.content_type_at();
        let own = usize::from(self.fixed.bytes);
        let mut left = most - own;
        for (text, length) in others.iter_mut().zip(&mut self.fixed.lengths[COMING..]) {
            *text = &text[..text.len().min(left)];
            left -= text.len();
            *length = text.len() as u16;
        }
        self.fixed.bytes = (most - left) as u16;
        let (before, rest) = self.as_bytes().split_at(at);
        [before, &rest[..own - at]]
    }

    /// The record, if it has no other texts.
    #[inline(always)]
    pub(super) fn whole(&self) -> &[u8] {
        &self.as_bytes()[..usize::from(self.fixed.bytes)]
    }
}

/// Most texts are short: for these, a call of memcpy takes longer than what it does.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        17..=32 => copy_ends::<16>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies at least `N` bytes and at most twice as many, in two pieces that may overlap.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk()) {
        *to = *from;
    }
}
