//! Cache-Control, as a shared cache reads it (RFC 9111 §5.2).

use weir_wire::head::Fields;

use crate::date::number;

/// Of a request (§5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OfRequest {
    pub no_store: bool,
    pub no_cache: bool,
    pub max_age_s: Option<u64>,
    pub min_fresh_s: u64,
    /// `None`: it takes nothing stale.
    pub max_stale_s: Option<u64>,
}

/// Of a response (§5.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OfResponse {
    /// There is a Cache-Control.
    pub said: bool,
    pub no_store: bool,
    pub private: bool,
    pub no_cache: bool,
    pub must_revalidate: bool,
    pub proxy_revalidate: bool,
    pub public: bool,
    pub s_maxage_s: Option<u64>,
    pub max_age_s: Option<u64>,
}

impl OfRequest {
    pub fn of(fields: &Fields<'_>) -> Self {
        let mut all = Self::default();
        let mut said = false;
        each(fields, |name, value| {
            said = true;
            match name {
                b"no-store" => all.no_store = true,
                b"no-cache" => all.no_cache = true,
                b"max-age" => all.max_age_s = Some(least(all.max_age_s, value)),
                b"min-fresh" => all.min_fresh_s = number(value).unwrap_or(u64::MAX),
                b"max-stale" => {
                    all.max_stale_s = Some(if value.is_empty() { u64::MAX } else { number(value).unwrap_or(0) })
                }
                _ => {}
            }
        });
        // §5.4: of a client that knows no Cache-Control.
        let pragma = fields.first(b"pragma");
        all.no_cache |= !said && pragma.to_ascii_lowercase().windows(8).any(|part| part == b"no-cache");
        all
    }
}

impl OfResponse {
    pub fn of(fields: &Fields<'_>) -> Self {
        let mut all = Self::default();
        each(fields, |name, value| {
            all.said = true;
            match name {
                b"no-store" => all.no_store = true,
                // With names of fields, too: these would have to be removed.
                b"private" => all.private = true,
                b"no-cache" => all.no_cache = true,
                b"must-revalidate" => all.must_revalidate = true,
                b"proxy-revalidate" => all.proxy_revalidate = true,
                b"public" => all.public = true,
                b"s-maxage" => all.s_maxage_s = Some(least(all.s_maxage_s, value)),
                b"max-age" => all.max_age_s = Some(least(all.max_age_s, value)),
                _ => {}
            }
        });
        all
    }
}

/// What cannot be read is stale (§4.2.1), and of two values the shorter counts.
fn least(before: Option<u64>, value: &[u8]) -> u64 {
    before.unwrap_or(u64::MAX).min(number(value).unwrap_or(0))
}

/// Calls `take` with the name of each directive in small letters, and its value without quotes.
fn each(fields: &Fields<'_>, mut take: impl FnMut(&[u8], &[u8])) {
    for field in fields.iter().filter(|field| field.name_text.eq_ignore_ascii_case(b"cache-control")) {
        for directive in elements(field.value) {
            let (name, value) = match directive.iter().position(|&byte| byte == b'=') {
                Some(at) => (&directive[..at], &directive[at + 1..]),
                None => (directive, &b""[..]),
            };
            let value = value.trim_ascii();
            let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
            take(&name.trim_ascii().to_ascii_lowercase(), value);
        }
    }
}

/// The elements of a list. A comma in quotes parts nothing.
fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    list.split(move |&byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    })
    .map(<[u8]>::trim_ascii)
    .filter(|element| !element.is_empty())
}
