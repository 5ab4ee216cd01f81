//! Times of certificates, and how they are written.

use super::der::Value;

const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const DAY_S: u64 = 86_400;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// In seconds since 1970; what was before is 0. RFC 5280 §4.1.2.5: always in UTC, with seconds.
pub(super) fn read(value: Value<'_>) -> Option<u64> {
    let text = value.content.strip_suffix(b"Z")?;
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |text: &[u8]| text.iter().fold(0, |sum: u64, digit| sum * 10 + u64::from(digit - b'0'));
    let (year, rest) = match (value.tag, text.len()) {
        (UTC_TIME, 12) => match number(&text[..2]) {
            year @ 50.. => (1900 + year, &text[2..]),
            year => (2000 + year, &text[2..]),
        },
        (GENERALIZED_TIME, 14) => (number(&text[..4]), &text[4..]),
        _ => return None,
    };
    let mut parts = rest.chunks_exact(2).map(number);
    let [month, day, hour, minute, second] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = hour * 3600 + minute * 60 + second;
    Some(days_to(year, month, day).map_or(0, |days| days * DAY_S + seconds))
}

/// "Nov 27 15:08:18 2026 GMT", as openssl writes it.
pub(super) fn write(unix_s: u64) -> String {
    let (days, seconds) = (unix_s / DAY_S, unix_s % DAY_S);
    let (year, month, day) = date_of(days);
    let month = MONTHS[month as usize - 1];
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{month} {day:2} {hour:02}:{minute:02}:{second:02} {year} GMT")
}

/// Days since 1970; `None`: it was before. Years begin in March here, so that February is the last month.
fn days_to(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

/// Year, month and day.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(tag: u8, text: &str) -> Option<u64> {
        read(Value { tag, content: text.as_bytes(), whole: &[] })
    }

    #[test]
    fn times_are_read_and_written() {
        for (tag, text, seconds, written) in [
            (UTC_TIME, "700101000000Z", 0, "Jan  1 00:00:00 1970 GMT"),
            (UTC_TIME, "261127150818Z", 1_795_792_098, "Nov 27 15:08:18 2026 GMT"),
            (UTC_TIME, "491231235959Z", 2_524_607_999, "Dec 31 23:59:59 2049 GMT"),
            (GENERALIZED_TIME, "20000229120000Z", 951_825_600, "Feb 29 12:00:00 2000 GMT"),
            (GENERALIZED_TIME, "21261103000000Z", 4_949_337_600, "Nov  3 00:00:00 2126 GMT"),
        ] {
            assert_eq!(time(tag, text), Some(seconds), "{text}");
            assert_eq!(write(seconds), written);
        }
        assert_eq!(time(UTC_TIME, "500101000000Z"), Some(0), "1950");
        for wrong in ["", "Z", "261127150818", "261327150818Z", "2611271508Z", "26112715081xZ", "261127150818+0100"] {
            assert_eq!(time(UTC_TIME, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_has_its_date() {
        for days in 0..146_097 {
            let (year, month, day) = date_of(days);
            assert_eq!(days_to(year, month, day), Some(days));
        }
    }
}
