//! TLS towards clients: builds one server configuration from a virtual service's SSL profile and certificates.

use weir_api::dataplane::v1;
use weir_tls::{
    Certificate, ClientAuth, Error, Group, Provider, ServerConfig, TicketKey, TicketSettings, TlsSettings, Version,
    Warning,
};

use crate::{
    finding::{Findings, Subject},
    kept::both_or_neither,
};

/// A configuration, its sources, and warnings about what it does not offer.
#[derive(Clone, Debug)]
pub(crate) struct KeptTls {
    settings: TlsSettings,
    certificates: Vec<Certificate>,
    clients: Option<ClientAuth>,
    warnings: Vec<Warning>,
    pub config: ServerConfig,
}

/// The settings of a virtual service.
pub(crate) struct Wanted<'p> {
    pub profile: &'p v1::TlsProfile,
    pub certificates: Vec<Certificate>,
    pub protocols: Vec<String>,
    /// `None`: clients are not asked for certificates.
    pub clients: Option<ClientAuth>,
}

/// `None` if it cannot be built; the findings give the reasons.
pub(crate) fn build(
    service: Subject<'_>,
    wanted: Wanted<'_>,
    before: Option<&KeptTls>,
    provider: &Provider,
    findings: &mut Findings,
) -> Option<KeptTls> {
    let Wanted { profile, certificates, protocols, clients } = wanted;
    let settings = TlsSettings { protocols, ..settings(service, profile, findings)? };
    let same = |kept: &&KeptTls| {
        kept.settings == settings
            && same_certificates(&kept.certificates, &certificates)
            && both_or_neither(kept.clients.as_ref(), clients.as_ref(), ClientAuth::is)
    };
    let kept = match before.filter(same) {
        Some(kept) => kept.clone(),
        None => match ServerConfig::build(&settings, &certificates, clients.as_ref(), provider) {
            Ok((config, warnings)) => KeptTls { settings, certificates, clients, warnings, config },
            Err(error) => {
                refuse(service, profile, &error, findings);
                return None;
            }
        },
    };
    for warning in &kept.warnings {
        warn(service, profile, warning, findings);
    }
    Some(kept)
}

impl KeptTls {
    /// The same with another SSL profile.
    pub fn wanted_with<'p>(&self, profile: &'p v1::TlsProfile) -> Wanted<'p> {
        let (certificates, protocols) = (self.certificates.clone(), self.settings.protocols.clone());
        Wanted { profile, certificates, protocols, clients: self.clients.clone() }
    }
}

fn same_certificates(some: &[Certificate], others: &[Certificate]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one.is(other))
}

fn subject(profile: &v1::TlsProfile) -> Subject<'_> {
    Subject { kind: "sslprofile", uuid: &profile.uuid, name: &profile.name }
}

pub(crate) fn settings(user: Subject<'_>, profile: &v1::TlsProfile, findings: &mut Findings) -> Option<TlsSettings> {
    let versions: Option<Vec<_>> = profile.versions.iter().map(|number| version(*number)).collect();
    let Some(versions) = versions else {
        findings.error(
            subject(profile),
            "accepted_versions",
            "names a version that is unknown to this engine; upgrade the engine",
        );
        return None;
    };
    let groups: Result<Vec<_>, _> = profile.groups.iter().map(|name| Group::named(name)).collect();
    let groups = match groups {
        Ok(groups) => groups,
        Err(error) => {
            findings.error(subject(profile), "ec_named_curve", format!("{error}; upgrade the engine"));
            return None;
        }
    };
    let tickets = match profile.ticket_keys.as_ref().filter(|_| profile.session_resumption).map(tickets).transpose() {
        Ok(tickets) => tickets,
        Err(error) => {
            findings.error(user, "ssl_profile_ref", error.to_string());
            return None;
        }
    };
    Some(TlsSettings {
        versions,
        cipher_suites: profile.cipher_suites.clone(),
        groups,
        prefer_client_order: profile.prefer_client_order,
        session_resumption: profile.session_resumption,
        tickets,
        protocols: Vec::new(),
        send_close_notify: profile.send_close_notify,
    })
}

fn tickets(source: &v1::TicketKeys) -> Result<TicketSettings, Error> {
    let keys: Result<Vec<_>, _> = source.keys.iter().map(|key| TicketKey::read(key)).collect();
    let v1::TicketKeys { lifetime_s, until_unix_s, keep_origin, .. } = *source;
    Ok(TicketSettings { keys: keys?, lifetime_s, until_unix_s, keep_origin })
}

fn version(number: i32) -> Option<Version> {
    match v1::TlsVersion::try_from(number).ok()? {
        v1::TlsVersion::Unspecified => None,
        v1::TlsVersion::TlsVersion10 => Some(Version::Tls10),
        v1::TlsVersion::TlsVersion11 => Some(Version::Tls11),
        v1::TlsVersion::TlsVersion12 => Some(Version::Tls12),
        v1::TlsVersion::TlsVersion13 => Some(Version::Tls13),
    }
}

pub(crate) fn refuse(user: Subject<'_>, profile: &v1::TlsProfile, error: &Error, findings: &mut Findings) {
    let (subject, field) = match error {
        Error::NoVersion => (subject(profile), "accepted_versions"),
        Error::NoCipherSuite | Error::NoCipherSuiteForCertificates => (subject(profile), "accepted_ciphers"),
        Error::NoAuthority => (user, "application_profile_ref.pki_profile_ref"),
        Error::NoCertificate => (user, "ssl_key_and_certificate_refs"),
        _ => (user, "ssl_profile_ref"),
    };
    findings.error(subject, field, error.to_string());
}

pub(crate) fn warn(user: Subject<'_>, profile: &v1::TlsProfile, warning: &Warning, findings: &mut Findings) {
    const NEVER: &str = "no client ever gets it";
    match warning {
        Warning::VersionsNotImplemented(versions) => {
            let names: Vec<_> = versions.iter().map(|version| version.name()).collect();
            findings.warning(subject(profile), "accepted_versions", not_offered(&names));
        }
        Warning::CipherSuitesNotImplemented(names) => {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            findings.warning(subject(profile), "accepted_ciphers", not_offered(&names));
        }
        Warning::VersionWithoutCipherSuite(version) => {
            let message = format!("{} is not offered: none of its cipher suites is accepted", version.name());
            findings.warning(subject(profile), "accepted_ciphers", message);
        }
        Warning::CertificateNeverChosen { position } => {
            let message = format!("has no DNS name in subjectAltName and is not the first of its key type: {NEVER}");
            findings.warning(user, format!("ssl_key_and_certificate_refs[{position}]"), message);
        }
        Warning::CertificateWithoutCipherSuite { position } => {
            let message = format!("no cipher suite of SSL profile {} fits its key type: {NEVER}", profile.name);
            findings.warning(user, format!("ssl_key_and_certificate_refs[{position}]"), message);
        }
    }
}

fn not_offered(names: &[&str]) -> String {
    format!("not implemented and so not offered: {}", names.join(", "))
}
