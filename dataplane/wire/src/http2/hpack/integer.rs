//! Numbers that begin in the low bits of a byte (RFC 7541 §5.1).

use super::Malformed;

/// Bytes behind the first one. Four suffice for 2^28, and no number of a block is larger than the block.
const BYTES_MAX: u32 = 4;

/// Reads a number that begins in the low `bits` of the byte at `at`, and moves `at` behind the number.
#[inline]
pub(super) fn read(block: &[u8], at: &mut usize, bits: u32) -> Result<usize, Malformed> {
    let most = (1usize << bits) - 1;
    let first = usize::from(*block.get(*at).ok_or(Malformed::Cut)?) & most;
    *at += 1;
    if first < most { Ok(first) } else { read_rest(block, at, most) }
}

#[cold]
fn read_rest(block: &[u8], at: &mut usize, first: usize) -> Result<usize, Malformed> {
    let mut number = first;
    for i in 0..BYTES_MAX {
        let byte = *block.get(*at).ok_or(Malformed::Cut)?;
        *at += 1;
        number += usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed::Number)
}

/// Writes a number; `pattern` fills the bits before it. Returns the bytes and how many of them count.
#[inline]
pub(super) fn write(number: usize, bits: u32, pattern: u8) -> ([u8; 8], usize) {
    let most = (1usize << bits) - 1;
    let mut bytes = [0; 8];
    if number < most {
        bytes[0] = pattern | number as u8;
        return (bytes, 1);
    }
    bytes[0] = pattern | most as u8;
    let (mut rest, mut len) = ((number - most).min((1 << 42) - 1), 1);
    while rest > 0x7f {
        bytes[len] = 0x80 | (rest & 0x7f) as u8;
        (rest, len) = (rest >> 7, len + 1);
    }
    bytes[len] = rest as u8;
    (bytes, len + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_examples_of_the_standard() {
        for (bytes, bits, number) in [(&[0x0a][..], 5, 10), (&[0x1f, 0x9a, 0x0a], 5, 1337), (&[42], 8, 42)] {
            let mut at = 0;
            assert_eq!((read(bytes, &mut at, bits), at), (Ok(number), bytes.len()));
            assert_eq!(
                write(number, bits, 0),
                (std::array::from_fn(|i| bytes.get(i).copied().unwrap_or_default()), bytes.len(),)
            );
        }
    }

    #[test]
    fn refuses_a_number_that_is_cut_or_too_long() {
        assert_eq!(read(&[], &mut 0, 7), Err(Malformed::Cut));
        assert_eq!(read(&[0x7f, 0x80, 0x80], &mut 0, 7), Err(Malformed::Cut));
        assert_eq!(read(&[0x7f, 0x80, 0x80, 0x80, 0x80, 0x00], &mut 0, 7), Err(Malformed::Number));
        assert_eq!(read(&[0x7f, 0xff, 0xff, 0xff, 0x7f], &mut 0, 7), Ok(127 + (1 << 28) - 1));
    }

    #[test]
    fn writes_what_it_reads() {
        for bits in 4..=8 {
            for number in (0..70_000).chain([1 << 20, 1 << 28]) {
                let (bytes, len) = write(number, bits, 0);
                let mut at = 0;
                assert_eq!((read(&bytes[..len], &mut at, bits), at), (Ok(number), len));
            }
        }
    }
}
