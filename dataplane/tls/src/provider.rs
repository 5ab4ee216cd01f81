//! The source of keys, nonces, signatures and key agreements: one [`Provider`] per worker.
//!
//! This is where a worker's handshakes can later be given to batched cryptography. Today it is aws-lc-rs, one operation
//! at a time.

use std::{fmt, sync::Arc};

use rustls::{
    NamedGroup,
    crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs},
};

use crate::Error;

pub struct Provider {
    pub(crate) crypto: Arc<CryptoProvider>,
}

impl Provider {
    /// The first provider of a process takes 24 ms, to collect entropy for random numbers. Otherwise the first
    /// handshake would do that, and every client of its worker would wait.
    pub fn new() -> Self {
        let crypto = aws_lc_rs::default_provider();
        // Where it fails, handshakes fail, and say so.
        let _ = crypto.secure_random.fill(&mut [0]);
        Self { crypto: Arc::new(crypto) }
    }
}

impl Default for Provider {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Provider(aws-lc-rs)")
    }
}

/// A key exchange group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    X25519,
    P256,
    P384,
    /// With ML-KEM-768, so that who records a handshake now cannot read it with a quantum computer later.
    X25519MlKem768,
}

impl Group {
    /// The groups that a server agrees to. The client's order decides (rustls does not ask the server). Towards servers the
    /// cheapest stands first, and the hybrid last: its key share is large.
    pub const ALL: [Group; 4] = [Group::X25519, Group::P256, Group::P384, Group::X25519MlKem768];
    pub const NAMES: [&'static str; 4] = ["X25519", "P-256", "P-384", "X25519MLKEM768"];

    /// By the name in [`Group::NAMES`].
    pub fn named(name: &str) -> Result<Self, Error> {
        let position = Self::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name));
        position.map(|position| Self::ALL[position]).ok_or_else(|| Error::UnknownGroup(name.to_owned()))
    }

    /// One of [`Group::NAMES`].
    pub(crate) fn name_of(wanted: NamedGroup) -> Option<&'static str> {
        let position = Self::ALL.iter().position(|group| group.supported().name() == wanted);
        position.map(|position| Self::NAMES[position])
    }

    pub(crate) fn supported(self) -> &'static dyn SupportedKxGroup {
        match self {
            Group::X25519 => aws_lc_rs::kx_group::X25519,
            Group::P256 => aws_lc_rs::kx_group::SECP256R1,
            Group::P384 => aws_lc_rs::kx_group::SECP384R1,
            Group::X25519MlKem768 => aws_lc_rs::kx_group::X25519MLKEM768,
        }
    }
}
