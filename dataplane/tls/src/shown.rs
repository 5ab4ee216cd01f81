//! What the client of the handshake that goes on now has shown.

use std::cell::Cell;

use crate::CertificateFault;

/// What a client has shown in a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// A certificate that is good until this time, in seconds since 1970.
    Good {
        until_unix_s: u64,
    },
    Bad(CertificateFault),
    /// A ticket, of a session that ends then. If the ticket is of no use after all, the client may still show a certificate,
    /// and this is forgotten; or none, and then its new ticket ends no later than the old one.
    Ticket {
        until_unix_s: u64,
    },
}

thread_local! {
    /// What the client of the current handshake has shown. rustls gives neither the verifier nor the maker of tickets the
    /// session that it is called for.
    static SHOWN: Cell<Option<Shown>> = const { Cell::new(None) };
}

/// Before rustls goes on with a handshake: what its client has shown already.
pub(crate) fn resume(shown: Option<Shown>) {
    SHOWN.set(shown);
}

/// The client has shown this.
pub(crate) fn note(shown: Shown) {
    SHOWN.set(Some(shown));
}

/// Behind that: what it has shown now.
pub(crate) fn suspend() -> Option<Shown> {
    SHOWN.take()
}

/// Until when a session may be resumed, in seconds since 1970. `None`: it may not.
pub(crate) fn resumable_until(required: bool) -> Option<u64> {
    match SHOWN.get() {
        Some(Shown::Good { until_unix_s } | Shown::Ticket { until_unix_s }) => Some(until_unix_s),
        Some(Shown::Bad(_)) => None,
        None => (!required).then_some(u64::MAX),
    }
}
