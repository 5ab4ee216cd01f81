//! The kinds of bytes that heads are made of, whatever the protocol (RFC 9110 §5.5, §5.6). Finds where a run of bytes of
//! one kind ends: sixteen bytes at once while there are sixteen, then in words of eight, then byte by byte.

use wide::{i8x16, u8x16};

/// The highest bit of each byte. In a result it marks the byte.
const HIGH: u64 = each(0x80);

/// A word of eight times this byte.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// tchar (RFC 9110 §5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    static TOKEN: [bool; 256] = {
        let mut set = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            set[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let others = b"!#$%&'*+-.^_`|~";
        let mut i = 0;
        while i < others.len() {
            set[others[i] as usize] = true;
            i += 1;
        }
        set
    };
    TOKEN[usize::from(byte)]
}

/// What a field value is made of: HTAB, SP, VCHAR, obs-text.
pub(crate) fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Optional white space around a value.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// No white space and no control character.
fn is_visible(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

/// Bytes of the token that `text` begins with. Most are letters and hyphens.
#[inline]
pub(crate) fn token_bytes(text: &[u8]) -> usize {
    run_bytes(text, LettersAndHyphens, is_token)
}

#[inline]
pub(crate) fn text_bytes(text: &[u8]) -> usize {
    run_bytes(text, Above::<b' '>, is_text)
}

/// Where the token ends that begins at `at`.
#[inline]
pub(crate) fn token_end(text: &[u8], at: usize) -> usize {
    run_end(text, at, token_bytes)
}

#[inline]
pub(crate) fn text_end(text: &[u8], at: usize) -> usize {
    run_end(text, at, text_bytes)
}

#[inline]
pub(crate) fn visible_end(text: &[u8], at: usize) -> usize {
    run_end(text, at, |text| run_bytes(text, Above::<b'!'>, is_visible))
}

/// From behind the end of `text`, a run ends where `text` does.
#[inline(always)]
fn run_end(text: &[u8], at: usize, run_bytes: impl Fn(&[u8]) -> usize) -> usize {
    text.get(at..).map_or(text.len(), |rest| at + run_bytes(rest))
}

/// Bytes that names of hosts are usually made of at the beginning of `text`, and what else `belongs`.
#[inline]
pub(crate) fn host_bytes(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    run_bytes(text, LettersDigitsAndDots, belongs)
}

/// The place of the first such byte.
#[inline(always)]
pub(crate) fn place_of(sought: u8, text: &[u8]) -> Option<usize> {
    let among = |sixteen: &[u8; 16]| u8x16::new(*sixteen).simd_eq(u8x16::splat(sought)).to_bitmask();
    let (pieces, rest) = text.as_chunks();
    for (number, sixteen) in pieces.iter().enumerate() {
        if let marks @ 1.. = among(sixteen) {
            return Some(number * sixteen.len() + marks.trailing_zeros() as usize);
        }
    }
    if rest.is_empty() {
        return None;
    }
    // The rest, with as much before it as makes a whole piece: there is none in that.
    if let Some(last) = text.last_chunk() {
        let marks = among(last);
        return (marks > 0).then(|| text.len() - last.len() + marks.trailing_zeros() as usize);
    }
    let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) else {
        return text.iter().position(|byte| *byte == sought);
    };
    let within = |eight: &[u8; 8]| {
        let differs = u64::from_le_bytes(*eight) ^ each(sought);
        let marks = differs.wrapping_sub(each(1)) & !differs & HIGH;
        (marks > 0).then(|| marks.trailing_zeros() as usize / 8)
    };
    within(first).or_else(|| within(last).map(|at| text.len() - last.len() + at))
}

/// `usual` tells the first byte that may not belong to the run; `belongs` decides about that byte.
#[inline(always)]
fn run_bytes<U: Usual>(text: &[u8], _: U, belongs: impl Fn(u8) -> bool) -> usize {
    let mut rest = text;
    while let Some((sixteen, behind)) = rest.split_first_chunk() {
        let odd = U::all(u8x16::new(*sixteen)).to_bitmask() ^ 0xffff;
        if odd == 0 {
            rest = behind;
            continue;
        }
        let usual = odd.trailing_zeros() as usize % sixteen.len();
        if !belongs(sixteen[usual]) {
            return text.len() - rest.len() + usual;
        }
        rest = &rest[usual + 1..];
    }
    let mut at = text.len() - rest.len();
    if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        let odd = U::odd(u64::from_le_bytes(*first));
        if odd == 0 && U::odd(u64::from_le_bytes(*last)) == 0 {
            return text.len();
        }
        at += odd.trailing_zeros() as usize / 8;
    }
    while at < text.len() && belongs(text[at]) {
        at += 1;
    }
    at
}

/// Most bytes of a kind, those that are quickly told from others.
trait Usual {
    /// Sets all bits of each byte that is usual.
    fn all(sixteen: u8x16) -> u8x16;

    /// Marks the first byte of a word that is not usual; marks behind that one mean nothing.
    fn odd(word: u64) -> u64;
}

struct LettersAndHyphens;

