//! Distinguished names as text (RFC 2253), as openssl writes them: "CN=shop,O=Example,C=DE". All of it is ASCII that can
//! stand in a header field: other bytes are written as `\C3\A4`.

use std::fmt::Write;

use super::{
    OBJECT_IDENTIFIER, SEQUENCE,
    der::{Reader, dotted},
};

const SET: u8 = 0x31;
const UTF8_STRING: u8 = 0x0c;
const NUMERIC_STRING: u8 = 0x12;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const BMP_STRING: u8 = 0x1e;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];

const ATTRIBUTES: [(&[u8], &str); 14] = [
    (COMMON_NAME, "CN"),
    (&[0x55, 4, 4], "SN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "street"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x55, 4, 12], "title"),
    (&[0x55, 4, 42], "GN"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], "UID"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], "emailAddress"),
];

/// `name`: the content of a Name. What is malformed in it ends the text, and so do `bytes_max` bytes.
pub(super) fn write(name: &[u8], bytes_max: usize) -> String {
    let mut parts = Reader(name);
    let mut relative_names = Vec::new();
    while let Some(set) = parts.take(SET) {
        relative_names.push(set);
    }
    let mut text = String::new();
    // RFC 2253 §2.1: the last comes first.
    for set in relative_names.into_iter().rev() {
        let mut pairs = Reader(set);
        let mut between = if text.is_empty() { "" } else { "," };
        while let Some(pair) = pairs.take(SEQUENCE) {
            text.push_str(between);
            if write_pair(pair, &mut text).is_none() || text.len() >= bytes_max {
                text.truncate(bytes_max);
                return text;
            }
            between = "+";
        }
    }
    text
}

/// The last common name in the content of a Name, which says most. `None`: there is none, or it is in no alphabet that is
/// known, or the Name is malformed.
pub(super) fn common_name(name: &[u8]) -> Option<String> {
    let (mut parts, mut found) = (Reader(name), None);
    while let Some(set) = parts.take(SET) {
        let mut pairs = Reader(set);
        while let Some(pair) = pairs.take(SEQUENCE) {
            let mut pair = Reader(pair);
            let (kind, value) = (pair.take(OBJECT_IDENTIFIER)?, pair.next()?);
            if kind == COMMON_NAME {
                found = Some(utf8(value.tag, value.content)?);
            }
        }
    }
    found
}

fn write_pair(pair: &[u8], text: &mut String) -> Option<()> {
    let mut pair = Reader(pair);
    let (kind, value) = (pair.take(OBJECT_IDENTIFIER)?, pair.next()?);
    let known = ATTRIBUTES.iter().find(|(number, _)| *number == kind);
    match known {
        Some((_, name)) => text.push_str(name),
        None => text.push_str(&dotted(kind)),
    }
    text.push('=');
    let plain = known.and_then(|_| utf8(value.tag, value.content));
    match plain {
        Some(plain) => escape(plain.as_bytes(), text),
        // RFC 2253 §2.4.
        None => {
            text.push('#');
            for byte in value.whole {
                let _ = write!(text, "{byte:02X}");
            }
        }
    }
    Some(())
}

fn utf8(tag: u8, content: &[u8]) -> Option<String> {
    match tag {
        UTF8_STRING | PRINTABLE_STRING | IA5_STRING | NUMERIC_STRING => String::from_utf8(content.to_vec()).ok(),
        TELETEX_STRING => Some(content.iter().map(|byte| char::from(*byte)).collect()),
        BMP_STRING if content.len().is_multiple_of(2) => {
            let units: Vec<_> = content.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16(&units).ok()
        }
        _ => None,
    }
}

