//! Ranges of bytes (RFC 9110 §14.1).

use crate::date::number;

/// What a request wants of a representation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Whole,
    /// From the first to the last byte, both included.
    Bytes {
        first: u64,
        last: u64,
    },
    Unsatisfiable,
}

impl Part {
    /// By the value of a Range, of a representation of so many bytes. Of several ranges, or of units that are not known,
    /// it is the whole (§14.2: a server may ignore them).
    pub fn of(range: &[u8], length: u64) -> Self {
        let Some((unit, set)) = range.iter().position(|&byte| byte == b'=').map(|at| (&range[..at], &range[at + 1..]))
        else {
            return Part::Whole;
        };
        let set = set.trim_ascii();
        if !unit.trim_ascii().eq_ignore_ascii_case(b"bytes") || set.contains(&b',') {
            return Part::Whole;
        }
        let Some(dash) = set.iter().position(|&byte| byte == b'-') else { return Part::Whole };
        match (set[..dash].trim_ascii(), set[dash + 1..].trim_ascii()) {
            (b"", suffix) => match number(suffix) {
                None => Part::Whole,
                Some(0) => Part::Unsatisfiable,
                Some(_) if length == 0 => Part::Unsatisfiable,
                Some(suffix) => Part::Bytes { first: length.saturating_sub(suffix), last: length - 1 },
            },
            (first, last) => {
                let last = if last.is_empty() { Some(u64::MAX) } else { number(last) };
                match (number(first), last) {
                    (Some(first), Some(last)) if first <= last => match first < length {
                        true => Part::Bytes { first, last: last.min(length - 1) },
                        false => Part::Unsatisfiable,
                    },
                    _ => Part::Whole,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_served_and_others_are_the_whole() {
        let bytes = |first, last| Part::Bytes { first, last };
        for (range, part) in [
            ("bytes=0-0", bytes(0, 0)),
            ("bytes=5-", bytes(5, 9)),
            ("Bytes = 2-20", bytes(2, 9)),
            ("bytes=-3", bytes(7, 9)),
            ("bytes=-30", bytes(0, 9)),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=3-2", Part::Whole),
            ("bytes=0-1,4-5", Part::Whole),
            ("lines=0-1", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes", Part::Whole),
        ] {
            assert_eq!(Part::of(range.as_bytes(), 10), part, "{range}");
        }
        assert_eq!(Part::of(b"bytes=-1", 0), Part::Unsatisfiable);
    }
}
