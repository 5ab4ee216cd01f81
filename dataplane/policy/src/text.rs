//! A short text of bounded length, stored in place. It is formatted once, and copied into each head that needs it.

use std::{
    fmt::{self, Write},
    net::Ipv4Addr,
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    /// A byte, because each client's connection keeps one of these.
    len: u8,
}

impl<const N: usize> Text<N> {
    /// `N` must be enough for whatever `value` may be; a part that does not fit is left out.
    pub fn of(value: fmt::Arguments<'_>) -> Self {
        let mut text = Self::default();
        let fitted = text.write_fmt(value);
        debug_assert!(fitted.is_ok(), "{value} exceeds {N} bytes");
        text
    }

    /// An address in its usual form. Every client connection needs this once, and `fmt` takes ten times as long.
    pub fn dotted(address: Ipv4Addr) -> Self {
        let mut text = Self::default();
        for (place, octet) in address.octets().into_iter().enumerate() {
            if place > 0 {
                text.push(b'.');
            }
            if octet >= 100 {
                text.push(b'0' + octet / 100);
            }
            if octet >= 10 {
                text.push(b'0' + octet / 10 % 10);
            }
            text.push(b'0' + octet % 10);
        }
        text
    }

    pub(crate) fn push(&mut self, byte: u8) {
        if let Some(room) = self.bytes.get_mut(usize::from(self.len)) {
            *room = byte;
            self.len += 1;
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        const { assert!(N <= u8::MAX as usize) };
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let begin = usize::from(self.len);
        let room = self.bytes.get_mut(begin..begin + part.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(part.as_bytes());
        self.len += part.len() as u8;
        Ok(())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_written_as_the_standard_library_does() {
        for octet in 0..=u8::MAX {
            let address = Ipv4Addr::new(octet, 255 - octet, octet / 3, 100);
            assert_eq!(Text::<15>::dotted(address).bytes(), address.to_string().as_bytes());
        }
    }
}
