//! The static table (RFC 7541 appendix A).

use super::{Kind, LINE_END, Pseudo, SEPARATOR};
use crate::head::{LOWER, Name, is_known, is_same};

/// An entry, as the line that the decoder appends.
pub(super) struct Entry {
    pub line: &'static [u8],
    pub name_bytes: usize,
    pub kind: Kind,
}

impl Entry {
    const fn name(&self) -> &'static [u8] {
        self.line.split_at(self.name_bytes).0
    }

    fn value(&self) -> &'static [u8] {
        &self.line[self.name_bytes + SEPARATOR.len()..self.line.len() - LINE_END.len()]
    }
}

/// The entry of an index, which counts from 1.
pub(super) fn entry(index: usize) -> Option<&'static Entry> {
    ENTRIES.get(index.checked_sub(1)?)
}

pub(super) const COUNT: usize = ENTRIES.len();

/// The index of the first entry with this name, which is a token, in any case of letters.
#[inline]
pub(super) fn index_of(name: &[u8]) -> Option<usize> {
    let (&first, &last) = (name.first()?, name.last()?);
    let index = usize::from(INDEXES[slot(name.len(), first | LOWER, last | LOWER)]);
    let known = entry(index)?.name();
    (name.len() == known.len() && is_known(name, known)).then_some(index)
}

/// The index of the entry with this value among those with the name of the entry `first`.
pub(super) fn index_with(first: usize, value: &[u8]) -> Option<usize> {
    let kind = entry(first)?.kind;
    let mut alike = (first..).map_while(entry).take_while(|entry| entry.kind == kind);
    alike.position(|entry| entry.value() == value).map(|at| first + at)
}

const SLOTS: usize = 128;

/// The first index of each name, in a slot of its own; the compiler checks that.
static INDEXES: [u8; SLOTS] = {
    let mut slots = [0; SLOTS];
    let mut i = 0;
    while i < ENTRIES.len() {
        let name = ENTRIES[i].name();
        let at = slot(name.len(), name[0], name[name.len() - 1]);
        if i == 0 || !is_same(name, ENTRIES[i - 1].name()) {
            assert!(slots[at] == 0, "two names in one slot: choose other factors");
            slots[at] = i as u8 + 1;
        }
        i += 1;
    }
    slots
};

const fn slot(len: usize, first: u8, last: u8) -> usize {
    (3 * len + 54 * first as usize + 59 * last as usize) % SLOTS
}

/// The pseudo-header field of a name.
pub(super) const fn pseudo(name: &[u8]) -> Option<Pseudo> {
    match name {
        b":authority" => Some(Pseudo::Authority),
        b":method" => Some(Pseudo::Method),
        b":path" => Some(Pseudo::Path),
        b":protocol" => Some(Pseudo::Protocol),
        b":scheme" => Some(Pseudo::Scheme),
        b":status" => Some(Pseudo::Status),
        _ => None,
    }
}

const fn line(name: &'static str, line: &'static str) -> Entry {
    let (name, line) = (name.as_bytes(), line.as_bytes());
    let kind = match pseudo(name) {
        Some(pseudo) => Kind::Pseudo(pseudo),
        None => Kind::Field(Name::of_constant(name)),
    };
    Entry { line, name_bytes: name.len(), kind }
}

macro_rules! entries {
    ($($name:literal $value:literal)*) => { [$(line($name, concat!($name, ": ", $value, "\r\n"))),*] };
}

const ENTRIES: [Entry; 61] = entries! {
    ":authority" ""
    ":method" "GET"
    ":method" "POST"
    ":path" "/"
    ":path" "/index.html"
    ":scheme" "http"
    ":scheme" "https"
    ":status" "200"
    ":status" "204"
    ":status" "206"
    ":status" "304"
    ":status" "400"
    ":status" "404"
    ":status" "500"
    "accept-charset" ""
    "accept-encoding" "gzip, deflate"
    "accept-language" ""
    "accept-ranges" ""
    "accept" ""
    "access-control-allow-origin" ""
    "age" ""
    "allow" ""
    "authorization" ""
    "cache-control" ""
    "content-disposition" ""
    "content-encoding" ""
    "content-language" ""
    "content-length" ""
    "content-location" ""
    "content-range" ""
    "content-type" ""
    "cookie" ""
    "date" ""
    "etag" ""
    "expect" ""
    "expires" ""
    "from" ""
    "host" ""
    "if-match" ""
    "if-modified-since" ""
    "if-none-match" ""
    "if-range" ""
    "if-unmodified-since" ""
    "last-modified" ""
    "link" ""
    "location" ""
    "max-forwards" ""
    "proxy-authenticate" ""
    "proxy-authorization" ""
    "range" ""
    "referer" ""
    "refresh" ""
    "retry-after" ""
    "server" ""
    "set-cookie" ""
    "strict-transport-security" ""
    "transfer-encoding" ""
    "user-agent" ""
    "vary" ""
    "via" ""
    "www-authenticate" ""
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_index_and_by_name() {
        let text = |index| entry(index).map(|entry| String::from_utf8_lossy(entry.line).into_owned());
        assert_eq!(text(0), None);
        assert_eq!(text(1).as_deref(), Some(":authority: \r\n"));
        assert_eq!(text(16).as_deref(), Some("accept-encoding: gzip, deflate\r\n"));
        assert_eq!(text(61).as_deref(), Some("www-authenticate: \r\n"));
        assert_eq!(text(62), None);
        for (index, is) in (1..).zip(&ENTRIES) {
            let name = is.name();
            let first = (1..).zip(&ENTRIES).find(|(_, entry)| entry.name() == name);
            assert_eq!(index_of(name), first.map(|(first, _)| first), "{index}");
        }
        assert_eq!(index_of(b"Content-LENGTH"), index_of(b"content-length"));
        assert_eq!([&b""[..], b"x-forwarded-for", b"hose", b"agf"].map(index_of), [None; 4]);
        assert_eq!(
            [(2, &b"POST"[..]), (8, b"404"), (8, b"405"), (4, b"https")].map(|(first, value)| index_with(first, value)),
            [Some(3), Some(13), None, None,]
        );
        assert_eq!(entry(38).map(|entry| entry.kind), Some(Kind::Field(Name::Host)));
        assert_eq!(entry(2).map(|entry| entry.kind), Some(Kind::Pseudo(Pseudo::Method)));
    }
}
