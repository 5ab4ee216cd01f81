//! Redirects of servers that believe the client came without TLS.

use weir_wire::head::{Field, HeadSink, without_port};

/// Writes a Location: `http://host:8080/path` becomes `https://host<port_suffix>/path`. What names another scheme, or
/// no host, goes as it came.
pub(crate) fn write_as_https(field: Field<'_>, port_suffix: &[u8], out: &mut impl HeadSink) {
    match split_http(field.value) {
        Some((host, rest)) => out.field(field.name_text, [b"https://", host, port_suffix, rest]),
        None => out.field(field.name_text, [field.value]),
    }
}

/// `http://host:port/rest` as (`host`, `/rest`). User information stays with the host.
fn split_http(location: &[u8]) -> Option<(&[u8], &[u8])> {
    let (scheme, rest) = location.split_at_checked(b"http://".len())?;
    if !scheme.eq_ignore_ascii_case(b"http://") {
        return None;
    }
    let authority_bytes = rest.iter().position(|b| b"/?#".contains(b)).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(authority_bytes);
    let host_start = authority.iter().rposition(|&b| b == b'@').map_or(0, |at| at + 1);
    let host = without_port(&authority[host_start..]);
    if host.is_empty() { None } else { Some((&authority[..host_start + host.len()], rest)) }
}
