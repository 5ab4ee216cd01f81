//! URLs made of parts of a request's.

use std::{borrow::Cow, ops::RangeInclusive};

use crate::{
    asked::{Asked, View},
    condition::Condition,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// As it stands in a URL.
    Text(Box<[u8]>),
    /// Parts of the host, between its dots.
    Host,
    /// Parts of the path, between its slashes.
    Path,
    /// The value of the key of a group that the rule has found.
    GroupValue,
    /// What groups of the rule's expression for the path have found; 0 is all of it.
    PathRegex,
    QueryRegex,
}

impl TokenKind {
    /// A text of which the bytes that cannot stand in a URL are encoded.
    pub fn text(text: &str) -> Self {
        let mut encoded = Vec::with_capacity(text.len());
        encode(text.as_bytes(), false, &mut encoded);
        Self::Text(encoded.into())
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    /// Which parts, from 0; [`TO_THE_END`](Token::TO_THE_END) is no place.
    pub parts: RangeInclusive<u32>,
}

impl Token {
    pub const TO_THE_END: u32 = 65535;
}

/// A URL to go to instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Redirect {
    pub status: u16,
    pub tls: bool,
    /// `None`: the default of the scheme.
    pub port: Option<u16>,
    /// Empty: the request's.
    pub host: Vec<Token>,
    /// Empty: the request's.
    pub path: Vec<Token>,
    pub keep_query: bool,
    pub add_query: String,
}

/// Another URL for the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rewrite {
    /// Empty: it stays.
    pub host: Vec<Token>,
    /// Empty: it stays.
    pub path: Vec<Token>,
    pub keep_query: bool,
    pub add_query: String,
}

/// Where the parts come from.
pub(crate) struct Url<'u> {
    pub host: Host<'u>,
    /// Without the query.
    pub path: &'u [u8],
    pub query: Option<&'u [u8]>,
    /// What has matched, for what it has found.
    pub matched: Option<(&'u [Condition], &'u View<'u>)>,
}

/// The host of a URL, without its port.
pub(crate) enum Host<'u> {
    Named(&'u [u8]),
    /// That of a request. Few URLs are made of it.
    Asked(&'u Asked<'u>),
}

impl<'u> Host<'u> {
    pub fn name(&self) -> Cow<'u, [u8]> {
        match self {
            Host::Named(name) => Cow::Borrowed(name),
            Host::Asked(asked) => asked.host(),
        }
    }
}

impl Redirect {
    /// The absolute URL for a request for this path and query. `None`: it takes other parts of requests.
    pub fn location_of(&self, target: &[u8]) -> Option<Vec<u8>> {
        self.location_from(b"", target)
    }

    /// The same for one that has asked this host, without its port.
    pub fn location_from(&self, host: &[u8], target: &[u8]) -> Option<Vec<u8>> {
        let mark = target.iter().position(|&byte| byte == b'?');
        let (path, query) = mark.map_or((target, None), |at| (&target[..at], Some(&target[at + 1..])));
        self.location(&Url { host: Host::Named(host), path, query, matched: None })
    }

    /// The absolute URL; `None`: the request lacks a part.
    pub(crate) fn location(&self, url: &Url<'_>) -> Option<Vec<u8>> {
        let mut out: Vec<u8> = if self.tls { b"https://".to_vec() } else { b"http://".to_vec() };
        out.extend(host(&self.host, url)?);
        if let Some(port) = self.port.filter(|port| *port != if self.tls { 443 } else { 80 }) {
            out.extend(format!(":{port}").bytes());
        }
        append_path(&self.path, url, &mut out)?;
        append_query(self.keep_query, &self.add_query, url.query, &mut out);
        Some(out)
    }
}

impl Rewrite {
    /// The host, if it changes. `None`: the request lacks a part.
    pub(crate) fn host(&self, url: &Url<'_>) -> Option<Option<Vec<u8>>> {
        if self.host.is_empty() { Some(None) } else { host(&self.host, url).map(Some) }
    }

    /// Path and query. `None`: the request lacks a part.
    pub(crate) fn target(&self, url: &Url<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(url.path.len() + url.query.map_or(0, <[u8]>::len) + USUALLY_ADDED);
        append_path(&self.path, url, &mut out)?;
        append_query(self.keep_query, &self.add_query, url.query, &mut out);
        Some(out)
    }
}

/// Bytes by which a rewritten path and query are longer at most, mostly.
const USUALLY_ADDED: usize = 64;

/// An address has no parts to take.
fn host(tokens: &[Token], url: &Url<'_>) -> Option<Vec<u8>> {
    if tokens.is_empty() {
        let host = url.host.name().into_owned();
        return (!host.is_empty()).then_some(host);
    }
    let mut made = Vec::new();
    append_tokens(tokens, b'.', url, &mut made)?;
    let may_stand = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~[]:".contains(byte);
    (!made.is_empty() && made.iter().all(may_stand)).then_some(made)
}

