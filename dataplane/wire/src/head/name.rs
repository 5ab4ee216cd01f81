//! Names of fields: those that Weir itself reads or writes are known, and a set of them is a word of bits.

use std::ops::BitOr;

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
    Priority,
    ProxyAuthenticate,
    ProxyAuthorization,
    ProxyConnection,
    SetCookie,
    /// Not one of these, and the same as one of them for who reads fields as CGI hands them over: `X_Forwarded_For`.
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
    /// `name` is a token. Length and first letter leave one candidate at most, so that other names cost next to nothing.
    pub fn of(name: &[u8]) -> Name {
        match Self::look_up(name) {
            Look::Alike(known) if is_same_in_cgi(name, known) => Name::Shadow,
            Look::Alike(_) => Name::Other,
            Look::Found(name) => name,
        }
    }

    /// Whether the field belongs to one connection, says whom the request is for, or how its content is framed.
    pub fn is_of_framing(self) -> bool {
        HOP_BY_HOP.with(Name::Host).with(Name::ContentLength).has(self)
    }

    /// The same for a name in small letters that the compiler knows.
    pub(crate) const fn of_constant(name: &[u8]) -> Name {
        let mut i = 0;
        while i < NAMES.len() {
            if is_same(name, NAMES[i].0) {
                return NAMES[i].1;
            }
            i += 1;
        }
        Name::Other
    }

    /// The same for who does not want to pay for shadows with each name.
    #[inline(always)]
    pub(crate) fn look_up(name: &[u8]) -> Look {
        let (Some(&first), Some(&last)) = (name.first(), name.last()) else { return Look::Found(Name::Other) };
        let (known, candidate) = KNOWN[slot(name.len(), first)];
        // Whatever is the same, or becomes the same in CGI, ends in the same letter: `Accept-Ranges` is not alike
        // `Authorization`.
        if name.len() != known.len() || known.last() != Some(&(last | LOWER)) {
            return Look::Found(Name::Other);
        }
        if is_known(name, known) { Look::Found(candidate) } else { Look::Alike(known) }
    }
}

/// What a look at a name tells.
pub(crate) enum Look {
    Found(Name),
    /// As long as this known name, with its first and last letter, and not the same.
    Alike(&'static [u8]),
}

/// Whether a token is `known`, which is as long and in small letters: in words that may overlap, because a head has many
/// names.
#[inline]
pub(crate) fn is_known(name: &[u8], known: &[u8]) -> bool {
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

/// What concerns one connection only, and so never passes to another (RFC 9110 §7.6.1). Transfer-Encoding is among them:
/// whoever writes the next head says how that one's body is framed.
pub(crate) const HOP_BY_HOP: NameSet = NameSet::of(&[
    Name::Connection,
    Name::KeepAlive,
    Name::ProxyConnection,
    Name::Te,
    Name::TransferEncoding,
    Name::Upgrade,
]);

/// Whether two names become one where fields become variables (RFC 3875 §4.1.18): small letters become capitals, and
/// whatever cannot stand in a variable's name an underscore. Servers differ in what they take for that: the most do.
pub fn is_same_in_cgi(one: &[u8], other: &[u8]) -> bool {
    let variable = |byte: &u8| if byte.is_ascii_alphanumeric() { byte.to_ascii_uppercase() } else { b'_' };
    one.len() == other.len() && one.iter().map(variable).eq(other.iter().map(variable))
}

type Known = (&'static [u8], Name);

/// In small letters.
const NAMES: [Known; 21] = [
    (b"authorization", Name::Authorization),
    (b"connection", Name::Connection),
    (b"content-length", Name::ContentLength),
    (b"date", Name::Date),
    (b"expect", Name::Expect),
    (b"host", Name::Host),
    (b"keep-alive", Name::KeepAlive),
    (b"location", Name::Location),
    (b"max-forwards", Name::MaxForwards),
    (b"priority", Name::Priority),
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

pub(crate) const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut i = 0;
    while i < one.len() && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == one.len() && i == other.len()
}

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
    (len + (first | LOWER) as usize * 7) % SLOTS
}

/// Turns capitals small and leaves a hyphen one; nothing else in a token becomes a letter or a hyphen by it.
pub(crate) const LOWER: u8 = 0x20;
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

    pub(crate) const fn with(self, name: Name) -> Self {
        Self(self.0 | 1 << name as u32)
    }

    pub const fn has(self, name: Name) -> bool {
        self.0 & (1 << name as u32) != 0
    }

    pub const fn has_any(self, names: NameSet) -> bool {
        self.0 & names.0 != 0
    }
}

impl BitOr for NameSet {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
