//! A client whose bytes are not parsed, or not any more: which server they go to, and when bytes last crossed.

use std::time::Duration;

use weir_snapshot::VirtualService;
use weir_telemetry::Cause;

use crate::{
    io::{Conn, Time},
    records::OfTunnel,
};

pub(crate) struct Tunnel {
    /// Dense ids of servers to which a connect failed.
    pub tried: Vec<u32>,
    /// The server's connection, being established or established.
    pub server: Option<Conn>,
    /// When the last bytes crossed, or an end ended.
    pub active_at: Time,
    pub standing: Standing,
    /// Which directions bring so many bytes per read that a relay pays.
    pub up_in_bulk: bool,
    pub down_in_bulk: bool,
    /// It began as a request.
    pub is_websocket: bool,
    pub begun_at: Time,
    /// Bytes can cross since then, and the first came from the server.
    pub connected_at: Option<Time>,
    pub answered_at: Option<Time>,
    /// Of what it carries, from and to the client.
    pub up_bytes: u64,
    pub down_bytes: u64,
    /// Bytes of the server that scripts wait for, before the client gets any.
    pub awaited: u32,
    /// The server that could not be reached last, for its record.
    pub lost: Option<Box<OfTunnel>>,
    /// Why it ends, if it has failed.
    pub cause: Option<Cause>,
}

/// Which ends take part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(crate) enum Standing {
    Open,
    /// One end has ended. The other may go on sending.
    HalfClosed,
    /// One end receives nothing more.
    Broken,
}

impl Tunnel {
    pub fn new(now: Time) -> Self {
        Self {
            tried: Vec::new(),
            server: None,
            active_at: now,
            standing: Standing::Open,
            up_in_bulk: false,
            down_in_bulk: false,
            is_websocket: false,
            begun_at: now,
            connected_at: None,
            answered_at: None,
            up_bytes: 0,
            down_bytes: 0,
            awaited: 0,
            lost: None,
            cause: None,
        }
    }

    /// The tunnel of a request that has made its server switch to WebSocket.
    pub fn of_websocket(server: Conn, now: Time) -> Self {
        Self {
            tried: Vec::new(),
            server: Some(server),
            active_at: now,
            standing: Standing::Open,
            up_in_bulk: false,
            down_in_bulk: false,
            is_websocket: true,
            begun_at: now,
            connected_at: Some(now),
            answered_at: None,
            up_bytes: 0,
            down_bytes: 0,
            awaited: 0,
            lost: None,
            cause: None,
        }
    }

    /// How much longer the tunnel may stay silent; `None`: without limit, because keepalive probes find dead peers or
    /// the operator set no limit. Probes do not find a peer that lives and takes nothing, so a tunnel that has lost an
    /// end always has the limit.
    pub fn quiet_left(&self, service: &VirtualService, now: Time) -> Option<Duration> {
        let is_limited = !service.tcp.keepalive_probes || self.standing != Standing::Open;
        let idle = service.tcp.idle_timeout.filter(|_| is_limited)?;
        Some(idle.saturating_sub(now.since(self.active_at)))
    }

    /// Whether a silent tunnel stays: one end has ended, nothing waits for the other, and probes show whether that lives.
    pub fn is_probed(&self, service: &VirtualService) -> bool {
        self.standing == Standing::HalfClosed && service.tcp.half_closed_probes
    }
}
