//! The Date field (RFC 9110 §6.6.1) for responses without one and for our own: formatted once per second, and copied.

use crate::text::Text;

/// "Date: Sun, 06 Nov 1994 08:49:37 GMT" and the end of the line.
const LINE_BYTES: usize = 37;
const DAY_S: u64 = 24 * 60 * 60;
/// The end of the year 9999: the format has no room for more.
const LATEST_S: u64 = 253_402_300_799;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The line of one second.
#[derive(Clone, Debug)]
pub struct Date {
    unix_s: u64,
    line: Text<LINE_BYTES>,
}

impl Date {
    /// Of so many seconds since 1970 (UTC).
    pub fn at(unix_s: u64) -> Self {
        let seconds = unix_s.min(LATEST_S);
        let (days, second) = (seconds / DAY_S, seconds % DAY_S);
        let (year, month, day) = civil(days);
        let (weekday, month) = (WEEKDAYS[(days % 7) as usize], MONTHS[month]);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let line =
            format_args!("Date: {weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT\r\n");
        Self { unix_s, line: Text::of(line) }
    }

    /// In seconds since 1970.
    pub fn unix_s(&self) -> u64 {
        self.unix_s
    }

    /// Writes the line anew when the second is another.
    #[inline]
    pub fn follow(&mut self, unix_s: u64) {
        if self.unix_s != unix_s {
            *self = Self::at(unix_s);
        }
    }

    /// The whole line, with its end.
    pub fn line(&self) -> &[u8] {
        self.line.bytes()
    }
}

/// Year, month from 0 and day of month from 1, of a day since 1970.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 0;
    for month_days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < month_days {
            break;
        }
        days -= month_days;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_as_the_rfc_has_it() {
        for (unix_s, line) in [
            (0, "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"),
            (784_111_777, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
            (951_827_696, "Date: Tue, 29 Feb 2000 12:34:56 GMT\r\n"),
            (1_709_251_199, "Date: Thu, 29 Feb 2024 23:59:59 GMT\r\n"),
            (1_709_251_200, "Date: Fri, 01 Mar 2024 00:00:00 GMT\r\n"),
            (4_107_542_400, "Date: Mon, 01 Mar 2100 00:00:00 GMT\r\n"),
            (u64::MAX, "Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
        ] {
            assert_eq!(Date::at(unix_s).line(), line.as_bytes());
        }
    }

    #[test]
    fn line_follows_the_clock_back_too() {
        let mut date = Date::at(784_111_777);
        for unix_s in [784_111_778, 784_111_770] {
            date.follow(unix_s);
            assert_eq!(date.line(), Date::at(unix_s).line());
        }
    }
}
