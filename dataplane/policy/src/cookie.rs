//! Attributes of Set-Cookie (RFC 6265 §4.1) that the server left out.

use weir_wire::http1::{Field, HeadWriter};

use crate::ClientFacts;

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

    pub fn any(self) -> bool {
        self.secure || self.http_only
    }

    pub fn write(self, field: Field<'_>, out: &mut HeadWriter<'_>) {
        out.text(field.name_text).text(b": ").text(field.value);
        if self.secure && !has_attribute(field.value, b"secure") {
            out.text(b"; Secure");
        }
        if self.http_only && !has_attribute(field.value, b"httponly") {
            out.text(b"; HttpOnly");
        }
        out.text(b"\r\n");
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
