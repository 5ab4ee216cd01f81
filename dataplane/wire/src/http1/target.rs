//! The forms of a request target (RFC 9112 §3.2).

use crate::{
    Error,
    head::{Method, is_host, may_be_target},
};

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
        if !may_be_target(text) {
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
}
