//! The type-length-value vectors behind the addresses of version 2 (§2.2).

use std::ops::Range;

/// The protocol that the client chose by ALPN.
const ALPN: u8 = 0x01;
const CRC32C: u8 = 0x03;
const NOOP: u8 = 0x04;
const SSL: u8 = 0x20;
const SSL_VERSION: u8 = 0x21;
const SSL_CIPHER: u8 = 0x23;

/// In the `client` field of SSL: the client connected over TLS.
const CLIENT_SSL: u8 = 0x01;
/// In its `verify` field: no certificate of the client was verified.
const NOT_VERIFIED: [u8; 4] = [0, 0, 0, 1];

const TLV_START_BYTES: usize = 3;

/// What is known of TLS that ended here.
#[derive(Clone, Copy, Debug)]
pub struct Additions<'a> {
    pub alpn: Option<&'a [u8]>,
    /// As senders name it: "TLSv1.3".
    pub version: &'a str,
    /// The IANA name.
    pub cipher: &'a str,
}

struct Tlv<'b> {
    kind: u8,
    value: &'b [u8],
    /// Where it stands.
    range: Range<usize>,
}

/// One after the other, as far as they are well-formed.
fn each(tlvs: &[u8]) -> impl Iterator<Item = Tlv<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let &[kind, high, low] = tlvs.get(at..)?.first_chunk::<TLV_START_BYTES>()?;
        let end = at + TLV_START_BYTES + usize::from(u16::from_be_bytes([high, low]));
        let value = tlvs.get(at + TLV_START_BYTES..end)?;
        let range = at..end;
        at = end;
        Some(Tlv { kind, value, range })
    })
}

/// Whether `tlvs`, the end of `header`, are well-formed, and the checksum that they may have is that of the header.
pub(super) fn are_sound(tlvs: &[u8], header: &[u8]) -> bool {
    let end = each(tlvs).last().map_or(0, |last| last.range.end);
    let first = header.len() - tlvs.len();
    end == tlvs.len()
        && each(tlvs).filter(|tlv| tlv.kind == CRC32C).all(|tlv| {
            let value = first + tlv.range.start + TLV_START_BYTES..first + tlv.range.end;
            tlv.value == crc32c(header, value).to_be_bytes()
        })
}

/// The vectors that a server gets: those that came, and those of TLS that ended here instead of earlier ones. A checksum
/// was of another header, and is left out.
pub fn passed_on(came: &[u8], added: Option<&Additions<'_>>) -> Vec<u8> {
    let replaced: &[u8] = if added.is_some() { &[ALPN, SSL, CRC32C, NOOP] } else { &[CRC32C, NOOP] };
    let mut out = Vec::new();
    for tlv in each(came).filter(|tlv| !replaced.contains(&tlv.kind)) {
        out.extend_from_slice(&came[tlv.range]);
    }
    if let Some(added) = added {
        added.write(&mut out);
    }
    out
}

impl Additions<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(alpn) = self.alpn {
            push(out, ALPN, alpn);
        }
        let mut ssl = vec![CLIENT_SSL];
        ssl.extend_from_slice(&NOT_VERIFIED);
        push(&mut ssl, SSL_VERSION, self.version.as_bytes());
        push(&mut ssl, SSL_CIPHER, self.cipher.as_bytes());
        push(out, SSL, &ssl);
    }
}

/// Names of protocols, hosts and ciphers are much shorter than 64 KiB.
fn push(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(value.len() as u16).to_be_bytes());
    out.extend_from_slice(value);
}

/// The polynomial of CRC-32C (RFC 3720 §12.1), reflected.
const CASTAGNOLI: u32 = 0x82f6_3b78;

/// The checksum of `header`, with zeros in place of the checksum's own value. Few senders add one, so no table is kept.
pub(super) fn crc32c(header: &[u8], value: Range<usize>) -> u32 {
    let byte = |(at, byte): (usize, &u8)| if value.contains(&at) { 0 } else { *byte };
    !header.iter().enumerate().map(byte).fold(!0, |mut sum: u32, byte| {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { CASTAGNOLI } else { 0 };
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32C in the catalogues.
    #[test]
    fn checksum_is_that_of_others() {
        assert_eq!(crc32c(b"123456789", 0..0), 0xe306_9283);
    }

    fn kinds(tlvs: &[u8]) -> Vec<u8> {
        each(tlvs).map(|tlv| tlv.kind).collect()
    }

    #[test]
    fn vectors_of_tls_here_replace_those_that_came() {
        let mut came = Vec::new();
        for kind in [ALPN, CRC32C, NOOP, SSL, 0xe0] {
            push(&mut came, kind, b"came");
        }
        assert_eq!(kinds(&passed_on(&came, None)), [ALPN, SSL, 0xe0]);
        let added = Additions { alpn: Some(b"h2"), version: "TLSv1.3", cipher: "TLS_AES_128_GCM_SHA256" };
        let passed = passed_on(&came, Some(&added));
        assert_eq!(kinds(&passed), [0xe0, ALPN, SSL]);
        let ssl = each(&passed).last().expect("three").value;
        assert_eq!(ssl[..5], [CLIENT_SSL, 0, 0, 0, 1]);
        assert_eq!(
            each(&ssl[5..]).map(|tlv| tlv.value).collect::<Vec<_>>(),
            [&b"TLSv1.3"[..], b"TLS_AES_128_GCM_SHA256"]
        );
    }
}
