//! Dates of HTTP (RFC 9110 §5.6.7).

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Seconds since 1970 of a date in one of the three forms. `None`: it is none.
pub fn unix_s(text: &[u8]) -> Option<u64> {
    let words: Vec<&[u8]> = text.split(|&byte| matches!(byte, b' ' | b'-' | b',')).filter(|w| !w.is_empty()).collect();
    match *words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT, or Sunday, 06-Nov-94 08:49:37 GMT
        [_, day, month, year, time, b"GMT"] => seconds(number(day)?, month, full_year(year)?, time),
        // Sun Nov  6 08:49:37 1994
        [_, month, day, time, year] => seconds(number(day)?, month, full_year(year)?, time),
        _ => None,
    }
}

/// Of two digits, the century is that of 1970 to 2069: a date of one more than 50 years ahead is one of the past.
fn full_year(text: &[u8]) -> Option<u64> {
    let year = number(text)?;
    match text.len() {
        2 if year < 70 => Some(2000 + year),
        2 => Some(1900 + year),
        4 => Some(year),
        _ => None,
    }
}

fn seconds(day: u64, month: &[u8], year: u64, time: &[u8]) -> Option<u64> {
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? as u64 + 1;
    let parts: Vec<u64> = time.split(|&byte| byte == b':').map(number).collect::<Option<_>>()?;
    let [hour, minute, second] = parts[..] else { return None };
    if !(1..=31).contains(&day) || year < 1970 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days since 1970 (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // More than the largest number is the largest one (RFC 9111 §1.2.2).
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_read() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(unix_s(text.as_bytes()), Some(784_111_777), "{text}");
        }
        assert_eq!(unix_s(b"Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(unix_s(b"Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        for text in ["0", "", "-1", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 24:00:00 GMT", "a b c d e f g"] {
            assert_eq!(unix_s(text.as_bytes()), None, "{text}");
        }
    }
}
