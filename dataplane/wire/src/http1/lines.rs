//! The field lines of a head (RFC 9112 §5). Each line is read once; its place is kept in a span.

use super::start::{LineEnd, Stop};
use crate::{
    Error,
    head::{Field, Fields, Limits, Look, Name, NameSet, Span},
    scan::{is_blank, text_end, token_end},
};

/// A field section that is whole. Its spans are the first ones of a table.
pub(super) struct Section {
    fields: usize,
    seen: NameSet,
    /// Where the empty line begins.
    empty_line: usize,
    /// Behind the empty line.
    pub end: usize,
}

impl Section {
    /// Reads from the end of the start line to the empty line. A malformed line is an error at once. A line that ends in a
    /// bare LF or is too long is an error when the section is whole; the last such line decides which error.
    #[inline(never)]
    pub fn read(input: &[u8], start_line: LineEnd, limits: &Limits, table: &mut [Span]) -> Result<Self, Stop> {
        let table = &mut table[..limits.fields];
        let mut fault = start_line.bare.then_some(Error::LineEnding);
        let (mut fields, mut at) = (0, start_line.next);
        let (mut seen, mut some_alike) = (NameSet::default(), false);
        loop {
            let name_end = token_end(input, at);
            if name_end == at {
                let end = empty_line(input, at)?;
                if let Some(fault) = if end.bare { Some(Error::LineEnding) } else { fault } {
                    return Err(Stop::Wrong(fault));
                }
                if some_alike {
                    seen = look_again(input, &mut table[..fields]);
                }
                return Ok(Self { fields, seen, empty_line: at, end: end.next });
            }
            let (span, end) = field_line(input, at, name_end)?;
            let Some(place) = table.get_mut(fields) else { return Err(Stop::Wrong(Error::TooManyFields)) };
            let name = match Name::look_up(&input[at..name_end]) {
                Look::Found(name) => name,
                Look::Alike(_) => {
                    some_alike = true;
                    Name::Other
                }
            };
            seen = seen.with(name);
            *place = Span { name, ..span };
            if end.bare {
                fault = Some(Error::LineEnding);
            } else if end.next - at > limits.field_bytes {
                fault = Some(Error::FieldTooLarge);
            }
            (fields, at) = (fields + 1, end.next);
        }
    }

    #[inline(always)]
    pub fn lines<'b>(&self, input: &'b [u8], table: &'b mut [Span]) -> Lines<'b> {
        let (head, spans) = (&input[..self.empty_line], &mut table[..self.fields]);
        Lines { head, spans, seen: self.seen, some_end_here: false }
    }
}

/// The line at `at`, whose name ends at `name_end`. Nobody has looked the name up.
#[inline(always)]
fn field_line(input: &[u8], at: usize, name_end: usize) -> Result<(Span, LineEnd), Stop> {
    match input.get(name_end) {
        Some(b':') => {}
        Some(_) => return Err(Stop::Wrong(Error::Field)),
        None => return Err(Stop::Partial),
    }
    let value = value_start(input, name_end + 1);
    let value_end = text_end(input, value);
    let end = LineEnd::at(input, value_end, Error::Field)?;
    let span = Span {
        line: at as u32,
        name_bytes: (name_end - at) as u32,
        value: value as u32,
        value_bytes: without_blanks(input, value, value_end) as u32,
        name: Name::Other,
        ends_here: false,
    };
    Ok((span, end))
}

/// Where a line begins that has no name.
fn empty_line(input: &[u8], at: usize) -> Result<LineEnd, Stop> {
    let otherwise = if input.get(at) == Some(&b'\r') { Error::LineEnding } else { Error::Field };
    LineEnd::at(input, at, otherwise)
}

/// Most values stand behind one space.
#[inline(always)]
fn value_start(input: &[u8], mut at: usize) -> usize {
    if let Some([b' ', b'!'..=0xff]) = input.get(at..at + 2) {
        return at + 1;
    }
    while at < input.len() && is_blank(input[at]) {
        at += 1;
    }
    at
}

/// Bytes of a value without the white space behind it: nothing else in a value is less than a space, or the same.
#[inline(always)]
fn without_blanks(input: &[u8], start: usize, mut end: usize) -> usize {
    while end > start && input[end - 1] <= b' ' {
        end -= 1;
    }
    end - start
}

/// Finds the shadows among fields.
#[cold]
fn look_again(input: &[u8], spans: &mut [Span]) -> NameSet {
    spans.iter_mut().fold(NameSet::default(), |seen, span| {
        span.name = Name::of(span.field(input).name_text);
        seen.with(span.name)
    })
}

/// The fields of a section, before they are shared: spans can still be marked.
pub(super) struct Lines<'b> {
    /// The head without the empty line that ends it.
    head: &'b [u8],
    spans: &'b mut [Span],
    pub seen: NameSet,
    some_end_here: bool,
}

impl<'b> Lines<'b> {
    pub fn among(&self, names: NameSet) -> impl Iterator<Item = Field<'b>> {
        let (head, any) = (self.head, self.seen.has_any(names));
        let spans: &[Span] = if any { self.spans } else { &[] };
        spans.iter().filter(move |span| names.has(span.name)).map(move |span| span.field(head))
    }

    /// Marks the fields for which `ends_here` is true: they go no further than this connection.
    #[cold]
    pub fn end_here(&mut self, ends_here: impl Fn(&Self, Field<'b>) -> bool) {
        for i in 0..self.spans.len() {
            self.spans[i].ends_here |= ends_here(self, self.spans[i].field(self.head));
        }
        self.some_end_here = true;
    }

    pub fn fields(self) -> Fields<'b> {
        Fields { head: self.head, spans: self.spans, seen: self.seen, some_end_here: self.some_end_here }
    }
}
