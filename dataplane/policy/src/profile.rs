//! The compiled profile: what `proxy` reads of it, and what the edits of heads have ready.

use std::{net::IpAddr, time::Duration};

use weir_wire::head::{Fields, Limits, NameSet};

use crate::{
    cookie::CookieFlags,
    forwarded::Forwarded,
    host,
    http2::Http2,
    passing::{Rewritten, dropped_from_requests},
    settings::{Error, HttpSettings, Underscores},
    text::Text,
    true_client::TrueClient,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpProfile {
    /// Server connections are shared between clients.
    pub connection_multiplexing: bool,
    pub respond_with_100_continue: bool,
    pub timeouts: Timeouts,
    /// Requests on one client connection; `None`: no limit.
    pub max_keepalive_requests: Option<u32>,
    pub max_body_bytes: Option<u64>,
    /// A server connection that NTLM or Negotiate has authenticated is its client's alone.
    pub detect_ntlm: bool,
    /// So many bytes of a request body come before a server is chosen, or all of it. 0: none.
    pub request_buffer_bytes: usize,
    pub min_body_bytes_per_s: Option<u32>,
    /// A client that speaks no TLS on a port with TLS is reset, and gets no alert.
    pub reset_plain_on_tls: bool,
    /// A server's connection serves no other request behind a response of 400 to 599.
    pub close_servers_on_error: bool,
    pub request_limits: Limits,
    pub response_limits: Limits,
    /// `None`: clients do not speak HTTP/2.
    pub http2: Option<Http2>,
    /// Clients may switch to WebSocket.
    pub websockets: bool,
    /// `None`: a client has the address of its connection, or that of its PROXY header.
    pub(crate) true_client: Option<Box<TrueClient>>,
    /// `None`: responses do not tell how long connections wait.
    pub told_timeout: Option<ToldTimeout>,
    pub(crate) forwarded: Forwarded,
    pub(crate) underscores: Underscores,
    pub(crate) own_fields: Box<[String]>,
    pub(crate) cookies: CookieFlags,
    pub(crate) http_to_https: bool,
    pub(crate) location_to_https: bool,
    /// Empty: servers are asked for the client's host.
    pub(crate) host_to_servers: Box<[u8]>,
    /// Fields of requests that never pass.
    pub(crate) dropped: NameSet,
    /// Fields of responses that are written anew.
    pub(crate) rewritten: Rewritten,
    /// What follows the host of an https URL: `:8443`, or nothing for 443.
    pub(crate) https_port_suffix: Text<6>,
    /// A whole line, or empty.
    pub(crate) hsts_line: Text<80>,
}

/// What responses tell clients: how long their connections wait for the next request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToldTimeout {
    pub seconds: u32,
    /// What the server tells counts, where it is shorter.
    pub of_servers: bool,
}

impl ToldTimeout {
    /// `None`: they tell nothing, or connections wait without end.
    fn by(settings: &HttpSettings) -> Option<Self> {
        let tells = settings.tell_keepalive && settings.keepalive_timeout_ms > 0;
        let of_servers = settings.keepalive_of_servers;
        tells.then_some(Self { seconds: settings.keepalive_timeout_ms / 1000, of_servers })
    }

    /// Where the server tells this.
    pub fn seconds_beside(self, own: Option<u32>) -> u32 {
        own.filter(|_| self.of_servers).map_or(self.seconds, |own| own.min(self.seconds))
    }
}

/// `None`: no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timeouts {
    /// Accept to the first byte of the first request, TLS handshake included.
    pub post_accept: Option<Duration>,
    /// First byte to the end of the request head.
    pub client_header: Option<Duration>,
    /// Between two reads of a request body.
    pub client_body: Option<Duration>,
    /// Between two requests.
    pub keepalive: Option<Duration>,
    /// The client's end to the end of its response; `None`: no time at all.
    pub half_close: Option<Duration>,
}

impl HttpProfile {
    pub fn compile(settings: &HttpSettings) -> Result<Self, Error> {
        let limits = |head_bytes: u32| {
            Limits::new(head_bytes as usize, settings.max_header_bytes as usize, settings.max_header_count as usize)
        };
        let forwarded = Forwarded::compile(settings)?;
        Ok(Self {
            dropped: dropped_from_requests(settings, &forwarded),
            rewritten: Rewritten::by(settings),
            connection_multiplexing: settings.connection_multiplexing,
            respond_with_100_continue: settings.respond_with_100_continue,
            timeouts: timeouts(settings),
            max_keepalive_requests: (settings.max_keepalive_requests > 0).then_some(settings.max_keepalive_requests),
            max_body_bytes: (settings.max_body_bytes > 0).then_some(settings.max_body_bytes),
            detect_ntlm: settings.detect_ntlm,
            request_buffer_bytes: settings.request_buffer_bytes as usize,
            min_body_bytes_per_s: (settings.min_body_bytes_per_s > 0).then_some(settings.min_body_bytes_per_s),
            reset_plain_on_tls: settings.reset_plain_on_tls,
            close_servers_on_error: settings.close_servers_on_error,
            request_limits: limits(settings.max_request_head_bytes),
            response_limits: limits(settings.max_response_head_bytes),
            http2: settings.http2,
            websockets: settings.websockets,
            true_client: settings.true_client.clone().map(Box::new),
            told_timeout: ToldTimeout::by(settings),
            forwarded,
            underscores: settings.underscores,
            own_fields: settings.own_fields.clone().into(),
            cookies: CookieFlags { secure: settings.secure_cookies, http_only: settings.httponly_cookies },
            http_to_https: settings.http_to_https,
            location_to_https: settings.server_side_redirect_to_https,
            host_to_servers: host::to_servers(settings)?,
            https_port_suffix: https_port_suffix(settings.https_port)?,
            hsts_line: hsts_line(settings),
        })
    }
}

