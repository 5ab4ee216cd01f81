//! X.509 certificates (RFC 5280), as far as others are told what one says: names, serial number, validity. Whether to
//! believe it is the business of `weir-tls`.
//!
//! Why no library: x509-parser 0.18 reads all extensions and times into structures. That is 19,600 instructions for a
//! certificate of a client, and 27,400 with its subject, where this needs 1,100 and 6,000; and it brings 55 crates. The
//! texts of header fields would still be ours. webpki, which verifies certificates, tells no dates. The fuzz target is
//! `x509`.

mod der;
mod name;
mod text;
mod time;

pub use text::{Says, Text, Texts, common_name, subject};

use der::Reader;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
const BOOLEAN: u8 = 0x01;
/// The tags of optional fields.
const VERSION: u8 = 0xa0;
const ISSUER_ID: u8 = 0x81;
const SUBJECT_ID: u8 = 0x82;
const EXTENSIONS: u8 = 0xa3;
/// id-ce-basicConstraints
const BASIC_CONSTRAINTS: [u8; 3] = [0x55, 29, 19];

/// What a certificate says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Certificate<'c> {
    /// 1 to 3.
    pub version: u8,
    /// Big-endian, without leading zeros.
    serial: &'c [u8],
    /// The object identifier, as DER has it.
    signature_algorithm: &'c [u8],
    issuer: &'c [u8],
    subject: &'c [u8],
    /// In seconds since 1970.
    pub not_before: u64,
    pub not_after: u64,
    /// Whether it may sign others. Before version 3 there was nothing that could say so.
    pub is_authority: bool,
    /// How many authorities may stand between it and the last certificate of a chain; `None`: any number.
    pub path_length: Option<u8>,
}

impl<'c> Certificate<'c> {
    /// `None`: it is no certificate in DER.
    pub fn read(der: &'c [u8]) -> Option<Self> {
        let mut outer = Reader(Reader(der).take(SEQUENCE)?);
        let mut body = Reader(outer.take(SEQUENCE)?);
        let version = match body.take_if(VERSION) {
            Some(version) => *Reader(version).take(INTEGER)?.last()?,
            None => 0,
        };
        let serial = body.take(INTEGER)?;
        let signature_algorithm = Reader(body.take(SEQUENCE)?).take(OBJECT_IDENTIFIER)?;
        let issuer = body.take(SEQUENCE)?;
        let mut validity = Reader(body.take(SEQUENCE)?);
        let [not_before, not_after] = [validity.next()?, validity.next()?];
        let subject = body.take(SEQUENCE)?;
        body.take(SEQUENCE)?;
        body.take_if(ISSUER_ID);
        body.take_if(SUBJECT_ID);
        let (is_authority, path_length) = match body.take_if(EXTENSIONS) {
            Some(extensions) => constraints(extensions)?,
            None => (version < 2, None),
        };
        Some(Self {
            version: version.checked_add(1)?,
            serial: without_zeros(serial),
            signature_algorithm,
            issuer,
            subject,
            not_before: time::read(not_before)?,
            not_after: time::read(not_after)?,
            is_authority,
            path_length,
        })
    }

    /// Whether it names itself as its issuer, as roots do.
    pub fn is_self_issued(&self) -> bool {
        self.issuer == self.subject
    }

    /// Whether the other could have signed it, by its name.
    pub fn may_be_issued_by(&self, other: &Certificate<'_>) -> bool {
        self.issuer == other.subject
    }
}

/// When the list of revoked certificates ends to be valid (`nextUpdate`), in seconds since 1970. `None`: it does not say,
/// or is no list in DER.
pub fn next_update(crl: &[u8]) -> Option<u64> {
    let mut outer = Reader(Reader(crl).take(SEQUENCE)?);
    let mut body = Reader(outer.take(SEQUENCE)?);
    body.take_if(INTEGER);
    body.take(SEQUENCE)?;
    body.take(SEQUENCE)?;
    body.next()?;
    time::read(body.next()?)
}

/// What basicConstraints say (RFC 5280 §4.2.1.9).
fn constraints(extensions: &[u8]) -> Option<(bool, Option<u8>)> {
    let mut list = Reader(Reader(extensions).take(SEQUENCE)?);
    while !list.0.is_empty() {
        let mut extension = Reader(list.take(SEQUENCE)?);
        let kind = extension.take(OBJECT_IDENTIFIER)?;
        extension.take_if(BOOLEAN);
        let content = extension.take(OCTET_STRING)?;
        if kind == BASIC_CONSTRAINTS {
            let mut content = Reader(Reader(content).take(SEQUENCE)?);
            let is_authority = content.take_if(BOOLEAN).is_some_and(|flag| flag != [0]);
            let length = content.take_if(INTEGER).map(without_zeros);
            // 255 is as good as no limit.
            let length =
                length.map(|length| if length.len() > 1 { u8::MAX } else { length.first().copied().unwrap_or(0) });
            return Some((is_authority, length));
        }
    }
    Some((false, None))
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}
