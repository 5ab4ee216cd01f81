//! What telemetry counts of the TLS handshakes of clients.

use weir_telemetry::{Agreed, HandshakeFault};
use weir_tls::{Fault, Handshaken};

use crate::error::Error;

pub(super) fn agreed(handshaken: Handshaken) -> Agreed {
    let Handshaken { version, cipher_suite, group, key, resumed } = handshaken;
    Agreed { version: version.name(), cipher_suite, group, key, resumed }
}

/// The TLS of a client failed, in the handshake or later.
#[cold]
pub(super) fn failed(error: weir_tls::Error) -> Error {
    if let weir_tls::Error::ClientCertificate(fault) = error {
        return Error::ClientCertificate { fault, in_handshake: true };
    }
    Error::ClientTls(match error.fault() {
        Some(Fault::NotTls) => HandshakeFault::NotTls,
        Some(Fault::Version) => HandshakeFault::NoVersion,
        Some(Fault::CipherSuite) => HandshakeFault::NoCipherSuite,
        Some(Fault::Group) => HandshakeFault::NoGroup,
        Some(Fault::Signature) => HandshakeFault::NoSignature,
        Some(Fault::Protocol) => HandshakeFault::NoProtocol,
        Some(Fault::CertificateRefused) => HandshakeFault::CertificateRefused,
        Some(Fault::Alert) => HandshakeFault::Alert,
        Some(Fault::Malformed) => HandshakeFault::Malformed,
        None => HandshakeFault::Internal,
    })
}

#[cfg(test)]
mod tests {
    use weir_telemetry::METHODS;
    use weir_wire::head::Method;

    #[test]
    fn methods_are_counted_by_their_names() {
        for (at, name) in METHODS.into_iter().enumerate() {
            assert_eq!(Method::of(name.as_bytes()) as usize, at);
        }
    }
}