impl HttpProfile {
    /// The address of the client that a request names. `None`: it is that of the connection.
    pub fn client_named_in(&self, fields: &Fields<'_>) -> Option<IpAddr> {
        self.true_client.as_ref()?.of(fields)
    }

    /// Whether the address of the client is not known, by what a request [names](Self::client_named_in): that of the
    /// connection is a proxy's.
    pub fn is_client_unknown(&self, named: Option<IpAddr>) -> bool {
        self.true_client.is_some() && named.is_none()
    }

    /// The limits of a request's head that comes on a stream.
    pub fn stream_limits(&self) -> Limits {
        match self.http2.map_or(0, |http2| http2.field_bytes as usize) {
            0 => self.request_limits,
            field_bytes => Limits { field_bytes, ..self.request_limits },
        }
    }
}

fn timeouts(settings: &HttpSettings) -> Timeouts {
    let span = |ms: u32| (ms > 0).then(|| Duration::from_millis(ms.into()));
    Timeouts {
        post_accept: span(settings.post_accept_timeout_ms),
        client_header: span(settings.client_header_timeout_ms),
        client_body: span(settings.client_body_timeout_ms),
        keepalive: span(settings.keepalive_timeout_ms),
        half_close: span(settings.half_close_timeout_ms),
    }
}

fn https_port_suffix(port: u32) -> Result<Text<6>, Error> {
    match port {
        0 | 443 => Ok(Text::default()),
        1..=65535 => Ok(Text::of(format_args!(":{port}"))),
        _ => Err(Error::HttpsPort),
    }
}

/// RFC 6797 §6.1.
fn hsts_line(settings: &HttpSettings) -> Text<80> {
    let subdomains = if settings.hsts_include_subdomains { "; includeSubDomains" } else { "" };
    match settings.hsts {
        true => {
            Text::of(format_args!("Strict-Transport-Security: max-age={}{subdomains}\r\n", settings.hsts_max_age_s))
        }
        false => Text::default(),
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::head::{HEAD_BYTES_CEILING, MAX_FIELDS};

    use super::*;

    #[test]
    fn zero_is_no_limit() {
        let profile = HttpProfile::compile(&HttpSettings::default()).unwrap();
        assert_eq!(profile.timeouts, Timeouts::default());
        assert_eq!((profile.max_keepalive_requests, profile.max_body_bytes), (None, None));
        assert_eq!(profile.request_limits.head_bytes, HEAD_BYTES_CEILING);
        assert_eq!(profile.response_limits.fields, MAX_FIELDS);
    }

    #[test]
    fn settings_arrive_where_they_belong() {
        let settings = HttpSettings {
            post_accept_timeout_ms: 1,
            client_header_timeout_ms: 2,
            client_body_timeout_ms: 3,
            keepalive_timeout_ms: 4,
            half_close_timeout_ms: 11,
            max_keepalive_requests: 5,
            max_header_bytes: 6,
            max_request_head_bytes: 7,
            max_response_head_bytes: 8,
            max_header_count: 9,
            max_body_bytes: 10,
            ..HttpSettings::default()
        };
        let profile = HttpProfile::compile(&settings).unwrap();
        let ms = |ms| Some(Duration::from_millis(ms));
        let keepalive = ms(4);
        let timeouts =
            Timeouts { post_accept: ms(1), client_header: ms(2), client_body: ms(3), keepalive, half_close: ms(11) };
        assert_eq!(profile.timeouts, timeouts);
        assert_eq!((profile.max_keepalive_requests, profile.max_body_bytes), (Some(5), Some(10)));
        assert_eq!(profile.request_limits, Limits { head_bytes: 7, field_bytes: 6, fields: 9 });
        assert_eq!(profile.response_limits, Limits { head_bytes: 8, field_bytes: 6, fields: 9 });
    }

    #[test]
    fn refuses_a_port_that_is_none() {
        let settings = HttpSettings { https_port: 65536, ..HttpSettings::default() };
        let error = HttpProfile::compile(&settings).unwrap_err();
        assert_eq!((error, error.field()), (Error::HttpsPort, "https_port"));
    }

    #[test]
    fn refuses_a_host_that_is_none() {
        for name in ["a b", "a/b", "a\r\nX: y", "b\u{fc}hne", "u@a", "", "a?b", "a#b"] {
            let settings = HttpSettings { host_to_servers: name.into(), ..HttpSettings::default() };
            assert_eq!(HttpProfile::compile(&settings).is_err(), !name.is_empty(), "{name}");
        }
        for name in ["shop.test", "shop.test:8080", "[2001:db8::1]:80", "10.0.0.1"] {
            let settings = HttpSettings { host_to_servers: name.into(), ..HttpSettings::default() };
            assert!(HttpProfile::compile(&settings).is_ok(), "{name}");
        }
    }

    #[test]
    fn refuses_a_name_for_forwarded_for_that_is_no_field_or_taken() {
        let long = "x".repeat(129);
        for name in
            ["X Client", "X-Client:", "X-Cl\u{ef}ent", "X\r\nY", "Host", "content-length", "X-Forwarded-Proto", &long]
        {
            let settings = HttpSettings { xff: true, xff_name: name.into(), ..HttpSettings::default() };
            assert_eq!(HttpProfile::compile(&settings), Err(Error::XffName), "{name}");
            let unused = HttpSettings { xff: false, ..settings };
            assert!(HttpProfile::compile(&unused).is_ok(), "{name}");
        }
    }
}
