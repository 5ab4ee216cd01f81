//! The fields of a head, as spans of the bytes that they were read from. A table of spans belongs to a worker and
//! serves one head at a time. So parsing fills only what it needs, and allocates nothing.

use std::{fmt, ops::BitOr};

/// The most fields a head may have, whatever an operator allows.
pub const MAX_FIELDS: usize = 256;

/// The fields that Weir itself reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Name {
    Other,
    Authorization,
    Connection,
    ContentLength,
    Date,
    Expect,
    Host,
    KeepAlive,
    Location,
    MaxForwards,
    ProxyAuthenticate,
    ProxyAuthorization,
    ProxyConnection,
    SetCookie,
    /// None of these names, but equal to one of them for readers that turn fields into CGI variables:
    /// `X_Forwarded_For`.
    Shadow,
    StrictTransportSecurity,
    Te,
    TransferEncoding,
    Upgrade,
    WwwAuthenticate,
    XForwardedFor,
    XForwardedProto,
}

impl Name {
    /// `name` is a token. Its length and first letter leave at most one candidate, so that other names cost next to
    /// nothing.
    pub fn of(name: &[u8]) -> Name {
        match Self::look_up(name) {
            Look::Alike(known) if is_same_in_cgi(name, known) => Name::Shadow,
            Look::Alike(_) => Name::Other,
            Look::Found(name) => name,
        }
    }

    /// The same for who does not want to pay for shadows with each name.
    #[inline(always)]
    pub(super) fn look_up(name: &[u8]) -> Look {
        let (Some(&first), Some(&last)) = (name.first(), name.last()) else { return Look::Found(Name::Other) };
        let (known, candidate) = KNOWN[slot(name.len(), first)];
        // Names that are equal, or become equal in CGI, end in the same letter: `Accept-Ranges` cannot equal
        // `Authorization`.
        if name.len() != known.len() || known.last() != Some(&(last | LOWER)) {
            return Look::Found(Name::Other);
        }
        if is_known(name, known) { Look::Found(candidate) } else { Look::Alike(known) }
    }
}

