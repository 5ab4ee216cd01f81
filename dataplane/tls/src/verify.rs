//! Whether a server is the right one: signed by an authority that we trust, and for the right name.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aws_lc_rs::digest::{Context, SHA256};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, OtherError, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor, verify_server_name,
    },
    crypto::{self, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{self, CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime},
    server::ParsedCertificate,
};

use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, OwnedCertRevocationList, RevocationCheckDepth,
    RevocationOptionsBuilder, VerifiedPath,
};
use weir_wire::x509::{self, Certificate as Said};

use crate::{CertificateFault, Error, bounded::Bounded};

/// Certificates of clients that are known to be good. One that was dropped is verified again.
const GOOD_MAX: usize = 4096;

/// The name of a server for SNI and for the check of its certificate: a host name, or an IP address, which SNI never
/// carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerName(pub(crate) pki_types::ServerName<'static>);

impl ServerName {
    pub fn parse(name: &str) -> Result<Self, Error> {
        let parsed = pki_types::ServerName::try_from(name.to_owned());
        parsed.map(Self).map_err(|_| Error::BadServerName(name.to_owned()))
    }
}

impl From<IpAddr> for ServerName {
    fn from(address: IpAddr) -> Self {
        Self(pki_types::ServerName::IpAddress(address.into()))
    }
}

/// What a PKI profile says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PkiSettings {
    /// Of authorities, in DER.
    pub certificates: Vec<Vec<u8>>,
    /// Certificates that a peer sends beside its own are of no use.
    pub ignores_peer_chain: bool,
    /// `None`: whether certificates are revoked is not asked.
    pub revocation: Option<Revocation>,
}

/// How it is found out whether certificates are revoked. An issuer without a list, or with a list that is out of date,
/// vouches for nobody.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Revocation {
    /// Lists of revoked certificates, in DER.
    pub lists: Vec<Vec<u8>>,
    /// Issuers are not looked up in lists.
    pub only_leaf: bool,
    /// A list counts after its end, too.
    pub allows_expired: bool,
}

/// The authorities that we trust to sign certificates. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Authorities(Arc<Trusted>);

#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    /// All of them, for servers.
    roots: RootCertStore,
    /// The ends of the chains of clients.
    anchors: Vec<TrustAnchor<'static>>,
    /// What nobody else looks at in them: until when they are valid, and how long chains may be.
    limits: Vec<(u64, Option<u8>)>,
    /// The other certificates.
    intermediates: Vec<CertificateDer<'static>>,
    /// Which authorities a client is told of.
    names: Vec<DistinguishedName>,
    ignores_peer_chain: bool,
    revocation: Option<Lists>,
    digest: [u8; 32],
    /// Certificates of clients that were good, by their SHA-256, and until when they are. Clients come back.
    good: Mutex<Bounded<[u8; 32], u64>>,
    algorithms: &'static [&'static dyn SignatureVerificationAlgorithm],
}

#[derive(Debug)]
struct Lists {
    lists: Vec<CertRevocationList<'static>>,
    depth: RevocationCheckDepth,
    expiration: ExpirationPolicy,
    /// When each of them ends, in seconds since 1970, the first to end first. Empty: that does not matter.
    ends: Box<[u64]>,
}

