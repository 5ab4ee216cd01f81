//! The field Keep-Alive of responses: how long a connection waits for its next request (RFC 2068 §19.7.1.1).

use crate::head::{Fields, Name, NameSet};

/// The whole line.
pub fn keep_alive_line(timeout_s: u32) -> String {
    format!("Keep-Alive: timeout={timeout_s}\r\n")
}

/// What a server tells, in seconds; `None`: nothing, or no number.
pub fn told_timeout_s(fields: &Fields<'_>) -> Option<u32> {
    fields.among(NameSet::of(&[Name::KeepAlive])).find_map(|field| timeout_in(field.value))
}

fn timeout_in(value: &[u8]) -> Option<u32> {
    let timeout = value.split(|&byte| byte == b',').find_map(|parameter| {
        let (name, value) = parameter.trim_ascii().split_at_checked(b"timeout=".len())?;
        name.eq_ignore_ascii_case(b"timeout=").then_some(value)
    })?;
    str::from_utf8(timeout).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::timeout_in;

    #[test]
    fn timeout_is_a_parameter_in_seconds() {
        for (value, timeout) in [
            ("timeout=5", Some(5)),
            ("max=100, Timeout=15", Some(15)),
            ("timeout=15,max=1", Some(15)),
            ("timeout", None),
            ("timeout=", None),
            ("timeout=-1", None),
            ("timeout=99999999999", None),
            ("my-timeout=5", None),
            ("", None),
        ] {
            assert_eq!(timeout_in(value.as_bytes()), timeout, "{value}");
        }
    }
}
