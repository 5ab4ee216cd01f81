//! Where a head is written to: one form of it, of one protocol.

use super::{Field, Fields, NameSet};

/// Takes a head from its first part to its last. What its connection asks for besides, the sink adds itself.
pub trait HeadSink {
    /// `path` as in [`RequestHead`](super::RequestHead).
    fn request(&mut self, method: &[u8], path: &[u8]);

    fn status(&mut self, status: u16, reason: &[u8]);

    /// The fields of a received head that `keep` keeps, as they came and in their order, but those that concern the
    /// connection that they came on.
    fn kept_if<'b>(&mut self, fields: &Fields<'b>, keep: impl FnMut(Field<'b>) -> bool);

    /// The same, for who can tell by names alone.
    #[inline]
    fn kept(&mut self, fields: &Fields<'_>, dropped: NameSet) {
        self.kept_if(fields, |field| !dropped.has(field.name));
    }

    /// A field whose value is made of parts.
    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8]>);

    /// A field that was written before, as `Name: value` and CRLF; or nothing.
    fn line(&mut self, line: &[u8]);

    fn number(&mut self, name: &[u8], value: u64) {
        let mut digits = [0; 20];
        let (mut at, mut rest) = (digits.len(), value);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return self.field(name, [&digits[at..]]);
            }
        }
    }
}