impl Authorities {
    /// None of the certificates and lists may be missing from the outcome.
    pub fn read(settings: &PkiSettings) -> Result<Self, Error> {
        let certificates: Vec<_> = settings.certificates.iter().map(|der| CertificateDer::from(der.clone())).collect();
        let mut roots = RootCertStore::empty();
        for (position, certificate) in certificates.iter().enumerate() {
            roots
                .add(certificate.clone())
                .map_err(|error| Error::AuthorityUnreadable { position, why: error.to_string() })?;
        }
        let said: Vec<_> = certificates.iter().map(|der| Said::read(der)).collect();
        let has_issuer = |own: &Said<'_>| {
            !own.is_self_issued()
                && said.iter().flatten().any(|other| other.is_authority && own.may_be_issued_by(other))
        };
        let (mut anchors, mut limits, mut intermediates) = (Vec::new(), Vec::new(), Vec::new());
        for ((certificate, said), anchor) in certificates.iter().zip(&said).zip(&roots.roots) {
            // A certificate that is none of an authority signs for no client.
            let Some(said) = said.filter(|said| said.is_authority) else { continue };
            // Of a chain, only the end is trusted as it is: what stands before it must be valid, too.
            match has_issuer(&said) {
                true => intermediates.push(certificate.clone()),
                false => {
                    anchors.push(anchor.clone());
                    limits.push((said.not_after, said.path_length));
                }
            }
        }
        let (revocation, names) = (settings.revocation.as_ref().map(Lists::read).transpose()?, roots.subjects());
        Ok(Self(Arc::new(Trusted {
            certificates,
            roots,
            anchors,
            limits,
            intermediates,
            names,
            ignores_peer_chain: settings.ignores_peer_chain,
            revocation,
            digest: digest_of(settings),
            good: Mutex::new(Bounded::new(GOOD_MAX)),
            algorithms: crypto::aws_lc_rs::default_provider().signature_verification_algorithms.all,
        })))
    }

    /// Whether they are the very ones that `other` is a clone of.
    pub fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether any of them may sign for clients.
    pub(crate) fn sign_for_clients(&self) -> bool {
        !self.0.anchors.is_empty()
    }

    pub(crate) fn names(&self) -> &[DistinguishedName] {
        &self.0.names
    }

    /// Differs for other authorities, for other lists, and for other `flags`; the same on all engines.
    pub(crate) fn digest_with(&self, flags: &[u8]) -> [u8; 32] {
        let mut context = Context::new(&SHA256);
        context.update(&self.0.digest);
        context.update(flags);
        finished(context)
    }

    /// Until when the certificate of a client is good, in seconds since 1970: then it, an issuer or a list ends.
    pub(crate) fn verify_client(
        &self,
        end_entity: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<u64, CertificateFault> {
        let trusted = &*self.0;
        let key = sha256(end_entity);
        if let Some(until) = trusted.known_good().find(&key).copied().filter(|until| now.as_secs() < *until) {
            return Ok(until);
        }
        let own = EndEntityCert::try_from(end_entity).map_err(|error| CertificateFault::of(&error))?;
        let sent = if trusted.ignores_peer_chain { &[] } else { sent };
        let chain: Vec<_> = trusted.intermediates.iter().chain(sent).cloned().collect();
        let lists = trusted.revocation.as_ref();
        let all: Vec<_> = lists.into_iter().flat_map(|lists| &lists.lists).collect();
        let revocation = match lists {
            Some(lists) => Some(lists.options(&all).ok_or(CertificateFault::CrlMissing)?),
            None => None,
        };
        let limits = |path: &VerifiedPath<'_>| trusted.limits_of(path.anchor()).ok_or(webpki::Error::UnknownIssuer);
        // Nobody else looks at the end of the chain. Another chain may still be good.
        let ends_well = |path: &VerifiedPath<'_>| match limits(path)? {
            (not_after, _) if not_after < now.as_secs() => {
                let not_after = UnixTime::since_unix_epoch(Duration::from_secs(not_after));
                Err(webpki::Error::CertExpired { time: now, not_after })
            }
            (_, Some(length)) if path.intermediate_certificates().count() > length.into() => {
                Err(webpki::Error::PathLenConstraintViolated)
            }
            _ => Ok(()),
        };
        let usage = KeyUsage::client_auth();
        let path = own
            .verify_for_usage(trusted.algorithms, &trusted.anchors, &chain, now, usage, revocation, Some(&ends_well))
            .map_err(|error| CertificateFault::of(&error))?;
        let (anchor_until, _) = limits(&path).map_err(|error| CertificateFault::of(&error))?;
        let until = |der: &CertificateDer<'_>| Said::read(der).map_or(0, |said| said.not_after);
        let issuers = path.intermediate_certificates().map(|issuer| until(&issuer.der()));
        let first = issuers.chain([until(end_entity), anchor_until]).min().unwrap_or_default();
        let until = first.min(lists.map_or(u64::MAX, |lists| lists.until(now.as_secs())));
        *trusted.known_good().find_or_put(key, || until) = until;
        Ok(until)
    }
}

impl Trusted {
    fn known_good(&self) -> MutexGuard<'_, Bounded<[u8; 32], u64>> {
        self.good.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limits_of(&self, anchor: &TrustAnchor<'_>) -> Option<(u64, Option<u8>)> {
        self.anchors.iter().zip(&self.limits).find(|(other, _)| *other == anchor).map(|(_, limits)| *limits)
    }
}