impl Usual for LettersAndHyphens {
    #[inline(always)]
    fn all(sixteen: u8x16) -> u8x16 {
        let small = sixteen | u8x16::splat(0x20);
        // The letters become the least numbers with a sign.
        let letters = (small + u8x16::splat(0x80 - b'a')).cast_signed().simd_lt(i8x16::splat(i8::MIN + 26));
        letters.cast_unsigned() | sixteen.simd_eq(u8x16::splat(b'-'))
    }

    #[inline(always)]
    fn odd(word: u64) -> u64 {
        let low = word & !HIGH;
        let small = low | each(0x20);
        let from_a = small + each(0x80 - b'a');
        let beyond_z = small + each(0x7f - b'z');
        let no_hyphen = (low ^ each(b'-')) + each(0x7f);
        ((!from_a | beyond_z) & no_hyphen | word) & HIGH
    }
}

/// With hyphens.
struct LettersDigitsAndDots;

impl Usual for LettersDigitsAndDots {
    #[inline(always)]
    fn all(sixteen: u8x16) -> u8x16 {
        let within = |bytes: u8x16, first: u8, count: i8| {
            // What is within becomes the least numbers with a sign.
            (bytes + u8x16::splat(0x80 - first)).cast_signed().simd_lt(i8x16::splat(i8::MIN + count)).cast_unsigned()
        };
        let from_hyphen_to_9 = within(sixteen, b'-', 13) & !sixteen.simd_eq(u8x16::splat(b'/'));
        within(sixteen | u8x16::splat(0x20), b'a', 26) | from_hyphen_to_9
    }

    #[inline(always)]
    fn odd(word: u64) -> u64 {
        let low = word & !HIGH;
        let within = |bytes: u64, first: u8, last: u8| (bytes + each(0x80 - first)) & !(bytes + each(0x7f - last));
        let no_slash = (low ^ each(b'/')) + each(0x7f);
        let usual = within(low | each(0x20), b'a', b'z') | within(low, b'-', b'9') & no_slash;
        (!usual | word) & HIGH
    }
}

/// `FIRST` and whatever is above it, without DEL.
struct Above<const FIRST: u8>;

impl<const FIRST: u8> Usual for Above<FIRST> {
    #[inline(always)]
    fn all(sixteen: u8x16) -> u8x16 {
        let is_above = sixteen.max(u8x16::splat(FIRST)).simd_eq(sixteen);
        is_above & !sixteen.simd_eq(u8x16::splat(0x7f))
    }

    /// Behind the first marked byte, the borrow of a subtraction may mark others wrongly.
    #[inline(always)]
    fn odd(word: u64) -> u64 {
        let below = word.wrapping_sub(each(FIRST));
        let is_del = (word ^ each(0x7f)).wrapping_sub(each(1));
        (below | is_del) & !word & HIGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(end: impl Fn(&[u8], usize) -> usize, belongs: impl Fn(u8) -> bool, filler: u8) {
        for byte in 0..=u8::MAX {
            for length in [1, 7, 8, 9, 15, 16, 17, 24, 40] {
                for place in 0..length {
                    let mut text = vec![filler; length];
                    text[place] = byte;
                    let want = if belongs(byte) { length } else { place };
                    assert_eq!(end(&text, 0), want, "{byte} at {place} of {length}");
                    assert_eq!(end(&text, place), want, "{byte} at {place} of {length}, from there");
                }
            }
        }
    }

    #[test]
    fn run_ends_at_the_first_byte_of_another_kind() {
        for filler in [b'a', b'-', b'Z'] {
            check(token_end, is_token, filler);
        }
        check(token_end, is_token, b'1');
        for filler in [b' ', b'\t', b'a', 0xff] {
            check(text_end, is_text, filler);
        }
        for filler in [b'/', 0x80] {
            check(visible_end, is_visible, filler);
        }
        for (belongs, filler) in [(u8::is_ascii_alphanumeric as fn(&u8) -> bool, b'a'), (u8::is_ascii_graphic, b'.')] {
            let all = |byte| belongs(&byte) || b"-.".contains(&byte);
            check(|text, at| at + host_bytes(&text[at..], all), all, filler);
        }
    }

    #[test]
    fn query_begins_at_the_first_question_mark() {
        let end = |text: &[u8], at: usize| place_of(b'?', &text[at..]).map_or(text.len(), |found| at + found);
        for filler in [b'/', b'>', b'@', 0xbf] {
            check(end, |byte| byte != b'?', filler);
        }
        for length in 1..50 {
            assert_eq!(place_of(b'?', &vec![b'?'; length]), Some(0));
        }
    }

    #[test]
    fn kinds_are_those_of_the_grammar() {
        let of = |belongs: fn(u8) -> bool| (0..=127).filter(|&byte| belongs(byte)).map(char::from).collect::<String>();
        assert_eq!(of(is_token), "!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~");
        assert_eq!(of(is_text).len(), 1 + 95);
        assert_eq!(of(is_visible).len(), 94);
        assert!((128..=255).all(|byte| is_text(byte) && is_visible(byte) && !is_token(byte)));
    }
}