fn append_path(tokens: &[Token], url: &Url<'_>, out: &mut Vec<u8>) -> Option<()> {
    match tokens {
        [] if url.path.starts_with(b"/") => out.extend_from_slice(url.path),
        // A redirect cannot lead to it, a rewrite leaves it as it is.
        [] if url.path == b"*" && out.is_empty() => out.push(b'*'),
        [] => out.push(b'/'),
        tokens => {
            let start = out.len();
            out.push(b'/');
            append_tokens(tokens, b'/', url, out)?;
            if out.get(start + 1) == Some(&b'/') {
                out.remove(start);
            }
        }
    }
    Some(())
}

fn append_query(keep: bool, add: &str, query: Option<&[u8]>, out: &mut Vec<u8>) {
    let kept = query.filter(|_| keep);
    for (at, part) in kept.into_iter().chain((!add.is_empty()).then_some(add.as_bytes())).enumerate() {
        out.push(if at == 0 { b'?' } else { b'&' });
        out.extend_from_slice(part);
    }
}

/// `None`, and some of it in `out`: the request lacks a part.
fn append_tokens(tokens: &[Token], between: u8, url: &Url<'_>, out: &mut Vec<u8>) -> Option<()> {
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 {
            out.push(between);
        }
        append_token(token, between, url, out)?;
    }
    Some(())
}

fn append_token(token: &Token, between: u8, url: &Url<'_>, out: &mut Vec<u8>) -> Option<()> {
    let conditions = || url.matched.as_ref().map(|(conditions, view)| (conditions.iter(), view));
    match &token.kind {
        TokenKind::Text(text) => {
            out.extend_from_slice(text);
            Some(())
        }
        TokenKind::Host => {
            let host = url.host.name();
            if is_address(&host) { None } else { append_parts(&host, b'.', token, between, out) }
        }
        TokenKind::Path => append_parts(url.path.strip_prefix(b"/").unwrap_or(url.path), b'/', token, between, out),
        TokenKind::GroupValue => {
            let (mut conditions, view) = conditions()?;
            let value = conditions.find_map(|condition| match condition {
                Condition::Path(rule) => rule.value_of_group(view.path(rule.decoded, rule.compares_small())),
                Condition::Query(rule) => rule.value_of_group(view.query(rule.decoded, rule.compares_small())?),
                _ => None,
            });
            encode(value?.as_bytes(), false, out);
            Some(())
        }
        TokenKind::PathRegex => {
            let (mut conditions, view) = conditions()?;
            let (found, decoded) = conditions.find_map(|condition| match condition {
                Condition::Path(rule) => Some((rule.captures(view.path(rule.decoded, false))?, rule.decoded)),
                _ => None,
            })?;
            append_found(&found, decoded, token, between, out)
        }
        TokenKind::QueryRegex => {
            let (mut conditions, view) = conditions()?;
            let (found, decoded) = conditions.find_map(|condition| match condition {
                Condition::Query(rule) => Some((rule.captures(view.query(rule.decoded, false)?)?, rule.decoded)),
                _ => None,
            })?;
            append_found(&found, decoded, token, between, out)
        }
    }
}

fn append_found(found: &[&[u8]], decoded: bool, token: &Token, between: u8, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    append(found.iter().copied(), token, between, out)?;
    if decoded {
        let text = out.split_off(start);
        encode(&text, true, out);
    }
    Some(())
}

/// Appends those parts of a text that the token wants. `mark` stands between them in the text, `between` in `out`.
fn append_parts(text: &[u8], mark: u8, token: &Token, between: u8, out: &mut Vec<u8>) -> Option<()> {
    if *token.parts.end() != Token::TO_THE_END || mark != between {
        return append(text.split(|&byte| byte == mark), token, between, out);
    }
    let mut rest = text;
    for _ in 0..*token.parts.start() {
        let at = rest.iter().position(|&byte| byte == mark)?;
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    Some(())
}

fn append<'p>(parts: impl Iterator<Item = &'p [u8]>, token: &Token, between: u8, out: &mut Vec<u8>) -> Option<()> {
    let (first, last) = (*token.parts.start(), *token.parts.end());
    let to_the_end = last == Token::TO_THE_END;
    let wanted = if to_the_end { usize::MAX } else { (last.checked_sub(first)? + 1) as usize };
    let mut appended = 0;
    for part in parts.skip(first as usize).take(wanted) {
        if appended > 0 {
            out.push(between);
        }
        out.extend_from_slice(part);
        appended += 1;
    }
    (appended == wanted || to_the_end && appended > 0).then_some(())
}

