//! Whether a server is the right one: signed by an authority that we trust, and for the right name.

use std::{net::IpAddr, ops::Range, sync::Arc, time::Duration};

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

use crate::{
    CertificateFault, Error,
    digest::finished,
    good_chains::{Chain, GoodChains},
};

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
    /// Of clients. Clients come back.
    good: GoodChains,
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
            good: GoodChains::new(),
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
        let sent = if trusted.ignores_peer_chain { &[] } else { sent };
        let chain = Chain::of(end_entity, sent);
        if let Some(until) = trusted.good.until(&chain, now.as_secs()) {
            return Ok(until);
        }
        let during = trusted.verify_client(end_entity, sent, now)?;
        let until = during.end;
        trusted.good.keep(chain, during);
        Ok(until)
    }
}

impl Trusted {
    /// When the certificate of a client is good, which is now: by the same chain, and the same lists.
    fn verify_client(
        &self,
        end_entity: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<Range<u64>, CertificateFault> {
        let own = EndEntityCert::try_from(end_entity).map_err(|error| CertificateFault::of(&error))?;
        let chain: Vec<_> = self.intermediates.iter().chain(sent).cloned().collect();
        let lists = self.revocation.as_ref();
        let all: Vec<_> = lists.into_iter().flat_map(|lists| &lists.lists).collect();
        let revocation = match lists {
            Some(lists) => Some(lists.options(&all).ok_or(CertificateFault::CrlMissing)?),
            None => None,
        };
        let limits = |path: &VerifiedPath<'_>| self.limits_of(path.anchor()).ok_or(webpki::Error::UnknownIssuer);
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
            .verify_for_usage(self.algorithms, &self.anchors, &chain, now, usage, revocation, Some(&ends_well))
            .map_err(|error| CertificateFault::of(&error))?;
        let (anchor_until, _) = limits(&path).map_err(|error| CertificateFault::of(&error))?;
        let lists_until = lists.map_or(u64::MAX, |lists| lists.until(now.as_secs()));
        let mut during = 0..anchor_until.min(lists_until);
        let mut narrow = |der: &CertificateDer<'_>| {
            let (from, until) = Said::read(der).map_or((0, 0), |said| (said.not_before, said.not_after));
            during = during.start.max(from)..during.end.min(until);
        };
        narrow(end_entity);
        path.intermediate_certificates().for_each(|issuer| narrow(&issuer.der()));
        Ok(during)
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

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! file {
        ($name:literal) => {
            include_bytes!(concat!("../testdata/clients/", $name, ".der")).as_slice()
        };
    }

    const ROOT: &[u8] = file!("root.crt");
    const OTHER_ROOT: &[u8] = file!("other-root.crt");
    const MIDDLE: &[u8] = file!("middle.crt");
    const CLIENT: &[u8] = file!("client.crt");
    const VIA_MIDDLE: &[u8] = file!("via-middle.crt");
    const REVOKED: &[u8] = file!("revoked.crt");
    const EARLY: &[u8] = file!("early.crt");
    const EXPIRED: &[u8] = file!("expired.crt");
    /// Valid until 2125, of [`BRIEF`], which is valid until 2100.
    const VIA_BRIEF: &[u8] = file!("via-brief.crt");
    const BRIEF: &[u8] = file!("brief.crt");
    /// Names [`REVOKED`].
    const CRL: &[u8] = file!("root.crl");
    const CRL_UNTIL_2100: &[u8] = file!("root-short.crl");
    const CRL_UNTIL_2025: &[u8] = file!("root-expired.crl");

    const IN_2024: u64 = 1_720_000_000;
    const IN_2025: u64 = 1_735_689_600;
    const IN_2027: u64 = 1_800_000_000;
    const IN_2100: u64 = 4_102_444_800;
    const IN_2120: u64 = 4_733_510_400;
    const IN_2125: u64 = 4_891_363_200;

    fn trusting(certificates: &[&[u8]]) -> PkiSettings {
        let certificates = certificates.iter().map(|der| der.to_vec()).collect();
        PkiSettings { certificates, ..PkiSettings::default() }
    }

    fn asking(certificates: &[&[u8]], lists: &[&[u8]]) -> PkiSettings {
        let lists = lists.iter().map(|list| list.to_vec()).collect();
        PkiSettings { revocation: Some(Revocation { lists, ..Revocation::default() }), ..trusting(certificates) }
    }

    fn read(settings: &PkiSettings) -> Authorities {
        Authorities::read(settings).unwrap()
    }

    fn at(now: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(now))
    }

