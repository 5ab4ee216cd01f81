//! TLS 1.2 and 1.3 by rustls and aws-lc-rs, behind one [`TlsSession`]: bytes in, bytes and plaintext out, no socket.
//!
//! Flow: `snapshot` builds a [`ServerConfig`] per virtual service and a [`ClientConfig`] per pool from [`TlsSettings`],
//! [`Certificate`]s and [`Authorities`]; `proxy` opens a [`TlsSession`] per connection, whichever side of it we are;
//! `weir-load` uses the client side. No type of rustls leaves this crate.
//! It uses rustls' unbuffered API: a connection with nothing in flight keeps no buffer. What a peer sends can end its own
//! session and nothing else.
#![forbid(unsafe_code)]

mod bounded;
mod certificate;
mod certificate_fault;
mod client;
mod client_auth;
mod digest;
mod error;
mod fault;
mod good_chains;
mod offer;
mod origin;
mod provider;
mod server;
mod session;
mod sessions;
mod shown;
mod sni;
mod suites;
mod tickets;
mod unbuffered;
mod verify;

pub use bounded::Bounded;
pub use certificate::{Certificate, KeyType, Staple};
pub use certificate_fault::CertificateFault;
pub use client::{ClientConfig, ClientSettings, PeerSettings};
pub use client_auth::{ClientAuth, ClientCertificate};
pub use error::Error;
pub use fault::Fault;
pub use offer::{TlsSettings, Warning};
pub use provider::{Group, Provider};
pub use server::ServerConfig;
pub use session::{Handshaken, Numbers, Progress, TlsSession};
pub use suites::Version;
pub use tickets::{TicketKey, TicketSettings};
pub use unbuffered::{RECORD_OVERHEAD_MAX, Sent};
pub use verify::{Authorities, HostCheck, PkiSettings, Revocation, ServerName, Verification};

/// The libraries underneath, with the versions of the lock file.
pub const LIBRARIES: &str = "rustls 0.23.46, aws-lc-rs 1.19.0";

#[cfg(test)]
mod tests {
    #[test]
    fn libraries_have_the_versions_of_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        for library in super::LIBRARIES.split(", ") {
            let (name, version) = library.split_once(' ').unwrap();
            assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")), "{library}");
        }
    }
}
