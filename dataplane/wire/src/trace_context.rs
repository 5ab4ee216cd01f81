//! The `traceparent` field of W3C Trace Context (§3.2): which trace a request belongs to.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceParent {
    pub trace: [u8; 16],
    /// The span of the sender.
    pub span: [u8; 8],
    pub is_sampled: bool,
}

/// Of version 00, and what later versions begin with.
const BYTES: usize = 55;
const SAMPLED: u8 = 1;

impl TraceParent {
    /// The value of the field, in version 00.
    pub fn text(&self) -> [u8; BYTES] {
        let mut text = *b"00-tttttttttttttttttttttttttttttttt-ssssssssssssssss-00";
        write_hex(&self.trace, &mut text[3..35]);
        write_hex(&self.span, &mut text[36..52]);
        text[54] += u8::from(self.is_sampled);
        text
    }

    /// `None`: the value is invalid.
    pub fn read(value: &[u8]) -> Option<Self> {
        let (known, rest) = value.split_at_checked(BYTES)?;
        if [2, 35, 52].iter().any(|at| known[*at] != b'-') {
            return None;
        }
        let [version] = hex(&known[..2])?;
        let [flags] = hex(&known[53..])?;
        // Later versions may add fields behind these (§4.3).
        let may_have_rest = version > 0 && rest.first().is_none_or(|byte| *byte == b'-');
        if version == 0xff || !rest.is_empty() && !may_have_rest {
            return None;
        }
        let (trace, span) = (hex(&known[3..35])?, hex(&known[36..52])?);
        let is_valid = trace != [0; 16] && span != [0; 8];
        is_valid.then_some(Self { trace, span, is_sampled: flags & SAMPLED != 0 })
    }
}

fn write_hex(bytes: &[u8], text: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
}

/// Only small letters are valid.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_chunks::<2>().0) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn reads_trace_and_span() {
        let read = TraceParent::read(VALID.as_bytes()).unwrap();
        assert_eq!((read.trace[0], read.trace[15], read.span[0], read.span[7]), (0x0a, 0x9c, 0xb7, 0x31));
        assert!(read.is_sampled);
        let unsampled = TraceParent::read(VALID.replace("-01", "-02").as_bytes()).unwrap();
        assert_eq!(unsampled, TraceParent { is_sampled: false, ..read });
        let later = VALID.replacen("00", "01", 1);
        assert_eq!(TraceParent::read(later.as_bytes()), Some(read));
        assert_eq!(TraceParent::read((later + "-more").as_bytes()), Some(read));
    }

    #[test]
    fn writes_what_it_reads() {
        let read = TraceParent::read(VALID.as_bytes()).unwrap();
        assert_eq!(read.text(), VALID.as_bytes());
        let unsampled = TraceParent { is_sampled: false, ..read };
        assert_eq!(unsampled.text(), VALID.replace("-01", "-00").as_bytes());
    }

    #[test]
    fn refuses_what_is_invalid() {
        let zeros = |len| "0".repeat(len);
        for invalid in [
            String::new(),
            VALID[..54].into(),
            format!("{VALID}-00"),
            format!("{VALID}x"),
            VALID.replacen("00", "ff", 1),
            VALID.replacen("00", "0x", 1),
            VALID.replace("0af7", "0AF7"),
            VALID.replace('-', "_"),
            format!("00-{}-b7ad6b7169203331-01", zeros(32)),
            format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", zeros(16)),
            VALID.replacen("00", "01", 1) + "more",
        ] {
            assert_eq!(TraceParent::read(invalid.as_bytes()), None, "{invalid}");
        }
    }
}
