//! A client whose bytes nothing is read out of: which server they go to, and when some last crossed.

use std::{net::SocketAddr, time::Duration};

use weir_balance::HashKey;
use weir_snapshot::VirtualService;

use crate::{
    io::{Conn, Time},
    pool::balance_key,
};

pub(crate) struct Tunnel {
    pub key: HashKey,
    /// Dense ids of servers that could not be connected to.
    pub tried: Vec<u32>,
    /// Being connected to, or connected.
    pub server: Option<Conn>,
    /// When the last bytes crossed.
    pub active_at: Time,
    /// Which directions bring as much as a read takes.
    pub up_in_bulk: bool,
    pub down_in_bulk: bool,
}

impl Tunnel {
    pub fn new(service: &VirtualService, peer: SocketAddr, now: Time) -> Self {
        let key = service.pool.as_ref().map(|pool| balance_key(pool, None, peer)).unwrap_or_default();
        Self { key, tried: Vec::new(), server: None, active_at: now, up_in_bulk: false, down_in_bulk: false }
    }

    /// How much longer nothing may cross it; `None`: for ever, the kernel finds out who is gone.
    pub fn quiet_left(&self, service: &VirtualService, now: Time) -> Option<Duration> {
        let idle = service.tcp.idle_timeout.filter(|_| !service.tcp.keepalive_probes)?;
        Some(idle.saturating_sub(now.since(self.active_at)))
    }
}
