//! The static table (RFC 7541 appendix A).

use super::{Kind, Pseudo};
use crate::head::Name;

/// An entry, as the line that the decoder appends.
pub(super) struct Entry {
    pub line: &'static [u8],
    pub name_bytes: usize,
    pub kind: Kind,
}

/// The entry of an index, which counts from 1.
pub(super) fn entry(index: usize) -> Option<&'static Entry> {
    ENTRIES.get(index.checked_sub(1)?)
}

pub(super) const COUNT: usize = ENTRIES.len();

/// The index of the first entry with this name, which is in small letters.
pub(super) fn index_of(name: &[u8]) -> Option<usize> {
    let (&first, &last) = (name.first()?, name.last()?);
    let index = usize::from(INDEXES[slot(name.len(), first, last)]);
    entry(index).filter(|entry| &entry.line[..entry.name_bytes] == name).map(|_| index)
}

const SLOTS: usize = 128;

/// The first index of each name, in a slot of its own; the compiler checks that.
static INDEXES: [u8; SLOTS] = {
    let mut slots = [0; SLOTS];
    let mut i = 0;
    while i < ENTRIES.len() {
        let Entry { line, name_bytes, .. } = ENTRIES[i];
        let at = slot(name_bytes, line[0], line[name_bytes - 1]);
        if i == 0 || !begins_alike(line, ENTRIES[i - 1].line, name_bytes + 1) {
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

const fn begins_alike(one: &[u8], other: &[u8], bytes: usize) -> bool {
    let mut i = 0;
    while i < bytes && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == bytes
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
            let name = &is.line[..is.name_bytes];
            let first = (1..).zip(&ENTRIES).find(|(_, entry)| &entry.line[..entry.name_bytes] == name);
            assert_eq!(index_of(name), first.map(|(first, _)| first), "{index}");
        }
        assert_eq!([&b""[..], b"x-forwarded-for", b"hose", b"agf"].map(index_of), [None; 4]);
        assert_eq!(entry(38).map(|entry| entry.kind), Some(Kind::Field(Name::Host)));
        assert_eq!(entry(2).map(|entry| entry.kind), Some(Kind::Pseudo(Pseudo::Method)));
    }
}
