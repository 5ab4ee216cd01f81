//! `avi.ssl`: what the client's connection says of its TLS.

use mlua::{Error, LuaString, Result, Value};
use weir_wire::x509::Text;

use super::{Maker, WITH_HELLO, WITH_TLS, text::name};

/// What a script may ask a certificate for.
pub(super) const NAMES: [(&str, Text); 11] = [
    ("CLIENT_CERT", Text::Raw),
    ("CLIENT_CERT_RAW", Text::Raw),
    ("CLIENT_CERT_ESCAPED", Text::Escaped),
    ("CLIENT_CERT_FINGERPRINT", Text::Fingerprint),
    ("CLIENT_CERT_SERIAL", Text::Serial),
    ("CLIENT_CERT_ISSUER", Text::Issuer),
    ("CLIENT_CERT_SUBJECT", Text::Subject),
    ("CLIENT_CERT_VERSION", Text::Version),
    ("CLIENT_CERT_SIGALG", Text::SignatureAlgorithm),
    ("CLIENT_CERT_NOTVALIDBEFORE", Text::NotBefore),
    ("CLIENT_CERT_NOTVALIDAFTER", Text::NotAfter),
];

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("cipher", WITH_TLS, |_, now, _: Option<Value>| Ok(now.seen.tls.as_ref().map(|tls| tls.cipher)))?;
    maker.put("protocol", WITH_TLS, |_, now, ()| Ok(now.seen.tls.as_ref().map(|tls| tls.version)))?;
    maker.put("server_name", WITH_HELLO, |_, now, ()| {
        Ok(now.seen.tls.as_ref().and_then(|tls| tls.server_name.clone()))
    })?;
    maker.put("client_cert_verified", WITH_TLS, |_, now, ()| {
        Ok(now.seen.tls.as_ref().is_some_and(|tls| tls.certificate.is_some()))
    })?;
    maker.put("check_client_cert_validity", WITH_TLS, |_, now, ()| {
        Ok(match &now.seen.tls {
            Some(tls) if tls.certificate.is_some() => 1,
            Some(tls) if tls.shows_certificate => 2,
            Some(_) | None => 0,
        })
    })?;
    maker.put("client_cert", WITH_TLS, |lua, now, wanted: Option<LuaString>| {
        let wanted = wanted.as_ref().map(name).transpose()?.unwrap_or_else(|| "CLIENT_CERT".to_owned());
        let short = wanted.strip_prefix("avi.").unwrap_or(&wanted);
        let found = NAMES.iter().find(|(name, _)| *name == short);
        let (_, text) = found.ok_or_else(|| Error::runtime(format!("{wanted:?} is not served")))?;
        let certificate = now.seen.tls.as_ref().and_then(|tls| tls.certificate.as_ref());
        certificate.map(|certificate| lua.create_string(certificate.text(*text))).transpose()
    })
}
