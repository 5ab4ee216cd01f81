//! The fields of a head as spans of the bytes they were read from. A table of spans belongs to a worker and is used for
//! one head at a time, so that parsing fills nothing it does not need and allocates nothing.

use std::fmt;

use super::{HOP_BY_HOP, Name, NameSet, name::is_known};

/// The most fields a head may have, whatever an operator allows.
pub const MAX_FIELDS: usize = 256;

/// Where a field lies in its head. The line runs to the start of the next one.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub line: u32,
    pub name_bytes: u32,
    pub value: u32,
    pub value_bytes: u32,
    pub name: Name,
    /// The field concerns only the connection that it came on, although its name does not say so.
    pub ends_here: bool,
}

/// Room for the spans of one head; about 5 KiB, so keep one per worker.
pub struct FieldTable {
    pub(crate) spans: Box<[Span]>,
    /// A head that did not come as text, or whose text could not be used as it came.
    pub(crate) text: Vec<u8>,
    /// Parts of a head that do not stand among its fields, or not there where they came.
    pub(crate) parts: Vec<u8>,
    /// The method of the block that was refused last is HEAD.
    pub(crate) asked_for_head: bool,
}

impl FieldTable {
    pub fn new() -> Self {
        let unused = Span { line: 0, name_bytes: 0, value: 0, value_bytes: 0, name: Name::Other, ends_here: false };
        Self {
            spans: vec![unused; MAX_FIELDS].into_boxed_slice(),
            text: Vec::new(),
            parts: Vec::new(),
            asked_for_head: false,
        }
    }

    /// Whether the method of a request is HEAD whose block could be decoded, and whose fields were refused.
    pub fn asked_for_head(&self) -> bool {
        self.asked_for_head
    }
}

impl Default for FieldTable {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'b> {
    pub name: Name,
    pub name_text: &'b [u8],
    /// Without the white space around it.
    pub value: &'b [u8],
}

/// The fields of one head, in order.
#[derive(Clone, Copy)]
pub struct Fields<'b> {
    /// The head up to, and without, the empty line that ends it.
    pub(crate) head: &'b [u8],
    pub(crate) spans: &'b [Span],
    pub(crate) seen: NameSet,
    /// At least one span has `ends_here`.
    pub(crate) some_end_here: bool,
}

impl<'b> Fields<'b> {
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Field<'b>> + Clone + use<'b> {
        let head = self.head;
        self.spans.iter().map(move |span| span.field(head))
    }

    /// Whether a known field is there.
    pub fn has(&self, name: Name) -> bool {
        self.seen.has(name)
    }

    pub fn has_any(&self, names: NameSet) -> bool {
        self.seen.has_any(names)
    }

    /// Bytes of the text that the fields, and the request line or the status line, lie in.
    pub fn text_bytes(&self) -> usize {
        self.head.len()
    }

    /// The fields with one of these names.
    pub fn among(&self, names: NameSet) -> impl Iterator<Item = Field<'b>> + Clone + use<'b> {
        let (head, any) = (self.head, self.has_any(names));
        let spans = if any { self.spans } else { &[] };
        spans.iter().filter(move |span| names.has(span.name)).map(move |span| span.field(head))
    }

