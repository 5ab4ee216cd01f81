//! The forms of a request target (RFC 9112 §3.2) and of a host.

use crate::{Error, head::Method};

/// A target taken apart.
pub(super) struct Target<'b> {
    /// Of the absolute form.
    pub authority: Option<&'b [u8]>,
    /// What a server gets: path and query, or `*`.
    pub path: &'b [u8],
}

impl<'b> Target<'b> {
    /// `text` has no white space and no control characters.
    pub fn of(text: &'b [u8], method: Method) -> Result<Self, Error> {
        // A fragment never belongs here. Bytes outside ASCII are read as UTF-8 by some readers and as Latin-1 by
        // others.
        if !text.iter().fold(true, |fits, &b| fits & b.is_ascii() & (b != b'#')) {
            return Err(Error::Target);
        }
        match text.first() {
            Some(b'/') => Ok(Target { authority: None, path: text }),
            _ if text == b"*" && method == Method::Options => Ok(Target { authority: None, path: text }),
            _ => Self::absolute(text, method),
        }
    }

    fn absolute(text: &'b [u8], method: Method) -> Result<Self, Error> {
        let rest = strip_scheme(text, b"http://").or_else(|| strip_scheme(text, b"https://")).ok_or(Error::Target)?;
        let authority_bytes = rest.iter().position(|&b| b == b'/' || b == b'?').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_bytes);
        if authority.is_empty() || !is_host(authority) {
            return Err(Error::Target);
        }
        // Without a path, OPTIONS asks about the server as a whole (RFC 9112 §3.2.4).
        let path: &[u8] = match path {
            [] if method == Method::Options => b"*",
            [] => b"/",
            path => path,
        };
        Ok(Target { authority: Some(authority), path })
    }
}

fn strip_scheme<'b>(text: &'b [u8], scheme: &[u8]) -> Option<&'b [u8]> {
    let (start, rest) = text.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// uri-host [ ":" port ] (RFC 9110 §7.2), without user information. The grammar allows an empty host.
pub(super) fn is_host(text: &[u8]) -> bool {
    let host_bytes = match text {
        [b'[', literal @ ..] => {
            match literal.iter().position(|&b| !(b.is_ascii_hexdigit() || b == b':' || b == b'.')) {
                Some(close @ 1..) if literal[close] == b']' => close + 2,
                _ => return false,
            }
        }
        _ => text.iter().position(|&b| !NAME_BYTES[b as usize]).unwrap_or(text.len()),
    };
    match &text[host_bytes..] {
        [] => true,
        [b':', port @ ..] => port.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// unreserved / sub-delims / the percent of pct-encoded (RFC 3986 §3.2.2).
const NAME_BYTES: [bool; 256] = {
    let mut set = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        set[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"-._~!$&'()*+,;=%";
    let mut i = 0;
    while i < others.len() {
        set[others[i] as usize] = true;
        i += 1;
    }
    set
};

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, method: Method) -> Result<(Option<&str>, &str), Error> {
        let utf8 = |bytes| std::str::from_utf8(bytes).unwrap();
        Target::of(text.as_bytes(), method).map(|target| (target.authority.map(utf8), utf8(target.path)))
    }

    #[test]
    fn takes_targets_apart() {
        for (text, method, authority, path) in [
            ("/", Method::Get, None, "/"),
            ("/a?b=http://c/", Method::Get, None, "/a?b=http://c/"),
            ("//a/b", Method::Get, None, "//a/b"),
            ("*", Method::Options, None, "*"),
            ("http://a:81/b", Method::Get, Some("a:81"), "/b"),
            ("HTTPS://[::1]:81", Method::Get, Some("[::1]:81"), "/"),
            ("http://a?b", Method::Get, Some("a"), "?b"),
            ("http://a", Method::Options, Some("a"), "*"),
        ] {
            assert_eq!(parts(text, method), Ok((authority, path)), "{text}");
        }
    }

    #[test]
    fn hosts_are_told_from_what_is_none() {
        for host in ["", "a", "a.b-c_d", "a:80", "a:", "1.2.3.4:80", "[::1]", "[::ffff:1.2.3.4]:80", "x%2dy"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for other in ["a/b", "a b", "u@a", "a:b", "a:1:2", "::1", "[]", "[a", "[g]", "[::1]a", "a\"", "a\\b", "a]"] {
            assert!(!is_host(other.as_bytes()), "{other}");
        }
    }
}
