//! The cookies of a request (RFC 6265 §4.2), and one that a response sets.

use weir_wire::head::{Field, Fields, Name};

pub(crate) const COOKIE: &[u8] = b"cookie";
pub(crate) const SET_COOKIE: &[u8] = b"Set-Cookie";

/// A request's field with cookies.
pub(crate) fn is_cookie(field: &Field<'_>) -> bool {
    field.name == Name::Other && field.name_text.eq_ignore_ascii_case(COOKIE)
}

/// All cookies of a request, in their order.
pub(crate) fn pairs<'f>(fields: &Fields<'f>) -> impl Iterator<Item = (&'f [u8], &'f [u8])> {
    let lines = fields.iter().filter(is_cookie);
    lines.flat_map(|field| pairs_in(field.value))
}

/// The cookies of one line.
pub(crate) fn pairs_in(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    line.split(|&byte| byte == b';').filter_map(pair)
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

/// Name and value of the cookie that a Set-Cookie sets.
pub(crate) fn set(field: &[u8]) -> (&[u8], &[u8]) {
    let first = field.split(|&byte| byte == b';').next().unwrap_or_default();
    pair(first).unwrap_or((b"", b""))
}
