//! The one way to write a head. Each protocol has its sink.

use super::{Field, Fields, NameSet};

/// Takes the parts of a head in their order: a request or a status, then fields. The sink adds what its own connection
/// needs, such as the fields that say how the body is framed.
pub trait HeadSink {
    /// `path` as in [`RequestHead`](super::RequestHead).
    fn request(&mut self, method: &[u8], path: &[u8]);

    fn status(&mut self, status: u16, reason: &[u8]);

    /// The fields of a received head that `keep` keeps and that are [`passing`](Fields::passing), in their order.
    fn kept_if<'b>(&mut self, fields: &Fields<'b>, keep: impl FnMut(Field<'b>) -> bool);

    /// The same for a caller that decides by known names alone.
    #[inline]
    fn kept(&mut self, fields: &Fields<'_>, dropped: NameSet) {
        self.kept_if(fields, |field| !dropped.has(field.name));
    }

    /// A field whose value is made of parts.
    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>);

    /// A field that the caller keeps ready as `Name: value` and CRLF. An empty line writes nothing.
    fn line(&mut self, line: &[u8]);

    /// A field whose value is a decimal number.
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
