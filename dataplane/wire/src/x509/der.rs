//! DER, value after value (X.690).

use std::fmt::Write;

/// What has not been read yet.
#[derive(Clone, Copy)]
pub(super) struct Reader<'d>(pub &'d [u8]);

/// A value with its tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'d> {
    pub tag: u8,
    pub content: &'d [u8],
    /// With tag and length.
    pub whole: &'d [u8],
}

impl<'d> Reader<'d> {
    /// `None`: there is no other, or it is malformed.
    pub fn next(&mut self) -> Option<Value<'d>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (bytes, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // More than three bytes of length are no certificate.
            0x81..=0x83 => {
                let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(bytes)?;
        let whole = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        Some(Value { tag, content, whole })
    }

    /// The content of the next value, which must have this tag.
    pub fn take(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.next().filter(|value| value.tag == tag).map(|value| value.content)
    }

    /// The same, if the next value has this tag.
    pub fn take_if(&mut self, tag: u8) -> Option<&'d [u8]> {
        if self.0.first() == Some(&tag) { self.take(tag) } else { None }
    }
}

/// An object identifier as its numbers: "1.2.840".
pub(super) fn dotted(number: &[u8]) -> String {
    let (mut text, mut arc) = (String::new(), 0_u64);
    for byte in number {
        arc = arc << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        // X.690 §8.19.4: the first two arcs are one number.
        let _ = match (text.is_empty(), arc) {
            (true, 0..=79) => write!(text, "{}.{}", arc / 40, arc % 40),
            (true, _) => write!(text, "2.{}", arc - 80),
            (false, _) => write!(text, ".{arc}"),
        };
        arc = 0;
    }
    text
}
