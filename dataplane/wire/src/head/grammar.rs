//! The grammar of values that mean the same in every version of HTTP.

use crate::scan;

/// The longest body or chunk: a reader that keeps lengths in 64 bits with a sign takes more for less than nothing.
pub(crate) const LENGTH_MAX: u64 = i64::MAX as u64;

/// 1*DIGIT up to [`LENGTH_MAX`]; no sign, no white space, no list.
pub(crate) fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    let mut number = 0;
    for byte in value {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || number > LENGTH_MAX / 10 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    (number <= LENGTH_MAX).then_some(number)
}

/// A fragment never belongs in a target. Bytes outside ASCII are read as UTF-8 by some readers and as Latin-1 by others.
pub(crate) fn may_be_target(text: &[u8]) -> bool {
    text.is_ascii() && scan::place_of(b'#', text).is_none()
}

/// A name of a field (RFC 9110 §5.6.2).
pub fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && scan::token_bytes(text) == text.len()
}

/// A value of a field, whatever it means (RFC 9110 §5.5).
pub fn may_be_value(text: &[u8]) -> bool {
    scan::text_bytes(text) == text.len()
}

/// uri-host [ ":" port ] (RFC 9110 §7.2), without user information. The grammar allows an empty host.
pub fn is_host(text: &[u8]) -> bool {
    let host_bytes = match text {
        [b'[', literal @ ..] => {
            match literal.iter().position(|&b| !(b.is_ascii_hexdigit() || b == b':' || b == b'.')) {
                Some(close @ 1..) if literal[close] == b']' => close + 2,
                _ => return false,
            }
        }
        _ => scan::host_bytes(text, |byte| NAME_BYTES[usize::from(byte)]),
    };
    match &text[host_bytes..] {
        [] => true,
        [b':', port @ ..] => port.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// unreserved / sub-delims / the percent of pct-encoded (RFC 3986 §3.2.2).
const NAME_BYTES: [bool; 256] = {
    let mut set = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        set[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"-._~!$&'()*+,;=%";
    let mut i = 0;
    while i < others.len() {
        set[others[i] as usize] = true;
        i += 1;
    }
    set
};

/// Decodes percent-encodings, once. One that is not complete stays as it is.
pub fn percent_decode(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    if !text.contains(&b'%') {
        return out.extend_from_slice(text);
    }
    let hex = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let encoded = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        out.push(encoded.map_or(*first, |(high, low)| high << 4 | low));
        rest = &tail[if encoded.is_some() { 2 } else { 0 }..];
    }
}

/// `host:port` or `[::1]:port` without the port.
pub fn without_port(host: &[u8]) -> &[u8] {
    let name_bytes = match host.first() {
        Some(b'[') => host.iter().position(|&byte| byte == b']').map(|close| close + 1),
        _ => host.iter().position(|&byte| byte == b':'),
    };
    &host[..name_bytes.unwrap_or(host.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encodings_are_decoded_once() {
        let mut out = Vec::new();
        for (text, decoded) in [
            ("/a", "/a"),
            ("/a%2fb", "/a/b"),
            ("/a%252fb", "/a%2fb"),
            ("/%", "/%"),
            ("/%4", "/%4"),
            ("/%zz", "/%zz"),
            ("%41%62", "Ab"),
        ] {
            percent_decode(text.as_bytes(), &mut out);
            assert_eq!(out, decoded.as_bytes(), "{text}");
        }
    }

    #[test]
    fn names_and_values_of_fields_are_told_from_what_is_none() {
        for (text, token, value) in [
            ("X-A", true, true),
            ("", false, true),
            ("a b", false, true),
            ("a:", false, true),
            ("a\r\nb", false, false),
            ("a\0", false, false),
            ("\u{e9}", false, true),
        ] {
            assert_eq!((is_token(text.as_bytes()), may_be_value(text.as_bytes())), (token, value), "{text:?}");
        }
    }

    #[test]
    fn hosts_are_told_from_what_is_none() {
        for host in ["", "a", "a.b-c_d", "a:80", "a:", "1.2.3.4:80", "[::1]", "[::ffff:1.2.3.4]:80", "x%2dy"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for other in ["a/b", "a b", "u@a", "a:b", "a:1:2", "::1", "[]", "[a", "[g]", "[::1]a", "a\"", "a\\b", "a]"] {
            assert!(!is_host(other.as_bytes()), "{other}");
        }
    }
}