impl Lists {
    fn read(from: &Revocation) -> Result<Self, Error> {
        let lists: Result<Vec<_>, _> = from
            .lists
            .iter()
            .enumerate()
            .map(|(position, der)| match OwnedCertRevocationList::from_der(der) {
                Ok(list) => Ok(CertRevocationList::from(list)),
                Err(error) => Err(Error::ListUnreadable { position, why: error.to_string() }),
            })
            .collect();
        let ends = from.lists.iter().filter_map(|der| x509::next_update(der)).filter(|_| !from.allows_expired);
        let mut ends: Box<[u64]> = ends.collect();
        ends.sort_unstable();
        Ok(Self {
            lists: lists?,
            depth: if from.only_leaf { RevocationCheckDepth::EndEntity } else { RevocationCheckDepth::Chain },
            expiration: if from.allows_expired { ExpirationPolicy::Ignore } else { ExpirationPolicy::Enforce },
            ends,
        })
    }

    /// When the next of them ends. One that has ended makes no certificate good.
    fn until(&self, now: u64) -> u64 {
        let ended = self.ends.partition_point(|end| *end <= now);
        self.ends.get(ended).copied().unwrap_or(u64::MAX)
    }

    fn verify_server(
        &self,
        shown: &CertificateDer<'_>,
        roots: &RootCertStore,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<(), rustls::Error> {
        let refused = |error: webpki::Error| {
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(error))))
        };
        let all: Vec<_> = self.lists.iter().collect();
        let options = self.options(&all).ok_or_else(|| refused(webpki::Error::UnknownRevocationStatus))?;
        let own = EndEntityCert::try_from(shown).map_err(refused)?;
        let usage = KeyUsage::server_auth();
        own.verify_for_usage(algorithms, &roots.roots, intermediates, now, usage, Some(options), None)
            .map(|_| ())
            .map_err(refused)
    }

    /// `None`: there is no list.
    fn options<'l>(&self, all: &'l [&'l CertRevocationList<'l>]) -> Option<webpki::RevocationOptions<'l>> {
        let options = RevocationOptionsBuilder::new(all).ok()?;
        Some(options.with_depth(self.depth).with_expiration_policy(self.expiration).build())
    }
}

fn digest_of(settings: &PkiSettings) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    let mut add = |parts: &[Vec<u8>], flags: [bool; 3]| {
        context.update(&flags.map(u8::from));
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.update(&u64::MAX.to_be_bytes());
    };
    add(&settings.certificates, [settings.ignores_peer_chain, settings.revocation.is_some(), false]);
    if let Some(revocation) = &settings.revocation {
        add(&revocation.lists, [revocation.only_leaf, revocation.allows_expired, true]);
    }
    finished(context)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    finished(context)
}

fn finished(context: Context) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

/// The name that a server's certificate must be for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostCheck {
    /// Anybody the authorities have signed.
    Off,
    /// The name that the connection is made to.
    Connection,
    AnyOf(Vec<ServerName>),
}

/// What a server's certificate must stand.
#[derive(Clone, Debug)]
pub struct Verification {
    pub authorities: Authorities,
    pub host_check: HostCheck,
}

#[derive(Debug)]
pub(crate) struct Verifier {
    pub verification: Verification,
    pub algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn check_signer(
        &self,
        shown: &CertificateDer<'_>,
        parsed: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let Trusted { certificates, roots, ignores_peer_chain, revocation, .. } = &*self.verification.authorities.0;
        let intermediates = if *ignores_peer_chain { &[] } else { intermediates };
        let verified = match revocation {
            None => verify_server_cert_signed_by_trust_anchor(parsed, roots, intermediates, now, self.algorithms.all),
            Some(lists) => lists.verify_server(shown, roots, intermediates, now, self.algorithms.all),
        };
        match verified {
            // A self-signed certificate that is trusted itself, as openssl makes them. This is checked after its
            // validity period.
            Err(error) if is_authority(&error) && certificates.contains(shown) => Ok(()),
            outcome => outcome,
        }
    }

    fn check_name(
        &self,
        parsed: &ParsedCertificate<'_>,
        connection: &pki_types::ServerName<'_>,
    ) -> Result<(), rustls::Error> {
        match &self.verification.host_check {
            HostCheck::Off => Ok(()),
            HostCheck::Connection => verify_server_name(parsed, connection),
            HostCheck::AnyOf(names) if names.iter().any(|name| verify_server_name(parsed, &name.0).is_ok()) => Ok(()),
            HostCheck::AnyOf(_) => Err(CertificateError::NotValidForName.into()),
        }
    }
}

fn is_authority(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(why))) = error else { return false };
    matches!(why.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let parsed = ParsedCertificate::try_from(end_entity)?;
        self.check_signer(end_entity, &parsed, intermediates, now)?;
        self.check_name(&parsed, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Accepts every certificate.
#[derive(Debug)]
pub(crate) struct Unverified {
    pub schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
