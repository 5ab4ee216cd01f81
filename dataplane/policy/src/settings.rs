//! An application profile as the Plan says it, and what can be wrong with it.

use std::fmt;

use crate::{http2::Http2, true_client::TrueClient};

/// Times in milliseconds, sizes in bytes, as in `dataplane.v1.HttpProfile`; 0 is "no limit".
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HttpSettings {
    pub connection_multiplexing: bool,
    pub respond_with_100_continue: bool,

    pub post_accept_timeout_ms: u32,
    pub client_header_timeout_ms: u32,
    pub client_body_timeout_ms: u32,
    pub keepalive_timeout_ms: u32,
    pub max_keepalive_requests: u32,

    pub max_header_bytes: u32,
    pub max_request_head_bytes: u32,
    pub max_response_head_bytes: u32,
    pub max_header_count: u32,
    pub max_body_bytes: u64,

    pub xff: bool,
    pub xff_name: String,
    pub xff_update: XffUpdate,
    pub x_forwarded_proto: bool,
    pub http_to_https: bool,
    /// 0 stands for 443.
    pub https_port: u32,
    pub server_side_redirect_to_https: bool,
    pub secure_cookies: bool,
    pub httponly_cookies: bool,
    pub hsts: bool,
    pub hsts_max_age_s: u64,
    pub hsts_include_subdomains: bool,

    pub detect_ntlm: bool,
    pub half_close_timeout_ms: u32,
    pub request_buffer_bytes: u32,
    pub min_body_bytes_per_s: u32,
    pub reset_plain_on_tls: bool,
    pub close_servers_on_error: bool,
    pub tell_keepalive: bool,
    pub keepalive_of_servers: bool,
    pub http2: Option<Http2>,
    pub underscores: Underscores,
    /// Fields that requests have from the engine alone: no trailer is called so.
    pub own_fields: Vec<String>,
    pub websockets: bool,
    /// Servers are asked for it instead of the host that the client asks for; empty: they are not.
    pub host_to_servers: String,
    pub true_client: Option<TrueClient>,
}

/// How to treat fields with an underscore in their name. Fields that shadow a known one never pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Underscores {
    #[default]
    Pass,
    /// The field goes, the request stays.
    Drop,
    /// The request is refused.
    Refuse,
}

/// What becomes of the X-Forwarded-For fields that a client sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum XffUpdate {
    /// They go; one field with the client's address remains.
    #[default]
    Replace,
    /// They become one field, the client's address last in it.
    Append,
    /// They stay; the client's address comes in a field of its own.
    AddNew,
}

/// A setting that cannot be compiled. The field is named as in `dataplane.v1.HttpProfile`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    XffName,
    HttpsPort,
    HostToServers,
}

impl Error {
    pub fn field(self) -> &'static str {
        match self {
            Error::XffName => "xff_name",
            Error::HttpsPort => "https_port",
            Error::HostToServers => "host_to_servers",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::XffName => "must be a header field name that Weir does not set for another purpose",
            Error::HttpsPort => "must be a port between 1 and 65535",
            Error::HostToServers => "must be a host name, with a port if servers want one",
        })
    }
}

impl std::error::Error for Error {}
