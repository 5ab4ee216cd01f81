//! Who clients are, by their certificates: what a virtual service asks them for, and what its servers are told.

use weir_api::dataplane::v1;
use weir_rules::{Edit, EditKind, Value, Variable};
use weir_tls::{Authorities, ClientAuth};
use weir_wire::head::is_same_in_cgi;

use crate::{
    finding::{Findings, Subject},
    kept::{Objects, reference},
    pki_profile::KeptPkiProfile,
    variable::variable,
};

/// What requests are held to.
#[derive(Clone, Debug)]
pub struct Identity {
    pub mode: CertificateMode,
    /// Must have signed the certificate. `None` with [`CertificateMode::None`] only.
    pub authorities: Option<Authorities>,
    /// A certificate that is not good is as good as none, and lets its client in.
    pub allows_invalid: bool,
    /// The fields that tell servers of a good certificate. No client may send one.
    pub headers: Vec<Edit>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CertificateMode {
    None,
    /// A client may show one.
    Request,
    /// It must show one that is good.
    Require,
}

impl Identity {
    /// Whether only the engine may send a field of this name.
    pub fn owns(&self, name: &[u8]) -> bool {
        self.headers.iter().any(|edit| is_same_in_cgi(edit.name.as_bytes(), name))
    }

    /// Whether it is made of the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let rules = |identity: &Self| (identity.mode, identity.allows_invalid);
        rules(self) == rules(other)
            && self.headers == other.headers
            && crate::kept::both_or_neither(self.authorities.as_ref(), other.authorities.as_ref(), Authorities::are)
    }
}

/// What a virtual service wants of its clients' certificates.
pub(crate) struct Wanted {
    /// For handshakes; `None`: nobody is asked.
    pub auth: Option<ClientAuth>,
    /// For requests; `None`: it has none.
    pub identity: Option<Identity>,
}

const MODE: &str = "application_profile_ref.ssl_client_certificate_mode";
const HEADERS: &str = "application_profile_ref.http_profile.ssl_client_certificate_action.headers";
const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

/// `None`: it cannot be done, and the findings say why.
pub(crate) fn read(
    service: Subject<'_>,
    source: &v1::VirtualService,
    pki_profiles: &Objects<KeptPkiProfile>,
    findings: &mut Findings,
) -> Option<Wanted> {
    let Some(from) = &source.client_certificates else { return Some(Wanted { auth: None, identity: None }) };
    let mode = match v1::ClientCertificateMode::try_from(from.mode) {
        Ok(v1::ClientCertificateMode::None) => CertificateMode::None,
        Ok(v1::ClientCertificateMode::Request) => CertificateMode::Request,
        Ok(v1::ClientCertificateMode::Require) => CertificateMode::Require,
        Err(_) => {
            findings.error(service, MODE, UNKNOWN);
            return None;
        }
    };
    let authorities = match (mode, reference(&from.pki_profile_uuid)) {
        (CertificateMode::None, _) => None,
        (_, None) => {
            findings.error(service, "application_profile_ref.pki_profile_ref", "no client can be verified without it");
            return None;
        }
        (_, Some(uuid)) => match pki_profiles.find(uuid) {
            Some(found) => Some(found?.object.clone()),
            None => {
                findings.error(service, "application_profile_ref.pki_profile_ref", format!("there is no {uuid}"));
                return None;
            }
        },
    };
    let is_http = source.http.is_some();
    let (required, closes) = (mode == CertificateMode::Require, from.close || !is_http);
    let auth = authorities.clone().map(|authorities| ClientAuth {
        authorities,
        required,
        refuses_missing: required && closes,
        refuses_bad: closes && !from.allow_invalid && (required || is_http),
    });
    let headers: Option<Vec<_>> =
        from.headers.iter().enumerate().map(|(at, header)| edit(service, at, header, findings)).collect();
    let identity = Identity { mode, authorities, allows_invalid: from.allow_invalid, headers: headers? };
    Some(Wanted { auth, identity: is_http.then_some(identity) })
}

fn edit(service: Subject<'_>, at: usize, from: &v1::ClientCertificateHeader, findings: &mut Findings) -> Option<Edit> {
    use weir_wire::head::{Name, is_token};
    let refusal = match variable(from.variable) {
        _ if !is_token(from.name.as_bytes()) => format!("{:?} is no name of a field", from.name),
        _ if Name::of(from.name.as_bytes()).is_of_framing() || from.name.eq_ignore_ascii_case("host") => {
            format!("{} is about the connection, the content or the host", from.name)
        }
        Some(Variable::RequestId | Variable::User) => format!("its value {UNKNOWN}"),
        Some(variable) => {
            let value = Some(Value::Variable(variable));
            return Some(Edit { kind: EditKind::Replace, name: from.name.clone(), cookie: false, value });
        }
        None => format!("its value {UNKNOWN}"),
    };
    findings.error(service, format!("{HEADERS}[{at}]"), refusal);
    None
}
