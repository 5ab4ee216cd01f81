//! The cookies of a request (RFC 6265 §4.2), and the name of one that a response sets.

use weir_wire::head::{Field, Fields, Name};

pub(crate) const COOKIE: &[u8] = b"cookie";

/// A request's field with cookies.
pub(crate) fn is_cookie(field: &Field<'_>) -> bool {
    field.name == Name::Other && field.name_text.eq_ignore_ascii_case(COOKIE)
}

/// All cookies of a request, in their order.
pub(crate) fn pairs<'f>(fields: &Fields<'f>) -> impl Iterator<Item = (&'f [u8], &'f [u8])> {
    let lines = fields.iter().filter(is_cookie);
    lines.flat_map(|field| field.value.split(|&byte| byte == b';')).filter_map(pair)
}

/// The values of the cookies with this name.
pub(crate) fn values<'f>(fields: &Fields<'f>, name: &[u8]) -> impl Iterator<Item = &'f [u8]> {
    pairs(fields).filter(move |pair| pair.0 == name).map(|pair| pair.1)
}

/// `name=value`; a part without a name is none.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == b'=')?;
    let name = text[..at].trim_ascii();
    (!name.is_empty()).then(|| (name, text[at + 1..].trim_ascii()))
}

/// The name of the cookie that the value of a Set-Cookie sets.
pub(crate) fn name_of_set(value: &[u8]) -> &[u8] {
    let first = value.split(|&byte| byte == b';').next().unwrap_or_default();
    pair(first).map_or(b"", |(name, _)| name)
}
