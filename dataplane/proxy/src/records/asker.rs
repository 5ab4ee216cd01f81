//! Who asked, and how.

use std::{net::SocketAddr, sync::Arc};

use weir_snapshot::VirtualService;
use weir_telemetry::record::{Flags, Kind, Tls};

pub(crate) struct Asker<'c> {
    pub kind: Kind,
    pub service: &'c Arc<VirtualService>,
    pub peer: &'c SocketAddr,
    /// The other end of the client's connection.
    pub sender: &'c SocketAddr,
    pub listener: &'c SocketAddr,
    pub flags: Flags,
    pub tls: Tls,
    pub server_name: &'c [u8],
    /// Cipher suites, if the handshake has failed.
    pub offered: &'c [u8],
    /// In nanoseconds, 0: not known; and how old that is.
    pub rtt: (u64, u64),
}

impl<'c> Asker<'c> {
    /// Of whom only addresses are known.
    pub fn plain(
        kind: Kind,
        service: &'c Arc<VirtualService>,
        (listener, peer): (&'c SocketAddr, &'c SocketAddr),
    ) -> Self {
        let (flags, tls) = (Flags::default(), Tls::default());
        Self { kind, service, peer, sender: peer, listener, flags, tls, server_name: &[], offered: &[], rtt: (0, 0) }
    }

    pub fn of_connection(self, flags: Flags) -> Self {
        Self { kind: Kind::Connection, flags: self.flags | flags, ..self }
    }
}