/// An address of IPv4 or IPv6, which has no names between its dots.
fn is_address(host: &[u8]) -> bool {
    host.starts_with(b"[") || host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// Appends a text so that it can stand in a path or a query. `is_decoded`: a `%` stands for itself.
fn encode(text: &[u8], is_decoded: bool, out: &mut Vec<u8>) {
    let stands = |byte: u8| STANDS[usize::from(byte)] || byte == b'%' && !is_decoded;
    let mut written = 0;
    for (at, byte) in text.iter().enumerate().filter(|(_, byte)| !stands(**byte)) {
        out.extend_from_slice(&text[written..at]);
        out.extend(format!("%{byte:02X}").bytes());
        written = at + 1;
    }
    out.extend_from_slice(&text[written..]);
}

/// The bytes that stand for themselves in a path and in a query, beside `%`.
const STANDS: [bool; 256] = {
    let mut stands = [false; 256];
    let mut rest: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$&'()*+,;=:@";
    while let [byte, others @ ..] = rest {
        stands[*byte as usize] = true;
        rest = others;
    }
    stands
};

#[cfg(test)]
mod tests {
    use super::*;

    fn token(kind: TokenKind, first: u32, last: u32) -> Token {
        Token { kind, parts: first..=last }
    }

    fn text(text: &str) -> Token {
        token(TokenKind::text(text), 0, 0)
    }

    fn redirect(host: Vec<Token>, path: Vec<Token>, keep_query: bool, add_query: &str) -> Redirect {
        Redirect { status: 302, tls: true, port: None, host, path, keep_query, add_query: add_query.into() }
    }

    fn location(redirect: &Redirect, host: &str, path: &str, query: Option<&str>) -> Option<String> {
        let url = Url {
            host: Host::Named(host.as_bytes()),
            path: path.as_bytes(),
            query: query.map(str::as_bytes),
            matched: None,
        };
        redirect.location(&url).map(|made| String::from_utf8(made).unwrap())
    }

    #[test]
    fn url_is_made_of_parts_of_host_and_path() {
        use TokenKind::{Host, Path};
        let end = Token::TO_THE_END;
        for (host, path, expected) in [
            (vec![], vec![], Some("https://www.a.test/x/y/z")),
            (vec![text("m"), token(Host, 1, end)], vec![], Some("https://m.a.test/x/y/z")),
            (vec![], vec![text("new"), token(Path, 1, end)], Some("https://www.a.test/new/y/z")),
            (vec![], vec![token(Path, 1, 1)], Some("https://www.a.test/y")),
            (vec![], vec![text("a b"), text("c/d")], Some("https://www.a.test/a%20b/c/d")),
            (vec![], vec![token(Path, 3, 3)], None),
            (vec![], vec![token(Path, 3, end)], None),
            (vec![token(Host, 3, end)], vec![], None),
            (vec![text("a b")], vec![], None),
        ] {
            let made = location(&redirect(host.clone(), path.clone(), true, ""), "www.a.test", "/x/y/z", None);
            assert_eq!(made.as_deref(), expected, "{host:?} {path:?}");
        }
    }

    #[test]
    fn query_is_kept_and_added_to() {
        for (keep, add, query, expected) in [
            (true, "", Some("a=1"), "https://h/p?a=1"),
            (true, "b=2", Some("a=1"), "https://h/p?a=1&b=2"),
            (true, "b=2", None, "https://h/p?b=2"),
            (false, "b=2", Some("a=1"), "https://h/p?b=2"),
            (false, "", Some("a=1"), "https://h/p"),
        ] {
            let made = location(&redirect(vec![], vec![], keep, add), "h", "/p", query);
            assert_eq!(made.as_deref(), Some(expected));
        }
    }

    #[test]
    fn address_has_no_parts() {
        let of_host = redirect(vec![token(TokenKind::Host, 0, Token::TO_THE_END)], vec![], true, "");
        assert_eq!(location(&of_host, "192.0.2.1", "/", None), None);
        assert_eq!(location(&of_host, "[::1]", "/", None), None);
        let whole = redirect(vec![], vec![], true, "");
        assert_eq!(location(&whole, "[::1]", "/", None).as_deref(), Some("https://[::1]/"));
    }

    #[test]
    fn port_shows_unless_it_is_the_usual_one() {
        let to = |tls, port| Redirect { tls, port: Some(port), ..redirect(vec![], vec![], true, "") };
        for (tls, port, expected) in [
            (true, 443, "https://h/"),
            (true, 8443, "https://h:8443/"),
            (false, 80, "http://h/"),
            (false, 443, "http://h:443/"),
        ] {
            assert_eq!(location(&to(tls, port), "h", "/", None).as_deref(), Some(expected));
        }
    }
}
