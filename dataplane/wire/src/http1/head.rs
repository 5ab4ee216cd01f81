//! What request and response heads share: limits, versions, and the conversion of httparse's fields into spans, with
//! our rules.

use std::mem::MaybeUninit;

use httparse::Header;

use super::{
    Error, Fields,
    field::{Look, MAX_FIELDS, Name, NameSet, Span},
};

/// The largest head, whatever an operator allows.
pub const HEAD_BYTES_CEILING: usize = 256 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Start line, fields and the empty line.
    pub head_bytes: usize,
    /// One field line.
    pub field_bytes: usize,
    pub fields: usize,
}

impl Limits {
    /// 0 stands for the ceiling, and nothing exceeds it.
    pub fn new(head_bytes: usize, field_bytes: usize, fields: usize) -> Self {
        let bounded = |value, ceiling| if value == 0 || value > ceiling { ceiling } else { value };
        Self {
            head_bytes: bounded(head_bytes, HEAD_BYTES_CEILING),
            field_bytes: bounded(field_bytes, HEAD_BYTES_CEILING),
            fields: bounded(fields, MAX_FIELDS),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    Http10,
    Http11,
}

impl Version {
    pub(super) fn of_minor(minor: Option<u8>) -> Self {
        if minor == Some(1) { Version::Http11 } else { Version::Http10 }
    }
}

/// Not wrong so far, or all there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parsed<T> {
    Partial,
    Whole(T),
}

/// Whether a head that was `Partial` before `new` arrived is worth parsing again. In a well-formed head each line feed
/// ends a field, so there are fewer attempts than fields, however slowly the bytes arrive.
pub fn may_complete(new: &[u8]) -> bool {
    memchr::memchr(b'\n', new).is_some()
}

/// Where httparse puts fields; costs nothing until they come.
pub(super) fn no_headers<'b>() -> [MaybeUninit<Header<'b>>; MAX_FIELDS] {
    [const { MaybeUninit::uninit() }; MAX_FIELDS]
}

/// The part of the input that a head may occupy. Only this part is parsed, so that the result does not depend on the
/// bytes after it.
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

/// Checks what httparse is lenient about, and keeps where the fields lie.
pub(super) fn fields<'b>(
    head: &'b [u8],
    headers: &[Header<'_>],
    limits: &Limits,
    spans: &'b mut [Span],
) -> Result<Fields<'b>, Error> {
    let start = head.as_ptr() as usize;
    let offset = |part: &[u8]| part.as_ptr() as usize - start;
    let end = head.len() - 2;
    ends_in_crlf(head, head.len())?;
    let mut line_end = end;
    let (mut seen, mut some_alike) = (NameSet::default(), false);
    // From the last to the first: where one line begins, the one before it ends.
    for (header, span) in headers.iter().zip(&mut spans[..headers.len()]).rev() {
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
        };
        line_end = line;
    }
    // The start line.
    ends_in_crlf(head, line_end)?;
    if some_alike {
        seen = look_again(head, &mut spans[..headers.len()]);
    }
    Ok(Fields { head: &head[..end], spans: &spans[..headers.len()], seen })
}

/// Finds the shadows among fields.
#[cold]
fn look_again(head: &[u8], spans: &mut [Span]) -> NameSet {
    spans.iter_mut().fold(NameSet::default(), |seen, span| {
        span.name = Name::of(span.field(head).name_text);
        seen.with(span.name)
    })
}

/// httparse accepts a bare LF as the end of a line. RFC 9112 §2.2 allows that, but then two parsers can see two
/// messages. httparse has seen the LF at `line_end - 1`, and refuses a CR that is not before an LF.
#[inline]
fn ends_in_crlf(head: &[u8], line_end: usize) -> Result<(), Error> {
    if line_end >= 2 && head[line_end - 2] == b'\r' { Ok(()) } else { Err(Error::LineEnding) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::{FieldTable, request};

    const HEAD: &[u8] = b"GET /0123456789 HTTP/1.1\r\nHost: a\r\nX-A: 0123456789\r\n\r\n";

    fn verdict(input: &[u8], limits: Limits) -> Result<Parsed<usize>, Error> {
        request(input, &limits, &mut FieldTable::new()).map(|parsed| match parsed {
            Parsed::Partial => Parsed::Partial,
            Parsed::Whole(head) => Parsed::Whole(head.len),
        })
    }

    #[test]
    fn zero_stands_for_the_ceiling() {
        let ceiling = Limits { head_bytes: HEAD_BYTES_CEILING, field_bytes: HEAD_BYTES_CEILING, fields: MAX_FIELDS };
        assert_eq!(Limits::new(0, 0, 0), ceiling);
        assert_eq!(Limits::new(usize::MAX, usize::MAX, usize::MAX), ceiling);
        assert_eq!(Limits::new(1, 2, 3), Limits { head_bytes: 1, field_bytes: 2, fields: 3 });
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
