//! A certificate chain with its private key, read and checked once, and shared by all configurations that use it.

use std::sync::Arc;

use rustls::{
    Error as RustlsError, InconsistentKeys, SignatureAlgorithm,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    sign::CertifiedKey,
};
use webpki::EndEntityCert;

use crate::{Error, Provider};

/// What the key can sign with; a client says which of them it accepts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyType {
    /// ECDSA and EdDSA. Preferred: a signature costs a tenth of RSA's.
    Ec,
    Rsa,
}

/// What the authority of a certificate says about it, for handshakes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Staple {
    /// An answer of OCSP, in DER. Nothing here verifies it.
    pub answer: Vec<u8>,
    /// It is given to no client from then on.
    pub until_unix_s: u64,
}

/// The certificate with an answer, as long as that is valid.
#[derive(Clone, Debug)]
struct Stapled {
    certified: Arc<CertifiedKey>,
    until_unix_s: u64,
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Certificate {
    pub(crate) certified: Arc<CertifiedKey>,
    staple: Option<Stapled>,
    key_type: KeyType,
    dns_names: Arc<[String]>,
}

impl Certificate {
    /// `chain` is DER, leaf first; `key` is PKCS#8 DER.
    pub fn read(chain: &[Vec<u8>], key: &[u8], provider: &Provider) -> Result<Self, Error> {
        let chain: Vec<_> = chain.iter().map(|der| CertificateDer::from(der.clone())).collect();
        let dns_names = dns_names(chain.first().ok_or(Error::CertificateMissing)?)?;
        for issuer in &chain[1..] {
            check_issuer(issuer)?;
        }
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.to_vec()));
        let certified = certify(chain, key, provider)?;
        let key_type = match certified.key.algorithm() {
            SignatureAlgorithm::RSA => KeyType::Rsa,
            _ => KeyType::Ec,
        };
        Ok(Self { certified: Arc::new(certified), staple: None, key_type, dns_names: dns_names.into() })
    }

    /// The same with an answer, which must not be empty.
    pub fn stapling(self, staple: Staple) -> Self {
        let mut certified = CertifiedKey::clone(&self.certified);
        certified.ocsp = Some(staple.answer);
        let stapled = Stapled { certified: Arc::new(certified), until_unix_s: staple.until_unix_s };
        Self { staple: Some(stapled), ..self }
    }

    /// What a client gets now.
    pub(crate) fn at(&self, now_unix_s: impl FnOnce() -> u64) -> Arc<CertifiedKey> {
        match &self.staple {
            Some(stapled) if now_unix_s() < stapled.until_unix_s => stapled.certified.clone(),
            _ => self.certified.clone(),
        }
    }

    pub fn key_type(&self) -> KeyType {
        self.key_type
    }

    /// The kind of its key, as metrics name it.
    pub(crate) fn signs_with(&self) -> &'static str {
        match self.certified.key.algorithm() {
            SignatureAlgorithm::RSA => "RSA",
            SignatureAlgorithm::ECDSA => "ECDSA",
            _ => "EdDSA",
        }
    }

    /// The DNS names of subjectAltName, in lower case, with wildcards. The common name is not used (RFC 9525 §2).
    pub fn dns_names(&self) -> &[String] {
        &self.dns_names
    }

    /// Whether it is the very certificate that `other` is a clone of.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.certified, &other.certified)
    }
}

fn dns_names(leaf: &CertificateDer<'_>) -> Result<Vec<String>, Error> {
    let leaf = EndEntityCert::try_from(leaf).map_err(unreadable)?;
    Ok(leaf.valid_dns_names().map(str::to_ascii_lowercase).collect())
}

/// An old root may be of X.509 version 1, which webpki does not read and we need not.
fn check_issuer(issuer: &CertificateDer<'_>) -> Result<(), Error> {
    match EndEntityCert::try_from(issuer) {
        Ok(_) | Err(webpki::Error::UnsupportedCertVersion) => Ok(()),
        Err(error) => Err(unreadable(error)),
    }
}

fn unreadable(error: webpki::Error) -> Error {
    Error::CertificateUnreadable(error.to_string())
}

fn certify(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &Provider,
) -> Result<CertifiedKey, Error> {
    let key =
        provider.crypto.key_provider.load_private_key(key).map_err(|error| Error::KeyUnreadable(error.to_string()))?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Ok(()) => Ok(certified),
        Err(RustlsError::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(Error::KeyMismatch),
        Err(error) => Err(Error::KeyUnreadable(error.to_string())),
    }
}
