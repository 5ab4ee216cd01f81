//! By what a server tells its responses apart (RFC 9110 §8.8), and of which stored response a 304 speaks.

use weir_wire::head::Fields;

use crate::date::unix_s;

/// Of one response. An empty one is not there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Validators {
    tag: Box<[u8]>,
    modified: Box<[u8]>,
    pub(crate) modified_s: Option<u64>,
}

impl Validators {
    pub fn of(fields: &Fields<'_>) -> Self {
        let modified = fields.first(b"last-modified");
        Self { tag: fields.first(b"etag").into(), modified: modified.into(), modified_s: unix_s(modified) }
    }

    /// The memory that they need.
    pub fn bytes(&self) -> usize {
        self.tag.len() + self.modified.len()
    }

    pub(crate) fn tag(&self) -> &[u8] {
        &self.tag
    }

    /// Whether a 304 with these speaks of a response that was stored with `stored`, so that it may freshen it (RFC 9111
    /// §4.3.4). One that names none speaks of what its server was asked about.
    pub fn speak_of(&self, stored: &Self) -> bool {
        match (&*self.tag, &*self.modified) {
            (b"", b"") => true,
            (b"", modified) => modified == &*stored.modified,
            (strong, _) if strong.starts_with(b"\"") => strong == &*stored.tag,
            (_, modified) if stored.tag.is_empty() => !modified.is_empty() && modified == &*stored.modified,
            (weak, _) => opaque(weak) == opaque(&stored.tag),
        }
    }

    /// Lines of a request that asks a server whether the response still holds (RFC 9111 §4.3.1). Empty: nothing can tell.
    pub fn conditions(&self) -> Vec<u8> {
        let pairs: [(&[u8], &[u8]); 2] = [(b"If-None-Match", &self.tag), (b"If-Modified-Since", &self.modified)];
        let there = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        there.map(|(name, value)| [name, b": ", value, b"\r\n"].concat()).collect::<Vec<_>>().concat()
    }
}

/// What a tag says beside whether it is weak.
pub(crate) fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}
