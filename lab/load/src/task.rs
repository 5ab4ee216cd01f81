//! What one thread has to do: where to, which bytes, how often, for how long.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs},
    time::Duration,
};

use weir_tls::{ClientConfig, ClientSettings, Group, Provider, ServerName, Version};
use weir_wire::head::Method;

use crate::{Failure, flags::Flags};

pub struct Task {
    pub address: SocketAddr,
    pub tls: Option<Tls>,
    pub method: Method,
    /// A request after which others follow on its connection, and the last one of a connection.
    pub request: Vec<u8>,
    pub last_request: Vec<u8>,
    pub connections: usize,
    pub idle_connections: usize,
    pub drain: bool,
    /// 0: no limit.
    pub requests_per_connection: u64,
    pub duration: Duration,
    pub count: Option<u64>,
    /// Between two requests.
    pub interval: Option<Duration>,
    pub timeout: Duration,
    pub reset: bool,
    pub sources: Vec<IpAddr>,
    pub timeline: bool,
    pub server_header: Option<Vec<u8>>,
}

pub struct Tls {
    pub config: ClientConfig,
    pub name: ServerName,
}

impl Task {
    /// The share of thread `index`.
    pub fn new(flags: &Flags, index: usize) -> Result<Self, Failure> {
        let url = Url::parse(&flags.url)?;
        let address = (url.host, url.port).to_socket_addrs();
        let address = address.map_err(|why| format!("{} cannot be resolved: {why}", url.host))?.next();
        let address = address.ok_or_else(|| format!("{} has no address", url.host))?;
        let tls = match url.tls {
            true => {
                let name = ServerName::parse(flags.sni.as_deref().unwrap_or(url.host)).map_err(|e| e.to_string())?;
                Some(Tls { config: client_config(flags)?, name })
            }
            false => None,
        };
        let share =
            |whole: u64| whole / flags.threads as u64 + u64::from((index as u64) < whole % flags.threads as u64);
        Ok(Self {
            address,
            tls,
            method: Method::of(flags.method.as_bytes()),
            request: request(flags, &url, false),
            last_request: request(flags, &url, flags.close_header),
            connections: share(flags.connections as u64) as usize,
            idle_connections: share(flags.idle_connections as u64) as usize,
            drain: flags.drain,
            requests_per_connection: flags.requests_per_connection,
            duration: flags.duration,
            count: flags.count.map(share),
            interval: flags.rate.map(|rate| Duration::from_secs_f64(flags.threads as f64 / rate)),
            timeout: flags.timeout,
            reset: flags.reset,
            sources: sources(flags),
            timeline: flags.timeline,
            server_header: flags.server_header.as_ref().map(|name| name.to_ascii_lowercase().into_bytes()),
        })
    }
}

fn sources(flags: &Flags) -> Vec<IpAddr> {
    let on_loopback = (1..=flags.source_addresses).map(|n| Ipv4Addr::new(127, 0, 0, n).into());
    on_loopback.chain(flags.sources.iter().copied()).collect()
}

fn client_config(flags: &Flags) -> Result<ClientConfig, Failure> {
    let settings = ClientSettings {
        versions: flags.tls.map_or(vec![Version::Tls13, Version::Tls12], |version| vec![version]),
        cipher_suites: flags.cipher.iter().cloned().collect(),
        groups: flags.group.map_or(Group::ALL.to_vec(), |group| vec![group]),
        session_resumption: flags.resume,
    };
    Ok(ClientConfig::unverified(&settings, &Provider::new())?)
}

fn request(flags: &Flags, url: &Url<'_>, close: bool) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", flags.method, url.path);
    head += &format!("Host: {}\r\n", flags.host.as_deref().unwrap_or(url.authority));
    for field in &flags.headers {
        head += &format!("{field}\r\n");
    }
    if flags.body_bytes > 0 {
        head += &format!("Content-Length: {}\r\n", flags.body_bytes);
    }
    head += if close { "Connection: close\r\n\r\n" } else { "\r\n" };
    let mut bytes = head.into_bytes();
    bytes.resize(bytes.len() + flags.body_bytes, b'x');
    bytes
}

#[derive(PartialEq, Eq, Debug)]
struct Url<'a> {
    tls: bool,
    authority: &'a str,
    host: &'a str,
    port: u16,
    path: &'a str,
}

impl<'a> Url<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let wrong = || format!("--url {text}: not a URL like https://127.0.0.1:8443/index.html");
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (tls, default_port) = match scheme {
            "http" => (false, 80),
            "https" => (true, 443),
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
        Ok(Self { tls, authority, host, port, path: if path.is_empty() { "/" } else { path } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_urls_with_and_without_port() {
        let url = |tls, authority, host, port, path| Ok(Url { tls, authority, host, port, path });
        assert_eq!(Url::parse("http://a"), url(false, "a", "a", 80, "/"));
        assert_eq!(Url::parse("https://a:8/b?c"), url(true, "a:8", "a", 8, "/b?c"));
        assert_eq!(Url::parse("https://[::1]/x"), url(true, "[::1]", "::1", 443, "/x"));
        assert_eq!(Url::parse("https://[::1]:44/"), url(true, "[::1]:44", "::1", 44, "/"));
        for wrong in ["a", "ftp://a", "http://", "http://a:b/", "http://a/ b"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn threads_share_connections_count_and_rate_without_loss() {
        let flags = Flags {
            url: "http://127.0.0.1".into(),
            threads: 3,
            connections: 10,
            count: Some(100),
            rate: Some(30.0),
            ..Flags::default()
        };
        let tasks: Vec<_> = (0..3).map(|index| Task::new(&flags, index).unwrap()).collect();
        assert_eq!(tasks.iter().map(|task| task.connections).sum::<usize>(), 10);
        assert_eq!(tasks.iter().filter_map(|task| task.count).sum::<u64>(), 100);
        assert_eq!(tasks[0].interval, Some(Duration::from_millis(100)));
    }

    #[test]
    fn last_request_of_a_connection_says_so() {
        let flags = Flags {
            url: "http://127.0.0.1:9/x".into(),
            headers: vec!["A: b".into()],
            body_bytes: 3,
            ..Flags::default()
        };
        let task = Task::new(&flags, 0).unwrap();
        let head = "GET /x HTTP/1.1\r\nHost: 127.0.0.1:9\r\nA: b\r\nContent-Length: 3\r\n";
        assert_eq!(task.request, format!("{head}\r\nxxx").as_bytes());
        assert_eq!(task.last_request, format!("{head}Connection: close\r\n\r\nxxx").as_bytes());
    }
}
