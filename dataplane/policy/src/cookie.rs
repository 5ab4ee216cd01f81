//! Attributes of Set-Cookie (RFC 6265 §4.1) that the server left out.

use weir_wire::head::{Field, HeadSink};

use crate::{ClientFacts, Prefix, host::Hosts};

/// Which attributes each cookie shall have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CookieFlags {
    pub secure: bool,
    pub http_only: bool,
}

impl CookieFlags {
    /// A browser drops a Secure cookie that came without TLS.
    pub fn for_client(self, client: &ClientFacts) -> Self {
        Self { secure: self.secure && client.tls, ..self }
    }

    pub fn write(self, field: Field<'_>, prefix: Option<&Prefix>, hosts: Option<Hosts<'_>>, out: &mut impl HeadSink) {
        let lacks = |attribute| !has_attribute(field.value, attribute);
        let secure: &[u8] = if self.secure && lacks(b"secure") { b"; Secure" } else { b"" };
        let http_only: &[u8] = if self.http_only && lacks(b"httponly") { b"; HttpOnly" } else { b"" };
        let [before, prefix, behind] = prefix.map_or([b"", b"", field.value], |prefix| prefix.put_into(field.value));
        let [until_domain, domain, rest] = hosts.map_or([b"", b"", behind], |hosts| hosts.in_cookie(behind));
        out.field(field.name_text, [before, prefix, until_domain, domain, rest, secure, http_only]);
    }
}

/// Attributes follow the pair of name and value. A value on an attribute that needs none changes nothing (RFC 6265
/// §5.2).
fn has_attribute(cookie: &[u8], attribute: &[u8]) -> bool {
    cookie.split(|&b| b == b';').skip(1).any(|part| {
        let name = part.split(|&b| b == b'=').next().unwrap_or_default();
        name.trim_ascii().eq_ignore_ascii_case(attribute)
    })
}
