//! A head that outlives the bytes that it was read from, so that it need not be read again.

use super::{BodyLength, Fields, NameSet, ResponseHead, Version, fields::Span};

pub struct StoredHead {
    status: u16,
    version: Version,
    reason: Box<[u8]>,
    text: Box<[u8]>,
    spans: Box<[Span]>,
    seen: NameSet,
    some_end_here: bool,
}

impl StoredHead {
    pub fn of(head: &ResponseHead<'_>) -> Self {
        let Fields { head: text, spans, seen, some_end_here } = head.fields;
        Self {
            status: head.status,
            version: head.version,
            reason: head.reason.into(),
            text: text.into(),
            spans: spans.into(),
            seen,
            some_end_here,
        }
    }

    /// The head again, of a response whose body has this length.
    pub fn head(&self, body: BodyLength) -> ResponseHead<'_> {
        let Self { status, version, ref reason, ref text, ref spans, seen, some_end_here } = *self;
        ResponseHead { status, reason, version, fields: Fields { head: text, spans, seen, some_end_here }, body }
    }

    /// The memory that it needs.
    pub fn bytes(&self) -> usize {
        self.reason.len() + self.text.len() + size_of_val(&*self.spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        head::{FieldTable, Limits, Method, Name},
        http1::{Parsed, response},
    };

    #[test]
    fn head_is_the_same_after_its_bytes_are_gone() {
        let text = b"HTTP/1.1 404 Not Found\r\nDate: now\r\nX-A:  b \r\nContent-Length: 3\r\n\r\n".to_vec();
        let mut table = FieldTable::new();
        let Ok(Parsed::Whole(read)) = response(&text, Method::Get, &Limits::new(0, 0, 0), &mut table) else {
            panic!("a head")
        };
        let (stored, expected) = (StoredHead::of(&read.head), format!("{:?}", read.head));
        drop((text, table));
        let head = stored.head(BodyLength::Bytes(3));
        assert_eq!(format!("{head:?}"), expected);
        assert!(head.fields.has(Name::Date) && head.fields.first(b"x-a") == b"b");
        assert!(stored.bytes() > 60);
    }
}