    /// The value of the first field of this name, in any case of letters.
    pub fn find(&self, name: &[u8]) -> Option<&'b [u8]> {
        self.iter().find(|field| field.name_text.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// The value of the first field of this name, which is in small letters and not among the known ones. Without one it is
    /// empty.
    #[inline(always)]
    pub fn first(&self, name: &'static [u8]) -> &'b [u8] {
        // A loop, because each step of a chain of iterators would be a call.
        for span in self.spans {
            if span.name_bytes as usize == name.len() {
                let field = span.field(self.head);
                if field.name_text.len() == name.len() && is_known(field.name_text, name) {
                    return field.value;
                }
            }
        }
        b""
    }

    /// The same for several names, of which each has another length. Of fields of one name it is the last.
    #[inline(always)]
    pub fn last_of<const N: usize>(&self, names: [&'static [u8]; N]) -> [&'b [u8]; N] {
        let mut values = [&b""[..]; N];
        for span in self.spans {
            if names.iter().all(|name| name.len() != span.name_bytes as usize) {
                continue;
            }
            let field = span.field(self.head);
            for (name, value) in names.iter().zip(&mut values) {
                if field.name_text.len() == name.len() && is_known(field.name_text, name) {
                    *value = field.value;
                }
            }
        }
        values
    }

    /// Whether the client of a request takes trailers (RFC 9110 §10.1.4).
    pub fn take_trailers(&self) -> bool {
        let codings = self.among(NameSet::of(&[Name::Te])).flat_map(|field| field.value.split(|&byte| byte == b','));
        codings.map(<[u8]>::trim_ascii).any(|coding| coding.eq_ignore_ascii_case(b"trailers"))
    }

    /// The fields that may go on to another connection.
    pub fn passing(&self) -> impl Iterator<Item = Field<'b>> + Clone + use<'b> {
        let head = self.head;
        self.spans.iter().filter(|span| span.passes()).map(move |span| span.field(head))
    }

    /// The same as lines of text, CRLF included.
    pub fn passing_lines(&self) -> Box<[u8]> {
        if let Some(all) = self.all_lines_without(NameSet::default()) {
            return all.into();
        }
        let mut lines = Vec::new();
        self.kept_lines(|_| true, |some| lines.extend_from_slice(some));
        lines.into()
    }

    /// The lines of all fields, if none has one of these names and all may go on to another connection.
    pub(crate) fn all_lines_without(&self, names: NameSet) -> Option<&'b [u8]> {
        let whole = !self.some_end_here && !self.has_any(names | HOP_BY_HOP);
        let start = self.spans.first().map_or(self.head.len(), |span| span.line as usize);
        if whole { self.head.get(start..) } else { None }
    }

    /// Hands over the lines of the fields that `keep` keeps and that may go on to another connection. The lines are as
    /// they came, CRLF included; neighbours come in one piece.
    pub(crate) fn kept_lines(&self, mut keep: impl FnMut(Field<'b>) -> bool, mut emit: impl FnMut(&'b [u8])) {
        let mut run_start = self.spans.first().map_or(self.head.len(), |span| span.line as usize);
        for (i, span) in self.spans.iter().enumerate() {
            if span.passes() && keep(span.field(self.head)) {
                continue;
            }
            let line = span.line as usize;
            if run_start < line {
                emit(&self.head[run_start..line]);
            }
            run_start = self.spans.get(i + 1).map_or(self.head.len(), |next| next.line as usize);
        }
        if run_start < self.head.len() {
            emit(&self.head[run_start..]);
        }
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Span {
    /// Whether the field may go on to another connection.
    fn passes(&self) -> bool {
        !HOP_BY_HOP.has(self.name) && !self.ends_here
    }

    /// A span lies within its head; `get` says so without a panic, so that parts nobody looks at cost nothing.
    #[inline]
    pub(crate) fn field<'b>(&self, head: &'b [u8]) -> Field<'b> {
        let part = |start: u32, bytes: u32| head.get(start as usize..(start + bytes) as usize).unwrap_or_default();
        Field {
            name: self.name,
            name_text: part(self.line, self.name_bytes),
            value: part(self.value, self.value_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        head::Limits,
        http1::{Parsed, request},
    };

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nX-One:  1 \r\nTE: x\r\nDate:\r\nX-Two:\r\nx-one: 2\r\n\r\n";

    fn with_fields<T>(look: impl Fn(Fields<'_>) -> T) -> T {
        match request(HEAD, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(request)) => look(request.head.fields),
            other => panic!("{other:?}"),
        }
    }

    fn kept(keep: impl Fn(Field<'_>) -> bool) -> Vec<String> {
        with_fields(|fields| {
            let mut runs = Vec::new();
            fields.kept_lines(&keep, |run| runs.push(String::from_utf8_lossy(run).into_owned()));
            runs
        })
    }

    #[test]
    fn finds_fields_by_name_in_any_case() {
        with_fields(|fields| {
            assert_eq!((fields.len(), fields.is_empty()), (6, false));
            assert!(fields.has(Name::Host) && fields.has(Name::Te) && !fields.has(Name::Expect));
            let values: Vec<&[u8]> =
                fields.among(NameSet::of(&[Name::Te, Name::Host])).map(|field| field.value).collect();
            assert_eq!(values, [b"a", b"x"]);
            assert_eq!(fields.among(NameSet::of(&[Name::Expect])).count(), 0);
            assert_eq!(fields.find(b"X-ONE"), Some(&b"1"[..]));
            assert_eq!(fields.find(b"X-Two"), Some(&b""[..]));
            assert_eq!(fields.find(b"X-Three"), None);
        });
    }

    #[test]
    fn finds_the_first_or_the_last_of_a_name() {
        with_fields(|fields| {
            assert_eq!(
                [&b"x-one"[..], b"x-two", b"x-ten", b"te"].map(|name| fields.first(name)),
                [&b"1"[..], b"", b"", b"x"]
            );
            assert_eq!(fields.last_of([b"x-one", b"date", b"te", b"accept"]), [&b"2"[..], b"", b"x", b""]);
        });
    }

    #[test]
    fn te_may_list_trailers_among_codings() {
        for (text, takes) in [
            ("TE: trailers", true),
            ("TE: deflate;q=0.5 , Trailers", true),
            ("TE: gzip\r\nTE: trailers", true),
            ("TE: gzip", false),
            ("X: trailers", false),
        ] {
            let input = format!("GET / HTTP/1.1\r\nHost: a\r\n{text}\r\n\r\n");
            let mut table = FieldTable::new();
            match request(input.as_bytes(), &Limits::new(0, 0, 0), &mut table) {
                Ok(Parsed::Whole(request)) => assert_eq!(request.head.fields.take_trailers(), takes, "{text}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn keeps_neighbours_in_one_piece() {
        assert_eq!(kept(|_| true), ["Host: a\r\nX-One:  1 \r\n", "Date:\r\nX-Two:\r\nx-one: 2\r\n"]);
        assert_eq!(kept(|field| field.name != Name::Date), ["Host: a\r\nX-One:  1 \r\n", "X-Two:\r\nx-one: 2\r\n"]);
        assert_eq!(kept(|field| field.name == Name::Date), ["Date:\r\n"]);
        assert_eq!(kept(|field| field.value == b"2"), ["x-one: 2\r\n"]);
        assert!(kept(|_| false).is_empty());
    }

    #[test]
    fn field_of_one_connection_is_never_kept() {
        assert!(kept(|field| field.name == Name::Te).is_empty());
        with_fields(|fields| {
            let names: Vec<_> = fields.passing().map(|field| field.name_text).collect();
            assert_eq!(names, [&b"Host"[..], b"X-One", b"Date", b"X-Two", b"x-one"]);
        });
    }
}
