//! The field lines of a head (RFC 9112 §5). Each line is read once; its place is kept in a span.

use std::hint::cold_path;

use super::start::{LineEnd, Stop};
use crate::{
    Error,
    head::{Field, Fields, Limits, Look, Name, NameSet, Span},
    scan::{is_blank, text_bytes, token_bytes},
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
        let (mut seen, mut some_alike) = (NameSet::default(), false);
        let mut places = table.iter_mut();
        let mut rest = input.get(start_line.next..).unwrap_or_default();
        loop {
            let at = input.len() - rest.len();
            let (name_text, behind) = rest.split_at(token_bytes(rest));
            if name_text.is_empty() {
                let end = empty_line(input, at)?;
                if let Some(fault) = if end.bare { Some(Error::LineEnding) } else { fault } {
                    return Err(Stop::Wrong(fault));
                }
                let fields = limits.fields - places.len();
                if some_alike {
                    seen = look_again(input, &mut table[..fields]);
                }
                return Ok(Self { fields, seen, empty_line: at, end: end.next });
            }
            let value = match behind {
                // Most values stand behind one space.
                [b':', b' ', value @ ..] if value.first().is_some_and(|first| *first > b' ') => value,
                [b':', value @ ..] => behind_blanks(value),
                [] => return Err(Stop::Partial),
                _ => return Err(Stop::Wrong(Error::Field)),
            };
            let (value, end) = value.split_at(text_bytes(value));
            let next = match end {
                [b'\r', b'\n', next @ ..] => {
                    if rest.len() - next.len() > limits.field_bytes {
                        cold_path();
                        fault = Some(Error::FieldTooLarge);
                    }
                    next
                }
                _ => {
                    cold_path();
                    let end = LineEnd::at(input, input.len() - end.len(), Error::Field)?;
                    fault = Some(Error::LineEnding);
                    &input[end.next..]
                }
            };
            let Some(place) = places.next() else { return Err(Stop::Wrong(Error::TooManyFields)) };
            let name = match Name::look_up(name_text) {
                Look::Found(name) => name,
                Look::Alike(_) => {
                    cold_path();
                    some_alike = true;
                    Name::Other
                }
            };
            seen = seen.with(name);
            *place = Span {
                line: at as u32,
                name_bytes: name_text.len() as u32,
                value: (input.len() - end.len() - value.len()) as u32,
                value_bytes: without_blanks(value).len() as u32,
                name,
                ends_here: false,
            };
            rest = next;
        }
    }

    #[inline(always)]
    pub fn lines<'b>(&self, input: &'b [u8], table: &'b mut [Span]) -> Lines<'b> {
        let (head, spans) = (&input[..self.empty_line], &mut table[..self.fields]);
        Lines { head, spans, seen: self.seen, some_end_here: false }
    }
}

/// Where a line begins that has no name.
fn empty_line(input: &[u8], at: usize) -> Result<LineEnd, Stop> {
    let otherwise = if input.get(at) == Some(&b'\r') { Error::LineEnding } else { Error::Field };
    LineEnd::at(input, at, otherwise)
}

#[cold]
fn behind_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    &text[blanks..]
}

/// A value without the white space behind it: nothing else in a value is less than a space, or the same.
#[inline(always)]
fn without_blanks(value: &[u8]) -> &[u8] {
    match value {
        [.., ..=b' '] => value.trim_ascii_end(),
        _ => value,
    }
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
