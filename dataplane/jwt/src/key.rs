//! Public keys of issuers.

use std::fmt;

use aws_lc_rs::signature::{self, ParsedPublicKey, VerificationAlgorithm};

/// With what a key signs, by the names of RFC 7518 §3.1 and RFC 8037 §3.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Es512,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::EdDsa => "EdDSA",
        }
    }

    fn verifies(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Self::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            Self::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
            Self::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
            Self::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
            Self::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
            Self::Es512 => &signature::ECDSA_P521_SHA512_FIXED,
            Self::EdDsa => &signature::ED25519,
        }
    }
}

/// The key is none of its algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnusableKey;

/// A key of an issuer.
pub struct Key {
    id: Option<Box<str>>,
    algorithm: Algorithm,
    parsed: ParsedPublicKey,
    der: Box<[u8]>,
}

impl Key {
    /// `der`: a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7). `id`: its `kid`.
    pub fn read(id: Option<&str>, algorithm: Algorithm, der: &[u8]) -> Result<Self, UnusableKey> {
        let parsed = ParsedPublicKey::new(algorithm.verifies(), der).map_err(|_| UnusableKey)?;
        Ok(Self { id: id.map(Into::into), algorithm, parsed, der: der.into() })
    }

    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        self.parsed.verify_sig(message, signature).is_ok()
    }

    /// All that it is made of.
    pub(crate) fn parts(&self) -> [&[u8]; 4] {
        let has_id = if self.id.is_some() { &[1][..] } else { &[0] };
        [has_id, self.id().unwrap_or_default().as_bytes(), self.algorithm.name().as_bytes(), &self.der]
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.id).field(&self.algorithm).finish()
    }
}
