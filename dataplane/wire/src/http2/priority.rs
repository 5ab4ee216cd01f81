//! Priorities of responses (RFC 9218 §4): which stream goes before others, and whether streams take turns.

/// What a client has said of one response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// 0 goes first, 7 last.
    pub urgency: u8,
    /// It takes turns with others of its urgency. Without this it is sent as a whole.
    pub is_incremental: bool,
}

/// How many urgencies there are.
pub const URGENCIES: usize = 8;

impl Priority {
    /// Of a client that says nothing. The standard would have one response after the other. Turns are safer: an endless
    /// stream would stop all others.
    pub const UNSAID: Priority = Priority { urgency: 3, is_incremental: true };

    /// Reads the value of a `priority` field or of a PRIORITY_UPDATE frame. What is not understood is ignored.
    pub fn read(value: &[u8]) -> Self {
        let mut priority = Priority { is_incremental: false, ..Priority::UNSAID };
        for item in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            match item {
                [b'u', b'=', digit @ b'0'..=b'7'] => priority.urgency = digit - b'0',
                b"i" | b"i=?1" => priority.is_incremental = true,
                b"i=?0" => priority.is_incremental = false,
                _ => {}
            }
        }
        priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_understands() {
        for (value, urgency, is_incremental) in [
            (&b""[..], 3, false),
            (b"u=0", 0, false),
            (b"u=5, i", 5, true),
            (b"i,u=7", 7, true),
            (b"i=?1, i=?0", 3, false),
            (b"u=8", 3, false),
            (b"u=1;x=y, urgent, i", 3, true),
            (b"u=-1,u=2", 2, false),
        ] {
            assert_eq!(Priority::read(value), Priority { urgency, is_incremental }, "{}", value.escape_ascii());
        }
    }
}
