//! Variables in values of header fields, as the Plan numbers them.

use weir_api::dataplane::v1;
use weir_rules::Variable;
use weir_wire::x509::Text;

/// A variable that stands for itself; `None`: there is no such.
pub(crate) fn variable(number: i32) -> Option<Variable> {
    use v1::HeaderVariable;
    Some(match HeaderVariable::try_from(number).ok()? {
        HeaderVariable::ClientAddress => Variable::ClientAddress,
        HeaderVariable::SourceAddress => Variable::SourceAddress,
        HeaderVariable::ListenerAddress => Variable::ListenerAddress,
        HeaderVariable::ListenerPort => Variable::ListenerPort,
        HeaderVariable::TlsVersion => Variable::TlsVersion,
        HeaderVariable::TlsCipher => Variable::TlsCipher,
        HeaderVariable::TlsServerName => Variable::TlsServerName,
        HeaderVariable::ClientFingerprint => Variable::Certificate(Text::Fingerprint),
        HeaderVariable::ClientSerial => Variable::Certificate(Text::Serial),
        HeaderVariable::ClientIssuer => Variable::Certificate(Text::Issuer),
        HeaderVariable::ClientSubject => Variable::Certificate(Text::Subject),
        HeaderVariable::ClientRaw => Variable::Certificate(Text::Raw),
        HeaderVariable::ClientEscaped => Variable::Certificate(Text::Escaped),
        HeaderVariable::ClientVersion => Variable::Certificate(Text::Version),
        HeaderVariable::ClientSignature => Variable::Certificate(Text::SignatureAlgorithm),
        HeaderVariable::ClientNotBefore => Variable::Certificate(Text::NotBefore),
        HeaderVariable::ClientNotAfter => Variable::Certificate(Text::NotAfter),
        HeaderVariable::RequestId => Variable::RequestId,
        HeaderVariable::User => Variable::User,
        HeaderVariable::None | HeaderVariable::Field => return None,
    })
}
