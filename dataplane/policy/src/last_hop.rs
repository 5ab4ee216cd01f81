//! Max-Forwards (RFC 9110 §7.6.2): a TRACE or an OPTIONS says how many may pass it on, and whoever may not answers itself.

use weir_wire::head::{HeadSink, Method, Name, NameSet, RequestHead};

use crate::{ClientFacts, HttpProfile};

/// The most that we pass on: a larger number becomes this one.
const MAX_FORWARDS: u64 = i64::MAX as u64;

const FIELD: NameSet = NameSet::of(&[Name::MaxForwards]);

/// What a request says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MaxForwards {
    /// Nothing, or nothing that concerns us.
    Unlimited,
    Left(u64),
    /// Two of them, or no number: one reader would pass the request on, and the next not.
    Malformed,
}

impl MaxForwards {
    #[inline]
    pub fn of(head: &RequestHead<'_>) -> Self {
        if head.fields.has(Name::MaxForwards) { Self::said(head) } else { Self::Unlimited }
    }

    #[cold]
    fn said(head: &RequestHead<'_>) -> Self {
        if !matches!(head.method, Method::Trace | Method::Options) {
            return Self::Unlimited;
        }
        let mut values = head.fields.among(FIELD).map(|field| field.value);
        match (values.next(), values.next()) {
            (Some(digits), None) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
                let number = digits
                    .iter()
                    .fold(0_u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
                Self::Left(number.min(MAX_FORWARDS))
            }
            _ => Self::Malformed,
        }
    }
}

/// Writes the field for whoever comes next; returns what of the client's fields it stands for.
#[cold]
pub(crate) fn write_max_forwards(head: &RequestHead<'_>, out: &mut impl HeadSink) -> NameSet {
    let MaxForwards::Left(left) = MaxForwards::of(head) else { return NameSet::default() };
    out.number(b"Max-Forwards", left.saturating_sub(1));
    FIELD
}

/// The answer of the last who gets a request, which is us.
#[derive(Clone, Copy, Debug)]
pub struct LastHop<'p> {
    traces: bool,
    security_lines: &'p [u8],
}

impl HttpProfile {
    /// The local answer to a request that may not be passed on.
    pub fn answer_as_last(&self, head: &RequestHead<'_>, client: &ClientFacts) -> Option<LastHop<'_>> {
        let last = MaxForwards::of(head) == MaxForwards::Left(0);
        let traces = head.method == Method::Trace;
        last.then(|| LastHop { traces, security_lines: self.security_lines(client) })
    }
}

impl LastHop<'_> {
    /// Room that is enough for [`write`](Self::write).
    pub const BYTES_MAX: usize = 512;

    /// A TRACE is not reflected: what it carries, cookies and credentials, would be there for a script to read.
    pub fn status(&self) -> u16 {
        if self.traces { 405 } else { 200 }
    }

    /// Writes the whole response, which has no content. `date`: the line of [`Date`](crate::Date).
    pub fn write(&self, date: &[u8], out: &mut impl HeadSink) {
        out.status(self.status(), if self.traces { b"Method Not Allowed" } else { b"OK" });
        out.field(b"Allow", [&b"OPTIONS"[..]]);
        out.number(b"Content-Length", 0);
        out.line(date);
        out.line(self.security_lines);
    }
}
