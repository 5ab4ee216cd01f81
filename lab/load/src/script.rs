//! What connections send. It is made once, and is the same for all connections of a thread.

use crate::{
    block::Blocks,
    echo::{Echo, KEY},
    flags::Flags,
    url::{Scheme, Url},
};

/// The shortest datagram has room for its number; the longest is UDP's.
pub const DATAGRAM_BYTES: std::ops::RangeInclusive<usize> = 8..=65_507;
/// Fields that belong to a connection of HTTP/1.1 (RFC 9113 §8.2.2).
const HOP_FIELDS: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// What stands before each message of gRPC: whether it is compressed, and its length.
pub const PREFIX_BYTES: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    Http1,
    Http2,
    Grpc,
    WebSocket,
    Udp,
}

pub enum Script {
    Http1 {
        /// A request after which others follow on its connection, and the last one of a connection.
        request: Vec<u8>,
        last: Vec<u8>,
    },
    Http2 {
        request: Request,
        /// The request of streams whose answer shall not come.
        waiting: Request,
    },
    WebSocket(Echo),
    Datagram(Vec<u8>),
}

/// A request of HTTP/2.
pub struct Request {
    pub head: Blocks,
    pub body: Vec<u8>,
}

impl Protocol {
    pub fn of(url: &Url<'_>, flags: &Flags) -> Self {
        match url.scheme {
            Scheme::Http if flags.grpc => Protocol::Grpc,
            Scheme::Http if flags.http2 => Protocol::Http2,
            Scheme::Http => Protocol::Http1,
            Scheme::WebSocket => Protocol::WebSocket,
            Scheme::Udp => Protocol::Udp,
        }
    }

    /// Refuses flags that this protocol gives no meaning.
    pub fn check(self, flags: &Flags) -> Result<(), String> {
        use Protocol::*;
        let has_streams = matches!(self, Http2 | Grpc);
        let is_udp = self == Udp;
        let mut hop = flags.headers.iter().filter_map(|field| field.split_once(':')).map(|(name, _)| name);
        let hop = hop.find(|name| HOP_FIELDS.contains(&name.to_ascii_lowercase().as_str()));
        for (wrong, why) in [
            ((flags.http2 || flags.grpc) && !has_streams, "--http2 and --grpc are for http:// and https://"),
            (flags.streams > 1 && !has_streams, "--streams is for --http2 and --grpc"),
            (flags.waiting_streams > 0 && self != Http2, "--waiting-streams is for --http2"),
            (flags.waiting_streams > 0 && flags.idle_connections == 0, "--waiting-streams needs --idle-connections"),
            (self == Grpc && flags.method != "GET", "--method: a call of gRPC is a POST"),
            (flags.in_flight.is_some() && !is_udp, "--in-flight is for udp://"),
            (flags.in_flight > Some(flags.connections), "--in-flight: a session has one datagram under way"),
            (is_udp && !DATAGRAM_BYTES.contains(&flags.body_bytes), "--body-bytes: a datagram has 8 to 65507 bytes"),
            (is_udp && flags.rate.is_some(), "--rate is not for udp://"),
            (is_udp && flags.idle_connections > 0, "--idle-connections is not for udp://"),
            (is_udp && flags.timeline, "--timeline is not for udp://"),
            (
                matches!(self, WebSocket | Udp) && flags.answer_bytes.is_some(),
                "--answer-bytes: an echo has the length of its message",
            ),
            (
                matches!(self, WebSocket | Udp) && flags.server_header.is_some(),
                "--server-header: an echo has no fields",
            ),
            (has_streams && hop.is_some(), "--header: HTTP/2 has no fields of connections"),
        ] {
            if wrong {
                return Err(why.into());
            }
        }
        Ok(())
    }

    /// Its names in ALPN.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Protocol::Http2 | Protocol::Grpc => &["h2"],
            _ => &[],
        }
    }

    pub fn method(self, flags: &Flags) -> &str {
        if self == Protocol::Grpc { "POST" } else { &flags.method }
    }
}

impl Script {
    pub fn new(protocol: Protocol, flags: &Flags, url: &Url<'_>) -> Self {
        match protocol {
            Protocol::Http1 => Script::Http1 {
                request: http1(flags, url, &flags.method, &[], false),
                last: http1(flags, url, &flags.method, &[], flags.close_header),
            },
            Protocol::Http2 | Protocol::Grpc => Script::Http2 {
                request: http2(protocol, flags, url, url.path, body(flags)),
                waiting: waiting(flags, url),
            },
            Protocol::WebSocket => {
                let key = format!("Sec-WebSocket-Key: {}", KEY);
                let fields = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", &key];
                let without_body = Flags {
                    body_bytes: 0,
                    headers: flags.headers.clone(),
                    host: flags.host.clone(),
                    ..Flags::default()
                };
                Script::WebSocket(Echo::new(http1(&without_body, url, "GET", &fields, false), &body(flags)))
            }
            Protocol::Udp => Script::Datagram(body(flags)),
        }
    }

    /// The body of a request of HTTP/2, of which a part may wait for room in a window.
    pub fn body(&self) -> &[u8] {
        match self {
            Script::Http2 { request, .. } => &request.body,
            _ => &[],
        }
    }
}

fn body(flags: &Flags) -> Vec<u8> {
    vec![b'x'; flags.body_bytes]
}

fn authority<'f>(flags: &'f Flags, url: &Url<'f>) -> &'f str {
    flags.host.as_deref().unwrap_or(url.authority)
}

