//! What request and response heads share: httparse's fields turned into spans under our rules.

use std::mem::MaybeUninit;

use httparse::Header;

use crate::{
    Error,
    head::{Field, Fields, Limits, Look, MAX_FIELDS, Name, NameSet, Span, Version},
};

/// Not wrong so far, or all there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parsed<T> {
    Partial,
    Whole(T),
}

/// Whether a head that was `Partial` before `new` came is worth parsing again. Each line feed of a well-formed head ends
/// a field, so the count of tries stays below that of fields however slowly the bytes drip in.
pub fn may_complete(new: &[u8]) -> bool {
    memchr::memchr(b'\n', new).is_some()
}

/// Where httparse puts fields; costs nothing until they come.
pub(super) fn no_headers<'b>() -> [MaybeUninit<Header<'b>>; MAX_FIELDS] {
    [const { MaybeUninit::uninit() }; MAX_FIELDS]
}

/// The part of the input that a head may take: parsing only this makes the verdict independent of what lies behind.
pub(super) fn within<'b>(input: &'b [u8], limits: &Limits) -> &'b [u8] {
    &input[..input.len().min(limits.head_bytes)]
}

/// The verdict on a head that is not whole yet.
pub(super) fn incomplete<T>(input: &[u8], limits: &Limits) -> Result<Parsed<T>, Error> {
    if input.len() < limits.head_bytes {
        return Ok(Parsed::Partial);
    }
    Err(if may_complete(input) { Error::HeadTooLarge } else { Error::TargetTooLong })
}

pub(super) fn version(minor: Option<u8>) -> Version {
    if minor == Some(1) { Version::Http11 } else { Version::Http10 }
}

/// Fields that are read, while it is not known yet which of them go no further.
pub(super) struct Lines<'b> {
    /// The head without the empty line that ends it.
    pub head: &'b [u8],
    pub spans: &'b mut [Span],
    pub seen: NameSet,
}

impl<'b> Lines<'b> {
    /// Checks what httparse is lenient about, and keeps where the fields lie.
    pub fn new(head: &'b [u8], headers: &[Header<'_>], limits: &Limits, table: &'b mut [Span]) -> Result<Self, Error> {
        let start = head.as_ptr() as usize;
        let offset = |part: &[u8]| part.as_ptr() as usize - start;
        let end = head.len() - 2;
        ends_in_crlf(head, head.len())?;
        let mut line_end = end;
        let spans = &mut table[..headers.len()];
        let (mut seen, mut some_alike) = (NameSet::default(), false);
        // From the last to the first: where one line begins, the one before it ends.
        for (header, span) in headers.iter().zip(spans.iter_mut()).rev() {
            ends_in_crlf(head, line_end)?;
            let line = offset(header.name.as_bytes());
            if line_end - line > limits.field_bytes {
                return Err(Error::FieldTooLarge);
            }
            let name = match Name::look_up(header.name.as_bytes()) {
                Look::Found(name) => name,
                Look::Alike(_) => {
                    some_alike = true;
                    Name::Other
                }
            };
            seen = seen.with(name);
            *span = Span {
                line: line as u32,
                name_bytes: header.name.len() as u32,
                value: offset(header.value) as u32,
                value_bytes: header.value.len() as u32,
                name,
                ends_here: false,
            };
            line_end = line;
        }
        // The start line.
        ends_in_crlf(head, line_end)?;
        if some_alike {
            seen = look_again(head, spans);
        }
        Ok(Self { head: &head[..end], spans, seen })
    }

    pub fn among(&self, names: NameSet) -> impl Iterator<Item = Field<'b>> {
        let (head, any) = (self.head, self.seen.has_any(names));
        let spans: &[Span] = if any { self.spans } else { &[] };
        spans.iter().filter(move |span| names.has(span.name)).map(move |span| span.field(head))
    }

    /// Those of them that `ends_here` says go no further.
    #[cold]
    pub fn end_here(&mut self, ends_here: impl Fn(&Self, Field<'b>) -> bool) {
        for i in 0..self.spans.len() {
            self.spans[i].ends_here |= ends_here(self, self.spans[i].field(self.head));
        }
    }

    pub fn fields(self) -> Fields<'b> {
        Fields { head: self.head, spans: self.spans, seen: self.seen }
    }
}

/// Finds the shadows among fields.
#[cold]
fn look_again(head: &[u8], spans: &mut [Span]) -> NameSet {
    spans.iter_mut().fold(NameSet::default(), |seen, span| {
        span.name = Name::of(span.field(head).name_text);
        seen.with(span.name)
    })
}

/// httparse takes a bare LF for the end of a line (RFC 9112 §2.2 allows to; two parsers then see two messages). It has
/// seen the LF at `line_end - 1` and refused a CR anywhere but before an LF.
#[inline]
fn ends_in_crlf(head: &[u8], line_end: usize) -> Result<(), Error> {
    if line_end >= 2 && head[line_end - 2] == b'\r' { Ok(()) } else { Err(Error::LineEnding) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{head::FieldTable, http1::request};

    const HEAD: &[u8] = b"GET /0123456789 HTTP/1.1\r\nHost: a\r\nX-A: 0123456789\r\n\r\n";

    fn verdict(input: &[u8], limits: Limits) -> Result<Parsed<usize>, Error> {
        request(input, &limits, &mut FieldTable::new()).map(|parsed| match parsed {
            Parsed::Partial => Parsed::Partial,
            Parsed::Whole(request) => Parsed::Whole(request.len),
        })
    }

    #[test]
    fn head_may_be_as_long_as_its_limit() {
        assert_eq!(verdict(HEAD, Limits::new(HEAD.len(), 0, 0)), Ok(Parsed::Whole(HEAD.len())));
        assert_eq!(verdict(HEAD, Limits::new(HEAD.len() - 1, 0, 0)), Err(Error::HeadTooLarge));
    }

    #[test]
    fn head_that_outgrows_its_limit_is_refused_before_it_ends() {
        assert_eq!(verdict(&HEAD[..40], Limits::new(41, 0, 0)), Ok(Parsed::Partial));
        assert_eq!(verdict(&HEAD[..40], Limits::new(40, 0, 0)), Err(Error::HeadTooLarge));
        assert_eq!(verdict(&HEAD[..20], Limits::new(20, 0, 0)), Err(Error::TargetTooLong));
    }

    #[test]
    fn field_may_be_as_long_as_its_limit() {
        let line = b"X-A: 0123456789\r\n".len();
        assert_eq!(verdict(HEAD, Limits::new(0, line, 0)), Ok(Parsed::Whole(HEAD.len())));
        assert_eq!(verdict(HEAD, Limits::new(0, line - 1, 0)), Err(Error::FieldTooLarge));
    }

    #[test]
    fn fields_may_be_as_many_as_their_limit() {
        assert_eq!(verdict(HEAD, Limits::new(0, 0, 2)), Ok(Parsed::Whole(HEAD.len())));
        assert_eq!(verdict(HEAD, Limits::new(0, 0, 1)), Err(Error::TooManyFields));
    }

    #[test]
    fn only_a_line_feed_makes_another_try_worth_it() {
        assert!(may_complete(b"a: b\r\n"));
        assert!(!may_complete(b"a: b\r"));
    }
}
