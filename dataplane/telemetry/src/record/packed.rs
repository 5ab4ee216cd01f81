//! Packed records as they stand in a buffer. The data plane itself reads none: this is for tests and simulations.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::{
    Flags,
    fixed::{BYTES, TEXTS},
};

/// The number of the text with the suites.
const OFFERED: usize = 10;

/// One packed record.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'b>(&'b [u8]);

impl<'b> Packed<'b> {
    /// All records of a batch. `None`: it holds something else.
    pub fn all(mut packed: &'b [u8]) -> Option<Vec<Self>> {
        let mut all = Vec::new();
        while !packed.is_empty() {
            let bytes = usize::from(u16::from_le_bytes(*packed.first_chunk()?));
            let (first, rest) = packed.split_at_checked(bytes)?;
            let texts = bytes.checked_sub(BYTES)?;
            let record = Self(first);
            if record.lengths().sum::<usize>() != texts {
                return None;
            }
            all.push(record);
            packed = rest;
        }
        Some(all)
    }

    pub fn u8(&self, at: usize) -> u8 {
        self.0[at]
    }

    pub fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.part(at))
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.part(at))
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.part(at))
    }

    fn part<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0[at..].first_chunk().copied().unwrap_or([0; N])
    }

    fn address(&self, at: usize) -> IpAddr {
        IpAddr::from(Ipv6Addr::from(self.part::<16>(at))).to_canonical()
    }

    fn lengths(&self) -> impl Iterator<Item = usize> + 'b {
        let record = *self;
        (0..TEXTS).map(move |text| record.u16(232 + 2 * text).into())
    }

    /// What stands in the place of offered suites: the span or the suites, the names of rules with the numbers of their
    /// lists, and what scripts have said.
    pub fn place(&self) -> (&'b [u8], Vec<(u8, String)>, String) {
        let text = self.text(OFFERED);
        let has = |flags: Flags| self.flags() & flags.bits() != 0;
        if !has(Flags::SCRIPTED | Flags::RULED | Flags::ADMITTED | Flags::NAMED) {
            return (text, Vec::new(), String::new());
        }
        let (first, mut text) = text[1..].split_at(text[0].into());
        if has(Flags::NAMED) {
            text = names(text).1;
        }
        let mut rules = Vec::new();
        if has(Flags::RULED | Flags::ADMITTED) {
            let (mut packed, rest) = text[2..].split_at(u16::from_le_bytes([text[0], text[1]]).into());
            while let [list, bytes, behind @ ..] = packed {
                let (name, behind) = behind.split_at((*bytes).into());
                rules.push((*list, String::from_utf8_lossy(name).into_owned()));
                packed = behind;
            }
            text = rest;
        }
        (first, rules, String::from_utf8_lossy(text).into_owned())
    }

    /// The id of the request, and its user.
    pub fn names(&self) -> [String; 2] {
        if self.flags() & Flags::NAMED.bits() == 0 {
            return Default::default();
        }
        let text = self.text(OFFERED);
        names(&text[1 + usize::from(text[0])..]).0
    }

    /// A text by its number.
    pub fn text(&self, text: usize) -> &'b [u8] {
        let begin = BYTES + self.lengths().take(text).sum::<usize>();
        &self.0[begin..begin + usize::from(self.u16(232 + 2 * text))]
    }
}

/// Two texts with their lengths before them, and what is behind.
fn names(text: &[u8]) -> ([String; 2], &[u8]) {
    let mut left = text;
    let names = [(); 2].map(|()| {
        let (name, rest) = left[1..].split_at(left[0].into());
        left = rest;
        String::from_utf8_lossy(name).into_owned()
    });
    (names, left)
}

// By the names of their fields in `api/record`.
impl Packed<'_> {
    pub fn kind(&self) -> u8 {
        self.u8(3)
    }

    pub fn class(&self) -> u8 {
        self.u8(4)
    }

    pub fn weight(&self) -> u32 {
        self.u32(8)
    }

    pub fn flags(&self) -> u32 {
        self.u32(12)
    }

    pub fn sequence(&self) -> u64 {
        self.u64(16)
    }

    pub fn reasons(&self) -> u64 {
        self.u64(32)
    }

    pub fn service(&self) -> u32 {
        self.u32(40)
    }

    pub fn server(&self) -> u32 {
        self.u32(44)
    }

    pub fn client(&self) -> SocketAddr {
        SocketAddr::new(self.address(48), self.u16(112))
    }

    pub fn status(&self) -> u16 {
        self.u16(118)
    }

    pub fn server_status(&self) -> u16 {
        self.u16(120)
    }

    pub fn cause(&self) -> u16 {
        self.u16(122)
    }

    pub fn request_bytes(&self) -> u64 {
        self.u64(136)
    }

    pub fn response_bytes(&self) -> u64 {
        self.u64(144)
    }

    /// Wait, app, transfer, round trip to the server, and their total, in microseconds.
    pub fn times(&self) -> [u64; 5] {
        [self.u64(160), self.u64(168), self.u64(176), self.u32(200).into(), self.u64(184)]
    }
}
