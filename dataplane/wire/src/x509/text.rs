//! What a certificate says, as texts of header fields. Each is made when it is first needed, and kept.

use std::{
    fmt::{self, Write},
    sync::OnceLock,
};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::{Engine, engine::general_purpose::STANDARD};

use super::{Certificate, der::dotted, name, time};

/// Bytes of base64 in a line of PEM (RFC 7468 §2).
const LINE_BYTES: usize = 64;

/// Something that a certificate says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Text {
    /// SHA-1 of the certificate, in hexadecimal digits.
    Fingerprint,
    /// In hexadecimal digits.
    Serial,
    /// As RFC 2253 writes it.
    Issuer,
    Subject,
    /// PEM, with blanks instead of line breaks.
    Raw,
    /// PEM with its line breaks, percent-encoded.
    Escaped,
    Version,
    /// The name that openssl uses.
    SignatureAlgorithm,
    /// "Nov 27 15:08:18 2026 GMT"
    NotBefore,
    NotAfter,
}

impl Text {
    pub const ALL: [Text; 10] = [
        Text::Fingerprint,
        Text::Serial,
        Text::Issuer,
        Text::Subject,
        Text::Raw,
        Text::Escaped,
        Text::Version,
        Text::SignatureAlgorithm,
        Text::NotBefore,
        Text::NotAfter,
    ];
}

/// The subject of the certificate in `der` as [`Text::Subject`] has it, cut after `bytes_max` bytes. Empty: it has none, or is
/// no certificate.
pub fn subject(der: &[u8], bytes_max: usize) -> String {
    Certificate::read(der).map_or_else(String::new, |certificate| name::write(certificate.subject, bytes_max))
}

/// The last common name in the subject of the certificate in `der`. `None`: there is none that can be read.
pub fn common_name(der: &[u8]) -> Option<String> {
    name::common_name(Certificate::read(der)?.subject)
}

/// Whoever has a certificate, and may be asked what it says.
pub trait Says: fmt::Debug {
    /// Empty: it does not say that.
    fn text(&self, text: Text) -> &str;

    /// The last common name of its subject. `None`: it has none that can be read.
    fn common_name(&self) -> Option<String>;
}

/// The texts of one certificate.
#[derive(Default, Debug)]
pub struct Texts {
    made: [OnceLock<Box<str>>; Text::ALL.len()],
}

impl Texts {
    /// A text of the certificate in `der`, always the same one. All of it is ASCII that can stand in a header field.
    /// Empty: it is no certificate.
    pub fn get(&self, der: &[u8], text: Text) -> &str {
        self.made[text as usize].get_or_init(|| {
            let certificate = Certificate::read(der);
            certificate.map(|certificate| write(der, &certificate, text)).unwrap_or_default().into()
        })
    }
}

fn write(der: &[u8], certificate: &Certificate<'_>, text: Text) -> String {
    match text {
        Text::Fingerprint => hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, der).as_ref()),
        Text::Serial if certificate.serial.is_empty() => "00".to_owned(),
        Text::Serial => hex(certificate.serial).to_uppercase(),
        Text::Issuer => name::write(certificate.issuer, usize::MAX),
        Text::Subject => name::write(certificate.subject, usize::MAX),
        Text::Raw => pem(der).trim_end().replace('\n', " "),
        Text::Escaped => percent_encode(&pem(der)),
        Text::Version => certificate.version.to_string(),
        Text::SignatureAlgorithm => algorithm(certificate.signature_algorithm),
        Text::NotBefore => time::write(certificate.not_before),
        Text::NotAfter => time::write(certificate.not_after),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn pem(der: &[u8]) -> String {
    let (body, mut text) = (STANDARD.encode(der), "-----BEGIN CERTIFICATE-----\n".to_owned());
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, others) = rest.split_at(rest.len().min(LINE_BYTES));
        text.extend([line, "\n"]);
        rest = others;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

/// RFC 3986 §2.3: what is not unreserved is encoded.
fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    })
}

fn algorithm(number: &[u8]) -> String {
    const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: [u8; 7] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    let known = match number {
        [0x2b, 0x65, 0x70] => "ED25519",
        [0x2b, 0x65, 0x71] => "ED448",
        [start @ .., last] if start == RSA => match last {
            5 => "sha1WithRSAEncryption",
            10 => "rsassaPss",
            11 => "sha256WithRSAEncryption",
            12 => "sha384WithRSAEncryption",
            13 => "sha512WithRSAEncryption",
            _ => "",
        },
        [start @ .., last] if start == ECDSA => match last {
            2 => "ecdsa-with-SHA256",
            3 => "ecdsa-with-SHA384",
            4 => "ecdsa-with-SHA512",
            _ => "",
        },
        _ => "",
    };
    if known.is_empty() { dotted(number) } else { known.to_owned() }
}
