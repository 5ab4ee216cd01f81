//! A virtual service as a worker uses it.

use std::{sync::Arc, time::Duration};

use weir_policy::HttpProfile;

use crate::Pool;

#[derive(Debug)]
pub struct VirtualService {
    /// Dense and lasting: what telemetry counts by.
    pub id: u32,
    pub uuid: String,
    pub name: String,
    pub http: HttpProfile,
    pub tcp: Tcp,
    /// `Some` when one of its listeners speaks TLS.
    pub tls: Option<weir_tls::ServerConfig>,
    /// `None`: requests are answered 503.
    pub pool: Option<Arc<Pool>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// `None`: no limit.
    pub idle_timeout: Option<Duration>,
    /// Whether an idle peer is probed after `idle_timeout`, or closed.
    pub keepalive_probes: bool,
    pub nagle: bool,
}
