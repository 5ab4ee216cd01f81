//! Error codes (RFC 9113 §7).

/// Why a stream or a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    NoError,
    ProtocolError,
    InternalError,
    FlowControlError,
    SettingsTimeout,
    StreamClosed,
    FrameSizeError,
    RefusedStream,
    Cancel,
    CompressionError,
    ConnectError,
    EnhanceYourCalm,
    InadequateSecurity,
    Http11Required,
}

const CODES: [Code; 14] = [
    Code::NoError,
    Code::ProtocolError,
    Code::InternalError,
    Code::FlowControlError,
    Code::SettingsTimeout,
    Code::StreamClosed,
    Code::FrameSizeError,
    Code::RefusedStream,
    Code::Cancel,
    Code::CompressionError,
    Code::ConnectError,
    Code::EnhanceYourCalm,
    Code::InadequateSecurity,
    Code::Http11Required,
];

impl Code {
    /// A code that is not known means the same as INTERNAL_ERROR (§7).
    pub fn of(number: u32) -> Self {
        CODES.get(number as usize).copied().unwrap_or(Code::InternalError)
    }

    pub fn number(self) -> u32 {
        self as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard() {
        for (number, code) in
            [(0, Code::NoError), (7, Code::RefusedStream), (8, Code::Cancel), (13, Code::Http11Required)]
        {
            assert_eq!((Code::of(number), code.number()), (code, number));
        }
        assert_eq!((0..14).map(Code::of).map(Code::number).collect::<Vec<_>>(), (0..14).collect::<Vec<_>>());
        assert_eq!([14, u32::MAX].map(Code::of), [Code::InternalError; 2]);
    }
}