    fn certificates<'c>(chain: &[&'c [u8]]) -> Vec<CertificateDer<'c>> {
        chain.iter().map(|der| CertificateDer::from(*der)).collect()
    }

    fn verdict(by: &Authorities, chain: &[&[u8]], now: u64) -> Result<(), CertificateFault> {
        let chain = certificates(chain);
        by.verify_client(&chain[0], &chain[1..], at(now)).map(|_| ())
    }

    /// As if no chain was known.
    fn first_verdict(by: &Authorities, chain: &[&[u8]], now: u64) -> Result<(), CertificateFault> {
        let chain = certificates(chain);
        let sent = if by.0.ignores_peer_chain { &[] } else { &chain[1..] };
        by.0.verify_client(&chain[0], sent, at(now)).map(|_| ())
    }

    fn is_known(by: &Authorities, chain: &[&[u8]], now: u64) -> bool {
        let chain = certificates(chain);
        by.0.good.until(&Chain::of(&chain[0], &chain[1..]), now).is_some()
    }

    #[test]
    fn known_chain_is_refused_before_and_after_any_of_its_certificates_is_valid() {
        let root = read(&trusting(&[ROOT]));
        for (chain, good, bad, fault) in [
            (&[EXPIRED][..], IN_2024, IN_2025 + 1, CertificateFault::Expired),
            (&[CLIENT], IN_2027, IN_2125 + 1, CertificateFault::Expired),
            (&[CLIENT], IN_2027, IN_2024, CertificateFault::NotYetValid),
            (&[EARLY], IN_2120, IN_2120 - 1, CertificateFault::NotYetValid),
            (&[VIA_BRIEF, BRIEF], IN_2027, IN_2100 + 1, CertificateFault::Expired),
        ] {
            assert_eq!(verdict(&root, chain, good), Ok(()));
            assert!(is_known(&root, chain, good));
            assert_eq!(verdict(&root, chain, bad), Err(fault));
            assert_eq!(verdict(&root, chain, good), Ok(()));
        }
    }

    #[test]
    fn known_chain_is_refused_after_a_list_has_ended_and_by_a_new_list() {
        let short = read(&asking(&[ROOT], &[CRL_UNTIL_2100]));
        assert_eq!(verdict(&short, &[CLIENT], IN_2027), Ok(()));
        assert!(is_known(&short, &[CLIENT], IN_2100 - 1) && !is_known(&short, &[CLIENT], IN_2100));
        assert_eq!(verdict(&short, &[CLIENT], IN_2100 + 1), Err(CertificateFault::CrlExpired));
        let before = read(&trusting(&[ROOT]));
        assert_eq!(verdict(&before, &[REVOKED], IN_2027), Ok(()));
        assert_eq!(verdict(&read(&asking(&[ROOT], &[CRL])), &[REVOKED], IN_2027), Err(CertificateFault::Revoked));
    }

    #[test]
    fn known_chain_is_refused_by_other_authorities_and_without_the_issuers_that_it_had() {
        let root = read(&trusting(&[ROOT]));
        assert_eq!(verdict(&root, &[CLIENT], IN_2027), Ok(()));
        let other = read(&trusting(&[OTHER_ROOT]));
        assert_eq!(verdict(&other, &[CLIENT], IN_2027), Err(CertificateFault::UnknownAuthority));
        assert_eq!(verdict(&root, &[VIA_MIDDLE, MIDDLE], IN_2027), Ok(()));
        assert_eq!(verdict(&root, &[VIA_MIDDLE], IN_2027), Err(CertificateFault::UnknownAuthority));
        assert_eq!(verdict(&root, &[VIA_MIDDLE, CLIENT], IN_2027), Err(CertificateFault::UnknownAuthority));
    }

    #[test]
    fn chain_that_differs_from_a_known_one_in_a_byte_is_verified() {
        let root = read(&trusting(&[ROOT]));
        assert_eq!(verdict(&root, &[CLIENT], IN_2027), Ok(()));
        for at in 0..CLIENT.len() {
            let mut other = CLIENT.to_vec();
            other[at] ^= 1;
            assert!(verdict(&root, &[&other], IN_2027).is_err(), "byte {at}");
        }
        for at in 0..MIDDLE.len() {
            assert_eq!(verdict(&root, &[VIA_MIDDLE, MIDDLE], IN_2027), Ok(()));
            let mut other = MIDDLE.to_vec();
            other[at] ^= 1;
            assert!(verdict(&root, &[VIA_MIDDLE, &other], IN_2027).is_err(), "byte {at} of the issuer");
        }
        assert_eq!(verdict(&root, &[VIA_MIDDLE, MIDDLE], IN_2027), Ok(()));
    }

    #[test]
    fn chain_that_is_not_good_is_not_kept() {
        let lists = read(&asking(&[ROOT], &[CRL]));
        for (chain, now) in [
            (&[REVOKED][..], IN_2027),
            (&[EARLY], IN_2027),
            (&[EXPIRED], IN_2027),
            (&[VIA_MIDDLE], IN_2027),
            (&[file!("stranger.crt")], IN_2027),
            (&[b"certificate"], IN_2027),
        ] {
            assert!(verdict(&lists, chain, now).is_err());
            assert!([IN_2024, IN_2027, IN_2120].iter().all(|now| !is_known(&lists, chain, *now)));
        }
        assert_eq!(verdict(&lists, &[EARLY], IN_2120), Ok(()), "it is good later");
    }

    /// It is either refused when it is read, or it vouches for nobody.
    #[test]
    fn list_that_differs_from_the_one_that_its_issuer_signed_in_a_byte_or_its_end_lets_nobody_in() {
        let changed = (0..CRL.len()).flat_map(|at| {
            [1, 0x80].map(|bit| {
                let mut list = CRL.to_vec();
                list[at] ^= bit;
                list
            })
        });
        let cut = (0..CRL.len()).map(|length| CRL[..length].to_vec());
        let (mut refused, mut taken) = (0, 0);
        for list in changed.chain(cut) {
            match Authorities::read(&asking(&[ROOT], &[&list])) {
                Err(error) => {
                    assert!(matches!(error, Error::ListUnreadable { position: 0, .. }), "{error}");
                    refused += 1;
                }
                Ok(by) => {
                    for chain in [&[CLIENT], &[REVOKED]] {
                        assert!(verdict(&by, chain, IN_2027).is_err(), "{list:?}");
                    }
                    taken += 1;
                }
            }
        }
        assert!(refused > 100 && taken > 100, "{refused} are refused, {taken} are taken");
    }

    /// Any chains in any order, at any time, by authorities and lists that change.
    #[test]
    fn verdict_is_the_same_whether_a_chain_is_known_or_not() {
        const STEPS: usize = 20_000;
        let profiles = [
            trusting(&[ROOT]),
            trusting(&[ROOT, OTHER_ROOT, file!("old-root.crt")]),
            trusting(&[ROOT, MIDDLE]),
            trusting(&[MIDDLE]),
            PkiSettings { ignores_peer_chain: true, ..trusting(&[ROOT]) },
            asking(&[ROOT], &[CRL]),
            asking(&[ROOT], &[CRL_UNTIL_2100]),
            asking(&[ROOT], &[CRL_UNTIL_2025, CRL]),
            asking(&[ROOT], &[CRL, file!("middle.crl")]),
            asking(&[ROOT], &[CRL_UNTIL_2100, file!("middle-revokes.crl")]),
        ];
        let own = [
            CLIENT,
            VIA_MIDDLE,
            VIA_BRIEF,
            REVOKED,
            EARLY,
            EXPIRED,
            file!("client-rsa.crt"),
            file!("too-deep.crt"),
            file!("under-old-root.crt"),
            file!("stranger.crt"),
            file!("good-name.crt"),
            file!("bad-name.crt"),
            file!("forged.crt"),
        ];
        let issuers: [&[&[u8]]; 9] = [
            &[],
            &[],
            &[MIDDLE],
            &[MIDDLE, ROOT],
            &[BRIEF],
            &[file!("deep.crt"), MIDDLE],
            &[file!("constrained.crt")],
            &[file!("false-root.crt")],
            &[CLIENT, OTHER_ROOT],
        ];
        let times = [IN_2024, IN_2025, IN_2027, IN_2100, IN_2120, IN_2125];
        let mut state = 7_u64;
        let mut any = |count: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % count
        };
        let mut read_of = profiles.each_ref().map(read);
        let (mut good, mut known) = (0, 0);
        let (mut profile, mut client, mut behind) = (0, 0, 0);
        for step in 0..STEPS {
            match any(8) {
                0 => profile = any(profiles.len()),
                1 => client = any(own.len()),
                2 => behind = any(issuers.len()),
                3 => (profile, client) = (any(profiles.len()), any(own.len())),
                _ => {}
            }
            if any(50) == 0 {
                read_of[profile] = read(&profiles[profile]);
            }
            let by = &read_of[profile];
            let chain = [&[own[client]], issuers[behind]].concat();
            let now = times[any(times.len())] + any(3) as u64 - 1;
            let was_known = is_known(by, &chain, now);
            let (first, outcome) = (first_verdict(by, &chain, now), verdict(by, &chain, now));
            assert_eq!(outcome, first, "step {step}, profile {profile}, at {now}");
            good += usize::from(outcome.is_ok());
            known += usize::from(was_known);
        }
        assert!(good > STEPS / 10 && known > STEPS / 20, "{good} good, {known} known");
    }
}
