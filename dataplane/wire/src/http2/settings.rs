//! SETTINGS (RFC 9113 §6.5.2, RFC 8441 §3, RFC 9218 §2.1).

use super::{Code, FRAME_BYTES_MIN, hpack::TABLE_BYTES};

/// The window of a stream and of a connection before any SETTINGS and WINDOW_UPDATE (§6.9.2).
pub const WINDOW_FIRST: u32 = 65_535;
/// No window is larger (§6.9.1).
pub const WINDOW_MAX: u32 = (1 << 31) - 1;

const ENTRY_BYTES: usize = 6;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;
const ENABLE_CONNECT_PROTOCOL: u16 = 8;
const NO_RFC7540_PRIORITIES: u16 = 9;

/// What one end has said of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The size of its decoder's table.
    pub header_table_bytes: u32,
    pub enable_push: bool,
    /// How many streams the other end may have open; `None`: without limit.
    pub max_concurrent_streams: Option<u32>,
    /// The window of each new stream for what it receives.
    pub initial_window: u32,
    /// The limit of payloads that it receives.
    pub max_frame_bytes: u32,
    /// The limit of heads that it receives, by the standard's count; `None`: without limit.
    pub max_header_list_bytes: Option<u32>,
    pub enable_connect_protocol: bool,
    pub no_rfc7540_priorities: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            header_table_bytes: TABLE_BYTES as u32,
            enable_push: true,
            max_concurrent_streams: None,
            initial_window: WINDOW_FIRST,
            max_frame_bytes: FRAME_BYTES_MIN as u32,
            max_header_list_bytes: None,
            enable_connect_protocol: false,
            no_rfc7540_priorities: false,
        }
    }
}

impl Settings {
    /// Takes over the entries of a payload, in their order. Unknown ones are ignored.
    pub fn apply(&mut self, payload: &[u8]) -> Result<(), Code> {
        for entry in payload.as_chunks::<ENTRY_BYTES>().0 {
            let [a, b, value @ ..] = *entry;
            self.set(u16::from_be_bytes([a, b]), u32::from_be_bytes(value))?;
        }
        Ok(())
    }

    fn set(&mut self, name: u16, value: u32) -> Result<(), Code> {
        match name {
            HEADER_TABLE_SIZE => self.header_table_bytes = value,
            ENABLE_PUSH => self.enable_push = flag(value)?,
            MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = Some(value),
            INITIAL_WINDOW_SIZE if value > WINDOW_MAX => return Err(Code::FlowControlError),
            INITIAL_WINDOW_SIZE => self.initial_window = value,
            MAX_FRAME_SIZE if !(FRAME_BYTES_MIN as u32..1 << 24).contains(&value) => return Err(Code::ProtocolError),
            MAX_FRAME_SIZE => self.max_frame_bytes = value,
            MAX_HEADER_LIST_SIZE => self.max_header_list_bytes = Some(value),
            // Neither may be taken back (RFC 8441 §3, RFC 9218 §2.1).
            ENABLE_CONNECT_PROTOCOL if self.enable_connect_protocol && value == 0 => return Err(Code::ProtocolError),
            ENABLE_CONNECT_PROTOCOL => self.enable_connect_protocol = flag(value)?,
            NO_RFC7540_PRIORITIES => self.no_rfc7540_priorities = flag(value)?,
            _ => {}
        }
        Ok(())
    }

    /// Appends the entries that differ from the defaults.
    pub fn write(&self, out: &mut Vec<u8>) {
        let default = Settings::default();
        let mut entry = |name: u16, value: u32, default: u32| {
            if value != default {
                out.extend_from_slice(&name.to_be_bytes());
                out.extend_from_slice(&value.to_be_bytes());
            }
        };
        entry(HEADER_TABLE_SIZE, self.header_table_bytes, default.header_table_bytes);
        entry(ENABLE_PUSH, self.enable_push.into(), default.enable_push.into());
        entry(MAX_CONCURRENT_STREAMS, self.max_concurrent_streams.unwrap_or(u32::MAX), u32::MAX);
        entry(INITIAL_WINDOW_SIZE, self.initial_window, default.initial_window);
        entry(MAX_FRAME_SIZE, self.max_frame_bytes, default.max_frame_bytes);
        entry(MAX_HEADER_LIST_SIZE, self.max_header_list_bytes.unwrap_or(u32::MAX), u32::MAX);
        entry(ENABLE_CONNECT_PROTOCOL, self.enable_connect_protocol.into(), 0);
        entry(NO_RFC7540_PRIORITIES, self.no_rfc7540_priorities.into(), 0);
    }
}

fn flag(value: u32) -> Result<bool, Code> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Code::ProtocolError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(entries: &[(u16, u32)]) -> Result<Settings, Code> {
        let payload: Vec<u8> =
            entries.iter().flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
        let mut settings = Settings::default();
        settings.apply(&payload).map(|()| settings)
    }

    #[test]
    fn reads_what_it_writes() {
        let all = Settings {
            header_table_bytes: 0,
            enable_push: false,
            max_concurrent_streams: Some(128),
            initial_window: WINDOW_MAX,
            max_frame_bytes: (1 << 24) - 1,
            max_header_list_bytes: Some(49_152),
            enable_connect_protocol: true,
            no_rfc7540_priorities: true,
        };
        for settings in [all, Settings::default()] {
            let (mut payload, mut got) = (Vec::new(), Settings::default());
            settings.write(&mut payload);
            assert_eq!((got.apply(&payload), got), (Ok(()), settings));
        }
    }

    #[test]
    fn refuses_values_out_of_range() {
        for (name, value, code) in [
            (ENABLE_PUSH, 2, Code::ProtocolError),
            (INITIAL_WINDOW_SIZE, 1 << 31, Code::FlowControlError),
            (MAX_FRAME_SIZE, 16_383, Code::ProtocolError),
            (MAX_FRAME_SIZE, 1 << 24, Code::ProtocolError),
            (ENABLE_CONNECT_PROTOCOL, 2, Code::ProtocolError),
            (NO_RFC7540_PRIORITIES, 2, Code::ProtocolError),
        ] {
            assert_eq!(applied(&[(name, value)]), Err(code), "{name} {value}");
        }
        assert_eq!(applied(&[(ENABLE_CONNECT_PROTOCOL, 1), (ENABLE_CONNECT_PROTOCOL, 0)]), Err(Code::ProtocolError));
        assert_eq!(applied(&[(0xffff, 7)]), Ok(Settings::default()), "an unknown one is ignored");
        let last = applied(&[(MAX_CONCURRENT_STREAMS, 1), (MAX_CONCURRENT_STREAMS, 2)]);
        assert_eq!(last.map(|settings| settings.max_concurrent_streams), Ok(Some(2)), "the last one counts");
    }
}
