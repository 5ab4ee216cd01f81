//! Takes the bytes of a connection apart into frames (RFC 9113 §4.1), whatever pieces they come in. Content of DATA
//! frames is never copied: it is told where it lies in the piece. Other payloads are copied only if they come in more
//! than one piece.

use std::ops::Range;

use super::clear;
use crate::http2::{Code, FRAME_HEADER_BYTES, Flags, FrameHeader, FrameType, PREFACE};

pub struct Splitter {
    next: Next,
    /// What has come of the next part, if it did not come in one piece.
    gathered: Vec<u8>,
    /// The part was handed over.
    is_handed_over: bool,
}

/// What the next bytes are.
#[derive(Clone, Copy)]
enum Next {
    Preface,
    Header,
    Payload(FrameHeader),
    /// How many bytes of padding end a DATA frame.
    PaddingLength(FrameHeader),
    Content {
        header: FrameHeader,
        left: u32,
        padding: u32,
    },
    Skipped(u32),
}

#[derive(Debug)]
pub enum Part {
    /// A frame begins.
    Header(FrameHeader),
    /// The payload of a frame other than DATA.
    Payload(FrameHeader, Place),
    /// A part of the content of a DATA frame, or its end.
    Content { header: FrameHeader, content: Range<usize>, is_last: bool },
    /// Bytes of a DATA frame that are no content, and that its windows count.
    Padding { stream: u32, bytes: u32 },
    /// The piece is used up.
    More,
}

/// Where a payload lies.
#[derive(Clone, Debug)]
pub enum Place {
    Piece(Range<usize>),
    Gathered,
}

impl Place {
    pub fn of<'p>(&self, piece: &'p [u8], gathered: &'p [u8]) -> &'p [u8] {
        match self {
            Place::Piece(range) => &piece[range.clone()],
            Place::Gathered => gathered,
        }
    }
}

impl Splitter {
    /// `has_preface`: the peer is a client.
    pub fn new(has_preface: bool) -> Self {
        let next = if has_preface { Next::Preface } else { Next::Header };
        Self { next, gathered: Vec::new(), is_handed_over: false }
    }

    /// The next part of `piece` from `at` on; moves `at`.
    pub fn next(&mut self, piece: &[u8], at: &mut usize) -> Result<Part, Code> {
        loop {
            match self.next {
                Next::Preface => {
                    let Some(place) = self.gather(piece, at, PREFACE.len()) else {
                        let begins = PREFACE.starts_with(&self.gathered);
                        return if begins { Ok(Part::More) } else { Err(Code::ProtocolError) };
                    };
                    if place.of(piece, &self.gathered) != PREFACE {
                        return Err(Code::ProtocolError);
                    }
                    self.next = Next::Header;
                }
                Next::Header => {
                    let Some(place) = self.gather(piece, at, FRAME_HEADER_BYTES) else { return Ok(Part::More) };
                    let bytes = place.of(piece, &self.gathered).first_chunk().ok_or(Code::InternalError)?;
                    let header = FrameHeader::read(bytes);
                    self.next = match header.kind {
                        FrameType::Data if header.flags.has(Flags::PADDED) => Next::PaddingLength(header),
                        FrameType::Data => Next::Content { header, left: header.bytes, padding: 0 },
                        _ => Next::Payload(header),
                    };
                    return Ok(Part::Header(header));
                }
                Next::Payload(header) => {
                    let Some(place) = self.gather(piece, at, header.bytes as usize) else { return Ok(Part::More) };
                    self.next = Next::Header;
                    return Ok(Part::Payload(header, place));
                }
                Next::PaddingLength(header) => {
                    let Some(&padding) = piece.get(*at) else { return Ok(Part::More) };
                    *at += 1;
                    let padding = u32::from(padding);
                    let left = header.bytes.checked_sub(1 + padding).ok_or(Code::ProtocolError)?;
                    self.next = Next::Content { header, left, padding };
                    return Ok(Part::Padding { stream: header.stream, bytes: 1 + padding });
                }
                Next::Content { header, left, padding } => {
                    let bytes = (piece.len() - *at).min(left as usize);
                    if bytes == 0 && left > 0 {
                        return Ok(Part::More);
                    }
                    let content = *at..*at + bytes;
                    *at += bytes;
                    let left = left - bytes as u32;
                    self.next = if left > 0 { Next::Content { header, left, padding } } else { Next::Skipped(padding) };
                    return Ok(Part::Content { header, content, is_last: left == 0 });
                }
                Next::Skipped(left) => {
                    let bytes = (piece.len() - *at).min(left as usize);
                    *at += bytes;
                    let left = left - bytes as u32;
                    if left > 0 {
                        self.next = Next::Skipped(left);
                        return Ok(Part::More);
                    }
                    self.next = Next::Header;
                }
            }
        }
    }

    /// Leaves out the payload of the frame that has just begun.
    pub fn skip(&mut self, header: FrameHeader) {
        self.next = Next::Skipped(header.bytes);
    }

    /// Whether the payload of a frame other than DATA has come in part.
    pub fn is_amid_payload(&self) -> bool {
        matches!(self.next, Next::Payload(_))
    }

    /// What was copied of the payload that was handed over last. It is for [`take_back`](Self::take_back).
    pub fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.gathered)
    }

    pub fn take_back(&mut self, gathered: Vec<u8>) {
        self.gathered = gathered;
    }

    /// Where the next `bytes` lie; `None`: they are not all there.
    fn gather(&mut self, piece: &[u8], at: &mut usize, bytes: usize) -> Option<Place> {
        if std::mem::take(&mut self.is_handed_over) {
            clear(&mut self.gathered);
        }
        let (start, available) = (*at, piece.len() - *at);
        if self.gathered.is_empty() && available >= bytes {
            *at += bytes;
            return Some(Place::Piece(start..start + bytes));
        }
        let end = start + available.min(bytes - self.gathered.len());
        self.gathered.extend_from_slice(&piece[start..end]);
        *at = end;
        self.is_handed_over = self.gathered.len() == bytes;
        self.is_handed_over.then_some(Place::Gathered)
    }
}