fn escape(value: &[u8], text: &mut String) {
    for (at, byte) in value.iter().copied().enumerate() {
        let is_edge = at == 0 || at == value.len() - 1;
        match byte {
            b',' | b'+' | b'"' | b'\\' | b'<' | b'>' | b';' => text.extend(['\\', char::from(byte)]),
            b'#' if at == 0 => text.push_str("\\#"),
            b' ' if is_edge => text.push_str("\\ "),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, tag, content.
    type Part<'t> = (&'t [u8], u8, &'t [u8]);

    fn value(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, content.len() as u8], content].concat()
    }

    fn name(parts: &[&[Part<'_>]]) -> String {
        write(&encoded(parts), usize::MAX)
    }

    fn encoded(parts: &[&[Part<'_>]]) -> Vec<u8> {
        let sets = parts.iter().map(|set| {
            let pairs = set.iter().map(|(kind, tag, content)| {
                value(SEQUENCE, &[value(OBJECT_IDENTIFIER, kind), value(*tag, content)].concat())
            });
            value(SET, &pairs.collect::<Vec<_>>().concat())
        });
        sets.collect::<Vec<_>>().concat()
    }

    const CN: &[u8] = &[0x55, 4, 3];
    const O: &[u8] = &[0x55, 4, 10];

    #[test]
    fn last_part_comes_first_and_parts_of_one_name_are_joined() {
        let text = name(&[&[(O, 0x13, b"Example")], &[(CN, 0x0c, b"a"), (&[0x55, 4, 11], 0x0c, b"b")]]);
        assert_eq!(text, "CN=a+OU=b,O=Example");
    }

    #[test]
    fn value_cannot_pretend_to_be_another_part_or_line() {
        for (content, text) in [
            (&b"x,O=Admin"[..], "CN=x\\,O=Admin"),
            (b"x+O=a\"<>;\\", "CN=x\\+O=a\\\"\\<\\>\\;\\\\"),
            (b"a\r\nX-Admin: 1\0", "CN=a\\0D\\0AX-Admin: 1\\00"),
            (" #ä ".as_bytes(), "CN=\\ #\\C3\\A4\\ "),
            (b"#1", "CN=\\#1"),
            (b"", "CN="),
        ] {
            assert_eq!(name(&[&[(CN, 0x0c, content)]]), text);
        }
    }

    #[test]
    fn other_alphabets_and_unknown_attributes_are_written_as_rfc_2253_says() {
        assert_eq!(name(&[&[(CN, 0x1e, &[0, b'a', 0, 0xe4])]]), "CN=a\\C3\\A4");
        assert_eq!(name(&[&[(CN, 0x14, &[0xe4])]]), "CN=\\C3\\A4");
        assert_eq!(name(&[&[(CN, 0x0c, &[0xff])]]), "CN=#0C01FF");
        assert_eq!(name(&[&[(&[0x2a, 3, 4], 0x0c, b"x")]]), "1.2.3.4=#0C0178");
    }

    #[test]
    fn last_common_name_is_the_one() {
        let named = |parts: &[&[Part<'_>]]| common_name(&encoded(parts));
        let users: (Part<'_>, Part<'_>) = ((CN, 0x0c, b"users"), (CN, 0x0c, "Jürgen, A".as_bytes()));
        assert_eq!(named(&[&[users.0], &[(O, 0x13, b"Example")], &[users.1]]).as_deref(), Some("Jürgen, A"));
        assert_eq!(named(&[&[users.1], &[(O, 0x13, b"Example")]]).as_deref(), Some("Jürgen, A"));
        assert_eq!(named(&[&[(O, 0x13, b"CN=root")]]), None);
        assert_eq!(named(&[&[users.0], &[(CN, 0x0c, &[0xff])]]), None, "the last one counts, or none");
        assert_eq!(common_name(&[SET, 4, SEQUENCE, 2, 6, 9]), None);
    }

    #[test]
    fn malformed_name_ends_where_it_is_malformed() {
        assert_eq!(write(&[SET, 4, SEQUENCE, 2, 6, 9], usize::MAX), "");
        assert_eq!(write(&[1, 2, 3], usize::MAX), "");
    }
}