/// What a look at a name tells.
pub(super) enum Look {
    Found(Name),
    /// As long as this known name, with its first and last letter, and not the same.
    Alike(&'static [u8]),
}

/// Whether a token is `known`, which has the same length and is in lower case. It compares machine words that may
/// overlap, because a head has many names.
#[inline]
fn is_known(name: &[u8], known: &[u8]) -> bool {
    let eight = |name: &[u8; 8], known: &[u8; 8]| (u64::from_ne_bytes(*name) | LOWER_8) ^ u64::from_ne_bytes(*known);
    let four = |name: &[u8; 4], known: &[u8; 4]| (u32::from_ne_bytes(*name) | LOWER_4) ^ u32::from_ne_bytes(*known);
    if let (Some(name_end), Some(known_end)) = (name.last_chunk(), known.last_chunk()) {
        let words = name.as_chunks().0.iter().zip(known.as_chunks().0);
        words.fold(eight(name_end, known_end), |differs, (name, known)| differs | eight(name, known)) == 0
    } else if let (Some(name_start), Some(known_start)) = (name.first_chunk(), known.first_chunk())
        && let (Some(name_end), Some(known_end)) = (name.last_chunk(), known.last_chunk())
    {
        four(name_start, known_start) | four(name_end, known_end) == 0
    } else {
        name.eq_ignore_ascii_case(known)
    }
}

/// Whether two names become equal where fields become variables (RFC 3875 §4.1.18): lower case becomes upper case, and
/// each character that a variable's name cannot have becomes an underscore. Servers differ in which characters these
/// are; this takes the largest set.
pub fn is_same_in_cgi(one: &[u8], other: &[u8]) -> bool {
    let variable = |byte: &u8| if byte.is_ascii_alphanumeric() { byte.to_ascii_uppercase() } else { b'_' };
    one.len() == other.len() && one.iter().map(variable).eq(other.iter().map(variable))
}

type Known = (&'static [u8], Name);

/// In small letters.
const NAMES: [Known; 20] = [
    (b"authorization", Name::Authorization),
    (b"connection", Name::Connection),
    (b"content-length", Name::ContentLength),
    (b"date", Name::Date),
    (b"expect", Name::Expect),
    (b"host", Name::Host),
    (b"keep-alive", Name::KeepAlive),
    (b"location", Name::Location),
    (b"max-forwards", Name::MaxForwards),
    (b"proxy-authenticate", Name::ProxyAuthenticate),
    (b"proxy-authorization", Name::ProxyAuthorization),
    (b"proxy-connection", Name::ProxyConnection),
    (b"set-cookie", Name::SetCookie),
    (b"strict-transport-security", Name::StrictTransportSecurity),
    (b"te", Name::Te),
    (b"transfer-encoding", Name::TransferEncoding),
    (b"upgrade", Name::Upgrade),
    (b"www-authenticate", Name::WwwAuthenticate),
    (b"x-forwarded-for", Name::XForwardedFor),
    (b"x-forwarded-proto", Name::XForwardedProto),
];

const SLOTS: usize = 64;

/// Each name in a slot of its own; the compiler checks that.
static KNOWN: [Known; SLOTS] = {
    let mut slots: [Known; SLOTS] = [(b"", Name::Other); SLOTS];
    let mut i = 0;
    while i < NAMES.len() {
        let at = slot(NAMES[i].0.len(), NAMES[i].0[0]);
        assert!(slots[at].0.is_empty(), "two names in one slot: choose more slots, or a factor");
        slots[at] = NAMES[i];
        i += 1;
    }
    slots
};

const fn slot(len: usize, first: u8) -> usize {
    (len + (first | LOWER) as usize * 5) % SLOTS
}

/// Turns upper case into lower case and leaves a hyphen alone. No other character of a token becomes a letter or a
/// hyphen.
const LOWER: u8 = 0x20;
const LOWER_4: u32 = u32::from_ne_bytes([LOWER; 4]);
const LOWER_8: u64 = u64::from_ne_bytes([LOWER; 8]);

/// Some of the known names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NameSet(u32);

impl NameSet {
    pub const fn of(names: &[Name]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < names.len() {
            bits |= 1 << names[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    pub(super) const fn with(self, name: Name) -> Self {
        Self(self.0 | 1 << name as u32)
    }

    pub const fn has(self, name: Name) -> bool {
        self.0 & (1 << name as u32) != 0
    }
}

impl BitOr for NameSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Where a field lies in its head. The line runs to the start of the next one.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub line: u32,
    pub name_bytes: u32,
    pub value: u32,
    pub value_bytes: u32,
    pub name: Name,
}

/// Room for the spans of one head; about 5 KiB, so keep one per worker.
pub struct FieldTable {
    pub(super) spans: Box<[Span]>,
    /// A head whose bytes could not be used as they came.
    pub(super) repaired: Vec<u8>,
}

impl FieldTable {
    pub fn new() -> Self {
        let unused = Span { line: 0, name_bytes: 0, value: 0, value_bytes: 0, name: Name::Other };
        Self { spans: vec![unused; MAX_FIELDS].into_boxed_slice(), repaired: Vec::new() }
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
    pub(super) head: &'b [u8],
    pub(super) spans: &'b [Span],
    pub(super) seen: NameSet,
}

impl<'b> Fields<'b> {
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Field<'b>> + use<'b> {
        let head = self.head;
        self.spans.iter().map(move |span| span.field(head))
    }

    /// Whether a known field is there.
    pub fn has(&self, name: Name) -> bool {
        self.seen.has(name)
    }

    pub fn has_any(&self, names: NameSet) -> bool {
        self.seen.0 & names.0 != 0
    }

    /// The fields with one of these names.
    pub fn among(&self, names: NameSet) -> impl Iterator<Item = Field<'b>> + use<'b> {
        let (head, any) = (self.head, self.has_any(names));
        let spans = if any { self.spans } else { &[] };
        spans.iter().filter(move |span| names.has(span.name)).map(move |span| span.field(head))
    }

    /// The value of the first field of this name, in any case of letters.
    pub fn find(&self, name: &[u8]) -> Option<&'b [u8]> {
        self.iter().find(|field| field.name_text.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// Hands over the lines of the fields to keep, unchanged, with CRLF. Neighbouring lines come in one piece.
    pub fn kept_lines(&self, mut keep: impl FnMut(Field<'b>) -> bool, mut emit: impl FnMut(&'b [u8])) {
        let mut run_start = self.spans.first().map_or(self.head.len(), |span| span.line as usize);
        for (i, span) in self.spans.iter().enumerate() {
            if keep(span.field(self.head)) {
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

impl Span {
    /// A span always lies within its head. `get` avoids a panic path here, so that parts that nobody reads cost
    /// nothing.
    #[inline]
    pub(super) fn field<'b>(&self, head: &'b [u8]) -> Field<'b> {
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
    use crate::http1::{Limits, Parsed, request};

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nX-One:  1 \r\nTE: x\r\nX-Two:\r\nx-one: 2\r\n\r\n";

    fn with_fields<T>(look: impl Fn(Fields<'_>) -> T) -> T {
        match request(HEAD, &Limits::new(0, 0, 0), &mut FieldTable::new()) {
            Ok(Parsed::Whole(head)) => look(head.fields),
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
            assert_eq!((fields.len(), fields.is_empty()), (5, false));
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
    fn knows_each_known_name() {
        for (text, name) in [
            ("Authorization", Name::Authorization),
            ("Connection", Name::Connection),
            ("Content-Length", Name::ContentLength),
            ("Date", Name::Date),
            ("Expect", Name::Expect),
            ("HOST", Name::Host),
            ("keep-alive", Name::KeepAlive),
            ("Location", Name::Location),
            ("Max-Forwards", Name::MaxForwards),
            ("Proxy-Authenticate", Name::ProxyAuthenticate),
            ("Proxy-Authorization", Name::ProxyAuthorization),
            ("Proxy-Connection", Name::ProxyConnection),
            ("Set-Cookie", Name::SetCookie),
            ("Strict-Transport-Security", Name::StrictTransportSecurity),
            ("TE", Name::Te),
            ("Transfer-Encoding", Name::TransferEncoding),
            ("Upgrade", Name::Upgrade),
            ("WWW-Authenticate", Name::WwwAuthenticate),
            ("X-Forwarded-For", Name::XForwardedFor),
            ("X-Forwarded-Proto", Name::XForwardedProto),
            ("Accept", Name::Other),
            ("Allow", Name::Other),
            ("X_Forwarded_For", Name::Shadow),
            ("x-forwarded.FOR", Name::Shadow),
            ("Content_Length", Name::Shadow),
            ("transfer_encoding", Name::Shadow),
            ("X_Forwarded-Port", Name::Other),
            ("XxForwarded-For", Name::Other),
            ("Hos_", Name::Other),
        ] {
            assert_eq!(Name::of(text.as_bytes()), name);
        }
    }

    #[test]
    fn keeps_neighbours_in_one_piece() {
        assert_eq!(kept(|_| true), ["Host: a\r\nX-One:  1 \r\nTE: x\r\nX-Two:\r\nx-one: 2\r\n"]);
        assert_eq!(kept(|field| field.name != Name::Te), ["Host: a\r\nX-One:  1 \r\n", "X-Two:\r\nx-one: 2\r\n"]);
        assert_eq!(kept(|field| field.name == Name::Te), ["TE: x\r\n"]);
        assert_eq!(kept(|field| field.value == b"2"), ["x-one: 2\r\n"]);
        assert!(kept(|_| false).is_empty());
    }
}
