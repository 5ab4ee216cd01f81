//! Who asked, and how.

use std::{net::SocketAddr, sync::Arc};

use weir_rules::DecidedBy;
use weir_snapshot::VirtualService;
use weir_telemetry::record::{Flags, Kind, Tls};

use crate::connection::secure::TlsTexts;

pub(crate) struct Asker<'c> {
    pub kind: Kind,
    pub service: &'c Arc<VirtualService>,
    pub peer: &'c SocketAddr,
    /// The other end of the client's connection.
    pub sender: &'c SocketAddr,
    pub listener: &'c SocketAddr,
    pub flags: Flags,
    pub tls: Tls,
    pub texts: TlsTexts<'c>,
    /// In nanoseconds, 0: not known; and how old that is.
    pub rtt: (u64, u64),
    /// The rule that has let the connection in or barred it.
    pub rule: Option<&'c DecidedBy>,
}

impl<'c> Asker<'c> {
    /// Of whom only addresses are known.
    pub fn plain(
        kind: Kind,
        service: &'c Arc<VirtualService>,
        (listener, peer): (&'c SocketAddr, &'c SocketAddr),
    ) -> Self {
        let (flags, tls, texts) = (Flags::default(), Tls::default(), TlsTexts::default());
        Self { kind, service, peer, sender: peer, listener, flags, tls, texts, rtt: (0, 0), rule: None }
    }

    /// Whom a rule has let in or barred.
    pub fn by(self, rule: Option<&'c DecidedBy>) -> Self {
        Self { flags: self.flags | flags_of(rule), rule, ..self }
    }

    pub fn of_connection(self, flags: Flags) -> Self {
        Self { kind: Kind::Connection, flags: self.flags | flags, ..self }
    }
}

/// What a rule for connections adds to the flags of a record.
pub(crate) fn flags_of(rule: Option<&DecidedBy>) -> Flags {
    match rule.map(|by| by.log) {
        None => Flags::default(),
        Some(false) => Flags::ADMITTED,
        Some(true) => Flags::ADMITTED | Flags::LOGGED,
    }
}
