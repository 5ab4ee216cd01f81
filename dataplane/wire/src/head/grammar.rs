//! The grammar of values that mean the same in every version of HTTP.

use crate::scan;

/// The longest body or chunk: a reader that keeps lengths in 64 bits with a sign takes more for less than nothing.
pub(crate) const LENGTH_MAX: u64 = i64::MAX as u64;

/// 1*DIGIT up to [`LENGTH_MAX`]; no sign, no white space, no list.
pub(crate) fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    let number = value.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    });
    number.filter(|number| *number <= LENGTH_MAX)
}

/// A fragment never belongs in a target. Bytes outside ASCII are read as UTF-8 by some readers and as Latin-1 by others.
pub(crate) fn may_be_target(text: &[u8]) -> bool {
    text.iter().fold(true, |fits, &b| fits & b.is_ascii() & (b != b'#'))
}

/// A name of a field (RFC 9110 §5.6.2).
pub fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| scan::is_token(byte))
}

/// A value of a field, whatever it means (RFC 9110 §5.5).
pub fn may_be_value(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f)
}

/// uri-host [ ":" port ] (RFC 9110 §7.2), without user information. The grammar allows an empty host.
pub(crate) fn is_host(text: &[u8]) -> bool {
    let host_bytes = match text {
        [b'[', literal @ ..] => {
            match literal.iter().position(|&b| !(b.is_ascii_hexdigit() || b == b':' || b == b'.')) {
                Some(close @ 1..) if literal[close] == b']' => close + 2,
                _ => return false,
            }
        }
        _ => text.iter().position(|&b| !NAME_BYTES[b as usize]).unwrap_or(text.len()),
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

#[cfg(test)]
mod tests {
    use super::*;

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
