//! The first line of a head (RFC 9112 §3, §4), and how a line ends.

use crate::{
    Error,
    head::Version,
    scan::{text_end, token_end, visible_end},
};

/// Why reading stops before the end of a head.
#[derive(Debug)]
pub(super) enum Stop {
    /// More must come.
    Partial,
    Wrong(Error),
}

/// Where a line ends.
#[derive(Clone, Copy)]
pub(super) struct LineEnd {
    /// Where the next one begins.
    pub next: usize,
    /// The line feed has no CR before it (RFC 9112 §2.2 allows that; two parsers then see two messages).
    pub bare: bool,
}

impl LineEnd {
    #[inline(always)]
    pub fn at(input: &[u8], at: usize, otherwise: Error) -> Result<Self, Stop> {
        match input.get(at..at + 2) {
            Some(b"\r\n") => Ok(Self { next: at + 2, bare: false }),
            _ => Self::unusual(input, at, otherwise),
        }
    }

    #[cold]
    fn unusual(input: &[u8], at: usize, otherwise: Error) -> Result<Self, Stop> {
        match (input.get(at), input.get(at + 1)) {
            (Some(b'\n'), _) => Ok(Self { next: at + 1, bare: true }),
            (None, _) | (Some(b'\r'), None) => Err(Stop::Partial),
            _ => Err(Stop::Wrong(otherwise)),
        }
    }
}

pub(super) struct RequestLine<'b> {
    pub method: &'b [u8],
    pub target: &'b [u8],
    pub version: Version,
    pub end: LineEnd,
}

impl<'b> RequestLine<'b> {
    #[inline]
    pub fn read(input: &'b [u8], start: usize) -> Result<Self, Stop> {
        let method_end = word_end(input, start, token_end(input, start))?;
        let target_start = method_end + 1;
        let target_end = word_end(input, target_start, visible_end(input, target_start))?;
        let target = &input[target_start..target_end];
        if !target.is_ascii() && std::str::from_utf8(target).is_err() {
            return Err(Stop::Wrong(Error::StartLine));
        }
        let rest = &input[target_end + 1..];
        let version = version(rest, || if names_other_version(rest) { Error::Version } else { Error::StartLine })?;
        let end = LineEnd::at(input, target_end + 1 + VERSION_BYTES, Error::LineEnding)?;
        Ok(Self { method: &input[start..method_end], target, version, end })
    }
}

pub(super) struct StatusLine<'b> {
    pub version: Version,
    pub status: u16,
    pub reason: &'b [u8],
    pub end: LineEnd,
}

impl<'b> StatusLine<'b> {
    #[inline]
    pub fn read(input: &'b [u8]) -> Result<Self, Stop> {
        let version = version(input, || Error::StartLine)?;
        let status = match input[VERSION_BYTES..] {
            [b' ', a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ..] => {
                [a, b, c].iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'))
            }
            _ => return Err(if is_start_of_status(&input[VERSION_BYTES..]) { Stop::Partial } else { WRONG }),
        };
        let status_end = VERSION_BYTES + 4;
        // Some leave out the space with the reason.
        let reason_start = status_end + usize::from(input.get(status_end) == Some(&b' '));
        let reason_end = if reason_start > status_end { text_end(input, reason_start) } else { status_end };
        let end = LineEnd::at(input, reason_end, Error::StartLine)?;
        // What is no ASCII is read in different ways, and nobody needs it.
        let reason = Some(&input[reason_start..reason_end]).filter(|reason| reason.is_ascii()).unwrap_or_default();
        Ok(Self { version, status, reason, end })
    }
}

const WRONG: Stop = Stop::Wrong(Error::StartLine);

/// The end of a word that a space ends.
fn word_end(input: &[u8], start: usize, end: usize) -> Result<usize, Stop> {
    match input.get(end) {
        Some(b' ') if end > start => Ok(end),
        Some(_) => Err(WRONG),
        None => Err(Stop::Partial),
    }
}

const VERSION_BYTES: usize = 8;

fn version(text: &[u8], otherwise: impl Fn() -> Error) -> Result<Version, Stop> {
    match text.first_chunk::<VERSION_BYTES>() {
        Some(b"HTTP/1.1") => Ok(Version::Http11),
        Some(b"HTTP/1.0") => Ok(Version::Http10),
        None if b"HTTP/1.".starts_with(text) => Err(Stop::Partial),
        _ => Err(Stop::Wrong(otherwise())),
    }
}

/// Whether the third word of a request line is another HTTP version rather than garbage.
#[cold]
fn names_other_version(text: &[u8]) -> bool {
    match text.strip_prefix(b"HTTP/") {
        Some([b'1', b'.', minor, ..]) => minor.is_ascii_digit(),
        Some([b'1', ..]) => false,
        Some([major, ..]) => major.is_ascii_digit(),
        _ => false,
    }
}

/// Whether this may become a space and three digits.
#[cold]
fn is_start_of_status(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b' ', digits @ ..] => digits.len() < 3 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}