fn http1(flags: &Flags, url: &Url<'_>, method: &str, fields: &[&str], close: bool) -> Vec<u8> {
    let mut head = format!("{method} {} HTTP/1.1\r\nHost: {}\r\n", url.path, authority(flags, url));
    for field in fields.iter().copied().chain(flags.headers.iter().map(String::as_str)) {
        head += &format!("{field}\r\n");
    }
    if flags.body_bytes > 0 {
        head += &format!("Content-Length: {}\r\n", flags.body_bytes);
    }
    head += if close { "Connection: close\r\n\r\n" } else { "\r\n" };
    [head.into_bytes(), body(flags)].concat()
}

fn http2(protocol: Protocol, flags: &Flags, url: &Url<'_>, path: &str, mut message: Vec<u8>) -> Request {
    let field = |name: &str, value: &str| (name.to_ascii_lowercase(), value.trim().to_owned());
    let mut fields = vec![
        field(":method", protocol.method(flags)),
        field(":scheme", if url.tls { "https" } else { "http" }),
        field(":authority", authority(flags, url)),
        field(":path", path),
    ];
    let given = flags.headers.iter().filter_map(|header| header.split_once(':'));
    fields.extend(given.map(|(name, value)| field(name, value)));
    if protocol == Protocol::Grpc {
        fields.extend([field("te", "trailers"), field("content-type", "application/grpc")]);
        let mut prefix = [0; PREFIX_BYTES];
        prefix[1..].copy_from_slice(&(message.len() as u32).to_be_bytes());
        message.splice(..0, prefix);
    } else if !message.is_empty() {
        fields.push(field("content-length", &message.len().to_string()));
    }
    Request { head: Blocks::new(&fields), body: message }
}

/// Its fields are not stored: those of the other requests are.
fn waiting(flags: &Flags, url: &Url<'_>) -> Request {
    let mut request = http2(Protocol::Http2, flags, url, &flags.waiting_path, Vec::new());
    request.head.stored = None;
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(flags: &Flags) -> Script {
        let url = Url::parse(&flags.url).unwrap();
        Script::new(Protocol::of(&url, flags), flags, &url)
    }

    fn checked(flags: Flags) -> Result<(), String> {
        let url = Url::parse(&flags.url).unwrap();
        Protocol::of(&url, &flags).check(&flags)
    }

    #[test]
    fn last_request_of_a_connection_says_so() {
        let flags = Flags {
            url: "http://127.0.0.1:9/x".into(),
            headers: vec!["A: b".into()],
            body_bytes: 3,
            ..Flags::default()
        };
        let Script::Http1 { request, last } = script(&flags) else { panic!("HTTP/1.1") };
        let head = "GET /x HTTP/1.1\r\nHost: 127.0.0.1:9\r\nA: b\r\nContent-Length: 3\r\n";
        assert_eq!(request, format!("{head}\r\nxxx").as_bytes());
        assert_eq!(last, format!("{head}Connection: close\r\n\r\nxxx").as_bytes());
    }

    #[test]
    fn call_of_grpc_is_a_message_with_its_length() {
        let flags = Flags { url: "http://a/s/m".into(), grpc: true, body_bytes: 3, ..Flags::default() };
        let Script::Http2 { request, .. } = script(&flags) else { panic!("HTTP/2") };
        assert_eq!(request.body, b"\0\0\0\0\x03xxx");
        let head = String::from_utf8_lossy(&request.head.plain).into_owned();
        assert!(
            head.contains("application/grpc") && head.contains("/s/m") && !head.contains("content-length"),
            "{head}"
        );
    }

    #[test]
    fn upgrade_asks_for_a_websocket() {
        let flags = Flags { url: "ws://a/b".into(), body_bytes: 9, headers: vec!["A: b".into()], ..Flags::default() };
        let Script::WebSocket(echo) = script(&flags) else { panic!("WebSocket") };
        let upgrade = String::from_utf8(echo.upgrade).unwrap();
        assert!(upgrade.starts_with("GET /b HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"), "{upgrade}");
        assert!(upgrade.ends_with("A: b\r\n\r\n") && !upgrade.contains("Content-Length"), "{upgrade}");
    }

    #[test]
    fn refuses_flags_without_a_meaning() {
        let at = |url: &str| Flags { url: url.into(), body_bytes: 64, ..Flags::default() };
        for (flags, named) in [
            (Flags { http2: true, ..at("ws://a") }, "--http2"),
            (Flags { streams: 2, ..at("http://a") }, "--streams"),
            (Flags { waiting_streams: 2, ..at("http://a") }, "--waiting-streams"),
            (Flags { waiting_streams: 2, http2: true, ..at("http://a") }, "--idle-connections"),
            (Flags { grpc: true, method: "PUT".into(), ..at("http://a") }, "--method"),
            (Flags { in_flight: Some(1), ..at("http://a") }, "--in-flight"),
            (Flags { in_flight: Some(65), ..at("udp://a") }, "--in-flight"),
            (Flags { body_bytes: 0, ..at("udp://a") }, "--body-bytes"),
            (Flags { rate: Some(1.0), ..at("udp://a") }, "--rate"),
            (Flags { idle_connections: 1, ..at("udp://a") }, "--idle-connections"),
            (Flags { timeline: true, ..at("udp://a") }, "--timeline"),
            (Flags { answer_bytes: Some(1), ..at("ws://a") }, "--answer-bytes"),
            (Flags { server_header: Some("a".into()), ..at("udp://a") }, "--server-header"),
            (Flags { http2: true, headers: vec!["Upgrade: a".into()], ..at("http://a") }, "--header"),
        ] {
            let error = checked(flags).unwrap_err();
            assert!(error.contains(named), "{named}: {error}");
        }
        for flags in [at("http://a"), at("ws://a"), at("udp://a"), Flags { http2: true, streams: 9, ..at("https://a") }]
        {
            assert_eq!(checked(flags), Ok(()));
        }
    }
}
