//! URLs that are made of parts of others.

use crate::{
    conditions::{found, parted, path, value_of_key},
    words::{Condition, END, Request, Token, Url},
};

/// What the parts are taken from.
pub struct From<'r> {
    /// Without the port.
    pub host: String,
    pub path: String,
    pub query: Option<String>,
    /// The conditions of the rule, which have held for the request.
    pub matched: Option<(&'r [Condition], &'r Request)>,
}

impl<'r> From<'r> {
    /// A request. One that names no host is for the address that it came to.
    pub fn request(request: &'r Request, conditions: &'r [Condition]) -> Self {
        let named = crate::conditions::host(request).map(|host| name(&host)).filter(|host| !host.is_empty());
        let address = match request.listener.ip().to_canonical() {
            std::net::IpAddr::V4(address) => address.to_string(),
            std::net::IpAddr::V6(address) => format!("[{address}]"),
        };
        let (path, query) = (path(request), request.query.clone());
        Self { host: named.unwrap_or(address), path, query, matched: Some((conditions, request)) }
    }

    /// A Location. One that is relative, or of another scheme than `http` and `https`, is left as it is.
    pub fn location(location: &str) -> Option<Self> {
        let (scheme, rest) = location.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_user, host)| host);
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (rest, None),
        };
        Some(Self { host: name(host), path: path.to_owned(), query, matched: None })
    }
}

/// A host without its port, and without the dot of the root.
fn name(host: &str) -> String {
    let (name, _) = parted(host);
    name.strip_suffix('.').unwrap_or(&name).to_owned()
}

/// The whole URL. `None`: a part is missing.
pub fn whole(url: &Url, from: &From<'_>) -> Option<String> {
    let (scheme, usual) = if url.https { ("https", 443) } else { ("http", 80) };
    let host = if url.host.is_empty() { from.host.clone() } else { host(url, from)? };
    let port = url.port.filter(|port| *port != usual).map(|port| format!(":{port}")).unwrap_or_default();
    let path = target(url, from)?;
    let path = if path.starts_with('*') { path.replacen('*', "/", 1) } else { path };
    (!host.is_empty()).then(|| format!("{scheme}://{host}{port}{path}"))
}

/// The host of tokens. `None`: a part is missing, or it cannot be a host.
pub fn host(url: &Url, from: &From<'_>) -> Option<String> {
    let host = joined(&url.host, ".", from)?;
    let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~[]:".contains(&byte);
    (!host.is_empty() && host.bytes().all(may_stand)).then_some(host)
}

/// Path and query. `None`: a part is missing.
pub fn target(url: &Url, from: &From<'_>) -> Option<String> {
    let path = match url.path.is_empty() {
        true => from.path.clone(),
        false => joined(&url.path, "/", from)?,
    };
    let is_whole = path.starts_with('/') || url.path.is_empty() && path == "*";
    let path = if is_whole {
        path
    } else if url.path.is_empty() {
        "/".to_owned()
    } else {
        format!("/{path}")
    };
    let kept = from.query.as_deref().filter(|_| url.keep_query);
    let added = Some(url.add.as_str()).filter(|add| !add.is_empty());
    let query: Vec<&str> = kept.into_iter().chain(added).collect();
    Some(if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) })
}

fn joined(tokens: &[Token], between: &str, from: &From<'_>) -> Option<String> {
    let parts: Option<Vec<String>> = tokens.iter().map(|token| part(token, between, from)).collect();
    Some(parts?.join(between))
}

fn part(token: &Token, between: &str, from: &From<'_>) -> Option<String> {
    match token {
        Token::Text(text) => Some(encoded(text.as_bytes(), b"%")),
        // An address has no names between its dots.
        Token::Host(..) if is_address(&from.host) => None,
        Token::Host(first, last) => taken(from.host.split('.').map(str::to_owned).collect(), *first, *last, between),
        Token::Path(first, last) => {
            let path = from.path.strip_prefix('/').unwrap_or(&from.path);
            taken(path.split('/').map(str::to_owned).collect(), *first, *last, between)
        }
        Token::GroupValue => {
            let (conditions, request) = from.matched?;
            let value = conditions.iter().find_map(|condition| match condition {
                Condition::Path(text) => value_of_key(text, &path(request)),
                Condition::Query(text) => value_of_key(text, request.query.as_ref()?),
                _ => None,
            });
            Some(encoded(value?.as_bytes(), b"%"))
        }
        Token::FoundInPath(first, last) => {
            let (conditions, request) = from.matched?;
            let parts = conditions.iter().find_map(|condition| match condition {
                Condition::Path(text) => Some(in_url(found(text, &path(request))?, text.decoded)),
                _ => None,
            });
            taken(parts?, *first, *last, between)
        }
        Token::FoundInQuery(first, last) => {
            let (conditions, request) = from.matched?;
            let parts = conditions.iter().find_map(|condition| match condition {
                Condition::Query(text) => Some(in_url(found(text, request.query.as_ref()?)?, text.decoded)),
                _ => None,
            });
            taken(parts?, *first, *last, between)
        }
    }
}

/// The parts from the first to the last place. `None`: one of them is missing.
fn taken(parts: Vec<String>, first: u32, last: u32, between: &str) -> Option<String> {
    let last = if last == END { parts.len().checked_sub(1)? } else { last as usize };
    let wanted: Option<Vec<&str>> = (first as usize..=last).map(|at| parts.get(at).map(String::as_str)).collect();
    wanted.filter(|wanted| !wanted.is_empty()).map(|wanted| wanted.join(between))
}

fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// What was decoded to be compared is encoded again; the rest stays as it was sent.
fn in_url(parts: Vec<Vec<u8>>, was_decoded: bool) -> Vec<String> {
    let text = |part: Vec<u8>| match was_decoded {
        true => encoded(&part, b""),
        false => String::from_utf8(part).expect("a part of a text"),
    };
    parts.into_iter().map(text).collect()
}

/// Letters, digits and what may stand in a path stay, and so do `others`.
fn encoded(text: &[u8], others: &[u8]) -> String {
    let stays =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=:@".contains(&byte) || others.contains(&byte);
    let each = |&byte: &u8| if stays(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.iter().map(each).collect()
}
