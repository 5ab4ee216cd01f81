//! Authentication of connections, which HTTP itself does not have. NTLM and Negotiate (RFC 4559) hold for everything
//! that follows on the connection on which they were agreed, whoever sends it. So such a connection to a server must
//! belong to one client only.

use weir_wire::head::{Fields, Name, NameSet, ResponseHead};

use crate::HttpProfile;

const CREDENTIALS: NameSet = NameSet::of(&[Name::Authorization, Name::ProxyAuthorization]);
const CHALLENGES: NameSet = NameSet::of(&[Name::WwwAuthenticate, Name::ProxyAuthenticate]);

impl HttpProfile {
    /// Whether a request authenticates the connection that it is sent on.
    pub fn binds_connection(&self, request: &Fields<'_>) -> bool {
        self.detect_ntlm && request.among(CREDENTIALS).any(|field| is_of_connections(field.value))
    }

    /// Whether a response asks for that, and so begins it.
    pub fn binds_connection_by(&self, response: &ResponseHead<'_>) -> bool {
        self.detect_ntlm
            && matches!(response.status, 401 | 407)
            && response.fields.among(CHALLENGES).any(|field| elements(field.value).any(is_of_connections))
    }
}

/// Whether credentials, or a challenge, begin with a scheme that authenticates connections.
fn is_of_connections(text: &[u8]) -> bool {
    let scheme = text.split(|byte| matches!(byte, b' ' | b'\t')).next().unwrap_or_default();
    scheme.eq_ignore_ascii_case(b"NTLM") || scheme.eq_ignore_ascii_case(b"Negotiate")
}

/// What commas part outside of quotes: challenges, and their further parameters.
fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = list.split(move |&byte| {
        let parts = byte == b',' && !quoted;
        quoted ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && quoted && !escaped;
        parts
    });
    parts.map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_quotes_part_nothing() {
        let list = b"Basic realm=\"a, \\\", NTLM\", charset=x ,\tNegotiate";
        let parts: Vec<_> = elements(list).map(String::from_utf8_lossy).collect();
        assert_eq!(parts, ["Basic realm=\"a, \\\", NTLM\"", "charset=x", "Negotiate"]);
    }

    #[test]
    fn scheme_is_the_first_word() {
        for text in ["NTLM", "ntlm TlRM", "Negotiate\tYII="] {
            assert!(is_of_connections(text.as_bytes()), "{text}");
        }
        for text in ["", "Basic NTLM", "NTLMv2 a", "realm=NTLM", "Bearer a"] {
            assert!(!is_of_connections(text.as_bytes()), "{text}");
        }
    }
}
