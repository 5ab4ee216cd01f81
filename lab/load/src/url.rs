//! Where a load goes.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    Http,
    WebSocket,
    Udp,
}

#[derive(PartialEq, Eq, Debug)]
pub struct Url<'a> {
    pub scheme: Scheme,
    pub tls: bool,
    pub authority: &'a str,
    pub host: &'a str,
    pub port: u16,
    pub path: &'a str,
}

impl<'a> Url<'a> {
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let wrong = || format!("--url {text}: not a URL like https://127.0.0.1:8443/index.html, ws://… or udp://…");
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (scheme, tls, default_port) = match scheme {
            "http" => (Scheme::Http, false, 80),
            "https" => (Scheme::Http, true, 443),
            "ws" => (Scheme::WebSocket, false, 80),
            "wss" => (Scheme::WebSocket, true, 443),
            "udp" => (Scheme::Udp, false, 53),
            _ => return Err(wrong()),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
            _ => (authority, default_port),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || path.contains([' ', '\r', '\n']) {
            return Err(wrong());
        }
        Ok(Self { scheme, tls, authority, host, port, path: if path.is_empty() { "/" } else { path } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_urls_with_and_without_port() {
        let url = |tls, authority, host, port, path| Ok(Url { scheme: Scheme::Http, tls, authority, host, port, path });
        assert_eq!(Url::parse("http://a"), url(false, "a", "a", 80, "/"));
        assert_eq!(Url::parse("https://a:8/b?c"), url(true, "a:8", "a", 8, "/b?c"));
        assert_eq!(Url::parse("https://[::1]/x"), url(true, "[::1]", "::1", 443, "/x"));
        assert_eq!(Url::parse("https://[::1]:44/"), url(true, "[::1]:44", "::1", 44, "/"));
        let parsed = |text| Url::parse(text).map(|url| (url.scheme, url.tls, url.port));
        assert_eq!(parsed("wss://a/"), Ok((Scheme::WebSocket, true, 443)));
        assert_eq!(parsed("udp://a"), Ok((Scheme::Udp, false, 53)));
        for wrong in ["a", "ftp://a", "http://", "http://a:b/", "http://a/ b"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }
}
